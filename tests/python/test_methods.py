"""Methods other than forward, several of them, each with several calls: in one file, and each compared."""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import pellucid  # noqa: E402
from pellucid import _specs  # noqa: E402
from pellucid._program import program  # noqa: E402

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="recording needs Python 3.11")


class Tower(nn.Module):
    def __init__(self, dim, out):
        super().__init__()
        self.a = nn.Linear(dim, out)

    def forward(self, x):
        return F.gelu(self.a(x))


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = Tower(12, 8)
        self.embed = nn.Embedding(50, 6)
        self.text = Tower(6, 8)
        self.calls = 0

    def encode_image(self, image, scale="one"):
        x = self.visual(image)
        return x * 2 if scale == "two" else x

    def encode_text(self, ids, normalize=False):
        x = self.text(self.embed(ids)).mean(1)
        return F.normalize(x, dim=-1) if normalize else x

    def forward(self, image, ids):
        return self.encode_image(image) @ self.encode_text(ids, normalize=True).T

    @torch.no_grad()
    def generate(self, ids, max_new_tokens):
        for _ in range(max_new_tokens):
            ids = torch.cat([ids, self.encode_text(ids).argmax(-1, keepdim=True)], dim=1)
        return ids

    def forgetful(self, x):
        return x + torch.ones_like(x) * len(str(x.sum().item() > 0))


def build():
    torch.manual_seed(0)
    return TwoTowers().eval()


def made_of(methods, *args, **more):
    return pellucid.skeleton(build(), args, methods=methods, progress=False, **more)


IMAGE, IDS = torch.randn(2, 12), torch.randint(0, 50, (2, 5))


def test_each_method_is_there_and_equal() -> None:
    made = made_of({"encode_image": IMAGE, "encode_text": [IDS, (IDS, True)], "generate": [(IDS, 3), (IDS, 2)]})
    assert made.root == "TwoTowers" and "class Calls" not in made.source
    assert "def forward(self, image" not in made.source
    assert made.report.to_dict()["contract"]["methods"] == ["encode_image", "encode_text", "generate"]
    assert "called: encode_image, encode_text, generate" in made.source
    model, ours = build(), made.module()
    image, ids = torch.randn(3, 12), torch.randint(0, 50, (4, 7))
    assert torch.equal(model.encode_image(image), ours.encode_image(image))
    for flag in (False, True):
        assert torch.equal(model.encode_text(ids, flag), ours.encode_text(ids, flag))
    for count in (1, 3, 6):
        assert torch.equal(model.generate(ids, count), ours.generate(ids, count))


def test_every_method_gets_other_data_and_sizes() -> None:
    made = made_of({"encode_image": IMAGE, "encode_text": IDS})
    seen = {(run["inputs"].get("method"), run["name"].rpartition(" ")[0]) for run in made.report.runs}
    assert {("'encode_text'", kind) for kind in ("other data", "other batch", "other length")} <= seen


def test_forward_comes_along_where_it_has_inputs() -> None:
    made = made_of({"encode_text": IDS}, IMAGE, IDS)
    assert "def forward(self, image" in made.source and made.report.methods == ["forward", "encode_text"]
    ours = made.module()
    assert torch.equal(build()(IMAGE, IDS), ours(IMAGE, IDS))
    assert torch.equal(build().encode_text(IDS), ours.encode_text(IDS))


def test_what_was_given_one_value_is_no_choice() -> None:
    """A text that every call gave: another one is no other answer in silence."""
    ours = made_of({"encode_image": [(IMAGE, "two"), (torch.randn(3, 12), "two")]}).module()
    try:
        found = ours.encode_image(IMAGE)
    except TypeError:
        found = ours.encode_image(IMAGE, "two")
    assert torch.equal(found, build().encode_image(IMAGE, "two"))
    with pytest.raises((TypeError, AssertionError)):
        ours.encode_image(IMAGE, "one")


def test_a_wrong_text_is_caught(monkeypatch) -> None:
    """What is compared is the text that is handed out: a fault in a method of it fails."""
    from pellucid._methods import Methods
    before = Methods.called_directly

    def sabotaged(self, source, root):
        return before(self, source, root).replace(".mean(1)", ".sum(1)")

    monkeypatch.setattr(Methods, "called_directly", sabotaged)
    with pytest.raises(pellucid.SkeletonError, match="differs"):
        made_of({"encode_image": IMAGE, "encode_text": IDS})


def test_wrong_use() -> None:
    with pytest.raises(TypeError, match="no method 'encode'"):
        made_of({"encode": IMAGE})
    with pytest.raises(TypeError):
        made_of({"encode_image": (IMAGE, 1, 2, 3)})
    with pytest.raises(ValueError, match="leave out"):
        made_of({"encode_image": IMAGE}, more=[])


@pytest.mark.parametrize("text, args, kwargs", [
    ("f(1, 'a,b', (2, 3), x=None, y=[1, 2])", (1, "a,b", (2, 3)), {"x": None, "y": [1, 2]}),
    ("f()", (), {}),
    ("f(a='x=(')", (), {"a": "x=("}),
])
def test_literals(text, args, kwargs) -> None:
    assert _specs.parse_call(text) == ("f", (args, kwargs))


def test_tensors_of_a_call() -> None:
    _, (args, kwargs) = _specs.parse_call("f(2x3, 4:int64<9, ids=2x5:int64<7, n=3)")
    assert [tuple(a.shape) for a in args] == [(2, 3), (4,)] and args[1].dtype == torch.int64
    assert tuple(kwargs["ids"].shape) == (2, 5) and int(kwargs["ids"].max()) < 7 and kwargs["n"] == 3
    for bad in ("f", "f(x y)", "f(2x)", "a.b(1)", "f(open('x'))"):
        with pytest.raises(_specs.SpecError):
            _specs.parse_call(bad)


def test_command_line(tmp_path) -> None:
    out = tmp_path / "towers.py"
    calls = ["--call", "encode_image(2x12)", "--call", "encode_text(ids=2x5:int64<50, normalize=True)"]

    def run(*arguments):
        return subprocess.run([program(), *map(str, arguments), "--python", sys.executable], capture_output=True,
                              text=True, check=False, timeout=300)

    done = run("skeleton", f"{__file__}:build", *calls, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "def encode_image(self, image" in out.read_text() and "class Calls" not in out.read_text()
    assert run("verify", out, "--against", f"{__file__}:build", *calls).returncode == 0
    done = run("verify", out, "--against", f"{__file__}:build", "--input", "2x12")
    assert done.returncode == 2 and "encode_image, encode_text" in done.stderr
    out.write_text(out.read_text().replace(".mean(1)", ".sum(1)"))
    assert run("verify", out, "--against", f"{__file__}:build", *calls).returncode == 4
