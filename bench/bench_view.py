"""What looking at a model costs: tree, numbers and HTML page of one watched run, by a plain forward; torchinfo beside
it.

    python bench/bench_view.py            needs torch; timm and transformers for the named models, torchinfo to compare

Plain, ours and theirs take turns, so that a busy machine slows all of them; CPU time, the median of the ratios. The
last columns are multiply-adds: the true number is torch's own counter's with attention as plain products of matrices,
since that counter passes over the processor's fused attention.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from typing import Any, Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python", "pellucid"))
import _torchvision  # noqa: E402

ROUNDS = 5


def resnet50() -> Any:
    import timm
    import torch
    return timm.create_model("resnet50").eval(), (torch.randn(1, 3, 224, 224),)


def bert_base() -> Any:
    import torch
    from transformers import BertConfig, BertModel
    return BertModel(BertConfig()).eval(), (torch.randint(0, 1000, (1, 128)),)


def vit_large() -> Any:
    import timm
    import torch
    return timm.create_model("vit_large_patch16_224").eval(), (torch.randn(1, 3, 224, 224),)


def cpu_time(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> int:
    try:
        import torch
    except ImportError:
        print("bench_view: skipped, torch is not installed")
        return 0
    import pellucid
    _torchvision.stand_in()
    try:
        import torchinfo
    except ImportError:
        torchinfo = None
        print("bench_view: torchinfo is not installed, nothing to compare with")
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
    torch.set_grad_enabled(False)
    print(f"{'model':12} {'ours/forward':>14} {'torchinfo/forward':>18} "
          f"{'ours G':>8} {'torchinfo G':>12} {'true G':>8}")
    for make in (resnet50, bert_base, vit_large):
        try:
            model, args = make()
        except ImportError as error:
            print(f"{make.__name__:12} skipped: {error}")
            continue
        views: dict[str, Callable[[], Any]] = {"plain": lambda: model(*args),
                                               "ours": lambda: pellucid.tree(model, args).html()}
        if torchinfo:
            views["torchinfo"] = lambda: str(torchinfo.summary(model, input_data=args, verbose=0))
        for run in views.values():
            run()
        ratios: dict[str, list[float]] = {name: [] for name in views}
        for _ in range(ROUNDS):
            times = {name: cpu_time(run) for name, run in views.items()}
            for name in views:
                ratios[name].append(times[name] / times["plain"])
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            model(*args)
        found = [pellucid.tree(model, args).to_dict()["networks"][0]["totals"]["flops"],
                 torchinfo.summary(model, input_data=args, verbose=0).total_mult_adds if torchinfo else float("nan"),
                 counter.get_total_flops() / 2]
        theirs = statistics.median(ratios["torchinfo"]) if torchinfo else float("nan")
        print(f"{make.__name__:12} {statistics.median(ratios['ours']):14.2f} {theirs:18.2f} "
              + " ".join(f"{x / 1e9:{w}.2f}" for x, w in zip(found, (8, 12, 8))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
