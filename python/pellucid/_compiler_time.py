"""Where the time of compiling goes: torch's timed events as spans, by phase and function, and as a Chrome trace.

Events come from a running torch (`_compiler_compat.on_event`) or from a trace that it wrote (`_compiler_trace`). The
time of a phase is its own: that of the phases inside of it is theirs, so that rows add up to the total.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, NamedTuple

if TYPE_CHECKING:
    from ._compiler_session import Session

#: Which part of the compiler an event of torch's is of: the first that fits. An event that none fits is of the part
#: that it happened in.
PARTS = (
    ("Dynamo", r"dynamo|entire_frame_compile|_?compile\b|compile_attempt_\d+|bytecode_tracing|build_guards|gc|pgo\..*"
               r"|insert_deferred_runtime_asserts|compile_inner"),
    ("AOTAutograd", r"backend_compile|create_aot_dispatcher_function|aot_.*|min_cut_rematerialization_partition"
                    r"|entire_backward_compile|backward\._.*|OutputGraph\.call_user_compiler"),
    ("compilers", r"compile_file|async_compile\..*|.*\.precompile|Triton.*|triton_.*|CachingAutotuner\..*|.*autotun.*"
                  r"|.*_compile_worker.*"),
    ("loading", r"PyCodeCache\..*|CppCodeCache\..*|.*load_by_key_path|.*[Cc]ache.*"),
    ("passes", r"_recursive_\w+_passes|pass\..*|additional_fake_tensor_prop|.*_passes"),
    ("lowering", r"GraphLowering\.run"),
    ("fusing", r"Scheduler\..*"),
    ("writing", r"GraphLowering\..*|PythonWrapperCodegen\..*|code_gen|compile_fx.*|fx_codegen_and_compile"
                r"|inductor_compile|.*[Cc]odegen.*"),
)
HELP = {
    "Dynamo": "tracing the function and making its guards", "AOTAutograd": "tracing forward and backward",
    "passes": "Inductor's passes over graphs", "lowering": "graphs to Inductor's own form",
    "fusing": "which operators share a kernel", "writing": "the text of kernels and of what calls them",
    "compilers": "the C++ and Triton compilers, and waiting for them", "loading": "compiled code and caches",
    "other": "what torch measured and we have no part for"}
_FITS = [(part, re.compile(pattern)) for part, pattern in PARTS]
BESIDE = "beside them, or of none"  # other threads: their time is not added to that of those who wait for them
LONGEST = 10  # phases that are listed one by one


class Event(NamedTuple):
    """Something that torch timed: phase "B" it begins, "E" it ends, "i" it happened."""

    name: str
    phase: str
    at: float  # microseconds
    compile_id: str  # "": none
    lane: str  # a thread, or all of a log that does not say


@dataclass
class Span:
    name: str
    start: float
    end: float
    compile_id: str
    lane: str
    part: str
    depth: int
    own: float = 0.0  # without the spans inside of it
    is_cut: bool = False  # nothing says when it ended


@dataclass
class Timeline:
    spans: list[Span] = field(default_factory=list)
    instants: list[Event] = field(default_factory=list)
    #: What was logged and makes no span: ends without a beginning.
    lost: int = 0

    @property
    def cut(self) -> int:
        return sum(span.is_cut for span in self.spans)

    def by_compilation(self) -> dict[str, dict[str, float]]:
        """Compile id -> part -> seconds. What belongs to no compilation has the id ""."""
        made: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for span in self.spans:
            made[span.compile_id][span.part] += span.own / 1e6
        return {number: dict(parts) for number, parts in made.items()}

    def longest(self) -> list[tuple[str, float, int]]:
        """(name, seconds, times) of the phases that took most, by their own time."""
        seconds: dict[str, float] = defaultdict(float)
        times: dict[str, int] = defaultdict(int)
        for span in self.spans:
            seconds[span.name] += span.own / 1e6
            times[span.name] += 1
        ranked = sorted(seconds, key=lambda name: -seconds[name])
        return [(name, seconds[name], times[name]) for name in ranked[:LONGEST] if seconds[name] >= 0.001]


def timeline(events: Iterable[Event]) -> Timeline:
    """Begins and ends, put together. Threads that share a lane may overlap: an end belongs to the innermost open span
    of its name and compilation, and what was open inside of it has no end of its own."""
    made = Timeline()
    open_spans: dict[tuple[str, bool], list[Span]] = defaultdict(list)
    inside: dict[int, float] = defaultdict(float)  # id(span) -> time of the spans in it
    last: dict[str, float] = {}
    for event in events:
        last[event.lane] = max(event.at, last.get(event.lane, event.at))
        stack = open_spans[event.lane, bool(event.compile_id)]
        if event.phase == "i":
            made.instants.append(event)
        elif event.phase == "B":
            part = part_of(event.name) or (stack[-1].part if stack else "other")
            stack.append(Span(event.name, event.at, event.at, event.compile_id, event.lane, part, len(stack)))
        elif event.phase == "E":
            found = next((i for i in reversed(range(len(stack))) if stack[i].name == event.name
                          and stack[i].compile_id == event.compile_id), None)
            if found is None:
                made.lost += 1
                continue
            while len(stack) > found:
                _close(made, stack, inside, event.at, is_cut=len(stack) > found + 1)
    for (lane, _), stack in open_spans.items():
        while stack:
            _close(made, stack, inside, last[lane], is_cut=True)
    made.spans.sort(key=lambda span: (span.lane, span.start, span.depth))
    return made


def _close(made: Timeline, stack: list[Span], inside: dict[int, float], at: float, is_cut: bool) -> None:
    span = stack.pop()
    span.end, span.is_cut = max(at, span.start), is_cut
    span.own = max(span.end - span.start - inside.pop(id(span), 0.0), 0.0)
    if stack:
        inside[id(stack[-1])] += span.end - span.start
    made.spans.append(span)


def part_of(name: str) -> str:
    return next((part for part, pattern in _FITS if pattern.fullmatch(name)), "")


def chrome(made: Timeline, names: dict[str, str], process: int = 0) -> dict[str, Any]:
    """For chrome://tracing and Perfetto. `names` are those of functions, by compile id."""
    lanes = {lane: number for number, lane in enumerate(sorted({s.lane for s in made.spans}
                                                               | {e.lane for e in made.instants}))}
    rows: list[dict[str, Any]] = [{"name": "thread_name", "ph": "M", "pid": process, "tid": number,
                                   "args": {"name": lane}} for lane, number in lanes.items()]
    for span in made.spans:
        told = {"compile_id": span.compile_id, "function": names.get(span.compile_id, ""), "part": span.part}
        if span.is_cut:
            told["note"] = "nothing says when it ended"
        rows.append({"name": span.name, "cat": span.part, "ph": "X", "ts": span.start, "dur": span.end - span.start,
                     "pid": process, "tid": lanes[span.lane], "args": {k: v for k, v in told.items() if v}})
    rows += [{"name": event.name, "ph": "i", "s": "t", "ts": event.at, "pid": process, "tid": lanes[event.lane],
              "args": {"compile_id": event.compile_id}} for event in made.instants]
    return {"traceEvents": rows, "displayTimeUnit": "ms"}


