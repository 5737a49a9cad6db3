"""The referee attacks: runs that a user may make and that no recording shows, made on the original for the referee to
repeat.

Each function adds comparisons to a workshop, or says in the report why there is none. RULES (_verdict.py) says what
follows
from each. What costs a run of its own is run on one sample where the model takes that.
"""

from __future__ import annotations

import contextlib
import copy
import io
import time
from typing import TYPE_CHECKING, Any

import torch

from . import _check, _values, _inputs
from ._verdict import Check

if TYPE_CHECKING:
    from ._workshop import Workshop

GIVEN = 8  # values that the caller gives and that are changed, each once, by default
GIVEN_SECONDS = 2.0  # for these, by default
LARGE = 300_000_000  # elements of a model of which no second copy is made


def attack(work: Workshop, full: bool) -> None:
    """All attacks of the default set, or with `full` of the table."""
    vary_given(work, full)
    if work.slow and not full:
        for name in ("called again", "other weights", "float64"):
            skip(work, name, "the model is slow")
        return
    call_again(work)
    with_other_weights(work)
    if not full and _check.is_heavy(_check.parameters_of(work.model)):
        skip(work, "float64", "the weights are heavy: only with --verify=full")
    else:
        in_other_dtypes(work, ("float64", "half", "bfloat16") if full else ("float64",))
    if full:
        take_a_copy(work)
        without_gradients(work)


def skip(work: Workshop, name: str, why: str) -> None:
    work.report.checks.append(Check(name, "skipped", why))


def vary_given(work: Workshop, full: bool) -> None:
    """Every number, flag and text that the caller gives is changed once: the skeleton gives the same, or raises."""
    from ._workshop import Call
    tried, left = 0, []
    end = time.thread_time() + (GIVEN_SECONDS if work.records else float("inf"))  # what a file says is tried again
    given = work.recorded[0].inputs
    for candidates in _values.changes(given, work.model):
        if not candidates:
            continue
        if not full and (tried >= GIVEN or (tried and time.thread_time() > end)):
            left.append(candidates[0].text.partition("=")[0])
            continue
        tried += 1
        name, rows = f"given {tried}", []
        for change in candidates:
            call = Call(name, _values.with_value(given, change.path, change.new), work.needs_grad)
            with contextlib.redirect_stderr(io.StringIO()):
                try:
                    rows.append((change, call, work.play(call, name, changed=True, what=change.text)))
                except Exception:  # inputs that can't be copied or described
                    continue
            if not rows[-1][2].get("raises"):
                break
        if rows:
            change, call, row = next((r for r in rows if not r[2].get("raises")), rows[0])
            work.add([row])
            work.changes[name] = change, call
    if left:
        skip(work, f"given {tried + 1}", f"{', '.join(left[:6])}{' and more' if len(left) > 6 else ''}: "
                                         "only with --verify=full")


def call_again(work: Workshop, even_if_kept: bool = False) -> None:
    """Two calls in a row, of a model that keeps nothing: what the skeleton keeps shows in the second. Of others, they
    are recorded (see Workshop._record_next_call), unless one call alone is."""
    from ._verify import play_original
    if work.keeps_something and not even_if_kept:
        return
    call = work.small
    try:
        with work.run_of(call):
            rows = [play_original(work.model, name, *_inputs.copied(call.inputs), grad=work.needs_grad)[0]
                    for name in ("called", "called again")]
    except Exception as error:
        return skip(work, "called again", f"the original raises {type(error).__name__}")
    work.add(rows)


def _is_large(work: Workshop) -> bool:
    return bool(sum(p.numel() for p in _check.parameters_of(work.model)) > LARGE)


