"""The referee: runs a skeleton where the model's own library can't be imported, and compares.

The file is run by its path in a process of its own (see `_verify`), so it imports nothing of pellucid. The
package imports it too, for the plain form in which values travel between the two processes and are compared.

Plain form: a tensor is itself, everything else is a tuple that begins with its kind:

    ("plain", value)                     None, numbers, strings, dtypes, devices, sizes
    ("enum", name, member, [members])    a member of an enum: the class's name, its own, and all with their values
    ("tuple" | "list" | "set" | "slice", [forms])
    ("dict", [(key form, form)])
    ("record", name, [(field, form)])    namedtuples, dataclasses, model outputs: fields that are None don't count
    ("object", name, [(attribute, form)])  whatever else has attributes
    ("class", name)                      a class itself
    ("opaque", name)                     functions, iterators: only the type is compared
    ("call", number, [steps])            a part of the result of an earlier call
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import gc
import hashlib
import importlib.abc
import importlib.machinery
import json
import linecache
import os
import random
import select
import sys
import time
import traceback
import types
from typing import Any, Callable, Iterable, Iterator, cast

import torch
import torch.utils._pytree
import torch.utils.weak
from torch.multiprocessing.reductions import StorageWeakRef

MAX_DEPTH = 40
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), torch.dtype, torch.device, torch.layout,
         torch.memory_format, range)
SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


# ---- what a model consists of ----
# Authors have attributes and methods with the names of torch's own: `self.modules = []`, `def parameters(self)`. So
# what torch keeps is read where it keeps it.

def named_modules_of(model: Any, each: bool = False, path: str = "",
                     seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Every module with its path, as nn.Module.named_modules gives them. each: under each of its paths."""
    seen = set() if seen is None else seen
    if id(model) in seen:
        return
    if not each:
        seen.add(id(model))
    yield path, model
    for name, part in model._modules.items():
        if part is not None:
            yield from named_modules_of(part, each, f"{path}.{name}" if path else name, seen)


def modules_of(model: Any) -> Iterator[Any]:
    for _, part in named_modules_of(model):
        yield part


def _named(model: Any, kept: str, below: bool, each: bool) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    for path, part in named_modules_of(model, each) if below else [("", model)]:
        for name, tensor in getattr(part, kept).items():
            if tensor is not None and id(tensor) not in seen:
                if not each:
                    seen.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor


def named_parameters_of(model: Any, below: bool = True, each: bool = False) -> Iterator[tuple[str, Any]]:
    """below: those of the modules in it, too. each: under each of their paths."""
    return _named(model, "_parameters", below, each)


def named_buffers_of(model: Any, below: bool = True, each: bool = False) -> Iterator[tuple[str, Any]]:
    return _named(model, "_buffers", below, each)


def parameters_of(model: Any) -> Iterator[Any]:
    return (tensor for _, tensor in named_parameters_of(model))


def buffers_of(model: Any) -> Iterator[Any]:
    return (tensor for _, tensor in named_buffers_of(model))


# ---- the plain form ----

def plain_form(value: Any, found: dict[int, tuple[Any, ...]] | None = None, depth: int = 0) -> Any:
    """The form of a value; `found` maps ids of objects to the ("call", …) forms that stand for them."""
    if found is not None and id(value) in found:
        return found[id(value)]
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, torch.Size):
        is_open = any(isinstance(n, SYMBOLS) for n in value)
        return ("plain", tuple(value) if is_open else torch.Size(int(n) for n in value))
    if isinstance(value, enum.Enum):
        return enum_form(value)
    if isinstance(value, PLAIN):
        return ("plain", _exact(value))
    if isinstance(value, SYMBOLS):  # of runs on symbolic sizes
        return ("plain", value)
    if depth > MAX_DEPTH:
        return ("opaque", "too deep")

    def form(item: Any) -> Any:
        return plain_form(item, found, depth + 1)

    name = type(value).__name__
    if isinstance(value, slice):
        return ("slice", [form(value.start), form(value.stop), form(value.step)])
    if isinstance(value, tuple):
        fields_of = getattr(type(value), "_fields", None)  # of the class: some objects have any attribute
        if fields_of is not None:
            return ("record", name, [(f, form(getattr(value, f))) for f in fields_of])
        return ("tuple", [form(v) for v in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [(f.name, form(getattr(value, f.name, None))) for f in dataclasses.fields(value)]
        return ("record", name, [(k, v) for k, v in fields if v != ("plain", None)])
    if isinstance(value, dict):
        return ("dict", [(form(k), form(v)) for k, v in value.items()], *_library_form(value))
    if isinstance(value, list):
        return ("list", [form(v) for v in value])
    if type(value) is collections.deque:
        return ("list", [form(v) for v in value], "deque", value.maxlen)
    if isinstance(value, (set, frozenset)):
        kind = ("frozenset",) if isinstance(value, frozenset) else ()
        return ("set", sorted((form(v) for v in value), key=repr), *kind)
    if type(value).__module__ == "numpy":
        return torch.as_tensor(value) if getattr(value, "dtype", None) is not None and value.dtype.kind in "biufc" \
            else ("plain", str(value))
    if isinstance(value, type):
        return ("class", value.__name__)
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.GeneratorType,
                          types.ModuleType, torch.nn.Module)):
        return ("opaque", name)
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        return ("object", name, [(k, form(v)) for k, v in sorted(attributes.items(), key=lambda kv: kv[0])])
    return ("opaque", name)


FACTORIES: dict[str, Any] = {kind.__name__: kind for kind in (int, float, str, list, dict, set, tuple, bool)}


def _library_form(value: Any) -> tuple[Any, ...]:
    """Which class of the standard library's a dict is of; of an author's class it is a dict."""
    if type(value) is collections.defaultdict:
        factory = value.default_factory
        return ("defaultdict", next((name for name, known in FACTORIES.items() if known is factory), ""))
    return (type(value).__name__,) if type(value) in (collections.OrderedDict, collections.Counter) else ()


