"""`--init`: the initial values that the author gives to parameters, as a function of the skeleton's file.

The model is built once more and watched: which calls of torch.nn.init, in-place methods and factories made each
parameter what it is. The same is asked of the skeleton. Where they differ, a function of the file makes the author's
calls; built with it, the skeleton's parameters must have been made by the same calls as the original's. What is not one
of these calls is named in the header.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import re
import sys
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Iterator

from ._verify import _wrapped

if TYPE_CHECKING:
    import torch

    from ._skeleton import Skeleton

Call = tuple[Any, ...]  # what, then its arguments
Chain = tuple[Call, ...]  # from the last one that wrote all values on
UNKNOWN = "computed"
NOT_WRITTEN = "# Load weights before training: "  # the header's line, see put_unfilled in src/trace/write/emit.c
MAX_RULES = 16  # more of them are no rules any more
FACTORIES = {"zeros": ("constant_", 0), "zeros_like": ("constant_", 0), "new_zeros": ("constant_", 0),
             "ones": ("constant_", 1), "ones_like": ("constant_", 1), "new_ones": ("constant_", 1),
             "randn": ("normal_", 0, 1), "randn_like": ("normal_", 0, 1), "rand": ("uniform_", 0, 1),
             "rand_like": ("uniform_", 0, 1), "eye": ("init", "eye_")}
NOTHING = ("empty", "empty_like", "new_empty", "empty_strided")
SAME = ("clone", "detach", "contiguous", "to", "float", "requires_grad_", "__deepcopy__")  # the same values
NO_WRITES = ("requires_grad_", "retain_grad", "share_memory_")
OTHER_WRITES = {"__setitem__": "an assignment to a part", "numpy": "numpy may have written it",
                "__array__": "numpy may have written it",
                **{f"__i{op}__": f"an in-place {op}" for op in ("add", "sub", "mul", "truediv", "div", "floordiv",
                                                                "mod", "pow", "and", "or", "xor", "lshift", "rshift")}}
SCALED = {"mul": "mul_", "__mul__": "mul_", "__rmul__": "mul_", "div": "div_", "__truediv__": "div_"}


class Watch:
    """How the parameters that are made while it is open came by their values."""

    def __init__(self) -> None:
        self.chains: dict[int, Chain] = {}  # by the address of what holds the values
        self._kept: list[Any] = []  # so that no address is used twice
        self._depth = 0
        self._functions = _init_functions()

    @contextlib.contextmanager
    def open(self) -> Iterator[Watch]:
        from torch.overrides import TorchFunctionMode
        watch = self

        class Mode(TorchFunctionMode):
            def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
                result = func(*args, **(kwargs or {}))
                if not watch._depth:
                    watch._called(getattr(func, "__name__", ""), args, kwargs or {}, result)
                return result

        before = sys.getprofile()
        sys.setprofile(self._profile)
        try:
            with Mode():
                yield self
        finally:
            sys.setprofile(before)

    def _profile(self, frame: types.FrameType, event: str, _: Any) -> None:
        """Calls of torch.nn.init, those of the author's alone: what they call is theirs."""
        function = self._functions.get(frame.f_code) if event in ("call", "return") else None
        if function is None:
            return
        if event == "return":
            self._depth -= 1
            return
        if not self._depth:
            given = dict(frame.f_locals)
            tensor = given.pop("tensor", None)
            self._write(tensor, _of_init(function, given))
        self._depth += 1

    def _called(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        import torch
        first = args[0] if args else None
        if isinstance(given := kwargs.get("out"), torch.Tensor):
            self._write(given, (UNKNOWN, name))
        elif name in OTHER_WRITES and isinstance(first, torch.Tensor):
            self._write(first, (UNKNOWN, OTHER_WRITES[name]))
        elif isinstance(first, torch.Tensor) and name.endswith("_") and not name.endswith("__"):
            if name not in NO_WRITES:
                self._write(first, _of_method(name, args[1:], kwargs))
        elif isinstance(result, torch.Tensor):
            self._made(name, args, kwargs, result)

    def _made(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """A tensor with values of its own that a function gave."""
        import torch
        place = _place(result)
        sources = [a for a in args if isinstance(a, torch.Tensor)]
        if place is None or any(_place(s) == place for s in sources):
            return
        self._kept.append(result.untyped_storage())
        before = self.chains.get(_place(sources[0]) or 0, ()) if len(sources) == 1 else None
        if name in NOTHING:
            self.chains[place] = ()
        elif name in FACTORIES:
            self.chains[place] = (FACTORIES[name],)
        elif name in ("full", "full_like"):
            value = args[1] if len(args) > 1 else kwargs.get("fill_value")
            self.chains[place] = (("constant_", value),) if _is_plain(value) else ((UNKNOWN, name),)
        elif name in SAME and before is not None:
            self.chains[place] = before
        elif name in SCALED and before is not None and len(args) == 2 and all(
                isinstance(a, torch.Tensor) or _is_plain(a) for a in args):
            factor = next((a for a in args if not isinstance(a, torch.Tensor)), None)
            self.chains[place] = _scaled(before, (SCALED[name], factor))
        else:
            self.chains[place] = ((UNKNOWN, name),)

    def _write(self, tensor: Any, call: Call) -> None:
        import torch
        if not isinstance(tensor, torch.Tensor) or (place := _place(tensor)) is None:
            return
        storage = tensor.untyped_storage()
        self._kept.append(storage)
        before = self.chains.get(place, ())
        if tensor.numel() * tensor.element_size() != storage.nbytes():
            call = ("part", tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), call)
        elif call[0] in ("constant_", "normal_", "uniform_", UNKNOWN, "init"):
            before = ()
        self.chains[place] = _scaled(before, call)

    def of(self, model: torch.nn.Module) -> dict[str, Chain]:
        """By the name of the parameter."""
        return {name: self.chains.get(_place(p) or 0, ((UNKNOWN, "not seen"),))
                for name, p in model.named_parameters()}


def _scaled(before: Chain, call: Call) -> Chain:
    """What several calls in a row are together: torch.randn(n) * 0.02 is normal_(std=0.02), and trunc_normal_ may be
    written out."""
    if call[0] == "clamp_" and (found := _truncated((*before, call))) is not None:
        return (found,)
    if call[0] == "mul_" and len(call) == 2 and isinstance(call[1], (int, float)) and before:
        if call[1] == 1:
            return before
        if before[-1][:2] == ("normal_", 0):
            return (*before[:-1], ("normal_", 0, before[-1][2] * call[1]))
        if before[-1] in (("constant_", 0), ("constant_", 1)):
            return (*before[:-1], ("constant_", before[-1][1] * call[1]))
    return (*before, call)


def _truncated(chain: Chain) -> Call | None:
    """nn.init.trunc_normal_, if that is what these five calls are, number by number."""
    if [c[0] for c in chain] != ["uniform_", "erfinv_", "mul_", "add_", "clamp_"]:
        return None
    (_, low, high), _, (_, scale), (_, mean), (_, *limits) = chain
    bounds = dict(zip(("min", "max"), (item for item in limits if not isinstance(item, tuple))))
    bounds.update(item for item in limits if isinstance(item, tuple))
    a, b = bounds.get("min"), bounds.get("max")
    std = scale / math.sqrt(2.0)
    if a is None or b is None or len(bounds) != 2:
        return None
    for near in (std, round(std, 6)):
        if near and near * math.sqrt(2.0) == scale:
            sides = [(1.0 + math.erf((x - mean) / near / math.sqrt(2.0))) / 2.0 for x in (a, b)]
            if (2 * sides[0] - 1, 2 * sides[1] - 1) == (low, high):
                given = (("mean", mean, 0), ("std", near, 1), ("a", a, -2), ("b", b, 2))
                return ("init", "trunc_normal_", *((n, v) for n, v, default in given if v != default))
    return None


def _place(tensor: Any) -> int | None:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return None


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _init_functions() -> dict[types.CodeType, Any]:
    import torch
    found = {}
    for name, function in vars(torch.nn.init).items():
        plain = inspect.unwrap(function) if callable(function) else None
        if isinstance(plain, types.FunctionType) and name.endswith("_") and not name.startswith("_"):
            found[plain.__code__] = plain
    return found


def _of_init(function: Any, given: dict[str, Any]) -> Call:
    """normal_, uniform_ and constants have one spelling, however they were made; others what is not the default."""
    name = function.__name__
    if name == "normal_":
        return "normal_", given["mean"], given["std"]
    if name == "uniform_":
        return "uniform_", given["a"], given["b"]
    if name in ("zeros_", "ones_"):
        return "constant_", int(name == "ones_")
    if name == "constant_":
        return "constant_", given["val"]
    rows = []
    for parameter in inspect.signature(function).parameters.values():
        value = given.get(parameter.name, parameter.default)
        if parameter.name in ("tensor", "generator") or value == parameter.default:
            continue
        if not _is_plain(value):
            return UNKNOWN, name
        rows.append((parameter.name, value))
    return ("init", name, *rows)


def _of_method(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    values = [*args, *kwargs.values()]
    if not all(map(_is_plain, values)):
        return UNKNOWN, name
    if name == "zero_":
        return "constant_", 0
    if name == "fill_" and len(values) == 1:
        return "constant_", values[0]
    if name == "normal_":
        return "normal_", _argument(args, kwargs, 0, "mean", 0), _argument(args, kwargs, 1, "std", 1)
    if name == "uniform_":
        return "uniform_", _argument(args, kwargs, 0, "from", 0), _argument(args, kwargs, 1, "to", 1)
    return (name, *args, *({**kwargs}.items()))


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], number: int, name: str, default: Any) -> Any:
    return args[number] if len(args) > number else kwargs.get(name, default)


