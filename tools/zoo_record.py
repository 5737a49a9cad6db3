#!/usr/bin/env python3
"""Does recording change anything? Many real models, each run plainly and under the recorder, compared bit by bit.

    tools/zoo_record.py --sample 60              a random sample (the same for the same --rotate)
    tools/zoo_record.py --only 'hf/bert|timm/'   names that match
    tools/zoo_record.py --save DIR               keep the traces
    tools/zoo_record.py --events                 with torch's function mode

Compared: outputs in eval and in train mode under one seed, buffers and parameters afterwards, the state of the random
number generator, train flags, the trace function. Each model has a process of its own. One JSON line per model; the
last line is the summary, the exit code says whether all were equal. The zoo: $PELLUCID_SHARED/zoo, by default
../shared/zoo.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import signal
import sys
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ZOO = os.path.join(os.environ.get("PELLUCID_SHARED", os.path.join(HERE, "..", "..", "shared")), "zoo")


def same(a: Any, b: Any, depth: int = 0) -> bool:
    import torch
    if type(a) is not type(b) or depth > 12:
        return False
    if isinstance(a, torch.Tensor):
        a, b = a.detach(), b.detach()
        if a.layout is not torch.strided:
            a, b = a.to_dense(), b.to_dense()
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k], depth + 1) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, depth + 1) for x, y in zip(a, b))
    if isinstance(a, (bool, int, float, str, type(None))):
        return a == b or a != a
    return same(vars(a), vars(b), depth + 1) if hasattr(a, "__dict__") else True


def seed() -> None:
    import numpy
    import torch
    torch.manual_seed(1)
    numpy.random.seed(1)
    random.seed(1)


def outcome(call: Any) -> tuple[Any, str]:
    try:
        return call(), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def compare(name: str, save: str | None, events: bool) -> dict[str, Any]:
    import torch
    import zoo

    from pellucid._pellucid import Recorder
    plain, args, kwargs = zoo.load(name)
    traced, args2, kwargs2 = zoo.load(name)
    recorder = Recorder(traced, origin=name, events=events)
    row: dict[str, Any] = {"name": name, "differs": []}
    for label, grad in (("eval", False), ("train", True)):
        if label == "train":
            plain.train()
            traced.train()
        with torch.set_grad_enabled(grad):
            seed()
            start = time.perf_counter()
            wanted, wanted_error = outcome(lambda: plain(*args, **kwargs))
            between = time.perf_counter()
            after_plain = torch.get_rng_state()
            seed()
            middle = time.perf_counter()
            found, error = outcome(lambda: recorder.run(label, args2, kwargs2))
            row[label] = [round(between - start, 4), round(time.perf_counter() - middle, 4)]
        if wanted_error:
            row[f"{label} raises"] = wanted_error[:200]
        if error.split("0x")[0] != wanted_error.split("0x")[0]:
            row["differs"].append(f"{label}: raises {error[:200]!r}")
        checks = {"output": lambda: same(wanted, found),
                  "random state": lambda: torch.equal(after_plain, torch.get_rng_state()),
                  "parameters": lambda: same(list(plain.parameters()), list(traced.parameters())),
                  "buffers": lambda: same(list(plain.buffers()), list(traced.buffers())),
                  "flags": lambda: [m.training for m in plain.modules()] == [m.training for m in traced.modules()],
                  "trace function": lambda: sys.gettrace() is None}
        row["differs"] += [f"{label}: {what}" for what, check in checks.items() if not check()]
    trace = recorder.log_bytes()
    row["bytes"] = len(trace)
    if save:
        with open(os.path.join(save, re.sub(r"[/:]", "_", name) + ".ptrace"), "wb") as file:
            file.write(trace)
    return row


def in_child(name: str, seconds: int, save: str | None, events: bool) -> dict[str, Any]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
        signal.alarm(seconds)
        try:
            row = compare(name, save, events)
        except BaseException as error:
            row = {"name": name, "differs": [f"failed: {type(error).__name__}: {str(error)[:200]}"]}
        with os.fdopen(writer, "w") as pipe:
            json.dump(row, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text:
        return json.loads(text)
    return {"name": name, "differs": [f"died: signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "died"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--rotate", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--save")
    parser.add_argument("--events", action="store_true")
    parser.add_argument("--seconds", type=int, default=300)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with open(os.path.join(ZOO, "zoo.json")) as file:
        names = [row["name"] for row in json.load(file) if re.search(options.only, row["name"])]
    if options.sample:
        names = random.Random(options.rotate).sample(names, min(options.sample, len(names)))
    import torch
    torch.set_num_threads(1)
    sys.path.insert(0, ZOO)
    import zoo
    zoo.shim()
    for package in ("transformers", "timm", "torchvision.models", "pellucid._pellucid"):  # once, for all children
        __import__(package)
    equal = 0
    for name in names:
        row = in_child(name, options.seconds, options.save, options.events)
        equal += not row["differs"]
        print(json.dumps(row), flush=True)
    print(json.dumps({"models": len(names), "equal": equal}))
    return 0 if equal == len(names) else 4


if __name__ == "__main__":
    sys.exit(main())
