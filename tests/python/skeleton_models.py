"""Small models, one mechanism of the synthesis each: build() -> (model, args, kwargs).

`expects` are patterns that the skeleton's source must have, `lacks` those it must not.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, Callable, NamedTuple, Optional

import torch
import torch.nn.functional as F
from torch import nn

CASES: dict[str, tuple[Callable[[], tuple], tuple[str, ...], tuple[str, ...]]] = {}


def case(expects: tuple[str, ...] = (), lacks: tuple[str, ...] = ()) -> Callable:
    def add(build: Callable[[], tuple]) -> Callable[[], tuple]:
        CASES[build.__name__] = (build, expects, lacks)
        return build

    return add


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


class Plain(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()
        self.first = nn.Linear(width, 2 * width)
        self.second = nn.Linear(2 * width, width)

    def forward(self, x):
        hidden = F.relu(self.first(x))
        return self.second(hidden) + x


@case(expects=(r"class Plain\(nn\.Module\)", r"nn\.Linear\(8, 16\)", r"hidden = F\.relu\(self\.first\(x\)\)"))
def plain():
    return Plain(), (randn(3, 8),), {}


class Options:
    def __init__(self, depth=3, width=8, norm="layer", residual=True, act="gelu"):
        self.depth, self.width, self.norm, self.residual, self.act = depth, width, norm, residual, act


ACTS = {"relu": F.relu, "gelu": F.gelu}


class Block(nn.Module):
    def __init__(self, options: Options):
        super().__init__()
        self.options = options
        self.norm = nn.LayerNorm(options.width) if options.norm == "layer" else nn.Identity()
        self.linear = nn.Linear(options.width, options.width)

    def forward(self, x, scale=None):
        y = ACTS[self.options.act](self.linear(self.norm(x)))
        if scale is not None:
            y = y * scale
        if self.options.residual:
            return x + y
        return y


class Stack(nn.Module):
    def __init__(self, options: Options):
        super().__init__()
        self.blocks = nn.ModuleList(Block(options) for _ in range(options.depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


@case(expects=(r"for block in self\.blocks:", r"F\.gelu"), lacks=(r"options", r"scale", r"\bif\b"))
def config_and_loop():
    return Stack(Options()), (randn(2, 8),), {}


class Down(nn.Module):
    def __init__(self, inside: int, outside: int):
        super().__init__()
        self.conv = nn.Conv2d(inside, outside, 3, padding=1)
        self.shortcut = nn.Conv2d(inside, outside, 1) if inside != outside else None

    def forward(self, x):
        shortcut = x
        if self.shortcut is not None:
            shortcut = self.shortcut(x)
        return self.conv(x).relu() + shortcut


class Downs(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.Sequential(Down(3, 8), Down(8, 8), Down(8, 4))

    def forward(self, x):
        return self.stages(x)


@case(expects=(r"class Down\b", r"if self\.shortcut is not None:", r"def __init__\(self, in"))
def instances_differ():
    return Downs(), (randn(2, 3, 16, 16),), {}


@case(expects=(r"class Down\b", r"if self\.shortcut is not None:"))
def torch_class_as_root():
    return nn.Sequential(Down(3, 8), Down(8, 8), Down(8, 4)), (randn(2, 3, 16, 16),), {}


class Rows(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rows = nn.ModuleList([kind() for _ in range(4)])

    def forward(self, x):
        for row in self.rows:
            x = row(x)
        return x


# One row that came in by a name would be shared by all four.
@case(expects=(r"self\.rows = nn\.ModuleList\(rows\)",), lacks=(r"\[rows for",))
def lists_of_two_classes():
    return nn.Sequential(Rows(Plain), Rows(functools.partial(nn.Linear, 8, 8))), (randn(3, 8),), {}


class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(8, 2), nn.Linear(8, 3)])

    def forward(self, x, task: int, steps: int = 3, temperature: float = 0.7):
        for step in range(steps):
            x = x + step / temperature
        if temperature > 2:
            x = -x
        return self.heads[task](x)


@case(expects=(r"range\(steps\)", r"step / temperature", r"self\.heads\[task\]",
               "not temperature > 2|temperature <= 2|not \\(temperature > 2\\)"),
      lacks=("not recorded with",))
def numbers_that_the_caller_gives():
    return Numbers(), (randn(3, 8), 1), {}


MEAN = torch.tensor([0.5, 0.25] * 4)
SCALES = {"a": torch.arange(8.0), "b": torch.ones(8)}


class OfTheFile(nn.Module):
    shift = torch.full((8,), 2.0)

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x - MEAN) * SCALES["a"] + self.shift


@case(expects=(r"^MEAN = torch\.tensor|\nMEAN = torch\.", r"\nshift = torch\.full\(\(8,\), 2\.0\)",
               r'\nSCALES = {"a": torch\.arange\(8'))
def tensors_of_the_file():
    return OfTheFile(), (randn(3, 8),), {}


class Keeping(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.last = None
        self.seen = {}

    def forward(self, x):
        y = self.linear(x)
        if self.last is not None:
            y = y + self.last
        self.last = y.mean(0).detach()
        self.seen["calls"] = self.seen.get("calls", 0) + 1
        return y * self.seen["calls"]


@case(expects=(r"if self\.last is not None:", r'self\.seen\.get\("calls", 0\) \+ 1', "a second call"))
def what_is_kept_from_call_to_call():
    return Keeping(), (randn(3, 8),), {}


class Anything(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, *args, **kwargs):
        return self.linear(args[1]) + kwargs.get("bias", 0) * kwargs["scale"]


@case(expects=(r"def forward\(self, args_0, args_1, \*, bias, scale\)", r"bias \* scale"))
def root_that_takes_anything():
    return Anything(), (randn(3, 8), randn(3, 8)), {"bias": 2.0, "scale": randn(3, 1)}


def passing_on(forward):
    @functools.wraps(forward)
    def wrapper(self, *args, **kwargs):
        return forward(self, *args, **kwargs)

    return wrapper


class Layered(nn.Module):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Mixing(Layered):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, hidden, mask=None, cache=None, **kwargs):
        return hidden + self.linear(hidden)


class Attending(Layered):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(8, 8)

    def forward(self, hidden, mask=None, cache=None, **kwargs):
        return hidden * self.query(hidden).softmax(-1)


class Hybrid(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Mixing(), Attending()])

    @passing_on
    def forward(self, pixels):
        hidden = pixels
        for layer in self.layers:
            hidden = layer(hidden, mask=None, cache=None, scale=2)
        return hidden


# The root's parameters keep their names; what a call to two classes passes, both take.
@case(expects=(r"def forward\(self, pixels\)", r"class Mixing", r"class Attending"))
def layers_of_two_classes():
    return Hybrid(), (), {"pixels": randn(3, 8)}


@dataclass
class Sizes:
    batch: int
    length: int
    width: int


class Local(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def attend(self, x, sizes: Sizes):
        parts = x.view(sizes.batch, sizes.length, 2, sizes.width // 2)
        return parts.softmax(2).reshape(sizes.batch, sizes.length, sizes.width)

    def forward(self, x):
        sizes = Sizes(batch=x.shape[0], length=x.shape[1], width=x.shape[2])
        return self.attend(self.linear(x), sizes)


class Locals(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Local() for _ in range(2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


# An object that the run makes is not one that tells functions apart.
@case(expects=(r"def attend\(self, x, sizes\)", r"sizes\.batch"), lacks=("forward_2",))
def objects_made_by_the_run():
    return Locals(), (randn(3, 5, 8),), {}


class Reshape(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, length, 3, 2, 4).permute(2, 0, 3, 1, 4)
        attention = (q @ k.transpose(-2, -1) * 4 ** -0.5).softmax(-1)
        return (attention @ v).transpose(1, 2).reshape(batch, length, width)


@case(expects=(r"batch, length, width = x\.shape", r"reshape\(batch, length, width\)"))
def sizes_are_expressions():
    return Reshape(), (randn(2, 5, 8),), {}


def helper(x, double=False, bias=None):
    if double:
        x = x * 2
    if bias is not None:
        x = x + bias
    return x


class Helpers(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def prepare(self, x):
        return helper(x, double=True)

    def forward(self, x):
        return helper(self.linear(self.prepare(x)), bias=self.linear.bias)


@case(expects=(r"def helper\(",))
def helper_functions():
    return Helpers(), (randn(2, 8),), {}


@dataclass
class Result:
    logits: torch.Tensor
    hidden: Optional[tuple] = None


class Structured(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x, return_hidden: bool = True):
        hidden = self.a(x)
        return Result(logits=self.b(hidden), hidden=(x, hidden) if return_hidden else None)


@case(expects=(r"@(dataclasses\.)?dataclass", r"class Result", r"Result\(logits="))
def dataclass_result():
    return Structured(), (randn(2, 8),), {}


class Dictionary(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 3)})

    def forward(self, x):
        return {name: head(x) for name, head in self.heads.items()}


@case(expects=(r"self\.heads\.items\(\)",))
def dict_result():
    return Dictionary(), (randn(2, 8),), {}


class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.register_buffer("kept", torch.randn(8))
        self.register_buffer("frequencies", 1.0 / 10000 ** (torch.arange(0, 8, 2) / 8), persistent=False)
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x):
        self.steps += 1
        return self.linear(x) * self.kept + torch.cat((self.frequencies, self.frequencies))


@case(expects=(r"register_buffer\(\s*['\"]frequencies['\"]", r"persistent=False"))
def buffers():
    return Buffers(), (randn(2, 8),), {}


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(32, 8)
        self.head = nn.Linear(8, 32, bias=False)
        self.head.weight = self.embed.weight
        self.scale = nn.Parameter(torch.ones(8), requires_grad=False)

    def forward(self, ids):
        return self.head(self.embed(ids) * self.scale)


@case(expects=(r"requires_grad=False|requires_grad_\(False\)",))
def ties_and_frozen():
    return Tied(), (torch.randint(0, 32, (2, 5)),), {}


class Adapted(nn.Linear):
    """Freezes what its base makes, in some instances only."""

    def __init__(self, rank: int):
        super().__init__(8, 8)
        self.rank = rank
        if rank:
            self.down, self.up = nn.Parameter(torch.randn(rank, 8)), nn.Parameter(torch.randn(8, rank))
            self.weight.requires_grad_(False)

    def forward(self, x):
        y = super().forward(x)
        return y + x @ self.down.T @ self.up.T if self.rank else y


@case(expects=(r"self\[0\]\.weight\.requires_grad_\(False\)",))
def frozen_in_some_instances():
    return nn.Sequential(Adapted(2), nn.ReLU(), Adapted(0)), (randn(3, 8),), {}


class Momentum(nn.Module):
    """A forward that changes parameters, in eval mode too."""

    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(8, 8), nn.Linear(8, 8).requires_grad_(False)
        self.register_buffer("queue", torch.zeros(3, 8))

    def follow(self):
        with torch.no_grad():
            for mine, other in zip(self.key.parameters(), self.query.parameters()):
                mine.data = mine.data * 0.9 + other.data * 0.1

    def forward(self, x):
        self.follow()
        self.queue[0] = self.query(x)[0]
        return self.query(x) * self.key(x).detach(), self.queue.detach().clone()


@case(expects=(r"mine\.data = mine\.data \* 0\.9 \+ other\.data \* 0\.1",))
def parameters_that_calls_move():
    return Momentum(), (randn(3, 8),), {}


class Catching(nn.Module):
    """Its methods are hooks of its parts, some before and some behind: registered as the author did."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), Plain())
        self.caught = {}
        self.net[1].register_forward_hook(self.catch)
        self.net[2].register_forward_pre_hook(self.double)

    def catch(self, module, args, output):
        self.caught["relu"] = output

    def double(self, module, args):
        return (args[0] * 2,)

    def forward(self, x):
        self.caught.clear()
        y = self.net(x)
        return y + self.caught["relu"]