def watched(build: Callable[[], torch.nn.Module]) -> dict[str, Chain]:
    with Watch().open() as watch:
        model = build()
    return watch.of(model)


# ---- the function ----

def _formulas(call: Call, shape: tuple[int, ...]) -> Iterator[str]:
    """Other ways to write normal_ and uniform_, by how many inputs or outputs a unit has."""
    if len(shape) < 2 or call[0] not in ("normal_", "uniform_"):
        return
    if not all(isinstance(v, (int, float)) for v in call[1:]):
        return
    size = math.prod(shape[2:])
    fans = (("p[0].numel()", shape[1] * size), ("(p.shape[0] * p[0, 0].numel())", shape[0] * size))
    if call[0] == "uniform_" and (call[1] != -call[2] or call[2] <= 0):
        return
    for text, fan in fans:
        for gain in (1, 2, 3, 6):
            for value, written in ((math.sqrt(gain / fan), f"math.sqrt({gain} / {text})"),
                                   (1.0 / math.sqrt(fan), f"1 / math.sqrt({text})"),
                                   (fan**-0.5, f"{text}**-0.5")):
                if value == call[2] and call[0] == "normal_" and call[1] == 0:
                    yield f"nn.init.normal_(p, std={written})"
                elif value == call[2] and call[0] == "uniform_":
                    yield f"nn.init.uniform_(p, a=-{written}, b={written})"


