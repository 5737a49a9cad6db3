"""Verification: the original and its skeleton make the same calls, in two processes, and must agree bit by bit."""

from __future__ import annotations

import ast
import contextlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator

from ._result import Result

SEED = 20_240_229
# What a skeleton must pass to be handed out; the rest is reported.
NEEDED = ("recording", "imports", "build", "load", "recorded", "recorded: buffers", "other data", "other batch")
# How the header puts it. What all skeletons have goes unsaid, and so does what belongs to a run that is named.
PHRASES = {
    "recorded": "the recorded input", "other data": "other data", "other batch": "other batch sizes",
    "other length": "other lengths", "called again": "a second call", "train": "train mode", "eval": "eval mode",
    "gradients": "gradients",
}
UNSAID = ("build", "load", "order", "ties", "requires_grad", "events", "recorded: buffers", "gradients enabled",
          "called", "other draw", "train: buffers", "train: gradients", "train: other batch",
          "train: other length", "eval: buffers", "eval: gradients", "eval: other batch", "eval: other length")
PATIENCE = 900.0  # seconds that the referee may take


@dataclass
class Check:
    """One comparison. status: passed, failed, refused (the skeleton's own assertion fired), skipped; differs: the
    events are others, which alone is no fault."""

    name: str
    status: str
    detail: str = ""
    seconds: float = 0.0

    @property
    def silent(self) -> bool:
        """The skeleton gave something, and it was wrong: worse than raising."""
        return self.status == "failed" and self.detail.startswith("result")


@dataclass(repr=False)
class Report(Result):
    """What was compared and how it came out, with what the synthesis had to say."""

    checks: list[Check] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    synthesis: dict[str, Any] = field(default_factory=dict)

    def status(self, name: str) -> str:
        """passed only if every check of that name passed."""
        found = [c.status for c in self.checks if _base(c.name) == name]
        for worst in ("failed", "refused", "differs", "skipped", "passed"):
            if worst in found:
                return worst
        return "skipped"

    @property
    def failures(self) -> list[Check]:
        return [c for c in self.checks if c.status in ("failed", "refused")]

    @property
    def good(self) -> bool:
        """Whether the skeleton may be handed out: loads, and equal wherever equality is promised."""
        for check in self.failures:
            base = _base(check.name)
            mode = base.rpartition(": ")[0]  # of a mode that differs anyway the header says so
            if base in NEEDED or (base.endswith(("other batch", "other length")) and check.silent
                                  and self.status(mode) != "failed"):
                return False
        return any(c.name == "recorded" and c.status == "passed" for c in self.checks)

    @property
    def complete(self) -> bool:
        return self.good and not self.failures

    @property
    def verdict(self) -> str:
        """One line for the file's header."""
        if all(c.status == "skipped" for c in self.checks):
            return "not run"
        failed: dict[str, str] = {}
        for check in self.failures:
            failed.setdefault(_base(check.name), check.detail)
        passed = {_base(c.name): None for c in self.checks if c.status == "passed"}
        said = [n for n in [*PHRASES, *passed] if n in passed and n not in failed and n not in UNSAID]
        shown = [PHRASES.get(n, n) for n in dict.fromkeys(said)]
        text = "bit-equal on " + ", ".join(shown) if shown else "nothing is equal"
        if failed:
            text += "; NOT: " + "; ".join(f"{name} ({detail[:160]})" if detail else name
                                          for name, detail in failed.items())
        return text

    def _summary(self) -> str:
        return self.verdict

    def to_dict(self) -> dict[str, Any]:
        return {
            "good": self.good, "complete": self.complete, "verdict": self.verdict,
            "checks": [vars(c).copy() for c in self.checks],
            "seconds": self.seconds, "remarks": self.remarks, "synthesis": self.synthesis,
        }

    def __str__(self) -> str:
        sign = {"passed": "ok", "failed": "FAILED", "refused": "refused", "skipped": "-", "differs": "differs"}
        lines = [f"{c.name:28} {sign[c.status]:8} {c.detail}".rstrip() for c in self.checks]
        lines += [f"note: {r}" for r in self.remarks]
        lines += [f"{kind}: {text}" + (f" ({file}:{line})" if file else "")
                  for kind, text, file, line in self.synthesis.get("remarks", ())]
        lines.append("seconds: " + ", ".join(f"{k} {v:.2f}" for k, v in self.seconds.items()))
        return "\n".join(lines)


