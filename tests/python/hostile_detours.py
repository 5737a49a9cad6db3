"""Hostile files by detours that hostile_files.py and hostile_more.py have not: packed in unusual ways, beside others in
an archive, by second names of members, by texts in texts, by what a reader does after it has read. They are read, never
opened."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import struct
import zlib
from typing import Any

from hostile_parts import (
    RUN,
    SYSTEM,
    Maker,
    archive,
    called,
    gguf,
    js,
    keras,
    layer,
    named,
    new,
    notebook,
    npy,
    onnx,
    onnx_node,
    pickled,
    raw_bytes,
    safetensors,
    saved_model,
    sequential,
    tar,
    tf_node,
    tflite,
    torch_zip,
    value,
)

SOURCE = b"import os\nos.system('id')\n"
TEMPLATE = "{{ cycler.__init__.__globals__.os.popen('id') }}"
HALF = len(RUN) // 2


# ---- packed streams ----


def zlib_of(window: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, window)
    return packer.compress(RUN) + packer.flush()


def lzma_of(filters: dict[str, int]) -> bytes:
    return lzma.compress(RUN, lzma.FORMAT_ALONE, filters=[{"id": lzma.FILTER_LZMA1, "dict_size": 4096, **filters}])


def lz4(content: bytes) -> bytes:
    block = struct.pack("<I", len(content) | 0x80000000) + content
    return b"\x04\x22\x4d\x18\x60\x40\x82" + block + bytes(4)


def packings() -> dict[str, Maker]:
    skipped = struct.pack("<II", 0x184D2A50, 4) + b"abcd"
    zstd = b"\x28\xb5\x2f\xfd\x20" + bytes([len(RUN)]) + struct.pack("<I", len(RUN) << 3 | 1)[:3] + RUN
    return {
        **{f"zlib_window{n}.pkl": lambda n=n: zlib_of(n) for n in (9, 10, 12, 14)},
        "lzma_literals.pkl": lambda: lzma_of({"lc": 0, "lp": 2, "pb": 0}),
        "lzma_positions.pkl": lambda: lzma_of({"lc": 1, "lp": 3, "pb": 4}),
        "gzip_zeros_between.pkl": lambda: gzip.compress(b"") + bytes(16) + gzip.compress(RUN),
        "gzip_in_halves.pkl": lambda: gzip.compress(RUN[:HALF]) + bytes(3) + gzip.compress(RUN[HALF:]),
        "bz2_in_halves.pkl": lambda: bz2.compress(RUN[:HALF]) + bz2.compress(RUN[HALF:]),
        "xz_in_halves.pkl": lambda: lzma.compress(RUN[:HALF]) + lzma.compress(RUN[HALF:]),
        "lz4_after_skipped.pkl": lambda: skipped + lz4(RUN),
        "lz4_old.pkl": lambda: struct.pack("<II", 0x184C2102, len(RUN) + 2) + bytes([0xF0, len(RUN) - 15]) + RUN,
        "zstd_after_skipped.pkl.zst": lambda: skipped + zstd,
        "lzip.pkl.lz": lambda: b"LZIP\x01\x0c" + bytes(40),
        "packed.yaml.gz": lambda: gzip.compress(b"_target_: os.system\n"),
        "packed.py.gz": lambda: gzip.compress(SOURCE),
    }


# ---- archives ----


def entry(name: bytes, content: bytes, extra: bytes = b"") -> tuple[bytes, bytes]:
    """A stored member: its local part, and its entry without the place."""
    sizes = struct.pack("<III", zlib.crc32(content), len(content), len(content))
    local = b"PK\3\4" + struct.pack("<HHHHH", 20, 0, 0, 0, 33) + sizes + struct.pack("<HH", len(name), len(extra))
    central = b"PK\1\2" + struct.pack("<HHHHHH", 20, 20, 0, 0, 0, 33) + sizes
    central += struct.pack("<HHHHHI", len(name), len(extra), 0, 0, 0, 0)
    return local + name + extra + content, central


def zip_of(*members: tuple[bytes, bytes, bytes]) -> bytes:
    body = directory = b""
    for name, content, extra in members:
        local, central = entry(name, content, extra)
        directory += central + struct.pack("<I", len(body)) + name + extra
        body += local
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + b"PK\5\6" + end


def other_name(name: bytes, other: bytes) -> bytes:
    """Info-ZIP's field for a name in UTF-8, which newer Pythons take."""
    content = b"\1" + struct.pack("<I", zlib.crc32(name)) + other
    return struct.pack("<HH", 0x7075, len(content)) + content


