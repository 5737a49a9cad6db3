"""A TORCH_TRACE directory, read: what torch.compile logged on another machine, in the same report and page.

The logs are somebody's files: nothing in them is executed, no file that they name is opened, sizes and counts have
limits, and what could not be read is counted, with the first places. A payload whose checksum is not the logged one is
said, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, Iterator

from . import _recompiles as recompiles
from ._compiler_session import (CACHES, KERNELS, PRINTED, STAGES, Code, Compilation, Frame, Function, Named,
                                Session, Stage, is_wanted)
from ._link import plain_name

LARGEST_LOG = 4 << 30  # bytes
LARGEST_PAYLOAD = 32 << 20
LARGEST_LINE = 1 << 20  # characters of a line of graphs and code
LARGEST_KEPT = 512 << 20  # characters of all payloads that are shown
MOST_COMPILATIONS = 5_000
MOST_EVENTS = 1_000_000
MOST_LOGS = 64
LONGEST_SAID = 8192  # characters of a line of guards, breaks and reasons, which patterns look into

_HEAD = re.compile(r"[VDIWEC]\d{4,8} \d\d:\d\d:\d\d\.\d+ \d+ \S.*?:\d+\] (?=\{)")
_METRICS = ("compilation_metrics", "bwd_compilation_metrics")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_ESCAPE = re.compile(r"\\(?:(?P<bad>[bfr]|u(?:00(?:0[0-8bcefBCEF]|[189][0-9a-fA-F]|7[fF])|20(?:2[89a-eA-E]|6[6-9])"
                     r"|[dD][89a-fA-F][0-9a-fA-F]{2}))|.)")


class TraceError(Exception):
    """What can't be read at all."""