# ---- the table ----

class Row(NamedTuple):
    name: str
    total: float
    parts: dict[str, float]
    sizes: list[str]


def rows(session: Session) -> tuple[list[str], list[Row]]:
    """The parts that took time, a row for each compilation, and one for all that is of none."""
    from ._compiler_page import cache_text, title_of
    times = session.timeline().by_compilation()
    made = []
    for compilation in session.compilations:
        parts = times.pop(compilation.id, {})
        sizes = [size_text(compilation.sizes), cache_text(compilation)]
        if parts or compilation.sizes:
            made.append(Row(title_of(session, compilation), sum(parts.values()), parts, sizes))
    rest: dict[str, float] = defaultdict(float)
    for parts in times.values():
        for part, value in parts.items():
            rest[part] += value
    if rest:
        made.append(Row(BESIDE, sum(rest.values()), dict(rest), ["", ""]))
    used = [part for part in (*(part for part, _ in PARTS), "other") if any(row.parts.get(part) for row in made)]
    return used, made


def size_text(sizes: dict[str, int]) -> str:
    words = (("graph_op_count", "operation"), ("graph_input_count", "input"), ("guard_count", "guard"))
    return ", ".join(f"{sizes[key]} {word}{'' if sizes[key] == 1 else 's'}" for key, word in words if key in sizes)


def say(session: Session) -> list[str]:
    """As text; nothing if torch measured nothing."""
    made, (used, table) = session.timeline(), rows(session)
    if not made.spans:
        return []
    width = max(len(row.name) for row in table)
    total = sum(row.total for row in table if row.name != BESIDE)
    lines = [f"Where the time went, in seconds ({total:.2f} in all):", "",
             "  " + "".ljust(width) + "total".rjust(9) + "".join(part.rjust(max(9, len(part) + 2)) for part in used)]
    for row in table:
        cells = "".join(f"{row.parts.get(part, 0):.2f}".rjust(max(9, len(part) + 2)) for part in used)
        lines.append(f"  {row.name.ljust(width)}{row.total:9.2f}{cells}")
        lines += [f"      {text}" for text in row.sizes if text]
    lines += ["", "  The phases that took most, without those inside of them:"]
    lines += [f"  {seconds:9.2f}  {name}" + (f"  ({times} times)" if times > 1 else "")
              for name, seconds, times in made.longest()]
    lines += [f"  {note}" for note in notes(made)]
    return lines


def notes(made: Timeline) -> list[str]:
    """What the log does not tell, so that no figure looks better than it is."""
    found = []
    if made.cut:
        found.append(f"{made.cut} phases have no end in the log: they are counted up to where something else ended.")
    if made.lost:
        found.append(f"{made.lost} phases have no beginning in the log: they are not counted.")
    return found
