"""What the documents show is what comes out."""

from __future__ import annotations

import pathlib
import re
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

import pellucid  # noqa: E402
from pellucid import _pellucid  # noqa: E402

EXAMPLE = (pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "skeleton-by-example.md").read_text()
MODEL, OF_ONE_CALL, OF_MORE = re.findall(r"^```python\n(.*?)^```$", EXAMPLE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def net(tmp_path_factory) -> Any:
    path = tmp_path_factory.mktemp("docs") / "by_example.py"
    path.write_text(MODEL)
    names: dict[str, Any] = {"__name__": "by_example"}
    exec(compile(MODEL, str(path), "exec"), names)
    return names["Net"]()


def test_skeleton_of_one_call(net) -> None:
    made = pellucid.skeleton(net, torch.randn(2, 4, 8), more=[])
    text = made.source.partition("from torch import nn\n")[2].partition("\n# pellucid: ")[0]
    assert text.strip() == OF_ONE_CALL.strip()


def test_skeleton_of_more_runs(net) -> None:
    made = pellucid.skeleton(net, torch.randn(2, 4, 8))
    assert made.report.good and OF_MORE in made.source


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the document shows the bytecode of Python 3.11")
def test_rows_of_the_log(net) -> None:
    """Each row that is shown is in the log, in this order."""
    shown = re.findall(r"^```\n(activation.*?)^```$", EXAMPLE, re.MULTILINE | re.DOTALL)[0].splitlines()
    middle = shown[0].index("activation", 1)
    made = pellucid.skeleton(net, torch.randn(2, 4, 8), more=[], verify=False)
    log = re.sub(r"(t\d+):[^\s=]*", r"\1", _pellucid.dump_trace(made.trace)).splitlines()
    for column in ([line[:middle].rstrip() for line in shown], [line[middle:] for line in shown]):
        at = log.index(column[0])
        for row in column:
            if row.strip() != "...":
                at = log.index(row, at) + 1
