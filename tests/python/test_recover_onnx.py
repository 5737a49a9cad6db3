"""Source back from ONNX graphs: messages written by hand, results against torch's own, or against onnxruntime."""

from __future__ import annotations

import pathlib
import random
import struct
from typing import Any

import pytest

import pellucid

torch = pytest.importorskip("torch")

FLOAT, INT64, BOOL = 1, 7, 9


# ---- messages ----

def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(name: str, value: Any) -> bytes:
    kind = {torch.float32: FLOAT, torch.int64: INT64, torch.bool: BOOL}[value.dtype]
    sizes = b"".join(field(1, size) for size in value.shape)
    return sizes + field(2, kind) + field(8, name) + field(9, value.contiguous().numpy().tobytes())


def attribute(name: str, value: Any) -> bytes:
    start = field(1, name)
    if isinstance(value, float):
        return start + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return start + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return start + field(4, value) + field(20, 3)
    if isinstance(value, torch.Tensor):
        return start + field(5, tensor("", value)) + field(20, 4)
    return start + b"".join(field(8, item) for item in value) + field(20, 7)


def node(op: str, inputs: list[str], outputs: list[str], name: str = "", domain: str = "", **attributes: Any) -> bytes:
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name) + field(4,
                                                                                                                    op)
            + b"".join(field(5, attribute(key, value)) for key, value in attributes.items())
            + (field(7, domain) if domain else b""))


def value_info(name: str, shape: tuple[int | str, ...] | None, kind: int = FLOAT) -> bytes:
    sizes = b"" if shape is None else field(2, b"".join(
        field(1, field(1, n) if isinstance(n, int) else field(2, n)) for n in shape))
    return field(1, name) + field(2, field(1, field(1, kind) + sizes))


def model(nodes: list[bytes], inputs: list[bytes], outputs: list[str], constants: dict[str, Any] | None = None,
          opset: int = 17, kind: int = FLOAT) -> bytes:
    graph = b"".join(field(1, n) for n in nodes) + field(2, "g")
    graph += b"".join(field(5, tensor(name, value)) for name, value in (constants or {}).items())
    graph += b"".join(field(11, i) for i in inputs) + b"".join(field(12, value_info(o, None, kind)) for o in outputs)
    return field(1, 8) + field(2, "test") + field(7, graph) + field(8, field(1, "") + field(2, opset))


def source_of(tmp_path: pathlib.Path, content: bytes) -> str:
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    return pellucid.recover(path, verify=False).source


def built(tmp_path: pathlib.Path, content: bytes) -> Any:
    from pellucid._recover_onnx import built as build
    made = pellucid.recover(_written(tmp_path, content), verify=False)
    return build(str(tmp_path / "net.onnx"), made.source, made.root)


def _written(tmp_path: pathlib.Path, content: bytes) -> pathlib.Path:
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    return path


def refusal(tmp_path: pathlib.Path, content: bytes) -> str:
    with pytest.raises(pellucid.Error) as error:
        source_of(tmp_path, content)
    return str(error.value)


X = value_info("x", (2, 3, 8, 8))


# ---- modules ----

def test_modules_from_the_names_of_weights(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU()).eval()
    net[1].running_mean.normal_()
    constants = {f"body.{name}": value for name, value in net.state_dict().items() if "tracked" not in name}
    content = model([node("Conv", ["x", "body.0.weight", "body.0.bias"], ["a"], pads=[1, 1, 1, 1]),
                     node("BatchNormalization", ["a", *(f"body.1.{n}" for n in ("weight", "bias", "running_mean",
                                                                                "running_var"))],
                          ["b"]),
                     node("Relu", ["b"], ["y"])], [X], ["y"], constants)
    source = source_of(tmp_path, content)
    assert "nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)" in source
    made = built(tmp_path, content)
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        assert torch.equal(made(x), net(x))
    assert {name.removeprefix("body."): tuple(value.shape) for name, value in made.state_dict().items()} == \
        {name: tuple(value.shape) for name, value in net.state_dict().items()}


