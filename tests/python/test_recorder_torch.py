"""The recorder on torch modules: the tree, tensors, events, and that results are the same to the bit."""

from __future__ import annotations

import gc
import re
import sys
import weakref
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("pellucid._pellucid", reason="needs the extension")
if not (3, 11) <= sys.version_info[:2] <= (3, 15):
    pytest.skip(f"recording is not supported in Python {sys.version_info[0]}.{sys.version_info[1]}",
                allow_module_level=True)
from torch import nn  # noqa: E402

from pellucid._pellucid import Recorder, dump_trace  # noqa: E402


class Block(nn.Module):
    def __init__(self, size: int, scale: float) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.linear(x)) * self.scale


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(4, s) for s in (1.0, 2.0))
        self.drop = nn.Dropout(0.5)
        self.register_buffer("mean", torch.ones(4))
        self.register_buffer("hidden", torch.arange(4.0), persistent=False)
        self.constant = torch.full((4,), 3.0)
        self.tied = self.blocks[0].linear.weight

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        batch, size = x.shape
        for block in self.blocks:
            x = block(x)
        x = self.drop(x) - self.mean + self.hidden * self.constant
        return {"y": x.view(batch, size), "n": x.shape[0]}


def record(model: nn.Module, *args: Any, **options: Any) -> tuple[Any, str]:
    recorder = Recorder(model, **options)
    result = recorder.run("call", args)
    text = recorder.dump()
    assert dump_trace(recorder.log_bytes()) == text
    return result, text


def test_results_and_random_state_are_the_same() -> None:
    model, x = Net().train(), torch.randn(3, 4)
    torch.manual_seed(5)
    wanted = model(x)
    state = torch.get_rng_state()
    for events in (False, True):
        torch.manual_seed(5)
        found, _ = record(model, x, events=events)
        assert torch.equal(found["y"], wanted["y"]) and found["n"] == 3
        assert torch.equal(torch.get_rng_state(), state)
        assert torch._C._len_torch_function_stack() == 0
    assert all(module.training for module in model.modules())


def test_gradients_are_the_same() -> None:
    model, x = Net().eval(), torch.randn(3, 4)
    model(x)["y"].sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    record(model, x)[0]["y"].sum().backward()
    assert all(torch.equal(a, p.grad) for a, p in zip(wanted, model.parameters()))


def test_module_tree() -> None:
    _, text = record(Net(), torch.randn(3, 4))
    modules = text[text.index("module 1 "):]
    assert re.search(
        r"^module \d+ Linear@blocks.1.linear training \(in_features=4, out_features=4, bias=default True\)", modules,
        re.M)
    assert re.search(r"buffer hidden = .* \(not persistent\) = torch.arange\(4.*\)", modules)
    assert re.search(r"buffer mean = t\d+=mean:float32\[4\]$", modules, re.M)
    assert re.search(r"^    scale = 2.0$", modules, re.M)
    assert re.search(r"^    constant = t\d+=constant:float32\[4\]$", modules, re.M)
    tied = re.search(r"parameter tied = (t\d+)", modules)
    weight = re.search(r"Linear@blocks.0.linear.*\n    parameter weight = (t\d+)", modules)
    assert tied and weight and tied[1] == weight[1]


def test_forward_is_the_activation_of_the_run() -> None:
    _, text = record(Net(), torch.randn(3, 4))
    number = re.search(r'^run 0 "call" training grad activation (\d+)', text, re.M)
    assert number and re.search(rf"^activation {number[1]} run 0 code \d+ Net.forward$", text, re.M)
    assert len(re.findall(r"^activation .* Block.forward in", text, re.M)) == 2
    assert " direct" not in "".join(re.findall(r"^activation .*Block.forward.*$", text, re.M))  # torch calls it


