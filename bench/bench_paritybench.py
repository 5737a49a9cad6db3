"""Skeletons of modules that strangers wrote: jansel/pytorch-jit-paritybench, 15,000 modules of 1,500 projects.

    python bench/bench_paritybench.py FOLDER [--sample 500] [--seed 1] [--odd] [--out rows.jsonl]

FOLDER is a checkout of that repository. Files are taken the SHA-1 of whose name is an even number (--odd: the others).
A module counts if it can be built and run twice here, with what it imports replaced by a mock where it is missing. Each
gets a skeleton with the default checks. Whatever passes is called once more, in this process, with other random
inputs, and once with another batch: what gives something else without saying so is silently wrong.
"""

from __future__ import annotations

import argparse
import ast
import collections
import copy
import hashlib
import importlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import traceback
import types
from typing import Any
from unittest.mock import MagicMock

LIMIT = 90  # seconds of processor time for a module, and the fourth part of those on a clock


class Late(BaseException):
    """No Exception: what is measured catches many of these."""


# ---- one file, in a process of its own ----

class Mocks:
    """Finds these packages and modules as mocks: most of what the files import is read by nobody."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        from importlib.machinery import ModuleSpec
        known = name in self.names or name.partition(".")[0] in self.names
        return ModuleSpec(name, self) if known else None  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> Any:
        made = MagicMock(name=spec.name)
        made.__spec__, made.__path__, made.__name__, made.__version__ = spec, [], spec.name, "9.0.0"
        return made

    def exec_module(self, module: Any) -> None:
        pass


def missing(path: str) -> set[str]:
    """Packages that the file imports and that can't be imported here."""
    with open(path, encoding="utf-8", errors="replace") as file:
        tree = ast.parse(file.read())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    found = set()
    for root in {name.partition(".")[0] for name in names}:
        try:
            importlib.import_module(root)
        except BaseException:  # a package that is broken may raise anything
            found.add(root)
            for name in [name for name in sys.modules if name.partition(".")[0] == root]:
                del sys.modules[name]
    return found


def helpers() -> types.ModuleType:
    """What the files import from the benchmark; its own module wants a graphics card."""
    import torch

    class Block(torch.nn.ReLU):
        expansion = 1

    class Config(dict):
        __getattr__ = dict.__getitem__

    def layer(in_features: Any = None, out_features: Any = None, *args: Any, **kwargs: Any) -> torch.nn.Module:
        return torch.nn.Linear(in_features, out_features, **kwargs) if in_features and out_features else Block()

    def patch() -> None:
        one, other = torch.functional, torch.nn.functional
        for here, there in ((one, other), (other, one)):
            for name in dir(here):
                if re.match("[a-z]", name) and not hasattr(there, name):
                    setattr(there, name, getattr(here, name))

    made = types.ModuleType("_paritybench_helpers")
    made.__dict__.update(_mock_config=Config, _mock_layer=layer, patch_functional=patch, DummyBlock=Block,
                         _paritybench_base=object, _fails_compile=lambda: lambda f: f)
    return made


def imported(name: str, mocks: Mocks) -> types.ModuleType:
    """The file as a module. What another package misses, or what a package no longer has, is a mock, too."""
    for _ in range(20):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not error.name or error.name in mocks.names:
                raise
            mocks.names.add(error.name)
        except ImportError as error:
            what = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
            if what is None or what[2] not in sys.modules or hasattr(sys.modules[what[2]], what[1]):
                raise
            setattr(sys.modules[what[2]], what[1], MagicMock(name=what[1]))
    return importlib.import_module(name)


def late(*_: Any) -> None:
    raise Late(f"more than {LIMIT} s")


def set_timers(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 4 * seconds)


def run_file(path: str, numbers: list[int]) -> None:
    """Prints a line of JSON for each module."""
    import torch
    torch.set_num_threads(1)
    sys.modules["_paritybench_helpers"] = helpers()
    mocks = Mocks(missing(path))
    sys.meta_path.insert(0, mocks)  # type: ignore[arg-type]
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    signal.signal(signal.SIGALRM, late)
    signal.signal(signal.SIGPROF, late)
    try:
        cases = imported(name, mocks).TESTCASES
    except BaseException as error:
        for number in numbers:
            print(json.dumps({"file": name, "number": number, "status": "not run", "why": f"import: {error}"[:200]}))
        return
    for number in numbers:
        start = time.time()
        set_timers(LIMIT)
        try:
            row = run_case(*cases[number][:3])
        except BaseException as error:
            row = {"status": "not run", "why": f"{type(error).__name__}: {error}"[:200]}
        finally:
            set_timers(0)
        print(json.dumps({"file": name, "number": number, "class": getattr(cases[number][0], "__name__", "?"), **row,
                          "seconds": round(time.time() - start, 1)}), flush=True)


