#!/usr/bin/env python3
"""Skeletons beside torch.export: time for source, growth with depth, lines; and what recording costs.

    bench/bench_skeleton.py            the built-in models, which need torch alone
    bench/bench_skeleton.py --zoo 8    and of the zoo's: as many at full depth, as many small configurations

Times are the best of three, all in one process and one run, order alternating.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import os
import statistics
import sys
import time
import warnings
from typing import Any, Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
from pellucid import _pellucid  # noqa: E402
from torch import nn  # noqa: E402

# Of the zoo. torch.export writes every layer out, so how it compares depends on how many there are.
CHOSEN = {
    "full depth": ["tv/resnet18", "timm/deit_tiny_patch16_224", "tv/vgg11_bn", "tv/densenet121",
                   "timm/mobilenetv3_small_050", "tv/efficientnet_b0", "timm/pit_xs_224", "timm/resnetv2_18",
                   "timm/poolformerv2_s12", "tv/regnet_x_400mf"],
    "two layers": ["hf/bert:MaskedLM", "hf/llama", "hf/phi", "hf/gpt2", "hf/convnext", "hf/vit", "hf/glpn",
                   "hf/pvt_v2", "hf/opt", "hf/regnet"],
}

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED = os.environ.get("PELLUCID_SHARED", os.path.join(ROOT, "..", "shared"))


def load_demo() -> Any:
    """The built-in example, as a library outside of the package."""
    spec = importlib.util.spec_from_file_location("lumen", os.path.join(ROOT, "python", "pellucid", "demo_model.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["lumen"] = module
    spec.loader.exec_module(module)
    return module


def demo_of(layers: int) -> tuple[nn.Module, tuple, dict]:
    lumen = load_demo()
    torch.manual_seed(0)
    config = lumen.LumenConfig(num_layers=layers, use_cache=False, return_dict=False)
    return lumen.LumenForCausalLM(config).eval(), (), lumen.demo_inputs()


def best(action: Callable[[], Any], times: int = 3) -> float:
    found = []
    for _ in range(times):
        gc.collect()
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return min(found)


def source_of(model: nn.Module, args: tuple, kwargs: dict) -> str:
    """One recording and its synthesis: the source, without further runs and verification."""
    recorder = _pellucid.Recorder(model)
    with torch.no_grad():
        recorder.run("given", args, kwargs)
    return _pellucid.synthesise(recorder.log_bytes())[0]


def exported(model: nn.Module, args: tuple, kwargs: dict) -> str:
    with torch.no_grad():
        return torch.export.export(model, args, kwargs).graph_module.print_readable(print_output=False)


def lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def row(name: str, model: nn.Module, args: tuple, kwargs: dict) -> tuple[float, float] | None:
    def forward() -> None:
        with torch.no_grad():
            model(*args, **kwargs)

    forward()
    plain = best(forward)
    try:
        text = source_of(model, args, kwargs)
        ours = best(lambda: source_of(model, args, kwargs))
        recording = recording_ratio(model, args, kwargs, plain)
    except Exception as error:
        print(f"{name:24} no skeleton: {str(error)[:90]}")
        return None
    try:
        peer_text = exported(model, args, kwargs)
        peer = best(lambda: exported(model, args, kwargs), 1)
    except Exception as error:
        print(f"{name:24} {ours:8.3f} s {lines(text):6} lines   torch.export fails: {type(error).__name__}")
        return None
    print(f"{name:24} {ours:8.3f} s {lines(text):6} lines   export {peer:8.3f} s {lines(peer_text):6} lines   "
          f"time {ours / peer:5.2f}   lines {lines(text) / lines(peer_text):5.2f}   "
          f"recording ÷ forward {recording:5.2f}")
    return ours / peer, lines(text) / lines(peer_text)


def recording_ratio(model: nn.Module, args: tuple, kwargs: dict, plain: float) -> float:
    """What a second recorded call costs: tables of files and modules are there by then."""
    recorder = _pellucid.Recorder(model)
    with torch.no_grad():
        recorder.run("given", args, kwargs)
        return best(lambda: recorder.run("again", args, kwargs)) / plain


def growth() -> None:
    print("\ndepth of the built-in model:")
    found = {}
    for layers in (4, 40):
        model, args, kwargs = demo_of(layers)
        source_of(model, args, kwargs)
        found[layers] = (best(lambda: source_of(model, args, kwargs)), lines(source_of(model, args, kwargs)))
        print(f"{layers:4} layers {found[layers][0]:8.3f} s {found[layers][1]:6} lines")
    (few_s, few_lines), (many_s, many_lines) = found[4], found[40]
    print(f"10 times the layers: {many_s / few_s:.1f} times the time, {many_lines - few_lines} more lines")


def memory() -> None:
    """What a recording keeps alive: the peak of a process that records against one that only runs."""
    print("\nmemory of one forward of a wide network:")
    peaks = []
    for record in (False, True):
        pid = os.fork()
        if pid == 0:
            torch.manual_seed(0)
            model = nn.Sequential(*[nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
                                    for _ in range(30)]).eval()
            x = torch.randn(4, 16, 256, 256)
            with torch.no_grad():
                _pellucid.Recorder(model).run("given", (x,), {}) if record else model(x)
            os._exit(0)
        _, status, used = os.wait4(pid, 0)
        if status:
            sys.exit(f"a forward failed: status {status}")
        peaks.append(used.ru_maxrss / 1024)
    print(f"plain {peaks[0]:.0f} MB, recorded {peaks[1]:.0f} MB: {peaks[1] / peaks[0]:.2f}")


def zoo_rows(count: int) -> dict[str, list[tuple[float, float]]]:
    folder = os.path.join(SHARED, "zoo")
    if not os.path.exists(os.path.join(folder, "zoo.json")):
        print(f"skipped: there is no zoo at {folder}")
        return {}
    sys.path.insert(0, folder)
    import zoo
    known = zoo.names()
    return {kind: [r for n in [n for n in names if n in known][:count] if (r := row(n, *zoo.load(n)))]
            for kind, names in CHOSEN.items()}


def print_medians(kind: str, rows: list[tuple[float, float]]) -> None:
    if rows:
        print(f"median of {len(rows)} ({kind}): time for source ÷ export {statistics.median(t for t, _ in rows):.2f}, "
              f"lines ÷ export's print {statistics.median(n for _, n in rows):.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", type=int, default=0, metavar="N", help="as many models of the zoo, of each kind")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = {"built-in": [r for r in (row("demo, 4 layers", *demo_of(4)), row("demo, 16 layers", *demo_of(16))) if r]}
    if options.zoo:
        found |= zoo_rows(options.zoo)
    for kind, rows in found.items():
        print_medians(kind, rows)
    print_medians("all", [r for rows in found.values() for r in rows])
    growth()
    memory()
    return 0


if __name__ == "__main__":
    sys.exit(main())
