#!/usr/bin/env python3
"""What `--prove` shows of the zoo's models, and which of their skeletons torch.export takes.

    bench/bench_prove.py --sample 60            a random sample (the same for the same --rotate)
    bench/bench_prove.py --only 'hf/bert'       names that match
    bench/bench_prove.py --export --sample 20   torch.export of the original and of the skeleton instead
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
import random
import re
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


def proof_of(name: str, _: str | None) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_CPU, (OPTIONS.cpu, OPTIONS.cpu + 5))
    zoo_tool.announce("skeleton")
    made, facts = made_of(name)
    zoo_tool.announce("proof")
    start = time.process_time()
    answer = made.prove()
    return {"name": name, "checks": {}, **facts, "proving_s": round(time.process_time() - start, 2),
            "kind": answer.kind, "evidence": answer.evidence}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N", help="this many, chosen at random")
    parser.add_argument("--rotate", default="prove", metavar="TEXT", help="another text, another sample")
    parser.add_argument("--only", metavar="REGEX", help="names that match")
    parser.add_argument("--out", default="prove.jsonl", metavar="FILE", help="where rows go, appended (prove.jsonl)")
    parser.add_argument("--texts", metavar="DIR")
    parser.add_argument("--cpu", type=int, default=90, metavar="SECONDS", help="of CPU for one model (90)")
    parser.add_argument("--time", type=float, default=600.0, metavar="SECONDS", help="of the clock for one model (600)")
    parser.parse_args(namespace=OPTIONS)
    OPTIONS.rerun_failed, OPTIONS.keep = None, None
    names = zoo_tool.choose(OPTIONS)
    referees = zoo_tool.import_libraries()
    with open(OPTIONS.out, "a", encoding="utf-8") as out:
        for name in names:
            row = zoo_tool.run_limited(name, OPTIONS, proof_of)
            print(json.dumps(row), file=out, flush=True)
            print(f"{name:40} {row.get('kind', 'none'):8} {row.get('making_s')} {row.get('proving_s')} {row.get('error','')} {(row.get('evidence') or [''])[0][:200]}", flush=True)
    referees.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
