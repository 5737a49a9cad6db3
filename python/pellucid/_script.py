"""A program that somebody else wrote, run as it is and watched: which models it calls, and with what.

Only outermost calls count: those that the program makes, not those that a model makes of its parts. The inputs of the
first calls are copied before the call, so that a skeleton can be made of the model later, with real inputs.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Iterator

from . import _inputs
from ._outermost import OutermostCalls
from ._specs import SpecError
from ._workshop import Call

if TYPE_CHECKING:
    import torch

KEPT = 4  # calls of different shape whose inputs are kept, of each model


@dataclass
class Kept:
    """The inputs of one call, and how it was made."""

    inputs: tuple[tuple[Any, ...], dict[str, Any]]
    shape: str
    grad: bool
    modes: dict[Any, bool]  # of every module


@dataclass
class Watched:
    """A module that the program called itself."""

    model: torch.nn.Module
    name: str
    place: str  # file:line of the first call
    calls: int = 0
    kept: list[Kept] = field(default_factory=list)
    lost: str = ""  # why the first call's inputs are not kept

    @property
    def parameters(self) -> int:
        from ._check import parameters_of
        return sum(p.numel() for p in parameters_of(self.model))

    def line(self) -> str:
        shapes = "; ".join(call.shape for call in self.kept) or f"no inputs kept: {self.lost}"
        return (f"{self.name}: {self.calls} call{'s' * (self.calls != 1)}, {self.parameters:,} parameters, "
                f"first at {self.place}, with {shapes}")

    @contextlib.contextmanager
    def as_called(self) -> Iterator[None]:
        """The modes and gradients of the first call, whatever the program has set since."""
        import torch

        from ._check import modules_of
        now = {module: module.training for module in modules_of(self.model)}
        try:
            for module, training in self.kept[0].modes.items():
                module.training = training
            with torch.inference_mode(False), torch.set_grad_enabled(self.kept[0].grad):
                yield
        finally:
            for module, training in now.items():
                module.training = training

    def further_calls(self) -> list[Call]:
        """Those after the first one: in its mode, or in the one that train() or eval() leads to."""
        root = self.kept[0].modes[self.model]
        return [Call("", kept.inputs, kept.grad, "given" if kept.modes[self.model] == root else "other")
                for kept in self.kept[1:]]

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "class": f"{type(self.model).__module__}.{type(self.model).__qualname__}",
                "calls": self.calls, "parameters": self.parameters, "first_call": self.place,
                "inputs": [call.shape for call in self.kept], "lost": self.lost or None}


class Enough(BaseException):
    """Ends a script. Nothing that a script catches on purpose is of this kind."""


class Watch(OutermostCalls):
    """While it is open, outermost calls of modules are noted, at most `calls` of them; `stop` ends the script then."""

    def __init__(self, calls: int | None = None, stop: bool = False):
        super().__init__()
        self.found: dict[int, Watched] = {}
        self.calls = 0
        self.most, self.stop = calls, stop

    def __enter__(self) -> Watch:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def called(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._note(module, args, kwargs)
        result = super().called(module, args, kwargs)
        if self.most is not None and self.calls >= self.most:
            self.close()
            if self.stop:
                raise Enough
        return result

    def _note(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        import torch

        from ._check import modules_of
        row = self.found.get(id(module))
        if row is None:
            row = self.found[id(module)] = Watched(module, self._name(module), _caller())
        row.calls += 1
        self.calls += 1
        shape = _shape_of((args, kwargs))
        modes = {m: m.training for m in modules_of(module)}
        grad = torch.is_grad_enabled()
        if len(row.kept) >= KEPT or any(k.shape == shape and k.grad == grad and k.modes == modes for k in row.kept):
            return
        try:
            with torch.inference_mode(False):
                row.kept.append(Kept(_inputs.copied((args, kwargs)), shape, grad, modes))
        except Exception as error:  # objects may refuse to be copied in any way
            row.lost = row.lost or f"{type(error).__name__}: {error}"

    def _name(self, module: torch.nn.Module) -> str:
        kind = type(module).__name__
        same = sum(type(row.model).__name__ == kind for row in self.found.values())
        return kind if not same else f"{kind}#{same + 1}"


def _caller() -> str:
    """The line of the program that made the call: the innermost that is neither ours nor torch's."""
    import torch
    passed = (os.path.dirname(os.path.abspath(__file__)) + os.sep, os.path.dirname(torch.__file__) + os.sep)
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(passed):
        frame = frame.f_back
    file = frame.f_code.co_filename
    here = os.getcwd() + os.sep
    return f"{file[len(here):] if file.startswith(here) else file}:{frame.f_lineno}"


