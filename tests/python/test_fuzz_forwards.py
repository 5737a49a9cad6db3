"""Programs that nobody wrote (tools/fuzz_forwards.py): skeletons of one call give what the model gives, or raise.

A few fixed seeds; the tool runs thousands.
"""

from __future__ import annotations

import collections
import importlib.util
import pathlib
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "fuzz_forwards.py"


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location(TOOL.stem, TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[TOOL.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[TOOL.stem]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_other_calls_of_programs_that_nobody_wrote(tool, tmp_path) -> None:
    kinds: collections.Counter[str] = collections.Counter()
    for seed in range(100):
        text = tool.Maker(seed).program()
        verdict = tool.tried(text, str(tmp_path))
        kinds[verdict.kind] += 1
        assert verdict.kind not in ("different", "crash"), f"{seed}: {verdict.what}\n{text}\n{verdict.source}"
    assert kinds["fine"] > 60, kinds


def test_a_seed_gives_one_program(tool) -> None:
    assert tool.Maker(7).program() == tool.Maker(7).program() != tool.Maker(8).program()


@pytest.mark.filterwarnings("ignore")
def test_a_difference_is_found_and_cut_down(tool, tmp_path, monkeypatch) -> None:
    text = """
from torch import nn

GIVEN = {}

class Net(nn.Module):
    def forward(self, x, grid):
        n = 3
        n = n + grid[0, 0].item()
        return x, n
"""
    first = tool.tried(text, str(tmp_path))
    assert first.kind == "fine" and first.others > 10 and not first.raised
    skeleton = tool.pellucid.skeleton

    def spoiled(*args: Any, **kwargs: Any) -> Any:
        made = skeleton(*args, **kwargs)
        made.source = made.source.replace("grid[0, 0].item()", "1")
        return made
    monkeypatch.setattr(tool.pellucid, "skeleton", spoiled)
    verdict = tool.tried(text, str(tmp_path))
    assert verdict.kind == "different" and verdict.what.startswith("grid [[2, 3], [2, 2]]|")
    assert "n = 3" not in tool.cut_down(text, verdict, str(tmp_path), 5)
