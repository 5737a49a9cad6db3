"""Runs named steps, each timed, and says at the end how many passed.

    python tools/check.py test     the fast tests, as make test does
    python tools/check.py slow     what .ci/run adds
    python tools/check.py bench    the figures
    python tools/check.py nightly  what finds new faults: other seeds and samples each day (make nightly)

Expects the build in build/ (make dev) and the environment that the Makefile sets.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = sys.executable
STRICT = "-Dwerror=true"
NO_TESTS_CHOSEN = 5  # pytest's exit code
SANITIZE = [
    "-Db_sanitize=address,undefined",
    "-Dc_args=-fno-sanitize-recover=undefined",
    "-Dbuildtype=debugoptimized",
    "-Db_lundef=false",
]


# Minutes on two quiet cores; a step that takes longer is named at the end. CI's sum is what .ci/run promises. What does
# not fit belongs to nightly().
BUDGET = {
    "unit tests in C": 1, "golden cases": 1, "fuzz corpus": 1, "layers": 1, "imported in every Python that is here": 1,
    "Python tests": 8, "lint": 1, "files that one operation crosses": 1, "slow Python tests": 6,
    "forty models of the zoo": 6, "programs from the grammar, fixed seeds": 2,
    "mutants of skeletons, fixed seed": 2,
    # nightly
    "programs from the grammar, single calls": 10, "programs from the grammar, single calls, compared": 20,
    "programs from the grammar, as users get them": 30, "mutants of skeletons": 15, "pickles from a grammar": 15,
    "three hundred models of the zoo": 90, "readers": 30,
}
OTHERS = 3  # minutes of a step that the table does not have


class Steps:
    def __init__(self) -> None:
        self.late: list[str] = []
        self.passed: list[str] = []
        self.failed: list[str] = []
        self.skipped: list[str] = []

    def run(self, name: str, *commands: list[str], **variables: str) -> None:
        print(f"---- {name}", flush=True)
        start = time.monotonic()
        fine = True
        for command in commands:
            try:
                code = subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, check=False).returncode
            except OSError as problem:
                print(problem)
                code = 1
            if code == NO_TESTS_CHOSEN and "pytest" in command:
                print("no test is marked so")
            elif code:
                fine = False
                break
        (self.passed if fine else self.failed).append(name)
        seconds, minutes = time.monotonic() - start, BUDGET.get(name, OTHERS)
        print(f"---- {name}: {'passed' if fine else 'FAILED'} in {seconds:.1f} s", flush=True)
        if seconds > 60 * minutes:
            self.late.append(f"{name}: {seconds / 60:.1f} minutes, its budget is {minutes}")

    def skip(self, name: str, why: str) -> None:
        print(f"---- {name}: SKIPPED, {why}", flush=True)
        self.skipped.append(name)

    def summary(self) -> int:
        for name in self.failed:
            print(f"failed: {name}")
        for name in self.skipped:
            print(f"skipped: {name}")
        for text in self.late:
            print(f"late: {text}")
        print(f"{len(self.passed)} passed, {len(self.failed)} failed")
        if "PELLUCID_TALLY" in os.environ:
            with open(os.environ["PELLUCID_TALLY"], "a", encoding="utf-8") as tally:
                tally.write(f"{len(self.passed)} {len(self.failed)} 0\n")
        return 1 if self.failed else 0


def meson_build(folder: str, *options: str) -> list[list[str]]:
    shutil.rmtree(ROOT / folder, ignore_errors=True)
    return [["meson", "setup", folder, *options], ["ninja", "-C", folder, "--quiet"]]


def tests(*chosen: str) -> list[str]:
    """Tests on all cores: those of one file in one process, which share what it made once."""
    cores = min(os.cpu_count() or 1, 8)
    if cores > 1 and importlib.util.find_spec("xdist") is not None:
        chosen = (*chosen, "-n", str(cores), "--dist", "loadfile")
    return [PYTHON, "-m", "pytest", *chosen]


def fast(steps: Steps) -> None:
    steps.run("unit tests in C", ["meson", "test", "-C", "build", "--quiet", "--print-errorlogs"])
    steps.run("golden cases", [PYTHON, "tests/run_golden.py"])
    steps.run("fuzz corpus", [PYTHON, "tools/fuzz.py", "--replay", "build"])
    steps.run("layers", [PYTHON, "tools/check_layers.py"])
    steps.run("imported in every Python that is here", [PYTHON, "tools/check_pythons.py"])
    steps.run("Python tests", tests("-m", "not slow"), OMP_NUM_THREADS="1")


def slow(steps: Steps) -> None:
    steps.run("lint", [PYTHON, "tools/lint.py"])
    steps.run("files that one operation crosses", [PYTHON, "tools/crossing.py", "--most", "60"])
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            steps.skip(f"build with {compiler}, warnings are errors", f"no {compiler} here")
            continue
        folder = f"build-{compiler}"
        commands = meson_build(folder, STRICT, "-Dshared=true")
        commands.append(["meson", "test", "-C", folder, "--quiet", "--print-errorlogs"])
        steps.run(f"build with {compiler}, warnings are errors", *commands, CC=compiler)
    steps.run(
        "AddressSanitizer and UBSan: build and unit tests",
        *meson_build("build-asan", *SANITIZE, "-Dpython=disabled"),
        ["meson", "test", "-C", "build-asan", "--quiet", "--print-errorlogs"],
    )
    sanitized = str(ROOT / "build-asan" / "pellucid")
    steps.run("AddressSanitizer and UBSan: golden cases", [PYTHON, "tests/run_golden.py"], PELLUCID=sanitized)
    steps.run("AddressSanitizer and UBSan: fuzz corpus", [PYTHON, "tools/fuzz.py", "--replay", "build-asan"])
    steps.run(
        "AddressSanitizer and UBSan: the program on bad input",
        [PYTHON, "-m", "pytest", "tests/python/test_bad_input.py"],
        PELLUCID=sanitized,
    )
    in_32_bits(steps)
    steps.run("AddressSanitizer: the extension", [PYTHON, "tools/asan_extension.py"])
    steps.run("trees equal CPython's, a sample", [PYTHON, "tools/check_ast.py", "--print", "--every", "20"])
    steps.run("installed by pip", [PYTHON, "tools/check_install.py"])
    steps.run("a wheel for every Python that is here", [PYTHON, "tools/check_pythons.py", "--wheel"])
    if shutil.which("npm") and shutil.which("chromium"):
        steps.run("the browser's driver", ["npm", "install", "--silent", "--no-fund", "--prefix", "tests/browser"])
    steps.run("slow Python tests", tests("-m", "slow"), OMP_NUM_THREADS="1")
    generated(steps)
    other_pythons(steps)
    zoo_sample(steps)


def generated(steps: Steps) -> None:
    """Programs and mutants of fixed seeds: what decides a landing is repeatable."""
    if importlib.util.find_spec("einops") is None:
        return steps.skip("programs from the grammar, fixed seeds", "einops is not installed")
    steps.run(
        "programs from the grammar, fixed seeds",
        [PYTHON, "tools/fuzz_forwards.py", "0:60", "--given", "--cut", "0"],
        [PYTHON, "tools/fuzz_forwards.py", "60:100", "--verified", "--cut", "0"],
        OMP_NUM_THREADS="1",
    )
    steps.run("mutants of skeletons, fixed seed",
              [PYTHON, "tools/mutate_skeletons.py", "--seed", "0", "--count", "60", "--at-least", "0.95"],
              OMP_NUM_THREADS="1")


def nightly(steps: Steps) -> None:
    """New seeds every day: the number of the day, or $SEED to repeat one. A find becomes a case."""
    day = int(os.environ.get("SEED") or time.time() // 86_400)
    print(f"---- SEED={day} repeats this run", flush=True)
    first = 1_000_000 + day % 100_000 * 4_000
    for name, n, how in (("single calls", 2_000, ()), ("single calls, compared", 1_000, ("--given",)),
                         ("as users get them", 600, ("--verified",))):
        steps.run(f"programs from the grammar, {name}",
                  [PYTHON, "tools/fuzz_forwards.py", f"{first}:{first + n}", *how, "--finds", "build-scratch/finds"],
                  OMP_NUM_THREADS="1")
        first += n
    steps.run("mutants of skeletons", [PYTHON, "tools/mutate_skeletons.py", "--seed", str(day), "--count", "500"],
              OMP_NUM_THREADS="1")
    steps.run("rules of dependence without a test", [PYTHON, "tools/mutate_rules.py"], OMP_NUM_THREADS="1")
    steps.run("pickles from a grammar", [PYTHON, "tools/fuzz_pickles.py", "--seed", str(day), "--n", "20000"])
    zoo_sample(steps, "three hundred models of the zoo", 300, f"night {day}", 240)
    steps.run("readers", [PYTHON, "tools/fuzz.py", "--seconds", "60"])


def in_32_bits(steps: Steps) -> None:
    """All C tests where a pointer has 32 bits; a number that the compiler sees narrowed is an error."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "empty.c")
        source.write_text("#include <stdlib.h>\nint main(void) { return 0; }\n")
        command = ["gcc", "-m32", str(source), "-o", str(source.with_suffix(""))]
        if not shutil.which("gcc") or subprocess.run(command, capture_output=True, check=False).returncode:
            return steps.skip("32 bits", "gcc -m32 does not work here (Debian: gcc-multilib)")
    steps.run(
        "32 bits: build and unit tests",
        *meson_build("build-32", STRICT, "-Dpython=disabled"),
        ["meson", "test", "-C", "build-32", "--quiet", "--print-errorlogs"],
        CC="gcc -m32",
    )
    narrow = str(ROOT / "build-32" / "pellucid")
    steps.run("32 bits: golden cases", [PYTHON, "tests/run_golden.py"], PELLUCID=narrow)
    steps.run("32 bits: fuzz corpus", [PYTHON, "tools/fuzz.py", "--replay", "build-32"])
    files = [f"tests/python/test_{name}.py" for name in ("interp", "files", "content", "audit_formats")]
    steps.run("32 bits: model files", [PYTHON, "-m", "pytest", "-m", "not slow", *files], PELLUCID=narrow)


