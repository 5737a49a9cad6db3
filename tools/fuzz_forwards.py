#!/usr/bin/env python3
"""Skeletons of forwards that nobody wrote: do they give what the model gives, or raise?

    tools/fuzz_forwards.py 0:2000            the programs of these seeds, a skeleton of one call each
    tools/fuzz_forwards.py 17 --show         one of them: its text, its skeleton, what came of it
    tools/fuzz_forwards.py 0:100 --verified  skeletons as users get them: several runs, compared before they are given
    tools/fuzz_forwards.py 0:100 --given     skeletons of one call (more=[]) that were compared before they are given
    tools/fuzz_forwards.py --file find.py    a program of one's own, or one that was cut down

A program that needs more than 4 GiB, or too long, is killed and counted apart: it has no result.

A program is made from the grammar below by its seed alone. It has one root (`Net`), whose output depends on data
(`grid`), sizes (of `x`) and arguments (numbers, flags, texts, None, dicts, records, devices, dtypes). A skeleton of a
single call is then run beside the model with other data, sizes and arguments, in train mode, without gradients, in
another dtype, under autocast, on the meta device, and several times in a row. Results, gradients, buffers and the
states of the generators are compared. Whatever depends on these and was folded into the text shows as a difference; an
error is an answer, too ("path not recorded"). A find is cut down to the statements and expressions that it needs.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import copy
import dataclasses
import functools
import hashlib
import importlib.util
import inspect
import itertools
import json
import os
import pathlib
import random
import re
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

import pellucid
from pellucid._verify import SEED

# ---- what programs are made of ----

PRELUDE = '''
import bisect
import collections
import contextlib
import copy
import dataclasses
import functools
import heapq
import itertools
import math
import operator
import random
import re
from typing import NamedTuple

import einops
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

TABLE = {'low': 2, 'a': 5, 'b': 7}
LOW = TABLE['low']


class Pair(NamedTuple):
    a: int
    b: int = 3


@dataclasses.dataclass
class Box:
    n: int
    r: float = 1.5
    items: list = dataclasses.field(default_factory=lambda: [1, 4])

    @property
    def total(self):
        return self.n + sum(self.items)

    def scaled(self, k):
        return self.n * k


@dataclasses.dataclass
class Given:
    heads: int
    rate: float = 0.5
    name: str = 'a'
    parts: list = dataclasses.field(default_factory=lambda: [1, 2])
    limit: int = None

    @property
    def doubled(self):
        return self.heads * 2


@dataclasses.dataclass(order=True)
class Scored:
    n: float
    k: int = dataclasses.field(compare=False, default=2)


@dataclasses.dataclass
class Filled:
    n: int
    m: int = 0

    def __post_init__(self):
        self.m = self.m or self.n * 2

    def __call__(self, k):
        return self.m + k

    def __len__(self):
        return abs(self.n) % 5

    def __add__(self, other):
        return Filled(self.n + other.n)


class Held(NamedTuple):
    x: object
    y: object = None


def of_keywords(**kw):
    return sum(v * (i + 1) + len(k) for i, (k, v) in enumerate(kw.items()))


class Missing(Exception):
    def __init__(self, n):
        super().__init__(n)
        self.n = n


class Node:
    extra = 4

    def __init__(self, n):
        self.n = n
        self.items = [n]

    @property
    def total(self):
        return self.n * 2

    def scaled(self, k=2):
        return self.total + k


def adder(n):
    def add(k):
        return n + k
    return add


def counting(n, start=0):
    for i in range(n):
        yield start + i


def depth_of(n):
    return 0 if n <= 0 else 1 + depth_of(n - 1)


def both(a, b):
    return b, a


def pieces(x, n):
    for i in range(n % 4):
        yield i + n, x[:, i:]


def helper_d(a, b=LOW):
    return a * b


def with_more(given, more):
    given.more = more
    return given


@functools.lru_cache(None)
def kept_of(n):
    return n * 2 + 1


@functools.lru_cache(None)
def kept_tensor(n):
    return torch.arange(float(n))


def maybe(n):
    if n > 2:
        return n
'''
# Functions with bodies of their own: what stands before the body, what they know, what they return.
FUNCTIONS = (
    ("def helper_n(a, b=2):", {"N": ["a", "b"]}, "N"),
    ("def helper_v(*args, k=1, **kwargs):\n    args = args or (k,)",
     {"N": ["k", "args[0]", "len(args)", "len(kwargs)", "kwargs.get('a', k)", "sum(args)"], "L": ["list(args)"]}, "N"),
    ("def helper_r(r, n=1):", {"N": ["n"], "R": ["r"]}, "R"),
    ("def helper_x(x, n=1, *, k=2, on=False):", {"N": ["n", "k"], "B": ["on"], "X": ["x"]}, "X"),
)
OWN = {"N": ["self.width", "self.count", "self.step", "self.kept or 1"], "R": ["self.gain"],
       "B": ["self.is_last", "self.training"],
       "S": ["self.kind"], "O": ["self.kept", "self.limit"], "L": ["self.sizes"], "A": ["self.norm", "self.drop"],
       "V": ["self.where"]}
PART = '''
class Base(nn.Module):
    step = 3

    def __init__(self, width=2, kind='a', limit=None, gain=0.5, is_last=False):
        super().__init__()
        self.width, self.kind, self.limit, self.gain, self.is_last = width, kind, limit, gain, is_last
        self.norm = nn.LayerNorm(6)
        self.sizes = [width, 3]
        self.count, self.kept = 0, None
        self.seen, self.notes, self.cache = [], {}, {}
        self.drop, self.bn = nn.Dropout(0.3), nn.BatchNorm1d(1)
        self.memo, self.frozen = None, is_last
        self.made = [lambda a, b=i: a * 3 + b for i in (width, 4, 7)]
        self.groups = collections.defaultdict(list)
        self.register_buffer('mean', torch.zeros(1))
        self.register_buffer('steps', torch.zeros((), dtype=torch.long))
        self.register_buffer('where_from', torch.zeros(3))
        self.view = self.where_from[1:]

    @property
    def prop(self):
        return self.width + self.count

    @property
    def where(self):
        return next(self.parameters()).device

    @staticmethod
    def fixed(n):
        return n + 2
'''
METHODS = (
    ("def method(self, n, flag=False):", {"N": ["n"], "B": ["flag"]}, "N"),
    ("def forward(self, x, n=1, maybe=None, on=True):", {"X": ["x"], "N": ["n"], "O": ["maybe"], "B": ["on"]}, "X"),
)
ROOT = '''
    def __init__(self):
        super().__init__(3, 'b')
        self.lin0, self.lin1 = nn.Linear(6, 6), nn.Linear(6, 6)
        self.table = nn.ModuleDict({'a': nn.Linear(6, 6), 'b': nn.Tanh()})
        self.parts = nn.ModuleList([%s])
'''
OVERRIDE = """def forward(self, x, n=4, *args, **kwargs):
    return super().forward(x, n + 1, *args, **kwargs) * self.gain"""
PARTS = ("Part(2, 'a')", "Part(4, 'b', 1)", "Part(5, 'a', None, 0.25, True)", "Part(2, 'bc', 3, 1.0)", "Other(1, 'b')",
         "Part(3, is_last=True)")
ARGUMENTS = {  # of the root: what it is recorded with, and what other calls bring; texts in the program's own names
    "n": ("N", ("2", "1", "3", "0"), ("3", "0", "5", "2.5", "True", "1")),
    "scale": ("R", ("1.5", "0.5"), ("0.25", "2", "3.5")),
    "flag": ("B", ("False", "True"), ("True", "False")),
    "mode": ("S", ("'a'", "'b'", "'bc'"), ("'b'", "'a'", "'low'", "''")),
    "extra": ("O", ("None", "None", "2"), ("3", "None", "0", "2.5")),
    "sizes": ("L", ("[1, 2]", "[3]"), ("[4, 1]", "[1, 2, 3]", "[2]")),
    "meta": ("M", ("{'repeats': 2, 'kind': 'a', 'rate': 0.5, 'on': False}",
                   "{'repeats': 3, 'kind': 'b', 'rate': 1.5, 'on': True, 'absent': None}"),
             ("{'repeats': 4, 'kind': 'a', 'rate': 0.5, 'on': False}",
              "{'repeats': 2, 'kind': 'c', 'rate': 0.5, 'on': False}",
              "{'repeats': 2, 'kind': 'a', 'rate': 0.75, 'on': False}",
              "{'repeats': 2, 'kind': 'a', 'rate': 0.5, 'on': True}",
              "{'kind': 'a', 'repeats': 2, 'on': False, 'rate': 0.5}",
              "{'repeats': 2, 'kind': 'a', 'rate': 0.5, 'on': False, 'x': 7}",
              "{'kind': 'b', 'rate': 1.5, 'on': True}",
              "{'repeats': 3, 'kind': 'b', 'rate': 1.5, 'on': True, 'absent': 2}")),
    "batch": ("C", ("Given(2)", "Given(3, 1.5, 'b', [4], 1)"),
              ("with_more(Given(2), 3)", "Given(4)", "Given(2, 0.25)", "Given(2, name='c')",
               "Given(2, parts=[1, 2, 5])", "Given(2, limit=0)", "Given(3, 1.5, 'b', [6], 1)",
               "Given(3, 1.5, 'b', [4], None)")),
    "rows": ("Q", ("[{'n': 1, 's': 'a'}, {'n': 3, 's': 'b'}]", "[{'n': 2, 's': 'a'}]"),
             ("[{'n': 1, 's': 'a'}, {'n': 4, 's': 'b'}]", "[{'n': 1, 's': 'b'}, {'n': 3, 's': 'b'}]",
              "[{'n': 1, 's': 'a'}]",
              "[{'n': 2, 's': 'a'}] * 3", "[{'s': 'b', 'n': 3}, {'n': 1, 's': 'a'}]")),
    "points": ("P", ("{'a': torch.ones(2, 6, 6), 'b': torch.arange(6.0).expand(2, 6, 6)}",),
               ("{'a': torch.zeros(2, 6, 6), 'b': torch.arange(6.0).expand(2, 6, 6)}",
                "{'b': torch.ones(2, 6, 6), 'a': torch.arange(6.0).expand(2, 6, 6)}",
                "{'a': torch.ones(2, 6, 6), 'b': torch.ones(2, 6, 6), 'c': torch.ones(2, 6, 6)}")),
    "device": ("V", ("torch.device('cpu')", "'cpu'"), ("'cpu'", "torch.device('cpu')", "torch.device('meta')")),
    "dtype": ("U", ("torch.float32", "torch.float64"), ("torch.float64", "torch.float32", "torch.bfloat16")),
}
SHAPES = ((2, 6, 6), (2, 7, 6), (2, 3, 6), (3, 6, 6), (6, 6))
GRIDS = ([[1, 3], [2, 2]], [[2, 3], [2, 2]], [[1, 4], [2, 2]], [[3, 1], [0, 4]], [[4, 2], [5, 5]], [[0, 3], [1, 2]])


def read_grammar() -> dict[str, list[str]]:
    """The productions of each section of tests/data/forward_grammar.txt, each as often as it is to be taken."""
    sections: dict[str, list[str]] = {}
    text = (pathlib.Path(__file__).resolve().parent.parent / "tests/data/forward_grammar.txt").read_text()
    for line in filter(None, text.splitlines()):
        if line.startswith("==="):
            rules = sections.setdefault(line[4:], [])
        elif not line.startswith("#"):
            often, rule = re.fullmatch(r"(?:(\d+) (?=\S))?(.*)", line).groups()
            rules += [rule.replace("\\n", "\n").replace("; ", "\n")] * int(often or 1)
    return sections


GRAMMAR = read_grammar()
HIDDEN = {"helper_n": "helper_", "helper_v": "helper_[vrx]", "helper_r": "helper_[rx]", "helper_x": "helper_x",
          "method": r"self\.method"}
HOLE = re.compile(r"\{(=|v|n)?([A-Z]|body|loop|return)(\*)?\}")
ATOM = re.compile(r"[\w.]+")


# ---- making programs ----

@dataclasses.dataclass
class Scope:
    """What can be read and assigned at a place."""

    readable: dict[str, list[str]]
    assigned: dict[str, list[str]]
    result: str
    rules: list[str]
    in_loop: bool = False
    hidden: str = ""  # what the function can't call: itself, and what stands below it

    def inner(self, **changes: Any) -> Scope:
        lists = [{kind: list(names) for kind, names in table.items()} for table in (self.readable, self.assigned)]
        return dataclasses.replace(self, readable=lists[0], assigned=lists[1], **changes)


class Maker:
    """A program of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def new_name(self, kind: str) -> str:
        self.names += 1
        return f"{kind.lower()}{self.names}"

    def fill(self, rule: str, scope: Scope, depth: int) -> str:
        """The production with its holes filled; names that it assigns are in the scope afterwards."""
        if scope.hidden and re.search(scope.hidden, rule):
            raise LookupError
        own = scope.inner()
        bound = {}
        for label in re.findall(r"<([A-Z]\d?)>", rule):
            if label not in bound:
                bound[label] = self.new_name(label[0])
                own.readable.setdefault(label[0], []).append(bound[label])
        rule = re.sub(r"<([A-Z]\d?)>", lambda match: bound[match[1]], rule)
        assigned = []
        while match := HOLE.search(rule):
            how, kind, sees_own = match.groups()
            where = own if sees_own else scope
            if how == "n":
                plain = [name for name in where.readable.get(kind, []) if ATOM.fullmatch(name)]
                text = self.random.choice(plain or ["3"])
            elif how:
                is_inside = rule[rule.rfind("\n", 0, match.start()) + 1:].startswith(" ")
                text = self.variable(kind, scope, how == "v" or is_inside)
                if how == "=":
                    assigned.append((kind, text))
            elif kind in ("body", "loop"):
                inside = where.inner(in_loop=scope.in_loop or kind == "loop")
                text = self.body(inside, depth - 1, self.random.choice((1, 1, 2)))
                column = match.start() - (rule.rfind("\n", 0, match.start()) + 1)
                text = text.replace("\n", "\n" + " " * column)
            else:
                text = self.expression(scope.result if kind == "return" else kind, where, depth - 1)
            rule = rule[:match.start()] + text + rule[match.end():]
        for kind, name in assigned:
            for table in (scope.readable, scope.assigned):
                if name not in table.setdefault(kind, []):
                    table[kind].append(name)
        if "def " in rule:  # a nested function can be called from now on
            for label, name in bound.items():
                if label in "FA":
                    scope.readable.setdefault(label, []).append(name)
        return rule

    def variable(self, kind: str, scope: Scope, must_exist: bool) -> str:
        names = scope.assigned.get(kind, [])
        if names and (must_exist or self.random.random() < 0.5):
            return self.random.choice(names)
        if must_exist:
            raise LookupError
        return self.new_name(kind)

    def expression(self, kind: str, scope: Scope, depth: int) -> str:
        known = scope.readable.get(kind, [])
        if known and (depth <= 0 or self.random.random() < 0.3):
            return self.random.choice(known[-4:] if self.random.random() < 0.5 else known)
        if depth <= 0 and kind in "NRS":
            return {"N": "2", "R": "0.5", "S": "'b'"}[kind]
        if depth < -6:
            raise LookupError
        made = self.fill(self.random.choice(GRAMMAR[kind]), scope, depth)
        return made if ATOM.fullmatch(made) else f"({made})"

    def body(self, scope: Scope, depth: int, n: int) -> str:
        made: list[str] = []
        while len(made) < n:
            rules = GRAMMAR["statements"] if self.random.random() < 0.75 or not scope.rules else scope.rules
            rule = self.random.choice(rules)
            if depth <= 0 and ("body" in rule or "loop" in rule):
                continue
            trial = scope.inner()
            try:
                made.append(self.fill(rule, trial, max(depth, 1)))
            except LookupError:
                continue
            scope.readable, scope.assigned = trial.readable, trial.assigned
        if scope.in_loop and self.random.random() < 0.15:
            made.append(f"if {self.expression('B', scope, 1)}:\n    {self.random.choice(('break', 'continue'))}")
        return "\n".join(made)

    def function(self, head: str, knows: dict[str, list[str]], result: str, rules: list[str], n: int,
                 ending: str = "") -> str:
        """Statements behind a head, and a return: of an expression, or of all that there is."""
        own = OWN if "self" in head else {}
        readable = {kind: [*knows.get(kind, []), *own.get(kind, [])] for kind in {*knows, *own}}
        plain = {kind: [name for name in names if name.isidentifier()] for kind, names in knows.items()}
        scope = Scope(readable, plain, result, rules, hidden=HIDDEN.get(head.split("(")[0][4:], ""))
        body = self.body(scope, 2, n) if n else ""
        while not ending:
            with contextlib.suppress(LookupError):
                ending = f"return {self.expression(result, scope, 2)}"
        if ending == "all":
            ending = self.ending(scope)
        return head + "\n    " + f"{body}\n{ending}".replace("\n", "\n    ")

    def ending(self, scope: Scope) -> str:
        """Returns whatever was assigned last, so that it is seen."""
        tensor = scope.assigned["X"][-1]
        parts = [name for kind in "NRBSOLTDMQU" for name in scope.assigned.get(kind, [])]
        parts = self.random.sample(parts, min(len(parts), 5))
        key = self.random.choice(("'out'", self.fill("f'out{{nN}}'", scope, 1)))
        rest = ", ".join(parts)
        return self.random.choice((f"return {tensor}, {rest}", f"return {{{key}: {tensor}, 'rest': [{rest}]}}"))

    def program(self) -> str:
        pick = self.random
        texts = [PRELUDE]
        for head, knows, result in FUNCTIONS:
            texts.append(self.function(head, knows, result, [], pick.choice((0, 1, 1, 2))))
        texts.append(PART)
        for name, base in (("Part", "Base"), ("Other", "Part")):
            methods = [self.function(head, knows, result, GRAMMAR["in modules"], pick.choice((0, 1, 2)))
                       for head, knows, result in METHODS]
            if name == "Other":
                methods = [f"step = {pick.choice((1, 4))}", pick.choice((*methods, OVERRIDE))]
            inside = "\n\n".join(methods).replace("\n", "\n    ")
            texts.append(f"class {name}({base}):\n    {inside}")
        texts.append(self.root())
        return ast.unparse(ast.parse("\n\n\n".join(texts))) + "\n"

    def root(self) -> str:
        pick = self.random
        chosen = pick.sample(list(ARGUMENTS), pick.choice((1, 2, 3, 4)))
        knows: dict[str, list[str]] = {"X": ["x"], "G": ["grid"]}
        recorded, given = [], {}
        for name in chosen:
            kind, values, _ = ARGUMENTS[name]
            knows.setdefault(kind, []).append(name)
            default = pick.choice(values)
            is_shared = kind in "LMCQP"  # one object for all calls
            recorded.append(f"{name}={None if is_shared else default}")
            if pick.random() < 0.6 or is_shared:
                given[name] = pick.choice(values)
        head = f"def forward(self, x, grid, {', '.join(recorded)}):"
        rules = GRAMMAR["in root"] + GRAMMAR["in modules"]
        method = self.function(head, knows, "X", rules, pick.choice((3, 4, 5, 6)), "all")
        parts = ", ".join(pick.choice(PARTS) for _ in range(3))
        known = ", ".join(f"{name!r}: {value}" for name, value in given.items())
        methods = method + (f"\n\n{self.train()}" if pick.random() < 0.25 else "")
        return f"GIVEN = {{{known}}}\n\n\nclass Net(Part):{ROOT % parts}\n    " + methods.replace("\n", "\n    ")

    def train(self) -> str:
        """A train() of the author's own."""
        lines = [line for _ in range(self.random.choice((1, 1, 2))) for line in
                 self.random.choice(GRAMMAR["train"]).split("\n")]
        return "\n    ".join(["def train(self, mode=True):", "super().train(mode)", *lines, "return self"])


