"""Runs a part of the tests in each given Python, with the torch that it has, and writes docs/versions.md.

    python tools/versions.py 3.12 3.13                    those of pyenv or on the path
    python tools/versions.py /path/to/venv/bin/python     this one
    python tools/versions.py --build build-3.11 PYTHON    with an extension that was built before
    python tools/versions.py                              only writes the page anew

What a run found goes to data/versions.tsv, a row per Python, torch and area, in place of the row that was there. The
page is made of these rows alone: what nobody has run is "not run" there.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
ROWS = ROOT / "data" / "versions.tsv"
PAGE = ROOT / "docs" / "versions.md"
TESTS = "tests/python/"
AREAS = {  # area -> what pytest gets
    "recorder": [TESTS + "test_recorder.py", TESTS + "test_recorder_torch.py"],
    "skeleton": [TESTS + "test_author_models.py", TESTS + "test_other_data.py"],
    "views": [TESTS + "test_views.py"],
    "compiler": [TESTS + "test_compiler.py"],
    "scan": [TESTS + "test_scan.py", TESTS + "test_scan_forward.py"],
}
# What people run, whether or not it has been tried; rows that were run are added.
WANTED = [("3.10", "none"), *(("3.11", torch) for torch in ("2.9", "2.11", "2.13", "2.14", "2.15")), ("3.12", "2.15"),
          ("3.13", "2.15"), ("3.14", "2.14"), ("3.14", "2.15"), ("3.15", "2.15")]
COLUMNS = ["import", *AREAS]
ASK = """import sys, importlib.metadata as m
try: torch = m.version("torch")
except m.PackageNotFoundError: torch = "none"
print("%d.%d.%d" % sys.version_info[:3], torch)"""
COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped)")


def outcome(python: str, arguments: list[str], build: str, seconds: int) -> str:
    """`41 passed, 1 failed`, or why there is no count."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / build / "python"), "PELLUCID": str(ROOT / build / "pellucid"),
                 "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not slow", "-o", "addopts=", *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=seconds,
                              check=False)
    except subprocess.TimeoutExpired:
        return f"stopped after {seconds} s"
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            print("   ", line, flush=True)
    last = (done.stdout.strip().splitlines() or [""])[-1]
    counts = COUNTS.findall(last)
    if not counts or done.returncode not in (0, 1, 5):
        return f"pytest ended with {done.returncode}"
    return ", ".join(f"{number} {what}" for number, what in counts)


def imports(python: str, build: str) -> str:
    variables = {**os.environ, "PYTHONPATH": str(ROOT / build / "python")}
    done = subprocess.run([python, "-c", "import pellucid, pellucid._pellucid"], env=variables, capture_output=True,
                          text=True, check=False)
    return "yes" if done.returncode == 0 else "no: " + (done.stderr.strip().splitlines() or ["?"])[-1]


def read_rows() -> dict[tuple[str, str, str], str]:
    """(Python, torch, area) -> what was found."""
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.exists() else []
    cells = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {(python, torch, area): found for python, torch, area, found in cells}


def write_rows(rows: dict[tuple[str, str, str], str]) -> None:
    text = "# python\ttorch\tarea\tfound; written by tools/versions.py\n"
    ROWS.write_text(text + "".join("\t".join((*key, rows[key])) + "\n" for key in sorted(rows, key=order)),
                    encoding="utf-8")


def order(key: tuple[str, ...]) -> tuple[list[int], list[int], int]:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", text.partition("+")[0])]
    return numbers(key[0]), numbers(key[1]), COLUMNS.index(key[2]) if len(key) > 2 else 0


def page(rows: dict[tuple[str, str, str], str]) -> str:
    pairs = {(python, torch) for python, torch, _ in rows}

    def was_run(python: str, torch: str) -> bool:
        return any(p.startswith(python + ".") and (t == torch or t.startswith(torch + ".")) for p, t in pairs)

    pairs |= {(python, torch) for python, torch in WANTED if not was_run(python, torch)}
    lines = ["# Versions of Python and torch", "",
             "`python tools/versions.py PYTHON...` runs a part of the tests in each Python, with the torch that it",
             "has, and writes this page. A cell says what its run found. Of what was not run nothing is known.",
             "Free-threaded builds of CPython are refused, by the build and by the import.", "",
             "| Python | torch | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 2) + "|"]
    for python, torch in sorted(pairs, key=order):
        cells = [rows.get((python, torch, area), "not run") for area in COLUMNS]
        lines.append("| " + " | ".join([python, torch, *cells]) + " |")
    return "\n".join(lines) + "\n"


def run(python: str, build: str | None, areas: list[str], seconds: int) -> None:
    import other_pythons as other
    path = other.find(python)
    if not path or not other.ask(path, ASK):
        sys.exit(f"{python}: there is no such Python here")
    version, torch = other.ask(path, ASK).split()
    if not build:
        problem = other.why_not(path)
        if problem:
            sys.exit(f"{python}: {problem}")
        build = "build-release-" + version.rpartition(".")[0]
        other.build(path, build, "release")  # what users have
    imported = imports(path, build)
    keep(version, torch, "import", imported)
    for area in areas if imported == "yes" else []:
        keep(version, torch, area, outcome(path, AREAS[area], build, seconds))


def keep(python: str, torch: str, area: str, found: str) -> None:
    """At once: a run of all areas takes long, and may be stopped."""
    print(f"{python} {torch} {area}: {found}", flush=True)
    rows = read_rows()
    rows[python, torch, area] = found
    write_rows(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help="a version, or the path of an interpreter")
    parser.add_argument("--build", help="a build folder that has the extension already")
    parser.add_argument("--areas", default=",".join(AREAS), help="which: %(default)s; none: only imports")
    parser.add_argument("--seconds", type=int, default=900, help="for each area (default %(default)s)")
    args = parser.parse_args()
    areas = [area for area in args.areas.split(",") if area in AREAS]
    for python in args.pythons:
        run(python, args.build, areas, args.seconds)
    PAGE.write_text(page(read_rows()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
