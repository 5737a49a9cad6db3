"""What can't be watched as it is, and what takes its place while a model is recorded."""

from __future__ import annotations

import contextlib
import functools
import operator
import re
import types
from typing import Any, Iterator

import torch
from torch import nn

from ._check import modules_of, named_modules_of
from ._library import AUTHOR, role_of
from ._state import ModelState


class NoPython(RuntimeError):
    """A compiled module of which only a graph is left."""


class StandIns:
    """Compiled parts of a model, and modules of torch's whose forward somebody replaced on the instance.

    torch.jit.script forgets the module that it was given, but not its class, nor what its methods read of it: a module
    of that class shares the compiled one's tensors. Whether it computes the same is for the referee to say. A module of
    torch's that has a forward of its own gets a class of its own, which inherits, for that forward to be a method of.
    """

    def __init__(self, model: nn.Module):
        self.compiled: list[tuple[torch.jit.ScriptModule, nn.Module]] = []
        self.places: list[tuple[nn.Module, str, nn.Module, nn.Module]] = []
        self.model = self._written(model, "the model") if isinstance(model, torch.jit.ScriptModule) else model
        for path, parent in named_modules_of(model):
            if isinstance(parent, torch.jit.ScriptModule):
                continue  # its children are in its stand-in
            for name, child in parent._modules.items():
                if isinstance(child, torch.jit.ScriptModule):
                    twin = self._written(child, f"{path}.{name}".lstrip("."))
                    self.places.append((parent, name, child, twin))
        self.states = [ModelState(twin) for _, twin in self.compiled]
        self.patched = _patched(model)

    @property
    def any(self) -> bool:
        """Whether something is recorded in the place of something else."""
        return bool(self.compiled or self.patched)

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        kind = torch.jit.ScriptFunction
        compiled = vars(kind)["__call__"]
        try:
            # a property in C: the author's function is called directly, with no frame of ours between
            kind.__call__ = property(operator.attrgetter("_torchdynamo_inline"))
            for script, twin in self.compiled:
                twin.training = script.training
            for parent, name, _, twin in self.places:
                parent._modules[name] = twin
            for module, _, own in self.patched:
                module.__class__ = own
            yield
        finally:
            kind.__call__ = compiled
            for parent, name, script, _ in self.places:
                parent._modules[name] = script
            for module, cls, _ in self.patched:
                module.__class__ = cls
            for state in self.states:
                state.restore()

    def _written(self, script: torch.jit.ScriptModule, path: str) -> nn.Module:
        """A module of the author's class with all that the compiled one has."""
        known = script.__dict__.get("_concrete_type")
        cls = known.py_class if known is not None else None
        if cls is None or cls.__module__ == "torch.jit._trace":
            raise NoPython(f"{path} is a module that torch.jit {_origin(script)}: "
                           "only its graph is left of it, no Python")
        twin = cls.__new__(cls)
        nn.Module.__init__(twin)
        self.compiled.append((script, twin))
        tensors = {*script._parameters.keys(), *script._buffers.keys()}
        vars(twin).update(known.get_constants())
        vars(twin).update({name: script._c.getattr(name) for name in known.get_attributes() if name not in tensors})
        for name, parameter in script._parameters.items():
            twin.register_parameter(name, parameter)
        kept = script.state_dict(keep_vars=True)
        for name, buffer in script._buffers.items():
            twin.register_buffer(name, buffer, persistent=name in kept)
        for name, child in script._modules.items():
            twin.add_module(name, self._written(child, f"{path}.{name}"))
        return twin


def _patched(model: nn.Module) -> list[tuple[nn.Module, type, type]]:
    """Modules of torch's with a forward of their own, and instances of one class that differ in their forward hooks:
    the class that each gets."""
    found: list[tuple[nn.Module, type, type]] = []
    made: dict[tuple[type, Any], type] = {}
    mixed = _differently_hooked(model)
    for module in modules_of(model):
        cls, forward, hooks = type(module), vars(module).get("forward"), _hooks(module)
        is_torch = cls.__module__.partition(".")[0] == "torch"
        if isinstance(module, torch.jit.ScriptModule):
            continue
        if is_torch and forward is not None and _is_author(_function(forward)):
            key, name, function = _key(forward), f"Patched{cls.__name__}", _function(forward)
        elif cls in mixed and hooks:
            key, name, function = hooks, f"Hooked{cls.__name__}", cls
        else:
            continue
        if (cls, key) not in made:
            number = sum(base is cls for base, _ in made) + 1
            made[cls, key] = type(f"{name}{number if number > 1 else ''}", (cls,),
                                  {"__module__": getattr(function, "__module__", None) or "__main__"})
        found.append((module, cls, made[cls, key]))
    return found


def _function(value: Any) -> Any:
    while isinstance(value, functools.partial):
        value = value.func
    return getattr(value, "__func__", value)


def _is_author(function: Any) -> bool:
    """What torch.compile gives back has a forward that torch itself has set."""
    code = getattr(function, "__code__", None)
    return code is not None and role_of(code, None, frozenset()) == AUTHOR


def _key(value: Any) -> Any:
    """What functions that do the same have in common: their code, and the constants in their cells."""
    function = _function(value)
    cells = (_content(cell) for cell in getattr(function, "__closure__", None) or ())
    constants = tuple(each for each in cells if isinstance(each, (bool, int, float, str)))
    return getattr(function, "__code__", id(function)), constants


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return None


def _hooks(module: nn.Module) -> tuple[Any, ...]:
    return tuple(_key(hook) for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values()))


def _differently_hooked(model: nn.Module) -> set[type]:
    """Classes of the author's; what torch does around a module of its own is written for that module alone."""
    seen: dict[type, set[Any]] = {}
    for module in modules_of(model):
        if type(module).__module__.partition(".")[0] != "torch":
            seen.setdefault(type(module), set()).add(_hooks(module))
    return {cls for cls, kinds in seen.items() if len(kinds) > 1}


def _origin(script: torch.jit.ScriptModule) -> str:
    """How it was made and from which line, as far as its graph knows."""
    traced = "Traced" in type(script).__name__
    with contextlib.suppress(AttributeError, RuntimeError):
        for node in script.inlined_graph.nodes():
            for line in node.sourceRange().splitlines():
                found = re.match(r'(?:\s*File "(.+)", line (\d+)|(.+)\((\d+)\): )', line)
                if found and "/torch/" not in line:
                    file, number = (found[1], found[2]) if found[1] else (found[3], found[4])
                    return f"{'traced' if traced else 'loaded'} ({file}:{number})"
    return "traced" if traced else "loaded"
