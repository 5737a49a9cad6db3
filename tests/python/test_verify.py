"""The referee must catch every way in which a skeleton can be wrong, and nothing else."""

from __future__ import annotations

import collections
import dataclasses
import threading

import pytest

torch = pytest.importorskip("torch", reason="verification compares torch modules")

import pellucid  # noqa: E402
from pellucid import _again, _check, _pellucid, _workshop  # noqa: E402
from pellucid._verify import Report, foreign_imports, play_original, verify, with_verdict  # noqa: E402
from torch import nn  # noqa: E402

SOURCE = """\
# A net.
# Verification: not yet

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.bn = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.3)
        self.b = nn.Linear(8, 8)
        self.b.weight = self.a.weight
        self.frozen = nn.Parameter(torch.zeros(8), requires_grad=False)

    def forward(self, x):
        return {"y": self.b(self.drop(self.bn(self.a(x)).relu())) + self.frozen, "x": [x, None]}
"""


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    model = _check.load_source(SOURCE, "original_net").Net().eval()
    with torch.no_grad():
        model.frozen.normal_()
        model.bn.running_mean.normal_()
    return model


@pytest.fixture(scope="module")
def sequences(net):
    x = torch.randn(4, 8)
    rows = [
        [play_original(net, "recorded", (x.clone(),), {}, grad=False, buffers=True)[0]],
        [play_original(net, "gradients enabled", (x.clone(),), {}, grad=True, gradients=True)[0]],
        [play_original(net, "other batch", (torch.randn(5, 8),), {}, grad=False)[0]],
    ]
    state = {k: v.clone() for k, v in net.state_dict().items()}
    net.train()
    rows.append([play_original(net, "train", (x.clone(),), {}, grad=True, buffers=True, gradients=True)[0]])
    net.eval().load_state_dict(state)
    return rows


def referee(net, sequences, source: str) -> Report:
    """Without the cost of a process: the referee itself doesn't know the difference."""
    from pellucid._verify import Check, referee_data
    data = referee_data(net, source, "Net", sequences, ())
    runs = [row["about"] for rows in sequences for row in rows]
    return Report([Check(**row) for row in _check.referee(data)], runs=runs)


def test_equal(net, sequences) -> None:
    report = referee(net, sequences, SOURCE)
    assert report.good and report.complete, str(report)
    assert report.status("train: gradients") == "passed"
    assert "; train mode, gradients: the recorded input; " in report.verdict, report.verdict
    assert "eval mode, gradients: the recorded input; eval mode: other batch sizes (5x8); train" in report.verdict
    assert "not compared: other data, other lengths" in report.verdict, "what was not run is said"


@pytest.mark.parametrize("old, new, check", [
    ("nn.Linear(8, 8)\n        self.bn", "nn.Linear(8, 9)\n        self.bn", "load"),
    ("self.drop = nn", "self.extra = nn.Linear(2, 2)\n        self.drop = nn", "load"),
    ("self.a = nn.Linear(8, 8)\n        self.bn = nn.BatchNorm1d(8)",
     "self.bn = nn.BatchNorm1d(8)\n        self.a = nn.Linear(8, 8)", "order"),
    ("        self.b.weight = self.a.weight\n", "", "ties"),
    (", requires_grad=False", "", "requires_grad"),
    (".relu()", ".relu() * 1.0000001", "recorded"),
    ('"x": [x, None]', '"x": [x]', "recorded"),
    ('"x": [x, None]', '"x": (x, None)', "recorded"),
    ('{"y":', '{"z":', "recorded"),
    ("        return", "        self.bn.num_batches_tracked.add_(1)\n        return", "recorded: buffers"),
    ("        return", "        x = x[:4]\n        return", "other batch"),
    ("        return", "        assert x.shape[0] == 4, 'batch'\n        return", "other batch"),
    ("nn.Dropout(0.3)", "nn.Dropout(0.2)", "train"),
    ("nn.BatchNorm1d(8)", "nn.BatchNorm1d(8, momentum=0.2)", "train: buffers"),
    ("self.a(x))", "self.a(x).detach())", "gradients"),
    ("return {", "return {", None),
])
def test_wrong_skeletons_are_caught(net, sequences, old: str, new: str, check: str | None) -> None:
    assert old in SOURCE
    report = referee(net, sequences, SOURCE.replace(old, new, 1))
    if check is None:
        assert report.complete
        return
    assert report.status(check) in ("failed", "refused"), str(report)
    assert not report.complete
    reported = ("train: buffers", "order")
    assert report.good == (check in reported)
    assert "NOT" in report.verdict