def _library_value(form: Any, items: Any) -> Any:
    """A container of a class that _library_form names, with these items."""
    if form[2] == "defaultdict":
        if not form[3]:
            raise ValueError("a defaultdict whose factory is the caller's can't be handed to the skeleton")
        return collections.defaultdict(FACTORIES[form[3]], items)
    if form[2] == "deque":
        return collections.deque(items, form[3])
    return {"OrderedDict": collections.OrderedDict, "Counter": collections.Counter, "frozenset": frozenset}[form[2]](
        items)


def enum_form(member: enum.Enum) -> Any:
    """A member with its class: the values that are plain, under its names. Flags that are put together have no name."""
    members = {name: one.value if isinstance(one.value, PLAIN) else name
               for name, one in type(member).__members__.items()}
    if member.name not in members:
        return ("plain", member.value)
    return ("enum", type(member).__name__, member.name, list(members.items()), enum_base(member))


def enum_base(member: enum.Enum) -> str:
    """The plain type that members are of, too: "int", "str", "float"; or ""."""
    return next((kind.__name__ for kind in (int, str, float) if isinstance(member, kind)), "")


@functools.lru_cache(maxsize=None)
def enum_class(name: str, members: tuple[tuple[str, Any], ...], base: str) -> Any:
    """A class like the author's: who calls a skeleton has that one, and not the skeleton's."""
    kind = {"int": int, "str": str, "float": float}.get(base)
    return enum.Enum(name, list(members), type=kind) if kind else enum.Enum(name, list(members))


def _exact(value: Any) -> Any:
    """Subtypes of the plain types (tracked numbers among them) as what they stand for."""
    for kind in (bool, int, float, complex, str, bytes):
        if isinstance(value, kind):
            return value if type(value) is kind else cast(Any, kind)(value)
    return value


class Record(types.SimpleNamespace):
    """A dataclass or named tuple whose class the skeleton does not have: it only takes it apart."""

    def __iter__(self) -> Iterator[Any]:
        return iter(vars(self).values())

    def __len__(self) -> int:
        return len(vars(self))

    def __getitem__(self, key: Any) -> Any:
        return vars(self)[key] if isinstance(key, str) else list(self)[key]


def from_form(form: Any, classes: dict[str, Any], results: list[Any] | None = None) -> Any:
    """The value that a form describes; author's classes are looked up by name, in the skeleton that has them."""
    if isinstance(form, torch.Tensor):
        return form
    kind = form[0]
    if kind == "plain":
        return form[1]
    if kind == "enum":
        return enum_class(form[1], tuple(map(tuple, form[3])), form[4])[form[2]]
    if kind == "slice":
        return slice(*(from_form(f, classes, results) for f in form[1]))
    if kind == "tuple":
        return tuple(from_form(f, classes, results) for f in form[1])
    if kind in ("list", "set"):
        items = [from_form(f, classes, results) for f in form[1]]
        return _library_value(form, items) if len(form) > 2 else items if kind == "list" else set(items)
    if kind == "dict":
        made = {from_form(k, classes, results): from_form(v, classes, results) for k, v in form[1]}
        return _library_value(form, made) if len(form) > 2 else made
    if kind == "record":
        fields = {k: from_form(v, classes, results) for k, v in form[2]}
        maker = classes.get(form[1])
        return maker(**fields) if maker is not None else type(form[1], (Record,), {})(**fields)
    if kind == "object":
        attributes = {k: from_form(v, classes, results) for k, v in form[2]}
        maker = classes.get(form[1])
        if not isinstance(maker, type):
            return type(form[1], (types.SimpleNamespace,), {})(**attributes)
        made = cast(Any, maker).__new__(maker)
        made.__dict__.update(attributes)
        return made
    if kind == "class":
        found = classes.get(form[1])
        return found if isinstance(found, type) else type(form[1], (), {})
    if kind == "call":
        assert results is not None  # forms of calls stand behind these calls
        value = results[form[1]]
        for step in form[2]:
            value = getattr(value, step[1]) if step[0] == "." else value[step[1]]
        return value
    raise ValueError(f"a value of type {form[1]} can't be handed to the skeleton")


def tensors_of(form: Any) -> Iterator[torch.Tensor]:
    if isinstance(form, torch.Tensor):
        yield form
    elif form[0] in ("tuple", "list", "set", "slice"):
        for item in form[1]:
            yield from tensors_of(item)
    elif form[0] == "dict":
        for _, item in form[1]:
            yield from tensors_of(item)
    elif form[0] in ("record", "object"):
        for _, item in form[2]:
            yield from tensors_of(item)


