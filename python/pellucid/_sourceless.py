"""Functions whose source nobody kept: typed at a prompt, piped in, made by exec, shipped as .pyc.

They are read from their bytecode. The decompiled text, compiled again, gives the same instructions, now with places in
a text. A recording of the first code's instructions can so be read with the text of the second.
"""

import __future__

import gc
import itertools
import types
import weakref
from collections.abc import Callable

from ._define import define_class, define_function, functions_of, walk
from ._library import name_of
from ._pellucid import Error, decompile_code

_FUTURE = sum(getattr(__future__, name).compiler_flag for name in ("annotations", "generator_stop", "barry_as_FLUFL"))


class _Text(str):
    """A str that can be referred to weakly: it goes with the last function that was read from it."""


_numbers = itertools.count(1)
_texts: weakref.WeakValueDictionary[str, _Text] = weakref.WeakValueDictionary()
#: By id, since code objects compare by value, as long as they live: twin and its text; None where there is none.
_twins: dict[int, tuple[weakref.ref[types.CodeType], types.CodeType | None, _Text | None]] = {}


def _remember(code: types.CodeType, twin: types.CodeType | None = None, text: _Text | None = None) -> None:
    key = id(code)
    _twins[key] = weakref.ref(code, lambda _: _twins.pop(key, None)), twin, text


def text_of(filename: str) -> str:
    """The text that a twin says it comes from; empty if there is no such text."""
    return _texts.get(filename, "")


def twin_of(code: types.CodeType) -> types.CodeType:
    """A code object with the same instructions, and places in a decompiled text; the same one if there is none."""
    if id(code) not in _twins:
        _remember(code)
        function = next((each for each in gc.get_referrers(code)
                         if isinstance(each, types.FunctionType) and each.__code__ is code), None)
        home = _class_of(function) if function else None
        if home:
            codes = [each.__code__ for each in functions_of(home)]
            _adopt(lambda: _class_text(home), [each for each in codes if id(each) not in _twins or each is code])
        if _twins[id(code)][1] is None:
            _adopt(lambda: _function_text(code, function), [code])
    return _twins[id(code)][1] or code


def _adopt(make_text: Callable[[], str], codes: list[types.CodeType]) -> None:
    """Gives a twin to those code objects that come out the same when the text is compiled."""
    try:
        text = _Text(make_text())
        filename = f"<decompiled {next(_numbers)}>"
        made = list(walk(compile(text, filename, "exec", flags=codes[0].co_flags & _FUTURE, dont_inherit=True)))
    except (Error, SyntaxError, ValueError, RecursionError):
        return  # it can't be structured, or has a name that no source could give: it is read as instructions
    _texts[filename] = text
    for code in codes:
        content = [_content(each) for each in walk(code)]
        twin = next((each for each in made if each.co_qualname == code.co_qualname
                     and [_content(inner) for inner in walk(each)] == content), None)
        if twin:
            for pair in zip(walk(code), walk(twin)):
                _remember(*pair, text)


def _function_text(code: types.CodeType, function: types.FunctionType | None) -> str:
    imports = _imports([code], function.__globals__ if function else {})
    return imports + _text(define_function(code, function, nested=True))


# ---- classes: their functions share one text, so that it has their constructors and bases ----

def _class_of(function: types.FunctionType) -> type | None:
    """The class whose body defines a function."""
    path = function.__code__.co_qualname.rpartition(".")[0]
    if not path or path.endswith("<locals>"):
        return None
    found = function.__globals__.get(path)
    if isinstance(found, type):
        return found if function in functions_of(found) else None
    qualname = type.__dict__["__qualname__"].__get__  # a metaclass may have another one
    return next((each for each in gc.get_objects()
                 if isinstance(each, type) and qualname(each) == path and function in functions_of(each)), None)


def _class_text(cls: type) -> str:
    bases = [_import(name_of(base) or f"{base.__module__}.{base.__qualname__}", base.__name__)
             for base in cls.__bases__ if base is not object]
    functions = functions_of(cls)
    imports = _imports([each.__code__ for each in functions], functions[0].__globals__)
    return "".join(bases) + imports + _text(define_class(cls, nested=True))


def _text(code: types.CodeType) -> str:
    text, incomplete, objects, _ = decompile_code(code)
    if incomplete or objects:
        raise ValueError("its text would not be all of it")
    return text


def _imports(codes: list[types.CodeType], module_globals: dict[str, object]) -> str:
    """Statements that bind the names which functions find in their module and which seem to be imported there.

    They say what is meant by a name, and the compiler makes other instructions for methods of imported names."""
    lines = []
    used = {name for code in codes for each in walk(code) for name in each.co_names}
    for name in sorted(used & module_globals.keys()):
        value = module_globals[name]
        home = getattr(value, "__module__", None)
        if isinstance(value, types.ModuleType):
            lines.append(f"import {value.__name__} as {name}\n" if value.__name__ != name else f"import {name}\n")
        elif isinstance(home, str) and home != module_globals.get("__name__") and (path := name_of(value)):
            lines.append(_import(path, name))
    return "".join(lines)


def _import(path: str, name: str) -> str:
    home, _, kept_as = path.rpartition(".")
    if not home:
        return ""
    return f"from {home} import {kept_as}\n" if kept_as == name else f"from {home} import {kept_as} as {name}\n"


def _content(code: types.CodeType) -> tuple[object, ...]:
    constants = [type(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return (code.co_code, code.co_exceptiontable, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
            code.co_flags, constants)
