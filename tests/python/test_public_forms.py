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


class Normed(nn.Conv1d):
    """Authors' own classes of torch's layers, whose weight a function of torch's has replaced."""

    def __init__(self, *args: Any, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.causal = causal

    def forward(self, x):
        return super().forward(nn.functional.pad(x, (1, 0)))[..., :-1] if self.causal else super().forward(x)


class Plainly(nn.Conv1d):
    def reset_parameters(self) -> None:
        nn.init.kaiming_normal_(self.weight)


class Vocoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList([
            nn.utils.weight_norm(Normed(4, 4, 3, padding=1)),
            nn.utils.weight_norm(Normed(4, 4, 3, padding=3, dilation=3, causal=True), dim=1), Normed(4, 4, 1),
            nn.utils.weight_norm(Plainly(4, 4, 1, bias=False)), nn.utils.spectral_norm(Plainly(4, 4, 1))])

    def forward(self, x):
        for conv in self.convs:
            x = conv(x).relu() + x
        return x


@pytest.mark.filterwarnings("ignore")
def test_norms_of_an_authors_layers() -> None:
    torch.manual_seed(0)
    source = equal(Vocoder(), torch.randn(2, 4, 8))
    assert source.count("weight_norm(") == 3 and "spectral_norm(" in source


class Anything(tuple):
    """Has any attribute, and each has any attribute."""

    def __getattr__(self, name: str) -> Any:
        return ["more"] if name == "_fields" else Anything()


def test_what_has_any_attribute_is_no_record() -> None:
    from pellucid import _check
    assert _check.plain_form(Anything((1,))) == ("tuple", [("plain", 1)])


class Tagged(nn.Parameter):
    """Tells a parameter from others, and does nothing else."""


class WithTag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = Tagged(torch.ones(4))
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x) * self.scale if isinstance(self.scale, Tagged) else x


def test_a_parameter_of_an_authors_class() -> None:
    torch.manual_seed(0)
    source = equal(WithTag(), torch.randn(2, 4))
    assert "self.scale = nn.Parameter(torch.empty(4))" in source


def test_a_parameter_that_carries_something_is_refused_in_words() -> None:
    model = WithTag()
    model.scale.group = 2  # type: ignore[attr-defined]
    with pytest.raises(pellucid.Error, match="scale is a Tagged, a subclass of torch.Tensor"):
        pellucid.skeleton(model, torch.randn(2, 4))
