"""Tests of the standard library on decompiled modules: bench/decompile_suites.py in small."""

from __future__ import annotations

import pathlib
import sys

import conftest
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import decompile_suites  # noqa: E402


@pytest.mark.slow
def test_results_are_the_same(monkeypatch, tmp_path) -> None:
    pytest.importorskip("test.test_textwrap", reason="this Python came without its own tests")
    names = ["test.test_textwrap", "test.test_shlex"]
    monkeypatch.setitem(decompile_suites.SUITES, "stdlib", ("", "", "", names))
    monkeypatch.setattr(decompile_suites, "STDLIB", ["textwrap", "shlex"])
    same, text = decompile_suites.judge("stdlib", str(conftest.PROGRAM), sys.executable, tmp_path, tmp_path / "keep")
    assert same, text
    assert text.startswith("2 files (") and " 0 pass" not in text, text
