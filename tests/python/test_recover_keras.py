"""Source back from Keras models: configs by hand against what Keras defines, files of the library against Keras."""

from __future__ import annotations

import json
import os
import pathlib
import random
import sys
import zipfile
from typing import Any

import pytest

import pellucid

os.environ.setdefault("KERAS_BACKEND", "torch")
torch = pytest.importorskip("torch")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def layer(kind: str, name: str = "", inputs: list[str] | None = None, **config: Any) -> dict[str, Any]:
    name = name or kind.lower()
    row: dict[str, Any] = {"class_name": kind, "config": {"name": name, **config}, "name": name}
    if inputs is not None:
        tensors = [{"class_name": "__keras_tensor__", "config": {"keras_history": [i, 0, 0]}} for i in inputs]
        row["inbound_nodes"] = [{"args": tensors if len(tensors) == 1 else [tensors], "kwargs": {}}] if inputs else []
    return row


def sequential(shape: list[int | None], *layers: dict[str, Any]) -> dict[str, Any]:
    start = layer("InputLayer", "start", batch_shape=shape, dtype="float32")
    return {"class_name": "Sequential", "config": {"name": "net", "layers": [start, *layers]}}


def functional(*layers: dict[str, Any]) -> dict[str, Any]:
    """From the first layer to the last."""
    return {"class_name": "Functional", "config": {"name": "net", "layers": list(layers), "output_layers": [
        [layers[-1]["name"], 0, 0]], "input_layers": [[layers[0]["name"], 0, 0]]}}


def written(tmp_path: pathlib.Path, model: dict[str, Any], version: str = "3.5.0") -> pathlib.Path:
    path = tmp_path / "net.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": version}))
        archive.writestr("config.json", json.dumps(model))
    return path


def net(tmp_path: pathlib.Path, model: dict[str, Any], version: str = "3.5.0") -> Any:
    made = pellucid.recover(written(tmp_path, model, version), verify=False)
    space: dict[str, Any] = {}
    exec(made.source, space)
    return space[made.root]().eval()


# ---- without weights: what Keras defines ----

def test_uneven_padding_is_at_the_end(tmp_path: pathlib.Path) -> None:
    made = net(tmp_path, sequential([None, 5, 4, 1], layer("MaxPooling2D", pool_size=[2, 2], strides=[2, 2],
                                                           padding="same", data_format="channels_last")))
    x = -torch.arange(20.0).reshape(1, 5, 4, 1) - 1
    assert made(x)[0, :, :, 0].tolist() == [[-1, -3], [-9, -11], [-17, -19]]


def test_an_average_counts_what_is_there(tmp_path: pathlib.Path) -> None:
    made = net(tmp_path, sequential([None, 3, 3, 1], layer("AveragePooling2D", pool_size=[2, 2], padding="same")))
    assert made(torch.ones(1, 3, 3, 1)).flatten().tolist() == [1.0] * 4


@pytest.mark.parametrize("padding, sizes", [([[1, 0], [2, 3]], (1, 5, 8, 2)), ([[0, 0], [0, 0]], (1, 4, 3, 2))])
def test_padding_of_each_end(tmp_path: pathlib.Path, padding: list[list[int]], sizes: tuple[int, ...]) -> None:
    y = net(tmp_path, sequential([None, 4, 3, 2], layer("ZeroPadding2D", padding=padding)))(torch.ones(1, 4, 3, 2))
    assert tuple(y.shape) == sizes and float(y[:, :padding[0][0]].sum()) == 0 and float(y.sum()) == 24


def test_flatten_has_the_channels_last(tmp_path: pathlib.Path) -> None:
    made = net(tmp_path, sequential([None, 4, 4, 2], layer("MaxPooling2D", pool_size=[1, 1]), layer("Flatten")))
    x = torch.randn(3, 4, 4, 2)
    assert torch.equal(made(x), x.flatten(1))


def test_a_functional_model_in_any_order(tmp_path: pathlib.Path) -> None:
    layers = [layer("Subtract", "last", ["double", "a"]), layer("Add", "double", ["a", "a"]),
              layer("InputLayer", "a", [], batch_shape=[None, 3])]
    model = {"class_name": "Functional", "config": {"name": "net", "layers": layers, "input_layers": [["a", 0, 0]],
                                                    "output_layers": [["last", 0, 0], ["double", 0, 0]]}}
    x = torch.randn(2, 3)
    y, z = net(tmp_path, model)(x)
    assert torch.equal(y, x + x - x) and torch.equal(z, x + x)


