"""Hostile files that hide what they do from a reader that looks too briefly: detours to nested pickles, pickles without
a mark, code deep inside configs, graphs and templates. What a reader does not know is never harmless."""

from __future__ import annotations

import base64
import codecs
import json
import marshal
import pathlib
import pickle
import struct
import zipfile
import zlib
from typing import Any, Callable

import pytest

from test_audit import CALL, archive, audit, check_harmless, check_hostile, torch_archive
from test_audit_formats import (
    CALLS, bytecode, field, gguf, keras, keras_lambda, layer, onnx, outside, sequential, tar,
    template)

RUN = b"\x80\x02" + CALL


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def raw(value: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(value)) + value


def call(module: str, name: str, *arguments: bytes) -> bytes:
    return f"c{module}\n{name}\n(".encode() + b"".join(arguments) + b"tR"


def unpickled(value: bytes) -> bytes:
    """A pickle that has torch unpickle what `value` pushes."""
    return b"\x80\x03" + call("torch.storage", "_load_from_bytes", value) + b"."


def numbers(value: bytes) -> bytes:
    return b"(" + b"".join(b"K" + bytes([byte]) for byte in value) + b"l"


def polyglot() -> bytes:
    """Safetensors whose first bytes are a text of 16 MiB to an unpickler, which ends inside of the data."""
    length = 0x10000 | ord("X")
    header = b'{"a":{"dtype":"U8","shape":[65536],"data_offsets":[0,65536]}}'.ljust(length)
    payload = b"0" + CALL
    swallowed = length >> 8  # what the unpickler takes for the text's length
    data = bytearray(header + bytes(65536))
    assert swallowed < len(header)
    data[5 + swallowed - 8:5 + swallowed - 8 + len(payload)] = payload
    return struct.pack("<Q", length) + bytes(data)


# name: (bytes, exit code, a finding's kind or a part of its text)
PICKLES: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "latin1": (lambda: unpickled(call("_codecs", "encode", text(RUN.decode("latin1")), text("latin1"))), 4, CALLS),
    "latin_1": (lambda: unpickled(call("codecs", "encode", text(RUN.decode("latin1")), text("ISO-8859-1"))), 4, CALLS),
    "list": (lambda: unpickled(call("builtins", "bytes", numbers(RUN))), 4, CALLS),
    "bytearray": (lambda: unpickled(call("builtins", "bytearray", raw(RUN))), 4, CALLS),
    "rot13": (lambda: unpickled(call("_codecs", "encode", call("_codecs", "encode", text(codecs.encode(
        CALL.decode(), "rot13")), text("rot13")), text("latin1"))), 4, CALLS),
    "base64": (lambda: unpickled(call("base64", "b64decode", raw(base64.b64encode(RUN)))), 4, CALLS),
    "hex": (lambda: unpickled(call("_codecs", "decode", raw(RUN.hex().encode()), text("hex"))), 4, CALLS),
    "zlib": (lambda: unpickled(call("zlib", "decompress", raw(zlib.compress(RUN)))), 4, CALLS),
    "sum": (lambda: unpickled(call("operator", "add", raw(RUN[:9]), raw(RUN[9:]))), 4, CALLS),
    "newline": (lambda: unpickled(raw(CALL + b"\n")), 4, CALLS),
    "other_codec": (lambda: unpickled(call("_codecs", "encode", text("+ADw-"), text("utf-7"))), 4, "unread-pickle"),
    "no_pickle": (lambda: unpickled(raw(b"what is this")), 4, "unread-pickle"),
    "many_copies": (lambda: b"\x80\x03(" + b"".join(call("torch.storage", "_load_from_bytes", call(
        "_codecs", "encode", text("N." + "x" * 2000000) + b"q\x01" if not i else b"h\x01", text("latin1")))
        for i in range(100)) + b"l.", 4, "unread-pickle"),
    # no protocol's mark
    "long_first": (lambda: b"L1L\n0" + CALL, 4, CALLS),
    "short_text_first": (lambda: b"\x8c\x01a0" + CALL, 4, CALLS),
    "true_first": (lambda: b"\x880" + CALL, 4, CALLS),
    "bytes_first": (lambda: b"C\x01a0" + CALL, 4, CALLS),
    "mark_first": (lambda: b"(1" + CALL, 4, CALLS),
    "newline_after": (lambda: CALL + b"\n", 4, CALLS),
    "fault_after": (lambda: CALL[:-1] + b"\xff\xff", 4, CALLS),
    "nothing_to_return": (lambda: CALL[:-1] + b"0.", 4, CALLS),
    "member_without_result": (lambda: torch_archive(b"\x80\x02}.", ("archive/x", CALL[:-1] + b"0.")), 4, CALLS),
    "member": (lambda: torch_archive(b"\x80\x02}.", ("archive/extra", b"N0" + CALL)), 4, CALLS),
    "safetensors_too": (polyglot, 4, CALLS),
    "letters": (lambda: b"Kx. and this is the rest of some text", 4, "trailing-data"),
}

