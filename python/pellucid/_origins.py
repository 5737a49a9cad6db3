"""Where the classes and functions of a skeleton are from: comments in it, and a table of lines.

A class or function of the output knows its original by the log: the file and line of the code that ran, the module and
name of the class. Files are said as a reader finds them again, from the root of their package on. The table pairs lines
of a function with lines of its original where both say the same: the same statement, or one that binds the same names.
"""

from __future__ import annotations

import ast
import difflib
import os
import sys
from dataclasses import dataclass
from typing import Any, Iterator, Mapping

FORMAT = "pellucid-map-1"
LEVELS = ("none", "line")
WIDTH = 120
Definition = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Place:
    """Where something was written: the file as it is said, and the syntax there."""

    file: str
    node: Any

    @property
    def said(self) -> str:
        return f"{self.file}:{self.node.lineno}"

    @property
    def doc(self) -> str:
        """The first sentence of what the author says of it."""
        paragraph = (ast.get_docstring(self.node) or "").strip().split("\n\n")[0]
        text = " ".join(paragraph.split())
        first = text.find(". ")
        return text if first < 0 else text[:first + 1]


def said_path(path: str) -> str:
    """The file from the root of its package on; one that is in no package by its name alone."""
    folder, name = os.path.split(os.path.abspath(path))
    while os.path.exists(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder, above = os.path.split(folder)
        name = f"{above}/{name}"
    return name


class Origins:
    """The originals of a skeleton's classes and functions, as far as their files are there."""

    def __init__(self, synthesis: Mapping[str, Any]):
        self._functions: Mapping[str, tuple[str, int]] = synthesis.get("origins", {})
        self._classes: Mapping[str, tuple[str, str]] = synthesis.get("class_origins", {})
        self._trees: dict[str, ast.Module | None] = {}

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            try:
                with open(path, encoding="utf-8") as file:
                    self._trees[path] = ast.parse(file.read())
            except (OSError, SyntaxError, ValueError):
                self._trees[path] = None
        return self._trees[path]

    def of_class(self, name: str) -> Place | None:
        module, qualname = self._classes.get(name, ("", ""))
        path = getattr(sys.modules.get(module), "__file__", None)
        tree = self._tree(path) if path else None
        node: Any = tree
        for part in qualname.split(".") if tree else ():
            if part == "<locals>":
                continue
            node = next((n for n in ast.walk(node) if isinstance(n, Definition) and n.name == part), None)
            if node is None:
                return None
        return Place(said_path(str(path)), node) if isinstance(node, ast.ClassDef) else None

    def of_function(self, name: str) -> Place | None:
        """`name`: with its class, if it is a method."""
        path, line = self._functions.get(name, ("", 0))
        tree = self._tree(path) if path else None
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, Definition) and line in (node.lineno, *(d.lineno for d in node.decorator_list)) \
                    and not isinstance(node, ast.ClassDef):
                return Place(said_path(path), node)
        return None


def with_origins(source: str, origins: Origins) -> str:
    """The source with a comment above each class and function that has an original: its place, and what it says."""
    lines = source.split("\n")
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.ClassDef):
            place = origins.of_class(node.name)
        elif isinstance(node, ast.FunctionDef):
            place = origins.of_function(node.name)
        else:
            continue
        if place is None:
            continue
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
        lines[first:first] = [f"# from {place.said}"] + ([_short(f"# {place.doc}")] if place.doc else [])
    text = "\n".join(lines)
    if ast.dump(ast.parse(text)) != ast.dump(ast.parse(source)):
        raise ValueError("comments changed the program")
    return text


def _short(line: str) -> str:
    return line if len(line) <= WIDTH else line[:WIDTH - 2].rpartition(" ")[0] + " …"


def line_map(source: str, origins: Origins) -> dict[str, Any]:
    """{"format", "definitions": [{"name", "lines", "file", "original", "pairs"}]}: `lines` and `original` are first and
    last lines, `pairs` those that say the same: [line of the skeleton, line of the original]."""
    rows = []
    for name, node in _definitions(ast.parse(source)):
        is_class = isinstance(node, ast.ClassDef)
        place = origins.of_class(name) if is_class else origins.of_function(name)
        if place is None:
            continue
        rows.append({"name": name, "lines": [node.lineno, node.end_lineno], "file": place.file,
                     "original": [place.node.lineno, place.node.end_lineno],
                     "pairs": [] if is_class else _pairs(node, place.node)})
    return {"format": FORMAT, "definitions": rows}


def _definitions(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    for node in tree.body:
        if not isinstance(node, Definition):
            continue
        yield node.name, node
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, Definition) and inner.name != "__init__":
                yield f"{node.name}.{inner.name}", inner


def _statements(function: Any) -> list[tuple[int, str, str]]:
    """Line, text and what is bound, of each statement within."""
    found = []
    for node in ast.walk(function):
        if not isinstance(node, ast.stmt) or node is function:
            continue
        if isinstance(node, (ast.If, ast.While)):
            key = text = f"{type(node).__name__} {ast.unparse(node.test)}"
        elif isinstance(node, (ast.For, ast.With, *Definition, ast.Try)):
            key = text = f"{type(node).__name__} {ast.unparse(getattr(node, 'target', ast.Pass()))}"
        else:
            text = ast.unparse(node)
            targets = node.targets if isinstance(node, ast.Assign) else (
                [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else [])
            key = " ".join(ast.unparse(t) for t in targets) if targets else (
                "return" if isinstance(node, ast.Return) else text)
        found.append((node.lineno, text, key))
    return sorted(found)


def _pairs(ours: Any, theirs: Any) -> list[list[int]]:
    a, b = _statements(ours), _statements(theirs)
    found: dict[int, int] = {}
    for column in (1, 2):  # equal texts first; between them, what binds the same names
        edges = [(-1, -1), *((i, j) for i, row in enumerate(a) for j, other in enumerate(b)
                             if found.get(row[0]) == other[0]), (len(a), len(b))]
        for (i, j), (k, m) in zip(edges, edges[1:]):
            left, right = a[i + 1:k], b[j + 1:m]
            matcher = difflib.SequenceMatcher(None, [r[column] for r in left], [r[column] for r in right], False)
            for block in matcher.get_matching_blocks():
                for n in range(block.size):
                    found.setdefault(left[block.a + n][0], right[block.b + n][0])
    return [[line, found[line]] for line in sorted(found)]