def test_a_hard_sigmoid_is_that_of_its_version(tmp_path: pathlib.Path) -> None:
    model, x = sequential([None, 3], layer("Activation", activation="hard_sigmoid")), torch.tensor([[-1.0, 0.5, 4.0]])
    assert torch.allclose(net(tmp_path, model)(x), (x + 3).clamp(0, 6) / 6)
    assert torch.allclose(net(tmp_path, model, "2.15.0")(x), (0.2 * x + 0.5).clamp(0, 1))


def test_operations_take_numbers(tmp_path: pathlib.Path) -> None:
    half = layer("Multiply", "half", ["a"])
    half["module"] = "keras.src.ops.numpy"
    half["inbound_nodes"][0]["args"].append(0.5)
    model = functional(layer("InputLayer", "a", [], batch_shape=[None, 3]), half)
    x = torch.randn(2, 3)
    assert torch.equal(net(tmp_path, model)(x), x * 0.5)
    model["config"]["layers"][1]["class_name"] = "Flatten"
    with pytest.raises(pellucid.Error, match="called with"):
        net(tmp_path, model)


# ---- edges ----

def test_edges_are_the_calls_of_layers(tmp_path: pathlib.Path) -> None:
    inner = sequential([None, 3], layer("Flatten", "one"), layer("Flatten", "two"))
    row = {**inner, "name": "net", "inbound_nodes": layer("x", "x", ["a"])["inbound_nodes"]}
    model = functional(layer("InputLayer", "a", [], batch_shape=[None, 3]), row, layer("Add", "sum", ["a", "net"]))
    edges = pellucid.tree(written(tmp_path, model)).to_dict()["networks"][0]["flow"]
    assert {(edge["from"], edge["to"]) for edge in edges} == {
        ("input", "a"), ("a", "net"), ("a", "sum"), ("net", "sum"), ("sum", "output"), ("net/start", "net/one"),
        ("net/one", "net/two")}


# ---- refusals ----

@pytest.mark.parametrize("row, said", [
    (layer("Lambda", function="f"), "Keras layer Lambda lambda: no rule writes it"),
    (layer("MyLayer", "mine"), "Keras layer MyLayer mine: no rule writes it"),
    (layer("Activation", activation="surprise"), "activation surprise is not known"),
    (layer("Activation", activation={"class_name": "Custom"}), "no function of Keras's own"),
    (layer("MaxPooling2D", data_format="channels_first"), "channels are not last"),
    (layer("MaxPooling2D", padding="diagonal"), "a padding that is not known"),
    (layer("ReLU", threshold=1.0), "no rule writes"),
    (layer("Dense", units=3), "the file has no weight kernel"),
    (layer("Bidirectional", merge_mode=None, layer=layer("LSTM", units=2)), "no rule writes"),
    (layer("Bidirectional", layer=layer("GRU", units=2), backward_layer=layer("GRU", units=2)), "no rule writes"),
    (layer("Flatten", dtype="float16"), "a dtype other than float32"),
    (layer("ZeroPadding2D", padding=[[-1, 0], [0, 0]]), "no rule writes"),
])
def test_what_is_not_known_is_refused_by_name(tmp_path: pathlib.Path, row: dict[str, Any], said: str) -> None:
    with pytest.raises(pellucid.Error) as error:
        pellucid.recover(written(tmp_path, sequential([None, 4, 4, 2], row)), verify=False)
    assert said in str(error.value)


def test_a_size_that_is_open_is_refused_where_padding_needs_it(tmp_path: pathlib.Path) -> None:
    row = layer("MaxPooling2D", strides=[2, 2], padding="same")
    with pytest.raises(pellucid.Error, match="depends on a size that is not known"):
        pellucid.recover(written(tmp_path, sequential([None, None, None, 2], row)), verify=False)