HARMLESS: dict[str, Callable[[], bytes]] = {
    "brace_at_eight": lambda: pickle.dumps("a{" * 20, protocol=2)[:2] + b"X\x06\x00\x00\x00a{aaaaq\x00.",
    "protocol_2_bytes": lambda: pickle.dumps({"a": bytes(range(256))}, protocol=2),
    "number": lambda: b"I1\n.\n",
    "storage": lambda: unpickled(raw(pickle.dumps({"a": [1, 2]}))),
}


# ---- joblib: arrays lie between the opcodes of the pickle ----


def dtype_of(name: str) -> bytes:
    return call("numpy", "dtype", text(name), b"\x89", b"\x88")


def joblib_array(data: bytes, name: str = "f8", shape: bytes = b"K\x02\x85", alignment: bool = True) -> bytes:
    """What pushes a wrapper, and the array that joblib's unpickler takes after it."""
    state = b"}(" + text("shape") + shape + text("dtype") + dtype_of(name) + (
        text("numpy_array_alignment_bytes") + b"K\x10" if alignment else b"") + b"u"
    return b"cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81" + state + b"b" + (
        b"\x03\xff\xff\xff" if alignment and name != "O8" else b"") + data


def joblib_file(*parts: bytes) -> bytes:
    return b"\x80\x03(" + b"".join(parts) + b"l."


NUMBERS = struct.pack("<2d", 1.5, 2.5)

JOBLIB: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "after_an_array": (lambda: joblib_file(joblib_array(NUMBERS), CALL[:-1]), 4, CALLS),
    "after_two": (lambda: joblib_file(joblib_array(NUMBERS), joblib_array(b"abc", "S3", b")"), CALL[:-1]), 4, CALLS),
    "objects": (lambda: joblib_file(joblib_array(RUN, "O8", b"K\x01\x85")), 4, CALLS),
    "after_objects": (lambda: joblib_file(joblib_array(b"\x80\x02N.", "O8", b"K\x01\x85"), CALL[:-1]), 4, CALLS),
    "as_a_pickle": (lambda: joblib_file(joblib_array(CALL, f"S{len(CALL)}", b"K\x01\x85", alignment=False)), 4,
                    CALLS),
    "unknown_size": (lambda: joblib_file(joblib_array(NUMBERS, "f?")), 4, "where it ends is not known"),
    "beyond_the_end": (lambda: joblib_file(joblib_array(NUMBERS, "f8", b"J\xff\xff\xff\x7f\x85")), 2, "beyond"),
    "packed": (lambda: zlib.compress(joblib_file(joblib_array(NUMBERS), CALL[:-1])), 4, CALLS),
}


@pytest.mark.parametrize("name", JOBLIB)
def test_joblib(tmp_path: pathlib.Path, is_sanitized: bool, name: str) -> None:
    make, code, finding = JOBLIB[name]
    check_hostile(tmp_path, make(), code, finding, is_sanitized)


