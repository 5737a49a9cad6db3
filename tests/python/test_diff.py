"""pellucid diff: what two skeletons have in common, and the lines that differ."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

import pellucid

PROGRAM = os.environ["PELLUCID"]

A = '''
from torch import nn


def rotate(x):
    return -x


class AntNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(64, 64)

    def forward(self, x):
        return self.scale(x)


class AntMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 128)

    def forward(self, x):
        return rotate(self.up(x))


class AntModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = AntNorm()
        self.mlp = AntMLP()

    def forward(self, x):
        return self.mlp(self.norm(x))
'''
OLD = "def __init__(self):\n        super().__init__()\n        self.scale = nn.Linear(64, 64)"
NEW = "def __init__(self, dim):\n        super().__init__()\n        self.scale = nn.Linear(dim, dim)"
B = A.replace(OLD, NEW).replace("AntNorm()", "AntNorm(32)").replace("Ant", "Bee")


def kinds(a: str, b: str) -> dict[str, str]:
    return {part.a or part.b or "": part.kind for part in pellucid.diff(a, b).parts}


def test_a_file_is_the_same_as_itself_under_another_name() -> None:
    found = pellucid.diff(A, A.replace("Ant", "Bee"))
    assert found.same and found.renamed == {"BeeNorm": "AntNorm", "BeeMLP": "AntMLP", "BeeModel": "AntModel"}
    assert pellucid.diff(A, "# a comment\n" + A.replace("nn.Linear(64, 64)", "nn.Linear(64, 64)  # (B, 64)")).same


def test_sizes_are_a_kind_of_their_own() -> None:
    assert kinds(A, B) == {"rotate": "same", "AntNorm": "sizes", "AntMLP": "same", "AntModel": "sizes"}
    assert not pellucid.diff(A, B).same


@pytest.mark.parametrize("old, new, part", [
    ("return -x", "return +x", "rotate"),
    ("return self.scale(x)", "return self.scale(x) * 2", "AntNorm"),  # a number of the forward is no size
    ("nn.Linear(64, 128)", "nn.Linear(64, 128, bias=False)", "AntMLP"),
    ("nn.Linear(64, 128)", "nn.Bilinear(64, 128)", "AntMLP"),
    ("self.mlp = AntMLP()", "self.mlp = AntNorm()", "AntModel"),
    ("self.up = nn", "self.down = nn", "AntMLP"),
    ("class AntMLP(nn.Module)", "class AntMLP(nn.Linear)", "AntMLP"),
    ("return self.mlp(self.norm(x))", "return self.norm(self.mlp(x))", "AntModel"),
])
@pytest.mark.parametrize("family", ["Ant", "Bee"])
def test_what_computes_something_else_is_different(old: str, new: str, part: str, family: str) -> None:
    assert old in A
    assert kinds(A, A.replace(old, new).replace("Ant", family))[part] == "different"


def test_an_attribute_is_no_name_of_the_file() -> None:
    """A name of B that becomes one of A must not make an attribute, or a string, equal that is not."""
    one, other = (A.replace("return self.mlp(self.norm(x))", f"return self.mlp(x.{name})")
                  for name in ("AntMLP", "BeeMLP"))
    assert kinds(one, other.replace("class Ant", "class Bee").replace(" Ant", " Bee"))["AntModel"] == "different"


def test_what_one_of_them_has_is_said() -> None:
    more = A + "\n\nclass AntGate(nn.Module):\n    def forward(self, x, y):\n        return x.sigmoid() * y\n"
    assert kinds(A, more)["AntGate"] == "only in B" and kinds(more, A)["AntGate"] == "only in A"
    assert "+class AntGate(nn.Module):" in str(pellucid.diff(A, more))


def test_the_program(tmp_path) -> None:
    for name, text in (("a.py", A), ("b.py", B), ("bad.py", "x = ("), ("none.py", "x = 1\n")):
        (tmp_path / name).write_text(text)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([PROGRAM, "diff", *words], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("a.py", "a.py").returncode == 0
    done = run("a.py", "b.py", "--html", "page.html")
    assert done.returncode == 4 and "@@ AntNorm = BeeNorm: same but for sizes" in done.stdout
    assert "<b>AntNorm = BeeNorm</b> sizes" in (tmp_path / "page.html").read_text()
    assert json.loads(run("a.py", "b.py", "--json").stdout)["counts"] == {"same": 2, "sizes": 2}
    for bad, words in (("bad.py", "bad.py"), ("none.py", "no class"), ("missing.py", "no such file")):
        done = run("a.py", bad)
        assert done.returncode == 2 and words in done.stderr
    assert run("a.py").returncode == 1
