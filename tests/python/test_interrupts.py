"""Ctrl-C, sys.exit and lack of memory while a skeleton is made: they come out, and all is as it was."""

from __future__ import annotations

import random
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: there is no model to record")
if not (3, 11) <= sys.version_info[:2] <= (3, 15):
    pytest.skip(f"recording is not supported in Python {sys.version_info[0]}.{sys.version_info[1]}",
                allow_module_level=True)

import pellucid  # noqa: E402
from pellucid import _formula, _leaves, _library, _pellucid, _verify  # noqa: E402
from torch import nn  # noqa: E402


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)
        self.register_buffer("table", torch.rand(4), persistent=False)

    def forward(self, x):
        return self.drop(self.norm(x)) * self.table


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.fc = nn.Linear(4, 2)
        self.calls = []

    def forward(self, x):
        self.calls.append(len(x))
        return self.fc(self.block(x))


def make():
    torch.manual_seed(3)
    net = Net()
    net.fc.register_forward_hook(lambda module, args, result: result + 1)
    net.fc.forward = lambda x: nn.functional.linear(x, net.fc.weight)
    return net.train()


def everything(net):
    """All that a recording could leave behind, in a form that can be compared."""
    tools = [sys.monitoring.get_tool(i) for i in range(6)] if sys.version_info >= (3, 12) else []
    return {
        "tensors": [(name, id(t), t.tolist(), t.requires_grad)
                    for name, t in (*net.named_parameters(), *net.named_buffers())],
        "gradients": [p.grad for p in net.parameters()],
        "modules": [(id(m), type(m), m.training, sorted(vars(m)), list(m._forward_hooks), list(m._forward_pre_hooks))
                    for m in net.modules()],
        "state": list(net.calls),
        "random": (torch.get_rng_state().tolist(), random.getstate()),
        "torch": (nn.Module.__call__, vars(torch.jit.ScriptFunction)["__call__"], torch.is_grad_enabled(),
                  torch._C._len_torch_function_stack()),
        "python": (sys.gettrace(), sys.getprofile(), tools),
    }


def check(interrupted, kind=KeyboardInterrupt):
    """The model, the process and the next recording are as if the interrupted one had not been."""
    net = make()
    random.seed(5)
    before = everything(net)
    with pytest.raises(kind) as caught:
        interrupted(net)
    assert everything(net) == before
    assert pellucid.skeleton(net, torch.ones(3, 4), more=[], verify=False).source.count("class ") == 3
    return caught.value


# the recorded call, the four that are compared with it, and those of our own making
@pytest.mark.parametrize("call", [0, 1, 2, 3, 4, 5, 7, 9])
def test_in_the_model(monkeypatch, call):
    def interrupted(net):
        with monkeypatch.context() as patch:
            interrupting(patch, nn.functional, "linear", call, KeyboardInterrupt())  # each forward calls it once
            pellucid.skeleton(net, torch.ones(3, 4))
    check(interrupted)


def interrupting(monkeypatch, owner, name, calls, error):
    """The function raises in its calls from the given one on, until it has done so once."""
    real, left = getattr(owner, name), [calls]

    def function(*args, **kwargs):
        left[0] -= 1
        if left[0] == -1:
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, function)


HELPERS = [(_library, "role_of"), (_library, "source_of"), (_library, "owner_of"), (_library, "class_facts"),
           (_library, "described"), (_library, "versions"), (_leaves, "opened"), (_leaves, "arguments"),
           (_formula, "describe")]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(7)], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("owner, name", HELPERS, ids=lambda h: h if isinstance(h, str) else "")
def test_in_a_helper_of_the_recorder(monkeypatch, owner, name, error):
    for calls in (0, 1) if name not in ("versions", "opened", "describe") else (0,):
        with monkeypatch.context() as patch:
            interrupting(patch, owner, name, calls, error)
            raised = check(lambda net: pellucid.skeleton(net, torch.ones(3, 4), more=[], verify=False), type(error))
        assert raised is error


def test_lack_of_memory_is_no_answer(monkeypatch):
    error = MemoryError("no more")
    for owner, name in HELPERS:
        if name in ("versions", "opened"):  # asked when a recorder is made
            continue
        recorder = _pellucid.Recorder(make())
        with monkeypatch.context() as patch:
            interrupting(patch, owner, name, 0, error)
            with pytest.raises(MemoryError) as caught:
                recorder.run("given", (torch.ones(3, 4),))
        assert caught.value is error


def test_a_helper_that_fails_does_not_know(monkeypatch):
    interrupting(monkeypatch, _library, "owner_of", 0, ValueError("a fault of ours"))
    assert pellucid.skeleton(make(), torch.ones(3, 4), more=[], verify=False).source


def test_while_it_is_verified(monkeypatch):
    def interrupted(net):
        with monkeypatch.context() as patch:
            interrupting(patch, _verify, "ask_referee", 0, KeyboardInterrupt())
            pellucid.skeleton(net, torch.ones(3, 4))
    check(interrupted)


def test_a_model_that_catches_everything(monkeypatch):
    """It can't hide the interrupt: a recording with a hole in it is not handed out."""
    class Stubborn(nn.Module):
        def forward(self, x):
            try:
                return torch.relu(x)
            except BaseException:
                return x

    recorder = _pellucid.Recorder(Stubborn())
    interrupting(monkeypatch, _library, "described", 0, KeyboardInterrupt())
    with pytest.raises((KeyboardInterrupt, pellucid.Error)):
        recorder.run("given", (torch.ones(2),))
    with pytest.raises(pellucid.Error, match="interrupted"):
        recorder.run("again", (torch.ones(2),))


def test_in_a_recording_context(monkeypatch):
    net = make()
    call = nn.Module.__call__
    with monkeypatch.context() as patch:
        interrupting(patch, nn.functional, "linear", 1, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt), pellucid.record() as recording:
            net(torch.ones(3, 4))
            net(torch.ones(3, 4))
    assert nn.Module.__call__ is call and len(recording.calls) == 1
    assert net(torch.ones(3, 4)).shape == (3, 2)


def test_the_compiler_is_back_after_a_recording_context():
    stance = torch._dynamo.eval_frame._stance.stance
    net = nn.Sequential(torch.compile(nn.Linear(2, 2), backend="eager"))
    with pellucid.record() as recording:
        net(torch.ones(1, 2))
    assert torch._dynamo.eval_frame._stance.stance == stance
    assert recording.skeleton(verify=False).source
    assert torch._dynamo.eval_frame._stance.stance == stance


def test_a_call_that_raised_is_not_repeated():
    class Picky(nn.Module):
        def forward(self, x):
            if x.shape[0] == 2:
                raise ValueError("two")
            return x.relu()

    net = Picky()
    with pellucid.record() as recording:
        net(torch.ones(1, 3))
        with pytest.raises(ValueError, match="two"):
            net(torch.ones(2, 3))
        net(torch.ones(3, 3))
    made = recording.skeleton()
    assert made.report.good and 'assert x.shape[0] != 2, "two"' in made.source
