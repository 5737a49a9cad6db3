"""The package around its jobs: what importing it does, its errors, its stubs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import threading
import time

import pytest
from conftest import ROOT

import pellucid
from pellucid import _pellucid


def test_importing_does_not_import_torch() -> None:
    code = "import sys, pellucid; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_stubs_name_what_is_there() -> None:
    from pellucid import _pellucid

    stubs = ast.parse((ROOT / "python" / "pellucid" / "_pellucid.pyi").read_text())
    described = set()
    for node in stubs.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            described.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            described.add(node.target.id)
    described = {name for name in described if name == "__version__" or not name.startswith("_")}
    there = {name for name in vars(_pellucid) if name == "__version__" or not name.startswith("_")}
    assert described == there


def test_errors_have_positions() -> None:
    with pytest.raises(pellucid.Error) as caught:
        _pellucid.parse_json("x = 1\né = = 2\n", filename="a.py")
    error = caught.value
    assert (error.code, error.file, error.line, error.column, error.offset) == ("SYNTAX", "a.py", 2, 5, 11)
    assert str(error) == f"a.py:2:5: {error.message}"
    assert isinstance(error, ValueError)


@pytest.mark.parametrize("source", ["x = 'é'", "x = 'é'".encode(), bytearray("x = 'é'".encode()),
                                    memoryview("x = 'é'".encode())])
def test_source_may_be_text_or_bytes(source) -> None:
    assert json.loads(_pellucid.parse_json(source))["body"][0]["value"]["value"] == {"t": "str", "v": "'é'"}


def test_text_is_already_decoded() -> None:
    """A coding comment says how bytes are to be read; text has been read."""
    tree = json.loads(_pellucid.parse_json("# coding: latin-1\nx = 'é'"))
    assert tree["body"][0]["value"]["value"]["v"] == "'é'"
    tree = json.loads(_pellucid.parse_json("# coding: latin-1\nx = 'é'".encode("latin-1")))
    assert tree["body"][0]["value"]["value"]["v"] == "'é'"


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="str or bytes"):
        _pellucid.parse_json(3)
    for version in ("3.7", "3.16", "2.7", "x", (3, 7)):
        with pytest.raises(ValueError, match="python_version"):
            _pellucid.parse_json("x", python_version=version)
    assert _pellucid.parse_json("x", python_version=(3, 9)) == _pellucid.parse_json("x", python_version="3.9")


def test_formatting() -> None:
    assert _pellucid.format_source("x=f( a,b )") == "x = f(a, b)\n"


def test_nothing_leaks() -> None:
    resource = pytest.importorskip("resource")
    source = "x = [" + "1, " * 1000 + "]\n"
    for wrong in ("", "$"):
        for round_ in range(2):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(300):
                try:
                    _pellucid.parse_json(source + wrong)
                except pellucid.Error:
                    pass
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 5000  # KB


def test_the_interpreter_runs_on_meanwhile() -> None:
    """Pure C work releases the GIL: a Python thread makes progress while a big source is parsed."""
    source = "x = [(a + b) * c for a in b]\n" * 100_000
    done = threading.Event()
    ticks = 0

    def parse() -> None:
        _pellucid.parse_json(source)
        done.set()

    worker = threading.Thread(target=parse)
    worker.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    worker.join()
    assert ticks >= 5
