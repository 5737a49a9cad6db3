"""depyf.code_transform, as far as programs use it: the rest are parts of its decompiler, and ours is in C."""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any, Sequence

from .. import _decompile


def fix_irregular_code(old_bytecode: CodeType, src_code: str, add_local_variables: Sequence[str] | None = None,
                       add_cellvars: Sequence[str] | None = None) -> str:
    """The text with every variable of a code object in the function that it defines.

    A compiler gives a function the variables that its text mentions; who runs its code in the place of another's needs
    those that the other had.
    """
    wanted = old_bytecode
    if add_local_variables or add_cellvars:
        wanted = _with_variables(old_bytecode, tuple(add_local_variables or ()), tuple(add_cellvars or ()))
    return ast.unparse(ast.fix_missing_locations(_decompile._wrap(ast.parse(src_code), wanted))) + "\n"


def _with_variables(code: CodeType, more: tuple[str, ...], cells: tuple[str, ...]) -> CodeType:
    """A code object that names more variables. It is never run: who asks takes its names alone."""
    more = tuple(name for name in more if name not in code.co_varnames)
    cells = tuple(name for name in cells if name not in code.co_cellvars)
    return code.replace(co_varnames=code.co_varnames + more, co_nlocals=code.co_nlocals + len(more),
                        co_cellvars=code.co_cellvars + cells)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"pellucid.depyf.code_transform has no {name}: it is a part of depyf's decompiler. "
                         "For instructions, see dis; for text, pellucid.decompile")
