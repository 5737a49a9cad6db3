"""Decompiling live objects, and putting the text in their place.

The work is done in C; here is what needs the running Python: finding the code object, and compile().
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import os
import re
import sys
import types
from dataclasses import dataclass, field
from typing import Any, Sequence, cast

from ._define import define_class, define_function, walk
from ._pellucid import Error, decompile_bytes, decompile_code
from ._result import Result, lines_of

_OBJECT_NAME = re.compile(r"__pellucid_const_(\d+)__$")
_CODES = ("__code__", "gi_code", "cr_code", "ag_code", "f_code")
#: Instructions with two variables in one argument.
_FUSED = {code for name, code in dis.opmap.items() if name.count("_FAST") == 2 and "CLEAR" not in name}
_KIND_FLAGS = (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
               | inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)


@dataclass(repr=False)
class Decompiled(Result):
    """What `decompile_map` gives."""

    source: str
    #: Per line of source, from 1: the instructions it came from, as (code object, offset).
    lines: dict[int, list[tuple[types.CodeType, int]]]
    #: (name, reason) of each code object that could not be given a structure: it is shown as instructions.
    incomplete: list[tuple[str, str]] = field(default_factory=list)
    #: Constants that no literal can express, by the name that the source has for them.
    objects: dict[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        lines = {str(n): [[owner.co_name, offset] for owner, offset in places] for n, places in self.lines.items()}
        return {"source": self.source, "lines": lines, "incomplete": [list(row) for row in self.incomplete]}

    def _summary(self) -> str:
        return f"{lines_of(self.source)} lines, {len(self.incomplete)} functions incomplete"

    def __str__(self) -> str:
        return self.source

    def line_table(self, code: types.CodeType) -> dict[int, int]:
        """{offset: line} of one of the code objects."""
        return {offset: line for line, places in self.lines.items() for owner, offset in places if owner is code}


def decompile(target: Any, *, width: int = 100) -> str:
    """Python source for a code object, function, method, class, module, or the path of a .pyc file.

    Of a partial, a property or a decorated function it is that of the function inside, of a module of torch that of its
    `forward`, of another callable object that of its `__call__`.
    """
    if isinstance(target, (str, os.PathLike)):
        with open(target, "rb") as file:
            return decompile_bytes(file.read(), width=width, filename=os.fspath(target))
    return decompile_code(_definition(target), width=width)[0]


def decompile_map(target: Any, *, width: int = 100) -> Decompiled:
    """The same for anything but a class or a path, with the instructions that each line came from."""
    code = _code_of(target)
    source, incomplete, objects, tables = decompile_code(code, width=width, lines=True)
    lines: dict[int, list[tuple[types.CodeType, int]]] = {}
    for owner, table in zip(walk(code), tables or ()):
        for offset, line in table:
            if line:
                lines.setdefault(line, []).append((owner, offset))
    names = {f"__pellucid_const_{i}__": value for i, value in enumerate(objects)}
    return Decompiled(source, dict(sorted(lines.items())), incomplete, names)


def recompile(code: types.CodeType) -> types.CodeType:
    """A code object that was made from the decompiled text of `code` and can stand in its place.

    It has the same arguments, free variables, cell variables and constants without literals. Raises Error where the
    text is incomplete or does not fit.
    """
    if not isinstance(code, types.CodeType):
        raise TypeError(f"recompile() takes a code object, not {type(code).__name__}")
    source, incomplete, objects, _ = decompile_code(code)
    if incomplete:
        raise _error("; ".join(f"{name}: {why}" for name, why in incomplete))
    tree = ast.parse(source)
    if code.co_flags & inspect.CO_NEWLOCALS and code.co_flags & inspect.CO_OPTIMIZED:
        tree = _wrap(tree, code)
    tree = ast.fix_missing_locations(_Objects(objects).visit(tree))
    made = compile(tree, code.co_filename, "exec", dont_inherit=True)
    if tree.body and code.co_name != "<module>":
        made = _find(made, code)
    made = _put_objects(made, objects)
    made = _order_free(made, code.co_freevars)
    _check_fit(made, code)
    fields: dict[str, Any] = {"co_name": code.co_name, "co_firstlineno": code.co_firstlineno}
    if hasattr(code, "co_qualname"):
        fields["co_qualname"] = code.co_qualname
    return made.replace(**fields)


def _error(message: str) -> Error:
    error = Error(message)
    error.code, error.message, error.offset = "INCOMPLETE", message, 0
    error.file = error.line = error.column = None
    return error


# ---- finding code ----

def _code_of(target: Any) -> types.CodeType:
    if isinstance(target, types.CodeType):
        return target
    if isinstance(target, types.ModuleType):
        spec: Any = getattr(target, "__spec__", None)
        loader: Any = spec.loader if spec else None
        code: types.CodeType | None = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
        if code is None:
            raise TypeError(f"module {target.__name__} has no bytecode")
        return code
    function = _function_of(target)
    for attribute in _CODES:
        found = getattr(function, attribute, None)
        if isinstance(found, types.CodeType):
            return found
    raise TypeError(f"no bytecode in {type(target).__name__}")


def _function_of(target: Any) -> Any:
    """What decorators, methods, partials, properties and callable objects are about."""
    for _ in range(100):
        if isinstance(target, (functools.partial, functools.partialmethod, functools.cached_property)):
            inner: Any = target.func
        elif isinstance(target, property):
            inner = target.fget or target.fset or target.fdel
        elif callable(target) and hasattr(target, "__wrapped__"):
            inner = inspect.unwrap(target)
        elif hasattr(target, "__func__"):
            inner = target.__func__
        elif not isinstance(target, (type, types.FunctionType)) and not _has_code(target):
            inner = _call_of(target)
        else:
            return target
        if inner is None or inner is target:
            return target
        target = inner
    return target


def _has_code(target: Any) -> bool:
    return any(isinstance(getattr(target, name, None), types.CodeType) for name in _CODES)


def _call_of(target: Any) -> Any:
    """What runs when an object is called: of a module of torch its forward, otherwise its class's __call__."""
    torch_nn = sys.modules.get("torch.nn")
    if torch_nn is not None and isinstance(target, torch_nn.Module):
        return type(target).forward
    call = getattr(type(target), "__call__", None)
    return call if isinstance(call, types.FunctionType) else None


