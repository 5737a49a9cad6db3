"""Every construct of Python × every source of a number that another call may change: equal, or it raises.

A skeleton of a single call, which nobody compared, is run with another value. What no rule of the walk calls constant
stays in the text, is asserted or is refused, so nothing that the first call happened to see may be in the output.
tests/data/constructs.txt has the constructs; a test sees to it that they cover Python's grammar.
"""

from __future__ import annotations

import ast
import copy
import importlib.util
import pathlib
import random
import re
import sys
import textwrap
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

import pellucid  # noqa: E402

TEXT = (pathlib.Path(__file__).resolve().parent.parent / "data" / "constructs.txt").read_text()
PARTS = [part.strip() for part in re.sub(r"\A(#.*\n)+", "", TEXT).split("\n---\n")]
STATES = [part.removeprefix("# state\n") for part in PARTS if part.startswith("# state\n")]
CONSTRUCTS = [part for part in PARTS if not part.startswith("# state\n")]

HEAD = """
import collections, contextlib, contextvars, copy, dataclasses, fractions, functools, itertools, math, operator
import random, types
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

COUNTER = itertools.count()
SOURCE = random.Random(3)
SETTINGS = types.SimpleNamespace(n=1)
TABLE = {"n": 0}
VARIABLE = contextvars.ContextVar("variable", default=1)
LATEST = 0

def tick():
    pass
tick.n = 0

def clock():
    n = 0
    def tock():
        nonlocal n
        n += 1
        return n
    return tock
tock = clock()

def keep(seen=[]):
    seen.append(1)
    return len(seen)

@contextlib.contextmanager
def lent(value):
    yield value

class Named(types.SimpleNamespace):
    pass

class Pair(NamedTuple):
    a: int
    b: int

@dataclasses.dataclass
class Box:
    n: int = 1

class Count:
    total = 0

    def __init__(self, n=0):
        self.n = n

    def __bool__(self):
        return self.n > 0

    def __len__(self):
        return self.n

    def __add__(self, other):
        return self.n + other

    def __call__(self):
        return self.n

    def __getitem__(self, k):
        return self.n + k

    def __contains__(self, k):
        return k == self.n

    def __iter__(self):
        return iter([self.n, 1])

    @property
    def half(self):
        return self.n / 2

    def more(self):
        self.n += 1

class Net(nn.Module):
    calls = 0

    def __init__(self):
        super().__init__()
        self.counter = itertools.count()
        self.source = random.Random(0)
        self.held = Count()
        self.items = []
        self.table = {"k": 1}
        self.queue = collections.deque([1, 2, 3])
        self.number = 3

    def forward(self, x, given):
        y = x.sum(0)
"""

X = torch.arange(18, dtype=torch.float32).reshape(3, 6) + 3
# where a number comes from: the expression, and calls of which the first is recorded
SOURCES: dict[str, tuple[str, list[tuple[Any, Any]]]] = {
    "size": ("x.shape[0]", [(X, 0), (torch.ones(4, 6), 0), (torch.ones(5, 6), 0), (torch.ones(1, 6), 0)]),
    "item": ("int(x[0, 0])", [(X, 0), (X + 1, 0), (X + 2, 0), (X - 2, 0)]),
    "given": ("given", [(X, n) for n in (3, 4, 5, 1, 2.5, True, None, "a")]),
    "flag": ("given", [(X, n) for n in (True, 3, 2, 0, None, "a", False)]),
    "dict": ("given['n']", [(X, {"n": n}) for n in (3, 4, 5, 1, 2.5, True)]),
    "list": ("given[0]", [(X, [n, 9]) for n in (3, 4, 5, 1, 2.5, True)]),
    "tuple": ("given[0]", [(X, (n, 9)) for n in (3, 4, 5, 1, 2.5, True)]),
    "object": ("given.n", []),  # of a class that the test's file has
    "dtype": ("x.element_size()", [(X, 0), (X.double(), 0), (X.half(), 0)]),
    "dtype_name": ("len(str(getattr(x, 'dtype')))", [(X, 0), (X.to(torch.complex64), 0), (X.half(), 0)]),
    "device": ("len(x.device.type)", [(X, 0), (X.to("meta"), 0)]),
    "grad": ("2 + x.requires_grad", [(X, 0), (X.clone().requires_grad_(), 0)]),
    "stride": ("x.stride()[1]", [(X, 0), (X.t().contiguous().t(), 0)]),
    "training": ("(2 + self.training)", [(X, 0)] * 2),
    "training_by_name": ("(2 + getattr(self, 'training'))", [(X, 0)] * 2),
    "random": ("int(torch.randint(2, 9, ()))", [(X, 0)] * 4),
    "attribute": ("self.number", [(X, 0)] * 4),  # which each call changes in the end
    "pieces": ("len(x.split(2))", [(X, 0), (torch.ones(5, 6), 0), (torch.ones(1, 6), 0)]),
    "rows": ("len(list(x))", [(X, 0), (torch.ones(5, 6), 0), (torch.ones(1, 6), 0)]),
}


