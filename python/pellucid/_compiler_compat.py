"""All that pellucid uses of torch's private parts to look into torch.compile.

Each part is looked for, never a version asked: `probe()` says which are there, and what is lost without the others.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import sys
import threading
import types
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import torch


@dataclass
class Probe:
    """What this torch lacks: {part: what is lost}. Without a part in `vital` nothing works."""

    missing: dict[str, str] = field(default_factory=dict)
    vital: list[str] = field(default_factory=list)


@functools.lru_cache(None)
def _find(path: str) -> Any:
    """torch.a.b by its dotted name, importing on the way; None if there is no such thing."""
    import importlib
    parts = path.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:split]))
        except Exception:
            continue
        for name in parts[split:]:
            found = getattr(found, name, None)
        return found
    return None


_HOOK = "torch._dynamo.convert_frame.register_bytecode_hook"
_COMPILE_ID = "torch._guards.CompileContext.current_compile_id"
_TRACE_LOG = "torch._logging._internal.trace_log"
_ENTRIES = "torch._C._dynamo.eval_frame._debug_get_cache_entry_list"
_SEEN = "torch._dynamo.convert_frame.input_codes.seen"
_EXEC = "torch.fx.graph_module._exec_with_source"
_RESUMED = "torch._dynamo.resume_execution.ContinueExecutionCache.generated_code_metadata"
_STANCE = "torch.compiler.set_stance"
_METRICS = "torch._dynamo.utils.get_compilation_metrics"
_EVENTS = "torch._dynamo.utils.ChromiumEventLogger._log_timed_event"
_LOSSES = {
    _COMPILE_ID: "compilations are numbered by us, and stages can't be distinguished",
    _TRACE_LOG: "no graphs, guards, graph breaks, recompilations or output code are written",
    _ENTRIES: "functions compiled before the context was entered are not found",
    _SEEN: "functions compiled before the context was entered are not found",
    _EXEC: "graphs that are compiled on their first run can't be stepped through",
    _METRICS: "failed compilations and times are not listed",
    _EVENTS: "where the time goes is not listed",
    _RESUMED: "resume functions don't show the source they continue",
    _STANCE: "while a debugger is stopped, Dynamo may compile the debugger's own functions",
}


def probe() -> Probe:
    made = Probe({path: loss for path, loss in _LOSSES.items() if _find(path) is None})
    if _find(_HOOK) is None:
        made.vital.append(_HOOK)
    return made


def require() -> Probe:
    made = probe()
    if made.vital:
        raise RuntimeError(f"this torch ({torch.__version__}) has no {', '.join(made.vital)}: pellucid can't see what "
                           "torch.compile generates (torch 2.2 and later have it)")
    return made


# ---- hooks ----

def on_bytecode(hook: Callable[[types.CodeType, types.CodeType], types.CodeType | None]) -> Callable[[], None]:
    """Calls hook(original, generated) for each function that Dynamo compiles; what it returns, if anything, runs."""
    remove: Callable[[], None] = _find(_HOOK)(hook).remove
    return remove


class _Listener(logging.Handler):
    def __init__(self, wanted: Callable[[str], bool], callback: Callable[[dict[str, Any], str | None], None]) -> None:
        super().__init__(logging.DEBUG)
        self.wanted = wanted
        self.callback = callback

    def emit(self, record: logging.LogRecord) -> None:
        metadata = getattr(record, "metadata", None)
        if isinstance(metadata, dict):
            self.callback(metadata, getattr(record, "payload", None))


class _Handlers(list[Any]):
    """The handlers of torch's trace while only we listen: there are none for entries that nobody wants.

    torch asks `if trace_log.handlers:` before it makes an entry, and makes hundreds per compilation. Their making, not
    our reading, was most of what looking cost.
    """

    def __bool__(self) -> bool:
        if any(not isinstance(handler, _Listener) for handler in self):
            return True
        asking = sys._getframe(1).f_locals
        name = asking.get("name")
        if name == "artifact" and callable(asking.get("metadata_fn")):
            name = asking["metadata_fn"]().get("name")
        return any(handler.wanted(str(name)) for handler in self)


def on_trace(wanted: Callable[[str], bool],
             callback: Callable[[dict[str, Any], str | None], None]) -> Callable[[], None]:
    """Calls callback(metadata, payload) for each entry of torch's structured trace that has a wanted name."""
    log = _find(_TRACE_LOG)
    if log is None:
        return lambda: None
    listener, propagated = _Listener(wanted, callback), log.propagate
    log.handlers = _Handlers([*log.handlers, listener])
    log.propagate = False  # without us nothing would be logged: nobody else is to see it

    def remove() -> None:
        left = [handler for handler in log.handlers if handler is not listener]
        log.handlers = _Handlers(left) if any(isinstance(handler, _Listener) for handler in left) else left
        log.propagate = propagated

    return remove


