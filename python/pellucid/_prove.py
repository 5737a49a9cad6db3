"""`--prove`: the original and its skeleton make the same ATen calls, for all sizes and not on samples.

Both run on fake tensors with symbolic sizes (_prove_log). The two logs are compared row by row after calls that change
nothing and calls whose results nobody reads are taken out, in the terms that hold at the end of both runs: a size that
either side fixed is a number in both. What is claimed is exactly this, for the sizes that stayed free; fixed ones are
named with the line that fixed them. It rests on torch's fake kernels and guards, takes the results of convolutions to
be laid out in memory as at the recorded sizes, and says nothing of other devices, dtypes or strides.
"""

from __future__ import annotations

import contextlib
import random
import string
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import sympy
import torch

from . import _check, _inputs
from ._prove_log import (Answers, Dimension, NotProvable, Ref, Row, TooLong, Trace, bits_of, leaves_of, place_of_caller,
                         traced)
from ._verdict import Answer

__all__ = ["NotProvable", "Proof", "bits_of", "place_of_caller", "prove"]

BUDGET = 30.0  # seconds of CPU for all of a proof
SHARE = 0.4  # of the budget that one run on symbolic sizes may take
TRIED = 40  # sizes at which two expressions are compared that are not shown equal
CONCRETE = "expected to contain only concrete integers"  # what C++ says that takes no symbolic sizes
SHOWN = 3  # conditions in words
SAME_MEMORY = {"aten::alias", "aten::detach", "aten::lift_fresh", "aten::lift"}
VIEWS = {"aten::view", "aten::expand", "aten::slice.Tensor", "aten::_reshape_alias", "aten::reshape"}
INTEGERS = ("torch.int64", "torch.int32", "torch.int16", "torch.int8", "torch.uint8")
Varied = dict[str, list[Dimension]]
Free = Callable[[Dimension], bool]


@dataclass(frozen=True)
class Size:
    """A dimension of an input that has been tried: free, or fixed and by which line."""

    tensor: int
    axis: int
    text: str
    free: bool
    original: str = ""  # the line that fixed it
    skeleton: str = ""

    @property
    def who(self) -> str:
        if self.free:
            return ""
        return "both" if self.original and self.skeleton else "the original" if self.original else "the skeleton"


@dataclass(frozen=True)
class Proof(Answer):
    """sizes: of each mode, what became of every dimension that was tried. conditions: on the sizes, all of them."""

    sizes: tuple[tuple[str, tuple[Size, ...]], ...] = ()
    conditions: tuple[str, ...] = ()


# ---- both logs in the same terms ----

class Terms:
    """Expressions by what holds at the end of both runs."""

    def __init__(self, one: Trace, other: Trace) -> None:
        self.sides = (one.sizes, other.sizes)
        self.known: dict[Any, Any] = {}

    def settled(self, value: Any) -> Any:
        if value in self.known:
            return self.known[value]
        found = value
        for _ in range(4):
            before = found
            for side in self.sides:
                found = side.simplify(found)
            if found == before:
                break
        self.known[value] = found
        return found

    def plain(self, value: Any) -> Any:
        if isinstance(value, sympy.Basic):
            value = self.settled(value)
            return ["int", str(value)] if value.is_Integer else value
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            found = self.plain(value.node.expr)
            return int(found[1]) if type(found) is list else ["size", found]
        if type(value) in (list, tuple):
            return [self.plain(v) for v in value]
        if type(value) is dict:
            return {k: self.plain(v) for k, v in value.items()}
        return value

    def conditions(self) -> list[Any]:
        """Guards of both sides that are left, but for bounds of one size, which are its range."""
        found = []
        for side in self.sides:
            for guard in side.guards:
                condition = self.settled(guard.expr)
                if condition in (True, sympy.true) or is_bound(condition) or condition in found:
                    continue
                found.append(condition)
        return found

    def bounds(self, symbol: Any) -> tuple[int, int | None]:
        low, high = 0, None
        for side in self.sides:
            if (known := side.var_to_range.get(symbol)) is not None:
                low = max(low, int(known.lower))
                if known.upper.is_Integer and known.upper < 2**31:
                    high = int(known.upper) if high is None else min(high, int(known.upper))
        return low, high


def is_bound(condition: Any) -> bool:
    return (isinstance(condition, (sympy.Le, sympy.Lt, sympy.Ge, sympy.Gt)) and len(condition.free_symbols) == 1
            and any(side.is_Symbol for side in condition.args) and any(side.is_number for side in condition.args))


