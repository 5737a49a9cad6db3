"""Code that defines a live function or class, for the decompiler.

The code of a function has neither defaults nor annotations, and a class keeps no code at all: these are computed where
the two are defined. So the definition is compiled anew with empty bodies, and the real code put in their places.
"""

from __future__ import annotations

import ast
import enum
import inspect
import sys
import types
from typing import Any, Iterator, Sequence

_MADE_BY_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_NO_TYPE_PARAMETERS: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}


def define_function(code: types.CodeType, function: types.FunctionType | None = None,
                    nested: bool = False) -> types.CodeType:
    """The code of a module that does nothing but define one function; nested: in the classes and functions that its
    qualified name says, with variables of theirs for its free ones. ValueError where no source could give its name."""
    bodies = _Bodies(nested)
    statement = bodies.function(code, function)
    return bodies.module(statement, code.co_qualname if nested else "", code.co_filename)


def define_class(cls: type, nested: bool = False) -> types.CodeType:
    """The same for a class; ValueError if it was written in C."""
    if not cls.__flags__ & _MADE_BY_PYTHON:
        raise ValueError(f"{cls.__qualname__} has no bytecode")
    bodies = _Bodies(nested)
    statement = bodies.class_of(cls)
    filename = bodies.codes[0].co_filename if bodies.codes else "<class>"
    return bodies.module(statement, cls.__qualname__ if nested else "", filename)


def functions_of(cls: type) -> list[types.FunctionType]:
    """The functions that stand in the body of a class."""
    return [each for value in vars(cls).values() for each in _functions(value) if _stands_in(cls, each)]


def _functions(member: Any) -> list[types.FunctionType]:
    """What is behind a property, a static method or a function."""
    is_property = isinstance(member, property)
    found = (member.fget, member.fset, member.fdel) if is_property else (getattr(member, "__func__", member),)
    return [each for each in found if isinstance(each, types.FunctionType)]


def _stands_in(cls: type, function: types.FunctionType) -> bool:
    return function.__code__.co_qualname.rpartition(".")[0] == cls.__qualname__


def _written(cls: type) -> dict[str, Any]:
    """name -> what the body of a class seems to have bound to it. An Enum has made other things of that."""
    if not isinstance(cls, enum.EnumMeta):
        return dict(vars(cls))
    members: dict[str, Any] = dict(cls.__members__)
    found = {name: member._value_ for name, member in members.items()}
    for name, value in vars(cls).items():
        functions = _functions(value)
        is_own = any(_stands_in(cls, each) for each in functions) if functions else not name.startswith("_")
        if is_own:
            found.setdefault(name, value)
    return found


def walk(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those among its constants, in the order that the C side numbers them."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from walk(constant)


class _Bodies:
    """Definitions whose bodies are to be put in: each has a constant that tells which one."""

    def __init__(self, nested: bool) -> None:
        self.nested = nested
        self.codes: list[types.CodeType] = []
        self.free: list[str] = []

    def _body(self, code: types.CodeType) -> list[ast.expr]:
        self.codes.append(code)
        names = [ast.Name(name, ast.Load()) for name in code.co_freevars] if self.nested else []
        self.free += [name for name in code.co_freevars if name != "__class__" and name not in self.free]
        return [ast.Constant(_mark(len(self.codes) - 1)), *names]

    def function(self, code: types.CodeType, function: types.FunctionType | None,
                 decorators: Sequence[str] = ()) -> ast.stmt:
        args = _arguments(code, function)
        body = self._body(code)
        if code.co_name == "<lambda>":
            return ast.Expr(ast.Lambda(args, ast.Tuple(body, ast.Load()) if len(body) > 1 else body[0]))
        is_async = code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)
        kind: Any = ast.AsyncFunctionDef if is_async else ast.FunctionDef
        returns = _annotation(function.__annotations__, "return") if function else None
        made: ast.stmt = kind(_identifier(code.co_name), args, [ast.Expr(each) for each in body],
                              [_expression(each) for each in decorators], returns, **_NO_TYPE_PARAMETERS)
        return made

    def class_of(self, cls: type) -> ast.ClassDef:
        written = _written(cls)
        notes = vars(cls).get("__annotations__", ())
        body: list[ast.stmt] = [_attribute(cls, name) for name in notes if name not in written]
        for name, value in written.items():
            body += self._member(cls, name, value)
        doc = vars(cls).get("__doc__")
        if doc and type(doc) is str:  # it may be a property
            body.insert(0, ast.Expr(ast.Constant(doc)))
        bases = [_expression(base.__qualname__.rpartition("<locals>.")[2]) or ast.Constant(...)
                 for base in cls.__bases__ if base is not object]
        return ast.ClassDef(_identifier(cls.__name__), bases, [], body or [ast.Pass()], [], **_NO_TYPE_PARAMETERS)

    def _member(self, cls: type, name: str, value: Any) -> Sequence[ast.stmt]:
        if isinstance(value, property):
            roles = ("property", value.fget), (f"{name}.setter", value.fset), (f"{name}.deleter", value.fdel)
            return [self.function(each.__code__, each, [role]) for role, each in roles
                    if isinstance(each, types.FunctionType)]
        inner = getattr(value, "__func__", None)
        if isinstance(value, (staticmethod, classmethod)) and isinstance(inner, types.FunctionType):
            return [self.function(inner.__code__, inner, [type(value).__name__])]
        if isinstance(value, types.FunctionType):
            return [self.function(value.__code__, value)]
        if isinstance(value, type) and value.__qualname__ == f"{cls.__qualname__}.{name}":
            return [self.class_of(value)]
        if name.startswith("__") or inspect.isdatadescriptor(value):
            return []
        attribute = _attribute(cls, name, _spelled(value))
        unsaid = isinstance(attribute.value, ast.Constant) and attribute.value.value is ... and value is not ...
        return [] if self.nested and unsaid else [attribute]  # the substitute for the class must say nothing false

    def module(self, statement: ast.stmt, qualname: str, filename: str) -> types.CodeType:
        statement = _nest(qualname.split(".")[:-1], self.free, statement)
        tree = ast.fix_missing_locations(ast.Module([statement], []))
        return self._fill(compile(tree, filename, "exec", dont_inherit=True, optimize=0))

    def _fill(self, code: types.CodeType) -> types.CodeType:
        for i, real in enumerate(self.codes):
            if _mark(i) in code.co_consts:
                return real
        constants = [self._fill(each) if isinstance(each, types.CodeType) else each for each in code.co_consts]
        return code.replace(co_consts=tuple(constants))


