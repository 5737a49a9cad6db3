"""Giving a code object the lines of a file that shows it.

The file holds the decompiled text; the code object keeps its instructions and gets the file's name and a line table. A
debugger then steps through the text while the original instructions run: whatever the text gets wrong, the program
can't be changed by it.
"""

from __future__ import annotations

import dis
import linecache
import os
import re
import sys
import types
from dataclasses import dataclass, field
from typing import Any, Callable, cast

from ._pellucid import Error, decompile_code, encode_lines, format_source

_MADE_UP = re.compile(r"\b__\w+")  # names that generated code has, and people would not give


@dataclass
class Listing:
    """Text for a code object, and the line of each instruction in it."""

    source: str
    rows: list[tuple[int, int]]  # (offset, line), sorted by offset; 0: no line
    #: Why there is no structure; "" if there is. The text is a list of instructions then.
    incomplete: str = ""
    objects: dict[str, object] = field(default_factory=dict)

    def moved(self, lines: int) -> Listing:
        rows = [(at, line + lines if line else 0) for at, line in self.rows]
        return Listing(self.source, rows, self.incomplete, self.objects)


def link(code: types.CodeType, path: str | os.PathLike[str]) -> types.CodeType:
    """Writes the decompiled text of a code object to `path`; returns the code object with the lines of that file.

    Nothing else of it changes: put it where the original was (`function.__code__ = pellucid.link(function.__code__,
    "f.py")`), and debuggers stop at, step through and show the file.
    """
    if not isinstance(code, types.CodeType):
        raise TypeError(f"link() takes a code object, not {type(code).__name__}")
    path = os.path.abspath(path)
    made = listing(code)
    write_text(path, made.source)
    return linked(code, path, made)


def listing(code: types.CodeType, *, names: dict[str, str] | None = None,
            spell: Callable[[object], str | None] | None = None) -> Listing:
    """The text of a code object, one statement per line. Never fails: what has no structure is shown as instructions.

    `names` says what to write for a name, `spell` what for a constant without a literal.
    """
    try:
        source, incomplete, objects, tables = decompile_code(code, lines=True, one_line=True, spell=spell)
        reasons = [why for name, why in incomplete if name == code.co_name]
        if reasons:
            return instructions(code, reasons[0])
        assert tables is not None
        rows = _with_entry(code, _without_bounces(code, tables[0]), _line_of_def(source, code))
    except Exception as error:
        return instructions(code, f"{type(error).__name__}: {error}")
    if names:
        source = _MADE_UP.sub(lambda found: names.get(found[0], found[0]), source)
    return Listing(source, rows, "", {f"__pellucid_const_{i}__": value for i, value in enumerate(objects)})


def linked(code: types.CodeType, path: str, made: Listing) -> types.CodeType:
    """The code object with the file name and the lines; its nested code objects keep the file they were written in."""
    first = max(1, min((line for _, line in made.rows if line), default=1))
    linecache.checkcache(path)
    return code.replace(co_filename=path, co_firstlineno=first,
                        co_linetable=encode_lines(first, len(code.co_code), made.rows))


