"""Forms of modules that public projects have, one small model for each."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

import pellucid  # noqa: E402
from pellucid import _workshop  # noqa: E402
from test_skeleton import referee_here  # noqa: E402
from torch import nn  # noqa: E402


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_workshop, "verify", referee_here)


def equal(model: nn.Module, *inputs: Any) -> str:
    made = pellucid.skeleton(model.eval(), inputs)
    assert made.report.complete, f"{made.report}\n{made.source}"
    return made.source


class ByOrder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.first_act = nn.ReLU(True)
        self.second = nn.Linear(4, 4)
        self.act = nn.Tanh()

    def forward(self, x):
        for layer in self.children():
            x = layer(x)
        return x


def test_children_are_read_by_who_asks_for_all() -> None:
    torch.manual_seed(0)
    source = equal(ByOrder(), torch.randn(3, 4))
    assert "nn.ReLU" in source and "nn.Tanh" in source


class WithGradientsOnly(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        if not torch.is_grad_enabled():
            return fast_version(self.fc, x)  # noqa: F821 of a compiled extension that is not here
        return self.fc(x) * 2


def test_a_model_that_runs_with_gradients_only() -> None:
    torch.manual_seed(0)
    source = equal(WithGradientsOnly(), torch.randn(3, 4))
    assert "assert torch.is_grad_enabled()" in source
