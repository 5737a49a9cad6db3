"""One run of a model, watched: output shapes, multiply-adds, and which module feeds which.

Hooks see the modules, a dispatch mode sees what they compute. Both are gone when the run ends; the generator of random
numbers is put back, and no gradients are made.
"""

from __future__ import annotations

import weakref
from typing import Any, Iterable, Iterator, Mapping

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

MANY = 24  # modules that one tensor may come from; beyond, the first ones are kept


class Seen:
    """What a run told about a module."""

    __slots__ = ("output", "flops")

    def __init__(self) -> None:
        self.output: list[int] | None = None
        self.flops = 0.0


class Watch:
    """Where tensors come from. A tensor is known by its id as long as it lives."""

    def __init__(self, paths: dict[torch.nn.Module, str]):
        self.paths = paths
        self.seen: dict[str, Seen] = {}
        self.flow: dict[tuple[str, str], list[int]] = {}
        self.calls: list[Call] = []
        self.sources: dict[int, tuple[Any, tuple[str, ...]]] = {}

    def source_of(self, tensor: torch.Tensor) -> tuple[str, ...]:
        found = self.sources.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else ()

    def set_source(self, tensor: torch.Tensor, source: tuple[str, ...]) -> None:
        if source:
            self.sources[id(tensor)] = (weakref.ref(tensor), source)

    def connect(self, tensor: torch.Tensor, to: str) -> None:
        for source in self.source_of(tensor):
            if source != to:
                self.flow.setdefault((source, to), list(tensor.shape))

    def enter(self, module: torch.nn.Module, args: tuple, kwargs: dict) -> None:
        if self.calls:
            self.calls[-1].is_leaf = False
        self.calls.append(Call(self.paths[module], [*tensors(args), *tensors(kwargs)]))

    def leave(self, module: torch.nn.Module, args: tuple, kwargs: dict, output: Any) -> None:
        call = self.calls.pop()
        made = list(tensors(output))
        row = self.seen.setdefault(call.path, Seen())
        row.flops += call.flops
        if self.calls:
            self.calls[-1].flops += call.flops
        if made and row.output is None:
            row.output = list(made[0].shape)
        if call.is_leaf and call.path:
            for tensor in call.inputs:
                self.connect(tensor, call.path)
            for tensor in made:
                self.set_source(tensor, (call.path,))


class Call:
    __slots__ = ("path", "inputs", "is_leaf", "flops")

    def __init__(self, path: str, inputs: list[torch.Tensor]):
        self.path, self.inputs, self.is_leaf, self.flops = path, inputs, True, 0.0


class Operations(TorchDispatchMode):
    def __init__(self, watch: Watch):
        super().__init__()
        self.watch = watch
        self.whole: set[Any] = set()  # operators that are not made of others

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # the guard that this would put around every call costs more than the call
        return False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        count = flop_registry.get(function._overloadpacket)
        if count is None and function not in self.whole:
            made = function.decompose(*args, **kwargs)  # what has no formula may be made of parts that do
            if made is not NotImplemented:
                return made
            self.whole.add(function)
        output = function(*args, **kwargs)
        watch = self.watch
        if count is not None and watch.calls:
            watch.calls[-1].flops += multiply_adds(count, args, kwargs, output)
        found: tuple[str, ...] = ()
        for tensor in tensors(args):
            source = watch.source_of(tensor)
            if source and source != found:
                found = tuple(dict.fromkeys(found + source))[:MANY] if found else source
        if found:
            for tensor in tensors(output):
                watch.set_source(tensor, found)
        return output


def multiply_adds(count: Any, args: tuple, kwargs: dict, output: Any) -> float:
    """By torch's own formulas, which want shapes; the general way to turn arguments into shapes is slow."""
    formula = getattr(count, "__wrapped__", None)
    if formula is None or not isinstance(output, torch.Tensor) or any(isinstance(a, (list, tuple)) and a and
                                                                      isinstance(a[0], torch.Tensor) for a in args):
        return count(*args, **kwargs, out_val=output) / 2
    shapes = [a.shape if isinstance(a, torch.Tensor) else a for a in args]
    named = {k: v.shape if isinstance(v, torch.Tensor) else v for k, v in kwargs.items()}
    return formula(*shapes, out_shape=output.shape, **named) / 2


def tensors(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """All tensors in a nest of containers and plain objects such as caches."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth > 6 or value is None or isinstance(value, (str, bytes, int, float)):
        return
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item, depth + 1)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from tensors(getattr(value, name, None), depth + 1)


def watch(model: torch.nn.Module, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Watch:
    args, kwargs = tuple(args), dict(kwargs)
    paths: dict[torch.nn.Module, str] = {}
    for path, module in model.named_modules():
        paths.setdefault(module, path)
    seen = Watch(paths)
    for tensor in tensors((args, kwargs)):
        seen.set_source(tensor, ("input",))
    handles = []
    try:
        for module in paths:
            handles.append(module.register_forward_pre_hook(seen.enter, with_kwargs=True))
            handles.append(module.register_forward_hook(seen.leave, with_kwargs=True))
        with torch.random.fork_rng(devices=[]), torch.no_grad(), Operations(seen):
            output = model(*args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
    for tensor in tensors(output):
        seen.connect(tensor, "output")
    return seen
