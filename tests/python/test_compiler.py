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
    for path in sorted(folder.rglob("*.py")):
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
    assert watch.seen or name == "loop_with_data_break"  # the only one that Dynamo leaves alone altogether
    check_linked(watch, session, tmp_path)
    check_files(tmp_path)


AOT = ["data_if", "gradient", "train_step", "module", "autograd_function", "dynamic_shapes", "no_grad_tensor", "higher_order_cond"]
INDUCTOR = ["data_if", "gradient"]


@pytest.mark.slow
@pytest.mark.parametrize("backend, name", [("aot_eager", name) for name in AOT] + [("inductor", name) for name in INDUCTOR])
def test_every_stage_is_written(backend: str, name: str, tmp_path: pathlib.Path) -> None:
    function, calls = PROGRAMS[name]()
    expected = run(torch.compile(function, backend=backend), calls)
    torch._dynamo.reset()
    function, calls = PROGRAMS[name]()
    with Watch() as watch, pellucid.prepare_debug(tmp_path) as session:
        got = run(torch.compile(function, backend=backend), calls)
    assert not session.notes
    assert got == expected
    check_linked(watch, session, tmp_path)
    check_files(tmp_path)
    kinds = {stage.kind for made in session.compilations for stage in made.stages}
    assert {"dynamo_output_graph"} < kinds
    assert kinds & {"aot_inference_graph", "aot_forward_graph"}
    if name == "gradient":
        assert {"aot_joint_graph", "aot_forward_graph", "aot_backward_graph"} <= kinds
    if backend == "inductor":
        assert {"inductor_output_code", "inductor_post_grad_graph"} <= kinds
    else:
        run_here = {stage.kind for made in session.compilations for stage in made.stages if stage.linked}
        assert run_here & {"aot_inference_graph", "aot_forward_graph"}
        if name == "gradient":
            assert "aot_backward_graph" in run_here


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


def test_debug_stops_at_the_first_line_and_compiles_nothing(tmp_path: pathlib.Path) -> None:
    path = script(tmp_path, """
        frames = torch._dynamo.utils.counters["frames"]
        before = frames["total"]
        with pellucid.debug():
            call(1)
        print("compiled meanwhile:", frames["total"] - before)
        """)
    commands = "p 'here', a.shape\np [torch.ones(2) * i for i in range(2)]\nn\nn\nw\nc\n"
    out = run_script(path, tmp_path / "dump", "eager", commands=commands)
    first = line_with(tmp_path / "dump" / "__transformed_code_0_for_toy.py", "def toy") + 1
    assert f"__transformed_code_0_for_toy.py({first})toy()" in out
    assert f"__transformed_code_0_for_toy.py({first + 1})toy()" in out
    assert "('here', torch.Size([10]))" in out and "[tensor([0., 0.]), tensor([1., 1.])]" in out
    assert "compiled meanwhile: 0" in out


def test_debug_needs_something_to_debug(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import pellucid\ntry:\n    pellucid.debug().__enter__()\nexcept RuntimeError as error:\n    print(error)\n")
    assert "prepare_debug" in run_script(path)


@pytest.mark.slow
def test_debugpy_stops_in_dumped_files(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("debugpy", reason="debugpy is not installed")
    from dap import Debugger
    dump = tmp_path / "dump"
    path = script(tmp_path, """
        with torch.compiler.set_stance("eager_on_recompile"):
            call(-1)
        print("the end")
        """)
    run_script(path, dump, "eager")
    generated = dump / "__transformed_code_0_for_toy.py"
    resumed = dump / "__transformed_code_1_for_torch_dynamo_resume_in_toy_at_6.py"
    graph = dump / "00_toy" / "0_0.01_captured_graph.py"
    wanted = {str(generated): line_with(generated, "graph_out_0 ="), str(graph): line_with(graph, "abs_1 ="),
              str(resumed): line_with(resumed, "graph_out_0 =")}
    order = [str(graph), str(generated), str(resumed)]
    with Debugger(str(path), str(dump), "eager", breakpoints={file: [line] for file, line in wanted.items()}) as debugger:
        # The function runs three times: with 1, with -1 (another resume function, the one to stop in), with -1 again.
        for file in order[:2] + order + order:
            assert debugger.stopped_at() == (file, wanted[file])
            values = debugger.variables()
            assert "tensor" in values["l_a_" if file == str(graph) else "x" if file == str(resumed) else "a"], values
            if file == str(generated):
                debugger.go("next")
                assert debugger.stopped_at() == (file, wanted[file] + 1)
                assert debugger.evaluate("len(graph_out_0)") == "2"
            debugger.go()
        assert "the end" in debugger.finish()


@pytest.mark.slow
def test_debug_stops_under_debugpy(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("debugpy", reason="debugpy is not installed")
    from dap import Debugger
    path = script(tmp_path, """
        with pellucid.debug():
            call(1)
        print("the end")
        """)
    dump = tmp_path / "dump"
    with Debugger(str(path), str(dump), "eager") as debugger:
        file, line = debugger.stopped_at()
        assert (file, line) == (str(dump / "__transformed_code_0_for_toy.py"), line_with(pathlib.Path(file), "def toy") + 1)
        assert "tensor" in debugger.variables()["a"]
        debugger.go("next")
        assert debugger.stopped_at() == (file, line + 1)
        debugger.go()
        assert "the end" in debugger.finish()
