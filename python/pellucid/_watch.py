"""One run of a model, watched: output shapes, multiply-adds, and which module feeds which.

Module.__call__ is replaced to see the modules, a dispatch mode sees what they compute. Both are gone when the run ends;
the generator of random numbers is put back, and no gradients are made.

A dispatch mode makes every operation dearer by some 50 microseconds, so it is off while a layer of torch's own runs
whose multiply-adds follow from the shapes: of all convolutions and products with a weight, which are most of what runs.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_flop

from ._check import named_modules_of, parameters_of

# torch's own table has no row for the processor's kernel of attention.
FORMULAS = {**flop_registry, torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: sdpa_flop}
MANY = 24  # modules that one tensor may come from; beyond, the first ones are kept
PLAIN = {torch.Tensor, nn.Parameter}
NO_NESTS = {bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.layout, torch.memory_format}
_one_at_a_time = threading.RLock()


class Seen:
    """What a run showed about a module."""

    __slots__ = ("output", "flops")

    def __init__(self) -> None:
        self.output: list[int] | None = None
        self.flops = 0.0


class Call:
    __slots__ = ("path", "is_leaf", "flops")

    def __init__(self, path: str):
        self.path, self.is_leaf, self.flops = path, True, 0.0


class Watch:
    """Where tensors come from. A tensor is known by its id as long as it lives."""

    def __init__(self, model: nn.Module):
        self.paths: dict[nn.Module, str] = {}
        for path, module in named_modules_of(model):
            self.paths.setdefault(module, path)
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
            if source != to and not source.startswith(to + "."):
                self.flow.setdefault((source, to), list(tensor.shape))

    def run(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any],
            original: Callable[..., Any]) -> Any:
        """Instead of module(*args, **kwargs)."""
        if self.calls:
            self.calls[-1].is_leaf = False
        call = Call(self.paths[module])
        self.calls.append(call)
        try:
            known = known_cost(module, args, kwargs)
            if known is None:
                output = original(module, *args, **kwargs)
            else:
                with torch._C._DisableTorchDispatch():
                    output = original(module, *args, **kwargs)
                call.flops += known(module, args[0], output)
        finally:
            self.calls.pop()
        self.note(call, args, kwargs, output)
        return output

    def note(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        made = tensors(output)
        row = self.seen.setdefault(call.path, Seen())
        row.flops += call.flops
        if self.calls:
            self.calls[-1].flops += call.flops
        if made and row.output is None:
            row.output = list(made[0].shape)
        if call.is_leaf and call.path:
            for tensor in tensors((args, kwargs)):
                self.connect(tensor, call.path)
            for tensor in made:
                self.set_source(tensor, (call.path,))
        elif call.path:
            for tensor in made:
                self.pass_through(tensor, call.path)

    def pass_through(self, tensor: torch.Tensor, path: str) -> None:
        """What a module was given may be in what it gives, as residual streams are: it went through, not around."""
        source = self.source_of(tensor)
        inside = tuple(s for s in source if s.startswith(path + "."))
        if len(inside) < len(source):
            self.connect(tensor, path)
            self.set_source(tensor, (*inside, path))


# ---- layers whose cost is known ----


def _by_output(module: nn.Module, given: torch.Tensor, output: torch.Tensor) -> float:
    weight = module.weight
    return output.numel() * weight.numel() / weight.shape[0] if weight.shape[0] else 0.0


def _by_input(module: nn.Module, given: torch.Tensor, output: torch.Tensor) -> float:
    weight = module.weight
    return given.numel() * weight.numel() / weight.shape[0] if weight.shape[0] else 0.0


def _by_steps(module: nn.Module, given: torch.Tensor, output: Any) -> float:
    """Recurrent layers: every matrix once for each step of each sequence. Their operators have no formula in torch."""
    steps = given.numel() / given.shape[-1] if given.numel() else 0.0
    return float(steps * sum(weight.numel() for weight in parameters_of(module) if weight.dim() == 2))


def _nothing(module: nn.Module, given: torch.Tensor, output: Any) -> float:
    return 0.0


KNOWN: dict[type, Callable[[Any, torch.Tensor, Any], float]] = {
    nn.Linear: _by_output, nn.Conv1d: _by_output, nn.Conv2d: _by_output, nn.Conv3d: _by_output,
    nn.ConvTranspose1d: _by_input, nn.ConvTranspose2d: _by_input, nn.ConvTranspose3d: _by_input,
    nn.LSTM: _by_steps, nn.GRU: _by_steps, nn.RNN: _by_steps,
    **{layer: _nothing for layer in (
        nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm, nn.GroupNorm, nn.Embedding,
        nn.Dropout, nn.Identity, nn.ReLU, nn.ReLU6, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Tanh, nn.Softmax,
        nn.Hardswish, nn.LeakyReLU, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.Flatten)},
}


def known_cost(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any, torch.Tensor, Any],
               float] | None:
    """None if only the operations tell. Hooks may compute anything, and tensors of other classes are seen by those."""
    known = KNOWN.get(type(module))
    if (known is None or kwargs or len(args) != 1 or type(args[0]) not in PLAIN or module._forward_hooks
            or module._forward_pre_hooks or module._compiled_call_impl is not None):
        return None
    for weight in module._parameters.values():
        if weight is not None and type(weight) not in PLAIN:
            return None
    return known


class Operations(TorchDispatchMode):
    def __init__(self, watch: Watch):
        super().__init__()
        self.watch = watch
        self.whole: set[Any] = set()  # operators that are not made of others

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # the guard that this would put around every call costs more than the call
        return False

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        count = FORMULAS.get(function._overloadpacket)
        if count is None and function not in self.whole:
            with self:  # what has no formula may be made of parts that do; they are watched as well
                made = function.decompose(*args, **kwargs)
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


def multiply_adds(count: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> float:
    """By torch's own formulas, which want shapes; the general way to turn arguments into shapes is slow."""
    formula = getattr(count, "__wrapped__", None)
    if formula is None or not isinstance(output, torch.Tensor) or any(isinstance(a, (list, tuple)) and a and
                                                                      isinstance(a[0], torch.Tensor) for a in args):
        return float(count(*args, **kwargs, out_val=output) / 2)
    shapes = [a.shape if isinstance(a, torch.Tensor) else a for a in args]
    named = {k: v.shape if isinstance(v, torch.Tensor) else v for k, v in kwargs.items()}
    return float(formula(*shapes, out_shape=output.shape, **named) / 2)