@pytest.mark.parametrize("name, data, shape", [
    ("f8", NUMBERS, b"K\x02\x85"), ("U3", bytes(24), b"K\x02\x85"), ("f8", b"", b"K\x00K\x03\x86"),
    ("i4", bytes(4), b")"),
    ("O8", b"\x80\x02]q\x00.", b"K\x01\x85")])
def test_plain_joblib(tmp_path: pathlib.Path, name: str, data: bytes, shape: bytes) -> None:
    check_harmless(tmp_path, joblib_file(joblib_array(data, name, shape), text("the end")))


@pytest.mark.parametrize("name", PICKLES)
def test_hidden_pickle(tmp_path: pathlib.Path, is_sanitized: bool, name: str) -> None:
    make, code, finding = PICKLES[name]
    check_hostile(tmp_path, make(), code, finding, is_sanitized)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_file(tmp_path: pathlib.Path, name: str) -> None:
    check_harmless(tmp_path, HARMLESS[name]())


def test_archive_is_no_pickle(tmp_path: pathlib.Path) -> None:
    """The mark of a zip archive begins an opcode, and what follows may read on as a pickle that calls something. Nobody
    unpickles it: pickle and joblib stop at the first opcode, torch sees an archive."""
    path = tmp_path / "net.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02ctorch.nn.modules.linear\nLinear\nq\x00)\x81q\x01}q\x02b.")
    code, out, _, _ = audit(path)
    assert code == 0, out


@pytest.mark.parametrize("words", ["cat\ndog\nbird\n", "Training notes.\n", "(see below)\n", "name,size\na,1\n",
                                   "import os\nos.system('x')\n", "# Title\n"])
def test_words_are_no_pickle(tmp_path: pathlib.Path, words: str) -> None:
    (tmp_path / "notes").write_text(words)
    code, out, _, _ = audit(tmp_path / "notes")
    assert code == 2 and "no model format" in out


# Ways out of Jinja. Each must be seen, by whatever key of the file it comes.
TEMPLATES = {
    "attribute": "{{ ''.__class__ }}",
    "subscript": "{{ ''['__class__'] }}",
    "attr": "{{ ()|attr('upper') }}",
    "escape": r"{{ messages['\x5f\x5fclass\x5f\x5f'] }}",
    "split": "{{ messages['__cl' ~ 'ass__'] }}",
    "plus": "{{ messages['__cl' + 'ass__'] }}",
    "adjacent": "{{ messages['__cl' 'ass__'] }}",
    "variable": "{% set k = '_' * 2 ~ 'class' ~ '_' * 2 %}{{ messages[k] }}",
    "later_variable": "{% for i in range(2) %}{{ messages[k] }}{% set k = '__class__' %}{% endfor %}",
    "list": "{% for k in ['__class__'] %}{{ messages[k] }}{% endfor %}",
    "keyword": "{{ messages[dict(__class__=1)|first] }}",
    "keywords": "{% set d = dict(__class__=1) %}{% for k in d %}{{ messages[k] }}{% endfor %}",
    "namespace": "{% set ns = namespace(k='a') %}{% set ns.k = '__class__' %}{{ messages[ns.k] }}",
    "macro": "{% macro f(x) %}{{ messages[x] }}{% endmacro %}{{ f('__class__') }}",
    "macro_keyword": "{% macro f(x) %}{{ messages[x] }}{% endmacro %}{{ f(x='__class__') }}",
    "macro_name": "{% macro a_b() %}{% endmacro %}{{ messages[(a_b|string)[8]] }}",
    "block": "{% set k %}__class__{% endset %}{{ messages[k] }}",
    "appended": "{% set l = [] %}{% do l.append('__class__') %}{{ messages[l[0]] }}",
    "format": "{{ '{0.__class__}'.format(messages) }}",
    "percent": "{{ messages['%c%cclass%c%c'|format(95, 95, 95, 95)] }}",
    "join": "{{ messages[['_', '_', 'class']|join] }}",
    "replace": "{{ messages['class'|replace('c', '_')] }}",
    "map_attribute": "{{ [messages]|map(attribute='__class__')|list }}",
    "map_filter": "{{ [messages]|map('attr', 'x')|list }}",
    "selectattr": "{{ [messages]|selectattr('a.__class__')|list }}",
    "sort": "{{ [messages]|sort(attribute='__class__') }}",
    "groupby": "{{ [messages]|groupby('__class__') }}",
    "frame": "{{ (messages|map('upper')).gi_frame.f_builtins }}",
    "self": "{{ self._TemplateReference__context }}",
    "engine": "{{ lipsum.x }}",
    "call": "{{ url_for('x') }}",
    "call_of_result": "{{ messages[0]() }}",
    "method": "{{ messages.system('id') }}",
    "include": "{% include 'other' %}",
    "import": "{% import 'other' as x %}",
    "unknown_statement": "{% debug %}",
    "unknown_filter": "{{ messages|pprint }}",
    "unknown_test": "{{ messages is somebodys }}",
    "not_jinja": "{{ messages[ }}",
    "no_end": "{% if messages ",
    "deep": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "in_a_condition": "{% if x and y.__class__ %}{% endif %}",
    "in_a_default": "{% macro f(x=''.__class__) %}{% endmacro %}",
    "in_a_slice": "{{ messages[1:''.__class__] }}",
    "in_a_test": "{{ messages is sameas(''.__class__) }}",
}

