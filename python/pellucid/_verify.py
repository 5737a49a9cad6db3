"""Verification: the original and its skeleton make the same calls, in two processes, and must agree bit by bit."""

from __future__ import annotations

import ast
import atexit
import contextlib
import importlib.metadata
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Iterable, Iterator, Sequence, cast

from ._contract import described, mode_of
from ._verdict import Check, Report

__all__ = ["Check", "Report", "foreign_imports", "play_original", "verify", "with_verdict"]

SEED = 20_240_229
PATIENCE = 900.0  # seconds that the referee may take


# ---- the source ----

def with_verdict(source: str, verdict: str) -> str:
    """The source with its header's `# Verification:` paragraph filled in."""
    text = "\n".join(_wrapped("Verification: " + verdict))
    changed, count = re.subn(r"^# Verification:.*(?:\n#   .*)*$", lambda _: text, source, count=1, flags=re.M)
    if count:
        return changed
    header = re.match(r"(?:#.*\n)*", source)
    assert header is not None
    return source[:header.end()] + text + "\n" + source[header.end():]


def _wrapped(text: str, width: int = 120) -> Iterator[str]:
    line = "#"
    for word in text.split():
        if len(line) + 1 + len(word) > width and line != "#":
            yield line
            line = "#  "
        line += " " + word
    yield line


def foreign_imports(source: str, allowed: Iterable[str]) -> list[str]:
    """Modules that the source imports and that it may not."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module if node.module and not node.level else ".")
    fine = {"torch", "numpy", *allowed} | sys.stdlib_module_names
    return sorted(n for n in found if n.partition(".")[0] not in fine)


DEVICES = ("cpu", "cuda", "mps", "xpu", "hpu", "meta", "mtia", "privateuseone", "ipu", "xla", "vulkan")


def names_device(source: str) -> str:
    """Where a text names a device itself instead of taking one from a tensor; empty if it does not."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.split(":")[0] in DEVICES:
            return f"line {node.lineno}: {node.value!r}"
        if isinstance(node, ast.Attribute) and node.attr in DEVICES:
            return f"line {node.lineno}: {node.attr}"
    return ""


def allowed_packages(extra: Iterable[str] = ()) -> list[str]:
    """torch and numpy, and packages that the skeleton imports, with what these require themselves."""
    extra = set(extra)
    imports = _imports_of_distributions() if extra else {}
    own = [d for d, packages in imports.items() if extra.intersection(packages)]
    names = {"torch", "functorch", "torchgen", "numpy", *extra, *own, *(name for d in own for name in imports[d])}
    todo = ["torch", *own]
    seen = set(todo)
    while todo:
        try:
            requirements = importlib.metadata.requires(todo.pop()) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for text in requirements:
            if "extra ==" in text:
                continue
            name = _plain_name(cast("re.Match[str]", re.match(r"[\w.-]+", text)).group())
            names |= {name, *imports.get(name, ())}
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return sorted(names)


def _plain_name(distribution: str) -> str:
    return distribution.lower().replace("-", "_")


def _imports_of_distributions() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for package, distributions in importlib.metadata.packages_distributions().items():
        for name in distributions:
            found.setdefault(_plain_name(name), []).append(package)
    return found


# ---- the original's side ----

