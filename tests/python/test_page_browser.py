"""The page in a real browser: open, search, expand, keyboard, dark, nothing from the network, no errors on the
console."""

from __future__ import annotations

import json
import pathlib
import random
import shutil
import subprocess

import pytest

from pellucid._pellucid import view

pytestmark = pytest.mark.slow
BROWSER = pathlib.Path(__file__).resolve().parent.parent / "browser"


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        pytest.skip("no Chromium is installed")
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    if not (BROWSER / "node_modules" / "playwright-core").is_dir():
        pytest.skip("playwright-core is not installed: npm install --prefix tests/browser")
    return found


def use(page: str, modules: int, chromium: str, folder: pathlib.Path) -> dict:
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    done = run("page.mjs", str(path), chromium, str(folder / "page.png"), str(modules))
    answer: dict = json.loads(done)
    return answer


def run(script: str, *arguments: str) -> str:
    done = subprocess.run(["node", script, *arguments], cwd=BROWSER, capture_output=True, text=True, timeout=180,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def node(name: str, kind: str, *children: dict) -> dict:
    return {"name": name, "class": kind, "children": list(children)}


def flow(*pairs: str) -> list[dict]:
    return [{"from": pair.split()[0], "to": pair.split()[1], "shape": [1, 8]} for pair in pairs]


def test_the_graph(chromium: str, tmp_path: pathlib.Path) -> None:
    blocks = [node(str(i), "Block", node("a", "Linear"), node("b", "ReLU"), node("add", "Add")) for i in range(4)]
    ends = ["stem", *(f"blocks.{i}.add" for i in range(4))]
    edges = [f"{ends[i]} blocks.{i}.{part}" for i in range(4) for part in ("a", "add")]
    edges += [f"blocks.{i}.{a} blocks.{i}.{b}" for i in range(4) for a, b in (("a", "b"), ("b", "add"))]
    root = node("", "Net", node("stem", "Conv2d"), node("blocks", "Sequential", *blocks), node("head", "Linear"))
    root["children"][2]["condition"] = "use_head"
    network = {"name": "net", "tree": [root],
               "flow": flow("input stem", *edges, f"{ends[-1]} head", "head output")}
    page = tmp_path / "page.html"
    second = {"name": "second", "tree": [node("", "Other", node("only", "A"))]}
    page.write_text(view(json.dumps({"networks": [network, second]}), "html"), encoding="utf-8")
    run("graph.mjs", str(page), chromium, str(tmp_path / "graph.png"))


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_on_anything(chromium: str, tmp_path: pathlib.Path, seed: int) -> None:
    """Random trees with random flow, cycles too, everything open: no box on another, none outside of its module, and
    what is fed is below."""
    rng = random.Random(seed)
    paths: list[str] = []

    def grow(name: str, path: str, depth: int) -> dict:
        paths.append(path)
        kids = [grow(f"m{i}", f"{path}.m{i}".lstrip("."), depth + 1)
                for i in range(rng.randint(2, 6) if depth < 3 else 0)]
        return node(name, rng.choice(["Linear", "ReLU", "Block"]), *kids)

    root = grow("", "", 0)
    pairs = [f"{a} {b}" for a, b in (rng.sample(paths[1:], 2) for _ in range(2 * len(paths)))]
    network = {"name": "net", "tree": [root], "flow": flow(*pairs, "input m0", "m1 output")}
    page = tmp_path / "page.html"
    page.write_text(view(json.dumps({"networks": [network]}), "html"), encoding="utf-8")
    assert json.loads(run("scene.mjs", str(page), chromium, str(tmp_path / "scene.png"))) == []


def test_names_that_every_object_has(chromium: str, tmp_path: pathlib.Path) -> None:
    kids = [node("__proto__", "constructor"), node("</script><b>", "toString"), node("a/b#c%20 ü", "hasOwnProperty")]
    kids[0]["parameters"] = {"__proto__": [2], "toString": [3], "valueOf": [4]}
    network = {"name": "net", "tree": [node("", "<img src=x onerror=alert(1)>", *kids)],
               "flow": [{"from": "__proto__", "to": "</script><b>", "shape": ["</script>", 3]},
                        {"from": "</script><b>", "to": "a/b#c%20 ü", "shape": None}]}
    page = tmp_path / "page.html"
    page.write_text(view(json.dumps({"networks": [network]}), "html"), encoding="utf-8")
    assert json.loads(run("scene.mjs", str(page), chromium, str(tmp_path / "scene.png"))) == []


def test_what_has_no_flow_is_beside_the_rest(chromium: str, tmp_path: pathlib.Path) -> None:
    """A thousand modules that nothing flows to are a block, not a line."""
    root = node("", "Net", *(node(f"t{i}", f"T{i % 7}") for i in range(1000)))
    page = tmp_path / "page.html"
    page.write_text(view(json.dumps({"networks": [{"name": "net", "tree": [root], "flow": flow("t0 t1")}]}), "html"),
                    encoding="utf-8")
    assert json.loads(run("scene.mjs", str(page), chromium, str(tmp_path / "scene.png"))) == []


def test_without_flow_it_is_said(chromium: str, tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(view(json.dumps({"networks": [{"name": "net", "tree": [node("", "Net", node("a", "A"))]}]}),
                         "html"), encoding="utf-8")
    said = json.loads(run("scene.mjs", str(page), chromium, str(tmp_path / "scene.png")))
    assert len(said) == 1 and said[0].startswith("No data flow is known here"), said


def test_a_live_model(chromium: str, tmp_path: pathlib.Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import pellucid
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    tree = pellucid.tree(model,
                         (torch.randn(2, 5, 16),)).with_source("class TransformerEncoder(nn.Module):\n    pass\n")
    use(tree.html(), sum(1 for _ in model.modules()), chromium, tmp_path)
    assert (tmp_path / "page.png").stat().st_size > 10_000


def test_ten_thousand_modules(chromium: str, tmp_path: pathlib.Path) -> None:
    def layer(i: int) -> dict:
        parts = [{"name": f"part{k}", "class": "Linear", "args": {"0": 8, "1": 8 + i % 7},
                  "parameters": {"weight": [8, 8]}}
                 for k in range(9)]
        return {"name": str(i), "class": "Block", "children": parts}

    root = {"name": "", "class": "Net", "children": [{"name": "layers", "class": "ModuleList",
                                                      "children": [layer(i) for i in range(1000)]}]}
    times = use(view(json.dumps({"networks": [{"name": "large", "tree": [root]}]}), "html"), 10_002, chromium, tmp_path)
    assert times["opened"] < 5000 and times["expanded"] < 3000, times
