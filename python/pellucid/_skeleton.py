"""pellucid.skeleton: a running model becomes a program that people can read."""

from __future__ import annotations

import contextlib
import io
import os
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Sequence

from ._given import given
from ._names import renamed
from ._pellucid import Error
from ._progress import Progress, Wanted
from ._result import Result, lines_of
from ._verify import SEED, Check, Report, play_original, verify, with_verdict

if TYPE_CHECKING:
    import torch

ROUNDS = 3  # of verifying, recording what it found missing, and writing again
RETREATS = 6  # functions whose text proved wrong and that are written as the calls they made
DRAWS = 12  # of random numbers in train mode, beside the first
DRAWING = 1.0  # seconds after which no more are made
SLOW = 3.0  # seconds: a call that takes longer is made as few times as possible
Inputs = tuple[tuple, dict[str, Any]]


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

    def save(self, path: str | os.PathLike[str]) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.source)

    def module(self) -> torch.nn.Module:
        """The skeleton as a live module, in eval mode, with the original's weights."""
        import linecache

        from . import _check
        path = f"<skeleton {self.root} {id(self):x}>"
        linecache.cache[path] = (len(self.source), None, self.source.splitlines(True), path)
        name = f"pellucid_skeleton_{id(self):x}"
        module = vars(_check.load_source(self.source, name, path))[self.root]()
        module.load_state_dict(self.model.state_dict(), strict=True)
        return module.eval()

    def to_dict(self) -> dict[str, Any]:
        return {"root": self.root, "source": self.source, **self.report.to_dict(), **self.tree.to_dict()}

    def _summary(self) -> str:
        return closing_line(self)

    def __str__(self) -> str:
        return self.source


@dataclass
class Call:
    """One call to record or compare. `mode`: "given", or the other one of train and eval. `after`: the inputs of a call
    that comes before it, of models that keep something from one to the next. `draw`: which random numbers it gets."""

    label: str
    inputs: Inputs
    grad: bool
    mode: str = "given"
    after: Inputs | None = None
    draw: int = 0

    @property
    def seed(self) -> int:
        return SEED + self.draw


def skeleton(model: torch.nn.Module, args: Any = (), kwargs: dict[str, Any] | None = None,
             more: Sequence[Any] | None = None, module: str | None = None, leaves: Iterable[type] = (),
             strict: bool = True, *, origin: str = "", verify: bool = True, progress: Wanted = None,
             verified: bool | None = None) -> Skeleton:
    """Records `model(*args, **kwargs)` and writes the program that ran.

    args    a tuple or list of arguments, or the one argument itself; a dict whose keys `forward` takes holds
            keyword arguments
    more    further inputs to record: tuples of arguments, dicts of keyword arguments, or pairs of both. By
            default pellucid makes its own: other data, another batch size and length where the model takes
            them, train mode. `more=[]` records the given call only.
    module  only this part of the model, as "encoder.layer.0"
    leaves  classes to keep as they are: the skeleton imports them
    strict  raise SkeletonError where the skeleton differs from the model
    verify  compare the skeleton with the model; `verified` is the old name
    progress  by default one line on a terminal or in a notebook; False for none, or a callable that takes each step
    """
    verified = verify if verified is None else renamed("skeleton", "verified", "verify", verified)
    with Progress(progress) as shown:
        made = _skeleton(model, given(model, args, kwargs), more, module, tuple(leaves), origin, verified, shown)
        shown.close(closing_line(made, verified))
    if strict and verified and not made.report.good:
        raise SkeletonError(_complaint(made.report), made)
    return made