def spelled(chains: dict[str, Chain], shapes: dict[str, tuple[int, ...]]) -> dict[Call, dict[tuple[int, ...], str]]:
    """For calls whose number follows the shape: the formula that explains most different numbers, two at least."""
    values: dict[str, set[Call]] = {}
    ways: dict[tuple[Call, tuple[int, ...]], list[str]] = {}
    for name, chain in chains.items():
        if len(chain) == 1:
            ways[chain[0], shapes[name]] = list(dict.fromkeys(_formulas(chain[0], shapes[name])))
            for way in ways[chain[0], shapes[name]]:
                values.setdefault(way, set()).add(chain[0])
    found: dict[Call, dict[tuple[int, ...], str]] = {}
    for (call, shape), some in ways.items():
        best = max(some, key=lambda way: len(values[way]), default=None)
        if best is not None and len(values[best]) >= 2:
            found.setdefault(call, {})[shape] = best
    return found


def statements(chain: Chain, shape: tuple[int, ...], formulas: dict[Call, dict[tuple[int, ...], str]]
               ) -> list[str] | None:
    """What makes a parameter p so; None: no statement does."""
    lines = []
    for call in chain:
        if (formula := formulas.get(call, {}).get(shape)) is not None and len(chain) == 1:
            return [formula]
        what = call[0]
        if what == UNKNOWN:
            return None
        if what == "constant_":
            plain = {0: "nn.init.zeros_(p)", 1: "nn.init.ones_(p)"}
            lines.append(plain.get(call[1], f"nn.init.constant_(p, {call[1]!r})"))
        elif what in ("normal_", "uniform_"):
            names, defaults = (("mean", "std"), (0, 1)) if what == "normal_" else (("a", "b"), (0, 1))
            given = [f"{n}={v!r}" for n, v, d in zip(names, call[1:], defaults) if v != d]
            lines.append(f"nn.init.{what}({', '.join(['p', *given])})")
        elif what == "init":
            if call[1] == "eye_" and len(shape) != 2:
                return None
            given = [f"{n}={v!r}" for n, v in call[2:]]
            lines.append(f"nn.init.{call[1]}({', '.join(['p', *given])})")
        elif what == "part":
            row = _row(call, shape)
            if row is None or call[4][0] != "constant_":
                return None
            lines.append(f"p[{row}].fill_({call[4][1]!r})" if call[4][1] else f"p[{row}].zero_()")
        else:
            given = [f"{a[0]}={a[1]!r}" if isinstance(a, tuple) else repr(a) for a in call[1:]]
            lines.append(f"p.{what}({', '.join(given)})")
    return lines


