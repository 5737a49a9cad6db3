"""What torch.compile does while a session is open, written to a directory.

The program is never touched: a generated code object keeps its instructions, and its line table points into the
file that shows it (see _link). An exception of ours never reaches the program: it becomes a note in the report.
"""

from __future__ import annotations

import contextlib
import dis
import inspect
import linecache
import os
import re
import sys
import textwrap
import threading
import traceback
import types
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, NamedTuple, Union, cast

from . import _compiler_compat as compat
from . import _compiler_guards
from . import _compiler_guards as guards
from . import _compiler_time as times
from . import _recompiles as recompiles
from ._compiler_kernels import traces_of
from ._link import Listing, instructions, linked, listing, parses, plain_name, write_text
from ._pellucid import set_lines

_UUID = re.compile(r"_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}$")
_GENERATED = re.compile(r"__(?:compiled_fn|resume_at|import|builtins_dict)_")
_BREAK = re.compile(r"Graph break in user code at (?P<file>.*):(?P<line>\d+)\s*\n.*?Graph Break Reason: (?P<reason>.*)")

_FRAME = re.compile(r'File "(?P<file>[^"\n]*)", line (?P<line>\d{1,9}), in (?P<name>[^\n]*)(?:\n\s*(?P<code>[^\n]*))?')

#: Entries of torch's structured trace that are source of a stage, in the order of the stages: file name, title.
STAGES = {
    "dynamo_output_graph": ("captured_graph", "graph captured by Dynamo"),
    "before_pre_grad_graph": ("before_pre_grad_graph", "before the pre-grad passes"),
    "after_pre_grad_graph": ("after_pre_grad_graph", "after the pre-grad passes"),
    "aot_inference_graph": ("aot_inference_graph", "AOTAutograd: inference graph"),
    "aot_joint_graph": ("aot_joint_graph", "AOTAutograd: joint graph of forward and backward"),
    "aot_forward_graph": ("aot_forward_graph", "AOTAutograd: forward graph"),
    "aot_backward_graph": ("aot_backward_graph", "AOTAutograd: backward graph"),
    "before_post_grad_graph": ("before_post_grad_graph", "before the post-grad passes"),
    "after_post_grad_graph": ("after_post_grad_graph", "after the post-grad passes"),
    "inductor_post_grad_graph": ("after_post_grad_graph", "after the post-grad passes"),
    "inductor_output_code": ("inductor_output_code", "Inductor's output code"),
    "compiled_autograd_graph": ("compiled_autograd_graph", "compiled autograd"),
}
CACHES = re.compile(r"(fx_graph|aotautograd|autograd)_cache_(hit|miss|bypass)$")
KERNELS = "inductor_provenance_tracking_kernel_stack_traces"
_NOTES = {"dynamo_start", "dynamo_cpp_guards_str", "dynamo_graph_break_reason", "recompile_reasons", KERNELS}
_SIZES = ("graph_op_count", "graph_node_count", "graph_input_count", "guard_count")

READ_NOTES_EVERY = 32  # compilations: torch keeps its notes on the latest 64


class Frame(NamedTuple):
    """A line of the user's that a line of a graph comes from."""

    file: str
    line: int
    function: str


@dataclass(eq=False)
class Named:
    """What a trace says of a code object."""

    co_name: str
    co_filename: str
    co_firstlineno: int


Code = Union[types.CodeType, Named]


@dataclass
class Stage:
    kind: str
    title: str
    path: str
    text: str
    origin: str = ""  # where torch itself keeps the file that runs
    lines_before: int = 0  # of the file, before the text
    linked: bool = False
    names: set[str] = field(default_factory=set)  # that it assigns to
    frames: dict[int, list[Frame]] = field(default_factory=dict)  # line of text -> the user's lines, innermost last
    traces: dict[str, list[str]] = field(default_factory=dict)  # of its kernels: Inductor's own stack traces


@dataclass
class Break:
    reason: str
    file: str
    line: int
    text: str  # all that torch says, hints included
    code: str | None = None  # the line; None: it can be looked up


