"""Which expression of a configuration's fields a number is, judged by what it was in several builds of the model.

A number is a vector: its value in each build. Only fields that move it may be in the expression, all of them must be,
and it must hold in every build, to the last bit. The cheapest one is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, Union

Number = Union[int, float]
Vector = tuple[Number, ...]
CFG = "\0"  # the configuration, in the text of an expression
MAX_FIELDS = 4  # that one number may depend on
ADD, MULTIPLY, POWER, ATOM = range(4)  # how tight an expression holds together


@dataclass(frozen=True)
class Expression:
    text: str
    values: Vector
    cost: int
    fields: frozenset[str]
    level: int = ATOM

    def inside(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


def field_text(name: str) -> str:
    return f"{CFG}.{name}"


def _made(op: str, level: int, function: Callable[[Any, Any], Number], a: Expression, b: Expression
          ) -> Expression | None:
    try:
        values = tuple(function(x, y) for x, y in zip(a.values, b.values))
    except (ZeroDivisionError, OverflowError, ValueError, TypeError):
        return None
    text = f"{a.inside(level)} {op} {b.inside(level if op in '+*' else level + 1)}"
    return Expression(text, values, a.cost + b.cost + 1, a.fields | b.fields, level)


OPERATORS: tuple[tuple[str, int, Callable[[Any, Any], Number]], ...] = (
    ("*", MULTIPLY, lambda x, y: x * y), ("//", MULTIPLY, lambda x, y: x // y),
    ("+", ADD, lambda x, y: x + y), ("-", ADD, lambda x, y: x - y))


def _constant(value: Number, count: int) -> Expression:
    usual = value in (2, 3, 4, 8) or abs(value) == 1
    return Expression(repr(value), (value,) * count, 1 if usual else 2, frozenset(), ATOM if value >= 0 else ADD)


def _combined(left: Iterable[Expression], right: Iterable[Expression]) -> Iterator[Expression]:
    right = list(right)
    for a in left:
        for b in right:
            for op, level, function in OPERATORS:
                if op in "+*" and a.text > b.text:  # the same the other way round
                    continue
                if a.fields == b.fields and len(a.fields) == 1 and a.cost == b.cost == 1:
                    continue  # f + f, f // f
                found = _made(op, level, function, a, b)
                if found is not None:
                    yield found


class Fitter:
    """Expressions of fields, given what each field was in each build. strict: a line needs three points."""

    def __init__(self, fields: Mapping[str, Vector], strict: bool = True):
        self.fields, self.strict = dict(fields), strict
        self.count = len(next(iter(self.fields.values()), ()))
        self._tables: dict[frozenset[str], list[Expression]] = {}

    def fit(self, target: Vector, names: Iterable[str]) -> list[Expression]:
        """The cheapest expressions, all of equal cost, that are `target` in every build and have these fields."""
        wanted = frozenset(names)
        if not wanted or len(wanted) > MAX_FIELDS:
            return []
        found: dict[str, Expression] = {}
        for expression in self._candidates(target, wanted):
            if expression.fields == wanted and _same(expression.values, target):
                found.setdefault(expression.text, expression)
        if not found:
            return []
        least = min(e.cost for e in found.values())
        return [e for e in found.values() if e.cost == least]

    def _table(self, wanted: frozenset[str]) -> list[Expression]:
        """Combinations of all these fields without numbers, but for twice a field."""
        if wanted in self._tables:
            return self._tables[wanted]
        atoms = [Expression(field_text(name), self.fields[name], 1, frozenset([name])) for name in sorted(wanted)]
        two = _constant(2, self.count)
        doubled = [e for a in atoms if (e := _made("*", MULTIPLY, lambda x, y: x * y, two, a)) is not None]
        found = list(atoms)
        if len(wanted) > 1:
            pairs = _thinned(_combined(atoms, [*atoms, *doubled]))
            pairs = _thinned([*pairs, *_combined(doubled, atoms)])
            found += pairs
            if len(wanted) == 2:
                found += _combined(pairs, atoms)
            else:
                found += _combined(pairs, pairs)
                triples = _thinned([*_combined(pairs, atoms), *_combined(atoms, pairs)])
                found += triples
                if len(wanted) == 4:
                    found += _combined((t for t in triples if len(t.fields) == 3), atoms)
        table = _thinned(e for e in found if e.fields == wanted)
        self._tables[wanted] = table
        return table

    def _candidates(self, target: Vector, wanted: frozenset[str]) -> Iterator[Expression]:
        table = self._table(wanted)
        yield from self._plain(target, table)
        yield from self._lines(target, table)
        for inverse, text, function, cost in SHAPES:
            try:
                inner = tuple(inverse(t) for t in target)
            except (ValueError, ZeroDivisionError, OverflowError, TypeError):
                continue
            for e in self._plain(inner, table):
                if not _same(e.values, inner):
                    continue
                try:
                    values = tuple(function(x) for x in e.values)
                except (ValueError, ZeroDivisionError, OverflowError):
                    continue
                level = ADD if " + " in text or " - " in text else ATOM if text[0].isalpha() else POWER
                tight = e.text if "({})" in text else e.inside(ATOM)
                yield Expression(text.format(tight), values, e.cost + cost, e.fields, level)
        if any(isinstance(v, float) for name in wanted for v in self.fields[name]):
            for e in table:  # a share of something, cut to a whole number
                if all(isinstance(t, int) for t in target):
                    try:
                        yield Expression(f"int({e.text})", tuple(int(v) for v in e.values), e.cost + 1, e.fields)
                    except (ValueError, OverflowError):
                        continue

    def _plain(self, target: Vector, table: Sequence[Expression]) -> Iterator[Expression]:
        """The table's expressions, times, over, plus or minus a number that the first build decides."""
        whole = all(isinstance(t, int) for t in target)
        first = target[0]
        for e in table:
            if _same(e.values, target):
                yield e
                continue
            base = e.values[0]
            if not whole or not isinstance(base, int):
                if isinstance(first, float) and base and (first / base) in (0.5, 0.25, 2.0, 4.0):
                    yield from self._with(e, "*", first / base)
                continue
            if base and first % base == 0 and abs(first // base) > 1:
                yield from self._with(e, "*", first // base)
            if first and base % first == 0 and base // first > 1:
                yield from self._with(e, "//", base // first)
            if base % 2 and base // 2 == first:  # half of an odd kernel_size
                yield from self._with(e, "//", 2)
            if base > 0 and first > 1:
                yield from self._under(int(first) * base, e)
            yield from self._with(e, "+", first - base) if first > base else self._with(e, "-", base - first)
            for extra in (1, 2, -1, -2):  # of a multiple
                if base and (first - extra) % base == 0 and (first - extra) // base > 1:
                    for times in self._with(e, "*", (first - extra) // base):
                        yield from self._with(times, "+" if extra > 0 else "-", abs(extra))

    def _lines(self, target: Vector, table: Sequence[Expression]) -> Iterator[Expression]:
        """A multiple of the table's expressions and a number more or less, both decided by two builds. Any two are on
        a line, so it counts only if there is a third, which `fit` compares; not strict: as long as there is none."""
        for e in table:
            if not all(isinstance(v, int) for v in (*e.values, *target)):
                continue
            other = next((i for i, v in enumerate(e.values) if v != e.values[0]), None)
            if other is None or (self.strict and len(set(e.values)) < 3):
                continue
            factor, rest = divmod(target[other] - target[0], e.values[other] - e.values[0])
            if rest or factor < 2:
                continue
            for times in self._with(e, "*", factor):
                extra = target[0] - times.values[0]
                yield from self._with(times, "+" if extra > 0 else "-", abs(extra))

    def _with(self, e: Expression, op: str, number: Number) -> Iterator[Expression]:
        if not number:
            return
        level, function = next((level, f) for sign, level, f in OPERATORS if sign == op)
        constant = _constant(number, self.count)
        pair = (constant, e) if op == "*" else (e, constant)
        found = _made(op, level, function, *pair)
        if found is not None:
            yield found

    def _under(self, number: int, e: Expression) -> Iterator[Expression]:
        found = _made("//", MULTIPLY, lambda x, y: x // y, _constant(number, self.count), e)
        if found is not None:
            yield found


def _root(t: Number) -> int:
    if not isinstance(t, int) or t < 0 or math.isqrt(t) ** 2 != t:
        raise ValueError
    return math.isqrt(t)


def _whole(t: float) -> int:
    if not math.isfinite(t) or round(t) < 1:
        raise ValueError
    return round(t)


def _half(t: Number) -> int:
    if not isinstance(t, int) or t % 2 == 0:
        raise ValueError
    return (t + 1) // 2


def _float(t: Number) -> float:
    if not isinstance(t, float):
        raise TypeError
    return t


# What is around an expression: how to undo it, how it is written, what it does, what it costs.
SHAPES: tuple[tuple[Callable[[Any], Number], str, Callable[[Any], Number], int], ...] = (
    (_root, "{}**2", lambda x: x**2, 1),
    (lambda t: _root(t - 1), "{}**2 + 1", lambda x: x**2 + 1, 3),
    (lambda t: _root(t - 2), "{}**2 + 2", lambda x: x**2 + 2, 3),
    (_half, "2 * {} - 1", lambda x: 2 * x - 1, 3),
    (lambda t: _half(_root(t)), "(2 * {} - 1)**2", lambda x: (2 * x - 1)**2, 4),
    (lambda t: _whole(_float(t)**-2), "{}**-0.5", lambda x: x**-0.5, 1),
    (lambda t: _whole(_float(t)**2), "math.sqrt({})", math.sqrt, 2),
    (lambda t: _whole(_float(t)**-2), "1 / math.sqrt({})", lambda x: 1 / math.sqrt(x), 3),
    (lambda t: _whole(_float(t)), "float({})", float, 1),
)


def _same(a: Vector, b: Vector) -> bool:
    return len(a) == len(b) and all(type(x) is type(y) and x == y for x, y in zip(a, b))


def _thinned(expressions: Iterable[Expression]) -> list[Expression]:
    """The cheapest of those that have the same fields and were the same in every build."""
    best: dict[tuple[Any, ...], Expression] = {}
    for e in expressions:
        key = (e.fields, e.values)
        if key not in best or e.cost < best[key].cost:
            best[key] = e
    return list(best.values())
