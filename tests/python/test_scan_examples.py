"""The examples that the scan was made for, with exactly what it says of them."""

from __future__ import annotations

import importlib.util
import json
import struct
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

KERAS_LOOP = """
import tensorflow as tf
from tensorflow.keras import layers


class Model(tf.keras.Model):
    def __init__(self, num_layers):
        super().__init__()
        self.hidden = []
        for _ in range(num_layers):
            self.hidden.append(layers.Dense(32, activation='relu'))
        self.out = layers.Dense(10)

    def call(self, x):
        for layer in self.hidden:
            x = layer(x)
        return self.out(x)
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


net = Net({flag})
"""

SEQUENTIAL = """
from tensorflow.keras.models import Sequential
from tensorflow.keras.layers import Conv2D, Dense, Flatten, MaxPooling2D

model = Sequential()
model.add(Conv2D(32, (3, 3), activation='relu', input_shape=(28, 28, 1)))
model.add(MaxPooling2D((2, 2)))
model.add(Flatten())
model.add(Dense(10, activation='softmax'))
model.compile(optimizer='adam', loss='categorical_crossentropy')
"""

CONV = """
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc = nn.Linear(32 * 7 * 7, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 32 * 7 * 7)
        return self.fc(x)


net = Net()
"""

FUNCTIONAL = """
from tensorflow.keras import Input, Model, layers

left = Input(shape=(16,), name='left')
right = Input(shape=(16,), name='right')
x = layers.Dense(12, name='shared')
x = layers.concatenate([x(left), x(right)])
model = Model(inputs=[left, right], outputs=layers.Dense(1, activation='sigmoid', name='score')(x))
"""

CUSTOM = """
import tensorflow as tf
from tensorflow import keras


class Scale(keras.layers.Layer):
    def __init__(self, units=4):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), name='w')
        self.b = self.add_weight(shape=(self.units,), name='b', trainable=False)

    def call(self, x):
        return tf.matmul(x, self.w) + self.b


class Net(tf.Module):
    def __init__(self, sizes):
        super().__init__()
        self.w = [tf.Variable(tf.zeros([a, b]), name=f'w{i}') for i, (a, b) in enumerate(zip(sizes, sizes[1:]))]

    def __call__(self, x):
        for w in self.w:
            x = tf.nn.relu(tf.matmul(x, w))
        return x


scale = Scale(3)
scale(tf.ones((2, 7)))
net = Net([4, 8, 2])
"""


@pytest.fixture
def scan(pellucid, tmp_path, monkeypatch):
    def run(source: str, *options: str):
        (tmp_path / "net.py").write_text(source.lstrip("\n"))
        monkeypatch.chdir(tmp_path)
        return pellucid("scan", "net.py", "--python", sys.executable, *options)

    return run


def lines(result) -> list[str]:
    return result.out.splitlines()


def test_mlp(scan) -> None:
    assert lines(scan(MLP)) == [
        "model: MLP()",
        "├─ fc1: Linear(10, 20)  weight 20×10, bias 20",
        "├─ relu: ReLU()",
        "└─ fc2: Linear(20, 5)  weight 5×20, bias 5",
        "325 parameters",
    ]


def test_keras_loop_with_a_count(scan) -> None:
    result = scan(KERAS_LOOP + "\n\nmodel = Model(5)\n", "--forward", "4x10")
    assert result.code == 0
    assert lines(result) == [
        "model: Model(5)  → 4×10",
        '├─ dense: Dense(32, activation="relu")  kernel 10×32, bias 32  → 4×32',
        '├─ dense_1 … dense_4 ×4: Dense(32, activation="relu")  kernel 32×32, bias 32  → 4×32',
        "└─ dense_5: Dense(10)  kernel 32×10, bias 10  → 4×10",
        "4,906 parameters",
    ]


def test_keras_loop_without_one(scan) -> None:
    assert lines(scan(KERAS_LOOP))[:3] == [
        "Model: Model(num_layers)",
        '├─ dense: Dense(32, activation="relu") × num_layers  kernel dense.input_dim×32, bias 32',
        "└─ dense_1: Dense(10)  kernel dense_1.input_dim×10, bias 10",
    ]


def test_branch(scan) -> None:
    fine, wrong = (scan(BRANCH.format(flag=flag), "--forward", "4x10", "--json") for flag in (False, True))
    assert fine.code == 0 and json.loads(fine.out)["networks"][0]["tree"][0]["output"] == [4, 5]
    (error,) = json.loads(wrong.out)["networks"][0]["errors"]
    assert wrong.code == 4
    assert "takes 20 features and gets 15" in error["what"] and (error["file"], error["line"]) == ("net.py", 16)
    assert "fc2 was made at net.py:10" in error["why"] and "fc_branch gave 4×15 at net.py:15" in error["why"]


