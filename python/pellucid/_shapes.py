"""Shapes in the comments of a skeleton: what its own runs showed, in all of them.

The skeleton runs on the inputs that were recorded, and each of its lines is watched. A size that is the same in all
runs is a number. One that is not is a symbol, if a symbol has that value every time: what the author unpacked
(`B, N, C = x.shape`), a size of the model's inputs (B; T; H, W), a number that the module keeps, or a size that the
function was given (small letters). Otherwise it is `*`."""

from __future__ import annotations

import ast
import contextlib
import sys
import textwrap
import types
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

LEVELS = ("none", "few", "all")
WIDTH = 120
KEPT = 4000  # rows of one line
LARGEST = 1 << 22  # numbers of an input that is doubled
SCALES = (2, 3, 4, 6, 8, 16, 32, 64)
# Calls after which a reader asks for the shape.
RESHAPING = frozenset("""view reshape permute transpose flatten unflatten movedim swapaxes unsqueeze squeeze expand
    repeat repeat_interleave cat stack unbind chunk split matmul bmm baddbmm einsum scaled_dot_product_attention pad
    unfold fold interpolate gather index_select meshgrid arange tile roll pixel_shuffle pixel_unshuffle mT T""".split())
Shape = tuple[int, ...]
Env = dict[str, int]
Inputs = tuple[tuple[Any, ...], dict[str, Any]]
Function = ast.FunctionDef


@dataclass
class Row:
    """What one line, or a parameter, had in one activation. `env`: what sizes are called there."""

    shape: Shape
    env: Env
    activation: int


@dataclass
class Place:
    """Where a comment may go. `kind`: input, value, named (one of several), each or return. `name`: of the parameter or
    of the one value."""

    line: int
    kind: str
    wanted: bool  # by few
    name: str = ""
    rows: list[Row] = field(default_factory=list)
    mixed: bool = False  # once it was no tensor, or there were too many rows


# ---- watching ----

