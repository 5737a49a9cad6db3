"""Skeletons of several methods: `methods={"encode_image": image, "encode_text": ids}`.

What is recorded is a module of ours that holds the model and calls the method that it is asked for. In the skeleton its
forward is written anew, so that it calls the methods that are there, and as such it is compared. The file that is
handed out is the same text without this class.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping

from ._pellucid import Error

if TYPE_CHECKING:
    import torch

    from ._refusals import Inputs
    from ._skeleton import Skeleton

NAME = "Calls"
HELD = "model"
_numbers = itertools.count(1)


@dataclass
class Branch:
    """Calls of a method with the same arguments given. `parameters`: of our forward, for the author's own; `words`:
    which of them are given by name."""

    method: str
    label: str
    parameters: dict[str, str]
    words: tuple[str, ...]
    values: list[dict[str, Any]] = field(default_factory=list)  # of each call, by the author's parameters

    def constant(self, name: str) -> str | None:
        """The literal that all calls gave; None: it is no constant."""
        texts = {repr(row[name]) for row in self.values if isinstance(row[name], (bool, int, float, str, type(None)))}
        return texts.pop() if len(texts) == 1 else None

    def text(self, known: set[str] | None = None) -> list[str]:
        """The lines that make the call. known: the parameters that the method has; others had one value each."""
        lines = []
        parts = []
        for name, ours in self.parameters.items():
            if known is not None and name not in known:
                if (literal := self.constant(name)) is not None:
                    test = f"is {literal}" if literal in ("None", "True", "False") else f"== {literal}"
                    lines.append(f'assert {ours} {test}, "not recorded with this argument"')
                continue
            parts.append(f"{name}={ours}" if name in self.words else ours)
        called = f"self.{HELD}" if self.method == "forward" else f"self.{HELD}.{self.method}"
        return [f"if method == {self.label!r}:", *(f"    {line}" for line in lines),
                f"    return {called}({', '.join(parts)})"]


class Methods:
    """Calls of methods of one model, and the module that makes them."""

    def __init__(self, model: torch.nn.Module, calls: list[tuple[str, Inputs]]):
        self.model = model
        self.branches: dict[tuple[Any, ...], Branch] = {}
        self.inputs: list[Inputs] = [self._input(method, *inputs) for method, inputs in calls]
        self.module = self._made()

    def _input(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
        """The call as our forward gets it."""
        function = getattr(self.model, method, None)
        if not callable(function):
            raise TypeError(f"{type(self.model).__name__} has no method {method!r}")
        signature = inspect.signature(function)
        bound = signature.bind(*args, **kwargs)  # a TypeError says what is wrong with them
        row: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                row.update({f"{name}_{i}": item for i, item in enumerate(value)})
            elif kind is inspect.Parameter.VAR_KEYWORD:
                row.update(value)
            else:
                row[name] = value
        words = tuple(name for name in row if name in kwargs)
        key = method, tuple(row), words
        if key not in self.branches:
            label = method if all(k[0] != method for k in self.branches) else f"{method} {len(self.branches) + 1}"
            ours = {name: re.sub(r"\W", "_", f"{label}_{name}") for name in row}
            self.branches[key] = Branch(method, label, ours, words)
        branch = self.branches[key]
        branch.values.append(row)
        return (), {"method": branch.label, **{branch.parameters[name]: value for name, value in row.items()}}

    def _forward(self, known: Mapping[str, set[str]] | None = None) -> list[str]:
        """The lines of our forward; known: the parameters that the skeleton's methods have."""
        parameters = [f"{ours}=None" for branch in self.branches.values() for ours in branch.parameters.values()]
        lines = [f"def forward(self, {', '.join(['method', *parameters])}):"]
        for branch in self.branches.values():
            some = None if known is None else known[branch.method]
            lines += [f"    {line}" for line in branch.text(some)]
        return [*lines, "    raise ValueError(method)"]

    def _made(self) -> torch.nn.Module:
        """A live one. Its source is where the recorder looks for it."""
        lines = ["from torch import nn", "", "", f"class {NAME}(nn.Module):", f"    def __init__(self, {HELD}):",
                 "        super().__init__()", f"        self.{HELD} = {HELD}", "",
                 *(f"    {line}" for line in self._forward()), ""]
        source = "\n".join(lines)
        path = f"<calls of methods {next(_numbers)}>"
        space: dict[str, Any] = {"__name__": "pellucid._methods"}
        linecache.cache[path] = (len(source), None, source.splitlines(True), path)
        exec(compile(source, path, "exec"), space)
        made: torch.nn.Module = space[NAME](self.model)
        made.training = self.model.training
        return made

    def others(self) -> list[Inputs]:
        """The first call of each method, but for the very first."""
        seen = {self.inputs[0][1]["method"]}
        found = []
        for inputs in self.inputs:
            if inputs[1]["method"] not in seen:
                seen.add(inputs[1]["method"])
                found.append(inputs)
        return found

    # ---- the skeleton's text ----

    def called_directly(self, source: str, root: str) -> str:
        """The text in which our forward calls the methods that are there, whatever was written instead."""
        tree = ast.parse(source)
        own = _class_of(tree, root)
        forward = next(n for n in own.body if isinstance(n, ast.FunctionDef) and n.name == "forward")
        held = self._held(own)
        known = {branch.method: _parameters(tree, held, branch.method) for branch in self.branches.values()}
        lines = source.split("\n")
        lines[forward.lineno - 1:forward.end_lineno] = [f"    {line}" for line in self._forward(known)]
        return "\n".join(lines)

    @staticmethod
    def _held(own: ast.ClassDef) -> str:
        """The class of the model in the text; it must be made without arguments, for it is what is handed out."""
        for node in ast.walk(own):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == f"self.{HELD}" and isinstance(
                    node.value, ast.Call) and isinstance(node.value.func, ast.Name):
                if not node.value.args and not node.value.keywords:
                    return node.value.func.id
        raise Error("the model's class can't be made without arguments")

    def appended(self, source: str, root: str) -> tuple[str, str]:
        """A file that was handed out, with our class again, and the class's name."""
        tree = ast.parse(source)
        name = next(n for n in (NAME, f"{NAME}_", f"{NAME}__") if n not in
                    {c.name for c in ast.walk(tree) if isinstance(c, ast.ClassDef)})
        known = {branch.method: _parameters(tree, root, branch.method) for branch in self.branches.values()}
        lines = ["", "", f"class {name}(nn.Module):", "    def __init__(self):", "        super().__init__()",
                 f"        self.{HELD} = {root}()", "", *(f"    {line}" for line in self._forward(known)), ""]
        return source.rstrip("\n") + "\n" + "\n".join(lines), name

    def handed_out(self, made: Skeleton) -> None:
        """The skeleton becomes that of the model: our class goes, its names with it."""
        from ._contract import with_contract
        from ._tree import tree as tree_of
        from ._verify import with_verdict
        tree = ast.parse(made.source)
        own = _class_of(tree, made.root)
        held = self._held(own)
        lines = made.source.split("\n")
        first = own.lineno - 1
        while first and not lines[first - 1].strip():
            first -= 1
        lines[first:own.end_lineno] = []
        text = "\n".join(lines)
        head = len(re.match(r"(?:#.*\n)*", text).group())  # type: ignore[union-attr]
        header = re.sub(rf"\b{re.escape(made.root)}\b", held, text[:head])
        made.source, made.root, made.model = header + text[head:], held, self.model
        made.report.methods = list(dict.fromkeys(branch.method for branch in self.branches.values()))
        if made.report.runs:
            made.source = with_contract(with_verdict(made.source, made.report.verdict), made.report, held)
        made.tree = tree_of(self.model).with_source(made.source)
        made.given, made.calls = [], []