def package(**modules: str) -> bytes:
    """torch.package: its importer looks for every module in the archive first."""
    model = pickled(called(named("collections", "OrderedDict")))
    return archive(
        ("p/.data/version", "1"),
        ("p/.data/extern_modules", ""),
        *((f"p/{name}.py", code) for name, code in modules.items()),
        ("p/model/model.pkl", model),
    )


def archives() -> dict[str, Maker]:
    good = json.dumps(sequential(layer("keras.layers", "Dense", units=1))).encode()
    evil = json.dumps(sequential(layer("os", "system"))).encode()
    inside: dict[str, tuple[str, bytes | str]] = {
        "keras": ("a/m.keras", keras(sequential(layer("os", "system")))),
        "onnx": ("a/m.onnx", onnx(onnx_node("PyOp", "ai.onnx.contrib"))),
        "saved_model": ("a/saved_model.pb", saved_model(tf_node("ReadFile"))),
        "gguf": ("a/m.gguf", gguf(("tokenizer.chat_template", TEMPLATE))),
        "source": ("a/modeling.py", SOURCE),
        "config": ("a/config.json", json.dumps({"auto_map": {"AutoModel": "m.X"}})),
        "target": ("a/config.json", json.dumps({"_target_": "os.system"})),
        "notebook": ("a/x.ipynb", notebook("!id")),
        "template": ("a/chat_template.jinja", TEMPLATE),
        "requirements": ("a/requirements.txt", "git+https://h/x\n"),
        "path_file": ("a/x.pth", "import os; os.system('id')\n"),
        "bytecode": ("a/m.pyc", b"\xa7\r\r\n" + bytes(12) + b"\xe3" + bytes(40)),
        "safetensors": ("a/m.safetensors", safetensors({}, RUN)),
        "pmml": ("a/m.pmml", "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><PMML>&e;</PMML>"),
    }
    return {
        **{f"member_{kind}.zip": lambda m=member: archive(m) for kind, member in inside.items()},
        "member_source.tar": lambda: tar(("a/m.py", SOURCE)),
        "member_tflite.tar": lambda: tar(("a/m.tflite", tflite("FlexWriteFile"))),
        "source_beside.pt": lambda: torch_zip(pickled(b"}"), ("m/extra.py", SOURCE)),
        "graph_in.keras": lambda: keras(sequential(), ("saved_model.pb", saved_model(tf_node("ReadFile")))),
        "shadows_a_module.pt": lambda: package(collections=SOURCE.decode() + "class OrderedDict: pass\n"),
        "quiet_package.pt": lambda: package(collections="class OrderedDict:\n    pass\n"),
        "second_name.keras": lambda: zip_of(
            (b"metadata.json", b"{}", b""), (b"config.json", good, b""),
            (b"readme", evil, other_name(b"readme", b"config.json"))
        ),
        "utf16_config.keras": lambda: archive(("metadata.json", "{}"), ("config.json", evil.decode().encode("utf-16"))),
        "utf32_config.keras": lambda: archive(
            ("metadata.json", "{}"), ("config.json", evil.decode().encode("utf-32-le"))
        ),
        "key_twice.keras": lambda: archive(
            ("metadata.json", "{}"), ("config.json", good[:-1] + b', "config": ' + evil[10:])
        ),
        "utf32.json": lambda: json.dumps({"_target_": "os.system"}).encode("utf-32"),
        "bytecode_ops.ptl": lambda: archive(
            ("m/data.pkl", pickled(b"N", 2)),
            ("m/bytecode.pkl", pickled(value((8, ("f", (("operators", (("aten::from_file", "", 3),)),)))), 2)),
            ("m/version", "3"),
        ),
    }


# ---- arrays ----

WRAPPER = named("joblib.numpy_pickle", "NumpyArrayWrapper")
BYTES = called(named("numpy", "dtype"), "u1", False, True) + value((3, "|", None, None, None, -1, -1, 0)) + b"b"
OBJECTS = called(named("numpy", "dtype"), "O")
HIDDEN = b"0" + called(SYSTEM, "id") + b"0N."
SWALLOWS = b"B" + struct.pack("<I", len(HIDDEN))  # the array's five bytes; as an opcode, it takes what is hidden


def state(dtype: bytes = BYTES, shape: Any = (len(SWALLOWS),)) -> bytes:
    rows = {"subclass": named("numpy", "ndarray"), "shape": shape, "order": "C", "allow_mmap": False, "dtype": dtype}
    return value(rows)


def hides(wrapper: bytes, built: bytes) -> Maker:
    return lambda: b"\x80\x04" + wrapper + built + b"b" + SWALLOWS + HIDDEN + b"0N."


