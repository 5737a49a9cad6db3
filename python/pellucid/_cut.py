"""A source file cut to the lines that ran, so that it still runs.

A branch that did not run becomes an assertion of its condition; what else did not run, and may still be asked for,
raises. So the result does what the file did, or says that it can't. Comments and the author's layout stay.
"""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass, field
from typing import Any, Iterator, Sequence

RAISES = 'raise NotImplementedError("cut: this did not run")'
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
NEUTRAL = (ast.Global, ast.Nonlocal, ast.Pass)  # these may leave no trace of having run


@dataclass
class Names:
    """What the files of a program ask for by name."""

    here: dict[str, set[str]] = field(default_factory=dict)  # file -> names that its code reads
    others: dict[str, set[str]] = field(default_factory=dict)  # file -> attributes and names that it imports
    stars: bool = False  # somebody imports all names of a module

    def note(self, path: str, text: str) -> None:
        here: set[str] = set()
        others: set[str] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
                here.add(node.id)
            elif isinstance(node, ast.Attribute):
                others.add(node.attr)
            elif isinstance(node, ast.ImportFrom):
                others.update(alias.name for alias in node.names)
                self.stars |= any(alias.name == "*" for alias in node.names)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                words = set(node.value.replace(".", " ").replace("[", " ").replace("]", " ").split())
                here |= words if len(node.value) < 200 else set()  # annotations, __all__, getattr
        self.here[path], self.others[path] = here, others

    def asked(self, path: str, name: str) -> bool:
        return name in self.here[path] or any(name in found for found in self.others.values())

    def asked_by_others(self, path: str, name: str) -> bool:
        return self.stars or any(name in found for file, found in self.others.items() if file != path)


@dataclass
class Run:
    """What is known of a file's run: lines; parameters that no call gave a value of their own, by the line and column
    of their function."""

    lines: set[int]
    idle: dict[int, set[str]] = field(default_factory=dict)
    methods: set[int] = field(default_factory=set)  # lines of those that override nothing


