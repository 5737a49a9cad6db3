"""depyf.explain.enable_debugging."""

from __future__ import annotations

import contextlib
from types import CodeType
from typing import Any, Callable, Iterator

from ... import _compiler
from ... import _compiler_compat as compat
from ..._compiler import prepare_debug as prepare_debug


@contextlib.contextmanager
def debug() -> Iterator[None]:
    """Stops in the debugger when it is entered, for breakpoints in the files that `prepare_debug` wrote.

    Nothing is compiled inside of it. `pellucid.debug` stops where generated code begins to run, instead.
    """
    if any(session.is_open for session in _compiler._sessions):
        raise RuntimeError("debug() can't be used inside of prepare_debug()")
    if not _compiler._sessions:
        raise RuntimeError("nothing was written yet: run the program inside of prepare_debug() first")
    folder = _compiler._sessions[-1].folder
    with compat.compiling_nothing():
        print(f"The program stops here. The source of what was compiled is in {folder} (full_code_for_*.py): set "
              "breakpoints in its files, then continue.")
        breakpoint()
        yield


@contextlib.contextmanager
def patch(parent: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute has another value, meanwhile."""
    before = getattr(parent, name, None)
    if before is not None:
        setattr(parent, name, value)
    try:
        yield
    finally:
        if before is not None:
            setattr(parent, name, before)


@contextlib.contextmanager
def enable_bytecode_hook(hook: Callable[[CodeType, CodeType], CodeType | None]) -> Iterator[None]:
    """Dynamo calls the hook for each function that it compiles, meanwhile."""
    remove = compat.on_bytecode(hook)
    try:
        yield
    finally:
        remove()
