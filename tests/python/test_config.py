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


def test_half_of_an_odd_size():
    assert [e.text for e in Fitter({"f": (3, 4, 7)}).fit((1, 2, 3), ["f"])] == [f"{CFG}.f // 2"]
    assert not Fitter({"f": (3, 4, 7)}).fit((1, 5, 2), ["f"])


def test_a_line_needs_three_points():
    """Two numbers are always on a line: without a third they say nothing."""
    assert not Fitter({"f": (6, 12)}).fit((256, 448), ["f"])
    assert [e.text for e in Fitter({"f": (6, 12)}, strict=False).fit((256, 448), ["f"])] == [f"32 * {CFG}.f + 64"]
    assert [e.text for e in Fitter({"f": (6, 12, 3)}).fit((256, 448, 160), ["f"])] == [f"32 * {CFG}.f + 64"]
    assert not Fitter({"f": (6, 12, 3)}).fit((256, 448, 161), ["f"])


def table(*fields: int) -> int:
    """A number that depends on the fields in a way that no expression says."""
    return random.Random(repr(fields)).randrange(10**6)


def test_a_field_that_is_not_substituted_everywhere_is_no_field():
    """Texts whose numbers are sums of fields, of equal ones too, with places that nothing explains: what has a Config
    has every number of the original at sizes that were never seen."""
    generator, kept, lost = random.Random(3), 0, 0
    places = [lambda f, g, h: f, lambda f, g, h: g, lambda f, g, h: 4 * f, lambda f, g, h: f * g,
              lambda f, g, h: g + h, lambda f, g, h: 5 * h + 7, lambda f, g, h: f // 2, lambda f, g, h: 64,
              lambda f, g, h: table(f), lambda f, g, h: table(g, 1), lambda f, g, h: table(f, h),
              lambda f, g, h: max(h, 65)]  # another branch than the one that was built first
    for _ in range(60):
        chosen = [generator.choice(places[:-4] if generator.random() < 0.8 else places) for _ in range(6)]

        def text(values: tuple[int, int, int]) -> str:
            numbers = [place(*values) for place in chosen]
            return "class Net:\n    def __init__(self):\n        self.numbers = " + repr(tuple(numbers)) + "\n"

        base = (64, generator.choice([64, 8]), 64)  # equal by accident
        sizes = [base, *(tuple(2 * v if i == j else v for j, v in enumerate(base)) for i in range(3)),
                 tuple(v // 2 for v in base)]
        builds = [Build(dict(zip("fgh", size)), text(size)) for size in sizes]
        joined = join(builds[0], builds[1:], "Net")
        for changed in [(96, 24, 80), (160, 16, 72)]:
            other = tuple(v if n in joined.fields else w for n, v, w in zip("fgh", changed, base))
            here = resized(joined.source, joined.config, dict(zip("fgh", other))) if joined.fields else joined.source
            spaces: list[dict[str, object]] = [{}, {}]
            exec(here, spaces[0])
            exec(text(other), spaces[1])
            here_numbers, numbers = (space["Net"]().numbers for space in spaces)  # type: ignore[operator]
            assert here_numbers == numbers, (joined.source, joined.dump())
        kept, lost = kept + len(joined.fields), lost + 3 - len(joined.fields)
    assert kept > 60 and lost > 20, (kept, lost)


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

def divisible(value, by):
    return int(value + by / 2) // by * by

class Normed(nn.Module):
    """A batch norm learns in train mode. rounded is 3 * rounded // 2 at 16 and at 32, and not at 8; scale is in a shape
    and in a number that no expression says; slope is read in train mode alone."""
    def __init__(self, width=16, rounded=16, scale=16, growth=3, slope=0.5):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3)
        self.norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, divisible(1.5 * rounded, 8), 1)
        self.third = nn.Conv2d(self.second.out_channels, scale, 1)
        self.fourth = nn.Conv2d(scale, 20 + 4 * growth, 1)
        self.weight, self.slope = 1 + len(str(7 ** scale)), slope

    def forward(self, x):
        x = self.norm(self.first(x))
        if self.training:
            x = x * self.slope
        return self.fourth(self.third(self.second(x)) * self.weight)

def normed():
    return Normed().eval(), torch.randn(2, 3, 6, 6)

class Greedy(nn.Module):
    """Takes its arguments out of what it is given: a second call with the same objects would find nothing."""
    def __init__(self, blocks, options, width=16):
        super().__init__()
        self.first = nn.Linear(6, width, bias=options.pop("bias"))
        self.more = nn.ModuleList()
        while blocks:
            for row in blocks.pop(0):
                self.more.append(nn.Linear(width, row.pop("hidden") * width))
                self.more.append(nn.Linear(self.more[-1].out_features, width))

    def forward(self, x):
        x = self.first(x)
        for layer in self.more:
            x = layer(x).relu()
        return x

def greedy():
    return Greedy([[{"hidden": 2}], [{"hidden": 3}]], {"bias": False}).eval(), torch.randn(2, 6)
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


