"""The figures of the decompiler: round trips per Python, whole files, code of other libraries, speed beside depyf.

    python bench/bench_decompile.py                       everything (about ten minutes)
    python bench/bench_decompile.py --n 300 --seed 42     a sample, other functions
    python bench/bench_decompile.py --versions 3.11,3.13

equal: the recompiled function has the same instructions, signature and exception table; valid: it compiles; different:
valid, not equal, and not marked incomplete; >400: equal among functions of more than 400 bytes of bytecode.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import roundtrip  # noqa: E402

COLUMNS = ("units", "equal", "valid", "incomplete", "different", "broken", "large", "large equal")
LIBRARIES = ("transformers", "timm", "torch")


def print_row(label: str, figures: dict) -> None:
    cells = [f"{figures[c]:>11d}" if isinstance(figures[c], int) else f"{figures[c]:>10.2f}%" for c in COLUMNS]
    print(f"{label:<22}" + "".join(cells), flush=True)


def measure(binary: str, label: str, folder: pathlib.Path, out: pathlib.Path) -> None:
    rows = roundtrip.measure(binary, folder, out)
    print_row(label, roundtrip.summary(rows))


def files(binary: str, work: pathlib.Path) -> None:
    folder = roundtrip.corpus("3.11", work / "files", files=True)
    figures = roundtrip.summary(roundtrip.measure(binary, folder, work / "files.out"))
    print(f"\nwhole stdlib files, 3.11: {figures['units']} files, {figures['deep']:.2f}% deep-equal, "
          f"{figures['valid']:.2f}% valid", flush=True)


def library_roots() -> list[str]:
    found = []
    for name in LIBRARIES:
        spec = importlib.util.find_spec(name)
        if spec and spec.origin:
            found.append(os.path.dirname(spec.origin))
        else:
            print(f"skipped: {name} is not installed")
    return found


DEPYF_SAMPLE = 100
DEPYF = """
import contextlib, io, json, marshal, signal, sys, time
from depyf.decompiler import Decompiler
from depyf.code_transform import fix_irregular_code
codes = []
for pyc, name in json.load(sys.stdin):
    with open(pyc, "rb") as file:
        module = marshal.loads(file.read()[16:])
    def find(code):
        for c in code.co_consts:
            if hasattr(c, "co_code"):
                if c.co_name == name:
                    return c
                inner = find(c)
                if inner:
                    return inner
    codes.append(find(module))
def give_up(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, give_up)
start = time.perf_counter()
for code in codes:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        signal.setitimer(signal.ITIMER_REAL, 2)
        try:
            fix_irregular_code(code, Decompiler(code).decompile())
        except BaseException:
            pass
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(codes) / (time.perf_counter() - start))
"""


def speed(binary: str, folder: pathlib.Path) -> None:
    """Functions per second of one process: ours with starting and reading files, depyf with the code in memory. depyf
    gets a sample, and two seconds for each function of it; what it fails at counts as done."""
    units = json.loads((folder / "manifest.json").read_text())["units"]
    paths = [str(folder / unit["pyc"]) for unit in units]
    rates = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([binary, "decompile", *paths], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rates.append(len(paths) / (time.perf_counter() - start))
    print(f"\npellucid: {max(rates):,.0f} functions per second")
    if importlib.util.find_spec("depyf") is None or sys.version_info[:2] != (3, 11):
        print("skipped: depyf is not installed in this Python 3.11")
        return
    sample = [(path, unit["name"]) for path, unit in list(zip(paths, units))[:DEPYF_SAMPLE]]
    done = subprocess.run([sys.executable, "-c", DEPYF], input=json.dumps(sample), capture_output=True, text=True)
    if done.returncode:
        print("skipped: depyf failed:", done.stderr.strip().splitlines()[-1])
        return
    depyf = float(done.stdout.split()[-1])
    print(f"depyf:    {depyf:,.0f} functions per second; pellucid is {max(rates) / depyf:,.0f} times as fast")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=20251)
    parser.add_argument("--versions", default=",".join(roundtrip.VERSIONS))
    parser.add_argument("--only", choices=("functions", "files", "libraries", "speed"))
    parser.add_argument("--bin", default=os.environ.get("PELLUCID", str(roundtrip.ROOT / "build" / "pellucid")))
    args = parser.parse_args()
    if not roundtrip.rt_bench_path():
        print("skipped: rt_bench.py is not on this machine (PELLUCID_SHARED, or shared beside the checkout)")
        return
    wanted = lambda part: args.only in (None, part)
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        if wanted("functions") or wanted("libraries"):
            print(f"{'':<22}" + "".join(f"{c:>11}" for c in COLUMNS))
        for version in args.versions.split(",") if wanted("functions") else ():
            if not roundtrip.python_for(version):
                print(f"skipped: no Python {version} on this machine")
                continue
            folder = roundtrip.corpus(version, work / version, args.n, args.seed)
            measure(args.bin, f"stdlib {version}", folder, work / (version + ".out"))
        if wanted("libraries") and sys.version_info[:2] == (3, 11):
            for root in library_roots():
                name = os.path.basename(root)
                folder = roundtrip.corpus("3.11", work / name, args.n, args.seed, roots=[root])
                measure(args.bin, f"{name} 3.11", folder, work / (name + ".out"))
        elif wanted("libraries"):
            print("skipped: the libraries are measured with Python 3.11")
        if roundtrip.python_for("3.11"):
            if wanted("files"):
                files(args.bin, work)
            if wanted("speed"):
                speed(args.bin, roundtrip.corpus("3.11", work / "3.11", args.n, args.seed))


if __name__ == "__main__":
    main()
