"""Kinds of models that people have, each small: checkpointed and reversible ones, caches that callers make, trees,
tables of functions. A skeleton comes out, is equal with gradients, and runs beside the model on other calls, too.

tests/data/kinds.txt has the programs, in the form of adversarial.txt. Run as a program it tries all, or those named.
"""

from __future__ import annotations

import pathlib
import re

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

import test_adversarial  # noqa: E402

TEXT = (pathlib.Path(__file__).resolve().parent.parent / "data" / "kinds.txt").read_text()
PROGRAMS = dict(re.findall(r"(?ms)^=== (\w+)\n(.*?)(?=^=== |\Z)", TEXT))
HEAD = TEXT[:TEXT.index("\n=== ")]
FAST = ("guided_diffusion_block", "function_that_calls_helpers_and_back", "tree_lstm_ints",
        "star_of_a_closure_called_with_more_and_fewer")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow)
                                  for name in PROGRAMS])
def test_comes_out_and_is_equal(name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_adversarial, "HEAD", HEAD)
    kind, what, source = test_adversarial.tried(PROGRAMS[name], tmp_path, "verified", name)
    assert kind == "fine", f"{what}\n{source}"


if __name__ == "__main__":
    import sys
    import tempfile
    import warnings
    warnings.simplefilter("ignore")
    test_adversarial.HEAD = HEAD
    for program in [name for name in sys.argv[1:] if name in PROGRAMS] or PROGRAMS:
        with tempfile.TemporaryDirectory() as place:
            found = test_adversarial.tried(PROGRAMS[program], pathlib.Path(place), "verified", program)
            print(f"{program}: {found[0]}: {found[1]}", flush=True)
