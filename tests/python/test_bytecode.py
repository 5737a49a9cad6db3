"""Opcode tables and decoding against each Python's own `dis`, and hostile bytecode."""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
COMMANDS = ["dis", "decompile"]
MAGIC = {"3.8": 3413, "3.9": 3425, "3.10": 3439, "3.11": 3495, "3.12": 3531, "3.13": 3571}


def interpreter(version: str) -> str:
    """A Python of that version; skips, aloud, where there is none."""
    folder = pathlib.Path(os.environ.get("PELLUCID_PYTHONS", pathlib.Path.home() / ".pyenv" / "versions"))
    found = sorted(folder.glob(f"{version}.*/bin/python"))
    path = str(found[0]) if found else shutil.which(f"python{version}")
    if not path:
        pytest.skip(f"no Python {version} on this machine")
    return path


# ---- the tables ----


def test_generated_tables_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "gen_opcodes.py", "--check"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_opcode_table_is_what_the_interpreter_says(version: str) -> None:
    drafted = subprocess.run(
        [interpreter(version), ROOT / "tools" / "dump_opcodes.py"], capture_output=True, text=True, check=True
    ).stdout
    assert (ROOT / "data" / "opcodes" / f"{version}.tsv").read_text() == drafted


# ---- decoding ----


def compare(expected: dict, got: dict, path: str) -> int:
    """The number of instructions compared, of a code object and all in it."""
    where = f"{path}: {expected['name']}"
    instructions = [row for block in got["blocks"] for row in block["instructions"]]
    assert len(instructions) == len(expected["rows"]), where
    for row, (offset, name, arg, target, line, position) in zip(instructions, expected["rows"]):
        assert (row["offset"], row["op"], row.get("arg", 0), row.get("target")) == (offset, name, arg, target), where
        assert (row["position"][0] or 0) == line, where
        assert position is None or row["position"] == position, where
        assert row.get("depth", 0) <= expected["stacksize"], where
    assert covered(got) == covered_by_table(expected), where
    for names in ("varnames", "cellvars", "freevars"):
        assert got[names] == expected[names], where
    assert len(got["code"]) == len(expected["code"]), where
    return len(instructions) + sum(compare(e, g, path) for e, g in zip(expected["code"], got["code"]))


def covered(got: dict) -> dict:
    """offset -> (handler's offset, depth, lasti), from the blocks of `pellucid dis --json`."""
    result = {}
    for block in got["blocks"]:
        handler = block["handler"]
        if handler:
            target = got["blocks"][handler["block"]]["instructions"][0]["offset"]
            for row in block["instructions"]:
                result[row["offset"]] = (target, handler["depth"], handler["lasti"])
    return result


def covered_by_table(expected: dict) -> dict:
    return {
        row[0]: (target, depth, lasti)
        for start, end, target, depth, lasti in expected["handlers"]
        for row in expected["rows"]
        if start <= row[0] < end
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_instructions_are_what_dis_says(pellucid, tmp_path, version: str) -> None:
    python = interpreter(version)
    script = pathlib.Path(__file__).with_name("dis_reference.py")
    done = subprocess.run([python, script, tmp_path, "12"], capture_output=True, text=True, check=True)
    reference = json.loads(done.stdout)
    shown = pellucid("dis", "--json", *reference)
    assert shown.code == 0, shown.err
    compared = 0
    for (path, expected), line in zip(reference.items(), shown.out.splitlines()):
        compared += compare(expected, json.loads(line), path)
    assert compared > 1000


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_instructions_of_pythons_that_are_not_here(pellucid, version: str) -> None:
    """tests/data/bytecode has a .pyc and what its Python's `dis` said of it: `dis_reference.py newest.py 3.X.pyc`."""
    folder = ROOT / "tests" / "data" / "bytecode"
    shown = pellucid("dis", "--json", folder / f"{version}.pyc")
    assert shown.code == 0, shown.err
    expected = json.loads((folder / f"{version}.json").read_text())
    assert compare(expected, json.loads(shown.out), version) > 400
    text = pellucid("dis", folder / f"{version}.pyc")
    assert text.code == 0 and "LOAD_FAST_BORROW" in text.out and "slice(1, 2, None)" in text.out
    assert re.search(r"LOAD_SPECIAL +__enter__", text.out) and "LOAD_SMALL_INT" in text.out


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_decompiles_loops_of_pythons_that_are_not_here(pellucid, version: str) -> None:
    """loops.py and a loops.3.X.pyc that each Python made of it."""
    folder = ROOT / "tests" / "data" / "bytecode"
    done = pellucid("decompile", folder / f"loops.{version}.pyc")
    assert done.code == 0, done.out
    assert done.out.strip() == (folder / "loops.py").read_text().strip()
    # what a `with` calls at its end takes two places of the stack, and is one again (normalise_halves.c)
    layout = pellucid("dis", "--normalised", folder / f"loops.{version}.pyc").out
    assert layout.count(" WITH\n") == 2 and layout.count("WITH_EXIT") == 2, layout


@pytest.mark.parametrize("name, version", [("templates", "3.14"), ("templates", "3.15"), ("lazy", "3.15")])
def test_decompiles_t_strings_and_lazy_imports(pellucid, name: str, version: str) -> None:
    folder = ROOT / "tests" / "data" / "bytecode"
    done = pellucid("decompile", folder / f"{name}.{version}.pyc")
    written = (folder / f"{name}.py").read_text()
    written = written.replace("{a = }", "a = {a !r}")  # what it is compiled to
    assert done.code == 0 and "incomplete" not in done.out, done.out
    assert re.sub(r"[\s(),]", "", done.out) == re.sub(r"[\s(),]", "", written)


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_decompiles_pythons_that_are_not_here(pellucid, version: str) -> None:
    """One function of the file (`contexts`) is not given a structure, and says so; the rest comes out as written."""
    done = pellucid("decompile", ROOT / "tests" / "data" / "bytecode" / f"{version}.pyc")
    assert done.code == 3 and done.out.count("# pellucid: incomplete") == 1, done.out
    for line in ("a[1:2] = b[1:2, ::3]", "sides: int = 4", 'name: "str"', "class Shape[T]:",
                 "def area(self, x: int, y: float = 0.5) -> float:", "if any(x > 1 for x in rows) and all(numbers):",
                 "return tuple(x for x in names), print(*rest, **more)", "async with source as opened:",
                 "return [y async for y in source]", "except* (OSError, ValueError) as group:"):
        assert line in done.out, line


def test_only_the_bytecode_folder_knows_versions() -> None:
    """normalise ends all differences between versions: behind it nothing may ask for one."""
    for path in sorted((ROOT / "src" / "decompile").glob("*.[ch]")):
        code = re.sub(r"/\*.*?\*/|//[^\n]*|\"[^\"\n]*\"", "", path.read_text(), flags=re.S)
        assert not re.search(r"\bversion\b|PEL_VERSION|PEL_PYTHON|\b3\.\d+", code), path.name


# ---- hostile input ----


def pyc(code: bytes, version: str = "3.11") -> bytes:
    return struct.pack("<H", MAGIC[version]) + b"\r\n" + bytes(12) + code


def dumped(source: str) -> bytes:
    """A .pyc of the running Python."""
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(source, "x.py", "exec"))