def write_text(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


def parses(text: str) -> bool:
    """As this Python. Our own parser says it: the compiler takes ten times as long, and every text is asked."""
    return where_wrong(text) == 0


def where_wrong(text: str) -> int:
    """The line at which a text stops being Python; 0 if it is all Python."""
    try:
        format_source(text, python_version=sys.version_info[:2])
    except Error as error:
        return error.line or 1
    except UnicodeError:  # lone surrogates
        return 1
    return 0


def _line_of_def(source: str, code: types.CodeType) -> int:
    """Of the function itself: one with free variables may stand inside another that has them."""
    lines = [line.lstrip().removeprefix("async ") for line in source.splitlines()]
    for start in (f"def {plain_name(code.co_name)}(", "def "):
        for number, line in enumerate(lines, 1):
            if line.startswith(start):
                return number
    return next((number for number, line in enumerate(lines, 1) if "lambda" in line), 1)


def _numbers(*names: str) -> frozenset[int]:
    return frozenset(dis.opmap[name] for name in names if name in dis.opmap)


_LOADS = frozenset(number for name, number in dis.opmap.items()
                   if name.startswith(("LOAD_FAST", "LOAD_CONST")) and "CHECK" not in name)
_JUMPS = _numbers("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD_NO_INTERRUPT")
_ENDS = _JUMPS | _numbers("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_END_FOR, _POP_TOP = _numbers("END_FOR"), _numbers("POP_TOP")
_SILENT = _numbers("END_FOR", "NOP", "POP_ITER", "PUSH_EXC_INFO", "SETUP_FINALLY")


def _without_bounces(code: types.CodeType, rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stepping shows what a reader expects.

    Arguments that wait on the stack while other statements run are loaded with those. A jump at which branches meet
    belongs to no line, as in the compiler: after one branch, a debugger would show the end of the other. The same holds
    for silent instructions after the end of a branch, and for the end of a loop, which never runs: its line begins with
    the instruction after it.
    """
    raw, made = code.co_code, list(rows)
    meeting = set(dis.findlabels(cast(Any, raw))) if any(raw[offset] in _JUMPS for offset, _ in rows) else set()
    for i in range(len(made) - 1, -1, -1):
        offset, line = made[i]
        following = made[i + 1][1] if i + 1 < len(made) else 0
        if raw[offset] in _LOADS and 0 < following < line:
            made[i] = (offset, following)
        elif raw[offset] in _JUMPS and offset in meeting and i and rows[i - 1][1] == line:
            made[i] = (offset, 0)
    for i in range(1, len(made)):
        offset, before = made[i][0], rows[i - 1][0]
        if raw[offset] in _SILENT and rows[i][1] == rows[i - 1][1] and (raw[before] in _ENDS or not made[i - 1][1]):
            made[i] = (offset, 0)
        if raw[offset] in _END_FOR or (raw[before] in _END_FOR and raw[offset] in _POP_TOP):
            made[i] = (offset, 0)
    return made


def plain_name(name: str) -> str:
    """What a file or a def can be called: names like <lambda> are none there."""
    return re.sub(r"[^0-9A-Za-z_]", "_", name)


def _with_entry(code: types.CodeType, rows: list[tuple[int, int]], line_of_def: int) -> list[tuple[int, int]]:
    """What runs before the first statement (making cells, RESUME) belongs to the line of the def, as in compilers."""
    resume = dis.opmap.get("RESUME")
    raw = code.co_code
    for index, (offset, _) in enumerate(rows):
        if raw[offset] == resume:
            return [(at, line_of_def) for at, _ in rows[: index + 1]] + rows[index + 1:]
    return rows


def instructions(code: types.CodeType, why: str) -> Listing:
    """The instructions as text: each is a string, hence a statement, and debuggers can stop at it."""
    arguments = _signature(code)
    lines = [f"# No structure was found for this code ({_one_line(why)}): its instructions follow.",
             f"def {plain_name(code.co_name)}({arguments}):"]
    rows = []
    for step in dis.get_instructions(code):
        if step.opname == "EXTENDED_ARG":
            rows.append((step.offset, len(lines) + 1))
            continue
        text = f"{'>>' if step.is_jump_target else '  '} {step.offset:4} {step.opname:28} {_one_line(step.argrepr)}"
        rows.append((step.offset, len(lines) + 1))
        lines.append("    " + repr(text.rstrip()))
    return Listing("\n".join(lines) + "\n", rows, why)


def _one_line(text: Any, width: int = 100) -> str:
    text = " ".join(str(text).split())
    return str(text if len(text) <= width else text[: width - 1] + "…")


def _signature(code: types.CodeType) -> str:
    names = list(code.co_varnames)
    positional, rest = names[: code.co_argcount], names[code.co_argcount:]
    keyword, rest = rest[: code.co_kwonlyargcount], rest[code.co_kwonlyargcount:]
    star = "*" + rest.pop(0) if code.co_flags & 4 else "*" if keyword else ""
    double = "**" + rest.pop(0) if code.co_flags & 8 else ""
    parts = [*positional, star, *keyword, double]
    return ", ".join(part for part in parts if part.lstrip("*").isidentifier() or part == "*")
