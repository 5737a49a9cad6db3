"""`pellucid scan` says what it does not know: layers of unknown classes, parameters under conditions, files that
contradict the source, a forward that could not be run, budgets that were spent."""

from __future__ import annotations

import importlib.util
import json
import resource
import sys

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch's sources are interpreted, and there are none here", allow_module_level=True)


@pytest.fixture
def scan(pellucid, tmp_path):
    def run(source: str, *options: object):
        path = tmp_path / "model.py"
        path.write_text(source)
        done = pellucid("scan", path, "--python", sys.executable, "--json", *options)
        networks = json.loads(done.out)["networks"] if done.out else []
        return done, {network["name"]: network for network in networks}

    return run


def test_layers_of_classes_that_are_not_there(scan, pellucid, tmp_path) -> None:
    source = """
import torch.nn as nn
from fairscale_x.layers import ColumnParallelLinear

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq = ColumnParallelLinear(64, 32, bias=False)
        self.norm = nn.LayerNorm(64)
        self.stack = nn.ModuleList([ColumnParallelLinear(8, 8) for _ in range(2)])

model = M()
"""
    done, networks = scan(source)
    assert done.code == 3
    children = {child["name"]: child for child in networks["model"]["tree"][0]["children"]}
    assert children["wq"]["class"] == "ColumnParallelLinear" and children["wq"]["opaque"]
    assert children["wq"]["args"] == {"0": 64, "1": 32, "bias": False} or 64 in children["wq"]["args"].values()
    assert [child["opaque"] for child in children["stack"]["children"]] == [True, True]
    assert networks["model"]["totals"]["exact"] is False
    assert any(row["what"].startswith("wq") for row in networks["model"]["unknown"])
    text = pellucid("scan", tmp_path / "model.py", "--python", sys.executable).out
    assert "wq: ? ColumnParallelLinear(64, 32, bias=False)" in text


def test_parameters_under_a_condition(scan) -> None:
    source = """
import torch, torch.nn as nn

class LN(nn.Module):
    def __init__(self, ndim, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None
"""
    done, networks = scan(source)
    assert done.code == 3
    assert networks["LN"]["tree"][0]["tensor_conditions"] == {"bias": "bias"}
    assert networks["LN"]["totals"]["exact"] is False
    done, networks = scan(source, "--set", "ndim=4", "--set", "bias=True")
    assert done.code == 0 and "tensor_conditions" not in networks["LN"]["tree"][0]


