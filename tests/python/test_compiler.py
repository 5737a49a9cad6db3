"""torch.compile opened: the program stays as it is, the files can be read, debuggers stop in them."""

from __future__ import annotations

import ast
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pellucid = pytest.importorskip("pellucid", reason="the extension is not built for this Python")

from dynamo_programs import PROGRAMS, run  # noqa: E402
from torch._dynamo.eval_frame import _debug_get_cache_entry_list as cache_entries  # noqa: E402

FAST = {"data_if", "break_in_expression", "no_grad_if", "closure_written"}


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
    page = (folder / "index.html").read_text()
    # Functions that are shown may have links in their comments; nothing is fetched.
    assert not re.search(r"<[^>]*=\s*[\"']?https?:|url\(|@import|fetch\(|<(?:script|img|iframe)[^>]+src", page)


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


AOT = ["data_if", "gradient", "train_step", "module", "autograd_function", "dynamic_shapes", "no_grad_tensor",
       "higher_order_cond"]
INDUCTOR = ["data_if", "gradient"]


@pytest.mark.slow
@pytest.mark.parametrize("backend, name", [("aot_eager", name) for name in AOT]
                         + [("inductor", name) for name in INDUCTOR])
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


def timm_model(name: str, size: int):
    def make():
        timm = pytest.importorskip("timm", reason="timm is not installed")
        return timm.create_model(name, num_classes=10).eval(), (torch.rand(1, 3, size, size),), {}

    return make