def _class_of(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)


def _parameters(tree: ast.Module, name: str, method: str) -> set[str]:
    """Of the method of that class, or of those of the file that it inherits from."""
    todo = [name]
    while todo:
        kind = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == todo[0]), None)
        todo.pop(0)
        for node in kind.body if kind is not None else ():
            if isinstance(node, ast.FunctionDef) and node.name == method:
                a = node.args
                return {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
        todo += [base.id for base in (kind.bases if kind is not None else ()) if isinstance(base, ast.Name)]
    raise Error(f"{name} has no method {method} in the skeleton: what it does is written where it was called")


def several_of(model: Any, methods: Any, first: Inputs) -> Methods:
    """`methods`: {name: inputs, or a list of inputs}, or pairs (name, inputs). `first`: what forward gets; empty where
    that is not called."""
    import torch

    from ._workshop import as_inputs
    from ._wrappers import unwrapped
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"a skeleton is made of a torch.nn.Module, not of {type(model).__name__}")
    calls: list[tuple[str, Inputs]] = [("forward", first)] if any(first) else []
    pairs = methods.items() if isinstance(methods, Mapping) else methods
    for name, item in pairs:
        calls += [(name, as_inputs(each)) for each in (item if isinstance(item, list) else [item])]
    if not calls:
        raise ValueError("methods are {name: inputs, or a list of inputs}, and there is none")
    return Methods(unwrapped(model)[0], calls)
