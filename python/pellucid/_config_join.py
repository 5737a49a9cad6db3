"""Skeletons of one model in several sizes become one text with a Config.

    python -m pellucid._config_join < FILE        of a file of texts, see `read_builds`

The texts are compared as trees. Where numbers differ is a hole. A hole becomes the expression of the fields that move
it (`_config_fit`). A field is kept only if all holes that it moves have an expression and can be given the
configuration; otherwise it stays the number that it was, everywhere.
"""

from __future__ import annotations

import ast
import copy
import itertools
import math
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Mapping, Sequence, Union, cast

from ._config_fit import CFG, Expression, Fitter, Number, POWER, Vector
from ._config_names import fields_read, properties, with_names

Step = Union[str, int]
Path = tuple[Step, ...]
Values = Mapping[str, Number]
WIDTH = 120


class Mismatch(Exception):
    """Two texts differ in more than numbers."""


class Broken(Exception):
    """A text that was written is not sound: a fault of ours."""


@dataclass
class Build:
    """A model in another size: what the fields were, and its skeleton. fixed: items of lists that did not change in any
    build, beside others that did."""

    values: dict[str, Number]
    text: str
    fixed: dict[str, Number] = field(default_factory=dict)


@dataclass
class Hole:
    path: Path
    kind: str  # "number", "run" (equal items in a row), "keyword" (an argument that the first text leaves out)
    value: Number
    name: str = ""  # of the keyword
    expression: Expression | None = None
    moved_by: tuple[str, ...] = ()
    where: str = ""


@dataclass
class Joined:
    """`source` has the Config; without any field it is the first text as it was."""

    source: str
    fields: dict[str, Number]
    dropped: dict[str, str]
    holes: list[Hole] = field(default_factory=list)
    config: str = "Config"

    def dump(self) -> str:
        rows = [f"{hole.where}: {hole.value!r} = {_shown(hole)}" for hole in self.holes]
        rows += [f"field {name} = {value!r}" for name, value in self.fields.items()]
        return "\n".join([*rows, *(f"no field {name}: {why}" for name, why in self.dropped.items())])


def _shown(hole: Hole) -> str:
    return hole.expression.text.replace(CFG, "cfg") if hole.expression is not None else "?"


def place_in(tree: ast.Module, path: Path) -> str:
    """Class and method of a number, and what it is a part of."""
    found: list[Any] = [tree]
    for step in path:
        found.append(getattr(found[-1], step) if isinstance(step, str) else found[-1][step])
    names = [n.name for n in found if isinstance(n, (ast.ClassDef, ast.FunctionDef))]
    statement = next((n for n in reversed(found) if isinstance(n, ast.stmt)), None)
    whole = next((n for n in reversed(found[:-1]) if isinstance(n, (ast.Call, ast.Compare))), statement)
    return f"{'.'.join(names)}, {_short(whole)}" if whole is not None else ".".join(names)


# ---- comparing ----

def constant(node: Any) -> Number | None:
    """The number that an expression of numbers is."""
    if isinstance(node, ast.Constant):
        value: Any = node.value
        return value if type(value) in (int, float) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp):
        left, right = constant(node.left), constant(node.right)
        if left is None or right is None:
            return None
        try:
            return _computed(node.op, left, right)
        except (ZeroDivisionError, OverflowError, ValueError):
            return None
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "math.sqrt" and len(node.args) == 1:
        inner = constant(node.args[0])
        return math.sqrt(inner) if inner is not None and inner >= 0 else None
    return None


def _computed(op: ast.operator, a: Number, b: Number) -> Number | None:
    if isinstance(op, ast.Add):
        return a + b
    if isinstance(op, ast.Sub):
        return a - b
    if isinstance(op, ast.Mult):
        return a * b
    if isinstance(op, ast.Div):
        return a / b
    if isinstance(op, ast.FloorDiv):
        return a // b
    if isinstance(op, ast.Pow) and abs(a) < 1e6 and abs(b) < 64:
        found = a**b
        return found if isinstance(found, (int, float)) else None
    return None