SOURCE = """
import os
def f(a, b=1, *c, d, **e):
    for x in a:
        try:
            with open(x) as file:
                yield [y for y in file if y > 1.5 or y in {1, 2, 3}]
        except (OSError, ValueError) as error:
            print(error, -1, 10**30, 2j, b"x", "\\xe9\\u20ac", ...)
        finally:
            del x
class C(f):
    def g(self):
        return super().g() + (lambda: self)()
"""

MAGICS = [
    (62211, "Python 2.7"), (3394, "Python 3.7"), (3379, "Python 3.6"), (3700, "Python 3.16"),
    (3600, "a preview release of Python 3.14"), (20121, "Python 1.5"),
    (3450, "a preview release of Python 3.11"), (240, "an unknown Python"),
]


@pytest.mark.parametrize(("magic", "name"), MAGICS)
def test_other_pythons_are_named(pellucid, magic: int, name: str) -> None:
    for command in COMMANDS:
        result = pellucid(command, "-", input=struct.pack("<H", magic) + b"\r\n" + bytes(40))
        assert result.code == 2
        assert name in result.err and "supported are 3.8 to 3.15" in result.err


BAD = {
    "empty": (b"", "only 0 bytes"),
    "text": (b"print('hello')\n", "no magic number"),
    "header": (pyc(b"")[:9], "ends inside its header"),
    "flags": (pyc(b"")[:4] + b"\x08" + bytes(11), "unknown flags"),
    "no code": (pyc(b"N"), "not a code object"),
    "unknown type": (pyc(b"q"), "no value begins with this byte"),
    "reference to nothing": (pyc(b"r\x05\0\0\0"), "not there yet"),
    "reference to itself": (pyc(b"\xa9\x01r\0\0\0\0"), "contains itself"),
    "negative size": (pyc(b"s\xff\xff\xff\xff"), "negative size"),
    "huge tuple": (pyc(b"(\xff\xff\xff\x7f"), "more items than bytes"),
    "huge string": (pyc(b"s\xff\xff\xff\x7f"), "truncated"),
    "recursion": (pyc(b")\x01" * 100_000), "nest deeper"),
    "recursion in dicts": (pyc(b"{" * 100_000), "nest deeper"),
    "huge int": (pyc(b"l\xff\xff\xff\x7f"), "an integer of more than"),
}


@pytest.mark.parametrize("name", BAD)
def test_broken_files_are_refused(pellucid, name: str) -> None:
    data, message = BAD[name]
    for command in COMMANDS:
        result = pellucid(command, "-", input=data)
        assert result.code == 2 and message in result.err, result.err
        assert "at byte" in result.err
        assert result.seconds < 2


