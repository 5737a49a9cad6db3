"""torch.compile opened: see, and step through, what the compiler made of a program."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import shutil
import sys
import tempfile
import types
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Sequence

from . import _compiler_compat as compat
from ._compiler_session import Session
from ._decompile import decompile
from ._recompiles import Cause
from ._result import Result, frame

_sessions: list[Session] = []


@contextlib.contextmanager
def prepare_debug(dump_src_dir: str | os.PathLike[str], clean_wild_fx_code: bool = True,
                  log_bytecode: bool = False) -> Iterator[Session]:
    """While it is open, all that torch.compile makes is written to a directory, and linked to it for debuggers.

    Wrap the calls of compiled functions in it, not torch.compile itself; it is a decorator, too. Begin with
    `index.html` or `README.txt` in the directory. The program is not touched: generated code runs with its own
    instructions, and only says that its lines are in the files that show it. Functions that were compiled before are
    found and shown.

    `log_bytecode` also writes the instructions before and after Dynamo. `clean_wild_fx_code` is accepted for programs
    that were written for depyf; there is nothing to clean.
    """
    session = Session(os.fspath(dump_src_dir), log_bytecode=log_bytecode)
    session.open()
    _sessions.append(session)
    try:
        yield session
    finally:
        session.close()


@contextlib.contextmanager
def debug() -> Iterator[None]:
    """Stops in the debugger at the first line of what `prepare_debug` wrote that runs inside of it.

    Code that is compiled runs as it is; nothing is compiled anew inside of it, not even what the debugger itself calls.
    An attached debugpy is used; pdb otherwise, or what sys.breakpointhook was set to.
    """
    if not _sessions:
        raise RuntimeError(
            "nothing was written yet: run the program inside `with pellucid.prepare_debug(folder):` first")
    files = {path for session in _sessions for path in session.linked_files()}
    with compat.compiling_nothing(), _stop_in(files):
        yield


@contextlib.contextmanager
def _stop_in(files: set[str]) -> Iterator[None]:
    before = sys.getprofile()

    def at_call(frame: types.FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename in files:
            sys.setprofile(before)
            _break_at(frame)

    if os.environ.get("PYTHONBREAKPOINT") == "0":
        yield
        return
    sys.setprofile(at_call)
    try:
        yield
    finally:
        if sys.getprofile() is at_call:
            sys.setprofile(before)


def _break_at(frame: types.FrameType) -> None:
    """Stops at the next line of this frame."""
    pydevd = sys.modules.get("pydevd")
    if pydevd is not None and getattr(pydevd, "get_global_debugger", lambda: None)() is not None:
        pydevd.settrace(suspend=True, trace_only_current_thread=True, patch_multiprocessing=False, stop_at_frame=frame)
    elif sys.breakpointhook is not sys.__breakpointhook__ or os.environ.get("PYTHONBREAKPOINT"):
        sys.breakpointhook()
    else:
        _debugger().set_trace(frame)


def _debugger() -> Any:
    """pdb, whose steps go past torch's own frames and past what they call; breakpoints stop there all the same."""
    import pdb
    library = os.path.dirname(os.path.abspath(contextlib.__file__)) + os.sep
    of_torch = compat.torch_folder() + os.sep

    class Debugger(pdb.Pdb):
        def stop_here(self, frame: types.FrameType) -> bool:
            caller: types.FrameType | None = frame
            while caller is not None and caller.f_code.co_filename.startswith(library) and (
                    "site-packages" not in caller.f_code.co_filename):
                caller = caller.f_back
            if caller is not None and caller.f_code.co_filename.startswith(of_torch):
                return False
            return bool(super().stop_here(frame))

    return Debugger()


# ---- torch's own logs ----

_uninstall: Callable[[], None] | None = None


def install() -> None:
    """From now on torch's own log of bytecode (TORCH_LOGS=+bytecode) has the decompiled source of generated code."""
    global _uninstall
    compat.require()
    if _uninstall is None:
        _uninstall = compat.on_bytecode(_log_source)


def uninstall() -> None:
    """Undoes `install`."""
    global _uninstall
    if _uninstall is not None:
        _uninstall()
        _uninstall = None


def _log_source(original: types.CodeType, generated: types.CodeType) -> None:
    log = compat.bytecode_log()
    if log is None or not log.isEnabledFor(logging.DEBUG):
        return
    try:
        log.debug("DECOMPILED SOURCE %s %s line %s\n%s", original.co_name, original.co_filename,
                  original.co_firstlineno, decompile(generated))
    except Exception as error:  # a log entry is not worth an exception in the program
        log.debug("DECOMPILED SOURCE %s: %s", original.co_name, error)


# ---- explain ----