def placed(tree: Any) -> Any:
    """The tree, in which each node knows its path: some are moved before trees are compared."""
    todo: list[tuple[Any, Path]] = [(tree, ())]
    while todo:
        node, path = todo.pop()
        if isinstance(node, ast.AST):
            node.place = path  # type: ignore[attr-defined]
            todo += [(getattr(node, name, None), (*path, name)) for name in node._fields]
        elif isinstance(node, list):
            todo += [(item, (*path, i)) for i, item in enumerate(node)]
    return tree


def contracted(tree: Any) -> Any:
    """The tree without names that one statement makes and the next alone reads: whether a skeleton has them may depend
    on how long a line would be, and that on a number."""
    for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
        changed = True
        while changed:
            changed = any(_contract(block, function) for block in _blocks(function))
    return tree


def _blocks(node: ast.AST) -> Iterator[list[Any]]:
    for inner in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(inner, name, None)
            if isinstance(block, list):
                yield block


def _reads(node: ast.AST, name: str) -> list[ast.Name]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]


def _contract(block: list[Any], function: ast.FunctionDef) -> bool:
    for i, (first, second) in enumerate(zip(block, block[1:])):
        if not (isinstance(first, ast.Assign) and len(first.targets) == 1 and isinstance(first.targets[0], ast.Name)):
            continue
        name = first.targets[0].id
        if not isinstance(second, (ast.Assign, ast.Return, ast.Expr)) or len(_reads(second, name)) != 1:
            continue
        stored = isinstance(second, ast.Assign) and any(
            isinstance(n, ast.Name) and n.id == name for t in second.targets for n in ast.walk(t))
        if not stored and len(_reads(function, name)) != 1:
            continue
        block[i + 1] = _Replace(_reads(second, name)[0], first.value).visit(second)
        del block[i]
        return True
    return False


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else super().visit(node)


class Comparison:
    """What `other` has where `base` has something else: numbers, or Mismatch."""

    def __init__(self, base: Any, other: Any):
        self.found: dict[tuple[Path, str, str], tuple[Number, Number]] = {}
        self._compare(contracted(placed(copy.deepcopy(base))), contracted(copy.deepcopy(other)), ())

    def _note(self, path: Path, kind: str, a: Number, b: Number, name: str = "") -> None:
        self.found[path, kind, name] = a, b

    def _compare(self, a: Any, b: Any, path: Path) -> None:
        path = getattr(a, "place", path)
        x, y = constant(a), constant(b)
        if x is not None and y is not None:
            if type(x) is not type(y):
                raise Mismatch(f"{x!r} is {y!r} there")
            if x != y:
                self._note(path, "number", x, y)
            return
        if isinstance(a, ast.AST) and isinstance(b, ast.AST):
            if isinstance(a, ast.ListComp) and isinstance(b, ast.List):
                self._unrolled(a, b, path)
                return
            if type(a) is not type(b):
                raise Mismatch(f"line {getattr(a, 'lineno', '?')}: {_short(a)} is {_short(b)} there")
            if isinstance(a, ast.Call):
                self._call(a, b, path)
            elif isinstance(a, ast.List):
                self._items(a.elts, cast(ast.List, b).elts, (*path, "elts"))
            else:
                for name in a._fields:
                    self._compare(getattr(a, name, None), getattr(b, name, None), (*path, name))
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                where = a[0] if a else b[0] if b else None
                raise Mismatch(f"line {getattr(where, 'lineno', '?')}: {len(a)} parts are {len(b)} there")
            for i, (p, q) in enumerate(zip(a, b)):
                self._compare(p, q, (*path, i))
        elif type(a) is not type(b) or a != b:
            raise Mismatch(f"{a!r} is {b!r} there"[:80])

    def _items(self, a: list[Any], b: list[Any], path: Path) -> None:
        """Items of a list, or arguments. If their numbers differ, the only reason may be that an item which is
        repeated in a row is repeated more or less often."""
        if len(a) == len(b):
            self._compare(a, b, path)
            return
        here, there = runs_of(a), runs_of(b)
        if not a or len(here) != len(there):
            where = (a or b)[0]
            raise Mismatch(f"line {getattr(where, 'lineno', '?')}: {len(a)} parts are {len(b)} there")
        for (first, count), (other, times) in zip(here, there):
            for i in range(count):
                self._compare(a[first + i], b[other], (*path, first + i))
            if count != times:
                self._note((*path, first), "run", count, times)

    def _unrolled(self, a: ast.ListComp, b: ast.List, path: Path) -> None:
        """A list whose items are written out there: each must be the same, but for numbers that are alike in all."""
        count, items = counted(a), len(b.elts)
        if count is None or not items:
            raise Mismatch(f"line {a.lineno}: {_short(a)} is {_short(b)} there")
        before = dict(self.found)
        seen = []
        for i, item in enumerate(b.elts):
            self.found = {}
            self._compare(_item(a, i), item, path)
            seen.append(self.found)
        self.found = {**before, **seen[0]}
        if any(row != seen[0] for row in seen):
            raise Mismatch(f"line {a.lineno}: items of a list differ")
        if items != count:
            self._note(a.generators[0].iter.args[0].place, "number", count, items)  # type: ignore[attr-defined]

    def _call(self, a: ast.Call, b: Any, path: Path) -> None:
        """Arguments that one of them leaves out are what torch gives them by default."""
        self._compare(a.func, b.func, (*path, "func"))
        self._items(a.args, b.args, (*path, "args"))
        here, there = ({k.arg: (i, k.value) for i, k in enumerate(c.keywords)} for c in (a, b))
        for name in dict.fromkeys([*here, *there]):
            p, q = here.get(name), there.get(name)
            if p is not None and q is not None:
                self._compare(p[1], q[1], (*path, "keywords", p[0], "value"))
                continue
            default = default_of(a.func, name)
            given = constant((p or q or (0, None))[1])
            if default is None or given is None or type(default) is not type(given):
                raise Mismatch(f"line {a.lineno}: {name} is given in one of them alone")
            if p is not None:
                self._note((*path, "keywords", p[0], "value"), "number", given, default)
            elif default != given:
                self._note(path, "keyword", default, given, str(name))


