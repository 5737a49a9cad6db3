"""pellucid.skeleton: a running model becomes a program that people can read."""

from __future__ import annotations

import contextlib
import io
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Sequence, cast

from ._given import given
from ._names import renamed
from ._pellucid import Error
from ._progress import Progress, Wanted
from ._result import Result, lines_of
from ._contract import with_contract
from ._verdict import Answer, Check, Report, rule_of
from ._verify import SEED, modes_of, names_device, play_original, start_referee, verify, with_verdict

if TYPE_CHECKING:
    import torch

ATTEMPTS = 12  # of writing and verifying, each with another plan
ROUNDS = 2  # of recording what verification found missing
RETREATS = 6  # functions whose text proved wrong and that are written as the calls they made
DRAWS = 12  # of random numbers in train mode, beside the first
DRAWING = 1.0  # seconds after which no more are made
SLOW = 3.0  # seconds: a call that takes longer is made as few times as possible
Inputs = tuple[tuple[Any, ...], dict[str, Any]]


class SkeletonError(Error, RuntimeError):
    """No skeleton could be made, or the one that was made is not equal to its original.

    `skeleton` has what there is: the source and the report of verification, or None."""

    def __init__(self, message: str, skeleton: Skeleton | None = None):
        super().__init__(message)
        self.skeleton = skeleton


@dataclass(repr=False)
class Skeleton(Result):
    """A model written anew: `source` defines the class `root`, which is constructed without arguments."""

    source: str
    root: str
    tree: Any
    report: Report
    model: Any = field(repr=False, default=None)
    trace: bytes = field(repr=False, default=b"")
    given: list[Inputs] = field(repr=False, default_factory=list)  # what was recorded, and one sample of it
    # (tensor, dimension) of the inputs that the model was seen to take in other sizes, by the name of the check
    varied: dict[str, list[tuple[int, int]]] = field(repr=False, default_factory=dict)
    # what was recorded or compared in one call each, with the mode: True for train
    calls: list[tuple[Inputs, bool]] = field(repr=False, default_factory=list)

    def add_shapes(self, level: str = "few") -> None:
        """Comments with the shapes that the skeleton's own runs showed: "few", or "all" that are known."""
        from ._shapes import LEVELS, watched, with_shapes
        from ._state import RandomState
        if level not in LEVELS:
            raise ValueError(f"shapes are one of {', '.join(LEVELS)}, not {level!r}")
        if level == "none":
            return
        if not self.calls:
            self.report.remarks.append("no shapes: the calls that were recorded can't be made again")
            return
        random = RandomState()
        try:
            watch = watched(self.source, self.root, self.model.state_dict(), self.calls, self.varied)
            self.source = with_shapes(self.source, watch, level)
        except Exception as error:  # the skeleton is as good without them
            self.report.remarks.append(f"no shapes: {type(error).__name__}: {error}"[:300])
        finally:
            random.restore()

    def add_origins(self, level: str = "line") -> None:
        """Comments that say where each class and function is from: file and line, and the author's first sentence."""
        from ._origins import LEVELS, Origins, with_origins
        if level not in LEVELS:
            raise ValueError(f"origins are one of {', '.join(LEVELS)}, not {level!r}")
        if level != "none":
            self.source = with_origins(self.source, Origins(self.report.synthesis))

    def line_map(self) -> dict[str, Any]:
        """Which lines of `source` are from which lines of the author's files: {"format", "definitions": [{"name",
        "lines", "file", "original", "pairs"}]}. `lines` and `original` are first and last lines of a class or
        function, `pairs` the lines in them that say the same."""
        from ._origins import Origins, line_map
        return line_map(self.source, Origins(self.report.synthesis))

    def prove(self) -> Answer:
        """Compares the ATen calls of both forwards on symbolic sizes; the answer is in the report and in the header."""
        from ._prove import prove
        if self.report.level == "structure":
            raise SkeletonError("a proof asks real runs what only data can answer: there are none on the meta device")
        if not self.given:
            raise SkeletonError("the inputs of the recorded call are not known")
        single = self.given[1] if len(self.given) > 1 else None
        answer = self.report.proof = prove(self.model, self.module(), self.given[0], single, varied=self.varied)
        status = {"proved": "passed", "wrong": "failed"}.get(answer.kind, "skipped")
        self.report.checks.append(Check("proof", status, "; ".join(answer.evidence), silent=status == "failed"))
        self.source = with_contract(with_verdict(self.source, self.report.verdict), self.report, self.root)
        return answer

    def save(self, path: str | os.PathLike[str]) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.source)

    def module(self) -> torch.nn.Module:
        """The skeleton as a live module, in eval mode, with the original's weights."""
        from . import _check
        from ._check import named_modules_of
        path = f"<skeleton {self.root} {id(self):x}>"
        name = f"pellucid_skeleton_{id(self):x}"
        if self.report.level == "structure":
            from ._structure import built
            module = built(self.source, self.root, name, path)[0]
        else:
            module = vars(_check.load_source(self.source, name, path))[self.root]()
        module.load_state_dict(self.model.state_dict(), strict=True)
        try:
            return module.eval()
        except AssertionError:  # an author's train() that is not written: the flags that it left in the original
            if self.model.training:
                raise
            flags = {name: part.training for name, part in named_modules_of(self.model, each=True)}
            for name, part in named_modules_of(module, each=True):
                part.training = flags.get(name, False)
            return module

    def to_dict(self) -> dict[str, Any]:
        return {"root": self.root, "source": self.source, **self.report.to_dict(), **self.tree.to_dict()}

    def _summary(self) -> str:
        return closing_line(self)

    def __str__(self) -> str:
        return self.source


@dataclass
class Call:
    """One call to record or compare. `mode`: "given", or the other one of train and eval. `after`: the inputs of a call
    that comes before it, of models that keep something from one to the next. `draw`: which random numbers it gets.
    `outer`: what the whole model gets, where the call is of a part of it. `traced`: torch.compiler
    says yes to is_compiling() and is_exporting()."""

    label: str
    inputs: Inputs
    grad: bool
    mode: str = "given"
    after: Inputs | None = None
    draw: int = 0
    outer: Inputs | None = None
    traced: bool = False

    @property
    def seed(self) -> int:
        return SEED + self.draw


@dataclass
class Plan:
    """How the next text is written. `work`: with which recording. `as_calls`: functions (file, line) that are written
    as the calls of torch that they made. `guards`: assertions at the top of the root's forward, condition -> message.
    `rounds`: of recording more. `attempts`: that are left with this recording. `warm`: the caches to be emptied before
    each recording after a first call, a tuple for each way that was not tried yet; None: the model as it was given.
    `traced`: whether it was asked if the path of torch.export must be recorded."""

    work: Workshop
    as_calls: list[tuple[str, int]] = field(default_factory=list)
    guards: dict[str, str] = field(default_factory=dict)
    rounds: int = ROUNDS
    attempts: int = ATTEMPTS
    warm: list[tuple[Any, ...]] | None = None
    traced: bool = False

    def begin(self, work: Workshop) -> None:
        self.work, self.as_calls, self.guards, self.rounds, self.attempts = work, [], {}, ROUNDS, ATTEMPTS
        self.traced = False


