#!/usr/bin/env python3
"""Fires what the tables of effects call pure: names drawn at random are made from a pickle, in a child whose audit hook
writes down what happens. Nothing may, but imports. Objects also get a state, are keys of a dict, are compared and
printed, and each of their attributes is read, where the table says that they may.

    python tools/fire_effects.py [--n 200] [--seed 0] [LIBRARY ...]"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys

CHILD_SECONDS = 300
FOLDER = pathlib.Path(__file__).parent.parent / "data" / "effects"

CHILD = r"""
import json, pickle, resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))  # a fault must not take the machine with it
warnings.simplefilter("ignore")
rows = json.load(sys.stdin)
events, on = [], False
ALLOWED = {"pickle.find_class", "import", "object.__getattr__", "object.__setattr__", "sys._getframe", "gc.get_objects",
           "builtins.id"}
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
def found(module, name):
    thing = sys.modules[module]
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing
def attributes(module, name):
    names = [word for word in dir(found(module, name)) if not word.startswith("__") and word.isascii()]
    return names[:40]
def values(module, name):
    plain = [member.value for member in found(module, name) if type(member.value) in (int, str, float, bool)]
    return [*plain[:3], "no member of it", -12345, None]
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
        if "k" in uses:
            pickles.append(b"\x80\x04}(" + (head[2:] + b"\x81N") * 2 + b"u.")
        for attribute in attributes(module, name) if "g" in uses else ():
            pickles.append(b"\x80\x04cbuiltins\ngetattr\n(" + head[2:] + b"\x81" + text(attribute) + b"tR.")
    if "c" in uses.lower():
        pickles.append(head + b"R.")
    for value in values(module, name) if "e" in uses else ():
        pickles.append(head[:-1] + b"(" + pickle.dumps(value, 3)[2:-1] + b"tR.")
    for data in pickles:
        fired += 1
        on = True
        try:
            made = pickle.loads(data)
            for special in (repr, str, bool, len, iter, hash, made.__eq__) if "q" in uses else ():
                try:
                    special(made) if special is not made.__eq__ else special(1)
                except Exception:
                    pass
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
        letters = re.split("[:!#]", uses)[0]
        rows += [(module, name, letters) for name in names if set(letters.lower()) & set("nce")]
    return rows


def fire(library: str, n: int, seed: int, python: str) -> tuple[list[list[object]], dict[str, int]]:
    """The events, and how many pickles were loaded, or raised."""
    rows = rows_of(library)
    drawn = random.Random(seed).sample(rows, min(n, len(rows)))
    try:
        done = subprocess.run([python, "-c", CHILD], input=json.dumps(drawn).encode(), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False, cwd="/", timeout=CHILD_SECONDS)
    except subprocess.TimeoutExpired:
        return [[library, "?", "?", ["the child did not end", str(CHILD_SECONDS)]]], {"fired": 0, "raised": 0}
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
        if not counts["fired"]:
            print("   nothing was fired: the library can't be imported here, or has no name that is called pure")
        bad += len(events) + (not counts["fired"])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