def counted(node: Any) -> int | None:
    """How many items [… for i in range(n)] has."""
    if not isinstance(node, ast.ListComp) or len(node.generators) != 1:
        return None
    loop = node.generators[0]
    is_range = isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "range" and len(loop.iter.args) == 1
    if not is_range or loop.ifs or not isinstance(loop.target, ast.Name):
        return None
    count = constant(loop.iter.args[0])  # type: ignore[attr-defined]
    return count if isinstance(count, int) else None


def _item(node: ast.ListComp, number: int) -> Any:
    target: Any = node.generators[0].target
    item = copy.deepcopy(node.elt)
    for read in _reads(item, target.id):
        item = _Replace(read, ast.Constant(number)).visit(item)
    return item


def rolled(base: str, other: ast.Module) -> str:
    """The text with lists as `other` counts them, where their items are the same: two are written out, three not."""
    tree = ast.parse(base)
    editor = Editor(base)

    def look(a: Any, b: Any) -> None:
        if isinstance(a, ast.List) and counted(b) and len(a.elts) > 1:
            if all(ast.dump(_item(b, i)) == ast.dump(item) for i, item in enumerate(a.elts)):
                b = copy.deepcopy(b)
                b.generators[0].iter.args[0] = ast.Constant(len(a.elts))
                editor.replace(editor.start(a), editor.end(a), ast.unparse(b))
        elif isinstance(a, ast.AST) and type(a) is type(b):
            for name in a._fields:
                look(getattr(a, name, None), getattr(b, name, None))
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            for p, q in zip(a, b):
                look(p, q)

    look(tree, other)
    return editor.result() if editor.changes else base


def runs_of(items: Sequence[ast.AST]) -> list[tuple[int, int]]:
    """Where equal items begin, and how many there are in a row."""
    found: list[tuple[int, int]] = []
    for i, item in enumerate(items):
        if found and ast.dump(items[found[-1][0]]) == ast.dump(item):
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((i, 1))
    return found


def _short(node: ast.AST) -> str:
    try:
        text = ast.unparse(node)
    except (AttributeError, ValueError):
        return type(node).__name__
    return text if len(text) <= 30 else text[:27] + "..."


def default_of(function: ast.expr, name: str | None) -> Number | None:
    """What a class or function of torch takes where the argument is left out, if that is a number."""
    text = ast.unparse(function)
    if name is None or not re.fullmatch(r"(nn|F|torch)(\.\w+)+", text):
        return None
    import inspect

    import torch
    value: Any = {"nn": torch.nn, "F": torch.nn.functional, "torch": torch}[text.partition(".")[0]]
    try:
        for part in text.split(".")[1:]:
            value = getattr(value, part)
        default = inspect.signature(value).parameters[name].default
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return default if type(default) in (int, float) else None


