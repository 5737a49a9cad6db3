"""Texts that loaders decode, lists of JSON, numbers beside ONNX models, and odd headers of tar."""

from __future__ import annotations

import json
import pathlib
import struct
from typing import Any

import pytest
from hostile_more import tar_of
from hostile_parts import RUN, field, onnx, onnx_external, onnx_node
from test_hostile_files import judge

CALLS = {"a": {"_target_": "os.system"}}
PLAIN = {"model_type": "bert", "hidden": [1, 2], "file": "test.txt", "é": "ü"}


def verdict(path: pathlib.Path, content: bytes) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return judge(path)[0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_encodings_of_json(tmp_path: pathlib.Path, encoding: str) -> None:
    """json.load of a binary file finds out about these by itself."""
    assert verdict(tmp_path / "a.json", json.dumps(PLAIN, ensure_ascii=False).encode(encoding)) == "harmless"
    assert verdict(tmp_path / "a.json", json.dumps(CALLS).encode(encoding)) == "dangerous"


def test_encodings_of_yaml(tmp_path: pathlib.Path) -> None:
    text = "a: !!python/object/apply:os.system ['id']\n"
    for encoding in ("utf-16", "utf-8-sig"):
        assert verdict(tmp_path / "a.yaml", text.encode(encoding)) == "dangerous"
        assert verdict(tmp_path / "a.yaml", "a: 1\n".encode(encoding)) == "harmless"
    assert verdict(tmp_path / "a.yaml", b"\xff\xfea\0:\0\xd8") != "harmless"


def test_lines_of_json(tmp_path: pathlib.Path) -> None:
    def lines(*rows: Any) -> bytes:
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    assert verdict(tmp_path / "a.jsonl", lines({"loss": 1}, {"loss": 2, "at": "test.txt"})) == "harmless"
    assert verdict(tmp_path / "a.jsonl", lines({"loss": 1}, CALLS)) == "dangerous"
    assert verdict(tmp_path / "a.jsonl", lines({"loss": 1}) + b'{"loss": \n') == "broken"
    assert verdict(tmp_path / "a.json", b'{"x": "os.system", "y": [1, }') == "dangerous"


def test_json_of_numbers_names_nothing(tmp_path: pathlib.Path) -> None:
    assert verdict(tmp_path / "vocab.json", json.dumps({"os.system": 0, "eval(": 1}).encode()) == "harmless"
    assert verdict(tmp_path / "x.json", json.dumps({"a": 0, "b": "other"}).encode()) == "unknown"


def test_numbers_beside_onnx(tmp_path: pathlib.Path) -> None:
    """They are known by the model that has them, and by nothing else."""
    numbers = struct.pack("<f", 1.5)
    model = onnx(field(1, onnx_node("Relu")[2:]) + field(5, onnx_external("m.onnx_data")))
    (tmp_path / "m.onnx").write_bytes(model)
    assert verdict(tmp_path / "m.onnx_data", numbers) == "harmless"
    assert verdict(tmp_path / "m.onnx.data", numbers) == "unknown"
    assert verdict(tmp_path / "n.onnx_data", numbers) == "unknown"
    assert verdict(tmp_path / "m.onnx_data", b"\x7fELF" + bytes(60)) == "suspicious"
    assert verdict(tmp_path / "m.onnx_data", RUN) == "dangerous"


def changed(archive: bytes, at: int, value: bytes) -> bytes:
    """Other bytes in the first header, and its checksum put right."""
    raw = bytearray(archive)
    raw[at:at + len(value)] = value
    raw[148:156] = b"        "
    raw[148:156] = b"%06o\0 " % sum(raw[:512])
    return bytes(raw)


def test_tar_headers(tmp_path: pathlib.Path) -> None:
    plain = tar_of(("a", b"0", "", RUN))
    assert verdict(tmp_path / "x.tar", tar_of(("a.pkl", b"0", "", b"\x80\x04N."))) == "harmless"
    above = changed(tar_of(("x", b"0", "", b"1")), 345, b"../../home")
    assert verdict(tmp_path / "x.tar", above) == "dangerous"  # the name's beginning is a field of its own
    long_size = changed(plain, 124, b"\x80" + bytes(7) + struct.pack(">I", len(RUN)))
    assert verdict(tmp_path / "x.tar", long_size) == "dangerous"  # a number as GNU writes it
    nameless = changed(plain, 0, b"\0")
    assert verdict(tmp_path / "x.tar", tar_of(("n", b"0", "", b"1"))[:1024] + nameless) == "dangerous"
    records = b"22 path=in\n/../../evil\n"
    two_lines = tar_of(("p", b"x", "", b"%d%s" % (len(records), records[2:])), ("x", b"0", "", b"1"))
    assert verdict(tmp_path / "x.tar", two_lines) == "dangerous"  # a line ends nothing: the size counts
    sized = tar_of(("p", b"x", "", b"11 size=99\n"), ("x", b"0", "", b"1"))
    assert verdict(tmp_path / "x.tar", sized) == "suspicious"
    assert verdict(tmp_path / "x.tar", tar_of(("a", b"0", "", b"1")) + plain) in ("suspicious", "dangerous")