def arrays() -> dict[str, Maker]:
    arguments = (named("numpy", "ndarray"), (len(SWALLOWS),), "C", BYTES)
    made = called(WRAPPER, *arguments)
    odd = ("object", "f4,O", "(2,)O", "|O,f4", "object_", "f4, object", "pyobject", "Object0")
    objects = {
        "text": OBJECTS,
        "fields": called(named("numpy", "dtype"), [("a", "O")]),
        "shaped": called(named("numpy", "dtype"), value(("O", (1,)))),
    }
    return {
        **{f"odd_type{i}.npy": lambda t=t: npy(f"'{t}'", RUN) for i, t in enumerate(odd)},
        "python2_sizes.npy": python2,
        **{f"joblib_{k}.pkl": lambda d=d: b"\x80\x04" + new(WRAPPER) + state(d, (1,)) + b"b" + RUN + b"."
           for k, d in objects.items()},
        "joblib_no_state.pkl": hides(made, b"N"),
        "joblib_empty_state.pkl": hides(made, b"}"),
        "joblib_slots.pkl": hides(new(WRAPPER), b"N" + state() + b"\x86"),
        "joblib_list_shape.pkl": hides(new(WRAPPER), state(shape=[len(SWALLOWS)])),
        "joblib_helper.pkl": hides(called(named("copyreg", "__newobj__"), WRAPPER), state()),
        "joblib_rebuilt.pkl": hides(
            called(named("torch._tensor", "_rebuild_from_type_v2"), WRAPPER, WRAPPER, arguments, {}), state()
        ),
        "joblib_twice.pkl": lambda: b"\x80\x04" + new(WRAPPER) + state() + b"b" + SWALLOWS + state() + b"b" + SWALLOWS
        + HIDDEN + b"0N.",
    }


def python2() -> bytes:
    header = "{'descr': '|O', 'fortran_order': False, 'shape': (1L,), }\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + RUN


# ---- values whose code reads a file ----


def zones() -> dict[str, Maker]:
    """pandas takes a text of this kind for the path of a time zone's file."""
    path, letters = "dateutil//etc/hostname", called(named("numpy", "dtype"), "U22", False, True)
    letters += value((3, "<", None, None, None, 88, 4, 8)) + b"b"
    raw = raw_bytes(path.encode())
    made = {
        "bytes": called(named("builtins", "str"), raw, "ascii"),
        "utf7": called(named("builtins", "str"), raw_bytes(b"+AGQ-" + path[1:].encode()), "utf-7"),
        "rot13": called(named("_codecs", "encode"), "qngrhgvy//rgp/ubfganzr", "rot13"),
        "scalar": called(named("numpy._core.multiarray", "scalar"), letters, raw_bytes(path.encode("utf-32-le"))),
        "keyword": named("builtins", "str") + value((raw,)) + value({"encoding": "ascii"}) + b"\x92",
    }
    dtype = called(named("builtins", "str"), raw_bytes(f"datetime64[ns, {path}]".encode()), "ascii")
    return {
        **{
            f"zone_{k}.pkl": lambda t=t: pickled(called(named("pandas", "DatetimeTZDtype"), "ns", t))
            for k, t in made.items()
        },
        "zone_of_series.pkl": lambda: pickled(called(named("pandas", "Series"), [1], None, dtype)),
        "zone_of_index.pkl": lambda: pickled(called(named("pandas", "Index"), [1], dtype)),
    }


# ---- programs ----


def export(*, spec: Any = None) -> bytes:
    node = {"target": "torch.ops.aten.relu.default", "inputs": [], "outputs": [], "metadata": {}}
    call = [{"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": spec, "out_spec": ""}}]
    module = {"graph": {"inputs": [], "outputs": [], "nodes": [node]}, "module_call_graph": call}
    return archive(("m/archive_format", "pt2"), ("m/models/model.json", json.dumps({"graph_module": module})))


def list_of_templates() -> bytes:
    out = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 23) + b"tokenizer.chat_template"
    return out + struct.pack("<IIQQ", 9, 8, 1, len(TEMPLATE)) + TEMPLATE.encode()


