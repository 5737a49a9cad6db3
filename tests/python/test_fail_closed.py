"""What a single recorded call can't show is refused, not baked in, even where no referee looks."""

from __future__ import annotations

import collections
import dataclasses
import time
import typing

import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402


class Keeps(torch.nn.Module):
    """What is in a deque is in no log: the text of one call would lose what the call before left there."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: collections.deque = collections.deque(maxlen=2)

    def forward(self, x):
        self.kept.append(x.mean())
        return x + sum(self.kept)


class Takes(torch.nn.Module):
    def forward(self, x, function, more=None):
        return function(x)


@pytest.mark.parametrize("more", [None, []], ids=["default", "one call"])
@pytest.mark.parametrize("model, args, says", [
    (Keeps(), (torch.ones(2, 3),), "may answer differently each time"),
    (Takes(), (torch.ones(2, 3), lambda x: x * 2), "argument 2 is a function"),
    (Takes(), (torch.ones(2, 3), torch.relu, {"hooks": [lambda x: x]}), r"argument 3\['hooks'\]\[0\] is a function"),
], ids=["deque", "function", "function in a container"])
def test_refused_unverified_too(model, args, says, more) -> None:
    start = time.process_time()
    with pytest.raises(pellucid.SkeletonError, match=says):
        pellucid.skeleton(model, args, more=more, verify=False, progress=False)
    assert time.process_time() - start < 10


def test_function_of_torch_has_a_name_that_can_be_asked_for() -> None:
    made = pellucid.skeleton(Takes(), (torch.ones(2, 3), torch.relu), more=[], verify=False, progress=False)
    built = made.module()
    assert torch.equal(built(torch.ones(2, 3), torch.relu), torch.ones(2, 3))
    with pytest.raises(AssertionError):
        built(torch.ones(2, 3), torch.sigmoid)


@dataclasses.dataclass
class Box:
    v: torch.Tensor
    times: int = 2


class Larger(Box):
    pass


class Pair(typing.NamedTuple):
    v: torch.Tensor
    times: int = 3


class AsksForClass(torch.nn.Module):
    """An object of the caller's is of the author's class, never of one that the file defines."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, given):
        box = given["box"]
        y = self.linear(box.v) * box.times if isinstance(box, Box) else self.linear(box[0])
        return Box(y)


class AsksForClasses(AsksForClass):
    def forward(self, given):
        box = given["box"]
        return self.linear(box.v) * box.times if isinstance(box, (Box, Pair)) else self.linear(box[0])


ROW = torch.randn(3, 4)


@pytest.mark.parametrize("kind", [AsksForClass, AsksForClasses])
@pytest.mark.parametrize("recorded", [Box(ROW), (ROW,), Pair(ROW)], ids=["box", "tuple", "pair"])
def test_whether_callers_give_an_author_s_class(kind, recorded) -> None:
    model = kind().eval()
    made = pellucid.skeleton(model, ({"box": recorded},), more=[], verify=False)
    copy, answered = made.module(), 0
    for other in (recorded, Box(ROW, 5), Larger(ROW), (ROW,), Pair(ROW, 4)):
        wanted = model({"box": other})
        try:
            found = copy({"box": other})
        except AssertionError as error:
            assert "not recorded" in str(error)
            continue
        answered += 1
        assert torch.equal(*(value if torch.is_tensor(value) else value.v for value in (found, wanted)))
    assert answered >= (3 if isinstance(recorded, Box) else 2)
