"""Where do the numbers part? A function run as written, and by each stage of torch.compile, compared bit by bit.

Outputs and gradients of each backend are held against the function as it was written. Where a backend's outputs
differ, its graphs are run again with every value kept, and the first line whose inputs are equal and whose value is not
is the one to look at. That line is evidence: it was found by values, with both of them shown. Where keeping the values
hides the difference (a kernel that is fused computes otherwise than one that is not), the graph is cut at single lines
instead, each compiled alone.
"""

from __future__ import annotations

import contextlib
import copy
import math
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Sequence

import torch

from . import _compiler_compat as compat
from ._check import named_parameters_of, parameters_of
from ._compiler_session import frames_of_node
from ._result import Result

BACKENDS = ("eager", "aot_eager", "inductor")
MOST_CUTS = 40  # compilations of one graph cut at a line, before we say that it was not found


@dataclass
class Difference:
    """Two tensors, and by how much they differ. `ulp` counts the numbers of the type that lie between two values."""

    what: str
    elements: int
    different: int
    ulp: float | None
    absolute: float
    relative: float
    index: tuple[int, ...]
    values: tuple[Any, Any]
    why: str = ""  # where no numbers can be compared

    def __str__(self) -> str:
        if self.why:
            return f"{self.what}: {self.why}"
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        ulp = "" if self.ulp is None else f", at most {self.ulp:.0f} ulp"
        return (f"{self.what}: {self.different} of {self.elements} numbers differ{ulp}, relative error "
                f"{self.relative:.2g}; most at {at or 'the only one'}: {self.values[0]!r} as written, "
                f"{self.values[1]!r} compiled")

    def to_dict(self) -> dict[str, Any]:
        return {"what": self.what, "elements": self.elements, "different": self.different, "ulp": self.ulp,
                "absolute": self.absolute, "relative": self.relative, "index": list(self.index),
                "values": [repr(value) for value in self.values], "why": self.why}


@dataclass
class Place:
    """A line of a graph, the user's line that it comes from, and the kernel that computes it."""

    graph: int
    node: str
    call: str
    file: str
    line: int
    source: str
    how: str  # which runs show it
    difference: Difference | None = None
    kernel: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}  {self.source}" if self.file else "no line of yours: the compiler made it"
        lines = [f"{self.node} = {self.call}   (graph {self.graph})", f"  from {where}", f"  {self.how}"]
        if self.difference:
            lines.append(f"  {self.difference}")
        if self.kernel:
            lines += ["  computed by:", *("    " + line for line in self.kernel.splitlines())]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {"graph": self.graph, "node": self.node, "call": self.call, "file": self.file, "line": self.line,
                "source": self.source, "how": self.how, "kernel": self.kernel,
                "difference": self.difference.to_dict() if self.difference else None}


@dataclass
class Stage:
    """One backend beside the function as written."""

    backend: str
    compiler: Any  # as torch.compile takes it: a name or a function
    differences: list[Difference] = field(default_factory=list)
    gradients: list[Difference] = field(default_factory=list)
    error: str = ""

    @property
    def equal(self) -> bool:
        return not (self.differences or self.gradients or self.error)


@dataclass(repr=False)
class Numerics(Result):
    """What `bisect_numerics` found. `equal` is True only if every backend ran and every bit of it is the same."""

    stages: list[Stage]
    first: Place | None = None
    unknown: str = ""  # why no line is named although something differs
    not_finite: list[Place] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return all(stage.equal for stage in self.stages)

    def _summary(self) -> str:
        parts = [f"{stage.backend} {'equal' if stage.equal else 'failed' if stage.error else 'differs'}"
                 for stage in self.stages]
        return ", ".join(parts) + (f"; parts at {self.first.file}:{self.first.line}" if self.first else "")

    def __str__(self) -> str:
        lines = []
        for stage in self.stages:
            said = stage.error or ("every bit is equal" if stage.equal else "")
            lines.append(f"{stage.backend}: {said}".rstrip())
            lines += [f"  {difference}" for difference in stage.differences]
            lines += [f"  gradient of {difference}" for difference in stage.gradients]
        if self.first:
            lines += ["", "The numbers part here:", str(self.first)]
        elif self.unknown:
            lines += ["", f"The line where they part is not known: {self.unknown}"]
        for place in self.not_finite:
            lines += ["", "The first value that is not finite:", str(place)]
        lines += ["", *self.notes] if self.notes else []
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        return {"equal": self.equal, "unknown": self.unknown, "notes": self.notes,
                "stages": [{"backend": stage.backend, "equal": stage.equal, "error": stage.error,
                            "outputs": [d.to_dict() for d in stage.differences],
                            "gradients": [d.to_dict() for d in stage.gradients]} for stage in self.stages],
                "first": self.first.to_dict() if self.first else None,
                "not_finite": [place.to_dict() for place in self.not_finite]}


