"""`--prove`: the original and its skeleton make the same ATen calls, for all sizes and not on samples.

Both run on fake tensors with symbolic sizes, under a mode that logs every ATen call: the overload, its arguments
(tensors as references to what made them, sizes as expressions), dtype, shape and strides of what comes out. The logs
are compared row by row after calls that change nothing and calls whose results nobody reads are taken out. A question
to the data (`.item()`) is answered as in a real run and is a row of its own. What is claimed is exactly this, for the
sizes that stayed free; it rests on torch's fake kernels and guards, and says nothing of other devices, dtypes or
strides.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import types
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, cast

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from . import _check, _inputs
from ._verdict import Answer, proved, unknown, wrong

LIMIT = 30.0  # seconds for one run on symbolic sizes
aten = torch.ops.aten
ASIDES = {"prim::device", "prim::layout", "aten::sym_size", "aten::sym_stride", "aten::sym_numel", "aten::dim"}
SAME_MEMORY = {"aten::alias", "aten::detach", "aten::lift_fresh", "aten::lift"}
VIEWS = {"aten::view", "aten::expand", "aten::slice.Tensor", "aten::_reshape_alias", "aten::reshape"}


class NotProvable(Exception):
    """Why, and at which line."""


class TooLong(Exception):
    pass


@dataclass
class Row:
    name: str
    args: Any  # plain values, ("ref", …) tuples, sympy expressions
    outputs: list[Any]
    place: str
    keeps: bool  # it draws, writes or asks: never taken out
    number: int = 0

    @property
    def uses(self) -> list[tuple[Any, ...]]:
        return [leaf for leaf in _leaves(self.args) if type(leaf) is Ref]


class Ref(tuple[Any, ...]):
    """A tensor by what made it: ("call", row, output), ("input", i), ("state", name), or a constant by its dtype, shape
    and hash."""


def _leaves(value: Any) -> Iterator[Any]:
    if type(value) in (list, tuple):
        for item in value:
            yield from _leaves(item)
    elif type(value) is dict:
        for item in value.values():
            yield from _leaves(item)
    else:
        yield value


def bits_of(t: torch.Tensor) -> Ref:
    values = t.detach()
    values = values.to_dense() if values.layout != torch.strided else values
    data = values.cpu().contiguous().flatten()
    data = torch.view_as_real(data) if data.is_complex() else data
    raw = data.view(torch.uint8).numpy().tobytes() if data.numel() else b""
    return Ref(("constant", str(t.dtype), tuple(t.shape), hashlib.sha1(raw).hexdigest()))


def place_of_caller() -> str:
    """The line of the first frame outside of torch and of this file."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if "/torch/" not in file and file != __file__ and not file.startswith("<frozen") and "/torch\\" not in file:
            return f"{file.rpartition('/')[2]}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


