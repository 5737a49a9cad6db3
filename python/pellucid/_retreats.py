"""From a recording to a text: plan -> attempt -> verdict -> rule -> next plan.

This is the only loop that tries again after something was written. RETREATS is its table: which verdicts a rule
answers, and how often. Each rule changes the plan and says why; what it says is in the report. The steps back of a
function, from its text to its calls to those who call it, are another table (src/trace/synthesise.c): they need the log
alone, and one attempt here goes through them. The rules here run the model, most of them to record more of it, and
judge by what a process with the text gave. That is why the loop is in Python.
"""

from __future__ import annotations

import contextlib
import enum
import time
from dataclasses import dataclass, field
from typing import Any, Callable

from ._guards import function_at, signature_of_forward, with_guards
from ._verdict import Check, Report
from ._workshop import Workshop

ATTEMPTS = 30  # of all recordings together


class Verdict(enum.IntEnum):
    """What became of an attempt, from the worst to the best."""

    REFUSED = 0  # there is no text
    LONGER = 1  # functions were written as their calls to make the text shorter, and it is not
    DRAFT = 2  # not compared yet: it may become shorter
    DIFFERS = 3  # a check forbids to hand it out
    WRITTEN = 4  # nobody wanted it compared
    NAMED = 5  # handed out, with a header that names what is not equal
    EQUAL = 6  # every check passed

    @property
    def is_good(self) -> bool:
        return self >= Verdict.NAMED


@dataclass
class Attempt:
    """What came of a plan: a text with the checks that were made of it, or the error that says why there is none."""

    work: Workshop
    verdict: Verdict = Verdict.REFUSED
    source: str = ""
    root: str = ""
    trace: bytes = b""
    checks: list[Check] = field(default_factory=list)
    synthesis: dict[str, Any] = field(default_factory=dict)
    guarded: range = range(0)  # lines that the plan's guards are on
    error: Exception | None = None

    def is_better(self, other: Attempt) -> bool:
        """The later one, where both are as good. Another recording must gain something."""
        if self.work is other.work:
            return self.verdict >= other.verdict
        mine, others = ((a.error is None, a.verdict.is_good, -len(_written_as_calls(a.synthesis)))
                        for a in (self, other))
        return mine > others

    @property
    def why(self) -> str:
        """What speaks against it, first of all."""
        if self.error is not None:
            return str(self.error)
        bad = sorted((c for c in self.checks if c.bad), key=lambda c: not c.forbids)
        return str(bad[0]) if bad else "nothing was equal"


@dataclass
class Plan:
    """How the next text is written. `work`: with which recording. `as_calls`: functions (file, line) that are written
    as the calls of torch that they made. `shorter`: more of them, if that makes the text shorter; None: not asked.
    `draft`: the text without these, and the recording that it is of. `ready`: a text that need not be written again.
    `guards`: assertions at the top of the root's forward, condition -> message. `used`: how often each rule was, with
    this recording. `warm`: the caches to be emptied before each recording after a first call, a tuple for each way
    that was not tried yet; None: the model as it was given. `open`: recordings after a first call."""

    work: Workshop
    as_calls: list[tuple[str, int]] = field(default_factory=list)
    shorter: list[tuple[str, int]] | None = None
    draft: tuple[Attempt, tuple[Any, ...]] | None = None
    ready: Attempt | None = None
    guards: dict[str, str] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    warm: list[tuple[Any, ...]] | None = None
    open: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def begin(self, work: Workshop) -> None:
        """Nothing that was decided for one recording is known of another."""
        self.work, self.as_calls, self.shorter, self.draft, self.ready, self.guards = work, [], None, None, None, {}
        self.used = {row.name: self.used.get(row.name, 0) for row in RETREATS if row.for_all}


@dataclass(frozen=True)
class Retreat:
    """A row of the table. `most`: how often with one recording, or with all of them (`for_all`). `rule` changes the
    plan and gives the reason; None: it knows nothing better."""

    name: str
    answers: frozenset[Verdict]
    most: int
    rule: Callable[[Plan, Attempt, Attempt], str | None]
    for_all: bool = False


