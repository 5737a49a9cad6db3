#!/usr/bin/env python3
"""Random pickles: what Python's unpickler calls, the audit must name.

    python tools/fuzz_pickles.py [--n 100000] [--seed 0]

Pickles come from a grammar over the opcodes. A child loads each with an unpickler whose every name is a class that only
writes down what is done with it: imported, called, made, given a state, filled, used as a key. Nothing real is
imported. Then `pellucid audit --json` reads the same bytes: each line of the child must be among its `uses`, and a file
of which anything was called can't be harmless unless the audit named it."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
from typing import Callable

PROGRAM = os.environ.get("PELLUCID", str(pathlib.Path(__file__).parent.parent / "build" / "pellucid"))

CHILD = r"""
import io, json, pickle, resource, struct, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))  # a memo index alone can ask for 64 GB
log = []
def note(use, name):
    if len(log) < 2000:
        log.append([use, name])
class Meta(type):
    def __call__(cls, *args, **kwargs):
        note("call", cls.full)
        return type.__call__(cls)
class Base(metaclass=Meta):
    full = ""
    def __new__(cls, *args, **kwargs):
        return object.__new__(cls)
    def __init__(self, *args, **kwargs):
        pass
    def __call__(self, *args, **kwargs):
        note("call", type(self).full)
        return self
    def __setstate__(self, state):
        note("state", type(self).full)
    def __setitem__(self, key, value):
        note("items", type(self).full)
    def append(self, value):
        note("items", type(self).full)
    def extend(self, values):
        note("items", type(self).full)
    def add(self, value):
        note("items", type(self).full)
    def __hash__(self):
        note("key", type(self).full)
        return 1
    def __eq__(self, other):
        return self is other
classes = {}
class Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        full = f"{module}.{name}"
        note("import", full)
        if full not in classes:
            def made(cls, *args, **kwargs):
                if not sys._getframe(1).f_code.co_name == "__call__":
                    note("new", cls.full)
                return object.__new__(cls)
            classes[full] = Meta(name or "x", (Base,), {"full": full, "__new__": made, "__hash__": Base.__hash__})
        return classes[full]
    def persistent_load(self, pid):
        return None
data = sys.stdin.buffer.read()
at, out = 0, []
while at < len(data):
    size, = struct.unpack_from("<I", data, at)
    body = data[at + 4:at + 4 + size]
    at += 4 + size
    log.clear()
    try:
        Unpickler(io.BytesIO(body), buffers=[b"x"] * 4).load()
        ended = "loaded"
    except (Exception, MemoryError) as error:
        ended = type(error).__name__
    out.append([ended, sorted(set(map(tuple, log)))])
