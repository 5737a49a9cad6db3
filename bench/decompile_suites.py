"""Packages' own tests, on their sources and on what their bytecode is decompiled to, compared test by test.

    python bench/decompile_suites.py                       every suite
    python bench/decompile_suites.py jinja2 click          these
    python bench/decompile_suites.py --python PATH         in another Python, which needs pytest

A package comes as a source archive from pip's index, once, into PELLUCID_SDISTS (build-scratch/sdists if unset). Its
modules are compiled, decompiled by the program, and written over a copy of it; its tests stay as they are. A suite has
the same results if every test that ran on the sources ends in the same way on the decompiled ones. Tests that fail or
are skipped on both sides are the same, and are counted; a suite of which nothing passes on its own sources counts as
not run. Exit 1 when a suite differs.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = "# pellucid: incomplete"
TIMEOUT = 900

# name: (requirement, folder that holds the package, package, what pytest gets); no requirement: the standard library
SUITES = {
    "jinja2": ("jinja2", "src", "jinja2", ["tests"]),
    "attrs": ("attrs", "src", "attr", ["tests", "--ignore=tests/test_mypy.yml", "-p", "no:cov"]),
    "click": ("click", "src", "click", ["tests"]),
    "more-itertools": ("more-itertools", ".", "more_itertools", ["tests"]),
    "packaging": ("packaging", "src", "packaging", ["tests", "--ignore=tests/property"]),
    "networkx": ("networkx", ".", "networkx", ["networkx/classes", "networkx/generators", "networkx/utils"]),
    "sqlalchemy": ("sqlalchemy", "lib", "sqlalchemy", ["test/sql/test_operators.py", "test/sql/test_select.py",
                                                      "test/sql/test_selectable.py", "test/sql/test_compiler.py",
                                                      "test/base"]),
    "pydantic": ("pydantic==1.10.24", ".", "pydantic", ["tests/test_main.py", "tests/test_validators.py",
                                                        "tests/test_types.py", "tests/test_dataclasses.py",
                                                        "tests/test_schema.py", "tests/test_generics.py"]),
    "pyyaml": ("pyyaml", "lib", "yaml", ["tests"]),
    "sympy": ("sympy", ".", "sympy", ["sympy/core/tests/test_arit.py", "sympy/core/tests/test_expr.py",
                                     "sympy/core/tests/test_basic.py", "sympy/polys/tests/test_polytools.py",
                                     "sympy/parsing/tests/test_sympy_parser.py"]),
    "toolz": ("toolz", ".", "toolz", ["toolz/tests"]),
    "stdlib": ("", "", "", ["test.test_" + name for name in
                            "textwrap json fractions statistics configparser difflib heapq argparse csv dataclasses "
                            "string shlex tokenize traceback optparse functools collections enum".split()]),
}

STDLIB = ("textwrap json fractions statistics configparser difflib heapq argparse csv dataclasses string shlex "
          "tokenize optparse").split()


def unpack(requirement, folder):
    """The source archive's folder; None if pip can't get it."""
    name = requirement.split("=")[0]
    folder.mkdir(parents=True, exist_ok=True)
    like = lambda path: path.name.lower().replace("_", "-").startswith(name + "-")  # noqa: E731
    found = sorted(p for p in folder.glob("*.tar.gz") if like(p))
    if not found:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name,
                        "--disable-pip-version-check", "-d", str(folder), requirement],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = sorted(p for p in folder.glob("*.tar.gz") if like(p))
    return found[-1] if found else None


def is_test(path):
    return bool({"test", "tests", "testing", "conftest.py"} & set(path.parts)) or path.name.startswith("test_")


def decompile(binary, python, sources, compiled):
    """Writes each file's decompiled text over it. Returns (files, files marked as incomplete, what went wrong)."""
    compiled.mkdir()
    listed = compiled / "files.txt"
    listed.write_text("\n".join(map(str, sources)))
    script = ("import sys, py_compile, os\n"
              "for i, path in enumerate(open(sys.argv[1]).read().splitlines()):\n"
              "    py_compile.compile(path, os.path.join(sys.argv[2], '%d.pyc' % i), doraise=True)\n")
    subprocess.run([python, "-W", "ignore", "-c", script, str(listed), str(compiled)], check=True)
    pycs = [str(compiled / f"{i}.pyc") for i in range(len(sources))]
    subprocess.run([binary, "decompile", "-o", str(compiled)] + pycs, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=TIMEOUT)
    marked = 0
    for i, path in enumerate(sources):
        made = compiled / f"{i}.py"
        if not made.exists():
            return len(sources), marked, f"no text for {path.name}"
        text = made.read_bytes()
        marked += MARK.encode() in text
        path.write_bytes(text)
    return len(sources), marked, ""


