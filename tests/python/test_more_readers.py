"""Readers of rarer formats against the libraries that write them, or files that those wrote; hostile ones."""

from __future__ import annotations

import json
import pathlib
import struct
import subprocess
import sys
import zipfile
from typing import Any

import pytest

from conftest import ROOT
from test_audit import CALL, torch_archive

CORPUS = ROOT / "fuzz" / "corpus"


def tensors_of(pellucid, path: pathlib.Path) -> dict[str, tuple[Any, ...]]:
    """Full name: dtype and sizes."""
    done = pellucid("tree", "--json", path)
    assert done.code == 0, done.err
    return {name: (network["dtypes"][name], *shape)
            for network in json.loads(done.out)["networks"] for name, shape in network["state"].items()}


def verdict(pellucid, path: pathlib.Path) -> tuple[str, set[str]]:
    done = pellucid("audit", "--json", path)
    assert done.seconds < 1
    row = json.loads(done.out.splitlines()[0])
    return row["verdict"], {finding["kind"] for finding in row["findings"] if finding["severity"] != "note"}


# ---- Flax ----

def test_flax_file(pellucid):
    path = CORPUS / "msgpack" / "net.msgpack"
    assert tensors_of(pellucid, path) == {
        "list/0": ("int32", 1), "params/scale": ("bfloat16", 2), "params/Dense_0/bias": ("float32", 3),
        "params/Dense_0/kernel": ("float32", 2, 3), "lr": ("float32",)}
    assert verdict(pellucid, path) == ("harmless", set())


def test_flax_against_the_library(pellucid, tmp_path):
    serialization = pytest.importorskip("flax.serialization", reason="flax is not installed")
    numpy = pytest.importorskip("numpy")
    tree = {"a": {"b": numpy.arange(6, dtype=numpy.float64).reshape(1, 2, 3)}, "c": numpy.zeros((0, 4), numpy.int8)}
    (tmp_path / "x.msgpack").write_bytes(serialization.msgpack_serialize(tree))
    assert tensors_of(pellucid, tmp_path / "x.msgpack") == {"a/b": ("float64", 1, 2, 3), "c": ("int8", 0, 4)}
    done = pellucid("extract", tmp_path / "x.msgpack", "a/b", "-o", tmp_path / "b.npy")
    assert done.code == 0 and (numpy.load(tmp_path / "b.npy") == tree["a"]["b"]).all()


@pytest.mark.parametrize("data, expected", [
    (b"\x81\xa1a\xc4" + bytes([len(CALL) + 2]) + b"\x80\x02" + CALL, "dangerous"),  # a pickle among the bytes
    (b"\x81\xa1a\xc7\x03\x63abc", "unknown"),  # somebody's extension
    (b"\x81\xa1a\x01tail", "suspicious"),
    (b"\x81\xa1a\xc1", "broken"),
    (b"\xdf\xff\xff\xff\xff\xa1a\x01", "broken"),
    (b"\x81\xa1a" * 100 + b"\x01", "suspicious"),
    (b"\x81\xa1a\xc7\x0d\x01\x93\x91\xff\xa7float32\xc4\x00", "broken"),  # a size of -1
    (b"\x81\xa1a\xc7\x0e\x01\x93\x91\x05\xa7float32\xc4\x01x", "suspicious"),  # five numbers in one byte
])
def test_hostile_messagepack(pellucid, tmp_path, data, expected):
    (tmp_path / "x.msgpack").write_bytes(data)
    assert verdict(pellucid, tmp_path / "x.msgpack")[0] == expected


# ---- TensorFlow checkpoints ----

def test_tensorflow_checkpoint(pellucid, tmp_path):
    tensorflow = pytest.importorskip("tensorflow", reason="tensorflow is not installed")
    numpy = pytest.importorskip("numpy")
    weight = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    made = tensorflow.train.Checkpoint(w=tensorflow.Variable(weight), b=tensorflow.Variable([1.0], dtype="float16"))
    made.write(str(tmp_path / "net"))
    listed = {name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"): tuple(shape)
              for name, shape in tensorflow.train.list_variables(str(tmp_path / "net")) if not name.startswith("_")}
    found = tensors_of(pellucid, tmp_path / "net.index")
    assert {name: row[1:] for name, row in found.items()} == listed
    pellucid("extract", tmp_path / "net.index", "w", "-o", tmp_path / "w.npy")
    assert (numpy.load(tmp_path / "w.npy") == weight).all()
    for path in tmp_path.glob("net.*"):
        assert verdict(pellucid, path)[0] == "harmless", path