def modes_of(model: Any) -> dict[str, bool]:
    from ._check import named_modules_of
    return {name: m.training for name, m in named_modules_of(model, each=True)}


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    import torch
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def play_original(model: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, grad: bool,
                  gradients: bool = False,
                  buffers: bool = False, events: bool = False, seed: int = SEED,
                  found: dict[int, tuple[Any, ...]] | None = None, forward: Callable[..., Any] | None = None,
                  before: Callable[[str], Any] | None = None, **more: Any) -> tuple[dict[str, Any], Any]:
    """Makes the call on the original and returns what the referee needs to repeat it, and the result. forward: what is
    called, if not the model itself: its recorder. before: the parameters as they were, if somebody has them. more:
    further fields of the call: `start` (flags from which a mode is entered), `steps`, `changed`, `what`.

    The inputs are consumed: the model may change them in place. Gradients are summed in an order that depends
    on the number of threads, so calls that compare them use one."""
    import torch

    from . import _check
    count = 1 if gradients else torch.get_num_threads()
    call: dict[str, Any] = {"name": name, "seed": seed, "modes": modes_of(model), "grad": grad, "threads": count,
                            "args": _check.plain_form(args, found), "kwargs": _check.plain_form(kwargs, found), **more}
    for part in ("args", "kwargs"):
        call[part] = _check.map_tensors(call[part], _check.copy_input)
    if buffers and before is None:
        before = _check.parameters_before(model).get
    start = time.perf_counter()
    with threads(count):
        generators = _check.Generators(seed)
        with torch.set_grad_enabled(grad), _check.Events() if events else contextlib.nullcontext() as seen:
            result = _result_of(call, forward or model, args, kwargs)
        call["generators"] = generators.moved()
        call["left"] = _left_in(call, args, kwargs, found)
        call["events"] = seen.rows(result) if seen is not None else None
        call["factories"] = seen.factories if seen is not None else None
        form = _check.plain_form(result)
        call["result"] = _check.detached(form)
        call["result_grads"] = [t.requires_grad for t in _check.tensors_of(form)]
        call["buffers"] = _check.changeable(model, before) if buffers and before else None
        found_gradients = _gradients_of(call, model, form) if gradients else None
        call["gradients"] = found_gradients and {k: _check.digested(t) for k, t in found_gradients.items()}
        call["gradients name"] = "gradients" if name == "gradients enabled" else f"{name}: gradients"
    call["about"] = about(call, model, time.perf_counter() - start)
    return call, result


def _gradients_of(call: dict[str, Any], model: Any, form: Any) -> Any:
    """None, with the reason in the call, where the original's result can't be differentiated."""
    from . import _check
    try:
        return _check.gradients(model, form)
    except Exception as error:
        call["no gradients"] = str(error)
        return None


def _left_in(call: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any],
             found: dict[int, tuple[Any, ...]] | None) -> Any:
    """What the caller's arguments are after the call, where it changed them: tensors, lists, attributes of objects.
    What came from an earlier call is compared as a result of this one, not here."""
    from . import _check
    if found:
        return None
    after = ("tuple", [_check.plain_form(args, found), _check.plain_form(kwargs, found)])
    if _check.difference(("tuple", [call["args"], call["kwargs"]]), after) is None:
        return None
    return _check.map_tensors(_check.detached(after), _check.copy_input)


