"""The sources of one compilation beside each other: as written, what Dynamo generated, the graph, Inductor's code.

What links them is a place of the user's source, a file and a line: a line of each column knows those it comes from.
"""

from __future__ import annotations

import inspect
import linecache
import os
import re
from dataclasses import dataclass, field

from ._compiler_kernels import Kernel, Place, kernels, language_note, node_places
from ._compiler_session import PRINTED, Compilation, Frame, Function, Session, Stage, frames_in

MOST_CALLEES = 8  # functions of the user that are shown because they were inlined
FOLDED_FROM = 3  # lines in a row that say nothing of the program

_FETCH = re.compile(
    r"\s+(?:value|tmp|l)_\w+ = (?!graph_out)[A-Za-z_]\w*(?:\.\w+|\[(?:\"[^\"]*\"|'[^']*'|\d+)\])*(?:  #.*)?$")
_RENAMED = re.compile(r"\s+l_\w+ = L_\w+(?:  #.*)?$")  # a graph's own arguments
_DELETE = re.compile(r"\s+del \w+(?:, \w+)*$")
_PREAMBLE = re.compile(r"\s+(\w+) = [\w.]*record_pregraph_bytecode_\w+$")
_CALL = re.compile(r"\s+(?:\w+ = )?(\w+)\(\w*\)$")


@dataclass
class Line:
    number: int
    text: str
    users: list[Place] = field(default_factory=list)  # the user's lines that it comes from
    is_broken: bool = False  # the graph breaks here
    fold: int = 0  # lines from here on that say nothing of the program


@dataclass
class Column:
    title: str
    lines: list[Line]


def columns(session: Session, made: Compilation, function: Function) -> list[Column]:
    """As written with what was inlined, the generated function, the graph, and each output code of Inductor."""
    assert made.code is not None
    stage = main_stage(made)
    graph = _graph(made, stage) if stage is not None else None
    found = [_written(session, made, function, stage)]
    if made.listing is not None:
        found.append(_generated(made, graph))
    found += [graph] if graph is not None else []
    found += [_output(session, made, code) for code in made.stages if code.kind == "inductor_output_code"]
    for column in found[1:]:
        fold(column.lines)
    return found


def main_stage(made: Compilation) -> Stage | None:
    linked = [stage for stage in made.stages if stage.linked]
    stages = linked or made.stages
    return stages[0] if stages else None


def frames_of(stage: Stage) -> dict[int, list[Frame]]:
    """The user's lines that a line of the stage comes from, the innermost last."""
    return stage.frames or frames_in(stage.text)


# ---- as written ----

def _written(session: Session, made: Compilation, function: Function, stage: Stage | None) -> Column:
    assert made.code is not None
    file = made.code.co_filename
    broken = {(b.file, b.line) for b in [*made.breaks, *filter(None, [made.failure])]}
    lines = [Line(n, text, [(file, n)], (file, n) in broken) for n, text in function.numbered() if n]
    shown = {place for line in lines for place in line.users}
    callees = _inlined(stage, shown) if stage is not None else {}
    for (callee, name), numbers in list(callees.items())[:MOST_CALLEES]:
        block = session.source_around(callee, name, numbers)
        lines += [Line(0, f"# inlined: {name}, {os.path.basename(callee)}")] if block else []
        lines += [Line(n, text, [(callee, n)], (callee, n) in broken) for n, text in block]
    if len(callees) > MOST_CALLEES:
        lines.append(Line(0, f"# ... and {len(callees) - MOST_CALLEES} more functions that were inlined"))
    return Column("as written" if session.has_sources else "as written: the lines that the trace names", lines)


def _inlined(stage: Stage, shown: set[Place]) -> dict[tuple[str, str], list[int]]:
    """Functions of the user's whose lines are in the graph, and those lines; torch's own are left out."""
    found: dict[tuple[str, str], list[int]] = {}
    for frames in frames_of(stage).values():
        for frame in frames:
            if (frame.file, frame.line) not in shown and not is_torch(frame.file):
                numbers = found.setdefault((frame.file, frame.function), [])
                if frame.line not in numbers:
                    numbers.append(frame.line)
    return found


def is_torch(file: str) -> bool:
    return "/torch/" in file.replace("\\", "/")


def source_block(file: str, name: str, numbers: list[int]) -> list[tuple[int, str]]:
    """The lines of a function that holds these lines of a file that is here."""
    rows = linecache.getlines(file)
    first = min(numbers)
    start = next((n for n in range(min(first, len(rows)), 0, -1)
                  if re.match(rf"\s*(?:async )?def {re.escape(name)}\b", rows[n - 1])), 0)
    try:
        block = inspect.getblock(rows[start - 1:]) if start else []
    except (SyntaxError, IndexError):
        block = []
    if start and start + len(block) > max(numbers):
        return [(start + i, row.rstrip("\n")) for i, row in enumerate(block)]
    return [(n, rows[n - 1].rstrip("\n")) for n in sorted(numbers) if n <= len(rows)]


# ---- what became of it ----

def _graph(made: Compilation, stage: Stage) -> Column:
    text = stage.text.lstrip("\n")
    skipped = stage.text[:len(stage.text) - len(text)].count("\n")
    frames = frames_of(stage)
    lines = [Line(stage.lines_before + n, row, [(f.file, f.line) for f in frames.get(n, [])])
             for n, row in enumerate(text.rstrip("\n").split("\n"), skipped + 1)]
    return Column(stage.title, lines)