PLAIN_TEMPLATES = {
    "roles": "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m.content | trim }}{% endfor %}",
    "index": "{%- set ns = namespace(i=0, some_text='a_b') -%}{{ messages[ns.i]['content'] }}",
    "tools": "{% if tools is defined and tools is not none %}{{ tools | tojson(indent=4) }}{% endif %}",
    "loop": "{% for m in messages[1:] %}{% if not loop.last and (loop.index0 % 2 == 0) != (m.role == 'user') %}"
            "{{ raise_exception('no') }}{% endif %}{% endfor %}",
    "macro": "{% macro show(tool) %}{{ tool.function.name }}{% for k, v in tool.args|items %}{{ tool.args[k] }}"
             "{% endfor %}{% endmacro %}{{ show(tools[0]) }}",
    "select": "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | join('_') }}",
    "dates": "{{ strftime_now('%d %b %Y') }}{# a comment with {{ ''.__class__ }} #}{% raw %}{{ __x__ }}{% endraw %}",
    "dicts": "{{ {'a_b': {'c': 1}}['a_b'] }}{{ 'x' if messages | length > 1 else 'y' }}{{ '%s' % bos_token }}",
    "strip": "{{ (messages[-1].content.split('</think>')[-1]).lstrip('\n') }}{{ m.get('tool_calls', []) }}",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_template(tmp_path: pathlib.Path, is_sanitized: bool, name: str) -> None:
    check_hostile(tmp_path, gguf(template(TEMPLATES[name].encode())), 4, "template", is_sanitized)


def test_template_of_another_key(tmp_path: pathlib.Path, is_sanitized: bool) -> None:
    raw_pair = template(b"{{ ''.__class__ }}").replace(b"tokenizer.chat_template", b"tokenizer.something_els")
    check_hostile(tmp_path, gguf(raw_pair), 4, "template", is_sanitized)


def test_template_of_a_tokenizer(tmp_path: pathlib.Path, is_sanitized: bool) -> None:
    made = json.dumps({"chat_template": [{"name": "a", "template": "{{ ''.__class__ }}"}]}).encode()
    check_hostile(tmp_path, made, 4, "__class__", is_sanitized)


def test_plain_template_of_a_tokenizer(tmp_path: pathlib.Path) -> None:
    check_harmless(tmp_path, json.dumps({"chat_template": "{{ messages }}", "model_max_length": 1}).encode())


@pytest.mark.parametrize("name", PLAIN_TEMPLATES)
def test_plain_template(tmp_path: pathlib.Path, name: str) -> None:
    check_harmless(tmp_path, gguf(template(PLAIN_TEMPLATES[name].encode())))


def test_place_of_a_finding(tmp_path: pathlib.Path) -> None:
    made = gguf(template(b"{% if x %}{{ ''.__class__ }}{% endif %}"))
    (tmp_path / "net.gguf").write_bytes(made)
    _, out, _, _ = audit(tmp_path / "net.gguf", "--json")
    assert json.loads(out)["findings"][0]["offset"] == made.index(b"__class__")


# ---- ONNX ----


def onnx_node(op: bytes, *attributes: bytes, domain: bytes = b"") -> bytes:
    return field(3, b"n") + field(4, op) + (field(7, domain) if domain else b"") + b"".join(
        field(5, attribute) for attribute in attributes)


def branch(graph: bytes) -> bytes:
    return onnx(field(1, onnx_node(b"If", field(1, b"then_branch") + field(6, graph))))


def local_function(*nodes: bytes, name: bytes = b"f") -> bytes:
    function = field(1, name) + field(10, b"mine") + b"".join(field(7, node) for node in nodes)
    return onnx(field(1, onnx_node(b"f", domain=b"mine"))) + field(25, function)


def tensor_of(location: bytes) -> bytes:
    made = outside(location)
    return made[2:] if made[1] < 128 else made[3:]  # without its own number in a graph


ONNX: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "branch_path": (lambda: branch(outside(b"../../etc/passwd")), 4, "path"),
    "branch_of_branch": (lambda: branch(field(1, onnx_node(b"Loop", field(1, b"body") + field(
        6, outside(b"/etc/passwd"))))), 4, "path"),
    "branches": (lambda: onnx(field(1, onnx_node(b"X", field(1, b"g") + field(11, outside(b"/etc/passwd"))))), 4,
                 "path"),
    "branch_python": (lambda: branch(field(1, onnx_node(b"PyOp", domain=b"ai.onnx.contrib"))), 4, "runs Python"),
    "constant_path": (lambda: onnx(field(1, onnx_node(b"Constant", field(1, b"value") + field(
        5, tensor_of(b"../x"))))), 4, "path"),
    "constants_path": (lambda: onnx(field(1, onnx_node(b"Constant", field(1, b"values") + field(
        10, tensor_of(b"../x"))))), 4, "path"),
    "constant_of_no_size": (lambda: onnx(field(5, field(8, b"w") + field(2, 99) + field(14, 1) + field(
        13, field(1, b"location") + field(2, b"/etc/passwd")))), 4, "path"),
    "sparse_path": (lambda: onnx(field(15, field(1, tensor_of(b"../x")))), 4, "path"),
    "sparse_indices": (lambda: onnx(field(15, field(1, field(8, b"s")) + field(2, tensor_of(b"../x")))), 4, "path"),
    "function_path": (lambda: local_function(onnx_node(b"Constant", field(1, b"value") + field(
        5, tensor_of(b"../x")))), 4, "path"),
    "function_python": (lambda: local_function(onnx_node(b"PythonOp", domain=b"com.microsoft")), 4, "runs Python"),
    "training_path": (lambda: onnx(b"") + field(20, field(2, outside(b"../x"))), 4, "path"),
    "somebodys_python": (lambda: onnx(field(1, onnx_node(b"MyOp", domain=b"ai.onnx.contrib"))), 4, "operator"),
    "unknown_of_a_runtime": (lambda: onnx(field(1, onnx_node(b"EPContext", domain=b"com.microsoft"))), 4, "operator"),
}

