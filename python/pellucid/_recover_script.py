"""The source of a TorchScript archive against the archive as `torch.jit.load` reads it, in a process of its own."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

from ._program import Path

SECONDS = 900
CHILD = "import sys; sys.path[:] = {paths!r}; from pellucid._recover_script import main; main()"
#: Sizes of pictures, lengths of sequences: what models take is found by trying.
PICTURES, LENGTHS = (64, 224, 32, 96, 128, 240, 256, 288, 160, 192, 384), (12, 16, 64, 8, 128)


def compare(file: Path, source: str, root: str, kind: str = "script") -> tuple[list[str], str, str]:
    """Runs in which both are equal, what differs, and why nothing was compared. kind: whose module makes the runs."""
    job = json.dumps({"file": os.path.abspath(os.fspath(file)), "source": source, "root": root, "kind": kind})
    command = [sys.executable, "-c", CHILD.format(paths=[path or os.getcwd() for path in sys.path])]
    try:
        done = subprocess.run(command, input=job, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return [], "", f"the comparison was stopped after {SECONDS} s"
    for line in done.stdout.splitlines():
        if line.startswith("pellucid: "):
            answer = json.loads(line.removeprefix("pellucid: "))
            return answer["equal"], answer["difference"], answer["not_compared"]
    said = done.stderr.strip().splitlines()
    return [], "", f"torch's process ended with {done.returncode}: {said[-1][:200] if said else 'no message'}"


def main() -> None:
    job = json.load(sys.stdin)
    out = os.dup(1)
    os.dup2(2, 1)  # what the models print goes to stderr
    compared = _compared
    if job["kind"] == "onnx":
        from ._recover_onnx import compared
    if job["kind"] == "keras":
        from ._recover_keras import compared
    equal, difference, why = compared(job["file"], job["source"], job["root"])
    answer = json.dumps({"equal": equal, "difference": difference, "not_compared": why})
    os.write(out, f"\npellucid: {answer}\n".encode())


def _compared(file: str, source: str, root: str) -> tuple[list[str], str, str]:
    import torch

    from ._check import difference, load_source, plain_form
    from ._recover import _result, _shuffled
    try:
        original = torch.jit.load(file, map_location="cpu").eval()
    except Exception as error:
        return [], "", f"torch can't load the file: {_said(error)}"
    found = next(((name, inputs) for name, inputs in _candidates(original, file) if _runs(original, inputs)), None)
    if found is None:
        return [], "", "no inputs that were tried run in the file's program"
    try:
        module = vars(load_source(source, "pellucid_recovered", "<recovered>"))[root]().eval()
        module.load_state_dict(_state(original, module))
    except Exception as error:
        return [], f"the source can't be built: {_said(error)}", ""
    equal: list[str] = []
    for name, inputs in (found, ("these shuffled", _shuffled(found[1]))):
        want, raised = _result(original, inputs)
        if raised:
            continue  # shuffled inputs are none that the program takes
        got, raised = _result(module, inputs)
        differs = f"it raises {raised}" if raised else difference(plain_form(want), plain_form(got))
        if differs:
            return equal, f"{name}: {differs}", ""
        equal.append(name)
    return equal, "", ""


def _said(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:300]}"


def _state(original: Any, module: Any) -> dict[str, Any]:
    """The file's state dict, and tensors of it that no state dict has, which the source keeps as buffers."""
    import torch
    state = dict(original.state_dict())
    for name in module.state_dict():
        if name not in state:
            value = original
            for part in name.split("."):
                value = getattr(value, part)
            if isinstance(value, torch.Tensor):
                state[name] = value
    return state


def _runs(original: Any, inputs: Any) -> bool:
    from ._recover import _result
    return not _result(original, inputs)[1]


# ---- inputs ----

class _Shapes(pickle.Unpickler):
    """Inputs of a trace: their shapes and dtypes are kept, their values are not. Nothing but tensors is built."""

    def find_class(self, module: str, name: str) -> Any:
        import torch
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda dtype, offset, size, stride, *rest: _made(tuple(size), dtype)
        if module == "torch.jit._pickle":
            return lambda value, *rest: value
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        if module == "torch" and name.endswith("Storage") and hasattr(torch, name):
            return getattr(torch, name)().dtype
        raise pickle.UnpicklingError(f"{module}.{name}")

    def persistent_load(self, key: Any) -> Any:
        return key[1]


def _made(size: tuple[int, ...], dtype: Any) -> Any:
    import torch
    generator = torch.Generator().manual_seed(len(size))
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(size, generator=generator, dtype=dtype)
    return torch.randint(2, size, generator=generator).to(dtype)


def _of_trace(file: str) -> Any:
    import io
    with zipfile.ZipFile(file) as archive:
        name = next((n for n in archive.namelist() if n.endswith("/traced_inputs.pkl")), None)
        if name is None:
            return None
        try:
            inputs = _Shapes(io.BytesIO(archive.read(name))).load()
        except Exception:
            return None
    return inputs.get("forward") if isinstance(inputs, dict) else None


def _candidates(original: Any, file: str) -> Iterator[tuple[str, Any]]:
    traced = _of_trace(file)
    if traced is not None:
        yield "random values of its trace's shapes", (tuple(traced), {})
    arguments = original._c._get_method("forward").schema.arguments[1:]
    needed = [argument for argument in arguments if not argument.has_default_value()]
    for value in _tensors(original):
        text = f"{'x'.join(map(str, value.shape))} {str(value.dtype).removeprefix('torch.')}"
        for count in dict.fromkeys((len(needed), len(arguments))):
            yield f"inputs that it takes ({text})", (tuple(copy.deepcopy(value) for _ in range(count)), {})


def _tensors(original: Any) -> Iterator[Any]:
    """What the first weights could take, then what is usual."""
    import torch
    generator = torch.Generator().manual_seed(0)

    def values(*size: int) -> Any:
        return torch.randn(size, generator=generator)

    for weight in [w for w in original.parameters() if w.dim() > 1][:3]:
        if weight.dim() == 5:
            yield from (values(2, weight.shape[1], 8, n, n) for n in PICTURES[:3])
        if weight.dim() == 4:
            yield from (values(2, weight.shape[1], n, n) for n in PICTURES)
        if weight.dim() == 3:
            yield from (values(2, weight.shape[1], n) for n in LENGTHS)
        if weight.dim() == 2:
            yield from (torch.randint(weight.shape[0], (2, n), generator=generator) for n in LENGTHS[:2])
            yield values(2, weight.shape[1])
            yield values(2, 5, weight.shape[1])
    yield from (values(2, 3, n, n) for n in PICTURES)
    yield values(2, 4, 8)
