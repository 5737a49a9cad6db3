#!/usr/bin/env python3
"""What `diff` says of two models of transformers, by what their authors say: modular_*.py of the younger one.

    bench/bench_modular.py --sample 12        pairs of the zoo's models (PELLUCID_SHARED), at random
    bench/bench_modular.py --one CHILD PARENT

A modular file derives classes from those of another model. A class with a body of its own functions differs there, one
without is the same. Counted are classes that both skeletons have; `diff` says that they are the same (but for sizes) or
differ. Skeletons are made, and not compared with their models. Each pair runs in a process of its own.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import warnings
from collections import Counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ZOO = os.path.join(os.environ.get("PELLUCID_SHARED", os.path.join(ROOT, "..", "shared")), "zoo")
LIMIT = 400  # seconds for a pair


def folder() -> str:
    import importlib.util
    found = importlib.util.find_spec("transformers")
    assert found is not None and found.origin is not None
    return os.path.join(os.path.dirname(found.origin), "models")


def author(child: str) -> tuple[str, dict[str, tuple[str, bool]]]:
    """The model that most classes are derived from, and of each such class: its base, and whether it differs."""
    with open(os.path.join(folder(), child, f"modular_{child}.py"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    origin = {alias.name: node.module.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
              and node.level == 2 and node.module and ".modeling_" in node.module for alias in node.names}
    rows: dict[str, tuple[str, bool]] = {}
    for node in tree.body:
        base = next((b.id for b in node.bases if isinstance(b, ast.Name) and b.id in origin), None) \
            if isinstance(node, ast.ClassDef) else None
        if base is not None and isinstance(node, ast.ClassDef):
            rows[node.name] = base, any(isinstance(part, ast.FunctionDef) for part in node.body)
    parents = Counter(origin[base] for base, _ in rows.values())
    parent = parents.most_common(1)[0][0] if parents else ""
    return parent, {name: row for name, row in rows.items() if origin[row[0]] == parent}


def recipes() -> dict[str, str]:
    """Names of the zoo's models by the folder of transformers that they are from."""
    with open(os.path.join(ZOO, "hf_recipes.json"), encoding="utf-8") as file:
        rows = json.load(file)
    names = [name for name, row in sorted(rows.items()) if row["head"] == "base"]
    return {name.partition("/")[2].replace("-", "_"): name for name in names}


def source(name: str) -> str:
    sys.path.insert(0, ZOO)
    import torch
    import zoo
    from pellucid._skeleton import skeleton
    torch.set_num_threads(1)
    return skeleton(*zoo.load(name), strict=False, progress=False, verify=False).source


def measure(child: str, parent: str) -> dict[str, Any]:
    from pellucid import diff
    known = recipes()
    found = diff(source(known[parent]), source(known[child]))
    kinds = {part.b: part for part in found.parts if part.b}
    rows = {}
    for name, (base, differs) in author(child)[1].items():
        if name in kinds:
            part = kinds[name]
            rows[name] = {"author": differs, "ours": part.kind not in ("same", "sizes"), "kind": part.kind,
                          "with": part.a, "base": base}
    return {"classes": rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("--seed", default="modular", help="of the choice")
    parser.add_argument("--one", nargs=2, metavar=("CHILD", "PARENT"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one)))
        return 0
    known = recipes()
    pairs = []
    for child in sorted(known):
        if os.path.exists(os.path.join(folder(), child, f"modular_{child}.py")):
            parent, rows = author(child)
            if parent in known and len(rows) >= 3:
                pairs.append((child, parent))
    agree = total = 0
    for child, parent in random.Random(options.seed).sample(pairs, min(options.sample, len(pairs))):
        command = [sys.executable, os.path.abspath(__file__), "--one", child, parent]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
            rows = json.loads(done.stdout.strip().splitlines()[-1])["classes"]
        except subprocess.TimeoutExpired:
            print(f"{child} of {parent}: more than {LIMIT} s", flush=True)
            continue
        except (IndexError, ValueError, KeyError):
            print(f"{child} of {parent}: {(done.stderr.strip().splitlines() or ['?'])[-1][:150]}", flush=True)
            continue
        right = sum(row["author"] == row["ours"] for row in rows.values())
        agree, total = agree + right, total + len(rows)
        others = ", ".join(f"{name} {row['kind']}, the author's {'differs' if row['author'] else 'is the same'}"
                           for name, row in rows.items() if row["author"] != row["ours"])
        print(f"{child} of {parent}: {right} of {len(rows)} {others}", flush=True)
    print(f"{agree} of {total} classes as the authors say ({100 * agree / max(1, total):.0f}%)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
