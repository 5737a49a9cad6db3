"""Pieces of hostile files: pickles opcode by opcode, archives, and the formats of models, byte by byte."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
from typing import Any, Callable

Maker = Callable[[], bytes]


# ---- pickles, opcode by opcode ----


def text(value: str) -> bytes:
    raw = value.encode()
    return b"\x8c" + bytes([len(raw)]) + raw if len(raw) < 256 else b"X" + struct.pack("<I", len(raw)) + raw


def raw_bytes(value: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(value)) + value


def named(module: str, name: str) -> bytes:
    return text(module) + text(name) + b"\x93"


def value(of: Any) -> bytes:
    """A constant as opcodes; bytes are opcodes already."""
    if isinstance(of, bytes):
        return of
    if isinstance(of, str):
        return text(of)
    if of is None or isinstance(of, bool):
        return {None: b"N", True: b"\x88", False: b"\x89"}[of]
    if isinstance(of, int):
        return b"J" + struct.pack("<i", of)
    if isinstance(of, float):
        return b"G" + struct.pack(">d", of)
    if isinstance(of, dict):
        return b"}(" + b"".join(value(k) + value(v) for k, v in of.items()) + b"u"
    if isinstance(of, list):
        return b"](" + b"".join(map(value, of)) + b"e"
    assert isinstance(of, tuple)
    return b"(" + b"".join(map(value, of)) + b"t"


def called(function: bytes, *arguments: Any) -> bytes:
    return function + value(arguments) + b"R"


def new(cls: bytes, *arguments: Any, state: Any = None) -> bytes:
    return cls + value(arguments) + b"\x81" + (value(state) + b"b" if state is not None else b"")


def pickled(body: bytes, protocol: int = 4) -> bytes:
    return b"\x80" + bytes([protocol]) + body + b"."


def call(module: str, name: str, *arguments: Any) -> Maker:
    return lambda: pickled(called(named(module, name), *arguments))


def made(module: str, name: str, *arguments: Any, state: Any = None) -> Maker:
    return lambda: pickled(new(named(module, name), *arguments, state=state))


SYSTEM = named("posix", "system")
RUN = pickled(called(SYSTEM, "id"))


# ---- other formats ----


def archive(*members: tuple[str, bytes | str], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made_zip:
        for name, content in members:
            made_zip.writestr(name, content)
    return out.getvalue()


def torch_zip(data: bytes = RUN, *more: tuple[str, bytes | str]) -> bytes:
    return archive(("m/data.pkl", data), ("m/byteorder", "little"), ("m/version", "3\n"), *more)


def tar(*members: tuple[str, bytes], link: str | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made_tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made_tar.addfile(info, io.BytesIO(content))
        if link:
            info = tarfile.TarInfo("weights")
            info.type, info.linkname = tarfile.SYMTYPE, link
            made_tar.addfile(info)
    return out.getvalue()


def field(number: int, content: int | bytes) -> bytes:
    def varint(rest: int) -> bytes:
        out = bytearray()
        while rest > 127:
            out.append(rest & 127 | 128)
            rest >>= 7
        return bytes(out) + bytes([rest])

    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def onnx(graph: bytes, *more: bytes) -> bytes:
    return field(1, 8) + field(7, graph) + field(8, field(1, b"") + field(2, 17)) + b"".join(more)


def onnx_external(location: str) -> bytes:
    place = field(13, field(1, b"location") + field(2, location.encode()))
    return field(1, 4) + field(2, 1) + field(8, b"w") + place + field(14, 1)


def onnx_node(op: str, domain: str = "", *attributes: bytes) -> bytes:
    return field(1, field(4, op.encode()) + field(7, domain.encode()) + b"".join(field(5, a) for a in attributes))


def tf_node(op: str, **texts: str) -> bytes:
    attributes = b"".join(field(5, field(1, k.encode()) + field(2, field(2, v.encode()))) for k, v in texts.items())
    return field(1, b"n") + field(2, op.encode()) + attributes


def saved_model(*nodes: bytes, in_function: bool = False, assets: bytes = b"") -> bytes:
    graph = (
        field(2, field(1, field(1, field(1, b"f")) + b"".join(field(3, n) for n in nodes)))
        if in_function
        else b"".join(field(1, n) for n in nodes)
    )
    return field(1, 1) + field(2, field(1, field(4, b"serve")) + field(2, graph) + assets)


def gguf(*pairs: tuple[str, str], after: bytes = b"") -> bytes:
    def string(s: str) -> bytes:
        return struct.pack("<Q", len(s.encode())) + s.encode()

    out = b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs))
    for key, content in pairs:
        out += string(key) + struct.pack("<I", 8) + string(content)
    return out + after


def safetensors(header: str | dict[str, Any], content: bytes = b"") -> bytes:
    raw = (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(raw)) + raw + content


def keras(config: dict[str, Any], *members: tuple[str, bytes | str]) -> bytes:
    return archive(
        ("metadata.json", json.dumps({"keras_version": "3.9.0"})), ("config.json", json.dumps(config)), *members
    )


def layer(module: str | None, cls: str, registered: str | None = None, /, **config: Any) -> dict[str, Any]:
    return {"module": module, "class_name": cls, "config": config, "registered_name": registered}


def sequential(*layers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return layer("keras", "Sequential", name="s", layers=list(layers)) | more


def nested(depth: int, inner: dict[str, Any]) -> dict[str, Any]:
    for _ in range(depth):
        inner = sequential(inner)
    return inner


def npy(descr: str, content: bytes) -> bytes:
    header = "{'descr': %s, 'fortran_order': False, 'shape': (1,), }" % descr
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + content


def script(*lines: str, more: tuple[tuple[str, bytes | str], ...] = ()) -> bytes:
    code = "class M(Module):\n  __parameters__ = []\n  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
    code += "".join(f"    {line}\n" for line in lines or ("return x",))
    data = b"\x80\x02c__torch__\nM\nq\0)\x81}(X\x08\0\0\0trainingq\1\x88ubq\2."
    members = {"m/data.pkl": data, "m/code/__torch__.py": code, "m/constants.pkl": b"\x80\x02)."} | dict(more)
    return archive(*members.items())


def two_names() -> bytes:
    """The directory says README, the header before the bytes says data.pkl."""
    raw = archive(("archive/data.pk_", RUN))
    return raw[:30] + b"archive/data.pkl" + raw[46:]


def flagged(bits: int) -> bytes:
    """Flag bits that make some readers give up and others go on."""
    raw = bytearray(torch_zip())
    raw[6] |= bits
    raw[raw.index(b"PK\1\2") + 8] |= bits
    return bytes(raw)


def damaged(raw: bytes) -> bytes:
    """The first member's last bytes are others: who reads it bit by bit sees the fault when it is too late."""
    packed, name, extra = struct.unpack("<I4xHH", raw[18:30])
    end = 30 + name + extra + packed
    return raw[: end - 40] + bytes(b ^ 0xFF for b in raw[end - 40 : end]) + raw[end:]