def map_tensors(form: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(form, torch.Tensor):
        return change(form)
    if form[0] in ("tuple", "list", "set", "slice"):
        return (form[0], [map_tensors(f, change) for f in form[1]], *form[2:])
    if form[0] == "dict":
        return ("dict", [(k, map_tensors(v, change)) for k, v in form[1]], *form[2:])
    if form[0] in ("record", "object"):
        return (form[0], form[1], [(k, map_tensors(v, change)) for k, v in form[2]])
    return form


def detached(form: Any) -> Any:
    """A copy of the form that no later in-place operation can reach."""
    return map_tensors(form, lambda t: t.detach().clone())


# ---- comparing ----

def difference(want: Any, got: Any, where: str = "result") -> str | None:
    """What differs first, in words, or None. Tensors are compared bit by bit; any NaN equals any NaN."""
    if isinstance(want, torch.Tensor) and isinstance(got, torch.Tensor):
        return tensor_difference(want, got, where)
    if isinstance(want, torch.Tensor) or isinstance(got, torch.Tensor) or want[0] != got[0]:
        return f"{where}: {_kind(want)} expected, {_kind(got)} found"
    if want[0] == "plain":
        a, b = want[1], got[1]
        same = type(a) is type(b) and (a == b or (a != a and b != b)) and repr(a) == repr(b)  # -0.0 == 0.0
        return None if same else f"{where}: {a!r} expected, {b!r} found"
    if want[0] == "enum":
        return None if want[1:3] == got[1:3] else f"{where}: {_kind(want)} expected, {_kind(got)} found"
    if want[0] in ("tuple", "list", "set", "slice", "dict") and want[2:3] != got[2:3]:
        return f"{where}: {_kind(want)} expected, {_kind(got)} found"
    if want[0] in ("tuple", "list", "set", "slice"):
        return _item_difference(want, got, where)
    if want[0] == "dict":
        return _key_difference(want, got, where)
    if want[1] != got[1]:
        return f"{where}: a {want[1]} expected, a {got[1]} found"
    return None if want[0] in ("opaque", "class") else _attribute_difference(want, got, where)


def _first_difference(pairs: Iterable[tuple[Any, Any, str]]) -> str | None:
    return next((found for want, got, where in pairs if (found := difference(want, got, where))), None)


def _item_difference(want: Any, got: Any, where: str) -> str | None:
    if len(want[1]) != len(got[1]):
        return f"{where}: {len(want[1])} items expected, {len(got[1])} found"
    return _first_difference((a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(want[1], got[1])))


def _key_difference(want: Any, got: Any, where: str) -> str | None:
    if [k for k, _ in want[1]] != [k for k, _ in got[1]]:
        return f"{where}: keys {_keys(want)} expected, {_keys(got)} found"
    return _first_difference((a, b, f"{where}[{k[1]!r}]") for (k, a), (_, b) in zip(want[1], got[1]))


def _attribute_difference(want: Any, got: Any, where: str) -> str | None:
    """Of a record every field counts; an object of the author's may have lost what holds no tensor."""
    is_record, here = want[0] == "record", dict(got[2])
    for name, a in want[2]:
        holds_tensors = any(True for _ in tensors_of(a))
        if name not in here:
            if is_record or holds_tensors:
                return f"{where}.{name}: missing"
            continue
        if not is_record and not holds_tensors and isinstance(a, tuple) and a[0] in ("object", "opaque", "class"):
            continue
        if found := difference(a, here[name], f"{where}.{name}"):
            return found
    extra = [name for name in here if name not in dict(want[2])]
    return f"{where}.{extra[0]}: not expected" if is_record and extra else None


def tensor_difference(want: torch.Tensor, got: torch.Tensor, where: str) -> str | None:
    if want.dtype != got.dtype or want.layout != got.layout or want.is_nested != got.is_nested:
        return f"{where}: {_kind(want)} expected, {_kind(got)} found"
    if want.is_nested:
        return difference(("list", list(want.unbind())), ("list", list(got.unbind())), where)
    if tuple(want.shape) != tuple(got.shape):
        return f"{where}: shape {tuple(want.shape)} expected, {tuple(got.shape)} found"
    want, got = want.detach(), got.detach()
    if want.layout != torch.strided:
        want, got = want.to_dense(), got.to_dense()
    if want.is_quantized:
        want, got = want.int_repr(), got.int_repr()
    if want.is_complex():
        want, got = torch.view_as_real(want.resolve_conj()), torch.view_as_real(got.resolve_conj())
    want, got = want.resolve_neg(), got.resolve_neg()
    if torch.equal(want, got) and not _has_signed_zeros(want, got):
        return None
    if not want.is_floating_point():
        return f"{where}: {int((want != got).sum())} of {want.numel()} elements differ"
    differ = ~((want == got) & (want.signbit() == got.signbit()) | (want.isnan() & got.isnan()))
    count = int(differ.sum())
    if not count:
        return None
    gap = (want.double() - got.double()).abs()[differ]
    return f"{where}: {count} of {want.numel()} elements differ, by up to {gap.max().item():.3g}"


def _has_signed_zeros(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.is_floating_point() and not torch.equal(a.signbit(), b.signbit())


def _kind(form: Any) -> str:
    if isinstance(form, torch.Tensor):
        return (f"{str(form.dtype).removeprefix('torch.')} tensor {tuple(form.shape)}" if not form.is_nested
                else "nested tensor")
    if form[0] == "plain":
        return repr(form[1])
    if form[0] == "enum":
        return f"{form[1]}.{form[2]}"
    if form[0] in ("tuple", "list", "set", "slice", "dict"):
        return f"a {form[2] if len(form) > 2 else form[0]}"
    return f"a {form[1]}"


def _keys(form: Any) -> str:
    return ", ".join(repr(k[1]) for k, _ in form[1])


# ---- one call, the same way on both sides ----

def seed_all(seed: int) -> None:
    # Without an accelerator torch.manual_seed does no more, but writes down three stacks for those that might come.
    alone = hasattr(torch, "accelerator") and not torch.accelerator.is_available()
    (torch.default_generator.manual_seed if alone else torch.manual_seed)(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


@contextlib.contextmanager
def as_traced(wanted: bool = True) -> Iterator[None]:
    """torch.compiler.is_compiling() and is_exporting() say yes inside, as they do while torch.export traces."""
    flags = ("_is_compiling_flag", "_is_exporting_flag") if wanted else ()
    before = {flag: getattr(torch.compiler, flag) for flag in flags if hasattr(torch.compiler, flag)}
    try:
        for flag in before:
            setattr(torch.compiler, flag, True)
        yield
    finally:
        for flag, value in before.items():
            setattr(torch.compiler, flag, value)


class Generators:
    """torch's, Python's and numpy's, from when they were seeded."""

    def __init__(self, seed: int) -> None:
        seed_all(seed)
        self.before = self._states()

    @staticmethod
    def _states() -> dict[str, str]:
        states = {"torch": torch.get_rng_state().numpy().tobytes(), "python": repr(random.getstate()).encode()}
        if "numpy" in sys.modules:
            states["numpy"] = repr([part.tobytes() if hasattr(part, "tobytes") else part for part in
                                    sys.modules["numpy"].random.get_state()]).encode()
        return {name: hashlib.sha1(state).hexdigest() for name, state in states.items()}

    def moved(self) -> dict[str, str]:
        """Those that somebody has drawn from, with a hash of the state that they are in."""
        return {name: now for name, now in self._states().items() if now != self.before.get(name, now)}


def generator_difference(want: dict[str, str], got: dict[str, str]) -> str | None:
    for name in sorted(want.keys() | got.keys()):
        if want.get(name) != got.get(name):
            drew = ("draws nothing" if name not in got else "draws" if name not in want
                    else "draws other numbers, or another number of them,")
            return f"generators: the skeleton {drew} from {name}'s generator, the original does otherwise"
    return None


def loss_of(form: Any) -> torch.Tensor | None:
    """A number that depends on every element of every differentiable tensor, on each in another way."""
    total = None
    for t in tensors_of(form):
        if not t.requires_grad or t.is_nested:
            continue
        if t.layout != torch.strided:
            t = t.to_dense()
        if t.is_complex():
            t = torch.view_as_real(t)
        weights = torch.linspace(0.5, 1.5, t.numel(), dtype=torch.float32, device=t.device).view(t.shape)
        part = (t.float() * weights).sum()
        total = part if total is None else total + part
    return total


def gradients(module: torch.nn.Module, form: Any) -> dict[str, torch.Tensor | None] | None:
    """Gradients by parameter name, or None where no output can be differentiated."""
    loss = loss_of(form)
    if loss is None:
        return None
    parameters = dict(named_parameters_of(module, each=True))
    for p in parameters.values():
        p.grad = None
    early: dict[int, list[Any]] = {}
    hooks = early_digests(parameters.values(), early) if is_heavy(parameters.values()) else []
    try:
        loss.backward()
    finally:
        for hook in hooks:
            hook.remove()
    return {name: early_gradient(early[id(p)]) if id(p) in early else None if p.grad is None else p.grad.detach()
            for name, p in parameters.items()}


LARGE = 1 << 16  # elements; larger gradients travel as digests
HEAVY = 1 << 25  # elements of all parameters: there is no second copy of them, and no gradient outlives its digest


def is_heavy(tensors: Iterable[torch.Tensor]) -> bool:
    return bool(sum(t.numel() for t in {id(t): t for t in tensors}.values()) >= HEAVY)


def early_digests(parameters: Iterable[torch.Tensor], found: dict[int, list[Any]]) -> list[Any]:
    """Large gradients are digested and let go while the backward goes on: all of them are as much as all weights."""
    def let_go(p: torch.Tensor) -> None:
        if isinstance(digest := digested(p.grad), tuple):
            found.setdefault(id(p), []).append(digest)
            p.grad = None
    return [p.register_post_accumulate_grad_hook(let_go) for p in {id(p): p for p in parameters}.values()
            if p.requires_grad and p.is_leaf]


def early_gradient(parts: list[Any]) -> Any:
    """A checkpoint that runs a backward of its own brings a gradient in parts."""
    return parts[0] if len(parts) == 1 else ("digests", *sorted(parts))


def digested(t: torch.Tensor | None) -> Any:
    """A large dense tensor as dtype, shape and a hash of its bits; others as they are."""
    if t is None or isinstance(t, tuple) or t.numel() < LARGE or t.layout != torch.strided:
        return t
    values = t.detach().cpu().contiguous().flatten()
    return ("digest", str(t.dtype), list(t.shape), hashlib.sha1(values.view(torch.uint8).numpy()).hexdigest())


def parameters_before(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in named_parameters_of(module, each=True)}


def changeable(module: torch.nn.Module, before: Callable[[str], torch.Tensor | None]) -> dict[str, torch.Tensor]:
    """What a forward may have changed: the buffers, and parameters that are not what they were before."""
    same = {name for name, p in named_parameters_of(module, each=True)
            if (kept := before(name)) is None or torch.equal(p, kept)}
    return {k: v.detach().clone() for k, v in module.state_dict().items() if isinstance(v, torch.Tensor)
            and k not in same}


def ties_of(module: torch.nn.Module) -> list[list[str]]:
    """Names of parameters and buffers that are one tensor."""
    names: dict[int, list[str]] = {}
    for name, t in [*named_parameters_of(module, each=True), *named_buffers_of(module, each=True)]:
        names.setdefault(id(t), []).append(name)
    return sorted(sorted(group) for group in names.values() if len(group) > 1)


# ---- what is done to a module before a call ----

WEIGHT = 0.9375  # other weights are these times the given ones: signs and ranges stay
DTYPES = {"float64": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}
Step = tuple[Any, ...]  # ("train", flag) | ("to", "float64") | ("weights",) | ("requires_grad_", flag) | ("deepcopy",)


def other_weights(module: torch.nn.Module) -> dict[str, Any]:
    return {k: v.detach() * WEIGHT if isinstance(v, torch.Tensor) and v.is_floating_point() else v
            for k, v in module.state_dict().items()}


def scaled(module: torch.nn.Module) -> bool:
    """The same in place, where the weights are heavy and `load_state_dict` would do no more."""
    tensors = {id(t): t for t in module.state_dict(keep_vars=True).values()
               if isinstance(t, torch.Tensor) and t.is_floating_point()}
    if not is_heavy(tensors.values()) or not loads_plainly(module):
        return False
    with torch.no_grad():
        for t in tensors.values():
            t.mul_(WEIGHT)
    return True


def loads_plainly(module: torch.nn.Module) -> bool:
    """No part of it has a hook or a method of its own for loading."""
    for part in modules_of(module):
        own_way = next(kind for kind in type(part).__mro__ if "_load_from_state_dict" in vars(kind))
        hooked = part._load_state_dict_pre_hooks or part._load_state_dict_post_hooks
        if hooked or own_way.__module__.partition(".")[0] != "torch":
            return False
    return True


def prepared(module: torch.nn.Module, steps: Iterable[Step]) -> torch.nn.Module:
    """The module after these steps, as a user would take them. The same on both sides."""
    for kind, *values in steps:
        if kind == "train":
            module.train() if values[0] else module.eval()
        elif kind == "to":
            module.half() if values[0] == "half" else module.to(DTYPES[values[0]])
        elif kind == "weights":
            if not scaled(module):
                module.load_state_dict(other_weights(module), strict=True)
        elif kind == "requires_grad_":
            module.requires_grad_(values[0])
        elif kind == "deepcopy":
            module = copy.deepcopy(module)
        else:
            raise ValueError(f"there is no step {kind!r}")
    return module


def has_own_train(module: torch.nn.Module) -> bool:
    return any(type(m).train is not torch.nn.Module.train for m in modules_of(module))


def mode_difference(module: torch.nn.Module, flags: dict[str, bool]) -> str | None:
    """After train() or eval(): modules that both have are in the same mode."""
    for name, m in named_modules_of(module, each=True):
        if name in flags and m.training is not flags[name]:
            return f"{name or 'the model'}.training is {m.training}, the original's is {flags[name]}"
    return None


# ---- where tensors are put ----

class Devices(torch.overrides.TorchFunctionMode):
    """Counts the calls that choose a device: factories, and what moves tensors; by name and the device of the
    result."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, int] = {}

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        if isinstance(result, torch.Tensor):
            sources = {t.device.type for t in torch.utils._pytree.tree_leaves((args, kwargs))
                       if isinstance(t, torch.Tensor)}
            if result.device.type not in sources:
                row = f"{getattr(function, '__name__', '?')} on {result.device.type}"
                self.calls[row] = self.calls.get(row, 0) + 1
        return result


def to_meta(t: torch.Tensor) -> torch.Tensor:
    return t.detach().to("meta")


def on_meta(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, int]]:
    """The call with arguments on the meta device, and the module there too: what it gives, as a plain form without
    values, and the calls that chose a device."""
    tensors = {**dict(named_parameters_of(module, each=True)),
               **dict(named_buffers_of(module, each=True))}
    places: dict[int, torch.Tensor] = {}  # tied ones stay tied
    state = {name: places.setdefault(id(t), to_meta(t)) for name, t in tensors.items()}
    with torch.no_grad(), Devices() as devices:
        result = torch.func.functional_call(module, state, args, kwargs, tie_weights=False)
    form = map_tensors(plain_form(result), lambda t: ("plain", f"{t.dtype} {tuple(t.shape)} on {t.device.type}"))
    return form, devices.calls


def device_difference(want: dict[str, int], got: dict[str, int]) -> str | None:
    """The skeleton may be spared calls, but none may put its result where the original's does not."""
    for row, count in sorted(got.items()):
        if count > want.get(row, 0):
            return f"{row}: {count} calls, the original makes {want.get(row, 0)}"
    return None


# ---- events ----

IDLE = {"add": 0, "radd": 0, "sub": 0, "mul": 1, "rmul": 1, "div": 1, "true_divide": 1}  # what leaves a tensor as it is

WHOLE = (slice(None), slice(0, None))


# Asking for these reads no element, or only tells people about it.
ASIDES = {"__get__", "size", "dim", "numel", "nelement", "stride", "element_size", "is_floating_point", "is_complex",
          "is_contiguous", "get_device", "data_ptr", "__len__", "__format__", "__repr__", "__hash__"}


class Events(torch.overrides.TorchFunctionMode):
    """The calls of torch that give tensors, in order: name, and dtype and shape of what came out. x + 0, x * 1 and
    x[:, :] don't count: a skeleton is spared them. Of each call it is known which earlier ones it reads, so that
    those whose results nobody reads can be found."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, set[int]]] = []  # row, empty if it does not count; the calls that it reads
        self.made_by = torch.utils.weak.WeakIdKeyDictionary()  # tensor -> call
        self.written: dict[Any, set[int]] = {}  # memory -> calls that changed it in place
        self.factories: dict[str, int] = {}  # calls that make a tensor of none and don't say on which device
        self.wanted: set[int] = set()

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        reads = self._makers(leaves)
        result = function(*args, **kwargs)
        takes_device = any(isinstance(v, (torch.Tensor, torch.device)) for v in leaves)
        if isinstance(result, torch.Tensor) and not takes_device and result.dim():  # one number fits any device
            name = getattr(function, "__name__", "?")
            self.factories[name] = self.factories.get(name, 0) + (kwargs.get("device") is None)
        found = [t for t in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(t, torch.Tensor)]
        name = getattr(function, "__name__", "?")
        if not found:
            in_place = name in ("__setitem__", "__set__")
            if name not in ASIDES and not in_place:
                self.wanted |= reads  # a number or a truth: it may decide anything
            if not in_place:
                return result
        idle = (name.strip("_") in IDLE and len(args) == 2 and type(args[1]) in (int, float)
                and args[1] == IDLE[name.strip("_")] and found and found[0].dtype == getattr(args[0], "dtype", None))
        idle = idle or (name == "__getitem__" and type(args[1]) is tuple and len(args[1]) > 1
                        and all(type(i) is slice and i in WHOLE for i in args[1]))
        if name == "__get__":  # a property: which one
            name = getattr(getattr(function, "__self__", None), "__name__", name)
        shapes = ", ".join(f"{str(t.dtype)[6:]}{list(t.shape)}" for t in found)
        self.calls.append((f"{name} -> {shapes}" if found and not idle else "", reads))
        for t in found:
            self.made_by[t] = len(self.calls) - 1
        if not found or name.endswith("_") or name.startswith("__i") or "out" in kwargs:
            for t in [*args[:1], kwargs.get("out")]:
                self._note_written(t)
        return result

    def _makers(self, values: list[Any]) -> set[int]:
        found: set[int] = set()
        for t in values:
            if isinstance(t, torch.Tensor):
                found |= {self.made_by[t]} if t in self.made_by else set()
                found |= self.written.get(memory_of(t), set())
        return found

    def _note_written(self, t: Any) -> None:
        if not isinstance(t, torch.Tensor):
            return
        call = len(self.calls) - 1
        self.written.setdefault(memory_of(t), set()).add(call)
        if t not in self.made_by:
            self.wanted.add(call)  # a buffer, or an argument: it outlives the call

    def rows(self, result: Any) -> list[tuple[str, bool]]:
        """What was called, and whether anybody reads what it gave."""
        todo = list(self.wanted | self._makers(list(tensors_of(plain_form(result)))))
        live = set(todo)
        while todo:
            new = self.calls[todo.pop()][1] - live
            live |= new
            todo += new
        return [(row, i in live) for i, (row, _) in enumerate(self.calls) if row]


def memory_of(t: torch.Tensor) -> Any:
    """A weak reference: while it lives, no other memory is taken for this one."""
    try:  # what can't be referred to raises before there is an object, whose end would be noisy
        return StorageWeakRef.from_weakref(t.untyped_storage()._weak_ref())
    except (RuntimeError, NotImplementedError):  # sparse tensors have several
        return id(t)


def event_difference(want: list[tuple[str, bool]], got: list[tuple[str, bool]]) -> str | None:
    """The first place where the sequences part; whether calls are only missing, and whether these are missed."""
    if [row for row, _ in want] == [row for row, _ in got]:
        return None
    if [row for row, is_read in want if is_read] == [row for row, is_read in got if is_read]:
        return f"{len(got)} calls instead of {len(want)}; nobody reads what the others give"
    rest = iter(want)
    only_fewer = all(any(row == other for other, _ in rest) for row, _ in got)
    first = next((i for i, (a, b) in enumerate(zip(want, got)) if a[0] != b[0]), min(len(want), len(got)))
    here = want[first][0] if first < len(want) else "nothing"
    there = got[first][0] if first < len(got) else "nothing"
    what = f"{len(want) - len(got)} of {len(want)} calls are not made, from" if only_fewer else "the calls differ from"
    return f"{what} number {first} on: {here} expected, {there} found"


# ---- the process ----

class Filter(importlib.abc.MetaPathFinder):
    """Finds the standard library, torch with what it needs, and numpy. Imports of anything else fail."""

    def __init__(self, finder: Any, allowed: set[str]):
        self.finder = finder
        self.allowed = allowed

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        root = name.partition(".")[0]
        # the build's own settings are a module of the standard library whose name depends on the machine
        is_library = root in sys.stdlib_module_names or root.startswith("_sysconfigdata_")
        return self.finder.find_spec(name, path, target) if root in self.allowed or is_library else None

    def find_distributions(self, *context: Any) -> Iterator[Any]:
        """Packages that are kept as they are may ask for the versions of what they require."""
        find = getattr(self.finder, "find_distributions", lambda *_: ())
        return (d for d in find(*context) if d.name.lower().replace("-", "_") in self.allowed)


def hide_others(allowed: set[str]) -> None:
    own = (importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter)
    sys.meta_path[:] = [f if f in own or not hasattr(f, "find_spec") else Filter(f, allowed) for f in sys.meta_path]


def load_source(source: str, name: str = "pellucid_skeleton", path: str = "<skeleton>") -> types.ModuleType:
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module  # dataclasses and pickling look their module up
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)  # torch.jit.script reads it
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def line_of(error: BaseException, path: str = "<skeleton>") -> int | None:
    """The skeleton's line that raised."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    if len(frames) > 1 and frames[-1].name == "not_recorded":  # what matters is who called it
        frames.pop()
    return frames[-1].lineno if frames else None


def error_text(error: BaseException) -> str:
    """One line: the error and the skeleton's line that raised it."""
    line, text = line_of(error), " ".join(str(error).split())
    return f"{f'line {line}: ' if line else ''}{type(error).__name__}: {text[:600]}"


def run_check(checks: list[dict[str, Any]], name: str, action: Callable[[], str | None], what: str = "") -> bool:
    """Adds a row; `action` gives None where all is well, or what is not."""
    start = time.perf_counter()
    row = {"name": name, "status": "passed", "detail": "", "silent": False, "line": None, "what": what}
    try:
        if detail := action():
            row.update(status="failed", detail=detail, silent=True)
    except AssertionError as error:
        row.update(status="refused", detail=error_text(error), line=line_of(error))
    except Exception as error:
        row.update(status="failed", detail=error_text(error), line=line_of(error))
    row["seconds"] = time.perf_counter() - start
    checks.append(row)
    return row["status"] == "passed"


def set_modes(module: torch.nn.Module, flags: dict[str, bool]) -> None:
    for name, m in named_modules_of(module, each=True):
        m.training = flags.get(name, flags[""])


def referee(data: dict[str, Any]) -> list[dict[str, Any]]:
    checks: list[dict[str, Any]] = []
    made: dict[str, Any] = {}

    def build() -> None:
        made["namespace"] = load_source(data["source"]).__dict__
        seed_all(data["seed"])
        made["module"] = made["namespace"][data["root"]]()

    def load() -> None:
        made["mapped"] = not moves_parameters(data) and mapped(made["module"], data["state"])
        if not made["mapped"]:
            made["module"].load_state_dict(data["state"], strict=True)

    def modes() -> None:
        """An author's train() may ask for what the skeleton does not have. Where it refuses a mode, the runs tell."""
        for mode in (True, False):
            with contextlib.suppress(AssertionError):
                made["namespace"][data["root"]]().train(mode)

    def order() -> str | None:
        want, got = list(data["state"]), list(made["module"].state_dict())
        return None if want == got else f"order of the keys: {next((a, b) for a, b in zip(want, got) if a != b)}"

    def ties() -> str | None:
        # Of what the state_dict brings. Other buffers are constants: equal ones may be one, unread ones are gone.
        want, got = ([group for names in ties if len(group := [n for n in names if n in data["state"]]) > 1]
                     for ties in (data["ties"], ties_of(made["module"])))
        return None if want == got else f"tied: {want} expected, {got} found"

    def requires_grad() -> str | None:
        got = {n: p.requires_grad for n, p in named_parameters_of(made["module"], each=True)}
        wrong = [n for n, flag in data["requires_grad"].items() if got.get(n) is not flag]
        return f"requires_grad of {', '.join(wrong[:3])}" if wrong else None

    if not run_check(checks, "build", build) or not run_check(checks, "load", load):
        return checks
    if has_own_train(made["module"]) and not run_check(checks, "train()", modes):
        return checks
    run_check(checks, "order", order)
    run_check(checks, "ties", ties)
    run_check(checks, "requires_grad", requires_grad)

    moves_them = moves_parameters(data)
    spare: list[Any] = []
    if made["mapped"]:  # the one that may change weights in place comes last: no copy of them is needed
        made["last"] = next((s for s in data["sequences"] if changes_in_place(s)), None)
        data["sequences"].sort(key=lambda s: s is made["last"])
    for sequence in data["sequences"]:
        play_sequence(checks, data, sequence, made, spare)
        if moves_them:
            made["module"].load_state_dict(data["state"], strict=True)
    return checks


def changes_in_place(sequence: list[dict[str, Any]]) -> bool:
    steps = [step[0] for call in sequence for step in call.get("steps", ())]
    return "weights" in steps and {*steps} <= {"weights", "requires_grad_"}


def moves_parameters(data: dict[str, Any]) -> bool:
    """Whether some call changes parameters: their names are those that may want gradients."""
    parameters = data["requires_grad"].keys()
    return any(parameters & (call.get("buffers") or {}).keys() for calls in data["sequences"] for call in calls)


def mapped(module: torch.nn.Module, state: dict[str, Any]) -> bool:
    """The parameters as they lie in the file, where they are heavy: no copy of them. Only where `load_state_dict` would
    do the same: the same keys, of the same form, each with memory of its own, and no class that loads in its own way.
    """
    own = module.state_dict(keep_vars=True)
    owners = {id(t): t for t in own.values()}
    if own.keys() != state.keys() or not is_heavy(p for p in owners.values() if isinstance(p, torch.nn.Parameter)):
        return False
    if not loads_plainly(module):
        return False
    users: dict[int, set[int]] = {}
    for key, t in own.items():
        other = state[key]
        if not isinstance(t, torch.Tensor) or not isinstance(other, torch.Tensor) or t.layout != torch.strided or (
                t.shape, t.dtype, t.device, t.layout, t.stride()) != (
                other.shape, other.dtype, other.device, other.layout, other.stride()):
            return False
        users.setdefault(other.untyped_storage().data_ptr(), set()).add(id(t))
    if any(len(ids) > 1 for pointer, ids in users.items() if pointer):
        return False
    with torch.no_grad():
        for key, t in own.items():
            if isinstance(t, torch.nn.Parameter):
                t.data = state[key]
            else:
                t.copy_(state[key])
    return True


def play_sequence(checks: list[dict[str, Any]], data: dict[str, Any], sequence: list[dict[str, Any]],
                  made: dict[str, Any], spare: list[Any]) -> None:
    """Calls in a row, of a module that none has been made of before, or that nothing was left in. spare: the copy that
    the last sequence was played on, with what it looked like before."""
    pristine, namespace = made["module"], made["namespace"]
    own = sequence is not made.get("last") and any(
        call.get("steps") or ("start" in call and has_own_train(pristine)) for call in sequence)
    if not own and spare and looks(spare[0], spare[2]) == spare[1]:
        module = spare[0]
    else:
        module = copied(pristine, own, data, namespace)
        spare.clear()
        kept = {} if own else {id(t): t.detach().clone() for t in buffers_of(module)}
        if not own and (look := looks(module, kept)) is not None:
            spare.extend((module, look, kept))
    for p in parameters_of(module):
        p.grad = None
    results: list[Any] = []
    for call in sequence:
        if call.get("meta"):
            play_on_meta(checks, module, call, namespace)
        elif call.get("events") is not None:
            play_events(checks, module, call, namespace)
        else:
            module = play(checks, module, call, results, namespace)


def copied(pristine: torch.nn.Module, own: bool, data: dict[str, Any], namespace: dict[str, Any]) -> torch.nn.Module:
    try:
        # Parameters are shared: they are most of the memory, and few calls change them.
        return copy.deepcopy(pristine, {} if own else {id(p): p for p in parameters_of(pristine)})
    except Exception:  # a buffer that is computed from parameters, say
        module = cast(torch.nn.Module, namespace[data["root"]]())
        module.load_state_dict(data["state"], strict=True)
        return module


def looks(module: torch.nn.Module, kept: dict[int, torch.Tensor]) -> Any:
    """Every attribute of every module, for comparing with what it is later: plain values, parameters by identity,
    buffers by identity and by the bits that they should have. None where one holds something else, in which a run could
    leave anything, or where a buffer has other bits."""
    found: list[Any] = []
    for m in modules_of(module):
        for key, value in vars(m).items():
            if key == "training":
                continue  # set before each call
            items = list(value.items()) if isinstance(value, dict) else [(None, value)]
            for name, item in items:
                if isinstance(item, torch.Tensor) and id(item) in kept:
                    if tensor_difference(kept[id(item)], item, ""):
                        return None
                elif not isinstance(item, (torch.nn.Module, torch.nn.Parameter)) and not is_plain(item):
                    return None
                found.append((key, type(value), name, id(item) if isinstance(item, (torch.Tensor, torch.nn.Module))
                              else repr(item)))
            found.append((key, type(value), len(items)))
    return found


def is_plain(value: Any) -> bool:
    return isinstance(value, PLAIN) or (type(value) in (tuple, list, set, frozenset, torch.Size)
                                        and all(map(is_plain, value)))


def buffer_difference(module: torch.nn.Module, wanted: dict[str, torch.Tensor]) -> str | None:
    have = module.state_dict()
    for name, t in wanted.items():
        if name not in have:
            return f"{name}: missing"
        if found := tensor_difference(t, have[name], name):
            return found
    return None


def gradient_difference(have: dict[str, Any], wanted: dict[str, Any]) -> str | None:
    """wanted: tensors, digests of large ones, None for parameters that get none."""
    for name, t in wanted.items():
        other = have.get(name)
        if (t is None) != (other is None):
            return f"{name}: {'no gradient' if t is None else 'a gradient'} expected"
        if isinstance(t, tuple):
            if t != digested(other):
                return f"{name}: its elements are not the same"
        elif t is not None and (found := tensor_difference(t, other, name)):
            return found
    return None


def play(checks: list[dict[str, Any]], module: torch.nn.Module, call: dict[str, Any], results: list[Any],
         classes: dict[str, Any]) -> torch.nn.Module:
    """Makes one call and compares what it gives, where it leaves the generators, what it leaves in the arguments and in
    buffers, and hands back as gradients. Returns the module, which the call's steps may have replaced."""
    form: Any = None
    left: Any = None
    generators: dict[str, str] = {}
    entered: list[dict[str, Any]] = []
    if "start" in call:  # a mode that is entered by a method
        set_modes(module, call["start"])
        run_check(entered, f"{call['name']}: methods",
                  lambda: mode_difference(prepared(module, [("train", call["modes"][""])]), call["modes"]))

    def outputs() -> str | None:
        nonlocal form, left, generators, module
        module = prepared(module, call.get("steps", ()))
        args, kwargs = given_to(call, classes, results)
        set_modes(module, call["modes"])
        torch.set_num_threads(call["threads"])
        state = Generators(call["seed"])
        with torch.set_grad_enabled(call["grad"]), as_traced(call.get("traced", False)):
            result = module(*args, **kwargs)
        generators = state.moved()
        results.append(result)
        form = plain_form(result)
        left = detached(("tuple", [plain_form(args), plain_form(kwargs)])) if call.get("left") is not None else None
        if call.get("raises"):
            return f"the original raises {call['raises']}"
        if found := difference(call["result"], form):
            return found
        have = [t.requires_grad for t in tensors_of(form)]
        return None if have == call["result_grads"] else "an output's requires_grad differs"

    name, what = call["name"], call.get("what", "")
    ok = run_check(checks, name, outputs, what)
    if call.get("changed"):
        judge_changed(checks[-1], bool(call.get("raises")))
    if checks[-1]["status"] not in ("refused", "guarded"):  # a mode that the skeleton refuses may be entered in any way
        checks += entered
    if ok and call.get("generators") is not None:
        run_check(checks, f"{name}: generators", lambda: generator_difference(call["generators"], generators), what)
    if ok and call.get("left") is not None:
        run_check(checks, f"{name}: arguments", lambda: difference(call["left"], left, "arguments"), what)
    if ok and call["buffers"] is not None:
        run_check(checks, f"{name}: buffers", lambda: buffer_difference(module, call["buffers"]), what)
    if ok and call["gradients"] is not None:
        run_check(checks, call["gradients name"],
                  lambda: gradient_difference(gradients(module, form) or {}, call["gradients"]), what)
    return module


def given_to(call: dict[str, Any], classes: dict[str, Any], results: list[Any]) -> tuple[Any, Any]:
    return (from_form(map_tensors(call["args"], copy_input), classes, results),
            from_form(map_tensors(call["kwargs"], copy_input), classes, results))


def judge_changed(row: dict[str, Any], raises: bool) -> None:
    """Where the caller gives another value than was recorded, an assertion is an answer, and so is a parameter that
    can't be left out, or that the signature does not have. Where the original raises, so must the skeleton; which error
    doesn't matter."""
    missing = row["line"] is None and "argument" in row["detail"] and any(
        word in row["detail"] for word in ("missing", "unexpected keyword", "positional arguments but"))
    if raises:
        if row["status"] == "failed" and row["silent"]:
            row.update(status="lenient", silent=False)
        else:
            row.update(status="passed", detail="")
    elif row["status"] == "refused" or (row["status"] == "failed" and missing):
        row["status"] = "guarded"


def play_on_meta(checks: list[dict[str, Any]], module: torch.nn.Module, call: dict[str, Any],
                 classes: dict[str, Any]) -> None:
    def devices() -> str | None:
        set_modes(module, call["modes"])
        seed_all(call["seed"])
        args, kwargs = (from_form(map_tensors(call[part], to_meta), classes) for part in ("args", "kwargs"))
        form, calls = on_meta(module, args, kwargs)
        return difference(call["result"], form) or device_difference(call["devices"], calls)

    run_check(checks, call["name"], devices)


def play_events(checks: list[dict[str, Any]], module: torch.nn.Module, call: dict[str, Any],
                classes: dict[str, Any]) -> None:
    """Not a question of right or wrong: calls whose results nobody reads may be gone."""

    def events() -> str | None:
        args, kwargs = given_to(call, classes, [])
        set_modes(module, call["modes"])
        torch.set_num_threads(call["threads"])
        seed_all(call["seed"])
        with torch.set_grad_enabled(call["grad"]), Events() as seen:
            result = module(*args, **kwargs)
        factories.update(seen.factories)
        return event_difference(call["events"], seen.rows(result))

    factories: dict[str, int] = {}

    def devices() -> str | None:
        for name, count in sorted(factories.items()):
            if count > call["factories"].get(name, 0):
                return (f"{name}: {count} calls don't say on which device, of the original's "
                        f"{call['factories'].get(name, 0)}")
        return None

    fine = run_check(checks, call["name"], events)
    run_check(checks, "device", devices)
    if not fine:
        checks[-2].update(status="differs", silent=False)


def copy_input(t: torch.Tensor) -> torch.Tensor:
    return t.detach().clone().requires_grad_(t.requires_grad)


def judge(data_path: str, result_path: str) -> None:
    data = torch.load(data_path, weights_only=False, mmap=True)
    hide_others(set(data["allowed"]))
    checks = referee(data)
    with open(result_path, "w") as out:
        json.dump(checks, out)


IDLE_SECONDS = 60.0  # after which a server that nobody asks ends


def serve() -> int:
    """Judges one case after another, each in a process forked from this one, which has torch and nothing else: lines of
    JSON come in, and a line with the exit status goes out for each."""
    gc.freeze()  # what torch is made of is never looked at again, and stays shared with the processes
    while select.select([sys.stdin], [], [], IDLE_SECONDS)[0]:
        line = sys.stdin.readline()
        if not line:
            return 0
        case = json.loads(line)
        child = os.fork()
        if child == 0:
            judge_alone(case)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return 0


def judge_alone(case: dict[str, str]) -> None:
    """One case in this process, which ends with it."""
    code = 1
    try:
        out = os.open(case["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, file in ((0, nothing), (1, out), (2, out)):
            os.dup2(file, number)
        os.chdir(os.path.dirname(case["data"]))
        judge(case["data"], case["result"])
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(argv: list[str]) -> int:
    if argv == ["--serve"]:
        return serve()
    judge(*argv)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
