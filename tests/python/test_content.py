"""Tensors out of model files: convert, extract and compare against what torch itself reads."""

from __future__ import annotations

import collections
import json
import pathlib
import warnings
import zipfile

import pytest

np = pytest.importorskip("numpy", reason="numpy is not installed")
torch = pytest.importorskip("torch", reason="torch is not installed")
load_file = pytest.importorskip("safetensors.torch", reason="safetensors is not installed").load_file


def state() -> dict[str, torch.Tensor]:
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    made = collections.OrderedDict(
        plain=base.clone(), transposed=base.t(), part=base[1:3, ::2], expanded=torch.tensor([7.0]).expand(3, 2),
        scalar=torch.tensor(3.5), empty=torch.zeros(0, 3), tied=base, also_tied=base)
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
                  torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16):
        made[str(dtype).removeprefix("torch.")] = torch.tensor([0, 1, 2, 3, 4]).to(dtype)
    return made


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and \
        a.contiguous().reshape(-1).view(torch.uint8).tolist() == b.contiguous().reshape(-1).view(torch.uint8).tolist()


@pytest.mark.parametrize("new", [True, False])
def test_convert_is_what_torch_loads(pellucid, tmp_path: pathlib.Path, new: bool) -> None:
    expected = state()
    if not new:
        del expected["uint16"]  # the old format has no storage class for it
        for name in ("float8_e4m3fn", "float8_e5m2"):
            del expected[name]
    torch.save(expected, tmp_path / "x.pt", _use_new_zipfile_serialization=new)
    assert pellucid("convert", tmp_path / "x.pt", "-o", tmp_path / "x.safetensors").code == 0
    found = load_file(tmp_path / "x.safetensors")
    assert set(found) == set(expected)
    assert [name for name in expected if not same(found[name], expected[name])] == []
    tree = json.loads(pellucid("tree", tmp_path / "x.pt", "--json").out)["networks"][0]
    assert tree["state"] == {name: list(tensor.shape) for name, tensor in expected.items()}
    assert list(tree["state"]) == list(expected)
    assert tree["dtypes"] == {name: str(tensor.dtype).removeprefix("torch.") for name, tensor in expected.items()}
    assert tree["ties"]["also_tied"] == "transposed"  # the first that begins where it does


