"""--prove: the same ATen calls for all sizes, or where they part, or why nothing can be said."""

from __future__ import annotations

import copy
import dataclasses

import pytest

torch = pytest.importorskip("torch", reason="calls of torch are compared")

from pellucid import _check, _prove  # noqa: E402
from torch import nn  # noqa: E402

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8, eps=1e-5)
        self.drop = nn.Dropout(0.3)
        self.register_buffer("table", torch.arange(8.0), persistent=False)

    def forward(self, x):
        h = self.norm(self.a(x)).view(x.shape[0], x.shape[1], 2, 4)
        h = self.drop(h.transpose(1, 2).reshape(x.shape[0], -1, 8)) * 0.5
        if (x > 100).any():
            h = h + 1
        return {"h": h + self.table, "n": x.shape[1]}
"""
X = torch.randn(3, 5, 8)


def net(source: str = SOURCE, state=None):
    torch.manual_seed(0)
    made = _check.load_source(source, "prove_net", "<skeleton>").Net().eval()
    return made


def proof(source: str, x=X):
    model = net()
    twin = net(source)
    twin.load_state_dict(model.state_dict())
    before = copy.deepcopy(model.state_dict())
    state = torch.get_rng_state()
    answer = _prove.prove(model, twin, ((x,), {}), ((x[:1],), {}))
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items()) and not model.training
    assert torch.equal(torch.get_rng_state(), state)
    return answer


def test_the_same_for_all_sizes() -> None:
    answer = proof(SOURCE)
    assert answer.kind == "proved"
    text = answer.evidence[0]
    assert text.startswith("same ATen calls in eval, for every input 0 of [a, b, 8] with a >= 2, b >= 2"), text
    assert "; in train with gradients, for every input 0 of [a, b, 8] with a >= 2, b >= 2" in text
    assert all(size.free for _, sizes in answer.sizes for size in sizes if size.axis < 2)
    assert "where one test of the data comes out as recorded" in text
    assert "one sample too: input 0 of [1, a, 8] with a >= 2" in text


def test_calls_that_change_nothing_may_be_gone() -> None:
    original = SOURCE.replace("h = self.norm", "torch.zeros(3)\n        h = self.norm").replace("* 0.5", "* 0.5 * 1")
    model, twin = net(original), net()
    twin.load_state_dict(model.state_dict())
    assert _prove.prove(model, twin, ((X,), {})).kind == "proved"


@pytest.mark.parametrize("old, new", [
    ("eps=1e-5", "eps=1.0001e-5"), ("* 0.5", "* 0.5000001"), ("Dropout(0.3)", "Dropout(0.31)"),
    ("arange(8.0)", "arange(1.0, 9.0)"), ("x.shape[0], -1, 8", "3, -1, 8"), ("h + self.table", "self.table + h"),
    ('"n": x.shape[1]', '"n": 5'), ("self.drop(h.transpose", "(h.transpose"), ("(x > 100)", "(x > 101)"),
    ("        h = self.norm", "        torch.rand(1)\n        h = self.norm"),
])
def test_what_differs_is_named_with_both_lines(old: str, new: str) -> None:
    """Most of these give the same numbers on the recorded input."""
    assert old in SOURCE
    answer = proof(SOURCE.replace(old, new, 1))
    if old == "x.shape[0], -1, 8":  # a size that was fixed must be said to be fixed
        assert answer.kind == "wrong" or "input 0 of [3," in answer.evidence[0]
        return
    assert answer.kind == "wrong" and answer.evidence[0].startswith("differs at "), answer


def test_what_can_not_be_run_on_symbols_is_unknown() -> None:
    chosen = "        h = h + float(x.numpy()[0, 0, 0])\n"
    source = SOURCE.replace("        return {", chosen + "        return {")
    model, twin = net(source), net(source)
    twin.load_state_dict(model.state_dict())
    answer = _prove.prove(model, twin, ((X,), {}))
    assert answer.kind == "unknown" and all(e.startswith("not provable with ") for e in answer.evidence)


class Held(nn.Module):
    """A forward that tests give, with two weights."""

    def __init__(self, forward) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(8, 8), nn.Conv1d(8, 8, 3, padding=1)
        self.run = forward

    def forward(self, x):
        return self.run(self, x)


def compared(one, other, x=X, **how):
    return _prove.prove(Held(one).eval(), Held(other).eval(), ((x,), {}), **how)


def free_axes(answer) -> set[int]:
    assert answer.kind == "proved", answer
    return {size.axis for mode, sizes in answer.sizes if mode == "eval" for size in sizes if size.free}


def asks_a_list(m, x):
    keep = (x[0, 0] > -100).nonzero().flatten().tolist()
    return m.a(x)[..., keep[:2]]


def asks_and_formats(m, x):
    text = f"{x.sum()}"
    return m.a(x) if (x > 100).any() else (m.a(x) + 1, len(text) > 0)


@pytest.mark.parametrize("forward, axes", [
    (lambda m, x: m.a(x)[:, [-1, 0]], {0, 1}),  # a constant that is made under the log
    (lambda m, x: nn.functional.pad(m.a(x), (0, 0, 0, -x.shape[1] % 4)), {0, 1}),  # C++ without symbolic sizes
    (lambda m, x: nn.functional.pad(m.a(x), (1, 0)).view(x.shape[0], 3, -1), {0, 1}),
    (lambda m, x: nn.functional.interpolate(m.a(x), size=(x.shape[1],)), {0, 1}),
    (lambda m, x: m.b(x.transpose(1, 2)), {0, 1}),  # the choice of a kernel bounds no size
    (asks_a_list, {0, 1}), (asks_and_formats, {0, 1}),
    (lambda m, x: torch._grouped_mm(m.a(x[0]), m.a.weight[None], offs=torch.tensor([x.shape[1]], dtype=torch.int32)),
     {0}),
], ids=["constant", "pad", "pad by numbers", "interpolate", "conv", "tolist", "format", "grouped_mm"])
def test_what_is_free_in_the_original_stays_free(forward, axes) -> None:
    if forward.__code__.co_names[:1] == ("torch",) and not hasattr(torch, "_grouped_mm"):
        pytest.skip("this torch has no grouped_mm")
    assert free_axes(compared(forward, forward)) >= axes


def test_a_size_that_is_fixed_has_its_line() -> None:
    def fixes(m, x):
        assert x.shape[1] == 5
        return m.a(x)

    def plain(m, x):
        return m.a(x)

    varied = {"other batch": [(0, 0)], "other length": [(0, 1)]}
    for one, other, who in ((fixes, plain, "the original"), (plain, fixes, "the skeleton"), (fixes, fixes, "both")):
        answer = compared(one, other, varied=varied)
        assert free_axes(answer) == {0}
        size = next(s for _, sizes in answer.sizes for s in sizes if (s.tensor, s.axis) == (0, 1))
        assert size.who == who and f"dimension 1 of input 0 fixed by {who}" in answer.evidence[0]
        line = f"test_prove.py:{fixes.__code__.co_firstlineno + 1}"
        assert line in (size.original, size.skeleton)


def test_a_size_that_is_baked_differs_and_says_where() -> None:
    answer = compared(lambda m, x: (m.a(x), torch.arange(x.shape[1])), lambda m, x: (m.a(x), torch.arange(5)))
    assert answer.kind == "wrong" and "for instance where" in answer.evidence[0], answer


def test_sizes_may_be_written_in_other_ways() -> None:
    answer = compared(lambda m, x: x.new_zeros((x.shape[0] + 1) * x.shape[1]) + m.a.bias[0],
                      lambda m, x: x.new_zeros(x.shape[1] * x.shape[0] + x.shape[1]) + m.a.bias[0])
    assert free_axes(answer) >= {0, 1}


def test_a_copy_that_is_written_through_a_view_is_no_idle_call() -> None:
    def copies(m, x):
        y = m.a(x)
        z = y * 1.0
        z.view(-1).add_(1)
        return y

    def shares(m, x):
        y = m.a(x)
        y.view(-1).add_(1)
        return y

    assert compared(copies, shares).kind == "wrong"


def test_a_copy_of_what_nobody_else_reads_may_be_written() -> None:
    """freqs.cos() * 1.0, which is written in place: without the product the cosine is, and nobody else has it."""
    def copies(m, x):
        y = m.a(x).detach().cos() * 1.0
        y.view(-1).add_(1)
        return m.a(x) + y

    def shares(m, x):
        y = m.a(x).detach().cos()
        y.view(-1).add_(1)
        return m.a(x) + y

    def reads(m, x):
        y = m.a(x).detach().cos()
        z = y * 1.0
        z.view(-1).add_(1)
        return m.a(x) + y

    assert compared(copies, shares).kind == "proved"
    assert compared(reads, shares).kind == "wrong"


def test_a_question_of_sizes_alone_need_not_be_asked() -> None:
    """Were these positions, of the author's own making, in order? No data say so; that they were is in the claim."""
    def asks(change):
        def forward(m, x):
            positions = torch.arange(x.shape[1])
            change(positions, x)
            if (positions[1:] - positions[:-1] != 1).any():
                x = x + 1
            return m.a(x)
        return forward

    answer = compared(asks(lambda positions, x: None), lambda m, x: m.a(x))
    assert answer.kind == "proved", answer.evidence
    assert "where one test of sizes alone comes out as recorded" in answer.evidence[0]
    assert "tests of the data" not in answer.evidence[0] and "test of the data" not in answer.evidence[0]
    written = compared(asks(lambda positions, x: positions[:1].copy_((x[0, 0, :1] > 100).long())),
                       lambda m, x: m.a(x))
    assert written.kind == "wrong"

    def drops(rate):
        return lambda m, x: x if torch.rand([]) < rate else m.a(x)
    assert compared(drops(0.0), lambda m, x: (torch.rand([]), m.a(x))[1]).kind == "proved"
    assert compared(drops(1e-30), lambda m, x: (torch.rand([]), m.a(x))[1]).kind == "wrong"

    def of_data(m, x):
        return m.a(x + 1) if (x > 100).any() else m.a(x)
    assert compared(of_data, lambda m, x: m.a(x)).kind == "wrong"