def test_tensorflow_index_without_its_data(pellucid, tmp_path):
    (tmp_path / "net.index").write_bytes((CORPUS / "model" / "model.index").read_bytes())
    assert tensors_of(pellucid, tmp_path / "net.index") == {"b": ("float16", 3), "w": ("float32", 2, 3)}
    (tmp_path / "net.data-00000-of-00001").write_bytes(b"short")
    assert verdict(pellucid, tmp_path / "net.index") == ("suspicious", {"outside"})
    assert verdict(pellucid, tmp_path / "net.data-00000-of-00001")[0] == "unknown"
    (tmp_path / "net.data-00000-of-00001").write_bytes(CALL)
    assert verdict(pellucid, tmp_path / "net.data-00000-of-00001")[0] == "dangerous"


# ---- torch.distributed.checkpoint ----

def safetensors_of(torch, path: pathlib.Path) -> dict[str, Any]:
    """The float32 tensors of a file, by the format's own words: the environment of make test has no safetensors."""
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    rows = json.loads(data[8:start])
    assert {row["dtype"] for name, row in rows.items() if name != "__metadata__"} == {"F32"}
    return {name: torch.frombuffer(bytearray(data[start + row["data_offsets"][0]:start + row["data_offsets"][1]]),
                                   dtype=torch.float32).reshape(row["shape"])
            for name, row in rows.items() if name != "__metadata__"}


def test_distributed_checkpoint(pellucid, tmp_path):
    torch = pytest.importorskip("torch")
    code = ("import sys, torch, torch.distributed.checkpoint as dcp\n"
            "torch.manual_seed(0); net = torch.nn.Linear(3, 4)\n"
            "dcp.save({'model': net.state_dict(), 'epoch': 3}, checkpoint_id=sys.argv[1])\n"
            "torch.save(net.state_dict(), sys.argv[2])")
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "dcp"), str(tmp_path / "net.pt")],
                   check=True, timeout=120, capture_output=True)
    assert tensors_of(pellucid, tmp_path / "dcp") == {
        "model.weight": ("float32", 4, 3), "model.bias": ("float32", 4)}
    assert pellucid("convert", tmp_path / "dcp", "-o", tmp_path / "x.safetensors").code == 0
    loaded, wanted = safetensors_of(torch, tmp_path / "x.safetensors"), torch.load(tmp_path / "net.pt")
    assert loaded.keys() == {f"model.{name}" for name in wanted}
    assert all(torch.equal(loaded[f"model.{name}"], value) for name, value in wanted.items())
    assert verdict(pellucid, next((tmp_path / "dcp").glob("*.distcp"))) == ("harmless", set())
    assert verdict(pellucid, tmp_path / "dcp" / ".metadata")[0] == "harmless"


def test_archives_in_a_row(pellucid, tmp_path):
    """Each is read; what does not fit is no row."""
    path = tmp_path / "x.distcp"
    good, bad = torch_archive(b"\x80\x02}."), torch_archive(b"\x80\x02" + CALL)
    path.write_bytes(good + good)
    assert verdict(pellucid, path)[0] == "harmless"
    (tmp_path / "x.pt").write_bytes(good + good)
    assert verdict(pellucid, tmp_path / "x.pt")[0] == "dangerous", "one reader sees the first, another the last"
    for parts in ((good, bad), (bad, good), (good, bad, good)):
        path.write_bytes(b"".join(parts))
        assert verdict(pellucid, path)[0] == "dangerous"
    path.write_bytes(good + b"x" + good)
    assert verdict(pellucid, path)[0] in ("dangerous", "suspicious")


# ---- PMML ----

def test_pmml(pellucid):
    assert verdict(pellucid, CORPUS / "xml" / "tree.pmml") == ("harmless", set())
    done = pellucid("tree", CORPUS / "xml" / "tree.pmml")
    assert "small" in done.out and "TreeModel" in done.out


@pytest.mark.parametrize("text, expected", [
    ('<!DOCTYPE x SYSTEM "http://localhost/x"><PMML/>', "dangerous"),
    ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><PMML>&e;</PMML>', "dangerous"),
    ('<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><PMML>&b;</PMML>', "suspicious"),
    ('<PMML><xi:include href="other.xml"/></PMML>', "dangerous"),
    ('<?xml version="1.0"?><?xml-stylesheet href="x"?><PMML/>', "suspicious"),
    ('<?xml version="1.0" encoding="utf-7"?><PMML/>', "suspicious"),
    ("<PMML>&e;</PMML>", "suspicious"),
    ('<PMML a="&e;"/>', "suspicious"),
    ("<PMML><a></PMML>", "broken"),
    ("<a>" * 2000 + "</a>" * 2000, "suspicious"),
    ("<svg></svg>", "unknown"),
])
def test_hostile_xml(pellucid, tmp_path, text, expected):
    (tmp_path / "x.pmml").write_text(text)
    assert verdict(pellucid, tmp_path / "x.pmml")[0] == expected