def test_deflated_archive(pellucid, tmp_path: pathlib.Path) -> None:
    """torch reads archives that somebody packed again; their storages have to be unpacked."""
    expected = {"a": torch.arange(1000.0), "b": torch.ones(3, dtype=torch.int64)}
    torch.save(expected, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as old, \
            zipfile.ZipFile(tmp_path / "y.pt", "w", zipfile.ZIP_DEFLATED) as packed:
        for name in old.namelist():
            packed.writestr(name, old.read(name))
    assert pellucid("convert", tmp_path / "y.pt", "-o", tmp_path / "y.safetensors").code == 0
    found = load_file(tmp_path / "y.safetensors")
    assert all(same(found[name], expected[name]) for name in expected)


def test_prefix(pellucid, tmp_path: pathlib.Path) -> None:
    torch.save({"model": {"w": torch.ones(2)}, "optimizer": {"w": torch.zeros(2)}, "epoch": 3}, tmp_path / "x.pt")
    assert pellucid("convert", tmp_path / "x.pt", "-o", tmp_path / "x.safetensors", "--prefix", "model.").code == 0
    assert set(load_file(tmp_path / "x.safetensors")) == {"w"}


def test_extract(pellucid, tmp_path: pathlib.Path) -> None:
    expected = state()
    torch.save(expected, tmp_path / "x.pt")
    for name in ("plain", "transposed", "part", "expanded", "scalar", "empty", "int64", "bool", "complex64"):
        assert pellucid("extract", tmp_path / "x.pt", name, "-o", tmp_path / "x.npy").code == 0
        assert np.array_equal(np.load(tmp_path / "x.npy"), expected[name].numpy()), name
    result = pellucid("extract", tmp_path / "x.pt", "nothing", "-o", tmp_path / "no.npy")
    assert result.code == 2 and "there is no tensor 'nothing'" in result.err
    assert not (tmp_path / "no.npy").exists()


def test_the_input_is_never_overwritten(pellucid, tmp_path: pathlib.Path) -> None:
    torch.save({"w": torch.ones(100000)}, tmp_path / "x.pt")
    before = (tmp_path / "x.pt").read_bytes()
    assert pellucid("convert", tmp_path / "x.pt", "-o", tmp_path / "x.pt").code == 1
    assert (tmp_path / "x.pt").read_bytes() == before


def test_whole_modules_are_what_state_dict_says(pellucid, tmp_path: pathlib.Path) -> None:
    shared = torch.nn.Linear(3, 3)
    model = torch.nn.Sequential(collections.OrderedDict(
        conv=torch.nn.Conv2d(3, 8, 3, bias=False), norm=torch.nn.BatchNorm2d(8), a=shared, b=shared,
        encoder=torch.nn.TransformerEncoderLayer(8, 2, 16), drop=torch.nn.Dropout(0.1)))
    model.register_buffer("passing", torch.zeros(2), persistent=False)
    model.a.weight.requires_grad_(False)
    torch.save(model, tmp_path / "x.pt")
    tree = json.loads(pellucid("tree", tmp_path / "x.pt", "--json").out)["networks"][0]
    assert tree["state"] == {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    assert list(tree["state"]) == list(model.state_dict())
    assert tree["totals"]["parameters"] == sum(p.numel() for p in model.parameters())
    assert tree["totals"]["trainable"] == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert pellucid("audit", tmp_path / "x.pt").code == 0


def test_sharded(pellucid, tmp_path: pathlib.Path) -> None:
    save_file = pytest.importorskip("safetensors.torch").save_file
    save_file({"a.w": torch.ones(2, 3)}, tmp_path / "m-1.safetensors")
    save_file({"b.w": torch.zeros(4)}, tmp_path / "m-2.safetensors")
    index = {"metadata": {}, "weight_map": {"a.w": "m-1.safetensors", "b.w": "m-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    for path in (tmp_path, tmp_path / "model.safetensors.index.json"):
        assert json.loads(pellucid("tree", path, "--json").out)["networks"][0]["state"] == {"a.w": [2, 3], "b.w": [4]}
    assert pellucid("convert", tmp_path, "-o", tmp_path / "whole").code == 0
    assert set(load_file(tmp_path / "whole")) == {"a.w", "b.w"}
    index["weight_map"]["a.w"] = "../../etc/passwd"
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    result = pellucid("audit", tmp_path / "model.safetensors.index.json")
    assert result.code == 4 and "path" in result.out


def test_compare(pellucid, tmp_path: pathlib.Path) -> None:
    torch.save({"a": torch.ones(2, 3), "b": torch.ones(4), "c": torch.ones(1), "d": torch.ones(1)}, tmp_path / "a.pt")
    torch.save({"a": torch.ones(2, 5), "b": torch.ones(4).half(), "c": torch.ones(1), "e": torch.ones(1)},
               tmp_path / "b.pt")
    result = pellucid("compare", tmp_path / "a.pt", tmp_path / "b.pt", "--json")
    assert result.code == 4
    found = json.loads(result.out)
    assert [(row["kind"], row["name"]) for row in found["differences"]] == \
        [("shape", "a"), ("dtype", "b"), ("only_a", "d"), ("only_b", "e")]
    assert found["equal"] == 1
    assert pellucid("compare", tmp_path / "a.pt", tmp_path / "a.pt").code == 0
    torch.save({"state_dict": {f"model.{k}": v for k, v in torch.load(tmp_path / "a.pt").items()}}, tmp_path / "c.pt")
    result = pellucid("compare", tmp_path / "a.pt", tmp_path / "c.pt")
    assert result.code == 0 and "'state_dict.model.'" in result.out
    (tmp_path / "a.json").write_text(pellucid("tree", tmp_path / "a.pt", "--json").out)
    assert pellucid("compare", tmp_path / "a.json", tmp_path / "c.pt").code == 0


@pytest.mark.parametrize("ops", ["script", "trace"])
def test_torchscript(pellucid, tmp_path: pathlib.Path, ops: str) -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU()).eval()
    made = torch.jit.script(model) if ops == "script" else torch.jit.trace(model, torch.zeros(1, 3, 8, 8))
    made.save(str(tmp_path / "x.pt"))
    tree = json.loads(pellucid("tree", tmp_path / "x.pt", "--json").out)["networks"][0]
    assert tree["state"] == {name: list(tensor.shape) for name, tensor in made.state_dict().items()}
    assert pellucid("audit", tmp_path / "x.pt").code == 0


def test_torch_export(pellucid, tmp_path: pathlib.Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU()).eval()
    torch.export.save(torch.export.export(model, (torch.zeros(2, 4),)), tmp_path / "x.pt2")
    tree = json.loads(pellucid("tree", tmp_path / "x.pt2", "--json").out)["networks"][0]
    assert tree["state"] == {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    assert [child["class"] for child in tree["tree"][0]["children"]] == ["Linear", "BatchNorm1d", "ReLU"]
    assert pellucid("audit", tmp_path / "x.pt2").code == 0
    assert pellucid("convert", tmp_path / "x.pt2", "-o", tmp_path / "x.safetensors").code == 0
    found = load_file(tmp_path / "x.safetensors")
    assert all(same(found[name], tensor) for name, tensor in model.state_dict().items())


def many_layouts() -> dict[str, torch.Tensor]:
    base = torch.eye(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"plain": torch.ones(2), "coo": base.to_sparse(), "csr": base.to_sparse_csr(),
                "csc": base.to_sparse_csc(), "nested": torch.nested.nested_tensor([torch.ones(2), torch.zeros(3)])}


def test_no_tensor_is_dropped(pellucid, tmp_path: pathlib.Path) -> None:
    """Sparse and nested tensors are written as their parts, and nothing passes for exact."""
    made = many_layouts()
    torch.save(made, tmp_path / "x.pt")
    assert pellucid("convert", tmp_path / "x.pt", "-o", tmp_path / "x.safetensors").code == 0
    found = load_file(tmp_path / "x.safetensors")
    assert set(found) == {
        "plain", "coo.indices", "coo.values", "csr.crow_indices", "csr.col_indices", "csr.values", "csc.ccol_indices",
        "csc.row_indices", "csc.values", "nested.buffer", "nested.sizes", "nested.strides", "nested.offsets"}
    coo = made["coo"].coalesce()
    assert torch.equal(found["coo.values"], coo.values()) and torch.equal(found["coo.indices"], coo.indices())
    assert torch.equal(found["csr.crow_indices"], made["csr"].crow_indices())
    tree = json.loads(pellucid("tree", tmp_path / "x.pt", "--json").out)
    network = tree["networks"][0]
    assert network["totals"]["exact"] is False
    assert {row["what"] for row in network["unknown"]} == {"coo", "csr", "csc", "nested"}


def test_sparse_tensors_are_compared(pellucid, tmp_path: pathlib.Path) -> None:
    torch.save({"a": torch.eye(4).to_sparse()}, tmp_path / "a.pt")
    torch.save({"a": torch.eye(5).to_sparse()}, tmp_path / "b.pt")
    assert pellucid("compare", tmp_path / "a.pt", tmp_path / "a.pt").code == 0
    assert pellucid("compare", tmp_path / "a.pt", tmp_path / "b.pt").code != 0


def test_tensor_that_cannot_be_shown_is_refused(pellucid, tmp_path: pathlib.Path) -> None:
    data = b"\x80\x02}X\x04\x00\x00\x00lostctorch._utils\n_rebuild_xla_tensor\nK\x01\x85Rs."
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as file:
        file.writestr("x/data.pkl", data)
        file.writestr("x/version", b"3\n")
    done = pellucid("convert", tmp_path / "x.pt", "-o", tmp_path / "x.safetensors")
    assert done.code != 0 and "lost" in done.err
    assert not (tmp_path / "x.safetensors").exists()


def test_float8_of_other_makers(pellucid, tmp_path: pathlib.Path) -> None:
    expected = {"a": torch.ones(3).to(torch.float8_e4m3fnuz), "b": torch.ones(2).to(torch.float8_e5m2fnuz)}
    torch.save(expected, tmp_path / "x.pt")
    assert pellucid("convert", tmp_path / "x.pt", "-o", tmp_path / "x.safetensors").code == 0
    tree = json.loads(pellucid("tree", tmp_path / "x.safetensors", "--json").out)["networks"][0]
    assert tree["dtypes"] == {"a": "float8_e4m3fnuz", "b": "float8_e5m2fnuz"}


def test_onnx_numbers_one_by_one(pellucid, tmp_path: pathlib.Path) -> None:
    """int32_data holds half floats by their bits; tensors of Constants and branches are tensors of the file."""
    from test_audit_formats import field, onnx

    half = np.array([1.0, -2.5], dtype=np.float16)
    numbers = b"".join(field(5, int(bits)) for bits in half.view(np.uint16))
    weights = field(5, field(8, b"w") + field(1, 2) + field(2, 10) + numbers)
    inner = field(5, field(8, b"i") + field(1, 1) + field(2, 7) + field(7, 5))
    branch = field(1, field(3, b"if") + field(4, b"If") + field(5, field(1, b"then_branch") + field(6, inner)))
    (tmp_path / "x.onnx").write_bytes(onnx(weights + branch))
    assert pellucid("convert", tmp_path / "x.onnx", "-o", tmp_path / "x.safetensors").code == 0
    found = load_file(tmp_path / "x.safetensors")
    assert found["w"].tolist() == [1.0, -2.5] and found["w"].dtype == torch.float16
    assert found["if.then_branch.i"].tolist() == [5]
