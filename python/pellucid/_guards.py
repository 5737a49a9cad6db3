"""Assertions at the top of a written forward, and which function a line of a text is in."""

from __future__ import annotations

import ast
import inspect
import json
from typing import Any, Sequence


def _forward_of(source: str, root: str) -> Any:
    """The root's own forward, as a node; None if it inherits one."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == root:
            return next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "forward"), None)
    return None


def with_guards(source: str, root: str, guards: dict[str, str]) -> tuple[str, int] | None:
    """The source with assertions before the first statement of the root's forward, and the line of the first; None if
    it has no forward of its own."""
    forward = _forward_of(source, root) if guards else None
    if forward is None:
        return None
    first = forward.body[0]
    lines = source.split("\n")
    margin = " " * first.col_offset
    lines[first.lineno - 1:first.lineno - 1] = [f"{margin}assert {condition}, {_quoted(text)}"
                                                for condition, text in guards.items()]
    return "\n".join(lines), first.lineno


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def signature_of_forward(source: str, root: str) -> Any:
    """The parameters of the root's forward without self; None if it has no forward of its own."""
    forward = _forward_of(source, root)
    if forward is None:
        return None
    kinds = inspect.Parameter
    a = forward.args
    plain = (*a.posonlyargs, *a.args)[1:]
    rows: list[tuple[Any, Any]] = [(arg, kinds.POSITIONAL_OR_KEYWORD) for arg in plain]
    rows += [(a.vararg, kinds.VAR_POSITIONAL)] * bool(a.vararg)
    rows += [(arg, kinds.KEYWORD_ONLY) for arg in a.kwonlyargs]
    rows += [(a.kwarg, kinds.VAR_KEYWORD)] * bool(a.kwarg)
    return inspect.Signature([kinds(arg.arg, kind) for arg, kind in rows])


def function_at(source: str, line: int) -> str | None:
    """The name of the function, with its class, whose text has this line."""
    return _function_at(ast.parse(source).body, line)


def _function_at(body: Sequence[Any], line: int, prefix: str = "") -> str | None:
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.ClassDef):
            return _function_at(node.body, line, f"{node.name}.")
        return prefix + node.name
    return None
