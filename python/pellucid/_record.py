"""pellucid.record: several calls of a model, made by the user's own code, become one skeleton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Sequence

from ._names import renamed
from ._outermost import OutermostCalls
from ._progress import Progress, Wanted
from ._refusals import SkeletonError
from ._skeleton import Skeleton, _complaint, closing_line, finish
from ._verify import play_original
from ._workshop import Call, Workshop

if TYPE_CHECKING:
    import torch


class Recording(OutermostCalls):
    """The context manager that `record` returns.

        with pellucid.record() as r:
            model = Net(config)
            first = model(prompt)
            model(token, cache=first.cache)
        s = r.skeleton()

    Only outermost calls count: those of a model, not of its parts. The first module that is called is the
    model, unless one was given; calls of others run unrecorded. What the calls change in the model stays
    changed, as without pellucid.
    """

    def __init__(self, model: torch.nn.Module | None = None, *, origin: str = ""):
        super().__init__()
        self.model = model
        self.origin = origin
        self.calls: list[Call] = []
        self._results: list[Any] = []
        self._workshop: Workshop | None = None
        self._modes: list[dict[Any, bool]] = []  # of every module, at each call

    def __enter__(self) -> Recording:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        if self._workshop is not None:
            self._workshop.stance.close()
        self.close()

    def concerns(self, module: torch.nn.Module) -> bool:
        return self.model is None or module is self.model

    def called(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import torch

        from . import _inputs
        from ._check import modules_of
        if self._workshop is None:
            self.model = module
            self._workshop = Workshop(module, None, (), self.origin, lambda text: None).__enter__()
            self._workshop.state.before_run(module.training)
        inputs = _inputs.with_parts((args, kwargs), self._parts_of_results())
        call = Call(f"call {len(self.calls) + 1}", inputs, torch.is_grad_enabled())
        modes = {m: m.training for m in modules_of(module)}
        with self._workshop.stand_ins.installed():
            result = self._workshop.recorder.run(call.label, args, kwargs)
        self.calls.append(call)  # one that raises is not repeated
        self._modes.append(modes)
        self._results.append(result)
        return result

    def _parts_of_results(self) -> dict[int, Any]:
        """The objects in earlier results, by id: they stay themselves where a later call is given them."""
        return {i: _follow(self._results[form[1]], form[2]) for i, form in _places(self._results).items()}

    def skeleton(self, *, strict: bool = True, verify: bool = True, progress: Wanted = None,
                 verified: bool | None = None) -> Skeleton:
        """Writes and verifies the skeleton of what was recorded: the same calls, in the same order."""
        verified = verify if verified is None else renamed("skeleton", "verified", "verify", verified)
        if self._workshop is None or not self.calls:
            raise SkeletonError("no call of a model was recorded")
        from ._state import ModelState, RandomState, compiled_as_written
        work = self._workshop
        after, random_after = ModelState(work.model), RandomState()
        after.before_run(work.model.training)
        try:
            with compiled_as_written(work.whole), Progress(progress) as work.progress:
                if verified:
                    work.sequences.append(self._replay(work))
                made = finish(work, verified)
                work.progress.close(closing_line(made, verified))
        finally:
            after.restore()
            random_after.restore()
        if strict and verified and not made.report.good:
            raise SkeletonError(_complaint(made.report), made)
        return made

    def _replay(self, work: Workshop) -> list[dict[str, Any]]:
        """The calls made once more on the original, from the state before the first, for the referee to repeat."""
        from . import _inputs
        work.state.restore()
        work.state.before_run(work.model.training)
        sequence: list[Any] = []
        results: list[Any] = []
        for number, (call, modes) in enumerate(zip(self.calls, self._modes)):
            # Parts of the recorded results stand for the same parts of the replayed ones.
            parts = {i: _follow(results[form[1]], form[2]) for i, form in _places(self._results[:number]).items()}
            args, kwargs = _inputs.with_parts(call.inputs, parts)
            for module, training in modes.items():
                module.training = training
            name = "recorded" if number == 0 else f"recorded, call {number + 1}"
            row, result = play_original(work.model, name, args, kwargs, grad=call.grad, found=_places(results))
            sequence.append(row)
            results.append(result)
        work.state.restore()
        return sequence


def _places(results: Sequence[Any]) -> dict[int, tuple[Any, ...]]:
    """ids of the objects in the results of calls -> where they are, as plain forms."""
    found: dict[int, tuple[Any, ...]] = {}
    for number, result in enumerate(results):
        _note_parts(result, number, [], found)
    return found


def _note_parts(value: Any, number: int, steps: list[tuple[str, Any]], found: dict[int, tuple[Any, ...]],
                depth: int = 0) -> None:
    import dataclasses

    import torch
    if depth > 8 or value is None or isinstance(value, (bool, int, float, str, bytes)):
        return
    if isinstance(value, (torch.Tensor, list, dict, tuple)) or hasattr(value, "__dict__"):
        found.setdefault(id(value), ("call", number, list(steps)))
    if dataclasses.is_dataclass(value):
        for f in dataclasses.fields(value):
            _note_parts(getattr(value, f.name, None), number, [*steps, (".", f.name)], found, depth + 1)
    elif isinstance(value, dict):
        for k, v in value.items():
            _note_parts(v, number, [*steps, ("[", k)], found, depth + 1)
    elif isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            _note_parts(v, number, [*steps, ("[", i)], found, depth + 1)


def _follow(value: Any, steps: Iterable[Sequence[Any]]) -> Any:
    for kind, key in steps:
        value = getattr(value, key) if kind == "." else value[key]
    return value


def record(model: torch.nn.Module | None = None, *, origin: str = "") -> Recording:
    """Records the calls of a model that are made inside the `with` block; see Recording."""
    return Recording(model, origin=origin)
