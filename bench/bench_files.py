"""Model files: how long it takes to list a large one, and to convert it.

    python bench/bench_files.py [--megabytes 2048] [--tensors 512]

The file is made with torch in a temporary folder (TMPDIR says where) and deleted again. Listing is timed as a whole
process, the fastest of 25 runs, and the file is in the page cache. Converting is compared with `cp` of the same file,
the fastest of five runs each, by turns.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("PELLUCID", str(ROOT / "build" / "pellucid"))


def seconds(*command: object) -> float:
    started = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def make(folder: pathlib.Path, megabytes: int, tensors: int) -> tuple[pathlib.Path, pathlib.Path]:
    """A .pt and a safetensors file of the same tensors."""
    import torch
    count = (megabytes << 20) // tensors // 4
    state = {f"layers.{i // 4}.{'qkvo'[i % 4]}.weight": torch.rand(count) for i in range(tensors)}
    torch.save(state, folder / "x.pt")
    del state
    subprocess.run([PROGRAM, "convert", folder / "x.pt", "-o", folder / "x.safetensors"], check=True)
    return folder / "x.pt", folder / "x.safetensors"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("--tensors", type=int, default=512)
    options = parser.parse_args()
    try:
        import torch  # noqa: F401
    except ImportError:
        print("files: skipped, torch is not installed and makes the file")
        return 0
    if shutil.disk_usage(tempfile.gettempdir()).free < (4 * options.megabytes) << 20:
        print("files: skipped, there is no room for the file")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        archive, plain = make(folder, options.megabytes, options.tensors)
        for path, goal in ((plain, 10), (archive, 20)):
            state = json.loads(subprocess.run([PROGRAM, "tree", path, "--json"], capture_output=True,
                                              check=True).stdout)["networks"][0]["state"]
            assert len(state) == options.tensors
            best = min(seconds(PROGRAM, "tree", path, "--json") for _ in range(25))
            print(f"list {path.name}, {options.megabytes} MiB, {options.tensors} tensors: {best * 1000:.1f} ms "
                  f"(to reach: {goal})")
        plain.unlink()
        turns = []
        for _ in range(5):
            turns.append((seconds("cp", archive, folder / "copy"),
                          seconds(PROGRAM, "convert", archive, "-o", folder / "y")))
            (folder / "copy").unlink()
            (folder / "y").unlink()
        copy, convert = (min(column) for column in zip(*turns))
        print(f"convert {archive.name} to safetensors: {convert:.2f} s, cp {copy:.2f} s: ÷ {convert / copy:.2f} "
              "(to reach: 1.5)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