def test_what_needs_gradients_is_compared() -> None:
    answer = compared(lambda m, x: m.a(x) + m.a(x).detach(), lambda m, x: m.a(x) + m.a(x))
    assert answer.kind == "wrong"
    answer = compared(lambda m, x: m.a(x) + x[:, :], lambda m, x: m.a(x) + x)
    assert answer.kind == "proved" and "train with gradients" in answer.evidence[0]


def test_time_is_bounded() -> None:
    answer = compared(lambda m, x: m.a(x), lambda m, x: m.a(x), budget=0.0)
    assert answer.kind == "unknown" and "time was over" in answer.evidence[0]


def test_torch_keeps_nothing_of_a_proof() -> None:
    """Its cache of calls on fake tensors costs a third of a proof, and lives as long as the process."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    before = FakeTensorMode.cache_info()
    assert proof(SOURCE).kind == "proved"
    assert FakeTensorMode.cache_info() == before


def test_it_is_in_the_header() -> None:
    import pellucid
    made = pellucid.skeleton(nn.Sequential(nn.Linear(8, 4), nn.ReLU()).eval(), torch.randn(3, 8), prove=True)
    assert made.report.complete and made.report.proof.kind == "proved"
    assert "proved: same ATen calls in eval and train with gradients" in " ".join(made.source.replace("#", " ").split())


# ---- skeletons can be exported where their originals can ----

@dataclasses.dataclass
class Output:
    x: torch.Tensor
    n: int = 0


class Masked(torch.nn.Module):
    """Asks its data, as authors do where nobody traces them, and returns a record that torch knows."""

    def __init__(self) -> None:
        super().__init__()
        self.l = torch.nn.Linear(4, 4)

    def forward(self, x, mask):
        if not torch.compiler.is_compiling() and mask.all():
            mask = None
        if not torch.compiler.is_compiling() and 7 in x[:, [-1, 0]]:
            x = x + 1
        is_causal = x.shape[1] > 1 and mask is None and self.l.bias is not None
        y = self.l(x)
        return Output(torch.nn.functional.scaled_dot_product_attention(y, y, y, is_causal=is_causal))


def test_a_skeleton_is_as_exportable_as_its_original() -> None:
    import pellucid
    if Output not in torch.utils._pytree.SUPPORTED_NODES:
        torch.export.register_dataclass(Output)
    model, given = Masked().eval(), (torch.randn(2, 5, 4), torch.ones(2, 5, dtype=torch.bool))
    made = pellucid.skeleton(model, given, verify=False)
    for test in ("mask.all()", "7 not in x[:, [-1, 0]]"):
        assert f"torch.compiler.is_compiling() or {test}" in made.source, made.source
    assert "torch.export.register_dataclass(Output)" in made.source
    sizes = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    for module in (model, made.module()):
        torch.export.export(module, given, dynamic_shapes=(sizes, sizes), strict=False)
    with pytest.raises(AssertionError):
        made.module()(given[0], ~given[1])


class AsksForFakes(torch.nn.Module):
    """As transformers ask whether they are traced: without a name that a tracer would stop at."""

    def forward(self, x):
        y = x * 2
        fake = isinstance(y, getattr(torch, "_subclasses").FakeTensor)
        if not fake and (y > 100).all():
            y = y + 1
        return y


def test_who_runs_it_is_no_question_of_a_skeleton() -> None:
    """A class that only tracers make tensors of: the text is that of the eager program, can be proved, and exported."""
    import pellucid
    model, x = AsksForFakes().eval(), torch.randn(3, 5)
    made = pellucid.skeleton(model, x, progress=False)
    assert "isinstance" not in made.source, made.source
    assert made.prove().kind == "proved", made.report.proof
    for module in (model, made.module()):
        assert torch.equal(torch.export.export(module, (x,), strict=False).module()(x), model(x))