def _base(name: str) -> str:
    """Several checks of one kind are numbered: "other data 2", "recorded, call 2"."""
    return re.sub(r"(, call)? \d+$", "", name)


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
            name = _plain_name(re.match(r"[\w.-]+", text).group())
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
    return {name: m.training for name, m in model.named_modules(remove_duplicate=False)}


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    import torch
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def play_original(model: Any, name: str, args: tuple, kwargs: dict, *, grad: bool, gradients: bool = False,
                  buffers: bool = False, events: bool = False, seed: int = SEED,
                  found: dict[int, tuple] | None = None) -> tuple[dict[str, Any], Any]:
    """Makes the call on the original and returns what the referee needs to repeat it, and the result.

    The inputs are consumed: the model may change them in place. Gradients are summed in an order that depends
    on the number of threads, so calls that compare them use one."""
    import torch

    from . import _check
    count = 1 if gradients else torch.get_num_threads()
    call: dict[str, Any] = {"name": name, "seed": seed, "modes": modes_of(model), "grad": grad, "threads": count,
                            "args": _check.plain_form(args, found), "kwargs": _check.plain_form(kwargs, found)}
    for part in ("args", "kwargs"):
        call[part] = _check.map_tensors(call[part], _check.copy_input)
    before = _check.parameters_before(model) if buffers else {}
    with threads(count):
        _check.seed_all(seed)
        with torch.set_grad_enabled(grad), _check.Events() if events else contextlib.nullcontext() as seen:
            result = model(*args, **kwargs)
        call["events"] = seen.rows(result) if events else None
        form = _check.plain_form(result)
        call["result"] = _check.detached(form)
        call["result_grads"] = [t.requires_grad for t in _check.tensors_of(form)]
        call["buffers"] = _check.changeable(model, before) if buffers else None
        found_gradients = _check.gradients(model, form) if gradients else None
        call["gradients"] = found_gradients and {k: _check.digested(t) for k, t in found_gradients.items()}
        call["gradients name"] = "gradients" if name == "gradients enabled" else f"{name}: gradients"
    return call, result


def referee_data(model: Any, source: str, root: str, sequences: list[list[dict]],
                 extra: Iterable[str]) -> dict[str, Any]:
    from . import _check
    return {
        "source": source, "root": root, "seed": SEED, "allowed": allowed_packages(extra),
        "state": {k: v.detach() if hasattr(v, "detach") else v for k, v in model.state_dict().items()},
        "ties": _check.ties_of(model),
        "requires_grad": {n: p.requires_grad for n, p in model.named_parameters(remove_duplicate=False)},
        "sequences": sequences,
    }


def verify(model: Any, source: str, root: str, sequences: list[list[dict]], extra: Iterable[str] = (),
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
        torch.save(referee_data(model, source, root, sequences, extra), data)
        problem = run_referee(data, result, patience)
        if problem or not os.path.exists(result):
            return [Check("build", "failed", f"the referee {problem or 'gave no result'}")]
        with open(result) as file:
            return [Check(**row) for row in json.load(file)]


def run_referee(data: str, result: str, patience: float) -> str:
    """Runs the referee in a process of its own; what went wrong with it, in words, or nothing."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_check.py")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    try:
        done = subprocess.run([sys.executable, "-W", "ignore", script, data, result], cwd=os.path.dirname(data),
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return f"took more than {patience:.0f} s"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return f"ended with status {done.returncode}: {last}"
    return ""
