"""One program, one API: `pellucid`, `python -m pellucid` and the functions of the package have the same words."""

from __future__ import annotations

import inspect
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import PROGRAM

import pellucid

PACKAGE = str(pathlib.Path(pellucid.__file__).parent.parent)
# Subcommands that say something about the program itself, and the demo, which is for people.
NO_FUNCTION = {"help", "version", "completion", "demo", "lsp"}
# Options that have no parameter, and why.
NOT_IN_PYTHON = {
    "help": "docstrings", "json": "to_dict()", "html": "html(), save()", "svg": "svg()", "table": "table()",
    "depth": "of the views", "unfolded": "of the views", "source": "source()", "network": "source(network)",
    "quiet": "nothing is printed", "verbose": "report", "dump": "for people",
    "check-passes": "for those who work on it", "save-trace": "trace", "input": "tensors are given as they are",
    "inputs": "tensors are given as they are", "jobs": "one call, one process",
    "python": "this Python", "given-only": "old", "anyway": "old",
}
# Options whose parameter has another form: what is switched off, what may be given several times, keywords of Python.
RENAMED = {"no-more": "more", "no-verify": "verify", "no-strict": "strict",
           "no-open": "open", "no-values": "values", "leaf": "leaves", "call": "methods", "with": "known"}
# Options that functions give as methods of what they return, or take as a target.
ELSEWHERE = {("skeleton", "output"), ("skeleton", "map"), ("skeleton", "init"), ("sketch", "output"),
             ("scan", "output"),
             ("decompile", "output"), ("decompile", "marshal"), ("explain", "numerics"), ("explain", "vary"),
             ("explain", "try"), ("explain", "trace"), ("explain", "timeline"),
             ("format", "output"), ("compare", "code"), ("align", "code"), ("explain", "output"),
             ("verify", "against"),  # the model itself
             ("audit", "sarif"), ("audit", "cyclonedx"), ("audit", "write-baseline"), ("audit", "explain"),
             ("scan", "sarif"),
             ("sketch", "package"),  # of a script
             # of a script; in Python a program records its own calls: pellucid.record
             *(("skeleton", option) for option in ("list", "pick", "calls", "stop"))}


def words(text: str, before: str) -> list[str]:
    return re.findall(r"^  (\w+)  ", text.split(before)[1].split("\n\n")[0], re.MULTILINE)


def options_of(command: str) -> list[str]:
    done = subprocess.run([PROGRAM, "help", command], capture_output=True, text=True, check=True)
    return re.findall(r"^  (?:-\w, |    )--([\w-]+)", done.stdout, re.MULTILINE)


OVERVIEW = subprocess.run([PROGRAM, "help"], capture_output=True, text=True, check=True).stdout
SUBCOMMANDS = words(OVERVIEW, "subcommands:\n")


def as_module(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": PACKAGE, "PELLUCID": PROGRAM, **variables}
    return subprocess.run([sys.executable, "-m", "pellucid", *map(str, arguments)], env=environment, text=True,
                          capture_output=True, check=False)


# ---- one program ----

def test_the_module_is_the_program() -> None:
    assert "demo" in SUBCOMMANDS and len(SUBCOMMANDS) > 15
    assert as_module("help").stdout == OVERVIEW
    for command in SUBCOMMANDS:
        done = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, check=False)
        assert as_module(command, "--help").stdout == done.stdout and done.returncode == 0


