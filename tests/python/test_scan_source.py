"""`pellucid scan --source`: the construction code of a network, from source alone; here it is executed and compared."""

from __future__ import annotations

import dataclasses
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
    assert set(re.findall(r"^(?:import|from) (\w+)", text, re.M)) <= {"torch", *sys.stdlib_module_names}
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
    assert "nn.ModuleList([Block(16) for _ in range(3)])" in text


def test_what_differs_becomes_an_argument(written) -> None:
    assert "def __init__(self, out_features):" in written(NET)


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


# ---- with --forward: whole skeletons ----

WHOLE = [
    ("timm", 'timm.create_model("resnet18")', "2x3x64x64"),
    ("timm", 'timm.create_model("vit_tiny_patch16_224")', "1x3x224x224"),
    ("timm", 'timm.create_model("convnext_atto")', "1x3x64x64"),
    ("transformers", "transformers.BertModel(transformers.BertConfig(num_hidden_layers=2))", "2x16:int64"),
]


def tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for item in value.values() for t in tensors(item)]
    if dataclasses.is_dataclass(value):
        return tensors(vars(value))
    return [t for item in value for t in tensors(item)] if isinstance(value, (list, tuple)) else []


def check_same(made: torch.nn.Module, real: torch.nn.Module, *inputs: torch.Tensor) -> None:
    made.load_state_dict(real.state_dict())
    made.eval(), real.eval()
    for given in inputs:
        with torch.no_grad():
            ours, theirs = tensors(made(given)), tensors(real(given))
        assert len(ours) == len(theirs) > 0 and all(map(torch.equal, ours, theirs))


@pytest.mark.parametrize("library, call, shape", WHOLE)
def test_skeletons_without_a_run(pellucid, libraries, library, call, shape) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    done = pellucid("scan", "-e", f"import {library}; {call}", "--python", sys.executable, "--source",
                    "--forward", shape)
    sizes, _, dtype = shape.partition(":")
    size = tuple(map(int, sizes.split("x")))
    more = (size[0] + 1, *size[1:])
    inputs = [torch.randint(0, 50, s) if dtype else torch.randn(s) for s in (size, more)]
    check_same(build(done.out), eval(call, {library: __import__(library)}), *inputs)


FORWARD = """
import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, size, wide=False):
        super().__init__()
        self.fc = nn.Linear(size, size)
        self.act = F.mish
        self.wide = wide

    def forward(self, x):
        y = F.gelu(self.act(self.fc(x)))
        if self.wide:
            y = torch.cat([y, F.silu(y)], dim=-1).chunk(2, dim=-1)[1]
        return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(8), Block(8, wide=True)])
        self.heads = 2

    def forward(self, x):
        b, n, c = x.shape
        x = x.view(b, n, self.heads, c // self.heads).transpose(1, 2)
        x = x.transpose(1, 2).reshape(b, n, c)
        for block in self.blocks:
            x = x + block(x)
        parts = [part * (i + 1) for i, part in enumerate(x.split(4, dim=-1))]
        return {"out": sum(parts), "max": x.amax(dim=1) if n > 1 else x}


net = Net()
"""


def test_functions_of_one_model_are_told_apart(written) -> None:
    text = written(FORWARD, "--forward", "2x3x8")
    assert all(f"F.{name}(" in text for name in ("gelu", "mish", "silu"))
    names: dict[str, Any] = {"__name__": "given"}
    exec(FORWARD, names)
    check_same(build(text), names["net"], torch.randn(2, 3, 8), torch.randn(5, 7, 8))


TABLES = """
import torch
from torch import nn


def relative_index(side):
    grid = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
    apart = (grid[:, :, None] - grid[:, None, :]).permute(1, 2, 0)
    apart[:, :, 0] += side - 1
    apart[:, :, 1] += side - 1
    apart[:, :, 0] *= 2 * side - 1
    return apart.sum(-1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("index", relative_index(4), persistent=False)
        mask = torch.zeros(16, 16)
        mask[4:, :4] = -100.0
        mask.view(-1)[::17] = float("-inf")
        self.register_buffer("mask", mask, persistent=False)
        self.register_buffer("small", torch.arange(3).flip(0), persistent=False)
        self.register_buffer("rounded", 10000 ** (torch.arange(0, 16, 2).float() / 16), persistent=False)
        self.table = nn.Parameter(torch.zeros(49))

    def forward(self, x):
        return x + self.table[self.index.view(-1)].view(16, 16) + self.mask + self.small.sum() + self.rounded.sum()


net = Net()
"""


def test_tensors_that_no_state_dict_holds_are_carried(written) -> None:
    text = written(TABLES, "--forward", "2x16x16")
    scope: dict = {}
    exec(TABLES, scope)
    made, real = build(text), scope["net"]
    assert torch.equal(made.index, real.index) and torch.equal(made.mask, real.mask)
    assert torch.allclose(made.rounded, real.rounded, rtol=1e-6)
    assert ("# Assumed: the elements of rounded, which torch may round otherwise" in text
            and text.count("# Assumed") == 1)
    assert "torch.tensor([2, 1, 0], dtype=torch.int64)" in text


