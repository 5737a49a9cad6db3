"""Models whose results depend on what is easily taken for a constant, for tests/python/test_dependence.py: things that
callers give (in dicts, records, lists, as strings and flags), sizes, devices, types, chance, exceptions.

Each row of CASES is a model, the arguments that are recorded, and others: for these a skeleton gives what the model
gives, or it raises."""
import dataclasses
import functools
import types
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

try:
    import einops
    from einops import pack, rearrange, reduce, repeat, unpack
except ImportError:  # the cases that need it are skipped
    einops = None  # type: ignore[assignment]

CASES: list[tuple[type, Any, list[Any]]] = []
NEEDS_EINOPS: set[type] = set()


def case(given, *others, needs_einops=False):
    def add(model):
        CASES.append((model, given, list(others)))
        if needs_einops:
            NEEDS_EINOPS.add(model)
        return model
    return add


def t(*shape):
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(*shape, generator=generator)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    heads: int = 2
    mode: str = "a"
    scale: float = 1.0


class Pair(NamedTuple):
    x: torch.Tensor
    n: int


class Plain:
    def __init__(self, n, mode="a"):
        self.n = n
        self.mode = mode


# ---- what callers give, in functions that are written as straight lines ----

@case((Batch(t(3, 4), 2),), (Batch(t(3, 4), 4),), (Batch(t(3, 4), 1),), needs_einops=True)
class HeadsInRecord(Base):
    def forward(self, b):
        return rearrange(self.l(b.x), "b (h d) -> b h d", h=b.heads)


@case((t(3, 4), {"repeats": 2}), (t(3, 4), {"repeats": 5}), (t(2, 4), {"repeats": 2}), needs_einops=True)
class RepeatsInDict(Base):
    def forward(self, x, meta):
        return repeat(self.l(x), "b d -> b r d", r=meta["repeats"])


@case((t(3, 4), {"h": 2, "w": 2}), (t(3, 4), {"h": 1, "w": 4}), (t(3, 4), {"h": 4, "w": 1}), needs_einops=True)
class GridInDict(Base):
    def forward(self, x, grid):
        return rearrange(x, "b (h w) -> b h w", h=grid["h"], w=grid["w"])


@case((t(3, 4), [{"r": 2}, {"r": 3}]), (t(3, 4), [{"r": 3}, {"r": 2}]), (t(3, 4), [{"r": 2}]), needs_einops=True)
class RepeatsInListOfDicts(Base):
    def forward(self, x, rows):
        out = x
        for row in rows:
            out = out + reduce(repeat(x, "b d -> b r d", r=row["r"]), "b r d -> b d", "sum")
        return out


@case((t(3, 4), "b d -> d b"), (t(3, 4), "b d -> b d"), needs_einops=True)
class PatternGiven(Base):
    def forward(self, x, pattern):
        return rearrange(x, pattern)


@case((t(3, 4), {"how": "mean"}), (t(3, 4), {"how": "sum"}), needs_einops=True)
class ReductionInDict(Base):
    def forward(self, x, options):
        return reduce(x, "b d -> b", options["how"])


@case((t(3, 4), {"mask": t(3, 1), "temperature": 2.0}), (t(3, 4), {"mask": t(3, 1), "temperature": 5.0}),
      (t(3, 4), {"mask": t(3, 1)}), (t(3, 4), {"mask": t(3, 1), "temperature": 2.0, "more": 1}))
class MatchDict(Base):
    def forward(self, x, batch):
        match batch:
            case {"mask": m, "temperature": s}:
                return self.l(x) * m / s
            case {"mask": m}:
                return self.l(x) * m


@case(({"x": t(3, 4), "scale": 2},), ({"x": t(3, 4), "scale": 5},), ({"x": t(3, 4), "scale": 2, "k": 1},))
class MatchDictRest(Base):
    def forward(self, d):
        match d:
            case {"x": x, "scale": s, **rest}:
                return x * s + len(rest)
            case _:
                return d["x"]


@case((t(3, 4), "relu"), (t(3, 4), "gelu"), (t(3, 4), "none"))
class MatchString(Base):
    def forward(self, x, act):
        match act:
            case "relu":
                return F.relu(self.l(x))
            case "gelu":
                return F.gelu(self.l(x))
            case other:
                return self.l(x) * len(other)


@case((t(3, 4), (2, 3)), (t(3, 4), (2, 4)), (t(3, 4), (2, 3, 4)), (t(3, 4), 7))
class MatchSequence(Base):
    def forward(self, x, pair):
        match pair:
            case (a, b):
                return x * a + b
            case (a, *rest):
                return x * a + len(rest)
            case n:
                return x * n


