"""Programs that nobody wrote (tools/fuzz_forwards.py): skeletons of one call give what the model gives, or raise.

A few fixed seeds; the tool runs thousands.
"""

from __future__ import annotations

import collections
import importlib.util
import pathlib
import subprocess
import sys
import time
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


@pytest.mark.filterwarnings("ignore")
def test_a_program_without_an_end_has_no_result(tool) -> None:
    def job(seed: int) -> Any:
        while seed == 3:
            pass
        yield {"seed": seed, "kind": "fine", "what": ""}
    rows = {row["seed"]: row["kind"] for row in tool.in_processes([0, 2, 3, 4], job, 1)}
    assert rows == {0: "fine", 2: "fine", 3: "slow", 4: "fine"}


@pytest.mark.parametrize("text", ["x.new_zeros(1 << 34)", "[x] * (1 << 31)"])
def test_a_limit_of_memory_is_its_own_outcome(tool, tmp_path, text) -> None:
    program = f"""
from torch import nn

GIVEN = {{}}

class Net(nn.Module):
    def forward(self, x, grid):
        return x, len({text} if grid[0, 0] == 2 else [x])
"""
    (tmp_path / "program.py").write_text(program)
    script = f"import sys; sys.argv[1:] = ['--file', {str(tmp_path / 'program.py')!r}]; import runpy; " \
             f"runpy.run_path({str(TOOL)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert "memory: a limit" in done.stdout and done.returncode == 1, done.stdout + done.stderr


def test_what_processes_take_together_is_watched(tool, monkeypatch) -> None:
    """RLIMIT_AS is for a process; the referee is another one."""
    monkeypatch.setattr(tool, "MEMORY", 3 << 30)

    def job(seed: int) -> Any:
        grow = "import time; kept = b'x' * (1 << 30); time.sleep(60)"
        for _ in range(3):
            subprocess.Popen([sys.executable, "-c", grow])
        time.sleep(60)
        yield {"seed": seed, "kind": "fine", "what": ""}
    [row] = tool.in_processes([0], job, 60)
    assert row["kind"] == "memory"
