"""`pellucid scan` goes on after a statement that can't be run: what it gives is unknown, the rest is read."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch's sources are interpreted, and there are none here", allow_module_level=True)


@pytest.fixture
def scan(pellucid, tmp_path):
    def run(source: str, *options: str):
        path = tmp_path / "model.py"
        path.write_text(source)
        done = pellucid("scan", path, "--python", sys.executable, "--json", *options)
        networks = {network["name"]: network for network in json.loads(done.out)["networks"]}
        return done, networks

    return run


HEAD = "import os, json\nimport torch, torch.nn as nn\n"

MODULE_LEVEL = [
    'rank = int(os.environ["LOCAL_RANK"])',
    'config = json.load(open("/nowhere/config.json"))',
    "half = 1 / 0",
    "a, b = [1, 2, 3]",
    "from math import no_such_name",
    "@undefined.register\ndef helper(): pass",
    "with undefined() as f:\n    x = f.read()",
    "for item in undefined():\n    print(item)",
    "if undefined():\n    pass",
    "assert undefined",
    'raise RuntimeError("no GPU")',
    "def f():\n    return 1 / 0\nx = f() + 1",
    "class A(undefined): pass",
]


@pytest.mark.parametrize("statement", MODULE_LEVEL)
def test_a_statement_of_the_module_is_left(scan, statement) -> None:
    done, networks = scan(HEAD + statement + "\nmodel = nn.Linear(2, 3)\n")
    assert done.code == 3
    assert networks["model"]["state"] == {"weight": [3, 2], "bias": [3]}
    assert any(row["line"] >= 3 and "can't be run" in row["why"] for row in networks["model"]["unknown"])


def test_a_statement_of_a_constructor_is_left(scan) -> None:
    source = HEAD + """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        table = torch.zeros(4).no_such_operation()
        self.size = int(table.shape[0] / 0)
        self.last = nn.Linear(3, 4)

model = M()
"""
    done, networks = scan(source)
    assert done.code == 3
    assert list(networks["model"]["state"]) == ["first.weight", "first.bias", "last.weight", "last.bias"]
    assert any("no_such_operation" in row["what"] and row["line"] == 8 for row in networks["model"]["unknown"])


def test_a_decorator_that_fails_gives_what_it_got(scan) -> None:
    source = HEAD + """
def register(name):
    raise KeyError(name)

@register("x")
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)

model = M()
"""
    _, networks = scan(source)
    assert list(networks["model"]["state"]) == ["fc.weight", "fc.bias"]


def test_what_the_program_catches_is_its_own(scan) -> None:
    source = HEAD + """
class Steps:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        if self.n == 3: raise StopIteration
        self.n += 1
        return self.n

class Lazy:
    def __getattr__(self, name): raise AttributeError(name)

def size():
    try:
        with open("/nowhere") as f:
            return int(f.read())
    except (FileNotFoundError, ValueError):
        return 5

sizes = list(Steps())
model = nn.Linear(len(sizes), size() + (0 if hasattr(Lazy(), "x") else 2))
"""
    done, networks = scan(source)
    assert done.code == 0
    assert networks["model"]["state"]["weight"] == [7, 3]
    assert networks["model"]["unknown"] == []


def test_handlers_that_would_not_catch_it_are_no_guards(scan) -> None:
    source = HEAD + """
def main():
    x = 1 / 0
    model = nn.Linear(2, 3)
    return model

try:
    kept = main()
except KeyboardInterrupt:
    pass
finally:
    print("end")
"""
    _, networks = scan(source)
    assert networks["kept"]["state"]["weight"] == [3, 2]


def test_an_answer_without_trouble_is_preferred(scan) -> None:
    source = HEAD + """
class M(nn.Module):
    def __init__(self, width):
        super().__init__()
        if width % 8 != 0:
            raise ValueError("width")
        self.fc = nn.Linear(width, 4)
"""
    _, networks = scan(source)
    tree = networks["M"]["tree"]
    assert [child.get("condition") for node in tree for child in node["children"]] == [None]
    assert not any("ValueError" in row["what"] for row in networks["M"]["unknown"])


def test_arrays_of_nobody_knows_what(scan) -> None:
    """What a file of arrays holds has no shape: neither have the parameters that are made from it, by any function."""
    source = HEAD + """
