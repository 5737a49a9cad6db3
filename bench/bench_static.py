"""How much of what libraries build `pellucid scan` reads from their source alone, and how fast.

    python bench/bench_static.py [FIGURE...] [--sample N | --all] [--seed S] [--names A,B] [--truth DIR] [--root DIR]

Figures (all of them, where none is named):

timm, torchvision, transformers
             the state_dict: names, shapes, dtypes and order equal to those of the real model, which is built here, on
             torch's meta device where it can be
keras        keras.applications: totals and names of layers. Truth is keras_applications.json, written down from Keras
             3.15.1 run on the torch backend; only Keras' source is needed here, in the environment or below --root
forward      with --forward: the shape of what every module of timm's and torchvision's gives
speed, peer  milliseconds for each timm model, one run for many; and those that CPython takes to build it
folder       the whole of transformers/models: seconds, and memory of all processes together

--truth DIR keeps what executing the libraries gave: the next run reads it there.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import threading
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python" / "pellucid"))
import _torchvision  # noqa: E402

PELLUCID = os.environ.get("PELLUCID", "build/pellucid")


def installed(name: str) -> pathlib.Path | None:
    """The folder of a package, without importing it."""
    spec = importlib.util.find_spec(name)
    return pathlib.Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


# ---- truth: the libraries, executed ----


def names_of(kind: str) -> list[str]:
    if kind == "timm":
        import timm

        return timm.list_models()
    if kind == "torchvision":
        import torchvision

        return torchvision.models.list_models()
    if kind == "transformers":
        from transformers import CONFIG_MAPPING

        return sorted(CONFIG_MAPPING.keys())
    return sorted(json.loads((HERE / "keras_applications.json").read_text())["applications"])


# The models of README's figure of forward: `forward --names named`.
NAMED = (
    "bert,gpt2,distilbert,roberta,llama,opt,resnet50,convnext_tiny,vit_tiny_patch16_224,swin_tiny_patch4_window7_224,"
    "efficientnet_b0,mobilenetv3_large_100,densenet121,regnety_002,mixer_s16_224,inception_v3,xception41,"
    "deit_tiny_patch16_224,cait_xxs24_224,levit_128s,coat_tiny,pvt_v2_b0,poolformer_s12,maxvit_tiny_rw_224"
)
BACKBONES = ("fcn", "lraspp", "ssd", "retina", "keypoint", "mask", "deeplab", "faster")


def code_of(kind: str, name: str) -> str:
    if kind == "timm":
        return f"import timm\nm = timm.create_model({name!r})"
    if kind == "torchvision":
        extra = ", weights_backbone=None" if name.startswith(BACKBONES) else ""
        return f"import torchvision\nm = torchvision.models.get_model({name!r}, weights=None{extra})"
    if kind == "transformers":
        return (
            "from transformers import AutoModel, CONFIG_MAPPING\n"
            f"m = AutoModel.from_config(CONFIG_MAPPING[{name!r}]())"
        )
    return f"import keras\nm = keras.applications.{name}(weights=None)"


def build(kind: str, name: str):
    import torch

    scope: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.device("meta"):
                exec(code_of(kind, name), scope)
        except NotImplementedError:  # it asks for values while it is built
            exec(code_of(kind, name), scope)
    return scope["m"]


def rows_of(model) -> list:
    return [[key, list(value.shape), str(value.dtype).removeprefix("torch.")]
            for key, value in model.state_dict().items()]


class Truth:
    """What executing a library gave: (result, "") or (None, why it failed); kept in a folder if there is one."""

    def __init__(self, folder: str | None):
        self.folder = pathlib.Path(folder) if folder else None

    def of(self, kind: str, name: str, make) -> tuple:
        file = self.folder / f"{kind}-{name}.json" if self.folder else None
        if file and file.exists():
            return tuple(json.loads(file.read_text()))
        try:
            row = (make(), "")
        except Exception as problem:
            row = (None, f"{type(problem).__name__}: {str(problem)[:80]}")
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(row))
        return row


# ---- what the scan says ----


def scan(kind: str, names: list[str], roots: list[str], *options: str) -> tuple[list[list], list[float]]:
    """The networks of each name, and when each of them was there."""
    command = [PELLUCID, "scan", "--json", "--python", sys.executable, *options]
    for root in roots:
        command += ["--root", root]
    for name in names:
        command += ["-e", code_of(kind, name)]
    lines, times = [], []
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        for line in process.stdout:
            lines.append(line)
            times.append(time.monotonic() - start)
    return [json.loads(line)["networks"] for line in lines], times


class Score:
    """One line of the report."""

    def __init__(self, kind: str):
        self.kind = kind
        self.equal = self.of = self.silent = 0

    def skip(self, name: str, why: str) -> None:
        print(f"skipped {name}: executing it fails: {why}")

    def add(self, name: str, is_equal: bool, where: str, unknown: list, is_there: bool) -> None:
        self.of += 1
        self.equal += is_equal
        if is_equal:
            return
        self.silent += is_there and not unknown
        said = "; ".join(f"{row['what']} ({row['file'].split('site-packages/')[-1]}:{row['line']})"
                         for row in unknown[:2])
        print(f"differs {name}: {where} | {said}"[:400])

    def show(self, seconds: float, scanned: int) -> None:
        each = 1000 * seconds / max(1, scanned)
        print(f"{self.kind}: {self.equal} of {self.of} equal, {self.silent} wrong without a word ({each:.0f} ms each)",
              flush=True)


def first_difference(found: list, real: list) -> str:
    return next((f"{a} != {b}" for a, b in zip(found, real) if a != b), f"{len(found)} of {len(real)} rows")


def sample_of(names: list[str], args: argparse.Namespace, default: int) -> list[str]:
    if args.names:
        wanted = NAMED if args.names == "named" else args.names
        return [name for name in wanted.split(",") if name in names]
    count = len(names) if args.all else min(args.sample or default, len(names))
    return names if count == len(names) else random.Random(args.seed).sample(names, count)


def compare_states(kind: str, args: argparse.Namespace) -> None:
    names = sample_of(names_of(kind), args, 30)
    lines, times = scan(kind, names, args.root)
    score = Score(kind)
    for name, networks in zip(names, lines):
        real, why = args.truth.of(kind, name, lambda: rows_of(build(kind, name)))
        if real is None:
            score.skip(name, why)
            continue
        unknown = [row for one in networks for row in one["unknown"]]
        states = [one for one in networks if one["state"]]
        found = ([[key, shape, states[0]["dtypes"].get(key)] for key, shape in states[0]["state"].items()]
                 if states else [])
        score.add(name, found == real, first_difference(found, real), unknown, bool(found))
    for name in names[len(lines):]:
        score.add(name, False, "no line for it", [], False)
    score.show(times[-1] if times else 0, len(lines))


def compare_keras(args: argparse.Namespace) -> None:
    table = json.loads((HERE / "keras_applications.json").read_text())["applications"]
    names = sample_of(sorted(table), args, 8)
    if not installed("keras") and not any((pathlib.Path(root) / "keras").is_dir() for root in args.root):
        print("keras: skipped, the sources of Keras are neither installed nor below a --root")
        return
    lines, times = scan("keras", names, args.root)
    score = Score("keras.applications")
    for name, networks in zip(names, lines):
        model = next((one for one in networks if one["name"] == "m"), {"totals": {}, "tree": [], "unknown": []})
        layers = [child["name"] for root in model["tree"] for child in root["children"]]
        found = [model["totals"].get("parameters", 0), len(layers),
                 hashlib.sha256("\n".join(layers).encode()).hexdigest()[:16]]
        unknown = [row for one in networks for row in one["unknown"]]
        score.add(name, found == table[name], f"{found} != {table[name]}", unknown, bool(layers))
    score.show(times[-1] if times else 0, len(lines))


# ---- forward ----


def outputs_of(model, shape: tuple[int, ...]) -> dict:
    """What each module gave last, where that is one tensor."""
    import torch

    given: dict = {}

    def hook(name):
        def keep(_module, _args, result):
            given[name] = list(result.shape) if isinstance(result, torch.Tensor) else None

        return keep

    for name, module in model.named_modules():
        module.register_forward_hook(hook(name))
    with torch.device("meta"), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        device = next(model.parameters(), torch.empty(0, device="meta")).device
        kind = torch.int64 if len(shape) == 2 else torch.float32
        model.eval()(torch.zeros(shape, device=device, dtype=kind))
    return {name: shape for name, shape in given.items() if shape is not None}


def outputs_in(node: dict, path: str, out: dict) -> dict:
    if "output" in node:
        out[path] = node["output"]
    for child in node["children"]:
        outputs_in(child, f"{path}.{child['name']}" if path else child["name"], out)
    return out


def input_of(kind: str, name: str) -> tuple[int, ...]:
    if kind == "transformers":
        return (2, 16)  # tokens; what wants something else fails when it is executed, and is skipped aloud
    if kind == "timm":
        import timm

        config = timm.get_pretrained_cfg(name)
        if config:
            size = config.fixed_input_size and config.input_size or config.test_input_size or config.input_size
            return (2, *size)
    if "inception" in name:
        return (2, 3, 299, 299)
    return (2, 3, 16, 112, 112) if name.split("_")[0] in VIDEOS or "swin3d" in name else (2, 3, 224, 224)


VIDEOS = ("mc3", "mvit", "r2plus1d", "r3d", "s3d")


def compare_forward(args: argparse.Namespace) -> None:
    equal = total = 0
    for kind in ("timm", "torchvision", "transformers"):
        if not installed(kind):
            print(f"forward of {kind}: skipped, not installed")
            continue
        names = [name for name in names_of(kind) if not name.startswith(BACKBONES)]
        score = Score(f"forward of {kind}")
        start = time.monotonic()
        for name in sample_of(names, args, 8):
            shape = input_of(kind, name)
            real, why = args.truth.of(f"forward-{kind}", name, lambda: outputs_of(build(kind, name), shape))
            if real is None:
                score.skip(name, why)
                continue
            code = code_of(kind, name) + "\nm.eval()"
            given = "x".join(map(str, shape)) + (":int64" if len(shape) == 2 else "")
            command = [PELLUCID, "scan", "--json", "--python", sys.executable, "--forward", given, "-e", code]
            done = subprocess.run(command, capture_output=True, text=True)
            networks = json.loads(done.stdout)["networks"] if done.stdout else []
            model = next((one for one in networks if one["name"] == "m"), {"tree": [], "unknown": [], "errors": []})
            found = outputs_in(model["tree"][0], "", {}) if model["tree"] else {}
            wrong = [(key, found.get(key), real[key]) for key in real if found.get(key) != real[key]]
            equal, total = equal + len(real) - len(wrong), total + len(real)
            score.add(name, not wrong, f"{wrong[:1]} and {len(wrong)} of {len(real)}",
                      model["unknown"] + model["errors"], bool(found))
        score.show(time.monotonic() - start, score.of)
    print(f"forward: {equal} of {total} outputs of modules equal to those that hooks see")


# ---- time and memory ----


def processor_time() -> float:
    """Seconds of all processes that were waited for: what it takes where others don't use the machine, too."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def milliseconds(times: list[float]) -> str:
    spread = sorted(1000 * seconds for seconds in times)
    median, mean = statistics.median(spread), statistics.mean(spread)
    return f"{median:.1f} ms on the median, {mean:.1f} on the mean, {spread[-1]:.0f} at most"