def closing_line(made: Skeleton, verified: bool = True) -> str:
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
              origin: str, verified: bool, progress: Callable[[str], None]) -> Skeleton:
    """The best that could be made, good or not; raises where nothing could."""
    model = _readable(model, inputs)
    _refuse_unknown_leaves(model, leaves)
    work = Workshop(model, module, leaves, origin, progress)
    made, refusal = None, None
    with work:
        work.record_given(inputs)
        work.record_more(more)
        try:
            made = work.finish(verified)
        except Exception as error:
            refusal = error
        is_bad = made is None or (verified and not made.report.good)
        if is_bad or (_told_by_calls(made) and not work.slow):
            warm = work.again_when_warm(more, verified)
            is_better = warm is not None and (is_bad or len(_told_by_calls(warm)) < len(_told_by_calls(made)))
            made = warm if is_better and (made is None or warm.report.good or not verified) else made
    if made is None:
        assert refusal is not None
        raise refusal if type(refusal) is not Error else SkeletonError(str(refusal)) from None
    return made


def _told_by_calls(made: Skeleton) -> list[str]:
    """Methods of modules that are written as the calls they made, and with them all modules that they called: what a
    first call sets up (hooks behind a lock) may be all that could not be followed."""
    return [name for kind, name, *_ in made.report.synthesis["remarks"] if kind == "fallback" and "." in name]


def _readable(model: Any, inputs: Inputs) -> torch.nn.Module:
    """The model itself, or what torch.compile was given; refuses what has no values."""
    import torch

    from . import _inputs
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"a skeleton is made of a torch.nn.Module, not of {type(model).__name__}")
    model = dict(model.named_children()).get("_orig_mod", model)
    if any(torch.nn.parameter.is_lazy(t) for t in (*model.parameters(), *model.buffers())):
        _finish_lazy_modules(model, inputs)
    if any(t.is_meta for t in (*model.parameters(), *model.buffers(), *_inputs.tensors(inputs))):
        raise SkeletonError("tensors on the meta device have no values: nothing could be compared")
    _refuse_subclasses([*model.named_parameters(), *model.named_buffers(),
                        *(("an input", t) for t in _inputs.tensors(inputs))])
    return model


