"""Compares `pellucid ast --json` with CPython's own ast, field by field and position by position.

Each corpus is parsed by the Python it belongs to: the standard libraries of 3.8 to 3.15 with all their tests, and
torch, transformers and timm where the Python that runs this has them. A file that CPython rejects must be rejected;
any other must give the same tree. Positions inside of f-strings count from 3.12 on: older Pythons have them wrong.
With --print each tree is also printed (`pellucid format`) and parsed again by CPython: it must stay the same.

    python tools/check_ast.py                    everything
    python tools/check_ast.py 3.11 torch         some of the corpora
    python tools/check_ast.py --files a.py b.py  these files, by the Python that runs this

PELLUCID names the program (default: build/pellucid); PELLUCID_PYTHONS the folder that holds <version>/bin/python
(default: pyenv's); PELLUCID_PYTHON_3_14 one interpreter. Else PATH is searched for python3.14.
"""

import argparse
import ast
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import time
import warnings

# Runs under each of the Pythons: 3.8's language only.

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("PELLUCID", str(ROOT / "build" / "pellucid"))
PACKAGES = ["torch", "transformers", "timm"]
VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
BATCH = 50
POSITIONS = ("lineno", "col_offset", "end_lineno", "end_col_offset")
POSITIONS_IN_FSTRINGS = sys.version_info >= (3, 12)


class Difference(Exception):
    pass


def constant_matches(value, found):
    return found == {"t": type(value).__name__, "v": repr(value)}


def compare(node, found, path, in_fstring=False):
    """Raises Difference at the first place where found, from JSON, is not node, of ast."""
    if isinstance(node, ast.AST):
        name = type(node).__name__
        if not isinstance(found, dict) or found.get("_type") != name:
            raise Difference(f"{path}: {found.get('_type') if isinstance(found, dict) else found!r}, should be {name}")
        path = f"{path}/{name}@{getattr(node, 'lineno', '')}"
        names = {"_type"}.union(node._fields)
        for field in node._fields:
            if field not in found:
                raise Difference(f"{path}: no field {field}")
            value = getattr(node, field)
            if (name, field) in (("Constant", "value"), ("MatchSingleton", "value"), ("Interpolation", "str")):
                if not constant_matches(value, found[field]):
                    raise Difference(f"{path}.{field}: {found[field]}, should be {value!r}")
                continue
            compare(value, found[field], f"{path}.{field}", in_fstring or name == "JoinedStr")
        if "lineno" in node._attributes:
            names.update(POSITIONS)
            where = [found.get(key) for key in POSITIONS]
            right = [getattr(node, key) for key in POSITIONS]
            if where != right and (POSITIONS_IN_FSTRINGS or not in_fstring):
                raise Difference(f"{path}: at {where}, should be {right}")
        if set(found) != names:
            raise Difference(f"{path}: fields {sorted(set(found) ^ names)} only on one side")
    elif isinstance(node, list):
        if not isinstance(found, list) or len(found) != len(node):
            raise Difference(f"{path}: a list of {len(node)} differs")
        for i, item in enumerate(node):
            compare(item, found[i], f"{path}[{i}]", in_fstring)
    elif node != found:
        raise Difference(f"{path}: {found!r}, should be {node!r}")