class Watch:
    """The lines of one file's functions, with what they made; other frames are not entered."""

    def __init__(self, source: str, path: str):
        self.path, self.roles = path, Env()
        self.functions: dict[int, Function] = {}
        self.statements: dict[int, dict[int, ast.stmt]] = {}
        self.places: dict[tuple[int, str], Place] = {}
        self.of_function: dict[int, list[Place]] = {}
        self.activations = 0
        self.outermost = 0  # the activation of the root's forward; 0: it comes next
        for function in _functions(ast.parse(source)):
            first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
            self.functions[first] = function
            self.statements[first] = {line: statement for statement in _simple(function)
                                      for line in range(statement.lineno, (statement.end_lineno or 0) + 1)}

    def _place(self, first: int, line: int, kind: str, name: str, wanted: bool) -> Place:
        key = (line, name or kind)
        if key not in self.places:
            self.places[key] = Place(line, kind, wanted, name)
            self.of_function.setdefault(first, []).append(self.places[key])
        return self.places[key]

    def __call__(self, frame: types.FrameType, event: str, _: Any) -> Any:
        first = frame.f_code.co_firstlineno
        if frame.f_code.co_filename != self.path or first not in self.functions:
            return None
        self.activations += 1
        self.outermost = self.outermost or self.activations
        return self._of_frame(frame, first, self.activations)

    def _of_frame(self, frame: types.FrameType, first: int, number: int) -> Callable[..., Any]:
        """The tracer of one activation: a line is done when the next one begins."""
        function, statements = self.functions[first], self.statements[first]
        last: list[ast.stmt | None] = [None]
        inputs = self._note_inputs(frame, first, number)

        def trace(frame: types.FrameType, event: str, value: Any) -> Any:
            if event == "exception":
                last[0] = None
            elif event == "line":
                found = statements.get(frame.f_lineno)
                if found is None or found is not last[0] or frame.f_lineno == found.lineno:
                    self._finish(frame, first, number, last[0])
                    last[0] = found
            elif event == "return" and isinstance(last[0], ast.Return):
                wanted = function.name == "forward" or _reshapes(last[0].value)
                self._note(self._place(first, last[0].end_lineno or 0, "return", "", wanted), value, frame, number)
            elif event == "return":
                self._finish(frame, first, number, last[0])
            if event == "return":  # what the author unpacked names the inputs, too; the root's bind the roles
                once = _bound_once(function)
                for row in inputs:
                    own = {n: v for n, v in frame.f_locals.items() if n in once and n != "_" and _is_size(v)}
                    row.env = {**row.env, **own} if number == self.outermost else {**own, **row.env}
            return trace

        return trace

    def forget(self, activation: int) -> None:
        """Drops what was noted after this activation: of a run that failed."""
        for place in self.places.values():
            place.rows = [row for row in place.rows if row.activation <= activation]

    def _note_inputs(self, frame: types.FrameType, first: int, number: int) -> list[Row]:
        function, rows = self.functions[first], []
        line = function.body[0].lineno - 1
        for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
            if arg.arg != "self":
                place = self._place(first, line, "input", arg.arg, True)
                before = len(place.rows)
                self._note(place, frame.f_locals.get(arg.arg), frame, number)
                rows += place.rows[before:]
        return rows

    def _finish(self, frame: types.FrameType, first: int, number: int, done: ast.stmt | None) -> None:
        if not isinstance(done, ast.Assign) or len(done.targets) != 1:
            return
        target, line, wanted = done.targets[0], done.end_lineno or 0, _reshapes(done.value)
        if isinstance(target, ast.Name):
            self._note(self._place(first, line, "value", "", wanted), frame.f_locals.get(target.id), frame, number)
        elif isinstance(target, ast.Tuple) and all(isinstance(e, ast.Name) for e in target.elts):
            values = {e.id: frame.f_locals.get(e.id) for e in target.elts if isinstance(e, ast.Name) and e.id != "_"}
            shapes = {tuple(getattr(v, "shape", ("none",))) for v in values.values()}
            if len(values) == 1:
                name, value = next(iter(values.items()))
                self._note(self._place(first, line, "named", name, wanted), value, frame, number)
            elif len(values) == len(target.elts):
                value = next(iter(values.values())) if len(shapes) == 1 else None
                self._note(self._place(first, line, "each", "", wanted), value, frame, number)

    def _note(self, place: Place, value: Any, frame: types.FrameType, number: int) -> None:
        import torch
        if not isinstance(value, torch.Tensor) or value.is_nested or len(place.rows) == KEPT:
            place.mixed = True
            return
        place.rows.append(Row(tuple(value.shape), self._env(frame), number))

    def _env(self, frame: types.FrameType) -> Env:
        """What sizes are called here. The author's own names come first; a role of that name is then none."""
        own = {name: value for name, value in frame.f_locals.items() if _is_size(value) and name != "_"}
        me = getattr(frame.f_locals.get("self"), "__dict__", {})
        kept = {f"self.{name}": value for name, value in me.items() if _is_size(value)}
        taken = set(frame.f_code.co_varnames)
        return {**own, **{name: value for name, value in self.roles.items() if name not in taken}, **kept}


def _functions(tree: ast.Module) -> Iterator[Function]:
    for node in tree.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef) and inner.name != "__init__":
                yield inner


