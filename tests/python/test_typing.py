"""The package says py.typed: scripts that use it are clean under mypy --strict, and their mistakes are found."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

SCRIPTS = sorted((ROOT / "tests" / "typing").glob("*.py"))


def mypy() -> list[str]:
    if importlib.util.find_spec("mypy") is not None:
        return [sys.executable, "-m", "mypy"]
    found = shutil.which("mypy")
    if found is None:
        pytest.skip("mypy is not installed: the types of the package are not checked")
    return [found]


def check(tmp_path, *options: str) -> None:
    """Errors inside of the package count no more than those of any installed package: the scripts must be clean."""
    done = subprocess.run([*mypy(), "--strict", "--follow-imports=silent", f"--cache-dir={tmp_path}", *options,
                           *map(str, SCRIPTS)], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={**os.environ, "MYPYPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stdout + done.stderr


def test_scripts_are_clean(tmp_path) -> None:
    assert SCRIPTS
    check(tmp_path, "--no-site-packages")


@pytest.mark.slow
def test_scripts_are_clean_beside_torch(tmp_path) -> None:
    pytest.importorskip("torch", reason="torch's own types")
    check(tmp_path, f"--python-executable={sys.executable}")


def test_the_package_is_clean(tmp_path) -> None:
    """As `mypy --strict python/pellucid` says it in the checkout; pyproject.toml says what is Any."""
    done = subprocess.run([*mypy(), "--strict", f"--cache-dir={tmp_path}", "python/pellucid"], cwd=ROOT, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
