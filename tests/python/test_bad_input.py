"""Whatever is given as source: a clear error with its position, exit code 2, at once, in bounded memory."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import PROGRAM

MILLION = 1_000_000
CASES = {
    # name: (bytes, where, what the message says)
    "not UTF-8": (b"x = 1\ny = '\xff'\n", "2:6", "utf-8"),
    "overlong UTF-8": (b"x = '\xc0\x80'\n", "1:6", "utf-8"),
    "not its declared encoding": (b"# coding: ascii\nx = '\xe9'\n", "2:6", "ascii"),
    "unknown encoding": (b"# coding: klingon\n", "1:", "klingon"),
    "encoding and byte order mark disagree": (b"\xef\xbb\xbf# coding: latin-1\n", "1:", "utf-8|byte order"),
    "NUL": (b"x = 1\ny = \x002\n", "2:5", "null|NUL"),
    "only NULs": (b"\0" * MILLION, "1:1", "null|NUL"),
    "100,000 parentheses": (b"(" * 100_000 + b")" * 100_000 + b"\n", "1:", "nest|too deep|too many"),
    "100,000 open parentheses": (b"(" * 100_000, "1:", "nest|too deep|too many"),
    "100,000 brackets and braces": (b"[{" * 50_000, "1:", "nest|too deep|too many"),
    "a million unary operators": (b"x = " + b"-" * MILLION + b"1\n", "1:", "nest|too deep|too many"),
    "a million nots": (b"x = " + b"not " * MILLION + b"1\n", "1:", "nest|too deep|too many"),
    "a chain of 100,000 powers": (b"x = " + b"1**" * 100_000 + b"1\n", "1:", "nest|too deep|too many"),
    "a chain of 100,000 conditionals": (b"x = " + b"1 if 1 else " * 100_000 + b"1\n", "1:", "nest|too deep|too many"),
    "100,000 lambdas": (b"x = " + b"lambda:" * 100_000 + b"1\n", "1:", "nest|too deep|too many"),
    "100,000 nested f-strings": (b"f'{" * 100_000, "1:", "nest|too deep|too many|f-string|string"),
    "deep indentation": (b"".join(b" " * i + b"if 1:\n" for i in range(2000)), "", "nest|indent|too many"),
    "ends inside a string": (b"x = 1\ny = 'abc\n", "2:5", "string"),
    "ends inside a long string": (b"x = 1\ny = '''abc\n\n", "2:5", "string"),
    "ends inside an f-string": (b"y = f'{x", "", "string|expect|never closed"),
    "ends inside a parenthesis": (b"x = (1,\n", "1:5", "never closed"),
    "ends after a backslash": (b"x = \\", "", "EOF|continuation"),
    "ends after def": (b"def f():\n", "", "expected an indented block"),
    "wrong unindent": (b"if a:\n        b\n    c\n", "3:", "unindent"),
    "wrong bracket": (b"x = (1]\n", "1:", "does not match|closing"),
}


def check(result, name: str, where: str, what: str, is_sanitized: bool) -> None:
    first = result.err.splitlines()[0] if result.err else ""
    assert result.code == 2, (result.code, result.err[:500])
    assert first.startswith(f"{name}:{where}"), first
    assert re.match(re.escape(name) + r":\d+:\d+: \S", first), first
    assert re.search(what, first, re.IGNORECASE), first
    assert result.seconds < (10 if is_sanitized else 0.5), f"took {result.seconds:.2f} s"
    assert len(result.err) < 2000, "the message drowns the reader"


@pytest.mark.parametrize("case", CASES)
def test_bad_source(case: str, pellucid, is_sanitized: bool) -> None:
    text, where, what = CASES[case]
    check(pellucid("ast", "-q", "-", input=text), "<stdin>", where, what, is_sanitized)


def test_the_caret_is_under_the_place(pellucid) -> None:
    result = pellucid("ast", "-", input="x = 1\nété = 'naïve' $ 2\n".encode())
    lines = result.err.splitlines()
    assert lines[0].startswith("<stdin>:2:15: ")
    assert lines[1] == "    été = 'naïve' $ 2"
    assert lines[2] == "    " + " " * 14 + "^"


def test_what_is_shown_cannot_drive_the_terminal(pellucid) -> None:
    result = pellucid("ast", "-", input=b"x = '\x1b[31m' \xc2\x9b $\n")
    assert result.code == 2 and "\x1b" not in result.err and "\x9b" not in result.err


def test_long_lines_are_cut_around_the_place(pellucid) -> None:
    result = pellucid("ast", "-", input=b"x = " + b"1+" * 5000 + b"$" + b"+1" * 5000 + b"\n")
    line, caret = result.err.splitlines()[1:3]
    assert len(line) < 200 and line[caret.index("^")] == "$"


def test_directory(pellucid, tmp_path: pathlib.Path, is_sanitized: bool) -> None:
    check(pellucid("ast", tmp_path), str(tmp_path), "1:1", "is a directory", is_sanitized)


def test_missing(pellucid, tmp_path: pathlib.Path, is_sanitized: bool) -> None:
    path = tmp_path / "nowhere.py"
    check(pellucid("ast", path), str(path), "1:1", "no such file", is_sanitized)


def test_unreadable(tmp_path: pathlib.Path, pellucid, is_sanitized: bool) -> None:
    path = tmp_path / "secret.py"
    path.write_text("x = 1\n")
    path.chmod(0)
    if not os.access(path, os.R_OK):
        check(pellucid("ast", path), str(path), "1:1", "permission denied", is_sanitized)
        return
    # root reads everything: ask as nobody, who may not even reach the program by its path
    script = (
        "import os, sys; program = os.open(sys.argv[1], os.O_RDONLY)\n"
        "os.setgid(65534); os.setuid(65534); os.execve(program, sys.argv[1:], os.environ)"
    )
    command = [sys.executable, "-c", script, PROGRAM, "ast", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"{path}:1:1: cannot be read: Permission denied\n")


@pytest.mark.parametrize("content", ["zeros", "source"])
def test_half_a_gigabyte(content: str, tmp_path: pathlib.Path, pellucid, is_sanitized: bool) -> None:
    path = tmp_path / "big.py"
    with path.open("wb") as file:
        if content == "source":
            file.write(b"x = 1\n" * 1000)
        file.truncate(500 * MILLION)
    check(pellucid("ast", path), str(path), "1:1", "larger than the limit", is_sanitized)


def test_half_a_gigabyte_through_a_pipe(is_sanitized: bool) -> None:
    script = "import sys\nline = b'x = 1\\n' * 100000\nfor i in range(834): sys.stdout.buffer.write(line)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
        done = subprocess.run([PROGRAM, "ast", "-q", "-"], stdin=writer.stdout, capture_output=True,
                              text=True, check=False)
        writer.stdout.close()
    assert done.returncode == 2 and "larger than the limit" in done.stderr


def test_endless_device(pellucid, is_sanitized: bool) -> None:
    check(pellucid("ast", "/dev/zero"), "/dev/zero", "1:1", "larger than the limit", is_sanitized)


MEMORY_PROBE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], input=sys.stdin.buffer.read(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


@pytest.mark.parametrize("case", CASES)
def test_memory_is_bounded(case: str, is_sanitized: bool) -> None:
    if is_sanitized:
        pytest.skip("AddressSanitizer's own memory hides the program's")
    command = [sys.executable, "-c", MEMORY_PROBE, PROGRAM, "ast", "-q", "-"]
    done = subprocess.run(command, input=CASES[case][0], capture_output=True, check=True)
    code, megabytes = map(int, done.stdout.split())
    assert code == 2 and megabytes < 200


def test_errors_as_json(pellucid, tmp_path: pathlib.Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("x\n")
    bad.write_text("x = = 1\n")
    result = pellucid("ast", "--json", good, bad, good)
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert result.code == 2
    assert [list(line)[0] for line in lines] == ["_type", "error", "_type"]
    error = lines[1]["error"]
    assert (error["file"], error["line"], error["column"], error["code"]) == (str(bad), 1, 5, "SYNTAX")
    assert result.err.startswith(f"{bad}:1:5: {error['message']}\n    x = = 1\n        ^\n")