@dataclass
class Attempt:
    """What came of a plan: a text with the checks that were made of it, or the error that says why there is none."""

    work: Workshop
    source: str = ""
    root: str = ""
    trace: bytes = b""
    checks: list[Check] = field(default_factory=list)
    synthesis: dict[str, Any] = field(default_factory=dict)
    guarded: range = range(0)  # lines that the plan's guards are on
    error: Exception | None = None

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        report = Report(self.checks)
        return self.error is None, report.good, report.complete

    def is_better(self, other: Attempt) -> bool:
        """The later one, where both are as good. Another recording must gain something."""
        if self.work is other.work:
            return self.rank >= other.rank
        mine, others = ((a.rank[:2], -len(_written_as_calls(a.synthesis))) for a in (self, other))
        return mine > others


def skeleton(model: torch.nn.Module, args: Any = (), kwargs: dict[str, Any] | None = None,
             more: Sequence[Any] | None = None, module: str | None = None, leaves: Iterable[type | str] = (),
             strict: bool = True, *, origin: str = "", verify: bool | str = True, progress: Wanted = None,
             verified: bool | str | None = None, prove: bool = False, device: str | None = None,
             shapes: str = "none", origins: str = "none") -> Skeleton:
    """Records `model(*args, **kwargs)` and writes the program that ran.

    Args:
        args: a tuple or list of arguments, or the one argument itself; a dict whose keys `forward` takes holds
            keyword arguments
        more: further inputs to record: tuples of arguments, dicts of keyword arguments, or pairs of both.
            pellucid always adds its own: other data, another batch size and length where the model takes them,
            train mode. `more=[]` alone stops that: only the given call is recorded.
        module: only this part of the model, as "encoder.layer.0"
        leaves: classes to keep as they are, or their names, as "package.module.Class": the skeleton imports them
        strict: raise SkeletonError where the skeleton differs from the model
        verify: compare the skeleton with the model: True makes the bounded set of checks, "full" every one of
            the table, False none; `verified` is the old name
        prove: compare the ATen calls of both forwards on symbolic sizes, too: what holds for all sizes is in
            the header. It takes up to 30 s of CPU, more than the other checks for most models
        device: "meta": of a model too large to run. It is recorded on tensors without values, and compared call by
            call of ATen, not by values; the header says so. `without_weights` builds such a model
        shapes: "few" puts shapes into comments where a reader asks for them (inputs, after reshapes and products,
            results), "all" wherever they are known. A size is a number, or a symbol that was right in every run
        origins: "line" puts a comment above each class and function: the file and line that it is from, and what
            its docstring begins with
        progress: by default one line on a terminal or in a notebook; False for none, or a callable that takes
            each step
    """
    verified = verify if verified is None else renamed("skeleton", "verified", "verify", verified)
    if device not in (None, "meta"):
        raise ValueError(f"device is 'meta' or left out, not {device!r}: a model runs where its parameters are")
    if device and (prove or verified == "full"):
        raise ValueError("on the meta device calls are compared at the sizes that are tried: leave out "
                         f"{'prove' if prove else 'verify=full'}")
    with Progress(progress) as shown:
        made = _skeleton(model, given(model, args, kwargs), more, module, _classes(leaves), origin, verified, shown,
                         device)
        if prove and made.report.good:
            shown("comparing the calls of torch for all sizes")
            made.prove()
        made.add_shapes(shapes)
        made.add_origins(origins)
        shown.close(closing_line(made, verified))
    if strict and verified and not made.report.good:
        raise SkeletonError(_complaint(made.report), made)
    return made


def _classes(leaves: Iterable[type | str]) -> tuple[type, ...]:
    """The classes that are named."""
    from ._specs import class_named
    if isinstance(leaves, (str, type)):
        raise TypeError(f"leaves is a list of classes or of their names, not {leaves!r} alone")
    return tuple(class_named(leaf) if isinstance(leaf, str) else leaf for leaf in leaves)


def closing_line(made: Skeleton, verified: bool | str = True) -> str:
    """What became of it, in one line."""
    text = f"{made.root}: {lines_of(made.source)} lines, "
    if not verified:
        return text + "not compared with the model"
    failed = list(dict.fromkeys(check.name for check in made.report.failures))
    if failed:
        return text + f"NOT equal in {len(failed)} checks: {', '.join(failed[:3])}{', …' * (len(failed) > 3)}"
    passed = sum(check.status == "passed" for check in made.report.checks)
    return text + (f"equal in {passed} checks" if made.report.good else "nothing could be compared")


def _skeleton(model: Any, inputs: Inputs, more: Sequence[Any] | None, module: str | None, leaves: tuple[type, ...],
              origin: str, verified: bool | str, progress: Callable[[str], None], device: str | None) -> Skeleton:
    """The best that could be made, good or not; raises where nothing could."""
    from ._wrappers import unwrapped, with_load_line
    wrapped, prefix = model, unwrapped(model)[1]
    model = _readable(model, inputs, device)
    _refuse_functions(inputs)
    _refuse_unknown_leaves(model, leaves)
    _refuse_other_state(_part(model, module) if module else model, leaves)
    work = _workshop(device)(model, module, leaves, origin, progress)
    work.full, work.compares = verified == "full", bool(verified)
    if verified and not device:
        start_referee()  # it imports torch while the model runs
    with work:
        work.record_given(inputs)
        work.record_more(more, verified)
        try:
            made = work.finish(verified)
        except Exception as error:
            raise error if type(error) is not Error else SkeletonError(str(error)) from None
    if prefix and not module:
        made.source = with_load_line(made.source, prefix, list(wrapped.state_dict()))
    return made


def _written_as_calls(synthesis: dict[str, Any]) -> list[str]:
    """Methods of modules that are written as the calls they made, and with them all modules that they called: what a
    first call sets up (hooks behind a lock) may be all that could not be followed."""
    return [name for kind, name, *_ in synthesis.get("remarks", ()) if kind == "fallback" and "." in name]


def _workshop(device: str | None) -> type[Workshop]:
    if device is None:
        return Workshop
    from ._structure import MetaWorkshop
    return MetaWorkshop


def _readable(model: Any, inputs: Inputs, device: str | None = None) -> torch.nn.Module:
    """The model itself, or what torch's wrappers hold; refuses what has no values, unless that is what was asked for:
    then it has none."""
    import torch

    from . import _inputs
    from ._check import buffers_of, named_buffers_of, named_parameters_of, parameters_of
    from ._wrappers import unwrapped
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"a skeleton is made of a torch.nn.Module, not of {type(model).__name__}")
    model = unwrapped(model)[0]
    if any(torch.nn.parameter.is_lazy(t) for t in (*parameters_of(model), *buffers_of(model))):
        _finish_lazy_modules(model, inputs)
    if device == "meta":
        from ._meta import hollowed
        model = hollowed(model)
    elif any(t.is_meta for t in (*parameters_of(model), *buffers_of(model), *_inputs.tensors(inputs))):
        raise SkeletonError("tensors on the meta device have no values to compare; device=\"meta\" (--device meta) "
                            "compares the calls of ATen alone")
    _refuse_other_processes(model)
    _refuse_subclasses([*named_parameters_of(model), *named_buffers_of(model),
                        *(("an input", t) for t in _inputs.tensors(inputs))])
    return model