def test_broken_configs_end_in_an_error(tmp_path: pathlib.Path) -> None:
    chance = random.Random(0)
    odd = [None, -1, 0, 2**40, 1e300, "x", [], {}, [[]], True, [None, 3], {"class_name": "__keras_tensor__"}]
    layers = [layer("InputLayer", "a", [], batch_shape=[None, 8, 8, 3]),
              layer("ZeroPadding2D", "p", ["a"], padding=[[1, 1], [1, 1]]),
              layer("MaxPooling2D", "m", ["p"], pool_size=[2, 2], strides=[2, 2], padding="same"),
              layer("Reshape", "r", ["m"], target_shape=[-1, 3]), layer("Flatten", "f", ["r"])]
    for _ in range(80):
        model = json.loads(json.dumps({"class_name": "Functional", "config": {
            "name": "net", "layers": layers, "input_layers": [["a", 0, 0]], "output_layers": [["f", 0, 0]]}}))
        for _ in range(chance.randrange(1, 3)):
            at: Any = model
            while True:
                keys = list(at) if isinstance(at, dict) else list(range(len(at)))
                if not keys:
                    break
                key = chance.choice(keys)
                if not isinstance(at[key], (dict, list)) or chance.random() < 0.1:
                    at[key] = chance.choice(odd)
                    break
                at = at[key]
        try:
            source = pellucid.recover(written(tmp_path, model), verify=False).source
        except pellucid.Error:
            continue
        compile(source, "recovered", "exec")


# ---- files of the library ----

@pytest.mark.slow
def test_edges_against_keras(tmp_path: pathlib.Path) -> None:
    keras = pytest.importorskip("keras", reason="keras is not installed: no edges were compared with its own")
    sys.path.insert(0, str(ROOT / "bench"))
    import keras_files
    keras_files.make(tmp_path, len(keras_files.small()))
    compared = 0
    for path in sorted(path for path in tmp_path.iterdir() if path.suffix in (".keras", ".h5")):
        model = keras.saving.load_model(path, compile=False)
        if isinstance(model, keras.Sequential):
            names = [row.name for row in model._layers]
            want = list(zip(["input", *names], [*names, "output"]))
        else:
            kept = {id(node) for nodes in model._nodes_by_depth.values() for node in nodes}
            want = [("input", x._keras_history.operation.name) for x in model.inputs]
            for row in model.layers:
                for node in row._inbound_nodes:
                    if id(node) in kept:
                        want += [(x._keras_history.operation.name, row.name) for x in node.input_tensors]
            want += [(x._keras_history.operation.name, "output") for x in model.outputs]
        edges = pellucid.tree(path).to_dict()["networks"][0]["flow"]
        found = [(edge["from"], edge["to"]) for edge in edges if "/" not in edge["from"] + edge["to"]]
        assert sorted(found) == sorted(want), path.name
        compared += 1
    assert compared >= 10

def test_a_file_of_keras_gets_its_weights(tmp_path: pathlib.Path) -> None:
    from pellucid._recover_onnx import built, tensors
    path = ROOT / "fuzz" / "corpus" / "hdf5" / "net.h5"
    made = pellucid.recover(path, verify=False)
    module = built(str(path), made.source, made.root)
    pellucid.convert(path, tmp_path / "w.safetensors")
    raw = tensors(str(tmp_path / "w.safetensors"))
    x = torch.randn(4, 10)
    want = (x @ raw["fc1/kernel"] + raw["fc1/bias"]).relu() @ raw["fc2/kernel"] + raw["fc2/bias"]
    assert torch.allclose(module(x), want, atol=1e-5)


@pytest.mark.slow
def test_models_of_every_layer_against_keras(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("keras", reason="keras is not installed: no layer was compared with it")
    import numpy
    sys.path.insert(0, str(ROOT / "bench"))
    import keras_files
    from pellucid._recover_onnx import built
    assert keras_files.make(tmp_path, len(keras_files.small())) == 0
    files = sorted(path for path in tmp_path.iterdir() if path.suffix in (".keras", ".h5"))
    assert len(files) == len(keras_files.small())
    for path in files:
        made = pellucid.recover(path, verify=False)
        module = built(str(path), made.source, made.root)
        for inputs, run_file in keras_files.runs(path):
            with torch.no_grad():
                got = module(*(torch.from_numpy(numpy.array(value)) for value in inputs))
            for want, value in zip(run_file(), [got] if isinstance(got, torch.Tensor) else got):
                assert numpy.allclose(want, value.numpy(), atol=1e-5), path.name
