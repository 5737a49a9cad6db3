"""pellucid.skeleton: a running model becomes a program that people can read."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

from ._contract import with_contract
from ._given import given
from ._names import renamed
from ._pellucid import Error
from ._progress import Progress, Wanted
from ._refusals import (Inputs, SkeletonError, part_of, readable, refuse_backward_hooks, refuse_functions,
                        refuse_other_state, refuse_unknown_leaves)
from ._result import Result, lines_of
from ._retreats import best_attempt
from ._verdict import Answer, Check, Report
from ._verify import start_referee, with_verdict
from ._workshop import Workshop, workshop_for

if TYPE_CHECKING:
    import torch

    from ._methods import Methods

__all__ = ["Skeleton", "SkeletonError", "skeleton"]


@dataclass(repr=False)
class Skeleton(Result):
    """A model written anew: `source` defines the class `root`, which is constructed without arguments."""

    source: str
    root: str
    tree: Any
    report: Report
    model: Any = field(repr=False, default=None)
    trace: bytes = field(repr=False, default=b"")
    given: list[Inputs] = field(repr=False, default_factory=list)  # what was recorded, and one sample of it
    # (tensor, dimension) of the inputs that the model was seen to take in other sizes, by the name of the check
    varied: dict[str, list[tuple[int, int]]] = field(repr=False, default_factory=dict)
    # what was recorded or compared in one call each, with the mode: True for train
    calls: list[tuple[Inputs, bool]] = field(repr=False, default_factory=list)

    def add_shapes(self, level: str = "few") -> None:
        """Comments with the shapes that the skeleton's own runs showed: "few", or "all" that are known."""
        from ._shapes import LEVELS, watched, with_shapes
        from ._state import RandomState
        if level not in LEVELS:
            raise ValueError(f"shapes are one of {', '.join(LEVELS)}, not {level!r}")
        if level == "none":
            return
        if not self.calls:
            self.report.remarks.append("no shapes: the calls that were recorded can't be made again")
            return
        random = RandomState()
        try:
            watch = watched(self.source, self.root, self.model.state_dict(), self.calls, self.varied)
            self.source = with_shapes(self.source, watch, level)
        except Exception as error:  # the skeleton is as good without them
            self.report.remarks.append(f"no shapes: {type(error).__name__}: {error}"[:300])
        finally:
            random.restore()

    def add_origins(self, level: str = "line") -> None:
        """Comments that say where each class and function is from: file and line, and the author's first sentence."""
        from ._origins import LEVELS, Origins, with_origins
        if level not in LEVELS:
            raise ValueError(f"origins are one of {', '.join(LEVELS)}, not {level!r}")
        if level != "none":
            self.source = with_origins(self.source, Origins(self.report.synthesis))

    def add_config(self, args: Any = (), kwargs: dict[str, Any] | None = None, *, also: Sequence[Any] = (),
                   progress: Callable[[str], None] = lambda text: None) -> None:
        """Sizes become fields of a Config where the model can be built again in other sizes and both are bit-equal
        then. `also`: further models of its class. What came of it is in the header and in `report.config`."""
        from ._config import with_config
        from ._config_fields import subject_of
        if not self.report.good:
            return
        inputs = given(self.model, args, kwargs)
        subject = subject_of(self.model, *inputs)
        if subject is None:
            self.report.remarks.append("no Config: the model can't be built again from what it keeps of its arguments")
            if also:
                raise SkeletonError(self.report.remarks[-1], self)
            return
        others = []
        for number, other in enumerate(also, 1):
            found = subject_of(other, *inputs)
            if found is None or type(other) is not type(self.model):
                raise SkeletonError(f"model {number} of also is not of the same class, or can't be built again", self)
            found.origin = f"model {number}"
            others.append(found)
        with_config(self, subject, lambda: subject, progress, others)

    def add_init(self, build: Callable[[], torch.nn.Module]) -> str:
        """Writes `init_weights(model)`: the calls that give the author's parameters their first values. `build` makes
        the model anew; it is watched. Gives what came of it, as the header says it."""
        from ._init import with_init
        return with_init(self, build)

    def line_map(self) -> dict[str, Any]:
        """Which lines of `source` are from which lines of the author's files: {"format", "definitions": [{"name",
        "lines", "file", "original", "pairs"}]}. `lines` and `original` are first and last lines of a class or
        function, `pairs` the lines in them that say the same."""
        from ._origins import Origins, line_map
        return line_map(self.source, Origins(self.report.synthesis))

    def prove(self) -> Answer:
        """Compares the ATen calls of both forwards on symbolic sizes; the answer is in the report and in the header."""
        from ._prove import prove
        if self.report.level == "structure":
            raise SkeletonError("a proof asks real runs what only data can answer: there are none on the meta device")
        if not self.given:
            raise SkeletonError("the inputs of the recorded call are not known")
        single = self.given[1] if len(self.given) > 1 else None
        answer = self.report.proof = prove(self.model, self.module(), self.given[0], single, varied=self.varied)
        status = {"proved": "passed", "wrong": "failed"}.get(answer.kind, "skipped")
        self.report.checks.append(Check("proof", status, "; ".join(answer.evidence), silent=status == "failed"))
        self.source = with_contract(with_verdict(self.source, self.report.verdict), self.report, self.root)
        return answer

    def save(self, path: str | os.PathLike[str]) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.source)

    def module(self) -> torch.nn.Module:
        """The skeleton as a live module, in eval mode, with the original's weights."""
        from . import _check
        from ._check import named_modules_of
        path = f"<skeleton {self.root} {id(self):x}>"
        name = f"pellucid_skeleton_{id(self):x}"
        if self.report.level == "structure":
            from ._structure import built
            module = built(self.source, self.root, name, path)[0]
        else:
            module = vars(_check.load_source(self.source, name, path))[self.root]()
        module.load_state_dict(self.model.state_dict(), strict=True)
        try:
            return module.eval()
        except AssertionError:  # an author's train() that is not written: the flags that it left in the original
            if self.model.training:
                raise
            flags = {name: part.training for name, part in named_modules_of(self.model, each=True)}
            for name, part in named_modules_of(module, each=True):
                part.training = flags.get(name, False)
            return module

    def to_dict(self) -> dict[str, Any]:
        return {"root": self.root, "source": self.source, **self.report.to_dict(), **self.tree.to_dict()}

    def _summary(self) -> str:
        return closing_line(self)

    def __str__(self) -> str:
        return self.source