def on_graph_compiled(callback: Callable[[Any, types.FunctionType], None]) -> Callable[[], None]:
    """Calls callback(graph module or None, forward) when the text of a graph has been compiled that is about to run.

    These are compiled outside of Dynamo's compilations, or take their arguments as a list that they empty.
    """
    module, name = _find("torch.fx.graph_module"), _EXEC.rpartition(".")[2]
    original = getattr(module, name, None)  # as it is now: contexts nest
    if original is None:
        return lambda: None

    def watched(src: str, globals: dict[str, Any], *rest: Any, **named: Any) -> Any:
        result = original(src, globals, *rest, **named)
        forward = globals.get("forward")
        if not isinstance(forward, types.FunctionType):
            return result
        if compile_id() is None or forward.__code__.co_varnames[1:2] == ("args_list",):
            callback(_graph_above(sys._getframe(1)), forward)
        return result

    setattr(module, name, watched)

    def remove() -> None:
        if getattr(module, name, None) is watched:
            setattr(module, name, original)

    return remove


def on_event(callback: Callable[[str, str, float, str, str], None]) -> Callable[[], None]:
    """Calls callback(name, phase, microseconds, compile id, thread) for each phase of compiling that torch times.

    They are taken where torch makes them: its trace would make a text of each.
    """
    owner, name = _find(_EVENTS.rpartition(".")[0]), _EVENTS.rpartition(".")[2]
    original = getattr(owner, name, None)
    if original is None:
        return lambda: None

    def watched(self: Any, event_name: str, time_ns: int, phase: str, *rest: Any, **named: Any) -> Any:
        told = rest[0] if rest else named.get("metadata")
        number = str(told.get("compile_id") or "") if isinstance(told, dict) else ""
        callback(event_name, phase, time_ns / 1000, "" if number == "None" else number, threading.current_thread().name)
        return original(self, event_name, time_ns, phase, *rest, **named)

    setattr(owner, name, watched)

    def remove() -> None:
        if getattr(owner, name, None) is watched:
            setattr(owner, name, original)

    return remove


def _graph_above(frame: types.FrameType | None) -> Any:
    for _ in range(8):
        if frame is None:
            return None
        if isinstance(frame.f_locals.get("self"), torch.fx.GraphModule):
            return frame.f_locals["self"]
        frame = frame.f_back
    return None


# ---- while Dynamo compiles ----

def compile_id() -> str | None:
    """As torch's own logs write it: the function's number / how often it was compiled before."""
    current = _find(_COMPILE_ID)
    found = current() if current else None
    return None if found is None else str(found)


def globals_being_compiled() -> dict[str, Any]:
    """Of the function that Dynamo compiles now, for a bytecode hook. {} if they can't be found."""
    frame = sys._getframe(1)
    for _ in range(12):
        if frame.f_back is None:
            break
        frame = frame.f_back
        if frame.f_code.co_name == "_compile" and isinstance(frame.f_locals.get("globals"), dict):
            found: dict[str, Any] = frame.f_locals["globals"]
            return found
    return {}


def graph_module(compiled: Any) -> torch.fx.GraphModule | None:
    """The graph that a __compiled_fn_N runs as it is, without a further compiler behind it."""
    unwrap = _find("torch._dynamo.eval_frame.innermost_fn")
    found = unwrap(compiled) if unwrap else compiled
    found = getattr(found, "__self__", found)
    return found if isinstance(found, torch.fx.GraphModule) else None


