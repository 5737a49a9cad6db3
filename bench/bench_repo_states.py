"""The state_dict that `pellucid scan` reads off repositories, beside that of the executed model.

    python bench/bench_repo_states.py FOLDER [--only NAME,...] [--limit N] [--per-file N] [--give N] [--json FILE]

FOLDER holds one checkout per folder. Every file that defines a module class is imported in a process of its own, forked
off one that has imported torch, in the environment of this Python; each public class and function of it that needs no
argument (or with --give N takes N for each) is called there, and counts if a module comes back. Then `pellucid scan`
reads `from FILE import NAME; model = NAME()` without executing anything. Names, shapes and order must be equal. What is
different and was called exact is wrong without a word.

This executes the files' code: use it for repositories that you would run.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

PELLUCID = os.environ.get("PELLUCID", "build/pellucid")
PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "pellucid"

EXECUTE = r"""
import importlib, inspect, json, os, resource, signal, sys, warnings
warnings.simplefilter("ignore")
import numpy, torch
sys.path.insert(0, sys.argv[1])
import _torchvision
_torchvision.stand_in()
del sys.path[0]
torch.set_num_threads(1)

def states_of(root, name, most, given):
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    os.chdir(root)
    sys.path.insert(0, root)
    module = importlib.import_module(name)
    states = {}
    for key, value in list(vars(module).items()):
        if key.startswith("_") or len(states) >= most or getattr(value, "__module__", None) != name:
            continue
        if not (inspect.isclass(value) and issubclass(value, torch.nn.Module) or inspect.isfunction(value)):
            continue
        try:
            kinds = inspect.signature(value).parameters.values()
        except (TypeError, ValueError):
            continue
        rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        wanted = [p for p in kinds if p.default is p.empty and p.kind not in rest]
        if wanted and not given or any(p.kind is p.POSITIONAL_ONLY for p in wanted):
            continue
        call = key + "(" + ", ".join(f"{p.name}={given}" for p in wanted) + ")"
        signal.alarm(40)
        try:
            made = value(**{p.name: given for p in wanted})
            if isinstance(made, torch.nn.Module):
                states[call] = [[k, list(v.shape)] for k, v in made.state_dict().items()]
        except Exception as error:
            print(key, type(error).__name__, error, file=sys.stderr)
        signal.alarm(0)
    return states

out, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        signal.alarm(90)
        try:
            said = json.dumps(states_of(*json.loads(line)))
        except BaseException as error:
            print(line.strip(), type(error).__name__, str(error)[:200], file=sys.stderr)
            said = "{}"
        with os.fdopen(writer, "w") as pipe:
            pipe.write(said)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    out.write((said or "{}") + "\n")
    out.flush()
"""


def module_files(folder: pathlib.Path) -> list[pathlib.Path]:
    found = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if re.search(r"^class \w+\(.*Module.*\):", text, re.M) and not path.name.startswith("test"):
            found.append(path)
    return found


def place_of(folder: pathlib.Path, path: pathlib.Path) -> tuple[pathlib.Path, str]:
    """The folder that Python would start from, and the dotted name there."""
    root = path.parent
    while root != folder and (root / "__init__.py").exists():
        root = root.parent
    parts = path.relative_to(root).with_suffix("").parts
    return root, ".".join(parts)


def executor() -> subprocess.Popen[str]:
    """A Python that has imported torch, and forks off a process for each file."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
    return subprocess.Popen([sys.executable, "-c", EXECUTE, str(PACKAGE)], text=True, env=environment,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def execute(process: subprocess.Popen[str], root: pathlib.Path, name: str, most: int,
            given: int) -> dict[str, Any]:
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps([str(root), name, most, given]) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline() or "{}")


def read(root: pathlib.Path, name: str, call: str) -> tuple[list[list[Any]], bool, int, list[str]]:
    code = f"from {name} import {call.partition('(')[0]}\nmodel = {call}"
    command = [PELLUCID, "scan", "-e", code, "--json", "--root", str(root), "--python", sys.prefix]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        return [], False, done.returncode, [done.stderr[-200:]]
    for network in document["networks"]:
        if network["name"] == "model":
            why = [f"{row['what']}: {row['why']} ({row.get('file')}:{row.get('line')})" for row in network["unknown"]]
            found = [[name, shape] for name, shape in network["state"].items()]
            return found, network["totals"]["exact"], done.returncode, why
    return [], False, done.returncode, ["no network"]


def judge(found: list[list[Any]], truth: list[list[Any]], exact: bool, status: int) -> str:
    if found == truth:
        return "equal" if exact else "equal, not called exact"
    return "WRONG WITHOUT A WORD" if exact and status == 0 else "different, called exact" if exact else "not found out"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--limit", type=int, default=1000, help="models of one repository")
    parser.add_argument("--per-file", type=int, default=4)
    parser.add_argument("--give", type=int, default=0, help="for arguments without a default; 0: only those without")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    only = set(args.only.split(",")) if args.only else None
    rows = []
    process = executor()
    for folder in sorted(path.resolve() for path in args.folder.iterdir() if path.is_dir()):
        if only and folder.name not in only:
            continue
        begun = len(rows)
        for path in module_files(folder):
            if len(rows) - begun >= args.limit:
                break
            root, name = place_of(folder, path)
            for call, truth in execute(process, root, name, args.per_file, args.give).items():
                if not truth:
                    continue
                found, exact, status, why = read(root, name, call)
                verdict = judge(found, truth, exact, status)
                rows.append({"repository": folder.name, "model": f"{name}.{call}", "verdict": verdict, "why": why[:3]})
                if verdict != "equal":
                    reasons = "; ".join(why[:2])[:300]
                    print(f"{folder.name} {name}.{call}: {verdict} (exit {status}); {reasons}", flush=True)
        print(f"{folder.name}: {len(rows) - begun} models", flush=True)
    kinds = sorted({row["verdict"] for row in rows})
    print(f"{len(rows)} models: " + ", ".join(f"{sum(r['verdict'] == k for r in rows)} {k}" for k in kinds))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    return 1 if any("exact" in row["verdict"] and row["verdict"] != "equal, not called exact" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
