"""`pellucid scan`: networks from source alone. torch's own sources are read as text; nothing of them is executed
here."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch's sources are interpreted, and there are none here", allow_module_level=True)

MLP = """
import torch.nn as nn


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 20)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(20, 5)

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


model = MLP()
"""

BRANCH = """
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, use_branch):
        super().__init__()
        self.use_branch = use_branch
        self.fc1 = nn.Linear(10, 20)
        self.fc_branch = nn.Linear(20, 15)
        self.fc2 = nn.Linear(20, 5)

    def forward(self, x):
        x = self.fc1(x)
        if self.use_branch:
            x = self.fc_branch(x)
        return self.fc2(x)


net = Net(True)
"""

CONV = """
import torch.nn as nn
import torch.nn.functional as F


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(32 * 7 * 7, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(x.size(0), 32 * 7 * 7)
        return self.fc(x)


net = Conv()
"""

STACK = """
import torch.nn as nn


class Stack(nn.Module):
    def __init__(self, num_layers, width, residual):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(num_layers):
            self.layers.append(nn.Linear(width, width))
        if residual:
            self.proj = nn.Linear(width, 10)
        self.head = nn.Linear(width, 2 * width + 1)
"""

KERAS = """
import tensorflow as tf
from tensorflow.keras import layers


class Model(tf.keras.Model):
    def __init__(self, num_layers):
        super().__init__()
        self.blocks = []
        for _ in range(num_layers):
            self.blocks.append(layers.Dense(32, activation='relu'))
        self.out = layers.Dense(10)


model = Model(5)
"""

COPIES = """
import copy
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.inner = nn.ModuleList()
        for _ in range(depth):
            self.inner.append(nn.Linear(4, 4))


class Copies(nn.Module):
    def __init__(self, depth, n):
        super().__init__()
        block = Block(depth)
        self.blocks = nn.ModuleList()
        for _ in range(n):
            self.blocks.append(copy.deepcopy(block))


net = copy.deepcopy(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
"""

RESIDUAL = """
import torch.nn as nn


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.c = nn.Linear(4, 2)
        self.aux = nn.Linear(9, 2)

    def forward(self, x):
        if self.training:
            return self.aux(x)
        x = self.a(x)
        return self.c(x + self.b(x))


net = Residual()
"""

CARRIED = """
import torch.nn as nn


class Carried(nn.Module):
    def __init__(self, n):
        super().__init__()
        c, kept, layers = 16, 4, []
        for i in range(n):
            layers.append(nn.Conv2d(c, c * 2, 3))
            layers += [nn.ReLU()]
            c *= 2
            kept = 5
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(c, kept)


class Left(nn.Module):
    def __init__(self, n):
        super().__init__()
        for i in range(n):
            self.inside = nn.Linear(2, 2)
            break
        self.behind = nn.Linear(2, 2)
"""

CHANGING = """
import itertools

import torch.nn as nn


class Attribute(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.c = 16
        layers = [nn.Conv2d(3, self.c, 3)]
        for i in range(n):
            layers += [self._make(), nn.ReLU()]
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(self.c, len(layers))
        self.count = nn.Linear(len(self.layers), 2)

    def _make(self):
        conv = nn.Conv2d(self.c, self.c * 2, 3)
        self.c = self.c * 2
        return conv


class Containers(nn.Module):
    def __init__(self, n, h):
        super().__init__()
        dims, counter, sizes, names = [], itertools.count(), {'w': 8}, {}
        for i in range(n):
            dims.append(h)
            sizes['w'] *= 2
            names[f'x{i}'] = next(counter)
        self.each = nn.ModuleList([nn.Linear(d, 1) for d in dims])
        self.sums = nn.Linear(sum(dims), len(dims))
        self.size = nn.Linear(sizes['w'], len(names))
        for i, d in enumerate(dims):
            setattr(self, f'fc{i}', nn.Linear(1, d) if i == 0 else nn.Linear(2, d))


class Asked(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        if cfg.drop is not None:
            self.drop = nn.Identity()
        self.pool = nn.MaxPool2d(2 if cfg.big else 3)
        for a, b in zip([4, 5], cfg.widths):
            self.add_module('z%d' % a, nn.Linear(a, b))
"""

ROOTS = """
import random
from torch import nn

if random.random() > 0.5:
    net = nn.Linear(1, 2)
    extra = nn.ReLU()
else:
    net = nn.Conv2d(1, 2, 3)
plain = nn.Linear(3, 3)
"""

WHILE = """
import torch.nn as nn


class Both(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.m = nn.ModuleList()
        while a > 1 or not b < 2:
            self.m.append(nn.Linear(a, b))
            a = a // 2
            b = b - 1
        else:
            self.tail = nn.Linear(a, 1)


class Down(nn.Module):
    def __init__(self, n):
        super().__init__()
        left = n
        self.m = nn.ModuleList()
        while left > 0:
            left -= 1
            if left == 5:
                break
            self.m.append(nn.Linear(4, 4))
        self.n = nn.Linear(4, 4)


class Early(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.a = self.make(n)
        self.b = nn.Linear(1, 2)
    def make(self, n):
        while n % 2 == 0:
            if n == 64:
                return nn.Linear(n, 1)
            n //= 2
        return nn.Linear(n, 2)


class Fails(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.m = nn.ModuleList()
        try:
            for i in range(n):
                self.m.append(nn.Linear(2, 2))
                raise ValueError
        except ValueError:
            pass
        self.b = nn.Linear(1, 2)


class Keys(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        layers, i = [], 0
        while f"layer{i}" in cfg:
            layers.append(nn.Linear(cfg[f"layer{i}"], 8))
            i += 1
        self.layers = nn.Sequential(*layers)


class Concrete(nn.Module):
    def __init__(self, flag):
        super().__init__()
        i = 0
        self.m = nn.ModuleList()
        while i < 3:
            self.m.append(nn.Linear(2, 2) if flag else nn.Identity())
            i += 1


class Endless(nn.Module):
    def __init__(self, flag):
        super().__init__()
        while True:
            if not flag:
                break
        self.fc = nn.Linear(2, 2)
"""

DECLARED = """
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, size: int, act: "str", other):
        super().__init__()
        self.fc = nn.Linear(size, 1) if isinstance(size, int) and not isinstance(size, (tuple, list)) else nn.ReLU()
        self.act = nn.GELU() if isinstance(act, str) else act()
        self.other = nn.Linear(1, 1) if isinstance(other, int) else nn.ReLU()
"""

LIGHTNING = """
import lightning_like as pl
import some_config
import os
import torch
from pathlib import Path
from torch import nn
from zoo_like.base import Backbone


class Lit(pl.LitModule):
    def __init__(self, hidden=8):
        super().__init__(hooks=[1])
        self.save_hyperparameters()
        self.fc = nn.Linear(self.hparams.size, hidden)

    def training_step(self, batch):
        return self.fc(batch)


class Neck(Backbone):
    def __init__(self, n):
        super().__init__(n)
        self.fc = nn.Linear(n, n)
        self.has = hasattr(self, "anything")

    def forward(self, x):
        return self.fc(x)


@some_config.main(version=None)
def main(cfg, rank=0):
    head = nn.Linear(cfg.size, len(os.listdir("data")) + len(sorted(Path("data").glob("*.png"))))


if __name__ == "__main__":
    lit, neck = Lit(4), Neck(3)
    assert not neck.has
    main()
"""

UNBUILT = """
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(4)])
built = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4)])
"""


@pytest.fixture
def scan(pellucid, tmp_path):
    def run(source: str, *options: str):
        path = tmp_path / "source.py"
        path.write_text(source)
        return pellucid("scan", str(path), "--python", sys.executable, *options)

    return run


def network(result) -> dict:
    return json.loads(result.out)["networks"][0]


def test_mlp(scan) -> None:
    result = scan(MLP)
    assert result.code == 0
    assert result.out == (
        "model: MLP()\n"
        "├─ fc1: Linear(10, 20)  weight 20×10, bias 20\n"
        "├─ relu: ReLU()\n"
        "└─ fc2: Linear(20, 5)  weight 5×20, bias 5\n"
        "325 parameters\n"
    )


def test_flow(scan) -> None:
    found = network(scan(MLP, "--forward", "2x10", "--json"))
    assert [(row["from"], row["to"]) for row in found["flow"]] == [
        ("input", "fc1"), ("fc1", "relu"), ("relu", "fc2"), ("fc2", "output"),
    ]  # fmt: skip
    assert found["tree"][0]["output"] == [2, 5]


def test_branch_that_does_not_fit(scan) -> None:
    result = scan(BRANCH, "--forward", "4x10", "--json")
    (error,) = network(result)["errors"]
    assert result.code == 4
    assert "takes 20 features and gets 15" in error["what"]
    assert "source.py:17" in error["why"] or error["line"] == 17


def test_view_that_does_not_fit(scan) -> None:
    fine, wrong = scan(CONV, "--forward", "2x3x28x28", "--json"), scan(CONV, "--forward", "2x3x32x32", "--json")
    assert fine.code == 0 and network(fine)["tree"][0]["output"] == [2, 10]
    assert wrong.code == 4 and network(wrong)["errors"][0]["line"] == 17


def test_flow_of_joined_tensors_in_evaluation(scan) -> None:
    result = scan(RESIDUAL, "--forward", "1x4", "--json")
    assert result.code == 0
    assert [(row["from"], row["to"]) for row in network(result)["flow"]] == [
        ("input", "a"), ("a", "b"), ("a", "c"), ("b", "c"), ("c", "output"),
    ]  # fmt: skip


def test_copies_are_networks(scan) -> None:
    result = scan(COPIES, "--json")
    net, _, copies = json.loads(result.out)["networks"]
    assert net["name"] == "net" and net["state"]["0.weight"] == [3, 2]
    assert net["tree"][0]["children"][0]["args"] == {"0": 2, "1": 3}
    (block,) = copies["tree"][0]["children"][0]["children"]
    assert block["repeat"] == "n" and block["children"][0]["children"][0]["repeat"] == "depth"


def test_parameters_are_symbols(scan) -> None:
    result = scan(STACK, "--json")
    found = network(result)
    layers, proj, head = found["tree"][0]["children"]
    assert result.code == 3
    assert layers["children"][0]["repeat"] == "num_layers"
    assert proj["condition"] == "residual" and head["condition"] is None
    assert head["parameters"]["weight"] == ["2 * width + 1", "width"]
    assert all(row["line"] for row in found["unknown"])


def test_what_passes_of_a_loop_hand_on_is_a_symbol(scan) -> None:
    carried, left = json.loads(scan(CARRIED, "--json").out)["networks"]
    layers, fc = carried["tree"][0]["children"]
    assert layers["children"][0]["parameters"]["weight"] == ["c[i] * 2", "c[i]", 3, 3]
    assert [child["repeat"] for child in layers["children"]] == ["n", "n"]
    assert fc["parameters"]["weight"] == [5, "c[n]"] and fc["repeat"] == 1
    assert ("c[i]", 9) in [(row["what"], row["line"]) for row in carried["unknown"]]
    assert [child["repeat"] for child in left["tree"][0]["children"]] == [1, 1]


def test_what_a_loop_of_unknown_count_changes_is_a_symbol(scan) -> None:
    attribute, containers, asked = json.loads(scan(CHANGING, "--json").out)["networks"]
    layers, head, count = attribute["tree"][0]["children"]
    assert [child["repeat"] for child in layers["children"]] == [1, "n", "n"]
    assert layers["children"][1]["parameters"]["weight"][:2] == ["self.c[i] * 2", "self.c[i]"]
    assert head["parameters"]["weight"] == ["2 * n + 1", "self.c[n]"]
    assert count["parameters"]["weight"] == [2, "2 * n + 1"]
    each, sums, size, first, other = containers["tree"][0]["children"]
    assert each["children"][0]["repeat"] == "n" and each["children"][0]["parameters"]["weight"] == [1, "h"]
    assert sums["parameters"]["weight"] == ["n", "sum(h for n)"]
    assert size["parameters"]["weight"] == ["len(<dict>)", "sizes['w'][n]"]
    assert [(row["name"], row["condition"]) for row in (first, other)] == [("fc{i}", "i == 0"),
                                                                           ("fc{i}", "not (i == 0)")]
    assert [(row["name"], row["class"], row["condition"]) for row in asked["tree"][0]["children"]] == [
        ("drop", "Identity", "cfg.drop is not None"), ("pool", "MaxPool2d", "cfg.big"), ("z4", "Linear", None),
        ("z5", "Linear", None), ("pool", "MaxPool2d", "not (cfg.big)"),
    ]  # fmt: skip


def test_while_loops_that_something_unknown_ends(scan) -> None:
    def rows(found: dict) -> list:
        def walk(node):
            for child in node["children"]:
                yield child["name"], child["parameters"].get("weight"), child["repeat"], child["condition"]
                yield from walk(child)

        return [row for row in walk(found["tree"][0]) if row[1]]

    found = {one["name"]: one for one in json.loads(scan(WHILE, "--json").out)["networks"]}
    passes = "passes(a > 1 or not (b < 2))"
    assert rows(found["Both"]) == [("0", ["b[i]", "a[i]"], passes, None), ("tail", [1, f"a[{passes}]"], 1, None)]
    assert (passes, 9) in [(row["what"], row["line"]) for row in found["Both"]["unknown"]]
    assert rows(found["Down"]) == [("0", [4, 4], "n", "not (left[i] - 1 == 5)"), ("n", [4, 4], 1, None)]
    assert rows(found["Early"])[1:] == [("b", [2, 1], 1, None),
                                        ("a", [2, "n[passes(n % 2 == 0)]"], 1, "not (n[i] == 64)")]
    assert rows(found["Fails"]) == [("0", [2, 2], "n", None),
                                    ("b", [2, 1], 1, None)], "what is behind the exception is behind the loop"
    assert rows(found["Keys"]) == [("0", [8, "cfg['layer{i[i]}']"], 'passes(f"layer{i}" in cfg)', None)]
    assert [row[3] for row in rows(found["Concrete"])] == ["flag"] * 3
    assert rows(found["Endless"]) == [("fc", [2, 2], 1, None)] and found["Endless"]["unknown"]


def test_annotations_say_what_a_parameter_is(scan) -> None:
    found = network(scan(DECLARED, "--json"))
    rows = [(child["name"], child["class"], child["condition"]) for child in found["tree"][0]["children"]]
    assert rows == [
        ("fc", "Linear", None), ("act", "GELU", None),
        ("other", "Linear", "isinstance(other, int)"), ("other", "ReLU", "not (isinstance(other, int))"),
    ]  # fmt: skip


def test_a_symbol_beside_a_tensor_is_a_number(scan) -> None:
    source = ("import torch\nfrom torch import nn\n\n\n"
              "class Net(nn.Module):\n    def __init__(self, v):\n        super().__init__()\n"
              "        self.p = nn.Parameter(v * torch.ones(3) / v)\n"
              "        self.register_buffer('m', torch.arange(2) > v)\n")
    found = network(scan(source, "--json"))
    assert found["state"] == {"p": [3], "m": [2]} and found["dtypes"] == {"p": "float32", "m": "bool"}
    assert (["beside a tensor" in row["why"] for row in found["unknown"]] == [True] * len(found["unknown"])
            and found["unknown"])


def test_bases_decorators_and_data_that_are_not_there(scan) -> None:
    lit, neck, head = json.loads(scan(LIGHTNING, "--json").out)["networks"]
    assert lit["state"] == {"fc.weight": [4, "Lit.hparams.size"], "fc.bias": [4]} and lit["name"] == "lit"
    assert neck["state"] == {"fc.weight": [3, 3], "fc.bias": [3]}
    said = {row["what"]: row["why"] for row in lit["unknown"]}
    assert "taken for a torch.nn.Module" in said["lightning_like.LitModule"] and "zoo_like.base.Backbone" in said
    assert said["os.listdir('data')"] == "there is no such folder in the roots"
    assert "some_config.main(version=None) gives it" in said["cfg"]
    assert head["state"]["weight"] == ["len(os.listdir('data')) + len(os.listdir('data'))", "cfg.size"]


def test_a_script_is_read_as_if_it_were_started(scan) -> None:
    source = MLP.replace("model = MLP()",
                         "def build():\n    return MLP()\n\n\ndef main():\n    net = build()\n    return "
                         "net.training\n\n\nzoo = {'a': MLP()}\nif __name__ == '__main__':\n    main()")
    found = json.loads(scan(source, "--json").out)["networks"]
    assert [(row["name"], row["class"]) for row in found] == [("zoo['a']", "MLP"), ("net", "MLP")]


def test_a_training_script(scan) -> None:
    source = """
import nowhere_to_be_found
from torch import nn, optim
from torch.utils.data import DataLoader

try:
    import nowhere_to_be_found.fast as fast
except ImportError:
    fast = None


def main():
    nowhere_to_be_found.init()
    model = nn.Sequential(nn.Linear(4, 8 if fast is None else 9), nn.Flatten())
    optimizer = optim.Adam(model.parameters())
    for epoch in range(3):
        for x, y in DataLoader(nowhere_to_be_found.data()):
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()


if __name__ == '__main__':
    main()
"""
    (found,) = json.loads(scan(source, "--json").out)["networks"]
    assert found["name"] == "model" and found["state"] == {"0.weight": [8, 4], "0.bias": [8]}
    assert [(row["what"], row["line"]) for row in found["unknown"]] == [("nowhere_to_be_found", 2)]


def test_variables_of_functions_around_change_too(scan) -> None:
    source = """
from torch import nn


class Net(nn.Module):
    def __init__(self, n, widths):
        super().__init__()
        z, self.c = 5, 3

        def count():
            nonlocal z
            z += 1

        for w in widths:
            count()
            self.c = w
        self.z = nn.Linear(z, len(set(f'l{i}' for i in range(n))))
        t = 0
        while t < n:
            t += 1
"""
    found = network(scan(source, "--json"))
    assert found["tree"][0]["children"][0]["parameters"]["weight"] == ["len(<set>)", "z[len(widths)]"]
    asked = [row["what"] for row in found["unknown"] if row["line"] == 19]
    assert asked == ["t[i]"]


def test_networks_that_only_some_runs_make(scan) -> None:
    found = json.loads(scan(ROOTS, "--json").out)["networks"]
    assert [(row["name"], row["class"], row["tree"][0]["condition"]) for row in found] == [
        ("net", "Linear", "random.random > 0.5"), ("extra", "ReLU", "random.random > 0.5"), ("plain", "Linear", None),
        ("net", "Conv2d", "not (random.random > 0.5)"),
    ]  # fmt: skip


def test_known_count_makes_the_loop_plain(scan) -> None:
    found = network(scan(CARRIED, "--set", "n=2", "--json"))
    assert found["state"]["layers.2.weight"] == [64, 32, 3, 3] and found["state"]["fc.weight"] == [5, 64]


def test_sizes_that_stay_symbols_are_unknown(scan) -> None:
    result = scan(UNBUILT, "--json")
    model, built = json.loads(result.out)["networks"]
    assert result.code == 3 and not built["unknown"]
    (row,) = model["unknown"]
    assert row["what"] == "dense.input_dim" and row["line"] == 4


def test_shapes_that_come_with_the_first_call_are_unknown(scan) -> None:
    source = "from torch import nn\n\nnet = nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 2))\n"
    found = network(scan(source, "--json"))
    assert [(row["what"], row["line"]) for row in found["unknown"]] == [("weight of 0", 3), ("bias of 0", 3)]


def test_set_gives_symbols_values(scan) -> None:
    result = scan(STACK, "--set", "num_layers=2", "--set", "width=4", "--set", "residual=False", "--json")
    assert result.code == 0
    assert list(network(result)["state"].items()) == [
        ("layers.0.weight", [4, 4]), ("layers.0.bias", [4]), ("layers.1.weight", [4, 4]), ("layers.1.bias", [4]),
        ("head.weight", [9, 4]), ("head.bias", [9]),
    ]  # fmt: skip


def test_keras_loop(scan) -> None:
    children = network(scan(KERAS, "--json"))["tree"][0]["children"]
    assert [(child["class"], child["args"]["0"]) for child in children] == [("Dense", 32)] * 5 + [("Dense", 10)]


def test_snippets_give_a_line_each(pellucid) -> None:
    code = "import torch.nn as nn\nnn.Linear({0}, 2)"
    result = pellucid("scan", "--json", "--python", sys.executable, "-e", code.format(1), "-e", code.format(3))
    shapes = [json.loads(line)["networks"][0]["state"]["weight"] for line in result.out.splitlines()]
    assert shapes == [[2, 1], [2, 3]]


def test_nothing_outside_is_touched(scan, tmp_path) -> None:
    mark = tmp_path / "mark"
    result = scan(f"import os\nos.system('touch {mark}')\nopen({str(mark)!r}, 'w').write('x')\n")
    assert not mark.exists() and result.code == 3
    assert pathlib.Path(tmp_path).exists()


def test_what_stops_a_run_is_said_with_its_place(scan) -> None:
    result = scan("import torch.nn as nn\nnet = nn.Linear(1, 2)\nraise ValueError('no')\n", "--json")
    (row,) = network(result)["unknown"]
    assert result.code == 3 and row["line"] == 3 and "ValueError: no" in row["what"]
    assert network(result)["state"]["weight"] == [2, 1]


def test_modules_and_data_of_a_package(pellucid, tmp_path, monkeypatch) -> None:
    (tmp_path / "pkg" / "sub").mkdir(parents=True)
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "sub" / "__init__.py").write_text("from ..sizes import WIDTH\n")
    (tmp_path / "pkg" / "sizes.py").write_text("WIDTH = 3\n")
    (tmp_path / "pkg" / "config.json").write_text('{"out": 5}')
    (tmp_path / "pkg" / "net.py").write_text(
        "import json, os\nfrom torch import nn\nfrom .sub import WIDTH\n"
        "with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'pkg', 'config.json')) as f:\n"
        "    net = nn.Linear(WIDTH, json.load(f)['out'])\n")
    monkeypatch.chdir(tmp_path)
    for path in ("pkg/net.py", "./pkg/net.py", str(tmp_path / "pkg" / "net.py")):
        found = network(pellucid("scan", path, "--python", sys.executable, "--json"))
        assert found["state"] == {"weight": [5, 3], "bias": [5]} and not found["unknown"]


def test_links_out_of_the_roots_lead_nowhere(pellucid, tmp_path) -> None:
    (tmp_path / "outside.json").write_text("[7]")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link.json").symlink_to(tmp_path / "outside.json")
    source = tmp_path / "in" / "net.py"
    for path in ("link.json", "../outside.json", str(tmp_path / "outside.json")):
        source.write_text(f"import json\nwith open({path!r}) as f:\n    n = json.load(f)\n")
        result = pellucid("scan", str(source), "--python", sys.executable, "--json")
        assert result.code == 3 and "FileNotFoundError" in network(result)["unknown"][0]["what"]


def test_scan_from_python(tmp_path, monkeypatch) -> None:
    import pellucid
    from conftest import PROGRAM
    monkeypatch.setenv("PELLUCID", PROGRAM)
    path = tmp_path / "net.py"
    path.write_text("import torch.nn as nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        "
                    "super().__init__()\n        self.fc = nn.Linear(4, 2)\n\n    def forward(self, x):\n        "
                    "return self.fc(x)\n\n\nnet = Net()\n")
    found = pellucid.scan(path, forward="3x4")
    assert found["net"].to_dict()["networks"][0]["state"] == {"fc.weight": [2, 4], "fc.bias": [2]}
    assert "fc: Linear(4, 2)" in str(found) and not found.errors
    assert pellucid.scan(path, forward="3x5").errors
    with pytest.raises(pellucid.Error, match="cannot be read"):
        pellucid.scan(tmp_path / "none.py")


@pytest.mark.parametrize(
    "source, said",
    [
        ("while True: pass\n", "over the budget of steps"),
        ("sum(range(10**13))\n", "over the budget of memory"),
        ("def g():\n    while True: yield 1\nx = list(g())\n", "over the budget of memory"),
        ("exec('while True: pass')\n", "over the budget of steps"),
        ("b = object\nfor i in range(10**5): b = type('C', (b,), {})\n", "over the budget of steps"),
        ("x = [0] * 10**6\nwhile x: del x[0]\n", "over the budget of steps"),
        ("5.5 in range(10**12)\n", "over the budget of steps"),
        ("x = int('9' * 10**6)\n", "over the budget of steps"),
        ("import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')\n", "takes too many steps"),
        ("x = [0] * 10**12\n", "over the budget of memory"),
        ("x = 'a' * 10**12\n", "over the budget of memory"),
        ("x = list(range(10**12))\n", "over the budget of memory"),
        ("x = ('a' * 10**6).join(['b' * 10**6] * 10**5)\n", "over the budget of memory"),
        ("x = 10**10**8\n", "over the budget of the size of a number"),
        ("x = '%*d' % (10**9, 1)\n", "ValueError"),
        ("def f(n): return f(n + 1)\nf(0)\n", "RecursionError"),
        ("x, y = [], []\nfor i in range(10**5): x, y = [x], [y]\nx == y\n", "RecursionError"),
        ("import copy\nx = []\nfor i in range(10**5): x = [x]\ncopy.deepcopy(x)\n", "RecursionError"),
        ("class M(type):\n    def __call__(c): return c()\nclass A(metaclass=M): pass\nA()\n", "RecursionError"),
        ("open('/etc/passwd').read()\n", "FileNotFoundError"),
    ],
)
def test_hostile_sources_end_with_their_place(scan, source, said) -> None:
    result = scan("\n" + source, "--json")
    (row,) = network(result)["unknown"]
    assert result.code == 3 and said in row["what"]
    assert row["file"].endswith("source.py") and row["line"] > 1 or row["file"] == "<string>"


def test_conditions_without_end(scan) -> None:
    source = ("import torch.nn as nn\n\n\n"
              "class Net(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
              "        i = 0\n        while i < n:\n            i += 1\n")
    result = scan(source, "--json")
    assert result.code == 3 and network(result)["unknown"][0]["line"] == 8


CONFIGURED = """
from __future__ import annotations
from dataclasses import dataclass, field
from torch import nn

TABLE = {"wide": 4, "narrow": 1}


@dataclass
class Config:
    width: int = 6
    kinds: list = field(default_factory=lambda: ["wide", "narrow"])


@dataclass
class NeedsMore:
    width: int


class Base(nn.Module):
    config: Config

    def __init__(self, config):
        super().__init__()
        if type(config) is not Config:
            raise TypeError("no Config")


class ByAttribute(Base):
    def __init__(self, config):
        super().__init__(config)
        self.layers = nn.ModuleList(nn.Linear(config.width, TABLE[kind] * config.width) for kind in config.kinds)


class ByParameter(Base):
    config: object

    def __init__(self, config: Config, *, extra: int):
        super().__init__(config)
        self.fc = nn.Linear(config.width, extra)


class CanNotBeMade(nn.Module):
    def __init__(self, config: NeedsMore):
        super().__init__()
        if type(config) is not NeedsMore:
            raise TypeError("more is needed")


class Symbolic(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        if not isinstance(config, Config):
            raise TypeError("no Config")
        self.fc = nn.Linear(config.width, 2)
"""


def test_a_configuration_that_symbols_do_not_do_for_is_made_by_its_annotation(pellucid, tmp_path) -> None:
    (tmp_path / "net.py").write_text(CONFIGURED)
    done = pellucid("scan", tmp_path / "net.py", "--json", "--python", sys.executable)
    found = {one["name"]: one for one in json.loads(done.out)["networks"]}
    assumed = {name: [row["what"] for row in one["unknown"] if row["why"].startswith("assumed")]
               for name, one in found.items()}
    assert assumed["ByAttribute"] == assumed["ByParameter"] == ["config = Config()"]
    assert (found["ByAttribute"]["state"]["layers.0.weight"] == [24, 6]
            and found["ByAttribute"]["state"]["layers.1.weight"] == [6, 6])
    assert found["ByParameter"]["state"]["fc.weight"] == ["extra", 6]
    assert not assumed["Symbolic"] and found["Symbolic"]["state"]["fc.weight"] == [2, "config.width"]
    assert not any("isinstance" in row["what"] for row in found["Symbolic"]["unknown"]), "the annotation answers it"
    assert not found["CanNotBeMade"]["tree"] and "more is needed" in found["CanNotBeMade"]["unknown"][0]["what"]
    assert done.code == 3
    text = pellucid("scan", tmp_path / "net.py", "--set", "config.width=3", "--python", sys.executable).out
    assert "config = Config(width=3): assumed" in text and "Linear(3, 12)" in text


AS_PEOPLE_WRITE = """
get_ipython().run_line_magic("matplotlib", "inline")
from dataclasses import dataclass
import pandas as pd
import numpy as np
import torch
from torch import nn

with open("log.txt", "w") as log:
    log.write("begun")
rows = pd.read_csv("rows.csv").values.astype(np.float32)


@dataclass
class Options:
    width: int = 3

    def __init__(self, width=5, **more):
        self.width = width


class Made(nn.Module):
    options_class = Options

    def __init__(self, options):
        super().__init__()
        if type(options) is not Options:
            raise TypeError("no Options")
        self.fc = nn.Linear(options.width, 2)


class Built(nn.Module):
    def __init__(self, part):
        super().__init__()
        part = dict(part)
        self.fc = nn.Linear(part.pop("width"), 2)


net = nn.Linear(rows.shape[1], Options().width)
"""


def test_what_people_write_does_not_stop_the_run(scan, tmp_path) -> None:
    found = {one["name"]: one for one in json.loads(scan(AS_PEOPLE_WRITE, "--json").out)["networks"]}
    assert found["net"]["state"]["weight"][0] == 5, "a dataclass keeps the constructor that it has"
    assert "astype(float32).shape[1]" in found["net"]["state"]["weight"][1]
    assert (found["Made"]["state"]["fc.weight"] == [2, 5]
            and found["Made"]["unknown"][0]["what"] == "options = Options()")
    assert found["Built"]["state"]["fc.weight"] == [2, "dict(part).pop('width')"], "no empty dict of an unknown one"
    assert not (tmp_path / "log.txt").exists()


def test_tf_module_with_name_scopes(scan) -> None:
    source = """
import tensorflow as tf

class Net(tf.Module):
    def __init__(self):
        super().__init__()
        with self.name_scope:
            self.w = tf.Variable(tf.zeros([2, 3]))

    @tf.Module.with_name_scope
    def __call__(self, x):
        return x @ self.w

net = Net()
"""
    assert network(scan(source, "--json"))["state"] == {"w": [2, 3]}


def test_folders_of_many_files_build_no_model_that_is_only_assumed(pellucid, tmp_path) -> None:
    for i in range(256):
        (tmp_path / f"m{i}.py").write_text("")
    (tmp_path / "net.py").write_text(CONFIGURED)
    many = pellucid("scan", tmp_path, "--python", sys.executable).out
    assert "config = Config()" in many and "not tried, one of many sources: scan this one alone" in many


NEWER_THAN_OUR_MODEL = """
from torch import nn
from torch.nn import BrandNew, Linear
from torch._library.opaque_object import brand_new_question


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Linear(3, 4)

    def forward(self, x):
        return self.a(x)


class Using(Plain):
    def __init__(self):
        super().__init__()
        self.b = BrandNew(4)


try:
    from torch.nn import BrandNew as Wanted
except ImportError:
    Wanted = nn.ReLU


class Ready(Plain):
    def __init__(self):
        super().__init__()
        self.b = Wanted()
"""


def test_a_name_that_our_model_of_torch_lacks_loses_no_file(pellucid, tmp_path) -> None:
    """A newer torch has names that ours lacks. Importing one is fine, using one is reported where it is used."""
    path = tmp_path / "net.py"
    path.write_text(NEWER_THAN_OUR_MODEL)
    done = pellucid("scan", path, "--python", sys.executable, "--json")
    found = json.loads(done.out)
    assert done.code == 3
    assert {net["name"]: sorted(net["state"]) for net in found["networks"]} == {
        name: ["a.bias", "a.weight"] for name in ("Plain", "Using", "Ready")}
    assert [net["name"] for net in found["networks"] if net["unknown"]] == ["Using"]
    (unknown,) = next(net["unknown"] for net in found["networks"] if net["name"] == "Using")
    assert unknown["what"] == "torch.nn.BrandNew" and unknown["line"] == 19
    assert "has no such name" in unknown["why"]
    assert "brand_new_question" not in done.out and "ImportError" not in done.out