class Cut:
    """One file. names: what all files ask for, or None in the first round, when nothing is unasked for."""

    def __init__(self, path: str, source: str, run: Run, names: Names | None):
        self.path, self.run, self.names = path, run, names
        self.source = source.splitlines()
        self.in_string = _lines_inside_strings(source)
        self.known: dict[str, Any] = {}  # parameters that are gone, with their defaults
        self.in_class = self.may_raise = False
        self.tree = ast.parse(source)

    def text(self) -> str:
        lines = self._body(self.tree.body, 0, 1, False)
        out: list[str] = []
        for line in lines:
            if line.strip() or len(out) < 2 or out[-1].strip() or out[-2].strip():
                out.append(line)
        return "\n".join(out).strip("\n") + "\n" if any(line.strip() for line in out) else ""

    # ---- what ran ----

    def _ran(self, nodes: Sequence[Any]) -> bool:
        return bool(nodes) and not self.run.lines.isdisjoint(range(_first(nodes[0]), _last(nodes[-1]) + 1))

    def _is_kept(self, node: ast.stmt) -> bool:
        if isinstance(node, NEUTRAL) or (isinstance(node, ast.AnnAssign) and node.value is None):
            return True
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return True
        return self._ran([node])

    def _was_called(self, node: Any) -> bool:
        return bool(node.body[0].lineno == node.lineno or self._ran(node.body))

    # ---- lines ----

    def _lines(self, first: int, last: int, shift: int) -> list[str]:
        """Lines of the source, moved to the left by `shift` columns; what is inside of a string stays where it is."""
        return [line if number in self.in_string or not shift else
                line[min(shift, len(line) - len(line.lstrip())):] if shift > 0 else " " * -shift + line if line else ""
                for number, line in enumerate(self.source[first - 1:last], first)]

    def _body(self, nodes: Sequence[ast.stmt], shift: int, after: int, needs_one: bool) -> list[str]:
        """The statements of a block. after: the line on which what precedes them may begin."""
        out: list[str] = []
        for group in _groups(nodes):
            gap = self._lines(after, _first(group[0]) - 1, shift) if after else []
            after = _last(group[-1]) + 1
            if not any(self._is_kept(node) for node in group):
                continue
            made = (self._statement(group[0], shift) if len(group) == 1
                    else self._lines(_first(group[0]), _last(group[-1]), shift))
            if made:
                out += gap + made
        if needs_one and not any(line.strip() and not line.strip().startswith("#") for line in out):
            out.append(" " * (nodes[0].col_offset - shift) + "pass")
        return out

    def _statement(self, node: ast.stmt, shift: int) -> list[str]:
        whole = self._lines(_first(node), _last(node), shift)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return self._import(node, whole, shift)
        inner = getattr(node, "body", None)
        if not isinstance(inner, list) or not inner or inner[0].lineno == _head_end(node):
            return whole
        if isinstance(node, FUNCTIONS):
            return self._function(node, shift)
        if isinstance(node, ast.ClassDef):
            return self._class(node, shift)
        if isinstance(node, ast.If):
            return self._if(node, shift)
        if isinstance(node, LOOPS):
            return self._head(node, shift) + self._block(inner, shift) + self._else(node, shift)
        if isinstance(node, ast.Try):
            return self._try(node, shift)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._head(node, shift) + self._block(inner, shift)
        return whole

    def _head(self, node: Any, shift: int) -> list[str]:
        return self._lines(_first(node), _head_end(node), shift)

    def _block(self, nodes: Sequence[ast.stmt], shift: int) -> list[str]:
        """The body of a statement that is kept; where it never ran it raises."""
        if not self._ran(nodes):
            return [" " * (nodes[0].col_offset - shift) + RAISES]
        return self._body(nodes, shift, 0, True)

    def _else(self, node: Any, shift: int) -> list[str]:
        if not node.orelse:
            return []
        margin = " " * (node.col_offset - shift)
        return [f"{margin}else:"] + self._block(node.orelse, shift)

    # ---- definitions ----

    def _function(self, node: Any, shift: int) -> list[str]:
        in_class, self.in_class = self.in_class, False
        try:
            if self._was_called(node):
                return self._called(node, shift)
            is_method = in_class and _first(node) not in self.run.methods
            is_protocol = node.name.startswith("__")  # without __len__ an object is true, and nobody would ask
            if self.names is None or is_method or is_protocol or node.decorator_list or self.names.asked(
                    self.path, node.name):
                return self._head(node, shift) + self._block(node.body, shift)
            return []
        finally:
            self.in_class = in_class

    def _called(self, node: Any, shift: int) -> list[str]:
        """Parameters that no call gave a value, and that nobody reads but to find that out, are gone with that."""
        before, gone = self.known, self._unused_parameters(node)
        while True:
            self.known = {**before, **gone}
            body = self._block(node.body, shift)
            inner = ast.parse("\n".join(["if 1:", *self._block(node.body, 0)])) if gone else None
            used = {n.id for n in ast.walk(inner) if isinstance(n, ast.Name)} if inner is not None else set()
            still = gone if used & {"locals", "vars", "eval", "exec"} else {n: v for n, v in gone.items() if n in used}
            if not still:
                break
            gone = {name: value for name, value in gone.items() if name not in still}
        self.known = before
        return self._signature(node, gone, shift) + body

    def _unused_parameters(self, node: Any) -> dict[str, Any]:
        """Those with None or False as default that no call gave another value; with the default."""
        idle = self.run.idle.get(_first(node), set()) if self.names is not None else set()
        args = node.args
        pairs = [*zip(args.args[len(args.args) - len(args.defaults):], args.defaults),
                 *zip(args.kwonlyargs, args.kw_defaults)]
        return {a.arg: d.value for a, d in pairs
                if a.arg in idle and isinstance(d, ast.Constant) and d.value in (None, False)}

    def _signature(self, node: Any, gone: dict[str, Any], shift: int) -> list[str]:
        """The head of a function. Of parameters that may be given by position only the last ones can go."""
        args = node.args
        count = len(args.args), len(args.kwonlyargs)
        while args.args and args.args[-1].arg in gone and not args.vararg:
            args.args.pop()
            args.defaults.pop()
        kept = [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults) if a.arg not in gone]
        args.kwonlyargs, args.kw_defaults = [a for a, _ in kept], [d for _, d in kept]
        if count == (len(args.args), len(args.kwonlyargs)):
            return self._head(node, shift)
        word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        line = f"{word} {node.name}({ast.unparse(args)}){result}:"
        return self._lines(_first(node), node.lineno - 1, shift) + [" " * (node.col_offset - shift) + line]

    def _class(self, node: ast.ClassDef, shift: int) -> list[str]:
        methods = [n for n in node.body if isinstance(n, FUNCTIONS)]
        called = any(self._was_called(n) for n in methods)
        if not called and self.names is not None and not node.decorator_list and not self.names.asked(
                self.path, node.name) and not node.keywords:
            return []
        before, self.in_class = self.in_class, True
        try:
            return self._head(node, shift) + self._body(node.body, shift, _head_end(node) + 1, True)
        finally:
            self.in_class = before

    # ---- branches ----

    def _if(self, node: ast.If, shift: int) -> list[str]:
        if "__name__" in ast.dump(node.test) or _binds(node.test):
            return self._head(node, shift) + self._block(node.body, shift) + self._elses(node, shift)
        did, did_else = self._ran(node.body), self._ran(node.orelse)
        inner = node.body[0].col_offset - node.col_offset
        if not did:
            said = [] if _is_type_checking(node.test) else self._assertion(node, shift, False)
            return said + self._unwrapped(node.orelse, node.col_offset, shift) if did_else else said
        if node.orelse and not did_else:
            return self._assertion(node, shift, True) + self._body(node.body, shift + inner, 0, False)
        return self._head(node, shift) + self._block(node.body, shift) + self._elses(node, shift)

    def _unwrapped(self, nodes: Sequence[ast.stmt], column: int, shift: int) -> list[str]:
        """The statements of an else as if they were where the `if` is."""
        if self._is_elif(nodes):
            return _as_if(self._statement(nodes[0], shift))
        return self._body(nodes, shift + nodes[0].col_offset - column, 0, False)

    def _is_elif(self, nodes: Sequence[ast.stmt]) -> bool:
        return len(nodes) == 1 and isinstance(nodes[0], ast.If) and self.source[
            nodes[0].lineno - 1][nodes[0].col_offset:].startswith("elif")

    def _elses(self, node: ast.If, shift: int) -> list[str]:
        if not node.orelse or not self._ran(node.orelse):
            return self._else(node, shift) if node.orelse and not self._is_elif(node.orelse) else (
                [" " * (node.col_offset - shift) + "else:", " " * (node.body[0].col_offset - shift) + RAISES]
                if node.orelse else [])
        if not self._is_elif(node.orelse):
            return self._else(node, shift)
        made = self._statement(node.orelse[0], shift)
        if made and made[0].lstrip().startswith("elif"):
            return made
        inner = node.body[0].col_offset - node.col_offset
        return [" " * (node.col_offset - shift) + "else:"] + [
            line for line in self._moved(self._statement(node.orelse[0], shift), inner)]

    def _moved(self, lines: list[str], columns: int) -> list[str]:
        return [" " * columns + line if line else line for line in lines]

    def _assertion(self, node: ast.If, shift: int, wanted: bool) -> list[str]:
        test: Any = node.test
        if self.known and _value(test, self.known) is wanted:
            return []
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, wanted = test.operand, not wanted
        text = ast.get_source_segment("\n".join(self.source), test) or ast.unparse(test)
        if "\n" in text:
            text = ast.unparse(test)
        if not isinstance(test, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) and not (
                wanted and isinstance(test, (ast.Compare, ast.BoolOp))):
            text = f"({text})"
        return [" " * (node.col_offset - shift) + ("assert " if wanted else "assert not ") + text]

    def _try(self, node: ast.Try, shift: int) -> list[str]:
        margin = " " * (node.col_offset - shift)
        handlers = [h for h in node.handlers if self._ran(h.body)]
        inner = node.body[0].col_offset - node.col_offset
        if not handlers and not node.finalbody:
            return (self._body(node.body, shift + inner, 0, False) +
                    (self._body(node.orelse, shift + inner, 0, False) if self._ran(node.orelse) else []))
        before, self.may_raise = self.may_raise, bool(handlers)
        out = [f"{margin}try:"] + self._body(node.body, shift, 0, True)
        self.may_raise = before
        for handler in handlers:
            out += self._lines(handler.lineno, _head_end(handler), shift) + self._block(handler.body, shift)
        if node.orelse and self._ran(node.orelse):
            out += [f"{margin}else:"] + self._block(node.orelse, shift) if handlers else self._body(
                node.orelse, shift, 0, False)
        return out + ([f"{margin}finally:"] + self._block(node.finalbody, shift) if node.finalbody else [])

    # ---- imports ----

    def _import(self, node: Any, whole: list[str], shift: int) -> list[str]:
        """Without the names that nobody reads."""
        names = self.names
        asks_for_all = getattr(node, "module", "") == "__future__" or any(a.name == "*" for a in node.names)
        if names is None or self.may_raise or asks_for_all:
            return whole
        kept = []
        for alias in node.names:
            bound = (alias.asname or alias.name).partition(".")[0]
            if bound in names.here[self.path] or names.asked_by_others(self.path, bound):
                kept.append(alias)
        if len(kept) == len(node.names):
            return whole
        node.names = kept
        return [" " * (node.col_offset - shift) + ast.unparse(node)] if kept else []


