#!/usr/bin/env python3
"""What a skeleton costs, in forwards of the model: with the default checks, without, and where each of them goes.

    bench/bench_cost.py                  resnet18, a batch of 2 at 224 pixels, one thread
    bench/bench_cost.py --model NAME     another model of torchvision
    bench/bench_cost.py --size 64        other pictures

CPU time of this process and of the referee's together, so that a busy machine changes little; torch is imported and the
referee's process started before. The forward is the median of nine, without gradients. The median of
`--rounds` counts.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import sys
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python" / "pellucid"))
import _torchvision  # noqa: E402

sys.path.pop(0)
import torch  # noqa: E402

import pellucid  # noqa: E402
from pellucid import _verify  # noqa: E402


def cpu_of_referee() -> float:
    """Of its process and of those that it has waited for."""
    server = _verify.start_referee()
    if server is None:
        return 0.0
    with open(f"/proc/{server.process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def forward_of(model: torch.nn.Module, x: torch.Tensor) -> float:
    found = []
    with torch.no_grad():
        for _ in range(9):
            start = time.process_time()
            model(x)
            found.append(time.process_time() - start)
    return statistics.median(found)


def cost_of(model: torch.nn.Module, x: torch.Tensor, checks: bool) -> tuple[float, float, Any]:
    here, there = time.process_time(), cpu_of_referee()
    made = pellucid.skeleton(model, (x,), verify=checks, progress=False)
    return time.process_time() - here, cpu_of_referee() - there, made


def print_runs(report: Any, forward: float) -> None:
    """Each run on both sides; what is not a run is what remains."""
    original = {run["name"]: run["seconds"] for run in report.runs}
    skeleton: dict[str, float] = {}
    for check in report.checks:
        name = max((n for n in original if check.name == n or check.name.startswith(n + ": ")), key=len,
                   default=check.name)
        name = "gradients enabled" if check.name == "gradients" else name
        skeleton[name] = skeleton.get(name, 0.0) + check.seconds
    print(f"\n{'check':28} original skeleton   (forwards, by the clock)")
    for name in dict.fromkeys((*original, *skeleton)):
        one, other = original.get(name, 0.0) / forward, skeleton.get(name, 0.0) / forward
        if one + other >= 0.05:
            print(f"{name:28} {one:8.2f} {other:8.2f}")
    print(f"{'all':28} {sum(original.values()) / forward:8.2f} {sum(skeleton.values()) / forward:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    _torchvision.stand_in()
    import torchvision.models
    torch.manual_seed(0)
    model = getattr(torchvision.models, options.model)().eval()
    x = torch.randn(2, 3, options.size, options.size)
    pellucid.skeleton(torch.nn.Linear(3, 3).eval(), (torch.randn(2, 3),), progress=False)  # starts the referee
    forward_of(model, x)
    rows: dict[bool, list[tuple[float, float, float]]] = {True: [], False: []}
    for _ in range(options.rounds):
        for checks in (True, False):
            forward = forward_of(model, x)
            here, there, made = cost_of(model, x, checks)
            rows[checks].append(((here + there) / forward, here / forward, there / forward))
            if checks:
                report = made.report
    for checks, found in rows.items():
        total, here, there = sorted(found)[len(found) // 2]
        print(f"{options.model}, {'default checks' if checks else 'no checks'}: {total:.1f} forwards "
              f"(here {here:.1f}, referee {there:.1f}); one forward {forward * 1e3:.1f} ms")
    print_runs(report, forward)


if __name__ == "__main__":
    main()
