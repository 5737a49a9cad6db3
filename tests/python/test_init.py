"""--init: the first values of parameters are those of the author's calls, or the header says which are not."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import pellucid  # noqa: E402
from pellucid import _init  # noqa: E402
from pellucid._check import load_source  # noqa: E402
from pellucid._program import program  # noqa: E402

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="recording needs Python 3.11")


class Net(nn.Module):
    """Every way that authors have: nn.init, methods of .data, factories, a row, a formula, what torch does itself."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.pos = nn.Parameter(torch.randn(1, 6, 8) * 0.02)
        self.gamma = nn.Parameter(1e-4 * torch.ones(8))
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 8)
        self.plain = nn.Linear(8, 8)
        self.odd = nn.Parameter(torch.linspace(0, 1, 8))
        nn.init.trunc_normal_(self.first.weight, std=0.02)
        self.first.bias.data.fill_(0.5)
        for p in (self.second.weight, self.plain.weight):
            p.data.normal_(0, math.sqrt(2 / p[0].numel()))
        with torch.no_grad():
            self.embed.weight.normal_(std=0.02)
            self.embed.weight[3].zero_()

    def forward(self, ids):
        x = (self.embed(ids) + self.pos[:, : ids.shape[1]]) * self.gamma + self.odd
        return self.plain(x + self.second(self.first(x).relu()))


def build():
    torch.manual_seed(0)
    return Net().eval(), torch.randint(0, 20, (2, 5))


def made_of(model, *inputs):
    return pellucid.skeleton(model, inputs, verify=False, progress=False)


def test_parameters_begin_as_the_authors() -> None:
    made = made_of(*build())
    assert "# Load weights before training: the author's initialisation is not in this file, torch.em" in made.source
    said = made.add_init(lambda: build()[0])
    assert "not as the author's: odd" in said and "load weights before training" in " ".join(
        line.lstrip("# ") for line in made.source.split("\n")[:8])
    assert "std=math.sqrt(2 / p[0].numel())" in made.source and "nn.init.trunc_normal_(p, std=0.02)" in made.source
    space = vars(load_source(made.source, "made_with_init", "<made>"))
    torch.manual_seed(1)
    ours = space["init_weights"](space["Net"]())
    assert torch.equal(ours.gamma, torch.full((8,), 1e-4)) and torch.equal(ours.first.bias, torch.full((16,), 0.5))
    assert not ours.embed.weight[3].any() and 0.012 < float(ours.embed.weight[:3].std()) < 0.03
    assert 0.01 < float(ours.pos.std()) < 0.03 and float(ours.first.weight.abs().max()) < 0.1
    assert 0.2 < float(ours.second.weight.std()) < 0.5
    assert ours(torch.zeros(1, 4, dtype=torch.int64)).shape == (1, 4, 8)


def test_all_parameters_and_the_header_says_so() -> None:
    def make():
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        nn.init.orthogonal_(model[0].weight, gain=2.0)
        return model

    made = made_of(make(), torch.randn(2, 4))
    said = made.add_init(make)
    assert "(1 of 4; 3 begin as torch's modules make them)" in said and "not as the author's" not in said
    assert "nn.init.orthogonal_(p, gain=2.0)" in made.source and "Load weights" not in made.source


def test_a_model_without_an_initialisation_of_its_own() -> None:
    made = made_of(nn.Sequential(nn.Linear(4, 4)), torch.randn(2, 4))
    before = made.source
    assert made.add_init(lambda: nn.Sequential(nn.Linear(4, 4))).startswith("2 of 2 parameters begin as the author's")
    assert "def init_weights" not in made.source and before.split("\n")[-4:] == made.source.split("\n")[-4:]


def test_what_is_written_is_watched_too(monkeypatch) -> None:
    """A function that makes other calls is not written."""
    made = made_of(*build())
    text = _init.function_text
    monkeypatch.setattr(_init, "function_text", lambda found: text(found).replace("std=0.02", "std=0.03"))
    assert made.add_init(lambda: build()[0]).startswith("not written: ")
    assert "def init_weights" not in made.source


def test_another_model_is_refused() -> None:
    made = made_of(nn.Sequential(nn.Linear(4, 4)), torch.randn(2, 4))
    assert made.add_init(lambda: nn.Sequential(nn.Linear(4, 4, bias=False))).startswith("not written: built again")
    assert made.add_init(lambda: 1 / 0).startswith("not written: ZeroDivisionError")