@case((t(3, 4), Plain(2)), (t(3, 4), Plain(3)), (t(3, 4), Plain(2, "b")))
class MatchObject(Base):
    def forward(self, x, o):
        match o:
            case Plain(n=n, mode="a"):
                return x * n
            case Plain(n=n):
                return x + n


@case((Batch(t(3, 4)),), (Batch(t(3, 4), scale=3.0),), (Batch(t(3, 4), mode="b"),))
class MatchRecord(Base):
    def forward(self, batch):
        match batch:
            case Batch(x=x, mode="a", scale=s):
                return x * s
            case Batch(x=x):
                return x


# ---- what callers give, in functions that are written as their author did ----

@case((Batch(t(3, 4)),), (Batch(t(3, 4), scale=3.0),), (Batch(t(3, 4), mode="b"),), (Batch(t(3, 4), heads=7),))
class ReadsRecord(Base):
    def forward(self, b):
        y = self.l(b.x) * b.scale
        if b.mode == "a":
            y = y + b.heads
        return y


@case((Pair(t(3, 4), 2),), (Pair(t(3, 4), 3),), (Pair(t(3, 4), 0),))
class ReadsNamedTuple(Base):
    def forward(self, pair):
        x, n = pair
        return self.l(x) * n if n > 1 else x


@case((t(3, 4), Plain(2)), (t(3, 4), Plain(3)), (t(3, 4), Plain(2, "b")))
class ReadsObject(Base):
    def forward(self, x, o):
        return self.l(x) * o.n + (1 if o.mode == "a" else 2)


@case((t(3, 4), types.SimpleNamespace(n=2, deep=types.SimpleNamespace(k=3))),
      (t(3, 4), types.SimpleNamespace(n=4, deep=types.SimpleNamespace(k=3))),
      (t(3, 4), types.SimpleNamespace(n=2, deep=types.SimpleNamespace(k=5))))
class ReadsNamespace(Base):
    def forward(self, x, config):
        return self.l(x) * config.n + config.deep.k


@case((t(3, 4), {"a": {"b": [1, 2.5]}}), (t(3, 4), {"a": {"b": [1, 3.5]}}), (t(3, 4), {"a": {"b": [2, 2.5]}}))
class ReadsDeep(Base):
    def forward(self, x, tree):
        first, second = tree["a"]["b"]
        return x * first + second


@case((t(3, 4), {"flag": True}), (t(3, 4), {"flag": False}), (t(3, 4), {}))
class FlagInDict(Base):
    def forward(self, x, options):
        if options.get("flag", False):
            return self.l(x)
        return x


@case((t(3, 4), [("relu", 2), ("gelu", 3)]), (t(3, 4), [("gelu", 2), ("gelu", 3)]), (t(3, 4), [("relu", 4)]))
class ProgramInList(Base):
    def forward(self, x, steps):
        for name, times in steps:
            x = (F.relu(x) if name == "relu" else F.gelu(x)) * times
        return x


@case((t(3, 4), {"a", "b"}), (t(3, 4), {"a"}), (t(3, 4), {"c", "a"}))
class SetGiven(Base):
    def forward(self, x, names):
        return self.l(x) if "b" in names else x * len(names)


@case((t(3, 4), range(2)), (t(3, 4), range(3)))
class RangeGiven(Base):
    def forward(self, x, rounds):
        for i in rounds:
            x = x + i
        return x


@case((t(3, 4), slice(0, 2)), (t(3, 4), slice(1, 3)))
class SliceGiven(Base):
    def forward(self, x, part):
        return self.l(x)[:, part]


@case((t(3, 4), torch.relu), (t(3, 4), torch.tanh))
class FunctionGiven(Base):
    def forward(self, x, f):
        return f(self.l(x))


@case((t(3, 4), torch.float64), (t(3, 4), torch.float32))
class DtypeGiven(Base):
    def forward(self, x, dtype):
        return self.l(x).to(dtype)


@case((t(3, 4), t(3, 4)), (t(3, 4), None), (t(3, 4),))
class GivenThenNone(Base):
    def forward(self, x, mask=None):
        if mask is not None:
            x = x * mask
        return self.l(x)


@case((t(3, 4), t(3, 4)), (t(3, 4),), (t(3, 4), None))
class NoneFails(Base):
    def forward(self, x, other=None):
        return self.l(x) + other.mean()


@case((t(3, 4),), (t(3, 4), t(3, 4)), (t(3, 4), None))
class NoneThenGiven(Base):
    def forward(self, x, mask=None):
        if mask is not None:
            x = x * mask
        return self.l(x)


@case((t(3, 4), {"mask": t(3, 4)}), (t(3, 4), {"mask": None}), (t(3, 4), {}))
class OptionalInDict(Base):
    def forward(self, x, extra):
        mask = extra.get("mask")
        if mask is not None:
            x = x * mask
        return self.l(x)


