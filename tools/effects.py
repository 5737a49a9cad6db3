"""What a function may do besides computing: an analysis of the source of installed libraries.

The names in a function are looked up where they live (its module's globals, its cells, the class's MRO), so the call
graph is the one that Python would walk. Everything that is not understood counts as an effect: a call of a value that
somebody gives, an attribute of one, a method that instances may shadow, native code that nobody reviewed.

Values: `Known` things of the library, `Made` objects of a known type, and ANY, which the file may choose. Operators,
truth, length, iteration and items of ANY run special methods of whatever class it has: that is the effect "quiet",
which holds as long as all classes in a file have special methods without effects."""

from __future__ import annotations

import ast
import builtins
import collections
import dataclasses
import enum
import functools
import hashlib
import inspect
import sys
import types
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable

MAX_NODES = 4000  # functions that one entry may reach: beyond that it is unknown


@dataclass(frozen=True)
class Known:
    thing: Any

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and other.thing is self.thing


@dataclass(frozen=True)
class Made:
    """An object of exactly that type, made here. What is in it may be anything, unless `plain`."""
    kind: type
    plain: bool = False


@dataclass(frozen=True)
class Field:
    """What the state that the file gives to __setstate__ has under that key: it must be plain if it matters."""
    key: str


STATE = "state"  # that state: a plain dict, says the audit


@dataclass(frozen=True)
class Self:
    """The receiver. If `poisoned`, its attributes are the file's: also those that shadow methods."""
    kind: type
    poisoned: bool


@dataclass(frozen=True)
class Super:
    kind: type
    after: type
    poisoned: bool


ANY = "any"
Value = Any  # Known | Made | Self | Super | ANY

SCALARS = (str, bytes, int, float, complex, bool, type(None), slice, range)
PLAIN = (dict, list, tuple, set, frozenset, str, bytes, bytearray, int, float, complex, bool, type(None), slice, range)

# Functions without effects of their own. Those in QUIET run special methods of their arguments.
FREE = {builtins.isinstance, builtins.issubclass, builtins.id, builtins.callable, builtins.object}
QUIET = {
    builtins.len, builtins.abs, builtins.min, builtins.max, builtins.sum, builtins.any, builtins.all, builtins.sorted,
    builtins.zip, builtins.enumerate, builtins.range, builtins.reversed, builtins.round, builtins.divmod, builtins.pow,
    builtins.ord, builtins.chr, builtins.hash, builtins.repr, builtins.iter, builtins.slice, builtins.format,
    builtins.str, builtins.int, builtins.float, builtins.bool, builtins.complex, builtins.bytes, builtins.bytearray,
    builtins.list, builtins.tuple, builtins.dict, builtins.set, builtins.frozenset, builtins.ascii, builtins.hex,
    builtins.bin, builtins.oct,
}
CALLS_KEY = {builtins.min, builtins.max, builtins.sorted}

# Methods of plain values that keep to them. What takes a callable (list.sort) or formats is not among them.
METHODS: dict[type, set[str]] = {
    dict: {"get", "pop", "update", "items", "keys", "values", "setdefault", "copy", "clear", "popitem"},
    list: {"append", "extend", "insert", "pop", "remove", "index", "count", "copy", "clear", "reverse"},
    tuple: {"index", "count"},
    set: {"add", "update", "discard", "remove", "union", "copy", "difference", "intersection", "clear"},
    frozenset: {"union", "difference", "intersection", "copy"},
    str: {"join", "split", "strip", "lstrip", "rstrip", "startswith", "endswith", "lower", "upper", "replace", "find",
          "rfind", "index", "isdigit", "isidentifier", "title", "partition", "rpartition", "splitlines", "count"},
    bytes: {"startswith", "endswith", "hex", "join", "split", "strip"},
}
READS = {"get", "items", "keys", "values", "copy", "index", "count", "union", "difference", "intersection"}



@dataclass
class Facts:
    """Of one function for one receiver: what it does by itself, and whom it calls."""
    reason: str = ""  # empty: no effect of its own
    quiet: bool = False  # runs special methods of values that the file chooses
    fields: set[str] = field(default_factory=set)  # of the state: ":key" must be plain, "!key" must not be there
    calls: set[tuple[Any, ...]] = field(default_factory=set)
    plain_calls: set[tuple[Any, ...]] = field(default_factory=set)  # those on objects that hold plain values only
    body: str = ""  # hash of its text


class Stop(Exception):
    """The first effect is enough."""


def defining(kind: type, name: str) -> tuple[type | None, Any]:
    for base in kind.__mro__:
        if name in base.__dict__:
            return base, base.__dict__[name]
    return None, None


