"""One skeleton in the making: the model is run, recorded, and compared with a text."""

from __future__ import annotations

import contextlib
import io
import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Sequence

from ._pellucid import Error
from ._refusals import Inputs, SkeletonError, part_of, refuse_subclasses
from ._verdict import Check, Report, rule_of
from ._verify import SEED, modes_of, names_device, play_original, verify

if TYPE_CHECKING:
    import torch

    from ._methods import Methods

DRAWS = 12  # of random numbers in train mode, beside the first
# Seconds of this thread's processor, not of the clock: a busy machine must not change what is compared.
DRAWING = 1.0  # after which no more are made
SLOW = 3.0  # a call that takes longer is made as few times as possible


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


def as_inputs(item: Any) -> Inputs:
    """One element of `more`: (args, kwargs), args, kwargs, or a single argument."""
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], tuple) and isinstance(item[1], dict):
        return item
    if isinstance(item, tuple):
        return item, {}
    return ((), item) if isinstance(item, dict) else ((item,), {})


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


class Counted:
    """Inputs of our making, and how many of them were tried."""

    def __init__(self, candidates: Iterator[Inputs]) -> None:
        self.candidates, self.count = candidates, 0

    def __iter__(self) -> Iterator[Inputs]:
        for inputs in self.candidates:
            self.count += 1
            yield inputs

    @property
    def none_taken(self) -> str:
        """What is said where the model raised on all of them: not that it takes no other."""
        if not self.count:
            return "there is no other to try"
        return f"the model takes none of {self.count} that were tried"


