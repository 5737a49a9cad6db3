"""Unknown names of pickles with their source at hand (--root): what calling them does, with the line."""

from __future__ import annotations

import json
import pathlib
import subprocess

import pytest

from conftest import PROGRAM

SOURCE = '''
def helper(path):
    return open(path).read()


class Bar:
    def __init__(self, path):
        self.data = helper(path)


class Plain:
    def __init__(self, x):
        self.x = x


def other():
    import os
    os.system("id")
'''


def audit(folder: pathlib.Path, data: bytes, *options: str) -> tuple[str, str]:
    (folder / "foo").mkdir(exist_ok=True)
    (folder / "foo" / "bar.py").write_text(SOURCE)
    (folder / "x.pkl").write_bytes(data)
    done = subprocess.run([PROGRAM, "audit", "--json", str(folder / "x.pkl"), *options], stdout=subprocess.PIPE,
                          check=False)
    return json.loads(done.stdout.splitlines()[0])["verdict"], done.stdout.decode()


@pytest.mark.parametrize("name, verdict, wanted", [
    (b"Bar", "suspicious", "calling foo.bar.Bar reads files: open, foo/bar.py:3"),
    (b"other", "dangerous", "calling foo.bar.other runs a process: os.system, foo/bar.py:18"),
    (b"Plain", "suspicious", "nothing that Plain mentions leaves memory"),
])
def test_unknown_name_with_its_source(tmp_path: pathlib.Path, name: bytes, verdict: str, wanted: str) -> None:
    found, out = audit(tmp_path, b"cfoo.bar\n" + name + b"\n(S'x'\ntR.", "--root", str(tmp_path))
    assert found == verdict, out
    assert wanted in out


def test_source_of_one_name_is_not_that_of_another(tmp_path: pathlib.Path) -> None:
    _, out = audit(tmp_path, b"cfoo.bar\nBar\n(S'x'\ntR.", "--root", str(tmp_path))
    assert "os.system" not in out


def test_without_roots_no_source_is_read(tmp_path: pathlib.Path) -> None:
    found, out = audit(tmp_path, b"cfoo.bar\nother\n(tR.")
    assert found == "suspicious"
    assert "bar.py" not in out


def test_names_lead_out_of_no_root(tmp_path: pathlib.Path) -> None:
    (tmp_path / "inner").mkdir()
    _, out = audit(tmp_path, b"c../foo/bar\nother\n(tR.", "--root", str(tmp_path / "inner"))
    assert "os.system" not in out
