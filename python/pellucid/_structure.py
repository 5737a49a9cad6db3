"""Comparison without values: the original and its skeleton make the same ATen calls on the meta device.

Both run at the same concrete sizes on tensors without elements (_meta.py). Every ATen call is a row: the overload, its
arguments (tensors by what made them, constants by their bits), dtypes, shapes and strides of what comes out. The rows
of both are compared as --prove compares them. What is shown is this and nothing of values: a kernel that is given the
same arguments gives the same.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
import traceback
from typing import Any, Iterable, Sequence

import torch
from torch.utils import _pytree as pytree

from . import _check, _inputs, _prove
from ._meta import NoValues, OnMeta, hollowed, values_of, without_weights
from ._prove_log import Answers, Log, NotProvable, Ref, Sizes, Trace, _backward, bits_of, kind_of, place_of_caller
from ._refusals import SkeletonError
from ._verdict import Check
from ._verify import SEED, about, foreign_imports, modes_of
from ._workshop import Call, Workshop, as_inputs

LEVEL = "structure"
SLOWER = 3  # times a run, than one with values of a model that is called slow
NO_VALUES = "without values, on the meta device"


# ---- the log ----

class MetaLog(Log):
    """The ATen calls of a run on the meta device. What is computed for real leaves no row: it is a constant where it
    meets what is not."""

    def __init__(self) -> None:
        super().__init__({}, Answers(), Sizes(), float("inf"))

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        given = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        device = (kwargs or {}).get("device")
        if not any(t.is_meta for t in given) and (device is None or torch.device(device).type != "meta"):
            return function(*args, **(kwargs or {}))
        for t, described in zip(args, function._schema.arguments):
            if described.is_write and isinstance(t, torch.Tensor) and values_of(t) is not None:
                raise NotProvable(f"{place_of_caller()}: {function.name()} writes into a constant")
        return super().__torch_dispatch__(function, types, args, kwargs)

    def _result(self, function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return function(*args, **kwargs)

    def _asked(self, t: torch.Tensor) -> Any:
        raise NoValues(f"{place_of_caller()} asks what only elements can answer")

    def _form(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and id(value) not in self.refs:
            self.keep.append(value)
            known = values_of(value)
            if known is None:
                raise NotProvable(f"{place_of_caller()}: a tensor comes from outside of the log")
            return bits_of(known)
        return super()._form(value)


class Concrete(_prove.Terms):
    """Sizes are numbers: there is nothing to simplify."""

    def plain(self, value: Any) -> Any:
        return value


def traced(module: torch.nn.Module, inputs: _inputs.Inputs, grad: bool, gradients: bool) -> Trace:
    """The log of one call of a module that is on the meta device, with tensors there. gradients: with the backward."""
    log, given, state = MetaLog(), list(_inputs.tensors(inputs)), {}
    for number, t in enumerate(given):
        log.refs[id(t)] = Ref(("input", number))
        log.note(log.refs[id(t)], t)
    persistent = set(module.state_dict())
    named = (*_check.named_parameters_of(module, each=True), *_check.named_buffers_of(module, each=True))
    for name, t in sorted(named, key=lambda pair: pair[0]):  # tied ones have one name
        state[name] = t
        if name in persistent and id(t) not in log.refs:
            log.refs[id(t)] = Ref(("state", name))
            log.note(log.refs[id(t)], t)
    args, kwargs = inputs
    _check.seed_all(SEED)
    with torch.set_grad_enabled(grad), OnMeta(), log:
        form = _check.plain_form(module(*args, **kwargs))
        if gradients:
            _backward(form, {n: t for n, t in state.items() if isinstance(t, torch.nn.Parameter)}, log)
    written = _check.map_tensors(form, lambda t: ("plain", (log._form(t), kind_of(t))))
    return Trace(log.rows, written, [list(t.shape) for t in given], log.sizes, log.kinds, log.memory, False, log.keep)


# ---- the skeleton ----

def built(source: str, root: str, *place: str) -> tuple[torch.nn.Module, dict[str, Any]]:
    """The skeleton without numbers, and the names of its file. place: name and path of the module, if not usual."""
    with without_weights():
        namespace = _check.load_source(source, *place).__dict__
        module = namespace[root]()
    return hollowed(module), namespace


def verify(model: torch.nn.Module, source: str, root: str, sequences: Sequence[Sequence[dict[str, Any]]],
           extra: Iterable[str] = ()) -> list[Check]:
    """What the referee would find, as far as that can be found without values."""
    try:
        if foreign := foreign_imports(source, extra):
            return [Check("imports", "failed", f"imports {', '.join(foreign)}")]
    except SyntaxError as error:
        return [Check("build", "failed", f"line {error.lineno}: SyntaxError: {error.msg}")]
    checks: list[dict[str, Any]] = []
    made: dict[str, Any] = {}

    def build() -> None:
        made["module"], made["namespace"] = built(source, root)

    if not _check.run_check(checks, "build", build):
        return [Check(**row) for row in checks]
    module = made["module"]
    if _check.run_check(checks, "load", lambda: _state_difference(model, module)):
        _check.run_check(checks, "order", lambda: _order_difference(model, module))
        _check.run_check(checks, "ties", lambda: _ties_difference(model, module))
        _check.run_check(checks, "requires_grad", lambda: _flags_difference(model, module))
        for sequence in sequences:
            for row in sequence:
                _compare(checks, module, made["namespace"], row)
    return [Check(**row) for row in checks]


def _state_difference(model: torch.nn.Module, module: torch.nn.Module) -> str | None:
    """load_state_dict(strict=True), and dtypes, which that converts in silence."""
    state = model.state_dict()
    module.load_state_dict(state, strict=True)
    for name, t in module.state_dict().items():
        if t.dtype != state[name].dtype:
            return f"{name}: {state[name].dtype} expected, {t.dtype} found"
    return None


def _order_difference(model: torch.nn.Module, module: torch.nn.Module) -> str | None:
    pairs = zip(model.state_dict(), module.state_dict())
    return next((f"order of the keys: {pair}" for pair in pairs if pair[0] != pair[1]), None)


def _ties_difference(model: torch.nn.Module, module: torch.nn.Module) -> str | None:
    state = model.state_dict()
    want, got = ([group for names in _check.ties_of(m) if len(group := [n for n in names if n in state]) > 1]
                 for m in (model, module))
    return None if want == got else f"tied: {want} expected, {got} found"


def _flags_difference(model: torch.nn.Module, module: torch.nn.Module) -> str | None:
    got = {n: p.requires_grad for n, p in _check.named_parameters_of(module, each=True)}
    wrong = [n for n, p in _check.named_parameters_of(model, each=True) if got.get(n) is not p.requires_grad]
    return f"requires_grad of {', '.join(wrong[:3])}" if wrong else None


def _compare(checks: list[dict[str, Any]], module: torch.nn.Module, namespace: dict[str, Any],
             row: dict[str, Any]) -> None:
    """One run of the skeleton, beside that of the original."""
    doubts: list[str] = []

    def run() -> str | None:
        forms = (_check.map_tensors(row[part], _to_meta) for part in ("args", "kwargs"))
        args, kwargs = (_check.from_form(form, namespace) for form in forms)
        _check.set_modes(module, row["modes"])
        with _prove._as_it_was(module), contextlib.redirect_stderr(io.StringIO()):
            trace = traced(module, (args, kwargs), row["grad"], bool(row["gradients"]))
        if row.get("raises"):
            return f"the original raises {row['raises']}"
        found = _prove.difference(row["trace"], trace, Concrete(row["trace"], trace))
        if found is not None and not found.certain:
            doubts.append(found.text)
        return found.text if found is not None and found.certain else None

    _check.run_check(checks, row["name"], run, row.get("what", ""))
    if row.get("changed"):
        _check.judge_changed(checks[-1], bool(row.get("raises")))
    if row["gradients"] and checks[-1]["status"] == "passed":
        status, why = ("skipped", f"not shown to be equal: {doubts[0]}") if doubts else ("passed", "")
        name = "gradients" if row["name"] == "gradients enabled" else f"{row['name']}: gradients"
        checks.append({"name": name, "status": status, "detail": why[:300], "silent": False, "line": None})


def _to_meta(t: torch.Tensor) -> torch.Tensor:
    return t.detach().to("meta").requires_grad_(t.requires_grad)


# ---- the original ----

class MetaWorkshop(Workshop):
    """Inputs have their values as long as others are made of them, and lose them in the call."""

    level = LEVEL

    def ready(self, inputs: _inputs.Inputs) -> _inputs.Inputs:
        made: _inputs.Inputs = _inputs.map_values(inputs, _to_meta)
        return made

    def record(self, call: Call) -> None:
        first = self.recorded_result is None
        with OnMeta():
            super().record(call)
        if first:  # nothing to compare element by element
            self.recorded_result = _check.map_tensors(
                self.recorded_result, lambda t: ("plain", f"{t.dtype} {tuple(t.shape)}"))

    def play(self, call: Call, name: str, **what: Any) -> dict[str, Any]:
        with self.run_of(call):
            args, kwargs = _inputs.copied(call.inputs)
            row: dict[str, Any] = {
                "name": name, "modes": modes_of(self.model), "grad": call.grad,
                "gradients": (call.grad and what.get("gradients")) or None,
                "args": _check.plain_form(args), "kwargs": _check.plain_form(kwargs), "result_grads": [],
                "buffers": None, "trace": None, **{key: what[key] for key in ("changed", "what") if key in what}}
            start = time.perf_counter()
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    row["trace"] = traced(self.model, self.ready(call.inputs), call.grad, bool(row["gradients"]))
            except Exception as error:
                if not what.get("changed") or isinstance(error, (NoValues, NotProvable)):
                    raise
                row["raises"] = type(error).__name__
            compared = ["ATen calls", *(["gradients"] if row["gradients"] else [])]
            row["about"] = {**about(row, self.model, time.perf_counter() - start), "compared": compared}
        return row

    def record_given(self, inputs: _inputs.Inputs) -> None:
        self.given, self.makes_calls = _inputs.map_values(inputs, _with_values), True
        self.progress(f"recording {NO_VALUES}")
        try:
            given = self._record_first()
            self.progress("running the original")
            start = time.thread_time()
            with _inputs.Grid(self.model) as grid:
                self.add([self.play(Call("given", given.inputs, False), "recorded")])
        except (NoValues, NotProvable, NotImplementedError, RuntimeError) as error:
            raise SkeletonError(f"{_place_of(error)}the model can't run {NO_VALUES}: {_plain(error)}; give a "
                                          "smaller configuration, which can run with values") from error
        self.grid = grid.step(given.inputs)
        self._note_slow((time.thread_time() - start) * SLOWER)

    def record_more(self, more: Sequence[Any] | None, verified: bool | str = True) -> None:
        from . import _attacks
        self.more = more
        for number, item in enumerate(more or (), 1):
            name = f"more {number}"
            asked = item if isinstance(item, Call) else Call(name, as_inputs(item),
                                                                                self.grad)
            inputs = _inputs.map_values(asked.inputs, _with_values)
            call = Call(name, self._inner(inputs, asked.mode, asked.grad), asked.grad, asked.mode)
            self.add([self.play(call, name)])
            self.record(call)
        if more is not None and not more:
            self.may_record = False
            self._compare_others()
        else:
            self.progress("other sizes, train mode")
            self._find_other_size()
            self._compare_given()
            self._record_sizes()
            self._record_other_mode()
        _attacks.vary_given(self, False)
        for name in ("other data", "called again", "other weights", "float64"):
            _attacks.skip(self, name, NO_VALUES)

    def _compare_given(self) -> None:
        """The gradients of the given call."""
        if self.takes_grad:
            with contextlib.suppress(Exception):
                call = Call("given", self.recorded[0].inputs, True)
                self.add([self.play(call, "gradients enabled", gradients=True)])

    def verified(self, source: str, root: str, packages: Iterable[str]) -> list[Check]:
        return verify(self.model, source, root, self.sequences, packages)

    def devices(self, source: str) -> list[Check]:
        return []


def _with_values(t: torch.Tensor) -> torch.Tensor:
    return torch.zeros(t.shape, dtype=t.dtype).requires_grad_(t.requires_grad) if t.is_meta else _inputs.copy_tensor(t)


def _plain(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:240]}"


def _place_of(error: BaseException) -> str:
    """The author's line."""
    here = os.path.dirname(os.path.abspath(__file__)) + os.sep
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/torch/" not in f.filename
              and not f.filename.startswith(here)]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