def test_linear_of_a_turned_weight_and_repeated_blocks(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 4) for _ in range(4)]
    nodes, constants, value = [], {}, "x"
    for i, layer in enumerate(layers):
        constants |= {
    f"onnx::MatMul_{i}": layer.weight.detach().T.contiguous(),
     f"blocks.{i}.fc.bias": layer.bias.detach()}
        nodes += [node("MatMul", [value, f"onnx::MatMul_{i}"], [f"m{i}"], f"/blocks.{i}/fc/MatMul"),
                  node("Add", [f"blocks.{i}.fc.bias", f"m{i}"], [f"a{i}"], f"/blocks.{i}/fc/Add"),
                  node("Tanh", [f"a{i}"], [f"t{i}"], f"/blocks.{i}/act/Tanh")]
        value = f"t{i}"
    content = model(nodes, [value_info("x", (5, 4))], [value], constants)
    source = source_of(tmp_path, content)
    assert "nn.Linear(4, 4)" in source and "for block in self.blocks" in source and source.count("class ") == 2
    made, x = built(tmp_path, content), torch.randn(5, 4)
    want = x
    with torch.no_grad():
        for layer in layers:
            want = torch.tanh(layer(want))
        assert torch.equal(made(x), want)


def test_equal_weights_that_were_merged(tmp_path: pathlib.Path) -> None:
    weight = torch.randn(3)
    content = model([node("Identity", ["a.weight"], ["b.weight"]), node("Mul", ["x", "a.weight"], ["y"], "/a/Mul"),
                     node("Mul", ["y", "b.weight"], ["z"],
                          "/b/Mul")], [value_info("x", (2, 3))], ["z"], {"a.weight": weight})
    made = built(tmp_path, content)
    assert set(made.state_dict()) == {"a.weight", "b.weight"}
    x = torch.randn(2, 3)
    assert torch.equal(made(x), x * weight * weight)


def test_sizes_are_computed_in_the_text(tmp_path: pathlib.Path) -> None:
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["b"], axis=0),
             node("Unsqueeze", ["b", "axes"], ["b1"]),
             node("Concat", ["b1", "rest"], ["shape"], axis=0), node("Reshape", ["x", "shape"], ["y"])]
    content = model(nodes, [value_info("x", ("b", 3, 4))], ["y"], {"zero": torch.tensor(0), "axes": torch.tensor([0]),
                                                                  "rest": torch.tensor([-1])})
    assert "x.reshape(x.size(0), -1)" in source_of(tmp_path, content)
    assert built(tmp_path, content)(torch.zeros(5, 3, 4)).shape == (5, 12)


def test_a_zero_of_reshape_is_the_size_that_is_there(tmp_path: pathlib.Path) -> None:
    content = model([node("Reshape", ["x", "shape"], ["y"])], [value_info("x", ("b", 3, 4))], ["y"],
                    {"shape": torch.tensor([0, -1])})
    assert built(tmp_path, content)(torch.zeros(5, 3, 4)).shape == (5, 12)


# ---- refusals ----

@pytest.mark.parametrize("nodes, said", [
    ([node("NoSuchOperator", ["x"], ["y"], "/a/b/c")], "NoSuchOperator (opset 17, node /a/b/c): no rule writes it"),
    ([node("Relu", ["x"], ["y"], domain="com.example")], "another domain"),
    ([node("Relu", ["x"], ["y"], surprise=1)], "form that no rule writes"),
    ([node("Conv", ["x", "w"], ["y"], surprise=1)], "attribute surprise is not known"),
    ([node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2]), node("Add", ["i", "i"], ["z"])], "another result"),
    ([node("Relu", ["nothing"], ["y"])], "nothing before it makes"),
    ([node("Relu", ["x"], ["y"]), node("Relu", ["x"], ["y"])], "two nodes make one value"),
    ([node("If", ["x"], ["y"])], "no rule writes it"),
    ([node("Resize", ["x", "", "scales"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric",
           nearest_mode="ceil")], "a way of resizing"),
    ([node("BatchNormalization", ["x", "c", "c", "c", "c"], ["y"], training_mode=1)], "form that no rule writes"),
    ([node("Clip", ["x", "c"], ["y"], min=0.0)], "attribute min is not known"),
])
def test_what_is_not_known_is_refused_with_its_place(tmp_path: pathlib.Path, nodes: list[bytes], said: str) -> None:
    constants = {"w": torch.zeros(4, 3, 3, 3), "scales": torch.tensor([1.0, 1.0, 2.0, 2.0]), "c": torch.ones(3)}
    assert said in refusal(tmp_path, model(nodes, [X], ["y"], constants))


