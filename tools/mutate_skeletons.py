#!/usr/bin/env python3
"""Mutants of skeletons: how many wrong ones do the checks let through?

    tools/mutate_skeletons.py --count 500                until that many mutants load and run
    tools/mutate_skeletons.py --seed 3 --survivors DIR   others; those that no check sees are kept as files
    tools/mutate_skeletons.py --at-least 0.95            exit status 1 if less is caught

A mutant is an accepted skeleton with one thing changed: an operator, a constant, a dimension, the index of a size, two
arguments that change places, a dtype, a call or a statement that is left out. Those that load and run on the recorded
input count. Each of them is one of:

    caught       the proof (--prove) says where it differs, a check of the table forbids it, or it raises in a run in
                 which the skeleton did not, which the header names
    named        nothing forbids it or raises, but the header names a check as not equal that was equal before
    equal        proved: the same ATen calls as the original, for the skeleton's own sizes, modes and conditions;
                 and, since a proof is about the given numbers and flags alone, no check or run below differs
    missed       accepted, and one of many random inputs, sizes, values, modes and dtypes shows that it differs
    not shown    accepted, and neither a difference nor a proof was found

The share that is caught is strict: equal ones don't count, all others do, and only "caught" is caught.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import copy
import importlib.util
import io
import pathlib
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from pellucid import _check, _inputs, _prove, _values
from pellucid._given import given
from pellucid._skeleton import finish
from pellucid._verdict import Report
from pellucid._verify import verify
from pellucid._workshop import Workshop

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds for the referee: a mutant may never end
PROOF = 20.0  # seconds of CPU for a proof
ROUNDS = 25  # of the longer comparison
KINDS = ("caught", "named", "equal", "missed", "not shown")
EACH = 20  # mutants of one skeleton at most

# ---- changes ----

OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
             ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
             ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
             ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And}
Change = tuple[str, int, Callable[[], None]]  # kind, line, what makes it


def changes(tree: ast.Module) -> Iterator[Change]:
    """Every single change of what runs: constructors, functions, methods."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in OPERATORS:
            yield "operator", line, lambda node=node: setattr(node, "op", OPERATORS[type(node.op)]())
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
            yield "operator", line, lambda node=node: node.ops.__setitem__(0, OPERATORS[type(node.ops[0])]())
        elif isinstance(node, ast.Constant):
            for new in other_constants(node.value):
                yield "constant", line, lambda node=node, new=new: setattr(node, "value", new)
        elif isinstance(node, ast.Attribute) and node.attr in DTYPES and isinstance(node.value, ast.Name):
            yield "dtype", line, lambda node=node: setattr(node, "attr", DTYPES[node.attr])
        if is_method_call(node):
            yield "call", line, lambda node=node: setattr(node, "func", ast.Lambda(NO_ARGUMENTS, node.func.value))
        if isinstance(node, ast.Call) and len(node.args) > 1:
            yield "arguments", line, lambda node=node: node.args.__setitem__(slice(0, 2), node.args[1::-1])
        if isinstance(node, ast.Subscript) and is_size(node):
            yield "size", line, lambda node=node: setattr(node.slice, "value", 1 - min(node.slice.value, 1))
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            for i, statement in enumerate(block if isinstance(block, list) and not isinstance(
                    node, (ast.Module, ast.ClassDef)) else ()):
                if not isinstance(statement, (ast.Return, ast.Pass, ast.FunctionDef)):
                    kind = "assertion" if isinstance(statement, ast.Assert) else "statement"
                    yield kind, statement.lineno, lambda block=block, i=i: block.__setitem__(i, ast.Pass())


DTYPES = {"float32": "float64", "float64": "float32", "int64": "int32", "int32": "int64", "bool": "int64",
          "float16": "float32", "bfloat16": "float32"}
NO_ARGUMENTS = ast.arguments([], [], ast.arg("_"), [], [], ast.arg("__"), [])


def is_method_call(node: ast.AST) -> bool:
    """x.view(...): left out, x is what remains."""
    return (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id not in ("torch", "nn", "F", "self", "math"))


def is_size(node: ast.Subscript) -> bool:
    return (isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
            and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int))


def other_constants(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1] if value == 0 else [value + 1, value - 1]
    return [value * 1.5 + 1e-3] if isinstance(value, float) else []


def mutants(source: str, pick: random.Random) -> Iterator[tuple[str, int, str]]:
    """Texts with one change each, in random order."""
    plain = ast.unparse(ast.parse(source))
    count = len(list(changes(ast.parse(plain))))
    for number in pick.sample(range(count), count):
        tree = ast.parse(plain)
        kind, line, change = list(changes(tree))[number]
        change()
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if text.strip() != plain.strip():
            yield kind, line, text


