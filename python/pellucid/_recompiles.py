"""Why was it compiled again? Every guard that failed: what it wanted, what came, who gave it, and what would help.

torch names, for each older version of a function, the first guard that a call did not meet. Beside that, the values of
the call are at hand while it compiles: `seen_now` reads them. `causes` gathers the failures of one function by what
varied, and `attempt` runs the same calls again under the change that a cause suggests, and counts.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import os
import re
import sys
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple

from . import _compiler_compat as compat
from ._compiler_guards import simple
from ._inputs import Inputs, copied

if TYPE_CHECKING:
    from ._compiler_session import Compilation, Session

_TENSOR = re.compile(r"tensor '(?P<source>.*?)' (?P<what>[\w ]+?) mismatch(?: at index (?P<dim>\d+))?\. "
                     r"expected (?P<expected>.*?)(?:, actual (?P<actual>.*))?$", re.IGNORECASE)
_STATE = re.compile(r"GLOBAL_STATE changed: (?P<what>\S+)")
_IDENTITY = re.compile(r"___check_(?P<kind>obj|type)_id\((?P<source>.*), \d+\)"
                       r"(?:, type=<(?:class|enum) '(?P<type>.*)'>)?")
_DUPLICATES = re.compile(r"Duplicate tensors found: (?P<source>.*)")
_HINT = re.compile(r"\(HINT: (.*)\)$")
_PLACE = re.compile(r"(?P<file>[^\s#]*?):(?P<line>\d+) in \S+")
_FRAME = re.compile(r'  File "(?P<file>[^"]*)", line (?P<line>\d+), in (?P<function>.*)')
_LONGEST = 60  # characters of a value
_HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Failure:
    """One guard of an older version that a call did not meet."""

    version: str  # the compilation whose guard it is
    condition: str  # in the user's words
    kind: str  # a key of CHANGES
    source: str  # what varied: "x", "self.scale"
    expected: str = ""
    now: str = ""  # "": not known
    dim: int | None = None
    needed: str = ""  # "model.py:12  y = x * scale": the line that asked for the guard
    hint: str = ""  # torch's own


@dataclass
class Cause:
    """What made a function be compiled again."""

    function: str
    kind: str
    source: str
    again: list[str] = field(default_factory=list)  # the compilations that it caused
    values: list[tuple[str, str]] = field(default_factory=list)  # wanted, came
    dims: list[int] = field(default_factory=list)
    needed: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)  # the lines that called the function then
    changed: list[str] = field(default_factory=list)  # the lines that assign to it
    hint: str = ""
    tried: str = ""

    @property
    def change(self) -> str:
        """What would stop it, or that nothing is known."""
        made = CHANGES[self.kind].words
        words = made(self) if callable(made) else made
        return words if not self.hint or self.kind == "module_number" else f"{words} (torch: {self.hint})"

    def to_dict(self) -> dict[str, Any]:
        return {"function": self.function, "kind": self.kind, "source": self.source, "compilations": self.again,
                "values": [{"wanted": wanted, "came": came or None} for wanted, came in self.values],
                "needed_by": self.needed, "called_from": self.given, "assigned_at": self.changed,
                "change": self.change, "tried": self.tried or None}


# ---- reading one failure ----

def read(reason: str, now: Callable[[str], str]) -> Failure:
    """torch's words, "0/1: condition  # the user's line  # place", with the values of the call that did not meet it."""
    first, *trace = reason.strip().split("\n")
    version, mark, said = first.partition(": ")
    if not mark or not re.fullmatch(r"[\d/!]+", version):
        version, said = "", first
    condition, *comments = (part.strip() for part in re.split(r"\s{2,}# ", said))
    hint = _HINT.search(first)
    failure = _failure(version, simple(condition), now)
    failure.needed, failure.hint = _needed(comments, trace), hint[1] if hint and "type " not in hint[1][:5] else ""
    return failure


