"""`pellucid scan --sarif`: the errors of scans for code scanning."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch's sources are interpreted, and there are none here", allow_module_level=True)

NET = """\
import nowhere_at_all
from torch import nn
model = nn.Sequential(
    nn.Linear(16, 32),
    nn.Linear(31, 4))
"""


def results(done) -> dict[str, dict]:
    document = json.loads(done.out)
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    for row in run["results"]:
        assert rules[row["ruleIndex"]]["id"] == row["ruleId"]
    return {row["ruleId"]: row for row in run["results"]}


def line_of(place: dict) -> int:
    return place["physicalLocation"]["region"]["startLine"]


def test_errors_of_a_folder(pellucid, tmp_path):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "bad.py").write_text("x = 1\ny = = 2\n")
    done = pellucid("scan", tmp_path, "--python", sys.executable, "--sarif")
    assert done.code == 4
    found = results(done)
    assert set(found) == {"shape", "unreadable", "unknown-import"}
    assert found["shape"]["level"] == "error" and found["unknown-import"]["level"] == "note"
    assert line_of(found["shape"]["locations"][0]) == 5
    assert [line_of(place) for place in found["shape"]["relatedLocations"]] == [4]
    assert line_of(found["unreadable"]["locations"][0]) == 2
    assert found["unreadable"]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("/bad.py")
    artifacts = json.loads(done.out)["runs"][0]["artifacts"]
    assert [row["location"]["uri"].rsplit("/", 1)[1] for row in artifacts] == ["bad.py", "net.py"]


def test_one_file_and_none(pellucid, tmp_path):
    (tmp_path / "net.py").write_text("from torch import nn\nmodel = nn.Linear(2, 3)\n")
    done = pellucid("scan", tmp_path / "net.py", "--python", sys.executable, "--sarif")
    assert done.code == 0 and results(done) == {}
    done = pellucid("scan", tmp_path / "absent.py", "--sarif")
    assert done.code == 2 and set(results(done)) == {"unreadable"}
    done = pellucid("scan", "-e", "from torch import nn; m = nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 5))",
                    "--python", sys.executable, "--sarif", "--forward", "7x2")
    assert done.code == 4 and set(results(done)) == {"shape"}


def test_not_with_source(pellucid, tmp_path):
    assert pellucid("scan", "-e", "x = 1", "--source", "--sarif").code == 1