def other_pythons(steps: Steps) -> None:
    """The recorder knows the inside of each Python: its tests, in those that are here."""
    from other_pythons import find, why_not
    for version in ("3.11", "3.12", "3.13", "3.14", "3.15"):
        if version == "%d.%d" % sys.version_info[:2]:
            continue
        problem = why_not(find(version))
        if problem:
            steps.skip(f"recording in Python {version}", problem)
        else:
            steps.run(f"recording in Python {version}", [PYTHON, "tools/other_pythons.py", version])


def zoo_sample(steps: Steps, name: str = "forty models of the zoo", count: int = 40, rotate: str = "",
               seconds: int = 120) -> None:
    """Some of the zoo's models, others for each commit. None may be accepted although it differs."""
    missing = [m for m in ("torchvision", "timm", "transformers") if importlib.util.find_spec(m) is None]
    shared = pathlib.Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared"))
    if not (shared / "zoo" / "zoo.json").exists():
        return steps.skip(name, f"there is no zoo at {shared}")
    if missing:
        return steps.skip(name, f"{', '.join(missing)} not installed")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                            check=False).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        steps.run(
            name,
            [PYTHON, "tools/zoo.py", "--sample", str(count), "--rotate", rotate or commit, "--time", str(seconds),
             "--at-least", "75", "--out", os.path.join(folder, "zoo.jsonl")],
            OMP_NUM_THREADS="1",
        )