PLAIN_ONNX: dict[str, Callable[[], bytes]] = {
    "function": lambda: local_function(onnx_node(b"Add")),
    "foreign": lambda: onnx(field(1, onnx_node(b"Conv", domain=b"somebody"))),
    "runtime": lambda: onnx(field(1, onnx_node(b"FusedConv", domain=b"com.microsoft"))),
    "branch": lambda: branch(field(1, onnx_node(b"Add"))),
}


@pytest.mark.parametrize("name", ONNX)
def test_onnx(tmp_path: pathlib.Path, is_sanitized: bool, name: str) -> None:
    make, code, finding = ONNX[name]
    check_hostile(tmp_path, make(), code, finding, is_sanitized)


@pytest.mark.parametrize("name", PLAIN_ONNX)
def test_plain_onnx(tmp_path: pathlib.Path, name: str) -> None:
    check_harmless(tmp_path, PLAIN_ONNX[name]())


# ---- TensorFlow ----


def tf_node(name: bytes, op: bytes, *inputs: bytes, calls: bytes = b"") -> bytes:
    attribute = field(5, field(1, b"f") + field(2, field(10, field(1, calls)))) if calls else b""
    return field(1, name) + field(2, op) + b"".join(field(3, row) for row in inputs) + attribute


def tf_function(name: bytes, argument: bytes, *nodes: bytes) -> bytes:
    return field(1, field(1, name) + field(2, field(1, argument))) + b"".join(field(3, node) for node in nodes)


