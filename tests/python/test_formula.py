"""Constant tensors as expressions: each must give the very same bits, and be found."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="formulas make torch's tensors")

from pellucid import _formula  # noqa: E402


def relative_index(rows: int, columns: int) -> torch.Tensor:
    """As Swin computes it."""
    places = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")).flatten(1)
    apart = (places[:, :, None] - places[:, None]).permute(1, 2, 0).contiguous()
    apart[:, :, 0] += rows - 1
    apart[:, :, 1] += columns - 1
    apart[:, :, 0] *= 2 * columns - 1
    return apart.sum(-1)


def distances(side: int) -> torch.Tensor:
    """As networks number how far places are apart, in the order in which they come by."""
    places = [(row, column) for row in range(side) for column in range(side)]
    known: dict[tuple[int, int], int] = {}
    return torch.tensor([[known.setdefault((abs(a - c), abs(b - d)), len(known)) for c, d in places]
                         for a, b in places])


def two_sided_waves(length: int, width: int) -> torch.Tensor:
    """As relative positional encodings have them: from the left end to the right."""
    angles = torch.arange(length).float().unsqueeze(1) * torch.exp(
        torch.arange(0, width, 2).float() * -(math.log(10000.0) / width))
    left, right = torch.zeros(length, width), torch.zeros(length, width)
    left[:, 0::2], left[:, 1::2] = torch.sin(angles), torch.cos(angles)
    right[:, 0::2], right[:, 1::2] = torch.sin(-angles), torch.cos(-angles)
    return torch.cat([left.flip(0), right[1:]]).unsqueeze(0)


def logarithmic_table(rows: int, columns: int) -> torch.Tensor:
    """As Swin's second version spaces its offsets."""
    sides = [torch.arange(-(n - 1), n, dtype=torch.float32) for n in (rows, columns)]
    table = torch.stack(torch.meshgrid(*sides, indexing="ij")).permute(1, 2, 0).contiguous().unsqueeze(0)
    table[..., 0] /= rows - 1
    table[..., 1] /= columns - 1
    table *= 8
    return torch.sign(table) * torch.log2(torch.abs(table) + 1.0) / math.log2(8)


def waves_of_a_picture(height: int, width: int, dim: int) -> torch.Tensor:
    """As simple vision transformers have them."""
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    omega = 1.0 / (10000 ** (torch.arange(dim // 4) / (dim // 4 - 1)))
    y, x = (axis.flatten()[:, None] * omega[None, :] for axis in (y, x))
    return torch.cat((x.sin(), x.cos(), y.sin(), y.cos()), dim=1)


@pytest.mark.parametrize("tensor", [
    logarithmic_table(8, 8), logarithmic_table(12, 7), waves_of_a_picture(4, 4, 32), waves_of_a_picture(14, 7, 64),
    torch.linspace(0, 1, 20).repeat(5, 1), torch.arange(30.0)[:, None].repeat(1, 3),
    torch.stack(torch.meshgrid(torch.arange(9), torch.arange(5), indexing="ij")),
    torch.zeros(3, 4), torch.arange(12).view(3, 4), torch.ones(5, 5).tril(), torch.eye(4),
    1.0 / 10000.0 ** (torch.arange(0, 16, 2).float() / 16),
    relative_index(7, 7), relative_index(8, 4), relative_index(3, 5).flatten(), two_sided_waves(20, 8),
    distances(4), distances(7).flatten(),
], ids=lambda t: str(list(t.shape)))
def test_found(tensor: torch.Tensor) -> None:
    formula, data = _formula.describe(tensor)
    assert formula and not data
    made = eval(formula, {"torch": torch, "float": float})
    assert made.dtype == tensor.dtype and torch.equal(made, tensor)


def test_not_found() -> None:
    torch.manual_seed(0)
    wrong = relative_index(4, 4)
    wrong[3, 3] += 1
    for tensor in (torch.randn(40), wrong):
        formula, data = _formula.describe(tensor)
        assert not formula and data
