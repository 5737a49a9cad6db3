"""Where `pellucid scan` imports from: the order is Python's own, .pth files and editable installs are followed, and a
library that is installed does not cost the program its networks."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch's sources are interpreted, and there are none here", allow_module_level=True)

TORCH = importlib.util.find_spec("torch").origin.rpartition("/torch/")[0]


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def scan(pellucid, tmp_path):
    def run(source: str, *options: object):
        (tmp_path / "main").mkdir(exist_ok=True)
        path = tmp_path / "main" / "main.py"
        path.write_text(source)
        done = pellucid("scan", path, "--python", tmp_path / "venv", "--root", TORCH, "--json", *options)
        return done, {network["name"]: network for network in json.loads(done.out or "{}").get("networks", [])}

    return run


def package(folder, name: str, size: int):
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(f"SIZE = {size}\n")


USE = "import torch.nn as nn\nfrom edited import SIZE\nmodel = nn.Linear(SIZE, 1)\n"


@pytest.mark.parametrize("pth", ["{}\n", "# a comment\n\n{}\r\nimport os; os.system('no')\n", "../../../../apart\n"])
def test_paths_in_pth_files(scan, site, tmp_path, pth) -> None:
    package(tmp_path / "apart", "edited", 7)
    (site / "edited.pth").write_text(pth.format(tmp_path / "apart"))
    done, networks = scan(USE)
    assert done.code == 0 and networks["model"]["state"]["weight"] == [1, 7]


def test_the_finder_of_an_editable_install(scan, site, tmp_path) -> None:
    package(tmp_path / "apart", "edited", 7)
    (site / "__editable__.edited-1.pth").write_text("import __editable___edited_1_finder; __editable___x.install()\n")
    (site / "__editable___edited_1_finder.py").write_text(
        f"import sys\nMAPPING: dict[str, str] = {{'edited': {str(tmp_path / 'apart' / 'edited')!r}}}\n")
    done, networks = scan(USE)
    assert done.code == 0 and networks["model"]["state"]["weight"] == [1, 7]


def test_a_finder_that_calls_a_folder_otherwise_is_said(scan, site, tmp_path) -> None:
    package(tmp_path / "apart", "other", 7)
    (site / "__editable__.edited-1.pth").write_text("import __editable___edited_1_finder\n")
    (site / "__editable___edited_1_finder.py").write_text(
        f"\nMAPPING = {{'edited': {str(tmp_path / 'apart' / 'other')!r}}}\n")
    done, _ = scan(USE)
    assert done.code == 3 and "called otherwise" in done.err


def test_the_order_is_pythons(scan, site, tmp_path) -> None:
    """The script's own folder, then --root as PYTHONPATH, then what is installed, then what .pth files add."""
    package(tmp_path / "apart", "edited", 4)
    (site / "edited.pth").write_text(f"{tmp_path / 'apart'}\n")
    sizes = []
    for place, size in ((site, 3), (tmp_path / "root", 2), (tmp_path / "main", 1)):
        (tmp_path / "root").mkdir(exist_ok=True)
        sizes.append(scan(USE, "--root", tmp_path / "root")[1]["model"]["state"]["weight"][1])
        package(place, "edited", size)
    sizes.append(scan(USE, "--root", tmp_path / "root")[1]["model"]["state"]["weight"][1])
    assert sizes == [4, 3, 2, 1]


def test_packages_below_src(pellucid, tmp_path) -> None:
    package(tmp_path / "src", "edited", 7)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "train.py").write_text(USE)
    done = pellucid("scan", tmp_path, "--python", sys.executable, "--json")
    networks = [network for line in done.out.splitlines() for network in json.loads(line)["networks"]]
    assert networks[0]["state"]["weight"] == [1, 7]


@pytest.mark.parametrize("option", ["--python", "--root"])
def test_what_is_not_there_is_refused(pellucid, tmp_path, option) -> None:
    done = pellucid("scan", "-e", "import torch.nn as nn; nn.Linear(1, 2)", option, tmp_path / "nowhere")
    assert done.code == 2 and option in done.err


