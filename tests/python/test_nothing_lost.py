"""Tensors that lie where no list of parameters leads: shown, or said to be lost; never dropped in silence."""

from __future__ import annotations

import json
import pathlib
import struct
from typing import Any

import pytest


def tree(pellucid: Any, path: pathlib.Path) -> dict:
    found = json.loads(pellucid("tree", path, "--json").out)
    return found["networks"][0]


def modules(net: dict) -> dict[str, dict]:
    found = {}

    def walk(node: dict, path: str) -> None:
        found[path] = node
        for child in node["children"]:
            walk(child, f"{path}.{child['name']}".strip("."))

    walk(net["tree"][0], "")
    return found


class TestTorch:
    def test_a_graph_module_has_its_weights(self, pellucid, tmp_path: pathlib.Path) -> None:
        torch = pytest.importorskip("torch", reason="torch writes the file")
        model = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()))
        torch.save(model, tmp_path / "fx.pt")
        net = tree(pellucid, tmp_path / "fx.pt")
        assert net["state"] == {name: list(t.shape) for name, t in model.state_dict().items()}
        assert modules(net)["0"]["class"] == "Linear"

    def test_plain_attributes_have_theirs(self, pellucid, tmp_path: pathlib.Path) -> None:
        torch = pytest.importorskip("torch", reason="torch writes the file")
        model = torch.nn.Sequential(torch.nn.Linear(4, 3))
        model[0].anchors = torch.ones(5, 2)
        model[0].table = {"deep": [torch.ones(7), (torch.ones(8), 1)]}
        torch.save(model, tmp_path / "plain.pt")
        net = tree(pellucid, tmp_path / "plain.pt")
        assert net["state"] == {name: list(t.shape) for name, t in model.state_dict().items()}
        assert modules(net)["0"]["buffers"]["anchors"] == [5, 2]
        assert sorted(str(shape) for node in modules(net).values() for shape in node["buffers"].values()) == [
            "[5, 2]", "[7]", "[8]"]

    def test_what_no_walk_reaches_is_lost_and_said(self, pellucid, tmp_path: pathlib.Path) -> None:
        torch = pytest.importorskip("torch", reason="torch writes the file")
        packed = torch.nn.utils.rnn.PackedSequence(torch.ones(4, 2), torch.tensor([2, 2]))
        torch.save({"w": torch.ones(3), "packed": packed}, tmp_path / "odd.pt")
        net = tree(pellucid, tmp_path / "odd.pt")
        shown = len(net["state"])
        lost = [row for row in net["unknown"] if row.get("lost")]
        assert shown == 3 or (lost and not net["totals"]["exact"])
        if lost:
            assert pellucid("convert", tmp_path / "odd.pt", "-o", tmp_path / "x.safetensors").code == 2
            assert pellucid("compare", tmp_path / "odd.pt", tmp_path / "odd.pt").code == 4

    def test_scales_of_a_quantised_tensor(self, pellucid, tmp_path: pathlib.Path) -> None:
        torch = pytest.importorskip("torch", reason="torch writes the file")
        made = torch.quantize_per_channel(torch.ones(3, 3), torch.ones(3) * .1, torch.zeros(3).long(), 0, torch.qint8)
        torch.save({"w": made}, tmp_path / "q.pt")
        net = tree(pellucid, tmp_path / "q.pt")
        assert not [row for row in net["unknown"] if row.get("lost")]
        assert modules(net)["w"]["buffers"] == {"scales": [3], "zero_points": [3]}

    def test_an_optimizer_beside_is_whole(self, pellucid, tmp_path: pathlib.Path) -> None:
        torch = pytest.importorskip("torch", reason="torch writes the file")
        model = torch.nn.Linear(4, 3)
        adam = torch.optim.Adam(model.parameters())
        model(torch.ones(1, 4)).sum().backward()
        adam.step()
        torch.save({"model": model.state_dict(), "optim": adam.state_dict()}, tmp_path / "both.pt")
        net = tree(pellucid, tmp_path / "both.pt")
        assert len(net["state"]) == 2 + 2 * 3 and net["totals"]["exact"]


# ---- ONNX, written as its wire format has it: no library needed ----

def number(value: int) -> bytes:
    out = b""
    while True:
        value, low = value >> 7, value & 127
        out += bytes([low | (128 if value else 0)])
        if not value:
            return out


