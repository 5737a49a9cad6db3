"""The gate of the decompiler: whole files, of packages that nobody tuned it for, in every Python that is here.

    python bench/decompile_files.py                            every file of the wheels, each Python, -O and -OO too
    python bench/decompile_files.py --sample 100 --seed 7      as many files, chosen by the seed
    python bench/decompile_files.py --stdlib --versions 3.11   the standard library of that Python instead
    python bench/decompile_files.py --folder DIR               every .py file of a folder

A file is compiled, decompiled, compiled again and compared as a whole: module, classes, functions, docstrings,
annotations, exception tables (same_code.py). equal; alike: the same instructions along every path, under the same
handlers, in another layout (compilers choose it by line breaks, too); marked: the text says that it is incomplete;
different: none of these; broken: does not compile, or the program died. --report lists what is not equal, with the
first difference. Exit 1 when a figure misses its bar.

Wheels come from pip's index, once, into PELLUCID_WHEELS (build-scratch/wheels if unset).
"""
import argparse
import difflib
import json
import marshal
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import roundtrip  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
WHEELS = ("jinja2 attrs click more-itertools networkx sqlalchemy sympy pydantic requests flask werkzeug rich pygments "
          "django httpx urllib3 packaging setuptools docutils sphinx mako markdown babel isort pytest pluggy tqdm "
          "anyio trio starlette marshmallow hypothesis jsonschema toolz prompt_toolkit parso jedi mpmath tomlkit "
          "pyparsing beautifulsoup4 lark botocore paramiko fsspec dask virtualenv").split()
STATUSES = ("equal", "alike", "marked", "different", "broken")
EQUAL, UNMARKED = 98.5, 0.2  # percent: at least, at most


# ---- what is decompiled ----

def wheel_folder():
    given = os.environ.get("PELLUCID_WHEELS")
    return pathlib.Path(given) if given else ROOT / "build-scratch" / "wheels"


def fetch_wheels(folder):
    """Downloads what is missing and unpacks it; returns the folders, one per package."""
    found = []
    for name in WHEELS:
        target = folder / name
        if not target.exists():
            with tempfile.TemporaryDirectory() as temporary:
                command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                           "--platform", "any", "--implementation", "py", "--abi", "none", "--python-version", "3.11",
                           "--disable-pip-version-check", "-d", temporary, name]
                done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                wheels = list(pathlib.Path(temporary).glob("*.whl"))
                if done.returncode or not wheels:
                    print(f"skipped: {name}: pip could not download it", flush=True)
                    continue
                with zipfile.ZipFile(wheels[0]) as archive:
                    archive.extractall(target)
        found.append(target)
    return found


