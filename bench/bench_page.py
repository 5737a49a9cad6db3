"""How soon the page of a large graph is there, and how evenly it zooms, in headless Chromium.

    python bench/bench_page.py [--nodes 10000] [--runs 3]

Three graphs of that many nodes: operators in one long chain with branches and residuals, layers of a hundred with edges
between neighbours, and blocks in blocks. First paint is the browser's own; frame times are from its trace (DrawFrame),
while the wheel zooms from the whole graph, all modules open, to one box and back in 240 steps. On a busy machine they
say little: then the processor time of a frame, on its busiest thread, does. Needs Chromium, node and
playwright-core (npm install --prefix tests/browser).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from pellucid._pellucid import view

BROWSER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "browser"
MOST_PAINT, MOST_FRAME = 1000, 33  # milliseconds
Node = dict[str, Any]
BLOCK = ("Conv", "BatchNormalization", "Relu", "Conv", "BatchNormalization", "Relu", "Conv", "Add")


def node(name: str, kind: str, children: list[Node] | None = None, **more: Any) -> Node:
    return {"name": name, "class": kind, "children": children or [], **more}


class Graph:
    """Nodes under one root, and what flows."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.flow: list[dict[str, Any]] = []

    def edge(self, start: str, end: str) -> None:
        self.flow.append({"from": start, "to": end, "shape": [1, 64, 56, 56]})

    def add(self, kind: str, *sources: str) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(node(name, kind, args={"kernel_shape": [3, 3], "group": len(self.nodes)}))
        for source in sources:
            self.edge(source, name)
        return name

    def network(self, name: str, root: list[Node] | None = None) -> Node:
        return {"name": name, "tree": [node("", "Graph", root or self.nodes)], "flow": self.flow}


def chain(n: int, rng: random.Random) -> Node:
    graph, last = Graph(), "input"
    while len(graph.nodes) < n:
        start = last
        for kind in BLOCK:
            last = graph.add(kind, last, *[start] * (kind == "Add"))
        if rng.random() < 0.2:
            ends = []
            for _ in range(rng.randint(2, 5)):
                end = last
                for _ in range(rng.randint(1, 3)):
                    end = graph.add("Conv", end)
                ends.append(end)
            last = graph.add("Concat", *ends)
    graph.edge(last, "output")
    return graph.network("chain")


def wide(n: int, rng: random.Random) -> Node:
    graph: Graph = Graph()
    before: list[str] = []
    while len(graph.nodes) < n:
        row = []
        for i in range(100):
            near = {min(99, max(0, i + rng.randint(-6, 6))) for _ in range(3)}
            row.append(graph.add(rng.choice(BLOCK), *([before[k] for k in sorted(near)] if before else ["input"])))
        before = row
    return graph.network("wide")


def nested(n: int, rng: random.Random) -> Node:
    graph, last, blocks = Graph(), "input", []
    for i in range(n // 11):
        here = f"blocks.{i}."
        attention = node("attn", "Attention", [node("qkv", "Linear", args={"out": rng.randint(1, 1 << 30)}),
                                               node("proj", "Linear")])
        mlp = node("mlp", "Mlp", [node("fc1", "Linear"), node("act", "GELU"), node("fc2", "Linear")])
        blocks.append(node(str(i), "Block", [node("norm1", "LayerNorm"), attention, node("add1", "Add"),
                                             node("norm2", "LayerNorm"), mlp, node("add2", "Add")]))
        way = ["norm1", "attn.qkv", "attn.proj", "add1", "norm2", "mlp.fc1", "mlp.act", "mlp.fc2", "add2"]
        for start, end in zip([last, *(here + name for name in way)], way):
            graph.edge(start, here + end)
        graph.edge(last, here + "add1")
        graph.edge(here + "add1", here + "add2")
        last = here + "add2"
    graph.edge(last, "output")
    return graph.network("nested", [node("blocks", "ModuleList", blocks)])


def percentile(times: list[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(part * len(times)))]


def measure(page: pathlib.Path, chromium: str) -> dict[str, Any]:
    done = subprocess.run(["node", "frames.mjs", str(page), chromium, str(page.with_suffix(".png"))], cwd=BROWSER,
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3, help="the median of so many is given")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the pages and pictures")
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium or not shutil.which("node") or not (BROWSER / "node_modules" / "playwright-core").is_dir():
        sys.exit("needs Chromium, node and playwright-core (npm install --prefix tests/browser)")
    missed = 0
    with tempfile.TemporaryDirectory() as made:
        folder = given.keep or pathlib.Path(made)
        for make in (chain, wide, nested):
            text = json.dumps({"networks": [make(given.nodes, random.Random(7))]})
            begun = time.perf_counter()
            html = view(text, "html")
            took = time.perf_counter() - begun
            page = folder / f"{make.__name__}.html"
            page.write_text(html, encoding="utf-8")
            rows = [measure(page, chromium) for _ in range(given.runs)]
            painted = statistics.median(row["painted"] for row in rows)
            frame = statistics.median(percentile(row["frames"], 0.95) for row in rows)
            missed += painted > MOST_PAINT or frame > MOST_FRAME
            middle = {key: statistics.median(row[key] for row in rows) for key in ("ready", "opened")}
            scripts = statistics.median(percentile(row["scripts"], 0.95) for row in rows)
            costs = statistics.median(percentile(row["costs"], 0.95) for row in rows)
            print(f"{make.__name__:7} {rows[0]['drawn']}; {len(html) / 1e6:.1f} MB, written in {took:.2f} s\n"
                  f"  first paint {painted:.0f} ms, graph drawn {middle['ready']:.0f} ms, "
                  f"all opened in {middle['opened']:.0f} ms\n"
                  f"  zooming: {len(rows[0]['frames'])} frames, median {statistics.median(rows[0]['frames']):.1f} ms, "
                  f"95th percentile {frame:.1f} ms, worst {max(max(row['frames']) for row in rows):.0f} ms; "
                  f"of animation frames {scripts:.1f} ms, "
                  f"of processor time {costs:.1f} ms; load of the machine {os.getloadavg()[0]:.1f}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