# ---- running them ----

@dataclasses.dataclass
class Call:
    """label: what is other about it. how: in which way the model is run ("", "train", "no_grad", "float64", ...)."""

    label: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    how: str = ""


WAYS = ("train", "no_grad", "float64", "autocast", "on meta", "other weights", "x with gradient", "other draw")


def load(text: str, folder: str) -> Any:
    """The program as a module; recorders need a file."""
    load.number = getattr(load, "number", 0) + 1
    path = pathlib.Path(folder) / f"fuzzed_{os.getpid()}_{load.number}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def calls_of(program: Any) -> list[Call]:
    """The recorded call first, then others, each of which differs from it in one thing."""
    generator = torch.Generator().manual_seed(5)
    data = {shape: torch.randn(*shape, generator=generator) for shape in SHAPES}
    x, grid, given = data[SHAPES[0]], torch.tensor(GRIDS[0]), program.GIVEN
    calls = [Call("recorded", (x, grid), given), Call("other x", (-x, grid), given)]
    calls += [Call(f"grid {other}", (x, torch.tensor(other)), given) for other in GRIDS[1:]]
    calls += [Call(f"x of {shape}", (other, grid), given) for shape, other in data.items() if other is not x]
    for name, (_, _, others) in ARGUMENTS.items():
        if name in inspect.signature(program.Net.forward).parameters:
            calls += [Call(f"{name}={text}", (x, grid), {**given, name: eval(text, vars(program))}) for text in others]
    return calls + [Call(how, (x, grid), given, how) for how in WAYS]


