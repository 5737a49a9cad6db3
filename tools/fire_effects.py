#!/usr/bin/env python3
"""Fires what the tables of effects call pure: names drawn at random are made from a pickle, in a child whose audit hook
writes down what happens. Nothing may, but imports.

    python tools/fire_effects.py [--n 200] [--seed 0] [LIBRARY ...]"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent.parent / "data" / "effects"

CHILD = r"""
import json, pickle, sys, warnings
warnings.simplefilter("ignore")
rows = json.load(sys.stdin)
events, on = [], False
ALLOWED = {"pickle.find_class", "import", "object.__getattr__", "object.__setattr__", "sys._getframe", "gc.get_objects"}
def hook(event, args):
    global on
    if not on or event in ALLOWED:
        return
    on = False
    frame = sys._getframe()
    while frame is not None and "importlib._bootstrap" not in frame.f_code.co_filename:
        frame = frame.f_back
    if frame is None:
        events.append([event, repr(args)[:200]])
    on = True
sys.addaudithook(hook)
def text(word):
    data = word.encode()
    return b"\x8c" + bytes([len(data)]) + data
fired = failed = 0
for module, name, uses in rows:
    try:
        __import__(module)
    except BaseException:
        continue
    head = b"\x80\x04" + text(module) + text(name) + b"\x93)"
    pickles = []
    if "n" in uses.lower():
        pickles.append(head + b"\x81.")
        if "s" in uses.lower():
            pickles.append(head + b"\x81}b.")
    if "c" in uses.lower():
        pickles.append(head + b"R.")
    for data in pickles:
        fired += 1
        on = True
        try:
            made = pickle.loads(data)
            made = None
        except BaseException:
            failed += 1
        on = False
        for event in events:
            print(json.dumps([module, name, uses, event]), flush=True)
        events.clear()
print(json.dumps({"fired": fired, "raised": failed}))
"""


def rows_of(library: str) -> list[tuple[str, str, str]]:
    rows = []
    for line in (FOLDER / f"{library}.txt").read_text().splitlines()[1:]:
        module, uses, _, *names = line.split(" ")
        letters = uses.split(":")[0].split("!")[0]
        rows += [(module, name, letters) for name in names if set(letters.lower()) & set("nc")]
    return rows


def fire(library: str, n: int, seed: int, python: str) -> tuple[list[list[object]], dict[str, int]]:
    """The events, and how many pickles were loaded, or raised."""
    rows = rows_of(library)
    drawn = random.Random(seed).sample(rows, min(n, len(rows)))
    done = subprocess.run([python, "-c", CHILD], input=json.dumps(drawn).encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False, cwd="/")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line[:1] in (b"[", b"{")]
    if not lines or not isinstance(lines[-1], dict):
        return [[library, "?", "?", ["the child ended", str(done.returncode)]]], {"fired": 0, "raised": 0}
    return lines[:-1], lines[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    libraries = args.libraries or sorted(path.stem for path in FOLDER.glob("*.txt") if path.stem != "natives")
    bad = 0
    for library in libraries:
        events, counts = fire(library, args.n, args.seed, sys.executable)
        print(f"{library}: {counts['fired']} pickles, {counts['raised']} raised, {len(events)} events")
        for row in events:
            print("  ", row)
        bad += len(events)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