# ---- archives that nobody unpacks ----

@pytest.mark.parametrize("mark", [b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x28\xb5\x2f\xfd"])
def test_archives_under_a_models_name(pellucid, tmp_path, mark):
    for name, expected in (("x.pt", "suspicious"), ("X.PKL", "suspicious"), ("notes.7z", "unknown")):
        (tmp_path / name).write_bytes(mark + b"\0" * 64)
        assert verdict(pellucid, tmp_path / name)[0] == expected


# ---- GGUF, big-endian ----

def gguf(order: str) -> bytes:
    def text(value: bytes) -> bytes:
        return struct.pack(order + "Q", len(value)) + value
    head = b"GGUF" + struct.pack(order + "IQQ", 3, 2, 2)
    pairs = (text(b"general.architecture") + struct.pack(order + "I", 8) + text(b"llama")
             + text(b"llama.block_count") + struct.pack(order + "IH", 2, 7))
    rows = (text(b"a.weight") + struct.pack(order + "IQQIQ", 2, 4, 2, 0, 0)
            + text(b"b.weight") + struct.pack(order + "IQIQ", 1, 128, 41, 32))
    made = head + pairs + rows
    return made + b"\0" * (-len(made) % 32) + b"\0" * 64


@pytest.mark.parametrize("order", ["<", ">"])
def test_gguf_of_either_order(pellucid, tmp_path, order):
    (tmp_path / "x.gguf").write_bytes(gguf(order))
    assert tensors_of(pellucid, tmp_path / "x.gguf") == {"a.weight": ("float32", 2, 4), "b.weight": ("q1_0", 128)}
    assert "llama" in pellucid("tree", tmp_path / "x.gguf").out
    assert verdict(pellucid, tmp_path / "x.gguf") == ("harmless", set())
    done = pellucid("extract", tmp_path / "x.gguf", "a.weight", "-o", tmp_path / "a.npy")
    assert (done.code == 0) == (order == "<"), "big-endian bytes are not handed out as if they were others"


# ---- Keras ----

def test_keras_names_and_optimizer(pellucid, tmp_path):
    keras = pytest.importorskip("keras", reason="keras is not installed")
    x = keras.layers.Input((5, 8))
    y = keras.layers.LSTM(3, name="lstm")(keras.layers.MultiHeadAttention(2, 4, name="mha")(x, x))
    net = keras.Model(x, y)
    net.compile("adam", "mse")
    net.optimizer.build(net.trainable_variables)
    wanted = {weight.path: tuple(weight.shape) for weight in net.weights}
    for ending in ("keras", "h5"):
        net.save(tmp_path / f"net.{ending}")
        found = {name: row[1:] for name, row in tensors_of(pellucid, tmp_path / f"net.{ending}").items()}
        assert {name: shape for name, shape in found.items() if not name.startswith("optimizer")} == wanted
        text = pellucid("tree", tmp_path / f"net.{ending}").out
        assert f"{sum(weight.numpy().size for weight in net.weights)} elements in {len(wanted)} tensors;" in text


# ---- skops ----

def test_skops(pellucid, tmp_path):
    """A file that skops saved is harmless, and its arrays are listed; one other name in it is seen."""
    sample = pathlib.Path(__file__).parent.parent.parent / "fuzz" / "corpus" / "model" / "scaler.skops"
    assert verdict(pellucid, sample) == ("harmless", set())
    assert len(tensors_of(pellucid, sample)) == 4
    with zipfile.ZipFile(sample) as made:
        members = {name: made.read(name) for name in made.namelist()}
    for old, new, expected in [(b'"StandardScaler"', b'"MyScaler"', "suspicious"), (b'"sklearn.preprocessing._data"',
                               b'"subprocess"', "dangerous"), (b'"ObjectNode"', b'"NewNode"', "suspicious")]:
        schema = members["schema.json"].replace(old, new)
        assert schema != members["schema.json"]
        with zipfile.ZipFile(tmp_path / "x.skops", "w") as made:
            for name, content in members.items():
                made.writestr(name, schema if name == "schema.json" else content)
        assert verdict(pellucid, tmp_path / "x.skops")[0] == expected


def test_what_only_begins_like_a_saved_model_is_none(pellucid, tmp_path):
    """A number and a text begin many formats; what has no graph, or fields that a SavedModel has not, is no proof."""
    for name, content in (("graphless.pb", b"\x08\x01\x12\x00"), ("other.pb", b"\x08\x01\x12\x00\x1a\x01x"),
                          ("far.pb", b"\x08\x01\x12\x00\xa2\x1f\x00")):
        (tmp_path / name).write_bytes(content)
        done = pellucid("audit", tmp_path / name)
        assert done.code == 2 and "harmless" not in done.out, done.out
