"""pellucid.diff: what differs between two skeletons, class by class.

Names that differ only because the families are named differently (LlamaMLP, Qwen3MLP) are one name. Then texts are
compared: what is equal, what differs in its sizes alone, what only one of the two has, and the lines of the rest."""

from __future__ import annotations

import ast
import difflib
import os
import re
from dataclasses import dataclass, field
from typing import Any, Iterator

from ._pellucid import Error, format_source
from ._result import Result

SAME, SIZES, DIFFERENT, ONLY_A, ONLY_B = "same", "sizes", "different", "only in A", "only in B"
ALIKE = 0.6  # of the lines of two parts that have no name in common: less is another thing

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color-scheme: light dark }}
pre {{ font-size: 13px; overflow-x: auto }} p, summary {{ margin: .2em 0 }}
.plus {{ background: #2da44e33 }} .minus {{ background: #cf222e33 }}
</style></head><body><h1>{title}</h1><p>{summary}</p>
{rows}
</body></html>
"""


class DiffError(Error, ValueError):
    """A file that is no Python source, or that defines nothing."""


@dataclass
class Part:
    """A class or function of both files, or of one. `lines`: what differs, as diff shows it, in the names of A."""

    kind: str
    a: str | None
    b: str | None
    lines: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "a": self.a, "b": self.b, "lines": self.lines}


@dataclass(repr=False)
class Difference(Result):
    """`parts` in the order of the first file; what only the second has comes where it is in that one."""

    a: str
    b: str
    parts: list[Part]
    renamed: dict[str, str]  # names of B -> of A

    @property
    def same(self) -> bool:
        return all(part.kind == SAME for part in self.parts)

    def counts(self) -> dict[str, int]:
        return {kind: n for kind in (SAME, SIZES, DIFFERENT, ONLY_A, ONLY_B)
                if (n := sum(part.kind == kind for part in self.parts))}

    def to_dict(self) -> dict[str, Any]:
        return {"a": self.a, "b": self.b, "same": self.same, "counts": self.counts(),
                "parts": [part.to_dict() for part in self.parts], "renamed": self.renamed}

    def html(self) -> str:
        """A page: a row for each part, to open where something differs."""
        from html import escape
        colours = {"+": "plus", "-": "minus"}
        rows = []
        for part in self.parts:
            name = escape(" = ".join(dict.fromkeys(n for n in (part.a, part.b) if n)))
            lines = "".join(f'<div class="{colours.get(line[:1], "")}">{escape(line) or " "}</div>'
                            for line in part.lines)
            rows.append(f"<details{' open' * (part.kind == DIFFERENT)}><summary><b>{name}</b> {part.kind}</summary>"
                        f"<pre>{lines}</pre></details>" if lines else f"<p><b>{name}</b> {part.kind}</p>")
        return PAGE.format(title=escape(f"{self.a} and {self.b}"), summary=escape(self._summary()),
                           rows="\n".join(rows))

    def _summary(self) -> str:
        counts = ", ".join(f"{n} {kind}" for kind, n in self.counts().items())
        return f"{self.a} and {self.b}: " + ("the same" if self.same else counts)

    def __str__(self) -> str:
        rows = [f"--- {self.a}", f"+++ {self.b}"]
        for part in self.parts:
            names = part.a or part.b or ""
            both = f"{part.a} = {part.b}" if part.a and part.b and part.a != part.b else names
            words = {SAME: "same", SIZES: "same but for sizes"}.get(part.kind, part.kind)
            rows += ["", f"@@ {both}: {words}", *part.lines] if part.lines else [f"@@ {both}: {words}"]
        return "\n".join([*rows, "", self._summary()])


def diff(a: str | os.PathLike[str], b: str | os.PathLike[str], *, name_a: str | None = None,
         name_b: str | None = None) -> Difference:
    """What differs between two skeletons: files, or sources (which have more than one line).

    Comments, headers and the order of classes are no difference. Parts belong together by name, then by name without
    what the two families are called, then by their text."""
    texts = [_text_of(each) for each in (a, b)]
    names = [name or (os.fspath(each) if path else letter) for (_, path), name, each, letter
             in zip(texts, (name_a, name_b), (a, b), "AB")]
    sides = [_parts_of(text, name) for (text, _), name in zip(texts, names)]
    pairs = _pairs(*sides)
    renamed = {of_b: of_a for of_a, of_b in pairs if of_a and of_b and of_a != of_b}
    parts = [_compared(of_a, of_b, sides, renamed) for of_a, of_b in pairs]
    return Difference(names[0], names[1], parts, renamed)


def _text_of(given: str | os.PathLike[str]) -> tuple[str, bool]:
    """The source, and whether it is a file's."""
    if isinstance(given, str) and "\n" in given:
        return given, False
    with open(given, encoding="utf-8") as file:
        return file.read(), True


def _parts_of(text: str, name: str) -> dict[str, ast.stmt]:
    """Classes and functions by name, and variables of the file; imports are no part."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        raise DiffError(f"{name}: {error}") from None
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            found[_line_of(node)] = node
    if not any(isinstance(node, ast.ClassDef) for node in found.values()):
        raise DiffError(f"{name}: it defines no class")
    return found


def _line_of(node: ast.stmt) -> str:
    """A statement of the file that defines no name is known by its text."""
    return " ".join(ast.unparse(node).split())


# ---- which belongs to which ----

def _pairs(a: dict[str, ast.stmt], b: dict[str, ast.stmt]) -> list[tuple[str | None, str | None]]:
    """In the order of A; what B alone has comes after what is before it in B."""
    of_b = {name: name for name in a if name in b}
    short_a, short_b = (_short_names(side) for side in (a, b))
    for name in a:
        key = short_a[name]
        if name not in of_b and key in short_b.values():
            other = next((n for n in b if short_b[n] == key and n not in of_b.values()), None)
            if other is not None and type(a[name]) is type(b[other]):
                of_b[name] = other
    for name, other in _alike({n: a[n] for n in a if n not in of_b},
                              {n: b[n] for n in b if n not in of_b.values()}):
        of_b[name] = other
    rows: list[tuple[str | None, str | None]] = [(name, of_b.get(name)) for name in a]
    last = 0
    at = {other: i for i, (_, other) in enumerate(rows) if other}
    for name in b:
        if name in at:
            last = at[name] + 1
            continue
        rows.insert(last, (None, name))
        at = {other: i for i, (_, other) in enumerate(rows) if other}
        last += 1
    return rows


def _short_names(side: dict[str, ast.stmt]) -> dict[str, str]:
    """Names without what most of the file's classes begin with: the name of the family."""
    classes = [name for name, node in side.items() if isinstance(node, ast.ClassDef)]
    first = [re.findall(r"[A-Z]+(?![a-z])\d*|[A-Z][a-z\d]*|[a-z\d_]+", name) for name in classes]
    counts: dict[str, int] = {}
    for words in first:
        for n in range(1, len(words)):
            head = "".join(words[:n])
            counts[head] = counts.get(head, 0) + 1
    best = max(counts, key=lambda head: (counts[head], len(head)), default="")
    family = best if counts.get(best, 0) >= 2 else ""
    tail = (side and classes and classes[-1]) or ""
    if not tail.startswith(family):
        family = ""

    def short(name: str) -> str:
        if family and name.startswith(family) and name != family:
            return name[len(family):]
        low = family.lower()
        return name.replace(low, "", 1) if low and low in name and name.islower() else name

    return {name: short(name) for name in side}


def _alike(a: dict[str, ast.stmt], b: dict[str, ast.stmt]) -> Iterator[tuple[str, str]]:
    """Parts whose texts are near each other, the nearest first. A part has one partner."""
    rows: list[tuple[float, int, str, str]] = []
    for name, node in a.items():
        lines = ast.unparse(node).split("\n")[1:]
        for other, there in b.items():
            if type(node) is not type(there):
                continue
            near = difflib.SequenceMatcher(None, lines, ast.unparse(there).split("\n")[1:]).ratio()
            if near >= ALIKE and lines:
                rows.append((-near, len(rows), name, other))
    used: set[str] = set()
    for _, _, name, other in sorted(rows):
        if "a" + name not in used and "b" + other not in used:
            used |= {"a" + name, "b" + other}
            yield name, other


# ---- what differs in a pair ----

def _compared(a: str | None, b: str | None, sides: list[dict[str, ast.stmt]], renamed: dict[str, str]) -> Part:
    if a is None or b is None:
        node = sides[1][b] if b else sides[0][a or ""]
        sign = "+" if b else "-"
        text = _text(node, renamed if b else {})
        return Part(ONLY_B if b else ONLY_A, a, b, [f"{sign}{line}" for line in text.split("\n")])
    nodes = sides[0][a], sides[1][b]
    texts = _text(nodes[0], {}), _text(nodes[1], renamed)
    if texts[0] == texts[1]:
        return Part(SAME, a, b)
    found = difflib.unified_diff(texts[0].split("\n"), texts[1].split("\n"), lineterm="", n=1)
    lines = [line for line in found if not line.startswith(("---", "+++", "@@"))]
    kind = SIZES if _without_sizes(nodes[0], {}) == _without_sizes(nodes[1], renamed) else DIFFERENT
    return Part(kind, a, b, lines)


def _text(node: ast.stmt, renamed: dict[str, str]) -> str:
    """As pellucid writes it, without comments, in the names of A. Attributes and strings are no names of the file."""
    copy = ast.parse(ast.unparse(node))
    for part in ast.walk(copy):
        if isinstance(part, ast.Name):
            part.id = renamed.get(part.id, part.id)
        elif part in copy.body and isinstance(part, (ast.ClassDef, ast.FunctionDef)):
            part.name = renamed.get(part.name, part.name)
    return format_source(ast.unparse(copy)).strip("\n")


def _without_sizes(node: ast.stmt, renamed: dict[str, str]) -> str:
    """The text with a blank for each number of a constructor, and for what its parameters give: how wide a layer is
    does not make it another layer. Classes alone have sizes."""
    text = _text(node, renamed)
    if not isinstance(node, ast.ClassDef):
        return text
    copy = ast.parse(text).body[0]
    assert isinstance(copy, ast.ClassDef)
    for part in copy.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            own = {arg.arg for arg in (*part.args.args, *part.args.kwonlyargs)} - {"self"}
            part.args = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            part.body = [statement for statement in part.body if not _keeps_parameter(statement, own)] or [ast.Pass()]
            part.body = [Blank(own).visit(statement) for statement in part.body]
    return ast.unparse(ast.fix_missing_locations(copy))


def _keeps_parameter(statement: ast.stmt, own: set[str]) -> bool:
    """self.dim = dim: which parameters there are follows from which sizes differ inside one model."""
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name) and statement.value.id in own


class Blank(ast.NodeTransformer):
    """Numbers, and expressions of numbers and parameters, become `_`. Arguments of the file's own classes that are
    nothing else go: another class with the same layers takes another number of them."""

    def __init__(self, own: set[str]):
        self.own = own

    def is_size(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return type(node.value) in (int, float)
        if isinstance(node, ast.Name):
            return node.id in self.own
        if isinstance(node, ast.BinOp):
            return self.is_size(node.left) and self.is_size(node.right)
        if isinstance(node, ast.UnaryOp):
            return self.is_size(node.operand)
        return isinstance(node, ast.Tuple) and all(map(self.is_size, node.elts))

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and self.is_size(node):
            return ast.Name("_", ast.Load())
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and not node.keywords and all(map(self.is_size, node.args)):
            node.args = []
        return self.generic_visit(node)