def measure_speed(args: argparse.Namespace) -> None:
    names = sample_of(names_of("timm"), args, 60)
    before = processor_time()
    _, times = scan("timm", names, args.root)
    spent = processor_time() - before
    if len(times) < 2:
        print("speed: nothing to compare")
        return
    each = [after - before for before, after in zip(times, times[1:])]
    print(
        f"speed: timm, {len(names)} models in one run: {milliseconds(each)}; "
        f"the first, with all imports, {1000 * times[0]:.0f}; "
        f"{1000 * spent / len(times):.1f} of processor each, imports among them"
    )
    peer = subprocess.run(
        [sys.executable, __file__, "peer", "--names", ",".join(names)], capture_output=True, text=True, check=True
    )
    print(peer.stdout.strip(), flush=True)


def measure_peer(args: argparse.Namespace) -> None:
    """What CPython takes for the same, at its best: no weight is filled, every import is paid once."""
    start = time.monotonic()
    _torchvision.stand_in()
    names = sample_of(names_of("timm"), args, 60)
    times = [time.monotonic()]
    imported = times[0] - start
    for name in names:
        rows_of(build("timm", name))
        times.append(time.monotonic())
    each = [after - before for before, after in zip(times, times[1:])]
    print(f"peer: CPython, the same on torch's meta device: {milliseconds(each)}; imports {1000 * imported:.0f}",
          flush=True)


