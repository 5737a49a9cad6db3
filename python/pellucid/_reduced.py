"""`--device meta`, values: the same program in a size that can run.

A model that was recorded without values is built again with smaller numbers in its configuration: fewer layers, then
narrower ones. If the skeleton of the small one is the same text but for numbers and for how often equal items of a
list are repeated, the small one, with values, is compared bit by bit as any other skeleton is. What this shows is said
of the small model alone.
"""

from __future__ import annotations

import ast
import time
from typing import Any, Callable, Iterator

from ._config import _inputs_resized, _quiet, _runs, _with_paragraph, body_of
from ._config_fields import Family, family_of
from ._contract import with_contract
from ._refusals import Inputs
from ._skeleton import Skeleton, skeleton
from ._specs import Subject

DEPTHS = (2, 3, 4, 6, 8, 12)  # layers that a small model may have
DIVISORS = (1024, 512, 256, 128, 64, 32, 16, 8, 4, 2)  # of wide numbers
WIDE = 64  # from here on a number may be a width
LARGEST = 60_000_000  # parameters of a small model
BUDGET = 40.0  # seconds of CPU for finding one
LIKELY = ("layer", "depth", "block")  # in the names of fields that are tried first; trying decides


def with_values_at_reduced_size(made: Skeleton, subject: Subject, again: Callable[[], Subject],
                                progress: Callable[[str], None] = lambda text: None) -> str:
    """Adds what a small model shows to the header. `again` makes the subject once more. The answer in words."""
    from ._meta import without_weights
    progress("the same in a small size, with values")
    with _quiet(), without_weights():
        family = family_of(subject, again)
    text = _said(made, subject, family) if family is not None and family.fields else (
        "not compared at a reduced size: nothing says how the model is built smaller")
    made.source = with_contract(_with_paragraph(made.source, f"Values: {text}"), made.report, made.root)
    return text


def _said(made: Skeleton, subject: Subject, family: Family) -> str:
    from ._meta import without_weights
    end = time.process_time() + BUDGET
    why = "no smaller configuration could be built and run"
    with _quiet():
        with without_weights():
            depth = dict(_depths(family))
        for changes in _smaller(family, depth):
            if time.process_time() > end:
                why += f"; {BUDGET:.0f} s were over"
                break
            found = _built(subject, family, changes)
            if found is None:
                continue
            small, inputs = found
            other = _text(small, inputs, False)
            if other is None or not alike(made.source, other.source):
                why = f"the skeleton of the model with {_shown(changes)} is another text"
                continue
            other = _text(small, inputs, True)
            if other is None or not other.report.good or not alike(made.source, other.source):
                why = f"the skeleton of the model with {_shown(changes)} is not equal to it"
                continue
            made.report.reduced = {"changes": changes, **other.report.to_dict()["contract"]}
            return (f"compared at a reduced size alone. The model with {_shown(changes)} has this text with other "
                    f"numbers, and that text is, against that model: {other.report.verdict}")
    return f"not compared at a reduced size: {why}"


def _shown(changes: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in changes.items())


def _depths(family: Family) -> Iterator[tuple[str, int]]:
    """Fields that say how many modules there are: with a small one there are fewer."""
    fields = [(name, n) for name, n in family.fields.items() if type(n) is int and DEPTHS[0] < n < 1000]
    fields.sort(key=lambda field: not any(word in field[0] for word in LIKELY))
    found: dict[str, Any] = {}
    count = sum(1 for _ in family.build({}).model.modules())
    for name, n in fields:
        try:
            here = sum(1 for _ in family.build({**found, name: DEPTHS[0]}).model.modules())
        except Exception:
            continue
        if here < count:
            count, found[name] = here, DEPTHS[0]
            yield name, n


def _smaller(family: Family, depth: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Configurations, the smallest first. All widths shrink together, so that what divides them still does."""
    for layers in DEPTHS:
        for divisor in DIVISORS:
            changes: dict[str, Any] = {name: min(n, layers) for name, n in depth.items()}
            changes.update({name: n // divisor for name, n in family.fields.items()
                            if type(n) is int and name not in depth and n >= WIDE * divisor and n % divisor == 0})
            yield changes


def _built(subject: Subject, family: Family, changes: dict[str, Any]) -> tuple[Subject, Inputs] | None:
    """The model with values and inputs that it takes; None if it can't be had, or is still too large."""
    import torch

    from ._meta import without_weights
    try:
        with without_weights():
            count = sum(p.numel() for p in family.build(changes).model.parameters())
        if count > LARGEST:
            return None
        torch.manual_seed(0)
        small = family.build(changes)
    except Exception:
        return None
    small.model.train(subject.model.training)
    return next(((small, inputs) for inputs in _inputs_of(subject, small, family, changes)
                 if _runs(small.model, inputs)), None)


def _inputs_of(subject: Subject, small: Subject, family: Family, changes: dict[str, Any]) -> Iterator[Inputs]:
    given: Inputs = (subject.args, subject.kwargs)
    try:
        if (guessed := small.guess()) is not None:
            yield guessed
    except Exception:
        pass  # it says nothing of its inputs
    yield given
    sizes = {family.fields[name]: value for name, value in changes.items()}
    if (other := _inputs_resized(given, sizes)) is not None:
        yield other


def _text(small: Subject, inputs: Inputs, verified: bool) -> Skeleton | None:
    try:
        return skeleton(small.model, *inputs, strict=False, verify=verified, progress=False)
    except Exception:
        return None


# ---- texts but for numbers ----

class _WithoutNumbers(ast.NodeTransformer):
    """Numbers are one number; equal items that follow each other in a list, and [x] * n, are one item."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        is_number = isinstance(node.value, (int, float, complex)) and not isinstance(node.value, bool)
        return ast.Constant(0) if is_number else node

    def visit_List(self, node: ast.List) -> ast.AST:
        items = [self.visit(item) for item in node.elts]
        texts = [ast.dump(item) for item in items]
        node.elts = [item for i, item in enumerate(items) if i == 0 or texts[i] != texts[i - 1]]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        is_repeated = isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) and isinstance(
            node.right, ast.Constant)
        return node.left if is_repeated else node


def alike(one: str, other: str) -> bool:
    """Whether two skeletons are the same program but for numbers and lengths of lists."""
    return len({ast.dump(_WithoutNumbers().visit(ast.parse(body_of(text)))) for text in (one, other)}) == 1