def skeleton(model: torch.nn.Module, args: Any = (), kwargs: dict[str, Any] | None = None,
             more: Sequence[Any] | None = None, module: str | None = None, leaves: Iterable[type | str] = (),
             strict: bool = True, *, origin: str = "", verify: bool | str = True, progress: Wanted = None,
             verified: bool | str | None = None, prove: bool = False, device: str | None = None,
             shapes: str = "none", origins: str = "none", methods: Any = None, config: bool = False,
             also: Sequence[Any] = ()) -> Skeleton:
    """Records `model(*args, **kwargs)` and writes the program that ran.

    Args:
        args: a tuple or list of arguments, or the one argument itself; a dict whose keys `forward` takes holds
            keyword arguments
        more: further inputs to record: tuples of arguments, dicts of keyword arguments, or pairs of both.
            pellucid always adds its own: other data, another batch size and length where the model takes them,
            train mode. `more=[]` alone stops that: only the given call is recorded.
        module: only this part of the model, as "encoder.layer.0"
        leaves: classes to keep as they are, or their names, as "package.module.Class": the skeleton imports them
        strict: raise SkeletonError where the skeleton differs from the model
        verify: compare the skeleton with the model: True makes the bounded set of checks, "full" every one of
            the table, False none; `verified` is the old name
        prove: compare the ATen calls of both forwards on symbolic sizes, too: what holds for all sizes is in
            the header. It takes up to 30 s of CPU, more than the other checks for most models
        device: "meta": of a model too large to run. It is recorded on tensors without values, and compared call by
            call of ATen, not by values; the header says so. `without_weights` builds such a model
        shapes: "few" puts shapes into comments where a reader asks for them (inputs, after reshapes and products,
            results), "all" wherever they are known. A size is a number, or a symbol that was right in every run
        origins: "line" puts a comment above each class and function: the file and line that it is from, and what
            its docstring begins with
        methods: {name: inputs, or a list of inputs}: methods to record instead of `forward`, or beside it where
            args or kwargs are given; inputs are as in `more`. Other data, batch sizes, lengths and the other mode
            are tried for the first inputs of each
        config: build the model again in other sizes, from the configuration object or the arguments that it keeps, and
            write the sizes that can change as a Config. Each is compared; see `report.config`
        also: models of the same class that the file must be, too, with another Config (config=True)
        progress: by default one line on a terminal or in a notebook; False for none, or a callable that takes
            each step
    """
    verified = verify if verified is None else renamed("skeleton", "verified", "verify", verified)
    if device not in (None, "meta"):
        raise ValueError(f"device is 'meta' or left out, not {device!r}: a model runs where its parameters are")
    if device and (prove or verified == "full"):
        raise ValueError("on the meta device calls are compared at the sizes that are tried: leave out "
                         f"{'prove' if prove else 'verify=full'}")
    several = None
    if methods:
        if device or prove or module or more is not None:
            raise ValueError("several methods are recorded alone: leave out device, prove, module and more "
                             "(give a method a list of inputs)")
        from ._methods import several_of
        several = several_of(model, methods, given(model, args, kwargs))
    with Progress(progress) as shown:
        made = _skeleton(model, given(model, args, kwargs), more, module, _classes(leaves), origin, verified, shown,
                         device, several)
        if prove and made.report.good:
            shown("comparing the calls of torch for all sizes")
            made.prove()
        if config or also:
            made.add_config(*given(model, args, kwargs), also=also, progress=shown)
        made.add_shapes(shapes)
        made.add_origins(origins)
        shown.close(closing_line(made, verified))
    if strict and verified and not made.report.good:
        raise SkeletonError(_complaint(made.report), made)
    return made


