"""What people put around a model: seen through with its keys explained, or refused in words, and never slowly."""

from __future__ import annotations

import functools
import re
import time
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("pellucid._pellucid", reason="needs the extension")
from torch import nn  # noqa: E402

import pellucid  # noqa: E402

X = torch.randn(4, 16, generator=torch.Generator().manual_seed(0))
distributed = pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch can't be distributed")


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


@pytest.fixture
def one_process(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def loaded(source: str, root: str, original: nn.Module) -> nn.Module:
    """What the header's own line makes of the wrapped model."""
    space: dict[str, Any] = {"original": original}
    exec(source, space)
    line = re.search(r"^# Use: (.*(?:\n#   model\..*)?)", source, re.M)
    assert line is not None
    exec(line[1].replace("\n#   ", " "), space)
    return space["model"]


def seen_through(original: nn.Module, prefix: str) -> None:
    made = pellucid.skeleton(original, X, progress=False)
    assert made.report.complete and f'removeprefix("{prefix}")' in made.source
    model = loaded(made.source, made.root, original)
    assert torch.equal(model.train(original.training)(X), original(X))


@distributed
@pytest.mark.parametrize("wrap, prefix", [
    (lambda m: nn.parallel.DistributedDataParallel(m), "module."),
    (lambda m: nn.parallel.DistributedDataParallel(torch.compile(m, backend="eager")), "module._orig_mod."),
])
def test_distributed_data_parallel_is_seen_through(one_process, wrap: Callable[[Any], Any], prefix: str) -> None:
    seen_through(wrap(net()), prefix)


@pytest.mark.parametrize("wrap, prefix", [
    (nn.DataParallel, "module."),
    (lambda m: torch.compile(m, backend="eager"), "_orig_mod."),
    (torch.optim.swa_utils.AveragedModel, "module."),
])
def test_wrappers_of_one_process_are_seen_through(wrap: Callable[[Any], Any], prefix: str) -> None:
    seen_through(wrap(net()), prefix)


def test_a_hook_on_the_wrapper_is_not_lost() -> None:
    """What the wrapper does beside the call of its child counts: the skeleton gives the same, or there is none."""
    original = nn.DataParallel(net())
    original.register_forward_hook(lambda module, args, result: result + 1)
    try:
        made = pellucid.skeleton(original, X, progress=False)
    except pellucid.Error:
        return
    assert torch.equal(made.module().train()(X), original(X))


def sharded(part: Callable[[Any], Any]) -> nn.Module:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    model = net()
    fully_shard(part(model), mesh=init_device_mesh("cpu", (1,)))
    return model


def fully_sharded() -> nn.Module:
    from torch.distributed.fsdp import FullyShardedDataParallel
    return FullyShardedDataParallel(net(), device_id=torch.device("cpu"))


@distributed
@pytest.mark.parametrize("make, words", [
    (lambda: sharded(lambda m: m), r"make the skeleton before fully_shard\(\)"),
    (lambda: sharded(lambda m: m[0]), r"0 is a .*FSDPLinear.*make the skeleton before fully_shard\(\)"),
    (fully_sharded, r"make the skeleton before FSDP\("),
])
def test_sharded_models_are_refused_in_words(one_process, make: Callable[[], Any], words: str) -> None:
    model, start = make(), time.monotonic()
    with pytest.raises(pellucid.SkeletonError, match=words):
        pellucid.skeleton(model, X, progress=False)
    assert time.monotonic() - start < 10
    assert model(X).shape == (4, 4), "the original still runs"


class Around(nn.Module):
    def __init__(self, wrap: Callable[[Any], Any]) -> None:
        super().__init__()
        self.body, self.head = wrap(net()), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.body(x))


@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda m: torch.compile(m, backend="eager")])
def test_wrappers_inside_keep_their_keys(wrap: Callable[[Any], Any]) -> None:
    assert pellucid.skeleton(Around(wrap), X, progress=False).report.complete


class AroundForward:
    """As accelerate does: the old forward under another name, and a function of the module as the new one."""

    def pre_forward(self, module, *args, **kwargs):
        return args, kwargs

    def post_forward(self, module, output):
        return output * 2


def with_hook(module: nn.Module) -> nn.Module:
    module._old_forward, module._hook = module.forward, AroundForward()

    def new_forward(module, *args, **kwargs):
        args, kwargs = module._hook.pre_forward(module, *args, **kwargs)
        return module._hook.post_forward(module, module._old_forward(*args, **kwargs))

    module.forward = functools.update_wrapper(functools.partial(new_forward, module), module._old_forward)
    return module


class Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = with_hook(nn.Linear(16, 4)), nn.Linear(4, 4)

    def forward(self, x):
        return self.other(self.one(x))


def test_forwards_that_were_replaced() -> None:
    """Of a module of torch's, and of the author's own around it."""
    made = pellucid.skeleton(with_hook(Halves()), X, progress=False)
    assert made.report.complete and "super().forward(" in made.source


