"""Models too large for the machine: built without numbers, recorded on the meta device.

Tensors on the meta device have dtype, shape and strides, and no elements. What is made of nothing (positions, masks,
frequencies) is computed for real and small, and becomes a constant with known bits where it meets a tensor without
elements: `values_of` has them. A tensor whose elements were lost on the way is known to nobody, and is refused where it
is read (_structure.py).
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from typing import Any, Iterator

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.weak import WeakIdKeyDictionary

from ._check import named_buffers_of, named_parameters_of

SMALL = 1 << 24  # elements that a constant may have; larger ones have no values
OF_LAYERS = os.path.join(os.path.dirname(torch.__file__), "nn", "modules") + os.sep
FROM_DATA = {torch.tensor, torch.as_tensor, torch.asarray, torch.Tensor.new_tensor}
_known = WeakIdKeyDictionary()  # tensor on the meta device -> its values
_twins = WeakIdKeyDictionary()  # tensor with values -> (its version, the one on the meta device)
_computed = WeakIdKeyDictionary()  # tensor on the meta device that a call made of sizes alone -> (its version, values)


class NoValues(RuntimeError):
    """Something that only elements can answer."""


def values_of(t: torch.Tensor) -> torch.Tensor | None:
    """What the elements are: of a constant without them those that it was made with; None if nobody knows."""
    return t if not t.is_meta else _known.get(t)


def twin_of(t: torch.Tensor) -> torch.Tensor:
    """A constant on the meta device."""
    found = _twins.get(t)
    if found is None or found[0] != t._version:
        with torch._C.DisableTorchFunction(), _disable_current_modes():  # no log has it as a call
            made = t.detach().to("meta")
            if t.numel() <= SMALL:
                _known[made] = t.detach().clone()
        found = _twins[t] = t._version, made
    return found[1]

def _factories() -> set[Any]:
    """Functions that make a tensor of sizes alone and take a device."""
    from torch.utils._device import _device_constructors
    return set(_device_constructors()) - FROM_DATA


class OnMeta(TorchFunctionMode):
    """Calls of torch that have a tensor without elements among their arguments get the others without them, too.
    building: what torch's own layers make has no elements from the start."""

    def __init__(self, building: bool = False) -> None:
        super().__init__()
        self.building, self.factories = building, _factories()

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if function in self.factories:
            return self._made(function, args, kwargs)
        if function in FROM_DATA:
            return self._with_data(function, args, kwargs)
        if function in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            args = (args[0], _index(args[1]), *args[2:])
        tensors = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if any(t.is_meta for t in tensors) and not all(t.is_meta for t in tensors):
            self._refuse_writes(function, args, kwargs)
            args, kwargs = pytree.tree_map(lambda v: twin_of(v) if isinstance(v, torch.Tensor) and not v.is_meta else v,
                                           (args, kwargs))
        if tensors and "empty" not in getattr(function, "__name__", "") and all(_has_answer(t) for t in tensors):
            return _with_answers(function, args, kwargs)
        return function(*args, **kwargs)

    def _made(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == "meta":
            is_known = not self.building and "empty" not in function.__name__
            return (_with_answers if is_known else _called)(function, args, kwargs)
        if self.building and sys._getframe(2).f_code.co_filename.startswith(OF_LAYERS):
            return function(*args, **{**kwargs, "device": "meta"})
        try:
            empty = function(*args, **{**kwargs, "device": "meta"})
        except (RuntimeError, TypeError, NotImplementedError):  # has no such kernel, or takes no device
            return function(*args, **kwargs)
        is_small = isinstance(empty, torch.Tensor) and empty.numel() <= SMALL
        return function(*args, **kwargs) if is_small else empty

    def _with_data(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """On the meta device torch forgets the data."""
        source = args[1] if function is torch.Tensor.new_tensor and len(args) > 1 else args[0]
        if isinstance(source, torch.Tensor) and source.is_meta:
            return function(*args, **kwargs)
        device = kwargs.get("device")
        is_meta = torch.device(device).type == "meta" if device is not None else (
            function is torch.Tensor.new_tensor and args[0].is_meta)
        if not is_meta:
            return function(*args, **kwargs)
        if function is torch.Tensor.new_tensor:
            kwargs = {"dtype": args[0].dtype, **kwargs}
            args, function = args[1:], torch.tensor
        return twin_of(function(*args, **{**kwargs, "device": "cpu"}))

    @staticmethod
    def _refuse_writes(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        name = getattr(function, "__name__", "")
        is_write = name in ("__setitem__", "__set__") or (name.endswith("_") and not name.endswith("__")) or (
            name.startswith("__i") and name != "__invert__") or kwargs.get("out") is not None
        target = kwargs.get("out", args[0] if args else None)
        if is_write and isinstance(target, torch.Tensor) and not target.is_meta:
            raise NoValues(f"{name} writes what is not computed on the meta device into a tensor that has values")




def _answer_of(t: torch.Tensor) -> torch.Tensor | None:
    """The elements of what is made of sizes alone: of a constant, or of what calls made of constants."""
    found = _computed.get(t)
    return found[1] if found is not None and found[0] == t._version else values_of(t)


def _has_answer(t: torch.Tensor) -> bool:
    return t.is_meta and _answer_of(t) is not None


def _called(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


def _with_elements(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        found = _answer_of(value)
        return value if found is None else found.clone()
    return torch.device("cpu") if value == "meta" or value == torch.device("meta") else value


def _with_answers(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call on the meta device, where each of its tensors is made of sizes alone: torch.arange(n, device=x.device).
    What it gives is remembered with its elements. Where only these can tell what it gives, they do: positions may be
    asked whether they begin anew. A draw of random numbers is none of sizes alone."""
    def elements() -> Any:
        with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
            given, named = pytree.tree_map(_with_elements, (args, kwargs))
            before = torch.random.get_rng_state()
            found = function(*given, **named)
            if not torch.equal(before, torch.random.get_rng_state()):
                torch.random.set_rng_state(before)
                raise NoValues("random numbers")
            return found

    try:
        result = function(*args, **kwargs)
    except (RuntimeError, NotImplementedError):
        return elements()
    made = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.is_meta]
    if made and not any(t is given for t in made for given in pytree.tree_leaves((args, kwargs))) and all(
            t.numel() <= SMALL for t in made):
        with contextlib.suppress(Exception):
            found = [t for t in pytree.tree_leaves(elements()) if isinstance(t, torch.Tensor)]
            for t, values in zip(made, found, strict=True):
                if not values.is_meta and (t.shape, t.dtype) == (values.shape, values.dtype):
                    _computed[t] = t._version, values.detach()
    return result


def _index(index: Any) -> Any:
    """Lists of numbers as tensors: torch would make them of the kind that has no elements."""
    if isinstance(index, list) and index and all(isinstance(n, (bool, int)) for n in index):
        return torch.tensor(index)
    return tuple(map(_index, index)) if type(index) is tuple else index


@contextlib.contextmanager
def without_weights() -> Iterator[None]:
    """Models that are built inside have parameters without numbers, on the meta device, and take next to no memory:

        with pellucid.without_weights():
            model = Net(config)
        pellucid.skeleton(model, inputs, device="meta")

    What a constructor computes beside its parameters has its values, so that a skeleton can write it."""
    with OnMeta(building=True):
        yield


def is_building() -> bool:
    """Whether this is inside of `without_weights`."""
    modes = torch.overrides._get_current_function_mode_stack()
    return any(isinstance(mode, OnMeta) and mode.building for mode in modes)


def hollowed(model: torch.nn.Module) -> torch.nn.Module:
    """The model without the numbers that a state_dict brings; a copy, where it had any."""
    wanted = [*named_parameters_of(model), *named_buffers_of(model)]
    persistent = set(model.state_dict(keep_vars=True))
    memo: dict[int, Any] = {}
    for name, t in wanted:
        if not t.is_meta and (isinstance(t, torch.nn.Parameter) or name in persistent):
            made = t.detach().to("meta")
            memo[id(t)] = torch.nn.Parameter(made, t.requires_grad) if isinstance(t, torch.nn.Parameter) else made
    return copy.deepcopy(model, memo) if memo else model