class Answers(TorchDispatchMode):
    """A real run: what the data answered, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function is aten._local_scalar_dense.default:
            self.found.append(result)
        return result


class Log(TorchDispatchMode):
    """The ATen calls of a run on fake tensors. Tensors are kept alive, so that an id means one tensor."""

    def __init__(self, known: dict[int, Ref], answers: list[Any], limit: float) -> None:
        super().__init__()
        self.refs, self.answers, self.limit = known, list(answers), time.perf_counter() + limit
        self.rows: list[Row] = []
        self.keep: list[Any] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if time.perf_counter() > self.limit:
            raise TooLong
        name = function.name()
        if function is aten._local_scalar_dense.default:
            return self._asked(args[0])
        written = self._form((args, kwargs))
        result = function(*args, **kwargs)
        if name in ASIDES or name.split(".")[0] in ASIDES:
            return result
        schema = function._schema
        keeps = schema.is_mutable or torch.Tag.nondeterministic_seeded in function.tags or not schema.returns
        row = Row(name, written, [], place_of_caller(), keeps, len(self.rows))
        for t in pytree.tree_leaves(result):
            if isinstance(t, torch.Tensor):
                row.outputs.append(_kind(t))
                if id(t) not in self.refs:  # an in-place call gives what it was given
                    self.refs[id(t)] = Ref(("call", row.number, len(row.outputs) - 1))
                self.keep.append(t)
            else:
                row.outputs.append(self._form(t))
        self.rows.append(row)
        return result

    def _asked(self, t: torch.Tensor) -> Any:
        if not self.answers:
            raise NotProvable(f"{place_of_caller()}: asks the data where the real run did not")
        answer = self.answers.pop(0)
        self.rows.append(Row("asked", [self._form(t), type(answer).__name__, repr(answer)], [], place_of_caller(), True,
                             len(self.rows)))
        return answer

    def _form(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self.refs:
                self.keep.append(value)
                if _is_fake(value):  # made where nobody looked: two of them may not be taken for one
                    raise NotProvable("a tensor comes from outside of the log")
                self.refs[id(value)] = bits_of(value)
            return self.refs[id(value)]
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return value.node.expr
        if isinstance(value, (list, tuple)):
            return [self._form(v) for v in value]
        if isinstance(value, dict):
            return {str(k): self._form(v) for k, v in value.items()}
        if isinstance(value, torch.Generator):
            return "generator"
        return (type(value).__name__, repr(value))


def _is_fake(t: torch.Tensor) -> bool:
    from torch._subclasses import fake_tensor
    return isinstance(t, fake_tensor.FakeTensor)


def _kind(t: torch.Tensor) -> list[Any]:
    def number(n: Any) -> Any:
        return n.node.expr if isinstance(n, torch.SymInt) else ("int", repr(n))
    strided = t.layout == torch.strided
    return [str(t.dtype), [number(n) for n in t.shape], [number(n) for n in t.stride()] if strided else str(t.layout)]


# ---- one run ----

@dataclass
class Trace:
    rows: list[Row]
    result: Any
    sizes: list[list[str]]  # of each input
    guards: set[str]
    ranges: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    questions: int = 0


class _NoFakes:
    """Stands where authors ask whether a tensor is fake: none is, for the run is about the eager program."""


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

    functional.scaled_dot_product_attention = attention
    subclasses.FakeTensor = _NoFakes
    try:
        yield
    finally:
        functional.scaled_dot_product_attention, subclasses.FakeTensor = plain, fakes


def traced(module: torch.nn.Module, inputs: _inputs.Inputs, answers: list[Any], free: str, names: set[str],
           gradients: bool, limit: float) -> Trace:
    """The log of one call. free: "all" dimensions of the inputs, or the "batch" alone. names: of what both state_dicts
    have."""
    from torch._dynamo.source import ConstantSource
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
    env = ShapeEnv(duck_shape=False)
    fake = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
    refs: dict[int, Ref] = {}
    given: list[torch.Tensor] = []

    def symbolic(t: torch.Tensor) -> torch.Tensor:
        dims = [DimDynamic.DYNAMIC if n > 1 and (free == "all" or (free == "batch" and i == 0)) else DimDynamic.STATIC
                for i, n in enumerate(t.shape)]
        made = fake.from_tensor(t.detach(), source=ConstantSource(f"input{len(given)}"),
                                symbolic_context=StatelessSymbolicContext(dynamic_sizes=dims))
        made.requires_grad_(t.requires_grad)
        refs[id(made)] = Ref(("input", len(given)))
        given.append(made)
        return made

    state: dict[str, torch.Tensor] = {}
    seen: dict[int, torch.Tensor] = {}
    for name, t in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)):
        if id(t) not in seen:
            seen[id(t)] = fake.from_tensor(t.detach(), static_shapes=True).requires_grad_(t.requires_grad and gradients)
            refs[id(seen[id(t)])] = Ref(("state", name)) if name in names else bits_of(t)
        state[name] = seen[id(t)]
    args, kwargs = _inputs.map_values(inputs, symbolic)
    log = Log(refs, answers, limit)
    with as_eager(), fake, torch.set_grad_enabled(gradients):
        _check.seed_all(20_240_229)
        with log:
            result = torch.func.functional_call(module, state, args, kwargs, tie_weights=False)
            form = _check.plain_form(result)
            if gradients:
                _backward(form, state, log)
    return _trace_of(log, form, given, env)


def _backward(form: Any, state: dict[str, torch.Tensor], log: Log) -> None:
    """Gradients of the sum of all outputs, for every parameter, in the same log."""
    outputs = [t for t in _check.tensors_of(form) if t.requires_grad]
    wanted = list({id(t): t for t in state.values() if t.requires_grad}.values())
    if not outputs or not wanted:
        return
    ones = [torch.ones_like(t) for t in outputs]
    found = torch.autograd.grad(outputs, wanted, ones, allow_unused=True)
    log.rows.append(Row("gradients", [None if t is None else log._form(t) for t in found], [], "backward", True,
                        len(log.rows)))


def _trace_of(log: Log, form: Any, given: list[torch.Tensor], env: Any) -> Trace:
    """The log in the terms that hold at its end: sizes that were fixed on the way are numbers."""
    import sympy

    def plain(value: Any) -> Any:
        if isinstance(value, sympy.Basic):
            value = env.simplify(value)
            return ("int", str(value)) if value.is_Integer else str(value)
        if type(value) in (list, tuple):
            return [plain(v) for v in value]
        if type(value) is dict:
            return {k: plain(v) for k, v in value.items()}
        return value

    for row in log.rows:
        row.args, row.outputs = plain(row.args), plain(row.outputs)
    result = _check.map_tensors(form, lambda t: ("plain", (log._form(t), plain(_kind(t)))))
    sizes = [[str(env.simplify(n.node.expr)) if isinstance(n, torch.SymInt) else str(n) for n in t.shape]
             for t in given]
    ranges = {str(s): (int(r.lower), int(r.upper) if r.upper.is_Integer and r.upper < 2**31 else None)
              for s, r in env.var_to_range.items() if any(str(s) in dims for dims in sizes)}
    guards = {str(env.simplify(g.expr)) for g in env.guards} - {"True"}
    return Trace(log.rows, result, sizes, guards, ranges, sum(row.name == "asked" for row in log.rows))


# ---- comparing ----

def reduced(trace: Trace) -> tuple[list[Row], Any]:
    """Without calls that change nothing and without those whose results nobody reads; references count the rest."""
    written = {use for row in trace.rows if row.keeps and row.name != "asked" for use in row.uses}
    stands_for: dict[Ref, Ref] = {}

    def through(value: Any) -> Any:
        if type(value) is Ref:
            while value in stands_for:
                value = stands_for[value]
            return value
        if type(value) in (list, tuple):
            return [through(v) for v in value]
        if type(value) is dict:
            return {k: through(v) for k, v in value.items()}
        return value

    rows = []
    kinds: dict[Ref, Any] = {}
    for row in trace.rows:
        row.args = through(row.args)
        source = _idle(row, kinds, cast("set[Ref]", written))
        if source is not None:
            stands_for[Ref(("call", row.number, 0))] = source
            continue
        for i, kind in enumerate(row.outputs):
            kinds[Ref(("call", row.number, i))] = kind
        rows.append(row)
    result = _check_refs(trace.result, through)
    live = {leaf for leaf in _refs_of(result)}
    kept = []
    for row in reversed(rows):
        if row.keeps or any(Ref(("call", row.number, i)) in live for i in range(len(row.outputs))):
            live.update(cast("list[Ref]", row.uses))
            kept.append(row)
    kept.reverse()
    numbers = {row.number: i for i, row in enumerate(kept)}

    def renumbered(value: Any) -> Any:
        if type(value) is Ref:
            return Ref(("call", numbers.get(value[1], "?"), value[2])) if value[0] == "call" else value
        if type(value) in (list, tuple):
            return [renumbered(v) for v in value]
        if type(value) is dict:
            return {k: renumbered(v) for k, v in value.items()}
        return value

    for row in kept:
        row.args = renumbered(row.args)
    return kept, _check_refs(result, renumbered)


def _check_refs(form: Any, change: Callable[[Any], Any]) -> Any:
    """The plain form of a result, with the references in it changed."""
    kind = form[0]
    if kind == "plain":
        return ("plain", change(form[1]) if type(form[1]) in (tuple, list) else form[1])
    if kind in ("tuple", "list", "set"):
        return (kind, [_check_refs(f, change) for f in form[1]])
    if kind == "dict":
        return (kind, [(k, _check_refs(v, change)) for k, v in form[1]])
    if kind in ("record", "object"):
        return (kind, form[1], [(k, _check_refs(v, change)) for k, v in form[2]])
    return form


def _refs_of(form: Any) -> Iterator[Ref]:
    found: list[Ref] = []

    def note(value: Any) -> Any:
        found.extend(leaf for leaf in _leaves(value) if type(leaf) is Ref)
        return value

    _check_refs(form, note)
    yield from found


def _idle(row: Row, kinds: dict[Ref, Any], written: set[Ref]) -> Ref | None:
    """What the call's result is the same as, if it is: the same memory seen the same way, x + 0 of integers, x * 1."""
    args, kwargs = row.args if isinstance(row.args, list) and len(row.args) == 2 else ([], {})
    if row.keeps or not args or type(args[0]) is not Ref or len(row.outputs) != 1:
        return None
    source, name = args[0], row.name.split(".")[0]
    is_alike = kinds.get(source) == row.outputs[0]
    if name in SAME_MEMORY:
        return source
    if (name in VIEWS or row.name in VIEWS) and is_alike:
        return source
    if source in written or Ref(("call", row.number, 0)) in written or not is_alike:
        return None
    value = tuple(args[1]) if len(args) > 1 and type(args[1]) in (list, tuple) else None
    is_integer = row.outputs[0][0] in ("torch.int64", "torch.int32", "torch.int16", "torch.int8", "torch.uint8")
    if name == "aten::add" and is_integer and value == ("int", "0"):
        return source
    return source if name == "aten::mul" and value in (("int", "1"), ("float", "1.0")) else None


