"""What modules of public repositories do in forward, each as its author writes it: a skeleton that is equal in every
check."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("pellucid._pellucid", reason="needs the extension")
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
