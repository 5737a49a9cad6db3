"""What research code does every day, beside its skeleton, with what users do to a model after they have it.

tests/data/everyday.txt has the programs, as in test_adversarial.py. Here the model is also cast, frozen, copied, given
other weights and other counts, its norms are put into eval mode while the rest trains, and its inputs hold NaN, are
equal everywhere, lie in memory otherwise, or are parameters. Attributes that both have are compared, too.

Run as a program it tries all of them, or those that are named, in all ways of making a skeleton.
"""

from __future__ import annotations

import copy
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

import test_adversarial as harness  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

import pellucid  # noqa: E402

TEXT = (harness.DATA / "everyday.txt").read_text()
PROGRAMS = dict(re.findall(r"(?ms)^=== (\w+)\n(.*?)(?=^=== |\Z)", TEXT))
IN_EVAL = (nn.modules.batchnorm._NormBase, nn.modules.dropout._DropoutNd)


def weights(model: Any, names: Any) -> None:
    """Other numbers: of what is computed with, or of what counts and says what was done."""
    state = model.state_dict()
    for i, (name, value) in enumerate(state.items()):
        if value.is_floating_point() and "floats" in names:
            drawn = torch.randn(value.shape, generator=torch.Generator().manual_seed(i))
            state[name] = (drawn.abs() if "var" in name else drawn).to(value.dtype)
        elif not value.is_floating_point() and not value.is_complex() and "counts" in names:
            state[name] = ~value if value.dtype is torch.bool else value + 1
    model.load_state_dict(state)


def norms_in_eval(model: Any) -> None:
    model.train()
    for part in model.modules():
        if isinstance(part, IN_EVAL):
            part.eval()


def bfloat16(model: Any) -> None:
    model.to(torch.bfloat16)


# what is done to both models before the calls
PREPARED: dict[str, Any] = {
    "other weights": lambda model: weights(model, ("floats",)),
    "other counts": lambda model: weights(model, ("counts",)),
    "frozen": lambda model: model.requires_grad_(False),
    "norms in eval": norms_in_eval,
    "bfloat16": bfloat16,
}


def of_floats(function: Any, dims: int = 0) -> Any:
    """The function, for tensors of numbers with a point that have at least so many dimensions."""
    def changed(leaf: Any) -> Any:
        is_meant = isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and leaf.is_floating_point()
        return function(leaf) if is_meant and leaf.dim() >= dims else leaf
    return changed


def channels_last(x: Any) -> Any:
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x.transpose(-1, -2).contiguous().mT


# what is done to what a call is given
GIVEN: dict[str, Any] = {
    "bfloat16": of_floats(lambda x: x.bfloat16()),
    "frozen": of_floats(lambda x: x.requires_grad_()),
    "channels last": of_floats(channels_last, 2),
    "expanded": of_floats(lambda x: x[:1].expand_as(x), 1),
    "nan": of_floats(lambda x: x.index_fill(0, torch.zeros(1, dtype=torch.long), float("nan")), 1),
    "infinite": of_floats(lambda x: x * float("inf")),
    "equal everywhere": of_floats(torch.ones_like),
    "parameters": of_floats(nn.Parameter),
    "one more dimension": of_floats(lambda x: x[None], 1),
    "one dimension less": of_floats(lambda x: x[0], 2),
    "one row": of_floats(lambda x: x[:1], 2),
    "no row": of_floats(lambda x: x[:0], 2),
    "rows twice": of_floats(lambda x: torch.cat([x, x]), 2),
    "columns less": of_floats(lambda x: x[..., :-1], 2),
    "whole numbers": of_floats(lambda x: (x * 3).long()),
    "complex": of_floats(lambda x: x.to(torch.complex64)),
}
AFTER = ("copied", "gradients twice")
WAYS = ("", "train", *PREPARED, *(way for way in GIVEN if way not in PREPARED), *AFTER)


def own(model: Any) -> dict[str, Any]:
    """Plain attributes of all parts, in a form that can be compared."""
    plain = (bool, int, float, str, type(None), torch.Tensor)
    return {f"{path}.{name}": repr(harness.form(value, [])) for path, part in model.named_modules()
            for name, value in vars(part).items()
            if not name.startswith("_") and name != "training" and isinstance(value, plain)}


def outcome(model: Any, program: Any, call: Any, way: str) -> tuple[Any, ...]:
    """As the harness's, after what the way does to the model and its inputs."""
    if way in GIVEN:
        def given() -> Any:
            return pytree.tree_map(GIVEN[way], call(), is_leaf=lambda v: isinstance(v, torch.Size))
    else:
        given = call
    how = "train" if way in ("train", "norms in eval") else ""
    if way == "norms in eval":
        was, model.train = model.train, lambda mode=True: was(mode) if not mode else norms_in_eval_of(model, was)
    came = harness.outcome(model, program, given, how)
    if way == "norms in eval":
        del model.train
    return (*came, own(model)) if came[0] == "gives" else came


def norms_in_eval_of(model: Any, train: Any) -> Any:
    train(True)
    for part in model.modules():
        if isinstance(part, IN_EVAL):
            part.eval()
    return model