def difference(one: Trace, other: Trace) -> str | None:
    """Where two logs part, with both lines."""
    (rows, result), (others, other_result) = reduced(one), reduced(other)
    for a, b in zip(rows, others):
        if (a.name, a.args, a.outputs) != (b.name, b.args, b.outputs):
            return f"{a.place} {_text(a)} against skeleton {b.place.rpartition(':')[2]} {_text(b)}"
    if len(rows) != len(others):
        more = (rows if len(rows) > len(others) else others)[min(len(rows), len(others))]
        who = "the original" if len(rows) > len(others) else "the skeleton"
        return f"{more.place} {_text(more)}, which only {who} has"
    return _check.difference(result, other_result)


def _text(row: Row) -> str:
    def one(value: Any) -> str:
        if type(value) is Ref:
            texts = {"call": f"#{value[1]}", "input": f"input {value[1]}", "state": str(value[1])}
            return str(texts.get(value[0], value[0]))
        if type(value) is list and len(value) == 2 and value[0] in ("int", "float", "bool", "NoneType", "str", "dtype"):
            return str(value[1])
        return "[" + ", ".join(map(one, value)) + "]" if type(value) is list else str(value)

    args = row.args[0] if isinstance(row.args, list) and len(row.args) == 2 and type(row.args[1]) is dict else row.args
    return f"{row.name.removeprefix('aten::')}({', '.join(map(one, args))})"[:160]


