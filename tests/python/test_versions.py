"""tools/versions.py: the page says what was run, and of the rest that it was not."""

from __future__ import annotations

import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def tool(name="versions", monkeypatch=None):
    if monkeypatch:
        monkeypatch.syspath_prepend(str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not monkeypatch:
        sys.path.remove(str(ROOT / "tools"))
    return module


def test_the_page_is_made_of_the_rows() -> None:
    versions = tool()
    assert (ROOT / "docs" / "versions.md").read_text(encoding="utf-8") == versions.page(versions.read_rows())


def test_what_nobody_ran_says_so() -> None:
    versions = tool()
    page = versions.page({("3.11.7", "2.13.0+cpu", "recorder"): "50 passed", ("3.11.7", "2.13.0+cpu", "import"): "yes"})
    lines = {tuple(part.strip() for part in line.split("|")[1:3]): line for line in page.splitlines() if "|" in line}
    assert ("3.11", "2.13") not in lines and "| yes | 50 passed | not run |" in lines["3.11.7", "2.13.0+cpu"]
    for python, torch in versions.WANTED:
        if (python, torch) != ("3.11", "2.13"):
            assert lines[python, torch].count("not run") == len(versions.COLUMNS)


def test_a_run_counts_what_pytest_says(tmp_path) -> None:
    versions = tool()
    (tmp_path / "test_x.py").write_text("def test_a(): pass\ndef test_b(): assert 0\n")
    found = versions.outcome(sys.executable, [str(tmp_path / "test_x.py")], "build", 60)
    assert found == "1 failed, 1 passed"
    assert versions.outcome(sys.executable, [str(tmp_path / "none.py")], "build", 60) == "pytest ended with 4"


@pytest.mark.parametrize("broken, code", [("3.11", 1), ("3.99", 0), (None, 0)])
def test_a_promised_python_that_fails_fails_the_check(monkeypatch, capsys, broken, code) -> None:
    """One that nobody promised is only reported; one that is not here is named."""
    check = tool("check_pythons", monkeypatch)

    def attempt(python: str, folder: pathlib.Path) -> str:
        if python == broken:
            raise RuntimeError("undefined symbol")
        return "fine"

    monkeypatch.setattr(check, "promised", lambda: ["3.10", "3.11"])
    monkeypatch.setattr(check, "NEWER", ("3.99",))
    monkeypatch.setattr(check, "find", lambda version: None if version == "3.10" else version)
    monkeypatch.setattr(check, "why_not", lambda python: "" if python else "not here")
    monkeypatch.setattr(check, "with_extension", attempt)
    monkeypatch.setattr(sys, "argv", ["check_pythons.py"])
    assert check.main() == code
    said = capsys.readouterr().out
    assert "not tried: 3.10 (not here)" in said and ("FAILED" in said) == (broken is not None)