@case(expects=(r"self\.net\[1\]\.register_forward_hook\(self\.catch\)", r"def catch\(self, module, args, output\)",
               r"self\.net\[2\]\.register_forward_pre_hook\(self\.double\)"), lacks=("Hooked",))
def hooks_that_are_methods_of_another_module():
    return nn.Sequential(Catching(), Catching()), (randn(3, 8),), {}


@case(expects=(r"self\[0\]\.net\[1\]\.register_forward_hook\(self\[0\]\.catch\)",))
def hooks_that_only_some_instances_register():
    model = nn.Sequential(Catching(), Catching())
    model[1].net[2]._forward_pre_hooks.clear()
    return model, (randn(3, 8),), {}


def widen(x):
    y = x * 3
    return y - y.mean()


class Tools:
    widened = widen

    @staticmethod
    def narrow(x):
        y = x / 3
        return y - y.mean()


class NamedAlike(nn.Module):
    """Variables that are called as the functions that made them: these would not be found."""

    def forward(self, x):
        widen = Tools.widened(x)
        widen = widen + Tools.widened(-x)
        narrow = Tools.narrow(x)
        narrow = narrow * Tools.narrow(-x)
        return widen * narrow + narrow


@case(expects=(r"narrow = Tools_narrow\(x\)", r"widen = widen_2\(x\)"))
def functions_called_as_variables_are():
    return NamedAlike(), (randn(3, 8),), {}


