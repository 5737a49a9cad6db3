"""The interpreter against CPython: programs of tests/golden/interp must print what CPython prints."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import run_golden  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("PELLUCID", run_golden.ROOT / "build" / "pellucid"))
RUNNER = PROGRAM.resolve().parent / "tests" / "unit" / "interp_run"
CASES = [case for path in sorted((run_golden.GOLDEN / "interp").glob("*.txt")) for case in run_golden.read_cases(path)]


def printed(path: pathlib.Path) -> str:
    if not RUNNER.exists():
        pytest.skip("interp_run is built with -Dtests=true only")
    return subprocess.run([str(RUNNER), str(path)], capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_prints_what_python_prints(case, tmp_path) -> None:
    path = tmp_path / "case.py"
    path.write_text(case.input)
    expected = case.expected
    if sys.version_info[:2] == (3, 11):
        real = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60)
        assert real.returncode == 0 and real.stdout.rstrip() == expected.rstrip(), "the case is not what CPython prints"
    assert printed(path).rstrip() == expected.rstrip()


@pytest.mark.parametrize(
    "source, said",
    [
        ("while True:\n    pass\n", "over the budget of steps"),
        ("def f(n):\n    return f(n + 1)\nf(0)\n", "RecursionError"),
        ("x = 'a' * 10**6\nwhile True:\n    x = x + x\n", "stopped"),
        ("x = 10 ** (10 ** 9)\n", "over the budget"),
        ("x = []\nx.append(x)\nprint(len(repr(x)) < 10**6)\n", "True"),
        ("class A:\n    def __getattr__(self, n):\n        return getattr(self, n)\nA().x\n", "RecursionError"),
        ("open('/etc/passwd').read()\n", "FileNotFoundError"),
        ("import os\nprint(os.path.exists('/etc/passwd'))\n", "False"),
    ],
)
def test_hostile_programs_end(source, said, tmp_path) -> None:
    path = tmp_path / "hostile.py"
    path.write_text(source)
    assert said in printed(path)
