"""Our decoders of packed streams against Python's own, on data of every kind that packs differently."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pathlib
import random
import struct
import subprocess
import zlib
from typing import Any, Callable

import pytest

from conftest import PROGRAM

RUNNER = pathlib.Path(PROGRAM).resolve().parent / "tests" / "unit" / "unpack_run"


def kinds(size: int, rng: random.Random) -> list[bytes]:
    words = [rng.randbytes(rng.randint(1, 9)) for _ in range(50)]
    return [
        rng.randbytes(size),
        bytes(size),
        bytes(rng.choice(b"ab") for _ in range(size)),
        b"".join(rng.choices(words, k=size // 5))[:size],
        b"".join(bytes([rng.randrange(256)]) * rng.randint(1, 600) for _ in range(size // 300 + 1))[:size],
        struct.pack(f"<{size // 8}d", *(rng.gauss(0, 1) for _ in range(size // 8))),
    ]


PACKERS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "gzip": lambda data, rng: gzip.compress(data, rng.randint(0, 9)),
    "zlib": lambda data, rng: zlib.compress(data, rng.randint(0, 9)),
    "gzip_members": lambda data, rng: gzip.compress(data[:len(data) // 3]) + gzip.compress(data[len(data) // 3:]),
    "bzip2": lambda data, rng: bz2.compress(data, rng.randint(1, 9)),
    "bzip2_streams": lambda data, rng: bz2.compress(data[:len(data) // 3]) + bz2.compress(data[len(data) // 3:]),
    "xz": lambda data, rng: lzma.compress(data, preset=rng.randint(0, 9)),
    "xz_properties": lambda data, rng: lzma.compress(data, filters=[
        {"id": lzma.FILTER_LZMA2, "lc": 1, "lp": 3, "pb": rng.randint(0, 4), "dict_size": 1 << 16}]),
    "xz_sums": lambda data, rng: lzma.compress(data, check=rng.choice(
        [lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256])),
    "xz_streams": lambda data, rng: lzma.compress(data[:len(data) // 3]) + lzma.compress(data[len(data) // 3:]),
    "lzma": lambda data, rng: lzma.compress(data, format=lzma.FORMAT_ALONE, preset=rng.randint(0, 9)),
}


def unpacked(folder: pathlib.Path, streams: list[bytes]) -> list[tuple[bool, bytes]]:
    if not RUNNER.exists():
        pytest.skip("unpack_run is built with -Dtests=true only")
    (folder / "packed").write_bytes(b"".join(struct.pack("<Q", len(row)) + row for row in streams))
    out = subprocess.run([str(RUNNER), str(folder / "packed")], stdout=subprocess.PIPE, check=True).stdout
    found, at = [], 0
    while at < len(out):
        size = struct.unpack_from("<Q", out, at + 1)[0]
        found.append((bool(out[at]), out[at + 9:at + 9 + size]))
        at += 9 + size
    return found


@pytest.mark.parametrize("name", PACKERS)
def test_as_python(tmp_path: pathlib.Path, name: str) -> None:
    rng = random.Random(name)
    contents = [data for size in (0, 1, 5, 300, 4096, 70000) for data in kinds(size, rng)]
    contents += kinds(1000000, rng)[1:5:3]
    found = unpacked(tmp_path, [PACKERS[name](data, rng) for data in contents])
    assert [i for i, data in enumerate(contents) if found[i] != (True, data)] == []


def lz4_block(data: bytes, rng: random.Random) -> bytes:
    """A block of literals and copies that are found by looking back a little: valid, if not small."""
    out, start, at = b"", 0, 0

    def length(value: int) -> bytes:
        value -= 15
        return b"" if value < 0 else b"\xff" * (value // 255) + bytes([value % 255])

    while at + 12 < len(data):
        back = data.rfind(data[at:at + 4], max(0, at - 60000), at + 3)
        if back < 0 or rng.random() < 0.2:
            at += 1
            continue
        n = 4
        while at + n < len(data) - 5 and n < 1000 and data[back + n] == data[at + n]:
            n += 1
        literals = data[start:at]
        out += bytes([min(len(literals), 15) << 4 | min(n - 4, 15)]) + length(len(literals)) + literals
        out += struct.pack("<H", at - back) + length(n - 4)
        at += n
        start = at
    rest = data[start:]
    return out + bytes([min(len(rest), 15) << 4]) + length(len(rest)) + rest


def lz4_frame(data: bytes, rng: random.Random) -> bytes:
    has_size, has_sums, has_sum = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.5
    out = b"\x04\x22\x4d\x18" + bytes([0x60 | has_size << 3 | has_sums << 4 | has_sum << 2, 0x40])
    out += (struct.pack("<Q", len(data)) if has_size else b"") + b"\x00"
    for at in range(0, len(data), 65536):
        part = data[at:at + 65536]
        packed = lz4_block(part, rng)
        stored = rng.random() < 0.2
        out += struct.pack("<I", len(part) | 1 << 31) + part if stored else struct.pack("<I", len(packed)) + packed
        out += bytes(4) if has_sums else b""
    return out + bytes(4) + (bytes(4) if has_sum else b"")


def test_lz4_by_hand(tmp_path: pathlib.Path) -> None:
    rng = random.Random(4)
    contents = [data for size in (0, 1, 20, 300, 5000) for data in kinds(size, rng)]
    found = unpacked(tmp_path, [lz4_frame(data, rng) for data in contents])
    assert [i for i, data in enumerate(contents) if found[i] != (True, data)] == []


def test_lz4_as_its_library(tmp_path: pathlib.Path) -> None:
    lz4: Any = pytest.importorskip("lz4.frame", reason="lz4 is not installed")
    rng = random.Random(5)
    contents = [data for size in (0, 1, 300, 4096, 70000, 400000) for data in kinds(size, rng)]
    packed = [lz4.compress(data, block_linked=rng.random() < 0.5, compression_level=rng.randint(-3, 12),
                           content_checksum=rng.random() < 0.5, store_size=rng.random() < 0.5) for data in contents]
    found = unpacked(tmp_path, packed)
    assert [i for i, data in enumerate(contents) if found[i] != (True, data)] == []


@pytest.mark.parametrize("name", [*PACKERS, "lz4"])
def test_cut_and_changed(tmp_path: pathlib.Path, name: str) -> None:
    """What is broken ends with an error, and gives what stands before it."""
    rng = random.Random(name)
    data = kinds(3000, rng)[3]
    whole = lz4_frame(data, rng) if name == "lz4" else PACKERS[name](data, rng)
    cut = [whole[:n] for n in range(20, len(whole), 7)]
    for ok, made in unpacked(tmp_path, cut):
        assert data.startswith(made) or not ok
    changed = []
    for _ in range(300):
        row = bytearray(whole)
        row[rng.randrange(6, len(row))] ^= 1 << rng.randrange(8)
        changed.append(bytes(row))
    assert len(unpacked(tmp_path, changed)) == 300