@dataclass
class Compilation:
    """One compiled version of a function."""

    id: str
    code: Code | None = None  # the original; None until Dynamo is done with it
    listing: Listing | None = None
    path: str = ""
    number: int = 0  # among the files of functions of this name
    lines_before: int = 0  # of the file, before the listing
    arguments: str = ""
    calls: list[str] = field(default_factory=list)  # __compiled_fn_N and __resume_at_N_N, as shown
    resumes: list[types.CodeType] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    breaks: list[Break] = field(default_factory=list)
    recompiled: list[str] = field(default_factory=list)
    moment: recompiles.Moment | None = None  # the call that no older version fits
    caches: list[str] = field(default_factory=list)
    guards: str = ""
    guards_path: str = ""
    seconds: float | None = None
    failure: Break | None = None  # why there is no code
    name: str = ""  # of the function, as torch notes it; known even if there is no code
    attempt: int = 0
    before: bool = False  # compiled before the session was opened
    generation: int = 0  # how many resets were seen before it
    is_stale: bool = False  # torch._dynamo.reset() came after it
    told: bool = False  # a trace says that it was compiled
    is_open: bool = False  # a trace does not say how it ended
    sizes: dict[str, int] = field(default_factory=dict)  # of its graph, as torch counts them
    linked: bool = False
    _guards: list[_compiler_guards.Guard] | None = None
    # line of the file -> the user's line, where Dynamo kept it
    user_lines: dict[int, int] = field(default_factory=dict)

    def guard_list(self) -> list[_compiler_guards.Guard]:
        if self._guards is None:
            self._guards = guards.read(self.guards)
        return self._guards

    @property
    def compiled(self) -> bool:
        return self.listing is not None or self.told

    @property
    def complete(self) -> bool:
        return self.listing is not None and not self.listing.incomplete


@dataclass
class Function:
    """A function of the user's, or one that continues it behind a graph break."""

    name: str
    code: Code
    folder: str
    source: str = ""
    source_first_line: int = 1
    source_path: str = ""
    continues: str = ""  # the user's function, if this is a resume function
    compilations: list[Compilation] = field(default_factory=list)
    lines: list[tuple[int, str]] = field(default_factory=list)  # where only some lines of the source are known

    def numbered(self) -> list[tuple[int, str]]:
        """Its lines with their numbers."""
        return self.lines or list(enumerate(self.source.rstrip("\n").split("\n"), self.source_first_line))


def careful(method: Callable[..., Any]) -> Callable[..., Any]:
    """For what torch calls: whatever goes wrong in it is our business, not the program's."""

    def guarded(self: Session, *arguments: Any) -> Any:
        try:
            with self.lock:
                return method(self, *arguments)
        except Exception:
            self.notes.append(traceback.format_exc(limit=-4))
            return None

    return guarded


