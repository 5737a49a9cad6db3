"""Round trips: corpora of functions as .pyc files, decompiled by the program, compiled again by their Python.

The corpus and the comparison are those of rt_bench.py, which lives outside the repository (PELLUCID_SHARED, else
`shared` beside the checkout). This module runs under the dev Python as a driver and under each target Python (3.8 and
later) as `roundtrip.py corpus ...` and `roundtrip.py score ...`.
"""
import argparse
import difflib
import importlib.util
import json
import marshal
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
BATCH = 500


def rt_bench_path():
    """rt_bench.py, or None where it is not on this machine."""
    for shared in (os.environ.get("PELLUCID_SHARED"), ROOT.parent / "shared"):
        if shared and (pathlib.Path(shared) / "bench" / "rt_bench.py").exists():
            return pathlib.Path(shared) / "bench" / "rt_bench.py"
    return None


def load_rt_bench():
    spec = importlib.util.spec_from_file_location("rt_bench", str(rt_bench_path()))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_for(version):
    """An interpreter of that version: this one, pyenv's, or one on PATH; None if there is none."""
    if version == "%d.%d" % sys.version_info[:2]:
        return sys.executable
    versions = pathlib.Path(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))) / "versions"
    found = sorted(versions.glob(version + ".*/bin/python"))
    if found:
        return str(found[-1])
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        candidate = os.path.join(folder, "python" + version)
        if os.access(candidate, os.X_OK):
            return candidate
    return None


# ---- the corpus (runs in the target Python) ----

def make_corpus(args):
    rt = load_rt_bench()
    if args.root:
        def sources():
            for root in args.root:
                for path in sorted(pathlib.Path(root).rglob("*.py")):
                    yield str(path), str(path.relative_to(pathlib.Path(root).parent))
        rt.stdlib_sources = sources
    sys.setrecursionlimit(10000)
    rt.cmd_corpus(args)


def corpus(version, folder, n=3000, seed=20251, files=False, roots=(), python=None):
    """Writes the corpus into folder unless it is there already; returns folder."""
    folder = pathlib.Path(folder)
    if not (folder / "manifest.json").exists():
        command = [python or python_for(version), __file__, "corpus", str(folder), "--n", str(n), "--seed", str(seed)]
        command += ["--files"] * files + [part for root in roots for part in ("--root", str(root))]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


# ---- decompiling ----