def tensors(value: Any) -> list[torch.Tensor]:
    """All tensors in a nest of containers and plain objects such as caches."""
    if type(value) in PLAIN:
        return [value]
    found: list[torch.Tensor] = []
    _collect(value, 0, found)
    return found


def _collect(value: Any, depth: int, found: list[torch.Tensor]) -> None:
    kind = type(value)
    if kind in PLAIN or isinstance(value, torch.Tensor):
        found.append(value)
    elif depth > 6 or value is None or kind in NO_NESTS:
        return
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, depth + 1, found)
    elif isinstance(value, Mapping):
        for item in value.values():
            _collect(item, depth + 1, found)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            _collect(getattr(value, name, None), depth + 1, found)


def watch(model: nn.Module, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Watch:
    args, kwargs = tuple(args), dict(kwargs)
    seen = Watch(model)
    for tensor in tensors((args, kwargs)):
        seen.set_source(tensor, ("input",))
    thread = threading.get_ident()

    def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if module in seen.paths and threading.get_ident() == thread:
            return seen.run(module, args, kwargs, original)
        return original(module, *args, **kwargs)

    with _one_at_a_time:
        original = nn.Module.__call__
        fast_path = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)  # one operator for a whole layer, which has no formula
        nn.Module.__call__ = call
        try:
            with torch.random.fork_rng(devices=[]), torch.no_grad(), Operations(seen):
                output = model(*args, **kwargs)
        finally:
            nn.Module.__call__ = original
            torch.backends.mha.set_fastpath_enabled(fast_path)
    for tensor in tensors(output):
        seen.connect(tensor, "output")
    return seen
