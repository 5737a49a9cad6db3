#!/usr/bin/env python3
"""What a reader stumbles over in skeletons: counted in those of the zoo's models, at random.

    bench/bench_reading.py --sample 25               models of the zoo (PELLUCID_SHARED)
    bench/bench_reading.py --sample 25 --keep DIR    and keep the skeletons
    bench/bench_reading.py --files DIR               of skeletons that were kept

Each model runs in a process of its own with a time limit; skeletons are made, and not compared. Counted: lines of
forwards and functions with a whole number of 16 or more; tables that are embedded (base64), and lists of more than 64
numbers; names that are ours: they are bound in the skeleton, end in a number or are one of a few, and stand in no file
that a class of the model is from.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import warnings
from typing import Any, Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ZOO = os.path.join(os.environ.get("PELLUCID_SHARED", os.path.join(ROOT, "..", "shared")), "zoo")
LIMIT = 600  # seconds for a model
LARGE = 16  # what counts as a size
MANY = 64  # numbers in a row
OURS = re.compile(r".*_\d+|arg|tmp|not_recorded|tensor|value")


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """All functions but constructors."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in ("__init__", "__post_init__"):
            yield node


def bound(tree: ast.Module) -> Iterator[str]:
    """Names that the text gives: of classes, functions, parameters, variables, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def count(source: str, author: set[str]) -> dict[str, Any]:
    """`author`: the words of the files that the model is from."""
    tree = ast.parse(source)
    numbers: set[int] = set()
    for function in functions(tree):
        numbers |= {n.lineno for n in ast.walk(function) if isinstance(n, ast.Constant) and type(n.value) is int
                    and abs(n.value) >= LARGE}
    lists = sum(isinstance(n, (ast.List, ast.Tuple)) and len(n.elts) > MANY and all(
        isinstance(e, (ast.Constant, ast.UnaryOp)) for e in n.elts) for n in ast.walk(tree))
    code = {n.lineno for n in ast.walk(tree) if isinstance(n, (ast.expr, ast.stmt))}
    return {"lines": len(code), "size lines": len(numbers), "number lists": lists,
            "base64": len(re.findall(r"b64decode\(|_constant\(b?[\"']", source)),
            "ours": sorted(n for n in bound(tree) if OURS.fullmatch(n) and n not in author)}


def measure(name: str, keep: str | None) -> dict[str, Any]:
    import inspect
    sys.path.insert(0, ZOO)
    import torch
    import zoo
    from pellucid._skeleton import skeleton
    torch.set_num_threads(1)
    model, args, kwargs = zoo.load(name)
    author: set[str] = set()
    files = {sys.modules[k.__module__] for m in model.modules() for k in type(m).__mro__ if k.__module__ in sys.modules}
    for module in files:
        if module.__name__.partition(".")[0] not in ("torch", "builtins"):
            author |= set(re.findall(r"[A-Za-z_]\w*", inspect.getsource(module)))
    made = skeleton(model, args, kwargs, strict=False, progress=False, verify=False)
    if keep:
        path = os.path.join(keep, re.sub(r"\W+", "_", name))
        made.save(path + ".py")
        with open(path + ".words", "w", encoding="utf-8") as words, open(path + ".trace", "wb") as trace:
            words.write(" ".join(sorted(author)))
            trace.write(made.trace)
    return {"name": name, **count(made.source, author)}


def run(name: str, keep: str | None) -> dict[str, Any]:
    command = [sys.executable, os.path.abspath(__file__), "--one", name, *(["--keep", keep] if keep else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        return json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"name": name, "error": f"more than {LIMIT} s"}
    except (IndexError, ValueError):
        return {"name": name, "error": (done.stderr.strip().splitlines() or ["?"])[-1][:200]}


def kept(folder: str) -> Iterator[dict[str, Any]]:
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".py")):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            source = file.read()
        words = os.path.join(folder, name[:-3] + ".words")
        author = set(open(words, encoding="utf-8").read().split()) if os.path.exists(words) else set()
        yield {"name": name, **count(source, author)}


def show(row: dict[str, Any]) -> None:
    if "error" in row:
        print(f"{row['name']:40} {row['error']}", flush=True)
        return
    ours = " ".join(dict.fromkeys(row["ours"]))
    print(f"{row['name']:40} {row['lines']:5} lines {row['size lines']:3} with sizes {row['base64']:2} base64 "
          f"{row['number lists']:2} lists {len(row['ours']):3} ours {ours[:120]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("--seed", default="reading", help="of the choice")
    parser.add_argument("--keep", metavar="DIR", help="keep the skeletons")
    parser.add_argument("--files", metavar="DIR", help="count in the skeletons that are there")
    parser.add_argument("--one", metavar="NAME")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.keep)))
        return 0
    rows = []
    if options.files:
        rows += list(kept(options.files))
        for row in rows:
            show(row)
    if options.sample:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        with open(os.path.join(ZOO, "zoo.json"), encoding="utf-8") as file:
            names = sorted(row["name"] for row in json.load(file))
        for name in random.Random(options.seed).sample(names, min(options.sample, len(names))):
            rows.append(run(name, options.keep))
            show(rows[-1])
    whole = [r for r in rows if "error" not in r]
    lines = sum(r["lines"] for r in whole) or 1
    print(f"{len(whole)} skeletons of {len(rows)} models, {lines} lines of code; with a size in a function: "
          f"{sum(r['size lines'] for r in whole)} lines; base64: {sum(r['base64'] for r in whole)}; lists of numbers: "
          f"{sum(r['number lists'] for r in whole)}; names that are ours: "
          f"{100 * sum(len(r['ours']) for r in whole) / lines:.2f} per 100 lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