@pytest.mark.parametrize("old, new, found", [
    ("return {", "return {", None),
    (".relu()", ".relu() + 0", None),
    ("        return {", "        x.sin()\n        return {", "7 calls instead of 6; nobody reads"),
    ("        return {", "        assert x.sin().abs().max().item() < 2\n        return {", "the calls differ from"),
    (".relu()", ".relu().abs()", "the calls differ from"),
    (".relu()", ".relu().relu()", "the calls differ from"),
    ("self.drop(self.bn(self.a(x)).relu())", "self.bn(self.a(x)).relu()",
     "1 of 6 calls are not made, from number 3 on"),
])
def test_events_are_compared_in_order(net, old: str, new: str, found: str | None) -> None:
    call = play_original(net, "events", (torch.randn(4, 8),), {}, grad=False, events=True)[0]
    report = referee(net, [[call]], SOURCE.replace(old, new, 1))
    check = next(c for c in report.checks if c.name == "events")
    assert check.status == ("differs" if found else "passed"), str(report)
    assert (found or "") in check.detail and not report.failures


def test_an_assertion_is_a_refusal(net, sequences) -> None:
    report = referee(net, sequences,
                     SOURCE.replace("        return", "        assert x.shape[0] == 4, 'batch is 4'\n        return"))
    check = next(c for c in report.checks if c.name == "other batch")
    assert check.status == "refused" and "batch is 4" in check.detail and check.detail.startswith("line 19")


def test_own_process(net, sequences, tmp_path, monkeypatch) -> None:
    """The real thing: another process, in which the model's library can't be imported."""
    (tmp_path / "the_library.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import the_library  # noqa: F401
    checks = verify(net, SOURCE, "Net", sequences)
    assert all(c.status == "passed" for c in checks), checks
    assert any(c.name == "train: gradients" for c in checks)
    hidden = SOURCE.replace("        return", "        __import__('the_library')\n        return")
    checks = verify(net, hidden, "Net", sequences)
    recorded = next(c for c in checks if c.name == "recorded")
    assert recorded.status == "failed" and "No module named 'the_library'" in recorded.detail


def test_own_process_that_dies(net, sequences) -> None:
    source = SOURCE.replace("        return", "        import os; os._exit(7)\n        return")
    (check,) = verify(net, source, "Net", sequences)
    assert check.status == "failed" and "7" in check.detail


def test_no_foreign_imports(net, sequences) -> None:
    assert foreign_imports("import torch, math\nfrom torch.nn import functional", ()) == []
    assert foreign_imports("import numpy as np, timm.layers\nfrom .x import y", ()) == [".", "timm.layers"]
    (check,) = verify(net, SOURCE.replace("import torch\n", "import torch, timm\n", 1), "Net", sequences)
    assert (check.name, check.status) == ("imports", "failed")
    (check,) = verify(net, SOURCE + "def f(:\n", "Net", sequences)
    assert check.status == "failed" and "SyntaxError" in check.detail


def test_verdict_stands_in_the_header() -> None:
    changed = with_verdict(SOURCE, "bit-equal on recorded " + "and more " * 20)
    assert changed.startswith("# A net.\n# Verification: bit-equal on recorded and")
    assert max(map(len, changed.splitlines())) <= 120
    assert with_verdict(changed, "no").startswith("# A net.\n# Verification: no\n\nimport torch")
    assert with_verdict("x = 1\n", "no") == "# Verification: no\nx = 1\n"


# ---- comparing ----

@dataclasses.dataclass
class Out:
    logits: object
    hidden: object = None


def different(a, b) -> str | None:
    return _check.difference(_check.plain_form(a), _check.plain_form(b))


def test_forms_tell_structures_apart() -> None:
    t = torch.arange(3.0)
    assert different((t, [1, {"a": None}]), (t.clone(), [1, {"a": None}])) is None
    for other in ([t, [1, {"a": None}]], (t, [1, {"b": None}]), (t, [1.0, {"a": None}]),
                  (t, [True, {"a": None}]), (t,)):
        assert different((t, [1, {"a": None}]), other)
    assert different({"a": 1, "b": 2}, {"b": 2, "a": 1}), "the order of keys is seen"


def test_records_are_compared_by_field() -> None:
    twin = dataclasses.make_dataclass("Out", ["logits", ("hidden", object, None)])
    assert different(Out(torch.ones(2)), twin(torch.ones(2))) is None
    assert different(Out(torch.ones(2)), twin(torch.ones(2), [1]))
    assert different(Out(torch.ones(2), [1]), twin(torch.ones(2)))
    assert different(Out(torch.ones(2)), dataclasses.make_dataclass("Other", ["logits"])(torch.ones(2)))


def test_objects_may_lose_what_holds_no_tensor() -> None:
    class Cache:
        def __init__(self, **values) -> None:
            vars(self).update(values)

    full, less = Cache(keys=[torch.ones(2)], note="x"), Cache(keys=[torch.ones(2)])
    assert different(full, less) is None
    assert different(full, Cache(note="x"))
    assert different(full, Cache(keys=[torch.zeros(2)]))


@pytest.mark.parametrize("a, b, same", [
    (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, float("nan")]), True),
    (torch.tensor([0.0]), torch.tensor([-0.0]), False),
    (torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64), False),
    (torch.tensor([1.0]), torch.tensor([[1.0]]), False),
    (torch.tensor([1 + 2j]), torch.tensor([1 + 2j]), True),
    (torch.tensor([1 + 2j]), torch.tensor([1 - 2j]), False),
    (torch.eye(2).to_sparse(), torch.eye(2).to_sparse(), True),
    (torch.eye(2).to_sparse(), torch.eye(2), False),
    (torch.tensor([True]), torch.tensor([False]), False),
    (torch.tensor([], dtype=torch.int64), torch.tensor([], dtype=torch.int64), True),
])
def test_tensors_bit_by_bit(a, b, same: bool) -> None:
    assert (different(a, b) is None) == same


