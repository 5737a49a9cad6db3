"""The page in a real browser: open, search, expand, keyboard, dark, nothing from the network, no errors on the
console."""

from __future__ import annotations

import json
import pathlib
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
    done = subprocess.run(["node", "page.mjs", str(path), chromium, str(folder / "page.png"), str(modules)],
                          cwd=BROWSER, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
