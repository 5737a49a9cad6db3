"""Files that are read by a callback: the same answers as for a file on the disk, and only the bytes that are needed."""

from __future__ import annotations

import io
import json
import os
import pathlib
import struct
import zipfile

import pytest

from pellucid import _pellucid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared")) / "data" / "files"
FOLDERS = [ROOT / "tests" / "data" / "files", SHARED]
SAMPLES = sorted(path for folder in FOLDERS for path in folder.rglob("*") if path.is_file())


class Reads:
    """Counts what is read of a file."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.ranges: list[tuple[int, int]] = []

    def __call__(self, offset: int, length: int) -> bytes:
        self.ranges.append((offset, length))
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(length)


def look(path: pathlib.Path, what: str) -> str:
    def beside(name: str):
        other = path.parent / name
        return (Reads(other), other.stat().st_size) if other.is_file() else None

    text, n_bytes, n_requests = _pellucid.look(
        Reads(path), path.stat().st_size, name=path.name, what=what, beside=beside
    )
    assert n_requests >= 1 or not path.stat().st_size
    return text


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_callback_gives_what_the_file_gives(pellucid, path: pathlib.Path) -> None:
    tree = pellucid("tree", path, "--json")
    if "error" not in json.loads(tree.out):
        assert tree.code in (0, 4)  # 4: a dangerous file
        assert look(path, "tree") == tree.out
    else:
        with pytest.raises(_pellucid.Error) as raised:
            look(path, "tree")
        assert raised.value.message in tree.err
    mine, theirs = json.loads(look(path, "audit")), json.loads(pellucid("audit", path, "--json").out)
    assert {**mine, "file": ""} == {**theirs, "file": ""}


def sparse(path: pathlib.Path, size: int, head: bytes = b"", tail: bytes = b"") -> pathlib.Path:
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)
        file.seek(size - len(tail))
        file.write(tail)
    return path


def cost(path: pathlib.Path) -> tuple[int, int]:
    _, n_bytes, n_requests = _pellucid.look(Reads(path), path.stat().st_size)
    return n_bytes, n_requests


def test_of_a_large_safetensors_only_the_ends_are_read(tmp_path: pathlib.Path) -> None:
    size = 3 << 30
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    path = sparse(tmp_path / "m.safetensors", 8 + len(header) + size, struct.pack("<Q", len(header)) + header)
    n_bytes, n_requests = cost(path)
    assert n_bytes <= 300_000 and n_requests <= 4


def test_of_a_large_gguf_only_the_ends_are_read(tmp_path: pathlib.Path) -> None:
    size = 3 << 30
    tensor = struct.pack("<Q1sI2Q", 1, b"w", 2, 1024, size // 4096) + struct.pack("<IQ", 0, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + tensor
    path = sparse(tmp_path / "m.gguf", (len(head) + 31) // 32 * 32 + size, head)
    n_bytes, n_requests = cost(path)
    assert n_bytes <= 300_000 and n_requests <= 4


def test_what_the_callback_raises_is_raised(tmp_path: pathlib.Path) -> None:
    def broken(offset: int, length: int) -> bytes:
        raise ConnectionError("gone")

    for what in ("tree", "audit"):
        with pytest.raises(ConnectionError):
            _pellucid.look(broken, 1000, what=what)
        with pytest.raises(ValueError, match="gave 1 bytes"):
            _pellucid.look(lambda offset, length: b"x", 1000, what=what)


def test_bytes_are_limited() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("x", b"y" * 300_000)
    data = content.getvalue()
    with pytest.raises(_pellucid.Error) as raised:
        _pellucid.look(lambda offset, length: data[offset : offset + length], len(data), max_bytes=70_000)
    assert raised.value.code == "TOO_BIG"