def _generated(made: Compilation, graph: Column | None) -> Column:
    assert made.listing is not None and made.code is not None
    lines = []
    called = ""  # the name that the graph's function has, on the stack or off it
    of_graph = list(dict.fromkeys(place for line in graph.lines for place in line.users)) if graph else []
    for number, row in enumerate(made.listing.source.rstrip("\n").split("\n"), made.lines_before + 1):
        found = re.search(r"(?:(\w+) = )?__compiled_fn_\d+(\(?)", row)
        called = found[1] or called if found else called
        line = Line(number, row)
        if graph is not None and (found and found[2] or called and re.search(rf"\b{called}\(", row)):
            line.users = of_graph
        elif number in made.user_lines and made.user_lines[number] != made.code.co_firstlineno:
            line.users = [(made.code.co_filename, made.user_lines[number])]
        lines.append(line)
    return Column("generated by Dynamo" + ("" if made.complete else " (instructions)"), lines)


def kernels_of(made: Compilation, code: Stage) -> list[Kernel]:
    """Of one output code, linked by the graphs that it was made of: those of its half, or all."""
    nodes: dict[str, Place] = {}
    operators: dict[str, list[Place]] = {}
    half = code.title.rpartition(", ")[2]
    for stage in made.stages:
        other = stage.title.rpartition(", ")[2]
        if stage.kind == "inductor_output_code" or {half, other} == {"forward", "backward"}:
            continue
        places = {n: (frames[-1].file, frames[-1].line) for n, frames in frames_of(stage).items() if frames}
        by_name, by_operator = node_places(stage.text, places)
        nodes = {**by_name, **nodes}
        if "post_grad" in stage.kind or stage.kind == "dynamo_output_graph":
            operators = {**by_operator, **operators}
    return kernels(code.text, nodes, operators, code.traces)


def _output(session: Session, made: Compilation, code: Stage) -> Column:
    users: dict[int, list[Place]] = {}
    found = kernels_of(made, code)
    for kernel in found:
        for number in kernel.lines():
            users.setdefault(number, []).extend(kernel.places)
    rows = code.text.rstrip("\n").split("\n")
    note = language_note(found, session.has_sources)
    return Column(code.title + (f" ({note})" if note else ""),
                  [Line(code.lines_before + n, row, users.get(n, [])) for n, row in enumerate(rows, 1)])


# ---- noise ----

def fold(lines: list[Line]) -> None:
    """Marks runs of lines that fetch parameters, free values or belong to Dynamo's own bookkeeping."""
    noise = _noise(lines)
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and noise[end]:
            end += 1
        if end - at >= FOLDED_FROM:
            lines[at].fold = end - at
        at = max(end, at + 1)


def _noise(lines: list[Line]) -> list[bool]:
    own: set[str] = set()  # what holds a function of Dynamo's bookkeeping
    found = []
    for line in lines:
        preamble, call = _PREAMBLE.match(line.text), _CALL.match(line.text)
        if preamble:
            own.add(preamble[1])
        found.append(bool(preamble or call and call[1] in own or _DELETE.match(line.text)
                          or _RENAMED.match(line.text) or not line.users and _FETCH.match(line.text)))
    return found


def fold_text(line: Line) -> str:
    indent = line.text[:len(line.text) - len(line.text.lstrip())]
    return f"{indent}# ... {line.fold} lines that fetch parameters or free values"


def unfolded(lines: list[Line]) -> list[Line]:
    """With one line for each fold."""
    made, at = [], 0
    while at < len(lines):
        line = lines[at]
        made.append(Line(line.number, fold_text(line)) if line.fold else line)
        at += line.fold or 1
    return made


# ---- as text ----

def side_by_side(session: Session, width: int = 56) -> str:
    """Each of the user's lines, and beside it what became of it. Output code is on the page only."""
    from ._compiler_page import MOST_SHOWN, function_of, in_order, title_of
    parts = []
    for made in in_order(session)[:MOST_SHOWN]:
        function = function_of(session, made)
        if function is None or not (made.listing or made.stages):
            continue
        shown = [c for c in columns(session, made, function) if not c.title.startswith("Inductor's output code")]
        parts.append(f"\n{title_of(session, made)}")
        parts.append(" | ".join(_cut(column.title, width) for column in shown).rstrip())
        parts.append("-+-".join("-" * width for _ in shown))
        parts += _rows(shown, width)
    if len(in_order(session)) > MOST_SHOWN:
        parts.append(f"\nOnly the first {MOST_SHOWN} compilations are shown side by side: the files have all.")
    return "\n".join(parts) + "\n" if parts else ""


def _rows(shown: list[Column], width: int) -> list[str]:
    order = {place: i for i, line in enumerate(shown[0].lines) for place in line.users}
    groups = [{i: [line.text] for i, line in enumerate(shown[0].lines)}]
    groups += [_grouped(column, order) for column in shown[1:]]
    made = []
    for i in range(len(shown[0].lines) or 1):
        cells = [group.get(i, []) for group in groups]
        for k in range(max(map(len, cells), default=0)):
            row = [cell[k] if k < len(cell) else "" for cell in cells]
            made.append(" | ".join(_cut(text, width) for text in row).rstrip())
    return made


def _grouped(column: Column, order: dict[Place, int]) -> dict[int, list[str]]:
    """Its lines by the line as written; a line that comes from none goes with the one before it."""
    groups: dict[int, list[str]] = {}
    here = 0
    for line in unfolded(column.lines):
        found = [order[place] for place in line.users if place in order]
        here = found[0] if found and "__compiled_fn" in line.text else found[-1] if found else here
        text = line.text.partition("  # ")[0] if line.text.strip()[:1] != "#" else line.text
        if text.strip() and not PRINTED.match(text):
            groups.setdefault(here, []).append(text)
    return groups


def _cut(text: str, width: int) -> str:
    text = text.expandtabs()
    return (text if len(text) <= width else text[: width - 1] + "…").ljust(width)