def parse(source, path):
    """The tree, or what CPython says against it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source, path), None
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return None, f"{type(error).__name__}: {error}"


def run(arguments, paths):
    version = "%d.%d" % sys.version_info[:2]
    command = [PROGRAM, *arguments, "--python-version", version, *paths]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout


def check_tree(source, path, line):
    """None if all is well, else what is not."""
    tree, refused = parse(source, path)
    found = json.loads(line)
    if "error" in found and "_type" not in found:
        error = found["error"]
        return None if refused else f"rejected: {error['line']}:{error['column']}: {error['message']}"
    if refused:
        return f"accepted, should be rejected: {refused}"
    try:
        compare(tree, found, "")
    except Difference as difference:
        return str(difference)
    return None


def check_print(source, path):
    """None if the printed file has the same tree."""
    tree, refused = parse(source, path)
    if refused:
        return None
    printed = run(["format"], [path])
    again, refused = parse(printed, path)
    if refused:
        return f"printed, then: {refused}"
    if ast.dump(tree) != ast.dump(again):
        return "printed, then it has another tree"
    return None


def check_files(paths, with_print):
    """Compares all files and reports, as JSON lines: counts, and what differs."""
    sys.setrecursionlimit(20000)
    n_bytes = 0
    for start in range(0, len(paths), BATCH):
        batch = paths[start : start + BATCH]
        lines = run(["ast", "--json"], batch).split(b"\n")
        for i, path in enumerate(batch):
            source = pathlib.Path(path).read_bytes()
            n_bytes += len(source)
            wrong = check_tree(source, path, lines[i]) if i + 1 < len(lines) else "the program ended early"
            if not wrong and with_print:
                wrong = check_print(source, path)
            if wrong:
                print(json.dumps({"path": path, "wrong": wrong}), flush=True)
        print(json.dumps({"files": len(batch), "bytes": n_bytes}), flush=True)
        n_bytes = 0


def interpreter(version):
    folder = pathlib.Path(os.environ.get("PELLUCID_PYTHONS", str(pathlib.Path.home() / ".pyenv" / "versions")))
    for candidate in sorted(folder.glob(version + ".*/bin/python")):
        return str(candidate)
    return os.environ.get("PELLUCID_PYTHON_" + version.replace(".", "_")) or shutil.which("python" + version)


def corpus(name):
    """The Python and the files of a corpus; None if it is not here."""
    if name in PACKAGES:
        folder = pathlib.Path(sysconfig.get_path("purelib")) / name
        return (sys.executable, sorted(folder.rglob("*.py"))) if folder.is_dir() else None
    python = interpreter(name)
    if not python:
        return None
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]
    folder = pathlib.Path(subprocess.run(ask, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    files = [path for path in folder.rglob("*.py") if "site-packages" not in path.parts and path.is_file()]
    return python, sorted(files)


def check_corpus(name, with_print, every):
    """Runs check_files in the Python of the corpus; returns how many files are wrong."""
    there = corpus(name)
    if not there:
        print(f"{name:14} skipped: not on this machine")
        return 0
    python, files = there
    command = [python, __file__, "--worker"] + (["--print"] if with_print else [])
    started = time.perf_counter()
    n_files = n_bytes = 0
    wrong = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        worker.stdin.write("\n".join(map(str, files[::every])))
        worker.stdin.close()
        for line in worker.stdout:
            row = json.loads(line)
            n_files += row.get("files", 0)
            n_bytes += row.get("bytes", 0)
            if "wrong" in row:
                wrong.append(row)
    if worker.returncode:
        wrong.append({"path": name, "wrong": f"the comparison ended with {worker.returncode}"})
    seconds = time.perf_counter() - started
    print(f"{name:14} {n_files - len(wrong)} of {n_files} files the same, {n_bytes / 1e6:.1f} MB, {seconds:.0f} s")
    for row in wrong[:20]:
        print(f"    {row['path']}: {row['wrong']}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help="3.8 … 3.15, torch, transformers, timm")
    parser.add_argument("--print", action="store_true", dest="with_print", help="print and parse again, too")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth file")
    parser.add_argument("--files", nargs="+", help="compare these files with this Python")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        check_files(sys.stdin.read().split("\n"), options.with_print)
        return 0
    if options.files:
        check_files(options.files, options.with_print)
        return 0
    unknown = [name for name in options.corpora if name not in VERSIONS + PACKAGES]
    if unknown:
        parser.error(f"no such corpus: {', '.join(unknown)}")
    n_wrong = sum(check_corpus(name, options.with_print, options.every)
                  for name in options.corpora or VERSIONS + PACKAGES)
    print("all the same" if not n_wrong else f"{n_wrong} files differ")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