def field(n: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return number(n << 3) + number(content)
    return number(n << 3 | 2) + number(len(content)) + content


def initializer(name: str, dims: list[int], dtype: int, raw: bytes | None, ints: list[int] | None = None) -> bytes:
    out = b"".join(field(1, d) for d in dims) + field(2, dtype) + field(8, name.encode())
    return out + (field(9, raw) if raw is not None else field(5, b"".join(map(number, ints or []))))


def operator(op: str, inputs: list[str], outputs: list[str], name: str = "", more: bytes = b"") -> bytes:
    rows = [field(1, i.encode()) for i in inputs] + [field(2, o.encode()) for o in outputs]
    return b"".join(rows) + field(3, name.encode()) + field(4, op.encode()) + more


def model(*graph: bytes) -> bytes:
    return field(1, 8) + field(8, field(2, 18)) + field(7, b"".join(graph) + field(2, b"g"))


class TestOnnx:
    def test_operators_have_their_weights(self, pellucid, tmp_path: pathlib.Path) -> None:
        floats = struct.pack("<4f", 1, 2, 3, 4)
        (tmp_path / "m.onnx").write_bytes(model(
            field(1, operator("Gemm", ["x", "onnx::W_12", "fc.bias"], ["y"], "/fc/Gemm")),
            field(1, operator("Mul", ["y", "fc.bias"], ["z"], "/Mul")),
            field(5, initializer("onnx::W_12", [2, 2], 1, floats)),
            field(5, initializer("fc.bias", [2], 1, floats[:8])),
            field(5, initializer("unused", [1], 1, floats[:4]))))
        net = tree(pellucid, tmp_path / "m.onnx")
        assert net["state"] == {"unused": [1], "onnx::W_12": [2, 2], "fc.bias": [2]}
        gemm = modules(net)["fc.Gemm"]
        assert gemm["parameters"] == {"input1": [2, 2], "bias": [2]}
        assert gemm["full_names"] == {"input1": "onnx::W_12", "bias": "fc.bias"}
        assert modules(net)["Mul"]["args"] == {"weights": ["fc.bias"]}  # it reads what another one has
        assert pellucid("convert", tmp_path / "m.onnx", "-o", tmp_path / "m.safetensors").code == 0
        assert pellucid("compare", tmp_path / "m.onnx", tmp_path / "m.safetensors").code == 0
        (tmp_path / "m.json").write_text(pellucid("tree", tmp_path / "m.onnx", "--json").out)
        assert pellucid("compare", tmp_path / "m.json", tmp_path / "m.safetensors").code == 0  # the names come back

    def test_a_branch_sees_its_own_weight_of_a_name(self, pellucid, tmp_path: pathlib.Path) -> None:
        four = struct.pack("<f", 1)
        inner = field(5, initializer("w", [1], 1, four)) + field(1, operator("Add", ["x", "w"], ["o"], "in"))
        attribute = field(5, field(1, b"then_branch") + field(20, 5) + field(6, inner))
        (tmp_path / "m.onnx").write_bytes(model(
            field(1, operator("If", ["c"], ["y"], "if", attribute)),
            field(1, operator("Mul", ["y", "w"], ["z"], "out")),
            field(5, initializer("w", [1], 1, four))))
        net = tree(pellucid, tmp_path / "m.onnx")
        assert net["state"] == {"if.then_branch.w": [1], "w": [1]}
        assert modules(net)["if.then_branch.in"]["parameters"] == modules(net)["out"]["parameters"] == {"w": [1]}

    @pytest.mark.parametrize(("dtype", "bits"), [(21, 4), (25, 2), (27, 6), (28, 6), (24, 8)])
    def test_numbers_of_few_bits(self, pellucid, tmp_path: pathlib.Path, dtype: int, bits: int) -> None:
        """int32_data has pairs of four bits, fours of two, and single ones of six, as onnx.helper.make_tensor does."""
        n = 15
        each = 1 if bits in (6, 8) else 8 // bits
        ints = [1] * -(-n // each)
        raw = bytes(-(-n * bits // 8))
        (tmp_path / "m.onnx").write_bytes(model(field(5, initializer("raw", [n], dtype, raw)),
                                                field(5, initializer("typed", [n], dtype, None, ints))))
        assert pellucid("audit", tmp_path / "m.onnx").code == 0
        places = tree(pellucid, tmp_path / "m.onnx")["places"]
        assert places["raw"]["size"] == places["typed"]["size"] == len(raw)


class TestKeras:
    def test_wrapped_layers_have_keras_names(self, pellucid, tmp_path: pathlib.Path) -> None:
        keras = pytest.importorskip("keras", reason="keras writes the file")
        layers = keras.layers
        start = keras.Input((5, 8))
        x = layers.Bidirectional(layers.LSTM(6, return_sequences=True))(start)
        x = layers.TimeDistributed(layers.Dense(3))(x)
        x = layers.MultiHeadAttention(2, 4)(x, x)
        made = keras.Model(start, layers.RNN(layers.GRUCell(4))(x))
        made.save(tmp_path / "m.keras")
        net = tree(pellucid, tmp_path / "m.keras")
        assert net["state"] == {w.path: list(w.shape) for w in made.weights}
