"""`pellucid scan --forward`: shapes, multiply-adds and flow of an abstract run, against those of a real one."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import Any, Iterator

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("the truth is a real run, which needs torch", allow_module_level=True)

import torch

from pellucid import tree

MODELS = [
    ("timm", 'timm.create_model("resnet18")', "2x3x64x64"),
    ("timm", 'timm.create_model("vit_tiny_patch16_224")', "1x3x224x224"),
    ("timm", 'timm.create_model("efficientnet_b0")', "1x3x64x64"),
    ("transformers", "transformers.BertModel(transformers.BertConfig(num_hidden_layers=2))", "2x16:int64"),
]


@pytest.fixture
def run(pellucid):
    return pellucid


def rows(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any, Any]]:
    path = ".".join(filter(None, (path, node["name"])))
    yield path, node.get("output"), node.get("flops")
    for child in node["children"]:
        yield from rows(child, path)


def edges(network: dict[str, Any]) -> set[tuple[str, str]]:
    return {(edge["from"], edge["to"]) for edge in network["flow"]}


@pytest.mark.parametrize("library, call, shape", MODELS)
def test_as_in_a_real_run(run, libraries, library, call, shape) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    done = run("scan", "-e", f"import {library}; {call}", "--python", sys.executable, "--forward", shape, "--json")
    scanned = json.loads(done.out)["networks"][0]
    sizes, _, dtype = shape.partition(":")
    size = tuple(map(int, sizes.split("x")))
    given = torch.zeros(size, dtype=torch.int64) if dtype else torch.randn(size)
    model = eval(call, {library: __import__(library)}).eval()
    real = tree(model, (given,)).to_dict()["networks"][0]
    assert scanned["errors"] == []
    assert dict((p, (o, f)) for p, o, f in rows(scanned["tree"][0])) == dict((p, (o, f))
                                                                             for p, o, f in rows(real["tree"][0]))
    assert edges(real) <= edges(scanned)
    assert len(edges(scanned) - edges(real)) <= 1  # the real one keeps the first modules that a tensor came from
    assert scanned["totals"]["flops"] == counted(model, given)


def counted(model: torch.nn.Module, given: torch.Tensor) -> float:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
    # of the processor's fused attention the counter has no formula; of its parts it has
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        model(given)
    return counter.get_total_flops() / 2


BRANCH = """
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 20)
        self.tail = nn.Sequential(nn.ReLU(), nn.Linear(15, 5))

    def forward(self, x):
        x = self.fc1(x)
        return self.tail(x)


net = Net()
"""


def test_shapes_that_disagree_have_two_places(run, tmp_path) -> None:
    path = tmp_path / "net.py"
    path.write_text(BRANCH)
    done = run("scan", path, "--python", sys.executable, "--forward", "4x10", "--json")
    (error,) = json.loads(done.out)["networks"][0]["errors"]
    assert done.code == 4
    assert (error["file"], error["line"]) == (str(path), 13)
    assert error["also"] == {"file": str(path), "line": 12}, "fc1 made it 20; the ReLU inside of the Sequential kept it"
    assert "takes 15 features and gets 20" in error["what"]
    assert f"tail.1 was made at {path}:9; fc1 gave 4×20 at {path}:12" in error["why"]


def test_work_is_in_the_text(run, tmp_path) -> None:
    path = tmp_path / "net.py"
    path.write_text(BRANCH.replace("15", "20"))
    done = run("scan", path, "--python", sys.executable, "--forward", "4x10")
    assert done.code == 0 and "1.20 K multiply-adds" in done.out


def test_methods_of_tensors_that_are_functions_of_torch(run, tmp_path) -> None:
    """torch.flipud had a model, Tensor.flipud had none: what came out was a symbol."""
    path = tmp_path / "net.py"
    path.write_text("import torch\nimport torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self):\n"
                    "        super().__init__()\n        self.one = nn.Linear(6, 3)\n"
                    "        self.two = nn.Linear(5, 2)\n"
                    "    def forward(self, x):\n"
                    "        s = x.reshape(-1).stft(8, 4, window=torch.ones(8), return_complex=True)\n"
                    "        return self.one(x.flipud()), self.two(s.abs().transpose(0, 1))\n\nnet = Net()\n")
    done = run("scan", path, "--python", sys.executable, "--forward", "16x6", "--json")
    (network,) = json.loads(done.out)["networks"]
    space: dict[str, Any] = {}
    exec(path.read_text(), space)
    real = [list(part.shape) for part in space["net"](torch.zeros(16, 6))]
    assert done.code == 0 and [child["output"] for child in network["tree"][0]["children"]] == real