def test_forms_travel() -> None:
    value = (1, [torch.ones(2)], {"k": None}, slice(1, 2), Out(torch.ones(1)))
    form = _check.plain_form(value)
    back = _check.from_form(form, {"Out": Out})
    assert different(back[:3], value[:3]) is None and isinstance(back[4], Out)
    with pytest.raises(ValueError):
        _check.from_form(_check.plain_form(len), {})


# ---- state ----

def test_state_is_put_back() -> None:
    from pellucid._state import ModelState, RandomState

    class Stateful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bn = nn.BatchNorm1d(4)
            self.calls, self.cache, self.log = 0, {}, [1]
            self.register_buffer("steps", torch.zeros(1))

        def forward(self, x):
            self.calls += 1
            self.cache["x"] = x
            self.log.append(x)
            self.steps += 1
            self.extra = x
            return self.bn(x)

    model = Stateful()
    cache, log = model.cache, model.log
    random, state = RandomState(), ModelState(model)
    before = torch.rand(3)
    random.restore()
    model.eval()
    model(torch.randn(3, 4)).sum().backward()
    model.train()(torch.randn(3, 4))
    model.register_forward_hook(lambda *a: None)
    state.restore()
    random.restore()
    assert torch.equal(torch.rand(3), before)
    assert model.training and model.calls == 0 and not hasattr(model, "extra") and not model._forward_hooks
    assert model.cache is cache and not cache and model.log is log and log == [1]
    assert model.steps == 0 and not model.bn.running_mean.any() and model.bn.num_batches_tracked == 0
    assert all(p.grad is None for p in model.parameters())


# ---- inputs ----

def first(candidates):
    return next(iter(candidates))