# ---- the claim ----

def prove(model: torch.nn.Module, skeleton: torch.nn.Module, inputs: _inputs.Inputs,
          single: _inputs.Inputs | None = None, limit: float = LIMIT) -> Answer:
    """The original and the skeleton, each in eval and train mode, with all sizes free, or else the batch alone."""
    flags = [(m, m.training) for side in (model, skeleton) for m in side.modules()]
    try:
        with _as_it_was(model), _as_it_was(skeleton):
            return _prove(model, skeleton, inputs, single, limit)
    finally:
        for module, training in flags:
            module.training = training


@contextlib.contextmanager
def _as_it_was(model: torch.nn.Module) -> Iterator[None]:
    from ._state import ModelState, RandomState
    state, random = ModelState(model), RandomState()
    state.before_run(True)
    try:
        yield
    finally:
        state.restore()
        random.restore()


def _prove(model: torch.nn.Module, skeleton: torch.nn.Module, inputs: _inputs.Inputs, single: _inputs.Inputs | None,
           limit: float) -> Answer:
    if different := _state_difference(model, skeleton):
        return wrong(different)
    reasons, claims, held = [], [], ""
    modes: list[str] = []
    for training in (False, True):
        mode = "train" if training else "eval"
        for free in ("all", "batch"):
            answer = _compared(model, skeleton, inputs, free, training, limit)
            if isinstance(answer, str):
                reasons.append(f"{mode} mode, {free} sizes free: {answer}")
                continue
            if answer.kind == "wrong":
                return answer
            modes.append(mode)
            held = held or answer.evidence[0]
            if answer.evidence[0] not in claims:
                claims.append(answer.evidence[0])
            break
    if not claims:
        return unknown(*(f"not provable because {reason}" for reason in reasons))
    text = f"same ATen calls in the forward, {' and '.join(modes)} mode, for every {'; and '.join(claims)}"
    if single is not None:
        answer = _compared(model, skeleton, single, "all", False, limit)
        if isinstance(answer, Answer) and answer.kind == "wrong":
            return answer
        if isinstance(answer, Answer):
            text += f"; for one sample too: {answer.evidence[0]}"
    missing = [mode for mode in ("eval", "train") if mode not in modes]
    return proved(text, *(f"not proved in {mode} mode: {r.partition(': ')[2]}" for mode in missing
                          for r in reasons[-1:] if r.startswith(mode)))