# ---- comparing ----

def changed(value: Any, change: Callable[[Ref], Ref]) -> Any:
    if type(value) is Ref:
        return change(value)
    if type(value) in (list, tuple):
        return [changed(v, change) for v in value]
    if type(value) is dict:
        return {k: changed(v, change) for k, v in value.items()}
    return value


def reduced(trace: Trace, terms: Terms) -> tuple[list[Row], Any]:
    """Without calls that change nothing and without those whose results nobody reads; references count the rest."""
    kinds = {ref: terms.plain(kind) for ref, kind in trace.kinds.items()}
    written = {trace.memory.get(use) for row in trace.rows if row.keeps and row.name != "asked" for use in row.uses}
    passing, of_sizes = _read_once(trace), asked_of_sizes(trace)
    same_as: dict[Ref, Ref] = {}

    def through(ref: Ref) -> Ref:
        while ref in same_as:
            ref = same_as[ref]
        return ref

    rows = []
    for row in trace.rows:
        args = changed(terms.plain(row.args), through)
        row = Row(row.name, args, terms.plain(row.outputs), row.place, row.keeps, row.number, row.needs_grad,
                  row.is_backward)
        made = Ref(("call", row.number, 0))
        source = _idle(row, kinds)
        is_view = row.name.split(".")[0] in SAME_MEMORY or row.name in VIEWS
        if source is not None and (is_view or source in passing or
                                   not {trace.memory.get(source), trace.memory.get(made)} & written):
            same_as[made] = source
            continue
        rows.append(row)
    result = _in_form(trace.result, lambda value: changed(terms.plain(value), through))
    live = set(_refs_of(result))
    kept = []
    for row in reversed(rows):
        if row.number in of_sizes:
            continue
        if row.keeps or any(Ref(("call", row.number, i)) in live for i in range(len(row.outputs))):
            live.update(row.uses)
            kept.append(row)
    kept.reverse()
    numbers = {row.number: i for i, row in enumerate(kept)}

    def renumbered(ref: Ref) -> Ref:
        return Ref(("call", numbers.get(ref[1], "?"), ref[2])) if ref[0] == "call" else ref

    for row in kept:
        row.args = changed(row.args, renumbered)
    return kept, _in_form(result, lambda value: changed(value, renumbered))


def _read_once(trace: Trace) -> set[Ref]:
    """What a call made and one other call read, with no other tensor in the same memory: a copy of it may be written
    to, for nobody sees the difference."""
    readers: dict[int | None, set[int]] = {}
    refs: dict[int, set[Ref]] = {}
    for row in trace.rows:
        for use in row.uses:
            readers.setdefault(trace.memory.get(use), set()).add(row.number)
    for ref, memory in trace.memory.items():
        refs.setdefault(memory, set()).add(ref)
    results = {trace.memory.get(ref) for ref in _refs_of(trace.result)}
    return {ref for ref, memory in trace.memory.items() if ref[0] == "call" and len(refs[memory]) == 1
            and len(readers.get(memory, ())) == 1 and memory not in results}


def _is_below_every_draw(row: Row, draws: set[Any]) -> bool:
    """torch.rand([]) < 0.0: layers that are never dropped."""
    if row.name != "aten::lt.Scalar" or len(row.args[0]) != 2:
        return False
    drawn, (kind, value) = row.args[0]
    return drawn[0] == "call" and drawn[1] in draws and kind in ("int", "float") and float(value) <= 0


def asked_of_sizes(trace: Trace) -> set[int]:
    """Tests of tensors that no data is in: made by factories, of sizes alone. Who asks one and who does not make the
    same calls where it comes out as recorded, which the claim says."""
    written = {trace.memory.get(use) for row in trace.rows if row.keeps and row.name != "asked" for use in row.uses}
    of_sizes: set[Any] = set()
    draws: set[Any] = set()
    asked: set[int] = set()
    for row in trace.rows:
        is_same = row.name.split(".")[0] in SAME_MEMORY and row.uses[0][0] == "call" and row.uses[0][1] in draws
        if is_same or (row.name == "aten::rand"
                       and trace.memory.get(Ref(("call", row.number, 0))) not in written):
            draws.add(row.number)
        elif _is_below_every_draw(row, draws):
            of_sizes.add(row.number)
        if not all(use[0] == "call" and use[1] in of_sizes for use in row.uses):
            continue
        if row.name == "asked":
            asked |= {row.number} if row.uses and row.args[1] == "bool" else set()
        elif not row.keeps and not written & {trace.memory.get(Ref(("call", row.number, i)))
                                              for i in range(len(row.outputs))}:
            of_sizes.add(row.number)
    return asked