def best_attempt(work: Workshop, verified: bool | str) -> tuple[Attempt, list[str]]:
    """The best that any plan gave, good or not, and why each other one was given up."""
    plan = Plan(work)
    reasons: list[str] = []
    remarks: list[str] = []
    with plan.open:
        best = attempt = _attempt(plan, verified)
        for _ in range(ATTEMPTS):
            reason = _next_plan(plan, attempt, best, remarks)
            if reason is None:
                break
            reasons.append(reason)
            attempt = _attempt(plan, verified)
            best = attempt if attempt.is_better(best) else best
        else:
            remarks.append(f"given up after {ATTEMPTS + 1} attempts")
    best.work.report.remarks += dict.fromkeys(remarks)
    if best.error is not None:
        raise best.error
    return best, reasons


def _next_plan(plan: Plan, attempt: Attempt, best: Attempt, remarks: list[str]) -> str | None:
    """The first row that knows better changes the plan; its reason. A rule that fails on the way knows nothing."""
    for row in RETREATS:
        if attempt.verdict not in row.answers:
            continue
        if plan.used.get(row.name, 0) == row.most:
            if row.most > 1 and not attempt.verdict.is_good:
                remarks.append(f"{row.name}: {row.most} times, and not more")
            continue
        try:
            if reason := row.rule(plan, attempt, best):
                plan.used[row.name] = plan.used.get(row.name, 0) + 1
                return reason
        except Exception as error:
            remarks.append(f"{row.name}: given up: {type(error).__name__}: {error}"[:300])
    return None


# ---- an attempt ----

def _attempt(plan: Plan, verified: bool | str) -> Attempt:
    work, made, plan.ready = plan.work, plan.ready, None
    if made is None:
        work.progress("writing")
        start = time.perf_counter()
        try:
            source, root, trace, synthesis = work.written(plan.as_calls + (plan.shorter or []))
        except Exception as error:
            return Attempt(work, error=error)
        finally:
            work.took("synthesise", start)
        made = Attempt(work, Verdict.DRAFT, source, root, trace, work.report.checks, synthesis)
        if plan.shorter is None and synthesis["roundabout"] and not work.slow and work.makes_calls:
            return made
        if plan.draft is not None and source.count("\n") >= plan.draft[0].source.count("\n"):
            made.verdict = Verdict.LONGER
            return made
    plan.draft = None
    if plan.guards and (changed := with_guards(made.source, made.root, plan.guards)):
        made.source, first = changed
        made.guarded = range(first, first + len(plan.guards))
    made.verdict = Verdict.WRITTEN
    if verified:
        made.checks = work.compared(made.source, made.root)
        report = Report(made.checks)
        made.verdict = Verdict.EQUAL if report.complete else Verdict.NAMED if report.good else Verdict.DIFFERS
    return made


def _written_as_calls(synthesis: dict[str, Any]) -> list[str]:
    """Methods of modules that are written as the calls they made, and with them all modules that they called: what a
    first call sets up (hooks behind a lock) may be all that could not be followed."""
    return [name for kind, name, *_ in synthesis.get("remarks", ()) if kind == "fallback" and "." in name]


# ---- rules: each changes the plan and says why, or says nothing ----

