#!/usr/bin/env python3
"""Which files does a recorded operation cross on its way from the log to the text? A call trace says it.

    tools/crossing.py                    the smallest trace of the corpus: one module, one operation
    tools/crossing.py TRACE              another one
    tools/crossing.py --passes           pass by pass: its files, and how often it goes into another folder
    tools/crossing.py --most 60          exit 1 if it crosses more files than that

Counts the files of src/trace that have a function which runs, from the first pass to the last. Builds the program once
more in build-crossing with gcc's -finstrument-functions; needs Linux, gcc, meson and addr2line.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import re
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-crossing"
TRACE = ROOT / "fuzz" / "corpus" / "skeleton" / "plain.ptrace"
RECORDER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static FILE *out;
static void put(uint64_t word) {
    if (!out) out = fopen(getenv("CROSSING_LOG"), "wb");
    if (out) fwrite(&word, sizeof word, 1, out);
}
void __cyg_profile_func_enter(void *function, void *place) { (void)place; put((uintptr_t)function); }
void __cyg_profile_func_exit(void *function, void *place) { (void)function, (void)place; put(0); }
"""
PASS = re.compile(r"pel_pass_\w+$")


def run(*command: object, **options: object) -> str:
    done = subprocess.run([str(part) for part in command], check=False, text=True, capture_output=True, **options)
    if done.returncode not in (0, 3):
        sys.exit(f"crossing: {command[0]} failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.stdout


def build() -> tuple[pathlib.Path, pathlib.Path]:
    """The program whose functions say when they begin and end, and the library that hears it."""
    env = os.environ | {"CC": "gcc"}
    if not (BUILD / "build.ninja").exists():
        run("meson", "setup", BUILD, ROOT, "--buildtype=release", "-Dpython=disabled", "-Doptimization=0",
            "-Ddebug=true", "-Db_pie=false", "-Dc_args=-finstrument-functions -no-pie -fno-pie",
            "-Dc_link_args=-no-pie", env=env)
    run("ninja", "-C", BUILD, "pellucid")
    library = BUILD / "recorder.so"
    run("gcc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", library, input=RECORDER)
    return BUILD / "pellucid", library


def calls(program: pathlib.Path, library: pathlib.Path, trace: pathlib.Path) -> list[int]:
    """Addresses of functions in the order of their calls; 0 where one returns."""
    log = BUILD / "calls.bin"
    run(program, "skeleton", trace, "-o", os.devnull,
        env=os.environ | {"LD_PRELOAD": str(library), "CROSSING_LOG": str(log)})
    return [word for (word,) in struct.iter_unpack("=Q", log.read_bytes())]


def places(program: pathlib.Path, addresses: list[int]) -> dict[int, tuple[str, str]]:
    """Function and file, below src, of each address."""
    text = run("addr2line", "-f", "-e", program, input="\n".join(hex(address) for address in addresses))
    lines = text.split("\n")
    found = {}
    for address, function, place in zip(addresses, lines[::2], lines[1::2]):
        name = os.path.normpath(place.rsplit(":", 1)[0])
        found[address] = (function, name.split("/src/")[-1])
    return found


class Pass:
    def __init__(self) -> None:
        self.files: set[str] = set()
        self.runs = 0
        self.entries: collections.Counter[str] = collections.Counter()  # folder -> calls that come from another one


def folder_of(file: str) -> str:
    return os.path.dirname(file)


def read(words: list[int], where: dict[int, tuple[str, str]]) -> dict[str, Pass]:
    """By pass, in order: what it called. Functions of folders below src/trace alone count."""
    passes: dict[str, Pass] = {}
    stack: list[tuple[str, str]] = []
    current: list[str] = []  # the pass that runs, and how deep it began
    depth = 0
    for word in words:
        if not word:
            function, _ = stack.pop() if stack else ("", "")
            if current and len(stack) == depth:
                current.clear()
            continue
        function, file = where[word]
        if PASS.match(function) and not current:
            current.append(function.removeprefix("pel_pass_"))
            depth = len(stack)
            passes.setdefault(current[0], Pass()).runs += 1
        if current and file.startswith("trace/"):
            row = passes[current[0]]
            row.files.add(file)
            above = next((folder_of(f) for _, f in reversed(stack) if f.startswith("trace/")), "")
            if above != folder_of(file):
                row.entries[folder_of(file)] += 1
        stack.append((function, file))
    return passes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=pathlib.Path, default=TRACE)
    parser.add_argument("--passes", action="store_true")
    parser.add_argument("--most", type=int)
    options = parser.parse_args()
    program, library = build()
    words = calls(program, library, options.trace.resolve())
    found = read(words, places(program, sorted(set(words) - {0})))
    files = set().union(*(row.files for row in found.values()))
    if options.passes:
        for name, row in found.items():
            entries = ", ".join(f"{folder.split('/')[-1]} {n}" for folder, n in row.entries.most_common())
            print(f"{name:11} {row.runs:3} runs {len(row.files):3} files; entries: {entries}")
    all_files = len(list((ROOT / "src" / "trace").rglob("*.c")))
    print(f"{options.trace.name}: {len(files)} of {all_files} files of src/trace, "
          f"in {len({folder_of(file) for file in files})} folders")
    if options.passes:
        print("\n".join(f"  {file}" for file in sorted(files)))
    return int(options.most is not None and len(files) > options.most)


if __name__ == "__main__":
    sys.exit(main())