class Sources:
    """Function definitions by the place of their code."""

    def __init__(self) -> None:
        self.files: dict[str, dict[int, list[ast.AST]]] = {}

    def node(self, code: types.CodeType) -> ast.AST | None:
        path = code.co_filename
        if path not in self.files:
            self.files[path] = self.read(path)
        found = [node for node in self.files[path].get(code.co_firstlineno, [])
                 if getattr(node, "name", "<lambda>") == code.co_name]
        return found[0] if len(found) == 1 else None

    def hash(self, code: types.CodeType) -> str:
        node = self.node(code)
        return hashlib.sha256(ast.dump(node).encode()).hexdigest() if node else ""

    @staticmethod
    def read(path: str) -> dict[int, list[ast.AST]]:
        lines: dict[int, list[ast.AST]] = {}
        try:
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read())
        except (OSError, SyntaxError, ValueError):
            return lines
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                decorators = getattr(node, "decorator_list", [])
                first = decorators[0].lineno if decorators else node.lineno
                lines.setdefault(first, []).append(node)
        return lines


SOURCES = Sources()

ORDERS = {"__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


def generated(function: types.FunctionType, receiver: type | None) -> ast.AST | None:
    """The methods that a dataclass has without source, as dataclasses writes them: they compare, hash and print its
    fields. The other object of a comparison is of the same class there, so its fields are taken for those of self."""
    owners = [base for base in getattr(receiver, "__mro__", ()) if function in (
        vars(base).get(function.__name__), inspect.unwrap(vars(base).get(function.__name__) or function))]
    if not owners or not dataclasses.is_dataclass(owners[0]) or function.__code__.co_filename != "<string>":
        return None
    fields = [item for item in dataclasses.fields(owners[0]) if item.name.isidentifier()]
    compared = "".join(f"self.{item.name}, " for item in fields if item.compare)
    hashed = "".join(f"self.{item.name}, " for item in fields if (item.compare if item.hash is None else item.hash))
    printed = "".join(f"{item.name}={{self.{item.name}!r}}, " for item in fields if item.repr)
    bodies = {name: f"(self, other): return ({compared}) {sign} ({compared})" for name, sign in ORDERS.items()}
    bodies |= {"__hash__": f"(self): return hash(({hashed}))",
               "__repr__": f"(self): return self.__class__.__qualname__ + f'({printed})'"}
    body = bodies.get(function.__name__)
    return ast.parse(f"def {function.__name__}{body}").body[0] if body else None


class Walk:
    """One function: every expression has a value, every effect stops the walk."""

    def __init__(self, function: types.FunctionType, receiver: type | None, poisoned: bool,
                 natives: dict[Any, str]) -> None:
        self.function, self.receiver, self.poisoned, self.natives = function, receiver, poisoned, natives
        self.facts = Facts()
        self.env: dict[str, Value] = {}
        self.owner: type | None = None

    # ---- names ----

    def lookup(self, name: str) -> Value:
        if name in self.env:
            return self.env[name]
        code = self.function.__code__
        if name in code.co_freevars and self.function.__closure__:
            try:
                return self.wrap(self.function.__closure__[code.co_freevars.index(name)].cell_contents)
            except ValueError:
                self.stop(f"{name} is not bound")
        for space in (self.function.__globals__, vars(builtins)):
            if name in space:
                return self.wrap(space[name])
        return ANY

    @staticmethod
    def wrap(thing: Any) -> Value:
        return Made(type(thing)) if type(thing) in SCALARS else Known(thing)  # a container of a module is shared

    def stop(self, reason: str) -> Any:
        self.facts.reason = self.facts.reason or reason
        raise Stop

    def soft(self, *values: Value) -> None:
        """Special methods of these run. Those of plain values and of the library's own constants don't matter."""
        for value in values:
            kind = value.kind if isinstance(value, (Made, Self)) else type(value.thing) if isinstance(
                value, Known) else None
            if isinstance(value, Field):
                self.facts.fields.add(":" + value.key)
            elif kind is None or kind in (dict, list, tuple, set, frozenset):
                self.facts.quiet = self.facts.quiet or not isinstance(value, Known)
            elif kind not in SCALARS and not issubclass(kind, (type, types.ModuleType, types.FunctionType)):
                self.special(kind, isinstance(value, Made) and value.plain)

    def special(self, kind: type, plain: bool) -> None:
        """Special methods of the library's own classes, which are not among the file's."""
        for name in SPECIAL:
            base, function = defining(kind, name)
            homes = (getattr(base, "__module__", ""), getattr(function, "__module__", ""))
            if type(kind) is enum.EnumMeta and "enum" in homes:
                continue
            if isinstance(function, types.FunctionType):
                (self.facts.plain_calls if plain else self.facts.calls).add((function, kind, False))

    def shallow(self, *values: Value) -> None:
        """The same for truth, length, iteration and items, which of a plain container run nothing of what is in it."""
        self.soft(*(value for value in values if value != STATE and not (
            isinstance(value, Made) and value.kind in PLAIN)))

    # ---- running it ----

    def run(self) -> Facts:
        code = self.function.__code__
        is_repr = code.co_filename == dataclasses.__file__ and code.co_name == "wrapper"  # it only ends recursion
        node = generated(inspect.unwrap(self.function), self.receiver) if is_repr else (
            SOURCES.node(code) or generated(self.function, self.receiver))
        if node is None:
            self.facts.reason = "its source is not found"
            return self.facts
        self.facts.body = hashlib.sha256(ast.dump(node).encode()).hexdigest()
        if inspect.iscoroutinefunction(self.function) or inspect.isasyncgenfunction(self.function):
            self.facts.reason = "it is a coroutine"
            return self.facts
        if self.receiver is not None:
            self.owner = self.owner_of()
        try:
            self.bind(node.args)
            body = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
            for _ in range(4):
                before = dict(self.env)
                self.block(body)
                if self.env == before:
                    break
            else:
                self.stop("its variables don't settle")
        except Stop:
            pass
        except RecursionError:
            self.facts.reason = "it nests too deep"
        return self.facts

    def owner_of(self) -> type | None:
        for base in self.receiver.__mro__:
            for thing in base.__dict__.values():
                inner = getattr(thing, "__func__", thing)
                if isinstance(thing, property):
                    if self.function in (thing.fget, thing.fset):
                        return base
                if inner is self.function:
                    return base
        return None

    def bind(self, args: ast.arguments) -> None:
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        for i, arg in enumerate(every):
            self.env[arg.arg] = ANY
            if i == 0 and self.receiver is not None and args.args and arg is (args.posonlyargs + args.args)[0]:
                name = self.function.__name__
                is_class = name in ("__new__", "__init_subclass__", "__class_getitem__") or self.is_classmethod()
                self.env[arg.arg] = Known(self.receiver) if is_class else Self(self.receiver, self.poisoned)
                if self.is_static():
                    self.env[arg.arg] = ANY
        if args.vararg:
            self.env[args.vararg.arg] = Made(tuple)
        if args.kwarg:
            self.env[args.kwarg.arg] = Made(dict)
        if self.function.__name__ == "__setstate__" and len(every) > 1:
            self.env[every[1].arg] = STATE  # the audit lets plain containers through, and nothing else

    def is_classmethod(self) -> bool:
        _, thing = defining(self.receiver, self.function.__name__)
        return isinstance(thing, classmethod)

    def is_static(self) -> bool:
        _, thing = defining(self.receiver, self.function.__name__)
        return isinstance(thing, staticmethod) and self.function.__name__ != "__new__"

    # ---- statements ----

    def block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        method = getattr(self, "do_" + type(node).__name__, None)
        if method is None:
            self.stop(f"a statement that is not understood: {type(node).__name__}")
        method(node)

    def do_Expr(self, node: ast.Expr) -> None:
        self.value(node.value)

    def do_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.value(node.value)

    def do_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.store(target, value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.store(node.target, self.value(node.value))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        read = ast.copy_location(type(node.target)(**{**dict(ast.iter_fields(node.target)), "ctx": ast.Load()}), node)
        left, right = self.value(read), self.value(node.value)
        self.soft(left, right)
        self.store(node.target, left if left == right else ANY)

    def do_If(self, node: ast.If) -> None:
        self.shallow(self.value(node.test))
        self.block(node.body)
        self.block(node.orelse)

    def do_While(self, node: ast.While) -> None:
        self.do_If(node)  # type: ignore[arg-type]

    def do_For(self, node: ast.For) -> None:
        self.shallow(self.value(node.iter))
        self.store(node.target, ANY)
        self.block(node.body)
        self.block(node.orelse)

    def do_Try(self, node: ast.Try) -> None:
        self.block(node.body)
        for handler in node.handlers:
            if handler.type is not None:
                self.value(handler.type)
            if handler.name:
                self.env[handler.name] = ANY
            self.block(handler.body)
        self.block(node.orelse)
        self.block(node.finalbody)

    def do_Raise(self, node: ast.Raise) -> None:
        for part in (node.exc, node.cause):
            if part is not None:
                self.value(part)

    def do_Assert(self, node: ast.Assert) -> None:
        self.shallow(self.value(node.test))
        if node.msg is not None:
            self.value(node.msg)

    def do_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                to = self.value(target.value)
                if isinstance(to, Known):
                    self.stop("it changes a container of its module")
                self.shallow(to, self.value(target.slice))
            elif isinstance(target, ast.Attribute):
                self.store_attribute(target)

    def do_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            self.stop("it decorates a function")
        self.env[node.name] = ANY  # made, not run; a call of it is a call of ANY

    def do_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            module = sys.modules.get(alias.name)
            if module is None:
                self.stop(f"it imports {alias.name}")
            top = alias.name if alias.asname else alias.name.split(".")[0]
            self.env[alias.asname or top] = Known(sys.modules[top])

    def do_ImportFrom(self, node: ast.ImportFrom) -> None:
        package = self.function.__globals__.get("__package__") or ""
        base = ".".join(package.split(".")[:len(package.split(".")) - node.level + 1]) if node.level else ""
        name = ".".join(part for part in (base, node.module) if part)
        module = sys.modules.get(name)
        if module is None:
            self.stop(f"it imports {name}")
        for alias in node.names:
            if alias.name not in vars(module):
                self.stop(f"it imports {name}.{alias.name}")
            self.env[alias.asname or alias.name] = self.wrap(vars(module)[alias.name])

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    do_Break = do_Continue = do_Pass

    def do_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.stop("it sets a variable of another function")

    def do_Global(self, node: ast.Global) -> None:
        self.stop("it sets a global of its module")

    # ---- stores ----

    def store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            before = self.env.get(target.id, value)
            self.env[target.id] = value if before == value else ANY
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.shallow(value)
            items = value == STATE and not any(isinstance(part, ast.Starred) for part in target.elts)
            for i, part in enumerate(target.elts):
                self.store(part, Field(str(i)) if items else ANY)
        elif isinstance(target, ast.Starred):
            self.store(target.value, Made(list))
        elif isinstance(target, ast.Subscript):
            to, key = self.value(target.value), self.value(target.slice)
            if isinstance(to, Known):
                self.stop("it changes a container of its module")
            self.shallow(to, key)
        elif isinstance(target, ast.Attribute):
            self.store_attribute(target)
        else:
            self.stop("a store that is not understood")

    def store_attribute(self, target: ast.Attribute) -> None:
        to = self.value(target.value)
        if not isinstance(to, (Self, Made)) or (isinstance(to, Made) and to.kind in PLAIN):
            self.stop("it sets an attribute of something that it did not make")
        if target.attr in ("__class__", "__dict__") and not (isinstance(to, Self) and target.attr == "__dict__"):
            self.stop(f"it sets {target.attr}")
        _, thing = defining(to.kind, target.attr)
        base, setter = defining(to.kind, "__setattr__" if isinstance(target.ctx, ast.Store) else "__delattr__")
        if base is not object:
            self.call_found(setter, to.kind, isinstance(to, Self) and to.poisoned, "__setattr__")
        if isinstance(thing, property):
            if thing.fset is not None:
                self.call_python(thing.fset, to.kind, isinstance(to, Self) and to.poisoned)
        elif hasattr(type(thing), "__set__") and not isinstance(
                thing, (types.MemberDescriptorType, types.GetSetDescriptorType, property)):
            self.stop(f"a descriptor sets {target.attr}")

    # ---- expressions ----

    def value(self, node: ast.expr) -> Value:
        method = getattr(self, "of_" + type(node).__name__, None)
        if method is None:
            return self.stop(f"an expression that is not understood: {type(node).__name__}")
        return method(node)

    def of_Constant(self, node: ast.Constant) -> Value:
        return Made(type(node.value)) if type(node.value) in PLAIN else Known(node.value)

    def of_Name(self, node: ast.Name) -> Value:
        return self.lookup(node.id)

    def of_Tuple(self, node: ast.Tuple) -> Value:
        for part in node.elts:
            self.value(part)
        return Made({"Tuple": tuple, "List": list, "Set": set}[type(node).__name__])

    of_List = of_Set = of_Tuple

    def of_Dict(self, node: ast.Dict) -> Value:
        for key in node.keys:
            if key is not None:
                self.soft(self.value(key))
        for part in node.values:
            self.value(part)
        if None in node.keys:
            self.facts.quiet = True
        return Made(dict)

    def of_Starred(self, node: ast.Starred) -> Value:
        self.shallow(self.value(node.value))
        return ANY

    def of_BinOp(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        self.soft(left, right)
        if isinstance(left, Made) and left.kind is str:
            if isinstance(node.op, ast.Mod):
                self.facts.quiet = True
            return left
        return left if left == right and isinstance(left, Made) else ANY

    def of_BoolOp(self, node: ast.BoolOp) -> Value:
        values = [self.value(part) for part in node.values]
        self.shallow(*values)
        return values[0] if all(value == values[0] for value in values) else ANY

    def of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        self.shallow(value)
        return Made(bool) if isinstance(node.op, ast.Not) else value if isinstance(value, Made) else ANY

    def of_Compare(self, node: ast.Compare) -> Value:
        values = [self.value(node.left), *map(self.value, node.comparators)]
        if all(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops) and values[-1] in (STATE, Made(dict)):
            self.soft(*values[:-1])  # the audit judges the keys of dicts
        elif not all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            self.soft(*values)
        return Made(bool)

    def of_IfExp(self, node: ast.IfExp) -> Value:
        self.shallow(self.value(node.test))
        left, right = self.value(node.body), self.value(node.orelse)
        return left if left == right else ANY

    def of_Subscript(self, node: ast.Subscript) -> Value:
        of, key = self.value(node.value), self.value(node.slice)
        self.shallow(of, key)
        if isinstance(of, Known) and not isinstance(of.thing, (dict, list, tuple)):
            self.stop(f"it indexes {of.thing!r}"[:100])
        if of == STATE and isinstance(node.slice, ast.Constant):
            return Field(str(node.slice.value))
        return ANY

    def of_Slice(self, node: ast.Slice) -> Value:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.value(part)
        return Made(slice)

    def of_JoinedStr(self, node: ast.JoinedStr) -> Value:
        for part in node.values:
            self.value(part)
        return Made(str)

    def of_FormattedValue(self, node: ast.FormattedValue) -> Value:
        self.soft(self.value(node.value))
        return Made(str)

    def of_Yield(self, node: ast.Yield) -> Value:
        if node.value is not None:
            self.value(node.value)
        return ANY  # the steps of a generator count as if they ran at once

    def of_YieldFrom(self, node: ast.YieldFrom) -> Value:
        self.shallow(self.value(node.value))
        return ANY

    def of_Lambda(self, node: ast.Lambda) -> Value:
        return ANY  # made, not run

    def of_ListComp(self, node: ast.ListComp) -> Value:
        for generator in node.generators:
            self.shallow(self.value(generator.iter))
            self.store(generator.target, ANY)
            for test in generator.ifs:
                self.shallow(self.value(test))
        if isinstance(node, ast.DictComp):
            self.soft(self.value(node.key))
            self.value(node.value)
            return Made(dict)
        self.value(node.elt)
        return Made({"ListComp": list, "SetComp": set}.get(type(node).__name__, list))

    of_SetComp = of_DictComp = of_GeneratorExp = of_ListComp

    def of_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.store(node.target, value)
        return value

    def of_Attribute(self, node: ast.Attribute) -> Value:
        of = self.value(node.value)
        return self.attribute(of, node.attr)

    def attribute(self, of: Value, name: str) -> Value:
        if isinstance(of, Known):
            return self.known_attribute(of.thing, name)
        if isinstance(of, Made):
            return ANY if of.kind in PLAIN else self.self_attribute(Self(of.kind, False), name)
        if isinstance(of, Super):
            return ANY
        if isinstance(of, Self):
            return self.self_attribute(of, name)
        if name == "__class__":
            return ANY
        return self.stop(f"it reads .{name} of a value that is not known")

    def known_attribute(self, thing: Any, name: str) -> Value:
        if isinstance(thing, types.ModuleType):
            if name not in vars(thing):
                self.stop(f"{thing.__name__}.{name} is made when it is asked for")
            return self.wrap(vars(thing)[name])
        if isinstance(thing, type):
            if type(thing) is enum.EnumMeta and name in thing.__members__:
                return Known(thing.__members__[name])
            if type(thing).__getattribute__ is not type.__getattribute__ or hasattr(type(thing), "__getattr__"):
                self.stop(f"the metaclass of {thing.__name__} finds attributes")
            if name in ("__name__", "__qualname__", "__module__", "__doc__"):
                return Made(str)
            _, found = defining(thing, name)
            if found is None:
                return self.stop(f"{thing.__name__}.{name} is not found")
            if isinstance(found, (types.FunctionType, staticmethod, classmethod)):
                return Known(getattr(thing, name))
            return self.wrap(found) if not hasattr(type(found), "__get__") else ANY
        return ANY if type(thing) in PLAIN else self.stop(f"it reads .{name} of {type(thing).__name__}")

    def self_attribute(self, of: Self, name: str) -> Value:
        if name == "__dict__":
            return Made(dict)
        if name == "__class__":
            return Known(of.kind)
        base, found = defining(of.kind, "__getattribute__")
        if base is not object:
            self.call_found(found, of.kind, of.poisoned, "__getattribute__")
        _, found = defining(of.kind, name)
        if isinstance(found, property):
            self.call_python(found.fget, of.kind, of.poisoned)
        elif found is not None and hasattr(type(found), "__get__") and not isinstance(
                found, (types.FunctionType, staticmethod, classmethod, types.MemberDescriptorType,
                        types.GetSetDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType,
                        types.BuiltinFunctionType, type)):
            self.stop(f"a descriptor gives .{name}")
        base, getter = defining(of.kind, "__getattr__")
        if base is not None:
            self.call_found(getter, of.kind, of.poisoned, "__getattr__")
        return ANY

    # ---- calls ----

    def of_Call(self, node: ast.Call) -> Value:
        func = node.func
        arguments = [self.value(arg) for arg in node.args]
        keywords = [self.value(keyword.value) for keyword in node.keywords]
        if isinstance(func, ast.Name) and func.id == "super" and "super" not in self.env:
            return self.make_super(node, arguments)
        if isinstance(func, ast.Attribute):
            of = self.value(func.value)
            return self.call_method(of, func.attr, arguments, keywords, node)
        called = self.value(func)
        return self.call(called, arguments, keywords, node)

    def make_super(self, node: ast.Call, arguments: list[Value]) -> Value:
        if self.receiver is None or self.owner is None:
            return self.stop("super() of something that is not known")
        if arguments and not (isinstance(arguments[0], Known) and arguments[0].thing is self.owner):
            return self.stop("super() with arguments")
        return Super(self.receiver, self.owner, self.poisoned)

    def call_of_state(self, name: str, arguments: list[Value], node: ast.Call) -> Value:
        if name not in METHODS[dict]:
            self.stop(f"it calls .{name} of the state")
        if name in ("get", "pop", "setdefault") and node.args and isinstance(node.args[0], ast.Constant):
            self.soft(*arguments[1:])
            return Field(str(node.args[0].value))
        self.shallow(*arguments)
        return STATE if name == "copy" else ANY

    def call_method(self, of: Value, name: str, arguments: list[Value], keywords: list[Value],
                    node: ast.Call | None = None) -> Value:
        if isinstance(of, Super):
            mro = of.kind.__mro__
            for base in mro[mro.index(of.after) + 1:]:
                if name in base.__dict__:
                    self.call_found(base.__dict__[name], of.kind, of.poisoned, name)
                    return Made(of.kind) if name == "__new__" else ANY
            return ANY  # raises AttributeError
        if of == STATE and node is not None:
            return self.call_of_state(name, arguments, node)
        if isinstance(of, Made) and of.kind in METHODS:
            if name not in METHODS[of.kind]:
                self.stop(f"{of.kind.__name__}.{name} is not known")
            self.shallow(*arguments, *keywords)
            if name in ("update", "extend", "union", "pop", "get", "setdefault"):
                return ANY
            return Made(list) if name in ("split", "splitlines") else Made(of.kind) if of.kind is str else ANY
        if isinstance(of, Self):
            _, found = defining(of.kind, name)
            if isinstance(found, (types.FunctionType, staticmethod, classmethod)):
                if of.poisoned:
                    self.facts.fields.add("!" + name)  # the state may not shadow it
                self.call_found(found, of.kind, of.poisoned, name)
                return ANY
            return self.stop(f"self.{name} is not a method that is known")
        if isinstance(of, Known) and type(of.thing) in METHODS:
            if name not in READS:
                self.stop(f"it calls .{name} of a container of its module")
            self.soft(*arguments, *keywords)
            return ANY
        if isinstance(of, Known):
            found = self.known_attribute(of.thing, name)
            if isinstance(found, Known):
                if isinstance(of.thing, type) and isinstance(found.thing, types.FunctionType):
                    return self.call_unbound(of.thing, found.thing, arguments)
                return self.call(found, arguments, keywords, None)
        return self.stop(f"it calls .{name} of a value that is not known")

    def call_unbound(self, kind: type, function: types.FunctionType, arguments: list[Value]) -> Value:
        """Base.method(self, ...)"""
        first = arguments[0] if arguments else None
        if isinstance(first, Self):
            self.facts.calls.add((function, first.kind, first.poisoned))
        elif isinstance(first, Known) and isinstance(first.thing, type):
            self.facts.calls.add((function, first.thing, False))
        else:
            self.facts.calls.add((function, None, False))
        return ANY

    def call_python(self, function: Any, kind: type | None, poisoned: bool) -> None:
        if not isinstance(function, types.FunctionType):
            self.stop(f"it calls {function!r}"[:100])
        self.facts.calls.add((function, kind, poisoned))

    def call_found(self, found: Any, kind: type, poisoned: bool, name: str) -> None:
        """What stands in a class's __dict__ under that name."""
        inner = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
        if isinstance(inner, types.FunctionType):
            self.facts.calls.add((inner, kind, poisoned))
        elif not is_reviewed(found, self.natives):
            self.stop(f"native {name} of {kind.__module__}.{kind.__qualname__}")

    def call(self, called: Value, arguments: list[Value], keywords: list[Value], node: ast.Call | None) -> Value:
        if not isinstance(called, Known):
            return self.stop("it calls a value that is not known")
        thing = called.thing
        try:
            hash(thing)
        except TypeError:
            return self.stop("it calls an object that is not known")
        if thing is type and len(arguments) == 1:
            return Known(arguments[0].kind) if isinstance(arguments[0], (Self, Made)) else ANY
        if thing is weakref.ref and len(arguments) == 1 and not keywords:
            return ANY  # without a callback it calls nothing
        if thing in (getattr, hasattr, setattr) and node is not None:
            return self.call_getattr(thing, arguments, node)
        if (thing in CALLS_KEY and keywords) or (thing is iter and len(arguments) > 1):
            return self.stop("it calls what it is given")
        if isinstance(thing, type) and issubclass(thing, collections.defaultdict) and not (
                arguments and isinstance(arguments[0], Known) and arguments[0].thing in PLAIN):
            return self.stop("a defaultdict of something that is not known")
        if thing in (isinstance, issubclass) and len(arguments) == 2 and not isinstance(arguments[1], (Known, Made)):
            self.soft(arguments[1])
        if thing in FREE or thing in QUIET:
            if thing in (len, bool, list, tuple, dict, zip, enumerate, iter, reversed):
                self.shallow(*arguments, *keywords)
            elif thing in QUIET:
                self.soft(*arguments, *keywords)
            return Made(thing) if isinstance(thing, type) and thing in PLAIN else ANY
        if isinstance(thing, types.FunctionType):
            self.facts.calls.add((thing, None, False))
            return ANY
        if isinstance(thing, types.MethodType) and isinstance(thing.__func__, types.FunctionType):
            owner = thing.__self__ if isinstance(thing.__self__, type) else type(thing.__self__)
            self.facts.calls.add((thing.__func__, owner, False))
            return ANY
        if isinstance(thing, type):
            return self.construct(thing, arguments + keywords)
        if self.natives.get(name_of(thing), "").startswith("pure"):
            self.soft(*arguments, *keywords)
            return ANY
        return self.stop(f"native {name_of(thing)}")

    def call_getattr(self, thing: Any, arguments: list[Value], node: ast.Call) -> Value:
        name = node.args[1] if len(node.args) > 1 else None
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            return self.stop(f"{thing.__name__} of a name that is computed")
        if thing is setattr:
            target = ast.copy_location(ast.Attribute(node.args[0], name.value, ast.Store()), node)
            self.store_attribute(target)
            return ANY
        if isinstance(arguments[0], Known) and isinstance(arguments[0].thing, types.ModuleType):
            return Made(bool) if thing is hasattr else self.known_attribute(arguments[0].thing, name.value)
        found = self.attribute(arguments[0], name.value)
        return Made(bool) if thing is hasattr else found

    def construct(self, kind: type, arguments: list[Value]) -> Value:
        for entry in constructor(kind, self.natives):
            if isinstance(entry, str):
                return self.stop(entry)
            self.facts.calls.add(entry)
        plain = all(isinstance(value, (Field, Known)) or (isinstance(value, Made) and (
            value.plain or value.kind in SCALARS)) for value in arguments)
        if plain:
            self.soft(*(value for value in arguments if isinstance(value, Field)))
        return Made(kind, plain)


SPECIAL = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__len__", "__iter__", "__next__",
           "__getitem__", "__contains__", "__hash__", "__str__", "__repr__", "__format__", "__int__", "__index__",
           "__float__", "__complex__", "__bytes__", "__fspath__", "__abs__", "__neg__", "__pos__", "__invert__",
           "__round__", "__trunc__", "__floor__", "__ceil__", "__reversed__", "__length_hint__", "__setitem__",
           "__delitem__", "__missing__", "__array__", "__instancecheck__", "__subclasscheck__",
           *(f"__{prefix}{name}__" for prefix in ("", "r", "i") for name in (
               "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or",
               "xor")), "__divmod__", "__rdivmod__")


# ---- natives ----

def name_of(thing: Any) -> str:
    owner = getattr(thing, "__self__", None)  # of object.__new__
    of = owner if isinstance(owner, type) else getattr(thing, "__objclass__", None)
    module = getattr(thing, "__module__", None) or getattr(of, "__module__", "")
    return f"{module}.{getattr(thing, '__qualname__', getattr(thing, '__name__', '?'))}"


CONTAINERS = (object, dict, list, tuple, set, frozenset, str, bytes, bytearray, int, float, complex, bool,
              collections.OrderedDict, collections.deque, collections.defaultdict)
NOT_REVIEWED = {"sort", "format", "format_map", "__missing__", "__reduce__", "__reduce_ex__", "__init_subclass__"}


def is_reviewed(found: Any, natives: dict[Any, str]) -> bool:
    """A slot of a native class, by the name in the list of those that were read; methods of Python's own containers
    keep to them, but for those that call what they are given."""
    owner, name = getattr(found, "__objclass__", None), getattr(found, "__name__", "")
    is_error = isinstance(owner, type) and issubclass(owner, BaseException) and owner.__module__ == "builtins"
    if (owner in CONTAINERS or is_error) and name not in NOT_REVIEWED:
        return True
    return natives.get(name_of(found), "").startswith("pure")


def needed_fields(row: str) -> frozenset[str]:
    """What the list of reviewed code says that a state must be like."""
    return frozenset(word for word in row.split() if word[0] in ":!#" and len(word) > 1)


def native_new(kind: type, natives: dict[Any, str]) -> str:
    """Why kind.__new__, which is native, is not known; empty if it is."""
    owner = getattr(kind.__new__, "__self__", None)
    if not isinstance(owner, type):
        return f"native __new__ of {kind.__qualname__}"
    if issubclass(owner, BaseException) and owner.__module__ == "builtins":
        return ""
    return "" if natives.get(f"{owner.__module__}.{owner.__qualname__}.__new__", "").startswith("pure") else (
        f"native {owner.__module__}.{owner.__qualname__}.__new__")


def plain_metaclass(kind: type, natives: dict[Any, str]) -> str:
    base, found = defining(type(kind), "__call__")
    if base is type or is_reviewed(found, natives):
        return ""
    return f"the metaclass {type(kind).__qualname__} makes the instances"


def entries_new(kind: type, natives: dict[Any, str]) -> list[Any]:
    base, found = defining(kind, "__new__")
    inner = getattr(found, "__func__", found)
    finalize = entries_method(kind, "__array_finalize__", True, natives)  # numpy's __new__ calls it
    if isinstance(inner, types.FunctionType):
        return [(inner, kind, False), *finalize]
    why = native_new(kind, natives)
    return [why] if why else finalize


def entries_method(kind: type, name: str, poisoned: bool, natives: dict[Any, str]) -> list[Any]:
    base, found = defining(kind, name)
    if base is None or base is object or found is None:
        return []
    inner = getattr(found, "__func__", found)
    if isinstance(inner, types.FunctionType):
        return [(inner, kind, poisoned)]
    if issubclass(base, BaseException) and base.__module__ == "builtins":
        return []
    if not is_reviewed(found, natives):
        return [f"native {name} of {base.__module__}.{base.__qualname__}"]
    fields = needed_fields(natives.get(name_of(found), ""))
    return [fields] if fields else []


def constructor(kind: type, natives: dict[Any, str]) -> list[Any]:
    """What kind(...) runs: functions to look at, or a text that says what is not known."""
    why = plain_metaclass(kind, natives)
    if why:
        return [why]
    return (entries_new(kind, natives) + entries_method(kind, "__init__", False, natives)
            + entries_method(kind, "__del__", True, natives))


def getters(kind: type) -> list[Any]:
    """What reading any attribute of an object may run, beside __getattribute__ and __getattr__: properties and other
    descriptors of its classes. Functions and slots run nothing."""
    inert = (types.FunctionType, staticmethod, classmethod, types.MemberDescriptorType, types.GetSetDescriptorType,
             types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType,
             types.ClassMethodDescriptorType, type)
    entries: list[Any] = []
    for base in kind.__mro__:
        for name, thing in vars(base).items():
            getter = thing.fget if isinstance(thing, property) else thing.func if isinstance(
                thing, functools.cached_property) else None
            if isinstance(getter, types.FunctionType):
                entries.append((getter, kind, True))
            elif hasattr(type(thing), "__get__") and not isinstance(thing, inert):
                entries.append(f"a descriptor gives .{name}")
    return entries


def enumeration(kind: type, natives: dict[Any, str]) -> list[Any] | None:
    """What asking for a member by its value runs, and special methods of members, but for the code of enum itself; None
    if it is no enumeration with members."""
    if type(kind) is not enum.EnumMeta or not kind.__members__:
        return None
    entries: list[Any] = []
    for name in (*SPECIAL, "_missing_", "__getattribute__", "__getattr__", "__del__"):
        base, found = defining(kind, name)
        if base is not None and "enum" not in (base.__module__, getattr(found, "__module__", "")):
            entries += entries_method(kind, name, True, natives)
    return entries


# ---- the graph ----

class Graph:
    def __init__(self, natives: dict[Any, str]) -> None:
        self.natives = natives
        self.facts: dict[tuple[Any, ...], Facts] = {}
        self.bad: dict[tuple[Any, ...], str] = {}

    def of(self, entry: tuple[Any, ...]) -> Facts:
        if entry not in self.facts:
            function, kind, poisoned = entry
            reviewed = self.natives.get(f"{function.__module__}.{function.__qualname__}")
            if reviewed is not None:  # by somebody, with the fields that must be plain
                self.facts[entry] = Facts(fields=set(needed_fields(reviewed)), body=SOURCES.hash(function.__code__))
                return self.facts[entry]
            self.facts[entry] = Walk(function, kind, poisoned, self.natives).run()
        return self.facts[entry]

    def judge(self, entries: list[Any]) -> tuple[str, bool, set[str]]:
        """Why it is not pure (empty if it is), whether it needs a quiet world, the hashes of what it runs."""
        quiet, bodies, seen = False, set(), set()
        self.fields: set[str] = set()
        todo = list(entries)
        while todo:
            entry = todo.pop()
            if isinstance(entry, str):
                return entry, quiet, bodies
            if isinstance(entry, frozenset):  # native code, and what it needs
                self.fields |= entry
                continue
            if entry in seen:
                continue
            seen.add(entry)
            if entry in self.bad:
                return self.bad[entry], quiet, bodies
            if len(seen) > MAX_NODES:
                return "it reaches too much", quiet, bodies
            facts = self.of(entry)
            if facts.reason:
                why = f"{facts.reason} ({entry[0].__module__}.{entry[0].__qualname__})"
                if len(entries) == 1:
                    self.bad[entries[0]] = why
                return why, quiet, bodies
            quiet = quiet or facts.quiet
            self.fields |= facts.fields
            bodies.add(facts.body)
            todo.extend(facts.calls)
            for call in facts.plain_calls:  # what they compare, count or print is plain
                fields = set(self.fields)
                why, _, more = self.judge([call]) if call not in seen else ("", False, set())
                self.fields = fields
                seen.add(call)
                bodies |= more
                if why:
                    return why, quiet, bodies
        return "", quiet, bodies


Judge = Callable[[list[Any]], tuple[str, bool, set[str]]]
