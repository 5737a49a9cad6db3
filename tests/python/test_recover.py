"""Source back from torch.export archives: equal to the file in bits, or refused with a place."""

from __future__ import annotations

import json
import pathlib
import re
import zipfile
from typing import Any, Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import pellucid

Change = Callable[[dict[str, Any]], None]


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(6, 12), nn.Linear(12, 6, bias=False)
        self.register_buffer("shift", torch.arange(6.0), persistent=False)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"y": self.down(F.gelu(self.up(x))) + self.shift, "norm": x.pow(2).sum(-1)}


class Attention(nn.Module):
    def __init__(self, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attn, self.norm2 = nn.LayerNorm(16), Attention(), nn.LayerNorm(16, bias=False)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.blocks = nn.ModuleList(Block() for _ in range(5))
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class NoGrad(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            scale = self.fc(x).amax(-1, keepdim=True)
        return self.fc(x) * scale[:, -1:]


def conv_net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                         nn.MaxPool2d(2), nn.Conv2d(8, 4, 3, stride=2, groups=4), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(4, 5))


class Scalars(nn.Module):
    """Tensors without sizes, and a norm over equal sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm((4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x) + torch.zeros([]) + torch.ones([])


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[torch.Tensor, ...]]] = {
    "mlp": (Mlp, (torch.randn(3, 6),)),
    "conv": (conv_net, (torch.randn(2, 3, 12, 12),)),
    "attention": (Attention, (torch.randn(2, 5, 16),)),
    "transformer": (Transformer, (torch.randint(20, (2, 7)),)),
    "no_grad": (NoGrad, (torch.randn(2, 4),)),
    "scalars": (Scalars, (torch.randn(2, 4, 4),)),
}


def exported(folder: pathlib.Path, name: str) -> pathlib.Path:
    torch.manual_seed(0)
    build, inputs = MODELS[name]
    path = folder / f"{name}.pt2"
    torch.export.save(torch.export.export(build().eval(), inputs), path)
    return path


def changed(path: pathlib.Path, change: Change) -> pathlib.Path:
    """A copy with another program in it."""
    to = path.with_name("changed.pt2")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for member in old.infolist():
            content = old.read(member)
            if member.filename.endswith("models/model.json"):
                program = json.loads(content)
                change(program)
                content = json.dumps(program).encode()
            new.writestr(member.filename, content)
    return to


def nodes_of(program: dict[str, Any]) -> list[dict[str, Any]]:
    return program["graph_module"]["graph"]["nodes"]


@pytest.mark.parametrize("name", MODELS)
def test_equal_to_the_file_in_bits(name: str, tmp_path: pathlib.Path) -> None:
    made = pellucid.recover(exported(tmp_path, name))
    assert made.equal == ["the file's example", "the example shuffled"], made.verdict
    assert "bit by bit" in made.source.splitlines()[0]
    assert "torch.ops" not in made.source


def test_repeated_blocks_are_one_class_in_a_loop(tmp_path: pathlib.Path) -> None:
    source = pellucid.recover(exported(tmp_path, "transformer")).source
    assert re.findall(r"^class (\w+)", source, re.MULTILINE) == ["Attention", "Block", "Transformer"]
    assert "for block in self.blocks:" in source and "for _ in range(5)" in source
    assert "F.scaled_dot_product_attention(" in source and "nn.LayerNorm(16, bias=False)" in source


def test_weights_by_convert(pellucid: Any, tmp_path: pathlib.Path) -> None:
    """As the header says: constants, which no state dict has, too."""
    path = exported(tmp_path, "mlp")
    assert "--constants" in pellucid("skeleton", path, "--no-verify").out
    left = pellucid("convert", path, "-o", tmp_path / "w.safetensors")
    assert left.code == 0 and "1 tensor that no state dict has was left out" in left.err
    assert pellucid("convert", path, "-o", tmp_path / "w.safetensors", "--constants").code == 0
    header = (tmp_path / "w.safetensors").read_bytes()
    names = json.loads(header[8:8 + int.from_bytes(header[:8], "little")])
    assert sorted(names) == ["__metadata__", "down.weight", "shift", "up.bias", "up.weight"]


def test_without_gradients_stays_without(tmp_path: pathlib.Path) -> None:
    made = pellucid.recover(exported(tmp_path, "no_grad"))
    space: dict[str, Any] = {}
    exec(made.source, space)
    module, x = space[made.root](), torch.randn(2, 4)
    module.load_state_dict(NoGrad().state_dict())
    original = NoGrad()
    original.load_state_dict(module.state_dict())
    for each in (module, original):
        each(x).sum().backward()
    assert torch.equal(module.fc.weight.grad, original.fc.weight.grad)


# ---- what must be refused ----

def test_an_operator_with_no_place_is_named_with_its_place(pellucid: Any, tmp_path: pathlib.Path) -> None:
    def strange(program: dict[str, Any]) -> None:
        nodes_of(program)[1]["target"] = "torch.ops.mylib.evil.default"
    result = pellucid("skeleton", changed(exported(tmp_path, "mlp"), strange), "-o", tmp_path / "x.py")
    assert result.code == 2 and "torch.ops.mylib.evil.default" in result.err and "at byte" in result.err
    assert not (tmp_path / "x.py").exists()


def test_a_value_that_nobody_makes(pellucid: Any, tmp_path: pathlib.Path) -> None:
    def cut(program: dict[str, Any]) -> None:
        del nodes_of(program)[0]
    result = pellucid("skeleton", changed(exported(tmp_path, "mlp"), cut))
    assert result.code == 2 and "nothing makes the value" in result.err


def test_a_broken_program_has_a_position(pellucid: Any, tmp_path: pathlib.Path) -> None:
    path = exported(tmp_path, "mlp")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "broken.pt2", "w") as new:
        for member in old.infolist():
            content = old.read(member)
            new.writestr(member.filename, content[:500] if member.filename.endswith("model.json") else content)
    result = pellucid("skeleton", tmp_path / "broken.pt2")
    assert result.code == 2 and "at byte" in result.err
    (tmp_path / "half.pt2").write_bytes(path.read_bytes()[:2000])
    assert pellucid("skeleton", tmp_path / "half.pt2").code == 2


def test_a_source_that_differs_is_not_written(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    """The comparison is one that can fail: the text is made wrong after it was written."""
    from pellucid import _live, _recover
    path, run = exported(tmp_path, "mlp"), _recover.run

    def wrong(*arguments: str) -> tuple[int, str]:
        code, text = run(*arguments)
        return code, text.replace(" + self.shift", " - self.shift") if arguments[0] == "skeleton" else text
    monkeypatch.setattr(_recover, "run", wrong)
    assert _live.main(["skeleton", str(path), "-o", str(tmp_path / "x.py")]) == 4
    assert "elements differ" in capsys.readouterr().err and not (tmp_path / "x.py").exists()


def test_a_suspicious_file_is_never_loaded(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = exported(tmp_path, "mlp")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("mlp/data/constants/custom_obj_0", b"cos\nsystem\n(S'true'\ntR.")

    def load(*_: Any) -> None:
        raise AssertionError("the file was loaded")
    monkeypatch.setattr(torch.export, "load", load)
    assert "the audit calls the file dangerous" in pellucid.recover(path).verdict


def test_without_torch_it_is_written_and_not_verified(pellucid: Any, tmp_path: pathlib.Path) -> None:
    path = exported(tmp_path, "mlp")
    result = pellucid("skeleton", path, "--python", "/nonexistent/python", "-o", tmp_path / "x.py")
    assert result.code == 3 and "not verified" in result.err
    assert "not verified" in (tmp_path / "x.py").read_text(encoding="utf-8").splitlines()[0]


def test_a_colon_in_the_name(pellucid: Any, tmp_path: pathlib.Path) -> None:
    path = exported(tmp_path, "mlp").rename(tmp_path / "a:b.pt2")
    assert pellucid("skeleton", path, "--no-verify").code == 0