def _in_form(form: Any, change: Callable[[Any], Any]) -> Any:
    """The plain form of a result, with its leaves changed."""
    kind = form[0]
    if kind == "plain":
        return ("plain", change(form[1]))
    if kind in ("tuple", "list", "set", "slice"):
        return (kind, [_in_form(f, change) for f in form[1]], *form[2:])
    if kind == "dict":
        return (kind, [(k, _in_form(v, change)) for k, v in form[1]], *form[2:])
    if kind in ("record", "object"):
        return (kind, form[1], [(k, _in_form(v, change)) for k, v in form[2]])
    return form


def _refs_of(form: Any) -> Iterator[Ref]:
    found: list[Ref] = []

    def note(value: Any) -> Any:
        found.extend(leaf for leaf in leaves_of(value) if type(leaf) is Ref)
        return value

    _in_form(form, note)
    yield from found


def _idle(row: Row, kinds: dict[Ref, Any]) -> Ref | None:
    """What the call's result is the same as, if it is: the same memory seen the same way, x + 0 of integers, x * 1. A
    detach is idle too: what needs gradients is noted where it is used."""
    args = row.args[0] if isinstance(row.args, list) and len(row.args) == 2 and type(row.args[1]) is dict else ()
    if row.keeps or not args or type(args[0]) is not Ref or len(row.outputs) != 1:
        return None
    source: Ref = args[0]
    name = row.name.split(".")[0]
    is_alike = kinds.get(source) == row.outputs[0]
    if name in SAME_MEMORY:
        return source
    if not is_alike:
        return None
    if name in VIEWS or row.name in VIEWS:
        return source
    if name == "aten::slice_backward":
        return source
    value = tuple(args[1]) if len(args) > 1 and type(args[1]) in (list, tuple) else None
    if name == "aten::add" and row.outputs[0][0] in INTEGERS and value == ("int", "0"):
        return source
    return source if name == "aten::mul" and value in (("int", "1"), ("float", "1.0")) else None


@dataclass
class Difference:
    """`certain`: there are sizes at which both differ; else nothing was shown."""

    text: str
    certain: bool = True


def difference(one: Trace, other: Trace, terms: Terms) -> Difference | None:
    """Where two logs part, with both lines. What differs in the backward alone is a doubt: calls that change nothing in
    the forward have gradients of their own, which change nothing either."""
    (rows, result), (others, other_result) = reduced(one, terms), reduced(other, terms)
    doubt = None
    for a, b in zip(rows, others):
        if a.content != b.content:
            where = f"{a.place} {_text(a)} against skeleton {b.place.rpartition(':')[2]} {_text(b)}"
            found = _by_sizes(a.content, b.content, terms)
            if found is None:
                continue
            found.text = where + found.text
            if found.certain or a.is_backward or b.is_backward:
                found.certain = not (a.is_backward or b.is_backward)
                return found
            doubt = doubt or found
    if len(rows) != len(others):
        more = (rows if len(rows) > len(others) else others)[min(len(rows), len(others))]
        who = "the original" if len(rows) > len(others) else "the skeleton"
        return Difference(f"{more.place} {_text(more)}, which only {who} has", not more.is_backward)
    if doubt is None and (text := _check.difference(_in_form(result, _shown), _in_form(other_result, _shown))):
        doubt = _by_sizes([result], [other_result], terms)
        if doubt is not None:
            doubt.text = text + doubt.text
    return doubt


def _shown(value: Any) -> Any:
    """A leaf in a form that can be compared as plain data."""
    return value if isinstance(value, (bool, int, float, str, bytes, type(None))) else repr(value)


def _by_sizes(one: Any, other: Any, terms: Terms) -> Difference | None:
    """None if the two are equal but for how sizes are written."""
    pairs: list[tuple[Any, Any]] = []
    if not _paired(one, other, pairs):
        return Difference("")
    doubt = None
    for a, b in pairs:
        first, second = (sympy.Integer(int(n[1])) if type(n) in (tuple, list) else n for n in (a, b))
        if sympy.expand(first - second) == 0:
            continue
        at = _sizes_apart(first, second, terms)
        if isinstance(at, str):
            return Difference(f": {first} and {second} differ, {at}")
        doubt = Difference(f": {first} and {second} were equal at {at} sizes and are not shown to be equal", False)
    return doubt