# ---- fitting ----

def join(base: Build, builds: Sequence[Build], root: str, strict: bool = True) -> Joined:
    """One text for all. Builds in which one field alone was changed say what it moves; the others must agree. Not
    strict: more builds will follow, and what these leave open is not lost yet."""
    for build in builds:
        base = Build(base.values, rolled(base.text, ast.parse(build.text)), base.fixed)
    tree = ast.parse(base.text)
    singles: dict[str, tuple[Build, Comparison]] = {}
    others: list[tuple[Build, Comparison]] = []
    dropped: dict[str, str] = {}
    for build in builds:
        changed = [name for name, value in build.values.items() if value != base.values[name]]
        try:
            found = Comparison(tree, ast.parse(build.text))
        except Mismatch as other:
            if len(changed) == 1:
                dropped[changed[0]] = f"another program is written: {other}"
            continue
        if len(changed) != 1:
            others.append((build, found))
        elif found.found or changed[0] in singles:
            singles.setdefault(changed[0], (build, found))
            others.append((build, found))
        else:
            dropped[changed[0]] = "nothing depends on it"
    for name in base.values:
        if name not in singles:
            dropped.setdefault(name, "there is no other build")
    kept = [name for name in base.values if name in singles and name not in dropped]
    names = Names(tree)
    while kept:
        holes, why = _fitted(base, tree, kept, singles, others, strict)
        if not why:
            holes, why = without_copies(holes)
        if not why:
            why = names.obstacles(holes)
        if not why:
            try:
                return _written(base, tree, kept, dropped, holes, names, root)
            except (Broken, SyntaxError, AssertionError) as fault:
                return Joined(base.text, {}, {**dropped, **{name: f"not written: {fault}" for name in kept}})
        dropped.update(why)
        kept = [name for name in kept if name not in dropped]
    return Joined(base.text, {}, dropped)


def _fitted(base: Build, tree: ast.Module, kept: Sequence[str], singles: Mapping[str, tuple[Build, Comparison]],
            others: Sequence[tuple[Build, Comparison]], strict: bool) -> tuple[list[Hole], dict[str, str]]:
    """All holes with their expressions, or the fields that must go, with the reason."""
    used = [(build, found) for build, found in others
            if all(value == base.values[name] for name, value in build.values.items() if name not in kept)]
    fitter = Fitter({name: (base.values[name], *(b.values[name] for b, _ in used)) for name in kept},
                    strict)
    holes: list[Hole] = []
    moved: dict[tuple[Path, str, str], list[str]] = {}
    for name in kept:
        for key in singles[name][1].found:
            moved.setdefault(key, []).append(name)
    for _, found in used:
        for key in found.found:
            if key not in moved:
                return [], {kept[-1]: f"{place_in(tree, key[0])} changes in a build of several fields alone"}
    for (path, kind, name), by in moved.items():
        first = singles[by[0]][1].found[path, kind, name][0]
        target: Vector = (first, *(found.found.get((path, kind, name), (first, first))[1] for _, found in used))
        fitting = fitter.fit(target, by)
        where = place_in(tree, path)
        if not fitting:
            return [], {by[-1]: f"{where}: {first!r} is no expression of {', '.join(by)} that was found"}
        hole = Hole(path, kind, first, name, fitting[0], tuple(by), where)
        holes.append(hole)
    return holes, {}


# ---- where the configuration is needed ----