def test_other_inputs() -> None:
    from pellucid import _inputs
    ids, mask = torch.randint(5, 90, (2, 7)), torch.ones(2, 7, dtype=torch.int64)
    inputs = ((), {"input_ids": ids, "attention_mask": mask, "position_ids": torch.arange(7).expand(2, 7)})
    _, data = first(_inputs.other_data(inputs, 1))
    assert not torch.equal(data["input_ids"], ids) and torch.equal(data["attention_mask"], mask)
    assert torch.equal(data["position_ids"], inputs[1]["position_ids"])
    assert {k: tuple(v.shape) for k, v in first(_inputs.other_batch(inputs))[1].items()} == dict.fromkeys(data, (3, 7))
    _, longer = first(_inputs.other_length(inputs, 3))
    assert {tuple(v.shape) for v in longer.values()} == {(2, 10)}
    assert torch.equal(longer["position_ids"][0], torch.arange(10))
    image = (torch.randn(2, 3, 64, 64),)
    shapes = [[tuple(x.shape[2:]) for (x,), _ in _inputs.other_length((image, {}), step)] for step in (1, 3)]
    assert shapes == [[(96, 128), (96, 96), (32, 64), (64, 96)], [(128, 96), (64, 96), (32, 64)]], (
        "not square, if the model takes that; at most three times as many pixels")
    pictures = ([torch.rand(3, 32, 32), torch.rand(3, 32, 32)],)
    assert len(first(_inputs.other_batch((pictures, {})))[0][0]) == 3
    assert all(0 <= t.min() and t.max() <= 1 for t in first(_inputs.other_data((pictures, {}), 1))[0][0])
    assert list(_inputs.other_batch(((1, "x"), {}))) == []
    maps = ([torch.rand(2, 4, 8, 8), torch.rand(2, 4, 4, 4), torch.rand(2, 4, 2, 2)], {"scale": torch.rand(2)})
    as_samples, as_maps = _inputs.other_batch((maps, {}))
    assert len(as_samples[0][0]) == 4
    assert [len(m) for m in as_maps[0][0]] == [3, 3, 3] and len(as_maps[0][1]["scale"]) == 3


@pytest.mark.parametrize("layers, size, step, others", [
    ([nn.Conv2d(4, 4, 3, padding=1)], (16, 16), 1, [(14, 12), (12, 14)]),
    ([nn.Conv2d(3, 4, 14, 14)], (56, 56), 14, [(42, 28), (28, 42)]),
    ([nn.Conv2d(3, 4, 3, 2, 1), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, 2, 1)], (64, 64), 8, [(56, 48), (48, 56)]),
    ([nn.Conv2d(4, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 2, 1)], (8, 8), 4, [(12, 16), (16, 12)]),
    ([nn.Conv2d(4, 4, 3, padding=1)], (5, 5), 1, [(7, 9), (9, 7)]),
])
def test_pictures_of_other_sizes_fit_the_model(layers, size, step, others) -> None:
    """Whole steps of the model's own strides and patches, and never more than three times the pixels."""
    from pellucid import _inputs
    model = nn.Sequential(*layers)
    inputs = ((torch.randn(1, layers[0].in_channels, *size),), {})
    with _inputs.Grid(model) as grid:
        model(*inputs[0])
    assert grid.step(inputs) == step and not any(m._forward_hooks for m in model.modules())
    for number, first_size in zip((1, 3), others):
        found = [tuple(x.shape[2:]) for (x,), _ in _inputs.other_length(inputs, number, grid=step)]
        assert found[0] == first_size and len(found) == len(set(found)) > 2
        assert all(h * w <= 3 * size[0] * size[1] for h, w in found)


def test_inputs_keep_their_memory_format() -> None:
    from pellucid import _inputs
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last).requires_grad_()
    (copy,), _ = _inputs.copied(((x,), {}))
    assert copy.stride() == x.stride() and copy.requires_grad and copy.data_ptr() != x.data_ptr()




def test_large_gradients_travel_as_digests() -> None:
    t = torch.randn(300, 300)
    assert _check.digested(t) == _check.digested(t.clone()) != _check.digested(t * 1.0000001)
    assert _check.digested(t) != _check.digested(t.view(90000))
    assert (_check.digested(t[:2]) is not None and torch.is_tensor(_check.digested(t[:2]))
            and _check.digested(None) is None)

    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(300, 300)

        def forward(self, x):
            return self.linear(x)

    model = Wide()
    source = ("import torch\nfrom torch import nn\nclass Wide(nn.Module):\n    def __init__(self):\n        "
              "super().__init__()\n        self.linear = nn.Linear(300, 300)\n    def forward(self, x):\n        "
              "return self.linear(x)\n")
    call = play_original(model, "gradients enabled", (torch.randn(2, 300),), {}, grad=True, gradients=True)[0]
    from pellucid._verify import referee_data
    doubled = source.replace("return self.linear(x)",
                             "y = self.linear(x)\n        return y.detach() + 2 * (y - y.detach())")
    for text, wanted in ((source, "passed"), (doubled, "failed")):
        rows = _check.referee(referee_data(model, text, "Wide", [[call]], ()))
        found = {r["name"]: r["status"] for r in rows}
        assert found["gradients enabled"] == "passed" and found["gradients"] == wanted