def test_keras_sequential(scan) -> None:
    assert lines(scan(SEQUENTIAL)) == [
        "model: Sequential()",
        '├─ conv2d: Conv2D(32, (3, 3), activation="relu", input_shape=(28, 28, 1))  kernel 3×3×1×32, bias 32',
        "├─ max_pooling2d: MaxPooling2D((2, 2))",
        "├─ flatten: Flatten()",
        '└─ dense: Dense(10, activation="softmax")  kernel 5408×10, bias 10',
        "54,410 parameters",
    ]


def test_conv_net_that_fits(scan) -> None:
    result = scan(CONV, "--forward", "nx3x28x28")
    assert result.code == 0
    assert lines(result)[:5] == [
        "net: Net()  → n×10",
        "├─ conv1: Conv2d(3, 16, 3, padding=1)  weight 16×3×3×3, bias 16  → n×16×28×28",
        "├─ conv2: Conv2d(16, 32, 3, padding=1)  weight 32×16×3×3, bias 32  → n×32×14×14",
        "├─ pool: MaxPool2d(2, 2)  → n×32×7×7",
        "└─ fc: Linear(1568, 10)  weight 10×1568, bias 10  → n×10",
    ]


@pytest.mark.parametrize("shape", ["2x3x32x32", "nx3x32x32"])
def test_conv_net_that_does_not(scan, shape) -> None:
    result = scan(CONV, "--forward", shape, "--json")
    (error,) = json.loads(result.out)["networks"][0]["errors"]
    assert result.code == 4 and (error["file"], error["line"]) == ("net.py", 16)
    assert "view: " in error["what"] and "do not divide into (-1, 1568)" in error["what"]
    assert "pool gave " in error["why"] and "net.py:15" in error["why"]


def message(*fields: tuple[int, bytes]) -> bytes:
    out = b""
    for number, value in fields:
        size, rest = b"", len(value)
        while rest > 127:
            size, rest = size + bytes([rest & 127 | 128]), rest >> 7
        out += bytes([number << 3 | 2]) + size + bytes([rest]) + value
    return out


def checksum(data: bytes) -> bytes:
    """The masked CRC-32C of records."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def event_file(net, sample) -> bytes:
    """What SummaryWriter.add_graph writes: a node for each operation of the trace, named by the modules around it."""
    import torch

    kinds = {name: type(module).__name__ for name, module in net.named_modules()}
    nodes = b""
    for i, node in enumerate(torch.jit.trace(net, sample).inlined_graph.nodes()):
        if not node.kind().startswith("aten::"):
            continue
        path = node.scopeName().replace("__module.", "").replace("__module", "")
        scope = type(net).__name__ + (f"/{kinds[path]}[{path}]" if path else "")
        nodes += message((1, message((1, f"{scope}/{i}".encode()), (2, node.kind().encode()))))
    event = message((4, nodes))
    length = struct.pack("<Q", len(event))
    return length + checksum(length) + event + checksum(event)


def test_event_file_of_the_conv_net(scan, pellucid, tmp_path) -> None:
    import torch

    scope: dict = {"__name__": "net"}
    exec(CONV, scope)
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(event_file(scope["net"], torch.zeros(1, 3, 28, 28)))
    result = pellucid("tree", str(path), "--json")
    (graph,) = json.loads(result.out)["networks"][0]["tree"][0]["children"]
    modules = [(child["name"], child["class"]) for child in graph["children"]
               if not child["class"].startswith("aten::")]
    found = json.loads(scan(CONV, "--forward", "1x3x28x28", "--json").out)["networks"][0]
    kinds = {child["name"]: child["class"] for child in found["tree"][0]["children"]}
    order = list(dict.fromkeys(row["to"] for row in found["flow"] if row["to"] in kinds))
    assert modules == [(name, kinds[name]) for name in order]
    assert order == ["conv1", "pool", "conv2", "fc"]


def test_keras_functional(scan) -> None:
    assert lines(scan(FUNCTIONAL)) == [
        "model: Functional(inputs=[<KerasTensor>, <KerasTensor>], outputs=<KerasTensor>)",
        '├─ left: InputLayer(shape=(16,), name="left")',
        '├─ right: InputLayer(shape=(16,), name="right")',
        '├─ shared: Dense(12, name="shared")  kernel 16×12, bias 12',
        "├─ concatenate: Concatenate(axis=-1)",
        '└─ score: Dense(1, activation="sigmoid", name="score")  kernel 24×1, bias 1',
        "229 parameters",
    ]


def test_custom_layers_and_tf_module(scan) -> None:
    assert lines(scan(CUSTOM)) == [
        "scale: Scale(3)  w 7×3, b 3 frozen",
        "24 parameters, 21 of them trainable",
        "net: Net([4, 8, 2])  w0 4×8, w1 8×2",
        "48 parameters",
    ]
