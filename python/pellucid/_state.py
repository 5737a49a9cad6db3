"""What a run may leave behind, kept and put back: a recording must not be noticed afterwards."""

from __future__ import annotations

import contextlib
import functools
import mmap
import operator
import os
import random
import sys
import tempfile
from collections import OrderedDict, defaultdict, deque
from typing import Any, Callable

import torch

from ._check import is_heavy, modules_of, named_parameters_of

MAX_OBJECTS = 200_000  # beyond, a model's attributes hold a data set; that is not state of the model
COMPILERS = ("torch._dynamo", "torch.nn.attention.flex_attention")
CONTAINERS = (dict, OrderedDict, defaultdict, list, set, deque)


def compiled_as_written(model: torch.nn.Module) -> contextlib.AbstractContextManager[Any]:
    """What torch.compile was given runs as its author wrote it: the compiler may round otherwise, and compiling is
    nothing to watch. Some of torch's functions compile by themselves: flex_attention."""
    is_compiled = any("_orig_mod" in module._modules for module in modules_of(model))
    if is_compiled or any(name in sys.modules for name in COMPILERS):
        stance: contextlib.AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
        return stance
    return contextlib.nullcontext()


class RandomState:
    """Every generator that a model usually draws from."""

    def __init__(self) -> None:
        self.torch = torch.get_rng_state()
        has_cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
        self.cuda = torch.cuda.get_rng_state_all() if has_cuda else None
        self.python = random.getstate()
        numpy = sys.modules.get("numpy")
        self.numpy = numpy.random.get_state() if numpy is not None else None

    def moved(self) -> bool:
        """Whether somebody has drawn since."""
        if self.python != random.getstate() or not torch.equal(self.torch, torch.get_rng_state()):
            return True
        return self.numpy is not None and _bytes(self.numpy) != _bytes(sys.modules["numpy"].random.get_state())

    def restore(self) -> None:
        torch.set_rng_state(self.torch)
        if self.cuda is not None:
            torch.cuda.set_rng_state_all(self.cuda)
        random.setstate(self.python)
        if self.numpy is not None:
            sys.modules["numpy"].random.set_state(self.numpy)


def _bytes(state: Any) -> list[Any]:
    """numpy's state, with every array as its bytes."""
    return [part.tobytes() if hasattr(part, "tobytes") else part for part in state]


def copies(tensors: list[torch.Tensor]) -> list[torch.Tensor] | OnDisk:
    """Of all, by number: in memory, or on a disk where they are heavy."""
    if is_heavy(tensors) and all(OnDisk.takes(t) for t in tensors):
        with contextlib.suppress(OSError):  # no room there
            return OnDisk(tensors)
    return [t.detach().clone() for t in tensors]


class OnDisk:
    """Copies of heavy tensors in a file without a name: in memory they would be as much as the model. One at a time is
    looked at; what it took of memory is given back when the next one is asked for."""

    def __init__(self, tensors: list[torch.Tensor]):
        self.rows: list[tuple[int, torch.Tensor]] = []  # where it begins; one of its form
        with tempfile.TemporaryFile(prefix="pellucid-") as file:
            for t in tensors:
                self.rows.append((file.tell(), t.detach().to("meta")))
                file.write(t.detach().contiguous().flatten().view(torch.uint8).numpy().data)
                file.seek(-file.tell() % mmap.PAGESIZE, os.SEEK_CUR)
            file.truncate(file.tell())
            file.flush()
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)

    @staticmethod
    def takes(t: torch.Tensor) -> bool:
        plain = t.layout == torch.strided and not (t.is_quantized or t.is_nested or t.is_conj() or t.is_neg())
        return plain and t.device.type == "cpu"

    def __getitem__(self, i: int) -> torch.Tensor:
        if hasattr(self.map, "madvise"):  # not on Windows
            self.map.madvise(mmap.MADV_DONTNEED)
        start, form = self.rows[i]
        if not form.numel():
            return torch.empty(form.shape, dtype=form.dtype)
        return torch.frombuffer(self.map, dtype=form.dtype, count=form.numel(), offset=start).view(form.shape)


