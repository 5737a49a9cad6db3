"""The golden cases of the synthesis: model files and their skeletons, all in one process because of torch's import.

    python tests/python/test_golden_lanes.py --bless [NAME ...]     rewrites expectations (tools/bless.py calls it)
"""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import pellucid  # noqa: E402
import run_golden  # noqa: E402
from pellucid import _contract, _workshop  # noqa: E402
from test_skeleton import referee_here  # noqa: E402

FILES = sorted((run_golden.GOLDEN / "lanes").glob("*.txt"))
CASES = [case for path in FILES for case in run_golden.read_cases(path)]


def skeleton_of(case: run_golden.Case, folder: pathlib.Path) -> str:
    """The skeleton without its header and its contract; what is not equal is said in the text."""
    path = folder / (re.sub(r"\W", "_", case.name) + ".py")
    path.write_text("import torch\n" + case.input)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    verify, _workshop.verify = _workshop.verify, referee_here
    try:
        keywords = getattr(module, "keywords", dict)()
        more = getattr(module, "more", lambda: None)()
        made = pellucid.skeleton(module.model().eval(), module.inputs(), keywords, more=more, strict=False)
    except pellucid.SkeletonError as error:
        why = re.sub(r"\S*/[\w.]+:\d+: ", "", str(error).partition(";")[0])  # what follows are further attempts
        return f"refused: {why[:30].rstrip()}\n"  # a long path leaves less room for the reason
    finally:
        _workshop.verify = verify
        del sys.modules[path.stem]
    bad = "".join(f"{c.name}: {c.status}: {c.detail}\n" for c in made.report.failures)
    text = re.sub(rf"\n*^{_contract.MARK}.*\n\Z", "\n", made.source, flags=re.MULTILINE)
    return re.sub(r"\A(#.*\n)+\n*", "", text) + bad


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_golden(case: run_golden.Case, tmp_path) -> None:
    assert skeleton_of(case, tmp_path) == case.expected


def bless(names: list[str]) -> None:
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        for path in FILES:
            cases = run_golden.read_cases(path)
            for case in cases:
                if not names or any(case.name.startswith(n) for n in names):
                    case.expected = skeleton_of(case, pathlib.Path(folder)).rstrip("\n") + "\n"
            run_golden.write_cases(path, cases)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--bless"]:
        sys.exit(__doc__)
    bless(sys.argv[2:])
