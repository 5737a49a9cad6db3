"""Small programs that torch.compile breaks into pieces, each in its own way.

A program is a function without arguments that returns (function, calls): the function to compile, and a list of
argument tuples to call it with. What the function leaves behind besides its results it appends to the list `log`.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import io
import itertools
import warnings

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F

PROGRAMS = {}
log: list = []
counter = 0


def comparable(value):
    """Something that can be compared with ==, tensors by dtype, grad and bits."""
    if isinstance(value, torch.Tensor):
        return ("tensor", str(value.dtype), value.requires_grad, tuple(value.shape), value.detach().double().tolist())
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(comparable, value)]
    return value


def run(function, calls):
    """Results and what was left behind: the log, the arguments, the grad mode, what was printed."""
    log.clear()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [comparable(function(*arguments)) for arguments in calls]
    left = [comparable(log), comparable(calls), torch.is_grad_enabled(), printed.getvalue()]
    torch.set_grad_enabled(True)
    return results, left


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def t(*shape):
    return torch.arange(1, 1 + int(numpy.prod(shape)), dtype=torch.float32).reshape(shape) / 3


def brk():
    torch._dynamo.graph_break()


def simple(*calls):
    """The function itself is the program: def f(...) -> ..., called with each of calls."""

    def decorate(f):
        PROGRAMS[f.__name__] = lambda: (f, [make() for make in calls])
        return f

    return decorate


x2 = lambda: (t(2, 3),)
xy = lambda: (t(2, 3), t(2, 3) + 1)
neg = lambda: (-t(2, 3),)


@simple(x2)
def plain(x):
    return torch.sin(x) + torch.cos(x)


@simple(x2, neg)
def print_break(x):
    y = x * 2
    print("value", end="")
    log.append("printed")
    return y + 1


@simple(x2, neg)
def data_if(x):
    y = x + 1
    if y.sum() > 0:
        return y * 2
    return y - 2


@simple(x2, neg)
def data_if_else_joined(x):
    y = x + 1
    if y.sum() > 0:
        z = y * 2
    else:
        z = y - 2
    return z + y


@simple(x2, neg)
def data_if_chain(x):
    if x.sum() > 100:
        return x
    elif x.mean() > 0 and x.max() < 10:
        return x * 2
    elif x.min() < 0 or x.sum() == 0:
        return x * 3
    return x * 4


@simple(x2)
def item_break(x):
    n = int(x.sum().item())
    return x * n, n


@simple(x2, neg)
def item_in_condition(x):
    if x.sum().item() > 0:
        x = x + 1
    return x


@simple(xy)
def two_breaks(x, y):
    a = x + y
    brk()
    b = a * y
    brk()
    return a - b, b


@simple(x2)
def break_in_expression(x):
    def inner(z):
        brk()
        return z + 1

    return x * 2 + inner(x) * inner(x * 3)


@simple(x2)
def break_in_call_arguments(x):
    def inner(z, k=0):
        brk()
        return z + k

    return torch.add(inner(x), inner(x, k=2), alpha=inner(3))


@simple(x2)
def break_in_list(x):
    def inner(z):
        brk()
        return z + 1

    return [x, inner(x), *[inner(x * 2), 3], {"k": inner(x)}]


@simple(x2)
def no_grad_block(x):
    with torch.no_grad():
        y = x * 2
        brk()
        z = y + 1
    return z + x, torch.is_grad_enabled()


@simple(lambda: (t(2, 3).requires_grad_(),))
def no_grad_tensor(x):
    with torch.no_grad():
        y = x * 2
        brk()
        y = y + 1
    z = x * y
    return z, z.requires_grad, y.requires_grad


@simple(x2, neg)
def no_grad_if(x):
    with torch.no_grad():
        y = x + 1
        if y.sum() > 0:
            y = y * 2
        log.append(torch.is_grad_enabled())
    return y, torch.is_grad_enabled()


@simple(x2)
def nested_contexts(x):
    with torch.no_grad():
        with torch.enable_grad():
            y = x + 1
            brk()
            log.append(torch.is_grad_enabled())
        brk()
        log.append(torch.is_grad_enabled())
    return y


@simple(x2)
def set_grad_enabled(x):
    torch.set_grad_enabled(False)
    y = x + 1
    brk()
    log.append(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    return y


@simple(x2)
def autocast_block(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.T
        brk()
        z = y @ y
    return z.dtype == torch.bfloat16, z.float()


@contextlib.contextmanager
def logged(name):
    log.append("enter " + name)
    try:
        yield name
    finally:
        log.append("exit " + name)


@simple(x2)
def own_context_manager(x):
    with logged("a") as name:
        y = x + 1
        brk()
        y = y * 2
    log.append(name)
    return y


@simple(x2)
def return_inside_with(x):
    with logged("a"):
        y = x + 1
        brk()
        return y * 2


@simple(x2)
def try_except(x):
    try:
        y = x + 1
        brk()
        raise ValueError("no")
    except ValueError as error:
        log.append(str(error))
        y = x * 3
    return y


@simple(x2)
def try_finally(x):
    try:
        y = x + 1
        brk()
        y = y * 2
    finally:
        log.append("finally")
    return y


@simple(x2)
def try_else(x):
    try:
        y = x.view(3, 2)
    except RuntimeError:
        y = x
    else:
        brk()
        y = y + 1
    return y


@simple(x2)
def exception_passes_through(x):
    def inner(z):
        brk()
        raise KeyError("k")

    try:
        inner(x + 1)
    except KeyError as error:
        log.append(repr(error))
    return x * 2


@program
def raises():
    def f(x):
        y = x + 1
        brk()
        if y.shape[0] == 2:
            raise RuntimeError("two")
        return y

    def guarded(x):
        try:
            return f(x)
        except RuntimeError as error:
            return str(error)

    return guarded, [(t(2, 2),), (t(3, 2),)]


@program
def closure_nonlocal():
    def f(x):
        n = 1

        def inc(z):
            nonlocal n
            n += 1
            return z * n

        y = inc(x)
        brk()
        return inc(y) + n

    return f, [x2()]


@program
def closure_free_variables():
    scale, offset = 2.0, torch.ones(3)

    def f(x):
        y = x * scale
        brk()
        return y + offset

    return f, [x2(), neg()]


@program
def closure_written():
    total = 0

    def f(x):
        nonlocal total
        y = x + 1
        total += 1
        brk()
        total += 2
        log.append(total)
        return y * total

    return f, [x2(), x2()]


@program
def returns_closure():
    def f(x):
        k = x + 1
        brk()

        def g(z):
            return z * k

        return g(x), k

    return f, [x2()]


@simple(x2)
def lambdas(x):
    double = lambda z: z * 2
    y = double(x)
    brk()
    return sorted([3, 1, 2], key=lambda v: -v), double(y)


@simple(x2)
def loop_with_break(x):
    for i in range(10):
        x = x + i
        if i == 3:
            break
    brk()
    return x


@simple(x2)
def loop_with_data_break(x):
    for i in range(10):
        x = x + i
        if x.sum() > 20:
            break
    return x, i


@simple(x2)
def while_loop(x):
    n = 0
    while x.sum() < 100:
        x = x * 2
        n += 1
    return x, n


@simple(x2)
def break_inside_loop(x):
    out = []
    for i in range(3):
        x = x + i
        brk()
        out.append(x)
    return out


@simple(x2)
def comprehension(x):
    rows = [r * 2 for r in x if r.shape[0] == 3]
    brk()
    return {i: r + 1 for i, r in enumerate(rows)}


@simple(x2)
def generator(x):
    def rows(z):
        for i in range(z.shape[0]):
            yield z[i] * i

    total = sum(rows(x))
    brk()
    return list(rows(x)), total


@program
def keyword_arguments():
    def f(x, *args, scale=2, **others):
        y = x * scale
        brk()
        for a in args:
            y = y + a
        return y, others.get("extra", 0), sorted(others)

    return lambda x: f(x, 1, 2, scale=3, extra=x, z=1), [x2()]


@program
def defaults():
    def f(x, y=None, *, k=(1, 2)):
        y = x if y is None else y
        brk()
        return x + y * k[1]

    return f, [x2(), xy()]


@program
def recursion():
    def f(x, n):
        if n == 0:
            return x
        brk()
        return f(x + n, n - 1)

    return lambda x: f(x, 3), [x2()]


@program
def dynamic_shapes():
    def f(x):
        y = x * x.shape[0]
        brk()
        return y.view(-1)[: x.shape[0]]

    return f, [(t(2, 3),), (t(4, 3),), (t(7, 3),)]


@program
def train_step():
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def f(x):
        optimizer.zero_grad()
        loss = model(x).pow(2).sum()
        loss.backward()
        optimizer.step()
        return loss.detach(), model.weight.detach().clone()

    return f, [x2(), x2()]


@simple(lambda: (t(2, 3).requires_grad_(),))
def gradient(x):
    y = (x * x).sum()
    brk()
    z = y * 2
    z.backward()
    return z.detach(), x.grad


@simple(lambda: ([1],  t(2)))
def list_mutation(items, x):
    items.append(2)
    brk()
    items.extend([3, x.shape[0]])
    items[0] = 9
    return items, x + len(items)


@simple(lambda: ({"a": 1}, t(2)))
def dict_mutation(table, x):
    table["b"] = x + 1
    brk()
    table.update(c=3)
    del table["a"]
    return table


class Holder:
    def __init__(self):
        self.n = 1
        self.cache = {}

    @property
    def twice(self):
        return self.n * 2

    @staticmethod
    def add(a, b):
        return a + b

    @classmethod
    def name(cls):
        return cls.__name__


@program
def attribute_mutation():
    holder = Holder()

    def f(x):
        holder.n += 1
        holder.y = x + holder.n
        brk()
        holder.cache["x"] = holder.y * holder.twice
        return holder.add(holder.cache["x"], 1), holder.name(), holder.n

    return f, [x2(), x2()]


@program
def global_mutation():
    def f(x):
        global counter
        counter += 1
        y = x * counter
        brk()
        counter = counter * 2
        return y, counter

    def start(x):
        global counter
        counter = 0
        return f(x)

    return start, [x2()]


@simple(x2)
def object_made(x):
    holder = Holder()
    holder.n = x.shape[1]
    brk()
    return x * holder.twice


Point = collections.namedtuple("Point", "a b")


@dataclasses.dataclass
class Output:
    value: torch.Tensor
    n: int = 1


@simple(x2)
def named_tuple(x):
    p = Point(x + 1, b=x * 2)
    brk()
    return p._replace(a=p.b), p.a


@simple(x2)
def data_class(x):
    out = Output(x + 1)
    brk()
    out.n += 1
    return dataclasses.replace(out, value=out.value * out.n).value, out.n


@simple(x2)
def f_string(x):
    y = x + 1
    brk()
    log.append(f"{y.shape[0]:>4}|{'a'!r}|{y.dtype}")
    return y


@simple(x2)
def walrus(x):
    if (n := x.shape[0]) > 1:
        brk()
        x = x + n
    return x


@simple(x2)
def unpacking(x):
    a, *b = x.unbind(1)
    brk()
    (c, d), e = b, a
    return c + d, e, [*b, a]


@simple(xy)
def swapped(x, y):
    x, y = y + 1, x * 2
    brk()
    x, y = y, x
    return x, y


@simple(x2)
def conditional_expression(x):
    y = x + 1 if x.shape[0] > 1 else x
    brk()
    return (y if y.sum() > 0 else -y) * 2


@simple(x2, neg)
def boolean_operators(x):
    ok = x.sum() > 0 and x.shape[0] == 2
    brk()
    return ok or x.sum() < -100, not ok


@simple(x2)
def chained_comparison(x):
    n = x.sum().item()
    return x + (1 < n < 100), 0 <= n


@simple(x2)
def numpy_break(x):
    y = numpy.square(x.numpy()) + 1
    brk()
    return torch.from_numpy(y) * 2


@simple(x2)
def partials(x):
    f = functools.partial(torch.add, alpha=2)
    y = f(x, x)
    brk()
    return functools.reduce(lambda a, b: a + b, [y, x, y])


@simple(x2)
def iterators(x):
    pairs = list(zip(x, itertools.count()))
    brk()
    return [a * n for a, n in pairs], list(itertools.chain([1], (2, 3)))


@simple(x2)
def deletes(x):
    y = x + 1
    z = y * 2
    del y
    brk()
    return z


@simple(x2)
def asserts(x):
    assert x.shape[0] == 2, "two rows"
    y = x + 1
    brk()
    assert y.sum() > 0
    return y


@simple(x2)
def slices(x):
    y = x.clone()
    y[:, 1:] = 0
    brk()
    y[0, ...] += 2
    return y[::2], y[None, -1]


@simple(x2)
def in_place(x):
    y = x.clone()
    y += 1
    brk()
    y *= 2
    y.add_(1)
    return y


@simple(x2)
def prints_tensor(x):
    y = x * 2
    print(y.shape, end="")
    log.append(repr(y))
    return y


@simple(x2)
def sets(x):
    seen = {1, 2} | {x.shape[0]}
    brk()
    return x * len(seen), frozenset(seen) == {1, 2}


@program
def module():
    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            y = F.relu(self.linear(x))
            brk()
            return y + x

    model = nn.Sequential(Block(), Block(), nn.LayerNorm(3))
    return model, [x2(), neg()]


@program
def module_hooks():
    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    model.register_forward_hook(lambda m, args, out: out * 2)

    def f(x):
        y = model(x)
        brk()
        return model(y)

    return f, [x2()]


@program
def dropout():
    model = nn.Dropout(0.5)

    def f(x):
        torch.manual_seed(3)
        y = model(x)
        brk()
        return model(y) + torch.rand(3)

    return f, [x2()]


@program
def attention():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).train()

    def f(x):
        y = layer(x)
        brk()
        return layer(y)

    return f, [(t(2, 4, 8),)]


@simple(x2)
def method_calls(x):
    text = "a,b".split(",")
    brk()
    return x.add(1).mul(2).sum(dim=0, keepdim=True), text[-1].upper().join(["x", "y"])


@simple(x2)
def type_checks(x):
    brk()
    return isinstance(x, torch.Tensor), type(x) is torch.Tensor, getattr(x, "nothing", 5), hasattr(x, "shape")


@simple(x2)
def stays_on_stack(x):
    return (x + 1) * torch.tensor([float(x.sum().item())]) + (x - 1)


@simple(x2)
def default_dict(x):
    table = collections.defaultdict(list)
    table["a"].append(x + 1)
    brk()
    table["b"].append(table["a"][0] * 2)
    return dict(table)


@simple(x2)
def string_building(x):
    parts = ["%d" % n for n in x.shape]
    brk()
    return "x".join(parts), x + len(parts)


@simple(x2)
def decorated(x):
    def twice(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            return f(f(*args, **kwargs))

        return wrapper

    @twice
    def step(z):
        brk()
        return z * 2 + 1

    return step(x)


@program
def key_value_cache():
    class Cache:
        def __init__(self):
            self.keys = []
            self.length = 0

        def update(self, key):
            self.keys.append(key)
            self.length += key.shape[0]
            return torch.cat(self.keys)

    cache = Cache()

    def f(x):
        keys = cache.update(x * 2)
        brk()
        return keys @ keys.T, cache.length

    return f, [x2(), x2(), x2()]


@functools.lru_cache(None)
def table(n):
    log.append(f"table {n}")
    return n * 2


@simple(x2)
def memoised(x):
    table.cache_clear()
    y = x * table(3)
    brk()
    return y + table(3)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


@simple(lambda: (t(2, 3).requires_grad_(),))
def autograd_function(x):
    y = Square.apply(x).sum()
    brk()
    y.backward()
    return x.grad


@simple(lambda: (t(2, 3).requires_grad_(),))
def tensor_hook(x):
    y = x * 2
    y.register_hook(lambda gradient: gradient * 3)
    brk()
    y.sum().backward()
    return x.grad


@simple(x2)
def inference_mode(x):
    with torch.inference_mode():
        y = x * 2
        brk()
        z = y + 1
    return z.is_inference(), torch.is_inference_mode_enabled()


@torch._dynamo.disable
def left_alone(x):
    log.append("left alone")
    return x + 1


@simple(x2)
def disabled_function(x):
    return left_alone(x * 2) * 3


@simple(x2, neg)
def higher_order_cond(x):
    return torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,))


@simple(x2)
def vectorised_map(x):
    y = torch.vmap(lambda row: row.sum() * row)(x)
    brk()
    return y + 1


@simple(lambda: (t(2, 3).requires_grad_(),))
def checkpointed(x):
    from torch.utils.checkpoint import checkpoint
    y = checkpoint(lambda v: torch.sin(v) * v, x, use_reentrant=False)
    brk()
    return y.sum()


@simple(x2)
def generator_with_send(x):
    def running():
        total = 0
        while True:
            got = yield total
            if got is None:
                return
            total = total + got

    brk()
    steps = running()
    next(steps)
    steps.send(x)
    return steps.send(x * 2)


@simple(x2)
def exception_chain(x):
    try:
        try:
            brk()
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error
    except ValueError as error:
        log.append((str(error), repr(error.__cause__)))
        return x * 2


@simple(x2)
def exit_stack(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.callback(log.append, "left")
        y = x + 1
        brk()
        log.append(torch.is_grad_enabled())
    return y


@simple(x2)
def suppressed(x):
    with contextlib.suppress(ZeroDivisionError):
        brk()
        x = x + 1 / 0
    return x


@program
def compiled_method():
    class Model:
        scale = 2

        def __call__(self, x):
            return self.step(x) + 1

        def step(self, x):
            brk()
            return x * self.scale

    return Model().__call__, [x2(), neg()]


@program
def function_without_source():
    space = {"torch": torch, "brk": brk}
    exec("def f(x):\n    y = x + 1\n    brk()\n    return y * 2\n", space)
    return space["f"], [x2()]


@program
def optimizer_with_state():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step(x):
        optimizer.zero_grad(set_to_none=True)
        with torch.enable_grad():
            loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach(), model[0].weight.detach().clone()

    return step, [x2(), x2(), x2()]


@simple(x2)
def deques(x):
    queue = collections.deque([x], maxlen=2)
    queue.append(x + 1)
    brk()
    queue.append(x * 2)
    return list(queue), queue.maxlen


@program
def many_shapes():
    def f(x, n):
        y = x.reshape(-1)[:n]
        if n > 2:
            y = y * n
        print(n, end=" ")
        return y.sum()

    return f, [(t(2, 3), 1), (t(3, 3), 2), (t(4, 5), 3), (t(4, 5), 4)]
