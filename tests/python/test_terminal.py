"""Terminals: colours unless they are unwanted, nothing that wraps, and in a pipe the whole text as it is."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest
from conftest import PROGRAM

COLOUR = re.compile(r"\033\[[0-9;]*m")


def on_terminal(command: list[str], columns: int = 60, **variables: str) -> str:
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=other, stderr=subprocess.DEVNULL,
                               env={**environment, "TERM": "xterm", **variables})
    os.close(other)
    said = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not part:
            break
        said += part
    process.wait()
    os.close(main)
    return said.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A checkpoint with long names, and a pickle whose command is long."""
    folder = tmp_path_factory.mktemp("terminal")
    long = "a_name_of_some_length_that_is_repeated_" * 4
    header = '{"%s.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' % long
    (folder / "long.safetensors").write_bytes(struct.pack("<Q", len(header)) + header.encode() + bytes(4))
    (folder / "bad.pkl").write_bytes(b"cposix\nsystem\n(S'echo " + b"word " * 20 + b"end'\ntR.")
    return folder


@pytest.mark.parametrize("arguments", [["tree", "long.safetensors"], ["tree", "--table", "long.safetensors"],
                                       ["audit", "bad.pkl"], ["audit", "long.safetensors"]])
def test_colours_and_width(files, arguments) -> None:
    command = [PROGRAM, *arguments[:-1], str(files / arguments[-1])]
    shown = on_terminal(command)
    assert COLOUR.search(shown)
    assert max(len(COLOUR.sub("", line)) for line in shown.splitlines()) <= 60
    for end in COLOUR.findall(shown)[-1:]:
        assert end == "\033[0m"
    plain = on_terminal(command, NO_COLOR="1")
    assert not COLOUR.search(plain) and plain == COLOUR.sub("", shown)
    assert not COLOUR.search(on_terminal(command, TERM="dumb"))
    piped = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert not COLOUR.search(piped) and max(map(len, piped.splitlines())) > 60


def test_an_audit_leaves_nothing_out(files) -> None:
    """Lines are broken, not cut: what a hostile file would do is there to its end."""
    command = [PROGRAM, "audit", str(files / "bad.pkl")]
    shown = COLOUR.sub("", on_terminal(command))
    piped = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert "".join(shown.split()) == "".join(piped.split()) and "end" in shown


@pytest.mark.parametrize("columns", [60, 80])
def test_a_table_keeps_its_columns(files, columns) -> None:
    """Long names are shortened, so that the numbers are there."""
    shown = on_terminal([PROGRAM, "tree", "--table", str(files / "long.safetensors")], columns, NO_COLOR="1")
    rows = shown.split("\n\n")[0].splitlines()
    assert all(re.search(r"\S +\S+$", row) and len(row) <= columns for row in rows)
    assert rows[0].split() == ["Module", "Elements", "Bytes"] and rows[-1].split()[-2:] == ["1", "4"]


def test_a_live_tree_fits_too(tmp_path) -> None:
    pytest.importorskip("torch", reason="live models are torch's")
    source = "from torch import nn\ndef build():\n    return nn.Sequential(nn.Conv2d(3, 4, 3))\n"
    (tmp_path / "wide.py").write_text(source)
    command = [PROGRAM, "tree", f"{tmp_path / 'wide.py'}:build", "--python", sys.executable]
    shown = on_terminal(command)
    lines = COLOUR.sub("", shown).splitlines()
    assert COLOUR.search(shown) and max(map(len, lines)) == 60 and any(line.endswith("…") for line in lines)
    assert not COLOUR.search(on_terminal(command, NO_COLOR="1"))
