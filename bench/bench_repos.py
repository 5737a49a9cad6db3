"""How many of the module classes of whole repositories `pellucid scan` shows in a tree, and why not the others.

    python bench/bench_repos.py FOLDER [--python VENV] [--missing] [--only NAME,...] [--json FILE]

FOLDER holds one checkout per folder; nothing of them is executed. The rule for choosing them, written before the first
run: code of methods that practitioners name first, over text, speech, sound, pictures (classification, detection,
segmentation, generation, depth, flow, super-resolution), points, graphs, series and biology; official code before
copies; every one of the list that could be fetched, none left out for what comes out. repositories.txt has the list
with the commits.

A class counts if its text derives from nn.Module, or from another class of the same repository that does. It appears if
a node of any tree of `pellucid scan REPOSITORY --json` has its name. What does not appear needs a reason: a row of
`unknown` or `errors` of a network of its name, or of its file.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import os
import pathlib
import resource
import subprocess
import sys
import time
from typing import Any, Iterator

PELLUCID = os.environ.get("PELLUCID", "build/pellucid")
ROOTS = ("Module", "nn.Module", "torch.nn.Module", "torch.nn.modules.Module")


def bases_in(path: pathlib.Path) -> Iterator[tuple[str, list[str], int]]:
    """Name, bases and line of each class at the top level of a file."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
    except (SyntaxError, ValueError):
        return
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name, [ast.unparse(base) for base in node.bases], node.lineno


def derives(bases: list[str], names: set[str]) -> bool:
    return any(base in ROOTS or base.rpartition(".")[2] in names for base in bases)


def module_classes(folder: pathlib.Path) -> dict[tuple[str, str], int]:
    """(file, class) -> line of all classes that derive from nn.Module, also by other classes of the repository."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        for name, bases, line in bases_in(path):
            found[str(path), name] = (bases, line)
    names = {name for (_, name), (bases, _) in found.items() if any(base in ROOTS for base in bases)}
    while True:
        more = {name for (_, name), (bases, _) in found.items() if derives(bases, names)}
        if more <= names:
            break
        names |= more
    return {key: line for key, (bases, line) in sorted(found.items()) if derives(bases, names)}


def documents(text: str) -> Iterator[dict[str, Any]]:
    at, decoder = 0, json.JSONDecoder()
    while at < len(text):
        if text[at] in " \n\r\t":
            at += 1
            continue
        document, at = decoder.raw_decode(text, at)
        yield document


def scan(folder: pathlib.Path, python: str | None) -> tuple[list[dict[str, Any]], float, float, int]:
    """The networks of a folder, seconds, the most memory of a process in MB, and the exit status."""
    begun = time.monotonic()
    command = [PELLUCID, "scan", str(folder), "--json"] + (["--python", python] if python else [])
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    seconds = time.monotonic() - begun
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    networks = [network for document in documents(done.stdout) for network in document.get("networks", [document])]
    return networks, seconds, memory, done.returncode


def classes_in(nodes: list[dict[str, Any]], into: set[str]) -> None:
    for node in nodes:
        if node.get("class") and not node.get("opaque"):
            into.add(node["class"])
        classes_in(node.get("children", []), into)


def reasons(networks: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """By the name of the network, and by file: the first thing that could not be found out."""
    by_name: dict[str, str] = {}
    by_file: dict[str, str] = {}
    for network in networks:
        for row in network.get("errors", []) + network.get("unknown", []):
            text = f"{row['what']}: {row.get('why', '')} ({row.get('file', '?')}:{row.get('line', 0)})"
            if not network.get("tree"):
                by_name.setdefault(network["name"], text)
            by_file.setdefault(row.get("file", ""), text)
    return by_name, by_file


def measure(folder: pathlib.Path, python: str | None) -> dict[str, Any]:
    wanted = module_classes(folder)
    networks, seconds, memory, status = scan(folder, python)
    shown: set[str] = set()
    for network in networks:
        classes_in(network.get("tree", []), shown)
        if network.get("class"):
            shown.add(network["class"])
    by_name, by_file = reasons(networks)
    missing = []
    for (path, name), line in wanted.items():
        if name not in shown:
            missing.append((name, f"{path}:{line}", by_name.get(name) or by_file.get(path) or by_name.get(path)))
    return {
        "repository": folder.name,
        "classes": len(wanted),
        "shown": len(wanted) - len(missing),
        "seconds": round(seconds, 1),
        "megabytes": round(memory),
        "status": status,
        "missing": missing,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--python", help="whose site-packages are roots; without it there are no libraries")
    parser.add_argument("--only", help="names of repositories, a comma between")
    parser.add_argument("--missing", action="store_true", help="list each class that does not appear, with its reason")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to a file")
    args = parser.parse_args()
    only = set(args.only.split(",")) if args.only else None
    rows = []
    for folder in sorted(path for path in args.folder.iterdir() if path.is_dir()):
        if only and folder.name not in only:
            continue
        row = measure(folder, args.python)
        rows.append(row)
        silent = sum(reason is None for _, _, reason in row["missing"])
        print(
            f"{row['repository']:32} {row['shown']:5} of {row['classes']:5}  without a reason {silent:4}  "
            f"{row['seconds']:6.1f} s  {row['megabytes']:6} MB  exit {row['status']}",
            flush=True,
        )
        for name, place, reason in row["missing"] if args.missing else []:
            print(f"    {name} ({place}): {reason or 'NO REASON'}", flush=True)
    total = collections.Counter()
    for row in rows:
        total["classes"] += row["classes"]
        total["shown"] += row["shown"]
        total["silent"] += sum(reason is None for _, _, reason in row["missing"])
    percent = 100 * total["shown"] / max(1, total["classes"])
    print(f"{len(rows)} repositories: {total['shown']} of {total['classes']} classes appear ({percent:.1f}%); "
          f"{total['silent']} are missing without a reason")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    return 1 if total["silent"] else 0


if __name__ == "__main__":
    sys.exit(main())
