"""What recording costs: time of one forward under the recorder by that of a plain one, and memory beyond it.

    python bench/bench_record.py               needs torch; torchvision and transformers for the named models

Blocks of plain and of recorded runs alternate, so that a busy machine slows both; the fastest of each block counts,
since the first one after a change finds cold caches; CPU time, the median of the ratios. "first" is
the first run of a recorder in the process: module tree, sources and library names are read then. Memory is the peak of
the process, measured in processes of their own.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time
from typing import Any, Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python" / "pellucid"))
import _torchvision  # noqa: E402

os.environ.setdefault("OMP_NUM_THREADS", "1")
Model = tuple[Any, tuple, dict]
BLOCK = 5


def resnet18() -> Model:
    import torch
    import torchvision.models
    return torchvision.models.resnet18().eval(), (torch.randn(1, 3, 224, 224),), {}


def resnet50() -> Model:
    import torch
    import torchvision.models
    return torchvision.models.resnet50().eval(), (torch.randn(8, 3, 224, 224),), {}


def tiny_llama() -> Model:
    import torch
    from transformers import LlamaConfig, LlamaModel
    config = LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=4, vocab_size=256)
    return LlamaModel(config).eval(), (), {"input_ids": torch.randint(0, 256, (2, 12))}


def tiny_bert() -> Model:
    import torch
    from transformers import BertConfig, BertModel
    config = BertConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                        num_attention_heads=4, vocab_size=256)
    return BertModel(config).eval(), (), {"input_ids": torch.randint(0, 256, (2, 12))}


def tiny_transformer() -> Model:
    """Two layers, written as people write them; needs torch alone."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, size: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
            self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
            self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

        def attention(self, x: torch.Tensor) -> torch.Tensor:
            batch, length, size = x.shape
            q, k, v = self.qkv(x).view(batch, length, 3, self.heads, size // self.heads).permute(2, 0, 3, 1, 4)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(mixed.transpose(1, 2).reshape(batch, length, size))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x + self.attention(self.norm1(x))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    class Tiny(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(256, 64)
            self.layers = nn.ModuleList(Layer(64, 4) for _ in range(2))
            self.norm = nn.LayerNorm(64)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            x = self.embed(ids)
            for layer in self.layers:
                x = layer(x)
            return self.norm(x)
    return Tiny().eval(), (torch.randint(0, 256, (2, 12)),), {}


MODELS: dict[str, Callable[[], Model]] = {
    "resnet18": resnet18, "tiny_transformer": tiny_transformer, "tiny_llama": tiny_llama, "tiny_bert": tiny_bert}


def measure(name: str, rounds: int) -> None:
    import torch

    from pellucid._pellucid import Recorder
    torch.set_num_threads(1)
    model, args, kwargs = MODELS[name]()

    def timed(call: Callable[[], Any], times: int = 1) -> float:
        found = []
        for _ in range(times):
            start = time.process_time()
            call()
            found.append(time.process_time() - start)
        return min(found)
    with torch.no_grad():
        for _ in range(3):
            model(*args, **kwargs)
        recorder = Recorder(model)
        first = timed(lambda: recorder.run("first", args, kwargs))
        pairs = []
        for number in range(rounds):
            if number % 10 == 0:
                recorder = Recorder(model)
                recorder.run("warm", args, kwargs)
            pairs.append((timed(lambda: model(*args, **kwargs), BLOCK),
                          timed(lambda: recorder.run("again", args, kwargs), BLOCK)))
    plain, traced = (statistics.median(column) for column in zip(*pairs))
    ratio = statistics.median(b / a for a, b in pairs)
    print(f"{name:<18}{plain * 1e3:>10.2f} ms{traced * 1e3:>10.2f} ms{ratio:>8.2f}{first * 1e3:>12.1f} ms", flush=True)


def peak(kind: str) -> None:
    """Prints the peak of this process in MiB, after one forward."""
    import torch

    from pellucid._pellucid import Recorder
    torch.set_num_threads(1)
    model, args, kwargs = resnet50()
    with torch.no_grad():
        if kind == "recorded":
            Recorder(model).run("call", args, kwargs)
        elif kind == "plain":
            model(*args, **kwargs)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", choices=(*MODELS, "memory"))
    parser.add_argument("--peak", choices=("none", "plain", "recorded"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    _torchvision.stand_in()
    if options.peak:
        peak(options.peak)
        return
    print(f"{'':<18}{'plain':>13}{'recorded':>13}{'ratio':>8}{'first':>15}")
    for name in MODELS:
        if options.only in (None, name):
            try:
                measure(name, options.rounds if name != "resnet18" else options.rounds // 4)
            except (ImportError, RuntimeError) as error:
                print(f"{name:<18}skipped: {error}")
    if options.only in (None, "memory"):
        command = [sys.executable, __file__, "--peak"]
        none, plain, recorded = (float(subprocess.run([*command, kind], check=True, text=True,
                                                      stdout=subprocess.PIPE).stdout)
                                 for kind in ("none", "plain", "recorded"))
        print(f"resnet50, 8 images: peak {plain:.0f} MiB plain, {recorded:.0f} recorded; the forward itself takes "
              f"{plain - none:.0f}, recorded {recorded - none:.0f}: {(recorded - none) / (plain - none):.2f}")


if __name__ == "__main__":
    main()