def run_tests(python, folder, path, arguments, out):
    """{test: outcome}"""
    environment = dict(os.environ, PYTHONPATH=str(path), PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0",
                       NO_COLOR="1", COLUMNS="80")
    report = out / "report.xml"
    report.unlink(missing_ok=True)
    try:
        subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors",
                        "-W", "ignore", f"--junitxml={report}", *arguments], cwd=folder, env=environment,
                       stdin=subprocess.DEVNULL, stdout=open(out / "log.txt", "w"), stderr=subprocess.STDOUT,
                       timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return {}
    found = {}
    if report.exists():
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            found[case.get("classname", "") + "::" + case.get("name", "")] = kinds[0] if kinds else "passed"
    return found


def copies(name, work, archives, python):
    """Two copies: (folder to run in, folder for PYTHONPATH, files to decompile), or a reason why there are none."""
    requirement, inside, package, _ = SUITES[name]
    found = []
    for side in ("original", "decompiled"):
        folder = work / side
        folder.mkdir()
        if not requirement:
            where = "import os; print(os.path.dirname(os.__file__))"
            lib = pathlib.Path(subprocess.run([python, "-c", where], check=True,
                                              stdout=subprocess.PIPE, text=True).stdout.strip())
            for module in STDLIB:
                if (lib / module).is_dir():
                    shutil.copytree(lib / module, folder / module, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(lib / f"{module}.py", folder)
            found.append((folder, folder, sorted(folder.rglob("*.py"))))
            continue
        archive = unpack(requirement, archives)
        if not archive:
            return "pip could not get its sources"
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else file.extractall(folder)
        top = next(p for p in folder.iterdir() if p.is_dir())
        base = top / inside / package
        files = [p for p in sorted(base.rglob("*.py")) if not is_test(p.relative_to(base))]
        found.append((top, top / inside, files))
    return found


def judge(name, binary, python, archives, keep=None):
    """(same, text) of one suite; same is None where it could not be run."""
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(keep or temporary) / name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        found = copies(name, work, archives, python)
        if isinstance(found, str):
            return None, found
        (folder, path, _), (other_folder, other_path, files) = found
        arguments = list(SUITES[name][3])
        if not SUITES[name][0]:
            arguments = ["--pyargs", *arguments]
        (work / "a").mkdir()
        (work / "b").mkdir()
        first = run_tests(python, folder, path, arguments, work / "a")
        passed = sum(outcome == "passed" for outcome in first.values())
        if not passed:
            return None, "no test passes on its own sources: " + tail(work / "a" / "log.txt")
        n, marked, why = decompile(binary, python, files, work / "compiled")
        if why:
            return False, why
        second = run_tests(python, other_folder, other_path, arguments, work / "b")
        names = sorted(set(first) | set(second))
        wrong = [t for t in names if first.get(t, "missing") != second.get(t, "missing")]
        text = f"{n} files ({marked} marked), {len(first)} tests, {passed} pass, {len(wrong)} end in another way"
        for t in wrong[:10]:
            text += f"\n    {t}: {first.get(t, 'missing')}, decompiled {second.get(t, 'missing')}"
        return not wrong, text


def tail(path):
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return " | ".join(lines[-3:])[:300]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=[], help="names, default all: " + " ".join(SUITES))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--keep", help="keep the copies and pytest's output in this folder")
    parser.add_argument("--bin", default=os.environ.get("PELLUCID", str(ROOT / "build" / "pellucid")))
    args = parser.parse_args()
    unknown = set(args.suites) - set(SUITES)
    if unknown:
        parser.error("no such suite: " + " ".join(sorted(unknown)))
    archives = pathlib.Path(os.environ.get("PELLUCID_SDISTS") or ROOT / "build-scratch" / "sdists")
    results = {}
    for name in args.suites or SUITES:
        same, text = judge(name, os.path.abspath(args.bin), args.python, archives.resolve(), args.keep)
        results[name] = same
        print(f"{name:<16}{ {True: 'same', False: 'DIFFERS', None: 'not run'}[same]:<9}{text}", flush=True)
    print(f"{sum(same is True for same in results.values())} of {len(results)} suites have the same results, "
          f"{sum(same is None for same in results.values())} were not run")
    sys.exit(1 if False in results.values() else 0)


if __name__ == "__main__":
    main()
