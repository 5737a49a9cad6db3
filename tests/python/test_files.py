"""Model files: every sample gives the tree that its manifest tells, and no hostile file gets anywhere."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from pellucid._tree import SCHEMA

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLES = pathlib.Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared")) / "data" / "files"


def manifest() -> dict:
    path = SAMPLES / "manifest.json"
    return json.loads(path.read_text()) if path.exists() else {}


needs_samples = pytest.mark.skipif(not manifest(), reason=f"no samples: {SAMPLES} is not there")


@needs_samples
@pytest.mark.parametrize("name", sorted(name for name, row in manifest().items() if "tensors" in row))
def test_sample_has_its_tensors(pellucid, name: str) -> None:
    result = pellucid("tree", SAMPLES / name, "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert list(found) == ["schema", "networks"] and found["schema"] == SCHEMA
    assert found["networks"][0]["state"] == manifest()[name]["tensors"]


@needs_samples
@pytest.mark.parametrize("name", sorted(manifest()))
def test_sample_is_read_and_harmless(pellucid, name: str) -> None:
    result = pellucid("tree", SAMPLES / name)
    assert result.code == 0, result.err
    options = ["--allow", "unknown"] if (SAMPLES / name).is_dir() else []  # a folder has more than the model
    is_somebodys = "maincls" in name  # a class of a script: nobody knows what its __new__ and __setstate__ do
    assert pellucid("audit", SAMPLES / name, *options).code == (4 if is_somebodys else 0)


@needs_samples
def test_classes_and_operators(pellucid) -> None:
    def modules(name: str) -> dict[str, str]:
        found = {}

        def walk(node: dict, path: str) -> None:
            found[path] = node["class"]
            for child in node["children"]:
                walk(child, f"{path}/{child['name']}".strip("/"))

        walk(json.loads(pellucid("tree", SAMPLES / name, "--json").out)["networks"][0]["tree"][0], "")
        return found

    whole = {"": "Net", "fc1": "Linear", "relu": "ReLU", "fc2": "Linear"}
    for name in ("net_fullmodule_maincls.pt", "net_script.pt", "net_trace.pt", "net_lite.ptl"):
        assert modules(name) == whole
    assert modules("net.keras") == {"": "Sequential", "input_layer": "InputLayer", "fc1": "Dense", "fc2": "Dense"}
    assert [c for c in modules("net.onnx").values() if c] == ["net", "Gemm", "Relu", "Gemm"]
    assert [c for c in modules("tb_torch").values() if c.startswith("aten")] == ["aten::linear",
                                                                                 "aten::relu", "aten::linear"]
    assert modules("tb_torch")["Sequential/0"] == "Linear"
    assert "FULLY_CONNECTED" in modules("net.tflite").values()
    assert modules("net_graphdef.pb")["net_1/fc1_1/Relu"] == "Relu"


@needs_samples
def test_lambda_is_shown_as_source(pellucid) -> None:
    assert "lambda x: x * 2" in pellucid("audit", SAMPLES / "lambda.keras").out


def test_memory_has_a_limit_that_can_be_raised(pellucid, tmp_path: pathlib.Path) -> None:
    row = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    text = json.dumps({f"layer{i}.weight": row for i in range(2000)}).encode()
    (tmp_path / "x.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    assert pellucid("tree", tmp_path / "x.safetensors").code == 0
    result = pellucid("tree", tmp_path / "x.safetensors", "--memory", "1")
    assert result.code == 2 and "memory" in result.err
    assert pellucid("audit", tmp_path / "x.safetensors", "--memory", "none").code != 0


def test_committed_files_are_what_their_script_makes(tmp_path: pathlib.Path) -> None:
    folder = pathlib.Path(__file__).resolve().parent.parent / "data"
    subprocess.run([sys.executable, folder / "make_files.py", tmp_path], check=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in (folder / "files").iterdir()}