# ---- what is mutated ----

def cases() -> Iterator[tuple[str, Callable[[], tuple[Any, Any]]]]:
    """The models of the tests: one mechanism of the synthesis each."""
    path = ROOT / "tests/python/skeleton_models.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    for name, (build, *_) in module.CASES.items():
        yield name, build


class Subject:
    """A model with its skeleton and the runs that the referee compares."""

    def __init__(self, model: torch.nn.Module, inputs: Any) -> None:
        self.model, self.inputs = model, inputs
        self.work = Workshop(model, None, (), "", lambda text: None)
        self.work.full = True

    def __enter__(self) -> Subject:
        self.work.__enter__()
        self.work.record_given(self.inputs)
        self.work.record_more(None)
        self.made = finish(self.work, "full")
        self.own = self.proof(self.made.module())
        return self

    def __exit__(self, *_: object) -> None:
        self.work.__exit__()

    def proof(self, module: torch.nn.Module) -> _prove.Proof:
        self.work.state.restore()
        single = self.made.given[1] if len(self.made.given) > 1 else None
        return _prove.prove(self.model, module, self.made.given[0], single, PROOF, self.made.varied)

    def judged(self, source: str) -> Report:
        self.work.state.restore()
        self.work.no_meta = []
        checks = verify(self.model, source, self.made.root, self.work.sequences, patience=PATIENCE)
        return Report(checks)

    def module(self, source: str) -> torch.nn.Module:
        made = vars(_check.load_source(source, f"mutant_{id(source):x}"))[self.made.root]()
        made.load_state_dict(self.model.state_dict(), strict=True)
        return made.train(self.model.training)


def runs(subject: Subject, source: str) -> torch.nn.Module | None:
    """The mutant, if it loads and gives something on the recorded input, right or wrong."""
    try:
        with contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
            made = subject.module(source)
            args, kwargs = _inputs.copied(subject.inputs)
            made(*args, **kwargs)
            return subject.module(source)
    except Exception:
        return None


def judged(subject: Subject, source: str, mutant: torch.nn.Module, pick: random.Random) -> tuple[str, str]:
    """What becomes of a mutant, and what says so. The proof comes first: it costs least."""
    with contextlib.redirect_stderr(io.StringIO()):
        proof = subject.proof(mutant)
    if proof.kind == "wrong":
        return "caught", "proof"
    is_equal = proof.kind == "proved" and subject.own.kind == "proved" and reach(proof) == reach(subject.own)
    report = subject.judged(source)
    if not report.good:
        return "caught", next((c.name for c in report.checks if c.forbids), "nothing was equal")
    known = {c.name for c in subject.made.report.failures}
    new = [c for c in report.failures if c.name not in known]
    if new:
        return ("named", new[0].name) if all(c.silent for c in new) else ("caught", f"raises: {new[0].name}")
    found = longer_difference(subject, subject.module(source), pick)
    if found:
        return "missed", found
    return ("equal", "proof") if is_equal else ("not shown", proof.evidence[0])


def reach(proof: _prove.Proof) -> tuple[object, ...]:
    """For what a proof holds, without the lines of the skeleton."""
    sizes = [(mode, [(s.tensor, s.axis, s.text) for s in found]) for mode, found in proof.sizes]
    return re.sub(r"skeleton \d+|line \d+", "", " ".join(proof.evidence)), sizes, sorted(proof.conditions)


# ---- the longer comparison ----

def variants(subject: Subject, pick: random.Random) -> Iterator[tuple[str, Any]]:
    """Inputs that neither the recording nor the referee has made."""
    inputs = subject.inputs
    for number in range(ROUNDS):
        seed, scale = 1_000 + number, pick.choice((1e-4, 1e-2, 0.5, 3.0, 50.0, 1e4))
        base = next(_inputs.other_data(inputs, seed))
        yield "data", _inputs.map_values(base, lambda t: t * scale if t.is_floating_point() else t.clone())
        for name, candidates in (("batch", _inputs.other_batch(inputs, pick.randrange(1, 9), seed)),
                                 ("length", _inputs.other_length(inputs, pick.randrange(1, 9), seed,
                                                                 grid=subject.work.grid))):
            yield name, next(candidates, inputs)
    for candidates in _values.changes(inputs, subject.model):
        for change in candidates:
            yield change.text, _values.with_value(inputs, change.path, change.new)


