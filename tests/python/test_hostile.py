"""Pickles that do something when they are opened (hostile_pickles.py): none is harmless, and each is shown to fire."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

from conftest import PROGRAM, ROOT

sys.path.insert(0, str(ROOT / "tools"))

import fire_hostile  # noqa: E402
import hostile_pickles  # noqa: E402

CASES = hostile_pickles.cases()


def verdicts(folder: pathlib.Path) -> dict[str, str]:
    for name, case in CASES.items():
        (folder / f"{name}.pkl").write_bytes(case.data)
    done = subprocess.run([PROGRAM, "audit", "--json", str(folder)], stdout=subprocess.PIPE, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {pathlib.Path(row["file"]).stem: row["verdict"] for row in rows if "file" in row}


def test_nothing_hostile_is_harmless(tmp_path: pathlib.Path) -> None:
    found = verdicts(tmp_path)
    assert found.keys() == CASES.keys()
    assert {name: verdict for name, verdict in found.items() if verdict not in ("dangerous", "suspicious")} == {}
    assert len(CASES) > 120


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.fires])
def test_it_fires(name: str) -> None:
    case = CASES[name]
    if case.needs and importlib.util.find_spec(case.needs) is None:
        pytest.skip(f"{case.needs} is not installed")
    fired, said = fire_hostile.fire(case, sys.executable)
    assert fired, said