@pytest.mark.parametrize("opset, op, inputs, said", [
    (12, "HardSwish", ["x"], "this version of it is not known"),
    (99, "Relu", ["x"], "opset 99"),
    (5, "Relu", ["x"], "opset 5"),
])
def test_versions(tmp_path: pathlib.Path, opset: int, op: str, inputs: list[str], said: str) -> None:
    assert said in refusal(tmp_path, model([node(op, inputs, ["y"])], [X], ["y"], opset=opset))


@pytest.mark.parametrize("op, constants, attributes, said", [
    ("LRN", {}, {"size": 4}, "an even size"),
    ("ReduceL1", {}, {"noop_with_empty_axes": 1}, "engines differ"),
    ("ReduceSumSquare", {}, {"noop_with_empty_axes": 1}, "engines differ"),
    ("MaxPool", {}, {"kernel_shape": [3, 3], "strides": [3, 3], "pads": [0, 0, 1, 1], "ceil_mode": 1}, "rounded up"),
    ("Pad", {"p": torch.ones(8, dtype=torch.int64)}, {"mode": "edge"}, "last three dimensions"),
    ("Resize", {"": None, "s": torch.tensor([1, 1, 0.5, 0.5])}, {}, "middle of two"),
    ("Resize", {"": None, "s": torch.tensor([1, 1, 1.5, 1.5])}, {}, "middle of two"),
    ("Resize", {"": None, "s": torch.tensor([1, 1, 0.125, 0.25])},
     {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, "one place is left"),
])
def test_what_torch_does_in_another_way_is_refused(tmp_path: pathlib.Path, op: str, constants: dict[str, Any],
                                                   attributes: dict[str, Any], said: str) -> None:
    given = {name: value for name, value in constants.items() if name}
    assert said in refusal(tmp_path, model([node(op, ["x", *constants], ["y"], **attributes)], [X], ["y"], given, 19))


def test_resizing_that_is_the_same_in_torch_stays(tmp_path: pathlib.Path) -> None:
    for scale, more in ((2, {}), (3, {}), (0.5, {"nearest_mode": "round_prefer_ceil"})):
        nodes = [node("Resize", ["x", "", "s"], ["y"], **more)]
        constants = {"s": torch.tensor([1.0, 1.0, scale, scale])}
        assert "nearest-exact" in source_of(tmp_path, model(nodes, [X], ["y"], constants, 19))


def test_what_does_not_divide_leaves_a_smaller_last_part(tmp_path: pathlib.Path) -> None:
    content = model([node("Split", ["x"], ["a", "b", "c"], num_outputs=3)], [value_info("x", (7, 2))], ["a", "b", "c"],
                    opset=18)
    assert [len(part) for part in built(tmp_path, content)(torch.ones(7, 2))] == [3, 3, 1]


@pytest.mark.parametrize("op, axes, kind", [("ReduceSum", "axis", torch.int32), ("ReduceProd", "axis", torch.int32),
                                            ("CumSum", "axis", torch.int32), ("ReduceSum", "axis", torch.int64)])
def test_sums_of_whole_numbers_keep_their_dtype(tmp_path: pathlib.Path, op: str, axes: str, kind: Any) -> None:
    number = {torch.int32: 6, torch.int64: 7}[kind]
    content = model([node(op, ["x", axes], ["y"])], [value_info("x", (2, 3), number)], ["y"],
                    {axes: torch.tensor(1) if op == "CumSum" else torch.tensor([1])}, 18)
    assert built(tmp_path, content)(torch.ones(2, 3, dtype=kind)).dtype == kind


def test_transposed_convolutions_of_three_dimensions(tmp_path: pathlib.Path) -> None:
    weight, x = torch.randn(2, 3, 2, 2, 2), torch.randn(1, 2, 3, 4, 5)
    content = model([node("ConvTranspose", ["x", "w"], ["y"])], [value_info("x", (1, 2, 3, 4, 5))], ["y"],
                    {"w": weight})
    with torch.no_grad():
        assert torch.equal(built(tmp_path, content)(x), torch.nn.functional.conv_transpose3d(x, weight))


def test_infinities_hide_no_difference() -> None:
    from pellucid._recover_onnx import difference
    want = [torch.tensor([-float("inf"), 1.0, float("nan")]).numpy()]
    assert difference(lambda: torch.tensor([-float("inf"), 1.0, float("nan")]), [], want) == ""
    assert "apart by 1" in difference(lambda: torch.tensor([-float("inf"), 2.0, float("nan")]), [], want)
    assert "infinities" in difference(lambda: torch.tensor([float("inf"), 1.0, float("nan")]), [], want)


def test_broken_messages_end_in_an_error(tmp_path: pathlib.Path) -> None:
    content = model([node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1], kernel_shape=[3, 3])], [X], ["y"],
                    {"w": torch.zeros(4, 3, 3, 3)})
    chance = random.Random(0)
    path = tmp_path / "net.onnx"
    for _ in range(60):
        broken = bytearray(content)
        for _ in range(chance.randrange(1, 4)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        path.write_bytes(broken[:chance.randrange(20, len(broken) + 1)])
        try:
            source = pellucid.recover(path, verify=False).source
        except pellucid.Error:
            continue
        compile(source, "recovered", "exec")


# ---- against onnxruntime ----

def cases() -> list[tuple[str, list[Any], dict[str, Any], dict[str, Any]]]:
    """Operator, values (constants have a name that begins with c), attributes, opset: what differs between both."""
    t, g = torch.tensor, torch.Generator().manual_seed(0)

    def r(*size: int) -> Any:
        return torch.randn(size, generator=g)

    pictures: list[tuple[str, list[Any], dict[str, Any]]] = []
    for pads in ([0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2, 1], [2, 0, 0, 0]):
        for strides in ([1, 1], [2, 1]):
            pictures += [("Conv", [r(2, 4, 9, 8), ("c", r(6, 2, 3, 3)), ("c", r(6))],
                          {"pads": pads, "strides": strides, "group": 2}),
                         ("MaxPool", [r(2, 3, 9, 8)], {"kernel_shape": [3, 3], "pads": pads, "strides": strides}),
                         ("AveragePool", [r(2, 3, 9, 8)], {"kernel_shape": [3, 3], "pads": pads, "strides": strides,
                                                          "count_include_pad": 1})]
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        pictures += [("Conv", [r(2, 3, 9, 8), ("c", r(4, 3, 4, 3))], {"auto_pad": pad, "strides": [2, 2]}),
                     ("MaxPool", [r(2, 3, 9, 8)], {"kernel_shape": [2, 3], "auto_pad": pad, "strides": [2, 2]})]
    for mode in ("nearest", "linear", "cubic"):
        for place in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
            for rounding in ("floor", "round_prefer_floor"):
                pictures.append(("Resize", [r(1, 2, 5, 6), "", ("c", t([1.0, 1.0, 2.0, 2.0]))],
                                 {"mode": mode, "coordinate_transformation_mode": place, "nearest_mode": rounding}))
                pictures.append(("Resize", [r(1, 2, 5, 6), "", "", ("c", t([1, 2, 7, 4]))],
                                 {"mode": mode, "coordinate_transformation_mode": place, "nearest_mode": rounding}))
    rows: list[tuple[str, list[Any], dict[str, Any], dict[str, Any]]] = [(*row, {}) for row in pictures]
    for op in ("ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare", "ReduceL1"):
        for axes in ([1], [0, 2], [-1]):
            rows += [(op, [r(2, 3, 4)], {"axes": axes, "keepdims": keep}, {}) for keep in (0, 1)]
        rows.append((op, [r(2, 3, 4), ("c", t([1]))], {}, {"opset": 18}))
    for mode in ("DCR", "CRD"):
        rows.append(("DepthToSpace", [r(2, 12, 3, 4)], {"blocksize": 2, "mode": mode}, {}))
    for mode in ("constant", "reflect", "edge"):
        rows.append(("Pad", [r(2, 3, 5, 6), ("c", t([0, 0, 1, 2, 0, 0, 0, 1]))], {"mode": mode}, {}))
    for starts, ends, axes, steps in (([1], [9], [2], [2]), ([-3, 0], [-1, 2],
                                      [2, 1], [1, 1]), ([-1], [-2**62], [2], [-1])):
        rows.append(("Slice", [r(2, 3, 6), *(("c", t(v)) for v in (starts, ends, axes, steps))], {}, {}))
    whole = torch.arange(-12, 12).reshape(2, 3, 4)
    rows += [
        ("SpaceToDepth", [r(2, 3, 4, 6)], {"blocksize": 2}, {}),
        ("ConvTranspose", [r(2, 4, 5, 6), ("c", r(4, 3, 3, 3)), ("c", r(6))],
         {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1], "group": 2}, {}),
        ("Gemm", [r(2, 3), ("c", r(3, 4)), ("c", r(4))], {"alpha": 0.5, "beta": 2.0}, {}),
        ("Gemm", [r(3, 2), ("c", r(4, 3)), ("c", r(4))], {"transA": 1, "transB": 1}, {}),
        ("Gemm", [r(2, 3), ("c", r(3, 4))], {}, {}),
        ("Div", [whole, ("c", t(3))], {}, {}), ("Div", [r(2, 3), ("c", t(3.0))], {}, {}),
        ("Mod", [whole, ("c", t(5))], {}, {}), ("Mod", [whole, ("c", t(5))], {"fmod": 1}, {}),
        ("Clip", [r(2, 3), ("c", t(-0.5)), ("c", t(0.5))], {}, {}), ("Clip", [r(2, 3), "", ("c", t(0.5))], {}, {}),
        ("Clip", [r(2, 3)], {"min": 0.0, "max": 6.0}, {"opset": 10}),
        ("HardSigmoid", [r(4, 5) * 4], {}, {}), ("HardSigmoid", [r(4, 5) * 4], {"alpha": 1 / 6}, {}),
        ("LeakyRelu", [r(4, 5)], {"alpha": 0.2}, {}), ("Elu", [r(4, 5)], {}, {}), ("Selu", [r(4, 5)], {}, {}),
        ("Softmax", [r(2, 3, 4)], {}, {}), ("Softmax", [r(2, 3, 4)], {"axis": 1}, {}),
        ("Softmax", [r(2, 3)], {}, {"opset": 11}), ("LogSoftmax", [r(2, 3, 4)], {"axis": -2}, {}),
        ("LpNormalization", [r(2, 3, 4)], {}, {}), ("LRN", [r(1, 6, 4, 4)], {"size": 3, "alpha": 0.01}, {}),
        ("PRelu", [r(2, 3, 4, 4), ("c", r(3, 1, 1))], {}, {}),
        ("Flatten", [r(2, 3, 4)], {"axis": 0}, {}), ("Flatten", [r(2, 3, 4)], {"axis": 2}, {}),
        ("Flatten", [r(2, 3, 4)], {}, {}), ("Flatten", [r(2, 3, 4)], {"axis": -1}, {}),
        ("Transpose", [r(2, 3, 4)], {}, {}), ("Transpose", [r(2, 3, 4)], {"perm": [2, 0, 1]}, {}),
        ("Unsqueeze", [r(2, 3), ("c", t([2, 0]))], {}, {}), ("Unsqueeze", [r(2, 3), ("c", t([-1, 0]))], {}, {}),
        ("Squeeze", [r(2, 1, 3, 1), ("c", t([1, -1]))], {}, {}), ("Squeeze", [r(2, 1, 3, 1)], {}, {}),
        ("Expand", [r(3, 1), ("c", t([2, 1, 4]))], {}, {}), ("Expand", [r(2, 3), ("c", t([1, 3]))], {}, {}),
        ("Gather", [r(4, 5), ("c", t([[0, 2], [1, -1]]))], {"axis": 1},
         {}), ("Gather", [r(4, 5), ("c", t(-2))], {"axis": 1}, {}),
        ("GatherElements", [r(3, 3), ("c", t([[1, 0, 2]]))], {"axis": 0}, {}),
        ("GatherND", [r(3, 4, 5), ("c", t([[0, 1], [2, 3]]))], {}, {}),
        ("ScatterND", [r(4, 5), ("c", t([[1], [3]])), ("c", r(2, 5))], {}, {}),
        ("ScatterElements", [r(3, 3), ("c", t([[1, 0, 2]])), ("c", r(1, 3))], {"axis": 0}, {}),
        ("Trilu", [r(4, 4), ("c", t(1))], {}, {}), ("Trilu", [r(4, 4)], {"upper": 0}, {}),
        ("CumSum", [r(3, 4), ("c", t(1))], {}, {}), ("Tile", [r(2, 3), ("c", t([2, 1]))], {}, {}),
        ("ArgMax", [r(3, 4)], {"axis": 1, "keepdims": 0}, {"kind": INT64}), ("ArgMin", [r(3, 4)], {}, {"kind": INT64}),
        ("Where", [("c", r(3, 1) > 0), r(3, 4), ("c", t(0.5))], {}, {}), ("Not", [r(3, 4) > 0], {}, {"kind": BOOL}),
        ("Cast", [r(3, 4) * 5], {"to": INT64}, {"kind": INT64}), ("Cast", [whole], {"to": FLOAT}, {}),
        ("NonZero", [(r(3, 4) > 0).float()], {}, {"kind": INT64}
         ), ("Einsum", [r(2, 3), r(3, 4)], {"equation": "ij,jk->ki"}, {}),
        ("ConstantOfShape", [("c", t([2, 3]))], {"value": t([7])}, {"kind": INT64}),
        ("LayerNormalization", [r(2, 3, 4), ("c", r(4)), ("c", r(4))], {"epsilon": 1e-3}, {}),
        ("LayerNormalization", [r(2, 3, 4), ("c", r(3, 4))], {"axis": 1}, {}),
        ("InstanceNormalization", [r(2, 3, 4, 4), ("c", r(3)), ("c", r(3))], {}, {}),
        ("GlobalAveragePool", [r(2, 3, 4, 5)], {}, {}), ("GlobalMaxPool", [r(2, 3, 4)], {}, {}),
        ("Min", [r(2, 3), r(2, 3), r(3)], {}, {}), ("Mean", [r(2, 3), r(2, 3), r(3)], {}, {}),
        ("Pow", [r(2, 3).abs(), ("c", t(2.0))], {}, {}), ("Round", [t([0.5, 1.5, -0.5, 2.4])], {}, {}),
        ("Softplus", [r(3, 4)], {}, {}), ("ThresholdedRelu", [
         r(3, 4)], {}, {}), ("Celu", [r(3, 4)], {"alpha": 2.0}, {}),
        ("Shrink", [r(3, 4)], {}, {}), ("Gelu", [r(3, 4)], {}, {"opset": 20}),
        ("Gelu", [r(3, 4)], {"approximate": "tanh"}, {"opset": 20}
         ), ("Identity", [r(3)], {}, {}), ("Sum", [r(3)], {}, {}),
    ]
    for i, row in enumerate(rows):
        if row[0] in ("Div", "Mod", "Cast") and row[1][0] is whole and "kind" not in row[3] and row[0] != "Cast":
            rows[i] = (*row[:3], {**row[3], "kind": INT64})
    return rows