def outcome(model: torch.nn.Module, inputs: Any, how: str) -> Any:
    """Result, generators, buffers and gradients; None if it raises."""
    model = copy.deepcopy(model)
    args, kwargs = _inputs.copied(inputs)
    try:
        if how == "float64":
            model = model.double()
            args, kwargs = _inputs.map_values((args, kwargs), lambda t: t.double() if t.is_floating_point() else t)
        model.train(how == "train")
        generators = _check.Generators(7)
        result = model(*args, **kwargs)
        form = _check.plain_form(result)
        moved = generators.moved()
        gradients = _check.gradients(model, form)
        whole = ("tuple", [_check.detached(form), ("plain", repr(moved))])
        return whole, dict(model.named_buffers()), gradients or {}
    except Exception:
        return None


def longer_difference(subject: Subject, mutant: torch.nn.Module, pick: random.Random) -> str:
    """Where the mutant gives something else than the original; where either raises, nothing is given."""
    subject.work.state.restore()
    for label, inputs in variants(subject, pick):
        for how in ("eval", "train", "float64"):
            wanted, found = (outcome(model, inputs, how) for model in (subject.model, mutant))
            if wanted is None or found is None:
                continue
            if text := _check.difference(wanted[0], found[0]):
                return f"{label}, {how}: {text}"
            for which, (a, b) in (("buffer", (wanted[1], found[1])), ("gradient", (wanted[2], found[2]))):
                for name in a.keys() & b.keys():
                    if (a[name] is None) != (b[name] is None) or (
                            a[name] is not None and _check.tensor_difference(a[name], b[name], name)):
                        return f"{label}, {how}: {which} of {name}"
    return ""


# ---- all of it ----

def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="mutants that load and run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after that long, with the figures so far")
    parser.add_argument("--only", default="", help="models whose name has this")
    parser.add_argument("--each", type=int, default=EACH, help="mutants of one model, at most")
    parser.add_argument("--survivors", type=pathlib.Path, help="folder for mutants that no check sees")
    parser.add_argument("--at-least", type=float, default=0.0, help="share that must be caught")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    pick = random.Random(options.seed)
    options.end = time.monotonic() + options.seconds
    counts: collections.Counter[str] = collections.Counter()
    by_kind: collections.Counter[tuple[str, str]] = collections.Counter()
    began = time.monotonic()
    everything = [case for case in cases() if options.only in case[0]]
    pick.shuffle(everything)
    for name, build in everything:
        if counts["ran"] >= options.count or time.monotonic() > options.end:
            break
        try_model(name, build, options, pick, counts, by_kind)
    wrong = counts["ran"] - counts["equal"]
    share = counts["caught"] / wrong if wrong else 0.0
    print(f"{counts['models']} models, {counts['made']} mutants, {counts['ran']} load and run: "
          + ", ".join(f"{counts[what]} {what}" for what in KINDS)
          + f"; caught, of those that are not shown equal: {share:.1%}; {time.monotonic() - began:.0f} s")
    for (kind, what), n in sorted(by_kind.items()):
        print(f"  {kind:10} {what:12} {n}")
    return 1 if share < options.at_least or not wrong else 0


def try_model(name: str, build: Callable[[], Any], options: argparse.Namespace, pick: random.Random,
              counts: collections.Counter[str], by_kind: collections.Counter[tuple[str, str]]) -> None:
    torch.manual_seed(0)
    try:
        model, *rest = build()
        subject = Subject(model.eval(), given(model, rest[0], rest[1] if len(rest) > 1 and isinstance(rest[1], dict)
                                              else None))
        subject.__enter__()
    except Exception as error:
        print(f"{name}: not used: {type(error).__name__}: {str(error)[:100]}", flush=True)
        return
    with contextlib.ExitStack() as stack:
        stack.callback(subject.__exit__)
        if not subject.made.report.good:
            print(f"{name}: not used: its skeleton is not accepted", flush=True)
            return
        counts["models"] += 1
        ran = 0
        for kind, line, text in mutants(subject.made.source, pick):
            if ran >= options.each or counts["ran"] >= options.count or time.monotonic() > options.end:
                return
            counts["made"] += 1
            mutant = runs(subject, text)
            if mutant is None:
                continue
            ran += 1
            counts["ran"] += 1
            what, why = judged(subject, text, mutant, pick)
            counts[what] += 1
            by_kind[kind, what] += 1
            if what in ("caught", "equal"):
                continue
            print(f"{name}: line {line}, {kind}: {what}: {why[:160]}", flush=True)
            if options.survivors:
                options.survivors.mkdir(parents=True, exist_ok=True)
                note = f"# {name}, line {line}, {kind}: {what}: {why}\n"
                (options.survivors / f"{what.replace(' ', '_')}_{name}_{counts['made']}.py").write_text(note + text)


if __name__ == "__main__":
    sys.exit(main())