def decompile(binary, pycs, out):
    """Decompiles files in batches, one process each, into out/STEM.py. Returns {pyc: what killed the process}."""
    killed = {}
    batches = [pycs[i:i + BATCH] for i in range(0, len(pycs), BATCH)]
    while batches:
        batch = batches.pop()
        try:
            done = subprocess.run([str(binary), "decompile", "-o", str(out)] + [str(p) for p in batch],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60 + len(batch))
            why = (None if done.returncode in (0, 2, 3)
                   else "exit %d: %s" % (done.returncode, done.stderr[-300:].decode("utf8", "replace")))
        except subprocess.TimeoutExpired:
            why = "timeout"
        if why and len(batch) == 1:
            killed[str(batch[0])] = why
        elif why:
            batches += [batch[:len(batch) // 2], batch[len(batch) // 2:]]
    return killed


# ---- comparing (runs in the target Python) ----

def show(rt, code, indent=""):
    """The instructions as the measure sees them, one per line."""
    signature, instructions, handlers = rt.normal(code)
    lines = [indent + "signature %r" % (signature,)]
    lines += [indent + "%-30s %s" % (name, "" if arg is None else "%s" % (arg,)) for name, arg in instructions]
    lines += [indent + "handler %s" % (entry,) for entry in handlers]
    for kid in rt.kids(code):
        lines += [indent + "in " + kid.co_name] + (show(rt, kid, indent + "    ")
                                                   if kid.co_name.startswith("<") else [])
    return lines


def score_unit(rt, unit, pyc, source):
    """(status, explanation): equal, deep, different, invalid, missing, incomplete, nothing."""
    if not os.path.exists(source):
        return "nothing", "no output"
    with open(source, encoding="utf8", errors="surrogatepass") as file:
        text = file.read()
    if "# pellucid: incomplete" in text:
        return "incomplete", "\n".join(line.strip() for line in text.splitlines() if "# pellucid: incomplete" in line)
    if unit.get("imports"):
        text += "\nimport " + ", ".join(unit["imports"]) + "\n"
    try:
        again = compile(text, unit["file"], "exec", dont_inherit=True, optimize=0)
    except (Exception, RecursionError, MemoryError) as error:
        return "invalid", "%s: %s" % (type(error).__name__, error)
    with open(pyc, "rb") as file:
        original = marshal.loads(file.read()[16:])
    if unit["name"]:
        original, again = rt.find(original, unit["name"]), rt.find(again, unit["name"])
    if again is None:
        return "missing", "the function is not in the output"
    if rt.same(original, again, True):
        return "deep", ""
    if rt.same(original, again, False):
        return "equal", ""
    lines = difflib.unified_diff(show(rt, original), show(rt, again), "original", "recompiled", lineterm="", n=4)
    return "different", "\n".join(lines)


def score(args):
    rt = load_rt_bench()
    sys.setrecursionlimit(10000)
    with open(os.path.join(args.corpus, "manifest.json")) as file:
        units = json.load(file)["units"]
    for unit in units:
        if args.ids and unit["id"] not in args.ids or args.limit and unit["id"] >= args.limit:
            continue
        stem = unit["pyc"][:-4]
        status, why = score_unit(rt, unit, os.path.join(args.corpus, unit["pyc"]), os.path.join(args.out, stem + ".py"))
        print(json.dumps(dict(id=unit["id"], status=status, why=why, name=unit.get("qualname") or unit["file"],
                              file=unit["file"], nbytes=unit.get("nbytes", unit.get("ninstr", 0)))))


def measure(binary, folder, out, limit=0, ids=()):
    """One row per unit: id, status, why, name, file, nbytes."""
    folder = pathlib.Path(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    wanted = [u for u in manifest["units"] if (not ids or u["id"] in ids) and (not limit or u["id"] < limit)]
    os.makedirs(out, exist_ok=True)
    for unit in wanted:
        (pathlib.Path(out) / (unit["pyc"][:-4] + ".py")).unlink(missing_ok=True)
    killed = decompile(binary, [folder / u["pyc"] for u in wanted], out)
    python = python_for(manifest["version"].rsplit(".", 1)[0])
    command = [python, __file__, "score", str(folder), str(out), "--limit", str(limit)]
    command += ["--ids", ",".join(map(str, ids))] if ids else []
    rows = [json.loads(line) for line in subprocess.run(command, check=True,
                                                        stdout=subprocess.PIPE).stdout.splitlines()]
    for row in rows:
        why = killed.get(str(folder / ("%05d.pyc" % row["id"])))
        if why:
            row.update(status="killed", why=why)
    return rows


def summary(rows):
    """The figures of a corpus, in percent of its units."""
    n = max(len(rows), 1)
    large = [row for row in rows if row["nbytes"] > 400]
    count = lambda rows, *statuses: sum(row["status"] in statuses for row in rows)
    return {
        "units": len(rows),
        "equal": 100 * count(rows, "equal", "deep") / n,
        "deep": 100 * count(rows, "deep") / n,
        "valid": 100 * count(rows, "equal", "deep", "different") / n,
        "incomplete": 100 * count(rows, "incomplete") / n,
        "different": 100 * count(rows, "different") / n,
        "broken": 100 * count(rows, "invalid", "missing", "nothing", "killed") / n,
        "large": len(large),
        "large equal": 100 * count(large, "equal", "deep") / max(len(large), 1),
    }


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    p = commands.add_parser("corpus")
    p.add_argument("dir")
    p.add_argument("--n", type=int, default=3000)
    p.add_argument("--seed", type=int, default=20251)
    p.add_argument("--files", action="store_true")
    p.add_argument("--root", action="append")
    p.set_defaults(run=make_corpus)
    p = commands.add_parser("score")
    p.add_argument("corpus")
    p.add_argument("out")
    p.add_argument("--limit", type=int, default=0)
    p.add_argument("--ids", type=lambda text: {int(i) for i in text.split(",")}, default=set())
    p.set_defaults(run=score)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