def saved_model(nodes: list[bytes], *functions: bytes) -> bytes:
    graph = b"".join(field(1, node) for node in nodes) + field(2, b"".join(field(1, row) for row in functions))
    return field(1, 1) + field(2, field(1, field(4, b"serve")) + field(2, graph))


SAVES = tf_function(b"save", b"prefix", tf_node(b"part", b"Const"), tf_node(b"join", b"StringJoin", b"prefix", b"part"),
                    tf_node(b"s", b"SaveV2", b"join:output:0"), tf_node(b"pack", b"Pack", b"join:output:0"),
                    tf_node(b"m", b"MergeV2Checkpoints", b"pack:output:0", b"prefix", b"^s"))
GIVEN = tf_node(b"filename", b"Placeholder")

GRAPHS: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "unknown": (lambda: saved_model([tf_node(b"x", b"SomebodysOp")]), 4, "SomebodysOp"),
    "reader": (lambda: saved_model([tf_node(b"x", b"TextLineReaderV2")]), 4, "TextLineReaderV2"),
    "dataset": (lambda: saved_model([], tf_function(b"f", b"a", tf_node(b"x", b"TextLineDataset"))), 4, "reads"),
    "merge": (lambda: saved_model([tf_node(b"c", b"Const"), tf_node(b"x", b"MergeV2Checkpoints", b"c", b"c")]), 4,
              "names"),
    "save": (lambda: saved_model([], tf_function(b"f", b"a", tf_node(b"c", b"Const"), tf_node(
        b"x", b"SaveV2", b"c:output:0"))), 4, "names"),
    "restore": (lambda: saved_model([], tf_function(b"f", b"a", tf_node(b"c", b"Const"), tf_node(
        b"j", b"StringJoin", b"c:output:0", b"a"), tf_node(b"x", b"RestoreV2", b"j:output:0"))), 4, "names"),
    "pack": (lambda: saved_model([], tf_function(b"f", b"a", tf_node(b"c", b"Const"), tf_node(
        b"j", b"Pack", b"a", b"c:output:0"), tf_node(b"x", b"MergeV2Checkpoints", b"j:output:0", b"a"))), 4, "names"),
    "called_by_a_function": (lambda: saved_model([], SAVES, tf_function(b"serve", b"a", tf_node(
        b"x", b"StatefulPartitionedCall", b"a", calls=b"save"))), 4, "calls a function that opens files"),
    "called_with_a_constant": (lambda: saved_model([tf_node(b"c", b"Const"), tf_node(
        b"x", b"StatefulPartitionedCall", b"c", calls=b"save")], SAVES), 4, "calls a function that opens files"),
}


def lite(number: int, custom: bytes = b"") -> bytes:
    """A TensorFlow Lite model of one operator code and no graphs, by hand."""
    text = struct.pack("<I", len(custom)) + custom + b"\x00" * (4 - len(custom) % 4)
    # root offset, mark, vtable of the model (2 fields), model, list of codes, vtable of the code (4 fields), code, text
    out = struct.pack("<I", 16) + b"TFL3"
    out += struct.pack("<HHHH", 8, 8, 0, 4)  # at 8
    out += struct.pack("<iI", 8, 4)  # at 16: the table, then an offset to the list at 24
    out += struct.pack("<II", 1, 16)  # at 24: one code, whose table is at 28 + 16 = 44
    out += struct.pack("<HHHHHH", 12, 12, 0, 4 if custom else 0, 0, 8)  # at 32
    out += struct.pack("<iII", 12, 8, number)  # at 44; the text at 48 + 8 = 56
    return out + text


