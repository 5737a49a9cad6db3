"""depyf.utils, as far as programs use it."""

from __future__ import annotations

import os
from types import CodeType
from typing import Any

from .. import _decompile
from .._define import walk
from .._link import _signature, plain_name
from .decompiler import DecompilationError, Decompiler


def get_function_signature(code_obj: CodeType, overwite_fn_name: str | None = None) -> str:
    """The line of the def."""
    return f"def {overwite_fn_name or plain_name(code_obj.co_name)}({_signature(code_obj)}):\n"


def collect_all_code_objects(code: CodeType) -> list[CodeType]:
    """A code object and all inside of it."""
    return list(walk(code))


def safe_create_directory(path: str | os.PathLike[str]) -> None:
    """Makes a directory, if it is not there."""
    os.makedirs(path, exist_ok=True)


def get_code_owner(fn: Any) -> Any:
    """The function whose `__code__` can be set: that inside of methods, decorators, partials and callable objects."""
    return _decompile._function_of(fn)


def decompile_ensure(fn: CodeType, overwite_fn_name: str | None = None) -> str:
    """The text, or a function that says that there is none; it never raises."""
    try:
        return Decompiler(fn).decompile(overwite_fn_name=overwite_fn_name)
    except DecompilationError as error:
        return get_function_signature(fn, overwite_fn_name) + f"    {'Failed to decompile: ' + error.message!r}\n"