def wrong_checksum() -> bytes:
    raw = bytearray(torch_zip())
    raw[14] ^= 0xFF
    raw[raw.index(b"PK\1\2") + 16] ^= 0xFF
    return bytes(raw)


def seven_zip() -> bytes:
    return b"7z\xbc\xaf\x27\x1c\0\4" + bytes(24) + RUN


def tflite(code: str) -> bytes:
    """A model with one custom operator and no subgraph."""
    name = code.encode()
    name = struct.pack("<I", len(name)) + name + bytes(4 - len(name) % 4)
    out = bytearray(struct.pack("<I4s", 0, b"TFL3"))

    def put(part: bytes) -> int:
        at = len(out)
        out.extend(part)
        return at

    vtable = put(struct.pack("<HHHHHH", 12, 12, 0, 4, 0, 0))
    model = put(struct.pack("<iII", len(out) - vtable, 0, 0))
    vector = put(struct.pack("<II", 1, 0))
    struct.pack_into("<I", out, model + 4, vector - (model + 4))
    op_vtable = put(struct.pack("<HHHH", 8, 12, 4, 8))
    op = put(struct.pack("<ibxxxI", len(out) - op_vtable, 32, 0))
    struct.pack_into("<I", out, vector + 4, op - (vector + 4))
    at = put(name)
    struct.pack_into("<I", out, op + 8, at - (op + 8))
    struct.pack_into("<I", out, 0, model)
    return bytes(out)


def node(cls: str, module: str = "builtins", loader: str | None = None, **more: Any) -> dict[str, Any]:
    """One object of a schema of skops."""
    return {"__class__": cls, "__module__": module, "__loader__": loader or f"{cls.capitalize()}Node"} | more


def notebook(*lines: str) -> bytes:
    cell = {"cell_type": "code", "source": list(lines), "outputs": [], "metadata": {}, "execution_count": None}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}).encode()


def js(of: Any) -> Maker:
    return lambda: json.dumps(of).encode()