def _state_difference(model: torch.nn.Module, skeleton: torch.nn.Module) -> str | None:
    """The bits of everything in the state_dict."""
    have = skeleton.state_dict()
    for name, t in model.state_dict().items():
        if name not in have or (isinstance(t, torch.Tensor) and bits_of(t) != bits_of(have[name])):
            return f"{name} differs, or is missing"
    return None


def _compared(model: torch.nn.Module, skeleton: torch.nn.Module, inputs: _inputs.Inputs, free: str, training: bool,
              limit: float) -> Answer | str:
    """proved with the sizes, wrong with both lines, or why nothing can be said."""
    names = set(model.state_dict()) & set(skeleton.state_dict())
    traces = []
    for side, module in (("the original", model), ("the skeleton", skeleton)):
        try:
            module.train(training)
            with contextlib.redirect_stderr(None), torch.no_grad():
                answers = _answers(module, inputs)
                traces.append(traced(module, _inputs.copied(inputs), answers, free, names, False, limit))
        except TooLong:
            return f"{side} took more than {limit:.0f} s"
        except Exception as error:
            text = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
            return f"{side} can't run on symbolic sizes: {_place_of(error)}{text}"
    one, other = traces
    if found := difference(one, other):
        return wrong(f"differs at {found}")
    return proved(_conditions(one, other, inputs, model))


def _place_of(error: BaseException) -> str:
    import traceback
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/torch/" not in f.filename
              and f.filename != __file__]
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}: " if frames else ""


def _answers(module: torch.nn.Module, inputs: _inputs.Inputs) -> list[Any]:
    args, kwargs = _inputs.copied(inputs)
    _check.seed_all(20_240_229)
    with Answers() as answers:
        module(*args, **kwargs)
    found: list[Any] = answers.found
    return found


def _conditions(one: Trace, other: Trace, inputs: _inputs.Inputs, model: torch.nn.Module) -> str:
    """The sizes that stayed free, with their ranges; those that were fixed are numbers. Both sides' conditions hold."""
    parts = []
    for number, (mine, theirs) in enumerate(zip(one.sizes, other.sizes)):
        dims = []
        for a, b in zip(mine, theirs):
            dim = a if a == b else (b if b.isdigit() else a)
            ranges = [trace.ranges.get(dim, (0, None)) for trace in (one, other)]
            low, highs = max(r[0] for r in ranges), [r[1] for r in ranges if r[1] is not None]
            dims.append(dim if dim.isdigit() or not dim.isidentifier() else f"{low}..{min(highs) if highs else ''}")
        parts.append(f"input {number} of [{', '.join(dims)}]")
    text = ", ".join(parts) or "call"
    guards = len(one.guards | other.guards)
    if guards:
        text += f" under {guards} conditions on these sizes"
    if one.questions:
        text += f", where {one.questions} tests of the data come out as recorded"
    return text