def _result_of(call: dict[str, Any], forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Where the caller gives another value than was recorded, an error of the original's is an answer."""
    try:
        return forward(*args, **kwargs)
    except Exception as error:
        if not call.get("changed"):
            raise
        call["raises"] = type(error).__name__
        return None


def about(call: dict[str, Any], model: Any, seconds: float) -> dict[str, Any]:
    """The run in words: all that held together in it."""
    compared = [name for part, name in (("left", "arguments"), ("buffers", "buffers"), ("gradients", "gradients"))
                if call.get(part) is not None]
    row = {"name": call["name"], "mode": mode_of(call["modes"]), "grad": call["grad"],
           "inputs": described(call["args"], call["kwargs"], model), "compared": ["result", "generators", *compared],
           "seconds": round(seconds, 3)}
    if call.get("events") is not None:
        row["compared"] = ["events"]
    for key in ("what", "raises"):
        if call.get(key):
            row[key] = call[key]
    return row


def referee_data(model: Any, source: str, root: str, sequences: Sequence[Sequence[dict[str, Any]]],
                 extra: Iterable[str]) -> dict[str, Any]:
    from . import _check
    from ._check import named_parameters_of
    return {
        "source": source, "root": root, "seed": SEED, "allowed": allowed_packages(extra),
        "state": {k: v.detach() if hasattr(v, "detach") else v for k, v in model.state_dict().items()},
        "ties": _check.ties_of(model),
        "requires_grad": {n: p.requires_grad for n, p in named_parameters_of(model, each=True)},
        "sequences": _packed(sequences),
    }


def _packed(sequences: Sequence[Sequence[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """The calls as they travel: flags of modules that are equal are one object, and what only people read stays."""
    known: dict[tuple[Any, ...], dict[str, bool]] = {}

    def packed(call: dict[str, Any]) -> dict[str, Any]:
        flags: dict[str, Any] = {key: known.setdefault(tuple(call[key].items()), call[key])
                                 for key in ("modes", "start") if key in call}
        return {**{key: value for key, value in call.items() if key != "about"}, **flags}

    return [[packed(call) for call in calls] for calls in sequences]


def verify(model: Any, source: str, root: str, sequences: list[list[dict[str, Any]]], extra: Iterable[str] = (),
           patience: float = PATIENCE) -> list[Check]:
    """Hands the source, the weights and the calls to the referee and returns its findings."""
    import torch

    try:
        if foreign := foreign_imports(source, extra):
            return [Check("imports", "failed", f"imports {', '.join(foreign)}")]
    except SyntaxError as error:
        return [Check("build", "failed", f"line {error.lineno}: SyntaxError: {error.msg}")]
    with tempfile.TemporaryDirectory(prefix="pellucid-") as folder:
        data, result = os.path.join(folder, "data.pt"), os.path.join(folder, "result.json")
        with without_checksums():
            # an older protocol of pickle has no memory formats
            torch.save(referee_data(model, source, root, sequences, extra), data, pickle_protocol=4)
        problem = run_referee(data, result, patience)
        if problem or not os.path.exists(result):
            return [Check("build", "failed", f"the referee {problem or 'gave no result'}")]
        with open(result) as file:
            return [Check(**row) for row in json.load(file)]


@contextlib.contextmanager
def without_checksums() -> Iterator[None]:
    """torch.save without checksums: the file is read once, at once, and they are most of what writing it costs."""
    import torch
    options = torch.serialization
    if not hasattr(options, "set_crc32_options"):  # torch before 2.6
        yield
        return
    before = options.get_crc32_options()
    options.set_crc32_options(False)
    try:
        yield
    finally:
        options.set_crc32_options(before)


def run_referee(data: str, result: str, patience: float) -> str:
    """Runs the referee in a process of its own; what went wrong with it, in words, or nothing."""
    output = os.path.join(os.path.dirname(data), "output.txt")
    code = ask_referee({"data": data, "result": result, "output": output}, patience)
    if code is None:
        return f"took more than {patience:.0f} s"
    if code:
        with contextlib.suppress(OSError), open(output, encoding="utf-8", errors="replace") as file:
            last = (file.read().strip().splitlines() or [""])[-1]
            return f"ended with status {code}: {last}"
        return f"ended with status {code}"
    return ""


class Server:
    """A process that has imported torch and forks for each case: the import is paid once, and while the model is being
    recorded. It ends with this process, or when nobody has asked it for a minute."""

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", SCRIPT, "--serve"], env=_environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)

    def judge(self, case: dict[str, str], patience: float) -> int | None:
        """The exit status of the case's process, None if it took too long. OSError where the server is gone."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], patience)[0]:
                self.stop()
                return None
            answer = self.process.stdout.readline()
        except BaseException:  # interrupted: the answer that is still to come would be taken for the next case's
            self.stop()
            raise
        if not answer:
            raise BrokenPipeError("the referee's process is gone")
        return int(answer)

    def stop(self) -> None:
        """Ends it with whatever it has started; a forked process leaves it alone."""
        if self.key[0] != os.getpid():
            return
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_check.py")
_server: Server | None = None


def _environment() -> dict[str, str]:
    return dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))


def start_referee() -> Server | None:
    """The server of this process, started if there is none; None where processes can't fork."""
    global _server
    if not hasattr(os, "fork"):
        return None
    key = (os.getpid(), tuple(sorted(_environment().items())))  # a forked process has a server of its own
    if _server is None or _server.key != key or _server.process.poll() is not None:
        if _server is not None:
            _server.stop()
        _server = Server(key)
        atexit.register(_server.stop)
    return _server


def ask_referee(case: dict[str, str], patience: float) -> int | None:
    """The exit status of the referee, None if it took too long."""
    server = start_referee()
    if server is not None:
        with contextlib.suppress(OSError):
            return server.judge(case, patience)
    command = [sys.executable, "-W", "ignore", SCRIPT, case["data"], case["result"]]
    try:
        with open(case["output"], "wb") as output:
            return subprocess.run(command, cwd=os.path.dirname(case["data"]), env=_environment(), timeout=patience,
                                  stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False).returncode
    except subprocess.TimeoutExpired:
        return None