@dataclass
class Owner:
    """A function or class at the top of the file."""

    node: Any
    calls: list[tuple[str, ast.Call, str]] = field(default_factory=list)  # name, call, the method it is in
    loose: set[str] = field(default_factory=set)  # names that are used other than by calling them
    bases: set[str] = field(default_factory=set)

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    def method(self, name: str) -> Any:
        return next((n for n in self.node.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


class Names:
    """Who of the file's functions and classes calls whom."""

    def __init__(self, tree: ast.Module):
        self.tree = tree
        kinds = (ast.ClassDef, ast.FunctionDef)
        self.owners = {n.name: Owner(n) for n in tree.body if isinstance(n, kinds)}
        self.outside: set[str] = set()
        for node in tree.body:
            if isinstance(node, kinds):
                self._read(self.owners[node.name])
            else:
                self.outside |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & self.owners.keys()
        self.every = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {
            n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} | {
            n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)} | set(self.owners)

    def _read(self, owner: Owner) -> None:
        if owner.is_class:
            owner.bases = {b.id for b in owner.node.bases if isinstance(b, ast.Name)} & self.owners.keys()
        for method, node in _parts(owner.node):
            called = set()
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id in self.owners:
                    owner.calls.append((inner.func.id, inner, method))
                    called.add(inner.func)
            owner.loose |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n not in called
                            and n.id in self.owners}

    def needing(self, holes: Iterable[Hole]) -> dict[str, set[str]]:
        """Who must be given the configuration, and why: the fields. Callers of those that need it do, too."""
        needs: dict[str, set[str]] = {}
        for hole in holes:
            node = self.tree.body[int(hole.path[1])]
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                needs.setdefault(node.name, set()).update(hole.moved_by)
        grows = True
        while grows:
            grows = False
            for name, owner in self.owners.items():
                reached = {n for n, _, _ in owner.calls} | owner.bases
                fields = set().union(*(needs.get(n, set()) for n in reached))
                if not fields <= needs.get(name, set()):
                    needs.setdefault(name, set()).update(fields)
                    grows = True
        return needs

    def obstacles(self, holes: Sequence[Hole]) -> dict[str, str]:
        """Fields that some hole can't be given, with the reason."""
        needs = self.needing(holes)
        lost: dict[str, str] = {}
        for hole in holes:
            if why := self._unreachable(hole):
                lost.update({name: why for name in hole.moved_by})
        for name, fields in needs.items():
            if why := self._unfit(name, needs):
                lost.update({f: why for f in fields})
        return lost

    def _unreachable(self, hole: Hole) -> str:
        node = self.tree.body[int(hole.path[1])]
        if isinstance(node, ast.FunctionDef):
            inside = hole.path[2:3]
        elif isinstance(node, ast.ClassDef) and hole.path[2] == "body" and isinstance(
                node.body[int(hole.path[3])], ast.FunctionDef):
            inside = hole.path[4:5]
        else:
            return f"line {node.lineno}: a number outside of functions depends on it"
        return "" if inside == ("body",) else f"line {node.lineno}: a default of an argument depends on it"

    def _unfit(self, name: str, needs: Mapping[str, set[str]]) -> str:
        """Why the configuration can't be handed to this function or class."""
        owner = self.owners[name]
        if name in self.outside:
            return f"{name} is used outside of functions"
        for other, user in self.owners.items():
            if name in user.loose and not (user.is_class and name in user.bases):
                return f"{name} is used as a value in {other}"
        if not owner.is_class:
            return ""
        if owner.node.decorator_list:
            return f"{name} has a decorator"
        if owner.method("__init__") is None and not _is_plain(owner) and not owner.bases & needs.keys():
            return f"{name} inherits a constructor"
        for method, node in _parts(owner.node):
            decorators = {ast.unparse(d) for d in getattr(node, "decorator_list", ())}
            if decorators & {"staticmethod", "classmethod"} and any(
                    called in needs for called, _, where in owner.calls if where == method):
                return f"{name}.{method} has no self"
        return ""


def _is_plain(owner: Owner) -> bool:
    return [ast.unparse(b) for b in owner.node.bases] in ([], ["nn.Module"])


def _parts(node: Any) -> Iterator[tuple[str, Any]]:
    """The methods of a class, what else its body has, or the function itself."""
    if isinstance(node, ast.FunctionDef):
        yield "", node
        return
    for part in node.body:
        yield (part.name if isinstance(part, ast.FunctionDef) else ""), part


# ---- writing ----

class Editor:
    """Replaces parts of a text by their places in it."""

    def __init__(self, text: str):
        self.lines = [line.encode() for line in text.split("\n")]
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.data = text.encode()
        self.changes: list[tuple[int, int, str]] = []

    def start(self, node: Any) -> int:
        return int(self.starts[node.lineno - 1] + node.col_offset)

    def end(self, node: Any) -> int:
        return int(self.starts[node.end_lineno - 1] + node.end_col_offset)

    def replace(self, start: int, end: int, text: str) -> None:
        self.changes.append((start, end, text))

    def after(self, position: int, character: str) -> int:
        return self.data.index(character.encode(), position) + 1

    def result(self) -> str:
        data, last = [], 0
        for start, end, text in sorted(self.changes, key=lambda c: (c[0], c[1])):
            assert start >= last, "changes overlap"
            data += [self.data[last:start], text.encode()]
            last = end
        return b"".join([*data, self.data[last:]]).decode()


