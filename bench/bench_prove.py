#!/usr/bin/env python3
"""What `--prove` shows of the zoo's models.

    bench/bench_prove.py --sample 60            a random sample (the same for the same --rotate)
    bench/bench_prove.py --only 'hf/bert'       names that match
    bench/bench_prove.py --texts DIR            keep the skeletons there, and take those that are there as they are
    bench/bench_prove.py --summary FILE         the figures of a run

Each model has a (forked) process of its own and a limit of CPU time, for making the skeleton and proving it. Rows are
JSON lines. What counts: a dimension is the batch or a length if the model was run with another one when the skeleton
was recorded ("other batch", "other length").
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import os
import resource
import sys
import time
import warnings
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
spec = importlib.util.spec_from_file_location("zoo_tool", os.path.join(ROOT, "tools", "zoo.py"))
assert spec is not None and spec.loader is not None
zoo_tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(zoo_tool)
OPTIONS = argparse.Namespace()


def made_of(name: str) -> tuple[Any, dict[str, Any]]:
    """The skeleton, made or read, and facts about it."""
    import pellucid
    import torch
    import zoo
    from pellucid._skeleton import Skeleton
    from pellucid._verdict import Report
    model, args, kwargs = zoo.load(name)
    path = os.path.join(OPTIONS.texts, name.replace("/", "_")) if OPTIONS.texts else ""
    start = time.process_time()
    if path and os.path.exists(path + ".pt"):
        kept = torch.load(path + ".pt", weights_only=False)
        with open(path + ".py", encoding="utf-8") as file:
            made = Skeleton(file.read(), kept["facts"]["root"], None, Report(), model=model, given=kept["given"])
        made.varied = kept["facts"]["varied"]
        return made, kept["facts"]
    made = pellucid.skeleton(model, args, kwargs, strict=False, origin=name)
    facts = {"root": made.root, "good": made.report.good, "varied": made.varied,
             "seconds": made.report.seconds, "making_s": round(time.process_time() - start, 2)}
    if path:
        os.makedirs(OPTIONS.texts, exist_ok=True)
        with open(path + ".py", "w", encoding="utf-8") as file:
            file.write(made.source)
        torch.save({"facts": facts, "given": made.given}, path + ".pt")
    return made, facts


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (OPTIONS.cpu, OPTIONS.cpu + 5))


def proof_of(name: str, _: str | None) -> dict[str, Any]:
    limited()
    zoo_tool.announce("skeleton")
    made, facts = made_of(name)
    zoo_tool.announce("proof")
    start = time.process_time()
    answer = made.prove()
    sizes = [[mode, [[s.tensor, s.axis, s.free, s.who, s.original, s.skeleton] for s in found]]
             for mode, found in answer.sizes]
    return {"name": name, "checks": {}, **facts, "proving_s": round(time.process_time() - start, 2),
            "kind": answer.kind, "evidence": answer.evidence, "sizes": sizes}


# ---- figures ----

def class_of(row: dict[str, Any]) -> tuple[str, str]:
    """What was shown of a model, and the line or the reason that goes with it."""
    if "kind" not in row:
        return "no answer", f"{row.get('stage', '')}: {row.get('error', '')}"
    if not row["good"]:
        return "no accepted skeleton", ""
    if row["kind"] != "proved":
        return {"wrong": "differs", "unknown": "not provable"}[row["kind"]], row["evidence"][0]
    wanted = {(t, i) for dims in row["varied"].values() for t, i in dims}
    claims = [{(t, i): (free, who, by, at) for t, i, free, who, by, at in sizes}
              for mode, sizes in row["sizes"] if mode == "eval"]
    if not claims:
        return "not provable", row["evidence"][-1]
    if not wanted:
        return "proved, the model takes no other size", ""
    freed = [{d for d, (free, *_) in claim.items() if free} for claim in claims]
    if any(wanted <= free for free in freed):
        return "proved, batch and length free", ""
    if wanted <= set().union(*freed):
        return "proved, each free with the others fixed", ""
    left = sorted(wanted - set().union(*freed))
    found = [claim[d] for d in left for claim in claims if d in claim]
    failed = next((e for e in row["evidence"][1:] if "eval mode" in e), "not tried")
    lines = "; ".join(dict.fromkeys(f"{who} at {by or at}" for _, who, by, at in found))
    if len(found) and all(who != "the skeleton" for _, who, _, _ in found):
        return "proved, fixed by the original too", f"{left}: {lines}"
    if not found:
        return "proved for the batch alone", failed
    return "proved, fixed by the skeleton alone", f"{left}: {lines}"


def print_figures(rows: list[dict[str, Any]]) -> float:
    found = [(class_of(row), row) for row in rows]
    counts = collections.Counter(kind for (kind, _), _ in found)
    for kind, count in counts.most_common():
        print(f"{count:4} of {len(rows)}  {kind}")
        if kind != "proved, batch and length free":
            for (of, why), row in found:
                if of == kind:
                    print(f"        {row['name']}: {why[:150]}")
    times = sorted((row["proving_s"] / max(row["making_s"], 0.01), row["name"]) for row in rows if "proving_s" in row)
    if times:
        print(f"seconds of CPU for the proof by those for the skeleton in this process: median "
              f"{times[len(times) // 2][0]:.1f}; longest proof {max(r.get('proving_s', 0) for r in rows):.0f} s")
    free = counts["proved, batch and length free"]
    print(f"proved with batch and length free: {free} of {len(rows)} ({free / max(1, len(rows)):.0%})")
    return free / max(1, len(rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N", help="this many, chosen at random")
    parser.add_argument("--rotate", default="prove", metavar="TEXT", help="another text, another sample")
    parser.add_argument("--only", metavar="REGEX", help="names that match")
    parser.add_argument("--summary", metavar="FILE", help="print the figures of FILE, run nothing")
    parser.add_argument("--out", metavar="FILE", help="add the rows to FILE")
    parser.add_argument("--texts", metavar="DIR", help="skeletons are kept there, and taken from there")
    parser.add_argument("--cpu", type=int, default=90, metavar="SECONDS", help="of CPU for one model (90)")
    parser.add_argument("--time", type=float, default=600.0, metavar="SECONDS", help="of the clock for one model (600)")
    parser.add_argument("--at-least", type=float, default=0.0, metavar="SHARE", help="exit 4 if less is shown")
    parser.parse_args(namespace=OPTIONS)
    OPTIONS.rerun_failed, OPTIONS.keep = None, None
    if OPTIONS.summary:
        rows = zoo_tool.read_rows(OPTIONS.summary)
    elif not os.path.exists(os.path.join(zoo_tool.ZOO, "zoo.json")):
        print(f"skipped: there is no zoo at {zoo_tool.ZOO} (set PELLUCID_SHARED)", file=sys.stderr)
        return 0
    else:
        rows = measured(zoo_tool.choose(OPTIONS))
    share = print_figures(rows)
    return 4 if share < OPTIONS.at_least else 0


def measured(names: list[str]) -> list[dict[str, Any]]:
    referees = zoo_tool.import_libraries()
    rows = []
    try:
        for name in names:
            row = zoo_tool.run_limited(name, OPTIONS, proof_of)
            rows.append(row)
            if OPTIONS.out:
                with open(OPTIONS.out, "a", encoding="utf-8") as out:
                    print(json.dumps(row), file=out)
            said = ": ".join(filter(None, class_of(row)))
            print(f"{name:40} {row.get('making_s', 0):6.1f} {row.get('proving_s', 0):6.1f} s  {said[:150]}", flush=True)
    finally:
        referees.close()
    return rows


if __name__ == "__main__":
    sys.exit(main())
