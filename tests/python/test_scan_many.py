"""Folders are scanned by several processes, and sources are compared with whatever else gives a model tree."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import pty
import re
import subprocess
import sys

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("checkpoints are written with torch, and its sources are interpreted", allow_module_level=True)

import torch

NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, size=SIZE):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(size, size) for _ in range(2)])
        self.register_buffer("steps", torch.arange(4))


net = Net()
"""


def write(folder: pathlib.Path, name: str, size: int) -> pathlib.Path:
    path = folder / name
    path.write_text(NET.replace("SIZE", str(size)))
    return path


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    (tmp_path / "inside").mkdir()
    for i in range(20):
        write(tmp_path / "inside" if i % 3 == 0 else tmp_path, f"net{i:02}.py", i + 1)
    (tmp_path / "net05.py").write_text("def broken(:\n")
    return tmp_path


def test_what_several_files_import_is_imported_once_for_all(pellucid, tmp_path) -> None:
    package = tmp_path / "models"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "blocks.py").write_text("from torch import nn\n\n\ndef make(n):\n    return nn.Linear(n, n)\n")
    (package / "broken.py").write_text("raise RuntimeError('not today')\n")
    for i in (1, 2, 3):
        (package / f"net{i}.py").write_text(f"from .blocks import make\nfrom . import blocks\nnet = make({i})\n")
        (package / f"sad{i}.py").write_text(f"from .broken import make\nnet = make({i})\n")
    together = pellucid("scan", package, "-j1", "--json", "--python", sys.executable).out.splitlines()
    alone = [pellucid("scan", file, "--json", "--python", sys.executable).out.strip()
             for file in sorted(package.glob("*.py"))]
    summary = json.loads(together.pop(0))["summary"]
    assert [row["call"] for row in summary["built"]] == ["Linear(1, 1)", "Linear(2, 2)", "Linear(3, 3)"]
    assert together == alone
    found = [one for row in map(json.loads, together) for one in row["networks"] if one["state"]]
    assert [one["state"]["weight"] for one in found] == [[1, 1], [2, 2], [3, 3]]
    assert all("not today" in line for line in together if "/sad" in line or "/broken" in line)


def test_what_one_source_does_to_a_library_is_not_the_next_ones(pellucid, tmp_path) -> None:
    (tmp_path / "a.py").write_text("from torch import nn\nnn.Linear = nn.Identity\nnn.Module.__init__ = None\n")
    (tmp_path / "b.py").write_text("from torch import nn\nnet = nn.Linear(2, 3)\n")
    for options in ([tmp_path, "-j1"], [tmp_path, "-j2"],
                    ["-e", (tmp_path / "a.py").read_text(), "-e", (tmp_path / "b.py").read_text()]):
        last = json.loads(pellucid("scan", *options, "--json", "--python", sys.executable).out.splitlines()[-1])
        assert last["networks"][0]["state"] == {"weight": [3, 2], "bias": [3]}, options


def test_the_order_does_not_depend_on_who_is_first(pellucid, folder) -> None:
    one = pellucid("scan", folder, "-j1", "--json", "--python", sys.executable)
    four = pellucid("scan", folder, "-j4", "--json", "--python", sys.executable)
    assert one.out == four.out and one.err == four.err
    assert one.code == four.code == 3
    rows = [json.loads(line) for line in four.out.splitlines()[1:]]  # the first is the summary
    found = [row["networks"][0] for row in rows]
    assert [line["unknown"][0]["line"] for line in found if not line["tree"]] == [1], "net05.py is no Python"
    files = [line["tree"][0]["origin"]["file"] for line in found if line["tree"]]
    assert files == sorted(files) and len(files) == 19
    assert [line["state"]["blocks.0.weight"] for line in found[:2]] == [[1, 1], [4, 4]]


