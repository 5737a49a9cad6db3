"""What looks like a constant and is none: a skeleton gives what its model gives for other arguments, or it raises. That
holds for a single recorded call (`more=[]`) and for skeletons that were checked.
The models: tests/data/dependent_models.py."""

from __future__ import annotations

import copy
import importlib.util
import pathlib
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="skeletons are made of torch modules")

import pellucid  # noqa: E402

PATH = pathlib.Path(__file__).resolve().parent.parent / "data" / "dependent_models.py"
spec = importlib.util.spec_from_file_location(PATH.stem, PATH)
assert spec is not None and spec.loader is not None
models = importlib.util.module_from_spec(spec)
sys.modules[PATH.stem] = models
spec.loader.exec_module(models)


def run(model: torch.nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """What a call gives, or the exception; and where the generator is then."""
    torch.manual_seed(0)
    try:
        given = copy.deepcopy(model)(*copy.deepcopy(arguments))
    except Exception as error:
        return error, None
    return given, torch.get_rng_state()


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    return type(a) is type(b) and a == b


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("more", [[], None], ids=["one_call", "checked"])
@pytest.mark.parametrize("row", models.CASES, ids=[row[0].__name__ for row in models.CASES])
def test_equal_or_raises(row: Any, more: Any) -> None:
    kind, first, others = row
    if kind in models.NEEDS_EINOPS and models.einops is None:
        pytest.skip("einops is not installed")
    torch.manual_seed(0)
    model = kind().eval()
    try:
        made = pellucid.skeleton(model, copy.deepcopy(first), more=more, verify=more is None)
    except pellucid.SkeletonError:
        return
    skeleton = made.module()
    skeleton.load_state_dict(model.state_dict())
    for arguments in (first, *others):
        wanted, state = run(model, arguments)
        given, own = run(skeleton.eval(), arguments)
        if isinstance(given, Exception):
            assert arguments is not first, f"{given}\n{made.source}"
            continue
        assert not isinstance(wanted, Exception), f"the model raises: {wanted}\n{made.source}"
        assert same(given, wanted), made.source
        assert torch.equal(state, own), f"another state of the generator\n{made.source}"


@pytest.mark.parametrize("more", [[], None], ids=["one_call", "checked"])
def test_argument_that_is_left_out_is_asserted(more: Any) -> None:
    x = torch.randn(3, 4)
    made = pellucid.skeleton(models.GivenThenNone().eval(), (x, x), more=more).module()
    with pytest.raises(AssertionError, match="not recorded with"):
        made(x)


def test_train_of_the_author_is_written() -> None:
    model = models.Frozen().eval()
    x = torch.randn(3, 4)
    made = pellucid.skeleton(model, x, more=[], verified=False)
    skeleton = made.module()
    skeleton.load_state_dict(model.state_dict())
    assert not skeleton.train().bn.training and skeleton.training, made.source
    assert torch.equal(model.train()(x), skeleton(x))
    assert all(torch.equal(a, b) for a, b in zip(model.buffers(), skeleton.buffers()))


def test_train_that_names_other_things_is_refused_in_words() -> None:
    made = pellucid.skeleton(models.FrozenByFlag().eval(), torch.randn(3, 4), more=[], verified=False)
    skeleton = made.module().eval()
    with pytest.raises(AssertionError, match=r"FrozenByFlag\.train\(\) is not written"):
        skeleton.train()


def test_layers_that_are_called_are_not_here_for_their_weights() -> None:
    made = pellucid.skeleton(models.Parallel().eval(), torch.randn(2, 4), more=[], verified=False)
    assert "weights alone" not in made.source


def test_scalars_of_numpy_need_no_numpy() -> None:
    pytest.importorskip("numpy")
    made = pellucid.skeleton(models.Scaled().eval(), torch.randn(2, 4), more=[], verified=False)
    assert "numpy" not in made.source and "0.125" in made.source