PLAIN = (torch.Tensor, int, float, str, np.generic, type(None), torch.dtype, torch.device)


@dataclasses.dataclass
class Outcome:
    """What a call gives and leaves; or the exception that it raised."""

    result: Any = None
    error: Exception | None = None
    generators: str = ""
    tensors: dict[str, Any] = dataclasses.field(default_factory=dict)  # buffers and gradients afterwards


def outcome(model: Any, call: Call) -> Outcome:
    _, args, kwargs, how = dataclasses.astuple(dataclasses.replace(call, args=(), kwargs={}))
    args, kwargs = copy.deepcopy((call.args, call.kwargs))
    try:
        model, args, kwargs = as_asked(model, args, kwargs, how)
        seed = SEED + (how == "other draw")  # the recorder's own, or another
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        mode = (torch.no_grad() if how == "no_grad" else torch.autocast("cpu", dtype=torch.bfloat16)
                if how == "autocast" else contextlib.nullcontext())
        with mode:
            given = model(*args, **kwargs)
        leaves = pytree.tree_leaves(given)
        assert all(isinstance(leaf, PLAIN) for leaf in leaves), "something gave what can't be compared"
        return Outcome(given, None, generators(), left_behind(model, leaves))
    except Exception as error:
        if is_for_memory(error):
            raise TooLarge from error
        return Outcome(error=error)