def _refuse_subclasses(named: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Tensors of an author's class: what their operators do is said by the class, and no skeleton has it."""
    from ._library import place_of
    for name, tensor in named:
        kind = type(tensor)
        if kind.__module__.split(".")[0] != "torch":
            raise SkeletonError(f"{place_of(kind)}: {name} is a {kind.__qualname__}, a subclass of torch.Tensor, "
                                "whose operators can't be followed")


def _refuse_unknown_leaves(model: torch.nn.Module, leaves: tuple[type, ...]) -> None:
    """A leaf is imported and built again: with which arguments, must be known."""
    from . import _leaves
    inside: set[torch.nn.Module] = set()  # of leaves: these are built by them
    for name, part in model.named_modules() if leaves else ():
        if not isinstance(part, leaves) or part in inside:
            continue
        inside.update(part.modules())
        if _leaves.arguments(part, leaves) is None:
            kind = type(part)
            raise SkeletonError(f"{name or 'the model'} can't be kept as it is: no arguments were found that build "
                                f"{kind.__module__}.{kind.__qualname__} as this one is")


def _finish_lazy_modules(model: torch.nn.Module, inputs: Inputs) -> None:
    """Lazy modules get their parameters in the first call of the model: this is it."""
    import torch

    from . import _inputs
    from ._state import RandomState
    random = RandomState()
    args, kwargs = _inputs.copied(inputs)
    with torch.no_grad():
        model(*args, **kwargs)
    random.restore()
    lazy = [name for name, t in model.named_parameters() if torch.nn.parameter.is_lazy(t)]
    if lazy:
        raise SkeletonError(f"{lazy[0]} has no shape yet: it belongs to a lazy module that this call does not reach")


def _complaint(report: Report) -> str:
    bad = report.failures
    return "the skeleton differs from the model: " + (
        f"{bad[0].name}: {bad[0].detail}" if bad else "nothing could be compared")


def _part(model: torch.nn.Module, path: str) -> torch.nn.Module:
    try:
        return model.get_submodule(path)
    except AttributeError:
        import difflib
        near = difflib.get_close_matches(path, [name for name, _ in model.named_modules()], 1)
        raise SkeletonError(f"the model has no module {path!r}" + (f"; did you mean {near[0]!r}?" if near else "")
                            ) from None


class Workshop:
    """One skeleton in the making. On exit the model, its inputs and the generators are as they were."""

    def __init__(self, model: torch.nn.Module, path: str | None, leaves: tuple[type, ...], origin: str,
                 progress: Callable[[str], None]):
        self.whole = model
        self.path = path
        self.model = _part(model, path) if path else model
        self.leaves, self.origin, self.progress = leaves, origin, progress
        self.report = Report()
        self.sequences: list[list[dict]] = []
        self.recorded: list[Call] = []
        self.recorded_result: Any = None  # of the given call, in plain form
        self.unrecorded: dict[str, Call] = {}
        self.keeps_something = False  # the model, from call to call
        self.drew = False  # random numbers, in some call
        self.caches: tuple[Any, ...] = ()  # emptied before each recording, so that what they keep is computed again

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
        # functions that are told by the calls they made; None: not asked
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
        self.state.restore()
        self._enter_mode(call.mode)
        args, kwargs = _inputs.copied(call.inputs)
        for cache in self.caches:
            cache.cache_clear()
        with torch.set_grad_enabled(call.grad), self.stand_ins.installed():
            if call.after:
                self._call(self.stand_ins.model, call.after)
            _check.seed_all(call.seed)
            before = RandomState()
            result = self.recorder.run(call.label, args, kwargs)
            self.drew |= before.moved()
        self.recorded.append(call)
        if self.recorded_result is None:
            _refuse_subclasses(("a result", t) for t in _check.tensors_of(_check.plain_form(result)))
            self.keeps_something = self.state.touched()
            self.recorded_result = _check.detached(_check.plain_form(result))
        self.state.restore()
        self._time("record", start)

    def _play(self, call: Call, name: str, **what: bool) -> dict[str, Any]:
        from . import _inputs
        start = time.perf_counter()
        self.state.restore()
        self._enter_mode(call.mode)
        args, kwargs = _inputs.copied(call.inputs)
        try:
            if what.get("events"):  # compiled code tells none
                with self.stand_ins.installed():
                    return play_original(self.stand_ins.model, name, args, kwargs, grad=call.grad, **what)[0]
            return play_original(self.model, name, args, kwargs, grad=call.grad, seed=call.seed, **what)[0]
        finally:
            self.state.restore()
            self._time("original", start)

    def _inner(self, inputs: Inputs, mode: str, grad: bool) -> Inputs:
        """The inputs that reach the wanted part of the model when the whole gets these."""
        import torch

        from . import _check, _inputs
        if not self.path:
            return inputs
        caught: list[Inputs] = []

        def catch(_: Any, args: tuple, kwargs: dict[str, Any]) -> None:
            if not caught:
                caught.append(_inputs.copied((args, kwargs)))

        self.state.restore()
        self._enter_mode(mode)
        handle = self.model.register_forward_pre_hook(catch, with_kwargs=True)
        try:
            args, kwargs = _inputs.copied(inputs)
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
                     mode: str = "given") -> Call | None:
        """The first of the candidates that the original itself takes; its comparison is added."""
        for inputs in candidates:
            try:
                with contextlib.redirect_stderr(io.StringIO()):  # some models print what they raise
                    call = Call(label, self._inner(inputs, mode, grad), grad, mode)
                    self.sequences.append([self._play(call, name)])
            except Exception:  # whatever the model raises on inputs of our making is no concern of its user's
                continue
            return call
        return None

    # ---- the plan ----

    def record_given(self, inputs: Inputs) -> None:
        """The first run: on the model as it was given, before anything could fill a cache."""
        import torch

        from . import _check
        self.given = inputs
        self.progress("recording")
        given = self._record_first()
        self.progress("running the original")
        start = time.perf_counter()
        self.sequences.append([self._play(Call("given", given.inputs, False), "recorded", buffers=True)])
        self.slow = time.perf_counter() - start > SLOW
        if not self.slow:
            with contextlib.suppress(Exception):  # some of torch's calls refuse to be watched
                self.sequences.append([self._play(Call("given", given.inputs, False), "events", events=True)])
        if self.slow:
            self.report.remarks.append("the model is slow: one comparison of each kind is made, not several")
        if self.takes_grad:
            try:
                with_gradients = Call("given", given.inputs, True)
                self.sequences.append([self._play_with_gradients(with_gradients, "gradients enabled")])
            except Exception:  # a remark tells why
                self.takes_grad = False
        # The recorder must not be noticed by the model.
        unwatched = next(s[0] for s in self.sequences if s[0]["grad"] is self.grad and s[0]["events"] is None)
        if unwatched["threads"] != torch.get_num_threads():  # other threads, other sums
            unwatched = self._play(Call("given", given.inputs, self.grad), "unwatched")
        if found := _check.difference(unwatched["result"], self.recorded_result):
            self.report.checks.append(Check("recording", "failed", f"watched, the model gives something else: {found}"))

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

    def _play_with_gradients(self, call: Call, name: str, **what: bool) -> dict[str, Any]:
        try:
            return self._play(call, name, gradients=True, **what)
        except Exception as error:
            self.report.remarks.append(f"{name}: the original itself can't be differentiated: {error}"[:300])
            return self._play(call, name, **what)

    def record_more(self, more: Sequence[Any] | None) -> None:
        if more is not None:
            for number, item in enumerate(more, 1):
                call = Call(f"more {number}", self._inner(as_inputs(item), "given", self.grad), self.grad)
                self.sequences.append([self._play(call, f"more {number}")])
                self._record(call)
            return
        self.progress("other data, other sizes, train mode")
        if self.keeps_something and not self.slow:
            self._record_next_call()
        self._record_data()
        self._record_sizes()
        self._record_other_mode()
        self._keep_other_draws()

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

    def _record_data(self) -> None:
        from . import _inputs
        # Recorded without gradients where the given call had them, so that both modes are lanes.
        near = self._first_taken(_inputs.other_data(self.given, 1), "other data 1", "other data",
                                 self.takes_grad and not self.grad)
        far = None
        if not self.slow:
            far = self._first_taken(_inputs.other_data(self.given, 2, far=True), "other data 2", "far data", self.grad)
        for call in (near, far):
            if call is not None:
                self._record(call)
        self._keep_unrecorded(_inputs.other_data(self.given, 3), "other data 3")

    def _record_sizes(self) -> None:
        from . import _inputs
        for name, make in (("other batch", _inputs.other_batch), ("other length", _inputs.other_length)):
            call = self._first_taken(make(self.given, 1), f"{name} 1", name, self.grad)
            if call is None:
                self.report.checks.append(Check(name, "skipped", "the model takes no other"))
                continue
            self._record(call)
            self._keep_unrecorded(make(self.given, 3), f"{name} 2")
        if self.slow:
            return
        call = self._first_taken(_inputs.one_sample(self.given), "other batch 3", "one sample", self.grad)
        if call is not None:
            self._record(call)

    def _keep_unrecorded(self, candidates: Iterator[Inputs], name: str, mode: str = "given") -> None:
        """Compared but not recorded: the proof that what was recorded is general. Recorded after all if refused."""
        call = self._first_taken(candidates, name, name, False, mode) if not self.slow else None
        if call is not None:
            self.unrecorded[name] = call

    def _record_other_mode(self) -> None:
        from . import _inputs
        name = "eval" if self.whole.training else "train"
        try:
            call = Call(name, self._inner(self.given, "other", True), True, "other")
            self.sequences.append([self._play_with_gradients(call, name, buffers=True)])
        except Exception as error:
            self.report.checks.append(Check(name, "skipped", f"the original raises: {type(error).__name__}"))
            return
        self._record(call)
        self._keep_unrecorded(_inputs.other_batch(self.given, 1), f"{name}: other batch", "other")
        self._keep_unrecorded(_inputs.other_length(self.given, 1), f"{name}: other length", "other")

    def _keep_other_draws(self) -> None:
        """In train mode chance may lead the model another way: layers that are left out, noise that is added or not."""
        if self.slow or not self.drew:
            return
        mode = "given" if self.whole.training else "other"
        end = time.perf_counter() + DRAWING
        for draw in range(1, DRAWS + 1):
            if time.perf_counter() > end:
                return
            name = f"other draw {draw}"
            with contextlib.suppress(Exception):
                call = Call(name, self._inner(self.given, mode, False), False, mode, draw=draw)
                self.sequences.append([self._play(call, name)])
                self.unrecorded[name] = call

    def again_when_warm(self, more: Sequence[Any] | None, verified: bool) -> Skeleton | None:
        """The same after a first call: models and libraries set things up then that later calls only find there, such
        as hooks and registries. What caches keep of inputs is computed again in each recording; if that does not do,
        what any of them keeps: functions that ran when the model was built are seen running. None if nothing comes of
        it, or if it gives something else then."""
        self.progress("again, after a first call")
        found = None
        try:
            self._call(self.whole, self.given)
            every = self.recorder.caches()
            for caches in dict.fromkeys((self._caches_of_data(), every)):
                made = self._again(more, verified, caches)
                if made is not None and (made.report.good or not verified):
                    return made
                found = found or made
        except Exception:
            return None
        finally:
            self.state.restore()
        return found

    def _again(self, more: Sequence[Any] | None, verified: bool, caches: tuple[Any, ...]) -> Skeleton | None:
        from . import _check
        warm = Workshop(self.whole, self.path, self.leaves, self.origin, self.progress)
        warm.caches = caches
        try:
            with warm:
                warm.record_given(self.given)
                warm.record_more(more)
                made = warm.finish(verified)
        except Exception:
            return None
        if _check.difference(self.recorded_result, warm.recorded_result):
            return None
        made.report.remarks.append("recorded after a first call: what the model sets up then is in place")
        return made

    @staticmethod
    def _call(model: torch.nn.Module, inputs: Inputs) -> None:
        from . import _inputs
        args, kwargs = _inputs.copied(inputs)
        model(*args, **kwargs)

    def _caches_of_data(self) -> tuple[Any, ...]:
        """Those that don't know the answer for another batch or length: what they keep depends on the inputs."""
        from . import _inputs
        caches = self.recorder.caches()
        known = [cache.cache_info().misses for cache in caches]
        for candidates in (_inputs.other_batch(self.given, 2), _inputs.other_length(self.given, 2)):
            for inputs in candidates:
                try:
                    self._call(self.whole, inputs)
                    break
                except Exception:
                    continue
        return tuple(cache for cache, misses in zip(caches, known) if cache.cache_info().misses != misses)

    # ---- the result ----

    def finish(self, verified: bool) -> Skeleton:
        """What a second call does may be beyond us; then it is told as not equal, and the rest as without it."""
        before = self.report.checks
        try:
            made = self._finish(verified)
            if not verified or made.report.good or not self._forget_next_call():
                return made
        except Error:
            if not self._forget_next_call():
                raise
        self.report.checks = before
        return self._finish(verified)

    def _forget_next_call(self) -> bool:
        kept = [call for call in self.recorded if not call.after]
        if len(kept) == len(self.recorded):
            return False
        self.recorded = kept
        self._record_again(events=self.with_events)
        return True

    def _finish(self, verified: bool) -> Skeleton:
        skipped = self.report.checks
        rounds, without = ROUNDS, []
        while True:
            self.progress("writing")
            start = time.perf_counter()
            try:
                source, root, trace = self._synthesise(without)
            except Error:
                if not without and not self.report.good:
                    raise
                break  # the last one is as good as it gets
            self._time("synthesise", start)
            if not verified:
                self.report.checks = skipped
                break
            self.progress("verifying")
            start = time.perf_counter()
            extra = {c.__module__.partition(".")[0] for c in self.leaves}
            self.state.restore()
            checks = verify(self.model, source, root, self.sequences, extra)
            self._time("verify", start)
            self.report.checks = checks + skipped
            rounds -= 1
            if rounds and self._record_missing(checks):
                continue
            if self.shortcuts and not self.report.good:
                self.shortcuts = []
                continue
            wrong = None if self.report.good else self._wrong_function(source)
            if wrong is None or len(without) == RETREATS:
                break
            without.append(wrong)
        source = with_verdict(source, self.report.verdict)
        return Skeleton(source, root, self._tree(source), self.report, self.model, trace)

    def _record_missing(self, checks: list[Check]) -> bool:
        """Records the calls that came by a path which no recorded run took, and those of other sizes for which what
        straight lines tell by example did not hold. Another length takes their place as a proof."""
        from . import _inputs
        by_example = ("other length 2", "train: other batch", "train: other length", "eval: other batch",
                      "eval: other length")
        missing = [c.name for c in checks if c.name in self.unrecorded and (
            c.status == "refused" or (self.with_events and c.status == "failed" and c.name in by_example))]
        for name in missing:
            self._record(self.unrecorded.pop(name))
            if name == "other length 2":
                self._keep_unrecorded(_inputs.other_length(self.given, 5), "other length 3")
        return bool(missing)

    def _synthesise(self, without: list[tuple[str, int]]) -> tuple[str, str, bytes]:
        """A function that can't be followed, or that came out wrong, may still be written as the calls of torch that it
        made: these are recorded only where they are needed, because that takes time."""
        if without and not self.with_events:
            self._record_again(events=True)
        try:
            made = self._write(without + (self.shortcuts or []))
        except Error:
            if self.with_events or not self.recorded:  # calls that somebody else made can't be made again
                raise
            self._record_again(events=True)
            made = self._write(without)
        return made if self.shortcuts is not None else self._shorter(made)

    def _write(self, without: list[tuple[str, int]]) -> tuple[str, str, bytes]:
        from ._pellucid import synthesise
        trace = self.recorder.log_bytes()
        source, root, self.report.synthesis = synthesise(trace, without)
        return source, root, trace

    def _shorter(self, made: tuple[str, str, bytes]) -> tuple[str, str, bytes]:
        """Functions that compute a shape in many lines are told by the calls they made, if that is shorter."""
        self.shortcuts = []
        synthesis, roundabout = self.report.synthesis, self.report.synthesis["roundabout"]
        if not roundabout or self.slow:
            return made
        kept = self.recorder, self.recorded, self.with_events
        try:
            if not self.with_events:
                self._record_again(events=True)
            other = self._write(roundabout)
        except Exception:  # some models can't be recorded that way, some functions not be told: it was good without
            other = None
        if other is not None and other[0].count("\n") < made[0].count("\n"):
            self.shortcuts = roundabout
            return other
        self.recorder, self.recorded, self.with_events = kept
        self.report.synthesis = synthesis
        return made

    def _wrong_function(self, source: str) -> tuple[str, int] | None:
        """Where the author's function begins whose text raised in the referee."""
        import ast
        lines = [int(found[1]) for c in self.report.failures if (found := re.match(r"line (\d+): ", c.detail))]
        if not lines:
            return None
        name = _function_at(ast.parse(source).body, lines[0])
        return self.report.synthesis["origins"].get(name)

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