def test_values_of_torch() -> None:
    class Values(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            kinds = (x.device, x.dtype, torch.float64, x.shape, nn.functional.gelu, x.view, nn.Linear, torch.strided)
            return x if kinds else x + 1
    _, text = record(Values(), torch.randn(3, 4))
    line = next(line for line in text.splitlines() if "torch.device" in line and "torch.nn.Linear" in line)
    for part in ("torch.device('cpu')", "torch.float32", "torch.float64", "size(3, 4)", "torch.nn.functional.gelu",
                 " . torch.Tensor.view", "torch.strided"):
        assert part in line


def test_activations_are_not_kept_alive() -> None:
    alive: list[Any] = []

    class Deep(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            kept = []
            for _ in range(4):
                x = x + 1
                kept.append(x)
                alive.append(weakref.ref(x))
            f = lambda: x  # noqa: E731, B023
            return f() * len(kept)
    recorder = Recorder(Deep())
    with torch.no_grad():
        recorder.run("call", (torch.randn(3),))
    gc.collect()
    assert [ref() for ref in alive] == [None] * 4


def test_a_tensor_at_the_address_of_a_dead_one_is_another() -> None:
    class Many(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(50):
                x + 1
            return x
    _, text = record(Many(), torch.randn(3))
    made = [line for line in text.splitlines() if re.match(r"\s+\d+ = t\d+:float32\[3\]$", line)]
    assert len({line.split(" = ")[1] for line in made}) >= 51


def test_hooks_run_as_activations_and_are_told() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    model[0].register_forward_hook(lambda module, args, out: out * 2)
    x = torch.randn(2, 4)
    wanted = model(x)
    found, text = record(model, x)
    assert torch.equal(wanted, found)
    assert re.search(r"^module \d+ Linear@0 training hooks", text, re.M)
    assert re.search(r"^activation .*<lambda>", text, re.M)


def test_fast_paths_stay_on() -> None:
    torch.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()

    class Around(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return self.encoder(x, src_key_padding_mask=mask)
    x, mask = torch.randn(2, 5, 8), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    model = Around().eval()
    with torch.no_grad():
        wanted = model(x, mask)
        found, _ = record(model, x, mask, events=True)
    assert torch.equal(wanted, found)  # the nested fast path writes zeros where the slow one does not


def test_events() -> None:
    recorder = Recorder(Net().train(), events=True)
    recorder.run("call", (torch.randn(3, 4),))
    assert recorder.event_names() == [
        "torch.nn.Linear", "torch.tanh", "torch.Tensor.mul", "torch.nn.Linear", "torch.tanh", "torch.Tensor.mul",
        "torch.nn.Dropout", "torch.Tensor.sub", "torch.Tensor.mul", "torch.Tensor.add", "torch.Tensor.view"]
    assert len(re.findall(r"^event .*\(draws random numbers\)$", recorder.dump(), re.M)) == 1
    assert Recorder(Net()).event_names() == []


def test_leaves_are_not_looked_into() -> None:
    x = torch.randn(3, 4)
    _, text = record(Net().eval(), x, leaves=[Block])
    assert not re.search(r"^activation .*Block", text, re.M)
    assert re.search(r"^class \d+ torch module .*Block = .*Block", text, re.M)


def test_exceptions_of_torch_and_everything_put_back() -> None:
    model = Net().eval()
    recorder = Recorder(model, events=True)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        recorder.run("bad", (torch.randn(3, 5),))
    assert torch._C._len_torch_function_stack() == 0 and sys.gettrace() is None
    assert recorder.run("good", (torch.randn(3, 4),))["n"] == 3
    dump_trace(recorder.log_bytes())


def test_train_and_eval_and_other_sizes_in_one_log() -> None:
    model = Net().eval()
    recorder = Recorder(model, origin="a test")
    with torch.no_grad():
        recorder.run("given", (torch.randn(3, 4),))
        recorder.run("other size", (torch.randn(5, 4),))
    model.train()
    recorder.run("train", (torch.randn(3, 4),))
    runs = re.findall(r"^run (\d) \"(.*?)\"( training)?( grad)?", recorder.dump(), re.M)
    assert runs == [("0", "given", "", ""), ("1", "other size", "", ""), ("2", "train", " training", " grad")]


def test_synthesise() -> None:
    recorder = Recorder(Block(4, 2.0))
    x = torch.randn(3, 4)
    wanted = recorder.run("call", (x,))
    source, root, report = recorder.synthesise()
    names: dict[str, Any] = {}
    exec(source, names)
    model = names[root]()
    model.load_state_dict(recorder_state := Block(4, 2.0).state_dict())
    assert set(recorder_state) == set(model.state_dict()) and report["functions"] >= 1
    assert model(x).shape == wanted.shape


def test_lazy_and_scripted_modules_run() -> None:
    lazy = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    found, _ = record(lazy, torch.ones(2, 4))
    assert found.shape == (2, 3)
    scripted = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    x = torch.randn(2, 4)
    assert torch.equal(record(scripted, x)[0], scripted(x))


class Generators(torch.nn.Module):
    def forward(self, x, y):
        made = tuple(a + 1 for a in (x, y))
        if all(a.dtype == torch.float32 for a in made) and not any(a.ndim > 5 for a in made):
            return sum(list(a * 2 for a in made))
        return x


def test_builtins_over_generators_are_calls() -> None:
    """Since 3.14 the compiler writes loops for all, any and tuple, since 3.15 for list and set, the call beside."""
    import pellucid
    made = pellucid.skeleton(Generators(), (torch.ones(2), torch.ones(2)), more=[], progress=False)
    for text in ("tuple(a + 1 for a in (x, y))", "all(a.dtype == torch.float32 for a in made)",
                 "list(a * 2 for a in made)"):
        assert text in made.source, made.source