def _shorten(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    """Functions that compute a shape in many lines are written as the calls they made, if that is shorter."""
    work, roundabout = plan.work, list(attempt.synthesis["roundabout"])
    names = f"{len(roundabout)} function{'s' * (len(roundabout) > 1)} in a roundabout way"
    plan.draft, plan.shorter = (attempt, work.recording), roundabout
    try:
        work.record_with_calls()
    except Exception as error:  # some models can't be recorded that way: it was good without
        plan.draft, plan.shorter, plan.ready = None, [], attempt
        return f"{names}: their calls can't be recorded: {type(error).__name__}: {error}"[:300]
    return f"{names}: written as calls, if that is shorter"


def _keep_draft(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    if plan.draft is None:
        return None
    plan.ready, plan.work.recording = plan.draft
    plan.shorter, plan.draft = [], None
    return "not written as calls: " + (attempt.why if attempt.error is not None else "that is not shorter")


def _record_calls(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    """A function that can't be followed may still be written as the calls of torch that it made: these are recorded
    only where they are needed, because that takes time."""
    if plan.work.with_events or not plan.work.recorded:  # calls that somebody else made can't be made again
        return None
    plan.shorter = []
    plan.work.record_with_calls()
    return f"recorded with the calls of torch: {attempt.why}"


def _forget_traced(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    from . import _traced
    work = plan.work
    if not best.verdict.is_good or not any(call.traced for call in work.recorded):
        return None
    _traced.forget(work)
    work.report.remarks.append(f"torch.export takes the model and not this file: {attempt.why}"[:300])
    return f"not recorded as torch.export runs it: {attempt.why}"


BY_EXAMPLE = ("other length 2", "train: other batch", "train: other length", "eval: other batch", "eval: other length")


def _record_missing(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    """Records the calls that came by a path which no recorded run took, and those of other sizes for which what
    straight lines have by example did not hold. Another length takes their place as evidence. A value that the caller
    gives and that was taken for a constant is recorded with another value."""
    work = plan.work
    missing = [c for c in attempt.checks if c.name in work.unrecorded and (
        (c.status == "refused" and c.line not in attempt.guarded)
        or (work.with_events and c.status == "failed" and c.name in BY_EXAMPLE))]
    missing += [c for c in attempt.checks if c.bad and c.silent and c.name in work.changes and work.may_record
                and c.name not in {call.label for call in work.recorded}]
    if not missing:
        return None
    work.record_also([c.name for c in missing])
    return "recorded too: " + "; ".join(map(str, missing))


def _drop_shortcuts(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    if not plan.shorter:
        return None
    plan.shorter = []
    return f"no function is shortened to its calls: {attempt.why}"


def _write_as_calls(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    """The author's function whose text raised in the referee is written as the calls of torch that it made."""
    line = next((c.line for c in attempt.checks if c.bad and c.line is not None), None)
    name = function_at(attempt.source, line) if line is not None else None
    place = attempt.synthesis["origins"].get(name)
    if place is None or place in plan.as_calls:
        return None
    plan.work.record_with_calls()
    plan.as_calls.append(place)
    return f"{name} ({place[0]}:{place[1]}) is written as its calls: {attempt.why}"


def _assert_it(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    """What is still wrong is asserted at the top of the root's forward, if all of it can be. Where methods are called,
    that forward is not handed out."""
    if plan.work.several is not None:
        return None
    guards, left = _guards_for(plan.work, attempt)
    new = {condition: text for condition, text in guards.items() if condition not in plan.guards}
    if left or not new or with_guards(attempt.source, attempt.root, new) is None:
        return None
    plan.guards.update(new)
    return "asserted in the root's forward: " + "; ".join(new)


def _guards_for(work: Workshop, attempt: Attempt) -> tuple[dict[str, str], bool]:
    """Conditions under which what is wrong can't happen; whether something is left that has none."""
    from . import _values
    guards: dict[str, str] = {}
    left = False
    other = {row["name"] for rows in work.sequences for row in rows if "start" in row or (
        row["name"].startswith("other draw") and not work.whole.training)}
    for check in attempt.checks:
        run = check.name if check.name in work.changes else next(
            (name for name in other if check.name == name or check.name.startswith(name + ": ")), None)
        # The original raises and the skeleton does not: it does not look at what the original depends on.
        is_bad = check.bad or (check.status == "lenient" and run in work.changes)
        if not is_bad or (run not in work.changes and not check.forbids):
            continue
        signature = signature_of_forward(attempt.source, attempt.root) if run in work.changes else None
        condition = None
        if signature is not None:
            condition = _values.guard(work.changes[check.name][0], signature)
        elif run is not None and run not in work.changes:
            condition = "self.training" if work.whole.training else "not self.training"
        if condition is None:
            left = left or check.forbids
            continue
        mode = "eval" if work.whole.training else "train"
        guards[condition] = (f"not recorded: another value than in {condition}" if run in work.changes
                             else f"not covered: {mode} mode gives something else than the original's")
    return guards, left


def _forget_next_call(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    """What a second call does may be beyond us; then it is said to be not equal, and the rest is as without it."""
    work = plan.work
    kept = [call for call in work.recorded if not call.after]
    if best.verdict.is_good or len(kept) == len(work.recorded):
        return None
    work.record_again(work.with_events, kept)
    plan.begin(work)
    return f"a second call is not recorded: {attempt.why}"


def _record_traced(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    """torch.export takes the original and not the skeleton, for the original asks who runs it: both answers are
    recorded. A text that nothing speaks against stays the better one."""
    from . import _traced
    work = plan.work
    if work.traced_asked or not work.may_record or not work.makes_calls or work.slow or work.level:
        return None
    work.traced_asked = True
    if not _traced.is_missed(work, attempt):
        return None
    taken = _traced.compare(work)
    for call in taken:
        work.record(call)
    return "recorded as torch.export runs it: it can't follow what callers run" if taken else None


def _record_warm(plan: Plan, attempt: Attempt, best: Attempt) -> str | None:
    """The same after a first call: models and libraries set things up then that later calls only find there, such as
    hooks and registries. What caches keep of inputs is computed again in each recording; if that does not do, what any
    of them keeps: functions that ran when the model was built are seen running."""
    work = plan.work
    cold = work.cold or work
    last = best if work.cold is None else attempt
    as_calls = work.cold is None and bool(_written_as_calls(best.synthesis)) and not work.slow
    is_written = last.verdict.is_good or last.verdict == Verdict.WRITTEN
    if not cold.makes_calls or (is_written and not as_calls):
        return None
    if plan.warm is None:
        cold.progress("again, after a first call")
        try:
            plan.warm = cold.ways_after_a_first_call()
        except Exception:
            plan.warm = []
    reason = "functions are written as calls" if is_written else attempt.why
    while plan.warm:
        plan.open.close()  # another one, which did not do
        warm = cold.after_a_first_call(plan.warm.pop(0), plan.open)
        if warm is not None:
            plan.begin(warm)
            return f"recorded after a first call: {reason}"
    cold.state.restore()
    return None


_ALL = frozenset(Verdict)
_BAD = frozenset({Verdict.REFUSED, Verdict.DIFFERS})
_FOUND = frozenset({Verdict.DIFFERS, Verdict.NAMED})
_GOOD = frozenset({Verdict.NAMED, Verdict.EQUAL})

RETREATS = (
    Retreat("written as calls, to be shorter", frozenset({Verdict.DRAFT}), 1, _shorten),
    Retreat("the text before that", frozenset({Verdict.REFUSED, Verdict.LONGER}), 1, _keep_draft),
    Retreat("recorded with the calls of torch", frozenset({Verdict.REFUSED}), 1, _record_calls),
    Retreat("without the path of torch.export", _BAD, 1, _forget_traced),
    Retreat("more is recorded", _FOUND, 2, _record_missing),
    Retreat("no shorter functions", _BAD, 1, _drop_shortcuts),
    Retreat("a function is written as its calls", frozenset({Verdict.DIFFERS}), 6, _write_as_calls),
    Retreat("asserted", _FOUND | _GOOD, 4, _assert_it),  # what the original refuses and the text takes is no failure
    Retreat("without a second call", _BAD, 1, _forget_next_call),
    Retreat("the path of torch.export too", _GOOD, 1, _record_traced),
    Retreat("recorded after a first call", _ALL, 2, _record_warm, for_all=True),
)
