"""The ATen calls of a run on symbolic sizes, for _prove.

A run on fake tensors logs every ATen call: the overload, its arguments (tensors as references to what made them, sizes
as expressions), dtype, shape and strides of what comes out. Which line fixed a size is noted by the ShapeEnv. What only
data can answer (`.item()`, the number of rows that `nonzero` finds) is answered as in a real run, and is a row of its
own. Where torch's fake kernel refuses what the real one takes, its result is described in another way (OTHER_WAYS).
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sys
import time
import types
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import torch
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from . import _check, _inputs

aten = torch.ops.aten
ASIDES = {"prim::device", "prim::layout", "aten::sym_size", "aten::sym_stride", "aten::sym_numel", "aten::dim",
          "aten::sym_storage_offset"}
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_")  # the files of this package but the demo model
SEED = 20_240_229
Dimension = tuple[int, int]  # the number of an input tensor, and an axis of it


class NotProvable(Exception):
    """Why, and at which line."""


class TooLong(Exception):
    pass


class Ref(tuple[Any, ...]):
    """A tensor by what made it: ("call", row, output), ("input", i), ("state", name), or a constant by its dtype, shape
    and hash."""


@dataclass
class Row:
    name: str
    args: Any  # plain values, Refs, sympy expressions
    outputs: list[Any]
    place: str
    keeps: bool  # it draws, writes or asks: never taken out
    number: int = 0
    needs_grad: tuple[bool, ...] = ()  # of each tensor that is given, if any does
    is_backward: bool = False

    @property
    def uses(self) -> list[Ref]:
        return [leaf for leaf in leaves_of(self.args) if type(leaf) is Ref]

    @property
    def content(self) -> tuple[Any, ...]:
        return self.name, self.args, self.outputs, self.needs_grad


def leaves_of(value: Any) -> Iterator[Any]:
    if type(value) in (list, tuple):
        for item in value:
            yield from leaves_of(item)
    elif type(value) is dict:
        for item in value.values():
            yield from leaves_of(item)
    else:
        yield value


def bits_of(t: torch.Tensor) -> Ref:
    """A constant. No mode looks on: what a fake mode made of its copies would have no bits."""
    with _disable_current_modes():
        values = t.detach()
        values = values.to_dense() if values.layout != torch.strided else values
        data = values.cpu().contiguous().flatten()
        data = torch.view_as_real(data.resolve_conj()).flatten() if data.is_complex() else data
        raw = data.view(torch.uint8).numpy().tobytes() if data.numel() else b""
    return Ref(("constant", str(t.dtype), tuple(t.shape), hashlib.sha1(raw).hexdigest()))


def place_of_caller() -> str:
    """The line of the first frame outside of torch and of this package."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((HERE, "<frozen")) and "/torch/" not in file and "\\torch\\" not in file:
            return f"{file.rpartition('/')[2]}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


# ---- sizes ----

class Sizes(ShapeEnv):
    """Sizes that are independent of each other at first, and the line where each was fixed."""

    def __init__(self) -> None:
        super().__init__(duck_shape=False)
        self.fixed_at: dict[str, str] = {}

    def _set_replacement(self, a: Any, tgt: Any, msg: str) -> None:
        if not tgt.free_symbols:
            self.fixed_at.setdefault(str(a), place_of_caller())
        super()._set_replacement(a, tgt, msg)


def is_symbolic(n: Any) -> bool:
    return isinstance(n, (torch.SymInt, torch.SymFloat, torch.SymBool))


# ---- what data answers ----

class _Python(TorchFunctionMode):
    """Where Python asks real tensors in another way than fake ones: tolist() of real ones asks no operator, that of
    fake ones asks for each number; the text of real ones has their values, that of fake ones has not."""

    def __init__(self, answers: Answers) -> None:
        super().__init__()
        self.answers = answers

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        found = self.answers.found
        if function is torch.Tensor.tolist:
            with torch._C.DisableTorchFunction():
                found.extend((str(args[0].dtype), value) for value in args[0].detach().flatten().tolist())
        before = len(found)
        result = function(*args, **(kwargs or {}))
        if function in (torch.Tensor.__format__, torch.Tensor.__repr__):
            del found[before:]
        return result


