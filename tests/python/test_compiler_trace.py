"""Where the time of compiling goes, kernels linked to lines, and TORCH_TRACE directories read on another machine."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pellucid = pytest.importorskip("pellucid", reason="the extension is not built for this Python")

from pellucid._compiler_kernels import kernels, node_places  # noqa: E402
from pellucid._compiler_time import BESIDE, Event, chrome, timeline  # noqa: E402

PROGRAM = os.environ.get("PELLUCID", "")
SOURCE = textwrap.dedent("""\
    import torch

    def doubled(x):
        y = torch.relu(x)
        return y * 2

    @torch.compile(backend="eager")
    def f(x):
        z = doubled(x.sin())
        if z.sum() > 1e9:
            print("large")
        return z.cos()

    for n in (3, 4):
        f(torch.ones(n))
    """)


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> pathlib.Path:
    """What torch itself logs of a program with a graph break, a recompilation and a function that is inlined."""
    folder = tmp_path_factory.mktemp("trace")
    program = folder / "program.py"
    program.write_text(SOURCE)
    subprocess.run([sys.executable, str(program)], check=True, env={**os.environ, "TORCH_TRACE": str(folder)})
    program.write_text("# what is here now is not what ran\n")
    return folder


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def explain(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "explain", *map(str, arguments)], text=True, capture_output=True, check=False)


# ---- torch's own log ----

def test_a_trace_gives_the_report(trace, tmp_path) -> None:
    made = pellucid.explain_trace(trace, tmp_path)
    assert made.unread == []
    assert "1 function, 1 resume function, 4 compilations, 2 graph breaks, 2 recompilations" in str(made)
    assert [(pathlib.Path(file).name, line) for file, line, _ in made.graph_breaks] == [("program.py", 10)]
    assert made.recompilations[0] == (
        "0/1", "a guard of [0/0] failed: tensor 'x' size mismatch at index 0. expected 3, actual 4")
    cause = made.causes[0]
    assert cause.source == "x" and cause.values == [("3", "4")] and "mark_dynamic" in cause.change
    assert made.causes[1].given == ["program.py:15  f(torch.ones(n))"]  # of the first one torch logs no caller


def test_a_trace_shows_the_lines_that_it_quotes(trace, tmp_path) -> None:
    text = str(pellucid.explain_trace(trace, tmp_path))
    beside = next(row for row in text.splitlines() if row.startswith("z = doubled(x.sin())"))
    assert "class GraphModule" in beside
    assert "# inlined: doubled, program.py" in text and "return y * 2" in text
    assert "what is here now" not in text + (tmp_path / "index.html").read_text()
    graphs = sorted(tmp_path.rglob("*captured_graph.py"))
    assert len(graphs) == 4 and "torch.relu" in graphs[0].read_text()
    assert list(tmp_path.rglob("*guards.py"))
    assert "http" not in (tmp_path / "index.html").read_text()


def test_a_trace_says_where_the_time_went(trace, tmp_path) -> None:
    done = explain("--trace", trace, "--timeline", tmp_path / "time.json", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    first = told["seconds"]["[0/0] f"]
    assert first["Dynamo"] > 0.01
    rows = [row for row in json.loads((tmp_path / "time.json").read_text())["traceEvents"] if row["ph"] == "X"]
    whole = [row for row in rows if row["name"] == "dynamo" and row["args"]["compile_id"] == "0/0"]
    assert len(whole) == 1 and whole[0]["args"]["function"] == "[0/0] f"
    inside = [row for row in rows if row["args"].get("compile_id") == "0/0"]
    assert all(row["ts"] >= whole[0]["ts"] and row["dur"] <= whole[0]["dur"] for row in inside)
    assert sum(first.values()) == pytest.approx(whole[0]["dur"] / 1e6, rel=1e-3)  # parts add up to the whole


def test_several_logs_are_one_page(trace, tmp_path) -> None:
    log = next(trace.glob("*.log"))
    for rank in (0, 1):
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log").write_bytes(log.read_bytes())
    made = pellucid.explain_trace(tmp_path, tmp_path / "out")
    assert str(made).count("4 compilations") == 2 and made.html.count("<main>") == 2
    assert len(set(re.findall(r"id=c(\d+)", made.html))) == 8


def test_usage(trace, tmp_path) -> None:
    assert explain().returncode == 1
    assert explain("m.py:net", "--trace", trace).returncode == 1
    for path, words in ((tmp_path / "none", "no such file or folder"), (tmp_path, "no log of TORCH_TRACE is here")):
        done = explain("--trace", path)
        assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
    (tmp_path / "x_torch_trace_y.log").write_text("nothing\n")
    done = explain("--trace", tmp_path)
    assert done.returncode == 2 and "no entry of a trace" in done.stderr


# ---- somebody's log ----

def entry(body: dict, payload: str | None = None, spoil: bool = False) -> str:
    """As torch writes it."""
    if payload is not None:
        body = {**body, "has_payload": hashlib.md5(payload.encode()).hexdigest()}
        payload = payload + "!" if spoil else payload
    head = "V1119 22:31:22.665000 18854 torch/_logging/structured.py:28] " + json.dumps(body) + "\n"
    return head + "".join(f"\t{line}\n" for line in (payload.split("\n") if payload is not None else []))


def start(file: str = "net.py", frame: object = 0) -> str:
    return (entry({"str": [file, 1]})
            + entry({"dynamo_start": {"stack": [{"line": 3, "name": "f", "filename": 1, "loc": "y = x + 1"}]},
                     "frame_id": frame, "frame_compile_id": 0, "attempt": 0}))


GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[3]"):
        # File: net.py:3 in f, code: y = x + 1
        y: "f32[3]" = L_x_ + 1
        return (y,)"""