# Benches that need more than this checkout: what to type.
BENCH_NEEDS = {
    "bench_audit": "a corpus: bench_audit.py make FOLDER, then run FOLDER HOSTILE",
    "bench_repos": "checkouts of bench/repositories.txt: bench_repos.py FOLDER",
    "bench_repo_states": "checkouts that you would run: bench_repo_states.py FOLDER",
}
BENCH_GIVEN = {"bench_lsp": ["python/pellucid/demo_model.py"], "bench_modular": ["--sample", "6"],
               "bench_reading": ["--sample", "12"], "bench_config": ["--hf", "3", "--timm", "1"]}


def bench(steps: Steps) -> None:
    for script in sorted((ROOT / "bench").glob("bench_*.py")):
        if script.stem in BENCH_NEEDS:
            steps.skip(script.stem, f"it needs {BENCH_NEEDS[script.stem]}")
        else:
            steps.run(script.stem, [PYTHON, str(script), *BENCH_GIVEN.get(script.stem, [])])


def main() -> int:
    plans = {"test": fast, "slow": slow, "bench": bench, "nightly": nightly}
    if len(sys.argv) != 2 or sys.argv[1] not in plans:
        sys.exit(__doc__)
    steps = Steps()
    plans[sys.argv[1]](steps)
    return steps.summary()


if __name__ == "__main__":
    sys.exit(main())