def sources(args, version):
    if args.stdlib:
        python = roundtrip.python_for(version)
        lib = subprocess.run([python, "-c", "import os; print(os.path.dirname(os.__file__))"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout.strip()
        folders, skip = [pathlib.Path(lib)], ("site-packages", "dist-packages", "test", "tests", "lib2to3", "idle_test")
    else:
        folders = [pathlib.Path(f) for f in args.folder] or fetch_wheels(wheel_folder())
        skip = ()
    files = [str(path) for folder in folders for path in sorted(folder.rglob("*.py"))
             if not set(path.relative_to(folder).parts) & set(skip)]
    if args.sample and len(files) > args.sample:
        files = sorted(random.Random(args.seed).sample(files, args.sample))
    return files


# ---- in the Python under test ----

def compile_files(job):
    """Writes OUT/N.pyc for each file that this Python compiles; prints their numbers."""
    import importlib.util
    import warnings
    warnings.simplefilter("ignore")
    made = []
    for number, path in enumerate(job["files"]):
        try:
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec", dont_inherit=True, optimize=job["optimize"])
            data = marshal.dumps(code)
        except (SyntaxError, ValueError, RecursionError, UnicodeError):
            continue  # of another Python, or made to fail
        with open(os.path.join(job["out"], "%d.pyc" % number), "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER + bytes(12) + data)
        made.append(number)
    print(json.dumps(made))


def score_one(job, number):
    import same_code
    path = os.path.join(job["out"], "%d.py" % number)
    if not os.path.exists(path):
        return "broken", "no output"
    with open(path, encoding="utf8", errors="surrogatepass") as file:
        text = file.read()
    marked = "# pellucid: incomplete" in text
    try:
        again = compile(text, path, "exec", dont_inherit=True, optimize=job["optimize"])
    except Exception as error:
        return "broken", "%s: %s" % (type(error).__name__, error)
    if marked:
        lines = [line.strip() for line in text.splitlines() if "# pellucid: incomplete" in line]
        return "marked", "\n".join(lines)
    with open(os.path.join(job["out"], "%d.pyc" % number), "rb") as file:
        first = marshal.loads(file.read()[16:])
    found = same_code.first_difference(first, again)
    if not found:
        return "equal", ""
    name, a, b = found
    wrong = same_code.path_difference(first, again)
    diff = difflib.unified_diff(same_code.show(a), same_code.show(b), "original", "recompiled", lineterm="", n=4)
    return ("different" if wrong else "alike"), "%s\n%s\n%s" % (name, wrong, "\n".join(list(diff)[:80]))


def score_files(job):
    import warnings
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(10000)
    for number in job["made"]:
        status, why = score_one(job, number)
        print(json.dumps([number, status, why]), flush=True)


def inside(version, task, job):
    """A task in the Python under test; its standard output, line by line."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(job, file)
    try:
        done = subprocess.run([roundtrip.python_for(version), __file__, "--inside", task, file.name], check=True,
                              stdout=subprocess.PIPE, text=True)
    finally:
        os.unlink(file.name)
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- one version ----

def run(binary, version, files, optimize, keep=None):
    """[(file, status, why)] for the files that this Python compiles."""
    with tempfile.TemporaryDirectory() as temporary:
        out = str(keep or temporary)
        os.makedirs(out, exist_ok=True)
        job = {"files": files, "out": out, "optimize": optimize}
        job["made"] = inside(version, "compile", job)[0]
        killed = roundtrip.decompile(binary, [pathlib.Path(out) / f"{n}.pyc" for n in job["made"]], out)
        rows = inside(version, "score", job)
    return [(files[n], "broken" if os.path.join(out, f"{n}.pyc") in killed else status,
             killed.get(os.path.join(out, f"{n}.pyc"), why)) for n, status, why in rows]


def summary(rows):
    n = max(len(rows), 1)
    share = {status: 100 * sum(row[1] == status for row in rows) / n
             for status in STATUSES}
    return dict(share, files=len(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", default=",".join(roundtrip.VERSIONS))
    parser.add_argument("--optimize", default="0,1,2", help="levels of -O, default all")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--stdlib", action="store_true")
    parser.add_argument("--folder", action="append", default=[])
    parser.add_argument("--keep", help="keep .pyc files and texts in this folder")
    parser.add_argument("--report", default=str(ROOT / "build-scratch" / "decompile-files.txt"))
    parser.add_argument("--bin", default=os.environ.get("PELLUCID", str(ROOT / "build" / "pellucid")))
    args = parser.parse_args()
    missed, report = [], []
    print(f"{'':<12}{'files':>8}{'equal':>10}{'alike':>10}{'marked':>10}{'different':>10}{'broken':>10}")
    for version in args.versions.split(","):
        if not roundtrip.python_for(version):
            print(f"skipped: no Python {version} on this machine")
            continue
        files = sources(args, version)
        for optimize in map(int, args.optimize.split(",")):
            rows = run(args.bin, version, files, optimize, args.keep)
            figures = summary(rows)
            label = version + (" -" + "O" * optimize if optimize else "")
            print(f"{label:<12}{figures['files']:>8}" + "".join(
                f"{figures[s]:>9.2f}%" for s in STATUSES), flush=True)
            for path, status, why in rows:
                if status != "equal":
                    report.append(f"{'=' * 100}\n{label} {status} {path}\n{why}\n")
            if figures["equal"] + figures["alike"] < EQUAL or figures["different"] + figures["broken"] > UNMARKED:
                missed.append(label)
    os.makedirs(os.path.dirname(args.report), exist_ok=True)
    pathlib.Path(args.report).write_text("\n".join(report), errors="surrogatepass")
    print(f"what is not equal: {args.report}")
    if missed:
        print(f"missed the bar (equal or alike at least {EQUAL}%, unmarked at most {UNMARKED}%): {', '.join(missed)}")
        sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        with open(sys.argv[3]) as job_file:
            {"compile": compile_files, "score": score_files}[sys.argv[2]](json.load(job_file))
    else:
        main()
