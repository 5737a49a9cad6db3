#!/usr/bin/env python3
"""Which of the zoo's models torch.export takes, which of their skeletons, and whether these then compute the same.

    bench/bench_export.py                       24 models, chosen at random (the same for the same --rotate)
    bench/bench_export.py --only 'hf/bert'      names that match
    bench/bench_export.py --texts DIR           keep the skeletons there, and take those that are there as they are
    bench/bench_export.py --summary FILE        the figures of a run

Each model is exported twice, with the sizes of its inputs as they are and with free ones, and so is its skeleton. An
exported skeleton is run on the recorded inputs beside the original: "equal" means all tensors of the output, bit by
bit. An exporter takes other paths through many models than their callers do; where the original itself gives other bits
when it is exported, the exported skeleton is compared with the exported original. Each model has a (forked) process of
its own and a limit of CPU time. Rows are JSON lines.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import time
from typing import Any

import bench_prove
from bench_prove import zoo_tool

OPTIONS = bench_prove.OPTIONS
HOWS = ("fixed", "free")


def export_of(name: str, _: str | None) -> dict[str, Any]:
    import copy

    import torch
    bench_prove.limited()
    zoo_tool.announce("skeleton")
    made, facts = bench_prove.made_of(name)
    row: dict[str, Any] = {"name": name, "checks": {}, **facts}
    inputs = made.given[0]
    modules = {"original": made.model.eval(), "skeleton": made.module().eval()}
    known = outputs_of(modules["original"], inputs)
    for how in HOWS:
        found = {}
        for who, module in modules.items():
            zoo_tool.announce(f"export {who}, {how}")
            args, kwargs = copy.deepcopy(inputs)
            start = time.process_time()
            try:
                exported = torch.export.export(module, tuple(args), dict(kwargs), strict=False,
                                               dynamic_shapes=None if how == "fixed" else free(module, args, kwargs))
                row[f"{how} {who}"] = ""
                found[who] = exported.module()
            except Exception as error:
                row[f"{how} {who}"] = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
            row[f"{how} {who} s"] = round(time.process_time() - start, 2)
        if len(found) == 2:
            zoo_tool.announce(f"run, {how}")
            original, skeleton = (outputs_of(found[who], inputs) for who in modules)
            errors = " ".join(found for found in (original, skeleton) if isinstance(found, str))
            row[f"{how} outputs"] = "equal" if same(known, skeleton) else \
                "equal to the exported original" if same(original, skeleton) else f"differ: {errors}"
    return row


def free(module: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Every dimension of every tensor."""
    import torch
    sizes = torch.utils._pytree.tree_map(
        lambda t: dict.fromkeys(range(t.dim()), torch.export.Dim.AUTO) if isinstance(t, torch.Tensor) else None,
        (tuple(args), dict(kwargs)))
    return {**dict(zip(inspect.signature(module.forward).parameters, sizes[0])), **sizes[1]} if kwargs else sizes[0]


def outputs_of(module: Any, inputs: Any) -> Any:
    """All tensors of the output, or an error."""
    import copy

    import torch
    args, kwargs = copy.deepcopy(inputs)
    torch.manual_seed(0)
    try:
        with torch.no_grad():
            return [leaf for leaf in torch.utils._pytree.tree_leaves(plain(module(*args, **kwargs)))
                    if isinstance(leaf, torch.Tensor)]
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def plain(value: Any) -> Any:
    """Records as dicts without what is None: exported programs return the author's classes, skeletons their own."""
    if isinstance(value, dict) or hasattr(value, "__dataclass_fields__"):
        items = value.items() if isinstance(value, dict) else vars(value).items()
        return {key: plain(item) for key, item in sorted(items, key=lambda pair: str(pair[0])) if item is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def same(one: Any, other: Any) -> bool:
    import torch
    if isinstance(one, str) or isinstance(other, str) or len(one) != len(other):
        return False
    return all(a.shape == b.shape and a.dtype == b.dtype and torch.equal(a.nan_to_num(7.5), b.nan_to_num(7.5))
               if a.is_floating_point() else torch.equal(a, b) for a, b in zip(one, other))


# ---- figures ----

def verdict(row: dict[str, Any], how: str) -> str:
    if f"{how} skeleton" not in row:
        return f"no answer: {row.get('stage')}: {row.get('error', '')[:200]}"
    if row[f"{how} original"]:
        return "original not taken"
    if row[f"{how} skeleton"]:
        return f"skeleton not taken: {row[f'{how} skeleton'][:300]}"
    return str(row[f"{how} outputs"])


def print_figures(rows: list[dict[str, Any]]) -> float:
    shares = []
    for how in HOWS:
        found = {row["name"]: verdict(row, how) for row in rows}
        takes = {n: v for n, v in found.items() if not v.startswith(("no answer", "original"))}
        taken = {n: v for n, v in takes.items() if not v.startswith("skeleton")}
        equal = {n: v for n, v in taken.items() if v.startswith("equal")}
        print(f"torch.export, sizes {how}: takes {len(takes)} of {len(rows)} originals, {len(taken)} of their "
              f"skeletons; outputs equal: {len(equal)} ({sum(v != 'equal' for v in equal.values())} of them to those "
              f"of the exported original, which differ from the original's)")
        for name, text in found.items():
            if name not in equal and text != "original not taken":
                print(f"        {name}: {text}")
        shares.append(len(equal) / len(takes) if takes else 0.0)
    return min(shares)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=24, metavar="N", help="this many, chosen at random (24)")
    parser.add_argument("--rotate", default="export", metavar="TEXT", help="another text, another sample")
    parser.add_argument("--only", metavar="REGEX", help="names that match")
    parser.add_argument("--summary", metavar="FILE", help="print the figures of FILE, run nothing")
    parser.add_argument("--out", metavar="FILE", help="add the rows to FILE")
    parser.add_argument("--texts", metavar="DIR", help="skeletons are kept there, and taken from there")
    parser.add_argument("--cpu", type=int, default=120, metavar="SECONDS", help="of CPU for one model (120)")
    parser.add_argument("--time", type=float, default=600.0, metavar="SECONDS", help="of the clock for one model (600)")
    parser.add_argument("--at-least", type=float, default=0.0, metavar="SHARE",
                        help="exit 4 if less is taken and equal")
    parser.parse_args(namespace=OPTIONS)
    OPTIONS.rerun_failed, OPTIONS.keep = None, None
    if OPTIONS.summary:
        rows = zoo_tool.read_rows(OPTIONS.summary)
    elif not os.path.exists(os.path.join(zoo_tool.ZOO, "zoo.json")):
        print(f"skipped: there is no zoo at {zoo_tool.ZOO} (set PELLUCID_SHARED)", file=sys.stderr)
        return 0
    else:
        rows = measured(zoo_tool.choose(OPTIONS))
    return 4 if print_figures(rows) < OPTIONS.at_least else 0


def measured(names: list[str]) -> list[dict[str, Any]]:
    referees = zoo_tool.import_libraries()
    rows = []
    try:
        for name in names:
            row = zoo_tool.run_limited(name, OPTIONS, export_of)
            rows.append(row)
            if OPTIONS.out:
                with open(OPTIONS.out, "a", encoding="utf-8") as out:
                    print(json.dumps(row), file=out)
            said = "; ".join(f"{how}: {verdict(row, how)[:120]}" for how in HOWS)
            print(f"{name:36} {row.get('making_s', 0):6.1f} s  {said}", flush=True)
    finally:
        referees.close()
    return rows


if __name__ == "__main__":
    sys.exit(main())