HEAVY = {
    "questions": "import os\nn = os.cpu_count()\nfor i in range(5000):\n    if n > i:\n        pass\n",
    "memory": "x = []\nwhile True:\n    x.append([0] * 100000)\n",
    "steps": "while True:\n    pass\n",
    "depth": "def f(x):\n    return f(x)\nf(1)\n",
    "syntax": "def (:\n",
    "exit": "import sys\nsys.exit(3)\n",
    "raise": "raise ImportError('no library here')\n",
    "division": "SIZE = 1 / 0\n",
}


@pytest.mark.parametrize("kind", HEAVY)
@pytest.mark.parametrize("how", ["import heavy", "from heavy import thing", "import heavy.inner as h"])
def test_a_library_does_not_cost_the_networks(scan, site, kind, how) -> None:
    (site / "heavy").mkdir()
    (site / "heavy" / "__init__.py").write_text("" if "inner" in how else HEAVY[kind])
    (site / "heavy" / "inner.py").write_text(HEAVY[kind])
    done, networks = scan(f"{how}\nimport torch.nn as nn\nmodel = nn.Linear(2, 3)\n")
    assert done.code == 3
    assert networks["model"]["totals"]["parameters"] == 9
    assert any(row["what"].startswith(("heavy", "ImportError", "SyntaxError")) for row in networks["model"]["unknown"])


def test_who_asks_for_a_name_hears_nothing_of_what_is_not_known_far_below(scan, site) -> None:
    """hasattr() takes an AttributeError for an answer; that of a symbol in a library that is imported is none."""
    for name in ("lazy", "heavy"):
        (site / name).mkdir()
    (site / "lazy" / "__init__.py").write_text("def __getattr__(name):\n    from .real import Net\n    return Net\n")
    (site / "lazy" / "real.py").write_text("import heavy\nfrom torch import nn\nclass Net(nn.Module):\n"
                                           "    def __init__(self):\n        super().__init__()\n"
                                           "        self.first = nn.Linear(2, 3)\n")
    (site / "heavy" / "__init__.py").write_text("import not_here\nBASES = not_here.Thing.__bases__\n")
    _, networks = scan("import lazy\nmodel = lazy.Net() if hasattr(lazy, 'Net') else None\n")
    assert networks["model"]["totals"]["parameters"] == 9


def test_libraries_that_import_each_other_share_what_they_may_cost(scan, site):
    """Each got half of what the one before had: the ninth had nothing left."""
    for i in range(12):
        (site / f"lib{i}").mkdir()
        (site / f"lib{i}" / "__init__.py").write_text(f"from lib{i + 1} import Net\n")
    (site / "lib12").mkdir()
    (site / "lib12" / "__init__.py").write_text(
        "from torch import nn\nn = 0\nwhile n < 100000:\n    n += 1\n"
        "class Net(nn.Linear):\n    def __init__(self):\n        super().__init__(2, 3)\n")
    done, networks = scan("from lib0 import Net\nmodel = Net()\n")
    assert done.code == 0 and networks["model"]["totals"]["parameters"] == 9, done.out


def test_a_library_that_costs_too_much_leaves_something_to_who_imports_it(scan, site):
    for name, text in {"outer": "import dear\nfrom torch import nn\n", "dear": "while True:\n    x = [0]\n"}.items():
        (site / name).mkdir()
        (site / name / "__init__.py").write_text(text)
    done, networks = scan("import outer\nmodel = outer.nn.Linear(2, 3)\n")
    assert done.code == 0 and networks["model"]["totals"]["parameters"] == 9
    assert [row["what"] for row in networks["model"]["assumed"]] == ["dear"]  # nothing of it is in the network
    done, networks = scan("import outer, dear\nmodel = outer.nn.Linear(2, 3)\n")
    assert done.code == 3 and [row["what"] for row in networks["model"]["unknown"]] == ["dear"]