class Session:
    """`only` restricts what was compiled before to this code and what continues it."""

    def __init__(self, folder: str, *, log_bytecode: bool = False, only: types.CodeType | None = None) -> None:
        self.folder = os.path.abspath(folder)
        self.log_bytecode = log_bytecode
        self.only = only
        self.lock = threading.RLock()
        self.notes: list[str] = []  # errors of ours
        self.remarks: list[str] = []  # what else is to be known
        self.functions: list[Function] = []
        self.compilations: list[Compilation] = []
        self._current: dict[str, Compilation] = {}  # by id: torch counts from 0 again after a reset
        self._generation = 0
        self._resets: dict[str, int] = {}  # how often each number came again
        self._function_of: dict[int, Function] = {}  # by id(code): code with dicts among its constants has no hash
        self.runs: dict[str, int] = {}  # by path, where runs were counted
        self._numbers: dict[str, int] = {}
        self._noted: dict[int, Any] = {}  # by id: what torch noted about compilations, as far as we have seen it
        self._removers: list[Callable[[], None]] = []
        self._causes: list[recompiles.Cause] | None = None
        self._events: list[times.Event] = []
        self._open: dict[str, list[str]] = {}  # by id: names of the timed phases that have not ended
        self._begun: dict[str, int] = {}  # by id: where its latest outermost phase begins among the events
        self._renamed: dict[str, str] = {}  # ids that came again -> what the latest is called
        self._timeline: tuple[int, times.Timeline] | None = None

    #: Whether the user's sources, and the code that runs, are here.
    has_sources = True

    # ---- opening and closing ----

    def open(self) -> None:
        self.probe = compat.require()
        os.makedirs(self.folder, exist_ok=True)
        self._noted = {id(noted): noted for noted in compat.metrics()}
        self._find_compiled_before()
        self._removers = [compat.on_bytecode(self._on_bytecode), compat.on_trace(is_wanted, self._on_trace),
                          compat.on_graph_compiled(self._on_graph_compiled), compat.on_event(self._on_event)]

    def close(self) -> None:
        while self._removers:
            self._removers.pop()()
        self._read_notes()
        self._write_guards()
        self._write_whole()
        self._write_reports()

    def causes(self) -> list[recompiles.Cause]:
        """Why functions were compiled again; the same objects each time, once the session is closed."""
        if self._causes is None or self.is_open:
            self._causes = recompiles.causes(self)
        return self._causes

    @property
    def is_open(self) -> bool:
        return bool(self._removers)

    def linked_files(self) -> list[str]:
        stages = [stage.path for made in self.compilations for stage in made.stages if stage.linked]
        return [made.path for made in self.compilations if made.linked] + stages

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Counts how often each version runs, meanwhile."""
        outer = sys.getprofile()

        def count(frame: types.FrameType, event: str, argument: Any) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(self.folder):
                self.runs[frame.f_code.co_filename] = self.runs.get(frame.f_code.co_filename, 0) + 1
            if outer is not None:
                outer(frame, cast(Any, event), argument)

        sys.setprofile(count)
        try:
            yield
        finally:
            sys.setprofile(outer)

    # ---- functions ----

    def function_of(self, code: Code) -> Function | None:
        return self._function_of.get(id(code))

    def source_around(self, file: str, name: str, numbers: list[int]) -> list[tuple[int, str]]:
        """The lines of a function of the user's that was inlined."""
        from ._compiler_columns import source_block
        return source_block(file, name, numbers)

    def _function(self, code: Code) -> Function:
        found = self._function_of.get(id(code))
        if found is None:
            assert isinstance(code, types.CodeType)
            name = plain_name(code.co_name)
            found = Function(name, code, os.path.join(self.folder, f"{len(self.functions):02}_{name}"))
            self.functions.append(found)
            self._function_of[id(code)] = found
            user = compat.resumed(code)
            if user is not None:
                found.continues = user.co_qualname if hasattr(user, "co_qualname") else user.co_name
            found.source, found.source_first_line = source_of(user or code)
            os.makedirs(found.folder, exist_ok=True)
            found.source_path = os.path.join(found.folder, "original.py")
            where = f"# {(user or code).co_filename}, line {found.source_first_line}\n"
            if user is not None:
                where += f"# {name} continues this function from line {code.co_firstlineno} on.\n"
            write_text(found.source_path, where + parsing(textwrap.dedent(found.source)))
        return found

    def _compilation(self, number: str) -> Compilation:
        made = self._current.get(number)
        if made is None:
            made = self._current[number] = Compilation(number, generation=self._generation)
            self.compilations.append(made)
        return made

    def _begin(self, number: str) -> Compilation:
        """Another one of this number: after a reset, Dynamo counts from 0/0 again. Files are named by the id, so it
        must not be that of the older one."""
        self._read_notes()
        self._resets[number] = resets = self._resets.get(number, 0) + 1
        self._generation = max(self._generation, resets)  # a reset is one of all functions
        made = self._current[number] = Compilation(f"{number} after reset {resets}", generation=self._generation)
        for older in self.compilations:
            older.is_stale = older.generation < self._generation
        self.compilations.append(made)
        self._renamed[number] = made.id
        begun = self._begun.get(number, len(self._events))  # its phases began before torch said which it is
        self._events[begun:] = [event._replace(compile_id=made.id) if event.compile_id == number
                                or event.compile_id.startswith(f"{number} after ") else event
                                for event in self._events[begun:]]
        self._begun[number] = len(self._events)
        return made

    def versions(self) -> str:
        import torch
        return f"torch {torch.__version__}, Python {sys.version.split()[0]}"

    def timeline(self) -> times.Timeline:
        """What torch timed, so far."""
        if self._timeline is None or self._timeline[0] != len(self._events):
            self._timeline = len(self._events), times.timeline(self._events)
        return self._timeline[1]

    @careful
    def _on_event(self, name: str, phase: str, at: float, number: str, lane: str) -> None:
        stack = self._open.setdefault(number, [])
        if phase == "B":
            if not stack:
                self._begun[number] = len(self._events)
            stack.append(name)
        elif phase == "E" and name in stack:
            while stack.pop() != name:
                pass
        self._events.append(times.Event(name, phase, at, self._renamed.get(number, number), lane))

    @careful
    def _read_notes(self) -> None:
        """What torch noted about compilations since they were read last."""
        for noted in compat.metrics():
            number = getattr(noted, "compile_id", None)
            if id(noted) in self._noted or number is None or getattr(noted, "is_forward", True) is False:
                continue
            self._noted[id(noted)] = noted
            self._note(self._compilation(str(number)), lambda name: getattr(noted, name, None))

    def _note(self, made: Compilation, get: Callable[[str], Any]) -> None:
        """What torch notes of a compilation when it is done, or has failed."""
        made.seconds = get("entire_frame_compile_time_s")
        made.name = get("co_name") or ""
        made.sizes = {name: get(name) for name in _SIZES if isinstance(get(name), int)}
        reason = get("fail_reason")
        if reason:
            place = get("fail_user_frame_filename"), get("fail_user_frame_lineno")
            made.failure = Break(reason.strip().split("\n")[0], place[0] or "", place[1] or 0, reason)

    @careful
    def _find_compiled_before(self) -> None:
        seen = {}
        for code in compat.codes_seen():
            if self.only is None or code is self.only or compat.resumed(code) is self.only:
                seen[id(code)] = code
        for code in seen.values():
            for entry in reversed(compat.entries(code)):  # the latest is first
                self._add_compiled_before(code, entry)

    @careful
    def _add_compiled_before(self, code: types.CodeType, entry: compat.Entry) -> None:
        made = self._compilation(entry.compile_id or f"before {len(self.compilations)}")
        made.before, made.guards, made.code = True, entry.guards, code
        scope = scope_of(code)
        generated = self._show(made, entry.code, scope)
        made.linked = set_lines(entry.code, generated.co_filename, generated.co_firstlineno, generated.co_linetable)
        self._find_graphs(made, generated, scope)

    # ---- what torch tells us ----

    @careful
    def _on_bytecode(self, original: types.CodeType, generated: types.CodeType) -> types.CodeType:
        number = compat.compile_id() or f"{len(self.functions)}/{len(self.compilations)}"
        scope = compat.globals_being_compiled()
        made = self._compilation(number)
        if made.listing is not None:
            made = self._begin(number)
        made.code = original
        result = self._show(made, generated, scope)
        made.linked = True
        self._find_graphs(made, generated, scope)
        self._write_stages(made)
        if len(self.compilations) % READ_NOTES_EVERY == 0:
            self._read_notes()
        return result

    def _show(self, made: Compilation, generated: types.CodeType, scope: dict[str, Any]) -> types.CodeType:
        """Writes the file of a generated function, and links it."""
        assert isinstance(made.code, types.CodeType)  # it was compiled
        function = self._function(made.code)
        names = shown_names(generated, scope)
        made.listing = listing(generated, names=names, spell=lambda value: spelled(value, scope))
        if not parses(made.listing.source):
            made.listing = instructions(generated, "the decompiled text is no Python")
        made.listing.source = guards.plain_builtins(made.listing.source)
        made.calls = [names.get(name, name) for name in generated.co_names
                      if re.match("__(compiled_fn|resume_at)_", name)]
        made.resumes = [scope[name].__code__ for name in generated.co_names
                        if name.startswith("__resume_at_") and isinstance(scope.get(name), types.FunctionType)]
        made.number = self._numbers.get(function.name, 0)
        self._numbers[function.name] = made.number + 1
        made.path = os.path.join(self.folder, f"__transformed_code_{made.number}_for_{function.name}.py")
        count = made.code.co_argcount + made.code.co_kwonlyargcount
        made.arguments = ", ".join(filter(str.isidentifier, made.code.co_varnames[:count]))
        if made not in function.compilations:
            function.compilations.append(made)
        where = f"{made.code.co_filename}, line {made.code.co_firstlineno}"
        header = [f"# [{made.id}] what Dynamo made of {function.name} ({where}).",
                  "# These lines are linked to the instructions that run: breakpoints set here work. value_N is",
                  "# no variable but a value on the stack; debuggers show the others."]
        header += [f"# {shown} is {name}" for name, shown in names.items() if name.startswith("__compiled_fn")]
        made.lines_before = len(header) + 1
        made.listing = made.listing.moved(made.lines_before)
        made.user_lines = lines_kept(generated, made.listing)
        write_text(made.path, "\n".join(header) + "\n\n" + made.listing.source)
        if self.log_bytecode:
            for code, what in ((made.code, "original"), (generated, "transformed")):
                write_text(f"{made.path}.{what}_bytecode.txt", dis.Bytecode(code).dis())
        return linked(generated, made.path, made.listing)

    @careful
    def _on_trace(self, metadata: dict[str, Any], payload: str | None) -> None:
        kind = next(iter(metadata), "")
        body = metadata.get(kind)
        if kind in ("chromium_event", "str") or "frame_id" not in metadata:
            return
        made = self._compilation_of(metadata)
        if kind == "artifact" and isinstance(body, dict):
            kind = str(body.get("name"))
        if kind in STAGES and payload is not None:
            self._add_stage(made, kind, payload, (body or {}).get("filename", "") if isinstance(body, dict) else "")
        elif kind == "dynamo_cpp_guards_str":
            made.guards = payload or ""
        elif kind == "dynamo_graph_break_reason":
            self._add_break(made, payload or "")
        elif kind == "recompile_reasons":
            reasons = compat.as_json(payload)
            made.recompiled = [str(reason) for reason in reasons] if isinstance(reasons, list) else [payload or ""]
            made.moment = self._moment(made)
        elif kind == KERNELS:
            codes = [stage for stage in made.stages if stage.kind == "inductor_output_code"]
            if codes:
                codes[-1].traces = traces_of(compat.as_json(payload))
        elif CACHES.match(kind):
            made.caches.append(kind)

    def _moment(self, made: Compilation) -> recompiles.Moment:
        return recompiles.seen_now(made.recompiled)

    def _compilation_of(self, metadata: dict[str, Any]) -> Compilation:
        number = f"{metadata['frame_id']}/{metadata.get('frame_compile_id', 0)}"
        if metadata.get("compiled_autograd_id") is not None:
            number = f"!{metadata['compiled_autograd_id']}/{number}"
        made = self._compilation(number)
        # The first that is said of a compilation. What it says of an older one of this number would be a lie.
        if ("dynamo_start" in metadata or "recompile_reasons" in str(metadata.get("artifact"))) and (
                made.compiled):
            made = self._begin(number)
        attempt = metadata.get("attempt", made.attempt)
        if attempt != made.attempt:  # Dynamo began anew: what it made before is gone
            made.attempt = attempt
            for stage in made.stages:
                if os.path.exists(stage.path):
                    os.remove(stage.path)
            made.stages.clear()
        return made

    def _add_stage(self, made: Compilation, kind: str, text: str, origin: str) -> None:
        title = STAGES[kind][1] + half_of(made, kind, text)
        text = textwrap.dedent(text).replace("class <lambda>(", "class GraphModule(")
        if any(stage.kind == kind and stage.text == text for stage in made.stages):
            return
        made.stages.append(Stage(kind, title, "", text, origin, names=assigned_names(text)))
        # The function is known only when Dynamo is done with it: the file is written then.
        if made.listing is not None:
            self._write_stages(made)

    def _write_stages(self, made: Compilation) -> None:
        for stage in made.stages:
            if not stage.path:
                self._write_stage(made, stage, parsing(stage.text))

    def _write_stage(self, made: Compilation, stage: Stage, text: str) -> int:
        """Returns how many lines stand before the text."""
        if not stage.path:
            folder = self._function(made.code).folder if made.code else self.folder
            index = made.stages.index(stage) + 1
            stage.path = os.path.join(folder, f"{file_number(made.id)}.{index:02}_{STAGES[stage.kind][0]}.py")
        header = f"# [{made.id}] {stage.title}\n" + self.origin_text(stage)
        write_text(stage.path, header + text)
        stage.lines_before = header.count("\n")
        return stage.lines_before

    def origin_text(self, stage: Stage) -> str:
        return f"# runs from {stage.origin}\n" if stage.origin else ""

    # ---- graphs ----

    def _find_graphs(self, made: Compilation, generated: types.CodeType, scope: dict[str, Any]) -> None:
        for name in generated.co_names:
            if name.startswith("__compiled_fn") and name in scope:
                module = compat.graph_module(scope[name])
                if module is not None:
                    self._link_graphs(made, module)

    def _link_graphs(self, made: Compilation, module: Any) -> None:
        """A graph that runs as Dynamo captured it, and the graphs inside of it."""
        for path, part in module.named_modules():
            forward = compat.forward_of(part) if hasattr(part, "graph") else None
            if forward is None:
                continue
            free = [s for s in made.stages if s.kind == "dynamo_output_graph" and not s.linked]
            stage = free[0] if free and not path else None
            if stage is None:
                title = STAGES["dynamo_output_graph"][1] + (f": {path}" if path else "")
                stage = Stage("dynamo_output_graph", title, "", "")
                made.stages.append(stage)
            self._link_graph(made, stage, part, forward)

    def _link_graph(self, made: Compilation, stage: Stage, module: Any, forward: types.FunctionType) -> None:
        source = "".join(linecache.getlines(forward.__code__.co_filename, forward.__globals__)) or module.code
        stage.text, stage.frames = annotated(source, module)
        before = self._write_stage(made, stage, stage.text)
        code = forward.__code__
        forward.__code__ = code.replace(co_filename=stage.path, co_firstlineno=code.co_firstlineno + before)
        linecache.checkcache(stage.path)
        stage.linked = True

    @careful
    def _on_graph_compiled(self, module: Any, forward: types.FunctionType) -> None:
        if module is None:
            return
        names = {node.name for node in module.graph.nodes if node.op not in ("placeholder", "output")}
        has_parts = any(hasattr(part, "graph") for part in module.children())  # printed inside of it: it has more names
        for made in reversed(self.compilations):
            for stage in made.stages:
                if stage.kind.startswith("aot_") and (names == stage.names or has_parts and names < stage.names):
                    self._link_graph(made, stage, module, forward)
                    return

    def _add_break(self, made: Compilation, text: str) -> None:
        found = _BREAK.search(text)
        place = (found["file"], int(found["line"])) if found else ("", 0)
        said = [line.strip() for line in (text[found.start("reason"):] if found else text).split("\n") if line.strip()]
        reason = next((line for line in said if not line.endswith(":")), "unknown")  # what announces a reason ends so
        if not any((b.reason, b.file, b.line) == (reason, *place) for b in made.breaks):
            made.breaks.append(Break(reason, *place, text))

    # ---- at the end ----

    def _write_guards(self) -> None:
        for made in list(self.compilations):
            if made.guards and made.code is not None and not made.guards_path:
                self._write_guards_of(made)

    @careful
    def _write_guards_of(self, made: Compilation) -> None:
        assert made.code is not None
        made.guards_path = os.path.join(self._function(made.code).folder, f"{file_number(made.id)}.00_guards.py")
        name = f"guards_{made.number}_for_{plain_name(made.code.co_name)}"
        text = f"# [{made.id}] while these hold, {os.path.basename(made.path)} runs.\n" + guards.HELP + "\n"
        write_text(made.guards_path, text + guards.write(made.guard_list(), name, made.arguments))

    @careful
    def _write_whole(self) -> None:
        """full_code_for_<name>_<n>.py: all of one function, for reading."""
        seen: dict[str, int] = {}
        for function in self.functions:
            if function.continues or not function.compilations:
                continue
            number = seen[function.name] = seen.get(function.name, -1) + 1
            text = "".join(self._whole(function, set()))
            path = os.path.join(self.folder, f"full_code_for_{function.name}_{number}.py")
            write_text(path, f"# All of {function.name}, for reading; what runs is linked to the other files.\n\n"
                       + text)

    def _whole(self, function: Function, seen: set[int]) -> Iterator[str]:
        """The functions that continue it first, then its versions, then the choice between them."""
        seen.add(id(function))
        original, arguments, choice = function.name, function.compilations[0].arguments, []
        for made in function.compilations:
            for name, code in zip([name for name in made.calls if name.startswith("__resume_at_")], made.resumes):
                target = self._function_of.get(id(code))
                if target is not None and target.compilations and id(target) not in seen:
                    yield from self._whole(target, seen)
                if target is not None:
                    shown = "transformed_" if target.compilations else ""
                    yield f"{name} = {shown}{target.name}_{self.functions.index(target)}\n\n"
            name = f"{made.number}_for_{original}"
            if made.guards:
                yield guards.write(made.guard_list(), f"__guard_{name}", arguments) + "\n\n"
            if made.listing is not None:
                yield made.listing.source.replace(f"def {original}(", f"def __transformed_code_{name}(", 1) + "\n\n"
            choice.append(f"    if __guard_{name}({arguments}):\n" if made.guards else "    if True:\n")
            choice.append(f"        return __transformed_code_{name}({arguments})\n")
        source = textwrap.dedent(function.source)
        if not function.continues and parses(source):
            yield source + "\n\n"
        name = f"{original}_{self.functions.index(function)}" if function.continues else original
        yield f"def transformed_{name}({arguments}):\n" + "".join(choice)
        yield f"    return {name}({arguments})  # no version fits: Dynamo compiles another one\n\n\n"

    @careful
    def _write_reports(self) -> None:
        from . import _compiler_page as page
        write_text(os.path.join(self.folder, "README.txt"), page.text_report(self))
        write_text(os.path.join(self.folder, "index.html"), page.html_report(self))