def rows(n: int) -> Iterator[tuple[str, str, list[int]]]:
    for way in WAYS:
        for i in range(n if way == "" else min(n, 2)):
            yield f"{way or 'plain'} {i}", way, [i]
    yield "row", "", [*range(n), 0]
    yield "back", "train", [n - 1, 0, 0]


def difference(a: tuple[Any, ...], b: tuple[Any, ...]) -> str:
    if what := harness.difference(a, b):
        return what
    was, now = a[-1], b[-1]
    names = [name for name in was if name in now and was[name] != now[name]]
    return f"attributes: {[(n, was[n][:80], now[n][:80]) for n in names]}" if names else ""


def is_said(error: Exception) -> bool:
    """Whether a skeleton's error is one that says what was not recorded."""
    is_signature = isinstance(error, TypeError) and "argument" in str(error)
    return is_signature or isinstance(error, (AssertionError, NotImplementedError))


def tried(text: str, folder: pathlib.Path, how: str, name: str = "program") -> tuple[str, str, str]:
    """(what came of it, why, the skeleton's text), as the harness says it."""
    text = harness.HEAD + text
    program = harness.load(text, folder, f"{name}_{how}")
    torch.manual_seed(0)
    model = program.Net().eval()
    state = {key: value.clone() for key, value in model.state_dict().items()}
    args, kwargs = program.CALLS[0]()
    harness.seeded()
    try:
        made = pellucid.skeleton(model, args, kwargs, **harness.HOW[how])
    except pellucid.SkeletonError as error:
        return "refused", str(error), ""
    finds, raised, ran = [], 0, 0
    for label, way, row in rows(len(program.CALLS)):
        fresh = harness.load(text, folder, f"{name}_{how}_fresh")
        torch.manual_seed(0)
        original = fresh.Net().eval()
        try:
            skeleton = made.module()
        except Exception as error:
            return "raises", f"does not load: {error!r}", made.source
        original.load_state_dict(state)
        for both in (original, skeleton):
            if way in PREPARED and way != "norms in eval":
                PREPARED[way](both)
        if way == "copied":
            a, b = (outcome(each, fresh, fresh.CALLS[0], "") for each in (original, skeleton))
            if a[0] == b[0] == "gives":
                try:
                    original = copy.deepcopy(original)
                except Exception:
                    continue
                skeleton = copy.deepcopy(skeleton)
        for i in row:
            a, b = (outcome(each, fresh, fresh.CALLS[i], way) for each in (original, skeleton))
            if a[0] == "raises":
                break
            ran += 1
            if b[0] == "raises":
                raised += 1
                if (way, row) == ("", [0]):
                    return "raises", f"on what was recorded: {b[1]!r}", made.source
                if not is_said(b[1]):
                    finds.append(("obscure", f"{label}: {b[1]!r}"))
                break
            if what := difference(a, b):
                finds.append(("different", f"{label}: {what}"))
                break
    if finds:
        finds.sort(key=lambda find: find[0])
        shown = "\n    ".join(f"{k} {w[:600]}" for k, w in finds[:3])
        return finds[0][0], f"{len(finds)} of {ran}:\n    {shown}", made.source
    return "fine", f"{raised} of {ran} calls raise", made.source


# Different in silence in every way of making a skeleton, before they were mended; a part of the others takes long.
ALL_WAYS = ("generator_of_crops", "identity_in_lines_by_layout")
QUICK = list(PROGRAMS)[::3]
CASES = [pytest.param(name, marks=() if name in QUICK or name in ALL_WAYS else pytest.mark.slow) for name in PROGRAMS]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_no_difference(name, tmp_path) -> None:
    for library in ("numpy",):
        if f"import {library}" in PROGRAMS[name]:
            pytest.importorskip(library, reason=f"the program uses {library}")
    kind, what, source = tried(PROGRAMS[name], tmp_path, "single", name)
    if kind == "raises":  # nobody compared it; who does gets none
        kind, what, source = tried(PROGRAMS[name], tmp_path, "given", name)
    assert kind in ("fine", "refused", "obscure"), f"{what}\n{source}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL_WAYS)
def test_no_difference_when_compared(name, tmp_path) -> None:
    kind, what, source = tried(PROGRAMS[name], tmp_path, "verified", name)
    assert kind in ("fine", "refused"), f"{what}\n{source}"


if __name__ == "__main__":
    import tempfile
    import warnings
    warnings.simplefilter("ignore")
    for program_name in [a for a in sys.argv[1:] if a in PROGRAMS] or list(PROGRAMS):
        for way_made in [a for a in sys.argv[1:] if a in harness.HOW] or harness.HOW:
            with tempfile.TemporaryDirectory() as place:
                came, why, written = tried(PROGRAMS[program_name], pathlib.Path(place), way_made, program_name)
            print(f"{program_name} {way_made}: {came}: {why}", flush=True)
            if "--show" in sys.argv:
                print(re.sub("(?m)^# pellucid: .*\n", "", written))
