"""How many networks `pellucid scan` reads from source alone exactly as executing the library builds them.

    python bench/bench_static.py timm|torchvision|transformers [--sample N] [--seed S] [--names A,B]

Truth is the state_dict of the real model, built on torch's meta device: names, shapes, dtypes and order must be equal.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import time
import warnings

PELLUCID = os.environ.get("PELLUCID", "build/pellucid")

KINDS = ("timm", "torchvision", "transformers")


def stand_in_for_operators() -> None:
    """Where torchvision's compiled part does not fit the torch that is there, its Python part needs two names of it."""
    import torch

    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        KEPT.append(library)
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]


KEPT: list = []


def names_of(kind: str) -> list[str]:
    if kind == "timm":
        import timm

        return timm.list_models()
    if kind == "torchvision":
        import torchvision

        return torchvision.models.list_models()
    from transformers import CONFIG_MAPPING

    return sorted(CONFIG_MAPPING.keys())


def code_of(kind: str, name: str) -> str:
    if kind == "timm":
        return f"import timm\nm = timm.create_model({name!r})"
    if kind == "torchvision":
        extra = ", weights_backbone=None" if "rcnn" in name or "resnet50_fpn" in name or "deeplab" in name else ""
        extra = extra or (", weights_backbone=None" if name.startswith(("fcn", "lraspp", "ssd", "retina", "keypoint", "mask")) else "")
        return f"import torchvision\nm = torchvision.models.get_model({name!r}, weights=None{extra})"
    return (
        "from transformers import AutoModel, CONFIG_MAPPING\n"
        f"m = AutoModel.from_config(CONFIG_MAPPING[{name!r}]())"
    )


def truth(kind: str, name: str):
    import torch

    scope: dict = {}
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code_of(kind, name), scope)
    return [(key, list(value.shape), str(value.dtype).removeprefix("torch.")) for key, value in scope["m"].state_dict().items()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="LIBRARY", help="timm, torchvision, transformers (the first two)")
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--names", default="")
    args = parser.parse_args()
    kinds = args.kinds or ["timm", "torchvision"]
    missing = {"torch", *kinds} - {name for name in ("torch", *KINDS) if importlib.util.find_spec(name)}
    if missing:
        print(f"bench_static: skipped, not installed or not known: {', '.join(sorted(missing))}")
        return 0
    stand_in_for_operators()
    for kind in kinds:
        compare(kind, args)
    return 0


def compare(kind: str, args: argparse.Namespace) -> None:
    names = args.names.split(",") if args.names else names_of(kind)
    if not args.names and args.sample < len(names):
        names = random.Random(args.seed).sample(names, args.sample)
    command = [PELLUCID, "scan", "--json", "--python", sys.executable]
    for name in names:
        command += ["-e", code_of(kind, name)]
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    spent = time.time() - start
    lines = done.stdout.splitlines()
    equal = silent = skipped = 0
    for name, line in zip(names, lines):
        try:
            real = truth(kind, name)
        except Exception as problem:
            skipped += 1
            print(f"skipped {name}: executing it fails: {type(problem).__name__}: {str(problem)[:80]}")
            continue
        network = json.loads(line)["networks"]
        found = []
        unknown = []
        for one in network:
            unknown += one["unknown"]
            found = found or [(key, shape, one["dtypes"].get(key)) for key, shape in one["state"].items()]
        if found == real:
            equal += 1
            continue
        silent += bool(found) and not unknown
        said = "; ".join(f"{row['what']} ({row['file'].split('site-packages/')[-1]}:{row['line']})" for row in unknown[:2])
        where = next((f"{a} != {b}" for a, b in zip(found, real) if a != b), f"{len(found)} of {len(real)} rows")
        print(f"differs {name}: {where} | {said}"[:400])
    print(
        f"{kind}: {equal} of {len(lines) - skipped} equal, {silent} wrong without a word, "
        f"{spent:.1f} s for {len(lines)} of {len(names)} ({1000 * spent / max(1, len(lines)):.0f} ms each)"
    )


if __name__ == "__main__":
    sys.exit(main())
