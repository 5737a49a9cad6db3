"""The source of an ONNX file against the file as onnxruntime runs it, in a process of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

#: Both add in other orders, so their results are not equal in bits.
TOLERANCE = 1e-5
NEARNESS = f"within {TOLERANCE:g} of the largest number"
#: Sizes that the file leaves open are tried in this order.
SIZES = (2, 1, 3, 8, 16, 32, 64)
TYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16",
         "tensor(int64)": "int64",
         "tensor(int32)": "int32", "tensor(int8)": "int8", "tensor(uint8)": "uint8", "tensor(bool)": "bool"}


def compared(file: str, source: str, root: str) -> tuple[list[str], str, str]:
    """Runs in which both are equal, what differs, and why nothing was compared."""
    import onnxruntime

    from ._recover_script import _said
    try:
        how = onnxruntime.SessionOptions()
        how.intra_op_num_threads = 1
        how.log_severity_level = 4
        session = onnxruntime.InferenceSession(file, how, providers=["CPUExecutionProvider"])
    except Exception as error:  # whatever it raises on files of other versions
        return [], "", f"onnxruntime can't load the file: {_said(error)}"
    try:
        module = built(file, source, root)
    except Exception as error:
        return [], f"the source can't be built: {_said(error)}", ""
    equal: list[str] = []
    why = "no inputs that were tried run in onnxruntime"
    for name, inputs in candidates(session):
        try:
            want = session.run(None, {i.name: value for i, value in zip(session.get_inputs(), inputs)})
        except Exception as error:
            why = f"no inputs that were tried run in onnxruntime: {_said(error)}"
            continue
        if differs := difference(module, inputs, want):
            return equal, f"{name}: {differs}", ""
        equal.append(name)
        if len(equal) == 2:
            break
    return equal, "", "" if equal else why


def built(file: str, source: str, root: str) -> Any:
    """The module with the file's tensors."""
    from ._check import load_source
    from ._program import convert
    module = vars(load_source(source, "pellucid_recovered", "<recovered>"))[root]().eval()
    if module.state_dict():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "weights.safetensors")
            convert(file, path, for_source=True)
            module.load_state_dict(tensors(path))
    return module


def tensors(path: str) -> dict[str, Any]:
    """A safetensors file, read without the library of that name."""
    import json

    import torch
    types = {"F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16,
             "I64": torch.int64,
             "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
             "U16": torch.uint16, "U32": torch.uint32, "U64": torch.uint64}
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        content = bytearray(file.read())
    out = {}
    for name, row in header.items():
        if name != "__metadata__":
            start, end = row["data_offsets"]
            flat = torch.frombuffer(content, dtype=torch.uint8, count=end - start, offset=start) if end > start else \
                torch.empty(0, dtype=torch.uint8)
            out[name] = flat.clone().view(types[row["dtype"]]).reshape(row["shape"])
    return out


def candidates(session: Any) -> Iterator[tuple[str, list[Any]]]:
    """Random inputs of the shapes that the file says, with several sizes for those that it leaves open."""
    import numpy
    inputs = session.get_inputs()
    is_open = any(not isinstance(size, int) for i in inputs for size in i.shape)
    for seed, size in enumerate(SIZES if is_open else (0, 0)):
        random = numpy.random.default_rng(seed)
        sizes: dict[Any, int] = {}
        values = []
        for i in inputs:
            if i.type not in TYPES:
                return
            shape = [n if isinstance(n, int) else sizes.setdefault(n, size) for n in i.shape]
            dtype = TYPES[i.type]
            values.append(random.standard_normal(shape).astype(dtype) if dtype.startswith("float")
                          else random.integers(0, 2, shape).astype(dtype))
        shapes = ", ".join("x".join(map(str, value.shape)) or "a number" for value in values)
        yield f"random values ({shapes})", values


def difference(module: Any, inputs: list[Any], want: list[Any]) -> str:
    import numpy
    import torch
    try:
        with torch.no_grad():
            got = module(*(torch.from_numpy(value.copy()) for value in inputs))
    except Exception as error:
        return f"it raises {type(error).__name__}: {str(error)[:200]}"
    results = [got] if isinstance(got, torch.Tensor) else list(got)
    if len(results) != len(want):
        return f"{len(want)} results, and {len(results)}"
    for index, (left, right) in enumerate(zip(want, results)):
        found = numpy.asarray(torch.as_tensor(right).detach())
        expected = numpy.asarray(left)
        if expected.shape != found.shape or expected.dtype != found.dtype:
            return f"result {index}: {expected.dtype} {expected.shape} and {found.dtype} {found.shape}"
        if not expected.size:
            continue
        if expected.dtype.kind != "f":
            if (expected != found).any():
                return f"result {index}: {int((expected != found).sum())} of {expected.size} numbers differ"
            continue
        if (numpy.isfinite(expected) != numpy.isfinite(found)).any():
            return f"result {index}: not finite in other places"
        if not numpy.array_equal(expected[~numpy.isfinite(expected)], found[~numpy.isfinite(found)], equal_nan=True):
            return f"result {index}: infinities and NaN differ"
        left64, right64 = (numpy.where(numpy.isfinite(v), v, 0).astype("float64") for v in (expected, found))
        apart = float(numpy.abs(left64 - right64).max()) / max(1.0, float(numpy.abs(left64).max()))
        if apart > TOLERANCE:
            return f"result {index}: apart by {apart:.3g} of the largest number"
    return ""
