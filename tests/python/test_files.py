"""Model files: every sample gives the tree that its manifest tells, and no hostile file gets anywhere."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLES = pathlib.Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared")) / "data" / "files"


def manifest() -> dict:
    path = SAMPLES / "manifest.json"
    return json.loads(path.read_text()) if path.exists() else {}


needs_samples = pytest.mark.skipif(not manifest(), reason=f"no samples: {SAMPLES} is not there")


@needs_samples
@pytest.mark.parametrize("name", sorted(name for name, row in manifest().items() if "tensors" in row and name.endswith((".pt", ".pth", "tensors"))))
def test_sample_has_its_tensors(pellucid, name: str) -> None:
    result = pellucid("tree", SAMPLES / name, "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["state"] == manifest()[name]["tensors"]
