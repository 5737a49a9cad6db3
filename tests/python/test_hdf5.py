"""HDF5 as h5py writes it, in all its layouts, against h5py."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

h5py = pytest.importorskip("h5py", reason="h5py is not installed: HDF5 is tested with the samples alone")
import numpy as np  # noqa: E402


def state(pellucid, path: pathlib.Path) -> dict[str, Any]:
    return json.loads(pellucid("tree", path, "--json").out)["networks"][0]["state"]


@pytest.mark.parametrize("groups", [3, 9, 40, 2000])
@pytest.mark.parametrize("version", ["earliest", "v110", "latest"])
def test_groups_of_every_kind(pellucid, tmp_path: pathlib.Path, groups: int, version: str) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=version) as file:
        for i in range(groups):
            file.create_group(f"layer_with_a_long_name_{i}").create_dataset("w", data=np.full((2, 3), i, "f4"))
    expected = {f"{name}/w": [2, 3] for name in sorted(f"layer_with_a_long_name_{i}" for i in range(groups))}
    found = state(pellucid, path)
    assert found == expected and list(found) == list(expected)
    pellucid("extract", path, "layer_with_a_long_name_2/w", "-o", tmp_path / "x.npy")
    assert (np.load(tmp_path / "x.npy") == 2).all()


def test_many_and_large_attributes(pellucid, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    layers = [{"class_name": "Dense", "config": {"name": f"dense_{i}", "pad": "x" * 100}} for i in range(900)]
    with h5py.File(path, "w", libver="latest") as file:
        for i in range(30):
            file.attrs[f"a{i}"] = "x" * 50
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"layers": layers}})
    assert "dense_0 … dense_899 ×900: Dense" in pellucid("tree", path).out


def test_user_block(pellucid, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", userblock_size=1024) as file:
        file["w"] = np.arange(4, dtype="i8")
    assert state(pellucid, path) == {"w": [4]}
    pellucid("extract", path, "w", "-o", tmp_path / "x.npy")
    assert np.load(tmp_path / "x.npy").tolist() == [0, 1, 2, 3]


def hostile(path: pathlib.Path, make) -> None:
    with h5py.File(path, "w", libver="latest") as file:
        make(file)


def virtual(file) -> None:
    layout = h5py.VirtualLayout(shape=(4,), dtype="f4")
    layout[:] = h5py.VirtualSource("/etc/other.h5", "d", shape=(4,))
    file.create_virtual_dataset("v", layout)


@pytest.mark.parametrize(("make", "finding"), [
    (lambda file: file.__setitem__("x", h5py.ExternalLink("/etc/passwd", "/")), "link to another file"),
    (lambda file: file.create_dataset("x", shape=(4,), dtype="f4", external=[("/etc/passwd", 0, 16)]), "external"),
    (virtual, "virtual"),
])
def test_other_files(pellucid, tmp_path: pathlib.Path, make, finding: str) -> None:
    hostile(tmp_path / "x.h5", make)
    done = pellucid("audit", tmp_path / "x.h5")
    assert done.code == 4 and finding in done.out


def test_cycles_end(pellucid, tmp_path: pathlib.Path) -> None:
    hostile(tmp_path / "x.h5", lambda file: file.create_group("a").__setitem__("b", file["/"]))
    assert "another name" in pellucid("audit", tmp_path / "x.h5").out