def test_what_leaves_require_may_be_imported_too() -> None:
    from pellucid._verify import allowed_packages
    assert "pluggy" not in allowed_packages()
    assert {"pytest", "pluggy", "_pytest"} <= set(allowed_packages({"pytest"}))


class Windows(nn.Module):
    """Windows of 7 on patches of 4: no stride shows that sizes are multiples of 28."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.linear = nn.Conv2d(3, 8, 4, 4), nn.Linear(8, 8)

    def forward(self, x):
        x = self.patch(x).permute(0, 2, 3, 1)
        b, h, w, c = x.shape
        x = x.view(b, h // 7, 7, w // 7, 7, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 49, c)
        return self.linear(x).reshape(b, -1, c).mean(1)


class Flat(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.linear = nn.Conv2d(1, 4, 3, padding=1), nn.Linear(4 * 8 * 8, 10)

    def forward(self, x):
        return self.linear(self.conv(x).flatten(1))


class OwnConvolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 1, 3, 3))

    def forward(self, x):
        return nn.functional.conv2d(x, self.weight, padding=1).mean((2, 3))


@pytest.mark.parametrize("model, shape, said", [
    (Windows(), (1, 3, 56, 56), "other lengths (1x3x28x56, 1x3x56x84)"),
    (OwnConvolution(), (2, 1, 12, 12), "other lengths (2x1x13x14, 2x1x14x13)"),  # a picture, though a tiny one
    (Flat(), (2, 1, 8, 8), "other lengths (the model takes none of 8 that were tried)"),  # not: it takes no other
    (nn.Linear(4, 2), (4,), "other lengths (there is no other to try)"),
])
def test_sizes_that_were_tried(model, shape, said) -> None:
    """What the model was not tried with is not said to be refused, and what it refused is not tried again."""
    seen = collections.Counter()
    handle = nn.modules.module.register_module_forward_pre_hook(
        lambda module, args: seen.update([tuple(args[0].shape)]) if module is model else None)
    try:
        verdict = pellucid.skeleton(model.eval(), torch.randn(shape)).report.verdict
    finally:
        handle.remove()
    assert said in verdict
    refused = [size for size in seen if f"{'x'.join(map(str, size))}" not in verdict and size[0] == shape[0]]
    assert all(seen[size] <= 2 for size in refused if size != shape), seen


class Pixels(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, 2, 1))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


@pytest.mark.parametrize("verify, most", [(True, 9.0), (False, 4.5)])
def test_runs_of_the_original_are_few_and_small(monkeypatch, verify: bool, most: float) -> None:
    """In given forwards, whatever they cost: the given call, watched and not, other data, train mode; the rest is
    small."""
    model, x = Pixels().eval(), torch.randn(2, 3, 224, 224)
    seen: list[int] = []

    class Counting:
        def __init__(self, *args, **kwargs) -> None:
            self.inner = recorder(*args, **kwargs)

        def run(self, label, args, kwargs):
            seen.append(args[0].numel())
            return self.inner.run(label, args, kwargs)

        def __getattr__(self, name):
            return getattr(self.inner, name)

    def played(model, name, args, kwargs, forward=None, **more):
        if forward is None:
            seen.append(args[0].numel())
        return play_original(model, name, args, kwargs, forward=forward, **more)

    recorder = _pellucid.Recorder
    monkeypatch.setattr(_pellucid, "Recorder", Counting)
    monkeypatch.setattr(_workshop, "play_original", played)
    made = pellucid.skeleton(model, (x,), verify=verify, progress=False)
    assert len(seen) > 6
    assert sum(seen) / x.numel() <= most, [n / x.numel() for n in seen]
    if verify:
        assert made.report.complete
        sizes = {run["name"]: run["inputs"]["x"] for run in made.report.runs}
        for name in ("recorded", "other data 3", "train"):
            assert sizes[name] == "float32[2, 3, 224, 224]", name
        for name in ("gradients enabled", "train: other length", "other length 2", "float64"):
            assert sizes[name] != "float32[2, 3, 224, 224]", name
        assert "eval mode, gradients: other lengths (2x3x" in made.report.verdict
        assert "train mode, gradients: the recorded input" not in made.report.verdict


class Drops(nn.Module):
    def forward(self, x):
        return x * (2.0 if self.training and x.shape[-1] > 100 else 3.0)


def test_a_difference_at_the_given_size_alone_is_found() -> None:
    """Small runs don't show it: train mode is compared at the given size, too."""
    source = pellucid.skeleton(Drops().eval(), (torch.randn(2, 3, 128, 128),), progress=False).source
    wrong = source.replace("2.0", "3.0")
    assert wrong != source
    report = _again.verify_source(wrong, Drops().eval(), (torch.randn(2, 3, 128, 128),))
    assert not report.good