def half_of(made: Compilation, kind: str, text: str) -> str:
    """Of Inductor's stages, where there is a backward: which of the two they are of. Names tell, or those before."""
    halves = {stage.kind: stage.names for stage in made.stages
              if stage.kind in ("aot_forward_graph", "aot_backward_graph")}
    if len(halves) < 2 or not ("post_grad" in kind or kind == "inductor_output_code"):
        return ""
    if kind == "inductor_output_code":
        last = made.stages[-1].title
        return ", backward" if last.endswith("backward") else ", forward"
    names = assigned_names(text)
    backward = len(names & halves["aot_backward_graph"]) > len(names & halves["aot_forward_graph"])
    return ", backward" if backward else ", forward"


def is_wanted(kind: str) -> bool:
    """Of the entries of torch's trace."""
    return kind in _NOTES or kind in STAGES or CACHES.match(kind) is not None


# ---- names ----

def file_number(compile_id: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "_", compile_id).strip("_")


def shown_names(code: types.CodeType, scope: dict[str, Any]) -> dict[str, str]:
    """What to write for the names that Dynamo made up."""
    made = {}
    for name in code.co_names:
        if not _GENERATED.match(name):
            continue
        value = scope.get(name)
        if name.startswith("__import_"):
            made[name] = value.__name__ if isinstance(value, types.ModuleType) else name[9:].replace("_dot_", ".")
        elif _UUID.search(name):
            made[name] = _UUID.sub("", name)
    return made