@dataclass
class Log:
    """What was found in one file."""

    path: str
    entries: int = 0
    #: What could not be read: (line, why), the first ones, and how many there are of each kind.
    faults: list[tuple[int, str]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def fault(self, line: int, why: str) -> None:
        self.counts[why] = self.counts.get(why, 0) + 1
        if self.counts[why] <= 3:
            self.faults.append((line, why))

    def notes(self) -> Iterator[str]:
        for why, count in self.counts.items():
            places = ", ".join(str(line) for line, said in self.faults if said == why)
            yield f"{os.path.basename(self.path)}: {why}: {count} times, lines {places}{' ...' if count > 3 else ''}"


# ---- files ----

def logs_of(path: str) -> list[str]:
    """The logs in a TORCH_TRACE directory, or one log."""
    if os.path.isfile(path):
        return [path]
    if not os.path.isdir(path):
        raise TraceError(f"{path}: there is no such file or folder")
    found = sorted(entry.path for entry in os.scandir(path)
                   if entry.is_file() and entry.name.endswith(".log") and "torch_trace" in entry.name)
    if not found:
        raise TraceError(f"{path}: no log of TORCH_TRACE is here: files named *torch_trace*.log")
    if len(found) > MOST_LOGS:
        raise TraceError(f"{path}: {len(found)} logs, and {MOST_LOGS} are read at most: name one of them")
    return found


def records(path: str, log: Log) -> Iterator[tuple[int, dict[str, Any], str | None]]:
    """(line, metadata, payload) of each entry. A payload is what follows with a tab in front."""
    if os.path.getsize(path) > LARGEST_LOG:
        raise TraceError(f"{path}: {os.path.getsize(path):,} bytes, and {LARGEST_LOG:,} are read at most")
    pending: tuple[int, dict[str, Any]] | None = None
    payload: list[str] = []
    size = 0
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in _lines(file):
            if line.startswith("\t"):
                size += len(line)
                if pending is None:
                    log.fault(number, "text that belongs to no entry")
                elif size <= LARGEST_PAYLOAD:
                    payload.append(line[1:])
                continue
            if pending is not None:
                yield _checked(*pending, payload, size, log)
            pending, payload, size = None, [], 0
            metadata = _metadata(line, number, log)
            if metadata is not None:
                log.entries += 1
                pending = number, metadata
    if pending is not None:
        yield _checked(*pending, payload, size, log)


def _lines(file: Any) -> Iterator[tuple[int, str]]:
    """Numbered, without their ends. One that is longer than any payload may be is cut: its rest is passed over."""
    number = 0
    while True:
        line = file.readline(LARGEST_PAYLOAD)
        if not line:
            return
        number += 1
        rest = line
        while not rest.endswith("\n") and len(rest) >= LARGEST_PAYLOAD:
            rest = file.readline(LARGEST_PAYLOAD)
        yield number, line.rstrip("\n")


def _metadata(line: str, number: int, log: Log) -> dict[str, Any] | None:
    head = _HEAD.match(line[:4096])
    if not head:
        if line.strip():
            log.fault(number, "no entry of a trace")
        return None
    try:
        found = parsed(line[head.end():])
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found:
        log.fault(number, "an entry that is cut off, or no JSON")
        return None
    return found


def parsed(text: str) -> Any:
    """JSON; ValueError for anything else, for what is nested too deeply, and for what is too long."""
    if len(text) > LARGEST_PAYLOAD:
        raise ValueError("too long")
    try:
        return json.loads(plain_json(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _checked(number: int, metadata: dict[str, Any], payload: list[str], size: int,
             log: Log) -> tuple[int, dict[str, Any], str | None]:
    """The payload as one text. What was logged is asked for by its checksum."""
    if "has_payload" not in metadata:
        return number, metadata, None
    if size > LARGEST_PAYLOAD:
        log.fault(number, f"a payload of more than {LARGEST_PAYLOAD:,} bytes, which is left out")
        return number, metadata, None
    text = "\n".join(payload)
    if hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest() != metadata["has_payload"]:
        log.fault(number, "a payload that is not the one that was logged: cut off, or changed")
    return number, metadata, "\n".join(clean(line[:LARGEST_LINE]) for line in payload)


# ---- what a log tells ----

class TraceSession(Session):
    """A session made from a log instead of from what it saw itself."""

    has_sources = False

    def __init__(self, folder: str, log: Log) -> None:
        super().__init__(folder)
        self.log = log
        self.strings: dict[int, str] = {}  # torch names files by number
        self.known: dict[tuple[str, int], tuple[str, str]] = {}  # file and line -> function, text
        self.version = ""
        self.callers: dict[str, str] = {}
        self.kept = 0
        self.events = 0
        self._codes: dict[tuple[str, int, str], Named] = {}

    def read(self) -> None:
        from . import _compiler_compat as compat
        self.probe = compat.Probe()
        os.makedirs(self.folder, exist_ok=True)
        for number, metadata, payload in records(self.log.path, self.log):
            try:
                self._take(number, metadata, payload)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError):
                self.log.fault(number, "an entry of another form than torch writes")
        if not self.log.entries:
            raise TraceError(f"{self.log.path}:1:1: no entry of a trace of torch.compile is in this file")
        self._finish()

    def versions(self) -> str:
        return f"read from {os.path.basename(self.log.path)}" + (f", torch {self.version}" if self.version else "")

    # ---- entries ----

    def _take(self, number: int, metadata: dict[str, Any], payload: str | None) -> None:
        kind = next(iter(metadata))
        body = metadata[kind]
        name = str(body.get("name")) if kind == "artifact" and isinstance(body, dict) else kind
        if kind == "str":
            self.strings[int(body[1])] = one_line(str(body[0]))
        elif kind == "chromium_event":
            self._take_event(payload, number)
        elif name == "torch_version":
            self.version = one_line(str(parsed(payload or "{}").get("pytorch_version", "")))[:40]
        elif kind in _METRICS:
            self._take_metrics(parsed(payload) if payload else body, backward=kind != "compilation_metrics")
        elif is_wanted(name) and "frame_id" in metadata:
            for key in ("frame_id", "frame_compile_id", "attempt", "compiled_autograd_id"):
                if key != "compiled_autograd_id" or metadata.get(key) is not None:
                    metadata[key] = small(metadata.get(key) or 0)
            if CACHES.match(name) or name == "dynamo_start":
                payload = None  # that there is such an entry is all that is asked
            if name not in STAGES and payload is not None:
                payload = self._cut(payload, number)
                payload = plain_json(payload) if name in (KERNELS, "recompile_reasons") else payload
            if self._has_room(payload, number):
                known = len(self.notes)
                self._on_trace(metadata, payload)
                if len(self.notes) > known:
                    del self.notes[known:]
                    raise ValueError(name)
                self._learn(metadata, name, payload)

    def _cut(self, payload: str, number: int) -> str:
        lines = payload.split("\n")
        if any(len(line) > LONGEST_SAID for line in lines):
            self.log.fault(number, f"lines of more than {LONGEST_SAID:,} characters, of which the rest is left out")
        return "\n".join(line[:LONGEST_SAID] for line in lines)

    def _has_room(self, payload: str | None, number: int) -> bool:
        self.kept += len(payload or "")
        if self.kept > LARGEST_KEPT:
            self.log.fault(number, f"more than {LARGEST_KEPT:,} characters of graphs and code: the rest is left out")
            return False
        if len(self.compilations) >= MOST_COMPILATIONS:
            self.log.fault(number, f"more than {MOST_COMPILATIONS:,} compilations: the rest is left out")
            return False
        return True

    def _take_event(self, payload: str | None, number: int) -> None:
        self.events += 1
        if self.events > MOST_EVENTS:
            self.log.fault(number, f"more than {MOST_EVENTS:,} timed phases: the rest is left out")
            return
        event = parsed(payload or "")
        told = event.get("args") if isinstance(event.get("args"), dict) else {}
        compile_id = one_line(str(told.get("compile_id") or ""))[:40]
        at = float(event["ts"])
        if not abs(at) < 1e18:  # no time, or NaN
            raise ValueError("ts")
        self._on_event(one_line(str(event["name"]))[:200], str(event["ph"])[:1], at,
                       "" if compile_id == "None" else compile_id, "the log")

    def _take_metrics(self, told: dict[str, Any], backward: bool) -> None:
        number = str(told.get("compile_id") or "")
        if backward or not re.fullmatch(r"[!\d/]{1,40}", number) or told.get("is_forward", True) is False:
            return
        made = self._compilation(number)
        seconds = told.get("entire_frame_compile_time_s")
        plain = {k: v for k, v in told.items() if isinstance(v, (str, int, float))}
        self._note(made, plain.get)
        made.seconds = float(seconds) if isinstance(seconds, (int, float)) else None
        made.told = made.failure is None
        if isinstance(told.get("co_filename"), str):
            self._name(made, str(told.get("co_name") or "a function"), told["co_filename"],
                       int(told.get("co_firstlineno") or 0))

    def _learn(self, metadata: dict[str, Any], name: str, payload: str | None) -> None:
        """Lines of the user's that entries quote, and which function a compilation is of."""
        if name == "dynamo_start":
            stack = metadata["dynamo_start"].get("stack") or []
            frames = [self._frame(frame) for frame in stack if isinstance(frame, dict)]
            made = self._compilation_of(metadata)
            if frames:
                self._name(made, frames[-1].function, frames[-1].file, frames[-1].line)
                callers = [f for f in frames[:-1] if "/torch/" not in f.file.replace("\\", "/")]
                if callers:
                    self.callers[made.id] = f"{os.path.basename(callers[-1].file)}:{callers[-1].line}"
                    self.callers[made.id] += f"  {self.known.get((callers[-1].file, callers[-1].line), ('', ''))[1]}"
        elif name in STAGES and payload:
            for line in payload.split("\n"):
                found = PRINTED.match(line[:LONGEST_SAID])
                if found:
                    place = (found["file"], int(found["line"]))
                    self.known[place] = (found["name"], (found["code"] or "").strip())

    def _frame(self, told: dict[str, Any]) -> Frame:
        file = told.get("filename", "")
        made = Frame(self.strings.get(file, "?") if isinstance(file, int) else one_line(str(file)),
                     int(told.get("line") or 0), one_line(str(told.get("name") or ""))[:200])
        if told.get("loc"):
            self.known[made.file, made.line] = (made.function, one_line(str(told["loc"]))[:1000].strip())
        return made

    # ---- in place of what only a running program has ----

    def _name(self, made: Compilation, name: str, file: str, line: int) -> None:
        """The function of a compilation; compilations of one function have one code object."""
        key = (one_line(file)[:4096], line, one_line(name)[:200])
        made.code = self._codes.setdefault(key, Named(key[2], key[0], line))

    def _moment(self, made: Compilation) -> recompiles.Moment:
        reasons = [one_line(reason)[:LARGEST_LINE] for reason in made.recompiled]
        return recompiles.Moment("", [recompiles.read(r, lambda source: "") for r in reasons])

    def _function(self, code: Code) -> Function:
        found = self._function_of.get(id(code))
        if found is None:
            name = plain_name(code.co_name)[:80]
            found = Function(name, code, os.path.join(self.folder, f"{len(self.functions):02}_{name}"))
            resumed = re.fullmatch(r"torch_dynamo_resume_in_(.+)_at_\d+", code.co_name)
            found.continues = resumed[1] if resumed else ""
            self.functions.append(found)
            self._function_of[id(code)] = found
            os.makedirs(found.folder, exist_ok=True)
        return found

    def source_around(self, file: str, name: str, numbers: list[int]) -> list[tuple[int, str]]:
        return [(n, self.known[file, n][1]) for n in sorted(numbers) if (file, n) in self.known]

    def _finish(self) -> None:
        """Files, functions with the lines that are known of them, and what was not understood."""
        for made in self.compilations:
            if made.code is None:
                made.code = self._codes.setdefault(("?", 0, made.name or "?"), Named(made.name or "a function", "?", 0))
            made.told = made.told or bool(made.guards) and made.failure is None
            made.is_open = not made.told and made.failure is None
            function = self._function(made.code)
            function.compilations.append(made)
            self._write_stages(made)
            if made.moment is not None:
                made.moment.caller = self.callers.get(made.id, "")
            for broken in [*made.breaks, *filter(None, [made.failure])]:
                broken.code = self.known.get((broken.file, broken.line), ("", ""))[1]
        for function in self.functions:
            names = {function.name, function.code.co_name, function.continues}
            known = [(n, text) for (file, n), (name, text) in self.known.items()
                     if file == function.code.co_filename and name in names]
            function.lines = sorted(known) or [(function.code.co_firstlineno, "# the trace quotes no line of it")]
        self._write_guards()
        self.remarks += [f"not all of the log was read: {note}" for note in self.log.notes()]
        self._write_reports()

    def origin_text(self, stage: Stage) -> str:
        return f"# ran from {one_line(stage.origin)} where it was logged; not run here\n" if stage.origin else ""

    def close(self) -> None:
        raise AssertionError("a trace is read, not closed")

    @property
    def is_incomplete(self) -> bool:
        return bool(self.log.counts)


def one_line(text: str) -> str:
    """Without what moves a terminal's cursor; the text of a log is somebody's."""
    return clean(text).replace("\n", "?")


def plain_json(text: str) -> str:
    """JSON whose strings, once they are read, move no cursor and can be written everywhere."""
    return _ESCAPE.sub(lambda found: "?" if found["bad"] else found[0], clean(text))


def clean(text: str) -> str:
    return _CONTROL.sub("?", text)


def small(number: Any) -> int:
    """A count of torch's; it becomes part of a file's name."""
    if not isinstance(number, int) or not 0 <= number < 10**9:
        raise ValueError(f"no count: {number!r:.40}")
    return number


def read(path: str, folder: str) -> list[TraceSession]:
    """The sessions of all logs of a directory, each with its own folder if there are several."""
    paths = logs_of(path)
    made = []
    for number, log in enumerate(paths):
        session = TraceSession(folder if len(paths) == 1 else os.path.join(folder, f"log_{number:02}"), Log(log))
        session.read()
        made.append(session)
    return made