# ---- comparing two values ----

_BITS = {torch.float64: torch.int64, torch.float32: torch.int32, torch.float16: torch.int16,
         torch.bfloat16: torch.int16}


def _steps(tensor: torch.Tensor) -> torch.Tensor:
    """The place of each number among all of its type, so that neighbours differ by one."""
    bits = tensor.contiguous().view(_BITS[tensor.dtype]).to(torch.int64)
    lowest = -(1 << (8 * tensor.element_size() - 1))
    return torch.where(bits < 0, lowest - bits, bits)


def difference(what: str, one: Any, other: Any) -> Difference | None:
    """None if the two are the same to the last bit (every NaN counts as the same)."""
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
        same = type(one) is type(other) and bool(one == other or one != one and other != other)
        return None if same else Difference(what, 1, 1, None, math.nan, math.nan, (), (one, other))
    one, other = one.detach().cpu(), other.detach().cpu()
    for name in ("shape", "dtype", "layout"):
        if getattr(one, name) != getattr(other, name):
            return Difference(what, one.numel(), one.numel(), None, math.nan, math.nan, (), (one, other),
                              f"its {name} is {getattr(one, name)} as written, {getattr(other, name)} compiled")
    if one.layout != torch.strided:
        one, other = one.to_dense(), other.to_dense()
    if one.is_quantized:
        one, other = one.int_repr(), other.int_repr()
    return _numbers(what, one, other)


def _numbers(what: str, one: torch.Tensor, other: torch.Tensor) -> Difference | None:
    """Of two dense tensors of one type and shape."""
    if one.is_complex():
        one, other = torch.view_as_real(one.resolve_conj()), torch.view_as_real(other.resolve_conj())
    in_steps = one.dtype in _BITS
    if one.is_floating_point() and not in_steps:  # of 8 bits: exact in 32
        one, other = one.float(), other.float()
    apart = (one != other) & ~((one != one) & (other != other))
    if in_steps:
        apart |= (_steps(one) != _steps(other)) & ~((one != one) & (other != other))
    if not bool(apart.any()):
        return None
    wide = torch.float64 if one.is_floating_point() else torch.int64
    gap = (one.to(wide) - other.to(wide)).abs().to(torch.float64)
    gap = torch.where(apart, gap.nan_to_num(nan=math.inf), torch.zeros_like(gap))
    scale = torch.maximum(one.to(torch.float64).abs(), other.to(torch.float64).abs())
    relative = torch.where(gap > 0, gap / scale, torch.zeros_like(gap)).nan_to_num(nan=math.inf)
    steps = (_steps(one) - _steps(other)).abs()[apart].max().item() if in_steps else None
    worst = int(torch.where(apart, gap + 1e-300, gap).flatten().argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), one.shape)) if one.dim() else ()
    return Difference(what, one.numel(), int(apart.sum()), None if steps is None else float(steps), float(gap.max()),
                      float(relative.max()), index, (one.flatten()[worst].item(), other.flatten()[worst].item()))


def differences(one: Any, other: Any, path: str = "the result") -> Iterator[Difference]:
    """Of two results of one structure."""
    import torch.utils._pytree as pytree
    (left, how), (right, other_how) = pytree.tree_flatten(one), pytree.tree_flatten(other)
    if how != other_how:
        yield Difference(path, 1, 1, None, math.nan, math.nan, (), (str(how), str(other_how)), "its structure differs")
        return
    for number, (a, b) in enumerate(zip(left, right)):
        found = difference(path if len(left) == 1 else f"{path}, part {number}", a, b)
        if found:
            yield found


# ---- running ----

@dataclass
class _Run:
    result: Any = None
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)


@contextlib.contextmanager
def _as_before(model: Any, inputs: Any) -> Iterator[Any]:
    """The same generators, parameters, buffers and inputs for every run; all is put back."""
    states = {name: tensor.detach().clone() for name, tensor in model.state_dict(keep_vars=True).items()
              if isinstance(tensor, torch.Tensor)} if isinstance(model, torch.nn.Module) else {}
    grads = [(p, p.grad) for p in parameters_of(model)] if isinstance(model, torch.nn.Module) else []
    with torch.random.fork_rng(devices=[]):
        for parameter, _ in grads:
            parameter.grad = None
        try:
            yield _copied(inputs)
        finally:
            if states:
                with torch.no_grad():
                    for name, tensor in model.state_dict(keep_vars=True).items():
                        if name in states and not torch.equal(tensor, states[name]):
                            tensor.copy_(states[name])
            for parameter, grad in grads:
                parameter.grad = grad