KERAS: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "deep": (lambda: keras(_deep(keras_lambda(), 30)), 4, '__import__("os")'),
    "too_deep": (lambda: keras(_deep(keras_lambda(), 110)), 4, "deeper than"),
    "module_of_keras": (lambda: keras(layer("keras.layers", "Lambda", function={
        "module": "keras.src.backend.common.global_state", "class_name": "function",
        "config": "set_global_attribute"})), 4, "set_global_attribute"),
    "class_of_utils": (lambda: keras(layer("keras.utils", "PyDataset")), 4, "imports-unknown"),
    "function_of_layers": (lambda: keras(layer("keras.layers", "deserialize")), 4, "imports-unknown"),
    "dotted": (lambda: keras(layer("keras.layers", "Layer.__init__.__globals__")), 4, "imports-unknown"),
    "spec": (lambda: keras(layer("keras.layers", "X", a={"class_name": "__typespec__", "spec_name": "system",
                                                         "module": "os"})), 4, "os.system"),
    "module_alone": (lambda: keras(layer("keras.layers", "X", a={"module": "subprocess"})), 4, "subprocess"),
    "old_lambda": (lambda: old(function=[bytecode(), None, None], function_type="lambda"), 4, '__import__("os")'),
    "old_function": (lambda: old(function="system", function_type="function", module="os"), 4, "os.system"),
    "output_shape": (lambda: old(output_shape=[bytecode(), None, None], output_shape_type="lambda"), 4, '__import__'),
    "output_shape_function": (lambda: old(output_shape="system", output_shape_type="function",
                                          output_shape_module="os"), 4, "os.system"),
    "mask": (lambda: old(mask=[bytecode(), None, None], mask_type="lambda"), 4, '__import__("os")'),
    "code_anywhere": (lambda: old(whatever={"a": [1, bytecode()]}), 4, '__import__("os")'),
    "lambda_without_code": (lambda: old(function={"class_name": "__lambda__", "config": {}}), 4, "no text"),
    "vocabulary": (lambda: keras(layer("keras.layers", "StringLookup", vocabulary="/etc/passwd")), 4, "vocabulary"),
    "vocabulary_beside": (lambda: keras(layer("keras.layers", "StringLookup", vocabulary="words.txt")), 4, "words"),
    "address": (lambda: keras(layer("keras.layers", "X", a=["http://x"], b="https://x/y")), 4, "leads to"),
    "wrapper": (lambda: keras(layer("keras.layers", "TorchModuleWrapper", a="x")), 4, "TorchModuleWrapper"),
}


def _deep(inner: dict[str, Any], levels: int) -> dict[str, Any]:
    for _ in range(levels):
        inner = layer("keras.layers", "TimeDistributed", layer=inner)
    return inner


def old(**config: Any) -> bytes:
    return json.dumps(sequential({"class_name": "Lambda", "config": {"name": "l", **config}})).encode()


def lambda_of(source: str) -> bytes:
    code = base64.b64encode(marshal.dumps(eval(source).__code__)).decode()  # noqa: S307
    return old(function=[code, None, None], function_type="lambda")


FAR_LAMBDAS = ["lambda x: torch.sys.modules['os']", "lambda x: np.testing.runstring('1', {})",
               "lambda x: tf.compat.v1.write_file('a', x)", "lambda x: keras.utils.pickle.loads(x)",
               "lambda x: np.lib.npyio.DataSource().open(x)", "lambda x: tf.io.write_file('a', x)",
               "lambda x: torch.hub.load(x)", "lambda x: keras.src.saving.load_model(x)", "lambda x: x.tofile('a')",
               "lambda x: (lambda y: y.__class__)(x)", "lambda x: np.memmap('a')", "lambda x: np.loadtxt('a')"]