def _definition(target: Any) -> types.CodeType:
    """The code object of a target; of a function or class, one that defines it with all that its own code lacks."""
    if isinstance(target, type):
        try:
            return define_class(target)
        except ValueError as error:
            raise TypeError(str(error)) from None
    code, function = _code_of(target), _function_of(target)
    try:
        return define_function(code, function) if isinstance(function, types.FunctionType) else code
    except ValueError:  # no source could give it its name
        return code


# ---- fitting ----

class _Objects(ast.NodeTransformer):
    """Names of objects become constants that the compiler keeps as they are: sets it can do nothing with."""

    def __init__(self, objects: Sequence[object]):
        self.objects = objects

    def visit_Name(self, node: ast.Name) -> ast.expr:
        match = _OBJECT_NAME.match(node.id)
        if match and int(match[1]) < len(self.objects):
            return ast.copy_location(ast.Constant(cast(Any, frozenset({node.id}))), node)
        return node


def _put_objects(code: types.CodeType, objects: Sequence[object]) -> types.CodeType:
    if not objects:
        return code
    places = {frozenset({f"__pellucid_const_{i}__"}): value for i, value in enumerate(objects)}

    def put(constant: object) -> object:
        if isinstance(constant, frozenset) and constant in places:
            return places[constant]
        if isinstance(constant, tuple):
            return tuple(map(put, constant))
        if isinstance(constant, types.CodeType):
            return _put_objects(constant, objects)
        return constant

    return code.replace(co_consts=tuple(map(put, code.co_consts)))


