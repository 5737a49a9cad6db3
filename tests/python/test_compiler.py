"""torch.compile opened: the program stays as it is, the files can be read, debuggers stop in them."""

from __future__ import annotations

import ast
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pellucid = pytest.importorskip("pellucid", reason="the extension is not built for this Python")

from dynamo_programs import PROGRAMS, run  # noqa: E402
from torch._dynamo.eval_frame import _debug_get_cache_entry_list as cache_entries  # noqa: E402

FAST = {"plain", "data_if", "break_in_expression", "no_grad_if", "own_context_manager", "try_finally", "closure_written",
        "keyword_arguments", "module"}


def some_fast(names):
    return [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch.set_grad_enabled(True)


class Watch:
    """Remembers what Dynamo generated, before anybody else sees it."""

    def __enter__(self):
        self.seen = []
        self.handle = torch._dynamo.convert_frame.register_bytecode_hook(lambda old, new: self.seen.append((old, new)))
        return self

    def __exit__(self, *error):
        self.handle.remove()


def check_files(folder: pathlib.Path) -> None:
    files = sorted(folder.rglob("*.py"))
    assert files
    for path in files:
        ast.parse(path.read_text(), str(path))
    for name in ("README.txt", "index.html"):
        assert (folder / name).stat().st_size > 100
    assert "http" not in (folder / "index.html").read_text().replace("https://meta-pytorch", "")


def check_linked(watch: Watch, session, folder: pathlib.Path) -> None:
    """What Dynamo runs is what it generated, instruction by instruction, and its lines are in our files."""
    assert len([made for made in session.compilations if made.linked and made.complete]) == len(watch.seen)
    for old, new in watch.seen:
        found = [entry.code for entry in cache_entries(old) if entry.code.co_code == new.co_code]
        assert found, f"{old.co_name}: other instructions run than those that were generated"
        for code in found:
            assert code.co_filename.startswith(str(folder)) and code.co_consts == new.co_consts
            lines = pathlib.Path(code.co_filename).read_text().splitlines()
            for _, _, line in code.co_lines():
                assert line is None or lines[line - 1].strip() and not lines[line - 1].lstrip().startswith("#")


@pytest.mark.parametrize("name", some_fast(PROGRAMS))
def test_program_is_unchanged(name: str, tmp_path: pathlib.Path) -> None:
    function, calls = PROGRAMS[name]()
    expected = run(torch.compile(function, backend="eager"), calls)
    torch._dynamo.reset()
    function, calls = PROGRAMS[name]()
    with Watch() as watch, pellucid.prepare_debug(tmp_path) as session:
        got = run(torch.compile(function, backend="eager"), calls)
    assert not session.notes
    assert got == expected
    check_linked(watch, session, tmp_path)
    check_files(tmp_path)


# ---- debuggers ----

TOY = """
import sys, torch, pellucid

def toy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b

compiled = torch.compile(toy, backend=sys.argv[2])
def call(sign):
    return compiled(torch.ones(10), sign * torch.ones(10))

with pellucid.prepare_debug(sys.argv[1]):
    call(1)
    call(-1)
"""


def script(folder: pathlib.Path, text: str) -> pathlib.Path:
    path = folder / "program.py"
    path.write_text(TOY + textwrap.dedent(text))
    return path


def line_with(path: pathlib.Path, text: str) -> int:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if text in line:
            return number
    raise AssertionError(f"{path} has no {text!r}")


def run_script(path: pathlib.Path, *arguments: object, commands: str = "", **variables: str) -> str:
    done = subprocess.run([sys.executable, str(path), *map(str, arguments)], input=commands, capture_output=True, text=True,
                          timeout=300, check=False, env={**os.environ, "OMP_NUM_THREADS": "1", **variables})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_pdb_stops_in_dumped_files(tmp_path: pathlib.Path) -> None:
    dump = tmp_path / "dump"
    path = script(tmp_path, """
        import pdb
        from pellucid._compiler_compat import compiling_nothing
        with compiling_nothing():
            pdb.set_trace()
            call(1)
        print("the end")
        """)
    # A first run writes the files, so that the lines to stop at are known; a second one writes them again.
    run_script(path, dump, "eager", commands="c\n")
    generated = dump / "__transformed_code_0_for_toy.py"
    resumed = dump / "__transformed_code_0_for_torch_dynamo_resume_in_toy_at_6.py"
    graph = dump / "00_toy" / "0_0.01_captured_graph.py"
    places = [(generated, line_with(generated, "graph_out_0 =")), (resumed, line_with(resumed, "graph_out_0 =")),
              (graph, line_with(graph, "abs_1 ="))]
    commands = "".join(f"b {file}:{line}\n" for file, line in places)
    commands += "c\np 'l_a_', l_a_.shape\nc\np 'a', a.shape, tmp_2\nn\np 'out', len(graph_out_0)\nw\nc\nargs\nc\n"
    out = run_script(path, dump, "eager", commands=commands)
    stops = [line for line in out.splitlines() if "> " + str(dump) in line]
    assert [f"{file}({line})" in stop for (file, line), stop in zip([places[2], places[0]], stops)] == [True, True]
    assert f"{resumed}({places[1][1]})" in out
    assert "('l_a_', torch.Size([10]))" in out and "('a', torch.Size([10])" in out and "('out', 2)" in out
    assert "the end" in out