def test_operators_against_onnxruntime(tmp_path: pathlib.Path) -> None:
    """Either equal or refused in words; which are refused is said here, so that none becomes so unseen."""
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: no operator was compared")
    import numpy
    refused, wrong = set(), []
    for op, values, attributes, how in cases():
        names, constants, inputs, given = [], {}, [], []
        for index, value in enumerate(values):
            name = f"v{index}"
            if isinstance(value, tuple):
                constants[name] = value[1]
            elif isinstance(value, str):
                name = ""
            else:
                kind = {torch.float32: FLOAT, torch.int64: INT64, torch.bool: BOOL}[value.dtype]
                inputs.append(value_info(name, tuple(value.shape), kind))
                given.append((name, value))
            names.append(name)
        content = model([node(op, names, ["y"], **attributes)], inputs, ["y"], constants, how.get("opset", 17),
                        how.get("kind", FLOAT))
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        label = f"{op} {attributes} {[v if isinstance(v, str) else 0 for v in values]}"
        try:
            want = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"]).run(
                None, {name: value.numpy() for name, value in given})[0]
        except Exception as error:
            pytest.fail(f"{label}: the case itself does not run: {error}")
        try:
            made = built(tmp_path, content)
        except pellucid.Error:
            refused.add((op, attributes.get("mode", ""), attributes.get("coordinate_transformation_mode", "")))
            continue
        with torch.no_grad():
            got = numpy.asarray(made(*(value for _, value in given)))
        if got.shape != want.shape or not numpy.allclose(got.astype(
            "float64"), want.astype("float64"), atol=1e-5, rtol=1e-5):
            wrong.append(label)
    assert not wrong
    assert refused <= {("Resize", mode, place) for mode in ("nearest", "linear", "cubic")
                       for place in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")}
