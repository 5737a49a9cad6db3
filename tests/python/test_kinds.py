"""Kinds of models that people have, each small: checkpointed and reversible ones, caches that callers make, trees,
tables of functions. A skeleton comes out, is equal with gradients, and runs beside the model on other calls, too.

tests/data/kinds.txt has the programs, in the form of adversarial.txt. Run as a program it tries all, or those named.
"""

from __future__ import annotations

import pathlib
import re

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

import pellucid  # noqa: E402
import test_adversarial  # noqa: E402

TEXT = (pathlib.Path(__file__).resolve().parent.parent / "data" / "kinds.txt").read_text()
PROGRAMS = dict(re.findall(r"(?ms)^=== (\w+)\n(.*?)(?=^=== |\Z)", TEXT))
HEAD = TEXT[:TEXT.index("\n=== ")]
FAST = ("guided_diffusion_block", "function_that_calls_helpers_and_back", "tree_lstm_ints",
        "star_of_a_closure_called_with_more_and_fewer", "record_with_setters_of_its_own", "record_that_a_dict_held",
        "record_that_is_unpacked")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow)
                                  for name in PROGRAMS])
def test_comes_out_and_is_equal(name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_adversarial, "HEAD", HEAD)
    kind, what, source = test_adversarial.tried(PROGRAMS[name], tmp_path, "verified", name)
    assert kind == "fine", f"{what}\n{source}"


class Tree(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.leaf, self.node = torch.nn.Embedding(10, 4), torch.nn.Linear(8, 4)

    def encode(self, tree):
        if isinstance(tree, int):
            return self.leaf(torch.tensor(tree))
        return torch.tanh(self.node(torch.cat([self.encode(tree[0]), self.encode(tree[1])])))

    def forward(self, tree):
        return self.encode(tree)


@pytest.mark.parametrize("kind", [tuple, list])
def test_recursion_over_what_a_caller_gives_stays_recursion(kind) -> None:
    """Not one tree for ever: other leaves and other trees give what the model gives."""
    def tree(value):
        return value if isinstance(value, int) else kind(map(tree, value))

    model = Tree().eval()
    skeleton = pellucid.skeleton(model, (tree([1, [2, [3, 4]]]),), progress=False).module()
    for other in ([4, [3, [2, 1]]], [[1, 2], [[3, 4], [5, 6]]], 7):
        assert torch.equal(skeleton(tree(other)), model(tree(other)))


class Shadowed(torch.nn.Module):
    """Its own things have the names of torch's methods."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.norm = torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)
        self.modules = [self.fc, self.norm]
        self.buffers = [2.0]

    def named_parameters(self):
        return self.fc.named_parameters()

    def forward(self, x):
        for module in self.modules:
            x = module(x)
        return x * self.buffers[0]


@pytest.mark.parametrize("wrap", [lambda m: m, torch.nn.Sequential])
def test_names_of_torch_that_mean_something_else_to_the_author(wrap) -> None:
    assert pellucid.skeleton(wrap(Shadowed()), torch.randn(3, 4), progress=False).report.good


if __name__ == "__main__":
    import sys
    import tempfile
    import warnings
    warnings.simplefilter("ignore")
    test_adversarial.HEAD = HEAD
    for program in [name for name in sys.argv[1:] if name in PROGRAMS] or PROGRAMS:
        with tempfile.TemporaryDirectory() as place:
            found = test_adversarial.tried(PROGRAMS[program], pathlib.Path(place), "verified", program)
            print(f"{program}: {found[0]}: {found[1]}", flush=True)
