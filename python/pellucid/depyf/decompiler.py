"""depyf.decompiler: the text of one code object, or an exception."""

from __future__ import annotations

import io
import os
import re
import tokenize
from types import CodeType
from typing import Any, Callable

from .. import _decompile
from .._link import plain_name
from .._pellucid import Error, decompile_code

_STEP = 4  # columns of a level in the text that decompile_code writes


class DecompilationError(Exception):
    """There is no text that does what the bytecode does; the message says why."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return f"DecompilationError: {self.message}"


class Decompiler:
    """The text of a code object, a function, or an object that is called.

    Arguments have neither defaults nor annotations, as in depyf: they are no part of a code object.
    """

    def __init__(self, code: CodeType | Callable[..., Any]) -> None:
        self.code = _decompile._code_of(code)

    def decompile(self, indentation: int = 4, temp_prefix: str = "__temp_",
                  overwite_fn_name: str | None = None) -> str:
        """`temp_prefix` is accepted; the text has no temporary variables that depyf would name by it."""
        code = self.code
        if overwite_fn_name is not None:
            code = code.replace(co_name=overwite_fn_name)
        try:
            source, incomplete, _, _ = decompile_code(code)
        except Error as error:
            raise DecompilationError(f"{code.co_name}: {error}") from error
        if incomplete:
            raise DecompilationError("; ".join(f"{name}: {why}" for name, why in incomplete))
        return source if indentation == _STEP else _indented(source, indentation)

    @staticmethod
    def decompile_and_compile_like(code_to_decompile: CodeType, reference_code: CodeType, indentation: int = 4,
                                   temp_prefix: str = "__temp_", filepath_template: str | None = None) -> CodeType:
        """A code object made from the text, to run in the place of `reference_code`.

        With a template like "f_%d.py" the text is written to the first such file that is free or holds it already,
        and the code object has its name and lines.
        """
        try:
            made = _decompile.recompile(_fitting(code_to_decompile, reference_code))
        except Error as error:
            raise DecompilationError(str(error)) from error
        if filepath_template is None:
            return made.replace(co_name=reference_code.co_name)
        source = Decompiler(code_to_decompile).decompile(indentation=indentation)
        path = _write(filepath_template, source)
        name = os.path.splitext(os.path.basename(path))[0]
        return made.replace(co_name=name, co_filename=path, co_firstlineno=_first_line(source, code_to_decompile))

    @staticmethod
    def supported_opnames() -> list[str]:
        """Names of all instructions of this Python: there is none that is not read."""
        import dis
        return list(dis.opmap)

    def __hash__(self) -> int:
        return id(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decompiler) and self.code is other.code


def decompile(code: CodeType | Callable[..., Any]) -> str:
    """The text of a code object, a function, or an object that is called."""
    return Decompiler(code).decompile()


def _fitting(code: CodeType, reference: CodeType) -> CodeType:
    """The code object, if it has the free variables of another: closures are handed over by position."""
    if code.co_freevars == reference.co_freevars:
        return code
    raise DecompilationError(f"{code.co_name} has the free variables {code.co_freevars}, not those of "
                             f"{reference.co_name}, {reference.co_freevars}")


def _write(template: str, source: str) -> str:
    number = 0
    while True:
        path = template % number
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(source)
            return path
        except FileExistsError:
            with open(path, encoding="utf-8") as file:
                if file.read() == source:
                    return path
        number += 1


def _first_line(source: str, code: CodeType) -> int:
    """The line of the def: a function with free variables is inside of another."""
    found = re.search(rf"^\s*(?:async )?def {re.escape(plain_name(code.co_name))}\(", source, re.MULTILINE)
    return source.count("\n", 0, found.end()) + 1 if found else 1


def _indented(source: str, step: int) -> str:
    """The text with other steps. Lines that begin inside of a string keep what they have."""
    inside: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.end[0] > token.start[0] and token.type not in (tokenize.NEWLINE, tokenize.NL):
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    lines = source.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        columns = len(line) - len(line.lstrip(" "))
        if number not in inside:
            lines[number - 1] = " " * (columns // _STEP * step + columns % _STEP) + line[columns:]
    return "".join(lines)