@case((t(3, 4), 2), (t(3, 4), 3), (t(3, 4), 2.5))
class ThroughCache(Base):
    @functools.lru_cache
    def factor(self, n):
        return n * 10

    def forward(self, x, n):
        return x * self.factor(n)


@case((t(3, 4), 3), (t(3, 4), 4), (t(3, 4), 0))
class ThroughFormat(Base):
    def forward(self, x, n):
        return x * len(f"{n:>{n}}") + int(str(n))


@case((t(3, 4), {"k": 3}), (t(3, 4), {"k": 4}), (t(3, 4), {"k": 3, "j": 1}))
class ThroughStars(Base):
    def scaled(self, x, k=1, j=2):
        return x * k + j

    def forward(self, x, options):
        return self.scaled(x, **options)


# ---- sizes ----

@case((t(3, 4),), (t(3, 7),), (t(5, 4),))
class MatchShape(nn.Module):
    def forward(self, x):
        match x.shape:
            case (k, n):
                return x * n
            case _:
                return x


@case((t(3, 4),), (t(5, 4),), (t(3, 9),))
class MatchSize(nn.Module):
    def forward(self, x):
        match x.shape[0], x.dim():
            case 3, 2:
                return x * 2
            case a, b:
                return x * a * b


@case((t(2, 3, 4, 4),), (t(2, 3, 4, 6),), (t(2, 3, 6, 4),), (t(1, 3, 5, 5),), (t(2, 5, 4, 4),), needs_einops=True)
class Tokens(nn.Module):
    def forward(self, x):
        return rearrange(x, "b c h w -> b (h w) c")


@case((t(2, 3, 4, 4),), (t(2, 3, 4, 6),), (t(2, 3, 6, 4),), (t(1, 3, 2, 2),), needs_einops=True)
class TokensAndBack(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, x):
        b, c, h, w = x.shape
        y = self.l(rearrange(x, "b c h w -> b (h w) c"))
        return rearrange(y, "b (h w) c -> b c h w", h=h, w=w) + x


@case((t(2, 5, 8),), (t(3, 5, 8),), (t(2, 7, 8),), (t(2, 5, 12),), needs_einops=True)
class Heads(nn.Module):
    def forward(self, x):
        q = rearrange(x, "b n (h d) -> b h n d", h=2)
        return rearrange(q @ q.transpose(-1, -2), "b h n m -> b n (h m)")


@case((t(2, 4, 3),), (t(2, 4, 5),), (t(3, 4, 3),), (t(2, 6, 3),), needs_einops=True)
class Means(nn.Module):
    def forward(self, x):
        return reduce(x, "b (n p) c -> b n c", "mean", p=2) + reduce(x, "b n c -> b 1 c", "max")


@case((t(2, 4), t(5, 2)), (t(3, 4), t(5, 3)), (t(2, 4), t(6, 2)), needs_einops=True)
class Outer(nn.Module):
    def forward(self, x, y):
        return rearrange(x, "b d -> b 1 d") * rearrange(y, "n b -> b n 1") + repeat(x, "b d -> b n d", n=y.shape[0])


@case((t(2, 3, 4), t(2, 5, 4)), (t(2, 3, 4), t(2, 6, 4)), (t(1, 2, 4), t(1, 5, 4)), needs_einops=True)
class Packed(nn.Module):
    def forward(self, x, y):
        both, shapes = pack([x, y], "b * d")
        a, b = unpack(both * 2, shapes, "b * d")
        return a.sum() + b


@case((t(2, 8, 8, 3),), (t(2, 4, 8, 3),), (t(1, 8, 12, 3),), needs_einops=True)
class Patches(nn.Module):
    def forward(self, x):
        return rearrange(x, "b (h p) (w q) c -> b (h w) (p q c)", p=4, q=4)


@case((t(2, 3, 4, 5, 6),), (t(1, 3, 4, 5, 6),), (t(2, 3, 7, 5, 6),), needs_einops=True)
class Ellipsis_(nn.Module):
    def forward(self, x):
        return rearrange(x, "b ... c -> b c ...") * reduce(x, "b ... c -> b c 1 1 1", "sum")


@case((t(3, 4),), (t(3, 5),), (t(1, 1),))
class LocalFunctions(nn.Module):
    def forward(self, x):
        table = {name: (lambda v, k=k: v * k) for k, name in enumerate("abc", x.shape[1])}
        return sum(f(x) for f in table.values())


# ---- devices, types ----

