"""Sources that change what the interpreter is looking at, or ask C's printf for what Python refuses: no crash, and no
size that Python would not give."""

from __future__ import annotations

import json
import sys

import pytest

LISTS = {
    "a slice is given what clears the list": ("a = [1, 2, 3]", "def g():\n    a.clear()\n    yield from (1, 2, 3)",
                                              "a[0:3] = g()"),
    "a step, too": ("a = [1, 2, 3, 4]", "def g():\n    a.clear()\n    yield from (1, 2)", "a[::2] = g()"),
    "an index clears the list that it is for": (
        "a = [1, 2, 3]", "class X:\n    def __index__(self):\n        a.clear()\n        return 0", "del a[X()]"),
    "an item is stored": (
        "a = [1, 2, 3]", "class X:\n    def __index__(self):\n        a.clear()\n        return 2", "a[X()] = 5"),
    "an item is read": (
        "a = [1, 2, 3]", "class X:\n    def __index__(self):\n        a.clear()\n        return 2", "b = a[X()]"),
    "the end of a slice clears it": (
        "a = [1, 2, 3]", "class X:\n    def __index__(self):\n        a.clear()\n        return 3", "b = a[0:X()]"),
    "the least step": ("a = [1, 2, 3]", "b = a[::-2**63]", "c = a[:]"),
}


def scan(pellucid, tmp_path, code: str):
    pytest.importorskip("torch", reason="torch's sources are interpreted, and there are none here")
    (tmp_path / "net.py").write_text(code)
    done = pellucid("scan", tmp_path / "net.py", "--python", sys.executable, "--json")
    assert done.code in (0, 3), done  # not by a signal
    return done.code, json.loads(done.out)["networks"]


@pytest.mark.parametrize("lines", LISTS.values(), ids=LISTS)
def test_lists_that_change_under_an_index(pellucid, tmp_path, lines):
    code = "\n".join(["from torch import nn", *lines, "model = nn.Linear(2, 3)"])
    result, networks = scan(pellucid, tmp_path, code)
    assert networks[0]["totals"]["parameters"] == 9
    if lines[-1] == "a[0:3] = g()":
        assert result == 0, "Python takes it"


@pytest.mark.parametrize("letter", "abcdefghijklmnopqrstuvwxyzEFGX%,_0")
@pytest.mark.parametrize("value", ["1.5", "3", "True", "'x'", "None"])
def test_format_codes(pellucid, tmp_path, value, letter):
    """What Python refuses is not known here; what it gives is what comes out."""
    result, networks = scan(pellucid, tmp_path, f"from torch import nn\nx = format({value}, '4{letter}')\n"
                                                "model = nn.Linear(len(x), 1, bias=False)")
    try:
        wanted = len(format(eval(value), f"4{letter}"))
    except (ValueError, TypeError):
        assert result == 3
        return
    assert networks[0]["totals"]["parameters"] == wanted and result == 0


def test_many_questions_with_long_texts(pellucid, tmp_path):
    """Each layer's condition is what its run decided: hundreds of questions took all memory."""
    rows = ["import somewhere", "from torch import nn", "layers = []"]
    rows += [f"if somewhere.ask_{i}('{'long ' * 60}'): layers.append(nn.Linear({i + 1}, 3))" for i in range(350)]
    code, networks = scan(pellucid, tmp_path, "\n".join([*rows, "model = nn.Sequential(*layers)"]))
    assert code == 3 and networks[0]["tree"] and not networks[0]["totals"]["exact"]
    assert " more decisions" in json.dumps(networks[0]["tree"])