def memory_of(process: int) -> int:
    """Kilobytes of a process and all below it; pages that they share count once."""
    total = 0
    try:
        for line in pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total = int(line.split()[1])
        children = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return total
    return total + sum(memory_of(int(child)) for child in children)


def measure_folder(args: argparse.Namespace) -> None:
    files = sorted(map(str, (installed("transformers") / "models").rglob("*.py")))
    step = 1 if args.all else 20
    targets = [str(installed("transformers") / "models")] if args.all else files[::step]
    before = processor_time()
    start = time.monotonic()
    peak = 0
    with subprocess.Popen(
        [PELLUCID, "scan", "--json", "--jobs", "2", "--python", sys.executable, *targets],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:

        def watch() -> None:
            nonlocal peak
            while process.poll() is None:
                peak = max(peak, memory_of(process.pid))
                time.sleep(0.2)

        watcher = threading.Thread(target=watch)
        watcher.start()
        process.wait()
        watcher.join()
    spent = processor_time() - before
    print(
        f"folder: {len(files[::step])} of {len(files)} files of transformers/models: {time.monotonic() - start:.1f} s, "
        f"{spent:.1f} s of processor, 2 at once; {peak // 1024} MiB at most",
        flush=True,
    )


FIGURES = {
    "timm": (["torch", "timm"], lambda args: compare_states("timm", args)),
    "torchvision": (["torch", "torchvision"], lambda args: compare_states("torchvision", args)),
    "transformers": (["torch", "transformers"], lambda args: compare_states("transformers", args)),
    "keras": ([], compare_keras),
    "forward": (["torch", "timm", "torchvision"], compare_forward),
    "speed": (["timm", "torch"], measure_speed),
    "peer": (["timm"], measure_peer),
    "folder": (["transformers"], measure_folder),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument("--sample", type=int, default=0,
                        help="models of each library (default: what takes a minute or two)")
    parser.add_argument("--all", action="store_true", help="every model and file: about an hour")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--names", default="", help="only these; named: those of README's figure of forward")
    parser.add_argument("--truth", default=None, metavar="DIR")
    parser.add_argument("--root", action="append", default=[], metavar="DIR", help="a further source root")
    args = parser.parse_args()
    args.truth = Truth(args.truth)
    unknown = set(args.figures) - set(FIGURES)
    if unknown:
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    is_ready = False
    for figure in args.figures or [name for name in FIGURES if name != "peer"]:  # speed asks for it
        needs, run = FIGURES[figure]
        missing = [name for name in needs if not installed(name)]
        if missing:
            print(f"{figure}: skipped, not installed: {', '.join(missing)}")
            continue
        if "torch" in needs and not is_ready:
            _torchvision.stand_in()
            is_ready = True
        run(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