def _mark(number: int) -> str:
    return f"<body {number}>"


def _identifier(name: str) -> str:
    if not name.isidentifier():
        raise ValueError(f"{name} is no name that a source can give")
    return name


def _nest(path: list[str], free: Sequence[str], statement: ast.stmt) -> ast.stmt:
    """The statement in classes and functions ("<locals>" after its name tells a function), the outermost first."""
    while path:
        name = path.pop()
        if name != "<locals>":
            statement = ast.ClassDef(_identifier(name), [], [], [statement], [], **_NO_TYPE_PARAMETERS)
            continue
        # The nearest function has all of the free variables: whose they were makes no difference to who reads them.
        own: list[ast.stmt] = [ast.Assign([ast.Name(each, ast.Store())], ast.Constant(None)) for each in free]
        free = ()
        statement = ast.FunctionDef(_identifier(path.pop()), ast.arguments([], [], None, [], [], None, []),
                                    [*own, statement], [], None, **_NO_TYPE_PARAMETERS)
    return statement


# ---- the parts of a signature or a class body ----

def _arguments(code: types.CodeType, function: types.FunctionType | None) -> ast.arguments:
    annotations = function.__annotations__ if function else {}
    names = [ast.arg(name, _annotation(annotations, name)) for name in code.co_varnames]
    first, plain = code.co_posonlyargcount, code.co_argcount
    keyword, rest = names[plain:plain + code.co_kwonlyargcount], names[plain + code.co_kwonlyargcount:]
    star = rest.pop(0) if code.co_flags & inspect.CO_VARARGS else None
    stars = rest.pop(0) if code.co_flags & inspect.CO_VARKEYWORDS else None
    by_place = function.__defaults__ or () if function else ()
    by_name = function.__kwdefaults__ or {} if function else {}
    return ast.arguments(names[:first], names[first:plain], star, keyword,
                         [_spelled(by_name[each.arg]) if each.arg in by_name else None for each in keyword],
                         stars, [_spelled(value) for value in by_place])


def _attribute(cls: type, name: str, value: ast.expr | None = None) -> ast.AnnAssign | ast.Assign:
    note = _annotation(vars(cls).get("__annotations__", {}), name)
    target = ast.Name(name, ast.Store())
    return ast.AnnAssign(target, note, value, 1) if note else ast.Assign([target], value or ast.Constant(...))


def _annotation(annotations: dict[str, Any], name: str) -> ast.expr | None:
    if name not in annotations:
        return None
    return _expression(annotations[name]) if isinstance(annotations[name], str) else _spelled(annotations[name])


def _spelled(value: Any) -> ast.expr:
    """A literal, or the name that something goes by; for want of both `...`, as stubs have it: there is a value."""
    if type(value) in (float, complex):
        return ast.Constant(value)  # the text of infinity is no literal
    text = ""
    try:
        text = repr(value)
        ast.literal_eval(text)
    except Exception:  # objects may do anything when asked for their text
        text = _dotted(value) or text
    return _expression(text) or ast.Constant(...)


def _dotted(value: Any) -> str | None:
    """The name under which its module has a class or function."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    found = sys.modules.get(module) if isinstance(module, str) else None
    for part in name.split(".") if found and isinstance(name, str) else ():
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    if found is None or found is not value:
        return None
    return name if module in ("builtins", "__main__") else f"{module}.{name}"


def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: it is nested too deeply
        return None
