"""The fields of a model that can be built again: the arguments of its constructor, or of its configuration.

Only numbers are fields. Each number of a list is one: `depths[0]`; two equal ones (`img_size=(224, 224)`) are one
together. What a configuration computes of other fields where it is left out (`head_dim=None`) is none: changed alone it
would no longer follow them.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import sys
import types
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping

from ._config_fit import Number
from ._specs import Subject

MAX_ITEMS = 12  # of a list of numbers


@dataclass
class Family:
    """What can be built: fields with the values of the model that was asked for."""

    fields: dict[str, Number]
    make: Callable[[dict[str, Any]], Subject]  # of whole arguments that are other than before
    whole: dict[str, Any]  # the arguments as they were

    def build(self, changes: Mapping[str, Number]) -> Subject:
        arguments: dict[str, Any] = {}
        for name, value in changes.items():
            plain, bracket, index = name.partition("[")
            if not bracket:
                before = self.whole[plain]
                arguments[plain] = type(before)([value] * len(before)) if isinstance(before, (list, tuple)) else value
                continue
            items = list(arguments.get(plain, self.whole[plain]))
            items[int(index[:-1])] = value
            arguments[plain] = type(self.whole[plain])(items)
        return self.make(arguments)


def is_number(value: Any) -> bool:
    return type(value) in (int, float) and value == value and abs(value) < 2**40


def flat(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Number]]:
    for name, value in arguments.items():
        if is_number(value):
            yield name, value
        elif isinstance(value, (list, tuple)) and 0 < len(value) <= MAX_ITEMS and all(map(is_number, value)) \
                and type(value) in (list, tuple):
            if len(value) == 2 and value[0] == value[1]:
                yield name, value[0]
                continue
            yield from ((f"{name}[{i}]", item) for i, item in enumerate(value))


def family_of(subject: Subject, again: Callable[[], Subject]) -> Family | None:
    """`again` makes the subject once more. None: nothing of it can be changed."""
    if subject.rebuild is not None:
        return Family(dict(flat(subject.arguments)), subject.rebuild, dict(subject.arguments))
    return _of_constructor(again)


def _of_constructor(again: Callable[[], Subject]) -> Family | None:
    """The call of the constructor that made the model, seen while it is made once more."""
    import torch
    seen: dict[int, tuple[Any, dict[str, Any]]] = {}

    def watch(frame: types.FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_name != "__init__" or not code.co_argcount:
            return
        made = frame.f_locals.get(code.co_varnames[0])
        if isinstance(made, torch.nn.Module) and id(made) not in seen:
            own = inspect.unwrap(type(made).__init__)
            if getattr(own, "__code__", None) is code:
                seen[id(made)] = made, {name: unshared(value) for name, value in frame.f_locals.items()}

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        subject = again()
    finally:
        sys.setprofile(before)
    if id(subject.model) not in seen:
        return None
    kind = type(subject.model)
    bound = _bound(inspect.signature(inspect.unwrap(kind.__init__)), seen[id(subject.model)][1])
    arguments = _opened(bound)
    training = subject.model.training

    def make(changes: dict[str, Any]) -> Subject:
        args, kwargs = unshared(_changed(bound, changes))
        model = kind(*args, **kwargs).train(training)
        return Subject(model, subject.args, subject.kwargs, guess=subject.guess)

    return Family(dict(flat(arguments)), make, arguments)


# ---- of a model in hand ----

def subject_of(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Subject | None:
    """The model with a way to build it again, from what it keeps of its constructor's arguments: of a configuration
    object, or each by its name. None: no way gives a model with the same tensors."""
    wanted = _shapes_of(model)
    for arguments, build in _ways(model):
        def rebuild(changes: dict[str, Any], build: Callable[[dict[str, Any]], Any] = build) -> Subject:
            return Subject(build(unshared(changes)).train(model.training), args, kwargs)

        try:
            if _shapes_of(rebuild({}).model) == wanted:
                return Subject(model, args, kwargs, arguments=arguments, rebuild=rebuild)
        except Exception:  # that was not how it was made
            continue
    return None


def _shapes_of(model: Any) -> dict[str, tuple[int, ...]]:
    return {k: tuple(v.shape) for k, v in model.state_dict().items() if hasattr(v, "shape")}


def _ways(model: Any) -> Iterator[tuple[dict[str, Any], Callable[[dict[str, Any]], Any]]]:
    """What may have been given to the constructor, and what builds a model with some of it changed."""
    kind = type(model)
    parameters = list(inspect.signature(inspect.unwrap(kind.__init__)).parameters.values())[1:]
    held = {p.name: vars(model)[p.name] for p in parameters if p.name in vars(model)}
    missing = [p for p in parameters if p.name not in held and p.default is p.empty and p.kind not in (
        p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if missing:
        return
    for name, config in held.items():
        if not _is_configuration(config):
            continue
        rest = {key: value for key, value in held.items() if key != name}
        for arguments, make in _configurations(config):
            yield arguments, functools.partial(_with_configuration, kind, name, rest, make)
    if held and not any(_is_configuration(value) for value in held.values()):
        yield held, functools.partial(_with_arguments, kind, held)


def _with_configuration(kind: type, name: str, rest: dict[str, Any], make: Callable[[dict[str, Any]], Any],
                        changes: dict[str, Any]) -> Any:
    return kind(**{name: make(changes), **rest})


def _with_arguments(kind: type, given: dict[str, Any], changes: dict[str, Any]) -> Any:
    return kind(**{**given, **changes})


def _configurations(config: Any) -> Iterator[tuple[dict[str, Any], Callable[[dict[str, Any]], Any]]]:
    """What a configuration object may have been given. What it computes where it is left out is tried without first:
    kept, it would no longer follow what it is computed of."""
    kind = type(config)
    if dataclasses.is_dataclass(config):
        defaults = {f.name: f.default for f in dataclasses.fields(config) if f.init}
    elif kind.__init__ is object.__init__:
        defaults = {}
    else:
        defaults = {p.name: p.default for p in list(inspect.signature(kind.__init__).parameters.values())[1:]
                    if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    values = {name: getattr(config, name) for name in defaults if hasattr(config, name)}
    computed = {name for name, default in defaults.items() if default is None}
    for left_out in (computed, set()) if defaults else ():
        given = {name: value for name, value in values.items() if name not in left_out}
        yield given, functools.partial(_with_arguments, kind, given)
    plain = {name: value for name, value in vars(config).items() if name.isidentifier()}
    yield plain, lambda changes: _configuration(config, changes)


def unshared(value: Any) -> Any:
    """Lists and dicts anew, with the same things in them: a constructor may take out what it has used."""
    if type(value) in (list, tuple):
        return type(value)(map(unshared, value))
    return {key: unshared(item) for key, item in value.items()} if type(value) is dict else value


def _bound(signature: inspect.Signature, given: dict[str, Any]) -> inspect.BoundArguments:
    """The arguments of a call, as its frame had them when it began."""
    arguments = {name: given[name] for name in signature.parameters if name in given}
    return inspect.BoundArguments(signature, arguments)


def _opened(bound: inspect.BoundArguments) -> dict[str, Any]:
    """All arguments by name; of configuration objects what they hold. Names that come twice are left out."""
    found: dict[str, Any] = {}
    twice: set[str] = set()
    for name, value in list(bound.arguments.items())[1:]:
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            rows = dict(value)
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        else:
            rows = _held(value) if _is_configuration(value) else {name: value}
        twice |= found.keys() & rows.keys()
        found.update(rows)
    return {name: value for name, value in found.items() if name not in twice and name.isidentifier()}


def _is_configuration(value: Any) -> bool:
    import torch
    return not isinstance(value, (type, torch.nn.Module, torch.Tensor)) and not callable(value) and isinstance(
        getattr(value, "__dict__", None), dict)


def _held(value: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)
                if f.init and f.default is not None and hasattr(value, f.name)}
    return dict(vars(value))


def _changed(bound: inspect.BoundArguments, changes: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of the call without self, with these instead."""
    other = copy.copy(bound)
    other.arguments = dict(bound.arguments)
    for name, value in list(other.arguments.items())[1:]:
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            other.arguments[name] = {**value, **{k: v for k, v in changes.items() if k in value}}
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        elif _is_configuration(value):
            other.arguments[name] = _configuration(value, {k: v for k, v in changes.items() if k in _held(value)})
        elif name in changes:
            other.arguments[name] = changes[name]
    return other.args[1:], other.kwargs


def _configuration(value: Any, changes: dict[str, Any]) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **changes)
    made = copy.copy(value)
    for name, item in changes.items():
        setattr(made, name, item)
    return made


def hf_arguments(config: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What may be given to a configuration of transformers, as it is: without what was left out and then computed."""
    kind: Any = type(config)
    if dataclasses.is_dataclass(kind):
        defaults = {f.name: f.default for f in dataclasses.fields(kind) if f.init}
    else:
        parameters = inspect.signature(kind.__init__).parameters.values()
        defaults = {p.name: p.default for p in parameters}
    found = {}
    for name, default in defaults.items():
        value = getattr(config, name, None)
        if name in given or (default is not None and default is not dataclasses.MISSING and _kept(default, value)):
            found[name] = value
    return found


def _kept(default: Any, value: Any) -> bool:
    """Whether a default is still what it was."""
    return bool(default == value or (isinstance(default, (list, tuple)) and isinstance(value, (list, tuple))
                                     and list(default) == list(value)))