class Workshop:
    """One skeleton in the making. On exit the model, its inputs and the generators are as they were."""

    level = ""  # of verification, where it is of another kind

    def __init__(self, model: torch.nn.Module, path: str | None, leaves: tuple[type, ...], origin: str,
                 progress: Callable[[str], None]):
        self.whole = model
        self.path = path
        self.model = part_of(model, path) if path else model
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
        self.no_other_size = ""  # why there is none
        self.refused_sizes: set[tuple[Any, ...]] = set()  # sizes of inputs that the model raised on
        self.little: Call | None = None  # the same, if that costs a small part of the given call
        self.unnoticed = False  # the recorder, by the model: the given call gives the same with it and without
        self.class_facts: list[str] | None = None  # what synthesise() gets to know of classes; None: not asked
        self.caches: tuple[Any, ...] = ()  # emptied before each recording, so that what they keep is computed again
        self.given: Inputs = ((), {})  # what the whole model gets
        self.makes_calls = False  # of the model itself; not where a program made them
        self.more: Sequence[Any] | None = None  # what the caller wants recorded, too
        self.several: Methods | None = None  # calls of methods; the model is the module that makes them
        self.cold: Workshop | None = None  # that of the model as it was given, where this one is after a first call
        self.traced_asked = False  # whether the path of torch.export must be recorded, too

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
        self.takes_grad, self.needs_grad = True, False
        self.with_events = self.slow = False
        self.effort = 0.0  # of recording, as SLOW counts
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

    def took(self, name: str, start: float) -> None:
        self.report.seconds[name] = self.report.seconds.get(name, 0.0) + time.perf_counter() - start

    # ---- running ----

    def _enter_mode(self, mode: str) -> None:
        training = self.whole.training == (mode == "given")
        self.state.before_run(training)  # before train(): an author's may merge weights
        if mode != "given":
            self.whole.train(training)

    def record(self, call: Call) -> None:
        """Records a call that the original is known to take, with the generators at the seed."""
        import torch

        from . import _check, _inputs
        from ._state import RandomState
        start, busy = time.perf_counter(), time.thread_time()
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
                self.call(self.stand_ins.model, call.after)
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
            refuse_subclasses(("a result", t) for t in _check.tensors_of(_check.plain_form(result)))
            self.keeps_something = self.state.touched()
            self.recorded_result = plain
        elif plain is not None and (found := _check.difference(self.recorded_result, plain)):
            raise Error(f"recorded a second time, the model gives something else: {found}; what calls leave in "
                        "variables of files and closures can't be put back")
        self.state.restore()
        self.took("record", start)
        self.effort += time.thread_time() - busy

    def _record_played(self, call: Call, name: str, **what: Any) -> None:
        """One run of the original that is recorded, and is what the skeleton is compared with: the recorder is not
        noticed. Two runs where compiled parts have stand-ins, or where that is not known. A call that the original does
        not take raises, and is in no log."""
        if self.compares and (not self.unnoticed or not self.records or self.stand_ins.any or self.caches):
            self.add([self.play(call, name, **what)])
            self.record(call)
            return
        try:
            if not self.compares:
                self.record(call)
                return

            def recorded(*args: Any, **kwargs: Any) -> Any:
                with self.stand_ins.installed():
                    return self.recorder.run(call.label, args, kwargs)

            row = self.play(call, name, forward=recorded, **what)
        except Exception:
            self.record_again(events=self.with_events)  # without the part of the run that there was
            raise
        self.drew |= bool(row["generators"])
        self.recorded.append(call)
        self.add([row])

    @property
    def small(self) -> Call:
        """The cheapest call that the original is known to take, in the given mode."""
        return self.single or self.little or Call("given", self.recorded[0].inputs, self.needs_grad)

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
            self.took("original", start)

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

    def play(self, call: Call, name: str, **what: Any) -> dict[str, Any]:
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

    def _first_taken(self, candidates: Iterable[Inputs], name: str, label: str, grad: bool,
                     mode: str = "given", **what: Any) -> Call | None:
        """The first of the candidates that the original itself takes; its comparison is added."""
        play = self._play_with_gradients if what.get("buffers") else self.play
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
        start = time.thread_time()
        with _inputs.Grid(self.model) as grid:
            self.add([self._play_recorded(given.inputs)])
        self.grid = grid.step(given.inputs)
        self._note_slow(time.thread_time() - start)
        # The recorder must not be noticed by the model.
        found = _check.difference(self.sequences[0][0]["result"], self.recorded_result)
        if found and self.grad:  # gradients may lead to other kernels
            found = _check.difference(self.play(Call("given", given.inputs, True), "unwatched")["result"],
                                      self.recorded_result)
        if found:
            self.report.checks.append(Check("recording", "failed", f"watched, the model gives something else: {found}"))
        self.unnoticed = not found

    def _play_recorded(self, inputs: Inputs, buffers: bool = True) -> dict[str, Any]:
        """Without gradients, but for models that raise then."""
        try:
            return self.play(Call("given", inputs, False), "recorded", buffers=buffers)
        except Exception as error:
            if not self.grad:
                raise
            row = self.play(Call("given", inputs, True), "recorded", buffers=buffers)
            self.needs_grad = True
            self.report.remarks.append(f"the model does not run without gradients: {error}"[:300])
            return row

    def _note_slow(self, seconds: float) -> None:
        self.slow = seconds > SLOW
        if self.slow:
            self.report.remarks.append("the model is slow: one comparison of each kind is made, not several")

    def _find_grid(self) -> None:
        """Where no call is compared: from a small picture, if everything divides that, else from the given call."""
        from . import _inputs
        self._note_slow(self.effort)
        call, step = None, None
        small = next(_inputs.other_length(self.given, 1, grid=_inputs.IMAGE_STEP), None)
        if small is not None and self._is_little(small):
            with _inputs.Grid(self.model) as grid:
                call = self._first_taken(iter([small]), "other length 1", "other length", self.grad)
            step = grid.exact_step(call.inputs) if call is not None else None
        if step is None:
            with _inputs.Grid(self.model) as grid:
                self._play_recorded(self.recorded[0].inputs, buffers=False)
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
        little = self.little or Call("given", self.recorded[0].inputs, self.needs_grad)
        if not self.slow and self.compares:
            with contextlib.suppress(Exception):  # some of torch's calls refuse to be watched
                self.add([self.play(Call("given", little.inputs, self.needs_grad), "events", events=True)])
        if self.takes_grad and (self.compares or not self.grad):
            try:
                self.add([self._play_with_gradients(Call("given", little.inputs, True), "gradients enabled")])
            except Exception:  # a remark tells why
                self.takes_grad = False

    def _record_first(self) -> Call:
        """Without gradients where the model does not run with them: it may use kernels that have no backward."""
        try:
            given = Call("given", self._inner(self.given, "given", self.grad), self.grad)
            self.record(given)
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
        row = self.play(call, name, gradients=self.compares, **what)
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
            self.add([self.play(call, name)])
            self.record(call)
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
        for number, inputs in enumerate(self.several.others() if self.several is not None else (), 1):
            self._vary(inputs, 10 * number)
        if verified:
            self.progress("other values, weights, types")
            _attacks.attack(self, self.full)

    def _vary(self, inputs: Inputs, number: int) -> None:
        """Another method gets other data and sizes, too, and is called in the other mode. number: of these runs."""
        from . import _inputs
        for name, candidates in (("other data", _inputs.other_data(inputs, number)),
                                 ("other batch", _inputs.other_batch(inputs, 1)),
                                 ("other length", _inputs.other_length(inputs, 1, grid=self.grid))):
            self._record_taken(candidates, f"{name} {number}", f"{name} {number}", self.grad)
        self._keep_unrecorded(_inputs.other_data(inputs, number + 1), f"other data {number + 1}")
        self._keep_unrecorded(_inputs.other_batch(inputs, 3), f"other batch {number + 1}")
        self._keep_unrecorded(_inputs.other_length(inputs, 3, grid=self.grid), f"other length {number + 1}")
        self._keep_unrecorded(iter([inputs]), f"{'eval' if self.whole.training else 'train'} {number}", "other")

    def _compare_others(self) -> None:
        """Where the caller chose what is recorded, other data and sizes are compared: the skeleton gives the same as
        the original, or its assertions say that this was not recorded."""
        from . import _inputs
        for name, candidates in (("other data", _inputs.other_data(self.given, 1)),
                                 ("other batch", _inputs.other_batch(self.given, 1)),
                                 ("other length", self._other_length(1))):
            tried = Counted(candidates)
            phrase = rule_of(name).phrase
            if self._first_taken(tried, f"{name} 1", name, self.grad, changed=True, what=phrase) is None:
                self.report.checks.append(Check(name, "skipped", tried.none_taken))
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
            self.record(Call("called again", inputs, given.grad, after=given.inputs))
            return

    def _find_other_size(self) -> None:
        """Another length or size of pictures. Where it is small, runs that need not be of the given size have it."""
        if self.other_size is None:
            tried = Counted(self._other_length(1))
            self.other_size = self._first_taken(tried, "other length 1", "other length", self.grad)
            self.no_other_size = tried.none_taken
        if self.other_size is not None and self._is_little(self.other_size.outer or self.other_size.inputs):
            self.little = self.other_size

    def _record_taken(self, candidates: Iterable[Inputs], name: str, label: str, grad: bool) -> Call | None:
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
                           self.needs_grad or (self.takes_grad and not self.grad))
        if not self.slow:
            self._record_taken(_inputs.other_data(self.base, 2, far=True), "other data 2", "far data", self.grad)
        self._keep_unrecorded(_inputs.other_data(self.given, 3), "other data 3")

    def _other_length(self, step: int) -> Iterator[Inputs]:
        """What the model takes comes first; what it did not take is not tried again, in another mode either."""
        from . import _inputs
        known = self.other_size.outer if self.other_size is not None and step == 1 else None
        for inputs in itertools.chain([] if known is None else [known],
                                      _inputs.other_length(self.given, step, grid=self.grid)):
            sizes = tuple(t.shape for t in _inputs.tensors(inputs))
            if sizes not in self.refused_sizes:
                yield inputs
                self.refused_sizes.add(sizes)  # somebody wants another one

    def _record_sizes(self) -> None:
        from . import _inputs
        batches = Counted(_inputs.other_batch(self.base, 1))
        found = self._record_taken(batches, "other batch 1", "other batch", self.grad)
        if found is not None:
            self._keep_unrecorded(_inputs.other_batch(self.base, 3), "other batch 2")
        if self.other_size is not None:
            self.record(self.other_size)
            self._keep_unrecorded(self._other_length(3), "other length 2")
        for name, call, why in (("other batch", found, batches.none_taken),
                                ("other length", self.other_size, self.no_other_size)):
            if call is None:
                self.report.checks.append(Check(name, "skipped", why))
        if self.slow:
            return
        call = self._record_taken(_inputs.one_sample(self.base), "other batch 3", "one sample", self.grad)
        if call is not None:
            self.single = Call("one sample", call.inputs, self.needs_grad)

    def _keep_unrecorded(self, candidates: Iterator[Inputs], name: str, mode: str = "given") -> None:
        """Compared but not recorded: the evidence that what was recorded is general. Recorded after all if refused. In
        the other mode with gradients, too: mode, gradients and size are compared together."""
        if self.slow or not self.compares:
            return
        if mode == "given":
            call = self._first_taken(candidates, name, name, self.needs_grad, mode)
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
        end = time.thread_time() + (DRAWING if self.records else float("inf"))  # what a file says is tried again
        for draw in range(1, DRAWS + 1):
            if time.thread_time() > end:
                self.report.remarks.append(f"{draw - 1} of {DRAWS} other random draws are compared: the model is slow")
                return
            name = f"other draw {draw}"
            with contextlib.suppress(Exception):
                call = Call(name, self._inner(self.base, mode, self.needs_grad), self.needs_grad, mode, draw=draw)
                self.sequences.append([self.play(call, name)])
                self.unrecorded[name] = call

    def call(self, model: torch.nn.Module, inputs: Inputs) -> None:
        args, kwargs = self.ready(inputs)
        self.state.before_run(self.whole.training)
        model(*args, **kwargs)

    def _caches_of_data(self) -> tuple[Any, ...]:
        """Those that don't know the answer for another batch or length: what they keep depends on the inputs."""
        from . import _inputs
        caches = self.recorder.caches()
        known = [cache.cache_info().misses for cache in caches]
        for candidates in (_inputs.other_batch(self.given, 2), self._other_length(2)):
            for inputs in candidates:
                try:
                    self.call(self.whole, inputs)
                    break
                except Exception:
                    continue
        return tuple(cache for cache, misses in zip(caches, known) if cache.cache_info().misses != misses)

    # ---- recording anew ----

    @property
    def recording(self) -> tuple[Any, ...]:
        """What is recorded, to be kept while something else is."""
        return self.recorder, self.recorded, self.with_events

    @recording.setter
    def recording(self, kept: tuple[Any, ...]) -> None:
        self.recorder, self.recorded, self.with_events = kept

    def record_again(self, events: bool, calls: Sequence[Call] | None = None) -> None:
        """These calls, or those that were recorded. What there was stays where one of them fails."""
        self.progress("recording again" + ", with the calls of torch" * events)
        kept = self.recording
        try:
            self.recording = self._new_recorder(events=events), [], events
            for call in kept[1] if calls is None else calls:
                self.record(call)
        except Exception:
            self.recording = kept
            raise

    def record_with_calls(self) -> None:
        """With the calls of torch, if they are not recorded yet."""
        if not self.with_events:
            self.record_again(events=True)

    def record_also(self, names: Sequence[str]) -> None:
        """The calls of these checks: what no recorded run showed."""
        for name in names:
            if name in self.changes:
                self.record(self.changes[name][1])
                continue
            self.record(self.unrecorded.pop(name))
            if name == "other length 2":
                self._keep_unrecorded(self._other_length(5), "other length 3")

    def ways_after_a_first_call(self) -> list[tuple[Any, ...]]:
        """Makes a first call. What to empty before each recording after it: the caches that keep what depends on data,
        or all of them."""
        self.call(self.whole, self.given)
        kept = self.state.left_number()  # it may be a size of the first call's inputs
        return list(dict.fromkeys(() if kept else (self._caches_of_data(), self.recorder.caches())))

    def after_a_first_call(self, caches: tuple[Any, ...], stack: contextlib.ExitStack) -> Workshop | None:
        """Another recording, of the model after a first call; None if it gives something else then."""
        from . import _check
        warm = type(self)(self.whole, self.path, self.leaves, self.origin, self.progress)
        warm.caches, warm.cold, warm.full, warm.compares = caches, self, self.full, self.compares
        warm.several = self.several
        try:
            stack.enter_context(warm)
            warm.record_given(self.given)
            warm.record_more(self.more, "full" if self.full else self.compares)
        except Exception:
            return None
        warm.report.remarks.append("recorded after a first call: what the model sets up then is in place")
        return None if _check.difference(self.recorded_result, warm.recorded_result) else warm

    # ---- a text of it ----

    def written(self, as_calls: list[tuple[str, int]]) -> tuple[str, str, bytes, dict[str, Any]]:
        """The text, its root, the trace, and what was noted on the way. as_calls: functions (file, line) that are
        written as the calls of torch that they made."""
        from ._modes import known_operators, known_records, plain_train
        from ._pellucid import synthesise
        from ._rates import known_rates
        if self.state.writes_twins:
            raise SkeletonError("a run writes into a tensor of the model that lies in the memory of another one (a "
                                "view of a buffer, .data of another weight); in a file each has its own: make one of "
                                "the other")
        trace = self.recorder.log_bytes()
        if self.class_facts is None:
            self.class_facts = [*plain_train(self.model, self.state.restore), *known_records(),
                                *known_operators(), *known_rates(self.model),
                                *(["numbers by name"] if _numbers_by_name else [])]
        source, root, synthesis = synthesise(trace, as_calls, self.class_facts)
        if self.several is not None:
            source = self.several.called_directly(source, root)
        return source, root, trace, synthesis

    def compared(self, source: str, root: str) -> list[Check]:
        """All checks of a text."""
        self.progress("verifying")
        start = time.perf_counter()
        self.state.restore()
        devices = self.devices(source)
        checks = self.verified(source, root, self._packages) + self.report.checks + devices
        if self.cold is not None and Report(checks).good:
            checks.append(self.cold._as_given(source, root))
        self.took("verify", start)
        return checks

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

    def devices(self, source: str) -> list[Check]:
        """A text that names a device is run on the meta device; why not, if that can't be compared."""
        from . import _attacks
        try:
            why = names_device(source)
        except SyntaxError:
            return []  # the referee's to say
        if why and not any(row["name"] == "device" for rows in self.sequences for row in rows) and not self.no_meta:
            self.no_meta = [found] if (found := _attacks.on_another_device(self, why)) else []
        return self.no_meta if why else []

    def varied(self, label: str) -> list[tuple[int, int]]:
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


def workshop_for(device: str | None) -> type[Workshop]:
    if device is None:
        return Workshop
    from ._structure import MetaWorkshop
    return MetaWorkshop
