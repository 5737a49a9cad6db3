"""Hostile files that hide what they do from a reader that looks too briefly: detours to nested pickles, pickles without
a mark, code deep inside configs, graphs and templates. What a reader does not know is never harmless."""

from __future__ import annotations

import base64
import codecs
import json
import pathlib
import pickle
import struct
import zlib
from typing import Callable

import pytest

from test_audit import CALL, audit, check_harmless, check_hostile, torch_archive
from test_audit_formats import CALLS, gguf, template

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


@pytest.mark.parametrize("name", PICKLES)
def test_hidden_pickle(tmp_path: pathlib.Path, is_sanitized: bool, name: str) -> None:
    make, code, finding = PICKLES[name]
    check_hostile(tmp_path, make(), code, finding, is_sanitized)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_file(tmp_path: pathlib.Path, name: str) -> None:
    check_harmless(tmp_path, HARMLESS[name]())


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
