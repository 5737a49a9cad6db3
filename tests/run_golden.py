"""Runs the golden text cases of tests/golden/<area>/*.txt.

A case is a name with the Pythons it is for, an input, and what comes out:

    === decompile/ternary/as_call_argument [3.8-3.13]
    y = f(a if c else b)
    ---
    y = f(a if c else b)

tests/golden/<area>/RUN says how: a command line in which {version} stands for each of the case's Pythons
in turn, and {pyc} for a file that this Python compiled the input to (the input comes on stdin otherwise).
What comes out is stdout, then stderr, then a line "exit N" if N is not 0. A case without [versions] runs once,
or with the newest.

    python tests/run_golden.py                        all cases
    python tests/run_golden.py format/call            the cases whose names begin so
    python tests/run_golden.py --bless format/call    writes what comes out into the files: review the diff

PELLUCID names the program (default: build/pellucid); PELLUCID_PYTHONS the folder that holds <version>/bin/python
(default: pyenv's).
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
HEADER = re.compile(r"^=== (\S+)(?:\s+\[(3\.\d+)(?:-(3\.\d+))?\])?\s*$")
NEWEST = 13


@dataclasses.dataclass
class Case:
    name: str
    versions: list[int]  # minor numbers
    header: str
    input: str
    expected: str
    path: pathlib.Path
    line: int


class Malformed(Exception):
    pass


def read_cases(path: pathlib.Path) -> list[Case]:
    """Splits a file into its cases; anything before the first header is a comment."""
    cases: list[Case] = []
    part: list[str] = []
    where = "comment"

    def finish() -> None:
        if where == "input":
            raise Malformed(f"{path}:{cases[-1].line}: case without '---'")
        if where == "expected":
            cases[-1].expected = "".join(part).rstrip("\n") + "\n"

    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(keepends=True), 1):
        if line.startswith("=== "):
            finish()
            match = HEADER.match(line)
            if not match:
                raise Malformed(f"{path}:{number}: a header is '=== area/topic/case [3.8-3.13]'")
            name, first, last = match.groups()
            low = int(first[2:]) if first else NEWEST
            high = int(last[2:]) if last else low
            cases.append(Case(name, list(range(low, high + 1)), line, "", "", path, number))
            part, where = [], "input"
        elif line == "---\n" and where == "input":
            cases[-1].input = "".join(part)
            part, where = [], "expected"
        else:
            part.append(line)
    finish()
    return cases


def write_cases(path: pathlib.Path, cases: list[Case]) -> None:
    comment = path.read_text(encoding="utf-8").split("=== ", 1)[0]
    texts = [f"{case.header}{case.input}---\n{case.expected}" for case in cases]
    path.write_text(comment + "\n".join(texts), encoding="utf-8")


def interpreter(minor: int) -> str | None:
    """A Python 3.<minor>: pyenv's, or one on the path."""
    folder = pathlib.Path(os.environ.get("PELLUCID_PYTHONS", pathlib.Path.home() / ".pyenv" / "versions"))
    for candidate in sorted(folder.glob(f"3.{minor}.*/bin/python")):
        return str(candidate)
    return shutil.which(f"python3.{minor}")


