"""Constant tensors as programmers write them: an expression that makes an equal tensor, or its data.

Buffers outside the state_dict and tensors held as plain attributes must be made by the skeleton
itself. Each candidate below reads one shape off the elements; it counts only if evaluating the
expression gives the very same tensor: dtype, shape and every bit.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any, Iterator

import torch

_SMALL = 16  # elements that may stand in the code as they are


def describe(tensor: torch.Tensor) -> tuple[str, str]:
    """(formula, data): an expression of torch, or compressed elements as base64 text; the other is empty."""
    if tensor.is_meta:
        from ._meta import values_of
        if (known := values_of(tensor)) is None:
            return "", ""  # who needs it says so
        tensor = known
    tensor = tensor.detach().cpu()
    if tensor.layout is not torch.strided or tensor.is_quantized:
        return "", ""
    for text in _candidates(tensor):
        if _makes(text, tensor):
            return text, ""
    elements = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    return "", base64.b64encode(zlib.compress(elements, 9)).decode()


def _makes(text: str, tensor: torch.Tensor) -> bool:
    try:
        made = eval(text, {"torch": torch, "float": float})  # only texts that this file wrote
    except (RuntimeError, ValueError, TypeError, OverflowError):
        return False
    if made.dtype != tensor.dtype or made.shape != tensor.shape:
        return False
    if tensor.is_floating_point() or tensor.is_complex():
        return bool(torch.equal(made, tensor) and torch.equal(_signs(made), _signs(tensor)))
    return bool(torch.equal(made, tensor))


def _signs(tensor: torch.Tensor) -> torch.Tensor:
    """Tells 0.0 from -0.0."""
    return torch.signbit(torch.view_as_real(tensor) if tensor.is_complex() else tensor)


def _candidates(tensor: torch.Tensor) -> Iterator[str]:
    dtype, shape = _dtype(tensor), tuple(tensor.shape)
    flat = tensor.reshape(-1)
    if tensor.numel() == 0:
        yield f"torch.empty({shape}{dtype})"
        return
    if tensor.dim() == 0:
        yield f"torch.tensor({_number(flat[0])}{_dtype(tensor, python=flat[0].item())})"
        return
    if not tensor.is_complex() and bool((flat == flat[0]).all()):
        yield from _uniform(flat[0], shape, dtype)
    if not tensor.is_complex() and tensor.dtype != torch.bool:
        yield from _progressions(tensor, flat, shape, dtype)
    if tensor.dim() >= 2 and not tensor.is_complex():
        yield from _triangles(tensor, shape, dtype)
    if tensor.dtype == torch.int64 and tensor.numel() >= 16:
        yield from _relative_positions(tensor, flat, shape)
        yield from _distances(flat, shape)
    if tensor.is_floating_point() and tensor.numel() >= 2:
        yield from _frequencies(tensor, flat, shape, dtype)
        yield from _waves(tensor, shape, dtype)
        yield from _waves_of_grids(tensor, shape)
        yield from _logarithmic_offsets(tensor)
    if not tensor.is_complex() and tensor.numel() > _SMALL:
        yield from _grids(tensor, shape)
    if tensor.numel() <= _SMALL and not tensor.is_complex():
        yield f"torch.tensor({_nested(tensor)}{_dtype(tensor, python=flat[0].item())})"


def _uniform(value: torch.Tensor, shape: tuple[Any, ...], dtype: str) -> Iterator[str]:
    size = ", ".join(map(str, shape))
    if value == 0:
        yield f"torch.zeros({size}{dtype})"
    elif value == 1:
        yield f"torch.ones({size}{dtype})"
    else:
        yield f"torch.full({shape}, {_number(value)})"
    yield f"torch.full({shape}, {_number(value)}{dtype})"


def _progressions(tensor: torch.Tensor, flat: torch.Tensor, shape: tuple[Any, ...], dtype: str) -> Iterator[str]:
    """Counted or evenly spaced values, whatever the shape laid over them."""
    n = flat.numel()
    if n < 2:
        return
    view = "" if tensor.dim() == 1 else f".view({', '.join(map(str, shape))})"
    first, second = flat[0].item(), flat[1].item()
    if first == int(first) and second == int(second) if math.isfinite(first) and math.isfinite(second) else False:
        start, step = int(first), int(second) - int(first)
        if step:
            stop = start + step * n
            arguments = (f"{stop}" if (start, step) == (0, 1) else f"{start}, {stop}" if step == 1
                         else f"{start}, {stop}, {step}")
            kind = "" if tensor.dtype == torch.int64 else dtype or ", dtype=torch.float32"
            yield f"torch.arange({arguments}{kind}){view}"
            if tensor.dim() == 2 and shape[0] > 1:  # rows that repeat
                yield f"torch.arange({start}, {start + step * shape[1]}, {step}{kind}).repeat({shape[0]}, 1)"
    if tensor.is_floating_point() and n > 2:
        yield f"torch.linspace({_number(flat[0])}, {_number(flat[-1])}, {n}{dtype}){view}"


def _triangles(tensor: torch.Tensor, shape: tuple[Any, ...], dtype: str) -> Iterator[str]:
    rows, columns = shape[-2:]
    leading = shape[:-2]
    if math.prod(leading) != 1 or min(rows, columns) < 2:
        return
    view = f".view({', '.join(map(str, shape))})" if leading else ""
    matrix = tensor.reshape(rows, columns)
    size = str(rows) if rows == columns else f"{rows}, {columns}"
    yield f"torch.eye({size}{dtype}){view}"
    for corner, function, diagonal in ((matrix[-1, 0], "tril", 0), (matrix[0, -1], "triu", 0),
                                       (matrix[0, -1], "triu", 1)):
        fill = (f"torch.ones({rows}, {columns}{dtype})" if corner == 1
                else f"torch.full(({rows}, {columns}), {_number(corner)}{dtype})")
        yield f"torch.{function}({fill}{', diagonal=1' if diagonal else ''}){view}"


def _frequencies(tensor: torch.Tensor, flat: torch.Tensor, shape: tuple[Any, ...], dtype: str) -> Iterator[str]:
    """1 / base ** (i / n): rotary embeddings."""
    if tensor.dim() != 1 or flat[0] != 1 or not 0 < flat[1] < 1:
        return
    n = flat.numel()
    estimate = (1 / flat[1].double().item()) ** n
    for base in _round_numbers(estimate):
        yield f"1.0 / ({base} ** (torch.arange(0, {2 * n}, 2).float() / {2 * n}))"
        yield f"1.0 / ({base} ** (torch.arange(0, {2 * n}, 2, dtype=torch.int64).to(dtype=torch.float) / {2 * n}))"
        yield f"{base} ** -(torch.arange(0, {2 * n}, 2).float() / {2 * n})"
        yield f"torch.exp(torch.arange({n}).float() * -(torch.tensor({base}).log() / {n}))"


def _waves(tensor: torch.Tensor, shape: tuple[Any, ...], dtype: str) -> Iterator[str]:
    """Sinusoidal positions: sines and cosines side by side, or in turns; the row of a padding index may be zero."""
    if tensor.dim() < 2 or math.prod(shape[:-2]) != 1 or shape[-1] % 2 or shape[-1] < 4 or shape[-2] < 2:
        return
    positions, width = shape[-2:]
    half = width // 2
    view = f".view({', '.join(map(str, shape))})" if len(shape) > 2 else ""
    zero_rows = (tensor.reshape(positions, width) == 0).all(dim=1).nonzero().flatten().tolist()
    zeroed = f".index_fill(0, torch.tensor({zero_rows}), 0.0)" if len(zero_rows) == 1 else ""
    logarithm = repr(math.log(10000.0))
    for frequencies in (f"torch.exp(torch.arange(0, {width}, 2).float() * (-{logarithm} / {width}))",
                        f"torch.exp(torch.arange({half}).float() * -({logarithm} / {half - 1}))",
                        f"1.0 / (10000 ** (torch.arange(0, {width}, 2).float() / {width}))"):
        most = positions // 2
        for steps in (f"{positions}", f"{most}, {most - positions}, -1", f"{-most}, {positions - most}"):
            # from 0 on, or as far to the left as to the right
            angles = f"torch.outer(torch.arange({steps}).float(), {frequencies})"
            both = f"[wave({angles}) for wave in (torch.sin, torch.cos)]"
            yield f"torch.cat({both}, dim=1){zeroed}{view}"
            yield f"torch.stack({both}, dim=2).flatten(1){zeroed}{view}"


def _waves_of_grids(tensor: torch.Tensor, shape: tuple[Any, ...]) -> Iterator[str]:
    """Sinusoidal positions of pictures: four blocks of columns, sines and cosines of how far across and down."""
    if tensor.dim() < 2 or math.prod(shape[:-2]) != 1 or shape[-1] % 4 or shape[-1] < 8 or shape[-2] < 4:
        return
    places, quarter = shape[-2], shape[-1] // 4
    if tensor.reshape(places, 4, quarter)[0].tolist() != [[wave] * quarter for wave in (0.0, 1.0, 0.0, 1.0)]:
        return
    view = f".view({', '.join(map(str, shape))})" if len(shape) > 2 else ""
    side = math.isqrt(places)
    for across in sorted((w for w in range(2, places // 2 + 1) if places % w == 0), key=lambda w: abs(w - side)):
        ways = f"torch.arange({places}) % {across}", f"torch.arange({places}) // {across}"
        for steps in (f"torch.arange({quarter}) / {quarter - 1}", f"torch.arange({quarter}) / {quarter}"):
            for first, second in (ways, ways[::-1]):
                for angles in (f"way[:, None] * (1.0 / 10000 ** ({steps}))", f"way[:, None] / 10000 ** ({steps})"):
                    waves = f"wave({angles}) for way in ({first}, {second}) for wave in (torch.sin, torch.cos)"
                    yield f"torch.cat([{waves}], dim=1){view}"


def _logarithmic_offsets(tensor: torch.Tensor) -> Iterator[str]:
    """Offsets to both sides, spaced by logarithms: sign(x) log(1 + |x|)."""
    n = tensor.numel()
    if tensor.dim() != 1 or n < 5 or n % 2 == 0 or tensor[n // 2] != 0:
        return
    most = n // 2
    offsets = f"torch.arange({-most}, {most + 1}, dtype=torch.float32) / {most} * 8"
    yield f"(lambda x: torch.sign(x) * torch.log2(torch.abs(x) + 1.0) / 3.0)({offsets})"


def _grids(tensor: torch.Tensor, shape: tuple[Any, ...]) -> Iterator[str]:
    """Tables that one or two vectors make: the coordinates of a grid, and rows or columns that repeat."""
    inner = tensor.squeeze()
    view = "" if inner.shape == tensor.shape else f".view({', '.join(map(str, shape))})"
    for last in (True, False):
        pair = inner if last else inner.movedim(0, -1) if inner.dim() == 3 else inner
        if pair.dim() != 3 or pair.shape[-1] != 2:
            continue
        down, across = _vector(pair[:, 0, 0]), _vector(pair[0, :, 1])
        if down and across:
            end = ", -1" if last else ""
            if down == across:
                yield f"(lambda side: torch.stack(torch.meshgrid(side, side, indexing='ij'){end}))({down}){view}"
            yield f"torch.stack(torch.meshgrid({down}, {across}, indexing='ij'){end}){view}"
    if inner.dim() == 2:
        if bool((inner == inner[:1]).all()) and (row := _vector(inner[0])):
            yield f"{row}.repeat({inner.shape[0]}, 1){view}"
        if bool((inner == inner[:, :1]).all()) and (column := _vector(inner[:, 0])):
            yield f"{column}[:, None].repeat(1, {inner.shape[1]}){view}"


def _vector(tensor: torch.Tensor) -> str | None:
    return next((text for text in _candidates(tensor) if _makes(text, tensor)), None)


def _relative_positions(tensor: torch.Tensor, flat: torch.Tensor, shape: tuple[Any, ...]) -> Iterator[str]:
    """Where in a table of offsets each pair of places of a window looks: rows and columns apart, as one number."""
    places = math.isqrt(flat.numel())
    if places * places != flat.numel() or places < 4 or flat.max().item() < places:
        return
    view = "" if shape == (places, places) else f".view({', '.join(map(str, shape))})"
    middle = flat[0].item()  # of a place to itself
    for width in range(2, places // 2 + 1):
        if places % width or middle != (places // width - 1) * (2 * width - 1) + width - 1:
            continue
        place = f"torch.arange({places}) // {width} * {2 * width - 1} + torch.arange({places}) % {width}"
        offsets = f"(lambda place: place[:, None] - place + {middle})({place})"
        yield f"{offsets}{view}"


def _distances(flat: torch.Tensor, shape: tuple[Any, ...]) -> Iterator[str]:
    """The same of places that are equally far apart, whichever way: rows apart times the width, and columns apart."""
    places = math.isqrt(flat.numel())
    side = math.isqrt(places)
    if side * side * side * side != flat.numel() or side < 2 or flat.max().item() != places - 1:
        return
    apart = f"(torch.arange({side})[:, None] - torch.arange({side})).abs()"
    view = ", ".join(map(str, shape))
    yield f"(lambda apart: (apart[:, None, :, None] * {side} + apart[:, None]).view({view}))({apart})"


def _round_numbers(estimate: float) -> Iterator[str]:
    """Round numbers near an estimate, the roundest first."""
    if not math.isfinite(estimate) or estimate <= 1:
        return
    seen = set()
    for digits in (1, 2, 3, 4, 5, 6):
        rounded = float(f"{estimate:.{digits - 1}e}")
        if rounded in seen or abs(rounded / estimate - 1) > 0.01:
            continue
        seen.add(rounded)
        yield repr(rounded)


def _dtype(tensor: torch.Tensor, python: object = None) -> str:
    """The dtype argument, where torch would choose another by itself."""
    natural = torch.float32
    if isinstance(python, bool):
        natural = torch.bool
    elif isinstance(python, int):
        natural = torch.int64
    return "" if tensor.dtype is natural else f", dtype={tensor.dtype}"


def _number(value: torch.Tensor) -> str:
    """The shortest number that gives the element."""
    number = value.item()
    if not isinstance(number, float):
        return repr(number)
    if not math.isfinite(number):
        return f"float('{number}')"
    for digits in range(1, 18):
        text = f"{number:.{digits}g}"
        if torch.tensor(float(text), dtype=value.dtype) == value:
            return repr(float(text))
    return repr(number)


def _nested(tensor: torch.Tensor) -> str:
    if tensor.dim() == 0:
        return _number(tensor)
    return "[" + ", ".join(_nested(row) for row in tensor) + "]"
