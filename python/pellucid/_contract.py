"""The header of a skeleton as a contract: what was given, what was compared together, what is asserted, what is open.

The same facts are three things: a paragraph for people, `report.to_dict()["contract"]`, and one comment line at the end
of the file, which `pellucid verify FILE --against SPEC` reads.
"""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._verdict import Report

MARK = "# pellucid: "
MAX_TEXT = 60  # characters of a value
SAME_CALLS = ("by structure, NOT by values: on the meta device the same ATen calls as the original (overloads, "
              "arguments, constants, dtypes, shapes, strides) on the recorded input")


# ---- runs in words ----

def mode_of(flags: dict[str, bool]) -> str:
    """Of a model in which single modules are in the other mode, the root's."""
    return "train" if flags[""] else "eval"


def parameter_names(model: Any, count: int) -> list[str]:
    """Names of the first positional parameters; what `*args` takes has a number."""
    try:
        parameters = list(inspect.signature(model.forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [*plain, *(f"argument {i + 1}" for i in range(len(plain), count))][:count]


def described(args: Any, kwargs: Any, model: Any) -> dict[str, str]:
    """Plain forms of the arguments, by parameter name."""
    positional = args[1]
    names = parameter_names(model, len(positional))
    return {**dict(zip(names, map(form_text, positional))), **{key[1]: form_text(form) for key, form in kwargs[1]}}


def form_text(form: Any) -> str:
    import torch
    if isinstance(form, torch.Tensor):
        return f"{str(form.dtype).removeprefix('torch.')}{'nested' if form.is_nested else list(form.shape)}"
    kind = form[0]
    if kind == "plain":
        return _short(repr(form[1]))
    if kind == "enum":
        return f"{form[1]}.{form[2]}"
    if kind == "slice":
        return "slice(" + ", ".join(map(form_text, form[1])) + ")"
    if kind in ("tuple", "list", "set"):
        return "[" + ", ".join(map(form_text, form[1])) + "]"
    if kind == "dict":
        return "{" + ", ".join(f"{form_text(k)}: {form_text(v)}" for k, v in form[1]) + "}"
    if kind in ("record", "object"):
        return f"{form[1]}(" + ", ".join(f"{k}={form_text(v)}" for k, v in form[2]) + ")"
    return "a part of an earlier result" if kind == "call" else f"a {form[1]}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT - 3] + "..."


# ---- the contract ----

def contract(report: Report) -> dict[str, Any]:
    """What was compared, run by run; what the skeleton asserts; what was not compared or did not hold."""
    given: dict[str, Any] = next((run["inputs"] for run in report.runs if run["name"] == "recorded"), {})
    statuses = {c.name: c.status for c in report.checks}
    runs = []
    for run in report.runs:
        row = {**run, "seconds": None, "status": statuses.get(run["name"], "skipped"),
               "failed": _bad_facets(report, run["name"])}
        if run["name"] != "recorded":
            row["inputs"] = {name: text for name, text in run["inputs"].items() if given.get(name) != text}
        runs.append({key: value for key, value in row.items() if value not in ({}, [], None)})
    return {
        "given": given, "runs": runs,
        "asserted": _whats(report, "guarded"), "lenient": _whats(report, "lenient"),
        "failed": {c.name: c.detail for c in report.failures},
        "not_compared": _not_compared(report),
        **({"methods": report.methods} if report.methods else {}),
        **({"proof": list(proof.evidence)} if (proof := report.proof) is not None and proof.kind == "proved" else {}),
        **({"config": report.config} if report.config is not None else {}),
        **({"reduced": report.reduced["changes"]} if report.reduced is not None else {}),
    }


def _bad_facets(report: Report, run: str) -> list[str]:
    """What a run left beside its result and what was not equal."""
    from ._verdict import FACETS
    names = {f"{run}: {facet}": facet for facet in FACETS}
    return [names[c.name] for c in report.checks if c.bad and c.name in names]


def _whats(report: Report, status: str) -> list[str]:
    return sorted({c.what or c.name for c in report.checks if c.status == status})


def in_words(report: Report) -> str:
    """One paragraph for the file's header: single runs, each under the mode that it was made in."""
    if all(c.status == "skipped" for c in report.checks):
        return "not run"
    parts = []
    if report.status("recorded") == "passed":
        parts.append(SAME_CALLS if report.level == "structure" else "bit-equal on the recorded input")
    if report.methods:
        parts.append("called: " + ", ".join(report.methods))
    parts += _groups(report)
    if not parts:
        parts.append("nothing is equal")
    if report.status("device") == "passed":
        parts.append("new tensors are put where the original puts them")
    if asserted := _whats(report, "guarded"):
        parts.append("asserted, not equal: " + ", ".join(asserted))
    if lenient := _whats(report, "lenient"):
        parts.append("the original raises and this does not: " + ", ".join(lenient))
    if report.proof is not None and report.proof.kind != "wrong":  # that is a failure, below
        parts.append(f"{report.proof.kind}: " + "; ".join(report.proof.evidence))
    if report.failures:
        parts.append("NOT: " + "; ".join(_faults(report)))
    if missing := _not_compared(report):
        parts.append("not compared: " + ", ".join(f"{name} ({why})" if why else name for name, why in missing.items()))
    return "; ".join(parts)


def _faults(report: Report) -> list[str]:
    """What failed, with the reason; several with one reason are one."""
    from ._verdict import base_name
    by_reason: dict[str, dict[str, None]] = {}
    for check in report.failures:
        name = f"{base_name(check.name)} [{check.what}]" if check.what else base_name(check.name)
        by_reason.setdefault(check.detail[:160], {})[name] = None
    return [", ".join(names) + (f" ({reason})" if reason else "") for reason, names in by_reason.items()]


def _groups(report: Report) -> list[str]:
    """Per mode the kinds of runs that passed, with their sizes. Runs of which a facet failed are not there."""
    from ._verdict import RULES, base_name
    statuses = {c.name: c.status for c in report.checks}
    failed = {base_name(c.name) for c in report.failures}
    said: dict[str, dict[str, list[str]]] = {}
    for run in report.runs:
        base = base_name(run["name"])
        kind = base.rpartition(": ")[2]
        phrase = RULES[kind].phrase if kind in RULES else ""
        if base == "gradients enabled" and report.status("gradients") == "passed":
            kind = "other length" if _size(run, report) else kind
            phrase = RULES[kind].phrase or "the recorded input"
        if (statuses.get(run["name"]) != "passed" or base in failed or not phrase or base in ("recorded", "device")
            or run.get("raises") or _bad_facets(report, run["name"])):
            continue
        with_gradients = "gradients" in run["compared"] and base not in ("other weights", "requires_grad_")
        mode = f"{run['mode']} mode" + (", gradients" if with_gradients else "")
        sizes = said.setdefault(mode, {}).setdefault("the recorded input" if base in ("train", "eval") else phrase, [])
        if run.get("what", phrase) != phrase:
            sizes.append(run["what"])
        elif kind in ("other batch", "other length") or (kind == "other data" and _only_other_sizes(report, statuses)):
            sizes.append(_size(run, report))
    return [f"{mode}: " + ", ".join(f"{phrase} ({', '.join(dict.fromkeys(sizes))})" if any(sizes) else phrase
                                    for phrase, sizes in kinds.items()) for mode, kinds in said.items()]


def _only_other_sizes(report: Report, statuses: dict[str, str]) -> bool:
    """Whether other data were compared at other sizes than the given one alone."""
    from ._verdict import base_name
    return not any(base_name(run["name"]) == "other data" and statuses.get(run["name"]) == "passed"
                   and not _size(run, report) for run in report.runs)


def _size(run: dict[str, Any], report: Report) -> str:
    """The shape of the first tensor that has another one than in the recorded call."""
    given: dict[str, Any] = next((r["inputs"] for r in report.runs if r["name"] == "recorded"), {})
    for name, text in run["inputs"].items():
        shapes, before = (re.findall(r"\w\[([\d, ]*)\]", t) for t in (text, given.get(name, "")))
        if other := [shape for i, shape in enumerate(shapes) if i >= len(before) or shape != before[i]]:
            return str(other[0]).replace(", ", "x")
    return ""


def _not_compared(report: Report) -> dict[str, str]:
    """What the default set has and was not run, with the reason; checks of the full set are not named one by one."""
    from ._verdict import FACETS, RULES, base_name
    ran = {base_name(c.name) for c in report.checks if c.status != "skipped"}
    skipped = {c.name: c for c in report.checks if c.status == "skipped"}
    shown = {"values": "there were none"} if report.level == "structure" else {}
    for rule in RULES.values():
        check = next((c for name, c in skipped.items() if base_name(name) == rule.name), None)
        unsaid = not rule.phrase or rule.when != "default" or rule.name in ("train", "eval", "more", *FACETS)
        if not unsaid and rule.name not in ran and (check is not None or rule.name != "given"):
            shown[rule.phrase] = check.detail if check is not None else ""
    modes = {run["mode"] for run in report.runs}
    for mode in ("train", "eval"):
        if report.runs and mode not in modes:
            shown[f"{mode} mode"] = skipped[mode].detail if mode in skipped else ""
    return shown


# ---- in the file ----

def with_contract(source: str, report: Report, root: str) -> str:
    """The source with its last line for programs: what `pellucid verify` needs to make the runs again."""
    lines = [line for line in source.rstrip("\n").split("\n") if not line.startswith(MARK)]
    text = json.dumps({"root": root, "verify": report.level, **contract(report)}, separators=(",", ":"), sort_keys=True)
    return "\n".join(lines).rstrip("\n") + f"\n{MARK}{text}\n"


def read_contract(source: str) -> dict[str, Any] | None:
    """What the file's last comment says, or None if it has none."""
    line = next((line for line in reversed(source.split("\n")) if line.startswith(MARK)), None)
    if line is None:
        return None
    try:
        found = json.loads(line[len(MARK):])
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("root"), str) else None
