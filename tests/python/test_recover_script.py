"""Source back from TorchScript archives: equal to the file in bits, or refused with a place."""

from __future__ import annotations

import pathlib
import re
import zipfile
from typing import Any, Callable

import pytest
import torch
from torch import add as plus  # a name that no file knows
from torch import nn
from torch.nn import functional as F

import pellucid


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down, self.scale = nn.Linear(6, 12), nn.Linear(12, 6, bias=False), 0.5
        self.acts = nn.ModuleList([nn.ReLU(), nn.GELU()])
        self.shift = torch.arange(6.0)

    def scaled(self, x, n: int = 2):
        return x * n * self.scale

    def forward(self, x):
        y = self.up(x)
        for act in self.acts:
            y = act(y)
        return {"y": self.scaled(self.down(F.gelu(y))) + self.shift, "norm": x.pow(2).sum(-1)}


def halved(x, twice: bool = False):
    if twice:
        x = x / 2
    return x / 2


def outside_of_the_file(x):
    return x


class Block(nn.Module):
    def __init__(self, width: int, wide: bool) -> None:
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(width), nn.Linear(width, width)
        self.extra = nn.Linear(width, width) if wide else None

    def forward(self, x):
        y = halved(self.fc(self.norm(x)))
        if self.extra is not None:
            y = self.extra(y)
        if not torch.jit.is_scripting():
            y = outside_of_the_file(y)
        return x + y


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(6, 8), nn.Tanh())
        self.blocks = nn.ModuleList([Block(8, False), Block(8, True), Block(8, False)])

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return x


class Conv(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
                                 nn.MaxPool2d(2), nn.Dropout(0.1), nn.Flatten(), nn.Linear(4 * 16, 5))

    def forward(self, x):
        return self.net(x)