def _paired(one: Any, other: Any, pairs: list[tuple[Any, Any]]) -> bool:
    """Whether both have the same structure and the same leaves but for sizes, which are put beside each other."""
    def is_size(value: Any) -> bool:
        return (isinstance(value, sympy.Expr) or (type(value) in (tuple, list) and len(value) == 2
                                                  and value[0] == "int" and type(value[1]) is str))
    if isinstance(one, sympy.Expr) or isinstance(other, sympy.Expr):
        if is_size(one) and is_size(other):
            pairs.append((one, other))
            return True
        return False
    if type(one) is not type(other):
        return False
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(_paired(a, b, pairs) for a, b in zip(one, other))
    if type(one) is dict:
        return list(one) == list(other) and all(_paired(one[k], other[k], pairs) for k in one)
    return bool(one == other)


def _sizes_apart(one: Any, other: Any, terms: Terms) -> str | int:
    """Sizes that meet all conditions and at which the two differ; or at how many they were equal."""
    symbols = sorted(one.free_symbols | other.free_symbols, key=str)
    conditions = terms.conditions()
    every = sorted(set(symbols).union(*(c.free_symbols for c in conditions)), key=str)
    pick, equal = random.Random(0), 0
    for _ in range(TRIED * 10):
        at = {}
        for symbol in every:
            low, high = terms.bounds(symbol)
            at[symbol] = sympy.Integer(pick.randint(low, min(high or 10**6, low + pick.choice((8, 64, 256)))))
        if any(c.xreplace(at) not in (True, sympy.true) for c in conditions):
            continue
        if one.xreplace(at) != other.xreplace(at):
            return "for instance where " + ", ".join(f"{s} is {at[s]}" for s in symbols)
        equal += 1
        if equal >= TRIED:
            break
    return equal


def _text(row: Row) -> str:
    def one(value: Any) -> str:
        if type(value) is Ref:
            texts = {"call": f"#{value[1]}", "input": f"input {value[1]}", "state": str(value[1])}
            return str(texts.get(value[0], value[0]))
        if type(value) in (list, tuple) and len(value) == 2 and value[0] in ("int", "float", "bool", "NoneType", "str",
                                                                            "dtype"):
            return str(value[1])
        return "[" + ", ".join(map(one, value)) + "]" if type(value) in (list, tuple) else str(value)

    args = row.args[0] if isinstance(row.args, list) and len(row.args) == 2 and type(row.args[1]) is dict else row.args
    return f"{row.name.removeprefix('aten::')}({', '.join(map(one, args))})"[:160]


# ---- the claim ----

@dataclass
class Claim:
    """What one pair of runs showed."""

    text: str
    sizes: tuple[Size, ...]
    conditions: tuple[str, ...]


class Attempt:
    """A model and its skeleton, with the time that is left. Real runs, which answer what only data can, are made once
    for each mode."""

    def __init__(self, model: torch.nn.Module, skeleton: torch.nn.Module, budget: float,
                 wanted: set[Dimension]) -> None:
        self.wanted, self.by_python = wanted, False
        self.sides = (("the original", model), ("the skeleton", skeleton))
        self.names = set(model.state_dict()) & set(skeleton.state_dict())
        self.budget, self.end = budget, time.process_time() + budget

    def compared(self, inputs: _inputs.Inputs, free: Free, training: bool, gradients: bool) -> Claim | Answer | str:
        """What was shown, wrong with both lines, or why nothing can be said."""
        traces = []
        deadline = min(self.end, time.process_time() + self.budget * SHARE * 2)
        for side, module in self.sides:
            try:
                module.train(training)
                with contextlib.redirect_stderr(None), torch.no_grad():
                    answers = Answers.of(module, inputs, gradients)
                    limit = min(deadline, time.process_time() + self.budget * SHARE)
                    traces.append(traced(module, _inputs.copied(inputs), answers, free, self.names, gradients, limit,
                                         self.by_python))
            except TooLong:
                return f"{side} took more than {self.budget * SHARE:.0f} s, or the time was over"
            except Exception as error:
                if CONCRETE in str(error) and not self.by_python:
                    self.by_python = True
                    return self.compared(inputs, free, training, gradients)
                text = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
                return f"{side} can't run on symbolic sizes: {_place_of(error)}{text}"
        one, other = traces
        terms = Terms(one, other)
        found = difference(one, other, terms)
        if found is None:
            return claimed(one, other, terms, self.wanted)
        return Answer("wrong", (f"differs at {found.text}",)) if found.certain else found.text