def outcome(model: Any, inputs: tuple[Any, Any], seed: int) -> Any:
    torch.manual_seed(seed)
    random.seed(seed)
    try:
        return model(*inputs)
    except Exception as error:
        return error


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
        return False
    return a.dtype == b.dtype and a.shape == b.shape and a.device == b.device and (a.is_meta or torch.equal(a, b))


def check(tmp_path: pathlib.Path, body: str, source: str | None) -> str:
    """What became of it: refused, equal, or it raises for another value. Fails if a skeleton gives something else."""
    path = tmp_path / f"dependence_{abs(hash((body, source))):x}.py"
    expression, calls = SOURCES[source] if source else ("", [(X, 0)] * 4)
    body = body.replace("VALUE", expression)
    if source == "attribute":  # the number grows from call to call
        body = "self.number += 1\n" + body
    path.write_text(HEAD + textwrap.indent(body, " " * 8) + "\n")

    def load() -> Any:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module

    try:
        module = load()
        if source == "object":
            calls = [(X, module.Count(n)) for n in (3, 4, 5, 1)]
        first = calls[0]
        if isinstance(outcome(load().Net().eval(), first, 0), Exception):
            return "the model raises"
        try:
            made = pellucid.skeleton(load().Net().eval(), copy.deepcopy(first), more=[], verify=False)
            skeleton = made.module()
        except Exception:
            return "refused"
        model = load().Net().eval()
        for k, inputs in enumerate(calls):
            if source and source.startswith("training"):
                model.train(k == 1)
                skeleton.train(k == 1)
            wanted, given = (outcome(m, copy.deepcopy(inputs), k) for m in (model, skeleton))
            if isinstance(given, Exception):
                if k == 0:
                    return "raises where it was recorded"
                if not source or source == "attribute":
                    return "raises"  # model and skeleton need not be in one state any more
                continue
            assert not isinstance(wanted, Exception), f"call {k}: the model raises {wanted!r}\n{body}\n{made.source}"
            assert same(wanted, given), f"call {k} differs\n{body}\n{made.source}"
        return "equal"
    finally:
        sys.modules.pop(path.stem, None)


def sources_of(number: int) -> list[str]:
    """Four sources for each construct, other ones for its neighbours."""
    names = list(SOURCES)
    return [names[(number * 5 + step * 4) % len(names)] for step in range(4)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(CONSTRUCTS)), ids=[re.sub(r"\W+", "_", c)[:40] for c in CONSTRUCTS])
def test_constructs(tmp_path, number: int) -> None:
    for source in sources_of(number):
        check(tmp_path, CONSTRUCTS[number], source)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", SOURCES)
def test_every_construct_with_every_source(tmp_path, source: str) -> None:
    """Also that most of it is followed: refusing everything would pass the rest."""
    became = [check(tmp_path, construct, source) for construct in CONSTRUCTS]
    assert became.count("equal") >= len(CONSTRUCTS) // 2, {word: became.count(word) for word in set(became)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(STATES)), ids=[re.sub(r"\W+", "_", c)[:40] for c in STATES])
def test_what_calls_leave(tmp_path, number: int) -> None:
    check(tmp_path, STATES[number], None)


@pytest.mark.filterwarnings("ignore")
def test_constructs_are_followed(tmp_path) -> None:
    """A sum over sizes: the text has them, it is not refused."""
    became = [check(tmp_path, construct, "size") for construct in CONSTRUCTS]
    assert became.count("equal") >= len(CONSTRUCTS) * 3 // 4, {word: became.count(word) for word in set(became)}


def test_constructs_cover_the_grammar() -> None:
    """A kind of statement, expression or pattern that is in no construct has no test that it is followed or refused."""
    text = HEAD + "".join(textwrap.indent(f"if True:\n{textwrap.indent(part, '    ')}\n", " " * 8)
                          for part in CONSTRUCTS + STATES)
    text = re.sub(r"^( *)global LATEST$", r"\1pass", text, flags=re.MULTILINE)
    used = {type(node) for node in ast.walk(ast.parse(text))} | {ast.Global}
    elsewhere = {ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await}  # a forward can't be one
    for kind in (ast.stmt, ast.expr, ast.pattern, ast.boolop):
        missing = {one for one in kind.__subclasses__() if one not in used and not one.__name__.startswith("_")}
        names = {one.__name__ for one in missing - elsewhere} - {"TypeAlias", "TryStar", "TemplateStr", "Interpolation",
                                                                "Num", "Str", "Bytes", "NameConstant", "Ellipsis"}
        assert not names, names
