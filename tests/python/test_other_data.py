"""Skeletons of a single call, tried with other data: they give what the model gives, or they raise.

Whatever depends on data must stay in the text. With one recorded call nothing but taint (src/trace/depends) says what
does: further runs, which differ, would hide a hole. tests/data/forwards.txt has the bodies of the forwards.
"""

from __future__ import annotations

import copy
import importlib.util
import pathlib
import re
import subprocess
import sys
import textwrap
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

import pellucid  # noqa: E402
from conftest import PROGRAM  # noqa: E402

TEXT = (pathlib.Path(__file__).resolve().parent.parent / "data" / "forwards.txt").read_text()
HEAD, *REST = re.split(r"^=== (data|sizes|given|refused)\n", TEXT, flags=re.MULTILINE)
CASES = list(zip(REST[::2], (body.strip() for body in REST[1::2])))
RECORDED = [[1, 3], [2, 2]]
GRIDS = (RECORDED, [[2, 3], [2, 2]], [[3, 1], [0, 4]], [[4, 2], [5, 5]], [[1, 1], [1, 1]], [[0, 3], [1, 2]])
LENGTHS = (6, 7, 9, 13, 2, 24)
NUMBERS = (2, 3, 2.5, True, None, "a")


@pytest.fixture(scope="module")
def forwards(tmp_path_factory) -> Any:
    """A file with a class for each of them."""
    classes = [f"class Net{number}(Base):\n    def forward(self, x, {'n' if kind == 'given' else 'grid'}):\n"
               f"{textwrap.indent(body, ' ' * 8)}\n" for number, (kind, body) in enumerate(CASES)]
    path = tmp_path_factory.mktemp("forwards") / "forwards_of_other_data.py"
    path.write_text(HEAD + "\n\n".join(classes))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[path.stem]


def inputs_of(kind: str) -> list[tuple[torch.Tensor, Any]]:
    if kind == "given":
        return [(torch.randn(2, 6), number) for number in NUMBERS]
    if kind != "sizes":
        return [(torch.randn(2, 6), torch.tensor(grid)) for grid in GRIDS]
    return [(torch.randn(2, length, 8), torch.tensor(RECORDED)) for length in LENGTHS]


def outcome(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Any:
    try:
        return model(*inputs)
    except Exception as error:
        return error


def compare(source: str, model: torch.nn.Module, skeleton: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> bool:
    """Whether the skeleton gives something, which is what the model gives."""
    wanted, given = outcome(model, inputs), outcome(skeleton, inputs)
    if isinstance(given, Exception):
        return False
    assert not isinstance(wanted, Exception), f"the model raises: {wanted}\n{source}\n{given}"
    assert given.dtype == wanted.dtype and torch.equal(given, wanted), source
    return True


def each_pass_is_checked(trace: bytes, folder: pathlib.Path) -> None:
    """The checkers of the passes let the program through, and change nothing."""
    path = folder / "of.ptrace"
    path.write_bytes(trace)
    plain, checked = (subprocess.run([PROGRAM, "skeleton", str(path), *options], capture_output=True, timeout=60)
                      for options in ([], ["--check-passes"]))
    assert plain.stdout, plain.stderr
    assert (checked.returncode, checked.stdout, checked.stderr) == (plain.returncode, plain.stdout, plain.stderr)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(CASES)), ids=[re.sub(r"\W+", "_", body)[:40] for _, body in CASES])
def test_other_data(forwards, tmp_path, number: int) -> None:
    kind, _ = CASES[number]
    torch.manual_seed(0)
    model = getattr(forwards, f"Net{number}")().eval()
    first, *others = inputs_of(kind)
    if kind == "refused":
        with pytest.raises(pellucid.SkeletonError, match=r"forwards_of_other_data\.py:\d+"):
            pellucid.skeleton(model, first, more=[], verify=False)
        return
    made = pellucid.skeleton(model, first, more=[], verify=False)
    each_pass_is_checked(made.trace, tmp_path)
    skeleton = made.module()
    together = True  # until one of the two raises: then they need not be in one state any more
    for inputs in (first, *others):
        fresh = copy.deepcopy(model), copy.deepcopy(skeleton)
        assert compare(made.source, *fresh, inputs) or inputs is not first, made.source
    compare(made.source, copy.deepcopy(model).train(), copy.deepcopy(skeleton).train(), first)
    for inputs in (first, *others):
        together = together and compare(made.source, model, skeleton, inputs)


def test_what_always_raises_asks_for_the_mode(tmp_path) -> None:
    """The text has no trace of the question, so the mode is asserted."""
    path = tmp_path / "asks_in_vain.py"
    path.write_text("from torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n        try:\n"
                    "            raise ValueError(len([n for n in (1, 2) if self.training]))\n"
                    "        except ValueError as error:\n            return x * error.args[0]\n")
    names: dict[str, Any] = {"__name__": "asks_in_vain"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    made = pellucid.skeleton(names["Net"]().eval(), torch.ones(2), more=[], verify=False).module()
    assert made(torch.ones(2)).sum() == 0
    with pytest.raises(AssertionError, match="eval mode only"):
        made.train()(torch.ones(2))
