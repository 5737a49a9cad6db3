"""--config: sizes as fields. What is a field was compared in other sizes; what can't be shown stays a number.

    python tests/python/test_config.py --bless      rewrites the golden cases of tests/golden/config
"""

from __future__ import annotations

import json
import math
import pathlib
import random
import subprocess
import sys
import textwrap

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import run_golden  # noqa: E402

torch = pytest.importorskip("torch")
from pellucid import _check, _config, _specs  # noqa: E402
from pellucid._config_fit import CFG, Fitter  # noqa: E402
from pellucid._config_join import Build, Joined, config_class, join, main, read_builds, resized  # noqa: E402
from pellucid._program import program  # noqa: E402
from pellucid._skeleton import skeleton  # noqa: E402

FILES = sorted((run_golden.GOLDEN / "config").glob("*.txt"))
CASES = [case for path in FILES for case in run_golden.read_cases(path)]


def joined_text(text: str) -> str:
    builds = read_builds(text)
    joined = join(builds[0], builds[1:], "Net")
    return (joined.source + joined.dump()).rstrip("\n") + "\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case):
    assert joined_text(case.input) == case.expected


def test_joined_texts_give_back_every_build():
    """At the sizes of a build the joined text is that build's text: each number of it."""
    for case in CASES:
        builds = read_builds(case.input)
        joined = join(builds[0], builds[1:], "Net")
        for build in builds:
            if all(build.values[n] == builds[0].values[n] for n in build.values if n not in joined.fields):
                here = resized(joined.source, joined.config, build.values) if joined.fields else joined.source
                assert sizes_of(here) == sizes_of(build.text), (case.name, build.values)


def sizes_of(source: str) -> dict[str, tuple[int, ...]]:
    space: dict[str, object] = {}
    exec(source, space)
    net = space["Net"]
    return {k: tuple(v.shape) for k, v in net().state_dict().items()}  # type: ignore[operator]


# ---- fitting ----