import numpy as np
table = np.load("table.npy")
class M(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.known = nn.Parameter(torch.from_numpy(np.einsum("ij,jk->ik", np.ones((n, 3)), np.ones((3, 5)))).float())
        self.stacked = nn.Parameter(torch.from_numpy(np.stack([np.sin(table), np.cos(table)])).float())
        self.product = nn.Parameter(torch.tensor(np.arange(4) * np.load("other.npy")))
        self.register_buffer("a", torch.zeros(4, 6, dtype=torch.bool).to_sparse(), persistent=False)
model = M()
"""
    done, networks = scan(source)
    assert done.code == 3 and list(networks) == ["model"]
    assert networks["model"]["state"] == {"known": [6, 5], "stacked": None, "product": None}
    assert not networks["model"]["totals"]["exact"]


def test_data_that_nobody_knows_is_taken_for_a_number_and_said(scan) -> None:
    source = HEAD + """
config = json.load(open("/nowhere/config.json"))
model = nn.Module()
model.scale = nn.Parameter(torch.tensor(config["scale"]))
"""
    done, networks = scan(source)
    assert done.code == 3 and not networks["model"]["totals"]["exact"]
    assert any("taken for a number" in row["why"] for row in networks["model"]["unknown"])


def test_a_line_that_fails_in_each_pass_is_one_row(scan) -> None:
    _, networks = scan(HEAD + "table = {}\nfor i in range(50):\n    table[i]\nmodel = nn.Linear(2, 3)\n")
    assert [row["what"] for row in networks["model"]["unknown"]] == ["KeyError: 0"]


def test_options_of_a_command_line_are_given_by_set(scan) -> None:
    source = HEAD + """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, required=True)
parser.add_argument("--depth", type=int, default=2)
args = parser.parse_args()
model = nn.Sequential(*[nn.Linear(args.width, 4) for _ in range(args.depth)])
"""
    done, networks = scan(source)
    assert done.code == 3 and networks["model"]["state"]["1.weight"] == [4, "args.width"]
    assert any(row["what"] == "args.width" and "--width" in row["why"] for row in networks["model"]["unknown"])
    done, networks = scan(source, "--set", "args.width=8", "--set", "args.depth=1")
    assert done.code == 0 and networks["model"]["state"] == {"0.weight": [4, 8], "0.bias": [4]}


def memory_of(pellucid_program, path) -> int:
    """The most memory that a scan took, in KB."""
    process = subprocess.Popen([pellucid_program, "scan", path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory of a process is counted in other units")
def test_equal_pairs_of_a_table_are_made_once(tmp_path) -> None:
    source = """import torch.nn as nn
seen, at = {}, []
for i in range(%d):
    pair = (i %% 64, i %% 63)
    if pair not in seen:
        seen[pair] = len(seen)
    at.append(seen[pair])
model = nn.Linear(len(seen), 2)
"""
    used = []
    for n in (1000, 1000000):
        path = tmp_path / f"table{n}.py"
        path.write_text(source % n)
        used.append(memory_of(os.environ.get("PELLUCID", "build/pellucid"), path))
    assert used[1] - used[0] < 35000  # the list and what it had before it grew; the pairs took 48,000 besides


def test_a_list_that_is_too_large_loses_its_statement_alone(scan) -> None:
    """Only the shape of such a table matters; it took the whole network with it."""
    done, networks = scan(HEAD + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        table = torch.FloatTensor([[p / (10000 ** (2 * (i // 2) / 512)) for i in range(512)] for p in range(20000)])
        self.places = nn.Parameter(table)
        self.fc = nn.Linear(4, 5)
model = Net()
""")
    network = networks["model"]
    assert done.code == 3 and not network["totals"]["exact"]
    assert network["state"] == {"places": None, "fc.weight": [5, 4], "fc.bias": [5]}
    assert any(row["what"].startswith("MemoryError: a list of more than") and row["line"] == 7
               for row in network["unknown"])


def test_items_of_data_that_nobody_knows_are_not_asked_whether_they_are_lists(scan) -> None:
    """At each depth anew, until what a file may cost was spent, and no network was left."""
    done, networks = scan(HEAD + """import unknown_library
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.places = nn.Parameter(torch.FloatTensor([[p / 2 for i in range(8)] for p in range(n)]))
        self.fc = nn.Linear(4, 5)
model = Net(unknown_library.count())
""")
    network = networks["model"]
    assert done.code == 3 and not network["totals"]["exact"]
    assert network["state"]["places"] == ["unknown_library.count()", 8]
    assert any("taken for a number" in row["why"] for row in network["unknown"])