def spelled(value: object, scope: dict[str, Any]) -> str | None:
    """An expression for a constant that has no literal."""
    if value is scope or (isinstance(value, dict) and "__builtins__" in value and "__name__" in value):
        return "globals()"
    if isinstance(value, type):
        return value.__qualname__ if value.__module__ == "builtins" else f"{value.__module__}.{value.__qualname__}"
    text = repr(value) if type(value).__module__ == "torch" else ""
    return text if re.fullmatch(r"[A-Za-z_][\w.]*(\(.*\))?", text) else None


def scope_of(code: types.CodeType) -> dict[str, Any]:
    """The globals of a function, from one of those who use its code object."""
    import gc
    for user in gc.get_referrers(code):
        if isinstance(user, types.FunctionType) and user.__code__ is code:
            return user.__globals__
    return {}


def lines_kept(generated: types.CodeType, shown: Listing) -> dict[int, int]:
    """Instructions that Dynamo took over from the user's code still know their line."""
    starts = [(begin, line) for begin, _, line in generated.co_lines() if line is not None]
    kept: dict[int, int] = {}
    at = 0
    for offset, line in shown.rows:
        while at + 1 < len(starts) and starts[at + 1][0] <= offset:
            at += 1
        if line and starts and starts[at][0] <= offset:
            kept.setdefault(line, starts[at][1])
    return kept


