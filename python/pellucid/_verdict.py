"""What may be said of a skeleton: one table of checks, and one place that makes a verdict of their results.

An answer is one of four kinds and can't be made without its evidence:

    proved   holds for all inputs that meet the stated conditions
    checked  held in the runs that are listed
    unknown  with the reason
    wrong    with what differs

Answers combine by the worst. Headers, `good`, `complete` and exit codes are functions of the report's checks and of
RULES; nothing else decides them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Iterable

from ._result import Result

KINDS = ("proved", "checked", "unknown", "wrong")  # from the best to the worst


@dataclass(frozen=True)
class Answer:
    """One of KINDS with its evidence: conditions, runs, reasons or differences."""

    kind: str
    evidence: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is no kind of answer")
        if not self.evidence or not all(isinstance(e, str) and e for e in self.evidence):
            raise ValueError(f"an answer of the kind {self.kind!r} needs its evidence")


def proved(*conditions: str) -> Answer:
    return Answer("proved", conditions)


def checked(*runs: str) -> Answer:
    return Answer("checked", runs)


def unknown(*reasons: str) -> Answer:
    return Answer("unknown", reasons)


def wrong(*differences: str) -> Answer:
    return Answer("wrong", differences)


def combined(answers: Iterable[Answer]) -> Answer:
    """The worst kind, with all that says so."""
    answers = list(answers)
    if not answers:
        return unknown("nothing was asked")
    kind = max((a.kind for a in answers), key=KINDS.index)
    return Answer(kind, tuple(dict.fromkeys(e for a in answers if a.kind == kind for e in a.evidence)))


# ---- the table ----

REFUSE, NAME = "refuse", "name"


@dataclass(frozen=True)
class Rule:
    """One kind of check. `when`: always (part of another run, or free), default, needed (by some models), full (only
    with --verify=full), prove (only with --prove).
    `silent`: what follows where the skeleton gave something else; `loud`: what follows where it raised. refuse: the
    skeleton is not handed out. name: the header names it as not covered. `phrase`: how the header puts it."""

    name: str
    varies: str
    when: str
    silent: str
    loud: str
    phrase: str = ""


RULES = {rule.name: rule for rule in (
    # of the file
    Rule("recording", "nothing: the recorder must not be noticed", "always", REFUSE, REFUSE),
    Rule("first call", "nothing: the model as it was given, where it was recorded after a first call", "always", REFUSE,
         REFUSE),
    Rule("imports", "nothing: torch, numpy and kept packages alone", "always", REFUSE, REFUSE),
    Rule("build", "nothing", "always", REFUSE, REFUSE),
    Rule("load", "nothing: strict", "always", REFUSE, REFUSE),
    Rule("train()", "nothing: train() and eval() of its own can be called", "always", REFUSE, REFUSE),
    Rule("claims", "nothing: what the file's contract says (pellucid verify)", "always", REFUSE, NAME),
    Rule("order", "nothing: order of the state_dict's keys", "always", NAME, NAME),
    Rule("ties", "nothing: parameters that are one tensor", "always", NAME, NAME),
    Rule("requires_grad", "nothing: flags of the parameters", "always", NAME, NAME),
    Rule("events", "nothing: the calls of torch, in order", "default", NAME, NAME),
    Rule("proof", "all sizes: the ATen calls of both forwards (--prove)", "prove", REFUSE, REFUSE),
    # what one run leaves beside its result
    Rule("arguments", "nothing: what the run left in the caller's tensors, lists and objects, where it changed them",
         "always", REFUSE, NAME),
    Rule("buffers", "nothing: buffers and moved parameters after the run", "always", NAME, NAME),
    Rule("generators", "nothing: torch's, Python's and numpy's generators after the run", "always", REFUSE, NAME),
    Rule("gradients", "nothing: gradients of every parameter", "always", REFUSE, NAME, "gradients"),
    Rule("methods", "train() or eval() called as a method: flags of all modules", "always", REFUSE, NAME,
         "train() and eval()"),
    # runs
    Rule("recorded", "nothing", "always", REFUSE, REFUSE, "the recorded input"),
    Rule("recorded: buffers", "nothing: buffers after the recorded run", "always", REFUSE, REFUSE),
    Rule("gradients enabled", "gradients on", "default", REFUSE, NAME),
    Rule("more", "inputs of the caller's", "default", REFUSE, REFUSE, "further inputs"),
    Rule("other data", "values of tensors", "default", REFUSE, REFUSE, "other data"),
    Rule("other batch", "batch size", "default", REFUSE, REFUSE, "other batch sizes"),
    Rule("other length", "length, or height and width", "default", REFUSE, NAME, "other lengths"),
    Rule("called", "nothing: the first of two calls", "default", NAME, NAME),
    Rule("called again", "a second call in a row", "default", REFUSE, NAME, "a second call"),
    Rule("other draw", "random numbers, in train mode", "default", REFUSE, NAME),
    Rule("train", "mode, entered by train(); with gradients", "default", REFUSE, NAME, "train mode"),
    Rule("eval", "mode, entered by eval(); with gradients", "default", REFUSE, NAME, "eval mode"),
    Rule("train: other batch", "mode, gradients and batch size together", "default", REFUSE, NAME),
    Rule("train: other length", "mode, gradients and length together", "default", REFUSE, NAME),
    Rule("eval: other batch", "mode, gradients and batch size together", "default", REFUSE, NAME),
    Rule("eval: other length", "mode, gradients and length together", "default", REFUSE, NAME),
    Rule("given", "one number, flag or text that the caller gives, or an argument left out", "default", REFUSE, NAME,
         "other given values"),
    Rule("other weights", "state_dict with other weights; requires_grad_(False)", "default", REFUSE, NAME,
         "other weights"),
    Rule("float64", "to(torch.float64), inputs too", "default", REFUSE, NAME, "float64"),
    Rule("device", "meta device: where each factory call puts its result", "default", NAME, NAME,
         "devices of new tensors"),
    Rule("traced", "torch.compiler.is_compiling() and is_exporting() say yes, where that was recorded", "needed",
         REFUSE, NAME, "the path that torch.export takes"),
    Rule("deepcopy", "copy.deepcopy of the skeleton", "full", REFUSE, NAME, "deepcopy"),
    Rule("requires_grad_", "requires_grad_(False), gradients on", "full", REFUSE, NAME, "requires_grad_"),
    Rule("half", "half(), inputs too", "full", REFUSE, NAME, "float16"),
    Rule("bfloat16", "to(torch.bfloat16), inputs too", "full", REFUSE, NAME, "bfloat16"),
)}
FACETS = ("arguments", "buffers", "generators", "gradients", "methods")


def base_name(name: str) -> str:
    """Several checks of one kind are numbered: "other data 2", "recorded, call 2"."""
    return re.sub(r"(, call)? \d+(?=: |$)", "", name)


def rule_of(name: str) -> Rule:
    """The rule of a check. A check that the table does not have is held against the skeleton whatever it says."""
    base = base_name(name)
    if base in RULES:
        return RULES[base]
    facet = base.rpartition(": ")[2]
    return RULES[facet] if facet in FACETS else Rule(base, "unknown", "always", REFUSE, REFUSE)


# ---- results ----

# guarded: the skeleton's own assertion said that the call is not what was recorded, where that is an answer.
# lenient: the original raises, the skeleton does not.
STATUSES = ("passed", "failed", "refused", "guarded", "lenient", "differs", "skipped")


@dataclass
class Check:
    """One comparison. status: passed, failed, refused (the skeleton's own assertion fired), guarded, lenient, skipped;
    differs: the events are others, which alone is no fault. `silent`: the skeleton gave something, and it was wrong:
    worse than raising. `line`: the skeleton's line that raised. `what`: what was other than in the recorded call."""

    name: str
    status: str
    detail: str = ""
    seconds: float = 0.0
    silent: bool = False
    line: int | None = None
    what: str = ""

    @property
    def bad(self) -> bool:
        return self.status in ("failed", "refused")

    @property
    def forbids(self) -> bool:
        """Whether the skeleton may not be handed out because of it."""
        rule = rule_of(self.name)
        return self.bad and (rule.silent if self.silent else rule.loud) == REFUSE

    def __str__(self) -> str:
        text = f"{self.name} ({self.what})" if self.what else self.name
        return f"{text}: {self.detail}" if self.detail else text


@dataclass(repr=False)
class Report(Result):
    """What was compared and how it came out, with what the synthesis had to say. `runs`: what each run was: mode,
    gradients, shapes, dtypes, values, all together. `retreats`: what was tried and given up on the way, with the
    reason."""

    checks: list[Check] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    synthesis: dict[str, Any] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    retreats: list[str] = field(default_factory=list)
    proof: Answer | None = None
    level: str = "default"
    reduced: dict[str, Any] | None = None  # of level "structure": what a small model showed by values
    methods: list[str] = field(default_factory=list)  # that were recorded, where it was not forward alone
    config: dict[str, Any] | None = None  # which sizes can change, and where that was compared

    def status(self, name: str) -> str:
        """passed only if every check of that name passed."""
        found = [c.status for c in self.checks if base_name(c.name) == name]
        for worst in ("failed", "refused", "differs", "lenient", "guarded", "skipped", "passed"):
            if worst in found:
                return worst
        return "skipped"

    def shares(self) -> dict[str, float]:
        """What part of the time each check took, by name: the original's run and the skeleton's together."""
        seconds: dict[str, float] = {}
        for name, taken in (*((c.name, c.seconds) for c in self.checks),
                            *((run["name"], run.get("seconds") or 0.0) for run in self.runs)):
            seconds[name] = seconds.get(name, 0.0) + taken
        total = sum(seconds.values())
        return {name: taken / total for name, taken in seconds.items()} if total else {}

    @property
    def failures(self) -> list[Check]:
        return [c for c in self.checks if c.bad]

    @property
    def good(self) -> bool:
        """Whether the skeleton may be handed out: it loads, and no rule of the table forbids it."""
        return self.status("recorded") == "passed" and not any(c.forbids for c in self.checks)

    @property
    def complete(self) -> bool:
        return self.good and not self.failures

    @property
    def answer(self) -> Answer:
        """The worst over everything that was compared; what the header names as not covered counts as unknown."""
        ran = [c for c in self.checks if c.status != "skipped"]
        if not ran:
            return unknown("not run")
        found = [wrong(str(c)) for c in ran if c.forbids]
        if not found and self.status("recorded") != "passed":
            found.append(unknown("the recorded call was not compared"))
        found += [unknown(str(c)) for c in ran if c.bad and not c.forbids]
        found += [checked(c.name) for c in ran if c.status == "passed"] or [unknown("nothing passed")]
        return combined([*found, *([self.proof] if self.proof is not None and self.proof.kind != "unknown" else [])])

    @property
    def verdict(self) -> str:
        """One paragraph for the file's header."""
        from ._contract import in_words
        return in_words(self)

    def _summary(self) -> str:
        return self.verdict

    def to_dict(self) -> dict[str, Any]:
        from ._contract import contract
        answer = self.answer
        return {
            "good": self.good, "complete": self.complete, "verdict": self.verdict,
            "answer": {"kind": answer.kind, "evidence": list(answer.evidence)},
            "contract": contract(self),
            "checks": [{**vars(c), "rule": rule_of(c.name).name} for c in self.checks],
            "seconds": self.seconds, "remarks": self.remarks, "retreats": self.retreats,
            "synthesis": json.loads(json.dumps(self.synthesis)),  # pairs are lists there
            **({"methods": self.methods} if self.methods else {}),
            **({"config": self.config} if self.config is not None else {}),
            **({"reduced": self.reduced} if self.reduced is not None else {}),
        }

    def __str__(self) -> str:
        sign = {"passed": "ok", "failed": "FAILED", "skipped": "-"}
        lines = []
        shares = self.shares()
        for c in self.checks:
            if c.name.endswith((": generators", ": methods")) and c.status == "passed":
                continue  # each run has it
            text = " ".join(filter(None, (f"[{c.what}]" if c.what else "", c.detail)))
            share = f"{shares.get(c.name, 0.0):4.0%}" if c.status != "skipped" else ""
            lines.append(f"{c.name:28} {sign.get(c.status, c.status):8} {share:4} {text}".rstrip())
        lines += [f"note: {r}" for r in self.remarks]
        lines += [f"retreat: {r}" for r in self.retreats]
        lines += [f"{kind}: {text}" + (f" ({file}:{line})" if file else "")
                  for kind, text, file, line in self.synthesis.get("remarks", ()) if kind != "step"]
        lines.append("seconds: " + ", ".join(f"{k} {v:.2f}" for k, v in self.seconds.items()))
        return "\n".join(lines)