def _wrap(tree: ast.Module, code: types.CodeType) -> ast.Module:
    """The function inside one that has its free variables, and dead code in it that mentions every variable.

    The compiler gives a function the variables that its text mentions; who runs a code object in the place of another
    needs those that the other had.
    """
    names = _names_of(code)
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name in names]
    if found:
        function = found[0]  # the outermost: ast.walk goes by levels
        rebound = {name for n in ast.walk(function) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
        variables = [name for name in code.co_varnames if name.isidentifier()]
        mentioned: list[ast.expr] = [ast.Name(name, ast.Load()) for name in (*code.co_freevars, *variables)]
        mentioned += [ast.parse(f"lambda: {name}", mode="eval").body for name in code.co_cellvars]
        dead: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in variables
                                if name not in rebound]
        if mentioned:
            dead.append(ast.Expr(ast.Tuple(mentioned, ast.Load())))
        if dead:
            function.body.append(ast.If(ast.Constant(False), dead, []))
        if function not in tree.body:
            return tree  # it is inside of one already
    elif not any(isinstance(n, ast.Lambda) for n in ast.walk(tree)):
        raise _error(f"{code.co_name}: the text has no function")
    outer: Any = ast.parse("def __pellucid_outer__():\n    pass").body[0]
    outer.body = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None))
                  for name in code.co_freevars] + tree.body
    return ast.Module([outer], [])


def _names_of(code: types.CodeType) -> set[str]:
    """What the source may call it: names like <lambda> are none there."""
    return {code.co_name, code.co_name.replace("<", "_").replace(">", "_")}


def _find(made: types.CodeType, code: types.CodeType) -> types.CodeType:
    """The code object called like code (or as the source had to call it), nearest to the root."""
    names = _names_of(code)
    level = [made]
    while level:
        level = [c for parent in level for c in parent.co_consts if isinstance(c, types.CodeType)]
        for candidate in level:
            if candidate.co_name in names:
                return candidate
    raise _error(f"{code.co_name}: the text does not define it")


def _order_free(made: types.CodeType, wanted: tuple[str, ...]) -> types.CodeType:
    """made with its free variables in the wanted order: closures are handed over by position."""
    have = made.co_freevars
    if have == wanted or set(have) != set(wanted):
        return made
    first = len(_localsplus(made)) - len(have)
    place = {first + i: first + wanted.index(name) for i, name in enumerate(have)}
    if max(place) > 255:
        raise _error(f"{made.co_name}: too many variables to put the free ones in order")
    one_space = hasattr(made, "co_exceptiontable")  # since 3.11 locals, cells and free variables are numbered together
    raw = bytearray(made.co_code)
    for at in range(0, len(raw), 2):
        if one_space and raw[at] in _FUSED:
            halves = [place.get(half, half) for half in (raw[at + 1] >> 4, raw[at + 1] & 15)]
            if max(halves) > 15:
                raise _error(f"{made.co_name}: too many variables to put the free ones in order")
            raw[at + 1] = halves[0] << 4 | halves[1]
        elif raw[at] in dis.hasfree or one_space and raw[at] in dis.haslocal:
            raw[at + 1] = place.get(raw[at + 1], raw[at + 1])
    return made.replace(co_code=bytes(raw), co_freevars=wanted)


def _localsplus(code: types.CodeType) -> tuple[str, ...]:
    if hasattr(code, "co_exceptiontable"):
        return (*code.co_varnames, *(n for n in code.co_cellvars if n not in code.co_varnames), *code.co_freevars)
    return (*code.co_cellvars, *code.co_freevars)


def _check_fit(made: types.CodeType, code: types.CodeType) -> None:
    problems = []
    if made.co_freevars != code.co_freevars:
        problems.append(f"free variables {made.co_freevars} instead of {code.co_freevars}")
    if set(made.co_cellvars) != set(code.co_cellvars):
        problems.append(f"cell variables {made.co_cellvars} instead of {code.co_cellvars}")
    if not set(code.co_varnames) <= set(made.co_varnames):
        problems.append(f"no local variables {sorted(set(code.co_varnames) - set(made.co_varnames))}")
    n = (code.co_argcount + code.co_kwonlyargcount
         + bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS))
    if (made.co_argcount, made.co_posonlyargcount, made.co_kwonlyargcount, made.co_varnames[:n]) != (
            code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_varnames[:n]):
        problems.append("other arguments")
    if (made.co_flags ^ code.co_flags) & _KIND_FLAGS:
        problems.append("another kind of function")
    if problems:
        raise _error(f"{code.co_name}: the recompiled code does not fit: " + "; ".join(problems))