class Sized(nn.Module):
    """Sizes that a trace keeps as tensors, and a loop that it unrolls."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.blocks = nn.Linear(6, 18), nn.ModuleList(nn.Linear(6, 6) for _ in range(4))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, 2, d // 2).permute(2, 0, 3, 1, 4).unbind(0)
        x = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d)
        for block in self.blocks:
            x = block(x)
        return x


class Slices(nn.Module):
    """Parts of lists and of tensors, in a function that must be translated, and a list without members."""

    def __init__(self) -> None:
        super().__init__()
        self.none = nn.ModuleList()
        self.fc = nn.Linear(6, 6)

    def forward(self, x):
        sizes = x.shape[-1:]
        for module in self.none:
            x = module(x)
        if x.dim() > 2:
            x = plus(x[0], 1)
        return self.fc(x)[:, 1:] + sizes[0]


MODELS: dict[str, tuple[Callable[[], nn.Module], torch.Tensor]] = {
    "mlp": (Mlp, torch.randn(3, 6)),
    "blocks": (Blocks, torch.randn(3, 6)),
    "conv": (Conv, torch.randn(2, 3, 8, 8)),
    "slices": (Slices, torch.randn(3, 6)),
    "sized": (Sized, torch.randn(2, 5, 6)),
}


def saved(folder: pathlib.Path, name: str, kind: str) -> pathlib.Path:
    torch.manual_seed(0)
    build, x = MODELS[name]
    model = build().eval()
    path = folder / f"{name}_{kind}.pt"
    if kind == "scripted":
        torch.jit.script(model).save(str(path))
    else:
        torch.jit.trace(model, x, strict=False, check_trace=False).save(str(path))
    return path


def changed(path: pathlib.Path, ending: str, change: Callable[[bytes], bytes]) -> pathlib.Path:
    """A copy in which the member of that ending is another."""
    to = path.with_name("changed.pt")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for member in old.infolist():
            content = old.read(member)
            new.writestr(member.filename, change(content) if member.filename.endswith(ending) else content)
    return to


@pytest.mark.parametrize("kind", ["scripted", "traced"])
@pytest.mark.parametrize("name", MODELS)
def test_equal_to_the_file_in_bits(name: str, kind: str, tmp_path: pathlib.Path) -> None:
    path = saved(tmp_path, name, kind)
    made = pellucid.recover(path)
    if name in ("conv", "sized") and kind == "scripted":
        assert made.not_compared or made.equal, made.verdict  # pictures and three dimensions are guessed
        made = pellucid.recover(path, verify=False)
    else:
        assert len(made.equal) == 2, made.verdict
        assert "torch.jit.load" in made.source.splitlines()[0]
    space: dict[str, Any] = {}
    exec(made.source, space)
    module, original = space[made.root]().eval(), torch.jit.load(str(path))
    state = {**original.state_dict(), **({"shift": torch.arange(6.0)} if "shift" in made.source else {})}
    module.load_state_dict(state)
    for x in (MODELS[name][1], torch.cat([MODELS[name][1]] * 2)):  # another batch size, too
        want, got = original(x), module(x)
        for key in want if isinstance(want, dict) else [...]:
            assert torch.equal(want[key], got[key])


def test_the_authors_text(tmp_path: pathlib.Path) -> None:
    source = pellucid.recover(saved(tmp_path, "mlp", "scripted")).source
    assert "        for act in self.acts:\n            y = act(y)\n" in source
    assert "def scaled(self, x, n: int = 2):" in source and "self.scale = 0.5" in source


def test_what_torchscript_decides_is_decided(tmp_path: pathlib.Path) -> None:
    source = pellucid.recover(saved(tmp_path, "blocks", "scripted")).source
    assert "is_scripting" not in source and "outside_of_the_file" not in source
    assert "def halved(x, twice: bool = False):" in source


def test_repeated_members_of_a_trace_are_a_loop(tmp_path: pathlib.Path) -> None:
    source = pellucid.recover(saved(tmp_path, "sized", "traced")).source
    assert "for block in self.blocks:" in source and "for _ in range(4)" in source


def test_a_text_that_does_more_than_compute_is_not_taken(tmp_path: pathlib.Path) -> None:
    """torch never looks at it, so nobody else would: the code is translated instead."""
    def evil(content: bytes) -> bytes:
        line = b"        y = self.up(x)\n"
        assert content.count(line) == 1
        return content.replace(line, b"        math.__loader__\n"[:len(line) - 1].ljust(len(line) - 1) + b"\n")
    path = changed(saved(tmp_path, "mlp", "scripted"), "test_recover_script.py.debug_pkl", evil)
    source = pellucid.recover(path, verify=False).source
    assert "__loader__" not in source and "self.up(x)" in source


def test_a_text_that_lies_is_found_out(tmp_path: pathlib.Path) -> None:
    def lie(content: bytes) -> bytes:
        assert b"        return x * n * self.scale\n" in content
        return content.replace(b"x * n * self.scale", b"x + n * self.scale")
    path = changed(saved(tmp_path, "mlp", "scripted"), "test_recover_script.py.debug_pkl", lie)
    made = pellucid.recover(path)
    assert "elements differ" in made.difference, made.verdict


def test_an_operator_with_no_place_is_named_with_its_place(pellucid: Any, tmp_path: pathlib.Path) -> None:
    path = changed(saved(tmp_path, "sized", "traced"), ".py",
                   lambda code: code.replace(b"torch.permute(", b"ops.mylib.evil("))
    result = pellucid("skeleton", path, "-o", tmp_path / "x.py")
    assert result.code == 2 and "ops.mylib.evil" in result.err and re.search(r"line \d+ of its code", result.err)
    assert not (tmp_path / "x.py").exists()


def test_a_dangerous_file_is_never_loaded(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pellucid import _recover_script
    path = saved(tmp_path, "mlp", "scripted")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("mlp_scripted/extra.pkl", b"cos\nsystem\n(S'true'\ntR.")

    def compare(*_: Any) -> None:
        raise AssertionError("the file was loaded")
    monkeypatch.setattr(_recover_script, "compare", compare)
    assert "the audit calls the file" in pellucid.recover(path).verdict


def test_an_attribute_of_a_value(pellucid: Any, tmp_path: pathlib.Path) -> None:
    """Found by fuzzing: getattr of what is no module."""
    path = changed(saved(tmp_path, "sized", "traced"), ".py",
                   lambda code: code.replace(b"torch.permute(", b'getattr(getattr(x, "T"), "T") + torch.permute('))
    result = pellucid("skeleton", path)
    assert result.code == 2 and "an attribute of something that is no module" in result.err


def test_half_a_file(pellucid: Any, tmp_path: pathlib.Path) -> None:
    path = saved(tmp_path, "mlp", "traced")
    (tmp_path / "half.pt").write_bytes(path.read_bytes()[:3000])
    assert pellucid("skeleton", tmp_path / "half.pt").code == 2
