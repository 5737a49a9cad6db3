"""`pellucid scan --source`: the construction code of a network, from source alone; here it is executed and compared."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys
from typing import Any

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("what is written is executed, which needs torch", allow_module_level=True)

import torch

NET = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inside, outside, frozen=False):
        super().__init__()
        self.fc = nn.Linear(inside, outside)
        self.act = nn.ReLU()
        if frozen:
            self.fc.weight.requires_grad_(False)


class Norm(nn.LayerNorm):
    def __init__(self, size):
        super().__init__(size, eps=1e-3)
        self.scale = nn.Parameter(torch.ones(size))


class Net(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.stem = nn.Linear(10, 16)
        self.blocks = nn.ModuleList([Block(16, 16) for _ in range(depth)])
        self.norm = Norm(16)
        self.late = nn.BatchNorm1d(16)
        self.late.eps = 1e-2
        self.head = Block(16, 5)
        self.tied = nn.Linear(16, 10, bias=False)
        self.again = nn.Linear(16, 10, bias=False)
        self.again.weight = self.tied.weight
        self.register_buffer("steps", torch.arange(4), persistent=False)
        self.register_buffer("scale", torch.ones(5))


net = Net()
"""


def build(text: str) -> torch.nn.Module:
    assert set(re.findall(r"^(?:import|from) (\w+)", text, re.M)) <= {"torch", "collections", "functools"}
    names: dict[str, Any] = {"__name__": "written"}
    exec(compile(text, "written.py", "exec"), names)
    return names[re.search(r"# Use: model = (\w+)\(\)", text)[1]]()


def state(model: torch.nn.Module) -> list[tuple]:
    return [(name, tuple(t.shape), t.dtype) for name, t in model.state_dict().items()]


@pytest.fixture
def written(pellucid, tmp_path):
    def run(source: str, *options: str) -> str:
        path, made = tmp_path / "given.py", tmp_path / "made.py"
        path.write_text(source)
        done = pellucid("scan", str(path), "--python", sys.executable, "--source", "-o", str(made), *options)
        return made.read_text() if made.exists() else done.err

    return run


def test_classes_with_their_constructors(written) -> None:
    text = written(NET)
    names: dict[str, Any] = {"__name__": "given"}
    exec(NET, names)
    real, made = names["net"], build(text)
    assert state(made) == state(real)
    assert made.late.eps == 1e-2 and made.norm.eps == 1e-3 and made.again.weight is made.tied.weight
    assert torch.equal(made.steps, real.steps) and "steps" not in made.state_dict()
    assert "not executed, not verified" in text
    assert "nn.ModuleList([Block() for _ in range(3)])" in text


def test_what_differs_becomes_an_argument(written) -> None:
    assert "def __init__(self, out_features=16):" in written(NET)


def test_frozen_parameters_stay_frozen(written) -> None:
    made = build(written(NET.replace("net = Net()", "net = Block(2, 3, frozen=True)")))
    assert not made.fc.weight.requires_grad and made.fc.bias.requires_grad


def test_a_class_that_nothing_makes(written) -> None:
    text = written(NET.replace("net = Net()", ""), "--network", "Net")
    assert len(build(text).blocks) == 3


def test_several_networks_must_be_told_apart(written) -> None:
    several = NET + "other = Block(1, 2)\n"
    assert "several networks, say which: net, other" in written(several)
    assert build(written(several, "--network", "other")).fc.out_features == 2


@pytest.mark.parametrize("call, said", [
    ("Net(int(input()))", r"times \(.*given.py:\d+\)"),
    ("Block(int(input()), 3)", r"given.py:\d+"),
])
def test_what_is_not_known_is_refused_with_its_place(written, call, said) -> None:
    assert re.search(said, written(NET.replace("Net()", call)))


LIBRARY = [
    ("timm", 'timm.create_model("resnet18")'),
    ("timm", 'timm.create_model("vit_tiny_patch16_224")'),
    ("timm", 'timm.create_model("swin_tiny_patch4_window7_224")'),
    ("torch", "torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True)"),
    ("torch", "torch.nn.RNN(3, 4, nonlinearity='relu')"),
    ("transformers", "transformers.BertModel(transformers.BertConfig(num_hidden_layers=2))"),
]


@pytest.mark.parametrize("library, call", LIBRARY)
def test_models_of_libraries(pellucid, libraries, library, call) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    done = pellucid("scan", "-e", f"import {library}; {call}", "--python", sys.executable, "--source")
    real = eval(call, {library: __import__(library)})
    made = build(done.out)
    assert state(made) == state(real)
    assert [p.requires_grad for p in made.parameters()] == [p.requires_grad for p in real.parameters()]


def test_the_file_is_not_touched_when_nothing_can_be_written(pellucid, tmp_path: pathlib.Path) -> None:
    made = tmp_path / "made.py"
    done = pellucid("scan", "-e", "1", "--source", "-o", str(made))
    assert done.code == 2 and not made.exists()
    assert pellucid("scan", "-e", "1", "-o", str(made)).code == 1
