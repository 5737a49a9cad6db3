"""Shape errors of `pellucid scan`: both places, by the operation that gave the shape; errors that need no input; inputs
whose dtype follows from an Embedding."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch's sources are interpreted, and there are none here", allow_module_level=True)

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def network(layers: str, forward: str) -> str:
    body = "\n".join(f"        {line}" for line in ["super().__init__()", *layers.strip().splitlines()])
    run = "\n".join(f"        {line}" for line in forward.strip().splitlines())
    init, call = "    def __init__(self):", "    def forward(self, x):"
    return f"{HEAD}class M(nn.Module):\n{init}\n{body}\n{call}\n{run}\nmodel = M()\n"


@pytest.fixture
def scan(pellucid, tmp_path):
    def run(source: str, *options: object):
        path = tmp_path / "model.py"
        path.write_text(source)
        done = pellucid("scan", path, "--python", sys.executable, "--json", *options)
        networks = {row["name"]: row for row in json.loads(done.out)["networks"]}
        return done, networks["model"], source.splitlines()

    return run


@pytest.mark.parametrize("forward, first, second", [
    ("h = self.a(x)\nh = h.view(2, 5, 4, 8)\nh = torch.relu(h)\nreturn self.b(h)", "self.b(h)", "h.view"),
    ("h = self.a(x)\nh = h.transpose(1, 2)\nh = h * 2\nreturn self.b(h)", "self.b(h)", "h.transpose"),
    ("h = self.a(x)\nh = F.relu(h)\nh = h + 1\nreturn self.b(h[..., :7])", "self.b(h", "self.b(h"),
    ("h = self.a(x)\ng = h[:, :3]\nreturn h + g", "h + g", "self.a(x)"),
    ("h = self.a(x)\nh = h.permute(0, 2, 1)\nreturn h.permute(0, 1, 1)", "permute(0, 1, 1)", "h.permute(0, 2, 1)"),
    ("h = self.a(x)\nreturn h.transpose(1, 7)", "h.transpose(1, 7)", "self.a(x)"),
])
def test_the_second_place_is_what_gave_the_shape(scan, forward, first, second) -> None:
    done, model, lines = scan(network("self.a = nn.Linear(16, 32)\nself.b = nn.Linear(32, 4)", forward),
                              "--forward", "2x5x16")
    assert done.code == 4
    (error,) = model["errors"]
    assert first in lines[error["line"] - 1]
    assert second in lines[error["also"]["line"] - 1]


def test_a_call_in_a_chain_is_where_its_method_is(scan) -> None:
    chain = "h = (self.a(x)\n     .view(2, 5, 4, 8)\n     .permute(0, 1, 1, 2))\nreturn h"
    source = network("self.a = nn.Linear(16, 32)", chain)
    done, model, lines = scan(source, "--forward", "2x5x16")
    assert done.code == 4 and ".permute" in lines[model["errors"][0]["line"] - 1]
    assert ".view" in lines[model["errors"][0]["also"]["line"] - 1]


@pytest.mark.parametrize("source", [
    HEAD + "model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(31, 4))\n",
    HEAD + "model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(9))\n",
    network("self.a = nn.Linear(16, 32)\nself.b = nn.Linear(31, 4)", "return self.b(F.gelu(self.a(x)))"),
    network("self.e = nn.Embedding(9, 16)\nself.a = nn.Linear(16, 32)\nself.b = nn.Linear(31, 4)",
            "return self.b(self.a(self.e(x)))"),
])
def test_errors_that_need_no_input(scan, source) -> None:
    done, model, _ = scan(source)
    assert done.code == 4 and len(model["errors"]) == 1 and model["errors"][0]["also"]["line"]
    assert "output" not in model["tree"][0], "nobody asked for a forward"


@pytest.mark.parametrize("source", [
    HEAD + "model = nn.Sequential(nn.Linear(16, 32), nn.Flatten(), nn.Linear(320, 4))\n",
    network("self.a = nn.Conv2d(3, 8, 3)\nself.b = nn.Linear(72, 4)", "return self.b(self.a(x).flatten(1))"),
    network("self.a = nn.Linear(16, 32)\nself.b = nn.Linear(64, 4)", "return self.b(torch.cat([self.a(x)] * 2, -1))"),
    network("self.a = nn.Linear(16, 32)\nself.b = nn.Linear(8, 4)", "return self.b(self.a(x).view(-1, 4, 8))"),
    network("self.a = nn.Linear(16, 32)\nself.b = nn.Linear(5, 4)", "return self.b(self.a(x).transpose(1, 2))"),
    network("self.a = nn.Linear(16, 32)\nself.b = nn.Linear(31, 4)", "return self.a(x) if x.dim() else self.b(x)"),
    network("self.a = nn.Conv2d(3, 8, 3)", "b, c, h, w = x.shape\nreturn self.a(x.reshape(b * c // 3, 3, h, w))"),
])
def test_and_none_that_an_input_decides(scan, source) -> None:
    done, model, _ = scan(source)
    assert done.code == 0 and not model["errors"]


def test_an_embedding_takes_whole_numbers(scan) -> None:
    source = network("self.e = nn.Embedding(9, 4)", "return self.e(x).masked_fill(x.eq(0)[..., None], 0)")
    done, model, _ = scan(source, "--forward", "2x7")
    assert done.code == 0 and model["tree"][0]["output"] == [2, 7, 4]
    assert model["assumed"][0]["what"] == "input 1"
    assert scan(source, "--forward", "2x7:float32")[0].code == 4, "what is said is not changed"