json.dump(out, sys.stdout)
"""

NAMES = ["os system", "collections OrderedDict", "torch._utils _rebuild_tensor_v2", "builtins list", "somebody.net Net",
         "numpy ndarray", "torch.nn.modules.linear Linear", "functools partial", "builtins getattr", "a b.c",
         "copyreg pickle", "collections defaultdict", "__main__ Net", "builtins type", "x y"]


# How it begins and ends, and how many values make an item.
CONTAINERS = [(b"](", b"e", 1), (b"}(", b"u", 2), (b"(", b"t", 1), (b"(", b"d", 2), (b"\x8f(", b"\x90", 1),
              (b"(", b"\x91", 1)]


class Maker:
    """One pickle. The grammar keeps the stack mostly right, so that opcodes are reached, and sometimes does not."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.out = rng, bytearray()
        self.protocol = rng.choice([0, 1, 2, 2, 3, 4, 4, 5])
        self.memo = 0

    def put(self, *parts: bytes) -> None:
        for part in parts:
            self.out += part

    def text(self, word: str) -> None:
        data = word.encode()
        kind = self.rng.randrange(5 if self.protocol >= 4 else 3)
        if kind == 0:
            self.put(b"X", struct.pack("<I", len(data)), data)
        elif kind == 1:
            self.put(b"V", data, b"\n")
        elif kind == 2:
            self.put(b"U", bytes([len(data)]), data)
        elif kind == 3:
            self.put(b"\x8c", bytes([len(data)]), data)
        else:
            self.put(b"\x8d", struct.pack("<Q", len(data)), data)

    def scalar(self) -> None:
        rng = self.rng
        choices: list[Callable[[], None]] = [
            lambda: self.put(b"N"), lambda: self.put(b"K", bytes([rng.randrange(256)])),
            lambda: self.put(b"I", str(rng.randrange(-5, 5)).encode(), b"\n"), lambda: self.put(b"I01\n"),
            lambda: self.put(b"L5L\n"), lambda: self.put(b"J", struct.pack("<i", rng.randrange(-9, 9))),
            lambda: self.put(b"F1.5\n"), lambda: self.put(b"G", struct.pack(">d", 2.5)),
            lambda: self.text(rng.choice(["a", "os", "system", "append", "__setstate__"])),
            lambda: self.put(b"S'x\\x41'\n"), lambda: self.put(b"\x88"), lambda: self.put(b"\x8a\x01\x05"),
            lambda: self.put(b"C\x02ab"), lambda: self.put(b"B\x01\x00\x00\x00c"), lambda: self.put(b"M\x01\x02"),
            lambda: self.put(b"\x96" + struct.pack("<Q", 1) + b"d"), lambda: self.put(b"\x97"),
        ]
        rng.choice(choices)()

    def name(self) -> None:
        module, name = self.rng.choice(NAMES).split(" ")
        if self.protocol >= 4 and self.rng.random() < 0.6:
            self.text(module)
            self.maybe_memo()
            self.text(name)
            self.put(b"\x93")
        else:
            self.put(b"c", module.encode(), b"\n", name.encode(), b"\n")
        self.maybe_memo()

    def maybe_memo(self) -> None:
        roll = self.rng.random()
        if roll < 0.15:
            self.put(b"q", bytes([self.memo % 256]))
        elif roll < 0.2:
            self.put(b"p", str(self.memo).encode(), b"\n")
        elif roll < 0.3 and self.protocol >= 4:
            self.put(b"\x94")
        else:
            return
        self.memo += 1

    def values(self, depth: int, n: int) -> None:
        for _ in range(n):
            self.value(depth + 1)

    def arguments(self, depth: int) -> None:
        roll = self.rng.randrange(4)
        if roll == 0:
            self.put(b")")
        elif roll == 1:
            self.value(depth + 1)
            self.put(b"\x85")
        elif roll == 2:
            self.put(b"(")
            self.values(depth, self.rng.randrange(4))
            self.put(b"t")
        else:
            self.values(depth, 2)
            self.put(b"\x86")

    def call(self, depth: int) -> None:
        roll = self.rng.randrange(6)
        if roll == 0:  # INST
            module, name = self.rng.choice(NAMES).split(" ")
            self.put(b"(")
            self.values(depth, self.rng.randrange(3))
            self.put(b"i", module.encode(), b"\n", name.encode(), b"\n")
        elif roll == 1:  # OBJ
            self.put(b"(")
            self.name()
            self.values(depth, self.rng.randrange(3))
            self.put(b"o")
        else:
            if self.rng.random() < 0.85:
                self.name()
            else:
                self.value(depth + 1)
            self.arguments(depth)
            if roll == 2:
                self.put(b"}", b"\x92")
            else:
                self.put(b"\x81" if roll == 3 else b"R")
        self.maybe_memo()
        while self.rng.random() < 0.4:
            self.after(depth)

    def after(self, depth: int) -> None:
        roll = self.rng.randrange(6)
        if roll == 0:
            self.value(depth + 1)
            self.put(b"b")
        elif roll == 1:
            self.value(depth + 1)
            self.put(b"a")
        elif roll == 2:
            self.values(depth, 2)
            self.put(b"s")
        else:
            self.put(b"(")
            self.values(depth, 2 * self.rng.randrange(3))
            self.put([b"e", b"u", b"\x90"][roll - 3])

    def container(self, depth: int) -> None:
        start, end, width = self.rng.choice(CONTAINERS)
        self.put(start)
        self.values(depth, width * self.rng.randrange(4))
        self.put(end)
        self.maybe_memo()

    def value(self, depth: int) -> None:
        roll = self.rng.random()
        if depth > 5 or roll < 0.35:
            self.scalar()
        elif roll < 0.45:
            self.name()
        elif roll < 0.55 and self.memo:
            self.put(b"h", bytes([self.rng.randrange(self.memo) % 256]))
        elif roll < 0.8:
            self.call(depth)
        elif roll < 0.83:
            self.value(depth + 1)
            self.put(b"20")
        elif roll < 0.85:
            self.value(depth + 1)
            self.put(b"Q")
        else:
            self.container(depth)

    def pickle(self) -> bytes:
        if self.protocol >= 2 or self.rng.random() < 0.5:
            self.put(b"\x80", bytes([max(self.protocol, 2)]))
        for _ in range(self.rng.randrange(3)):
            self.value(1)
            self.put(b"0")  # what is thrown away was called all the same
        self.value(0)
        made = bytes(self.out) + b"."
        if len(made) > 2 and self.rng.random() < 0.1:
            at = self.rng.randrange(2, len(made))
            made = made[:at] + bytes([self.rng.randrange(256)]) + made[at + 1:]
        return made


