"""The printer beside CPython: constants by their repr, and files that keep their tree at any width."""

from __future__ import annotations

import ast
import json
import pathlib
import random
import struct
import sys
import sysconfig
import unicodedata
import warnings

import pytest

VERSION = "%d.%d" % sys.version_info[:2]


def some_floats(rng: random.Random) -> list[float]:
    anything = (struct.unpack("<d", rng.randbytes(8))[0] for _ in range(2000))
    short = (rng.randrange(10 ** rng.randrange(1, 18)) / 10 ** rng.randrange(18) for _ in range(1000))
    powers = (2.0**exponent for exponent in range(-1074, 1024))
    return [abs(x) for x in (*anything, *short, *powers) if abs(x) < float("inf")]


def some_strings(rng: random.Random) -> list[str]:
    """Without characters that this Python's Unicode does not know: a newer one may know, and print, them."""
    limits = (0x80, 0x300, 0x3000, 0x20000)
    made = []
    for _ in range(2000):
        points = [rng.choice((rng.randrange(rng.choice(limits)), 34, 39, 92, 10)) for _ in range(rng.randrange(12))]
        made.append("".join(chr(p) for p in points if unicodedata.category(chr(p)) not in ("Cn", "Cs")))
    return made


def some_constants() -> list[object]:
    rng = random.Random(20)
    integers = [rng.getrandbits(rng.randrange(1, 400)) for _ in range(500)]
    blobs = [rng.randbytes(rng.randrange(12)) for _ in range(500)]
    return [*some_floats(rng), *some_strings(rng), *integers, *blobs]


def literal(value: object) -> str:
    return ascii(value) if isinstance(value, str) else repr(value)


def test_constants_have_cpythons_repr(pellucid) -> None:
    values = some_constants()
    source = "".join(literal(value) + "\n" for value in values).encode()
    tree = json.loads(pellucid("ast", "--json", "--python-version", VERSION, "-", input=source).out)
    found = [statement["value"]["value"] for statement in tree["body"]]
    assert len(found) == len(values) > 7000
    wrong = [(v, f) for v, f in zip(values, found) if f != {"t": type(v).__name__, "v": repr(v)}]
    assert not wrong, wrong[:5]


def test_printed_constants_read_back(pellucid) -> None:
    values = some_constants()
    source = "".join(f"x = {literal(value)}\n" for value in values).encode()
    text = pellucid("format", "--python-version", VERSION, "-", input=source).out
    found = [statement.value.value for statement in ast.parse(text).body]
    assert [repr(v) for v in found] == [repr(v) for v in values]


@pytest.mark.parametrize("width", [20, 60, 100])
def test_files_keep_their_tree(pellucid, width: int) -> None:
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    files = sorted(path for path in library.glob("*.py") if path.stat().st_size < 60_000)[::6]
    assert len(files) > 10
    for path in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = ast.dump(ast.parse(path.read_bytes()))
            result = pellucid("format", "--width", width, "--python-version", VERSION, path)
            assert result.code == 0, result.err
            assert ast.dump(ast.parse(result.out)) == before, path


def test_lines_fit_where_they_can(pellucid) -> None:
    """What is longer than the width has no place to break: it is a text, or one name after another."""
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    for name in ("argparse.py", "dataclasses.py", "tarfile.py"):
        text = pellucid("format", "--width", 100, "--python-version", VERSION, library / name).out
        lines_with_text: set[int] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) or isinstance(node, ast.JoinedStr):
                lines_with_text.update(range(node.lineno, node.end_lineno + 1))
        long = [n for n, line in enumerate(text.splitlines(), 1) if len(line) > 100 and n not in lines_with_text]
        assert not long, (name, long[:5])