def test_a_fraction_in_a_tensor_of_whole_numbers_is_refused(written) -> None:
    """torch cuts it off when it is stored, our model of torch does not: nothing is made up."""
    text = TABLES.replace("torch.arange(3).flip(0)", "torch.arange(100)").replace(
        "        self.table =", "        self.small[0] = 2.5\n        self.table =")
    assert re.search(r"small .*its values are not known", written(text, "--forward", "2x16x16"))


def test_a_forward_that_cannot_run_is_refused(written) -> None:
    assert re.search(r"can't be written.*given.py:\d+", written(FORWARD, "--forward", "2x3x7"))


CONTEXT = """
import contextvars
import torch
from torch import nn


class Holder:
    def __init__(self, name):
        self.variable = contextvars.ContextVar(name, default={default})

    def set(self, value):
        return self.variable.set(value)


holder = Holder("it's")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        token = holder.set(3)
        try:
            return self.first(x) + torch.finfo(torch.float32).eps
        finally:
            holder.variable.reset(token)


net = Net()
"""


@pytest.mark.parametrize("default, is_literal", [("None", True), ("-1.5", True), ("float('inf')", False),
                                                 ("[]", False)])
def test_objects_that_a_recorded_run_writes_as_literals(pellucid, tmp_path, default, is_literal) -> None:
    path = tmp_path / "net.py"
    path.write_text(CONTEXT.replace("{default}", default))
    done = pellucid("scan", path, "--source", "--forward", "2x4", "--python", sys.executable)
    if not is_literal:  # refused by the writer's reason, not by whatever else the scan does not know
        assert done.code and not done.out and "literal" in done.err
        return
    names: dict[str, Any] = {"__name__": "net"}
    exec(CONTEXT.replace("{default}", default), names)
    check_same(build(done.out), names["Net"](), torch.randn(2, 4), torch.randn(3, 4))


OWN_TRAIN = """
import torch
from torch import nn

seen = {"n": 0}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)
        self.frozen, self.scale, self.log = False, 1.0, [1.0]

    @property
    def is_frozen(self):
        return getattr(self, "_is_frozen", False)

    def freeze(self):
        self.first.weight.data.zero_()

    def train(self, mode=True):
        BODY

    def forward(self, x):
        return self.drop(self.first(x)) * self.scale + self.log[-1] + seen["n"]


net = Net()
"""
PLAIN_TRAIN = [
    "return super().train(mode)",
    "was = self.training\n        made = super().train(mode)\n        if self.is_frozen and was != mode:\n"
    "            self.freeze()\n        return made",
    "super().train(mode)\n        if self.frozen or not hasattr(self, 'first'):\n"
    "            self.first.eval()\n        return self",
]
OTHER_TRAIN = [
    "self.scale = 2.0 if mode else 1.0\n        return super().train(mode)",
    "if self.training and not mode:\n            self.scale = 3.0\n        return super().train(mode)",
    "if not self.training and not mode:\n            self.freeze()\n        return super().train(mode)",
    "self.first.weight.data.mul_(2.0)\n        return super().train(mode)",
    "self.log.append(2.0)\n        return super().train(mode)",
    "self.log += [2.0]\n        return super().train(mode)",
    "seen['n'] += 1\n        return super().train(mode)",
    "seen.update(n=5)\n        return super().train(mode)",
    "return super().train(not mode)",
    "super().train(mode)\n        return super().train(False)",
    "self.training = mode\n        return self",
    "super().train(mode)\n        self.drop.train(False)\n        return self",
    "super().train(mode)\n        nn.init.zeros_(self.first.weight)\n        return self",
    "super().train(mode)\n        self.first.requires_grad_(False)\n        return self",
    "setattr(self, 'scale', 4.0)\n        return super().train(mode)",
    "[self.log.append(3.0) for _ in range(1)]\n        return super().train(mode)",
]


@pytest.mark.parametrize("body", PLAIN_TRAIN + OTHER_TRAIN)
def test_a_train_of_its_own_is_plain_by_proof(pellucid, tmp_path, body) -> None:
    path = tmp_path / "net.py"
    text = OWN_TRAIN.replace("BODY", body)
    path.write_text(text)
    done = pellucid("scan", path, "--source", "--forward", "2x4", "--python", sys.executable)
    if body in PLAIN_TRAIN:
        assert "def train" not in done.out and done.out
    elif not done.out:
        assert done.code and "can't be written" in done.err
        return
    x = torch.randn(2, 4)
    for steps in ([False], [True], [False, False], [True, False], [False, True], [True, True, False]):
        names: dict[str, Any] = {"__name__": "net"}
        exec(text, names)
        real, made = names["net"], build(done.out)
        made.load_state_dict(real.state_dict())
        try:
            for step in steps:
                made.train(step)
        except AssertionError as refused:
            assert "train() is not written" in str(refused) and body in OTHER_TRAIN
            continue
        for step in steps:
            real.train(step)
        assert [m.training for m in made.modules()] == [m.training for m in real.modules()]
        assert [p.requires_grad for p in made.parameters()] == [p.requires_grad for p in real.parameters()]
        if not real.drop.training:
            assert torch.equal(made(x), real(x))