def _row(call: Call, shape: tuple[int, ...]) -> int | None:
    """The one row that was written."""
    _, offset, part, _, _ = call
    size = 1
    for n in shape[1:]:
        size *= n
    return offset // size if shape[1:] == part and size and offset % size == 0 else None


@dataclass
class Found:
    """Rules with the endings of the names that they are for; parameters that have none, with the reason."""

    rules: list[tuple[list[str], list[str]]] = field(default_factory=list)
    open: dict[str, str] = field(default_factory=dict)
    same: int = 0  # parameters that torch's modules make as the author does


def rules(original: dict[str, Chain], ours: dict[str, Chain], shapes: dict[str, tuple[int, ...]]) -> Found:
    found = Found()
    groups: dict[tuple[str, ...], list[str]] = {}
    lines: list[str] | None
    formulas = spelled(original, shapes)
    for name, chain in original.items():
        if chain == ours.get(name) and all(call[0] != UNKNOWN for call in chain):
            found.same += 1
            continue
        lines = statements(chain, shapes[name], formulas)
        if lines:
            groups.setdefault(tuple(lines), []).append(name)
        else:
            found.open[name] = next((call[1] for call in chain if call[0] == UNKNOWN), "a part of it is written")
    rest = list(original)
    for calls, names in sorted(groups.items(), key=lambda group: len(group[1])):  # what comes first is not asked again
        rest = [n for n in rest if n not in names]
        found.rules.append((_endings(names, rest), list(calls)))
    return found


def _endings(names: list[str], others: list[str]) -> list[str]:
    """A few ends, from a dot or a word's beginning on, that these names have and the others have not."""
    chosen: list[str] = []
    left = ["." + name for name in names]
    others = ["." + name for name in others]
    while left:
        ends = {name[i:] for name in left for i, c in enumerate(name) if c in "._"}
        fitting = [e for e in ends if not any(o.endswith(e) for o in others)]
        best = max(fitting, key=lambda e: (sum(n.endswith(e) for n in left), e[0] == ".", -len(e), e))
        chosen.append(best)
        left = [n for n in left if not n.endswith(best)]
    return sorted(chosen)


def function_text(found: Found) -> str:
    lines = ["@torch.no_grad()", "def init_weights(model):",
             '    """The first values of parameters, as the author makes them."""',
             "    for name, p in model.named_parameters():",
             '        name = "." + name']
    for number, (ends, calls) in enumerate(found.rules):
        asked = repr(ends[0]) if len(ends) == 1 else f"({', '.join(map(repr, ends))})"
        lines.append(f"        {'elif' if number else 'if'} name.endswith({asked}):".replace("'", '"'))
        lines += [f"            {call}" for call in calls]
    return "\n".join([*lines, "    return model"])


def _with_line(source: str, text: str) -> str:
    """The header says what was found out instead of that nothing is known."""
    lines = source.split("\n")
    place = next((i for i, line in enumerate(lines) if line.startswith(NOT_WRITTEN)), None)
    if place is not None:
        lines[place:place + 1] = _wrapped("Initialisation: " + text)
    return "\n".join(lines)


def with_init(made: Skeleton, build: Callable[[], torch.nn.Module]) -> str:
    """Writes init_weights into the skeleton, and what came of it into the header. build: makes the original anew."""
    from ._state import RandomState
    random = RandomState()
    try:
        said, wrote = _written(made, build)
    except Exception as error:
        said, wrote = f"not written: {type(error).__name__}: {error}"[:300], False
    finally:
        random.restore()
    text = said if wrote else f"{said}; load weights before training"
    made.source = _with_line(made.source, text)
    made.report.remarks.append(f"initialisation: {said}")
    return said


