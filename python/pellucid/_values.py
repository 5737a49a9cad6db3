"""What a caller gives beside tensors: numbers, flags, texts, alone or inside of containers and objects; and other
ones."""

from __future__ import annotations

import copy
import dataclasses
import enum
import inspect
import types
from typing import Any, Iterator, cast

import torch

from ._check import modules_of

Inputs = tuple[tuple[Any, ...], dict[str, Any]]
Step = tuple[str, Any]  # ("[", key) or (".", name)
MAX_DEPTH = 6
MAX_VALUES = 1_000  # leaves that are looked at; more is a data set
TRIES = 4  # other values of one leaf
PLAIN = (bool, int, float, str, enum.Enum, torch.dtype, slice)
ABSENT = object()


@dataclasses.dataclass(frozen=True)
class Change:
    """One value that is other than in the recorded call. `path`: from (args, kwargs) to it. `old`: what was given;
    where the argument was left out, a tensor means anything that is not None."""

    path: tuple[Step, ...]
    old: Any
    new: Any
    text: str

    @property
    def leaves_out(self) -> bool:
        return self.new is ABSENT


def leaves(inputs: Inputs) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Every plain value with the path to it."""
    count = 0
    stack: list[tuple[tuple[Step, ...], Any]] = [((("[", part),), inputs[part]) for part in (1, 0)]
    while stack and count < MAX_VALUES:
        path, value = stack.pop()
        count += 1
        if isinstance(value, PLAIN):
            yield path, value
        elif len(path) <= MAX_DEPTH:
            stack.extend(reversed([((*path, step), item) for step, item in _items(value)]))


def _items(value: Any) -> list[tuple[Step, Any]]:
    if isinstance(value, (torch.Tensor, type, torch.nn.Module, types.FunctionType, types.ModuleType)):
        return []
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [((".", name), getattr(value, name)) for name in value._fields]
    if isinstance(value, (tuple, list)):
        return [(("[", i), item) for i, item in enumerate(value)]
    if isinstance(value, dict):
        return [(("[", key), item) for key, item in value.items() if isinstance(key, (str, int))]
    if dataclasses.is_dataclass(value):
        return [((".", f.name), getattr(value, f.name)) for f in dataclasses.fields(value) if hasattr(value, f.name)]
    attributes = getattr(value, "__dict__", None)
    is_library = type(value).__module__.partition(".")[0] == "torch"
    return [((".", name), item) for name, item in attributes.items() if not name.startswith("_")] if isinstance(
        attributes, dict) and not is_library else []


def with_value(value: Any, path: tuple[Step, ...], new: Any) -> Any:
    """A copy of everything on the path, with the new value at its end. ABSENT takes a key out."""
    if not path:
        return new
    (kind, key), rest = path[0], path[1:]
    if kind == ".":
        if isinstance(value, tuple):
            return cast(Any, value)._replace(**{key: with_value(getattr(value, key), rest, new)})
        made = copy.copy(value)
        object.__setattr__(made, key, with_value(getattr(value, key), rest, new))
        return made
    if isinstance(value, tuple):
        items = [with_value(item, rest, new) if i == key else item for i, item in enumerate(value)]
        return (torch.Size if isinstance(value, torch.Size) else tuple)(item for item in items if item is not ABSENT)
    made = copy.copy(value)
    if not rest and new is ABSENT:
        del made[key]
    else:
        made[key] = with_value(value[key], rest, new) if rest else new  # a default has no item yet
    return made


# ---- other values ----

def others(value: Any, texts: list[str]) -> list[Any]:
    """Other values of the same type, the likeliest to be taken first."""
    if isinstance(value, enum.Enum):
        return [member for member in type(value) if member is not value][:TRIES]
    if isinstance(value, slice):
        stop = value.stop if isinstance(value.stop, int) else 0
        return [slice(value.start, stop - 1, value.step), slice(None)]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return list(dict.fromkeys(n for n in (value + 1, value * 2, value - 1, value // 2) if n != value))[:TRIES]
    if isinstance(value, float):
        return [value * 1.5 + 0.25, value / 2 + 0.125]
    if isinstance(value, str):
        return [*[text for text in texts if text != value][:TRIES - 1], value + "x"]
    return [d for d in (torch.float64, torch.float32, torch.int32) if d is not value][:2]


def texts_of(model: torch.nn.Module) -> list[str]:
    """Short texts in the forwards of the model's classes: likely values of what callers give as a text."""
    found: dict[str, None] = {}
    kinds = dict.fromkeys(type(m) for m in modules_of(model))
    todo: list[Any] = [getattr(kind.forward, "__code__", None) for kind in kinds
                       if not kind.__module__.startswith("torch.")]
    while todo and len(found) < 50:
        code = todo.pop(0)
        for constant in getattr(code, "co_consts", ()):
            if isinstance(constant, types.CodeType):
                todo.append(constant)
            for text in constant if isinstance(constant, (tuple, frozenset)) else (constant,):
                if isinstance(text, str) and 0 < len(text) <= 20 and text.replace("_", "").replace("-", "").isalnum():
                    found[text] = None
    return list(found)