def node_at(tree: ast.AST, path: Path) -> tuple[Any, Any]:
    """The node, and the one that it is in."""
    found: list[Any] = [tree]
    for step in path:
        found.append(getattr(found[-1], step) if isinstance(step, str) else found[-1][step])
    above = next(node for node in reversed(found[:-1]) if isinstance(node, ast.AST))
    return found[-1], above


LOOSE = (ast.Call, ast.keyword, ast.Tuple, ast.List, ast.Assign, ast.Return, ast.Subscript, ast.Slice)


def _written(base: Build, tree: ast.Module, kept: Sequence[str], dropped: dict[str, str], holes: list[Hole],
             names: Names, root: str) -> Joined:
    needs = names.needing(holes)
    named = with_names(holes, tree, {name.partition("[")[0] for name in base.values} | base.fixed.keys())
    cfg = next(n for n in ("cfg", "config", "sizes", "cfg_") if n not in names.every)
    config = next(n for n in ("Config", "ModelConfig", "Config_") if n not in names.every)
    editor = Editor(base.text)
    stored: set[str] = set()

    def access(owner: Owner, method: str) -> str:
        if not owner.is_class or method == "__init__":
            return cfg
        stored.add(owner.node.name)
        return f"{owner.method(method).args.args[0].arg}.{cfg}"

    for hole in holes:
        owner = names.owners[tree.body[int(hole.path[1])].name]  # type: ignore[attr-defined]
        method = owner.node.body[int(hole.path[3])].name if owner.is_class else ""
        _fill(editor, tree, hole, access(owner, method))
    for owner in names.owners.values():
        for name, call, method in owner.calls:
            if name in needs:
                position = editor.after(editor.end(call.func), "(")
                more = ", " if call.args or call.keywords else ""
                editor.replace(position, position, access(owner, method) + more)
    for name in needs:
        _take(editor, names.owners[name], cfg, name in stored, f"={config}()" if name == root else "",
              bool(names.owners[name].bases & needs.keys()))
    values = {name: base.values[name] for name in kept}
    definition = "\n".join([config_class(values, config, {**base.fixed, **base.values}), *properties(named)])
    text = _with_config(editor.result(), definition, "math." in "".join(map(_shown, holes)))
    text = laid_out(text)
    check(text, config, cfg, values, named)
    return Joined(text, values, dropped, holes, config)


