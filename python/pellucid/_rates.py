"""Rows of rates: what blocks of a deep network are left out with, from 0 on in equal steps.

An author writes one formula (`torch.linspace(0, 0.1, 12)`); a run shows eleven numbers of sixteen digits. The formula
is taken only if it gives every number of the row, bit by bit. write/rates.c writes it.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator

DIGITS = 14  # of a number that nobody wrote
MOST = 400  # steps of a row
FEWEST = 2  # computed numbers that a row explains
LAST = (*(k / 10 for k in range(1, 10)), *(k / 100 for k in range(5, 100, 10)), *(k / 100 for k in range(1, 100)))


def is_computed(value: float) -> bool:
    return len(repr(value).partition("e")[0].replace(".", "").lstrip("0")) >= DIGITS


def forms(last: float, steps: int) -> Iterator[tuple[str, Callable[[], list[float]]]]:
    """How authors write a row that ends with `last` after so many steps; %s is how many numbers are needed."""
    import torch
    yield f"[{last!r} * i / {steps} for i in range(%s)]", lambda: [last * i / steps for i in range(steps + 1)]
    yield f"[{last!r} / {steps} * i for i in range(%s)]", lambda: [last / steps * i for i in range(steps + 1)]
    yield f"[{last!r} * (i / {steps}) for i in range(%s)]", lambda: [last * (i / steps) for i in range(steps + 1)]
    yield (f'torch.linspace(0, {last!r}, {steps + 1}, device="cpu").tolist()',
           lambda: torch.linspace(0, last, steps + 1, device="cpu", dtype=torch.float32).tolist())


def formula(values: set[float]) -> tuple[str, list[float]] | None:
    """The formula of a row that has all these numbers, and the row."""
    most = max(values)
    for last in dict.fromkeys(LAST):
        if last < most * (1 - 1e-6):
            continue
        for steps in range(2, MOST):
            places = [v * steps / last for v in values]
            if any(abs(place - round(place)) > 1e-4 for place in places):
                continue
            for text, row in forms(last, steps):
                numbers = row()
                if values <= set(numbers):
                    count = numbers.index(most) + 1
                    return (text % count if "%s" in text else text), numbers[:count]
    return None


def known_rates(model: Any) -> list[str]:
    """The first row among attributes of one name, for write/rates.c: "rates", the formula, its numbers, a line each."""
    import torch
    from ._check import modules_of
    if torch.get_default_dtype() != torch.float32:
        return []
    found: dict[str, set[float]] = {}
    for part in modules_of(model):
        for name, value in vars(part).items():
            if type(value) is float and 0 < value < 1:
                found.setdefault(name, set()).add(value)
    for values in found.values():
        if sum(map(is_computed, values)) >= FEWEST:
            row = formula(values)
            if row is not None:
                return [f"rates\n{row[0]}\n{row[1]!r}"]
    return []