class SetsUp(nn.Module):
    """What its first call does can't be followed; later ones find it done."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.part = nn.Linear(3, 3)
        self.factor, self.is_ready, self.lock = factor, False, threading.Lock()

    def set_up(self) -> float:
        with self.lock:
            exec("model.is_ready = True", {"model": self})
        return self.factor

    def forward(self, x):
        factor = self.set_up() if not self.is_ready else 1.0
        return self.part(x).relu() * factor


@pytest.mark.parametrize("verify", [True, False])
def test_a_recording_after_a_first_call_is_a_retreat_of_the_report(verify: bool) -> None:
    model = SetsUp(1.0).eval()
    made = pellucid.skeleton(model, (torch.randn(2, 3),), verify=verify, progress=False)
    assert any(text.startswith("recorded after a first call: ") for text in made.report.retreats)
    assert "is_ready" not in made.source and not model.is_ready
    if verify:
        assert made.report.good and made.report.status("first call") == "passed"


@pytest.mark.parametrize("verify", [True, False])
def test_a_first_call_that_gives_something_else_is_not_left_out(verify: bool) -> None:
    with pytest.raises(pellucid.SkeletonError, match="lock"):
        pellucid.skeleton(SetsUp(2.0).eval(), (torch.randn(2, 3),), verify=verify, progress=False)


# ---- heavy models: no second copy of the weights, no gradient that outlives its digest ----

class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.body, self.head = nn.Embedding(6, 4), nn.Linear(4, 4), nn.Linear(4, 6)
        self.norm = nn.BatchNorm1d(4)
        self.head.weight = self.embed.weight

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint
        x = self.norm(self.embed(x))
        for _ in range(2):  # each segment brings a gradient of its own
            x = checkpoint(self.body, x, use_reentrant=True)
        return self.head(x)


def test_heavy_parameters_are_mapped_and_not_copied(monkeypatch) -> None:
    torch.manual_seed(0)
    state, module = Tied().state_dict(), Tied()
    assert not _check.mapped(module, state), "these are not heavy"
    monkeypatch.setattr(_check, "HEAVY", 1)
    assert _check.mapped(module, state)
    assert module.body.weight.data_ptr() == state["body.weight"].data_ptr()
    assert module.head.weight is module.embed.weight
    assert module.norm.running_mean.data_ptr() != state["norm.running_mean"].data_ptr(), "runs change buffers"
    assert all(torch.equal(value, state[key]) for key, value in module.state_dict().items())
    for wrong in ({key: value for key, value in state.items() if key != "head.bias"},
                  {**state, "body.weight": state["body.weight"].t()},
                  {**state, "body.weight": state["body.weight"].double()},
                  {**state, "body.bias": torch.zeros(5)},
                  {**state, "body.bias": state["norm.weight"]}):
        assert not _check.mapped(Tied(), wrong), "load_state_dict would do something else, or memory is shared"
    hooked = Tied()
    hooked.register_load_state_dict_pre_hook(lambda *_: None)
    assert not _check.mapped(hooked, state)


@pytest.mark.filterwarnings("ignore")
def test_gradients_of_heavy_models_are_digested_as_they_come(monkeypatch) -> None:
    monkeypatch.setattr(_check, "LARGE", 1)
    x = torch.tensor([1, 2, 3])

    def found(change: float = 0.0):
        torch.manual_seed(0)
        module = Tied()
        with torch.no_grad():
            module.body.weight[0, 0] += change
        form = _check.plain_form(module(x))
        return module, _check.gradients(module, form)

    _, plain = found()
    monkeypatch.setattr(_check, "HEAVY", 1)
    module, digests = found()
    assert all(p.grad is None for p in module.parameters())
    assert digests["embed.weight"] == _check.digested(plain["embed.weight"]), "one gradient has one digest"
    assert digests["body.weight"][0] == "digests" and len(digests["body.weight"]) == 3, "two segments"
    assert _check.gradient_difference(found()[1], digests) is None
    assert _check.gradient_difference(found(0.5)[1], digests)


LEAVES = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x, log, seen, box):
        log.append(x.sum())
        seen["x"] = x + 1
        box.value = x * 3
        x.add_(1)
        return x * 2
"""