def check(text: str, config: str, cfg: str, values: Values, named: dict[str, str]) -> None:
    """Each function that reads the configuration gets it, each field that is read exists, and each field is read."""
    wanted = {name.partition("[")[0] for name in values} | named.keys()
    read = fields_read(named)
    for top in ast.parse(text).body:
        for _, part in _parts(top) if isinstance(top, (ast.ClassDef, ast.FunctionDef)) else ():
            own = {a.arg for n in ast.walk(part) if isinstance(n, ast.FunctionDef) for a in n.args.args}
            for node in ast.walk(part):
                if isinstance(node, ast.Name) and node.id == cfg and cfg not in own:
                    raise Broken(f"line {node.lineno}: {cfg} is not given here")
                if isinstance(node, ast.Attribute) and _is_cfg(node.value, cfg):
                    if node.attr not in wanted:
                        raise Broken(f"line {node.lineno}: {config} has no {node.attr}")
                    read.add(node.attr)
        stores = {n.attr for n in ast.walk(top) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
        if isinstance(top, ast.ClassDef) and cfg not in stores and not top.bases and any(
                isinstance(n, ast.Attribute) and n.attr == cfg for n in ast.walk(top)):
            raise Broken(f"{top.name} reads {cfg} and does not keep it")
    if read != wanted:
        raise Broken(f"nothing reads {', '.join(sorted(wanted - read))}")


def _is_cfg(node: ast.expr, cfg: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == cfg) or (isinstance(node, ast.Attribute) and node.attr == cfg)


def _fill(editor: Editor, tree: ast.AST, hole: Hole, cfg: str) -> None:
    assert hole.expression is not None
    text = hole.expression.text.replace(CFG, cfg)
    node, above = node_at(tree, hole.path)
    if hole.kind == "number":
        loose = isinstance(above, LOOSE) or hole.expression.level > POWER
        editor.replace(editor.start(node), editor.end(node), text if loose else f"({text})")
    elif hole.kind == "keyword":
        end = editor.end(node) - 1
        more = ", " if node.args or node.keywords else ""
        editor.replace(end, end, f"{more}{hole.name}={text}")
    else:
        items = above.elts if isinstance(above, ast.List) else above.args
        last = items[int(hole.path[-1]) + int(hole.value) - 1]
        whole = isinstance(above, ast.List) and len(items) == hole.value
        if isinstance(node, ast.Constant):
            times = text if hole.expression.level > POWER else f"({text})"
            before, after = "*[", f"] * {times}"
        else:
            before, after = "*[", f" for _ in range({text})]"
        if whole:  # the list itself
            before = ""
            editor.replace(editor.end(node), editor.end(above), after)
        else:
            editor.replace(editor.end(node), editor.end(last), after)
        if before:
            editor.replace(editor.start(node), editor.start(node), before)


def without_copies(holes: Sequence[Hole]) -> tuple[list[Hole], dict[str, str]]:
    """The holes without those in items that a loop takes the place of; fields that make these items differ."""
    kept, lost = [], {}
    expressions = {(h.path, h.kind, h.name): h.expression.text for h in holes if h.expression is not None}
    for hole in holes:
        first = next((run.path for run in holes if run.kind == "run" and _is_copy(hole.path, run)), None)
        if first is None:
            kept.append(hole)
            continue
        same = expressions.get(((*first, *hole.path[len(first):]), hole.kind, hole.name))
        if hole.expression is None or same != hole.expression.text:
            lost.update({name: "items that are repeated differ" for name in hole.moved_by})
    return kept, lost


def _is_copy(path: Path, run: Hole) -> bool:
    size = len(run.path)
    if len(path) < size or path[:size - 1] != run.path[:-1]:
        return False
    return int(run.path[-1]) < int(path[size - 1]) < int(run.path[-1]) + int(run.value)


def _take(editor: Editor, owner: Owner, cfg: str, stored: bool, default: str, hands_on: bool) -> None:
    """A function gets a first parameter, a class one of its constructor."""
    function = owner.method("__init__") if owner.is_class else owner.node
    if function is None:
        if hands_on and not default:
            return  # the constructor that it inherits takes it
        first = owner.node.body[0]
        position = min(editor.start(d) - 1 for d in first.decorator_list) if getattr(
            first, "decorator_list", None) else editor.start(first)
        lines = [f"def __init__(self, {cfg}{default}):", "        super().__init__()",
                 f"        self.{cfg} = {cfg}\n\n    "]
        editor.replace(position, position, "\n".join(lines))
        return
    plain = function.args.args
    if owner.is_class:
        end = editor.end(plain[0])
        editor.replace(end, end, f", {cfg}{default}")
        calls = [s for s in function.body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)
                 and ast.unparse(s.value.func) == "super().__init__"]
        if hands_on and calls:
            call: Any = calls[0].value
            position = editor.after(editor.end(call.func), "(")
            editor.replace(position, position, cfg + (", " if call.args or call.keywords else ""))
        if stored:
            position = editor.end(calls[0]) if calls else editor.start(function.body[0])
            line = f"self.{cfg} = {cfg}"
            editor.replace(position, position, f"\n        {line}" if calls else f"{line}\n        ")
        return
    position = editor.after(editor.start(function), "(")
    some = plain or function.args.posonlyargs or function.args.vararg or function.args.kwonlyargs
    editor.replace(position, position, cfg + (", " if some else ""))