# ---- texts ----

def source_of(code: types.CodeType) -> tuple[str, int]:
    """(text, number of its first line); the decompiled text where there is no file. inspect.getsource would look
    through all modules for the file first."""
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1:]
    try:
        return "".join(inspect.getblock(lines)) if lines else listing(code).source, code.co_firstlineno
    except (SyntaxError, IndexError, ValueError):
        return listing(code).source, code.co_firstlineno


def parsing(text: str) -> str:
    """The text, as comments if it is no Python: every file can be read by tools."""
    if parses(text):
        return text
    return "# This is not Python:\n" + "".join(f"# {line}\n" for line in text.splitlines())


def assigned_names(text: str) -> set[str]:
    return set(re.findall(r"^[ \t]+(\w+)(?:: ?\"[^\"]*\")? = ", text, re.MULTILINE))


def annotated(source: str, module: Any) -> tuple[str, dict[int, list[Frame]]]:
    """The text of a graph, with shapes and the user's lines as comments: its lines stay where they are."""
    nodes = {node.name: node for node in module.graph.nodes}
    lines, places = [], {}
    for number, line in enumerate(source.rstrip().split("\n"), 1):
        found = re.match(r"\s+(\w+)(?: : .*?)? = ", line)
        node = nodes.get(found[1]) if found else None
        note = ""
        if node is not None:
            frames, code = frames_of_node(node)
            where = f"{os.path.basename(frames[-1].file)}:{frames[-1].line}" if frames else ""
            note = "  ".join(filter(None, (shape_of(node), where, code)))
            if frames:
                places[number] = frames
        lines.append(f"{line}  # {note}" if note else line.rstrip())
    return "\n".join(lines) + "\n", places