def claimed(one: Trace, other: Trace, terms: Terms, wanted: set[Dimension]) -> Claim:
    """The sizes that stayed free, with their ranges; those that were fixed are numbers. Both sides' conditions hold.
    wanted: the dimensions whose fixing needs words."""
    letters: dict[Any, str] = {}
    sizes, parts, fixed = [], [], []
    for tensor, shape in enumerate(one.shapes):
        dims = []
        for axis, n in enumerate(shape):
            if not isinstance(n, sympy.Basic):
                dims.append(str(n))
                continue
            found = terms.settled(n)
            for symbol in sorted(found.free_symbols, key=str):
                letters.setdefault(symbol, _letter(len(letters)))
            text = _in_letters(found, letters)
            places = [_fixed_at(trace, n) for trace in (one, other)]
            size = Size(tensor, axis, text, bool(found.free_symbols), places[0], places[1])
            sizes.append(size)
            dims.append(text)
            if not size.free and (tensor, axis) in wanted:
                fixed.append(_who_fixed(size))
        parts.append(f"input {tensor} of [{', '.join(dims)}]")
    text = ", ".join(parts) or "call"
    if letters:
        text += " with " + ", ".join(_range_text(letter, *terms.bounds(symbol)) for symbol, letter in letters.items())
    conditions = [_in_letters(c, letters) for c in terms.conditions()]
    if conditions:
        more = f" and {len(conditions) - SHOWN} more conditions" if len(conditions) > SHOWN else ""
        text += f", where {', '.join(sorted(conditions, key=len)[:SHOWN])}{more}"
    if fixed:
        text += f" ({'; '.join(fixed)})"
    alone = [len(asked_of_sizes(trace)) for trace in (one, other)]
    for count, what in ((one.questions - alone[0], "the data"), (max(alone), "sizes alone")):
        if count:
            text += (f", where one test of {what} comes out as recorded" if count == 1
                     else f", where {count} tests of {what} come out as recorded")
    if one.has_layouts and letters:
        text += ", convolutions laid out as recorded"
    return Claim(text, tuple(sizes), tuple(conditions))


