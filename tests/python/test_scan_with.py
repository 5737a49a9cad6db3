"""`pellucid scan --with FILE`: what source alone leaves open is read off a checkpoint or a recorded run."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("checkpoints are written with torch, and its sources are interpreted", allow_module_level=True)

import torch

NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden, layers, norm, classes):
        super().__init__()
        self.stem = nn.Linear(10, hidden)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden))
                                     for _ in range(layers)])
        if norm:
            self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden // 2, classes + 1)

    def forward(self, x):
        return self.stem(x)
"""


def make(*arguments) -> torch.nn.Module:
    names: dict = {"__name__": "net"}
    exec(compile(NET, "net.py", "exec"), names)
    return names["Net"](*arguments)


@pytest.fixture
def scan(pellucid, tmp_path):
    path = tmp_path / "net.py"
    path.write_text(NET)

    def run(file: pathlib.Path, *options: str):
        return pellucid("scan", path, "--python", sys.executable, "--with", file, *options)

    return run


def check(found: dict, model: torch.nn.Module) -> None:
    assert {k: tuple(v) for k, v in found["state"].items()} == {k: tuple(v.shape)
                                                                for k, v in model.state_dict().items()}


@pytest.mark.parametrize("arguments, prefix", [((64, 5, True, 6), ""), ((32, 3, False, 8), "model.")])
def test_a_checkpoint(scan, tmp_path, arguments, prefix) -> None:
    model, path = make(*arguments), tmp_path / "net.pt"
    torch.save({prefix + name: tensor for name, tensor in model.state_dict().items()}, path)
    done = scan(path, "--json")
    found = json.loads(done.out)["networks"][0]
    check(found, model)
    assert done.code == 0 and found["unknown"] == []
    facts = {fact["what"]: (fact["value"], fact["from"]) for fact in found["facts"]}
    hidden, layers, norm, classes = map(str, arguments)
    assert facts == {"hidden": (hidden, "net.pt: stem.weight"),
                     "layers": (layers, "net.pt: blocks.0 and the next ones"),
                     "norm": (norm, f"net.pt: norm is {'there' if arguments[2] else 'absent'}"),
                     "classes": (classes, "net.pt: head.weight")}


def test_the_text_says_where_from(scan, tmp_path) -> None:
    path = tmp_path / "net.pt"
    torch.save(make(64, 5, True, 6).state_dict(), path)
    assert "found in the file:\n  hidden = 64 (net.pt: stem.weight)\n" in scan(path).out


def test_a_recorded_run(scan, tmp_path) -> None:
    from pellucid import _pellucid
    model, path = make(64, 2, True, 6), tmp_path / "net.trace"
    recorder = _pellucid.Recorder(model)
    recorder.run("given", (torch.zeros(1, 10),))
    path.write_bytes(recorder.log_bytes())
    check(json.loads(scan(path, "--json").out)["networks"][0], model)


def test_then_it_can_be_written(scan, tmp_path) -> None:
    path, made = tmp_path / "net.pt", tmp_path / "made.py"
    model = make(64, 2, True, 6)
    torch.save(model.state_dict(), path)
    assert scan(path, "--source", "-o", str(made)).code == 0
    names: dict = {"__name__": "made"}
    exec(made.read_text(), names)
    names["Net"]().load_state_dict(model.state_dict())


def test_what_does_not_fit_changes_nothing(scan, tmp_path) -> None:
    path = tmp_path / "other.pt"
    torch.save({"something.weight": torch.zeros(3)}, path)
    found = json.loads(scan(path, "--json").out)["networks"][0]
    assert "facts" not in found and found["state"]["stem.weight"] == ["hidden", 10]


def test_bad_files(scan, tmp_path) -> None:
    (tmp_path / "text").write_text("no model")
    assert scan(tmp_path / "absent.pt").code == 2
    assert scan(tmp_path / "text").code == 2


def test_from_python(tmp_path) -> None:
    import pellucid
    source, path = tmp_path / "net.py", tmp_path / "net.pt"
    source.write_text(NET)
    torch.save(make(64, 2, True, 6).state_dict(), path)
    found = pellucid.scan(source, known=path, forward="3x10")
    assert found.networks[0]["facts"][0] == {"what": "hidden", "value": "64", "from": "net.pt: stem.weight"}
    assert "nn.Linear(10, 64)" in pellucid.scan(source, known=path).source()
    with pytest.raises(pellucid.Error, match="can't be written as a program"):
        pellucid.scan(source).source()
