"""Functions and modules that torch.jit compiled, run as their authors wrote them: compiled code can't be watched."""

from __future__ import annotations

import contextlib
import operator
import re
from typing import Any, Iterator

import torch
from torch import nn

from ._state import ModelState


class NoPython(RuntimeError):
    """A compiled module of which only a graph is left."""


class Scripts:
    """The compiled parts of a model, and Python modules that take their places while the model is recorded.

    torch.jit.script forgets the module that it was given, but not its class, nor what its methods read of it. The
    stand-ins share the compiled modules' tensors; whether they compute the same is for the referee to say.
    """

    def __init__(self, model: nn.Module):
        self.compiled: list[tuple[torch.jit.ScriptModule, nn.Module]] = []
        self.places: list[tuple[nn.Module, str, nn.Module, nn.Module]] = []
        self.model = self._written(model, "the model") if isinstance(model, torch.jit.ScriptModule) else model
        for path, parent in model.named_modules():
            if isinstance(parent, torch.jit.ScriptModule):
                continue  # its children are in its stand-in
            for name, child in parent._modules.items():
                if isinstance(child, torch.jit.ScriptModule):
                    twin = self._written(child, f"{path}.{name}".lstrip("."))
                    self.places.append((parent, name, child, twin))
        self.states = [ModelState(twin) for _, twin in self.compiled]

    @contextlib.contextmanager
    def as_written(self) -> Iterator[None]:
        kind = torch.jit.ScriptFunction
        compiled = vars(kind)["__call__"]
        # a property in C: the author's function is called directly, with no frame of ours between
        kind.__call__ = property(operator.attrgetter("_torchdynamo_inline"))
        for script, twin in self.compiled:
            twin.training = script.training
        for parent, name, _, twin in self.places:
            parent._modules[name] = twin
        try:
            yield
        finally:
            kind.__call__ = compiled
            for parent, name, script, _ in self.places:
                parent._modules[name] = script
            for state in self.states:
                state.restore()

    def _written(self, script: torch.jit.ScriptModule, path: str) -> nn.Module:
        """A module of the author's class with all that the compiled one has."""
        known = script.__dict__.get("_concrete_type")
        cls = known.py_class if known is not None else None
        if cls is None or cls.__module__ == "torch.jit._trace":
            raise NoPython(f"{path} is a module that torch.jit {_origin(script)}: only its graph is left of it, no Python")
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