@dataclass(repr=False)
class Explanation(Result):
    """What torch.compile did with a function: print it, or look at it in a notebook or browser."""

    text: str
    html: str
    #: Where all sources are, as prepare_debug writes them.
    folder: str
    #: (file, line, reason) of each graph break.
    graph_breaks: list[tuple[str, int, str]] = field(default_factory=list)
    #: Why functions were compiled again, as (compile id, reason).
    recompilations: list[tuple[str, str]] = field(default_factory=list)
    #: The same gathered by what varied, with values, places, and what would stop it.
    causes: list[Cause] = field(default_factory=list)
    #: Where the time went, for chrome://tracing or Perfetto: write it as JSON.
    timeline: dict[str, Any] = field(default_factory=dict)
    #: Seconds by compilation and part of the compiler: {"[0/0] f": {"Dynamo": 0.4, ...}}.
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    #: What of a log could not be read.
    unread: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        return {"graph_breaks": [{"file": file, "line": line, "reason": why} for file, line, why in self.graph_breaks],
                "recompilations": [{"id": number, "reason": why} for number, why in self.recompilations],
                "causes": [cause.to_dict() for cause in self.causes], "folder": self.folder,
                "seconds": self.seconds, "unread": self.unread}

    def _summary(self) -> str:
        return f"{len(self.graph_breaks)} graph breaks, {len(self.recompilations)} recompilations"

    def _repr_html_(self) -> str:
        return frame(self.html, "40rem")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page if the name ends in .html, the timeline if it ends in .json, the text otherwise."""
        name = os.fspath(path)
        text = (self.html if name.endswith((".html", ".htm")) else
                json.dumps(self.timeline) if name.endswith(".json") else self.text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def explain(fn: Callable[..., Any], *args: Any, backend: Any = "eager", more: Sequence[Any] = (),
            folder: str | os.PathLike[str] | None = None, attempt: bool = False, **kwargs: Any) -> Explanation:
    """Calls a function, compiled, and says what was compiled, where it broke and why, and what was compiled again.

    A function that is not compiled yet is, with `backend`. `more` are the arguments of further calls, to see what makes
    Dynamo compile again: tuples of arguments, or pairs of a tuple and a dict of named ones. The sources go to `folder`,
    or to one that is removed when Python ends.

    `attempt` makes the same calls once more under each setting that could stop a recompilation, counts what is compiled
    then, and compares the results. What was compiled before is forgotten for it.
    """
    import torch

    from . import _recompiles as recompiles
    calls = [(args, kwargs), *(_call(arguments, kwargs) for arguments in more)]
    trials = recompiles.Trials(fn, calls, backend) if attempt else None
    folder = folder or _folder_for_now()
    compiled = fn if compat.is_compiled(fn) else torch.compile(fn, backend=backend)
    session = Session(os.fspath(folder), only=compat.code_behind(fn))
    session.open()
    _sessions.append(session)
    try:
        with session.counting(), compat.keeping_origins(backend):
            for arguments, named in calls:
                compiled(*arguments, **named)
    finally:
        session.close()
    if trials is not None:
        trials.run(session)
    return _explanation([session], session.folder)


def explain_trace(path: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> Explanation:
    """Reads what torch.compile logged with TORCH_TRACE=DIR, perhaps on another machine: a directory, or one log.

    The same report as `explain` gives, of what the log tells: nothing of it is executed, and no file that it names is
    opened. Graphs, code and guards are written to `folder`, or to one that is removed when Python ends. `unread` says
    what of the log could not be read; ValueError if nothing can.
    """
    from ._compiler_trace import TraceError, read
    where = os.fspath(folder or _folder_for_now())
    try:
        return _explanation(read(os.fspath(path), where), where)
    except TraceError as error:
        raise ValueError(str(error)) from None


def _folder_for_now() -> str:
    folder = tempfile.mkdtemp(prefix="pellucid-explain-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _explanation(sessions: Sequence[Session], folder: str) -> Explanation:
    from . import _compiler_page as page
    from ._compiler_time import chrome, rows
    made = Explanation("", page.html_report(*sessions), folder)
    for session in sessions:
        made.text += page.text_report(session, with_files=False) + page.side_by_side(session)
        breaks = [(b.file, b.line, b.reason) for one in session.compilations for b in one.breaks]
        made.graph_breaks += [told for told in dict.fromkeys(breaks) if told not in made.graph_breaks]
        made.recompilations += [(one.id, page.why_again(why)) for one in session.compilations for why in one.recompiled]
        made.causes += session.causes()
        made.unread += session.remarks
        for row in rows(session)[1]:
            made.seconds[row.name] = {part: round(value, 6) for part, value in row.parts.items()}
        names = {one.id: page.title_of(session, one) for one in session.compilations}
        events = chrome(session.timeline(), names, len(made.timeline.get("traceEvents", [])))
        made.timeline = {**events, "traceEvents": [*made.timeline.get("traceEvents", []), *events["traceEvents"]]}
    return made


def _call(given: Any, named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """One of `more`: its own named arguments, or those of the first call."""
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], dict):
        return given[0], given[1]
    return tuple(given), named