def _first(node: Any) -> int:
    return int(min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]))


def _last(node: Any) -> int:
    return int(node.end_lineno or node.lineno)


def _head_end(node: Any) -> int:
    """The last line of what comes before the body; comments there belong to it: nothing else can stand there."""
    names = ("test", "iter", "target", "items", "bases", "keywords", "args", "returns", "type", "subject")
    parts = [part for name in names for part in _nodes(getattr(node, name, None))]
    ends = [int(getattr(inner, "end_lineno", None) or 0) for part in parts for inner in ast.walk(part)]
    return max(int(node.lineno), *ends, _first(node.body[0]) - 1)


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, ast.AST):
        yield value
    elif isinstance(value, list):
        yield from (v for v in value if isinstance(v, ast.AST))


def _groups(nodes: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """Statements that share a line are one."""
    out: list[list[ast.stmt]] = []
    for node in nodes:
        if out and _first(node) <= _last(out[-1][-1]):
            out[-1].append(node)
        else:
            out.append([node])
    return out


def _as_if(lines: list[str]) -> list[str]:
    """An `elif` that stands alone now."""
    if not lines or not lines[0].lstrip().startswith("elif"):
        return lines
    margin = lines[0][:len(lines[0]) - len(lines[0].lstrip())]
    return [margin + lines[0].lstrip()[2:], *lines[1:]]


def _binds(test: ast.expr) -> bool:
    return any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for n in ast.walk(test))


