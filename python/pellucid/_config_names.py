"""What an author has a name for is written once: `self.head_dim = hidden_size // num_heads` names an expression, and
where it comes again the configuration has a property of that name."""

from __future__ import annotations

import ast
import dataclasses
import re
from typing import TYPE_CHECKING, Container, Sequence

from ._config_fit import ATOM, CFG, Expression, field_text

if TYPE_CHECKING:
    from ._config_join import Hole

TIMES = 2  # as often an expression must stand somewhere


def with_names(holes: Sequence[Hole], tree: ast.Module, taken: Container[str]) -> dict[str, str]:
    """Gives names to expressions of several fields that the text sets as an attribute, in all holes. The names with
    their expressions; none is `taken`."""
    from ._config_join import node_at
    named: dict[str, str] = {}
    made: dict[str, Expression] = {}
    for hole in holes:
        if hole.kind != "number" or hole.expression is None or len(hole.expression.fields) < 2:
            continue
        node, above = node_at(tree, hole.path)
        if not (isinstance(above, ast.Assign) and above.value is node and len(above.targets) == 1):
            continue
        target, text = above.targets[0], hole.expression.text
        if not isinstance(target, ast.Attribute) or target.attr in taken or text in named.values():
            continue
        if named.get(target.attr, text) != text:
            continue  # two classes mean two things by it
        if sum(_replaced(h.expression.text, text, "") != h.expression.text for h in holes if h.expression) >= TIMES:
            named[target.attr], made[target.attr] = text, hole.expression
    for hole in holes:
        for name, text in named.items():
            if hole.expression is not None:
                found = _replaced(_divided_first(hole.expression, made[name]), text, field_text(name))
                level = ATOM if found == field_text(name) else hole.expression.level
                hole.expression = dataclasses.replace(hole.expression, text=found, level=level)
    return named


def _divided_first(whole: Expression, part: Expression) -> str:
    """groups * width // heads  ->  width // heads * groups, where that was the same in every build: an author who has a
    name for the quotient means this."""
    factor = whole.text.removesuffix(f" * {part.text}")
    if factor == whole.text or " " in factor or " // " not in part.text or part.text.count(" ") != 2:
        return whole.text
    same = all(isinstance(w, int) and p and not w % p for w, p in zip(whole.values, part.values))
    return f"{part.text} * {factor}" if same else whole.text


def _replaced(text: str, part: str, name: str) -> str:
    """The text with the name for the part, where that is an operand of its own."""
    if text == part:
        return name
    if text.startswith(part + " * "):  # (a // b) * c
        return name + text[len(part):]
    text = re.sub(rf"(?<=\w)\({re.escape(part)}\)", lambda _: f"({name})", text)  # of a call
    return re.sub(rf"(?<!\w)\({re.escape(part)}\)", lambda _: name, text)


def properties(named: dict[str, str]) -> list[str]:
    """The lines of the class that define them."""
    lines: list[str] = []
    for name, text in named.items():
        lines += ["", "    @property", f"    def {name}(self):", f"        return {text.replace(CFG, 'self')}"]
    return lines


def fields_read(named: dict[str, str]) -> set[str]:
    return {name for text in named.values() for name in re.findall(rf"{CFG}\.(\w+)", text)}