def _caches_of(model: torch.nn.Module) -> list[Any]:
    """functools.lru_cache on methods of the model's classes and on functions of their files."""
    kinds = {kind for part in modules_of(model) for kind in type(part).__mro__
             if kind.__module__.partition(".")[0] not in ("torch", "builtins")}
    spaces: list[Any] = [vars(kind) for kind in kinds]
    spaces += [vars(sys.modules[name]) for name in {kind.__module__ for kind in kinds} if name in sys.modules]
    found = {id(value): value for space in spaces for value in list(space.values())
             if isinstance(value, functools._lru_cache_wrapper)}
    return list(found.values())


class ModelState:
    """Attributes, containers and tensors of a model and of the plain objects that it holds.

    Objects are put back in place, so that other references to them (a hook's closure, a second name) still lead
    to the same ones. Tensors are copied only if they are buffers or other attributes; parameters are most of the memory
    and are left alone by most forwards: they are copied once, for the first run, and compared after those runs that
    may change them.
    """

    def __init__(self, model: torch.nn.Module):
        self.attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.containers: list[tuple[Any, Any]] = []
        self.tensors: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.parameters: list[tuple[torch.nn.Parameter, torch.Tensor | None, bool]] = []
        self._seen: set[int] = set()
        self._keep: list[Any] = []  # ids stay unique only while their objects live
        for module in modules_of(model):
            self._visit(module)
        del self._seen
        self._twins = _twins([row[0] for row in (*self.tensors, *self.parameters)])
        self.writes_twins = False  # a run has changed one of them, and with it the other
        self.caches = [(cache, cache.cache_info().currsize) for cache in _caches_of(model)]
        self._values: list[torch.Tensor] | OnDisk | None = None  # of the parameters, from the first run on
        self._is_run = self._in_training = self._is_stirred = False
        self._moves_parameters = True  # a run does, for all that is known
        self._was_moved = False  # by a run in eval mode

    def _visit(self, root: Any) -> None:
        stack = [root]
        while stack and len(self._seen) < MAX_OBJECTS:
            value = stack.pop()
            if id(value) in self._seen or isinstance(value, (type(None), bool, int, float, str, bytes, type)):
                continue
            self._seen.add(id(value))
            self._keep.append(value)
            if isinstance(value, torch.nn.Parameter):
                self.parameters.append((value, value.grad, value.requires_grad))
            elif isinstance(value, torch.Tensor):
                if value.is_leaf and not value.is_meta:
                    self.tensors.append((value, value.detach().clone()))
            elif type(value) in CONTAINERS:
                copied = type(value)(value) if not isinstance(value, defaultdict) else dict(value)
                self.containers.append((value, copied))
                stack.extend(copied.values() if isinstance(copied, dict) else copied)
            elif isinstance(value, tuple):
                stack.extend(tuple.__iter__(value))  # authors may give a tuple another idea of its length
            elif _has_state(value):
                copied = dict(value.__dict__)
                self.attributes.append((value.__dict__, copied))
                stack.extend(copied.values())

    def touched(self) -> bool:
        """Whether a run has left something else in attributes or containers; what it does to tensors doesn't count."""
        return any(not _equal(live, kept) for live, kept in (*self.attributes, *self.containers))

    def left_number(self) -> str:
        """Where a run has left another number or tensor than there was: it may be one of its inputs' sizes. Empty if it
        has not. Hooks, flags and texts are what a model sets up."""
        for live, kept in (*self.attributes, *self.containers):
            items = live.items() if isinstance(live, dict) else enumerate(live)
            old = kept if isinstance(kept, dict) else dict(enumerate(kept))
            for name, value in list(items):
                if not _equal(value, old.get(name)) and _is_number(value):
                    return str(name)
        return ""

    def before_run(self, training: bool) -> None:
        """Until the next `restore` parameters may change. In train mode always: weights may be normalised in place;
        else while that may be so, as for a momentum encoder. What is done to parameter.data is not counted by torch."""
        self._is_stirred = True
        if not self._is_run and (training or self._moves_parameters):
            self._is_run, self._in_training = True, training
            if self._values is None:
                self._values = copies([p for p, _, _ in self.parameters])

    def kept_parameters(self, model: torch.nn.Module) -> Callable[[str], torch.Tensor | None]:
        """The parameters of the model, or of a part of it, as they were before the first run, by name."""
        values = self._values
        places = {id(row[0]): i for i, row in enumerate(self.parameters)} if values is not None else {}
        found = {name: places[id(p)] for name, p in named_parameters_of(model, each=True) if id(p) in places}
        return lambda name: values[found[name]] if values is not None and name in found else None

    def settle(self) -> None:
        """`restore`, if a run was announced since the last one."""
        if self._is_stirred:
            self.restore()

    def restore(self) -> None:
        self._is_stirred = False
        for cache, size in self.caches:
            if cache.cache_info().currsize != size:
                cache.cache_clear()  # what it answers by itself, nobody sees
        for live, kept in self.attributes:
            if not _same_items(live, kept):
                live.clear()
                live.update(kept)
        for live, kept in self.containers:
            if isinstance(live, dict):
                if not _same_items(live, kept):
                    live.clear()
                    live.update(kept)
            elif isinstance(live, list):
                live[:] = kept
            else:
                live.clear()
                live.update(kept) if isinstance(live, set) else live.extend(kept)
        with torch.no_grad():
            for live, kept in self.tensors:
                # Not by version counters: batch norm's kernel doesn't count what it does to running statistics.
                if live.shape != kept.shape:
                    live.resize_(kept.shape)
                if not _same(live, kept):
                    self.writes_twins |= id(live) in self._twins
                    live.copy_(kept)
                if live.grad_fn is not None:  # what was written into it had a history
                    live.detach_()
        self._restore_parameters()

    def _restore_parameters(self) -> None:
        moved = False
        for i, (parameter, grad, requires_grad) in enumerate(self.parameters):
            if (self._is_run and self._values is not None and not parameter.is_meta
                and not torch.equal(parameter, self._values[i])):
                moved = True
                self.writes_twins |= id(parameter) in self._twins
                with torch.no_grad():
                    parameter.copy_(self._values[i])
            parameter.grad = grad
            parameter.requires_grad_(requires_grad)
        if self._is_run and not self._in_training:
            # A run that raised shows nothing: one that has moved them is enough.
            self._was_moved = self._moves_parameters = self._was_moved or moved
        self._is_run = False