class Runner:
    def __init__(self, folder: str) -> None:
        self.folder = pathlib.Path(folder)
        program = pathlib.Path(os.environ.get("PELLUCID", ROOT / "build" / "pellucid")).resolve()
        self.environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
        self.missing: set[int] = set()

    def compile_all(self, cases: list[Case]) -> None:
        """Compiles the inputs of the cases with each of their Pythons, one process per Python."""
        for minor in sorted({minor for case in cases for minor in case.versions}):
            python = interpreter(minor)
            if not python:
                self.missing.add(minor)
                continue
            script = (
                "import sys, py_compile\n"
                "for name in sys.stdin.read().split('\\n'):\n"
                "    py_compile.compile(name, name[:-3] + '.pyc', dfile='case.py', doraise=True)\n"
            )
            names = []
            for case in cases:
                if minor in case.versions:
                    path = self.pyc(case, minor).with_suffix(".py")
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(case.input, encoding="utf-8")
                    names.append(str(path))
            subprocess.run([python, "-c", script], input="\n".join(names), text=True, check=True)

    def pyc(self, case: Case, minor: int) -> pathlib.Path:
        return self.folder / f"3.{minor}" / (case.name.replace("/", ".") + ".pyc")

    def output(self, case: Case, minor: int, command: str) -> str:
        filled = [
            word.replace("{version}", f"3.{minor}").replace("{pyc}", str(self.pyc(case, minor)))
            for word in shlex.split(command)
        ]
        done = subprocess.run(
            filled, input=case.input.encode(), capture_output=True, env=self.environment, cwd=ROOT,
            timeout=60, check=False
        )
        text = (done.stdout + done.stderr).decode(errors="replace").replace(str(self.pyc(case, minor)), "<input>")
        if text and not text.endswith("\n"):
            text += "\n"
        return text.rstrip("\n") + "\n" + (f"exit {done.returncode}\n" if done.returncode else "")


def show_difference(case: Case, minor: int, got: str) -> None:
    print(f"FAILED {case.name} [3.{minor}]  ({case.path.relative_to(ROOT)}:{case.line})")
    print("  expected:\n" + "".join(f"    {line}\n" for line in case.expected.splitlines()), end="")
    print("  got:\n" + "".join(f"    {line}\n" for line in got.splitlines()), end="")


def main() -> int:
    parser = argparse.ArgumentParser(description="runs golden cases")
    parser.add_argument("names", nargs="*", help="beginnings of case names; default: all")
    parser.add_argument("--bless", action="store_true", help="write what comes out into the files")
    arguments = parser.parse_args()

    passed = failed = skipped = blessed = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(folder)
        for run_file in sorted(GOLDEN.glob("*/RUN")):
            command = run_file.read_text(encoding="utf-8").strip()
            files = {path: read_cases(path) for path in sorted(run_file.parent.glob("*.txt"))}
            seen: set[str] = set()
            for case in (case for cases in files.values() for case in cases):
                if case.header in seen or not case.name.startswith(run_file.parent.name + "/"):
                    raise Malformed(f"{case.path}:{case.line}: name is taken, or does not begin with the area")
                seen.add(case.header)
            chosen = [
                case
                for cases in files.values()
                for case in cases
                if not arguments.names or any(case.name.startswith(name) for name in arguments.names)
            ]
            if "{pyc}" in command:
                runner.compile_all(chosen)
            for case in chosen:
                versions = case.versions if "{" in command else case.versions[-1:]
                outputs = {}
                for minor in versions:
                    if "{pyc}" in command and minor in runner.missing:
                        skipped += 1
                        continue
                    outputs[minor] = runner.output(case, minor, command)
                if arguments.bless and outputs:
                    if len(set(outputs.values())) > 1:
                        print(f"not blessed: {case.name} differs between versions; split it by [versions]")
                        failed += 1
                    else:
                        new = next(iter(outputs.values()))
                        blessed += new != case.expected
                        case.expected = new
                    continue
                for minor, got in outputs.items():
                    if got == case.expected:
                        passed += 1
                    else:
                        failed += 1
                        show_difference(case, minor, got)
            if arguments.bless:
                for path, cases in files.items():
                    if any(case in chosen for case in cases):
                        write_cases(path, cases)
        if runner.missing:
            print("skipped: no Python " + ", ".join(f"3.{minor}" for minor in sorted(runner.missing)) + " here")
    if arguments.bless:
        print(f"golden: {blessed} expectations rewritten, {failed} refused")
    else:
        print(f"golden: {passed} passed, {failed} failed, {skipped} skipped")
        if not passed and not failed and not skipped:
            print("no case has such a name")
            return 1
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Malformed as problem:
        sys.exit(str(problem))
