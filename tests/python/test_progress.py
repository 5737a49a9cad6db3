"""Progress of long jobs: shown where somebody looks, silent elsewhere, and its last line says how it ended."""

from __future__ import annotations

import io
import sys
import types

import pytest

from pellucid._progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_goes(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress() as progress:
        progress("recording")
        progress("verifying")
        progress.close("Net: 3 lines")
    assert sys.stderr.getvalue() == "\r\033[Krecording …\r\033[Kverifying …\r\033[KNet: 3 lines\n"


def test_an_error_leaves_no_line(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ZeroDivisionError), Progress() as progress:
        progress("recording")
        1 / 0
    assert sys.stderr.getvalue().endswith("\r\033[K")


@pytest.mark.parametrize("stream, wanted", [(io.StringIO, None), (Terminal, False), (io.StringIO, False)])
def test_silence(monkeypatch, stream, wanted) -> None:
    monkeypatch.setattr(sys, "stderr", stream())
    with Progress(wanted) as progress:
        progress("recording")
        progress.close("done")
    assert sys.stderr.getvalue() == ""


def test_a_callable_gets_each_step(monkeypatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress(steps.append) as progress:
        progress("recording")
        progress.close("done")
    assert steps == ["recording"] and sys.stderr.getvalue() == ""


def test_a_notebook_has_one_cell_that_changes(monkeypatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, line: object) -> None:
            shown.append(repr(line))

    display = types.ModuleType("IPython.display")
    display.display = lambda *_, **__: Handle()
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with Progress() as progress:
        progress("recording")
        progress.close("Net: 3 lines")
    assert shown == ["recording …", "Net: 3 lines"]


def test_skeleton_shows_it_and_ends_with_one_line(monkeypatch) -> None:
    torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")
    import pellucid
    monkeypatch.setattr(sys, "stderr", Terminal())
    model = torch.nn.Sequential(torch.nn.Linear(4, 3))
    pellucid.skeleton(model, torch.ones(2, 4), more=[], verify=False)
    said = sys.stderr.getvalue()
    assert "recording …" in said and said.splitlines()[-1].endswith("lines, not compared with the model")
    monkeypatch.setattr(sys, "stderr", Terminal())
    pellucid.skeleton(model, torch.ones(2, 4), more=[], verify=False, progress=False)
    assert sys.stderr.getvalue() == ""


def test_the_old_name_of_verify_works_and_says_so() -> None:
    torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")
    import pellucid
    with pytest.warns(DeprecationWarning, match="verify="):
        made = pellucid.skeleton(torch.nn.Linear(4, 3), torch.ones(2, 4), more=[], verified=False)
    assert made.source