class Given(NamedTuple):
    image: torch.Tensor
    meta: dict
    pair: list


class AsksGiven(nn.Module):
    """What callers pass beside tensors is theirs: another call brings other names."""

    def forward(self, given, more):
        names = [name for name in given.meta["names"]]
        sub = more.get("sub")
        return given.image + given.meta["size"], names, given.pair[0] + 1, given.pair[1], sub["x"] * 2, sub["name"]


@case(expects=(r'for name in given\.meta\["names"\]', r"given\.pair\[1\]", r'sub\["name"\]'))
def texts_beside_tensors_in_what_callers_give():
    x = randn(3, 8)
    return AsksGiven(), (Given(x, {"names": ["a", "b"], "size": x}, [x, "c"]), {"sub": {"x": x, "name": "d"}}), {}


class Steps(nn.Module):
    """A generator that nobody asks for more: what comes behind its yield ran but for the last time."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def steps(self, x):
        while True:
            y = torch.tanh(self.linear(x))
            yield x, y
            x = y

    def forward(self, x):
        for k, (old, new) in enumerate(self.steps(x)):
            if (new - old).norm() < 1e-3 or k == 5:
                break
        return new, k


@case(expects=(r"while True", r"yield x, y\n            x = y"))
def generators_that_are_abandoned():
    return Steps(), (randn(3, 8),), {}


class HandsOn(nn.Module):
    """The defaults that callers see are those of the method that they call."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def step(self, x, number, scale=1.0):
        return self.linear(x) * scale, number

    def forward(self, x, number=0, scale=2.0):
        return self.step(x, number, scale)


