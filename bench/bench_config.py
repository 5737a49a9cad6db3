#!/usr/bin/env python3
"""Configs of skeletons: how many models of the zoo get one, with how many fields, equal in how many other sizes.

    bench/bench_config.py --hf 20 --timm 10          models of the zoo (PELLUCID_SHARED) by their SPECs, at random
    bench/bench_config.py --one 'hf:bert'            one SPEC, as JSON

Each model runs in a process of its own with a time limit. A field counts if original and skeleton were bit-equal with
it changed. "resized twice": they were bit-equal at two configurations with several fields changed. "silently wrong": at
a third configuration of all fields, which nothing of the making has seen, the skeleton gave something else without an
error.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
import warnings
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ZOO = os.path.join(os.environ.get("PELLUCID_SHARED", os.path.join(ROOT, "..", "shared")), "zoo")
LIMIT = int(os.environ.get("BENCH_LIMIT", "400"))  # seconds for a model


def specs(kind: str, count: int, seed: str) -> list[tuple[str, str]]:
    """Names of the zoo; how each is named for pellucid is found in its own process."""
    with open(os.path.join(ZOO, "hf_recipes.json" if kind == "hf" else "timm_choice.json"), encoding="utf-8") as file:
        rows = json.load(file)
    names = sorted(n for n, row in rows.items() if kind != "hf" or row["head"] == "base")
    chosen = random.Random(f"{seed}/{kind}").sample(names, min(count, len(names)))
    return [(kind, name) for name in chosen]


def spec_of(kind: str, name: str) -> tuple[str, list[str], Any]:
    """SPEC, --input options, and the zoo's own inputs where the spec does not say enough."""
    sys.path.insert(0, ZOO)
    if kind == "timm":
        with open(os.path.join(ZOO, "timm_choice.json"), encoding="utf-8") as file:
            row = json.load(file)[name]
        arguments = ", ".join(f"{k}={v!r}" for k, v in row["kw"].items())
        return f"timm:{row['model']}({arguments})", [f"2x3x{row['size']}x{row['size']}"], None
    import zoo
    import zoo_hf
    model, args, kwargs = zoo.load(name)
    config = model.config
    fresh, defaults = type(config)(), zoo_hf.field_defaults(type(config))
    changed = {}
    for key, default in defaults.items():
        value = getattr(config, key, None)
        plain = isinstance(value, (int, float)) or (isinstance(value, (list, tuple)) and all(
            isinstance(v, (int, float, str)) for v in value))
        if plain and default is not None and value != getattr(fresh, key, None):
            changed[key] = value
    return f"hf:{config.model_type}({', '.join(f'{k}={v!r}' for k, v in changed.items())})", [], (args, kwargs)


def measure(spec: str, texts: list[str], inputs: Any) -> dict[str, Any]:
    import torch
    from pellucid import _config, _specs
    from pellucid._skeleton import skeleton

    def make() -> Any:
        subject = _specs.load(spec)
        try:
            _specs.give_inputs(subject, texts, None)
            if not _config._runs(subject.model, (subject.args, subject.kwargs)):
                raise ValueError
        except Exception:
            if inputs is None:
                raise
            subject.args, subject.kwargs = inputs
        return subject

    torch.manual_seed(0)
    subject = make()
    start = time.perf_counter()
    made = skeleton(subject.model, subject.args, subject.kwargs, strict=False, origin=spec, progress=False)
    taken = round(time.perf_counter() - start, 1)
    row: dict[str, Any] = {"spec": spec, "good": made.report.good, "plain seconds": taken}
    if made.report.good:
        outcome = _config.with_config(made, subject, make)
        row.update(outcome.to_dict(), lines=made.source.count("\n"))
        row["unseen"] = unseen(made, subject, make, outcome)
    return row


def unseen(made: Any, subject: Any, make: Any, outcome: Any) -> str:
    """At sizes that were never built: "equal", "raises", or what differs. "" where the original takes none."""
    from pellucid import _config
    from pellucid._config_join import Joined
    work = _config.Fitting(made, subject, lambda text: None)
    family = _config.family_of(subject, make)
    if not outcome.fields or family is None:
        return ""
    work.family = family
    joined = Joined(_config.body_of(made.source), outcome.fields, {})
    numbers = {n: 4 * v if isinstance(v, int) and v >= 8 else v + 3 if isinstance(v, int) else v * 0.625
               for n, v in outcome.fields.items()}
    changes: dict[str, Any] = {}
    best = None
    for name, value in numbers.items():  # as many together as the model takes
        found = work._build({**changes, name: value})
        if found is not None:
            changes, best = {**changes, name: value}, found
    return "" if best is None else work._differs(joined, changes, *best) or "equal"


def run(kind: str, name: str) -> dict[str, Any]:
    command = [sys.executable, os.path.abspath(__file__), "--one", f"{kind}/{name}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        return json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"spec": name, "error": f"more than {LIMIT} s"}
    except (IndexError, ValueError):
        return {"spec": name, "error": (done.stderr.strip().splitlines() or ["?"])[-1][:200]}


def report(rows: list[dict[str, Any]]) -> None:
    for kind in ("hf", "timm"):
        some = [r for r in rows if r["kind"] == kind]
        if not some:
            continue
        good = [r for r in some if r.get("good")]
        three = [r for r in good if len(r.get("fields", ())) >= 3]
        twice = [r for r in good if len(r.get("equal", ())) >= 2]
        seen = [r["unseen"] for r in good if r.get("unseen")]
        loud = [u for u in seen if u != "equal" and any(w in u for w in ("Error", "load:", "raises", "build:"))]
        wrong = [u for u in seen if u != "equal" and u not in loud]
        print(f"{kind}: {len(some)} models, {len(good)} with an equal skeleton; Config of >= 3 fields {len(three)}, "
              f"resized twice {len(twice)}; at unseen sizes {seen.count('equal')} equal, {len(loud)} raise, "
              f"{len(wrong)} silently wrong, of {len(seen)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hf", type=int, default=0, metavar="N")
    parser.add_argument("--timm", type=int, default=0, metavar="N")
    parser.add_argument("--seed", default="config", help="of the choice")
    parser.add_argument("--one", metavar="SPEC", help="a SPEC, or hf/NAME, timm/NAME of the zoo")
    options = parser.parse_args()
    if options.one:
        kind, slash, name = options.one.partition("/")
        spec = spec_of(kind, name) if slash and ":" not in kind else (options.one, [], None)
        print(json.dumps(measure(*spec)))
        return 0
    rows = []
    for kind, name in specs("hf", options.hf, options.seed) + specs("timm", options.timm, options.seed):
        row = {**run(kind, name), "kind": kind, "name": name}
        rows.append(row)
        fields = f"{len(row['fields'])} fields, {len(row['equal'])} together, {row.get('unseen')}" if "fields" in row \
            else row.get("error", "no equal skeleton")
        print(f"{kind}/{name}: {fields} ({row.get('seconds', 0)} s)", flush=True)
        if os.environ.get("BENCH_ROWS"):
            with open(os.environ["BENCH_ROWS"], "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    report(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