def children_say(pickles: list[bytes]) -> list[tuple[str, list[tuple[str, str]]]]:
    data = b"".join(struct.pack("<I", len(body)) + body for body in pickles)
    done = subprocess.run([sys.executable, "-I", "-c", CHILD], input=data, stdout=subprocess.PIPE, check=True, cwd="/",
                          timeout=600)
    return [(ended, [tuple(row) for row in rows]) for ended, rows in json.loads(done.stdout)]


def audit_says(folder: pathlib.Path, pickles: list[bytes]) -> list[dict]:
    paths = []
    for i, body in enumerate(pickles):
        path = folder / f"{i:06}.pkl"
        path.write_bytes(body)
        paths.append(path)
    done = subprocess.run([PROGRAM, "audit", "--json", folder], stdout=subprocess.PIPE, check=False)
    rows = {pathlib.Path(row["file"]).name: row for row in map(json.loads, done.stdout.splitlines()) if "file" in row}
    return [rows[path.name] for path in paths]


def missing(logged: list[tuple[str, str]], row: dict) -> list[tuple[str, str]]:
    """What the unpickler did and the audit does not name. A result whose class is not known has no name."""
    named = {(use["use"], use["name"]) for use in row["uses"]}
    renamed = {"builtins": "__builtin__", "copyreg": "copy_reg"}
    return [(use, name) for use, name in logged
            if (use, name) not in named and (use == "import" or (use, "") not in named)
            and (use, ".".join([renamed.get(name.split(".")[0], "?"), *name.split(".")[1:]])) not in named]


def compare(n: int, seed: int, chunk: int = 2000) -> tuple[dict[str, int], list[str]]:
    rng = random.Random(seed)
    counts = {"pickles": 0, "loaded": 0, "uses": 0, "unread": 0}
    wrong: list[str] = []
    while counts["pickles"] < n:
        pickles = [Maker(rng).pickle() for _ in range(min(chunk, n - counts["pickles"]))]
        with tempfile.TemporaryDirectory() as folder:
            audits = audit_says(pathlib.Path(folder), pickles)
        for body, (ended, logged), row in zip(pickles, children_say(pickles), audits):
            counts["pickles"] += 1
            counts["loaded"] += ended == "loaded"
            counts["uses"] += len(logged)
            lost = missing(logged, row) if row["dropped_uses"] == 0 else []
            if row["verdict"] in ("unknown", "broken") and not row["uses"]:
                counts["unread"] += bool(logged)  # not read as a pickle: and not harmless
            elif lost:
                wrong.append(f"{body!r}: the audit ({row['verdict']}) does not name {lost}")
    return counts, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    counts, wrong = compare(args.n, args.seed)
    for row in wrong[:20]:
        print(row[:1000])
    print(", ".join(f"{n} {what}" for what, n in counts.items()), f"{len(wrong)} wrong", sep=", ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
