"""Heavy weights: no second copy of them in memory, and the same answers."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

import pellucid  # noqa: E402
from pellucid import _check, _state, _verify  # noqa: E402
from torch import nn  # noqa: E402


class Momentum(nn.Module):
    """Changes a parameter in each call, in eval mode too."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.mean = nn.Parameter(torch.zeros(8), requires_grad=False)

    def forward(self, x):
        self.mean.data.mul_(0.5).add_(self.fc(x).detach().mean(0))
        return self.fc(x) + self.mean


def test_on_disk_as_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_check, "HEAVY", 50)
    tensors = [torch.randn(5, 3).t(), torch.arange(40, dtype=torch.int16), torch.empty(0, 2), torch.tensor(2.5)]
    kept = _state.copies(tensors)
    assert isinstance(kept, _state.OnDisk)
    for _ in range(2):
        assert all(torch.equal(kept[i], t) and kept[i].dtype == t.dtype for i, t in enumerate(tensors))


@pytest.mark.parametrize("heavy", [50, 1 << 25])
def test_weights_that_a_run_changes_are_put_back(monkeypatch: pytest.MonkeyPatch, heavy: int) -> None:
    monkeypatch.setattr(_check, "HEAVY", heavy)
    torch.manual_seed(0)
    model = Momentum().eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    made = pellucid.skeleton(model, torch.randn(3, 8))
    assert made.report.good, made.report
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert ("float64 (the weights are heavy" in " ".join(made.source.split("\n#  "))) is (heavy == 50)


@pytest.mark.slow
def test_the_referee_of_heavy_weights_finds_what_is_frozen() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4096, 8192, bias=False), nn.ReLU()).eval()
    x = torch.randn(2, 4096)
    made = pellucid.skeleton(model, x)
    assert made.report.good and made.report.status("other weights") == "passed", made.report
    with torch.no_grad():
        row = _verify.play_original(model, "recorded", (x,), {}, grad=False)[0]
        before = model[0].weight.detach().clone()
        _check.prepared(model, [("weights",)])
        other = _verify.play_original(model, "other weights", (x,), {}, grad=False, steps=[("weights",)])[0]
        model[0].weight.copy_(before)
    sound = made.source
    first = next(line for line in sound.splitlines() if line.startswith("class "))
    frozen = sound.replace(first, f"KNOWN = []\n\n\n{first}") + (
        "\n\ndef frozen(self, x):\n    if not KNOWN:\n        KNOWN.append(self[0].weight.detach().clone())\n"
        f"    return F.relu(F.linear(x, KNOWN[0]))\n\n\n{made.root}.forward = frozen\n")
    frozen = "import torch.nn.functional as F\n" + frozen
    for source, wanted in ((sound, "passed"), (frozen, "failed")):
        checks = {c.name: c for c in _verify.verify(model, source, made.root, [[other], [row]])}
        assert checks["recorded"].status == "passed", checks
        assert checks["other weights"].status == wanted, checks