def test_fields_that_fit_by_accident(source):
    """What fits at one other size and not at the next is a number, everywhere; a batch norm costs no field."""
    made, outcome, _ = made_of(source, "normed")
    assert list(outcome.fields) == ["width", "growth", "slope"], outcome.dropped
    assert "nn.BatchNorm2d(cfg.width)" in made.source and "4 * cfg.growth + 20" in made.source
    assert not {"rounded", "scale"} & outcome.fields.keys() and "scale" not in made.source.split("import", 1)[1].split(
        "# pellucid:")[0].replace("self.scale", "")
    space, author = vars(_check.load_source(made.source, "config_normed", "<normed>")), sys.modules["author_nets"]
    for values in ({"width": 5}, {"growth": 11}, {"slope": 0.9}, {"width": 40, "growth": 1, "slope": 0.1}):
        original, twin = author.Normed(**values), space["Normed"](space["Config"](**values))
        twin.load_state_dict(original.state_dict(), strict=True)
        x = torch.randn(2, 3, 6, 6)
        for mode in (True, False):
            assert torch.equal(original.train(mode)(x), twin.train(mode)(x)), (values, mode)


def test_a_constructor_that_uses_up_its_arguments(source):
    made, outcome, _ = made_of(source, "greedy")
    assert list(outcome.fields) == ["width"] and not outcome.dropped, outcome.dropped
    assert "3 * cfg.width" in made.source


def test_the_referee_has_the_last_word(source, monkeypatch):
    """A text in which a field is read in the wrong place is not handed out with that field."""
    real = join

    def wrong(base: Build, builds, root: str, strict: bool = True) -> Joined:
        found = real(base, builds, root, strict)
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
    values = {"depths[0]": 2, "depths[1]": 3, "width": 8, "dims[1]": 32}
    text = config_class(values, "Config", {**values, "dims[0]": 16, "dims[2]": 64})
    space: dict[str, object] = {}
    exec("from dataclasses import dataclass\n" + text, space)
    config = space["Config"]
    assert config().depths == (2, 3)  # type: ignore[operator]
    with pytest.raises(AssertionError, match="2 items"):
        config(depths=(1, 2, 3))  # type: ignore[operator]
    assert config(dims=(16, 48, 64)).dims == (16, 48, 64)  # type: ignore[operator]
    with pytest.raises(AssertionError, match=r"dims\[0\] can't change"):
        config(dims=(8, 32, 64))  # type: ignore[operator]
    other = resized(text, "Config", {"dims[1]": 48, "width": 4})
    assert "dims: tuple = (16, 48, 64)" in other and "width: int = 4" in other


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
    assert again.returncode == 3, again.stdout + again.stderr
    assert "not compared again: sizes that can be changed" in again.stdout
    assert again.stdout.count(" FAILED ") == 1, again.stdout
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


# ---- models in hand ----

class Sizes:
    """A configuration object of the simplest kind; what is left out is computed."""

    def __init__(self, width=16, heads=2, layers=2, inner=None, classes=5):
        self.width, self.heads, self.layers, self.classes = width, heads, layers, classes
        self.inner = 2 * width if inner is None else inner


class Mixer(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.norm = torch.nn.LayerNorm(config.width)
        self.up = torch.nn.Linear(config.width, config.inner)
        self.down = torch.nn.Linear(config.inner, config.width)

    def forward(self, x):
        b, t, c = x.shape
        x = self.norm(x).view(b, t, self.config.heads, c // self.config.heads).softmax(-1).view(b, t, c)
        return self.down(self.up(x).relu())


class Kept(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = torch.nn.Embedding(11, config.width)
        self.layers = torch.nn.ModuleList([Mixer(config) for _ in range(config.layers)])
        self.head = torch.nn.Linear(config.width, config.classes)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


class ByName(torch.nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()
        self.width, self.depth = width, depth
        self.layers = torch.nn.ModuleList([torch.nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x


IDS = torch.randint(0, 11, (2, 6))


@pytest.mark.slow
def test_a_model_in_hand_is_built_again_from_its_configuration() -> None:
    """What the configuration computes of another field (inner) follows it, and is no field."""
    other = Kept(Sizes(width=24, heads=3, layers=3)).eval()
    wider = Kept(Sizes(inner=40)).eval()
    made = skeleton(Kept(Sizes()).eval(), IDS, config=True, also=[other, wider], progress=False)
    found = made.report.config
    assert set(found["fields"]) == {"width", "heads", "layers", "classes"} and len(found["equal"]) == 2
    assert found["also"] == {"model 1": {"width": 24, "heads": 3, "layers": 3}}
    assert "model 2" in found["not also"] and "NOT model 2" in " ".join(made.source.split())
    space = vars(_check.load_source(made.source, "made_in_hand", "<made>"))
    ours = space["Kept"](space["Config"](width=24, heads=3, layers=3)).eval()
    ours.load_state_dict(other.state_dict())
    assert torch.equal(ours(IDS), other(IDS))


@pytest.mark.slow
def test_a_model_in_hand_is_built_again_from_its_arguments() -> None:
    made = skeleton(ByName(12).eval(), torch.randn(2, 12), config=True, progress=False)
    assert made.report.config["fields"] == {"width": 12, "depth": 2}


def test_a_model_that_keeps_nothing_has_no_config() -> None:
    from pellucid._config_fields import subject_of
    model = torch.nn.Sequential(torch.nn.Linear(3, 3))
    assert subject_of(model, (torch.randn(1, 3),), {}) is None
    changed = Kept(Sizes())
    changed.head = torch.nn.Linear(16, 9)  # after it was built
    assert subject_of(changed, (IDS,), {}) is None