def shape_of(node: Any) -> str:
    value = node.meta.get("example_value", node.meta.get("val"))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{compat.dtype_name(value.dtype)}[{', '.join(map(str, value.shape))}]"
    return ""


def frames_of_node(node: Any) -> tuple[list[Frame], str]:
    """The user's lines that a node of a graph comes from, the innermost last, and the text of that one."""
    found = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    return ([Frame(f["file"], int(f["line"]), f["name"].strip()) for f in found],
            (found[-1]["code"] or "").strip() if found else "")


def frames_in(text: str) -> dict[int, list[Frame]]:
    """The same for a graph that torch printed: comments name the place of what follows."""
    places: dict[int, list[Frame]] = {}
    here = None
    for number, line in enumerate(text.split("\n"), 1):
        found = PRINTED.match(line)
        if found:
            here = Frame(found["file"], int(found["line"]), found["name"])
        elif re.match(r"\s*(?:return\b|def |class |#|$)", line):
            here = None if not line.strip().startswith("#") else here
        elif here:
            places[number] = [here]
    return places


PRINTED = re.compile(r"\s*# File: (?P<file>[^\n]{1,4096}?):(?P<line>\d{1,9}) in (?P<name>[^,\n]{1,200})"
                     r"(?:, code: (?P<code>.*))?")