def run_case(kind: Any, make: Any, give: Any) -> dict[str, Any]:
    import torch
    import torch.utils._pytree

    import pellucid
    torch.manual_seed(0)
    args, kwargs = make()
    model = kind(*args, **kwargs).eval()
    given = give()
    for _ in range(2):
        result = model(*copy.deepcopy(given[0]), **copy.deepcopy(given[1]))
        if any(isinstance(leaf, MagicMock) for leaf in torch.utils._pytree.tree_leaves(result)):
            raise TypeError("it gives a mock")
    torch.manual_seed(0)
    model = kind(*args, **kwargs).eval()  # some keep what they gave, with its history
    try:
        made = pellucid.skeleton(model, tuple(given[0]), given[1], progress=False)
    except pellucid.Error as error:
        found = getattr(error, "skeleton", None)
        return {"status": "differs" if found is not None else "refused", "why": str(error)[:600]}
    except BaseException as error:
        return {"status": "late" if isinstance(error, Late) else "crashed",
                "why": traceback.format_exc()[-900:]}
    wrong = second_look(model, made, give, given)
    return {"status": "wrong" if wrong else "equal", "why": wrong, "complete": made.report.complete}


def second_look(model: Any, made: Any, give: Any, given: Any) -> str:
    """Other data, and another batch where the original takes one; what differs, or nothing. An assertion is an
    answer."""
    import torch

    from pellucid import _check
    skeleton = made.module()
    skeleton.train(model.training)
    torch.manual_seed(77)
    others = [give()]
    double = lambda t: torch.cat([t, t]) if isinstance(t, torch.Tensor) and t.dim() else t  # noqa: E731
    others.append(([double(t) for t in given[0]], {k: double(t) for k, t in given[1].items()}))
    for args, kwargs in others:
        results = []
        for each in (model, skeleton):
            _check.seed_all(5)
            try:
                with torch.no_grad():
                    results.append(_check.plain_form(each(*copy.deepcopy(args), **copy.deepcopy(kwargs))))
            except AssertionError:
                results.append("asserted")
            except Exception:
                results.append("raised")
        if results[0] in ("raised", "asserted") or results[1] == "asserted":
            continue
        if results[1] == "raised":
            return "the skeleton raises where the model does not"
        if found := _check.difference(results[0], results[1]):
            return found
    return ""


# ---- many files ----

def chosen(folder: str, sample: int, seed: int, odd: bool) -> list[tuple[str, list[int]]]:
    """Files with the numbers of modules in them: a random sample of all modules."""
    files = sorted(f for f in os.listdir(folder) if f.startswith("test_") and f.endswith(".py"))
    rows = []
    for file in files:
        if (int(hashlib.sha1(file.encode()).hexdigest(), 16) % 2 == 1) is odd:
            with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as opened:
                rows += [(file, n) for n in range(opened.read().count("\n    def test_"))]
    picked = random.Random(seed).sample(rows, min(sample, len(rows)))
    groups: dict[str, list[int]] = {}
    for file, number in picked:
        groups.setdefault(file, []).append(number)
    return [(os.path.join(folder, file), numbers) for file, numbers in groups.items()]


def earlier(path: str) -> list[dict[str, Any]]:
    """The rows of a run that was stopped."""
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--sample", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--odd", action="store_true")
    parser.add_argument("--out", default="", help="lines of JSON; what it has from an earlier run is not run again")
    parser.add_argument("--seconds", type=float, default=0, help="start no further file after this time")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--numbers", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        run_file(os.path.abspath(options.file), [int(n) for n in options.numbers.split(",")])
        return 0
    folder = os.path.join(options.folder, "generated")
    rows, start = earlier(options.out), time.time()
    out = open(options.out, "a", encoding="utf-8") if options.out else sys.stderr
    known = {row["file"] for row in rows}
    for path, numbers in chosen(folder, options.sample, options.seed, options.odd):
        if os.path.splitext(os.path.basename(path))[0] in known:
            continue
        if options.seconds and time.time() - start > options.seconds:
            print(f"stopped after {options.seconds:.0f} s", file=sys.stderr)
            break
        rows += in_process(options.folder, path, numbers)
        for row in rows[-len(numbers):]:
            print(json.dumps(row), file=out, flush=True)
    counts = collections.Counter(row["status"] for row in rows)
    ran = len(rows) - counts["not run"]
    print(f"{len(rows)} modules, {ran} run here: {counts['equal']} equal ({100 * counts['equal'] / max(1, ran):.1f}%), "
          f"{counts['wrong']} silently wrong, {dict(counts)}")
    return 0


def in_process(folder: str, path: str, numbers: list[int]) -> list[dict[str, Any]]:
    """A row for each module, also where the process crashed: that counts as a failure of ours."""
    command = [sys.executable, "-W", "ignore", __file__, folder, "--file", path, "--numbers",
               ",".join(map(str, numbers))]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
                              timeout=120 + 4 * LIMIT * len(numbers), stdin=subprocess.DEVNULL)
        text, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        text, code = (error.stdout or b"").decode(), -1
    rows = []
    for line in text.splitlines():
        if line.startswith('{"file"'):
            rows.append(json.loads(line))
    have = {row["number"] for row in rows}
    name = os.path.splitext(os.path.basename(path))[0]
    return rows + [{"file": name, "number": n, "status": "crashed", "why": f"exit status {code}"}
                   for n in numbers if n not in have]


if __name__ == "__main__":
    sys.exit(main())