NEAR_LAMBDAS = ["lambda x: x * 2", "lambda x: tf.nn.relu(x)[:, 0]", "lambda x: keras.ops.mean(x, axis=-1)",
                "lambda x: K.expand_dims(x, 1)", "lambda x: tf.math.reduce_sum(x, axis=1, keepdims=True)",
                "lambda x: tf.reshape(x, (-1, x.shape[1]))", "lambda x: np.clip(x, 0, 1).astype('float32')"]


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(tmp_path: pathlib.Path, is_sanitized: bool, name: str) -> None:
    make, code, finding = GRAPHS[name]
    check_hostile(tmp_path, make(), code, finding, is_sanitized)


def test_saved_model_that_saves_itself(tmp_path: pathlib.Path) -> None:
    call_it = tf_node(b"call", b"StatefulPartitionedCall", b"filename", calls=b"save")
    check_harmless(tmp_path, saved_model([GIVEN, call_it], SAVES))


@pytest.mark.parametrize("custom", [b"FlexReadFile", b"FlexPyFunc", b"FlexSomebodysOp", b"Flex"])
def test_flex_operator(tmp_path: pathlib.Path, is_sanitized: bool, custom: bytes) -> None:
    check_hostile(tmp_path, lite(32, custom), 4, "operator", is_sanitized)


def test_unknown_operator_of_lite(tmp_path: pathlib.Path, is_sanitized: bool) -> None:
    check_hostile(tmp_path, lite(4000), 4, "is not known", is_sanitized)


@pytest.mark.parametrize("number, custom", [(32, b"FlexMatMul"), (32, b"Mine"), (9, b""), (150, b"")])
def test_plain_operator_of_lite(tmp_path: pathlib.Path, number: int, custom: bytes) -> None:
    check_harmless(tmp_path, lite(number, custom))


@pytest.mark.parametrize("name", KERAS)
def test_keras(tmp_path: pathlib.Path, is_sanitized: bool, name: str) -> None:
    make, code, finding = KERAS[name]
    check_hostile(tmp_path, make(), code, finding, is_sanitized)


@pytest.mark.parametrize("source", FAR_LAMBDAS)
def test_lambda_that_reaches_out(tmp_path: pathlib.Path, is_sanitized: bool, source: str) -> None:
    check_hostile(tmp_path, lambda_of(source), 4, "bytecode", is_sanitized)


@pytest.mark.parametrize("source", NEAR_LAMBDAS)
def test_lambda_that_computes(tmp_path: pathlib.Path, source: str) -> None:
    check_harmless(tmp_path, lambda_of(source))


# ---- archives whose loaders run more than pickles ----

MEMBERS: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "nemo_target": (lambda: tar(("model_config.yaml", b"a:\n  _target_: os.system\n"),
                                ("model_weights.ckpt", torch_archive(b"\x80\x02}."))), 4, "_target_"),
    "yaml_tag": (lambda: tar(("c.yml", b"a: !!python/object/apply:os.system [id]\n"),
                             ("w.ckpt", torch_archive(b"\x80\x02}."))), 4, "!!python"),
    "mar_handler": (lambda: archive(("MAR-INF/MANIFEST.json", b"{}"), ("handler.py", b"import os\n"),
                                    ("model.pt", torch_archive(b"\x80\x02}."))), 4, "Python source"),
    "core_ml": (lambda: field(1, 8) + field(2, field(1, b"x")) + field(500, field(1, b"y")), 2, "Core ML"),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_member(tmp_path: pathlib.Path, is_sanitized: bool, name: str) -> None:
    make, code, finding = MEMBERS[name]
    check_hostile(tmp_path, make(), code, finding, is_sanitized)


def test_plain_config_beside_weights(tmp_path: pathlib.Path) -> None:
    check_harmless(tmp_path, tar(("model_config.yaml", b"a: 1\n"), ("w.ckpt", torch_archive(b"\x80\x02}."))))