def test_random_expressions_are_found():
    """Expressions of fields, fitted over one build per field and one of all, hold at sizes that were never seen."""
    generator = random.Random(7)
    shapes = [("f", lambda f, g, h: f), ("4 * f", lambda f, g, h: 4 * f), ("f // g", lambda f, g, h: f // g),
              ("f * h", lambda f, g, h: f * h), ("(f // g) ** -0.5", lambda f, g, h: (f // g)**-0.5),
              ("(f // h) ** 2 + 1", lambda f, g, h: (f // h)**2 + 1), ("3 * f // g", lambda f, g, h: 3 * f // g),
              ("(g + 2 * h) * f", lambda f, g, h: (g + 2 * h) * f), ("2 * h - 1", lambda f, g, h: 2 * h - 1)]
    for _ in range(40):
        g, h = generator.choice([2, 4, 8]), generator.choice([1, 2, 4])
        base = (g * h * generator.choice([4, 6, 10]), g, h)
        for text, function in shapes:
            builds = [base]
            for i in range(3):
                builds.append(tuple(2 * v if i == j else v for j, v in enumerate(base)))
            builds.append(tuple(3 * v for v in base))
            target = tuple(function(*b) for b in builds)
            moved = [n for i, n in enumerate("fgh") if target[i + 1] != target[0]]
            found = Fitter({n: tuple(b[i] for b in builds) for i, n in enumerate("fgh")}).fit(target, moved)
            assert found, (text, base)
            for k in (5, 7):
                other = dict(zip("fgh", (base[0] * k * 6, base[1] * k, base[2] * 2)))
                values = eval(found[0].text.replace(CFG, "c"), {"c": type("C", (), other), "math": math})
                assert values == function(*other.values()), (text, base, found[0].text)


def test_numbers_that_no_field_explains_stay():
    fitter = Fitter({"f": (8, 16, 8), "g": (3, 3, 4)})
    assert not fitter.fit((10, 23, 10), ["f"])
    assert not fitter.fit((0.1, 0.3, 0.1), ["f"])


# ---- whole models ----

SOURCE = '''
from dataclasses import dataclass
import torch
import torch.nn.functional as F
from torch import nn

@dataclass
class GPTConfig:
    block_size: int = 16
    vocab_size: int = 48
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 16
    dropout: float = 0.1
    unused: int = 7

class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.n_head, self.n_embd, self.dropout = config.n_head, config.n_embd, config.dropout

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.attn = Attention(config)
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(),
                                 nn.Linear(4 * config.n_embd, config.n_embd), nn.Dropout(config.dropout))

    def forward(self, x):
        return x + self.mlp(x + self.attn(self.ln_1(x)))

class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1], device=idx.device))
        for block in self.h:
            x = block(x)
        return self.head(x)

def build():
    return GPT(GPTConfig()).eval(), torch.randint(0, 20, (2, 6))

class Odd(nn.Module):
    """What width does here can't be said by an expression; depth can."""
    def __init__(self, width=12, depth=2):
        super().__init__()
        self.rounded = {12: 5, 24: 9, 6: 4, 36: 11, 13: 7, 11: 3}.get(width, 8)
        self.first = nn.Linear(4, self.rounded)
        self.more = nn.ModuleList([nn.Linear(self.rounded, self.rounded) for _ in range(depth)])

    def forward(self, x):
        x = self.first(x)
        for layer in self.more:
            x = layer(x).relu()
        return x

def odd():
    return Odd().eval(), torch.randn(3, 4)
'''


def made_of(path: pathlib.Path, name: str):
    spec = f"{path}:{name}"
    subject = _specs.load(spec)
    made = skeleton(subject.model, subject.args, subject.kwargs, origin=spec, progress=False)
    return made, _config.with_config(made, subject, lambda: _specs.load(spec)), subject


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "author_nets.py"
    path.write_text(SOURCE)
    yield path
    sys.modules.pop("author_nets", None)


def test_fields_of_a_config(source):
    made, outcome, subject = made_of(source, "build")
    names = ["block_size", "vocab_size", "n_layer", "n_head", "n_embd", "dropout"]
    assert list(outcome.fields) == names, outcome.dropped
    assert len(outcome.equal) == 2 and outcome.dropped == {"unused": "nothing depends on it"}
    assert "nn.Linear(cfg.n_embd, 3 * cfg.n_embd)" in made.source
    assert "nn.Embedding(cfg.block_size, cfg.n_embd)" in made.source  # both are 16
    assert "# Config: bit-equal to the original built with one other size each (block_size=32" in made.source
    space = vars(_check.load_source(made.source, "config_gpt", "<gpt>"))
    twin = space["GPT"]().eval()
    twin.load_state_dict(subject.model.state_dict(), strict=True)
    assert torch.equal(twin(*subject.args), subject.model(*subject.args))
    author = sys.modules["author_nets"]
    values = {"n_embd": 40, "n_head": 5, "n_layer": 1, "vocab_size": 31, "block_size": 9, "dropout": 0.0}
    original = author.GPT(author.GPTConfig(**values)).eval()
    other = space["GPT"](space["Config"](**values)).eval()
    other.load_state_dict(original.state_dict(), strict=True)
    assert torch.equal(other(*subject.args), original(*subject.args))
    with pytest.raises(Exception):
        space["Config"]().n_embd = 3


def test_a_number_without_an_expression_is_no_field(source):
    made, outcome, _ = made_of(source, "odd")
    assert list(outcome.fields) == ["depth"]
    assert "no expression" in outcome.dropped["width"]
    assert "width" not in made.source.split("# pellucid:")[0].split("\n\n", 1)[1]


def test_the_referee_has_the_last_word(source, monkeypatch):
    """A text in which a field is read in the wrong place is not handed out with that field."""
    real = join

    def wrong(base: Build, builds, root: str) -> Joined:
        found = real(base, builds, root)
        found.source = found.source.replace("nn.Dropout(cfg.dropout)", "nn.Dropout(0.1 + 0 * cfg.dropout)")
        return found

    monkeypatch.setattr(_config, "join", wrong)
    made, outcome, _ = made_of(source, "build")
    assert "dropout" not in outcome.fields and "not equal" in outcome.dropped["dropout"]


def test_what_the_header_says_is_of_the_text_with_the_config(source, monkeypatch):
    """All that was compared with the first text is compared with the one that is handed out."""
    import pellucid._again as again
    real, texts = again.referee, []

    def watched(model, text, *rest):
        texts.append(text)
        checks = real(model, text, *rest)
        for check in checks if len(texts) == 1 else ():
            if check.name == "float64":
                check.status = "failed"
        return checks

    made, outcome, _ = made_of(source, "odd")
    assert outcome.fields and made.report.status("float64") == "passed"
    monkeypatch.setattr(again, "referee", watched)
    made, outcome, _ = made_of(source, "odd")
    assert len(texts) == 1 and "class Config" in texts[0]
    assert not outcome.fields and "class Config" not in made.source and "float64" in outcome.dropped["depth"]


def test_lists_have_all_their_items():
    text = config_class({"depths[0]": 2, "depths[1]": 3, "width": 8}, "Config")
    space: dict[str, object] = {}
    exec("from dataclasses import dataclass\n" + text, space)
    config = space["Config"]
    assert config().depths == (2, 3)  # type: ignore[operator]
    with pytest.raises(AssertionError, match="2 items"):
        config(depths=(1, 2, 3))  # type: ignore[operator]


def test_program(source, tmp_path):
    done = subprocess.run([program(), "skeleton", "--python", sys.executable, "--config", f"{source}:build", "-o",
                           str(tmp_path / "out.py")], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out.py").read_text()
    assert "class Config:" in text and "Config: bit-equal" in done.stderr
    contract = json.loads(text.rstrip("\n").rpartition("# pellucid: ")[2])
    assert contract["config"]["fields"]["n_embd"] == 16
    again = subprocess.run([program(), "verify", "--python", sys.executable, str(tmp_path / "out.py"), "--against",
                            f"{source}:build"], capture_output=True, text=True, cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    refused = subprocess.run([program(), "skeleton", "--python", sys.executable, "--config", "--no-verify",
                              f"{source}:build"], capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 1 and "--config" in refused.stderr


def test_join_as_a_program(monkeypatch, capsys):
    import io
    monkeypatch.setattr(sys, "stdin", io.StringIO(CASES[0].input))
    assert main() == 0
    assert capsys.readouterr().out == CASES[0].expected


if __name__ == "__main__":
    assert sys.argv[1:] == ["--bless"], textwrap.dedent(str(__doc__))
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for case in run_golden.read_cases(path):
            before = f"{case.header}{case.input}---\n"
            head, middle, rest = text.partition(before)
            assert middle, case.name
            after = rest.find("\n=== ")
            text = head + before + joined_text(case.input) + (rest[after:] if after >= 0 else "")
        path.write_text(text, encoding="utf-8")