def as_asked(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], how: str) -> tuple[Any, Any, Any]:
    """The model and its arguments for one of WAYS."""
    if model.training != (how == "train"):
        model.train(how == "train")
    if how in ("float64", "on meta", "other weights"):
        model = copy.deepcopy(model)
    if how == "float64":
        return model.double(), *pytree.tree_map(
            lambda v: v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v, (args, kwargs))
    if how == "on meta":  # the grid stays: data are asked of it
        to_meta = functools.partial(pytree.tree_map, lambda v: v.to("meta") if isinstance(v, torch.Tensor) else v)
        return model.to("meta"), (to_meta(args[0]), *args[1:]), to_meta(kwargs)
    if how == "other weights":
        model.load_state_dict({k: v * 0.75 if v.is_floating_point() else v for k, v in model.state_dict().items()})
    if how == "x with gradient":
        args = (args[0].requires_grad_(), *args[1:])
    return model, args, kwargs


def generators() -> str:
    states = (bytes(torch.get_rng_state().numpy()), repr(random.getstate()).encode(),
              np.random.get_state()[1].tobytes())
    return hashlib.sha1(b"".join(states)).hexdigest()


def left_behind(model: Any, leaves: list[Any]) -> dict[str, Any]:
    """Buffers, and gradients of a sum over whatever has some."""
    found: dict[str, Any] = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
    parts = [leaf.float().sum() for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    for parameter in model.parameters():
        parameter.grad = None
    if parts and all(part.device.type != "meta" for part in parts):
        sum(parts).backward()
        found.update({f"gradient of {name}": p.grad for name, p in model.named_parameters() if p.grad is not None})
    return found


def bits(tensor: torch.Tensor) -> bytes:
    if tensor.is_floating_point():  # any NaN is as good as another
        tensor = torch.where(tensor.isnan(), torch.full_like(tensor, torch.nan), tensor)
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def same(a: Any, b: Any) -> bool:
    """Equal in structure, types and bits. Records are of classes of their own."""
    is_record = hasattr(a, "_fields") or dataclasses.is_dataclass(a)
    if type(a) is not type(b) and not (is_record and type(a).__name__ == type(b).__name__):
        return False
    if isinstance(a, torch.Tensor):
        alike = (a.dtype, a.shape, a.device, a.requires_grad) == (b.dtype, b.shape, b.device, b.requires_grad)
        return alike and (a.is_meta or bits(a) == bits(b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)


def left_difference(wanted: Outcome, given: Outcome) -> str:
    """What two calls that gave the same left otherwise. Unread buffers may be gone, but not what is in a file."""
    if wanted.generators != given.generators:
        return "the generators are in another state"
    for name, tensor in wanted.tensors.items():
        if name in given.tensors and not same(tensor, given.tensors[name]):
            return f"{name}: {difference(tensor, given.tensors[name])}"
        if name not in given.tensors and name.startswith("gradient"):
            return f"{name}: is missing"
    more = [name for name in given.tensors if name.startswith("gradient") and name not in wanted.tensors]
    return f"{more[0]}: is not expected" if more else ""


def difference(wanted: Any, given: Any) -> str:
    def short(leaf: Any) -> str:
        return f"{leaf.flatten()[:6].tolist()}..." if isinstance(leaf, torch.Tensor) else repr(leaf)
    leaves = [pytree.tree_flatten(value)[0] for value in (wanted, given)]
    pairs = [(a, b) for a, b in zip(*leaves) if not same(a, b)]
    return "; ".join(f"{short(a)} and not {short(b)}" for a, b in pairs) or f"{wanted} and not {given}"


@dataclasses.dataclass
class Verdict:
    """What came of a program. kind: invalid, refused, crash, wrong (on what was recorded), different, fine; memory or
    slow, where a limit was reached: such a program has no result."""

    kind: str
    what: str = ""
    source: str = ""
    straight: bool = False
    others: int = 0  # calls that the model answers
    raised: int = 0  # of these, those that the skeleton does not
    lenient: int = 0  # calls that the model does not answer, and the skeleton does


def side_by_side(model: Any, skeleton: Any, calls: list[Call], verdict: Verdict, label: str = "") -> bool:
    """Runs both on calls in a row, until one raises; false if they gave different things."""
    for i, call in enumerate(calls):
        wanted, given = outcome(model, call), outcome(skeleton, call)
        is_first = call.label == "recorded" and i == 0
        if wanted.error is not None:
            verdict.lenient += given.error is None
            return True
        verdict.others += not is_first
        if given.error is not None:
            verdict.raised += not is_first
            if is_first:
                verdict.kind, verdict.what = "wrong", f"raises {given.error!r}"
            return not is_first
        if not same(wanted.result, given.result) or left_difference(wanted, given):
            verdict.kind = "wrong" if is_first else "different"
            what = (left_difference(wanted, given) if same(wanted.result, given.result)
                    else difference(wanted.result, given.result))
            verdict.what = f"{label}{call.label}: {what}"
            return False
    return True


SINGLE, GIVEN, VERIFIED = "single", "given", "verified"
HOW: dict[str, dict[str, Any]] = {SINGLE: {"more": [], "verify": False}, GIVEN: {"more": []}, VERIFIED: {}}


def tried(text: str, folder: str, how: str = SINGLE, only: str = "") -> Verdict:
    """Makes a skeleton of a program and compares. only: the one call (or row of calls) that matters."""
    try:
        return compared(text, folder, how, only)
    except (TooLarge, MemoryError):
        return Verdict("memory", "a limit of memory was reached")


def compared(text: str, folder: str, how: str, only: str) -> Verdict:
    try:
        program = load(text, folder)
        torch.manual_seed(0)
        model = program.Net().eval()
        calls = calls_of(program)
    except Exception as error:
        return Verdict("invalid", repr(error))
    before = state_of(model)
    try:
        with limited(5):  # a program may fill a list that it walks over
            first, _, again = outcome(model, calls[0]), put_back(model, before), outcome(model, calls[0])
    except TooSlow:
        return Verdict("slow", "the model itself")
    put_back(model, before)
    if first.error is not None or not same(first.result, again.result) or left_difference(first, again):
        return Verdict("invalid", repr(first.error))
    try:
        made = pellucid.skeleton(copy.deepcopy(model), calls[0].args, calls[0].kwargs, **HOW[how])
        skeleton = made.module()
    except Exception as error:
        if is_for_memory(error):
            raise TooLarge from error
        if isinstance(error, pellucid.SkeletonError):
            return Verdict("refused", str(error))
        return Verdict("crash", repr(error))
    fresh = state_of(skeleton)
    verdict = Verdict("fine", source=made.source)
    verdict.straight = any(kind == "fallback" for kind, *_ in made.report.synthesis["remarks"])
    for label, row in rows_of(calls):
        if not only or only == label:
            put_back(model, before)
            put_back(skeleton, fresh)
            if not side_by_side(model, skeleton, row, verdict, "" if len(row) == 1 else f"in a row ({label}), "):
                verdict.what = f"{label}| {verdict.what}"
                break
    return verdict


State = tuple[list[dict[str, Any]], dict[str, torch.Tensor], list[bool]]


def state_of(model: torch.nn.Module) -> State:
    """What calls may change: the plain attributes of all modules, and buffers. Much faster than copying the modules."""
    plain = [{name: value for name, value in vars(part).items() if name[0] != "_"} for part in model.modules()]
    buffers = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
    return copy.deepcopy(plain), buffers, [parameter.requires_grad for parameter in model.parameters()]


def put_back(model: torch.nn.Module, state: State) -> None:
    for part, attributes in zip(model.modules(), copy.deepcopy(state[0])):
        for name in [name for name in vars(part) if name[0] != "_" and name not in attributes]:
            delattr(part, name)
        vars(part).update(attributes)
    for name, buffer in list(model.named_buffers()):
        if name in state[1]:
            buffer.copy_(state[1][name])
        else:  # a call registered it
            delattr(model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2])
    for parameter, flag in zip(model.parameters(), state[2]):
        parameter.requires_grad_(flag)


def rows_of(calls: list[Call]) -> Iterator[tuple[str, list[Call]]]:
    """Each call alone, and some in a row: models keep things from one to the next."""
    for call in calls:
        yield call.label, [call]
    yield "twice", [calls[0], calls[0], calls[0]]
    yield "row", [calls[0], *calls[2:6], calls[0]]
    train = next(call for call in calls if call.how == "train")
    yield "trained", [train, calls[0], train, calls[0]]


# ---- cutting down ----

Put = Callable[[Any], None]  # something else in the place of a statement list, or of an expression


def places(tree: ast.AST) -> Iterator[tuple[Any, Put]]:
    """Lists of statements, then expressions, with a function that puts something else there."""
    nodes = list(ast.walk(tree))
    for node in nodes:
        for name in ("body", "orelse", "finalbody", "handlers"):
            if isinstance(getattr(node, name, None), list):
                yield getattr(node, name), functools.partial(setattr, node, name)
    for node in nodes:
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                yield value, functools.partial(setattr, node, name)
            for i, item in enumerate(value) if isinstance(value, list) else ():
                if isinstance(item, ast.expr):
                    yield item, functools.partial(value.__setitem__, i)


def instead_of(old: Any) -> Iterator[Any]:
    """Shorter things: without a statement, with what stands inside of it, a part of an expression, a number."""
    if isinstance(old, list):
        for i, statement in enumerate(old):
            yield old[:i] + old[i + 1:]
            if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                for name in ("body", "orelse"):
                    yield old[:i] + getattr(statement, name, []) + old[i + 1:]
    elif not isinstance(old, (ast.Constant, ast.Name)):
        yield from (part for part in ast.iter_child_nodes(old) if isinstance(part, ast.expr))
        yield ast.Constant(1)


def smaller(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree with one thing less, again and again; it is as it was once the next one is asked for."""
    for old, put in places(tree):
        for new in instead_of(old):
            put(new)
            yield tree
        put(old)


def cut_down(text: str, verdict: Verdict, folder: str, seconds: float, how: str = SINGLE) -> str:
    """The smallest program that still has the fault."""
    only, end = verdict.what.split("|")[0] if verdict.kind in ("different", "wrong") else "", time.monotonic() + seconds
    is_shorter = True
    while is_shorter and time.monotonic() < end:
        is_shorter = False
        for tree in smaller(ast.parse(text)):
            if time.monotonic() > end:
                break
            with contextlib.suppress(Exception, TooSlow), limited(SECONDS[how]):
                shorter = ast.unparse(tree) + "\n"
                if len(shorter) < len(text) and tried(shorter, folder, how, only).kind == verdict.kind:
                    text, is_shorter = shorter, True
                    break
    return text


# ---- many of them ----

MEMORY = 4 << 30  # bytes that a program and the processes that it starts may have: some fill lists without end
SECONDS = {SINGLE: 20, GIVEN: 150, VERIFIED: 150}  # for a program; Python is interrupted then


DIED = "the process died"


def in_processes(seeds: list[int], job: Callable[[int], Iterator[dict[str, Any]]], seconds: float,
                 batch: int = 25) -> Iterator[dict[str, Any]]:
    """The last that the job gives for each seed, in forked processes of a few seeds each: one that dies is a find. One
    that grows beyond MEMORY, or is at one row for longer than that, is killed."""
    while seeds:
        with tempfile.TemporaryFile("w+") as notes:
            child = os.fork()
            if child == 0:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                for seed in seeds[:batch]:
                    for row in itertools.chain([{"seed": seed, "kind": "crash", "what": DIED}], job(seed)):
                        notes.write(json.dumps(row) + "\n")
                        notes.flush()
                os._exit(0)
            killed = watch(child, notes.fileno(), seconds)
            notes.seek(0)
            rows = [json.loads(line) for line in notes]
        done = {row["seed"]: row for row in rows}  # the later row of a seed counts
        if killed and rows and rows[-1]["what"] == DIED:  # else it was being cut down
            done[rows[-1]["seed"]].update(kind=killed, what="the process was killed")
        yield from done.values()
        seeds = [seed for seed in seeds if seed not in done]


def watch(child: int, notes: int, seconds: float) -> str:
    """Waits for the process; "memory" or "slow" if it had to be killed, with all that it started."""
    written, since = -1, time.monotonic()
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        size = os.fstat(notes).st_size
        if size != written:
            written, since = size, time.monotonic()
        family = processes_of(child)
        why = ("memory" if sum(map(resident, family)) > MEMORY else
               "slow" if time.monotonic() - since > seconds else "")
        if why:
            for process in [child, *family]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            os.waitpid(child, 0)
            return why
        time.sleep(0.05)
    return ""


def processes_of(process: int) -> list[int]:
    """It and those that it started; it alone where the system has no /proc."""
    found = [process]
    for parent in found:
        with contextlib.suppress(OSError):
            found += map(int, pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split())
    return found


def resident(process: int) -> int:
    try:
        return int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def is_for_memory(error: BaseException) -> bool:
    """Python's own error, torch's, or the referee's in the words of a refusal."""
    words = ("can't allocate memory", "not enough memory", "out of memory", "MemoryError", "Cannot allocate memory")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


class TooLarge(BaseException):
    """A program of ours that fills the memory."""


class TooSlow(BaseException):
    """A program of ours that does not come to its end."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Interrupts Python after that time, and ends the process some time later, should nothing else do."""
    def interrupt(*_: Any) -> None:
        raise TooSlow
    signal.signal(signal.SIGALRM, interrupt)
    left = signal.alarm(seconds)
    ending = signal.setitimer(signal.ITIMER_VIRTUAL, 4 * seconds)
    try:
        yield
    finally:
        signal.alarm(left)
        signal.setitimer(signal.ITIMER_VIRTUAL, ending[0])


def run(seed: int, options: argparse.Namespace, folder: str) -> Iterator[dict[str, Any]]:
    """What came of the program of a seed; then, if it is at fault, of what is left of it."""
    text = Maker(seed).program()
    verdict = Verdict("slow", "no result in time")
    with contextlib.suppress(TooSlow), limited(SECONDS[options.how]):
        verdict = tried(text, folder, options.how)
    yield {"seed": seed, **dataclasses.asdict(verdict), "text": text}
    if verdict.kind in ("different", "wrong", "crash") and options.cut:
        text = cut_down(text, verdict, folder, options.cut, options.how)
        verdict.source = tried(text, folder, options.how).source
    if options.finds and verdict.kind in ("different", "wrong", "crash", "refused"):
        note = f"{seed}: {verdict.kind}: {verdict.what}\n{verdict.source}"
        (options.finds / f"{verdict.kind}_{seed}.py").write_text(text + "\n" + re.sub("(?m)^", "# ", note) + "\n")
    yield {"seed": seed, **dataclasses.asdict(verdict), "text": text}


def summary(counts: collections.Counter[str], seconds: float) -> str:
    made = sum(counts[kind] for kind in ("fine", "different", "wrong"))
    valid = made + counts["refused"] + counts["crash"]
    return (f"{counts['n']} programs, {valid} valid; {made} with a skeleton, {counts['straight']} of them with "
            f"straight lines; {counts['refused']} refused, {counts['crash']} crashed, "
            f"{counts['wrong']} wrong where recorded, "
            f"{counts['different']} different; of {counts['others']} other calls {counts['raised']} raised, "
            f"{counts['lenient']} answered where the model raises; without a result: {counts['memory']} killed for "
            f"memory, {counts['slow']} too slow; {seconds:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("seeds", nargs="?", default="0:200", help="one, or first:end")
    parser.add_argument("--file", type=pathlib.Path, help="a program instead")
    parser.add_argument("--show", action="store_true", help="print program, skeleton and verdict")
    parser.add_argument("--verified", dest="how", action="store_const", const=VERIFIED, default=SINGLE,
                        help="skeletons as users get them")
    parser.add_argument("--given", dest="how", action="store_const", const=GIVEN,
                        help="skeletons of one call, compared before they are given")
    parser.add_argument("--cut", type=float, default=30, help="seconds for cutting a find down; 0: leave it")
    parser.add_argument("--finds", type=pathlib.Path, help="folder for programs at fault")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.finds:
        options.finds.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if options.file or options.show:
            text = options.file.read_text() if options.file else Maker(int(options.seeds)).program()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            verdict = tried(text, folder, options.how)
            print(f"{text}\n{verdict.source}\n{verdict.kind}: {verdict.what}")
            return verdict.kind in ("different", "wrong", "crash", "memory", "slow")
        first, _, end = options.seeds.partition(":")
        counts: collections.Counter[str] = collections.Counter()
        began = time.monotonic()
        seeds = list(range(int(first), int(end or int(first) + 1)))
        for row in in_processes(seeds, lambda seed: run(seed, options, folder),
                                6 * SECONDS[options.how] + 3 * options.cut):
            counts.update(["n", row["kind"]])
            counts.update({key: int(row.get(key, 0)) for key in ("straight", "others", "raised", "lenient")})
            if row["kind"] in ("different", "wrong", "crash", "memory", "slow"):
                print(f"{row['seed']}: {row['kind']}: {row['what'][:200]}", flush=True)
        print(summary(counts, time.monotonic() - began))
    return 1 if counts["different"] or counts["wrong"] or counts["crash"] else 0


if __name__ == "__main__":
    sys.exit(main())