@case(expects=(r"def forward\(self, x, number=0, scale=2\.0\)",))
def defaults_of_a_forward_that_hands_on():
    return HandsOn(), (randn(3, 8),), {}


class DropPath(nn.Module):
    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.p == 0.0 or not self.training:
            return x
        mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(1 - self.p)
        return x * mask / (1 - self.p)


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.drops = nn.ModuleList(DropPath(p) for p in (0.0, 0.1, 0.2))

    def forward(self, x):
        for layer, drop in zip(self.layers, self.drops):
            x = x + drop(layer(x))
        return F.dropout(x, 0.3, self.training)


@case(expects=(r"self\.training",))
def train_and_eval():
    return Dropping(), (randn(4, 8),), {}


def wrapped(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        kwargs.pop("unused", None)
        return function(self, *args, **kwargs)

    return wrapper


class Decorated(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    @wrapped
    def forward(self, x, *, factor: float = 2.0):
        return self.linear(x) * factor


@case()
def decorated_forward():
    return Decorated(), (randn(2, 8),), {}


class Carried(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        state = x.new_zeros(x.shape[0], 4)
        outputs = []
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
            outputs.append(state)
        return torch.stack(outputs, 1), state


@case(expects=(r"for step in range\(x\.shape\[1\]\):",))
def loop_over_length():
    return Carried(), (randn(2, 5, 4),), {}


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        if x.sum() > 0:
            return self.a(x)
        return self.b(x)


@case(expects=(r"if x\.sum\(\) > 0:",))
def data_dependent_branch():
    return Branching(), (randn(2, 8).abs(),), {}


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Plain()
        self.again = self.encoder

    def forward(self, a, b):
        return self.encoder(a) + self.again(b)


@case()
def shared_module():
    return Shared(), (randn(2, 8), randn(2, 8)), {}


class Base(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def embed(self, x):
        return self.inner(x)

    def forward(self, x):
        return self.embed(x)


class Derived(Base):
    def __init__(self):
        super().__init__(8)
        self.outer = nn.Linear(8, 8)

    def embed(self, x):
        return super().embed(x).tanh()

    def forward(self, x):
        return self.outer(super().forward(x))


@case()
def inheritance():
    return Derived(), (randn(2, 8),), {}


class Optional_(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 8)

    def forward(self, input_ids=None, attention_mask=None, inputs_embeds=None, **kwargs: Any):
        if inputs_embeds is None:
            inputs_embeds = self.embed(input_ids)
        if attention_mask is not None:
            inputs_embeds = inputs_embeds * attention_mask[..., None]
        return inputs_embeds.sum(1)


@case(expects=(r"def forward\(self, input_ids=None, attention_mask=None, inputs_embeds=None",), lacks=(r"\bif\b",))
def keyword_arguments():
    mask = torch.ones(2, 6, dtype=torch.int64)
    mask[1, 4:] = 0
    return Optional_(), (), {"input_ids": torch.randint(0, 50, (2, 6)), "attention_mask": mask}


class NoGrad(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        with torch.no_grad():
            weights = self.a(x).softmax(-1)
        return self.b(x) * weights


@case(expects=(r"with torch\.no_grad\(\):",))
def no_grad_block():
    return NoGrad(), (randn(2, 8),), {}


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * grad  # wrong on purpose: only the author's own backward gives it


class Custom(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return Square.apply(self.linear(x))


@case(expects=(r"autograd\.Function", r"def backward"))
def autograd_function():
    return Custom(), (randn(2, 8),), {}


STEEPEST = 2.0 * 0.25


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


Sign.apply = torch._C._FunctionBase.__dict__["apply"]  # written in C, as every Function has it since torch 2.15
sign = Sign.apply


class Signs(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return sign(self.fc(x))


@case(expects=(r"Sign\.apply", r"def backward"))
def class_method_in_c():
    return Signs(), (randn(3, 4),), {}


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return torch.clamp(grad * 2, max=STEEPEST)


class ClippedNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return Clipped.apply(self.fc(x))


def arranged(x, pattern, **lengths):
    """A small einops: axes in brackets are split or joined."""
    left, right = (side.split() for side in pattern.split(" -> "))
    known = {}
    for axis, length in zip(left, x.shape):
        names = axis.split("*")
        rest = length
        for name in names:
            if name in lengths:
                known[name] = lengths[name]
                rest //= lengths[name]
        for name in names:
            known.setdefault(name, rest)
    order = [name for axis in left for name in axis.split("*")]
    x = x.reshape([known[name] for name in order])
    x = x.permute([order.index(name) for axis in right for name in axis.split("*")])
    shape = []
    for axis in right:
        total = 1
        for name in axis.split("*"):
            total *= known[name]
        shape.append(total)
    return x.reshape(shape)


class Arranging(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        heads = arranged(self.linear(x), "b n h*d -> b h n d", h=2)
        return arranged(heads.softmax(-1), "b h n d -> b n h*d")


@case(expects=(r"\.permute\(0, 2, 1, 3\)",), lacks=(r"for ",))
def shapes_that_are_worked_out_in_many_lines():
    return Arranging(), (randn(2, 5, 8),), {}


class ArrangingInTraining(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        x = self.linear(x)
        return arranged(x, "b n h*d -> b h*n d", h=2) if self.training else x


@case(lacks=(r"for ", r"reshape\(2, "))
def shapes_of_train_mode_alone():
    return ArrangingInTraining(), (randn(2, 5, 8),), {}


class Bounded(nn.Module):
    def __init__(self, bounds, fill):
        super().__init__()
        self.bounds, self.fill = bounds, fill
        self.table = {"lowest": [-math.inf], "none": (math.nan, complex(math.nan, math.inf))}

    def forward(self, x):
        x = torch.clamp(x, *self.bounds)
        return torch.where(x > 0, x, self.fill), torch.tensor(self.table["lowest"]), self.table["none"]


class Bounds(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Bounded((-math.inf, math.inf), -math.inf), Bounded((0.0, math.inf), math.inf)])

    def forward(self, x):
        return [part(x) for part in self.parts]


@case(expects=(r'Bounded\(\(float\("-inf"\), float\("inf"\)\), float\("-inf"\)\)', r'complex\("\(nan\+infj\)"\)',
               r'\[float\("-inf"\)\]'), lacks=(r"float\(fill",))
def numbers_without_a_literal():
    return Bounds(), (randn(2, 8),), {}


class Windows(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        for stride in (1, 2):
            height, width = x.shape[1] // stride, x.shape[2] // stride
            x = x[:, :height, :width]
            flat = self.linear(arranged(x, "b h w c -> b h*w c"))
            parts = arranged(flat, "b h*w c -> b*h w c", h=height)
            x = arranged(parts, "b*h w c -> b h w c", h=height)
        return x


# The helper computes with a number that it is given: its line would be a guess, so its caller is written as its calls.
@case(expects=("as the calls that ran, not as their source: Windows.forward",), lacks=(r"for \w+ in pattern",))
def sizes_that_are_quotients_of_others():
    return Windows(), (randn(2, 48, 64, 4),), {}


class Conditioned(nn.Module):
    def __init__(self, with_context):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        if with_context:
            self.norm_context = nn.LayerNorm(4)

    def forward(self, x, context=None):
        if hasattr(self, "norm_context") and context is not None:
            return self.norm(x) + self.norm_context(context)
        return self.norm(x)


class OptionalParts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Conditioned(True), Conditioned(False), Conditioned(True)])

    def forward(self, x, context):
        for layer in self.layers:
            x = layer(x, context)
        return x


@case(expects=(r"if self\.norm_context is not None",), lacks=(r"hasattr",))
def parts_that_only_some_instances_have():
    return OptionalParts(), (randn(2, 4), randn(2, 4)), {}


class NormalisedLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(randn(4, 4))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.weight.data.copy_(F.normalize(self.weight, dim=-1))
        return F.linear(x, F.normalize(self.weight, dim=-1) / 2)


@case(expects=(r"self\.weight\.data\.copy_",))
def weights_that_train_mode_changes():
    return NormalisedLinear(), (randn(2, 4),), {}


class NestedParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.ParameterList([])
        for _ in range(2):
            self.scales.append(nn.ParameterList([nn.Parameter(randn(4)), nn.Parameter(randn(4))]))

    def forward(self, x):
        for scale, shift in self.scales:
            x = x * scale + shift
        return x


@case(expects=(r"for scale, shift in self\.scales",))
def lists_of_parameters_in_lists():
    return NestedParameters(), (randn(2, 4),), {}


class WithoutBackward(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        x = self.linear(x)
        if x.requires_grad:
            raise NotImplementedError("this kernel has no backward")
        return x * 2


class PlainProcessor:
    def __call__(self, attn, x):
        return attn.fc(x)


class GatedProcessor:
    def __call__(self, attn, x):
        return attn.fc(x) * torch.sigmoid(x)


class Processed(nn.Module):
    def __init__(self, processor):
        super().__init__()
        self.fc, self.processor = nn.Linear(4, 4), processor

    def forward(self, x):
        return self.processor(self, x)


class TwoProcessors(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Processed(PlainProcessor()), Processed(GatedProcessor())

    def forward(self, x):
        return self.second(self.first(x))


@case(lacks=(r"self\.processor",))
def objects_of_two_classes_that_are_called():
    return TwoProcessors(), (randn(2, 4),), {}


class Graph(nn.Module):
    """Layers of torch's and of the author's, each told from outside where its input comes from."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), Plus(), nn.ReLU(), Plus(), nn.Linear(4, 4)])
        for layer, source in zip(self.layers, (-1, 0, 0, 2, -1)):
            layer.source = source

    def forward(self, x):
        done = []
        for layer in self.layers:
            if layer.source != -1:
                x = done[layer.source]
            x = layer(x)
            done.append(x)
        return x


class Plus(nn.Module):
    def forward(self, x):
        return x + 1


@case(expects=(r"self\.layers\[2\]\.source = 0", r"x = done\[layer\.source\]"))
def attributes_that_modules_of_torchs_get_from_outside():
    return Graph(), (randn(2, 4),), {}


class Head(nn.Module):
    shape = None

    def __init__(self):
        super().__init__()
        self.boxes, self.scores = nn.Linear(4, 4), nn.Linear(4, 2)

    @property
    def parts(self):
        return {"boxes": self.boxes, "scores": self.scores}

    def both(self, x, boxes, scores):
        return boxes(x), scores(x)

    def forward(self, x):
        boxes, scores = self.both(x, **self.parts)
        if self.shape != x.shape:
            self.shape, self.anchors = x.shape, torch.ones(x.shape[0], 1) / 2
        return boxes * self.anchors, scores


@case(expects=(r"self\.shape = None", r"self\.shape != x\.shape"))
def properties_that_are_passed_on_and_attributes_of_the_class():
    return Head(), (randn(2, 4),), {}


def unit(x, groups=1):
    return nn.functional.normalize(x.reshape(*x.shape[:-1], groups, -1), dim=-1).flatten(-2)


class Units(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(4, 4)
        self.groups = 2

    def forward(self, x):
        of_groups = functools.partial(unit, groups=self.groups)
        query, key = map(of_groups, (x, self.key(x)))
        return query * key


@case(expects=(r"def unit\(x, groups", r"functools\.partial\(unit, groups=2\)"))
def partials_that_a_library_calls():
    return Units(), (randn(2, 3, 4),), {}


class ShiftedProcessor:
    def __call__(self, attn, x, shift=None):
        return attn.fc(x) if shift is None else attn.fc(x) + shift


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.processor = nn.Linear(4, 4), ShiftedProcessor()

    def forward(self, x, **kwargs):
        kwargs = {name: value for name, value in kwargs.items() if name in ("shift",)}
        return self.processor(self, x, **kwargs)


class ShiftedOnce(nn.Module):
    """One part is given a keyword that the others are not; each has an object of its own that it calls."""

    def __init__(self):
        super().__init__()
        self.first = Shifted()
        self.layers = nn.ModuleList([Shifted() for _ in range(2)])

    def forward(self, x):
        x = self.first(x, shift=x.mean())
        for layer in self.layers:
            x = layer(x)
        return x


@case(expects=(r"for layer in self\.layers:\n            x = layer\.forward_2\(x\)",))
def objects_of_one_class_beside_a_function_with_two_texts():
    return ShiftedOnce(), (randn(2, 4),), {}


class BackThrough(nn.Module):
    """Methods of two classes, called by one name from a loop over numbers."""

    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([Turned(), Mirrored(), Turned()])

    def forward(self, x):
        total = torch.zeros(len(x))
        for i in range(len(self.steps) - 1, -1, -1):
            x, norm = self.steps[i].inverse(x)
            total += norm
        return x, total


class Turned(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def inverse(self, x):
        return self.fc(x), x.sum(1)


class Mirrored(nn.Module):
    def inverse(self, x):
        return x.flip(1), torch.ones(len(x))


@case(expects=(r"for i in range\(2, -1, -1\)", r"self\.steps\[i\]\.inverse\(x\)"))
def methods_of_items_by_number():
    return BackThrough(), (randn(2, 4),), {}


class Settings(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.nearest, self.sparse = nn.Linear(4, 4), 0, False

    def forward(self, x):
        b, n, d, device, nearest, sparse = *x.shape, x.device, self.nearest, self.sparse
        if nearest > 0 or sparse:
            x = x[:, :nearest]
        *_, height, width, near = *x.shape[-2:], self.nearest
        return self.fc(x) * (d + near) + torch.arange(n, device=device)[:, None] * width


@case(expects=(r"_, n, d, device = \*x\.shape, x\.device",), lacks=(r"nearest", r"False"))
def settings_that_are_unpacked_with_a_shape():
    return Settings(), (randn(2, 3, 4),), {}


class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.eps = nn.Linear(4, 4), 1e-6

    def forward(self, x):
        def spread(x, dim=2, eps=self.eps):
            return (x - x.mean(dim, keepdim=True)).pow(2).sum(dim).clamp(eps)

        return spread(x) + spread(self.fc(x), 2)


@case(expects=(r"def spread\(",))
def defaults_of_both_kinds():
    return Statistics(), (randn(2, 3, 4),), {}


class WithSparse(nn.Module):
    """Torch compares no sparse tensors."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("heads", torch.eye(2).to_sparse(), persistent=False)

    def forward(self, x):
        return self.fc(x)


@case(lacks=("heads",))
def sparse_buffers_that_nobody_reads():
    return WithSparse(), (randn(2, 4),), {}