def test_the_module_has_the_programs_exit_codes(tmp_path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("x = (")
    for arguments in (["ast", bad], ["tree", tmp_path / "none.pt"], ["nonsense"], []):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
        again = as_module(*arguments)
        assert (again.returncode, again.stdout, again.stderr) == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("command", ["skeleton", "tree", "sketch", "explain", "demo"])
def test_what_needs_python_has_the_programs_options(command) -> None:
    from pellucid import _live
    parsers = next(a for a in _live.make_parser()._actions if hasattr(a, "choices") and a.choices)
    live = {option[2:] for action in parsers.choices[command]._actions for option in action.option_strings
            if option.startswith("--")}
    # what the program reads itself: files, traces, and which Python to start
    own = {"python", "filter", "memory", "insecure"} if command == "tree" else {"python", "dump", "check-passes"}
    assert live | own == set(options_of(command)) | own


def test_a_package_and_a_program_of_two_versions_do_not_start_each_other_for_ever(tmp_path) -> None:
    old = tmp_path / "pellucid"
    old.write_text(f"#!/bin/sh\nexec {sys.executable} -m pellucid \"$@\"\n")
    old.chmod(0o755)
    done = as_module("version", PELLUCID=str(old))
    assert done.returncode == 2 and "not of one version" in done.stderr


def test_without_torch_the_message_is_the_command_to_type(tmp_path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    (tmp_path / "net.py").write_text("import torch\ndef build(): pass\n")
    done = as_module("skeleton", tmp_path / "net.py:build", PYTHONPATH=os.pathsep.join([str(tmp_path), PACKAGE]))
    assert done.returncode == 2 and f"{sys.executable} -m pip install torch" in done.stderr


def test_an_environment_without_pip_has_another_command(monkeypatch) -> None:
    from pellucid import _live
    assert _live.how_to_install("torch") == f"{sys.executable} -m pip install torch"
    monkeypatch.setattr(_live.importlib.util, "find_spec", lambda name: None)
    assert _live.how_to_install("torch").startswith(f"uv pip install --python {sys.executable} torch")


def test_a_python_without_the_package_says_so() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    has = subprocess.run([sys.executable, "-c", "import pellucid"], env=environment, capture_output=True, check=False)
    if has.returncode == 0:
        pytest.skip("this Python has pellucid installed")
    done = subprocess.run([PROGRAM, "demo", "--python", sys.executable], env=environment, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2 and f"{sys.executable} -m pip install" in done.stderr
    assert "Traceback" not in done.stderr


# ---- one API ----

def test_dir_shows_the_api_alone() -> None:
    assert dir(pellucid) == sorted(pellucid.__all__)
    code = "import pellucid; pellucid.ast; pellucid.tree; assert dir(pellucid) == sorted(pellucid.__all__)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(pellucid._LAZY) | {"Error", "__version__"} == set(pellucid.__all__)


@pytest.mark.parametrize("command", [c for c in SUBCOMMANDS if c not in NO_FUNCTION])
def test_every_subcommand_is_a_function_with_the_same_options(command) -> None:
    pytest.importorskip("torch", reason="some functions are in modules that import torch")
    function = getattr(pellucid, command)
    assert inspect.getdoc(function)
    parameters = inspect.signature(function).parameters
    for option in options_of(command):
        name = RENAMED.get(option, option.replace("-", "_"))
        if name not in parameters:
            assert option in NOT_IN_PYTHON or (command, option) in ELSEWHERE, f"{command} --{option}"


def test_old_names_work_and_say_what_replaces_them() -> None:
    with pytest.warns(DeprecationWarning, match=r"pellucid\.ast"):
        assert json.loads(pellucid.parse_json("x = 1"))["_type"] == "Module"
    with pytest.warns(DeprecationWarning, match=r"pellucid\.format"):
        assert pellucid.format_source("x=1") == pellucid.format(code="x=1") == "x = 1\n"
    with pytest.warns(DeprecationWarning, match=r"scan\(\.\.\.\)\.source"):
        assert callable(pellucid.scan_source)
    with pytest.raises(AttributeError):
        pellucid.nonsense


def test_errors_of_the_program_are_errors(tmp_path) -> None:
    with pytest.raises(pellucid.Error, match="none.pt"):
        pellucid.tree(tmp_path / "none.pt")
    (tmp_path / "bad.py").write_text("x = (")
    with pytest.raises(pellucid.Error) as caught:
        pellucid.ast(tmp_path / "bad.py")
    assert (caught.value.line, caught.value.column) == (1, 5)
    with pytest.raises(ValueError, match="memory"):
        pellucid.audit(tmp_path / "bad.py", memory=-1)
    with pytest.raises(TypeError):
        pellucid.ast()


def check_result(result, **expected) -> None:
    assert len(repr(result)) < 300 and "\n" not in repr(result) and repr(result).startswith("<pellucid.")
    assert str(result).strip()
    page = result._repr_html_()
    assert "max-width:100%" in page and "<script" not in page.partition("srcdoc")[0]
    values = result.to_dict()
    assert json.loads(json.dumps(values)) == values


def test_results_of_the_program(tmp_path) -> None:
    torch = pytest.importorskip("torch", reason="files are written by torch")
    np = pytest.importorskip("numpy")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    path = tmp_path / "model.pt"
    torch.save({"epoch": 3, "state": model.state_dict()}, path)
    tree, audit = pellucid.tree(path), pellucid.audit(path)
    fits, differs = pellucid.compare(path, model), pellucid.compare(torch.nn.Linear(2, 4), path)
    array = pellucid.extract(path, "state.0.weight", tmp_path / "weight.npy")
    written = pellucid.convert(path, tmp_path / "model.safetensors", prefix="state.")
    for result in (tree, audit, fits, differs, array, written, pellucid.dis(check_result), pellucid.ast(code="x = 1"),
                   pellucid.decompile_map(check_result), pellucid.scan(code="import torch; torch.nn.Linear(2, 3)")):
        check_result(result)
    assert tree.to_dict()["networks"][0]["values"] == [{"name": "epoch", "value": "3"}]
    assert audit.verdict == "harmless" and audit.exit_code == 0 and audit.findings == []
    assert fits and fits.equal == len(model.state_dict()) and not differs and differs.differences
    assert (np.load(array) == model[0].weight.detach().numpy()).all()
    assert pellucid.compare(written, model)
    torch.save({"state": model.state_dict(), "moments": torch.ones(2)}, path)
    partly = pellucid.compare(path, model)
    assert partly.same and partly.not_compared == 1 and "1 were not compared" in repr(partly)
    assert "stripped the prefix 'state.' from every name; 1 without it is not compared" in str(partly)


def test_results_of_live_models(tmp_path) -> None:
    torch = pytest.importorskip("torch", reason="live models are torch's")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3))
    made = pellucid.skeleton(model, torch.ones(4, 2), more=[])
    for result in (made, made.report, pellucid.tree(model, torch.ones(4, 2)), pellucid.tree(model)):
        check_result(result)
    assert repr(made).startswith("<pellucid.Skeleton ") and "checks" in repr(made)
    assert "class" in str(made) and made.to_dict()["root"] == made.root


def test_a_danger_is_no_exception_and_nothing_hides_it(tmp_path) -> None:
    (tmp_path / "bad.pkl").write_bytes(b"cposix\nsystem\n(S'echo'\ntR.")
    (tmp_path / "good.npy").write_bytes(b"")
    found = pellucid.audit(tmp_path)
    assert found.verdict == "dangerous" and found.exit_code == 4 and found.findings
    assert "dangerous: 2 files" in repr(found) and "posix.system" in str(found)