def programs() -> dict[str, Maker]:
    factory = {"default_factory_module": "antigravity", "default_factory_name": "x", "dict_context": []}
    member = {"__enum__": True, "fqn": "antigravity:x", "name": "y"}

    def spec(kind: str, context: Any) -> Maker:
        return lambda: export(spec=json.dumps([1, {"type": kind, "context": context, "children_spec": []}]))

    def old_keras(cls: str, **config: Any) -> Maker:
        rows = [{"class_name": cls, "config": config, "inbound_nodes": []}]
        return js({"class_name": "Functional", "config": {"name": "m", "layers": rows}, "backend": "tensorflow"})

    text_graph = b'node { name: "x" op: "%s" }\n'
    return {
        "factory.pt2": spec("collections.defaultdict", factory),
        "factory_text.pt2": spec("collections.defaultdict", json.dumps(factory)),
        "enum.pt2": spec("collections.OrderedDict", json.dumps([member])),
        "unread_spec.pt2": lambda: export(spec="[1, {"),
        "op_lambda.json": old_keras("TFOpLambda", name="x", function="io.read_file"),
        "op_python.json": old_keras("TFOpLambda", name="x", function="py_function"),
        "op_raw.json": old_keras("TFOpLambda", name="x", function="raw_ops.ReadFile"),
        "op_layer.json": old_keras("TensorFlowOpLayer", node_def={"op": "ReadFile", "name": "x"}),
        "op_packed.json": old_keras("TensorFlowOpLayer", node_def="\n\x01x\x12\x08ReadFile"),
        "class_method.json": old_keras("ClassMethod", cls_symbol="io.gfile.GFile", method_name="write"),
        "property.json": old_keras("InstanceProperty", attr_name="__class__"),
        "without_module.json": old_keras("TFSMLayer", filepath="/x"),
        "graph.pbtxt": lambda: text_graph % b"ReadFile",
        "graph_escaped.pbtxt": lambda: text_graph % b"\\122eadFile",
        "graph_joined.pbtxt": lambda: b"node { name: 'x' op: 'Re' 'lu' }\n",
        "caffe.prototxt": lambda: b'layer { type: "Python" python_param { module: "evil" layer: "L" } }\n',
        "texts.gguf": list_of_templates,
    }


# ---- texts ----


def texts() -> dict[str, Maker]:
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["!id"]}]}]}
    rows: dict[str, Any] = {
        "kernels_by_part": {"attn_implementation": {"text_config": "evil/kernels"}},
        "kernels_internal": {"_attn_implementation_internal": "evil/kernels"},
        "nested_map": {"a": {"image_processor": {"auto_map": {"AutoImageProcessor": "evil/r--m.X"}}}},
        "map_is_text": {"model_type": "x", "auto_map": "m.X"},
        "model_file": {"model_type": "x", "model_file": "evil.py"},
        "generate": {"custom_generate": "evil/generate"},
        "tensor_parallel": {"peft_type": "LORA", "megatron_config": {}, "megatron_core": "evil.core"},
        "activation": {"in_features": 1, "activation_function": "evil.Activation"},
        "tokenizer_class": {"vocab": [], "tokenizer_class": "evil.Tokenizer"},
        "router": {"types": {"query": "evil.Module"}, "structure": {"query": ["query"]}},
        "custom_imports": {"custom_imports": {"imports": ["evil"], "allow_failed_imports": False}},
        "entry_point": {"runtime": "os:system"},
        "import_path": {"import_path": "evil:app"},
        "implementation": {"name": "x", "implementation": "evil.Model"},
        "expression": {"a": "__import__('os').system('id')"},
        "prompt": {"prompt_template": "{{ x.__class__.__mro__ }}"},
        "chain": {"_type": "llm_chain", "prompt": {"template_format": "jinja2", "template": "{{ x.__class__ }}"}},
    }
    return {
        **{f"detour_{name}.json": js(row) for name, row in rows.items()},
        "worksheets.ipynb": js(old),
        "detour_key_twice.json": lambda: b'{"_target_": "torch.nn.Linear", "_target_": "evil.function"}',
        "single_quotes.json": lambda: b"{'_target_': 'os.system'}",
        "entry_point.yaml": lambda: b"init_fn: os:system\n",
        "import_path.yaml": lambda: b"applications:\n- import_path: evil:app\n",
        "flow_requirement.yaml": lambda: b"dependencies: [{pip: ['git+https://h/x']}]\n",
    }


def folders() -> dict[str, dict[str, bytes]]:
    config = json.dumps({"auto_map": {"AutoModel": "m.X"}}).encode()
    return {
        "odd_encoding": {
            "config.json": config,
            "m.py": b"# coding: unicode_escape\n#\\u000aimport os;os.system('id')\nclass X: pass\n",
        },
        "odd_encoding_7": {
            "config.json": config,
            "m.py": b"# coding: utf-7\n#+AAo-import +AG8-s\n+AG8-s.+AHMAeQBzAHQAZQBt-('id')\n",
        },
    }


DETOURS: dict[str, Maker] = packings() | archives() | arrays() | zones() | programs() | texts()
FOLDERS = folders()
EXPECT: dict[str, tuple[str, str]] = {}
