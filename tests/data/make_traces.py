"""Writes fuzz/corpus/skeleton and fuzz/corpus/trace: traces of small models with much in them, each of two sizes.

    PYTHONPATH=build/python python tests/data/make_traces.py

To be run again whenever the version of the trace file changes.
"""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
import types

import torch

from pellucid._pellucid import Recorder

CORPUS = pathlib.Path(__file__).resolve().parent.parent.parent / "fuzz" / "corpus"
WITH_EVENTS = ("gen", "plain", "failed")
MODELS = {
    "loop": '''\
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, width, act):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.act = act
        self.scale = width ** -0.5
    def forward(self, x, mask=None):
        y = self.act(self.fc(x)) * self.scale
        if mask is not None:
            y = y.masked_fill(mask, 0)
        return x + y
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(4, a) for a in (torch.relu, torch.tanh))
        self.norm = nn.LayerNorm(4)
        self.register_buffer("pos", torch.arange(8), persistent=False)
    def forward(self, x):
        n, size = x.shape
        for i, block in enumerate(self.blocks):
            x = block(x, x > i)
        parts = [x[k] for k in range(2)]
        return {"out": self.norm(x), "sum": sum(parts), "n": n}
def make(): return Net()
''',
    "hooks": '''\
import torch, dataclasses, functools
from torch import nn
@dataclasses.dataclass
class Out:
    logits: torch.Tensor
    extra: tuple = None
class Base(nn.Module):
    def helper(self, x, *rest, **named):
        return x * named.get("by", 1.0)
class Net(Base):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = self.a
        self.fn = functools.partial(torch.clamp, min=0.0)
        self.seen = 0
    def forward(self, x, times=2):
        self.seen += 1
        with torch.no_grad():
            m = x.mean()
        try:
            k = {"k": 1}["j"]
        except KeyError:
            k = 2
        y = x * k
        while times > 0:
            y = self.helper(y, by=0.5)
            times -= 1
        f = lambda t: self.fn(t) + m
        z, *others = f(y), 1, 2
        if self.training:
            z = torch.dropout(z, 0.1, True)
        assert len(others) == 2
        return Out(self.b(self.a(z)), (m, *[o for o in others if o > 1]))
def make():
    net = Net()
    net.a.register_forward_hook(lambda m, i, o: o + 1)
    return net
''',
    "gen": '''\
import torch, collections
from torch import nn
Pair = collections.namedtuple("Pair", "a b")
def pieces(x, n):
    for i in range(n):
        yield x.narrow(-1, i, 1)
class Cell(nn.Module):
    def __init__(self, mode, depth):
        super().__init__()
        self.mode = mode
        self.down = Cell(mode, depth - 1) if depth else None
        self.w = nn.Parameter(torch.ones(4))
    def forward(self, x):
        x = x * self.w
        if self.down is not None:
            x = self.down(x)
        match self.mode:
            case "mean": return x - x.mean(-1, keepdim=True)
            case _: return x
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleDict({"a": Cell("mean", 1), "b": Cell("sum", 0)})
    def forward(self, x):
        p = Pair(*[self.cells[k](x) for k in ("a", "b")])
        total = torch.cat(list(pieces(p.a, 3)), -1)
        if x.sum() > 1e9:
            total = total + 1
        return total, p.b[..., ::2], p
def make(): return Net()
''',
    "plain": '''\
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4, 2))
    def forward(self, x):
        return self.f(x).flatten(1)
def make(): return Net()
''',
    "passes": '''\
import functools, torch
from torch import nn
def note(x):
    size = x.numel()
    return size
def scaled(x, by):
    out = x * by
    return out
def forwards(x, by): return scaled(x, by)
def pair(x): return x + 1, x - 1
def checked(f):
    @functools.wraps(f)
    def inner(self, x):
        assert x.dim() == 2
        y = f(self, x)
        return y.relu()
    return inner
def ask(options, x): return x * options["scale"]
def check_width(x, width):
    if x.shape[-1] != width: raise ValueError("another width")
class Block(nn.Module):
    def __init__(self, width, twice):
        super().__init__()
        self.fc, self.twice = nn.Linear(width, width), twice
    @checked
    def forward(self, x):
        unused = note(x)
        same = x
        x = self.fc(same)
        if self.twice: x = self.fc(x)
        return x
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(4, False), Block(4, True)
        self.scale = 4 ** -0.5
    def forward(self, x):
        check_width(x, 4)
        batch, width = x.shape
        assert batch == x.shape[0]
        x = self.second(self.first(x))
        up, down = pair(forwards(x, self.scale))
        options = {"scale": 2.0, "name": "unread"}
        y = ask(options, up)
        flat = y.view(batch, width)
        return flat + torch.arange(batch)[:, None]
def make(): return Net()
''',
    "cells": '''\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        m, by = self.fc, 2.0
        self.f = lambda x: m(x) * by
        def g(x, k=1):
            return m(x) + k
        self.g = g
    def forward(self, x):
        return self.f(x) + self.g(x, k=3)
def make(): return Net()
''',
    "failed": '''\
from torch import nn
def twice(x):
    match x.dim():
        case n if n > 5: return x
    return x * 2
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        return twice(self.fc(x))
def make(): return Net()
''',
    "nothing": '''\
from torch import nn
def note(x): size = x.numel()
class Nothing(nn.Module):
    def forward(self, x): pass
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(4, 4), Nothing())
    def forward(self, x):
        def seen(row): last = row
        return self.fc(x), list(map(note, [x])), list(map(seen, [x]))
def make(): return Net()
''',
}


def load(name: str) -> types.ModuleType:
    """Under a relative name: the trace has the paths of its sources."""
    pathlib.Path(f"{name}.py").write_text(MODELS[name], encoding="utf-8")
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = f"{name}.py"
    exec(compile(MODELS[name], module.__file__, "exec"), vars(module))
    return module


def main() -> None:
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in MODELS:
            recorder = Recorder(load(name).make().eval(), events=name in WITH_EVENTS, origin=name)
            with torch.no_grad():
                recorder.run("given", (torch.randn(3, 4),))
                recorder.run("other size", (torch.randn(5, 4),))
            for target in ("skeleton", "trace"):
                (CORPUS / target / f"{name}.ptrace").write_bytes(recorder.log_bytes())
        os.chdir(CORPUS)


if __name__ == "__main__":
    main()