def _other_values(original: torch.nn.Module, ours: torch.nn.Module, chains: dict[str, Chain]) -> set[str]:
    """Parameters that no chance made, but with other values: a call on a tensor of another shape, of which the
    parameter is a view."""
    fixed = ("constant_", "eye_", "dirac_", "zeros_", "ones_")
    made = dict(ours.named_parameters())
    return {name for name, p in original.named_parameters()
            if chains[name] and all((call[1] if call[0] == "init" else call[0]) in fixed for call in chains[name])
            and name in made and not p.equal(made[name])}


def _written(made: Skeleton, build: Callable[[], torch.nn.Module],
             chains: dict[str, Chain] | None = None) -> tuple[str, bool]:
    """What came of it, and whether the skeleton's parameters can all begin as the author's do. chains: of the original,
    where they were watched before."""
    from ._pellucid import format_source
    original = chains or watched(build)
    model = build()
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    if list(original) != [name for name, _ in made.model.named_parameters()]:
        return "not written: built again, the model has other parameters", False
    ours = watched(_maker(made.source, made.root))
    found = rules(original, ours, shapes)
    if len(found.rules) > MAX_RULES:
        return f"not written: it takes {len(found.rules)} rules", False
    source = made.source
    if found.rules:
        text = format_source(function_text(found), width=120).strip("\n")
        source = _importing(_inserted(source, text), text)
        other = _other_values(model, _maker(source, made.root, "init_weights")(), original)
        if other - set(found.open):
            again = {n: ((UNKNOWN, "a view"),) if n in other else chain for n, chain in original.items()}
            return _written(made, build, again)
        done = watched(lambda: _maker(source, made.root, "init_weights")())
        wrong = [n for n in original if n not in found.open and not _same(done[n], original[n])]
        if wrong:
            return f"not written: {wrong[0]} is made otherwise", False
    made.source = source
    count = sum(n not in found.open for n in original) - found.same
    said = []
    others = f"; {found.same} begin as torch's modules make them" if found.same else ""
    if found.rules:
        said.append(f"init_weights({made.root}()) makes the calls that gave the author's parameters their first values "
                    f"({count} of {len(original)}{others}); the values of random numbers were not compared")
    elif found.same:
        said.append(f"{found.same} of {len(original)} parameters begin as the author's do: as torch's modules make "
                    "them")
    if found.open:
        names = list(found.open)
        said.append("not as the author's: " + ", ".join(names[:3]) + f" and {len(names) - 3} more" * (len(names) > 3))
    return "; ".join(said), not found.open


def _same(a: Chain, b: Chain) -> bool:
    return a == b or _plain(a) == _plain(b)


def _plain(chain: Chain) -> list[Any]:
    """A row of a view is the same row however it was reached."""
    return [(c[0], c[1], c[2], c[4]) if c[0] == "part" else c for c in chain]


def _maker(source: str, root: str, function: str = "") -> Callable[[], torch.nn.Module]:
    from . import _check
    space = vars(_check.load_source(source, "pellucid_skeleton_init", "<skeleton with init>"))

    def make() -> torch.nn.Module:
        model: torch.nn.Module = space[root]()
        if function:
            space[function](model)
        return model

    return make


def _importing(source: str, text: str) -> str:
    """The source with the imports that this text of it needs."""
    if not re.search(r"^import torch$", source, flags=re.M):
        source = re.sub(r"^(import torch|from torch)\b", r"import torch\n\1", source, count=1, flags=re.M)
    if "math." not in text or re.search(r"^import math$", source, flags=re.M):
        return source
    first = re.search(r"^(import|from) (\w+)", source, flags=re.M)
    assert first is not None
    between = "" if first[2] in sys.stdlib_module_names else "\n"
    return f"{source[:first.start()]}import math\n{between}{source[first.start():]}"


def _inserted(source: str, text: str) -> str:
    """The text behind all others, before the last comment."""
    from ._contract import MARK
    lines = source.rstrip("\n").split("\n")
    marks = [line for line in lines if line.startswith(MARK)]
    return "\n".join([*(line for line in lines if not line.startswith(MARK)), "", "", text, *marks, ""])
