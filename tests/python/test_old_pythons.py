"""A Python that is too old for the package is refused in words, with what can be done from there."""

from __future__ import annotations

import os
import pathlib
import shutil

import pytest


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8", "3.9"])
def test_refused_in_words(pellucid, version: str) -> None:
    folder = pathlib.Path(os.environ.get("PELLUCID_PYTHONS", pathlib.Path.home() / ".pyenv" / "versions"))
    found = sorted(folder.glob(f"{version}.*/bin/python"))
    path = str(found[0]) if found else shutil.which(f"python{version}")
    if not path:
        pytest.skip(f"no Python {version} on this machine")
    done = pellucid("skeleton", "net.py:build", "--python", path)
    assert done.code == 2 and not done.out, done
    assert f"is Python {version}. The package needs 3.10, and recording 3.11" in done.err, done.err
    assert "torch.jit.script(model).save" in done.err and "Traceback" not in done.err
