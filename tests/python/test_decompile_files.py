"""Whole files of the standard libraries that are here, others with each commit: bench/decompile_files.py in small."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import types

import conftest
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import decompile_files  # noqa: E402
import roundtrip  # noqa: E402
import same_code  # noqa: E402

SAMPLE = 25


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "0"


@pytest.mark.parametrize("version", roundtrip.VERSIONS)
def test_files_of_this_commit(version: str) -> None:
    if not roundtrip.python_for(version):
        pytest.skip(f"no Python {version} on this machine")
    args = types.SimpleNamespace(stdlib=True, folder=[], sample=SAMPLE, seed=commit())
    rows = decompile_files.run(conftest.PROGRAM, version, decompile_files.sources(args, version), 0)
    assert len(rows) >= SAMPLE - 5
    wrong = [f"{path}: {why}" for path, status, why in rows if status in ("different", "broken")]
    marked = [path for path, status, _ in rows if status == "marked"]
    # under one file in a hundred differs, and a sample may meet one
    assert len(wrong) <= 1, "\n".join(wrong)
    assert len(marked) <= 4, marked


def codes(*sources: str) -> list[types.CodeType]:
    return [compile(source, "x.py", "exec") for source in sources]


@pytest.mark.parametrize("a, b, alike", [
    ("if a:\n    b()\nelse:\n    c()", "if not a:\n    c()\nelse:\n    b()", True),
    ("x = a and b or c", "x = (a and b) or c", True),
    ("if a:\n    b()\nelse:\n    c()", "if a:\n    c()\nelse:\n    b()", False),
    ("try:\n    a()\nexcept E:\n    b()", "try:\n    a()\nexcept E:\n    c()", False),
    ("try:\n    a()\nexcept E:\n    pass\nb()", "try:\n    a()\n    b()\nexcept E:\n    pass", False),
    ("def f(a: int): pass", "def f(a: str): pass", False),
    ("def f():\n    'doc'", "def f():\n    'other'", False),
    ("for i in a:\n    if i:\n        continue\n    b()", "for i in a:\n    if not i:\n        b()", True),
    ("for i in a:\n    b()", "for i in a:\n    b()\nelse:\n    c()", False),
    ("x = 1", "x = True", False),
])
def test_the_comparison_sees(a: str, b: str, alike: bool) -> None:
    """The measure itself: it must not call two programs alike that are not."""
    assert (same_code.path_difference(*codes(a, b)) is None) == alike
