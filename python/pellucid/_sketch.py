"""The author's own source files, cut to what ran: read a library as if it held this one model."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence, overload

from ._given import given
from ._result import Result

if TYPE_CHECKING:
    import torch


@dataclass(repr=False)
class Sketch(Result):
    """One source file, cut to what ran."""

    path: str  # below the output folder: the layout of the import roots
    text: str
    lines: int
    kept: int

    def to_dict(self) -> dict[str, Any]:
        return {"file": self.path, "lines": self.lines, "kept": self.kept}

    def _summary(self) -> str:
        return f"{self.path}, {self.kept} of {self.lines} lines"

    def __str__(self) -> str:
        return self.text


class Sketches(Result, Sequence[Sketch]):
    """The files that took part in a call, in the order of their paths."""

    def __init__(self, files: list[Sketch]):
        self.files = files

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the files below a folder, in the layout of their packages."""
        for file in self.files:
            path = os.path.join(folder, file.path)
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(file.text)

    @overload
    def __getitem__(self, which: int) -> Sketch: ...

    @overload
    def __getitem__(self, which: slice) -> list[Sketch]: ...

    def __getitem__(self, which: int | slice) -> Sketch | list[Sketch]:
        return self.files[which]

    def __len__(self) -> int:
        return len(self.files)

    def to_dict(self) -> dict[str, Any]:
        return {"files": [file.to_dict() for file in self.files]}

    def _summary(self) -> str:
        kept, lines = sum(f.kept for f in self.files), sum(f.lines for f in self.files)
        return f"{len(self.files)} files, {kept} of {lines} lines"

    def __str__(self) -> str:
        return "\n".join(f"{f.kept:6} of {f.lines:6} lines  {f.path}" for f in self.files)


class LineTrace:
    """Lines of the author's files that run: not torch's, not the standard library's, not ours."""

    def __init__(self) -> None:
        import sysconfig

        import torch
        ours = os.path.dirname(os.path.abspath(__file__))
        self.foreign = tuple(os.path.abspath(p) + os.sep for p in (os.path.dirname(torch.__file__), ours))
        self.library = tuple({os.path.abspath(sysconfig.get_path(k)) + os.sep for k in ("stdlib", "platstdlib")})
        self.packages = tuple({os.path.abspath(sysconfig.get_path(k)) + os.sep for k in ("purelib", "platlib")})
        self.seen: dict[str, set[int]] = {}
        self._of_author: dict[str, bool] = {}

    def of_author(self, path: str) -> bool:
        known = self._of_author.get(path)
        if known is None:
            in_library = path.startswith(self.library) and not path.startswith(self.packages)
            known = os.path.isfile(path) and not in_library and not path.startswith(self.foreign)
            self._of_author[path] = known
        return known

    def _call(self, frame: Any, event: str, argument: Any) -> Any:
        path = frame.f_code.co_filename
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED or not self.of_author(path):
            return None  # the bodies of files and classes are shown whole, but for the functions in them
        lines = self.seen.setdefault(path, set())
        lines.add(frame.f_lineno)

        def line(frame: Any, event: str, argument: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return line

        return line

    def __enter__(self) -> LineTrace:
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)


def sketch(model: torch.nn.Module, args: Any = (), kwargs: dict[str, Any] | None = None,
           trace: LineTrace | None = None) -> Sketches:
    """Runs the model once and returns the files that took part.

    A trace in which the model was built shows what its construction executed; without one the constructors of its
    classes are kept whole."""
    import torch

    from . import _inputs
    from ._check import modules_of
    from ._state import ModelState, RandomState
    state, random = ModelState(model), RandomState()
    state.before_run(model.training)
    built = trace is not None
    trace = trace or LineTrace()
    try:
        positional, named = _inputs.copied(given(model, args, kwargs))
        ran = LineTrace()  # building a model imports half of its library: only files of the call are shown
        with torch.no_grad(), ran:
            model(*positional, **named)
    finally:
        state.restore()
        random.restore()
    for path, lines in ran.seen.items():
        trace.seen.setdefault(path, set()).update(lines)
    for cls in () if built else {base for m in modules_of(model) for base in type(m).__mro__}:
        init = vars(cls).get("__init__")
        code = getattr(init, "__code__", None)
        if code is not None and trace.of_author(code.co_filename):
            trace.seen.setdefault(code.co_filename, set()).update(n for *_, n in code.co_lines() if n)
    return Sketches([_sketch_of(path, trace.seen[path]) for path in sorted(ran.seen if built else trace.seen)])


def _sketch_of(path: str, ran: set[int]) -> Sketch:
    with open(path, encoding="utf-8") as file:
        source = file.read()
    text = cut(source, ran)
    return Sketch(_place(path), text, _count(source), _count(text))


def _place(path: str) -> str:
    """The path below the folder that Python imports it from."""
    roots = sorted((os.path.abspath(p) for p in sys.path if p), key=len, reverse=True)
    for root in roots:
        if path.startswith(root + os.sep):
            return os.path.relpath(path, root)
    return os.path.basename(path)


def _count(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _span(node: ast.stmt) -> range:
    """The lines of a statement, decorators included."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return range(first, (node.end_lineno or node.lineno) + 1)


class _Cut:
    """Which lines of a source go, and where `...` replaces them."""

    def __init__(self, ran: set[int]):
        self.ran = ran
        self.drop: set[int] = set()
        self.dots: dict[int, int] = {}  # line -> indentation

    def _runs(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.ClassDef):
            return any(self._runs(inner) for inner in node.body if isinstance(inner, _DEFINITIONS))
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        first = getattr(node, "body")[0].lineno if is_function else _span(node).start
        return not self.ran.isdisjoint(range(first, _span(node).stop))

    def body(self, statements: list[ast.stmt], of_file: bool) -> None:
        """of_file: the statements run when the file or class is made, so only definitions may go."""
        gone: list[ast.stmt] = []
        for node in statements:
            definition = isinstance(node, _DEFINITIONS)
            docstring = node is statements[0] and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if docstring or (of_file and not definition) or self._runs(node):
                self._replace(gone)
                gone = []
                self._inside(node, of_file and not definition)
            else:
                gone.append(node)
        self._replace(gone)

    def _inside(self, node: ast.stmt, of_file: bool) -> None:
        for part in ("body", "orelse", "finalbody"):
            inner = getattr(node, part, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                self.body(inner, of_file or isinstance(node, ast.ClassDef))
        for clause in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            self.body(clause.body, of_file)

    def _replace(self, gone: list[ast.stmt]) -> None:
        if gone:
            self.dots[_span(gone[0]).start] = gone[0].col_offset
        for node in gone:
            self.drop.update(_span(node))


def cut(source: str, ran: set[int]) -> str:
    """The source without functions, classes and statements of which no line ran; `...` replaces what went."""
    what = _Cut(ran)
    what.body(ast.parse(source).body, True)
    out: list[str] = []
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        is_third_blank = not line.strip() and len(out) > 1 and not out[-1].strip() and not out[-2].strip()
        if number in what.dots:
            out.append(" " * what.dots[number] + "...\n")
        elif number not in what.drop and not is_third_blank:
            out.append(line)
    return "".join(out)
