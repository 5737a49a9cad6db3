"""torch.export takes a skeleton where it takes the original, and what it makes of both gives the same."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import pellucid  # noqa: E402


@torch.library.custom_op("pellucid_test::by_segment", mutates_args=())
def by_segment(x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    start = 0
    for i, end in enumerate(ends.tolist()):
        out[start:end] = x[start:end] * (i + 1)
        start = end
    return out


@by_segment.register_fake
def _(x, ends):
    return torch.empty_like(x)


def _gradient(ctx, gradient):
    (ends,) = ctx.saved_tensors
    return torch.ops.pellucid_test.by_segment(gradient, ends), None


def _keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[1])


by_segment.register_autograd(_gradient, setup_context=_keep)


@torch.library.custom_op("pellucid_test::doubled", mutates_args=("x",))
def doubled(x: torch.Tensor) -> None:
    x.mul_(2)


class Operator(nn.Module):
    """An operator of the author's own, which torch does not bring."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, ends):
        return torch.ops.pellucid_test.by_segment(self.linear(x), ends)


class Called(Operator):
    """The same as what its decorator made, as torch's tutorial calls it."""

    def forward(self, x, ends):
        return by_segment(self.linear(x), ends)


class Asks(Operator):
    """No tracer can follow what callers run."""

    def forward(self, x, ends):
        y = self.linear(x)
        if torch.compiler.is_compiling():
            return torch.ops.pellucid_test.by_segment(y, ends)
        out = torch.zeros_like(y)
        start = 0
        for i, end in enumerate(ends.tolist()):
            out[start:end] = y[start:end] * (i + 1)
            start = end
        return out


class AsksAndComputes(Operator):
    """The same, with other calls of torch's own; and a check that authors leave out while tracing."""

    def forward(self, x, ends):
        if not torch.compiler.is_compiling() and (x > 1000).any():
            raise ValueError("too large")
        y = self.linear(x)
        if torch.compiler.is_exporting():
            rows = torch.arange(y.shape[0], device=y.device)
            return y * (torch.searchsorted(ends, rows, right=True) + 1)[:, None]
        out = torch.zeros_like(y)
        start = 0
        for i, end in enumerate(ends.tolist()):
            out[start:end] = y[start:end] * (i + 1)
            start = end
        return out


class AsksInVain(nn.Module):
    """A tracer can follow what callers run."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        if torch.compiler.is_compiling():
            return self.linear(x.clone())
        return self.linear(x)


class Changes(nn.Module):
    def forward(self, x):
        x = x + 1
        torch.ops.pellucid_test.doubled(x)
        return x


def given():
    torch.manual_seed(0)
    return torch.randn(6, 4), torch.tensor([2, 4, 6])


def exported(module):
    return torch.export.export(module.eval(), given(), strict=False).module()


@pytest.mark.parametrize("kind", [Operator, Called, Asks, AsksAndComputes])
def test_export(kind):
    model = kind().eval()
    made = pellucid.skeleton(model, given())
    assert made.report.good
    want = model(*given())
    assert torch.equal(exported(model)(*given()), want)
    assert torch.equal(exported(made.module())(*given()), want)
    assert torch.equal(made.module()(*given()), want)


def test_gradients_of_an_operator():
    model = Operator().eval()
    made = pellucid.skeleton(model, given()).module()
    for module in (model, made):
        module(*given()).square().sum().backward()
    assert torch.equal(model.linear.weight.grad, made.linear.weight.grad)


def test_an_operator_has_a_name_of_its_own():
    """A file that is loaded twice does not take the operator away from the first."""
    made = pellucid.skeleton(Operator().eval(), given())
    one, other = made.module(), made.module()
    assert torch.equal(one(*given()), other(*given()))
    assert "pellucid_test" not in made.source


def test_what_changes_its_argument_is_refused():
    with pytest.raises(pellucid.SkeletonError, match="operator that torch does not bring.*module= takes a part"):
        pellucid.skeleton(Changes(), (torch.ones(3),))


def test_nothing_is_added_where_a_tracer_follows():
    assert "is_compiling" not in pellucid.skeleton(AsksInVain().eval(), (torch.randn(2, 4),)).source


def test_the_other_path_is_compared(tmp_path):
    model = Asks().eval()
    made = pellucid.skeleton(model, given())
    assert "the path that torch.export takes" in made.report.verdict
    assert "is_compiling():\n            return by_segment(y, ends)\n" in made.source
    file = tmp_path / "made.py"
    file.write_text(made.source)
    assert pellucid.verify(file, model, given()).good
    file.write_text(made.source.replace("return by_segment(y, ends)", "return by_segment(y, ends) * 2"))
    report = pellucid.verify(file, model, given())
    assert not report.good
    assert {c.name for c in report.failures} >= {"traced 1", "claims"}