def test_references_that_blow_up_are_refused(pellucid) -> None:
    """Ten references to a tuple of ten references to a tuple ...: 10**12 values in 600 bytes, written as constants."""
    nested = b"\xa9\x0a" + b"N" * 10  # the code object is reference 0, the outermost tuple 1, this one 12
    for level in range(1, 12):
        nested = b"\xa9\x0b" + nested + (b"r" + struct.pack("<I", 13 - level)) * 10
    head = struct.pack("<IIIII", 0, 0, 0, 1, 0)
    code = b"\xe3" + head + b"s\x02\0\0\0d\0" + b")\x01" + nested
    result = pellucid("dis", "-", input=pyc(code))
    assert result.code == 2 and "blow the value up" in result.err and result.seconds < 2


def test_every_truncation_is_refused(pellucid, tmp_path) -> None:
    whole = dumped(SOURCE)
    paths = []
    for end in range(0, len(whole), 7):
        path = tmp_path / f"{end}.pyc"
        path.write_bytes(whole[:end])
        paths.append(path)
    result = pellucid("dis", *paths)
    assert result.code == 2 and not result.out
    assert len(result.err.splitlines()) == len(paths)


def with_code(**fields: object) -> bytes:
    """A function's code object with other fields, of the running Python."""
    def f(x):
        try:
            return x + 1
        except ValueError:
            return 0
    code = f.__code__.replace(**fields)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


needs_311 = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11),
    reason="these bytes are made by hand for Python 3.11, which is not running this test"
)

PLAIN = b"\x97\0|\0\x01\0|\0\x01\0|\0S\0"  # no instruction has a cache
BROKEN_CODE = {
    "unknown opcode": (dict(co_code=b"\x97\0\xff\0S\0"), "no instruction with the code 0"),
    "runs off": (dict(co_code=b"\x97\0\x09\0"), "runs off the end"),
    "ends inside": (dict(co_code=b"\x97\0\x90\x01"), "ends inside an instruction"),
    "no constant": (dict(co_code=b"\x97\0d\x30S\0"), "no constant 48"),
    "no local": (dict(co_code=b"\x97\0|\x30S\0"), "no local variable 48"),
    "no name": (dict(co_code=b"\x97\0e\x30S\0"), "no name 48"),
    "jump out": (dict(co_code=b"\x97\0n\x30d\0S\0"), "a jump out of the code"),
    "jump back out": (dict(co_code=b"\x97\0\x8c\x30"), "a jump out of the code"),
    "into cache": (dict(co_code=b"\x97\0n\x03|\0|\0z\0\0\0S\0", co_exceptiontable=b""),
                   "into the middle of an instruction"),
    "cache": (dict(co_code=b"\x97\0|\0|\0z\0"), "inline cache"),
    "handlers overlap": (dict(co_code=PLAIN, co_exceptiontable=b"\x80\x03\x05\x00\x81\x03\x05\x00"), "overlap"),
    "handlers backwards": (dict(co_code=PLAIN, co_exceptiontable=b"\x85\x01\x05\x00\x81\x01\x05\x00"), "overlap"),
    "handler beyond": (dict(co_exceptiontable=b"\x80\x01\x7f\x3f\x00"), "beyond the end"),
    "handler ends": (dict(co_exceptiontable=b"\x80\x03"), "ends inside an entry"),
    "handler too deep": (dict(co_code=PLAIN, co_exceptiontable=b"\x80\x01\x05\x3e"), "deeper than the stack"),
    "line table": (dict(co_linetable=b"\x00"), "location table"),
    "arguments": (dict(co_argcount=0, co_varnames=(), co_nlocals=0, co_kwonlyargcount=0), "no local variable"),
}


@needs_311
@pytest.mark.parametrize("name", BROKEN_CODE)
def test_broken_code_is_refused(pellucid, name: str) -> None:
    fields, message = BROKEN_CODE[name]
    for command in COMMANDS:
        result = pellucid(command, "-", input=with_code(**fields))
        assert result.code == 2 and message in result.err, result.err


@needs_311
def test_unbalanced_stacks_are_refused(pellucid) -> None:
    underflow = with_code(co_code=b"\x97\0\x01\0|\0S\0", co_exceptiontable=b"")
    unequal = with_code(co_code=b"\x97\0|\0r\x01|\0|\0S\0", co_exceptiontable=b"")
    for command in (["dis", "--json"], ["decompile"]):
        result = pellucid(*command, "-", input=underflow)
        assert result.code == 2 and "takes more from the stack than there is" in result.err
        result = pellucid(*command, "-", input=unequal)
        assert result.code == 2 and "paths with unequal stacks meet" in result.err


def test_random_bytes_never_crash(pellucid, tmp_path) -> None:
    random_bytes = random.Random(7)
    whole = dumped(SOURCE)
    paths = []
    for i in range(300):
        data = bytearray(whole)
        if i % 3 == 0:
            data = bytearray(pyc(random_bytes.randbytes(200)))
        for _ in range(random_bytes.randrange(1, 6)):
            data[random_bytes.randrange(16, len(data))] = random_bytes.randrange(256)
        path = tmp_path / f"{i}.pyc"
        path.write_bytes(data)
        paths.append(path)
    for command in (["dis"], ["dis", "--json"], ["decompile"], ["decompile", "--json"]):
        result = pellucid(*command, *paths)
        assert result.code in (0, 2, 3), result.err[-2000:]
