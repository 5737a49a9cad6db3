"""What the values of a tensor look like: the first of them, their range, a histogram. From a .npy stream, with numpy
where it is installed, else with the standard library."""

from __future__ import annotations

import array
import ast
import importlib.util
import math
import struct
from typing import IO, Any, Sequence

BINS = 48
FIRST = 64  # values that are shown
MOST = 1 << 24  # elements that are looked at
MOST_BY_HAND = 1 << 20  # without numpy
HEADER_MAX = 1 << 16
CODES = {"f4": "f", "f8": "d", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
         "b1": "B"}


class NotShown(Exception):
    """Why there are no values."""


def read_header(stream: IO[bytes]) -> tuple[str, tuple[int, ...]]:
    """The type and the sizes of a .npy file."""
    start = stream.read(10)
    if len(start) < 10 or start[:6] != b"\x93NUMPY":
        raise NotShown("the tensor could not be extracted")
    is_short = start[6] == 1  # the first version of the format
    size = struct.unpack("<H", start[8:])[0] if is_short else struct.unpack("<I", start[8:] + stream.read(2))[0]
    if size > HEADER_MAX:
        raise NotShown("the header of the tensor is too long")
    fields = ast.literal_eval(stream.read(size).decode("latin-1"))
    return str(fields["descr"]), tuple(int(n) for n in fields["shape"])


def _read(stream: IO[bytes], length: int) -> bytes:
    parts, missing = [], length
    while missing and (part := stream.read(min(missing, 1 << 20))):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def summary(stream: IO[bytes], dtype: str = "") -> dict[str, Any]:
    """dtype: as the file calls it; bfloat16 comes as two raw bytes."""
    descr, shape = read_header(stream)
    kind = descr.lstrip("<>|=")
    width = int(kind[1:]) if kind[1:].isdigit() else 0
    is_wide = kind == "V2" and dtype == "bfloat16"
    if not width or (kind[0] == "V" and not is_wide) or kind[0] in "cOSU":
        raise NotShown(f"values of {dtype or descr} are not shown")
    has_numpy = importlib.util.find_spec("numpy") is not None
    count = math.prod(shape)
    looked_at = min(count, MOST if has_numpy else MOST_BY_HAND)
    data = _read(stream, looked_at * width)
    if len(data) != looked_at * width:
        raise NotShown("the tensor ends too early")
    made = {"shape": shape, "dtype": dtype or descr, "count": count, "looked_at": looked_at}
    return {**made, **(_with_numpy if has_numpy else _by_hand)(data, descr, is_wide)}


def _with_numpy(data: bytes, descr: str, is_wide: bool) -> dict[str, Any]:
    import numpy as np
    if is_wide:
        values = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        values = np.frombuffer(data, descr)
    numbers = values.astype(np.float64)
    with np.errstate(over="ignore"):  # a spread may be too large for a number
        return _described(np, values, numbers)


def _described(np: Any, values: Any, numbers: Any) -> dict[str, Any]:
    finite = numbers[np.isfinite(numbers)]
    has_bins = finite.size and math.isfinite(float(finite.max()) - float(finite.min()))
    counts, edges = np.histogram(finite, BINS) if has_bins else (np.zeros(0, int), np.zeros(0))
    return {
        "first": [_plain(value) for value in values[:FIRST].tolist()],
        "nan": int(np.isnan(numbers).sum()), "inf": int(np.isinf(numbers).sum()), "zero": int((numbers == 0).sum()),
        **_range(*([float(of()) for of in (finite.min, finite.max, finite.mean, finite.std)] if finite.size else ())),
        "counts": counts.tolist(), "edges": edges.tolist(),
    }


def _numbers(data: bytes, descr: str, is_wide: bool) -> Sequence[float]:
    """As they lie in memory on this machine: model files are written in the order of almost all of them."""
    kind = descr.lstrip("<>|=")
    if is_wide:
        pairs = array.array("H", data)
        return array.array("f", b"".join(struct.pack("<I", value << 16) for value in pairs))
    if kind == "f2":
        return struct.unpack(f"<{len(data) // 2}e", data)
    if kind not in CODES:
        raise NotShown(f"values of {descr} are not shown")
    return array.array(CODES[kind], data)


def _by_hand(data: bytes, descr: str, is_wide: bool) -> dict[str, Any]:
    values = _numbers(data, descr, is_wide)
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    width = high - low if high > low else 1.0
    start = low if high > low else low - 0.5
    has_bins = bool(finite) and math.isfinite(width)
    counts = [0] * BINS if has_bins else []
    for value in finite if has_bins else ():
        counts[min(BINS - 1, int((value - start) / width * BINS))] += 1
    mean = math.fsum(finite) / len(finite) if finite else None
    spread = math.sqrt(sum((v - mean) * (v - mean) for v in finite) / len(finite)) if mean is not None else None
    return {
        "first": [_plain(value) for value in values[:FIRST]],
        "nan": sum(math.isnan(v) for v in values), "inf": sum(math.isinf(v) for v in values),
        "zero": sum(v == 0 for v in values),
        **_range(*((low, high, mean, spread) if finite else ())),
        "counts": counts, "edges": [start + i * width / BINS for i in range(BINS + 1)] if has_bins else [],
    }


def _range(low: float | None = None, high: float | None = None, mean: float | None = None,
           spread: float | None = None) -> dict[str, Any]:
    """All None where no value is finite."""
    return {"min": _plain(low), "max": _plain(high), "mean": _plain(mean), "std": _plain(spread)}


def _plain(value: Any) -> Any:
    """JSON has no words for what is no number."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