def _letter(number: int) -> str:
    return string.ascii_lowercase[number % 26] + (str(number // 26) if number >= 26 else "")


def _in_letters(value: Any, letters: dict[Any, str]) -> str:
    return str(value.xreplace({s: sympy.Symbol(name, integer=True) for s, name in letters.items()}))


def _range_text(letter: str, low: int, high: int | None) -> str:
    return f"{letter} >= {low}" if high is None else f"{letter} in {low}..{high}"


def _fixed_at(trace: Trace, symbol: Any) -> str:
    """The line by which this side alone fixed the size; empty if it did not."""
    if trace.sizes.simplify(symbol).free_symbols:
        return ""
    seen = set()
    while symbol not in seen and getattr(symbol, "is_Symbol", False):
        seen.add(symbol)
        if str(symbol) in trace.sizes.fixed_at:
            return trace.sizes.fixed_at[str(symbol)]
        symbol = next(iter(trace.sizes.replacements.get(symbol, symbol).free_symbols), None)
    return "an unknown line"


def _who_fixed(size: Size) -> str:
    line = size.skeleton.rpartition(":")[2]
    by = {"both": f"by both, at {size.original} and skeleton {line}",
          "the original": f"by the original at {size.original}",
          "the skeleton": f"by the skeleton at line {line}"}[size.who]
    return f"dimension {size.axis} of input {size.tensor} fixed {by}"


def prove(model: torch.nn.Module, skeleton: torch.nn.Module, inputs: _inputs.Inputs,
          single: _inputs.Inputs | None = None, budget: float = BUDGET, varied: Varied | None = None) -> Proof:
    """The original and the skeleton, in eval mode and in train mode with gradients. varied: the dimensions that the
    model is known to take in other sizes; what did not stay free with all of them is tried with fewer."""
    flags = [(m, m.training) for side in (model, skeleton) for m in _check.modules_of(side)]
    try:
        with _as_it_was(model), _as_it_was(skeleton):
            return _prove(model, skeleton, inputs, single, budget, varied or {})
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


def _choices(inputs: _inputs.Inputs, varied: Varied) -> list[tuple[str, Free]]:
    """Which sizes are free together, from the most to the fewest."""
    batch, length = (frozenset((tensor, axis) for tensor, axis in varied.get(key, ()))
                     for key in ("other batch", "other length"))
    batch = batch or frozenset((number, 0) for number, t in enumerate(_inputs.tensors(inputs)))
    every = frozenset((number, i) for number, t in enumerate(_inputs.tensors(inputs)) for i, n in enumerate(t.shape)
                      if n > 1)
    named = (("all sizes", every), ("batch and length", batch | length), ("the batch", batch), ("the length", length))
    seen: list[frozenset[Dimension]] = []
    choices: list[tuple[str, Free]] = []
    for text, dims in named:
        if dims & every and dims & every not in seen:
            seen.append(dims & every)
            choices.append((text, (dims & every).__contains__))
    return choices or [("no size", lambda dimension: False)]


def _prove(model: torch.nn.Module, skeleton: torch.nn.Module, inputs: _inputs.Inputs, single: _inputs.Inputs | None,
           budget: float, varied: Varied) -> Proof:
    if different := _state_difference(model, skeleton):
        return Proof("wrong", (different,))
    wanted = {(tensor, axis) for dims in varied.values() for tensor, axis in dims}
    attempt = Attempt(model, skeleton, budget, wanted or {(0, 0), (0, 1)})
    reasons: list[str] = []
    claims: dict[str, list[str]] = {}  # text -> modes
    sizes: list[tuple[str, tuple[Size, ...]]] = []
    conditions: list[str] = []
    for training in (False, True):
        shown: set[Any] = set()
        for text, free in _choices(inputs, varied):
            useful = {d for d in wanted if free(d)} - shown
            if shown is not None and sizes and sizes[-1][0] == _mode(training) and not useful:
                continue
            answer = _tried(attempt, inputs, free, training)
            if isinstance(answer, Answer):
                return Proof("wrong", answer.evidence)
            if isinstance(answer, str):
                reasons.append(f"{text} free in {_mode(training)} mode: {answer}")
                continue
            claim, mode = answer
            shown |= {(size.tensor, size.axis) for size in claim.sizes if size.free}
            sizes.append((_mode(training), claim.sizes))
            conditions += [c for c in claim.conditions if c not in conditions]
            claims.setdefault(claim.text, []).append(mode)
    return _summed(attempt, single, claims, reasons, sizes, conditions)


def _mode(training: bool) -> str:
    return "train" if training else "eval"


def _tried(attempt: Attempt, inputs: _inputs.Inputs, free: Free, training: bool) -> tuple[Claim, str] | Answer | str:
    """In train mode with the backward; without it where that can't be run."""
    if training:
        answer = attempt.compared(inputs, free, True, True)
        if not isinstance(answer, str):
            return answer if isinstance(answer, Answer) else (answer, "train with gradients")
    answer = attempt.compared(inputs, free, training, False)
    return (answer, _mode(training)) if isinstance(answer, Claim) else answer


def _summed(attempt: Attempt, single: _inputs.Inputs | None, claims: dict[str, list[str]], reasons: list[str],
            sizes: list[tuple[str, tuple[Size, ...]]], conditions: list[str]) -> Proof:
    if not claims:
        return Proof("unknown", tuple(f"not provable with {reason}" for reason in reasons))
    texts = [f"{' and '.join(dict.fromkeys(modes))}, for every {text}" for text, modes in claims.items()]
    text = "same ATen calls in " + "; in ".join(texts)
    if single is not None:
        answer = attempt.compared(single, lambda dimension: True, False, False)
        if isinstance(answer, Answer):
            return Proof("wrong", answer.evidence)
        if isinstance(answer, Claim):
            text += f"; in eval with one sample too: {answer.text}"
    missing = [f"not proved in {mode} mode" for mode in ("eval", "train") if mode not in dict(sizes)]
    return Proof("proved", (text, *missing, *(f"not with {reason}" for reason in dict.fromkeys(reasons))), tuple(sizes),
                 tuple(conditions))


def _state_difference(model: torch.nn.Module, skeleton: torch.nn.Module) -> str | None:
    """The bits of everything in the state_dict."""
    have = skeleton.state_dict()
    for name, t in model.state_dict().items():
        if name not in have or (isinstance(t, torch.Tensor) and bits_of(t) != bits_of(have[name])):
            return f"{name} differs, or is missing"
    return None


def _place_of(error: BaseException) -> str:
    import traceback
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/torch/" not in f.filename
              and f.filename.rpartition("/")[2] not in ("_prove.py", "_prove_log.py")]
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}: " if frames else ""