def _shape_of(value: Any, depth: int = 0) -> str:
    import torch
    if isinstance(value, torch.Tensor):
        size = "x".join(map(str, value.shape)) or "scalar"
        return size if value.dtype == torch.float32 else f"{size}:{str(value.dtype).split('.')[1]}"
    if depth > 6:
        return "..."
    if isinstance(value, tuple) and depth == 0 and len(value) == 2 and isinstance(value[1], dict):
        parts = [_shape_of(v, 1) for v in value[0]] + [f"{k}={_shape_of(v, 1)}" for k, v in value[1].items()]
        return f"({', '.join(parts)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_shape_of(v, depth + 1)}" for k, v in list(value.items())[:8]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_shape_of(v, depth + 1) for v in value[:8]) + (", ..." * (len(value) > 8)) + "]"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)[:40]
    return type(value).__name__


# ---- running ----

@contextlib.contextmanager
def _as_main(path: str, arguments: list[str]) -> Iterator[types.ModuleType]:
    """sys.argv, sys.path and __main__ as Python has them for a script."""
    kept = sys.argv, sys.path[:], sys.modules["__main__"]
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.argv, sys.path[0:1] = [path, *arguments], [os.path.dirname(os.path.abspath(path))]
    sys.modules["__main__"] = main
    try:
        yield main
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = kept


def split(command: list[str]) -> tuple[str, list[str]]:
    """`python script.py ARGS` -> the script and its arguments."""
    interpreter, *rest = command
    if not os.path.basename(interpreter).startswith("python") or not rest:
        raise SpecError(f"{' '.join(command)}: write -- python SCRIPT.py ARGUMENTS", usage=True)
    if rest[0].startswith("-"):
        raise SpecError(f"{rest[0]}: options of Python are not taken here; write -- python SCRIPT.py ARGUMENTS",
                        usage=True)
    if not os.path.isfile(rest[0]):
        raise SpecError(f"{rest[0]}: there is no such file")
    return rest[0], rest[1:]


def run(path: str, arguments: list[str], watch: Watch, then: Callable[[], int]) -> int:
    """Runs the script under `watch`, then does `then` in the script's own world: its modules can still be imported.

    The result is the worse of both: a script that failed leaves the result incomplete at best."""
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    failed = False
    with _as_main(path, arguments) as main:
        with watch:
            try:
                exec(code, main.__dict__)
            except SystemExit as ended:
                failed = ended.code not in (None, 0)
                if failed:
                    print(f"pellucid: the script ended with exit code {ended.code}", file=sys.stderr)
            except Enough:
                pass
            except Exception as error:
                failed = True
                frames = error.__traceback__.tb_next if error.__traceback__ else None
                traceback.print_exception(type(error), error, frames)
                print("pellucid: the script failed; what it called before is used", file=sys.stderr)
        sys.stdout.flush()
        result = then()
    return max(result, 3) if failed else result


def pick(watch: Watch, name: str | None) -> Watched:
    """The module of that name, or the largest that the program called."""
    rows = list(watch.found.values())
    if not rows:
        raise SpecError("the script called no torch module")
    if name is None:
        return max(rows, key=lambda row: (row.parameters, row.calls))
    for row in rows:
        if row.name == name:
            return row
    raise SpecError(f"--pick {name}: the script called {', '.join(row.name for row in rows)}")