def _failure(version: str, condition: str, now: Callable[[str], str]) -> Failure:
    """The forms that torch writes, each with what it is about. A form that nobody knows has the kind "unknown"."""
    found = _TENSOR.match(condition)
    if found:
        what, source = found["what"].lower().replace(" ", "_"), found["source"]
        kind = f"tensor_{what}" if f"tensor_{what}" in CHANGES else "tensor"
        expected = found["expected"].replace(f"{what}=", "")
        came = found["actual"] or now(f"{source}.{what}")
        if what == "requires_grad":
            expected = {"0": "False", "1": "True"}.get(expected, expected)
        return Failure(version, condition, kind, source, expected, came, int(found["dim"]) if found["dim"] else None)
    found = _STATE.match(condition)
    if found:
        return Failure(version, condition, "state", found["what"])
    found = _DUPLICATES.match(condition)
    if found:
        return Failure(version, condition, "aliases", found["source"])
    found = _IDENTITY.match(condition)
    if found:
        source = found["source"]
        if found["kind"] == "type":
            return Failure(version, condition, "type", source, found["type"] or "", now(f"type({source})"))
        return Failure(version, condition, "object", source, f"another {found['type'] or 'object'}", now(source))
    return _comparison(version, condition, now)


def _comparison(version: str, condition: str, now: Callable[[str], str]) -> Failure:
    try:
        tree = ast.parse(condition, mode="eval").body
    except SyntaxError:
        tree = None
    if not isinstance(tree, ast.Compare):
        return Failure(version, condition, "unknown", condition)
    sides = [tree.left, *tree.comparators]
    open_sides = [side for side in sides if not isinstance(side, ast.Constant) and not _is_negative(side)]
    source = ast.unparse(open_sides[0]) if open_sides else condition
    if ".size()[" in condition or ".stride()[" in condition:
        came = ", ".join(f"{ast.unparse(side)} is {now(ast.unparse(side)) or 'not known'}" for side in open_sides)
        name, _, rest = source.partition(".size()[")
        dim = int(rest.rstrip("]")) if rest.rstrip("]").isdigit() else None
        return Failure(version, condition, "size_range", name, condition, came, dim)
    if len(sides) == 2 and len(open_sides) == 1 and isinstance(tree.ops[0], (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
        wanted = ast.unparse(sides[1] if open_sides[0] is sides[0] else sides[0])
        if source.startswith(("len(", "list(dict.keys(", "dict.keys(")):
            inner = re.search(r"\((?!dict)([^()]*)\)", source)
            return Failure(version, condition, "structure", inner[1] if inner else source, condition, now(source))
        came, name = now(source), now(f"type({source})")
        if isinstance(tree.ops[0], (ast.NotEq, ast.IsNot)):
            wanted = f"other than {wanted}"
        return Failure(version, condition, _kind_of_value(wanted, name), source, wanted, came)
    return Failure(version, condition, "unknown", source, condition, now(source))


def _is_negative(side: ast.expr) -> bool:
    return isinstance(side, ast.UnaryOp) and isinstance(side.operand, ast.Constant)


def _kind_of_value(wanted: str, now: str) -> str:
    try:
        value = ast.literal_eval(wanted)
    except (ValueError, SyntaxError):
        return "choice"
    if now and type(value).__name__ != now:
        return "type"
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else "choice"


def _needed(comments: list[str], trace: list[str]) -> str:
    """The user's line with its place: torch's stack has the whole name of the file, its comment an end of it."""
    frames = [found for found in map(_FRAME.match, trace) if found]
    if frames:
        line = trace[trace.index(frames[-1][0]) + 1].strip() if trace[-1] != frames[-1][0] else ""
        return f"{os.path.basename(frames[-1]['file'])}:{frames[-1]['line']}  {line}".rstrip()
    place = _PLACE.match(comments[-1]) if comments else None
    if place:
        return f"{os.path.basename(place['file'])}:{place['line']}  {comments[0] if len(comments) > 1 else ''}".rstrip()
    return ""


# ---- the call that did not meet it ----

@dataclass
class Moment:
    """A call that no version fits, while Dynamo compiles for it."""

    caller: str = ""
    failures: list[Failure] = field(default_factory=list)
    owners: dict[str, type] = field(default_factory=dict)  # "self" -> its class, for attributes that vary


def seen_now(reasons: list[str]) -> Moment:
    """Called by torch's trace, below the function that compares guards: its caller has the user's frame."""
    user = _frame_being_compiled()
    space = {**user.f_globals, **user.f_locals} if user is not None else {}

    def now(source: str) -> str:
        return _value(source, space)

    moment = Moment(_caller(), [read(reason, now) for reason in reasons])
    for failure in moment.failures:
        owner, dot, _ = failure.source.rpartition(".")
        if dot and owner in space:
            moment.owners[owner] = type(space[owner])
    return moment


def _frame_being_compiled() -> Any:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        found = frame.f_locals.get("frame") if frame.f_code.co_name in _COMPARERS else None
        if found is not None and hasattr(found, "f_locals") and hasattr(found, "f_globals"):
            return found
        frame = frame.f_back
    return None


#: Functions of torch that have the user's frame as `frame` while reasons are gathered.
_COMPARERS = {"get_and_maybe_log_recompilation_reasons", "get_and_maybe_log_recompilation_reason", "_compile",
              "__call__"}


def _caller() -> str:
    """The user's line that called the compiled function: the innermost frame that is neither torch's nor ours."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_HERE, compat.torch_folder())) and f"{os.sep}logging{os.sep}" not in file:
            return f"{os.path.basename(file)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _value(source: str, space: dict[str, Any]) -> str:
    """The value of names, attributes, items and lengths: what guards themselves read. Nothing else is evaluated."""
    try:
        tree = ast.parse(source, mode="eval").body
        value = _evaluated(tree, space)
    except Exception:  # the user's own __getattr__ may raise anything: the value is not known then
        return ""
    if isinstance(value, type):
        return value.__name__
    text = f"{value.__module__}.{value.__qualname__}" if isinstance(value, types.FunctionType) else repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _evaluated(tree: ast.expr, space: dict[str, Any]) -> Any:
    if isinstance(tree, ast.Constant):
        return tree.value
    if isinstance(tree, ast.Name):
        return space[tree.id]
    if isinstance(tree, ast.Attribute):
        return getattr(_evaluated(tree.value, space), tree.attr)
    if isinstance(tree, ast.Subscript):
        return _evaluated(tree.value, space)[_evaluated(tree.slice, space)]
    if isinstance(tree, ast.Call) and not tree.keywords:
        called, arguments = ast.unparse(tree.func), [_evaluated(argument, space) for argument in tree.args]
        if called in _READERS and len(arguments) == 1:
            return _READERS[called](arguments[0])
        if isinstance(tree.func, ast.Attribute) and tree.func.attr in ("size", "stride") and not arguments:
            return getattr(_evaluated(tree.func.value, space), tree.func.attr)()
    raise ValueError(ast.unparse(tree))


_READERS: dict[str, Callable[[Any], Any]] = {"len": len, "type": type, "list": list, "dict.keys": dict.keys}


# ---- what would help ----

class Change(NamedTuple):
    words: str | Callable[[Cause], str]
    #: Settings to try it with: a keyword of torch.compile, or a name in torch._dynamo.config. None: the program would
    #: have to be changed.
    trial: tuple[str, Any] | None = None


def _mark(cause: Cause) -> str:
    dims = sorted(set(cause.dims))
    calls = "; ".join(f"torch._dynamo.mark_dynamic({cause.source}, {dim})" for dim in dims)
    return f"{calls or 'torch._dynamo.mark_dynamic'} before the first call, or torch.compile(..., dynamic=True)"


CHANGES: dict[str, Change] = {
    "tensor_size": Change(_mark, ("dynamic", True)),
    "tensor_rank": Change("give tensors of one rank (unsqueeze, flatten), or compile a function for each"),
    "tensor_dtype": Change("convert to one dtype before the call"),
    "tensor_stride": Change("call .contiguous() before the call", ("dynamic", True)),
    "tensor_requires_grad": Change("give tensors that all require gradients, or none: .detach() or torch.no_grad()"),
    "tensor": Change("give tensors of one kind (device, layout, dispatch keys)"),
    "size_range": Change("the program takes another path at this size (or torch.compile treats 0 and 1 apart): pad, or "
                         "leave out the branch"),
    "state": Change("call it under one mode: this is a setting of torch, not an argument"),
    "aliases": Change("give each argument a tensor of its own (.clone())"),
    "object": Change("a new object comes with each call (a lambda, a partial, a module): make it once and keep it"),
    "type": Change("give values of one type"),
    "structure": Change("give containers of one length, with the same keys"),
    "number": Change("give it as a tensor, or torch.compile(..., dynamic=True)", ("dynamic", True)),
    "module_number": Change("hold it in a tensor (register_buffer), or set "
                            "torch._dynamo.config.allow_unspec_int_on_nn_module = True",
                            ("allow_unspec_int_on_nn_module", True)),
    "module_float": Change("hold it in a tensor (register_buffer): numbers of modules are constants to torch.compile"),
    "choice": Change("each value is a program of its own: as many compilations as values are normal"),
    "unknown": Change("nothing is known about this guard"),
}


# ---- causes ----

def causes(session: Session) -> list[Cause]:
    """Gathered over all functions of a session, the most frequent first."""
    made: dict[tuple[str, str, str], Cause] = {}
    for compilation in session.compilations:
        moment = compilation.moment
        if moment is None:
            continue
        function = name_of(compilation)
        for failure in moment.failures:
            kind = _of_a_module(failure, moment)
            cause = made.setdefault((function, kind, failure.source), Cause(function, kind, failure.source))
            _add(cause, compilation.id, failure, moment)
    return sorted(made.values(), key=lambda cause: -len(cause.again))


def name_of(made: Compilation) -> str:
    """Of the function: known to Dynamo, or to its notes, or to nobody."""
    return made.name or (made.code.co_name if made.code else "") or "a function without a name"


def _of_a_module(failure: Failure, moment: Moment) -> str:
    """Numbers that modules hold are constants to torch.compile: other advice holds for them."""
    import torch
    owner = moment.owners.get(failure.source.rpartition(".")[0])
    if failure.kind != "number" or owner is None or not issubclass(owner, torch.nn.Module):
        return failure.kind
    return "module_float" if "." in failure.expected or "e" in failure.expected else "module_number"


def _add(cause: Cause, again: str, failure: Failure, moment: Moment) -> None:
    rows: list[tuple[Any, list[Any]]] = [
        (again, cause.again), (failure.needed, cause.needed), (moment.caller, cause.given), (failure.dim, cause.dims),
        ((failure.expected, failure.now) if failure.expected or failure.now else None, cause.values)]
    for what, where in rows:
        if what not in ("", None) and what not in where:
            where.append(what)
    cause.hint = cause.hint or failure.hint
    owner, dot, name = failure.source.rpartition(".")
    if dot and owner in moment.owners:
        for line in assignments(moment.owners[owner], name):
            if line not in cause.changed:
                cause.changed.append(line)


def assignments(owner: type, name: str) -> list[str]:
    """Lines of a class (not of its constructor) that assign to an attribute; those of other places are not searched."""
    import inspect
    found = []
    for base in owner.__mro__:
        if base.__module__.startswith("torch.") or base is object:
            continue
        try:
            lines, first = inspect.getsourcelines(base)
            tree = ast.parse("if True:\n" + "".join(lines) if lines[0][:1].isspace() else "".join(lines))
        except (OSError, TypeError, SyntaxError):
            continue
        shift = first - (2 if lines[0][:1].isspace() else 1)
        file = os.path.basename(inspect.getsourcefile(base) or "?")
        for node in _outside_of_constructors(tree):
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store):
                found.append(f"{file}:{node.lineno + shift}  {lines[node.lineno + shift - first].strip()}")
    return found


def _outside_of_constructors(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef) and child.name == "__init__":
            continue
        yield child
        yield from _outside_of_constructors(child)


def say(found: list[Cause], counts: dict[str, int]) -> list[str]:
    """Lines of a report. `counts` is how often each function was compiled."""
    lines = []
    for cause in found:
        of = f" of {counts[cause.function] - 1}" if counts.get(cause.function, 0) > 1 else ""
        lines.append(f"{cause.function}: {cause.source} ({cause.kind.replace('_', ' ')}), "
                     f"{len(cause.again)}{of} recompilations: {', '.join(f'[{number}]' for number in cause.again)}")
        for wanted, came in cause.values[:6]:
            lines.append(f"    wanted {wanted}, came {came or 'a value that is not known'}")
        if len(cause.values) > 6:
            lines.append(f"    … and {len(cause.values) - 6} more pairs of values")
        for name, places in (("needed by", cause.needed), ("called from", cause.given), ("assigned at", cause.changed)):
            lines += [f"    {name:12}{place}" for place in places[:4]]
            lines += [f"    {'':12}… and {len(places) - 4} more"] if len(places) > 4 else []
        lines.append(f"    change      {cause.change}")
        lines += [f"    tried       {cause.tried}"] if cause.tried else []
        lines.append("")
    return lines


# ---- trying ----

def varied_calls(model: Any, given: Inputs) -> list[Inputs]:
    """Calls of other sizes that the model takes as it is written: two of each kind, for torch.compile lets a size vary
    once it has seen two. The model's state is put back."""
    from . import _inputs
    from ._state import ModelState, RandomState
    state, random = ModelState(model), RandomState()
    found = []
    for kind in (_inputs.other_batch(given, 1), _inputs.other_batch(given, 3), _inputs.other_length(given, 1),
                 _inputs.other_length(given, 3)):
        for args, kwargs in itertools.islice(kind, 4):
            state.before_run(training=True)
            try:
                model(*copied((args, kwargs))[0], **copied((args, kwargs))[1])
            except Exception:  # the model does not take this size; that is for its author to say
                continue
            else:
                found.append((args, kwargs))
                break
            finally:
                state.restore()
                random.restore()
    return found


Trial = tuple[str, Any]


class Trials:
    """The calls of a program, to be made again under other settings, from the same state."""

    def __init__(self, fn: Any, calls: list[Inputs], backend: Any) -> None:
        import torch

        from ._state import ModelState, RandomState
        self.fn, self.backend = compat.as_written(fn), backend
        self.calls = [copied(call) for call in calls]
        owner = self.fn if isinstance(self.fn, torch.nn.Module) else getattr(self.fn, "__self__", None)
        self.state = ModelState(owner) if isinstance(owner, torch.nn.Module) else None
        self.random = RandomState()
        if self.state is not None:
            self.state.before_run(training=True)

    def run(self, session: Session) -> None:
        """Says in each cause what came of the change that it suggests. Leaves state and generators as they are now."""
        from ._state import ModelState, RandomState
        trials = {CHANGES[cause.kind].trial for cause in session.causes()}
        after = ModelState(self.fn) if self.state is not None and hasattr(self.fn, "modules") else None
        if after is not None:
            after.before_run(training=True)
        random = RandomState()
        before = sum(made.listing is not None and not made.before for made in session.compilations)
        written = self._results(self.fn)
        said = {trial: self._attempt(trial, before, written) for trial in trials if trial is not None}
        for cause in session.causes():
            trial = CHANGES[cause.kind].trial
            cause.tried = said[trial] if trial is not None else "nothing: it would change the program"
        random.restore()
        if after is not None:
            after.restore()

    def _results(self, fn: Any) -> list[Any]:
        """Of all calls, from the state of before. What is not in modules or generators is not put back."""
        self.random.restore()
        if self.state is not None:
            self.state.restore()
            self.state.before_run(training=True)
        return [fn(*args, **kwargs) for args, kwargs in map(copied, self.calls)]

    def _attempt(self, trial: Trial, before: int, written: list[Any]) -> str:
        import torch

        from ._numerics import differences
        compilations: list[object] = []
        torch._dynamo.reset()
        remove = compat.on_bytecode(lambda original, generated: compilations.append(generated))
        try:
            with _setting(trial) as keywords:
                results = self._results(torch.compile(self.fn, backend=self.backend, **keywords))
        except Exception as error:
            return f"{_words(trial)}: it raises {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        finally:
            remove()
            torch._dynamo.reset()
        different = [str(found) for found in differences(written, results)]
        same = f"other results: {different[0]}" if different else "results equal to the program as written, bit by bit"
        return f"{_words(trial)}: {len(compilations)} compilations instead of {before}; {same}"


@contextlib.contextmanager
def _setting(trial: Trial) -> Iterator[dict[str, Any]]:
    """Keywords for torch.compile, while torch's settings are changed."""
    import torch
    name, value = trial
    if name == "dynamic":
        yield {"dynamic": value}
        return
    with torch._dynamo.config.patch({name: value}):
        yield {}


def _words(trial: Trial) -> str:
    name, value = trial
    return f"torch.compile(..., dynamic={value})" if name == "dynamic" else f"torch._dynamo.config.{name} = {value}"