def _simple(function: Function) -> Iterator[ast.stmt]:
    """Statements without a body of their own, not those of functions inside it."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node
        else:
            todo += [child for child in ast.iter_child_nodes(node)
                     if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case))]


def _is_size(value: Any) -> bool:
    return type(value) is int and value > 0


def _bound_once(function: Function) -> set[str]:
    """Names of the function that one place of it binds, outside of loops."""
    loops = {id(n) for loop in ast.walk(function) if isinstance(loop, (ast.For, ast.While)) for n in ast.walk(loop)}
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return {n.id for n in names if sum(o.id == n.id for o in names) == 1 and id(n) not in loops}


def _reshapes(value: ast.expr | None) -> bool:
    for node in ast.walk(value) if value is not None else ():
        if isinstance(node, ast.Attribute) and node.attr in RESHAPING:
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return True
    return False


@contextlib.contextmanager
def _traced(watch: Watch) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


# ---- names of sizes ----

def roles_of(varied: dict[str, list[tuple[int, int]]], runs: list[list[Any]]) -> list[Env]:
    """What the sizes of the model's inputs are called, run by run: B; H and W of pictures; T, S, U of the rest. Two
    that are always equal have one name."""
    places = [(place, ["B"]) for place in varied.get("other batch", ())]
    for number, dim in varied.get("other length", ()):
        ndim = runs[0][number].ndim if number < len(runs[0]) else 0
        pictured = ndim >= 4 and dim >= ndim - 2
        places.append(((number, dim), ["HW"[dim - ndim]] if pictured else ["T", "S", "U"]))
    found: dict[str, list[int]] = {}
    for (number, dim), names in places:
        if any(number >= len(run) or dim >= run[number].ndim for run in runs):
            continue
        values = [run[number].shape[dim] for run in runs]
        name = next((name for name in names if found.get(name, values) == values), None)
        if name is not None and values not in found.values():
            found[name] = values
    return [{name: values[i] for name, values in found.items()} for i in range(len(runs))]


def _named(rows: list[Row], dim: int, local: dict[str, dict[int, int]]) -> str:
    """The size of one dimension: a number, a symbol or an expression that is right in every row, or `*`."""
    values = [row.shape[dim] for row in rows]
    if len(set(values)) == 1:
        return str(values[0])
    envs = [{**row.env, **{name: of[row.activation] for name, of in local.items() if row.activation in of}}
            for row in rows]
    names = [name for name in envs[0] if all(name in env for env in envs)]
    names = [name for name in names if len({env[name] for env in envs}) > 1]
    for name in names:
        if all(env[name] == v for env, v in zip(envs, values)):
            return name.removeprefix("self.")
    for name in names:
        at = [env[name] for env in envs]
        for k in SCALES:
            if all(n == k * v for n, v in zip(at, values)):
                return f"{name.removeprefix('self.')}/{k}"
        if values[0] % at[0] == 0 and all(v == values[0] // at[0] * n for n, v in zip(at, values)):
            return f"{values[0] // at[0]}*{name.removeprefix('self.')}"
        if all(v - n == values[0] - at[0] for n, v in zip(at, values)) and 0 < values[0] - at[0] <= 16:
            return f"{name.removeprefix('self.')}+{values[0] - at[0]}"
    for i, name in enumerate(names):
        for other in names[i + 1:]:
            if all(env[name] * env[other] == v for env, v in zip(envs, values)):
                return f"{name.removeprefix('self.')}*{other.removeprefix('self.')}"
    return "*"


def _letter(dim: int, ndim: int, used: set[str]) -> str:
    """A size that the function was given and that nothing names: a small letter by its place."""
    letters = "bchw" if ndim == 4 else "btd" if ndim == 3 else "bcdhw" if ndim == 5 else "mnkl"
    wanted = letters[dim] if dim < len(letters) else "n"
    others: list[str] = [wanted, *"nmkpqrsuvxyz", *(f"{wanted}{i}" for i in range(1, 99))]
    return next(letter for letter in others if letter not in used)


def _lettered(place: Place, sizes: list[str], local: dict[str, dict[int, int]], used: set[str]) -> None:
    """Gives letters to the sizes of an input that have no name. local: letter -> activation -> size."""
    ndim = len(sizes)
    for dim in range(ndim):
        of = {row.activation: row.shape[dim] for row in place.rows}
        if sizes[dim] == "*" and len(of) == len(place.rows):
            sizes[dim] = _letter(dim, ndim, used | set(local) | set(place.rows[0].env))
            local[sizes[dim]] = of
            for later in range(dim + 1, ndim):  # the same size again
                sizes[later] = _named(place.rows, later, local) if sizes[later] == "*" else sizes[later]


# ---- the text ----

def _is_shown(place: Place, sizes: list[str], level: str) -> bool:
    tells = any(size[:1].isdigit() or size[:1].isupper() for size in sizes if size != "B")
    return level == "all" or (place.wanted and tells and "*" not in sizes)


def _texts(places: list[Place], names: set[str], level: str) -> Iterator[tuple[Place, str]]:
    """What is written at the places of one function, in the order of its lines. names: that its text has. A letter is
    used only after the comment that has it."""
    local: dict[str, dict[int, int]] = {}
    given = ""
    for place in sorted(places, key=lambda p: p.line):
        if place.mixed or not place.rows or len({len(row.shape) for row in place.rows}) != 1:
            continue
        sizes = [_named(place.rows, dim, local) for dim in range(len(place.rows[0].shape))]
        letters = dict(local)
        if place.kind == "input":
            _lettered(place, sizes, letters, names)
        if not _is_shown(place, sizes, level):
            continue
        local = letters
        text = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"
        if level == "few" and place.kind == "return" and text == given:
            continue
        given = given or text if place.kind == "input" else given
        yield place, f"{place.name}: {text}" if place.name else f"each {text}" if place.kind == "each" else text


def _fits(line: str, text: str) -> bool:
    return line.rstrip()[-1:] not in ("", "\\") and "#" not in line and len(line) + len(text) + 4 <= WIDTH


def _written(lines: list[str], function: Function, texts: list[tuple[Place, str]]) -> Iterator[tuple[int, list[str]]]:
    """line -> what it becomes. Comments at the ends of lines, not where one would be too long or the line goes on. What
    the function is given always has room, in a line of its own if it must: other comments use its letters."""
    inputs = [text for place, text in texts if place.kind == "input"]
    first = function.body[0].lineno - 1
    if inputs and _fits(lines[first - 1], ", ".join(inputs)):
        yield first, [f"{lines[first - 1]}  # {', '.join(inputs)}"]
    elif inputs:
        before = " " * function.body[0].col_offset + "# "
        rows = textwrap.wrap("\0".join(text.replace(" ", "\1") for text in inputs).replace("\0", ", "), WIDTH,
                             initial_indent=before, subsequent_indent=before, break_long_words=False)
        yield first, [lines[first - 1], *(row.replace("\1", " ") for row in rows)]
    for place, text in texts:
        if place.kind != "input" and _fits(lines[place.line - 1], text):
            yield place.line, [f"{lines[place.line - 1]}  # {text}"]


def with_shapes(source: str, watch: Watch, level: str) -> str:
    """The source with comments."""
    lines = source.split("\n")
    made = [[line] for line in lines]
    for first, places in watch.of_function.items():
        function = watch.functions[first]
        names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
        for line, rows in _written(lines, function, list(_texts(places, names, level))):
            made[line - 1] = rows
    text = "\n".join(row for rows in made for row in rows)
    if ast.dump(ast.parse(text)) != ast.dump(ast.parse(source)):
        raise ValueError("comments changed the program")
    return text


def watched(source: str, root: str, state: dict[str, Any], calls: list[tuple[Inputs, bool]],
            varied: dict[str, list[tuple[int, int]]]) -> Watch:
    """The skeleton's own runs on these inputs, without gradients, each of a new module."""
    from . import _check, _inputs
    path = f"<shapes of {root} {id(state):x}>"
    watch = Watch(source, path)
    space = vars(_check.load_source(source, f"pellucid_shapes_{id(state):x}", path))
    doubled = [(run, calls[0][1]) for run in _doubled(calls[0][0], varied)]
    every = [*calls, *doubled]
    for number, roles in enumerate(roles_of(varied, [_inputs.tensors(run) for run, _ in every])):
        run, training = every[number]
        module = space[root]()
        module.load_state_dict(state, strict=True)
        module.train(training)
        watch.roles, watch.outermost = roles, 0
        before = watch.activations
        try:
            _watched_run(watch, module, run)
        except Exception:
            if number < len(calls):
                raise
            watch.forget(before)  # nobody said that the model takes this length
    return watch


def _watched_run(watch: Watch, module: Any, run: Inputs) -> None:
    import torch

    from . import _check, _inputs
    from ._verify import SEED
    args, kwargs = _inputs.copied(run)
    _check.seed_all(SEED)
    with torch.no_grad(), _traced(watch):
        module(*args, **kwargs)


def _doubled(run: Inputs, varied: dict[str, list[tuple[int, int]]]) -> list[Inputs]:
    """The first run with all lengths doubled. Recorded lengths lie close together: after strides, they are often equal,
    and what follows the input would look like a number."""
    from . import _inputs
    tensors = _inputs.tensors(run)
    parts: dict[int, Any] = {}
    for number, dim in varied.get("other length", ()):
        if number < len(tensors) and dim < tensors[number].ndim:
            tensor = parts.get(number, tensors[number])
            parts[number] = _inputs.resized(tensor, dim, 2 * tensor.shape[dim], 19)
    if not parts or sum(t.numel() for t in parts.values()) > LARGEST:
        return []
    return [_inputs.with_parts(run, parts)]