def test_whoever_started_it_may_ignore_ended_processes(folder) -> None:
    program = os.environ.get("PELLUCID", "pellucid")
    command = [program, "scan", str(folder), "-j4", "--json", "--python", sys.executable]
    ignoring = ("import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
                "os.execvp(sys.argv[1], sys.argv[1:])")
    done = subprocess.run([sys.executable, "-c", ignoring, *command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and len(done.stdout.splitlines()) == 21


def all_of(terminal: int) -> str:
    """What was written to a terminal that nobody has open any more; one read gives what the kernel has moved so far."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 100_000)
        except OSError:  # Linux's way to say that it has ended
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts).decode()


def test_progress_is_for_terminals(folder) -> None:
    program = os.environ.get("PELLUCID", "pellucid")
    ours, theirs = pty.openpty()
    command = [program, "scan", str(folder), "--python", sys.executable]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    said = all_of(ours)
    os.close(ours)
    assert done.returncode == 3 and "20 of 20 scanned" in said
    piped = subprocess.run(command, capture_output=True, text=True)
    assert "scanned" not in piped.stderr


def save(path: pathlib.Path, **changes) -> pathlib.Path:
    state = {f"blocks.{i}.{name}": torch.zeros(shape) for i in range(2)
             for name, shape in (("weight", (3, 3)), ("bias", 3))}
    torch.save({**state, "steps": torch.arange(4), **changes}, path)
    return path


def test_a_checkpoint_fits_the_code(pellucid, tmp_path) -> None:
    source, checkpoint = write(tmp_path, "net.py", 3), save(tmp_path / "net.pt")
    done = pellucid("compare", source, checkpoint, "--python", sys.executable)
    assert done.code == 0 and "5 tensors are the same in name, shape and dtype, 0 are not" in done.out


def test_the_words_of_load_state_dict(pellucid, tmp_path) -> None:
    source, checkpoint = write(tmp_path, "net.py", 3), tmp_path / "net.pt"
    shapes = {"weight": (3, 3), "bias": (3,)}
    state = {f"layers.{i}.{name}": torch.zeros(shape) for i in range(2) for name, shape in shapes.items()}
    torch.save({**state, "steps": torch.arange(4)}, checkpoint)
    done = pellucid("compare", source, checkpoint, "--python", sys.executable)
    assert done.code == 4
    assert '\tMissing key(s) in state_dict: "blocks.0.weight", "blocks.0.bias"' in done.out
    assert '\tUnexpected key(s) in state_dict: "layers.0.weight"' in done.out
    assert "hint: 'layers' in the checkpoint may be 'blocks' in the model: 4 tensors" in done.out
    (line,) = [line for line in done.out.splitlines() if line.startswith("load: ")]
    space: dict = {}
    exec(source.read_text(), space)
    exec(line.removeprefix("load: "), {"torch": torch, "model": space["net"]})
    swapped = pellucid("compare", checkpoint, source, "--python", sys.executable).out
    assert line in swapped and '\tMissing key(s) in state_dict: "blocks.0.weight"' in swapped
    save(checkpoint, **{"blocks.0.bias": torch.zeros(5)})
    mismatch = pellucid("compare", source, checkpoint, "--python", sys.executable).out
    with pytest.raises(RuntimeError) as error:
        space["net"].load_state_dict(torch.load(checkpoint, weights_only=True))
    said = mismatch[mismatch.index("\tsize mismatch"):].splitlines()[0].strip()
    assert said in str(error.value) and "load: " not in mismatch


def verdict_of(pellucid, *sides):
    done = pellucid("compare", *sides, "--python", sys.executable, "--json")
    return done.code, json.loads(done.out)["load_state_dict"]


def test_the_verdict_as_json_and_a_line_that_renames_whole_parts(pellucid, tmp_path) -> None:
    source, checkpoint = tmp_path / "net.py", tmp_path / "net.pt"
    source.write_text("import torch.nn as nn\n\nclass B(nn.Module):\n    def __init__(self):\n"
                      "        super().__init__()\n"
                      "        self.attention = nn.Linear(3, 3)\n        self.cross_attn = nn.Linear(3, 3)\n"
                      "net = nn.Sequential(B())\n")
    space: dict = {}
    exec(source.read_text(), space)
    state = space["net"].state_dict()
    torch.save({key.replace(".attention.", ".attn."): value for key, value in state.items()}, checkpoint)
    code, verdict = verdict_of(pellucid, source, checkpoint)
    assert code == 4 and verdict["strict"] == "raises" and verdict["mismatched"] == []
    assert verdict["missing"] == ["0.attention.weight", "0.attention.bias"]
    assert verdict["unexpected"] == ["0.attn.weight", "0.attn.bias"]
    assert verdict["renames"] == [{"checkpoint": "attn", "model": "attention", "tensors": 2}]
    exec(verdict["load"], {"torch": torch, "re": re, "model": space["net"]})  # cross_attn keeps its name
    assert verdict_of(pellucid, checkpoint, source)[1] == verdict
    torch.save({f"model.{key}": value for key, value in state.items()}, checkpoint)
    code, verdict = verdict_of(pellucid, source, checkpoint)
    assert verdict["strict"] == "raises"  # as torch does
    exec(verdict["load"], {"torch": torch, "model": space["net"]})
    torch.save(state, checkpoint)
    assert verdict_of(pellucid, source, checkpoint)[1]["strict"] == "loads"
    done = pellucid("compare", checkpoint, checkpoint, "--json")
    assert done.code == 0 and "load_state_dict" not in json.loads(done.out)


def test_what_the_source_leaves_open_is_no_fit(pellucid, tmp_path) -> None:
    source, checkpoint = write(tmp_path, "net.py", 3), save(tmp_path / "net.pt")
    text = source.read_text()
    for opened in ("Net(absent.SIZE)", "nn.Sequential(Net(3), absent.Layer(3))"):
        source.write_text("import absent\n" + text[: text.rindex("Net(")] + opened + "\n")
        done = pellucid("compare", source, checkpoint, "--python", sys.executable)
        assert done.code in (3, 4) and "would take it\n" not in done.out, opened


def test_or_it_does_not(pellucid, tmp_path) -> None:
    source = write(tmp_path, "net.py", 3)
    checkpoint = save(tmp_path / "net.pt", **{"blocks.1.bias": torch.zeros(4), "steps": torch.zeros(4),
                                              "more": torch.zeros(1)})
    done = pellucid("compare", source, checkpoint, "--python", sys.executable, "--json")
    found = {row["name"]: row["kind"] for row in json.loads(done.out)["differences"]}
    assert done.code == 4 and found == {"blocks.1.bias": "shape", "steps": "dtype", "more": "only_b"}
    assert pellucid("compare", source, checkpoint, "--set", "size=4", "--python", sys.executable).code == 4


def test_of_several_networks_the_nearest(pellucid, tmp_path) -> None:
    source = write(tmp_path, "net.py", 3)
    source.write_text(source.read_text() + "first = nn.Linear(2, 2)\nlast = Net(4)\n")
    assert pellucid("compare", source, save(tmp_path / "net.pt"), "--python", sys.executable).code == 0


def test_code_and_trees(pellucid, tmp_path) -> None:
    code = "import torch; torch.nn.Linear(3, 3)"
    tree = tmp_path / "tree.json"
    tree.write_text(pellucid("scan", "-e", code, "--json", "--python", sys.executable).out)
    assert pellucid("compare", "-e", code, tree, "--python", sys.executable).code == 0
    assert pellucid("compare", "-e", code, "-e", code.replace("3)", "4)"), "--python", sys.executable).code == 4
    assert pellucid("compare", tree).code == 1
    assert pellucid("compare", "-e", code, tmp_path / "absent.pt").code == 2


def test_a_recorded_run(pellucid, tmp_path) -> None:
    from pellucid import _pellucid
    source = write(tmp_path, "net.py", 3)
    forward = "    def forward(self, x):\n        return self.blocks[1](self.blocks[0](x))\n"
    source.write_text(source.read_text().replace("\n\nnet = Net()", forward))
    names: dict = {"__name__": "net"}
    exec(compile(source.read_text(), str(source), "exec"), names)
    trace = tmp_path / "net.trace"
    recorder = _pellucid.Recorder(names["Net"]())
    recorder.run("given", (torch.zeros(1, 3),))
    trace.write_bytes(recorder.log_bytes())
    done = pellucid("compare", source, trace, "--python", sys.executable)
    assert done.code == 0 and "5 tensors are the same" in done.out


def test_without_processes_of_their_own_nothing_changes(pellucid, tmp_path: pathlib.Path) -> None:
    """As on systems that can't fork: one after the other, and none sees what another left in a module."""
    (tmp_path / "common.py").write_text("import torch.nn as nn\nseen = []\n")
    for i in range(4):
        (tmp_path / f"m{i}.py").write_text(
            "import common\n"
            "import torch.nn as nn\n"
            f"common.seen.append({i})\n"
            "net = nn.Linear(len(common.seen), 7)\n"
        )
    files = [tmp_path / f"m{i}.py" for i in range(4)]
    apart, here = pellucid("scan", "-j", 2, "--json", *files), pellucid("scan", "-j", 0, "--json", *files)
    assert (apart.code, apart.out) == (here.code, here.out)
    assert here.out.count('"in_features"') == apart.out.count('"in_features"')