class Answers(TorchDispatchMode):
    """A real run: what the data answered, in order, and the shapes that it decided."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, Any]] = []
        self.shapes: list[tuple[str, list[tuple[int, ...]]]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function is aten._local_scalar_dense.default:
            self.found.append((str(args[0].dtype), result))
        elif torch.Tag.dynamic_output_shape in function.tags:
            self.shapes.append((function.name(), [tuple(t.shape) for t in pytree.tree_leaves(result)
                                                  if isinstance(t, torch.Tensor)]))
        return result

    @classmethod
    def of(cls, module: torch.nn.Module, inputs: _inputs.Inputs, gradients: bool) -> Answers:
        args, kwargs = _inputs.copied(inputs)
        _check.seed_all(SEED)
        answers = cls()
        with torch.set_grad_enabled(gradients), _Python(answers), answers:
            module(*args, **kwargs)
        return answers


# ---- fake kernels that refuse ----

def by_parts(log: Log, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function that torch decomposes the call into: its shapes may be expressions where the kernel's may not."""
    import torch._decomp
    import torch._refs
    parts = torch._decomp.decomposition_table.get(function)
    return NotImplemented if parts is None else parts(*args, **kwargs)


def by_another_dtype(log: Log, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Kernels that take float32 on this device, while their descriptions are written for bfloat16: the same shapes."""
    wide = [t.dtype for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and
            t.dtype in (torch.float32, torch.float64)]
    if len(set(wide)) != 1:
        return NotImplemented

    def narrow(t: Any) -> Any:
        return t.to(torch.bfloat16) if isinstance(t, torch.Tensor) and t.dtype == wide[0] else t

    given, named = pytree.tree_map(narrow, (args, kwargs))
    result = function(*given, **named)
    return pytree.tree_map(lambda t: t.to(wide[0]) if isinstance(t, torch.Tensor) and t.dtype == torch.bfloat16 else t,
                           result)


OTHER_WAYS: tuple[Callable[[Log, Any, tuple[Any, ...], dict[str, Any]], Any], ...] = (by_parts, by_another_dtype)
# Kernels that make numbers of the sizes that they are given, although their parts keep them.
FIXES_SIZES = {"aten::constant_pad_nd"}
# Which kernel torch takes depends on sizes; a kernel is the same on both sides, and its layout is assumed (see _prove).
LAYOUT_BY_SIZE = {"aten::convolution", "aten::convolution_backward"}


def _check_channels(args: tuple[Any, ...]) -> None:
    """What a convolution asks of sizes whatever kernel it takes."""
    if len(args) == 9 and isinstance(args[0], torch.Tensor) and args[0].dim() == args[1].dim():
        is_transposed, groups = args[6], args[8]
        torch._check(args[0].shape[1] == (args[1].shape[0] if is_transposed else args[1].shape[1] * groups))


# ---- the log ----

class Log(TorchDispatchMode):
    """The ATen calls of a run on fake tensors. Tensors are kept alive, so that an id means one tensor."""

    def __init__(self, known: dict[int, Ref], answers: Answers, sizes: Sizes, deadline: float) -> None:
        super().__init__()
        self.refs, self.sizes, self.deadline = known, sizes, deadline
        self.answers, self.shapes = list(answers.found), list(answers.shapes)
        self.rows: list[Row] = []
        self.keep: list[Any] = []
        self.kinds: dict[Ref, Any] = {}
        self.memory: dict[Ref, int] = {}  # which storage a tensor is in
        self.has_layouts = self.is_backward = False

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        name = function.name()
        if name in ASIDES or name.split(".")[0] in ASIDES:  # some are asked by C++ that takes no exception
            return function(*args, **kwargs)
        if time.process_time() > self.deadline:
            raise TooLong
        if function is aten._local_scalar_dense.default:
            return self._asked(args[0])
        written = self._form((args, kwargs))
        needs_grad = tuple(t.requires_grad for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor))
        needs_grad = needs_grad if torch.is_grad_enabled() and any(needs_grad) and not self.is_backward else ()
        result = self._result(function, name, args, kwargs)
        schema = function._schema
        keeps = schema.is_mutable or torch.Tag.nondeterministic_seeded in function.tags or not schema.returns
        place = "backward" if self.is_backward else place_of_caller()
        row = Row(name, written, [], place, keeps, len(self.rows), needs_grad, self.is_backward)
        for t in pytree.tree_leaves(result):
            if isinstance(t, torch.Tensor):
                row.outputs.append(kind_of(t))
                if id(t) not in self.refs:  # an in-place call gives what it was given
                    ref = self.refs[id(t)] = Ref(("call", row.number, len(row.outputs) - 1))
                    self.note(ref, t)
                self.keep.append(t)
            else:
                row.outputs.append(self._form(t))
        self.rows.append(row)
        return result

    def _result(self, function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name.split(".")[0] in LAYOUT_BY_SIZE:
            self.has_layouts = True
            _check_channels(args)
            with self.sizes.suppress_guards():
                return function(*args, **kwargs)
        if name in FIXES_SIZES and (result := by_parts(self, function, args, kwargs)) is not NotImplemented:
            return result
        try:
            result = function(*args, **kwargs)
        except (RuntimeError, TypeError, NotImplementedError):
            for way in OTHER_WAYS:
                with contextlib.suppress(RuntimeError, TypeError, NotImplementedError):
                    if (result := way(self, function, args, kwargs)) is not NotImplemented:
                        return result
            raise
        if torch.Tag.dynamic_output_shape in function.tags:
            self._decided(name, result)
        return result

    def note(self, ref: Ref, t: torch.Tensor) -> None:
        self.kinds.setdefault(ref, kind_of(t))
        if t.layout == torch.strided:
            self.memory[ref] = t.untyped_storage()._cdata

    def _asked(self, t: torch.Tensor) -> Any:
        if not self.answers:
            raise NotProvable(f"{place_of_caller()}: asks the data where the real run did not")
        dtype, answer = self.answers.pop(0)
        if dtype != str(t.dtype):
            raise NotProvable(f"{place_of_caller()}: asks the data something else than the real run")
        self.rows.append(Row("asked", [self._form(t), type(answer).__name__, repr(answer)], [], place_of_caller(), True,
                             len(self.rows)))
        return answer

    def _decided(self, name: str, result: Any) -> None:
        """A shape that the data decides is that of the real run."""
        if not self.shapes or self.shapes[0][0] != name:
            raise NotProvable(f"{place_of_caller()}: {name} where the real run did not call it")
        made = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
        for t, shape in zip(made, self.shapes.pop(0)[1]):
            for n, known in zip(t.shape, shape):
                if is_symbolic(n) and not n.node.has_hint():
                    torch._check(n == known)
                    self.rows.append(Row("asked", [name, str(known)], [], place_of_caller(), True, len(self.rows)))

    def _form(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self.refs:
                self.keep.append(value)
                if is_fake(value):  # made where nobody looked: two of them may not be taken for one
                    raise NotProvable("a tensor comes from outside of the log")
                self.refs[id(value)] = bits_of(value)
            return self.refs[id(value)]
        if is_symbolic(value):
            return value.node.expr
        if isinstance(value, (list, tuple)):
            return [self._form(v) for v in value]
        if isinstance(value, dict):
            return {str(k): self._form(v) for k, v in value.items()}
        if isinstance(value, torch.Generator):
            return "generator"
        return (type(value).__name__, repr(value))


def is_fake(t: torch.Tensor) -> bool:
    from torch._subclasses import fake_tensor
    return isinstance(t, fake_tensor.FakeTensor)


def kind_of(t: torch.Tensor) -> list[Any]:
    """dtype, shape and strides."""
    def number(n: Any) -> Any:
        return n.node.expr if isinstance(n, torch.SymInt) else ("int", repr(n))
    strided = t.layout == torch.strided
    return [str(t.dtype), [number(n) for n in t.shape], [number(n) for n in t.stride()] if strided else str(t.layout)]


# ---- one run ----

@dataclass
class Trace:
    """What a run left. Expressions are as they were made: what holds at the end of both runs is put in later."""

    rows: list[Row]
    result: Any
    shapes: list[list[Any]]  # of each input: expressions, numbers
    sizes: Sizes
    kinds: dict[Ref, Any]
    memory: dict[Ref, int]
    has_layouts: bool
    keep: list[Any] = field(default_factory=list)

    @property
    def questions(self) -> int:
        return sum(row.name == "asked" for row in self.rows)


class _NoFakes:
    """In the place of the class that authors ask for: no tensor is fake, for the run is about the eager program."""


@contextlib.contextmanager
def as_eager() -> Iterator[None]:
    """Authors ask whether they are traced, and do something else then. Torch takes no symbolic truth for is_causal."""
    import torch._subclasses as subclasses
    import torch.nn.functional as functional
    plain, fakes = functional.scaled_dot_product_attention, subclasses.FakeTensor

    def attention(*args: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("is_causal"), torch.SymBool):
            kwargs["is_causal"] = bool(kwargs["is_causal"])
        return plain(*args, **kwargs)

    complaints = logging.getLogger("torch._subclasses.fake_tensor")  # of kernels for which there is another way
    was_silent, complaints.disabled = complaints.disabled, True
    functional.scaled_dot_product_attention = attention
    subclasses.FakeTensor = _NoFakes
    try:
        yield
    finally:
        functional.scaled_dot_product_attention, subclasses.FakeTensor = plain, fakes
        complaints.disabled = was_silent


def traced(module: torch.nn.Module, inputs: _inputs.Inputs, answers: Answers, free: Callable[[Dimension], bool],
           names: set[str], gradients: bool, deadline: float, by_python: bool = False) -> Trace:
    """The log of one call. free: which dimensions of the inputs are symbolic. names: of what both state_dicts have.
    gradients: with the backward of the sum of all outputs. deadline: of this process's CPU time. by_python: torch's own
    Python forms of functions whose C++ takes no symbolic sizes (upsampling), as its compiler uses them."""
    from torch._dispatch.python import enable_python_dispatcher
    from torch._dynamo.source import ConstantSource
    from torch._subclasses.fake_tensor import FakeTensorMode
    sizes = Sizes()
    fake = FakeTensorMode(shape_env=sizes, allow_non_fake_inputs=True)
    fake.cache_enabled = False  # few calls are made twice with the same sizes, and each costs an entry
    log = Log({}, answers, sizes, deadline)
    given: list[torch.Tensor] = []
    shapes: list[list[Any]] = []

    def symbolic(t: torch.Tensor) -> torch.Tensor:
        dims = [DimDynamic.DYNAMIC if n > 1 and free((len(given), i)) else DimDynamic.STATIC
                for i, n in enumerate(t.shape)]
        made = fake.from_tensor(t.detach(), source=ConstantSource(f"input{len(given)}"),
                                symbolic_context=StatelessSymbolicContext(dynamic_sizes=dims))
        made.requires_grad_(t.requires_grad)
        ref = log.refs[id(made)] = Ref(("input", len(given)))
        log.note(ref, made)
        shapes.append([n.node.expr if isinstance(n, torch.SymInt) else n for n in made.shape])
        given.append(made)
        return made

    state: dict[str, torch.Tensor] = {}
    seen: dict[int, torch.Tensor] = {}
    named = (*_check.named_parameters_of(module, each=True), *_check.named_buffers_of(module, each=True))
    for name, t in sorted(named, key=lambda pair: (pair[0] not in names, pair[0])):  # tied ones have one name
        if id(t) not in seen:
            made = fake.from_tensor(t.detach(), static_shapes=True)
            seen[id(t)] = made.requires_grad_(t.requires_grad and gradients)
            ref = log.refs[id(seen[id(t)])] = Ref(("state", name)) if name in names else bits_of(t)
            log.note(ref, seen[id(t)])
        state[name] = seen[id(t)]
    args, kwargs = _inputs.map_values(inputs, symbolic)
    python = enable_python_dispatcher() if by_python else contextlib.nullcontext()
    with as_eager(), fake, torch.set_grad_enabled(gradients), python:
        _check.seed_all(SEED)
        with log:
            result = torch.func.functional_call(module, state, args, kwargs, tie_weights=False)
            form = _check.plain_form(result)
            if gradients:
                _backward(form, state, log)
    written = _check.map_tensors(form, lambda t: ("plain", (log._form(t), kind_of(t))))
    return Trace(log.rows, written, shapes, sizes, log.kinds, log.memory, log.has_layouts, log.keep)


def _backward(form: Any, state: dict[str, torch.Tensor], log: Log) -> None:
    """Gradients of the sum of all outputs, for every parameter, in the same log."""
    outputs = [t for t in _check.tensors_of(form) if t.requires_grad]
    wanted = list({id(t): t for _, t in sorted(state.items()) if t.requires_grad}.values())
    if not outputs or not wanted:
        return
    log.is_backward = True
    ones = [torch.ones_like(t) for t in outputs]
    found = torch.autograd.grad(outputs, wanted, ones, allow_unused=True)
    log.rows.append(Row("gradients", [None if t is None else log._form(t) for t in found], [], "backward", True,
                        len(log.rows), (), True))