def config_class(values: Values, name: str, known: Values) -> str:
    """The dataclass. Lists have all their items (`known` has those, too, that can't change), and no other number of
    them."""
    lines = ["@dataclass(frozen=True)", f"class {name}:"]
    lists: dict[str, list[Number]] = {}
    for plain in dict.fromkeys(key.partition("[")[0] for key in values if "[" in key):
        lists[plain] = [known[key] for key in itertools.takewhile(known.__contains__, (
            f"{plain}[{i}]" for i in itertools.count()))]
    said = set()
    for key, value in values.items():
        plain = key.partition("[")[0]
        if plain in said:
            continue
        said.add(plain)
        if plain in lists:
            lines.append(f"    {plain}: tuple = {tuple(lists[plain])!r}")
        else:
            lines.append(f"    {plain}: {type(value).__name__} = {value!r}")
    if lists:
        lines += ["", "    def __post_init__(self):"]
        lines += [f"        assert len(self.{n}) == {len(v)}, \"{n} has {len(v)} items\"" for n, v in lists.items()]
        lines += [f"        assert self.{n}[{i}] == {item!r}, \"{n}[{i}] can't change\"" for n, v in lists.items()
                  for i, item in enumerate(v) if f"{n}[{i}]" not in values]
    return "\n".join(lines)


def _with_config(text: str, definition: str, maths: bool) -> str:
    """The text with the class before its first definition, and with what this imports."""
    tree = ast.parse(text)
    imports = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    lines = text.split("\n")
    last = max((n.end_lineno or n.lineno for n in imports), default=0)
    first = min((n.lineno for n in imports), default=1)
    lines[last:last] = ["", "", *definition.split("\n")]
    wanted = [] if any(isinstance(n, ast.ImportFrom) and n.module == "dataclasses" and any(
        a.name == "dataclass" for a in n.names) for n in imports) else ["from dataclasses import dataclass"]
    if maths and not any(isinstance(n, ast.Import) and n.names[0].name == "math" for n in imports):
        wanted.insert(0, "import math")
    if wanted:
        standard = [n for n in imports if (n.module if isinstance(n, ast.ImportFrom) else n.names[0].name)
                    in sys.stdlib_module_names]
        lines[first - 1:first - 1] = wanted if standard else [*wanted, ""]
    return "\n".join(lines)


def laid_out(text: str) -> str:
    """Printed anew; comments are at the beginning and at the end alone."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    last = max((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), default=0) + 1
    middle = "\n".join(lines[first:last])
    if _has_comments(middle):
        return text
    from ._pellucid import format_source
    printed = format_source(middle, width=WIDTH).strip("\n").split("\n")
    standard = [i for i, line in enumerate(printed[:20]) if re.match(r"(import|from) (?!torch)", line)]
    if standard and printed[standard[-1] + 1:standard[-1] + 2] != [""]:
        printed.insert(standard[-1] + 1, "")
    return "\n".join([*lines[:first], *([""] if first else []), *printed, *lines[last:]])


def _has_comments(text: str) -> bool:
    import io
    import tokenize
    return any(t.type == tokenize.COMMENT for t in tokenize.generate_tokens(io.StringIO(text).readline))


def resized(source: str, config: str, values: Values) -> str:
    """The text with other defaults in its Config."""
    tree = ast.parse(source)
    node = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == config)
    editor = Editor(source)
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            name = statement.target.id
            items = list(ast.literal_eval(statement.value)) if isinstance(statement.value, ast.Tuple) else []
            items = [values.get(f"{name}[{i}]", item) for i, item in enumerate(items)]
            if items or name in values:
                text = repr(tuple(items)) if items else repr(values[name])
                editor.replace(editor.start(statement.value), editor.end(statement.value), text)
    return editor.result()


# ---- as a program ----

def read_builds(text: str) -> list[Build]:
    """Texts that begin with a line `#: NAME=VALUE NAME=VALUE …`: the first has all fields, the others what differs."""
    found: list[Build] = []
    for part in re.split(r"^#: ?", text, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        values = {k: ast.literal_eval(v) for k, v in (word.split("=") for word in head.split())}
        found.append(Build({**(found[0].values if found else {}), **values}, body.strip("\n") + "\n"))
    return found


def main() -> int:
    builds = read_builds(sys.stdin.read())
    if not builds:
        print("give texts, each after a line #: NAME=VALUE", file=sys.stderr)
        return 1
    classes = [n.name for n in ast.parse(builds[0].text).body if isinstance(n, ast.ClassDef)]
    joined = join(builds[0], builds[1:], classes[-1] if classes else "")
    sys.stdout.write(joined.source + joined.dump() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