def forward_of(module: torch.fx.GraphModule) -> types.FunctionType | None:
    """The function that torch.fx made for it, if it has been made; its lines are those of `module.code`."""
    forward = getattr(type(module), "forward", None)
    if isinstance(forward, types.FunctionType) and forward.__code__.co_filename.startswith("<eval_with_key>"):
        return forward
    return None


# ---- what was compiled ----

@dataclass
class Entry:
    """A compiled version of a function, as it lies in Dynamo's cache."""

    code: types.CodeType
    compile_id: str | None
    guards: str


def entries(code: types.CodeType) -> list[Entry]:
    get = _find(_ENTRIES)
    if get is None:
        return []
    made = []
    for entry in get(code):
        generated = getattr(entry, "code", None)
        if isinstance(generated, types.CodeType):
            number = getattr(entry, "compile_id", None)
            guards = str(getattr(entry, "guard_manager", ""))
            made.append(Entry(generated, None if number is None else str(number), guards))
    return made


def codes_seen() -> list[types.CodeType]:
    """The functions that Dynamo was asked to compile so far and that are alive."""
    seen = _find(_SEEN)
    found = [reference() for reference in list(seen or [])]
    return [code for code in found if isinstance(code, types.CodeType)]


def metrics() -> list[Any]:
    """What torch noted about the latest compilations, an object for each; it keeps 64 of them."""
    get = _find(_METRICS)
    return list(get()) if get else []


def resumed(code: types.CodeType) -> types.CodeType | None:
    """The user's code that a resume function continues."""
    table = _find(_RESUMED)
    try:
        metadata = table[code] if table is not None and code in table else None
    except Exception:
        metadata = None
    found = getattr(metadata, "code", None)
    return found if isinstance(found, types.CodeType) else None


# ---- running ----

@contextlib.contextmanager
def compiling_nothing() -> Iterator[None]:
    """What is compiled runs as it is; nothing is compiled anew."""
    if _find(_STANCE) is None:
        yield
        return
    with torch.compiler.set_stance("eager_on_recompile"):
        yield


def inductor_config() -> Any:
    """Inductor's settings, or None."""
    return _find("torch._inductor.config")


@contextlib.contextmanager
def keeping_origins(backend: Any) -> Iterator[None]:
    """Inductor keeps, for each kernel, the lines that it computes. Its caches keep such code apart from other code."""
    is_used = backend == "inductor" or "torch._inductor.config" in sys.modules
    settings = _find("torch._inductor.config.trace") if is_used else None
    name = "provenance_tracking_level"
    before = getattr(settings, name, None)
    if before != 0:  # somebody chose, or this torch has no such setting
        yield
        return
    setattr(settings, name, 1)
    try:
        yield
    finally:
        setattr(settings, name, before)


def bytecode_log() -> logging.Logger | None:
    """Where torch writes with TORCH_LOGS=+bytecode."""
    get = _find("torch._logging.getArtifactLogger")
    return get("torch._dynamo.convert_frame", "bytecode") if get else None


def dtype_name(dtype: torch.dtype) -> str:
    table = _find("torch.utils._dtype_abbrs.dtype_abbrs") or {}
    return str(table.get(dtype, str(dtype).removeprefix("torch.")))


def as_json(text: str | None) -> Any:
    try:
        return json.loads(text or "")
    except ValueError:
        return None


def as_written(function: Any) -> Any:
    """The function or module that was given to torch.compile."""
    if isinstance(function, torch.nn.Module):
        return getattr(function, "_orig_mod", function)
    unwrap = _find("torch._dynamo.eval_frame.innermost_fn")
    return unwrap(function) if unwrap else function


def torch_folder() -> str:
    """Where torch's own sources are."""
    return str(torch.__path__[0])


def is_compiled(function: Any) -> bool:
    """Whether it came from torch.compile."""
    wrapper = _find("torch._dynamo.eval_frame.OptimizedModule")
    return hasattr(function, "_torchdynamo_orig_callable") or (wrapper is not None and isinstance(function, wrapper))


def code_behind(function: Any) -> types.CodeType | None:
    """The code that Dynamo compiles for it."""
    if isinstance(function, torch.nn.Module):
        function = getattr(function, "_orig_mod", function).forward
    unwrap = _find("torch._dynamo.eval_frame.innermost_fn")
    function = unwrap(function) if unwrap and callable(function) else function
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", None)
