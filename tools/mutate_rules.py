#!/usr/bin/env python3
"""Which rules of dependence have a test that fails without them?

    tools/mutate_rules.py                       all of them; some minutes
    tools/mutate_rules.py --count 30 --seed 1   so many, chosen at random
    tools/mutate_rules.py --only walk/name.c    those of files whose path matches
    tools/mutate_rules.py --list                where they are

A rule is a place of src/trace that says of a value that it depends on something or that nothing is known of it
(&pel_tainted..., &pel_taint_unknown). Each is made a constant, one at a time: what fails open then must make a test
fail. All mutants are built once, in build-rules; an environment variable chooses one. A first run of the tests shows
which of them come to which rule. A rule that no test comes to, and one whose loss no test notices, are printed with
their lines. Exit code 4 if there are more of them than --most.
"""

from __future__ import annotations

import argparse
import collections
import mmap
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE, BUILD = ROOT / "build-rules" / "tree", ROOT / "build-rules" / "build"
REACHED = ROOT / "build-rules" / "reached"
TESTS = ["test_dependence.py"]
RULE = re.compile(r"(?<![=!]= )&pel_taint(?:ed(?:_\w+)?|_unknown)\b")
ROOM = 4096  # rules that there may be
MUTANT = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
const pel_taint *pel_mutant(unsigned number, const pel_taint *rule) {
    const char *chosen = getenv("PEL_MUTANT"), *path = getenv("PEL_REACHED");
    static char *reached;
    if (path && !reached) {
        reached = mmap(NULL, %d, PROT_READ | PROT_WRITE, MAP_SHARED, open(path, O_RDWR), 0);
        if (reached == MAP_FAILED) abort();
    }
    if (reached) reached[number] = 1;
    return chosen && (unsigned)atoi(chosen) == number ? pel_constant(PEL_WHY_COMPUTED) : rule;
}
""" % ROOM


def rules() -> list[tuple[str, int, str]]:
    """Path below src/trace, line, text of each, and the tree in which each has its number."""
    if TREE.exists():
        shutil.rmtree(TREE)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found: list[tuple[str, int, str]] = []
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, TREE / name
        if name.startswith(("tests/", "fuzz/", "bench/", "docs/tasks")) or not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if not (name.startswith("src/trace/") and name.endswith(".c")):
            shutil.copy2(source, target)
            continue
        lines = source.read_text(encoding="utf-8").split("\n")
        for at, line in enumerate(lines):
            def numbered(match: re.Match[str], at: int = at, line: str = line) -> str:
                found.append((name.removeprefix("src/trace/"), at + 1, line.strip()))
                return f"pel_mutant({len(found)}, {match[0]})"
            lines[at] = RULE.sub(numbered, line)
        if name == "src/trace/depends/taint.c":
            lines.append(MUTANT)
        target.write_text("\n".join(lines), encoding="utf-8")
    header = TREE / "src/trace/depends/taint.h"
    text = header.read_text(encoding="utf-8")
    declared = "const pel_taint *pel_mutant(unsigned number, const pel_taint *rule);\n"
    header.write_text(text.replace("const pel_taint *pel_constant(", declared + "const pel_taint *pel_constant(", 1),
                      encoding="utf-8")
    assert len(found) < ROOM
    return found


def build() -> pathlib.Path:
    """The package with the extension that has all mutants."""
    steps = [["meson", "setup", BUILD, TREE, "--buildtype=plain", "-Doptimization=1", "-Dtests=false",
              "-Dpython=enabled"], ["ninja", "-C", BUILD]]
    for step in steps[(BUILD / "build.ninja").exists():]:
        done = subprocess.run([str(part) for part in step], check=False, text=True, capture_output=True)
        if done.returncode:
            sys.exit(f"{step[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    package = BUILD / "package" / "pellucid"
    if package.exists():
        shutil.rmtree(package)
    shutil.copytree(ROOT / "python" / "pellucid", package, ignore=shutil.ignore_patterns("__pycache__"))
    for module in BUILD.glob("_pellucid*.so"):
        shutil.copy2(module, package)
    return package.parent


class Reach:
    """A plugin of pytest: which rules each test comes to."""

    def __init__(self, reached: mmap.mmap, most: int = 0) -> None:
        self.reached, self.most = reached, most
        self.tests: dict[int, list[str]] = collections.defaultdict(list)
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.most and len(items) > self.most:
            items[:] = random.Random(0).sample(items, self.most)

    def pytest_runtest_setup(self) -> None:
        self.reached[:] = bytes(ROOM)

    def pytest_runtest_teardown(self, item: Any) -> None:
        for number in (i for i, byte in enumerate(self.reached[:]) if byte):
            self.tests[number].append(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def run_tests(names: list[str], *plugins: Any) -> int:
    import pytest
    return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", "--no-header", "--no-summary",
                            "--rootdir", str(ROOT), *names], plugins=list(plugins)))


def is_noticed(number: int, tests: list[str], seconds: float) -> str | None:
    """The test that fails without the rule. In a process of its own, for tests change what is imported."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.environ["PEL_MUTANT"] = str(number)
        os.environ.pop("PEL_REACHED", None)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        seen = Reach(mmap.mmap(-1, ROOM))  # it comes to the same places
        run_tests(tests, seen)
        os.write(writing, (seen.failed or [""])[0].encode())
        os._exit(0)
    os.close(writing)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not os.waitpid(child, os.WNOHANG)[0]:
        time.sleep(0.05)
    else:
        if time.monotonic() >= end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return "it does not end"
    with os.fdopen(reading) as answer:
        return answer.read() or None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", default="", help="rules of files whose path matches")
    parser.add_argument("--count", type=int, metavar="N", help="so many, chosen at random")
    parser.add_argument("--seed", default="0", help="of the choice")
    parser.add_argument("--list", action="store_true", help="print the rules, run nothing")
    parser.add_argument("--tests", type=int, default=60, help="that a rule may have at most (60)")
    parser.add_argument("--of", type=int, default=0, metavar="N", help="of all tests so many, chosen at random")
    parser.add_argument("--seconds", type=float, default=120.0, help="for one rule (120)")
    parser.add_argument("--with", dest="more", metavar="FILE", action="append", default=[],
                        help="another file of tests/python, as test_adversarial.py; may be given several times")
    parser.add_argument("--most", type=int, default=1000, metavar="N", help="exit 4 if more are not noticed")
    options = parser.parse_args()
    found = rules()
    chosen = [number for number, rule in enumerate(found, 1) if re.search(options.only, rule[0])]
    if options.count is not None and options.count < len(chosen):
        chosen = sorted(random.Random(options.seed).sample(chosen, options.count))
    if options.list:
        print("\n".join("{}:{}: {}".format(*found[number - 1]) for number in chosen))
        return 0
    sys.path[:0] = [str(build()), str(ROOT / "tests" / "python"), str(ROOT / "tests")]
    REACHED.write_bytes(bytes(ROOM))
    with open(REACHED, "r+b") as file:
        reach = Reach(mmap.mmap(file.fileno(), ROOM), options.of)
    os.environ["PEL_REACHED"] = str(REACHED)
    names = [str(ROOT / "tests" / "python" / test) for test in TESTS + options.more]
    if run_tests(names, reach):
        sys.exit(f"the tests fail as it is: {', '.join(reach.failed)}")
    lost: list[str] = []
    for number in chosen:
        path, line, text = found[number - 1]
        tests = reach.tests.get(number, [])
        order = random.Random(number).sample(tests, min(len(tests), options.tests))
        killer = is_noticed(number, order, options.seconds) if tests else None
        said = killer or ("NOT NOTICED" if tests else "NOT REACHED")
        print(f"{path}:{line}: {said} ({len(tests)} tests come to it): {text[:90]}", flush=True)
        if not killer:
            lost.append(f"{path}:{line}")
    print(f"{len(chosen)} rules: without {len(chosen) - len(lost)} of them a test fails; {len(lost)} are not noticed")
    return int(len(lost) > options.most) * 4


if __name__ == "__main__":
    sys.exit(main())
