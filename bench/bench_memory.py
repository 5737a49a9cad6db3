#!/usr/bin/env python3
"""What a skeleton takes of memory, by the weights of the model: its own process and the referee's, the peak of each.

    bench/bench_memory.py                  a Llama of 12 layers of 768
    bench/bench_memory.py --layers 4

Proportional set size (Linux only) over that of a process that has imported torch; the model's process also as over what
it has after the library of the model, too, is imported: that is no copy of anything.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python" / "pellucid"))
import _torchvision  # noqa: E402

sys.path.pop(0)
import torch  # noqa: E402


def memory_of(process: int) -> float:
    """MiB; 0 of a process that is gone."""
    try:
        with open(f"/proc/{process}/smaps_rollup") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024
    except OSError:
        return 0.0


def children_of(process: int) -> list[int]:
    try:
        texts = [pathlib.Path(f"/proc/{process}/task/{task}/children").read_text()
                 for task in os.listdir(f"/proc/{process}/task")]
    except OSError:
        return []
    own = [int(word) for text in texts for word in text.split()]
    return [*own, *(each for child in own for each in children_of(child))]


class Peaks(threading.Thread):
    """Looks thirty times in a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.own = self.referee = 0.0

    def run(self) -> None:
        while True:
            self.own = max(self.own, memory_of(os.getpid()))
            self.referee = max(self.referee, *(memory_of(child) for child in children_of(os.getpid())), 0.0)
            time.sleep(0.03)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--length", type=int, default=16)
    options = parser.parse_args()
    after_torch = memory_of(os.getpid())
    _torchvision.stand_in()
    import pellucid
    from transformers import LlamaConfig, LlamaForCausalLM
    after_imports = memory_of(os.getpid())
    width = options.width
    config = LlamaConfig(vocab_size=2000, hidden_size=width, intermediate_size=8 * width // 3,
                         num_hidden_layers=options.layers, num_attention_heads=width // 64,
                         num_key_value_heads=width // 64)
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).eval()
    weights = sum(p.numel() * p.element_size() for p in model.parameters()) / 2**20
    peaks = Peaks()
    peaks.start()
    made = pellucid.skeleton(model, torch.randint(0, 2000, (1, options.length)), progress=False)
    print(f"{weights:.0f} MiB of weights, {made!r}")
    print(f"model's process: {(peaks.own - after_torch) / weights:.2f} x the weights over torch alone, "
          f"{(peaks.own - after_imports) / weights:.2f} x over all imports")
    print(f"referee: {(peaks.referee - after_torch) / weights:.2f} x over torch alone")
    print(next((line for line in made.source.splitlines() if "float64" in line), "float64 was compared"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