def test_a_file_that_contradicts_the_source(scan, tmp_path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "two.pt"
    torch.save({f"blocks.{i}.{name}": torch.zeros(4, 4) if name == "weight" else torch.zeros(4)
                for i in range(2) for name in ("weight", "bias")}, path)
    source = """
import torch.nn as nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(depth)])

model = Net(%s)
"""
    done, networks = scan(source % 3, "--with", path)
    assert done.code == 4
    assert {row["what"] for row in networks["model"]["errors"]} == {"blocks.2.weight", "blocks.2.bias"}
    done, networks = scan(source % 2, "--with", path)
    assert done.code == 0 and networks["model"]["errors"] == []


CLASSES = """
import torch.nn as nn

class Block(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)

class Net(nn.Module):
    def __init__(self, width, out=3):
        super().__init__()
        self.stem = nn.Linear(4, width)
        self.block = Block(width)
        self.head = nn.Linear(width, out)
    def forward(self, x):
        return self.head(self.block(self.stem(x)))
"""


def test_forward_of_a_file_that_only_defines_classes(scan) -> None:
    done, networks = scan(CLASSES, "--forward", "2x4")
    assert done.code == 3
    assert any(row["what"] == "--forward" and "not run" in row["why"] for row in networks["Net"]["unknown"])
    done, networks = scan(CLASSES, "--forward", "2x4", "--set", "width=16")
    assert networks["Net"]["tree"][0]["output"] == [2, 3]
    assert "output" not in networks["Block"]["tree"][0]  # a part of Net
    assert done.code == 0
    done, _ = scan(CLASSES, "--forward", "2x5", "--set", "width=16")
    assert done.code == 4


def test_forward_is_given_once(scan) -> None:
    done, _ = scan(CLASSES, "--forward", "2x4", "--forward", "2x5")
    assert done.code == 1 and "--forward is given once" in done.err


def test_forward_with_nothing_to_run(scan) -> None:
    done, _ = scan("x = 1\n", "--forward", "2x4")
    assert done.code == 3


def test_one_budget_for_all_runs_of_a_file(pellucid, tmp_path) -> None:
    path = tmp_path / "model.py"
    path.write_text("""
import torch.nn as nn

def table(n):
    return [[i * k for i in range(1500)] for k in range(n)]

class M(nn.Module):
    def __init__(self, a, b, c, d):
        super().__init__()
        for flag in (a, b, c, d):
            if flag:
                kept = table(1500)
        self.fc = nn.Linear(2, 3)
""")
    done = pellucid("scan", path, "--python", sys.executable, "--json", timeout=300)
    assert done.code == 3
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1100 * 1024
    rows = [row for network in json.loads(done.out)["networks"] for row in network["unknown"]]
    assert rows


def test_namespace_packages_in_any_root(pellucid, tmp_path) -> None:
    (tmp_path / "pkg" / "sub").mkdir(parents=True)
    (tmp_path / "pkg" / "sub" / "m.py").write_text("import torch.nn as nn\nclass A(nn.Linear): pass\n")
    (tmp_path / "main.py").write_text("from pkg.sub.m import A\nfrom pkg.other import B\nmodel = A(2, B)\n")
    (tmp_path / "second" / "pkg").mkdir(parents=True)
    (tmp_path / "second" / "pkg" / "other.py").write_text("B = 3\n")
    done = pellucid("scan", tmp_path / "main.py", "--python", sys.executable, "--root", tmp_path / "second", "--json")
    network = json.loads(done.out)["networks"][0]
    assert done.code == 0 and network["state"]["weight"] == [3, 2]


def test_machine_code_is_a_module_of_symbols(pellucid, tmp_path) -> None:
    library = tmp_path / "lib" / "python3.11" / "site-packages" / "fastlib"
    library.mkdir(parents=True)
    init = "from ._core import run, LIMIT\nfrom .broken import first\nready = run(LIMIT)\n"
    (library / "__init__.py").write_text(init)
    (library / "broken.py").write_text("first = 1\nsecond = undefined + 1\nthird = 1 / 0\n")
    (library / "_core.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\\x7fELF")
    (tmp_path / "main.py").write_text("import fastlib\nfrom fastlib.broken import second, fourth\n"
                                      "import torch.nn as nn\nmodel = nn.Linear(fastlib.broken.first, 3)\n")
    done = pellucid("scan", tmp_path / "main.py", "--root", library.parent, "--python", sys.executable, "--json")
    network = json.loads(done.out)["networks"][0]
    assert network["state"]["weight"] == [3, 1]
    lost = [row for row in network["unknown"] if row["what"] == "fastlib"]
    assert len(lost) == 1 and "can't be run" in lost[0]["why"]


def test_two_packages_of_one_name(pellucid, tmp_path) -> None:
    for project, size in (("one", 3), ("two", 5)):
        package = tmp_path / project / "backbones"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / f"{project}.py").write_text(f"import torch.nn as nn\nmodel = nn.Linear(2, {size})\n")
    done = pellucid("scan", tmp_path, "--python", sys.executable, "--json")
    assert '[3,2]' in done.out.replace(" ", "") and '[5,2]' in done.out.replace(" ", "")


def test_generic_before_a_parametrised_base(scan) -> None:
    done, networks = scan("""
from typing import Generic, List, TypeVar
import torch.nn as nn
T = TypeVar("T")
class S(Generic[T]): pass
class L(Generic[T], S[List[T]]): pass
model = nn.Linear(2, 3)
""")
    assert done.code == 0 and networks["model"]["unknown"] == []


@pytest.fixture
def checkpoint(tmp_path):
    torch = pytest.importorskip("torch")

    def save(shapes: dict[str, tuple[int, ...]]):
        path = tmp_path / "weights.pt"
        torch.save({name: torch.zeros(shape) for name, shape in shapes.items()}, path)
        return path

    return save


ROW = """
import torch.nn as nn

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(3))

model = M()
"""


@pytest.mark.parametrize("shapes, code", [
    ({f"rows.{i}.weight": (4, 4) for i in range(3)}, 0),
    ({f"rows.{i}.weight": (4, 5) for i in range(3)}, 4),  # every shape is another one
    ({"other": (3,)}, 4),  # nothing in common
    ({}, 4),
    ({**{f"model.rows.{i}.weight": (4, 4) for i in range(3)}, "head.weight": (9, 9)}, 3),  # some are not compared
])
def test_every_file_that_does_not_fit_is_said_to(scan, checkpoint, shapes, code) -> None:
    done, networks = scan(ROW, "--with", checkpoint(shapes))
    assert done.code == code
    assert bool(networks["model"]["errors"]) == (code == 4)