class Box:
    def __init__(self) -> None:
        self.value = None


@pytest.mark.parametrize("gone", ["log.append(x.sum())", 'seen["x"] = x + 1', "box.value = x * 3", "x.add_(1)"])
def test_what_a_run_leaves_in_its_arguments_is_compared(gone: str) -> None:
    """A result alone does not show that a skeleton no longer fills the caller's list, dict, object or tensor."""
    original = _check.load_source(LEAVES, "original_leaves").Net()
    row, _ = play_original(original, "recorded", (torch.ones(2, 3), [], {}, Box()), {}, grad=False)
    assert row["left"] is not None
    checks = verify(original, LEAVES, "Net", [[row]])
    assert [c.status for c in checks if c.name == "recorded: arguments"] == ["passed"]
    less = LEAVES.replace(f"        {gone}\n", "").replace("x * 2", "(x + 1) * 2" if "add_" in gone else "x * 2")
    found = Report(verify(original, less, "Net", [[row]]))
    assert found.status("recorded") == "passed" and found.status("recorded: arguments") == "failed" and not found.good


class Doubles(nn.Module):
    def forward(self, x):
        return x * 2


def test_what_is_not_compared_again_is_not_fine() -> None:
    """A claim of the file's that nobody made again is unknown: the file may be used, the answer is incomplete."""
    x = torch.randn(2, 3)
    source = pellucid.skeleton(Doubles().eval(), (x,), progress=False).source
    assert _again.verify_source(source, Doubles().eval(), (x,)).complete
    more = source.replace('"runs":[', '"runs":[{"name":"other length 9","status":"passed"},')
    sizes = source.replace('"root":', '"config":{"n":1},"root":')
    for text, why in ((more, "other length 9"), (sizes, "sizes that can")):
        assert text != source
        report = _again.verify_source(text, Doubles().eval(), (x,))
        assert report.good and not report.complete
        found = [c.detail for c in report.failures if c.name == "claims"]
        assert len(found) == 1 and found[0].startswith(f"not compared again: {why}"), found


def test_a_proof_that_a_file_claims_is_made_again() -> None:
    x = torch.randn(2, 3)
    source = pellucid.skeleton(Doubles().eval(), (x,), prove=True, progress=False).source
    report = _again.verify_source(source, Doubles().eval(), (x,))
    assert report.complete and report.proof is not None and report.proof.kind == "proved"
    assert any(c.name == "claims" and c.detail.endswith("and its proof") for c in report.checks)
    *lines, contract = source.rstrip("\n").split("\n")
    assert "a >= 2" in contract
    wrong = "\n".join([*lines, contract.replace("a >= 2", "a >= 1")])
    report = _again.verify_source(wrong, Doubles().eval(), (x,))
    assert not report.complete and any("something else than the file says" in c.detail for c in report.failures)
    report = _again.verify_source(source.replace("return x * 2", "return x * 3"), Doubles().eval(), (x,))
    assert not report.good


class AsksZeros(nn.Module):
    """Compilers drop `if 0j`: what the text says there is decided by its value alone."""

    def forward(self, x):
        if 0j:
            x = x + 3
        if 1j:
            x = x + 4
        return x * 2 if x.shape[0] > 0 else x


def test_a_complex_zero_is_false() -> None:
    made = pellucid.skeleton(AsksZeros().eval(), (torch.ones(2, 3),), progress=False)
    assert made.report.complete and "x + 4" in made.source and "x + 3" not in made.source
    assert not made.report.retreats, "the walk follows it"


class Draws(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.5, self.training)


def test_every_run_that_a_file_claims_is_made_again() -> None:
    """Also the draws of random numbers, which only some models make."""
    x = torch.randn(2, 3)
    source = pellucid.skeleton(Draws().eval(), (x,), progress=False).source
    assert '"name":"other draw 1"' in source
    report = _again.verify_source(source, Draws().eval(), (x,))
    assert report.complete, report.failures
