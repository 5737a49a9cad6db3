"""Bytecode that no compiler laid out: what Dynamo generates, decompiled, compiled again and run in its place."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pellucid = pytest.importorskip("pellucid", reason="the extension is not built for this Python")

from dynamo_programs import PROGRAMS, run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared")) / "data" / "dynamo"


class Replace:
    """While it is open, code that Dynamo generates is decompiled, and the recompiled text runs in its place."""

    def __enter__(self):
        self.replaced, self.failed = [], []
        self.handle = torch._dynamo.convert_frame.register_bytecode_hook(self.hook)
        return self

    def __exit__(self, *error):
        self.handle.remove()

    def hook(self, original, generated):
        try:
            made = pellucid.recompile(generated)
        except Exception as error:
            self.failed.append(f"{generated.co_name}: {type(error).__name__}: {error}")
            return None
        self.replaced.append(made)
        return made


FAST = {"plain", "data_if", "data_if_else_joined", "break_in_expression", "no_grad_if",
        "own_context_manager", "try_finally", "closure_nonlocal", "closure_written", "keyword_arguments",
        "unpacking", "module"}


@pytest.mark.parametrize("name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow)
                                  for name in PROGRAMS])
def test_recompiled_code_runs_the_same(name: str) -> None:
    # Compared with what Dynamo makes of it: that is not always what Python does (deques lose their length).
    torch._dynamo.reset()
    function, calls = PROGRAMS[name]()
    expected = run(torch.compile(function, backend="eager"), calls)
    torch._dynamo.reset()
    function, calls = PROGRAMS[name]()
    with Replace() as replace:
        got = run(torch.compile(function, backend="eager"), calls)
    assert not replace.failed
    assert got == expected
    if name != "loop_with_data_break":  # the only one that Dynamo leaves alone altogether
        assert replace.replaced


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded pairs are not on this machine (PELLUCID_SHARED)")
def test_recorded_code_decompiles(pellucid) -> None:  # the fixture: the program
    manifest = json.loads((SHARED / "manifest.json").read_text())
    for pair in manifest:
        for name in (pair["transformed"], pair["original"]):
            result = pellucid("decompile", "--marshal", "3.11", SHARED / name)
            assert result.code == 0, (name, result.err)
            assert "# pellucid: incomplete" not in result.out, name
            compile(result.out, name, "exec")