def hf_model(kind: str, **settings: object):
    def make():
        transformers = pytest.importorskip("transformers", reason="transformers is not installed")
        config = transformers.AutoConfig.for_model(kind, vocab_size=64, **settings)
        model = transformers.AutoModel.from_config(config).eval()
        ids = torch.arange(12).reshape(2, 6)
        return model, (), {"input_ids": ids, **({"decoder_input_ids": ids} if config.is_encoder_decoder else {})}

    return make


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
MODELS = {
    "timm resnet10t": timm_model("resnet10t", 64),
    "timm vit_tiny_patch16_224": timm_model("vit_tiny_patch16_224", 224),
    "hf bert": hf_model("bert", **SMALL),
    "hf llama": hf_model("llama", num_key_value_heads=2, **SMALL),
    "hf gpt2": hf_model("gpt2", n_embd=32, n_layer=2, n_head=2),
    "hf t5": hf_model("t5", d_model=32, d_ff=64, num_layers=2, num_heads=2, d_kv=16),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_model_is_unchanged(name: str, tmp_path: pathlib.Path, libraries: None) -> None:
    torch.manual_seed(0)
    model, arguments, named = MODELS[name]()

    def outputs():
        torch.manual_seed(1)
        with torch.no_grad():
            made = torch.compile(model, backend="eager")(*arguments, **named)
        return [value
                for value in torch.utils._pytree.tree_leaves(made if isinstance(made, torch.Tensor) else dict(made))
                if isinstance(value, torch.Tensor)]

    expected = outputs()
    torch._dynamo.reset()
    with Watch() as watch, pellucid.prepare_debug(tmp_path) as session:
        got = outputs()
    assert not session.notes
    assert expected and len(expected) == len(got) and all(map(torch.equal, expected, got))
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
    done = subprocess.run([sys.executable, str(path), *map(str, arguments)], input=commands,
                          capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1", **variables})
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
    places = [(generated, line_with(generated, "= graph_out_0[0]")), (resumed, line_with(resumed, "= graph_out_0[0]")),
              (graph, line_with(graph, "abs_1 ="))]
    commands = "".join(f"b {file}:{line}\n" for file, line in places)
    commands += "c\np 'l_a_', l_a_.shape\nc\np 'a', a.shape, tmp_2\nn\np 'out', len(graph_out_0)\nw\nc\nargs\nc\n"
    out = run_script(path, dump, "eager", commands=commands)
    stops = [line for line in out.splitlines() if "> " + str(dump) in line]
    assert [f"{file}({line})" in stop for (file, line), stop in zip([places[2], places[0]], stops)] == [True, True]
    assert f"{resumed}({places[1][1]})" in out
    assert "('l_a_', torch.Size([10]))" in out and "('a', torch.Size([10])" in out and "('out', 2)" in out
    assert "the end" in out


def test_steps_go_past_torch(tmp_path: pathlib.Path) -> None:
    """From the generated function into the graph, and on into the function behind a graph break."""
    path = tmp_path / "steps.py"
    path.write_text(textwrap.dedent("""
        import sys, torch, pellucid
        @torch.compile(backend="eager")
        def f(x):
            y = x.sin()
            torch._dynamo.graph_break()
            return y.cos()
        with pellucid.prepare_debug(sys.argv[1]):
            f(torch.ones(3))
        with pellucid.debug():
            f(torch.ones(3))
        """))
    out = run_script(path, tmp_path / "dump", commands="step\n" * 40 + "c\n")
    stops = [line.removeprefix("(Pdb) ") for line in out.splitlines() if re.match(r"(\(Pdb\) )?> ", line)]
    assert len(stops) > 10 and not [stop for stop in stops if f"{os.sep}torch{os.sep}" in stop]
    for part in ("__transformed_code_0_for_f.py", "00_f/0_0.01_captured_graph.py", "resume_in_f", "1_0.01_captured"):
        assert any(part in stop for stop in stops), part


def test_values_go_where_they_arrive(tmp_path: pathlib.Path) -> None:
    """Lists that Dynamo only packs and unpacks are not in the text, and stepping goes forward through what is left."""
    path = script(tmp_path, """
        lines = []
        def trace(frame, event, argument):
            if "__transformed_code" in frame.f_code.co_filename and frame.f_code.co_name == "toy":
                if event == "line":
                    lines.append((frame.f_lineno, "graph_out_0" in frame.f_locals))
                return trace
        with torch.compiler.set_stance("eager_on_recompile"):
            for sign in (1, -1):
                sys.settrace(trace)
                call(sign)
                sys.settrace(None)
                print(sorted(lines) == lines, lines[-1][0], dict(lines))
                lines.clear()
        """)
    out = run_script(path, tmp_path / "dump", "eager").splitlines()
    generated = tmp_path / "dump" / "__transformed_code_0_for_toy.py"
    text = generated.read_text()
    call, taken = line_with(generated, "graph_out_0 = __compiled_fn_"), line_with(generated, "if value_")
    packed = re.findall(r"\(\[\], \[\], b, (value_\d+)\)", text)  # which number it has depends on Dynamo's preamble
    assert len(packed) == 2 and len(set(packed)) == 1 and "extend" not in text and "[0:0]" not in text
    unpacked = re.search(r"value_\d+ = graph_out_0\[0\]", text)
    assert unpacked, text
    for row, last in zip(out, (taken + 2, taken + 1)):
        in_order, end, seen = row.split(" ", 2)
        found = ast.literal_eval(seen)
        assert in_order == "True" and int(end) == last, row
        assert not found[call] and found[line_with(generated, unpacked[0])], row


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
    path.write_text(
        "import pellucid\ntry:\n    pellucid.debug().__enter__()\nexcept RuntimeError as error:\n    print(error)\n")
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
    wanted = {str(generated): line_with(generated, "= graph_out_0[0]"), str(graph): line_with(graph, "abs_1 ="),
              str(resumed): line_with(resumed, "= graph_out_0[0]")}
    order = [str(graph), str(generated), str(resumed)]
    with Debugger(str(path), str(dump), "eager",
                  breakpoints={file: [line] for file, line in wanted.items()}) as debugger:
        # The function runs three times: with 1, with -1 (another resume function, the one to stop in), with -1 again.
        # Only the last time Dynamo compiles nothing of the debugger's: before, stops are counted, and nothing is asked.
        for file in order[:2] + order:
            assert debugger.stopped_at() == (file, wanted[file])
            debugger.go()
        for file in order:
            assert debugger.stopped_at() == (file, wanted[file])
            values = debugger.variables()
            assert "tensor" in values["l_a_" if file == str(graph) else "x" if file == str(resumed) else "a"], values
            if file == str(generated):
                assert debugger.evaluate("len(graph_out_0)") == "2"
                debugger.go("next")
                assert debugger.stopped_at() == (file, wanted[file] + 1)
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
        assert (file, line) == (str(dump / "__transformed_code_0_for_toy.py"),
                                line_with(pathlib.Path(file), "def toy") + 1)
        assert "tensor" in debugger.variables()["a"]
        debugger.go("next")
        assert debugger.stopped_at() == (file, line + 1)
        debugger.go()
        assert "the end" in debugger.finish()


# ---- what is found and said ----

def first(x):
    y = torch.sin(x)
    torch._dynamo.graph_break()
    return y * 2


def test_what_was_compiled_before_is_found(tmp_path: pathlib.Path) -> None:
    compiled = torch.compile(first, backend="eager")
    with Watch() as watch:
        expected = compiled(torch.ones(3))
    with Watch() as again, pellucid.prepare_debug(tmp_path) as session:
        assert torch.equal(compiled(torch.ones(3)), expected)
    assert not again.seen  # nothing is compiled anew for it
    assert not session.notes
    assert len(watch.seen) == 2
    assert [made.before for made in session.compilations] == [True, True]
    check_linked(watch, session, tmp_path)
    check_files(tmp_path)
    lines = []

    def trace(frame, event, argument):
        if frame.f_code.co_filename.startswith(str(tmp_path)):
            lines.append((os.path.basename(frame.f_code.co_filename), event))
            return trace
        return None

    sys.settrace(trace)
    try:
        compiled(torch.ones(3))
    finally:
        sys.settrace(None)
    assert ("__transformed_code_0_for_first.py", "line") in lines and ("0_0.01_captured_graph.py", "line") in lines


def test_as_a_decorator_and_by_hand(tmp_path: pathlib.Path) -> None:
    compiled = torch.compile(first, backend="eager")

    @pellucid.prepare_debug(str(tmp_path / "one"), log_bytecode=True)
    def main():
        return compiled(torch.ones(3))

    expected = main()
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert {"index.html", "README.txt", "full_code_for_first_0.py", "__transformed_code_0_for_first.py",
            "__transformed_code_0_for_first.py.original_bytecode.txt"} <= names
    torch._dynamo.reset()
    context = pellucid.prepare_debug(tmp_path / "two")
    context.__enter__()
    assert torch.equal(compiled(torch.ones(3)), expected)
    context.__exit__(None, None, None)
    assert list((tmp_path / "two").glob("__transformed_code*.py"))


def test_report_says_why(tmp_path: pathlib.Path) -> None:
    compiled = torch.compile(first, backend="eager")
    with pellucid.prepare_debug(tmp_path):
        compiled(torch.ones(3))
        compiled(torch.ones(4))
    text = (tmp_path / "README.txt").read_text()
    assert "1 function, 1 resume function, 4 compilations" in text
    assert "torch._dynamo.graph_break()" in text or "graph_break" in text
    line = first.__code__.co_firstlineno + 2
    assert f"graph break at test_compiler.py:{line}" in text and "goes on in [1/0]" in text
    assert ("compiled again, for a guard of [0/0] failed: tensor 'x' size mismatch at index 0. "
            "expected 3, actual 4") in text
    guards = (tmp_path / "00_first" / "0_0.00_guards.py").read_text()
    assert "tensor_is(x, type='Tensor', dtype=torch.float32" in guards and "size=[3]" in guards
    assert "torch.sin(l_x_)" in (tmp_path / "00_first" / "0_0.01_captured_graph.py").read_text()
    assert "y = torch.sin(x)" in (tmp_path / "00_first" / "original.py").read_text()


def test_torch_makes_only_the_entries_that_are_wanted(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import logging
    log = torch._logging._internal.trace_log
    monkeypatch.setattr(log, "handlers", [])  # pytest listens, too
    kinds: set[str] = set()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kinds.update(record.metadata)

    def told(*, by_another: bool) -> set[str]:
        torch._dynamo.reset()
        kinds.clear()
        listener = Listener()
        with pellucid.prepare_debug(tmp_path) as session:
            [ours] = log.handlers
            if by_another:
                log.addHandler(listener)
            else:
                ours.callback = lambda metadata, payload: kinds.update(metadata)
            torch.compile(first, backend="eager")(torch.ones(3))
            log.removeHandler(listener)
        assert not session.notes
        return set(kinds)

    assert "chromium_event" not in told(by_another=False) and "dynamo_output_graph" in kinds and "artifact" in kinds
    assert {"chromium_event", "dynamo_output_graph"} <= told(by_another=True)  # they get all, as without us
    assert log.handlers == [] and type(log.handlers) is list


def test_a_failure_is_in_the_report(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Exception, match="graph_break"), pellucid.prepare_debug(tmp_path):
        torch.compile(first, backend="eager", fullgraph=True)(torch.ones(3))
    text = (tmp_path / "README.txt").read_text()
    assert "[0/0] first, not compiled" in text and "1 failure" in text
    assert f"not compiled, for test_compiler.py:{first.__code__.co_firstlineno + 2}: " in text
    assert "torch._dynamo.graph_break()" in text and "Not compiled" in (tmp_path / "index.html").read_text()


def test_an_error_of_ours_stays_ours(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pellucid import _compiler_session as module

    def fail(*arguments, **named):
        raise ZeroDivisionError("ours")

    for name in ("listing", "annotated", "source_of"):
        monkeypatch.setattr(module, name, fail)
    with pellucid.prepare_debug(tmp_path) as session:
        result = torch.compile(first, backend="eager")(torch.ones(3))
    assert torch.equal(result, first(torch.ones(3)))
    assert any("ZeroDivisionError" in note for note in session.notes)
    assert "ZeroDivisionError" in (tmp_path / "README.txt").read_text()


def test_code_without_structure_is_stepped_by_instruction(tmp_path: pathlib.Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    from pellucid import _link

    def fail(*arguments, **named):
        raise ValueError("no structure")

    with monkeypatch.context() as patch:
        patch.setattr(_link, "decompile_code", fail)
        with Watch() as watch, pellucid.prepare_debug(tmp_path) as session:
            compiled = torch.compile(first, backend="eager")
            compiled(torch.ones(3))
    check_files(tmp_path)
    assert len(watch.seen) == 2 and all(made.linked and not made.complete for made in session.compilations)
    assert "is shown as instructions" in (tmp_path / "README.txt").read_text()
    lines = []

    def trace(frame, event, argument):
        if os.path.basename(frame.f_code.co_filename).startswith("__transformed"):
            lines.append(frame.f_lineno)
            return trace
        return None

    sys.settrace(trace)
    try:
        compiled(torch.ones(3))
    finally:
        sys.settrace(None)
    text = (tmp_path / "__transformed_code_0_for_first.py").read_text().splitlines()
    assert any("LOAD_FAST" in text[line - 1] for line in lines)


def test_missing_parts_of_torch_are_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pellucid import _compiler_compat as compat
    real = compat._find
    monkeypatch.setattr(compat, "_find", lambda path: None if "trace_log" in path
                        or "set_stance" in path else real(path))
    with pellucid.prepare_debug(tmp_path) as session:
        torch.compile(first, backend="eager")(torch.ones(3))
    check_files(tmp_path)
    assert all(made.linked for made in session.compilations) and len(session.compilations) == 2
    assert "no graphs, guards, graph breaks" in (tmp_path / "README.txt").read_text()
    monkeypatch.setattr(compat, "_find", lambda path: None)
    with pytest.raises(RuntimeError, match="register_bytecode_hook"):
        pellucid.prepare_debug(tmp_path).__enter__()


def test_explain(tmp_path: pathlib.Path) -> None:
    made = pellucid.explain(first, torch.ones(3), more=[(torch.ones(3),), (torch.ones(4),)], folder=tmp_path)
    assert str(made) == made.text
    line = first.__code__.co_firstlineno + 2
    assert [(os.path.basename(file), at) for file, at, _ in made.graph_breaks] == [("test_compiler.py", line)]
    assert made.recompilations[0] == (
        "0/1", "a guard of [0/0] failed: tensor 'x' size mismatch at index 0. expected 3, actual 4")
    assert "2 times, 1 cache hit" in made.text
    matched = [row.split("|") for row in made.text.splitlines() if row.count("|") == 2]
    assert any("y = torch.sin(x)" in row[0] and "= L_x_" in row[2] for row in matched)
    made.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>") and f"<b>{line - 1:4} </b>" in page
    own = re.search(rf"data-u='(\d+)'><b>{line - 1:4} </b>", page)
    assert own and len(re.findall(f"data-u='(?:\\d+ )*{own[1]}(?: \\d+)*'", page)) > 1  # linked to what became of it
    assert "<iframe" in made._repr_html_()


def test_explain_a_compiled_function() -> None:
    compiled = torch.compile(first, backend="eager")
    compiled(torch.ones(3))
    made = pellucid.explain(compiled, torch.ones(3))
    assert "compiled before" in made.text and not made.recompilations
    assert pellucid.explain(torch.nn.Linear(3, 3), torch.ones(1, 3)).graph_breaks == []


def test_install_writes_to_torchs_log() -> None:
    program = """
        import logging, torch, pellucid
        pellucid.install()
        pellucid.install()
        torch._logging.set_logs(bytecode=True)
        def f(x):
            return torch.sin(x) + 1
        torch.compile(f, backend="eager")(torch.ones(2))
        pellucid.uninstall()
        pellucid.uninstall()
        def g(x):
            return torch.cos(x) + 1
        torch.compile(g, backend="eager")(torch.ones(2))
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("DECOMPILED SOURCE") == 1 and "def f(x):" in done.stderr


# ---- linking ----

def loops(n):
    total = 0
    for i in range(n):
        if i % 2:
            total += i
    try:
        total /= 0
    except ZeroDivisionError:
        total = -total
    return [total, *(i for i in range(2))]


def test_link(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "loops.py"
    code = pellucid.link(loops.__code__, path)
    assert code.co_code == loops.__code__.co_code and code.co_consts == loops.__code__.co_consts
    assert code.co_filename == str(path)
    function = type(loops)(code, globals())
    assert function(4) == loops(4) == [-4, 0, 1]
    seen = []

    def trace(frame, event, argument):
        if frame.f_code is code:
            seen.append((event, frame.f_lineno))
            return trace
        return None

    sys.settrace(trace)
    try:
        function(2)
    finally:
        sys.settrace(None)
    text = path.read_text().splitlines()
    assert seen[0] == ("call", 1)
    ran = [text[line - 1].strip() for event, line in seen if event == "line"]
    assert ran == ["total = 0", *["for i in range(n):", "if i % 2:"] * 2, "total += i",
                   "for i in range(n):", "total /= 0", "except ZeroDivisionError:", "total = -total",
                   "return [total, *(i for i in range(2))]"]
    with pytest.raises(TypeError):
        pellucid.link(loops, path)


def test_line_tables() -> None:
    import random

    from pellucid._pellucid import encode_lines
    chance = random.Random(7)
    code = compile("\n".join(f"x{i} = f(y[{i}], *z)" for i in range(400)), "<text>", "exec")
    size = len(code.co_code)
    for _ in range(200):
        rows = [(at, chance.choice([0, 1, 2, 300, 70_000, at + 1])) for at in range(0, size, 2)
                if chance.random() < 0.2]
        start = chance.choice([1, 5000])
        made = code.replace(co_firstlineno=start, co_linetable=encode_lines(start, size, rows))
        wanted, line, lines = [], 0, dict(rows)
        for at in range(0, size, 2):
            line = lines.get(at, line)
            wanted.append(line or None)
        got = [line for begin, end, line in made.co_lines() for _ in range(begin, end, 2)]
        assert got == wanted
    for rows in ([(4, 1), (2, 1)], [(3, 1)], [(size + 2, 1)]):
        with pytest.raises(pellucid.Error):
            encode_lines(1, size, rows)
    with pytest.raises(TypeError):
        encode_lines(1, size, [4])


def test_after_a_reset_numbers_come_again(tmp_path: pathlib.Path) -> None:
    """Each compilation has its own files, and says itself why it was made."""
    def make():
        @torch.compile(backend="eager")
        def f(x):
            return x.sin() + x.shape[0]
        return f

    with pellucid.prepare_debug(tmp_path):
        for shapes in (((2,), (3,)), ((4, 2), (5, 2)), ((6, 2, 2), (7, 2, 2))):
            compiled = make()
            for shape in shapes:
                compiled(torch.ones(*shape))
            torch._dynamo.reset()
    said = (tmp_path / "README.txt").read_text()
    blocks = {block.split("]")[0]: block for block in said.split("\n[")[1:]}
    assert list(blocks) == ["0/0 after reset 2", "0/1 after reset 2",  # what is not in use any more comes last
                            "0/0", "0/1", "0/0 after reset 1", "0/1 after reset 1"]
    named = [path for block in blocks.values()
             for path in re.findall(r"(?:runs as|guards|graph) +(\S+\.py)", block)]
    assert len(named) == len(set(named)) == 18 and all((tmp_path / path).is_file() for path in named)
    reasons = [re.search(r"expected (\d), actual (\d)", block) for block in blocks.values()]
    assert [found and found.groups() for found in reasons] == [
        None, ("6", "7"), None, ("2", "3"), None, ("4", "5")]
