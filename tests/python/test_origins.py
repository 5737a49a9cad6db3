"""Origins: the comments name the file and line that a reader finds, and the table of lines says what both files say."""

from __future__ import annotations

import ast
import importlib
import json
import pathlib
import sys

import pytest
pytest.importorskip("torch", reason="torch is not installed")

import pellucid
import torch

LAYERS = '''\
"""Parts."""
import torch
from torch import nn


def gate(x,
         y):
    """Sigmoid of one,
    times the other. Nothing else."""
    unused = x.shape
    z = torch.sigmoid(x)
    return z * y


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, debug=False):
        if debug:
            print(x)
        y = self.fc(x)
        y = gate(y, x)
        return torch.relu(y) + y


def build():
    class Local(nn.Module):
        """Made in a function."""

        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x)

    return Local(), torch.randn(2, 4)
'''


@pytest.fixture()
def package(tmp_path, monkeypatch) -> pathlib.Path:
    folder = tmp_path / "somewhere" / "originlib" / "parts"
    folder.mkdir(parents=True)
    for init in (folder, folder.parent):
        (init / "__init__.py").write_text("")
    (folder / "layers.py").write_text(LAYERS)
    monkeypatch.syspath_prepend(str(tmp_path / "somewhere"))
    yield folder / "layers.py"
    for name in [n for n in sys.modules if n.partition(".")[0] == "originlib"]:
        del sys.modules[name]


def test_origins_and_lines(package, tmp_path) -> None:
    model, x = importlib.import_module("originlib.parts.layers").build()
    plain = pellucid.skeleton(model, x, more=[], progress=False)
    made = pellucid.skeleton(model, x, more=[], progress=False, origins="line")
    assert ast.dump(ast.parse(made.source)) == ast.dump(ast.parse(plain.source))
    assert "# from originlib/parts/layers.py:6\n# Sigmoid of one, times the other.\ndef gate(" in made.source
    assert "# from originlib/parts/layers.py:15\nclass Inner(" in made.source
    assert "# from originlib/parts/layers.py:29\n# Made in a function.\nclass Local(" in made.source
    assert str(tmp_path) not in made.source

    lines, theirs = made.source.split("\n"), LAYERS.split("\n")
    rows = {row["name"]: row for row in made.line_map()["definitions"]}
    assert set(rows) == {"gate", "Inner", "Inner.forward", "Local", "Local.forward"}
    for name, row in rows.items():
        kind = "class " if name in ("Inner", "Local") else "def "
        for text, (first, _) in ((lines, row["lines"]), (theirs, row["original"])):
            assert text[first - 1].strip().startswith(kind + name.rpartition(".")[2]), name
    forward = rows["Inner.forward"]
    said = {theirs[b - 1].strip(): lines[a - 1].strip() for a, b in forward["pairs"]}
    assert said["return torch.relu(y) + y"] == "return torch.relu(y) + y"
    assert "print(x)" not in said and "if debug:" not in said
    inside = range(forward["original"][0], forward["original"][1] + 1)
    assert all(b in inside for _, b in forward["pairs"])

    with pytest.raises(ValueError, match="origins are one of"):
        made.add_origins("lines")


def test_a_file_that_is_gone_has_no_line(package) -> None:
    model, x = importlib.import_module("originlib.parts.layers").build()
    made = pellucid.skeleton(model, x, more=[], progress=False)
    package.unlink()
    before = made.source
    made.add_origins()
    assert made.source == before and made.line_map()["definitions"] == []


def test_program(package, pellucid, tmp_path) -> None:
    table = tmp_path / "map.json"
    done = pellucid("skeleton", f"{package}:build", "--no-more", "--origins=line", "--map", table,
                    "-o", tmp_path / "out.py", timeout=300)
    assert done.code in (0, 3), done.err
    assert "# from originlib/parts/layers.py:15\nclass Inner(" in (tmp_path / "out.py").read_text()
    rows = json.loads(table.read_text())
    assert rows["format"] == "pellucid-map-1" and len(rows["definitions"]) == 5
    assert str(tmp_path) not in json.dumps(rows)


def test_unknown_file_of_no_package(tmp_path) -> None:
    from pellucid._origins import said_path
    assert said_path(str(tmp_path / "net.py")) == "net.py"
    assert said_path(torch.nn.Linear.__init__.__code__.co_filename) == "torch/nn/modules/linear.py"
