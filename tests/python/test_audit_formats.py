"""Hostile files of every format but plain pickles: archives in archives, streams, arrays, configs, graphs, odd
devices."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import marshal
import os
import pathlib
import pickle
import stat
import struct
import tarfile
import zlib
from typing import Any, Callable

import pytest

from test_audit import CALL, archive, audit, check_harmless, check_hostile, patched, safetensors, tensor, torch_archive

RUN = b"\x80\x02" + CALL
CALLS = "posix.system('touch MARKER')"
ELF = b"\x7fELF" + bytes(60)


# ---- makers ----


def tar(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for name, content in members:
            row = tarfile.TarInfo(name)
            row.size = len(content)
            file.addfile(row, io.BytesIO(content))
    return out.getvalue()


def npy(descr: str, content: bytes, shape: str = "(1,)") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def symlink() -> bytes:
    made = torch_archive(b"\x80\x02}.", ("archive/x", b"/etc/passwd"))
    at = made.rindex(b"PK\x01\x02")
    return patched(patched(made, at + 38, struct.pack("<I", (stat.S_IFLNK | 0o777) << 16)), at + 5, b"\x03")


def sizes_elsewhere() -> bytes:
    made = torch_archive(b"\x80\x02}.")
    return patched(made, 6, b"\x08")


def zip64_lie() -> bytes:
    made = torch_archive(b"\x80\x02}.")
    end = made.rindex(b"PK\x05\x06")
    record = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 1 << 60, 1 << 60, 1 << 60, 0)
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, end, 1)
    return made[:end] + record + locator + made[end:end + 8] + b"\xff" * 12 + made[end + 20:]


def keras(*layers: dict[str, Any]) -> bytes:
    return archive(("metadata.json", b"{}"), ("config.json", json.dumps(sequential(*layers)).encode()))


def sequential(*layers: dict[str, Any]) -> dict[str, Any]:
    return {"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": layers}}


def layer(module: str, class_name: str, **config: Any) -> dict[str, Any]:
    return {"module": module, "class_name": class_name, "config": config, "registered_name": None}


def bytecode() -> str:
    return base64.b64encode(marshal.dumps((lambda x: __import__("os").system("touch MARKER")).__code__)).decode()


def keras_lambda() -> dict[str, Any]:
    return layer("keras.layers", "Lambda", name="l",
                 function={"class_name": "__lambda__", "config": {"code": bytecode()}})


def script(code: str, *more: tuple[str, bytes]) -> bytes:
    text = ("class M(Module):\n  __parameters__ = []\n"
            "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    " + code)
    return archive(("m/data.pkl", b"\x80\x02c__torch__\nM\n)\x81}b."), ("m/code/__torch__.py", text.encode() + b"\n"),
                   ("m/constants.pkl", b"\x80\x02)."), ("m/version", b"3\n"), *more)


def exported(*more: tuple[str, bytes]) -> bytes:
    return archive(("m/archive_format", b"pt2"), ("m/models/model.json", b"{}"), *more)


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def gguf(*pairs: bytes, n_pairs: int | None = None, n_tensors: int = 0, tensors: bytes = b"") -> bytes:
    count = len(pairs) if n_pairs is None else n_pairs
    return b"GGUF" + struct.pack("<IQQ", 3, n_tensors, count) + b"".join(pairs) + tensors


def template(source: bytes) -> bytes:
    return text(b"tokenizer.chat_template") + struct.pack("<I", 8) + text(source)


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx(graph: bytes) -> bytes:
    return field(1, 8) + field(7, field(2, b"g") + graph) + field(8, field(2, 13))


def outside(location: bytes) -> bytes:
    return field(5, field(8, b"w") + field(1, 4) + field(2, 1) + field(14, 1)
                 + field(13, field(1, b"location") + field(2, location)))


def deep_onnx() -> bytes:
    graph = b""
    for _ in range(3000):
        graph = field(1, field(5, field(6, graph)))
    return onnx(graph)


def node(name: bytes, op: bytes) -> bytes:
    return field(1, name) + field(2, op)


def function_graph() -> bytes:
    function = field(1, field(1, field(1, b"f")) + field(3, node(b"w", b"WriteFile")))
    return field(1, 1) + field(2, field(2, field(1, node(b"x", b"Placeholder")) + field(2, function))
                               + field(1, field(4, b"serve")))


# name: (bytes, exit code, a finding's kind or a part of its text)
HOSTILE: dict[str, tuple[Callable[[], bytes], int, str]] = {
    # pickles where no loader looks
    "extension": (lambda: b"\x80\x02\x82\x01)R.", 4, "computed-name"),
    "persistent_id": (lambda: RUN[:-1] + b"Q.", 4, CALLS),
    "state_of_a_class": (lambda: b"\x80\x02csomebody\nThing\n)\x81" + CALL[:-1] + b"b.", 4, CALLS),
    "second_pickle": (lambda: pickle.dumps({}) + RUN, 4, CALLS),
    "legacy_system": (lambda: pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + RUN, 4, CALLS),
    "zip_any_member": (lambda: archive(("foo/bar.bin", RUN)), 4, CALLS),
    "zip_member_without_ending": (lambda: torch_archive(b"\x80\x02}.", ("archive/extra", RUN)), 4, CALLS),
    "zip_in_zip": (lambda: archive(("model.pt", torch_archive(RUN))), 4, CALLS),
    "torch_package": (lambda: archive(("p/.data/extern_modules", b"os\n"), ("p/model/model.pkl", RUN)), 4, CALLS),
    "two_folders": (lambda: archive(("a/data.pkl", b"\x80\x02}."), ("b/data.pkl", RUN)), 4, CALLS),
    "tar_other_member": (lambda: tar(("sys_info", RUN), ("pickle", pickle.dumps({}))), 4, CALLS),
    "tar_checkpoint": (lambda: tar(("config.yaml", b"a: b"), ("weights.ckpt", torch_archive(RUN))), 4, CALLS),
    "tar_gzip": (lambda: gzip.compress(tar(("weights.ckpt", torch_archive(RUN)))), 4, CALLS),
    "tar_up": (lambda: tar(("../../x", b"y"), ("pickle", pickle.dumps({}))), 4, "path"),
    "gzip": (lambda: gzip.compress(RUN), 4, CALLS),
    "gzip_cut": (lambda: gzip.compress(RUN + os.urandom(5000))[:3000], 4, CALLS),
    "gzip_bomb": (lambda: gzip.compress(b"\x80\x02" + b"N0" * (40 << 20) + b"N."), 4, "zip-bomb"),
    "zlib": (lambda: zlib.compress(RUN), 4, CALLS),
    "zlib_of_nothing": (lambda: b"\x78\x9c\x01\x00\x00\xff\xff\x00\x00\x00\x01", 2, "without content"),
    "bzip2": (lambda: bz2.compress(RUN), 4, CALLS),
    "xz": (lambda: lzma.compress(RUN), 4, CALLS),
    "lzma": (lambda: lzma.compress(RUN, format=lzma.FORMAT_ALONE), 4, CALLS),
    "gzip_members": (lambda: gzip.compress(RUN[:9]) + gzip.compress(RUN[9:]), 4, CALLS),
    "xz_cut": (lambda: lzma.compress(RUN + os.urandom(5000))[:3000], 4, CALLS),
    "xz_filter": (lambda: lzma.compress(RUN, filters=[{"id": lzma.FILTER_DELTA}, {"id": lzma.FILTER_LZMA2}]), 4,
                  "filter"),
    "bzip2_bomb": (lambda: bz2.compress(b"\x80\x02" + b"N0" * (40 << 20) + b"N."), 4, "zip-bomb"),
    "xz_bomb": (lambda: lzma.compress(b"\x80\x02" + b"N0" * (40 << 20) + b"N.", preset=0), 4, "zip-bomb"),
    "zip_member_packed": (lambda: archive(("x/weights", bz2.compress(RUN))), 4, CALLS),
    "zip_member_7z": (lambda: torch_archive(b"\x80\x02}.", ("archive/x", b"7z\xbc\xaf\x27\x1c" + bytes(40))), 4,
                      "packed by 7z"),
    "zip_member_tar": (lambda: archive(("a/b.tar", tar(("x.pkl", RUN)))), 4, CALLS),
    "old_joblib": (lambda: b"ZF" + hex(len(RUN)).ljust(19).encode() + zlib.compress(RUN), 4, CALLS),
    "npy_objects": (lambda: npy("|O", RUN), 4, CALLS),
    "npz_objects": (lambda: archive(("a.npy", npy("|O", RUN))), 4, CALLS),
    "npy_cut": (lambda: npy("<f4", b"")[:40], 2, "header goes beyond"),
    "npy_code": (lambda: npy("<f4", bytes(4), "__import__('os').system('touch MARKER')"), 2, "shape"),
    # archives
    "prepended": (lambda: b"#!/bin/sh\n" * 5 + torch_archive(RUN), 4, CALLS),
    "symlink": (symlink, 4, "symbolic link"),
    "sizes_elsewhere": (sizes_elsewhere, 4, "headers-disagree"),
    "zip64_lie": (zip64_lie, 2, "too-big"),
    "absolute_path": (lambda: torch_archive(b"\x80\x02}.", ("/etc/x", b"")), 4, "path"),
    "backslash": (lambda: torch_archive(b"\x80\x02}.", ("a\\..\\x", b"")), 4, "path"),
    # code that is no pickle
    "native_in_torch": (lambda: torch_archive(b"\x80\x02}.", ("archive/x.so", ELF)), 4, "native-code"),
    "native_in_export": (lambda: exported(("m/data/aotinductor/model/x.so", ELF)), 4, "native-code"),
    "export_constant": (lambda: exported(("m/data/constants/custom_obj_0", RUN)), 4, CALLS),
    "script_writes": (lambda: script('y = torch.save(x, "/tmp/x")\n    return x'), 4, "aten::save"),
    "script_reads": (lambda: script('return torch.from_file("/etc/passwd")'), 4, "aten::from_file"),
    "script_debug": (lambda: script("return x", ("m/code/__torch__.py.debug_pkl", RUN)), 4, CALLS),
    # Keras
    "keras_lambda": (lambda: keras(keras_lambda()), 4, '__import__("os").system("touch MARKER")'),
    "keras_lambda_inside": (lambda: keras(layer("keras.layers", "TimeDistributed", layer=keras_lambda())), 4, "os"),
    "keras_json": (lambda: json.dumps(sequential(keras_lambda())).encode(), 4, '__import__("os")'),
    "keras_class": (lambda: keras(layer("os", "system", command="touch MARKER")), 4, "os.system"),
    "keras_function": (lambda: keras(layer("keras.layers", "Dense", activation={
        "module": "builtins", "class_name": "function", "config": "eval"})), 4, "builtins.eval"),
    "keras_other_file": (lambda: keras(layer("keras.layers", "TFSMLayer", filepath="/tmp/x")), 4, "TFSMLayer"),
    "keras_download": (lambda: keras(layer("keras.utils", "get_file", origin="http://x")), 4, "get_file"),
    # tables
    "safetensors_float": (lambda: safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0.0,4.0]}}', bytes(4)),
                          2, "whole"),
    "safetensors_negative": (lambda: safetensors(b'{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', bytes(4)),
                             2, "whole"),
    "safetensors_behind": (lambda: safetensors({"a": tensor(0, 4, [1])}, bytes(9)), 4, "trailing-data"),
    "safetensors_encoding": (lambda: safetensors(b'{"\xff":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
                                                 bytes(4)), 4, "encoding"),
    "safetensors_same_key": (lambda: safetensors(b'{"a":{},"\\u0061":{}}'), 2, "same key twice"),
    "gguf_pairs": (lambda: gguf(n_pairs=1 << 60), 2, "absurd"),
    "gguf_tensors": (lambda: gguf(n_tensors=1 << 60), 2, "absurd"),
    "gguf_sizes": (lambda: gguf(n_tensors=1, tensors=text(b"a") + struct.pack("<I4QIQ", 4, *[1 << 40] * 4, 0, 0)), 2,
                   "overflow"),
    "gguf_array": (lambda: gguf(text(b"k") + struct.pack("<IIQ", 9, 8, 1 << 61)), 2, "truncated"),
    "gguf_arrays_nest": (lambda: gguf(text(b"k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 100000), 2,
                         "array"),
    "gguf_template": (lambda: gguf(template(b"{{ ().__class__.__base__.__subclasses__() }}")), 4, "template"),
    # graphs
    "onnx_up": (lambda: onnx(outside(b"../../etc/passwd")), 4, "path"),
    "onnx_absolute": (lambda: onnx(outside(b"/etc/passwd")), 4, "path"),
    "onnx_deep": (deep_onnx, 4, "too-deep"),
    "graph_writes": (lambda: field(1, node(b"x", b"Placeholder")) + field(1, node(b"w", b"WriteFile")), 4, "WriteFile"),
    "graph_runs_python": (lambda: field(1, node(b"x", b"Placeholder")) + field(1, node(b"w", b"EagerPyFunc")),
                          4, "EagerPyFunc"),
    "graph_function": (function_graph, 4, "WriteFile"),
    "tflite": (lambda: struct.pack("<I", 16) + b"TFL3" + b"\xff" * 200, 2, "flatbuffer"),
    "index_up": (lambda: json.dumps({"weight_map": {"a": "../../etc/passwd"}}).encode(), 4, "path"),
}

HARMLESS: dict[str, Callable[[], bytes]] = {
    "npy": lambda: npy("<f4", bytes(24), "(2, 3)"),
    "npz": lambda: archive(("a.npy", npy("<f4", bytes(4))), ("b.npy", npy("|b1", bytes(1)))),
    "npy_of_plain_objects": lambda: npy("|O", pickle.dumps(["a", 1])),
    "gzip": lambda: gzip.compress(pickle.dumps({"a": 1})),
    "archive_in_archive": lambda: archive(("model.pt", torch_archive(b"\x80\x02}."))),
    "numbers_like_a_pickle": lambda: torch_archive(b"\x80\x02}.", ("archive/data/0", b"\x80\x03" + bytes(range(256)))),
    "script": lambda: script("return torch.relu(x)"),
    "gguf_template": lambda: gguf(template(b"{% for m in messages %}{{ m['role'] }}{% endfor %}")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file(tmp_path: pathlib.Path, is_sanitized: bool, name: str) -> None:
    make, code, finding = HOSTILE[name]
    check_hostile(tmp_path, make(), code, finding, is_sanitized)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_file(tmp_path: pathlib.Path, name: str) -> None:
    check_harmless(tmp_path, HARMLESS[name]())


def test_a_fifo_that_nobody_writes_to(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    code, out, _, _ = audit(tmp_path / "fifo")
    assert code == 2 and "empty" in out


@pytest.mark.skipif(not pathlib.Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_a_device_without_end(is_sanitized: bool) -> None:
    code, out, seconds, memory = audit(pathlib.Path("/dev/zero"))
    assert code == 2 and "larger than the limit" in out
    if not is_sanitized:
        assert seconds < 1 and memory < 200 << 10


def test_links_out_of_folders_are_not_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "bad.pkl").write_bytes(CALL)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "good.pkl").write_bytes(pickle.dumps({}))
    (tmp_path / "folder" / "link.pkl").symlink_to(tmp_path / "elsewhere" / "bad.pkl")
    (tmp_path / "folder" / "loop").symlink_to(tmp_path / "folder")
    code, out, _, _ = audit(tmp_path / "folder")
    assert code == 2 and "posix" not in out and "link.pkl: unknown" in out


def test_a_shard_is_audited_too(tmp_path: pathlib.Path) -> None:
    (tmp_path / "shard.bin").write_bytes(torch_archive(RUN))
    (tmp_path / "index.json").write_text(json.dumps({"weight_map": {"a": "shard.bin"}}))
    code, out, _, _ = audit(tmp_path / "index.json")
    assert code == 4 and CALLS in out and "shard.bin" in out
