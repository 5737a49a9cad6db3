"""`pellucid skeleton -- python SCRIPT.py`: the models that a script calls, and the skeleton of one of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import PROGRAM

pytest.importorskip("torch")

LIBRARY = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, act):
        super().__init__()
        self.linear, self.act, self.debug = nn.Linear(width, width), act, False

    def forward(self, x):
        if self.debug:
            print(x)
        return x + self.act(self.linear(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(8, torch.relu) for _ in range(2))

    def forward(self, x, mask=None):
        for block in self.blocks:
            x = block(x)
        return x if mask is None else x * mask[..., None]
"""
SCRIPT = """
import sys
import torch
from library import Net

model, loss = Net(), torch.nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(int(sys.argv[1])):
    x = torch.randn(5, 8)
    loss(model(x), x).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    print("shape", tuple(model(torch.randn(2, 3, 8), mask=torch.ones(2, 3)).shape))
if len(sys.argv) > 2:
    raise ValueError("the script's own fault")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "idle.py").write_text("print('nothing')\n")
    return tmp_path


def skeleton(folder, *words):
    return subprocess.run([PROGRAM, "skeleton", *words], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "PELLUCID_PYTHON": sys.executable})


def test_list_names_what_the_script_calls(folder) -> None:
    done = skeleton(folder, "--list", "--json", "--", "python", "script.py", "2")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["models"]
    assert [(row["name"], row["calls"]) for row in rows] == [("Net", 3), ("MSELoss", 2)]
    assert rows[0]["first_call"] == "script.py:10"
    assert rows[0]["inputs"] == ["(5x8)", "(2x3x8, mask=2x3)"]
    assert "shape (2, 3, 8)" in done.stderr  # standard output is ours


def test_skeleton_knows_every_call_of_the_script(folder) -> None:
    """Train and eval, with and without a mask: each call of the script is a recorded one."""
    done = skeleton(folder, "-o", "net.py", "--", "python", "script.py", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "shape (2, 3, 8)\n"
    source = (folder / "net.py").read_text()
    assert "class Net" in source and "debug" not in source and "mask is" in source
    assert "not recorded with this argument" not in source


def test_script_is_not_disturbed(folder) -> None:
    """Backward passes after the watched calls still work: nothing touches the weights while the script runs."""
    done = skeleton(folder, "--calls", "1", "-o", "net.py", "--", "python", "script.py", "3")
    assert done.returncode == 0 and done.stdout == "shape (2, 3, 8)\n", done.stderr
    assert "1 call," in done.stderr


def test_stop_ends_the_script(folder) -> None:
    done = skeleton(folder, "--calls", "1", "--stop", "-o", "net.py", "--", "python", "script.py", "3")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    assert (folder / "net.py").exists()


def test_script_that_fails_is_never_fine(folder) -> None:
    done = skeleton(folder, "-o", "net.py", "--", "python", "script.py", "1", "fail")
    assert done.returncode == 3 and "the script's own fault" in done.stderr
    assert (folder / "net.py").exists()


@pytest.mark.parametrize("words, code, says", [
    (["-o", "x.py", "--", "python", "idle.py"], 2, "called no torch module"),
    (["-o", "x.py", "--", "python", "missing.py"], 2, "no such file"),
    (["--", "python", "script.py"], 1, "-o FILE"),
    (["-o", "x.py", "--", "bash", "script.sh"], 1, "-- python SCRIPT.py"),
    (["-o", "x.py", "--", "python", "-O", "script.py"], 1, "options of Python"),
    (["-o", "x.py", "--pick", "Nut", "--", "python", "script.py", "1"], 2, "the script called Net, MSELoss"),
    (["-o", "x.py", "--stop", "--", "python", "script.py", "1"], 1, "--calls"),
    (["--list", "timm:resnet18"], 1, "for scripts"),
])
def test_what_can_not_be_done_is_said(folder, words, code, says) -> None:
    done = skeleton(folder, *words)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert not (folder / "x.py").exists()


def test_keyword_that_only_a_decorator_reads_is_still_taken() -> None:
    """Callers give it, so the skeleton's root takes it, and does the same with another value, or raises."""
    import functools

    import torch
    from torch import nn

    import pellucid

    def tuples(method):
        @functools.wraps(method)
        def wrapper(self, *args, **kwargs):
            wants_dict = kwargs.pop("return_dict", True)
            result = method(self, *args, **kwargs)
            return result if wants_dict else (result["y"],)
        return wrapper

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        @tuples
        @tuples
        def forward(self, x, scale=None):
            return {"y": self.linear(x)}

    model, x = Net(), torch.randn(2, 4)
    made = pellucid.skeleton(model, x, {"return_dict": True}, progress=False)
    built = made.module()
    built.load_state_dict(model.state_dict())
    assert torch.equal(built(x, return_dict=True)["y"], model(x)["y"])
    try:
        other = built(x, return_dict=False)
    except AssertionError:
        return
    assert isinstance(other, tuple) and torch.equal(other[0], model(x)["y"])
