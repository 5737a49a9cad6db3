"""What modules of public repositories do in forward, each as its author writes it: a skeleton that is equal in every
check."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("pellucid._pellucid", reason="needs the extension")
import torch  # noqa: E402
from torch import nn  # noqa: E402

import pellucid  # noqa: E402

X = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(0))


def equal(model: nn.Module, *inputs: Any) -> str:
    made = pellucid.skeleton(model, inputs or (X,), progress=False)
    assert made.report.complete, made.report.verdict
    return made.source


class Quiet(nn.Module):
    """YOLOv5's pyramid: the warning of one version of torch."""

    def __init__(self, action: str = "ignore") -> None:
        super().__init__()
        self.pool, self.action = nn.MaxPool2d(5, stride=1, padding=2), action

    def forward(self, x):
        with warnings.catch_warnings():
            warnings.simplefilter(self.action)
            return self.pool(x) + 1


def test_warnings_are_in_no_text() -> None:
    assert "warnings" not in equal(Quiet())


def test_a_filter_that_raises_is_refused() -> None:
    with pytest.raises(pellucid.SkeletonError, match="a filter that may make exceptions of warnings"):
        pellucid.skeleton(Quiet("error"), X, progress=False)


class Layer:
    is_fixed = False

    def __init__(self) -> None:
        self.keys: Any = None

    def update(self, keys):
        self.keys = keys if self.keys is None else torch.cat([self.keys, keys], 1)
        return self.keys


class Growing(Layer):
    pass


class Cache:
    """As transformers' caches are: a property of the whole that asks its layers, which are of a class with bases."""

    def __init__(self, n: int = 2) -> None:
        self.layers = [Growing() for _ in range(n)]

    @property
    def is_fixed(self):
        return all(layer.is_fixed for layer in self.layers)


class Decodes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other, self.may_skip = nn.Linear(4, 4), nn.Linear(4, 4), True

    def forward(self, x, cache):
        may_skip = self.may_skip and not (getattr(cache, "is_fixed", False) and x.shape[1] == 1)
        for at, layer in enumerate((self.one, self.other)):
            if not isinstance(cache.layers[at], Layer):
                raise ValueError("no layer of a cache")
            x = x + cache.layers[at].update(layer(x)).sum(1, keepdim=True)
        return x.sum(1) if may_skip else x.mean(1)


def test_a_cache_of_the_callers() -> None:
    source = equal(Decodes(), torch.randn(2, 3, 4), Cache())
    assert "cache.is_fixed and not_recorded()" in source and '("Layer", "Growing")' in source


class Mish(nn.Module):
    """An inner class has the name that imports give torch.nn.functional."""

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.mul(torch.tanh(nn.functional.softplus(x)))

        @staticmethod
        def backward(ctx, grad):
            x = ctx.saved_tensors[0]
            s, t = torch.sigmoid(x), nn.functional.softplus(x).tanh()
            return grad * (t + x * s * (1 - t * t))

    def forward(self, x):
        return self.F.apply(x)


def test_names_of_imports_are_no_names_of_classes() -> None:
    assert "class F_2(torch.autograd.Function)" in equal(Mish())


@pytest.mark.filterwarnings("ignore")
def test_what_torch_decorates_is_no_code_of_the_authors() -> None:
    """RAFT and many more: torch.cuda.amp.autocast is behind a decorator of typing_extensions."""
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Conv2d(4, 4, 1)

        def forward(self, x):
            with torch.cuda.amp.autocast(enabled=False):
                y = self.layer(x)
            return y.relu()

    assert "with torch.cuda.amp.autocast(enabled=False)" in equal(Mixed())


class Samples(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.normal = torch.distributions.Normal(0, 1)

    def forward(self, x):
        return x * self.normal.sample(x.shape)


def test_what_has_no_literal_is_named() -> None:
    with pytest.raises(pellucid.SkeletonError, match=r"Samples.normal holds .*\(torch.distributions.Normal\)"):
        pellucid.skeleton(Samples(), X, progress=False)