def test_copies_keep_where_they_are_from() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    chains = _init.watched(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2))
    alone = _init.watched(lambda: nn.TransformerEncoderLayer(8, 2, 16))
    assert {f"layers.{i}.{n}": alone[n] for i in (0, 1) for n in dict(layer.named_parameters())} == chains


@pytest.mark.parametrize("write", [
    lambda p: p.__iadd__(1), lambda p: torch.add(p, 1, out=p), lambda p: p.numpy().__setitem__(0, 2.0),
    lambda p: p.__setitem__(0, 3.0), lambda p: p[1:].normal_(), lambda p: p.copy_(torch.arange(4.0)),
    lambda p: p.mul_(torch.rand(4)), lambda p: p.clamp_(min=torch.zeros(4)),
    lambda p: (p.add_(1), p.view(2, 2)[0].fill_(float("nan")))])
def test_every_write_is_seen(write) -> None:
    """A parameter that was written in a way without a rule is no zero any more."""
    def make():
        model = nn.Module()
        p = torch.zeros(4)
        model.p = nn.Parameter(p)
        with torch.no_grad():
            write(model.p.data)
        return model

    chain = _init.watched(make)["p"]
    assert chain != (("constant_", 0),)
    found = _init.rules({"p": chain}, {"p": ()}, {"p": (4,)})
    assert found.open or found.rules[0][1] != ["nn.init.zeros_(p)"]


def test_trunc_normal_written_out() -> None:
    def make(std, mean=0.0, a=-2.0, b=2.0):
        p = torch.empty(4, 4)
        low, high = ((1 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2 for x in (a, b))
        p.uniform_(2 * low - 1, 2 * high - 1)
        p.erfinv_()
        p.mul_(std * math.sqrt(2.0))
        p.add_(mean)
        p.clamp_(min=a, max=b)
        model = nn.Module()
        model.p = nn.Parameter(p)
        return model

    assert _init.watched(lambda: make(0.02))["p"] == (("init", "trunc_normal_", ("std", 0.02)),)
    assert _init.watched(lambda: make(0.5, 0.1, -1.0, 1.0))["p"] == (
        ("init", "trunc_normal_", ("mean", 0.1), ("std", 0.5), ("a", -1.0), ("b", 1.0)),)


def test_command_line(tmp_path) -> None:
    out = tmp_path / "net.py"
    done = subprocess.run([program(), "skeleton", f"{__file__}:build", "--init", "-o", str(out), "--python",
                           sys.executable], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode in (0, 3) and "initialisation: init_weights(Net())" in done.stderr, done.stderr
    assert "def init_weights(model):" in out.read_text() and "# Initialisation: " in out.read_text()


class Unit(nn.Module):
    """A matrix that begins as the identity, and a view of one, which nn.init.eye_ does not make."""

    def __init__(self):
        super().__init__()
        self.turn = nn.Parameter(torch.eye(3))
        self.flat = nn.Parameter(torch.eye(2, 3).flatten())
        self.wide = nn.Parameter(nn.init.eye_(torch.empty(4, 4)).view(2, 8))

    def forward(self, x):
        return x @ self.turn + self.flat.sum() + self.wide.sum()


def test_identities():
    made = pellucid.skeleton(Unit(), torch.randn(2, 3))
    said = made.add_init(Unit)
    assert "nn.init.eye_(p)" in made.source and "flat" in said and "wide" in said, said
    space = vars(load_source(made.source, "identities", "<identities>"))
    assert torch.equal(space["init_weights"](space["Unit"]()).turn, torch.eye(3))


def test_also_takes_another_model_of_the_same_file(tmp_path):
    """A file is executed for each SPEC: its class is the same by its text, not as an object."""
    (tmp_path / "nets.py").write_text(
        "import torch.nn as nn\n\n\nclass C:\n    def __init__(self, n=2):\n        self.n = n\n\n\n"
        "class Net(nn.Module):\n    def __init__(self, c):\n        super().__init__()\n"
        "        self.l = nn.ModuleList([nn.Linear(4, 4) for _ in range(c.n)])\n\n    def forward(self, x):\n"
        "        for m in self.l:\n            x = m(x)\n        return x\n\n\n"
        "def a():\n    return Net(C())\n\n\ndef b():\n    return Net(C(5))\n")
    done = subprocess.run([program(), "skeleton", "nets.py:a", "--input", "2x4", "--config", "--also", "nets.py:b"],
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "its class is" not in done.stderr and done.returncode in (0, 3), done.stderr
    assert "nets.py:b" in done.stderr