@case((t(2, 5, 8),), (t(2, 6, 8),))
class PartialDevice(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(64, 8)

    @property
    def device(self):
        return next(self.parameters()).device

    def forward(self, x):
        arange = functools.partial(torch.arange, device=self.device)
        return x + self.e(arange(x.shape[1]))


@case((t(2, 4),), (t(2, 4).double(),), (t(2, 4).half(),))
class TypeOfInput(nn.Module):
    def forward(self, x):
        eps = torch.finfo(x.dtype).eps
        return x + torch.ones(4, dtype=x.dtype) * eps


@case((t(2, 4),), (t(2, 4).double(),), needs_einops=True)
class TypeInLine(nn.Module):
    def forward(self, x):
        match x.dtype:
            case torch.float32:
                return x * 2
            case other:
                return x.to(other) * 3


@case((t(2, 4),), (t(2, 4).double(),))
class TypeInMatch(nn.Module):
    def forward(self, x):
        match {"dtype": x.dtype, "device": x.device}:
            case {"dtype": d, "device": v}:
                return torch.ones(2, 4, dtype=d, device=v) + x


# ---- chance ----

@case((t(2, 4),))
class UnreadBinomial(Base):
    def forward(self, x):
        torch.binomial(torch.full((3,), 10.0), torch.full((3,), 0.5))
        return self.l(x) + torch.rand(4)


@case((t(2, 4),))
class UnreadLast(Base):
    def forward(self, x):
        unused = torch.poisson(torch.full((3,), 10.0))
        return self.l(x)


@case((t(2, 4),))
class UnreadDropout(Base):
    def forward(self, x):
        y = self.l(x)
        kept, mask = torch.native_dropout(y, 0.5, True)
        return y


@case((t(2, 4),))
class UnreadMethods(Base):
    def forward(self, x):
        y = torch.empty(3).uniform_()
        z = x.new_empty(2).normal_()
        torch.empty(3).geometric_(0.5)
        torch.distributions.Normal(0.0, 1.0).sample((2,))
        return self.l(x)


@case((t(2, 4),))
class UnreadInPlace(Base):
    def forward(self, x):
        y = self.l(x)
        F.relu(y, inplace=True)
        F.hardtanh(y, -0.1, 0.1, True)
        return y


@case((t(2, 4),))
class UnreadInMatch(Base):
    def forward(self, x):
        match x.shape:
            case (b, d):
                torch.binomial(torch.full((3,), 10.0), torch.full((3,), 0.5))
                return self.l(x) * 2


@case((t(2, 4),))
class SeedThenDraw(Base):
    def forward(self, x):
        torch.manual_seed(3)
        return self.l(x) + torch.rand(4)


# ---- modes ----

class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(4)

    def train(self, mode: bool = True):
        """Batch norm stays as it is."""
        super().train(mode)
        self.bn.eval()
        return self

    def forward(self, x):
        return self.bn(x)


class FrozenByFlag(Frozen):
    def __init__(self):
        super().__init__()
        self.frozen_stages = 1

    def train(self, mode=True):
        super(Frozen, self).train(mode)
        if mode and self.frozen_stages > 0:
            self.bn.eval()
        return self


# ---- exceptions ----

@case((t(3, 4),), (t(1, 4),), (t(7, 4),))
class TriesView(nn.Module):
    def forward(self, x):
        try:
            x.view(x.shape[0] * 3 + 1)
        except RuntimeError:
            x = x + 1
        return x


@case((t(3, 4),), (t(7, 7),))
class TriesOtherView(nn.Module):
    def forward(self, x):
        m = 0
        try:
            y = x.view(7, 7)
        except RuntimeError:
            m = 1
        return x + m


@case((t(3, 4),), (torch.eye(3, 4),))
class TriesCholesky(nn.Module):
    def forward(self, x):
        y = x + 1
        try:
            torch.linalg.cholesky(x[:, :3])
        except RuntimeError:
            y = y + 1
        return y


@case((t(3, 4), {"a": 1}), (t(3, 4), {}), (t(3, 4), {"a": 5}))
class TriesKey(nn.Module):
    def forward(self, x, d):
        try:
            n = d["a"]
        except KeyError:
            n = 9
        return x * n


@case((t(3, 4), "3"), (t(3, 4), "x"), (t(3, 4), "4"))
class TriesInt(nn.Module):
    def forward(self, x, text):
        try:
            n = int(text)
        except ValueError:
            n = -1
        return x * n


@case((t(3, 4),), (t(1, 4),))
class TriesUnread(nn.Module):
    def forward(self, x):
        try:
            x.reshape(3, -1, 2).squeeze(0).expand(5, -1, -1, -1)
        except (RuntimeError, ValueError):
            return x * 3
        return x


# ---- what a reader is told ----

class ColumnParallel(nn.Linear):
    def __init__(self, n, m, gather=True):
        super().__init__(n, m, bias=False)


class Parallel(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = ColumnParallel(4, 8, gather=False)

    def forward(self, x):
        return self.w(x)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = np.float64(0.125)

    def forward(self, x):
        return x * self.scale