def test_pruned_layers_keep_their_masks() -> None:
    from torch.nn.utils import prune
    model = net()
    prune.l1_unstructured(model[0], "weight", 0.3)
    prune.random_unstructured(model[0], "bias", 0.3)
    prune.ln_structured(model[2], "weight", 0.5, n=2, dim=0)
    prune.l1_unstructured(model[2], "weight", 0.2)
    made = pellucid.skeleton(model, X, progress=False)
    assert made.report.complete and made.source.count("prune.identity(") == 3


@pytest.mark.filterwarnings("ignore")
def test_observers_of_quantisation_aware_training() -> None:
    """Hooks of torch's own that are functions; their operator computes outside of Python's sight."""
    model = nn.Sequential(torch.ao.quantization.QuantStub(), nn.Linear(16, 4), torch.ao.quantization.DeQuantStub())
    model.qconfig = torch.ao.quantization.get_default_qat_qconfig("fbgemm")
    model = torch.ao.quantization.prepare_qat(model.train())
    model(X)
    made = pellucid.skeleton(model.eval(), X, progress=False)
    assert made.report.good and made.source.count("self.activation_post_process(") == 2


def test_weights_that_are_brought_are_refused_in_words() -> None:
    with pytest.raises(pellucid.SkeletonError, match=r"the weights of one are on the meta device, .*offloading"):
        pellucid.skeleton(with_hook(Halves()).to("meta"), X, progress=False)


def test_what_torch_exported_is_refused_in_words() -> None:
    exported = torch.export.export(net(), (X,)).module()
    with pytest.raises(pellucid.SkeletonError, match="what torch.export made .*pellucid skeleton model.pt2"):
        pellucid.skeleton(exported, X, progress=False)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w.t()

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w * 2, g.t() @ x


class Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(4, 16))

    def forward(self, x):
        return Doubled.apply(x, self.w)


class Checkpointed(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.body, self.reentrant = net(), reentrant

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint
        return checkpoint(self.body, x, use_reentrant=self.reentrant)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [Own, lambda: Checkpointed(False), lambda: Checkpointed(True)])
def test_functions_with_gradients_of_their_own(make: Callable[[], Any]) -> None:
    assert pellucid.skeleton(make(), X, progress=False).report.complete


class Marked(torch.Tensor):
    pass


class Carries(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(4, 16).as_subclass(Marked))

    def forward(self, x):
        return nn.functional.linear(x, self.w)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make, words", [
    (lambda: torch.ao.quantization.quantize_dynamic(net().eval(), {nn.Linear}, dtype=torch.qint8),
     "packed quantised weights .make the skeleton before they are quantised"),
    (Carries, r"w is a Marked, .*; give the model plain tensors"),
])
def test_what_holds_other_weights_is_refused_in_words(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(pellucid.SkeletonError, match=words):
        pellucid.skeleton(make(), X, progress=False)


def test_leaves_by_name() -> None:
    made = pellucid.skeleton(nn.Sequential(nn.Linear(16, 4)), X, leaves=["torch.nn.Linear"], progress=False)
    assert made.report.good
    with pytest.raises(ValueError, match="no such class"):
        pellucid.skeleton(net(), X, leaves=["torch.nn.Nothing"], progress=False)
    with pytest.raises(TypeError, match="a list of classes"):
        pellucid.skeleton(net(), X, leaves="torch.nn.Linear", progress=False)


@torch.jit.script
def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
    return x * by


class Scripted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        return scaled(self.fc(x), 0.5)


def test_functions_that_torch_scripted() -> None:
    assert pellucid.skeleton(Scripted(), X, progress=False).report.complete


def test_a_text_can_be_scripted() -> None:
    """torch.jit.script reads the source of what it compiles: the referee's text has one."""
    from pellucid import _check
    text = "import torch\n\n\n@torch.jit.script\ndef twice(x):\n    return x * 2\n"
    assert torch.equal(_check.load_source(text, "text_that_is_scripted").twice(X), X * 2)


class Residual(nn.Module):
    def forward(self, x, sublayer):
        return x + sublayer(x)


def test_modules_that_callers_give_are_refused_in_words() -> None:
    with pytest.raises(pellucid.SkeletonError, match=r"argument 2 is a module that the caller gives \(Linear\)"):
        pellucid.skeleton(Residual(), (X, nn.Linear(16, 16)), progress=False)


def test_an_interrupted_referee_answers_no_other_case(monkeypatch) -> None:
    from pellucid import _verify

    def interrupted(*_):
        raise KeyboardInterrupt
    with monkeypatch.context() as patched:
        patched.setattr(_verify.select, "select", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pellucid.skeleton(net(), X, progress=False)
    assert pellucid.skeleton(net(), X, progress=False).report.complete