def changes(inputs: Inputs, model: torch.nn.Module) -> Iterator[list[Change]]:
    """For each plain value that the caller gives, other values to try; then each argument that may be left out, and
    each that was: its default is a value like those that are given."""
    texts = texts_of(model)
    names = _names(model, len(inputs[0]))
    for path, value in (*leaves(inputs), *_defaults(inputs, model)):
        where = text_of(path, names)
        yield [Change(path, value, other, f"{where}={_shown(other)}") for other in others(value, texts)]
    for name, path, value in _optional(inputs, model):
        yield [Change(path, value, ABSENT, f"without {name}")]
    for path, value in _held_tensors(inputs):
        others_of = (ABSENT, None) if isinstance(_at(inputs, path[:-1]), dict) else (None,)
        yield [Change(path, value, other, f"without {text_of(path, names)}") for other in others_of]


def _held_tensors(inputs: Inputs) -> list[tuple[tuple[Step, ...], torch.Tensor]]:
    """The first tensors inside of containers and objects: a caller may leave one out."""
    found: list[tuple[tuple[Step, ...], torch.Tensor]] = []
    stack: list[tuple[tuple[Step, ...], Any]] = [((("[", part),), inputs[part]) for part in (1, 0)]
    while stack and len(found) < TRIES:
        path, value = stack.pop()
        if isinstance(value, torch.Tensor):
            found += [(path, value)] if len(path) > 2 else []
        elif len(path) <= MAX_DEPTH:
            stack.extend(reversed([((*path, step), item) for step, item in _items(value)]))
    return found


def _at(value: Any, path: tuple[Step, ...]) -> Any:
    for kind, key in path:
        value = getattr(value, key) if kind == "." else value[key]
    return value


def _defaults(inputs: Inputs, model: torch.nn.Module) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Parameters with a plain default that the caller did not give, under the path that they would have."""
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        return
    given = {*_names(model, len(inputs[0])), *inputs[1]}
    for p in parameters:
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name not in given and isinstance(p.default, PLAIN):
            yield (("[", 1), ("[", p.name)), p.default


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, (enum.Enum, torch.dtype)) else repr(value)


def _names(model: torch.nn.Module, count: int) -> list[str]:
    from ._contract import parameter_names
    return parameter_names(model, count)


def text_of(path: tuple[Step, ...], names: list[str]) -> str:
    """The path as an expression over the model's parameters."""
    (_, part), (_, first), *rest = path
    text = names[first] if part == 0 else str(first)
    for kind, key in rest:
        text += f".{key}" if kind == "." else f"[{key!r}]"
    return text


def _optional(inputs: Inputs, model: torch.nn.Module) -> Iterator[tuple[str, tuple[Step, ...], Any]]:
    """Arguments whose parameter has None for a default: keywords, and the last positional one."""
    try:
        parameters = inspect.signature(model.forward).parameters
    except (TypeError, ValueError):
        return
    args, kwargs = inputs
    names = _names(model, len(args))
    given: list[tuple[str, tuple[Step, ...], Any]]
    given = [(name, (("[", 1), ("[", name)), value) for name, value in kwargs.items()]
    if args and not kwargs:
        given.append((names[-1], (("[", 0), ("[", len(args) - 1)), args[-1]))
    for name, path, value in given:
        is_plain = value is None or isinstance(value, PLAIN)  # these are changed, not left out
        if name in parameters and parameters[name].default is None and not is_plain:
            yield name, path, value


# ---- assertions in the skeleton ----

def guard(change: Change, parameters: inspect.Signature) -> str | None:
    """An expression over the skeleton's parameters that holds for what was given, or None if it can't be written."""
    place = _expression(change.path, parameters)
    if place is None:
        return None
    if change.leaves_out and len(change.path) > 2:
        return None  # asking for it would raise something else
    if change.leaves_out or isinstance(change.old, torch.Tensor):
        return f"{place} is not None"
    if isinstance(change.old, bool):
        return f"{place} is {change.old}"
    if isinstance(change.old, torch.dtype):
        return f"{place} is {change.old}"
    if isinstance(change.old, enum.Enum):
        return f"getattr({place}, 'name', None) == {change.old.name!r}"
    if isinstance(change.old, slice):
        return f"{place} == {change.old!r}"
    return f"{place} == {change.old!r}" if isinstance(change.old, (int, float, str)) and not isinstance(
        change.old, enum.Enum) else None


def _expression(path: tuple[Step, ...], signature: inspect.Signature) -> str | None:
    (_, part), (_, first), *rest = path
    plain = [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    starred = {p.kind: p.name for p in signature.parameters.values() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    many, named = starred.get(inspect.Parameter.VAR_POSITIONAL), starred.get(inspect.Parameter.VAR_KEYWORD)
    if part == 0 and first < len(plain):
        text = plain[first]
    elif part == 0 and many:
        text = f"{many}[{first - len(plain)}]"
    elif part == 1 and first in signature.parameters:
        text = str(first)
    elif part == 1 and named:
        text = f"{named}[{first!r}]"
    else:
        return None
    for kind, key in rest:
        text += f".{key}" if kind == "." else f"[{key!r}]"
    return text