def _refuse_subclasses(named: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Tensors of another class than torch's plain ones: what their operators do is said by the class, and no skeleton
    has it. So it is with those of torch's own that stand for others: parts of a tensor that other processes have,
    packed weights."""
    import torch

    from ._library import place_of
    parameter = torch.nn.parameter
    plain = {torch.Tensor, torch.nn.Parameter, parameter.Buffer, parameter.UninitializedParameter,
             parameter.UninitializedBuffer}
    for name, tensor in named:
        kind = type(tensor)
        if kind in plain or (kind.__module__.split(".")[0] == "torch" and tensor.is_nested):
            continue
        raise SkeletonError(f"{place_of(kind)}: {name} is a {kind.__qualname__}, a subclass of torch.Tensor, "
                            "whose operators can't be followed; give the model plain tensors "
                            "(t.as_subclass(torch.Tensor), or dequantised ones)")


def _refuse_other_processes(model: torch.nn.Module) -> None:
    from ._wrappers import advice, parts_of_many
    for name, part, held in parts_of_many(model):
        kind = type(part)
        raise SkeletonError(f"{name or 'the model'} is a {kind.__module__}.{kind.__qualname__}, which works with other "
                            f"processes ({held}); {advice(part)}")


def _refuse_functions(inputs: Inputs) -> None:
    """A function of the author's that callers give: another one would do something else, and it has no literal that an
    assertion could ask for."""
    import functools
    import types

    import torch

    from ._library import name_of

    def look(value: Any, place: str, depth: int) -> None:
        if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)) and name_of(value) is None:
            raise SkeletonError(f"{place} is a function that the caller gives, and a skeleton would keep this one "
                                "alone; give the model the function when it is built")
        if isinstance(value, torch.nn.Module):
            raise SkeletonError(f"{place} is a module that the caller gives ({type(value).__qualname__}), and a "
                                "skeleton has no other's parts; make the skeleton of a module that holds both")
        items = (value.items() if isinstance(value, dict)
                 else enumerate(value) if isinstance(value, (list, tuple)) else ())
        for key, item in items if depth < 8 else ():
            look(item, f"{place}[{key!r}]", depth + 1)

    for number, value in enumerate(inputs[0], 1):
        look(value, f"argument {number}", 0)
    for key, value in inputs[1].items():
        look(value, f"argument {key}", 0)


def _refuse_other_state(model: torch.nn.Module, leaves: tuple[type, ...]) -> None:
    """A skeleton's state_dict has its parameters and buffers. What has something else in it could not be loaded in the
    end: extra state, keys that hooks or an own state_dict() change, weights that are packed."""
    from ._check import modules_of, named_buffers_of, named_modules_of, named_parameters_of
    if any(isinstance(part, leaves) for part in modules_of(model)):
        return  # kept as they are, with what they keep
    plain: set[str] = set()
    for name, part in named_modules_of(model, each=True):
        fleeting: set[str] = getattr(part, "_non_persistent_buffers_set", set())
        own = {key for key, _ in (*named_parameters_of(part, below=False, each=True),
                                  *named_buffers_of(part, below=False, each=True)) if key not in fleeting}
        plain |= {f"{name}.{key}" if name else key for key in own}
    try:
        found = set(model.state_dict())
    except Exception as error:
        raise SkeletonError(f"the model's state_dict() raises {type(error).__name__}: {error}") from None
    for key in sorted(found - plain):
        path, _, last = key.rpartition(".")
        owner = _owner(model, path)
        kind = f"{type(owner).__module__}.{type(owner).__qualname__}"
        why = ("has extra state (get_extra_state)" if last == "_extra_state"
               else "keeps packed quantised weights (make the skeleton before they are quantised)"
               if kind.startswith("torch.ao.") or "packed" in key
               else "puts something else into its state_dict (by a hook or a state_dict() of its own)")
        raise SkeletonError(f"{key}: {kind} {why}: a skeleton has parameters and buffers alone")
    if missing := sorted(plain - found):
        raise SkeletonError(f"{missing[0]} is not in the model's state_dict: a hook, or a state_dict() of its own, "
                            "leaves it out")


def _owner(model: torch.nn.Module, path: str) -> torch.nn.Module:
    """The module that a key of the state_dict belongs to, as far as there is one."""
    while path:
        try:
            return model.get_submodule(path)
        except AttributeError:
            path = path.rpartition(".")[0]
    return model


def _refuse_unknown_leaves(model: torch.nn.Module, leaves: tuple[type, ...]) -> None:
    """A leaf is imported and built again: with which arguments, must be known."""
    from . import _leaves
    from ._check import modules_of, named_modules_of
    inside: set[torch.nn.Module] = set()  # of leaves: these are built by them
    for name, part in named_modules_of(model) if leaves else ():
        if not isinstance(part, leaves) or part in inside:
            continue
        inside.update(modules_of(part))
        if _leaves.arguments(part, leaves) is None:
            kind = type(part)
            raise SkeletonError(f"{name or 'the model'} can't be kept as it is: no arguments were found that build "
                                f"{kind.__module__}.{kind.__qualname__} as this one is")


def _finish_lazy_modules(model: torch.nn.Module, inputs: Inputs) -> None:
    """Lazy modules get their parameters in the first call of the model: this is it."""
    import torch

    from . import _inputs
    from ._check import named_parameters_of
    from ._state import RandomState
    random = RandomState()
    args, kwargs = _inputs.copied(inputs)
    with torch.no_grad():
        model(*args, **kwargs)
    random.restore()
    lazy = [name for name, t in named_parameters_of(model) if torch.nn.parameter.is_lazy(t)]
    if lazy:
        raise SkeletonError(f"{lazy[0]} has no shape yet: it belongs to a lazy module that this call does not reach")


def _complaint(report: Report) -> str:
    bad = sorted(report.failures, key=lambda c: not c.forbids)
    return "the skeleton differs from the model: " + (str(bad[0]) if bad else "nothing could be compared")


def _part(model: torch.nn.Module, path: str) -> torch.nn.Module:
    from ._check import named_modules_of
    try:
        return model.get_submodule(path)
    except AttributeError:
        import difflib
        near = difflib.get_close_matches(path, [name for name, _ in named_modules_of(model)], 1)
        raise SkeletonError(f"the model has no module {path!r}" + (f"; did you mean {near[0]!r}?" if near else "")
                            ) from None


_numbers_by_name = False


@contextlib.contextmanager
def numbers_by_name() -> Iterator[None]:
    """Skeletons that are made here name every number that the author keeps in a module: texts of several sizes are
    compared, and a name must not depend on how large its number is."""
    global _numbers_by_name
    before, _numbers_by_name = _numbers_by_name, True
    try:
        yield
    finally:
        _numbers_by_name = before


class Workshop:
    """One skeleton in the making. On exit the model, its inputs and the generators are as they were."""

    level = ""  # of verification, where it is of another kind

    def __init__(self, model: torch.nn.Module, path: str | None, leaves: tuple[type, ...], origin: str,
                 progress: Callable[[str], None]):
        self.whole = model
        self.path = path
        self.model = _part(model, path) if path else model
        self.leaves, self.origin, self.progress = leaves, origin, progress
        self.report = Report()
        self.sequences: list[list[dict[str, Any]]] = []
        self.recorded: list[Call] = []
        self.recorded_result: Any = None  # of the given call, in plain form
        self.unrecorded: dict[str, Call] = {}
        self.keeps_something = False  # the model, from call to call
        self.drew = False  # random numbers, in some call
        self.full = False  # every check of the table is made, not only the bounded set
        self.compares = True  # runs are made for the referee, too, not for the recording alone
        self.records = True  # calls are watched; not where a text is only compared
        self.may_record = True  # further calls than those that the caller gave
        self.changes: dict[str, tuple[Any, Call]] = {}  # name of a check -> what the caller gives otherwise in it
        self.grid: int | None = None  # pixels of a step between sizes of pictures
        self.no_meta: list[Check] = []  # why devices can't be compared, if so
        self.single: Call | None = None  # one sample, if the model takes that
        self.other_size: Call | None = None  # another length or size of pictures, if the model takes one
        self.little: Call | None = None  # the same, if that costs a small part of the given call
        self.unnoticed = False  # the recorder, by the model: the given call gives the same with it and without
        self.class_facts: list[str] | None = None  # what synthesise() gets to know of classes; None: not asked
        self.caches: tuple[Any, ...] = ()  # emptied before each recording, so that what they keep is computed again
        self.given: Inputs = ((), {})  # what the whole model gets
        self.makes_calls = False  # of the model itself; not where a program made them
        self.more: Sequence[Any] | None = None  # what the caller wants recorded, too
        self.cold: Workshop | None = None  # that of the model as it was given, where this one is after a first call

    def __enter__(self) -> Workshop:
        import torch

        from ._stand_ins import NoPython, StandIns
        from ._state import ModelState, RandomState, compiled_as_written
        self.random, self.state = RandomState(), ModelState(self.whole)
        try:
            self.stand_ins = StandIns(self.model)
        except NoPython as error:
            raise SkeletonError(f"{error}; make the skeleton of what was compiled "
                                "(of a file, `pellucid tree FILE` shows the modules)") from None
        self.grad = torch.is_grad_enabled()
        self.takes_grad = True
        self.with_events = self.slow = False
        # functions that are written as the calls they made; None: not asked
        self.shortcuts: list[tuple[str, int]] | None = None
        with contextlib.ExitStack() as undo:  # in reverse order
            undo.callback(self.random.restore)
            undo.callback(self.state.restore)
            self.stance = undo.enter_context(contextlib.ExitStack())
            self.stance.enter_context(compiled_as_written(self.whole))
            self.recorder = self._new_recorder()
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def _new_recorder(self, events: bool = False) -> Any:
        from ._pellucid import Recorder
        with self.stand_ins.installed():
            return Recorder(self.stand_ins.model, leaves=self.leaves, origin=self.origin, events=events)

    def ready(self, inputs: Inputs) -> Inputs:
        """What a call is given: a copy, for it may change it."""
        from . import _inputs
        return _inputs.copied(inputs)

    def verified(self, source: str, root: str, packages: Iterable[str]) -> list[Check]:
        return verify(self.model, source, root, self.sequences, packages)

    def _time(self, name: str, start: float) -> None:
        self.report.seconds[name] = self.report.seconds.get(name, 0.0) + time.perf_counter() - start

    # ---- running ----

    def _enter_mode(self, mode: str) -> None:
        training = self.whole.training == (mode == "given")
        self.state.before_run(training)  # before train(): an author's may merge weights
        if mode != "given":
            self.whole.train(training)

    def _record(self, call: Call) -> None:
        """Records a call that the original is known to take, with the generators at the seed."""
        import torch

        from . import _check, _inputs
        from ._state import RandomState
        start = time.perf_counter()
        self.state.settle()
        self._enter_mode(call.mode)
        args, kwargs = self.ready(call.inputs)
        for cache in self.caches:
            cache.cache_clear()
        if not self.records and self.recorded_result is not None:
            self.recorded.append(call)
            return
        with torch.set_grad_enabled(call.grad), self.stand_ins.installed(), _check.as_traced(call.traced):
            if call.after:
                self._call(self.stand_ins.model, call.after)
            _check.seed_all(call.seed)
            before = RandomState()
            if self.records:
                result = self.recorder.run(call.label, args, kwargs)
            else:
                result = self.stand_ins.model(*args, **kwargs)
            self.drew |= before.moved()
        self.recorded.append(call)
        plain = _check.detached(_check.plain_form(result)) if call is self.recorded[0] else None
        if self.recorded_result is None:
            _refuse_subclasses(("a result", t) for t in _check.tensors_of(_check.plain_form(result)))
            self.keeps_something = self.state.touched()
            self.recorded_result = plain
        elif plain is not None and (found := _check.difference(self.recorded_result, plain)):
            raise Error(f"recorded a second time, the model gives something else: {found}; what calls leave in "
                        "variables of files and closures can't be put back")
        self.state.restore()
        self._time("record", start)

    def _record_played(self, call: Call, name: str, **what: Any) -> None:
        """One run of the original that is recorded, and is what the skeleton is compared with: the recorder is not
        noticed. Two runs where compiled parts have stand-ins, or where that is not known. A call that the original does
        not take raises, and is in no log."""
        if self.compares and (not self.unnoticed or not self.records or self.stand_ins.any or self.caches):
            self.add([self._play(call, name, **what)])
            self._record(call)
            return
        try:
            if not self.compares:
                self._record(call)
                return

            def recorded(*args: Any, **kwargs: Any) -> Any:
                with self.stand_ins.installed():
                    return self.recorder.run(call.label, args, kwargs)

            row = self._play(call, name, forward=recorded, **what)
        except Exception:
            self._record_again(events=self.with_events)  # without the part of the run that there was
            raise
        self.drew |= bool(row["generators"])
        self.recorded.append(call)
        self.add([row])

    @property
    def small(self) -> Call:
        """The cheapest call that the original is known to take, in the given mode."""
        return self.single or self.little or Call("given", self.recorded[0].inputs, False)

    @property
    def base(self) -> Inputs:
        """What the whole model gets in runs that need not be of the given size."""
        return self.little.outer if self.little is not None and self.little.outer is not None else self.given

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Comparisons for the referee: calls in a row, of a module that none was made of before."""
        self.sequences.append(rows)

    @contextlib.contextmanager
    def run_of(self, call: Call, parameters: bool = False) -> Iterator[dict[str, bool] | None]:
        """The model in the mode of the call, from the state that it was given in, and put back afterwards. Gives the
        flags from which the mode was entered by a method, if it was. parameters: the run may change them."""
        start = time.perf_counter()
        self.state.settle()
        flags: dict[str, bool] | None = modes_of(self.model)
        if parameters:
            self.state.before_run(True)
        try:
            if call.mode != "given" and self.path and not self._enters_alone(call.mode):
                flags = None
            self._enter_mode(call.mode)
            yield flags if call.mode != "given" else None
        finally:
            self.state.restore()
            self._time("original", start)

    def _enters_alone(self, mode: str) -> bool:
        """Whether train() and eval() of the part do to it what those of the whole model do."""
        self._enter_mode(mode)
        whole = modes_of(self.model)
        self.state.restore()
        self.model.train(whole[""])
        alone = modes_of(self.model)
        self.state.restore()
        return whole == alone

    def played(self, call: Call, name: str, **what: Any) -> dict[str, Any]:
        """The call made on the original as it is now."""
        from . import _check, _inputs
        args, kwargs = _inputs.copied(call.inputs)
        if what.get("buffers"):
            what["before"] = self.state.kept_parameters(self.model)
        if call.traced:
            what["traced"] = True
        with _check.as_traced(call.traced):
            if what.get("events"):  # compiled code tells none
                with self.stand_ins.installed():
                    return play_original(self.stand_ins.model, name, args, kwargs, grad=call.grad, **what)[0]
            return play_original(self.model, name, args, kwargs, grad=call.grad, seed=call.seed, **what)[0]

    def _play(self, call: Call, name: str, **what: Any) -> dict[str, Any]:
        with self.run_of(call) as start:
            return self.played(call, name, **({"start": start} if start else {}), **what)

    def _inner(self, inputs: Inputs, mode: str, grad: bool) -> Inputs:
        """The inputs that reach the wanted part of the model when the whole gets these."""
        import torch

        from . import _check, _inputs
        if not self.path:
            return inputs
        caught: list[Inputs] = []

        def catch(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not caught:
                caught.append(_inputs.copied((args, kwargs)))

        self.state.restore()
        self._enter_mode(mode)
        handle = self.model.register_forward_pre_hook(catch, with_kwargs=True)
        try:
            args, kwargs = self.ready(inputs)
            _check.seed_all(SEED)
            with torch.set_grad_enabled(grad):
                self.whole(*args, **kwargs)
        finally:
            handle.remove()
            self.state.restore()
        if not caught:
            raise SkeletonError(f"{self.path} did not run in this call of the model")
        return caught[0]

    def _first_taken(self, candidates: Iterator[Inputs], name: str, label: str, grad: bool,
                     mode: str = "given", **what: Any) -> Call | None:
        """The first of the candidates that the original itself takes; its comparison is added."""
        play = self._play_with_gradients if what.get("buffers") else self._play
        for inputs in candidates:
            try:
                with contextlib.redirect_stderr(io.StringIO()):  # some models print what they raise
                    call = Call(label, self._inner(inputs, mode, grad), grad, mode, outer=inputs)
                    row = play(call, name, **what)
                    if row.get("raises"):
                        continue
                    self.add([row])
            except Exception:  # whatever the model raises on inputs of our making is no concern of its user's
                continue
            return call
        return None

    # ---- the plan ----

    def record_given(self, inputs: Inputs) -> None:
        """The first run: on the model as it was given, before anything could fill a cache."""
        from . import _check, _inputs
        self.given, self.makes_calls = inputs, True
        self.progress("recording")
        given = self._record_first()
        self.progress("running the original")
        if not self.compares:
            self._find_grid()
            return
        start = time.perf_counter()
        with _inputs.Grid(self.model) as grid:
            self.add([self._play(Call("given", given.inputs, False), "recorded", buffers=True)])
        self.grid = grid.step(given.inputs)
        self._note_slow(time.perf_counter() - start)
        # The recorder must not be noticed by the model.
        found = _check.difference(self.sequences[0][0]["result"], self.recorded_result)
        if found and self.grad:  # gradients may lead to other kernels
            found = _check.difference(self._play(Call("given", given.inputs, True), "unwatched")["result"],
                                      self.recorded_result)
        if found:
            self.report.checks.append(Check("recording", "failed", f"watched, the model gives something else: {found}"))
        self.unnoticed = not found

    def _note_slow(self, seconds: float) -> None:
        self.slow = seconds > SLOW
        if self.slow:
            self.report.remarks.append("the model is slow: one comparison of each kind is made, not several")

    def _find_grid(self) -> None:
        """Where no call is compared: from a small picture, if everything divides that, else from the given call."""
        from . import _inputs
        self._note_slow(self.report.seconds["record"])
        call, step = None, None
        small = next(_inputs.other_length(self.given, 1, grid=_inputs.IMAGE_STEP), None)
        if small is not None and self._is_little(small):
            with _inputs.Grid(self.model) as grid:
                call = self._first_taken(iter([small]), "other length 1", "other length", self.grad)
            step = grid.exact_step(call.inputs) if call is not None else None
        if step is None:
            with _inputs.Grid(self.model) as grid:
                self._play(Call("given", self.recorded[0].inputs, False), "recorded")
            step = grid.step(self.recorded[0].inputs)
        elif step == _inputs.IMAGE_STEP:
            self.other_size = call
        self.grid = step

    def _is_little(self, inputs: Inputs) -> bool:
        from . import _inputs
        return _inputs.count(inputs) <= _inputs.SMALL_PART * _inputs.count(self.given)

    def _compare_given(self) -> None:
        """The calls of torch and the gradients of the given call; at another size, where that costs little."""
        from . import _inputs
        little = self.little or Call("given", self.recorded[0].inputs, False)
        if not self.slow and self.compares:
            with contextlib.suppress(Exception):  # some of torch's calls refuse to be watched
                self.add([self._play(Call("given", little.inputs, False), "events", events=True)])
        if self.takes_grad and (self.compares or not self.grad):
            try:
                self.add([self._play_with_gradients(Call("given", little.inputs, True), "gradients enabled")])
            except Exception:  # a remark tells why
                self.takes_grad = False

    def _record_first(self) -> Call:
        """Without gradients where the model does not run with them: it may use kernels that have no backward."""
        try:
            given = Call("given", self._inner(self.given, "given", self.grad), self.grad)
            self._record(given)
        except Exception as error:
            if not self.grad:
                raise
            self.grad = self.takes_grad = False
            self.recorder = self._new_recorder()
            try:
                return self._record_first()
            except Exception:
                raise error from None
            finally:
                self.report.remarks.append(f"the model does not run with gradients: {error}"[:300])
        return given

    def _play_with_gradients(self, call: Call, name: str, **what: Any) -> dict[str, Any]:
        row = self._play(call, name, gradients=self.compares, **what)
        if error := row.get("no gradients"):
            self.report.remarks.append(f"{name}: the original itself can't be differentiated: {error}"[:300])
        return row

    def record_more(self, more: Sequence[Any] | None, verified: bool | str = True) -> None:
        from . import _attacks
        self.more = more
        for number, item in enumerate(more or (), 1):
            name = f"more {number}"
            asked = item if isinstance(item, Call) else Call(name, as_inputs(item), self.grad)
            call = Call(name, self._inner(asked.inputs, asked.mode, asked.grad), asked.grad, asked.mode)
            self.add([self._play(call, name)])
            self._record(call)
        if more is not None and not more:
            self.may_record = False
            self._compare_given()
            if verified:
                self._compare_others()
                _attacks.vary_given(self, self.full)
                if not self.slow:
                    _attacks.call_again(self, even_if_kept=True)
            return
        self.progress("other data, other sizes, train mode")
        self._find_other_size()
        self._compare_given()
        if self.keeps_something and not self.slow:
            self._record_next_call()
        self._record_data()
        self._record_sizes()
        self._record_other_mode()
        self._keep_other_draws()
        if verified:
            self.progress("other values, weights, types")
            _attacks.attack(self, self.full)

    def _compare_others(self) -> None:
        """Where the caller chose what is recorded, other data and sizes are compared: the skeleton gives the same as
        the original, or its assertions say that this was not recorded."""
        from . import _inputs
        for name, candidates in (("other data", _inputs.other_data(self.given, 1)),
                                 ("other batch", _inputs.other_batch(self.given, 1)),
                                 ("other length", self._other_length(1))):
            phrase = rule_of(name).phrase
            if self._first_taken(candidates, f"{name} 1", name, self.grad, changed=True, what=phrase) is None:
                self.report.checks.append(Check(name, "skipped", "the model takes no other"))
        name = "eval" if self.whole.training else "train"
        if self._first_taken(iter([self.given]), name, name, self.takes_grad, "other", changed=True, buffers=True,
                             what=rule_of(name).phrase) is None:
            self.report.checks.append(Check(name, "skipped", "the original raises"))

    def _record_next_call(self) -> None:
        """A second call in a row: what the first has left in the model may lead it another way."""
        from . import _inputs
        given = self.recorded[0]
        for inputs in (*_inputs.other_data(given.inputs, 4), given.inputs):
            self.state.restore()
            self._enter_mode("given")
            try:
                calls = [play_original(self.model, name, *_inputs.copied(each), grad=given.grad)[0]
                         for name, each in (("called", given.inputs), ("called again", inputs))]
            except Exception:  # inputs of our making
                continue
            self.sequences.append(calls)
            self._record(Call("called again", inputs, given.grad, after=given.inputs))
            return

    def _find_other_size(self) -> None:
        """Another length or size of pictures. Where it is small, runs that need not be of the given size have it."""
        if self.other_size is None:
            self.other_size = self._first_taken(self._other_length(1), "other length 1", "other length", self.grad)
        if self.other_size is not None and self._is_little(self.other_size.outer or self.other_size.inputs):
            self.little = self.other_size

    def _record_taken(self, candidates: Iterator[Inputs], name: str, label: str, grad: bool) -> Call | None:
        """The first of the candidates that the original takes, recorded; its comparison is added."""
        for inputs in candidates:
            with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
                call = Call(label, self._inner(inputs, "given", grad), grad, outer=inputs)
                self._record_played(call, name)
                return call
        return None

    def _record_data(self) -> None:
        from . import _inputs
        # Recorded without gradients where the given call had them, so that both modes are lanes.
        self._record_taken(_inputs.other_data(self.base, 1), "other data 1", "other data",
                           self.takes_grad and not self.grad)
        if not self.slow:
            self._record_taken(_inputs.other_data(self.base, 2, far=True), "other data 2", "far data", self.grad)
        self._keep_unrecorded(_inputs.other_data(self.given, 3), "other data 3")

    def _other_length(self, step: int) -> Iterator[Inputs]:
        from . import _inputs
        return _inputs.other_length(self.given, step, grid=self.grid)

    def _record_sizes(self) -> None:
        from . import _inputs
        found = self._record_taken(_inputs.other_batch(self.base, 1), "other batch 1", "other batch", self.grad)
        if found is not None:
            self._keep_unrecorded(_inputs.other_batch(self.base, 3), "other batch 2")
        if self.other_size is not None:
            self._record(self.other_size)
            self._keep_unrecorded(self._other_length(3), "other length 2")
        for name, call in (("other batch", found), ("other length", self.other_size)):
            if call is None:
                self.report.checks.append(Check(name, "skipped", "the model takes no other"))
        if self.slow:
            return
        call = self._record_taken(_inputs.one_sample(self.base), "other batch 3", "one sample", self.grad)
        if call is not None:
            self.single = Call("one sample", call.inputs, False)

    def _keep_unrecorded(self, candidates: Iterator[Inputs], name: str, mode: str = "given") -> None:
        """Compared but not recorded: the evidence that what was recorded is general. Recorded after all if refused. In
        the other mode with gradients, too: mode, gradients and size are compared together."""
        if self.slow or not self.compares:
            return
        if mode == "given":
            call = self._first_taken(candidates, name, name, False, mode)
        else:
            call = self._first_taken(candidates, name, name, self.takes_grad, mode, buffers=True)
        if call is not None:
            self.unrecorded[name] = call

    def _record_other_mode(self) -> None:
        """At the given size without its gradients, if these can be compared at a small one."""
        from . import _inputs
        name = "eval" if self.whole.training else "train"
        has_gradients = self.little is None
        try:
            call = Call(name, self._inner(self.given, "other", True), True, "other")
            self._record_played(call, name, buffers=True, gradients=self.compares and has_gradients)
        except Exception as error:
            self.report.checks.append(Check(name, "skipped", f"the original raises: {type(error).__name__}"))
            return
        if self.compares and (why := self.sequences[-1][0].get("no gradients")):
            self.report.remarks.append(f"{name}: the original itself can't be differentiated: {why}"[:300])
        before = len(self.sequences)
        self._keep_unrecorded(_inputs.other_batch(self.base, 1), f"{name}: other batch", "other")
        self._keep_unrecorded(self._other_length(1), f"{name}: other length", "other")
        if self.compares and not has_gradients and all(r[0]["gradients"] is None for r in self.sequences[before:]):
            self.sequences[before - 1] = [self._play_with_gradients(call, name, buffers=True)]

    def _keep_other_draws(self) -> None:
        """In train mode chance may lead the model another way: layers that are left out, noise that is added or not."""
        if self.slow or not self.drew or not self.compares:
            return
        mode = "given" if self.whole.training else "other"
        end = time.perf_counter() + DRAWING
        for draw in range(1, DRAWS + 1):
            if time.perf_counter() > end:
                return
            name = f"other draw {draw}"
            with contextlib.suppress(Exception):
                call = Call(name, self._inner(self.base, mode, False), False, mode, draw=draw)
                self.sequences.append([self._play(call, name)])
                self.unrecorded[name] = call

    def _call(self, model: torch.nn.Module, inputs: Inputs) -> None:
        args, kwargs = self.ready(inputs)
        model(*args, **kwargs)

    def _caches_of_data(self) -> tuple[Any, ...]:
        """Those that don't know the answer for another batch or length: what they keep depends on the inputs."""
        from . import _inputs
        caches = self.recorder.caches()
        known = [cache.cache_info().misses for cache in caches]
        for candidates in (_inputs.other_batch(self.given, 2), self._other_length(2)):
            for inputs in candidates:
                try:
                    self._call(self.whole, inputs)
                    break
                except Exception:
                    continue
        return tuple(cache for cache, misses in zip(caches, known) if cache.cache_info().misses != misses)

    # ---- the result ----

    def finish(self, verified: bool | str) -> Skeleton:
        """plan -> attempt -> verdict -> rule -> next plan, until no rule knows better; the best attempt counts."""
        plan = Plan(self)
        best = Attempt(self, error=Error("nothing was tried"))
        with contextlib.ExitStack() as self.open:  # recordings after a first call
            while True:
                attempt = plan.work._attempt(plan, verified)
                plan.attempts -= 1
                best = attempt if attempt.is_better(best) else best
                if plan.attempts < 0:
                    self.report.remarks.append(f"given up after {ATTEMPTS + 1} attempts")
                is_enough = plan.attempts < 0 or (not verified and attempt.error is None)
                reason = _next_plan(plan, attempt, best, RULES_OF_RETREAT[-1:] if is_enough else RULES_OF_RETREAT)
                if reason is None:
                    break
                self.report.retreats.append(reason)
        if best.error is not None:
            raise best.error
        return best.work._made(best, verified, self.report.retreats)

    def _made(self, best: Attempt, verified: bool | str, retreats: list[str]) -> Skeleton:
        self.report.checks, self.report.synthesis = best.checks, best.synthesis
        self.report.runs = [row["about"] for rows in self.sequences for row in rows if verified and "about" in row]
        self.report.level = self.level or ("full" if self.full else "default")
        self.report.retreats = retreats
        source = with_verdict(best.source, self.report.verdict)
        source = with_contract(source, self.report, best.root) if verified else source
        made = Skeleton(source, best.root, self._tree(source), self.report, self.model, best.trace)
        made.given = [call.inputs for call in (*self.recorded[:1], *([self.single] if self.single else []))]
        made.calls = [(call.inputs, self.model.training == (call.mode == "given"))
                      for call in (*self.recorded, *self.unrecorded.values())
                      if not call.after and not call.draw and not call.traced and call.label not in self.changes]
        made.varied = {label: self._varied(label) for label in ("other batch", "other length")}
        return made

    def _varied(self, label: str) -> list[tuple[int, int]]:
        """The dimensions of the given tensors that have another size in the recorded call of that label. Another batch
        is one of the small size, if there is one."""
        from . import _inputs
        if not self.recorded:  # calls that a program made
            return []
        given = self.little if label == "other batch" and self.little is not None else self.recorded[0]
        call = next((call for call in self.recorded if call.label == label), given)
        pairs = zip(_inputs.tensors(given.inputs), _inputs.tensors(call.inputs))
        return [(number, i) for number, (one, other) in enumerate(pairs)
                for i, (a, b) in enumerate(zip(one.shape, other.shape)) if a != b]

    def _attempt(self, plan: Plan, verified: bool | str) -> Attempt:
        self.progress("writing")
        start = time.perf_counter()
        before = self.report.checks
        try:
            source, root, trace = self._synthesise(plan.as_calls)
        except Exception as error:
            return Attempt(self, error=error)
        finally:
            self._time("synthesise", start)
        guarded = range(0)
        if plan.guards and (changed := with_guards(source, root, plan.guards)):
            source, first = changed
            guarded = range(first, first + len(plan.guards))
        checks = before
        if verified:
            self.progress("verifying")
            start = time.perf_counter()
            self.state.restore()
            devices = self._devices(source)
            checks = self.verified(source, root, self._packages) + before + devices
            if self.cold is not None and Report(checks).good:
                checks.append(self.cold._as_given(source, root))
            self._time("verify", start)
        return Attempt(self, source, root, trace, checks, self.report.synthesis, guarded)

    @property
    def _packages(self) -> set[str]:
        return {c.__module__.partition(".")[0] for c in self.leaves}

    def _as_given(self, source: str, root: str) -> Check:
        """What was recorded after a first call must be the model as it was given, too: with the counters, caches and
        flags that it had then."""
        self.state.restore()
        checks = self.verified(source, root, self._packages)
        found = next((c for c in checks if c.forbids), None)
        return Check("first call", "failed" if found else "passed", str(found) if found else "", silent=bool(found))

    def _devices(self, source: str) -> list[Check]:
        """A text that names a device is run on the meta device; why not, if that can't be compared."""
        from . import _attacks
        try:
            why = names_device(source)
        except SyntaxError:
            return []  # the referee's to say
        if why and not any(row["name"] == "device" for rows in self.sequences for row in rows) and not self.no_meta:
            self.no_meta = [found] if (found := _attacks.on_another_device(self, why)) else []
        return self.no_meta if why else []

    # ---- rules: each changes the plan and says why, or says nothing ----

    def _record_warm(self, plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
        """The same after a first call: models and libraries set things up then that later calls only find there, such
        as hooks and registries. What caches keep of inputs is computed again in each recording; if that does not do,
        what any of them keeps: functions that ran when the model was built are seen running."""
        cold = self.cold or self
        last = best if self.cold is None else attempt
        as_calls = self.cold is None and bool(_written_as_calls(best.synthesis)) and not self.slow
        if not cold.makes_calls or (last.error is None and (last.rank[1] or not cold.compares) and not as_calls):
            return None
        if plan.warm is None:
            cold.progress("again, after a first call")
            try:
                cold._call(cold.whole, cold.given)
                kept = cold.state.left_number()  # it may be a size of the first call's inputs
                caches = () if kept else (cold._caches_of_data(), cold.recorder.caches())
                plan.warm = list(dict.fromkeys(caches))
            except Exception:
                plan.warm = []
        reason = _reason(attempt) if last.error is not None or not last.rank[1] else "functions are written as calls"
        while plan.warm:
            warm = cold._warmed(plan.warm.pop(0))
            if warm is not None:
                plan.begin(warm)
                return f"recorded after a first call: {reason}"
        cold.state.restore()
        return None

    def _warmed(self, caches: tuple[Any, ...]) -> Workshop | None:
        """Another recording, of the model after a first call; None if it gives something else then."""
        from . import _check
        warm = type(self)(self.whole, self.path, self.leaves, self.origin, self.progress)
        warm.caches, warm.cold, warm.full, warm.compares = caches, self, self.full, self.compares
        self.open.close()  # another one, which did not do
        try:
            self.open.enter_context(warm)
            warm.record_given(self.given)
            warm.record_more(self.more, "full" if self.full else self.compares)
        except Exception:
            return None
        warm.report.remarks.append("recorded after a first call: what the model sets up then is in place")
        return None if _check.difference(self.recorded_result, warm.recorded_result) else warm

    def _forget_next_call(self, plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
        """What a second call does may be beyond us; then it is said to be not equal, and the rest is as without it."""
        kept = [call for call in self.recorded if not call.after]
        if attempt.rank[1] or best.rank[1] or len(kept) == len(self.recorded):
            return None
        self.recorded = kept
        self._record_again(events=self.with_events)
        plan.begin(self)
        return f"a second call is not recorded: {_reason(attempt)}"

    def _record_traced(self, plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
        """torch.export takes the original and not the skeleton, for the original asks who runs it: both answers are
        recorded. A text that nothing speaks against stays the better one."""
        from . import _traced
        if plan.traced or not attempt.rank[1] or not self.may_record or not self.makes_calls or self.slow or self.level:
            return None
        plan.traced = True
        if not _traced.is_missed(self, attempt):
            return None
        taken = _traced.compare(self)
        for call in taken:
            self._record(call)
        return "recorded as torch.export runs it: it can't follow what callers run" if taken else None

    def _forget_traced(self, plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
        from . import _traced
        if attempt.rank[1] or not best.rank[1] or not any(call.traced for call in self.recorded):
            return None
        _traced.forget(self)
        self.report.remarks.append(f"torch.export takes the model and not this file: {_reason(attempt)}"[:300])
        return f"not recorded as torch.export runs it: {_reason(attempt)}"

    def _record_missing(self, plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
        """Records the calls that came by a path which no recorded run took, and those of other sizes for which what
        straight lines have by example did not hold. Another length takes their place as evidence. A value that the
        caller gives and that was taken for a constant is recorded with another value."""
        by_example = ("other length 2", "train: other batch", "train: other length", "eval: other batch",
                      "eval: other length")
        missing = [c for c in attempt.checks if c.name in self.unrecorded and (
            (c.status == "refused" and c.line not in attempt.guarded)
            or (self.with_events and c.status == "failed" and c.name in by_example))]
        missing += [c for c in attempt.checks if c.bad and c.silent and c.name in self.changes and self.may_record
                    and c.name not in {call.label for call in self.recorded}]
        if not missing or not plan.rounds:
            return None
        plan.rounds -= 1
        for check in missing:
            if check.name in self.changes:
                self._record(self.changes[check.name][1])
                continue
            self._record(self.unrecorded.pop(check.name))
            if check.name == "other length 2":
                self._keep_unrecorded(self._other_length(5), "other length 3")
        return "recorded too: " + "; ".join(map(str, missing))

    def _drop_shortcuts(self, plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
        if attempt.error is not None or not self.shortcuts or attempt.rank[1]:
            return None
        self.shortcuts = []
        return f"no function is shortened to its calls: {_reason(attempt)}"

    def _write_as_calls(self, plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
        """The author's function whose text raised in the referee is written as the calls of torch that it made."""
        import ast
        if attempt.error is not None or attempt.rank[1] or len(plan.as_calls) == RETREATS:
            return None
        line = next((c.line for c in attempt.checks if c.bad and c.line is not None), None)
        name = _function_at(ast.parse(attempt.source).body, line) if line is not None else None
        place = attempt.synthesis["origins"].get(name)
        if place is None or place in plan.as_calls:
            return None
        plan.as_calls.append(place)
        return f"{name} ({place[0]}:{place[1]}) is written as its calls: {_reason(attempt)}"

    def _assert_it(self, plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
        """What is still wrong is asserted at the top of the root's forward, if all of it can be."""
        guards, left = self._guards_for(attempt)
        new = {condition: text for condition, text in guards.items() if condition not in plan.guards}
        if left or not new or with_guards(attempt.source, attempt.root, new) is None:
            return None
        plan.guards.update(new)
        return "asserted in the root's forward: " + "; ".join(new)

    def _guards_for(self, attempt: Attempt) -> tuple[dict[str, str], bool]:
        """Conditions under which what is wrong can't happen; whether something is left that has none."""
        from . import _values
        guards: dict[str, str] = {}
        left = False
        other = {row["name"] for rows in self.sequences for row in rows if "start" in row or (
            row["name"].startswith("other draw") and not self.whole.training)}
        for check in attempt.checks:
            run = check.name if check.name in self.changes else next(
                (name for name in other if check.name == name or check.name.startswith(name + ": ")), None)
            # The original raises and the skeleton does not: it does not look at what the original depends on.
            is_bad = check.bad or (check.status == "lenient" and run in self.changes)
            if not is_bad or (run not in self.changes and not check.forbids):
                continue
            signature = signature_of_forward(attempt.source, attempt.root) if run in self.changes else None
            condition = None
            if signature is not None:
                condition = _values.guard(self.changes[check.name][0], signature)
            elif run is not None and run not in self.changes:
                condition = "self.training" if self.whole.training else "not self.training"
            if condition is None:
                left = left or check.forbids
                continue
            mode = "eval" if self.whole.training else "train"
            guards[condition] = (f"not recorded: another value than in {condition}" if run in self.changes
                                 else f"not covered: {mode} mode gives something else than the original's")
        return guards, left

    def _synthesise(self, without: list[tuple[str, int]]) -> tuple[str, str, bytes]:
        """A function that can't be followed, or that came out wrong, may still be written as the calls of torch that it
        made: these are recorded only where they are needed, because that takes time."""
        if without and not self.with_events:
            self._record_again(events=True)
        try:
            made = self._write(without + (self.shortcuts or []))
        except Error as first:
            if self.with_events or not self.recorded:  # calls that somebody else made can't be made again
                raise
            try:
                self._record_again(events=True)
            except Error as error:
                raise Error(f"{first}; and {error}") from None
            made = self._write(without)
        return made if self.shortcuts is not None else self._shorter(made)

    def _write(self, without: list[tuple[str, int]]) -> tuple[str, str, bytes]:
        from ._modes import known_operators, known_records, plain_train
        from ._pellucid import synthesise
        trace = self.recorder.log_bytes()
        if self.class_facts is None:
            self.class_facts = [*plain_train(self.model, self.state.restore), *known_records(),
                                *known_operators(), *(["numbers by name"] if _numbers_by_name else [])]
        source, root, self.report.synthesis = synthesise(trace, without, self.class_facts)
        return source, root, trace

    def _shorter(self, made: tuple[str, str, bytes]) -> tuple[str, str, bytes]:
        """Functions that compute a shape in many lines are written as the calls they made, if that is shorter."""
        self.shortcuts = []
        synthesis, roundabout = self.report.synthesis, self.report.synthesis["roundabout"]
        if not roundabout or self.slow:
            return made
        kept = self.recorder, self.recorded, self.with_events
        try:
            if not self.with_events:
                self._record_again(events=True)
            other = self._write(roundabout)
        except Exception:  # some models can't be recorded that way, some functions not written: it was good without
            other = None
        if other is not None and other[0].count("\n") < made[0].count("\n"):
            self.shortcuts = roundabout
            return other
        self.recorder, self.recorded, self.with_events = kept
        self.report.synthesis = synthesis
        return made

    def _record_again(self, events: bool) -> None:
        self.progress("recording again" + ", with the calls of torch" * events)
        self.recorder = self._new_recorder(events=events)
        self.with_events = events
        calls, self.recorded = self.recorded, []
        for call in calls:
            self._record(call)

    def _tree(self, source: str) -> Any:
        from ._tree import tree
        return tree(self.model).with_source(source)


RULES_OF_RETREAT = (Workshop._forget_traced, Workshop._record_missing, Workshop._drop_shortcuts,
                    Workshop._write_as_calls, Workshop._assert_it, Workshop._forget_next_call, Workshop._record_traced,
                    Workshop._record_warm)


def _next_plan(plan: Plan, attempt: Attempt, best: Attempt, rules: Sequence[Callable[..., str | None]]) -> str | None:
    """The first rule that knows better changes the plan; its reason. A rule that fails on the way knows nothing."""
    for rule in rules:
        try:
            if reason := rule(plan.work, plan, attempt, best):
                return reason
        except Exception as error:
            plan.work.report.remarks.append(f"given up: {type(error).__name__}: {error}"[:300])
    return None


def _reason(attempt: Attempt) -> str:
    """What speaks against an attempt, first of all."""
    if attempt.error is not None:
        return str(attempt.error)
    bad = sorted((c for c in attempt.checks if c.bad), key=lambda c: not c.forbids)
    return str(bad[0]) if bad else "nothing was equal"


def _forward_of(source: str, root: str) -> Any:
    """The root's own forward, as a node; None if it inherits one."""
    import ast
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == root:
            return next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "forward"), None)
    return None


def with_guards(source: str, root: str, guards: dict[str, str]) -> tuple[str, int] | None:
    """The source with assertions before the first statement of the root's forward, and the line of the first; None if
    it has no forward of its own."""
    forward = _forward_of(source, root) if guards else None
    if forward is None:
        return None
    first = forward.body[0]
    lines = source.split("\n")
    margin = " " * first.col_offset
    lines[first.lineno - 1:first.lineno - 1] = [f"{margin}assert {condition}, {_quoted(text)}"
                                                for condition, text in guards.items()]
    return "\n".join(lines), first.lineno


def _quoted(text: str) -> str:
    import json
    return json.dumps(text, ensure_ascii=False)


def signature_of_forward(source: str, root: str) -> Any:
    """The parameters of the root's forward without self; None if it has no forward of its own."""
    import inspect
    forward = _forward_of(source, root)
    if forward is None:
        return None
    kinds = inspect.Parameter
    a = forward.args
    plain = (*a.posonlyargs, *a.args)[1:]
    rows: list[tuple[Any, Any]] = [(arg, kinds.POSITIONAL_OR_KEYWORD) for arg in plain]
    rows += [(a.vararg, kinds.VAR_POSITIONAL)] * bool(a.vararg)
    rows += [(arg, kinds.KEYWORD_ONLY) for arg in a.kwonlyargs]
    rows += [(a.kwarg, kinds.VAR_KEYWORD)] * bool(a.kwarg)
    return inspect.Signature([kinds(arg.arg, kind) for arg, kind in rows])


def _function_at(body: Sequence[Any], line: int, prefix: str = "") -> str | None:
    """The name of the function, with its class, whose text has this line."""
    import ast
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.ClassDef):
            return _function_at(node.body, line, f"{node.name}.")
        return prefix + node.name
    return None


def as_inputs(item: Any) -> Inputs:
    """One element of `more`: (args, kwargs), args, kwargs, or a single argument."""
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], tuple) and isinstance(item[1], dict):
        return item
    if isinstance(item, tuple):
        return item, {}
    return ((), item) if isinstance(item, dict) else ((item,), {})