def test_a_file_for_no_network(scan, checkpoint) -> None:
    done, _ = scan("x = 1\n", "--with", checkpoint({"w": (2,)}))
    assert done.code == 4


def test_what_is_not_run_is_no_error_of_the_network(scan) -> None:
    done, networks = scan(ROW, "--forward", "2x4")
    assert done.code == 3 and "has no forward" in networks["model"]["unknown"][-1]["why"]
    done, networks = scan("import torch.nn as nn\nmodel = nn.Linear(4, 4)\n", "--forward", "2x4,2x4")
    assert done.code == 3 and "not run" in networks["model"]["unknown"][-1]["why"]
    assert scan(ROW, "--forward", "")[0].code == 1


def test_nothing_to_scan_is_said(pellucid, tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    assert pellucid("scan", tmp_path / "empty").code == 2
    (tmp_path / "none.py").write_text("x = 1\n")
    done = pellucid("scan", tmp_path / "none.py")
    assert done.code == 0 and "no network" in done.out


LIBRARY = """
import ctypes, absent_x

WIDTH = 8
config = {"width": 4}
config.update(absent_x.read())
for name in [absent_x.name.upper(), UNBOUND]:
    config[name] = 1

def width():
    return config["width"]
"""


@pytest.fixture
def environment(tmp_path):
    """A library that uses another one, some lines of which can't be run."""
    folder = tmp_path / "site-packages"
    for name, text in {"statlib": LIBRARY, "user": "import statlib\n\ndef sizes():\n    return statlib\n"}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(text)
    return folder


def test_what_a_library_lacks_is_a_premise_where_nothing_depends_on_it(scan, environment) -> None:
    done, networks = scan("import user\nimport torch.nn as nn\nnet = nn.Linear(2, 3)\n", "--root", environment)
    assert done.code == 0 and networks["net"]["totals"]["exact"] is True
    assert [row["what"] for row in networks["net"]["assumed"]] == ["statlib"]  # one line for all of it
    source = "import user\nimport torch.nn as nn\n\nclass Net(nn.Linear):\n    def __init__(self):\n"
    done, networks = scan(source + "        super().__init__(2, 3)\n", "--root", environment)
    assert done.code == 0 and networks["Net"]["assumed"][0]["what"] == "statlib"  # of a class that nothing builds


@pytest.mark.parametrize("imports", ["import user, statlib", "import statlib, user", "from statlib import config"])
def test_what_the_program_asks_for_by_name_is_no_premise(scan, environment, imports) -> None:
    done, networks = scan(f"{imports}\nimport torch.nn as nn\nnet = nn.Linear(2, 3)\n", "--root", environment)
    assert done.code == 3 and any(row["what"] == "statlib" for row in networks["net"]["unknown"])


@pytest.mark.parametrize("size", ["config['width']", "width()", "absent_x.size"])
def test_data_of_a_library_that_lost_a_line_are_not_known(scan, environment, size) -> None:
    source = f"import user\nimport torch.nn as nn\nnet = nn.Linear(user.sizes().{size}, 3)\n"
    done, networks = scan(source, "--root", environment)
    assert done.code == 3 and networks["net"]["totals"]["exact"] is False
    assert any(row["what"] == "statlib" for row in networks["net"]["unknown"])


def test_libraries_with_layers_keep_their_data_and_their_row(scan, environment) -> None:
    layer = "\nimport torch.nn as nn\n\nclass Layer(nn.Linear):\n    pass\n"
    (environment / "statlib" / "__init__.py").write_text(LIBRARY + layer)
    for made in ("user.sizes().Layer(user.sizes().WIDTH, 3)", "nn.Linear(user.sizes().WIDTH, 3)"):
        done, networks = scan(f"import user\nimport torch.nn as nn\nnet = {made}\n", "--root", environment)
        assert done.code == 3 and list(networks["net"]["state"].values())[0] == [3, 8]
        assert any(row["what"] == "statlib" for row in networks["net"]["unknown"])


def test_a_file_without_networks_does_not_hide_what_a_library_lacks(scan, environment) -> None:
    done, networks = scan("import user\nx = user.sizes().config\n", "--root", environment)
    assert done.code == 3 and any(row["what"] == "statlib" for one in networks.values() for row in one["unknown"])
