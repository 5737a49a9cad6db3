"""The path of torch.export: what a model does where torch.compiler.is_compiling() says yes.

No call of a caller's takes it, so nothing shows it unless the question is recorded with both answers. That is done
where it is needed: a tracer can't follow the path that callers take, and follows the other one. Authors ask for that.
"""

from __future__ import annotations

import collections
import contextlib
import io
import logging
import warnings
from typing import TYPE_CHECKING, Any

import torch

from . import _check, _inputs

if TYPE_CHECKING:
    from ._refusals import Inputs
    from ._retreats import Attempt
    from ._workshop import Call, Workshop

QUESTIONS = (b"is_compiling", b"is_exporting", b"is_dynamo_compiling")


def is_missed(work: Workshop, attempt: Attempt) -> bool:
    """Whether a tracer can follow the original and not the skeleton, since the original asks who runs it. The cheap
    questions come first."""
    if not any(question in attempt.trace for question in QUESTIONS) or not _does_less(work):
        return False
    from ._skeleton import Skeleton
    call = work.little or work.recorded[0]  # not one sample: a size of one hides what depends on data
    skeleton = Skeleton(attempt.source, attempt.root, None, work.report, model=work.model).module()
    skeleton.train(work.model.training)
    if can_be_traced(skeleton, call.inputs):
        return False
    try:
        with work.run_of(call):
            return can_be_traced(work.model, call.inputs)
    finally:
        for cache in work.recorder.caches():  # a tensor without values must not stay in one
            cache.cache_clear()


def _does_less(work: Workshop) -> bool:
    """Whether the original makes a call of torch more often for callers than for a tracer. Where it only does more for
    the tracer, masks that are made in any case and the like, both can take the callers' path."""
    known = next((row for rows in work.sequences for row in rows if row.get("events") is not None), None)
    call = work.little or work.recorded[0]
    try:
        plain = known or work.play(_as(call, traced=False), "plain", events=True)
        traced = work.play(_as(call, traced=True), "traced", events=True)
    except Exception:  # what raises for a tracer can't be exported; some of torch's calls refuse to be watched
        return False
    counts = [collections.Counter(text.partition(" -> ")[0] for text, _ in row["events"] if not text.endswith("[]"))
              for row in (plain, traced)]
    return bool(counts[0] - counts[1])


def can_be_traced(module: torch.nn.Module, inputs: Inputs) -> bool:
    """Whether torch.export takes it, at these sizes: a run on tensors without values shows less."""
    args, kwargs = _inputs.copied(inputs)
    logger = logging.getLogger("torch")
    level = logger.level
    try:
        logger.setLevel(logging.CRITICAL)  # it says at length why it takes no more
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.export.export(module, tuple(args), dict(kwargs), strict=False)
    except Exception:
        return False
    finally:
        logger.setLevel(level)
    return True


def _as(call: Call, traced: bool, label: str = "") -> Call:
    from ._workshop import Call as Made
    return Made(label or call.label, call.inputs, False, call.mode, outer=call.outer, traced=traced)


def calls(work: Workshop) -> list[Call]:
    """Those that are made for a tracer, too: the given one, and one of each other size."""
    found = {call.label: call for call in reversed(work.recorded) if call.label in ("other batch", "other length")}
    return [_as(call, traced=True, label=f"traced {number}")
            for number, call in enumerate([work.recorded[0], *found.values()], 1)]


def compare(work: Workshop) -> list[Call]:
    """Adds the comparisons; the calls that the original takes."""
    taken = []
    for call in calls(work):
        with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
            work.add([work.play(call, call.label)])
            taken.append(call)
    return taken


def forget(work: Workshop) -> None:
    """The text is made as if nobody had asked."""
    work.recorded = [call for call in work.recorded if not call.traced]
    work.sequences = [rows for rows in work.sequences if not any(row.get("traced") for row in rows)]
    work.record_again(events=work.with_events)


def asked_again(work: Workshop, contract: dict[str, Any] | None) -> None:
    """The comparisons that a file's contract has."""
    if contract is not None and any(run["name"].startswith("traced") for run in contract.get("runs", ())):
        compare(work)
