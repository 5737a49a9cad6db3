"""Fuzzes every reader (fuzz/fuzz_<name>.c), or replays its corpus.

    python tools/fuzz.py --seconds 60            each with clang's libFuzzer and sanitizers, in build-fuzz
    python tools/fuzz.py --seconds 60 source     only that one
    python tools/fuzz.py --replay build          the corpus, with the programs of that build
    python tools/fuzz.py --merge source          adds to the corpus what fuzzing found that reaches new code, small

Without clang the corpus is replayed instead. What crashes is left in build-fuzz/found/<name>/.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"
BUILD = ROOT / "build-fuzz"
C_ARGS = "-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined"
OPTIONS = ["-Dlibfuzzer=true", "-Dpython=disabled", "-Db_sanitize=address,undefined", "-Db_lundef=false"]


def targets() -> list[str]:
    return sorted(path.stem.removeprefix("fuzz_") for path in (ROOT / "fuzz").glob("fuzz_*.c"))


def replay(build: pathlib.Path, names: list[str]) -> bool:
    fine = True
    for name in names:
        program = build / "fuzz" / f"replay_{name}"
        print(f"{name}: ", end="", flush=True)
        fine = subprocess.run([str(program), str(CORPUS / name)], check=False).returncode == 0 and fine
    return fine


def build_fuzzers() -> None:
    environment = {**os.environ, "CC": "clang"}
    if not (BUILD / "build.ninja").exists():
        command = ["meson", "setup", str(BUILD), *OPTIONS, "-Dbuildtype=debugoptimized", C_ARGS]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(BUILD), "--quiet"], check=True)


def fuzz(name: str, seconds: int) -> bool:
    new, found = BUILD / "corpus" / name, BUILD / "found" / name
    new.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    dictionary = ROOT / "fuzz" / f"{name}.dict"
    command = [
        str(BUILD / "fuzz" / f"fuzz_{name}"),
        *([f"-dict={dictionary}"] if dictionary.exists() else []),
        f"-max_total_time={seconds}",
        "-timeout=60",  # of wall time: a busy machine is no find
        "-rss_limit_mb=4096",
        "-verbosity=0",
        "-print_final_stats=1",
        f"-artifact_prefix={found}/",
        str(new),
        str(CORPUS / name),
    ]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        print(f"{name}: FOUND something, see {found}\n{done.stderr[-4000:]}")
        return False
    runs = next((line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed_units" in line), "?")
    print(f"{name}: {runs} inputs in {seconds} s, nothing found", flush=True)
    return True


def merge(name: str) -> None:
    command = [str(BUILD / "fuzz" / f"fuzz_{name}"), "-merge=1", str(CORPUS / name), str(BUILD / "corpus" / name)]
    subprocess.run(command, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="fuzzes the readers")
    parser.add_argument("names", nargs="*", help="targets; default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--replay", metavar="BUILD", help="only replay the corpus")
    parser.add_argument("--merge", action="store_true", help="add finds to the corpus")
    arguments = parser.parse_args()
    names = arguments.names or targets()
    if arguments.replay:
        return 0 if replay(ROOT / arguments.replay, names) else 1
    if not shutil.which("clang"):
        print("no clang here: replaying the corpus instead of fuzzing")
        if not (ROOT / "build" / "fuzz").exists():
            sys.exit("make dev first")
        return 0 if replay(ROOT / "build", names) else 1
    build_fuzzers()
    if arguments.merge:
        for name in names:
            merge(name)
        return 0
    results = [fuzz(name, arguments.seconds) for name in names]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