def _twins(tensors: list[torch.Tensor]) -> set[int]:
    """Those that lie in one memory, by identity: a buffer and a view of it. A file has each of them apart."""
    places: dict[int, list[int]] = {}
    for t in tensors:
        if t.layout == torch.strided and not t.is_meta and t.numel():
            places.setdefault(t.untyped_storage().data_ptr(), []).append(id(t))
    return {one for row in places.values() if len(row) > 1 for one in row}


def _has_state(value: Any) -> bool:
    """Modules and plain objects of the author's; not torch's machinery, files, locks and the like."""
    if isinstance(value, torch.nn.Module):
        return True
    if not isinstance(getattr(value, "__dict__", None), dict) or callable(value):
        return False
    root = type(value).__module__.partition(".")[0]
    return root != "torch" and root not in sys.stdlib_module_names or type(value).__module__ == "__main__"


def _is_number(value: Any, depth: int = 0) -> bool:
    if isinstance(value, (list, tuple, set)) and depth < 3:
        return any(_is_number(item, depth + 1) for item in value)
    if isinstance(value, dict) and depth < 3:
        return any(_is_number(item, depth + 1) for item in value.values())
    return isinstance(value, (int, float, torch.Tensor)) and not isinstance(value, (bool, torch.nn.Parameter))


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.layout != torch.strided:  # torch compares no others
        one, other = one.to_dense(), other.to_dense()
    return bool(torch.equal(one, other))


def _same_items(live: dict[str, Any], kept: dict[str, Any]) -> bool:
    return not live and not kept or (len(live) == len(kept) and all(map(operator.is_, live, kept))
                                     and all(map(operator.is_, live.values(), kept.values())))


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are the same object, or say the same: numbers, texts, and containers of such."""
    if one is other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = zip((*one, *one.values()), (*other, *other.values()))
        return len(one) == len(other) and all(_equal(a, b) for a, b in pairs)
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple, deque)):
        return len(one) == len(other) and all(map(_equal, one, other))
    return isinstance(one, (bool, int, float, complex, str, bytes, set, torch.dtype, torch.device)) and one == other
