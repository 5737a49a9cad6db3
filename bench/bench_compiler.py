"""What looking into torch.compile costs and changes, side by side with depyf where it is installed.

    python bench/bench_compiler.py [--programs N] [--rounds N] [--no-time]

Programs: those of tests/python/dynamo_programs.py, each in its own process per tool: results, side effects, printed
text and grad mode are compared with those of the same program compiled and not looked into. Time: ten functions
compiled and then called, alternating between with and without.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))
TOOLS = ("pellucid", "depyf")
SECONDS = 180  # for one program; more, and the process is ended by SIGALRM, which costs that program alone


# ---- one process: programs under a tool ----

def look(tool: str, folder: str):
    if tool == "pellucid":
        import pellucid
        return pellucid.prepare_debug(folder)
    import depyf
    return depyf.prepare_debug(folder)


def run_programs(tool: str, names: list[str], folder: str) -> None:
    """Prints a line of JSON per program."""
    import torch
    from dynamo_programs import PROGRAMS, run
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list as entries
    warnings.simplefilter("ignore")
    for name in names:
        row = {"name": name, "generated": 0, "decompiled": 0, "linked": 0, "same": False}
        function, calls = PROGRAMS[name]()
        torch._dynamo.reset()
        expected = run(torch.compile(function, backend="eager"), calls)
        torch._dynamo.reset()
        function, calls = PROGRAMS[name]()
        seen = []
        handle = torch._dynamo.convert_frame.register_bytecode_hook(lambda old, new: seen.append((old, new)))
        where = os.path.join(folder, name)
        os.makedirs(where)
        signal.alarm(SECONDS)
        try:
            with look(tool, where):
                got = run(torch.compile(function, backend="eager"), calls)
            row["same"] = got == expected
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:200]
        finally:
            signal.alarm(0)
        handle.remove()
        torch.set_grad_enabled(True)
        row["generated"] = len(seen)
        for old, new in seen:
            codes = [entry.code for entry in entries(old)]
            row["linked"] += any(code.co_filename.startswith(where) for code in codes)
            row["kept"] = row.get("kept", 0) + any(code.co_code == new.co_code for code in codes)
            row["decompiled"] += decompiles(tool, new)
        files = sorted(pathlib.Path(where).rglob("*.py"))
        row["files"], row["parse"] = len(files), sum(map(parses, files))
        print(json.dumps(row), flush=True)


def decompiles(tool: str, code) -> bool:
    try:
        if tool == "pellucid":
            import pellucid
            made = pellucid.decompile_map(code)
            ast.parse(made.source)
            return not made.incomplete
        import depyf
        ast.parse(depyf.decompile(code))
        return True
    except Exception:
        return False


def parses(path: pathlib.Path) -> bool:
    try:
        ast.parse(path.read_text())
        return True
    except (SyntaxError, ValueError):
        return False


# ---- one process: time ----

def functions():
    """Ten small functions of the kind that people compile; made anew each time, so that Dynamo sees them first."""
    import torch
    import torch.nn as nn
    torch.manual_seed(0)
    made = []
    for width in range(8, 13):
        model = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.LayerNorm(2 * width),
                              nn.Linear(2 * width, width))
        space = {"torch": torch}
        exec(f"def step(x):\n    y = torch.relu(x) + {width}\n    if y.sum() > 0:\n        y = y * 2\n"
             "    return y.softmax(-1) @ x.T\n", space)
        made += [(model, torch.ones(4, width)), (space["step"], torch.ones(4, width))]
    return made


def one_time(tool: str | None, folder: str) -> tuple[float, float]:
    """(seconds to compile, seconds per 10,000 calls afterwards)"""
    import contextlib
    import torch
    torch._dynamo.reset()
    pairs = [(torch.compile(function, backend="eager"), x) for function, x in functions()]
    start = time.process_time()
    with look(tool, folder) if tool else contextlib.nullcontext():
        for function, x in pairs:
            function(x)
    compiled = time.process_time() - start
    start = time.process_time()
    for _ in range(100):
        for function, x in pairs:
            function(x)
    return compiled, (time.process_time() - start) * 10


def run_time(tool: str, rounds: int) -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        one_time(None, folder)  # imports, caches
        one_time(tool, folder + "/first")
        rows = []
        for number in range(rounds):
            order = [None, tool] if number % 2 else [tool, None]
            got = {which: one_time(which, f"{folder}/{number}") for which in order}
            rows.append((got[tool], got[None]))
    print(json.dumps(rows))


# ---- all ----

def child(*arguments: str, timeout: float = 3000) -> str:
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True,
                          timeout=timeout, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode and not done.stdout:
        raise SystemExit(done.stderr)
    return done.stdout


def programs(tool: str, names: list[str]) -> list[dict]:
    """A program that brings the process down costs itself alone."""
    rows: list[dict] = []
    while len(rows) < len(names):
        with tempfile.TemporaryDirectory() as folder:
            out = child("--child", tool, folder, *names[len(rows):])
        rows += [json.loads(line) for line in out.splitlines() if line.startswith('{"name"')]
        if len(rows) < len(names):
            rows.append({"name": names[len(rows)], "generated": 0, "decompiled": 0, "linked": 0,
                         "same": False, "files": 0, "parse": 0, "error": "the process died"})
    return rows


def report(tools: list[str], names: list[str]) -> None:
    lines = {"programs unchanged": lambda rows: (sum(r["same"] for r in rows), len(rows)),
             "generated functions decompiled": lambda rows: (sum(r["decompiled"] for r in rows),
                                                             sum(r["generated"] for r in rows)),
             ".py files that parse": lambda rows: (sum(r["parse"] for r in rows), sum(r["files"] for r in rows)),
             "generated functions linked to a file": lambda rows: (sum(r["linked"] for r in rows),
                                                                   sum(r["generated"] for r in rows)),
             "generated functions that run as generated": lambda rows: (sum(r.get("kept", 0) for r in rows),
                                                                        sum(r["generated"] for r in rows)),
             "programs with all of them linked": lambda rows: (sum(r["linked"] == r["generated"] for r in rows),
                                                               len(rows))}
    results = {tool: programs(tool, names) for tool in tools}
    print(f"{'':44}" + "".join(f"{tool:>18}" for tool in tools))
    for title, count in lines.items():
        print(f"{title:44}" + "".join("{:>18}".format("{} of {}".format(*count(results[tool]))) for tool in tools))
    for tool in tools:
        wrong = [row["name"] for row in results[tool] if not row["same"]]
        if wrong:
            print(f"changed or broken under {tool}: {', '.join(wrong)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--child-time", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--programs", type=int, default=10_000, help="only the first N")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--only-time", action="store_true")
    options = parser.parse_args()
    if options.child:
        tool, folder, *names = options.child
        return run_programs(tool, names, folder)
    if options.child_time:
        return run_time(options.child_time[0], int(options.child_time[1]))
    tools = []
    for tool in TOOLS:
        try:
            __import__(tool)
            tools.append(tool)
        except ImportError:
            print(f"{tool} is not installed: left out")
    from dynamo_programs import PROGRAMS
    if not options.only_time:
        report(tools, list(PROGRAMS)[: options.programs])
    if not options.no_time:
        for tool in tools:
            rows = json.loads(child("--child-time", tool, str(options.rounds)).splitlines()[-1])
            ratios = [statistics.median(w[i] / o[i] for w, o in rows) for i in (0, 1)]
            best = [min(w[i] for w, _ in rows) / min(o[i] for _, o in rows) for i in (0, 1)]
            print(f"time with {tool} / without: compiling {ratios[0]:.2f} (fastest runs {best[0]:.2f}), "
                  f"afterwards {ratios[1]:.2f} (fastest runs {best[1]:.2f}); {len(rows)} pairs, order alternating")


if __name__ == "__main__":
    main()
