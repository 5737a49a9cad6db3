"""Programs of tools/fuzz_bytecode.py, always the same ones: bytecode that no compiler made."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import conftest
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import roundtrip  # noqa: E402

PROGRAMS = 60


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.8", "3.11", "3.12", "3.13"])
def test_no_program_comes_out_wrong(version: str) -> None:
    python = roundtrip.python_for(version)
    if not python:
        pytest.skip(f"no Python {version} on this machine")
    done = subprocess.run([python, str(ROOT / "tools" / "fuzz_bytecode.py"), "-n", str(PROGRAMS), "--json", "--bin",
                           str(conftest.PROGRAM)], capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, PYTHONPATH=""))
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    wrong = [row for row in rows if row[1] in ("wrong", "broken")]
    assert not wrong and done.returncode == 0, (wrong[:3], done.stderr[-2000:])
    # most of what no compiler laid out is marked; those texts run, too, where they say that they do the same
    assert len(rows) > PROGRAMS // 2 and sum(row[1] in ("equal", "marked") for row in rows) > 9
    assert any(row[1] == "equal" for row in rows)
