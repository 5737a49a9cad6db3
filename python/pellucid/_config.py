"""`pellucid skeleton SPEC --config`: sizes become expressions of a Config, by evidence.

The model is built once more for each field, with that field changed, and a skeleton is made of each build. Where these
texts have other numbers than the first, `_config_join` finds the expression. The result is judged by the referee: the
original and the skeleton, at the same sizes, must be bit-equal, for each field alone and for several together. A field
that fails is a number again.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import time
import types
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Sequence

from . import _inputs
from ._config_fields import Family, family_of, flat
from ._config_fit import Number
from ._config_join import Build, Joined, join, resized
from ._contract import MARK, with_contract
from ._pellucid import Error
from ._specs import Subject
from ._verdict import base_name
from ._verify import SEED, _wrapped, play_original, verify, with_verdict

if TYPE_CHECKING:
    from ._skeleton import Skeleton

BUDGET = 240.0  # seconds of this process for builds; then the fields that are left stay numbers
MAX_FIELDS = 32
TEXTS = 2  # skeletons of one field's builds: where two are another program, more are, too
ROUNDS = 10  # of writing and judging
TOGETHER = 2  # configurations with several fields changed that must be equal
Inputs = tuple[tuple[Any, ...], dict[str, Any]]
Changes = dict[str, Number]


@dataclass
class Outcome:
    """What became of the fields. `alone`, `equal`: sizes at which the referee found both bit-equal, one field changed
    or several at once."""

    fields: dict[str, Number] = field(default_factory=dict)
    alone: dict[str, Number] = field(default_factory=dict)
    equal: list[Changes] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    also: dict[str, Changes] = field(default_factory=dict)  # models that it is, too, with these fields changed
    not_also: dict[str, str] = field(default_factory=dict)  # that it is not, with the reason
    builds: int = 0
    one_mode: str = ""  # in which alone sizes were compared, where the original does not run in the other
    seconds: float = 0.0
    dump: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"fields": self.fields, "alone": self.alone, "equal": self.equal, "constant": self.dropped,
                **({"also": self.also, "not also": self.not_also} if self.also or self.not_also else {}),
                "builds": self.builds, "mode": self.one_mode or "both", "seconds": round(self.seconds, 2)}

    def in_words(self) -> str:
        others = "".join(f"; NOT {name} ({why})" for name, why in self.not_also.items())
        if not self.fields:
            why = _first_reasons(self.dropped) or "the model has no sizes that can change"
            return f"Config: none; {why}{others}"
        text = ", ".join(f"{name}={value!r}" for name, value in self.alone.items())
        said = f"Config: bit-equal to the original built with one other size each ({text})"
        for changes in self.equal:
            said += "; with " + ", ".join(f"{name}={value!r}" for name, value in changes.items()) + " together"
        for name, changes in self.also.items():
            fields = ", ".join(f"{field}={value!r}" for field, value in changes.items())
            said += f"; to {name}, with Config({fields})"
        said += others
        if self.one_mode:
            said += f"; in {self.one_mode} mode alone"
        return said + "; other sizes were not compared"


def _first_reasons(dropped: Mapping[str, str], count: int = 3) -> str:
    rows = [f"{name}: {why}" for name, why in dropped.items() if why != UNREAD]
    return "; ".join(rows[:count]) + ("; …" if len(rows) > count else "")


UNREAD = "nothing depends on it"


def with_config(made: Skeleton, subject: Subject, again: Callable[[], Subject],
                progress: Callable[[str], None] = lambda text: None, others: Sequence[Subject] = ()) -> Outcome:
    """Gives the skeleton a Config, as far as the evidence goes; `again` makes the subject once more. others: models of
    the same class that it should be, too."""
    work = Fitting(made, subject, progress)
    work.others = others
    start = time.perf_counter()
    try:
        work.run(again)
    finally:
        work.outcome.seconds = time.perf_counter() - start
    outcome = work.outcome
    made.report.config = outcome.to_dict()
    made.source = with_contract(_with_paragraph(made.source, outcome.in_words()), made.report, made.root)
    return outcome


def _with_paragraph(source: str, text: str) -> str:
    """The header with a paragraph after the last one."""
    lines = source.split("\n")
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    lines[end:end] = _wrapped(text)
    return "\n".join(lines)


def body_of(source: str) -> str:
    """The text without its header and its last line."""
    return "\n".join(line for line in source.split("\n") if not line.startswith("#")).strip("\n") + "\n"


def steps(value: Number) -> list[Number]:
    """Other values of a field, those that most models take first. Widths keep what divides them."""
    if isinstance(value, float) and 0 < abs(value) < 0.005:
        return [0.01, 0.02, value / 2]  # smaller ones may change no bit of a result
    if isinstance(value, float):
        return [value / 2, value / 4, value * 0.75] if value else [0.25, 0.125]
    if value >= 48:
        return [value // 2 if value % 4 == 0 else value * 2, value * 2, value * 3, value + 1, value - 1]
    if value >= 8:
        return [value * 2, value // 2, value * 3, value + 1, value - 1]
    return [value + 1, value * 2, value + 2, value * 3, value - 1] if value > 0 else [1, 2]


class Fitting:
    def __init__(self, made: Skeleton, subject: Subject, progress: Callable[[str], None]):
        self.made, self.subject, self.progress = made, subject, progress
        self.outcome = Outcome()
        self.end = time.process_time() + BUDGET
        self.base_text: str | None = None
        self.others: Sequence[Subject] = ()
        self.verified = False  # whether texts are made with the retreats that verification leads to

    def run(self, again: Callable[[], Subject]) -> None:
        with _quiet():
            found = family_of(self.subject, again)
        if found is None or not found.fields:
            return
        self.family: Family = found
        if not self._same_again():
            return
        joined = self._joined()
        for _ in range(ROUNDS):
            if not joined.fields:
                break
            guilty = self._judge(joined)
            if not guilty and (why := self._accept(joined)):
                guilty = {name: why for name in joined.fields}
            if not guilty:
                self.outcome.fields = dict(joined.fields)
                self.outcome.dump = joined.dump()
                self._judge_others(joined)
                break
            self.outcome.dropped.update(guilty)
            joined = self._join()
        self.outcome.dropped.update({k: v for k, v in joined.dropped.items() if k not in self.outcome.dropped})
        if not self.outcome.fields:
            self.outcome.not_also = {other.origin: "there is no Config" for other in self.others}
            self.outcome.alone, self.outcome.equal = {}, []
            self.outcome.dropped.update({k: "no configuration was equal" for k in joined.fields})

    def _accept(self, joined: Joined) -> str:
        """The text with the Config takes the place of the other if all that was compared with that one is equal for it,
        too: the header is about the text that is handed out. Otherwise why not."""
        from ._again import verify_source
        from ._tree import tree
        made = self.made
        found = verify_source(joined.source, self.subject.model, self.subject.args, self.subject.kwargs,
                              full=made.report.level == "full", root=made.root,
                              draws=any(base_name(c.name) == "other draw" for c in made.report.checks))
        # Of some kinds there are as many runs as there was time for.
        before, now = ({base_name(c.name) for c in r.checks if c.status == "passed"} for r in (made.report, found))
        lost = sorted(before - now - {"proof"})
        if not found.good or lost:
            bad = next((str(c) for c in found.checks if c.bad), lost[0] if lost else "nothing could be compared")
            return f"with the Config the model itself is not equal: {bad}"[:200]
        made.report.checks, made.report.runs, proved = found.checks, found.runs, made.report.proof is not None
        made.report.proof = None
        made.source = with_verdict(_rejoined(made.source, joined.source), made.report.verdict)
        made.tree = tree(made.model).with_source(made.source)
        if proved:
            made.prove()
        return ""

    # ---- builds ----

    def _same_again(self) -> bool:
        """What is built again must be the model that the skeleton is of."""
        try:
            with _quiet():
                subject = self.family.build({})
        except Exception as error:
            self.outcome.dropped["the model"] = f"it can't be built again: {type(error).__name__}: {error}"[:200]
            return False
        shapes = [{k: tuple(v.shape) for k, v in m.state_dict().items() if hasattr(v, "shape")}
                  for m in (subject.model, self.subject.model)]
        if shapes[0] != shapes[1]:
            self.outcome.dropped["the model"] = "built again, it has other tensors"
            return False
        inputs = self.subject.args, self.subject.kwargs
        for self.verified in (False, True):
            self.base_text = self._text(self.subject, inputs)
            if self.base_text is not None and self._text(subject, inputs) == self.base_text:
                return True
        self.outcome.dropped["the model"] = "built again, it has another skeleton"
        return False

    def _text(self, subject: Subject, inputs: Inputs) -> str | None:
        from ._skeleton import skeleton
        from ._workshop import numbers_by_name
        self.outcome.builds += 1
        try:
            with _quiet(), numbers_by_name():
                made = skeleton(subject.model, *inputs, strict=False, verify=self.verified, progress=False)
        except Exception:
            return None
        return body_of(made.source)

    def _build(self, changes: Changes) -> tuple[Subject, Inputs] | None:
        """The model with these changes, with inputs that it takes."""
        with _quiet():
            try:
                subject = self.family.build(changes)
            except Exception:
                return None
            for inputs in self._inputs(subject, changes):
                if _runs(subject.model, inputs):
                    return subject, inputs
        return None

    def _inputs(self, subject: Subject, changes: Changes) -> Iterator[Inputs]:
        """As the spec makes them for this model, as they were, or with sizes that follow the fields."""
        given: Inputs = (self.subject.args, self.subject.kwargs)
        if subject.rebuild is None and subject.args:
            given = subject.args, subject.kwargs
        with contextlib.suppress(Exception):
            guessed = subject.guess()
            if guessed is not None and _shapes(guessed) != _shapes(given):
                yield guessed
        yield given
        sizes = {self.family.fields[name]: value for name, value in changes.items() if isinstance(value, int)}
        other = _inputs_resized(given, sizes)
        if other is not None:
            yield other

    def _moves(self, name: str, value: Number, base: Any) -> bool | None:
        """Whether anything of the model is other than it was; None: it can't be built so."""
        import torch
        for place in ("meta", "cpu"):
            try:
                with _quiet(), torch.device(place):
                    model = self.family.build({name: value}).model
            except Exception:
                continue
            return bool(snapshot(model) != base)
        return None

    def _joined(self) -> Joined:
        """One build for each field that something depends on, then some with several changed, then one text."""
        base_values = self.family.fields
        assert self.base_text is not None
        self.base = Build(dict(base_values), self.base_text)
        self.builds: list[Build] = []
        self.originals: dict[str, tuple[Changes, Subject, Inputs]] = {}
        with _quiet():
            shot = snapshot(self.family.build({}).model)
        tried, read = 0, read_later(self.subject.model)
        for name, value in base_values.items():
            for step in steps(value):
                moves = self._moves(name, step, shot)
                if moves is False and name.partition("[")[0] not in read:
                    self.outcome.dropped[name] = UNREAD
                if moves is not None:
                    break
            if name in self.outcome.dropped:
                continue
            tried += 1
            if tried > MAX_FIELDS or time.process_time() > self.end:
                self.outcome.dropped[name] = "not tried: there was no time for more builds"
                continue
            self.progress(f"building it with another {name}")
            self._try(name)
        return self._join()

    def _try(self, name: str) -> None:
        """A build with this field changed, of which the same program is written."""
        value = self.family.fields[name]
        why = "the model can't be built and run with another value"
        written = 0
        for step in steps(value):
            found = self._build({name: step}) if written < TEXTS else None
            if found is None:
                continue
            written += 1
            text = self._text(*found)
            if text is None:
                why = "no skeleton could be made with another value"
                continue
            build = Build({**self.family.fields, name: step}, text)
            alone = join(Build(dict(self.family.fields), self.base.text), [build], self.made.root)
            if name not in alone.fields and "another program" in alone.dropped.get(name, ""):
                why = alone.dropped[name]
                continue
            self.builds.append(build)
            self.originals[name] = {name: step}, *found
            return
        self.outcome.dropped[name] = why

    def _join(self) -> Joined:
        kept = {n: v for n, v in self.base.values.items() if n not in self.outcome.dropped}
        # Of a list, items that can't change stay what they are.
        base = Build(kept, self.base.text, {n: v for n, v in self.base.values.items() if "[" in n})
        builds = [Build({n: b.values[n] for n in kept}, b.text) for b in self.builds
                  if all(b.values[n] == self.base.values[n] for n in b.values if n not in kept)]
        hopeful = join(base, builds, self.made.root, strict=False)
        together = self._together(hopeful.fields, 1)
        if together is not None and time.process_time() < self.end:
            text = self._text(*together[1:])
            if text is not None:
                builds.append(Build({**kept, **together[0]}, text))
        return join(base, builds, self.made.root)

    def _together(self, fields: Iterable[str], turn: int) -> tuple[Changes, Subject, Inputs] | None:
        """A build with as many of the fields changed as the model takes, each by another step than alone."""
        changes: Changes = {}
        names = list(fields)
        for number, name in enumerate(names):
            choices = steps(self.family.fields[name])
            # What is judged has values that no expression was fitted to.
            changes[name] = choices[(turn + number) % min(3, len(choices)) if turn > 1 else turn % 2]
        found = self._build(changes)
        if found is not None:
            return changes, *found
        changes = {}
        best: tuple[Changes, Subject, Inputs] | None = None
        for name in names:
            if time.process_time() > self.end:
                break
            for step in steps(self.family.fields[name])[turn % 2:]:
                found = self._build({**changes, name: step})
                if found is not None:
                    changes = {**changes, name: step}
                    best = changes, *found
                    break
        return best if best is not None and len(best[0]) > 1 else None

    # ---- the referee ----

    def _judge(self, joined: Joined) -> dict[str, str]:
        """Fields that must go, with the reason; none if all is equal."""
        self.progress("comparing other sizes")
        self.outcome.alone, self.outcome.equal = {}, []
        why = self._differs(joined, {}, self.subject, (self.subject.args, self.subject.kwargs))
        if why:
            return {name: f"with the Config the model itself is not equal: {why}" for name in joined.fields}
        guilty: dict[str, str] = {}
        for name in joined.fields:
            changes, subject, inputs = self.originals[name]
            if why := self._differs(joined, changes, subject, inputs):
                guilty[name] = f"not equal at {changes[name]!r}: {why}"
            else:
                self.outcome.alone[name] = changes[name]
        if guilty:
            return guilty
        for turn in range(2, 2 + TOGETHER):
            found = self._together(joined.fields, turn)
            if found is None:
                continue
            if why := self._differs(joined, *found):
                return self._culprit(joined, found[0], why)
            self.outcome.equal.append(found[0])
        return {}

    def _changes_of(self, other: Subject) -> Changes:
        """The fields in which it differs, as far as its arguments say."""
        values = dict(flat(other.arguments))
        return {name: values[name] for name, value in self.family.fields.items()
                if name in values and values[name] != value}

    def _judge_others(self, joined: Joined) -> None:
        for other in self.others:
            changes = self._changes_of(other)
            lost = [name for name in changes if name not in joined.fields]
            why = f"{lost[0]} can't change" if lost else ""
            if not why:
                with _quiet():
                    inputs = next((i for i in self._inputs(other, changes) if _runs(other.model, i)), None)
                why = "it takes no inputs that were tried" if inputs is None else self._differs(
                    joined, changes, other, inputs)
            if why:
                self.outcome.not_also[other.origin] = why
            else:
                self.outcome.also[other.origin] = changes

    def _culprit(self, joined: Joined, changes: Changes, why: str) -> dict[str, str]:
        """The field that makes the difference when the fields are changed one after the other, found by halves."""
        names = list(changes)
        equal, differs = 0, len(names)  # as many of them changed
        while differs - equal > 1:
            middle = (equal + differs) // 2
            some = {name: changes[name] for name in names[:middle]}
            found = self._build(some)
            if found is not None and self._differs(joined, some, *found):
                differs = middle
            else:
                equal = middle
        return {names[differs - 1]: f"not equal together with others: {why}"}

    def _differs(self, joined: Joined, changes: Changes, subject: Subject, inputs: Inputs) -> str:
        """What the referee finds, in eval mode and in train mode; nothing if both are bit-equal."""
        from ._state import ModelState
        source = resized(joined.source, joined.config, {**joined.fields, **changes})
        model = subject.model
        training = model.training
        state, rows = ModelState(model), []  # batch norms learn in train mode: the next run begins as the first did
        for number, mode in enumerate((training, not training)):
            model.train(mode)
            state.before_run(mode)
            try:
                rows.append([play_original(model, "recorded" if not number else "train", *_inputs.copied(inputs),
                                           grad=False, seed=SEED, buffers=True)[0]])
            except Exception as error:
                if not number:
                    return f"the original raises {type(error).__name__}"
                self.outcome.one_mode = "train" if training else "eval"
            finally:
                state.restore()
        checks = verify(model, source, self.made.root, rows)
        bad = next((c for c in checks if c.bad), None)
        passed = {c.name for c in checks if c.status == "passed"}
        return str(bad)[:160] if bad is not None else "" if "recorded" in passed else "it was not compared"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Models print what they raise, and warn of sizes."""
    nowhere = io.StringIO()
    with contextlib.redirect_stderr(nowhere), contextlib.redirect_stdout(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _rejoined(source: str, body: str) -> str:
    """The header and the last line of one, the text of the other."""
    lines = source.split("\n")
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    marks = [line for line in lines[end:] if line.startswith(MARK)]
    return "\n".join([*lines[:end], "", body.strip("\n"), *marks, ""])


def _runs(model: Any, inputs: Inputs) -> bool:
    import torch
    args, kwargs = _inputs.copied(inputs)
    try:
        with torch.no_grad():
            model(*args, **kwargs)
    except Exception:
        return False
    return True


def _shapes(inputs: Inputs) -> list[tuple[int, ...]]:
    return [tuple(t.shape) for t in _inputs.tensors(inputs)]


def _inputs_resized(inputs: Inputs, sizes: Mapping[Number, Number]) -> Inputs | None:
    """Inputs whose sizes, but for the first, are as the fields that they were equal to are now."""
    import torch
    generator = torch.Generator().manual_seed(SEED)

    def other(t: Any) -> Any:
        if not isinstance(t, torch.Tensor) or t.dim() < 2:
            return t
        shape = [t.shape[0], *(int(sizes.get(n, n)) for n in t.shape[1:])]
        if shape == list(t.shape):
            return t
        if t.is_floating_point():
            return torch.randn(shape, generator=generator).to(t.dtype)
        return t.reshape(-1)[torch.randint(0, t.numel(), shape, generator=generator)]

    args, kwargs = tuple(map(other, inputs[0])), {k: other(v) for k, v in inputs[1].items()}
    changed = any(a is not b for a, b in zip((*args, *kwargs.values()), (*inputs[0], *inputs[1].values())))
    return (args, kwargs) if changed else None


def read_later(model: Any) -> set[str]:
    """Names of attributes that code beside the constructors reads: self.config.n_head in forward shows in nothing that
    a constructor made."""
    names: set[str] = set()
    todo: list[Any] = []
    files = {kind.__module__ for part in model.modules() for kind in type(part).__mro__
             if kind.__module__.partition(".")[0] not in ("torch", "builtins")}
    for value in (v for file in files if file in sys.modules for v in vars(sys.modules[file]).values()):
        todo += vars(value).values() if isinstance(value, type) and value.__module__ in files else [value]
    codes = [f.__code__ for f in map(inspect.unwrap, filter(callable, todo)) if isinstance(f, types.FunctionType)
             and f.__module__ in files and f.__name__ != "__init__"]
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return names


def snapshot(model: Any) -> list[Any]:
    """All that a constructor's numbers can show in: shapes, and plain attributes of each module."""
    rows: list[Any] = []
    for name, part in model.named_modules(remove_duplicate=False):
        plain = {k: repr(v) for k, v in vars(part).items() if isinstance(v, (int, float, str, tuple, list, type(None)))
                 and k != "training"}
        shapes = [(k, tuple(t.shape)) for k, t in (*part._parameters.items(), *part._buffers.items())
                  if t is not None]
        rows.append((name, type(part), plain, shapes))
    return rows