NUMBERS = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0}


def read(tmp_path: pathlib.Path, text: str) -> pellucid.Explanation:
    (tmp_path / "a_torch_trace_b.log").write_text(text)
    return pellucid.explain_trace(tmp_path, tmp_path / "out")


WHOLE = start() + entry({"dynamo_output_graph": {}, **NUMBERS}, GRAPH)
SPOILT = {
    "cut": (WHOLE[:-40], "not the one that was logged"),
    "changed": (start() + entry({"dynamo_output_graph": {}, **NUMBERS}, GRAPH, spoil=True), "not the one"),
    "cut entry": (WHOLE + entry({"dynamo_output_graph": {}, **NUMBERS})[:80], "cut off, or no JSON"),
    "no entry": (WHOLE + "somebody wrote here\n", "no entry of a trace"),
    "text first": ("\tno entry before it\n" + WHOLE, "belongs to no entry"),
    "deep": (WHOLE + entry({"dynamo_start": 0}).replace("0}", "[" * 200_000 + "}"), "no JSON"),
    "large number": (WHOLE + start(frame=10**4000), "another form"),
    "negative": (WHOLE + start(frame=-1), "another form"),
    "kinds": (WHOLE + entry({"str": "x"}) + entry({"dynamo_start": 7, **NUMBERS}) + entry({"chromium_event": {}}, "[]")
              + entry({"compilation_metrics": {"compile_id": "0/0", "fail_reason": ["x"], "co_filename": [1],
                                               "entire_frame_compile_time_s": "long"}, **NUMBERS}), "another form"),
    "no time": (WHOLE + entry({"chromium_event": {}}, '{"name": "dynamo", "ph": "B", "ts": NaN}'), "another form"),
    "reasons": (WHOLE + entry({"artifact": {"name": "recompile_reasons"}, **NUMBERS}, "[" * 200_000), "more than"),
    "long line": (WHOLE + entry({"dynamo_cpp_guards_str": {}, **NUMBERS}, "+- X: " + "(" * 50_000), "more than"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_what_can_not_be_read_is_said(case, tmp_path) -> None:
    text, words = SPOILT[case]
    made = read(tmp_path, text)
    assert any(words in note for note in made.unread), made.unread
    assert all(words in str(made) and words in made.html for words in ("y = x + 1", "not all of the log was read"))
    done = explain("--trace", tmp_path)
    assert done.returncode == 3 and words in done.stderr and "Traceback" not in done.stderr + done.stdout


def test_files_that_a_log_names_are_not_opened(tmp_path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("\n\npassword = 'of this machine'\n")
    graph = GRAPH.replace("net.py", str(secret))
    text = start(str(secret)) + entry({"dynamo_output_graph": {}, **NUMBERS}, graph)
    text += entry({"artifact": {"name": "dynamo_graph_break_reason"}, **NUMBERS},
                  f"Graph break in user code at {secret}:3\nGraph Break Reason: a\n  Hint: b")
    made = read(tmp_path, text)
    everything = str(made) + made.html + "".join(p.read_text() for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert "secret.py" in everything and "of this machine" not in everything


def test_nothing_of_a_log_is_code_or_moves_the_cursor(tmp_path) -> None:
    ran = tmp_path / "ran"
    call = f"__import__('pathlib').Path({str(ran)!r}).touch()"
    evil = "</pre><script>alert(1)</script>\x1b[2J\u202e" + call
    text = start("../../../etc/" + evil)
    text += entry({"dynamo_output_graph": {}, **NUMBERS}, GRAPH + "\n" + call + "\n" + evil)
    text += entry({"inductor_output_code": {"filename": "x\n" + call}, **NUMBERS}, call)
    text += entry({"dynamo_cpp_guards_str": {}, **NUMBERS}, "+- LAMBDA_GUARD: " + call)
    text += entry({"artifact": {"name": "recompile_reasons"}, **NUMBERS}, json.dumps([f"0/0: {call} {evil}"]))
    text += entry({"compilation_metrics": {"compile_id": "0/0", "co_name": "../" + evil, "co_filename": "/" + evil,
                                           "co_firstlineno": 3, "fail_reason": evil}, **NUMBERS})
    made = read(tmp_path, text)
    assert not ran.exists()
    assert "<script>alert" not in made.html and not re.search("[\x1b\u202e]", str(made) + made.html)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(files) > 3 and all(re.fullmatch(r"[\w./-]+", str(path.relative_to(tmp_path))) for path in files)
    for path in files:
        assert not re.search(f"^(?!#).*{re.escape(call)}", path.read_text(), re.MULTILINE) or path.suffix != ".py" or (
            "output_code" in path.name or "guards" in path.name)


def test_ids_that_come_again_are_told_apart(tmp_path) -> None:
    def times(begin: int) -> str:
        told = {"name": "dynamo", "args": {"compile_id": "0/0"}}
        first = entry({"chromium_event": {}, **NUMBERS}, json.dumps({**told, "ph": "B", "ts": begin}))
        done = entry({"compilation_metrics": {"compile_id": "0/0", "co_name": "f", "co_filename": "net.py",
                                              "co_firstlineno": 2, "graph_op_count": 1}, **NUMBERS})
        return (first + start() + entry({"dynamo_output_graph": {}, **NUMBERS}, GRAPH) + done
                + entry({"chromium_event": {}, **NUMBERS}, json.dumps({**told, "ph": "E", "ts": begin + 2e6})))

    made = read(tmp_path, times(0) + times(10**7))
    assert made.seconds == {"[0/0] f": {"Dynamo": 2.0}, "[0/0 after reset 1] f": {"Dynamo": 2.0}}
    text = str(made)
    assert text.index("[0/0 after reset 1] f") < text.index("[0/0] f")  # what is not in use any more comes last
    assert "not in use since torch._dynamo.reset()" in text


# ---- kernels ----

TRITON = '''\
# kernel path: /tmp/x.py
# Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]
# Source node to ATen node mapping:
#   y => add
# Graph fragment:
#   %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%arg0_1, 1), kwargs = {})
triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', \'\'\'
import triton
@triton.jit
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
\'\'\', device_str='cuda')

def call(args):
    arg0_1, = args
    buf0 = empty_strided_cuda((3, ), (1, ), torch.float32)
    # Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]
    triton_poi_fused_add_0.run(arg0_1, buf0, 3, stream=stream0)
    # Topologically Sorted Source Nodes: [z], Original ATen: [aten.mm]
    extern_kernels.mm(buf0, buf0, out=buf0)
    return (buf0, )
'''


def test_triton_code_of_a_log_is_linked_and_not_run(tmp_path) -> None:
    text = WHOLE + entry({"inductor_output_code": {"filename": "/tmp/x.py"}, **NUMBERS}, TRITON)
    made = read(tmp_path, text)
    assert "triton_poi_fused_add_0 (Triton, not run here) line 7: net.py:3 (by the nodes that its comment names)" in (
        str(made))
    assert "extern_kernels.mm (library): lines not known" in str(made)
    assert "Inductor&#x27;s output code (Triton, not run here)" in made.html
    row = re.search(r"<span class='l m' tabindex=0 data-u='(\d+)'><b> *\d+ </b>triton_poi_fused_add_0 = ", made.html)
    assert row and f"data-u='{row[1]}'><b>   3 </b>y = x + 1" in made.html


def test_kernels_by_traces_comments_and_names() -> None:
    graph = """
        # File: net.py:3 in f, code: y = x + 1
        add: "f32[3]" = torch.ops.aten.add.Tensor(arg0_1, 1)"""
    nodes, operators = node_places(graph, {3: ("net.py", 3)})
    assert nodes == {"add": ("net.py", 3)} and operators == {"add": [("net.py", 3)]}
    code = """
cpp_fused_add_0 = async_compile.cpp_pybinding(['const float*'], r'''
void kernel() {}
''')
def call(args):
    # [Provenance debug handles] cpp_fused_add_0:1
    cpp_fused_add_0(arg0_1)
"""
    by_name, = kernels(code, {}, operators, {})
    assert (by_name.first, by_name.last, by_name.calls) == (2, 4, [7])
    assert by_name.places == [("net.py", 3)] and "name" in by_name.how
    traced, = kernels(code, {}, operators, {"cpp_fused_add_0:1": ['  File "net.py", line 9, in f\n    z']})
    assert traced.places == [("net.py", 9)] and traced.how == "Inductor's stack traces"
    unknown, = kernels(code, {}, {"mul": [("net.py", 1)]}, {})
    assert unknown.places == [] and unknown.how == ""


@pytest.mark.slow
def test_kernels_of_inductor_know_their_lines() -> None:
    def f(x):
        y = torch.relu(x) * 2
        return y.cos().sum()

    made = pellucid.explain(f, torch.randn(5), backend="inductor")
    line = f.__code__.co_firstlineno
    told = next(row for row in str(made).splitlines() if row.strip().startswith("kernel"))
    assert f"test_compiler_trace.py:{line + 1}" in told and f"test_compiler_trace.py:{line + 2}" in told
    assert "Inductor's stack traces" in told and "not run here" not in told
    assert made.seconds["[0/0] f"].get("writing", 0) > 0
    assert torch._inductor.config.trace.provenance_tracking_level == 0


# ---- time ----

def test_times_add_up_and_what_is_cut_is_said() -> None:
    rows = [("dynamo", "B", 0, "0/0"), ("bytecode_tracing", "B", 1, "0/0"), ("nobody knows", "B", 2, "0/0"),
            ("nobody knows", "E", 4, "0/0"), ("bytecode_tracing", "E", 5, "0/0"), ("backend_compile", "B", 5, "0/0"),
            ("compile_file", "B", 6, ""), ("dynamo", "E", 9, "0/0"), ("compile_file", "E", 20, ""),
            ("code_gen", "E", 21, "0/0"), ("dynamo", "B", 30, "1/0")]
    made = timeline(Event(name, phase, at * 1e6, number, "main") for name, phase, at, number in rows)
    assert made.by_compilation() == {"0/0": {"Dynamo": 5.0, "AOTAutograd": 4.0}, "": {"compilers": 14.0},
                                     "1/0": {"Dynamo": 0.0}}
    assert made.lost == 1 and made.cut == 2  # an end without a beginning; backend_compile and the last have no end
    told = chrome(made, {"0/0": "f"})["traceEvents"]
    assert [row["args"]["note"] for row in told if "note" in row.get("args", {})] == ["nothing says when it ended"] * 2


def doubled(x):
    y = torch.relu(x)
    return y * 2


class Three(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(4))

    def forward(self, x):
        for part in self.parts:
            x = doubled(part(x))
        return x


def test_a_running_program_has_it_too() -> None:
    made = pellucid.explain(Three(), torch.ones(2, 3))
    text = str(made)
    assert "Where the time went" in text and made.seconds["[0/0] forward"]["Dynamo"] > 0
    assert BESIDE not in text
    assert "# inlined: doubled, test_compiler_trace.py" in text and "def doubled(x):" in text
    assert re.search(r"# \.\.\. \d+ lines that fetch parameters or free values", text)
    fetch = r"(?:value|tmp)_\d+ = [^<\n]*_parameters"
    assert not re.search(fetch, text) and re.search(f"<span class='l h'><b> *\\d+ </b> *{fetch}", made.html)
    assert "aria-expanded=false" in made.html
    events = torch._dynamo.utils.ChromiumEventLogger._log_timed_event
    assert events.__name__ == "_log_timed_event"  # put back


def test_results_of_graphs_are_not_folded() -> None:
    def f(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return y.cos()

    assert "graph_out_0[0]" in str(pellucid.explain(f, torch.ones(3)))