def _prepared(work: Workshop, name: str, steps: list[tuple[Any, ...]], inputs: Any, grad: bool) -> None:
    """A run after some steps, which are taken back afterwards: on the model itself, for copies of models whose closures
    hold the model are no copies."""
    from ._workshop import Call
    if _is_large(work):
        return skip(work, name, "the model is large")
    if any(isinstance(m, torch.jit.ScriptModule) for m in _check.modules_of(work.model)):
        return skip(work, name, "parts of the model are compiled and could not be put back")
    kept = [(p, p.data) for p in _check.parameters_of(work.model)]
    writes_twins = work.state.writes_twins
    call = Call(name, inputs, grad)
    try:
        with work.run_of(call, parameters=True), contextlib.redirect_stderr(io.StringIO()):
            for parameter, _ in kept:
                parameter.grad = None  # conversions would change it in place
            try:
                _check.prepared(work.model, [step for step in steps if step[0] != "deepcopy"])
                row = work.played(call, name, steps=steps)
            finally:  # first the memory, then what is in it
                for parameter, data in kept:
                    parameter.data = data
    except Exception as error:
        return skip(work, name, f"the original raises {type(error).__name__}")
    finally:
        work.state.writes_twins = writes_twins  # the steps have written, not the model
    work.add([row])


def with_other_weights(work: Workshop) -> None:
    copies = not _check.is_heavy(_check.parameters_of(work.model)) and _copies(work)
    steps: list[Any] = [*([("deepcopy",)] if copies else []), ("weights",), ("requires_grad_", False)]
    _prepared(work, "other weights", steps, work.small.inputs, work.takes_grad)


def in_other_dtypes(work: Workshop, names: tuple[str, ...]) -> None:
    for name in names:
        dtype = _check.DTYPES[name]

        def change(t: torch.Tensor, dtype: torch.dtype = dtype) -> torch.Tensor:
            return _inputs.copy_tensor(t).to(dtype) if t.is_floating_point() else _inputs.copy_tensor(t)

        tensors = (*_check.parameters_of(work.model), *_inputs.tensors(work.small.inputs))
        if not any(t.is_floating_point() for t in tensors):
            skip(work, name, "there is nothing in floating point")
            continue
        _prepared(work, name, [("to", name)], _inputs.map_values(work.small.inputs, change), work.needs_grad)


def on_another_device(work: Workshop, why: str) -> Check | None:
    """On the meta device nothing is computed, and where the results of factory calls lie shows what was frozen. Torch
    takes a second or more to get ready for it, so that this is done of texts that name a device."""
    from ._verify import about, modes_of
    call, name = work.small, "device"
    try:
        forms = [_check.map_tensors(_check.plain_form(part), _check.copy_input) for part in _inputs.copied(call.inputs)]
        with work.run_of(call), contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            _check.seed_all(call.seed)
            start = time.perf_counter()
            result, devices = _check.on_meta(work.model, *_inputs.map_values(call.inputs, _check.to_meta))
            row = {"name": name, "meta": True, "seed": call.seed, "modes": modes_of(work.model), "args": forms[0],
                   "kwargs": forms[1], "result": result, "devices": devices, "buffers": None, "grad": False}
            row["about"] = {**about(row, work.model, time.perf_counter() - start), "compared": ["devices", "shapes"]}
    except Exception as error:
        return Check(name, "skipped", f"{why}, and the original can't run on the meta device: {type(error).__name__}")
    work.add([row])
    return None


def _copies(work: Workshop) -> bool:
    try:
        copy.deepcopy(work.model)
        return True
    except Exception:
        return False


def take_a_copy(work: Workshop) -> None:
    if not _is_large(work) and _copies(work):
        _prepared(work, "deepcopy", [("deepcopy",)], work.small.inputs, work.needs_grad)
    else:
        skip(work, "deepcopy", "the original can't be copied" if not _is_large(work) else "the model is large")


def without_gradients(work: Workshop) -> None:
    if work.takes_grad:
        _prepared(work, "requires_grad_", [("requires_grad_", False)], work.small.inputs, True)
    else:
        skip(work, "requires_grad_", "the model does not run with gradients")