def _copied(inputs: Any) -> Any:
    import torch.utils._pytree as pytree

    def copied(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return copy.copy(value) if isinstance(value, (list, dict, set)) else value
        return value.detach().clone().requires_grad_(value.requires_grad)

    return pytree.tree_map(copied, inputs)


def _run(model: Any, call: Callable[..., Any], inputs: Any) -> _Run:
    """One call, and its gradients where it has any: those of the sum of all that it returns."""
    import torch.utils._pytree as pytree
    with _as_before(model, inputs) as (args, kwargs):
        made = _Run(call(*args, **kwargs))
        made.result = pytree.tree_map(lambda v: v, made.result)
        tensors = [value for value in pytree.tree_leaves(made.result)
                   if isinstance(value, torch.Tensor) and value.requires_grad]
        if tensors:
            torch.autograd.backward([t.real.sum() if t.is_complex() else t.sum() for t in tensors])
            made.gradients = dict(_gradients(model, (args, kwargs)))
        made.result = pytree.tree_map(lambda v: v.detach().clone() if isinstance(v, torch.Tensor) else v, made.result)
    return made


def _gradients(model: Any, inputs: Any) -> Iterator[tuple[str, torch.Tensor]]:
    import torch.utils._pytree as pytree
    if isinstance(model, torch.nn.Module):
        for name, parameter in named_parameters_of(model):
            if parameter.grad is not None:
                yield name, parameter.grad.detach().clone()
    for number, value in enumerate(pytree.tree_leaves(inputs)):
        if isinstance(value, torch.Tensor) and value.grad is not None:
            yield f"input {number}", value.grad.detach().clone()


def _compare(stage: Stage, written: _Run, compiled: _Run) -> None:
    stage.differences = list(differences(written.result, compiled.result))
    for name in [*written.gradients, *(set(compiled.gradients) - set(written.gradients))]:
        one, other = written.gradients.get(name), compiled.gradients.get(name)
        if one is None or other is None:
            has = "compiled" if one is None else "as written"
            stage.gradients.append(Difference(name, 1, 1, None, math.nan, math.nan, (), (one, other),
                                              f"there is one only {has}"))
            continue
        found = difference(name, one, other)
        if found:
            stage.gradients.append(found)


@contextlib.contextmanager
def _same_random_numbers() -> Iterator[bool]:
    """Inductor draws other numbers than torch unless it is asked not to. False where it can't be asked."""
    config = compat.inductor_config()
    if config is None or not hasattr(config, "fallback_random"):
        yield False
        return
    with config.patch(fallback_random=True):
        yield True


# ---- the graphs ----

@dataclass
class _Graph:
    module: torch.fx.GraphModule
    inputs: list[Any] = field(default_factory=list)  # of its first call


def _capture(model: Any, fn: Any, inputs: Any) -> list[_Graph]:
    """The graphs that Dynamo makes of the function, with the inputs that each is first called with."""
    found: list[_Graph] = []

    def backend(module: torch.fx.GraphModule, example: Sequence[Any]) -> Callable[..., Any]:
        graph = _Graph(module)
        found.append(graph)

        def call(*args: Any) -> Any:
            if not graph.inputs:
                graph.inputs = _copied(list(args))
            return module(*args)

        return call

    torch._dynamo.reset()
    with torch.no_grad():
        _run(model, torch.compile(fn, backend=backend), inputs)
    return found


class _Values(torch.fx.Interpreter):
    """Runs a graph and keeps each value as it was made; later lines may write into it."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.kept: dict[str, Any] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        value = super().run_node(n)
        self.kept[n.name] = _copied(value)
        return value


def _tensor_nodes(graph: _Graph, kept: dict[str, Any]) -> list[torch.fx.Node]:
    calls = ("call_function", "call_method", "call_module")
    return [node for node in graph.module.graph.nodes
            if node.op in calls and isinstance(kept.get(node.name), torch.Tensor)]


def _with_outputs(module: torch.fx.GraphModule, names: list[str]) -> torch.fx.GraphModule:
    """The graph, giving copies of these values (a copy, so that nothing later writes into what is compared)."""
    made = copy.deepcopy(module.graph)
    nodes = {node.name: node for node in made.nodes}
    output = next(node for node in made.nodes if node.op == "output")
    copies = []
    for name in names:
        after = nodes[name]
        with made.inserting_after(after):
            copies.append(made.call_function(torch.clone, (after,)))
    output.args = (tuple(copies),)
    made.eliminate_dead_code()
    made.lint()
    return torch.fx.GraphModule(module, made)


def _compiled_values(graph: _Graph, names: list[str], backend: Any) -> dict[str, Any]:
    """These values, computed by a backend."""
    module = _with_outputs(graph.module, names)
    torch._dynamo.reset()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        results = torch.compile(module, backend=backend)(*_copied(graph.inputs))
    return dict(zip(names, results))


def _place(number: int, node: torch.fx.Node, how: str, found: Difference | None) -> Place:
    frames, code = frames_of_node(node)
    target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
    call = f"{target}({', '.join(map(str, node.args))}{''.join(f', {k}={v}' for k, v in node.kwargs.items())})"
    file, line = (frames[-1].file, frames[-1].line) if frames else ("", 0)
    return Place(number, node.name, call, file, line, code, how, found)


def _first_apart(number: int, graph: _Graph, stage: Stage) -> Place | str:
    """The first line of this graph that a backend computes otherwise from equal inputs; or why none is named."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        values = _Values(graph.module)
        values.run(*_copied(graph.inputs))
    nodes = _tensor_nodes(graph, values.kept)
    if not nodes:
        return f"graph {number} computes no tensor"
    compiled = _compiled_values(graph, [node.name for node in nodes], stage.compiler)
    for node in nodes:
        found = difference(node.name, values.kept[node.name], compiled[node.name])
        if found:
            how = f"{stage.backend} with every value kept: all values before this line are equal"
            return _place(number, node, how, found)
    return _cut(number, graph, stage, nodes, values.kept)


def _cut(number: int, graph: _Graph, stage: Stage, nodes: list[torch.fx.Node],
         kept: dict[str, Any]) -> Place | str:
    """Only what is fused differs: from the outputs up, each line compiled as the only output, until one differs whose
    inputs do not."""
    known = {node.name for node in nodes}
    tried: dict[str, Difference | None] = {}

    def apart(name: str) -> Difference | None:
        if name not in tried:
            if len(tried) >= MOST_CUTS:
                raise _TooMany
            tried[name] = difference(name, kept[name], _compiled_values(graph, [name], stage.compiler)[name])
        return tried[name]

    output = next(node for node in graph.module.graph.nodes if node.op == "output")
    try:
        here = next((node for node in output.all_input_nodes if node.name in known and apart(node.name)), None)
        if here is None:
            return (f"graph {number} alone is equal, with its values kept and at each of its outputs: they part only "
                    "when it runs as a whole")
        while True:
            above = next((node for node in here.all_input_nodes if node.name in known and apart(node.name)), None)
            if above is None:
                how = f"{stage.backend} with only this line as output: each input of the line, compiled so, is equal"
                return _place(number, here, how, tried[here.name])
            here = above
    except _TooMany:
        return f"{MOST_CUTS} lines of graph {number} were compiled alone, and that is the limit"


class _TooMany(Exception):
    pass


def _not_finite(number: int, graph: _Graph) -> Place | None:
    """The first line that makes a NaN or an infinity of finite inputs, run as written."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        values = _Values(graph.module)
        values.run(*_copied(graph.inputs))
    kept = values.kept
    for node in _tensor_nodes(graph, kept):
        if _finite(kept[node.name]) or not all(_finite(kept.get(above.name)) for above in node.all_input_nodes):
            continue
        value = kept[node.name]
        return _place(number, node, f"{int((~torch.isfinite(value)).sum())} of {value.numel()} numbers are NaN or "
                      "infinite; its inputs are finite", None)
    return None


def _finite(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return True
    return bool(torch.isfinite(value.float() if value.element_size() == 1 else value).all())


# ---- kernels ----

_SOURCES = re.compile(r"^ *# Topologically Sorted Source Nodes: \[(?P<nodes>[^\]]*)\]", re.MULTILINE)
_KERNEL = re.compile(r"^(?P<name>\w+) = async_compile\.\w+\(.*?'''\n?(?P<text>.*?)'''", re.DOTALL | re.MULTILINE)


def _kernels(code: str, node: str) -> str:
    """Of Inductor's output code: the kernels that are called, or defined, below a comment that names this line."""
    defined = {found["name"]: found["text"].strip() for found in _KERNEL.finditer(code)}
    marks = list(_SOURCES.finditer(code))
    texts: dict[str, str] = {}
    for mark, after in zip(marks, [*marks[1:], None]):
        if node in [name.strip() for name in mark["nodes"].split(",")]:
            below = code[mark.end():after.start() if after else len(code)]
            texts.update((name, defined[name]) for name in re.findall(r"\w+", below) if name in defined)
    return "\n\n".join(f"{name}:\n{text}" for name, text in texts.items())


def _inductor_code(model: Any, fn: Any, inputs: Any) -> str:
    """All output code of one compiled call."""
    texts: list[str] = []

    def keep(metadata: dict[str, Any], payload: str | None) -> None:
        if "inductor_output_code" in metadata:
            texts.append(payload or "")

    remove = compat.on_trace(lambda name: name == "inductor_output_code", keep)
    try:
        torch._dynamo.reset()
        with torch.no_grad():
            _run(model, torch.compile(fn, backend="inductor"), inputs)
    finally:
        remove()
    return "\n".join(texts)


# ---- all of it ----

def as_written(fn: Any) -> Any:
    """What was given to torch.compile, where the function came from it."""
    return getattr(fn, "_torchdynamo_orig_callable", None) or getattr(fn, "_orig_mod", fn)


def _name(backend: Any) -> str:
    return backend if isinstance(backend, str) else getattr(backend, "__name__", repr(backend))


def bisect_numerics(fn: Callable[..., Any], *args: Any, backends: Sequence[Any] = BACKENDS,
                    **kwargs: Any) -> Numerics:
    """Where do the numbers of a compiled function part from those of the function as written, and on which line?

    Calls `fn` with these arguments as it is, then compiled with each backend, from the same generators' states, and
    compares every bit of what it returns and of the gradients of its sum. For the first backend that differs, names the
    line of the graph where values part although the line's inputs are equal, the line of your source, and Inductor's
    kernel. Lines that make NaN or infinity of finite numbers are named, too. Weights and generators are put back.

    `Numerics.equal` speaks of these inputs alone. A difference is not a fault by itself: fused kernels round otherwise.
    """
    fn = as_written(fn)
    model = fn if isinstance(fn, torch.nn.Module) else getattr(fn, "__self__", None)
    inputs = (args, kwargs)
    made = Numerics([Stage(_name(backend), backend) for backend in backends])
    written = _run(model, fn, inputs)
    again = list(differences(written.result, _run(model, fn, inputs).result))
    if again:
        made.unknown = "two calls of the function as written differ already, by no fault of the compiler"
        made.notes.append(f"As written, called twice: {again[0]}")
    with _same_random_numbers() as same:
        if not same:
            made.notes.append("Inductor may draw other random numbers here: this torch can't be asked not to.")
        for stage in made.stages:
            _run_stage(stage, model, fn, inputs, written)
        try:
            _locate(made, model, fn, inputs)
        finally:
            torch._dynamo.reset()
    return made


def _run_stage(stage: Stage, model: Any, fn: Any, inputs: Any, written: _Run) -> None:
    torch._dynamo.reset()
    try:
        _compare(stage, written, _run(model, torch.compile(fn, backend=stage.compiler), inputs))
    except Exception as problem:  # a backend that fails is an answer
        stage.error = f"{type(problem).__name__}: {' '.join(str(problem).strip().splitlines()[:2])}"


def _locate(made: Numerics, model: Any, fn: Any, inputs: Any) -> None:
    """Names the line for the first backend that differs, and the lines that make what is not finite."""
    graphs = _capture(model, fn, inputs)
    called = [(number, graph) for number, graph in enumerate(graphs) if graph.inputs]
    made.not_finite = [place for number, graph in called if (place := _not_finite(number, graph))][:1]
    differs = next((stage for stage in made.stages if not stage.equal), None)
    if differs is None or made.unknown:
        return
    if differs.error:
        made.unknown = f"{differs.backend} failed"
    elif differs.compiler == "eager":
        made.unknown = "Dynamo's graphs, run as they are, give other values already: `explain` shows them"
    elif not differs.differences:
        made.unknown = "the results are equal, only gradients differ: the lines of a backward graph are not searched"
    else:
        _locate_in(made, differs, called, model, fn, inputs)


def _locate_in(made: Numerics, stage: Stage, called: list[tuple[int, _Graph]], model: Any, fn: Any,
               inputs: Any) -> None:
    """Searches the graphs in the order of their calls; each gets the inputs that it has as written."""
    reasons = []
    for number, graph in called:
        found = _first_apart(number, graph, stage)
        if isinstance(found, Place):
            made.first, made.unknown = found, ""
            if stage.compiler == "inductor":
                found.kernel = _kernels(_inductor_code(model, fn, inputs), found.node)
            return
        reasons.append(found)
    made.unknown = "; ".join(reasons) or "no graph was called"
