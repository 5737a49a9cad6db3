"""Inputs like the given ones: other values, another batch size, another length.

What a model accepts can only be found by trying, so each function gives candidates in order of ambition; the
caller keeps the first that the model itself takes.
"""

from __future__ import annotations

import copy
import math
from typing import Any, Callable, Iterator

import torch

from ._check import modules_of

Inputs = tuple[tuple[Any, ...], dict[str, Any]]
IMAGE_STEP = 32  # pixels: the stride of most vision models
TINY_SIDE = 16  # pixels: four dimensions of less may be something else than a picture


def map_values(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A copy with every tensor replaced; containers and plain objects are rebuilt, others copied deeply."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple):
        if isinstance(value, torch.Size):
            return value
        items = [map_values(v, change) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if type(value) is list:
        return [map_values(v, change) for v in value]
    if type(value) is dict:
        return {k: map_values(v, change) for k, v in value.items()}
    try:
        return _rebuilt(value, change) if _holds_tensors(value) else copy.deepcopy(value)
    except Exception:  # not everything can be copied; what can't is shared
        return value


def _holds_tensors(value: Any) -> bool:
    """A plain object with attributes, a cache for instance, that has tensors in it."""
    if not isinstance(getattr(value, "__dict__", None), dict) or isinstance(value, (type, dict, list, torch.nn.Module)):
        return False
    return any(tensors(v) or any(map(_holds_tensors, v if isinstance(v, (list, tuple)) else (v,)))
               for v in vars(value).values())


def _rebuilt(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    made = copy.copy(value)
    vars(made).update({k: map_values(v, change) for k, v in vars(value).items()})
    return made


def copy_tensor(t: torch.Tensor) -> torch.Tensor:
    if t.is_nested or t.layout != torch.strided or t.is_quantized:
        return t.detach().clone()
    # Strides are kept: memory format decides which kernel runs.
    return torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device=t.device).copy_(t.detach()).requires_grad_(
        t.requires_grad) if _dense(t) else t.detach().clone().requires_grad_(t.requires_grad)


def _dense(t: torch.Tensor) -> bool:
    expected = 1
    for stride, size in sorted((s, n) for s, n in zip(t.stride(), t.size()) if n != 1):
        if stride != expected:
            return False
        expected *= size
    return bool(t.numel() > 0)


def copied(inputs: Inputs) -> Inputs:
    copied: Inputs = map_values(inputs, copy_tensor)
    return copied


def with_parts(value: Any, parts: dict[int, Any]) -> Any:
    """A copy with the objects that `parts` names by id replaced; containers are rebuilt around them."""
    if id(value) in parts:
        return parts[id(value)]
    if type(value) is tuple:
        return tuple(with_parts(v, parts) for v in value)
    if type(value) is list:
        return [with_parts(v, parts) for v in value]
    if type(value) is dict:
        return {k: with_parts(v, parts) for k, v in value.items()}
    return map_values(value, copy_tensor)


def tensors(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []

    def note(t: torch.Tensor) -> torch.Tensor:
        found.append(t)
        return t

    def walk(v: Any) -> None:
        if isinstance(v, torch.Tensor):
            note(v)
        elif isinstance(v, (tuple, list)):
            for item in v:
                walk(item)
        elif isinstance(v, dict):
            for item in v.values():
                walk(item)

    walk(value)
    return found


def _strided(t: torch.Tensor) -> bool:
    return t.layout == torch.strided and not t.is_nested and not t.is_quantized and not t.is_meta


def _binary(t: torch.Tensor) -> bool:
    return bool(((t == 0) | (t == 1)).all())


# ---- other values ----

def other_data(inputs: Inputs, seed: int, far: bool = False) -> Iterator[Inputs]:
    """The same shapes, other values. `far`: signs and magnitudes change too, to reach other branches."""
    yield map_values(inputs, lambda t: _other_values(t, _generator(seed), far, integers=True))
    yield map_values(inputs, lambda t: _other_values(t, _generator(seed), far, integers=False))


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _other_values(t: torch.Tensor, g: torch.Generator, far: bool, integers: bool) -> torch.Tensor:
    if not _strided(t) or t.numel() == 0 or t.device.type != "cpu":
        return copy_tensor(t)
    values = t.detach()
    if (t.is_floating_point() or t.is_complex()) and not _binary(values):
        low, high = (values.min(), values.max()) if not t.is_complex() else (None, None)
        shuffled = values.flatten()[torch.randperm(t.numel(), generator=g)].view(t.shape)
        if far:
            result = shuffled * -2.5
        elif low is not None and high is not None and low >= 0 and high <= 1:  # probabilities, boxes, pixels: inside
            result = (shuffled * 0.9 + 0.05).to(t.dtype)
        else:
            noise = torch.randn(t.shape, generator=g, dtype=torch.float32)
            result = (shuffled * 0.9 + 0.05 * noise).to(t.dtype)
        out = copy_tensor(t).detach()
        return out.copy_(result).requires_grad_(t.requires_grad)
    if (integers and t.dtype in (torch.int64, torch.int32) and t.dim() >= 1 and values.max() > 1
        and not _is_arange(values) and not _rises_from_zero(values)):
        if t.dim() == 1:
            return values.flip(0)
        order = torch.randperm(t.shape[-1], generator=g)
        return values[..., order].contiguous()
    return copy_tensor(t)


def _is_arange(t: torch.Tensor) -> bool:
    """Positions: every row counts upward by one."""
    return t.dim() >= 1 and t.shape[-1] > 1 and bool((t[..., 1:] - t[..., :-1] == 1).all())


def _rises_from_zero(t: torch.Tensor) -> bool:
    """Offsets, numbers of segments: in another order they mean nothing, and some kernels don't notice."""
    return bool((t[..., 0] == 0).all()) and bool((t[..., 1:] >= t[..., :-1]).all())


# ---- other sizes ----

def resized(t: torch.Tensor, dim: int, size: int, seed: int) -> torch.Tensor:
    """Cut, or lengthened by shuffled pieces of itself; positions go on counting."""
    have = t.shape[dim]
    values = t.detach()
    if size <= have:
        return values.narrow(dim, 0, size).clone(memory_format=torch.contiguous_format).requires_grad_(t.requires_grad)
    if (not t.is_floating_point() and not t.is_complex() and dim == t.dim() - 1 and t.dtype != torch.bool
        and _is_arange(values)):
        steps = torch.arange(1, size - have + 1, dtype=t.dtype)
        return torch.cat([values, values[..., -1:] + steps.expand(*t.shape[:-1], -1)], dim)
    g = _generator(seed)
    pieces, length = [values], have
    while length < size:
        more = values.narrow(dim, 0, min(have, size - length))
        if (t.is_floating_point() or t.is_complex()) and more.numel() and not _binary(more):
            more = more.flatten()[torch.randperm(more.numel(), generator=g)].view(more.shape)
        pieces.append(more)
        length += more.shape[dim]
    return torch.cat(pieces, dim).requires_grad_(t.requires_grad)


def other_batch(inputs: Inputs, step: int = 1, seed: int = 11) -> Iterator[Inputs]:
    yield from _with_batch(inputs, lambda size: size + step, seed)


def one_sample(inputs: Inputs, seed: int = 17) -> Iterator[Inputs]:
    """A batch of one, which authors treat as a case of its own."""
    yield from _with_batch(inputs, lambda size: 1, seed)


def _with_batch(inputs: Inputs, target: Callable[[int], int], seed: int) -> Iterator[Inputs]:
    """A leading list of tensors may be the batch; else it is the first dimension of the first tensor and its likes."""
    args, kwargs = inputs
    samples = next((v for v in (*args, *kwargs.values()) if _is_list_of_tensors(v)), None)
    if samples is not None and target(len(samples)) != len(samples):
        size = len(samples)

        def change(value: Any) -> Any:
            if _is_list_of_tensors(value) and len(value) == size:
                return _resized_list(value, target(size), seed)
            return map_values(value, lambda t: _with_first_dimension(t, size, target(size), seed))

        yield tuple(change(v) for v in args), {k: change(v) for k, v in kwargs.items()}
    first = next((t for t in tensors(inputs) if t.dim() and _strided(t)), None)
    if first is not None and first.shape[0] and target(first.shape[0]) != first.shape[0]:
        size = first.shape[0]
        yield map_values(inputs, lambda t: _with_first_dimension(t, size, target(size), seed))


def _is_list_of_tensors(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, torch.Tensor) for v in value)


def _with_first_dimension(t: torch.Tensor, size: int, target: int, seed: int) -> torch.Tensor:
    fits = _strided(t) and t.dim() and t.shape[0] == size
    return resized(t, 0, target, seed) if fits else copy_tensor(t)


def _resized_list(samples: list[torch.Tensor], target: int, seed: int) -> list[torch.Tensor]:
    more = (samples * target)[:max(0, target - len(samples))]
    return [copy_tensor(v) for v in samples[:target]] + [
        _other_values(v, _generator(seed + i), False, True) for i, v in enumerate(more)]


class Grid:
    """Watches the convolutions and pools of a run: how many pixels of the input one cell of the smallest map has."""

    KINDS = (torch.nn.modules.conv._ConvNd, torch.nn.modules.pooling._MaxPoolNd, torch.nn.modules.pooling._AvgPoolNd)

    def __init__(self, model: torch.nn.Module) -> None:
        self.maps: list[tuple[int, int]] = []  # height and width of each map
        self.patches: set[int] = set()
        self.modules = {m for m in modules_of(model) if isinstance(m, self.KINDS)}

    def __enter__(self) -> Grid:
        # Of all modules: hooks of one would be taken off with whatever else a run leaves in it.
        self.handle = torch.nn.modules.module.register_module_forward_hook(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self.handle.remove()

    def _note(self, module: torch.nn.Module, inputs: Any, output: Any) -> None:
        if module not in self.modules or not isinstance(output, torch.Tensor) or output.dim() not in (4, 5):
            return
        self.maps.append((int(output.shape[-2]), int(output.shape[-1])))
        stride, kernel = (getattr(module, name, 1) for name in ("stride", "kernel_size"))
        if stride == kernel and isinstance(stride, tuple) and stride[-1] == stride[-2] > 1:
            self.patches.add(stride[-1])  # patches that don't overlap: the size is a multiple

    def step(self, inputs: Inputs) -> int | None:
        """In pixels; None if no map was seen, or if there is no picture among the inputs."""
        pictures = [t for t in tensors(inputs) if t.dim() in (4, 5) and t.is_floating_point()]
        if not self.maps or not pictures:
            return None
        height, width = pictures[0].shape[-2:]
        steps = [-(-full // part) for h, w in self.maps for full, part in ((height, h), (width, w)) if part > 1]
        step = max(1, 1, *steps)
        return math.lcm(step, *(p for p in self.patches if height % p == 0 and width % p == 0))

    def exact_step(self, inputs: Inputs) -> int | None:
        """The same of a small picture, of which cells may be lost: None unless all maps and patches divide it."""
        pictures = [t for t in tensors(inputs) if t.dim() in (4, 5) and t.is_floating_point()]
        if not pictures or not self.maps:
            return None
        height, width = pictures[0].shape[-2:]
        parts = [(height, h) for h, _ in self.maps] + [(width, w) for _, w in self.maps]
        parts += [(side, patch) for side in (height, width) for patch in self.patches]
        return self.step(inputs) if all(part > 1 and full % part == 0 for full, part in parts) else None


MAX_AREA = 3  # times the given one
SMALL_SIDE = 48  # pixels of the shorter side of a small picture, at least
SMALL_PART = 0.25  # of the given elements, at most: what is called small


def count(inputs: Inputs) -> int:
    """Elements of all tensors: what a run costs, roughly."""
    return sum(t.numel() for t in tensors(inputs))


def _small_pictures(height: int, width: int, grid: int, second: bool) -> Iterator[tuple[int, int]]:
    """Sizes that cost a small part of the given one, and have some steps in both directions; half the given one, where
    a model wants more."""
    step = max(grid, 2)
    less = step * max(2, -(-SMALL_SIDE // step))
    for one, other in ((less, less + step), (step * (height // step // 2), step * (width // step // 2 + 1))):
        size = (one, other + step) if second else (other, one)
        if min(size) >= 2 * step and size[0] * size[1] <= SMALL_PART * height * width:
            yield size


def _other_pictures(height: int, width: int, grid: int | None, second: bool) -> Iterator[tuple[int, int]]:
    """Sizes that are whole steps away: small ones, then smaller ones if two steps are left, else larger ones of bounded
    cost; not square first, so that height and width differ. Then halves, which most patches and windows divide that no
    convolution shows."""
    if grid is None:  # nothing is known of the model: the usual stride, if it is not a tiny picture
        less, more = (2 * IMAGE_STEP, IMAGE_STEP) if second else (IMAGE_STEP, 2 * IMAGE_STEP)
        if min(height, width) < TINY_SIDE:
            less, more = (2, 1) if second else (1, 2)
        sizes = [(height + less, width + more), (height + less, width + less)]
        yield from (size for size in sizes if size[0] * size[1] <= MAX_AREA * height * width)
        yield from _half_pictures(height, width, second)
        return
    yield from _small_pictures(height, width, grid, second)
    for step in dict.fromkeys((max(grid, 2 if min(height, width) > 4 else 1), IMAGE_STEP)):
        if step == IMAGE_STEP > grid and (height % step or width % step):
            continue
        less, more = (2 * step, step) if second else (step, 2 * step)
        if min(height - less, width - more) >= 2 * step:
            yield height - less, width - more
        for size in ((height + less, width + more), (height + less, width + less), (height + step, width),
                     (height, width + step)):
            if size[0] * size[1] <= MAX_AREA * height * width:
                yield size
        if min(height, width) - step >= 2 * step:
            yield height - step, width - step
    yield from _half_pictures(height, width, second)


def _half_pictures(height: int, width: int, second: bool) -> Iterator[tuple[int, int]]:
    """Half of one side, half of the other one more."""
    for size in ((height // 2, width), (height, width + width // 2))[::-1 if second else 1]:
        if min(size) >= 2 and size != (height, width):
            yield size


def other_length(inputs: Inputs, step: int, seed: int = 13, grid: int | None = None) -> Iterator[Inputs]:
    """Sequences longer or shorter by `step` (a sign), images of other sizes. grid: pixels of one step, if the model has
    convolutions or pools of pictures (see Grid)."""
    found = [t for t in tensors(inputs) if _strided(t) and t.dim() >= 2]
    ids = [t for t in found if t.dim() == 2 and t.dtype in (torch.int64, torch.int32) and t.shape[1] > 1]
    if ids:
        lengths = {t.shape[1] for t in ids}
        for amount in (step, -step):
            yield from _with_lengths(inputs, {n: n + amount for n in lengths if n + amount > 0}, seed)
        first = ids[0].shape[1]
        if len(lengths) > 1:
            yield from _with_lengths(inputs, {first: first + step}, seed)
        return
    images = [t for t in found if t.dim() in (4, 5) and t.is_floating_point()]
    if images:
        height, width = images[0].shape[-2:]
        for size in dict.fromkeys(_other_pictures(height, width, grid, step % 4 != 1)):

            def change(t: torch.Tensor, size: tuple[int, int] = size) -> torch.Tensor:
                if not _strided(t) or t.dim() < 2 or t.shape[-2:] != (height, width):
                    return copy_tensor(t)
                return resized(resized(t, t.dim() - 1, size[1], seed), t.dim() - 2, size[0], seed + 1)

            yield map_values(inputs, change)
        if grid is not None or min(height, width) >= TINY_SIDE:
            return  # else they may be sequences all the same
    sequences = [t for t in found if t.is_floating_point()]
    if not sequences:
        return
    shape = sequences[0].shape
    for dim in range(1, len(shape)):
        for amount in (step, -step, step * max(1, shape[dim] // 4)):
            if shape[dim] > 2 and shape[dim] + amount > 0 and (dim < len(shape) - 1 or len(shape) != 3
                                                               or amount % 2 == 0):
                for only_dim in (dim, None):  # of pairs (n x n) both dimensions are the length
                    yield from _with_lengths(inputs, {shape[dim]: shape[dim] + amount}, seed, only_dim)


def _with_lengths(inputs: Inputs, lengths: dict[int, int], seed: int, only_dim: int | None = None) -> Iterator[Inputs]:
    if not lengths:
        return

    def change(t: torch.Tensor) -> torch.Tensor:
        if not _strided(t) or t.dim() < 2:
            return copy_tensor(t)
        result = copy_tensor(t)
        # Embeddings end with a feature dimension: of floats only the dimensions before it are lengths.
        last = t.dim() if not t.is_floating_point() or t.dim() in (2, 4) or only_dim == t.dim() - 1 else t.dim() - 1
        for dim in range(1, last):
            if t.shape[dim] in lengths and (only_dim is None or dim == only_dim):
                result = resized(result, dim, lengths[t.shape[dim]], seed + dim)
        return result

    yield map_values(inputs, change)