def _classes(leaves: Iterable[type | str]) -> tuple[type, ...]:
    """The classes that are named."""
    from ._specs import class_named
    if isinstance(leaves, (str, type)):
        raise TypeError(f"leaves is a list of classes or of their names, not {leaves!r} alone")
    return tuple(class_named(leaf) if isinstance(leaf, str) else leaf for leaf in leaves)


def closing_line(made: Skeleton, verified: bool | str = True) -> str:
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
              origin: str, verified: bool | str, progress: Callable[[str], None], device: str | None,
              several: Methods | None = None) -> Skeleton:
    """The best that could be made, good or not; raises where nothing could."""
    from ._wrappers import unwrapped, with_load_line
    wrapped, prefix = model, unwrapped(model)[1]
    model = readable(model, inputs, device)
    if several is not None:
        model, inputs, more = several.module, several.inputs[0], several.inputs[1:] or None
    refuse_functions(inputs)
    refuse_backward_hooks(part_of(model, module) if module else model)
    refuse_unknown_leaves(model, leaves)
    refuse_other_state(part_of(model, module) if module else model, leaves)
    work = workshop_for(device)(model, module, leaves, origin, progress)
    work.full, work.compares, work.several = verified == "full", bool(verified), several
    if verified and not device:
        start_referee()  # it imports torch while the model runs
    with work:
        work.record_given(inputs)
        work.record_more(more, verified)
        try:
            made = finish(work, verified)
        except Exception as error:
            raise error if type(error) is not Error else SkeletonError(str(error)) from None
    if several is not None:
        several.handed_out(made)
    if prefix and not module:
        made.source = with_load_line(made.source, prefix, list(wrapped.state_dict()))
    return made


def _complaint(report: Report) -> str:
    bad = sorted(report.failures, key=lambda c: not c.forbids)
    return "the skeleton differs from the model: " + (str(bad[0]) if bad else "nothing could be compared")


def finish(work: Workshop, verified: bool | str) -> Skeleton:
    """The best text of what was recorded, with all that was found out about it."""
    from ._tree import tree
    best, retreats = best_attempt(work, verified)
    work, report = best.work, best.work.report
    report.checks, report.synthesis = best.checks, best.synthesis
    steps = (text for kind, text, *_ in best.synthesis["remarks"] if kind == "step")
    report.retreats = retreats + list(dict.fromkeys(steps))  # code that is made in each run is as many functions
    report.runs = [row["about"] for rows in work.sequences for row in rows if verified and "about" in row]
    report.level = work.level or ("full" if work.full else "default")
    source = with_verdict(best.source, report.verdict)
    source = with_contract(source, report, best.root) if verified else source
    made = Skeleton(source, best.root, tree(work.model).with_source(source), report, work.model, best.trace)
    made.given = [call.inputs for call in (*work.recorded[:1], *([work.single] if work.single else []))]
    made.calls = [(call.inputs, work.model.training == (call.mode == "given"))
                  for call in (*work.recorded, *work.unrecorded.values())
                  if not call.after and not call.draw and not call.traced and call.label not in work.changes]
    made.varied = {label: work.varied(label) for label in ("other batch", "other length")}
    return made