def _value(test: ast.expr, known: dict[str, Any]) -> bool | None:
    """The truth of a test where these names have these values, or None if that is not enough to know."""
    if isinstance(test, ast.Name) and test.id in known:
        return bool(known[test.id])
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _value(test.operand, known)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        values = [_value(part, known) for part in test.values]
        decides = isinstance(test.op, ast.Or)
        if decides in values[:1] or (decides in values and None not in values[:values.index(decides)]):
            return decides
        return None if None in values else not decides
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name) and (
            test.left.id in known and isinstance(test.comparators[0], ast.Constant)):
        one, other, how = known[test.left.id], test.comparators[0].value, test.ops[0]
        if isinstance(how, (ast.Is, ast.IsNot)) and other is None:
            return (one is None) is isinstance(how, ast.Is)
        if isinstance(how, (ast.Eq, ast.NotEq)):
            return bool((one == other) is isinstance(how, ast.Eq))
    return None


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING")


def _lines_inside_strings(source: str) -> set[int]:
    """Lines that begin inside of a string: their margin is a part of it."""
    found: set[int] = set()
    begin = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        if name == "FSTRING_START":
            begin.append(token.start[0])
        elif name == "FSTRING_END":
            found.update(range(begin.pop() + 1, token.end[0] + 1))
        elif token.type == tokenize.STRING:
            found.update(range(token.start[0] + 1, token.end[0] + 1))
    return found


def cut_all(files: dict[str, str], runs: dict[str, Run], unasked: bool = True) -> dict[str, str]:
    """Sources by path, each cut; with `unasked` what nobody asks for goes too, until nothing more does."""
    texts = {path: Cut(path, source, runs[path], None).text() for path, source in files.items()}
    for _ in range(20 if unasked else 0):
        names = Names()
        for path, text in texts.items():
            names.note(path, text)
        made = {path: Cut(path, source, runs[path], names).text() for path, source in files.items()}
        if made == texts:
            break
        texts = made
    return texts
