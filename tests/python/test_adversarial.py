"""Forwards written to be told wrongly: equal wherever the header claims it, or an assertion, or a refusal.

tests/data/adversarial.txt has the programs. Each has a `Net`, and `CALLS`: functions that make what a call is given,
the recorded one first. The skeleton runs beside the model on all of them, twice, in train mode, without gradients, in
float64, with inputs that are not contiguous or want gradients. Results, what is left in the inputs, which of them share
memory, gradients, buffers, flags and generators are compared.

Run as a program it tries all of them, or those that are named, in all ways of making a skeleton; the tests take a part
of the slow ones.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import importlib.util
import pathlib
import random
import re
import sys
import types
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

import pellucid  # noqa: E402
from pellucid._verify import SEED  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
TEXT = (DATA / "adversarial.txt").read_text()
HEAD = TEXT[:TEXT.index("\n=== ")]
PROGRAMS = dict(re.findall(r"(?ms)^=== (\w+)\n(.*?)(?=^=== |\Z)", TEXT + "\n" + (DATA / "deceptions.txt").read_text()))
NOT_RECORDED = "a backward that was not recorded"
NAMED = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType)
WAYS = ("", "train", "no_grad", "inference", "float64", "strided", "wants gradients", "autocast", "deterministic",
        "default float64")
HOW: dict[str, dict[str, Any]] = {"single": {"more": [], "verify": False}, "given": {"more": []}, "verified": {}}


def load(text: str, folder: pathlib.Path, name: str) -> Any:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def seeded() -> None:
    torch.manual_seed(SEED)
    random.seed(SEED)
    with contextlib.suppress(ImportError):
        import numpy as np
        np.random.seed(SEED)


def generators() -> tuple[Any, ...]:
    state: tuple[Any, ...] = (torch.get_rng_state().tolist(), random.getstate())
    with contextlib.suppress(ImportError):
        import numpy as np
        state += (np.random.get_state()[1].tolist(), np.random.get_state()[2])
    return state


def form(value: Any, tensors: list[Any]) -> Any:
    """A value in a form that can be compared: tensors by their bits, objects by the names of their classes."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        shown = value.detach()
        if shown.layout is not torch.strided:
            shown = shown.to_dense()
        if shown.is_meta:
            return "meta", tuple(shown.shape), shown.dtype
        return (type(value).__name__, str(value.layout), tuple(shown.shape), str(shown.dtype), value.requires_grad,
                value.is_inference(), shown.stride() if value.layout is torch.strided else None,
                repr(torch.view_as_real(shown.resolve_conj()).tolist()) if shown.is_complex() else
                repr(shown.tolist()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = (type(value).__name__, {f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    if isinstance(value, dict):
        return type(value).__name__, [(form(k, tensors), form(v, tensors)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [form(v, tensors) for v in value]
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(repr(form(v, tensors)) for v in value)
    if isinstance(value, collections.deque):
        return "deque", form(list(value), tensors)
    if not isinstance(value, (type, torch.nn.Module, *NAMED)):
        slots = {name: getattr(value, name, None) for name in getattr(type(value), "__slots__", ())}
        if hasattr(value, "__dict__") or slots:
            return type(value).__name__, form({**getattr(value, "__dict__", {}), **slots}, tensors)
    return type(value).__name__, repr(value)


def changed(value: Any, how: str) -> Any:
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return value
    if how == "float64" and value.is_floating_point():
        return value.double()
    if how == "strided" and value.dim():
        return torch.stack([value, value], -1)[..., 0]
    if how == "wants gradients" and value.is_floating_point():
        return value.requires_grad_()
    return value


def outcome(model: Any, program: Any, call: Any, how: str) -> tuple[Any, ...]:
    """What a call gives and leaves; ("raises", error) if it does not."""
    if model.training != (how == "train"):
        try:
            model.train(how == "train")
        except Exception as error:
            return "raises", error
    if how == "float64":
        model.double()
    seeded()
    args, kwargs = pytree.tree_map(lambda leaf: changed(leaf, how), call(), is_leaf=lambda v: isinstance(v, torch.Size))
    mode = {"no_grad": torch.no_grad(), "inference": torch.inference_mode(),
            "autocast": torch.autocast("cpu", dtype=torch.bfloat16)}.get(how, contextlib.nullcontext())
    with flags(how):
        try:
            with mode:
                given = model(*args, **kwargs)
        except Exception as error:
            return "raises", error
        state = generators()
    tensors: list[Any] = []
    shown = form(given, tensors), form((args, kwargs), tensors)
    strided = [t for t in tensors if t.layout is torch.strided and not t.is_meta]
    aliases = [[a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() and a.numel() > 0 for a in strided]
               for b in strided]
    objects = [leaf is other for leaf in tensors for other in tensors]
    buffers = {name: form(b, []) for name, b in model.named_buffers()}
    modes = {name: part.training for name, part in model.named_modules()}
    wants = [t for t in tensors if t.requires_grad and t.grad_fn is not None and not t.is_complex()
             and t.layout is torch.strided]
    for parameter in model.parameters():
        parameter.grad = None
    gradients = {}
    if wants:
        try:
            sum(t.double().sum() for t in wants).backward()
        except NotImplementedError:  # a hook that no recorded call ran
            return "gives", shown, state, aliases, objects, NOT_RECORDED, buffers, modes
        except Exception:  # the author's own backward, under autocast say: the skeleton's raises, too
            return "gives", shown, state, aliases, objects, "raises", buffers, modes
        gradients = {name: form(p.grad, []) for name, p in model.named_parameters() if p.grad is not None}
        gradients["inputs"] = form([t.grad for t in tensors if t.is_leaf and t.requires_grad], [])
    return "gives", shown, state, aliases, objects, gradients, buffers, modes


@contextlib.contextmanager
def flags(how: str) -> Any:
    try:
        if how == "deterministic":
            torch.use_deterministic_algorithms(True, warn_only=True)
        if how == "default float64":
            torch.set_default_dtype(torch.float64)
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_default_dtype(torch.float32)


PARTS = ("what it is", "result or inputs", "generators", "shared memory", "objects", "gradients", "buffers", "modes")


def difference(wanted: tuple[Any, ...], given: tuple[Any, ...]) -> str:
    for part, a, b in zip(PARTS, wanted, given):
        if b == NOT_RECORDED:
            continue
        if part in ("buffers", "modes"):  # what nobody reads may be gone
            names = [name for name in a if name in b]
            a, b = {n: a[n] for n in names}, {n: b[n] for n in names}
        if a != b:
            return f"{part}: {str(a)[:300]} and not {str(b)[:300]}" if part != "generators" else part
    return ""


def rows(n: int) -> Any:
    """Each call in each way alone; then all in a row, the recorded one thrice, train and eval by turns."""
    for how in WAYS:
        for i in range(n if how == "" else min(n, 2)):
            yield f"{how or 'plain'} {i}", [(i, how)]
    yield "thrice", [(0, "")] * 3
    yield "row", [(i, "") for i in range(n)] + [(0, "")]
    yield "by turns", [(0, "train"), (0, ""), (n - 1, "train"), (0, "")]


def tried(text: str, folder: pathlib.Path, how: str, name: str = "program") -> tuple[str, str, str]:
    """(what came of it, why, the skeleton's text): refused, different (a find), or fine: "k of n calls raise"."""
    text = HEAD + text
    program = load(text, folder, f"{name}_{how}")
    torch.manual_seed(0)
    model = program.Net().eval()
    state = {key: value.clone() for key, value in model.state_dict().items()}
    args, kwargs = program.CALLS[0]()
    seeded()
    try:
        made = pellucid.skeleton(model, args, kwargs, **HOW[how])
    except pellucid.SkeletonError as error:
        return "refused", str(error), ""
    n, raised, ran, lenient = len(program.CALLS), 0, 0, 0
    for label, row in rows(n):
        fresh = load(text, folder, f"{name}_{how}_fresh")
        torch.manual_seed(0)
        original = fresh.Net().eval()
        original.load_state_dict(state)
        try:
            skeleton = made.module()
        except Exception as error:
            return "different", f"does not load: {error!r}", made.source
        for i, way in row:
            a = outcome(original, fresh, fresh.CALLS[i], way)
            b = outcome(skeleton, fresh, fresh.CALLS[i], way)
            if a[0] == "raises":
                lenient += b[0] == "gives"
                break
            ran += 1
            if b[0] == "raises":
                raised += 1
                if (i, way) == (0, "") and row[0] == (0, "") and len(row) == 1:
                    return "different", f"{label}: raises {b[1]!r} on what was recorded", made.source
                is_signature = isinstance(b[1], TypeError) and "argument" in str(b[1])
                if is_signature or isinstance(b[1], (AssertionError, NotImplementedError)):
                    break
                return "obscure", f"{label}: {b[1]!r}", made.source
            if what := difference(a, b):
                return "different", f"{label}: {what}", made.source
    return "fine", f"{raised} of {ran} calls raise; {lenient} answered where the model raises", made.source


# Different in silence where several sizes were recorded:
MORE_SIZES = [(name, "verified") for name in PROGRAMS if "size_test_in_line" in name or "number_in_line" in name]
SLOW = [pytest.param(name, how, marks=pytest.mark.slow) for how in ("given", "verified")
        for name in list(PROGRAMS)[::6]]
CASES = [(name, "single") for name in PROGRAMS] + MORE_SIZES + SLOW


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "how"), CASES)
def test_no_difference(name, how, tmp_path) -> None:
    for library in ("numpy", "einops"):
        if f"import {library}" in PROGRAMS[name] or f"from {library}" in PROGRAMS[name]:
            pytest.importorskip(library, reason=f"the program uses {library}")
    kind, what, source = tried(PROGRAMS[name], tmp_path, how, name)
    assert kind in ("fine", "refused"), f"{what}\n{source}"


if __name__ == "__main__":
    import tempfile
    import warnings
    warnings.simplefilter("ignore")
    wanted = [a for a in sys.argv[1:] if a in PROGRAMS] or list(PROGRAMS)
    for program_name in wanted:
        for way_made in [a for a in sys.argv[1:] if a in HOW] or HOW:
            with tempfile.TemporaryDirectory() as place:
                came, why, written = tried(PROGRAMS[program_name], pathlib.Path(place), way_made, program_name)
            print(f"{program_name} {way_made}: {came}: {why}", flush=True)
            if "--show" in sys.argv or came in ("different", "obscure"):
                print(re.sub("(?m)^# pellucid: .*\n", "", written))
