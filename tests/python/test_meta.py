"""--device meta: models without numbers, and skeletons that are compared by their ATen calls."""

import os
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402
from pellucid import _structure  # noqa: E402
from pellucid._meta import OnMeta, without_weights  # noqa: E402
from torch import nn  # noqa: E402

PELLUCID = os.environ.get("PELLUCID", "pellucid")
NET = '''
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        scale = torch.tensor(0.5, device=x.device)
        return x + scale * self.drop(self.down(nn.functional.gelu(self.up(self.norm(x)))))


class Net(nn.Module):
    def __init__(self, width=64, depth=3):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.register_buffer("scale", torch.arange(1, width + 1).float(), persistent=False)
        self.rates = [float(r) for r in torch.linspace(0, 1, depth)]
        self.weight = nn.Parameter(torch.randn(width, width) * 0.02)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 50)

    def forward(self, ids):
        x = self.embed(ids) * self.scale + torch.arange(ids.shape[1])[:, None]
        for block in self.blocks:
            x = block(x)
        x = x @ self.weight
        return self.head(x[:, [0, -1]].flip(1)).softmax(-1)


def build():
    return Net(), (torch.zeros(2, 7, dtype=torch.int64),)


def huge():
    return Net(width=131072, depth=6), (torch.zeros(2, 7, dtype=torch.int64),)
'''


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meta")
    (folder / "net_without_numbers.py").write_text(NET)
    sys.path.insert(0, str(folder))
    import net_without_numbers
    yield net_without_numbers
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def made(net):
    with without_weights():
        model = net.Net().eval()
    return pellucid.skeleton(model, torch.zeros(2, 7, dtype=torch.int64), device="meta")


def test_a_build_has_no_numbers_and_its_constants_have(net):
    with without_weights():
        model = net.Net()
    assert all(p.is_meta for p in model.head.parameters())
    assert torch.equal(model.scale, net.Net().scale) and model.rates == [0.0, 0.5, 1.0]


def test_the_header_says_what_was_compared_and_no_more(made):
    header = made.source[:made.source.index("import torch")].replace("\n#  ", "")
    assert "by structure, NOT by values" in header and "not compared: values" in header
    assert "bit-equal" not in header
    assert made.report.level == "structure" and made.report.good
    with pytest.raises(pellucid.SkeletonError, match="on the meta device"):
        made.prove()


def test_the_skeleton_is_the_model_with_values_too(made, net):
    """What was shown without values holds with them."""
    torch.manual_seed(0)
    model = net.Net().eval()
    space = {}
    exec(compile(made.source, "<skeleton>", "exec"), space)
    other = space["Net"]().eval()
    other.load_state_dict(model.state_dict())
    for size in ((2, 7), (3, 5)):
        ids = torch.randint(0, 50, size)
        assert torch.equal(model(ids), other(ids))


MUTANTS = {
    "another constant": (r"torch\.tensor\(0\.5", "torch.tensor(0.25"),
    "another number": (r"torch\.linspace|\* self\.scale", "* 2 * self.scale"),
    "another function": (r"F\.gelu\(|functional\.gelu\(", "F.silu("),
    "another index": (r"\[0, -1\]", "[0, 0]"),
    "another axis": (r"\.flip\(1\)", ".flip(2)"),
    "no residual": (r"return x \+ scale", "return scale"),
    "another probability": (r"Dropout\(0\.1\)", "Dropout(0.2)"),
    "another buffer": (r"torch\.arange\(1, 65", "torch.arange(2, 66"),
    "other parameters": (r"x @ self\.weight", "x @ self.weight.T"),
    "another eps": (r"nn\.LayerNorm\(64\)", "nn.LayerNorm(64, eps=1e-6)"),
    "another softmax": (r"softmax\(-1\)|softmax\(dim=-1\)", "softmax(1)"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_refused(made, name):
    pattern, text = MUTANTS[name]
    source, count = re.subn(pattern, text, made.source, count=1)
    if not count:
        pytest.fail(f"{pattern} is not in the skeleton:\n{made.source}")
    if "F." in source and "functional as F" not in source:
        source = source.replace("import torch\n", "import torch\nimport torch.nn.functional as F\n", 1)
    work = _structure.MetaWorkshop(made.model, None, (), "", lambda text: None)
    with work:
        work.record_given(((torch.zeros(2, 7, dtype=torch.int64),), {}))
        work.record_more(None)
        checks = work.verified(source, made.root, ())
    assert any(c.forbids for c in checks), [str(c) for c in checks]


def test_texts_are_alike_but_for_numbers():
    from pellucid._reduced import alike
    text = "class Net:\n    def __init__(self):\n        self.kinds = {}\n        self.n = {}\n"
    assert alike(text.format("['a'] * 80", 80), text.format("['a', 'a']", 2))
    assert not alike(text.format("['a'] * 80", 80), text.format("['a', 'b']", 2))
    assert not alike(text.format("['a']", "x + 1"), text.format("['a']", "x - 1"))
    assert not alike(text.format("['a']", "True"), text.format("['a']", "False"))


def test_what_asks_data_is_refused_with_its_line():
    class Asks(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(x) if x.sum() > 0 else x

    with pytest.raises(pellucid.SkeletonError, match=r"test_meta\.py:\d+: the model can't run without values"):
        pellucid.skeleton(Asks(), torch.ones(2, 4), device="meta")


class Positions(nn.Module):
    """Asks what is made of sizes alone, on the device that its input is on; writes into what is made so."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        at = torch.arange(x.shape[0], device=x.device)
        steps = torch.diff(at, prepend=at[:1] - 1)
        x = self.layer(x)
        if (steps == 1).all():
            x = x * steps[:, None]
        out = torch.zeros(x.shape, device=x.device)
        out[:1] = x[:1]
        return out + x


def test_what_is_made_of_sizes_can_be_asked():
    made = pellucid.skeleton(Positions().eval(), torch.ones(3, 4), device="meta")
    assert "the same ATen calls" in made.source and made.report.good
    namespace: dict = {}
    exec(compile(made.source, "positions.py", "exec"), namespace)
    module, other, x = Positions().eval(), namespace[made.root](), torch.randn(5, 4)
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(x), module(x))


@pytest.mark.parametrize("change", ["at = at + (x.sum() > 0)", "at[:1] = x[:1, 0]", "at = torch.empty_like(at)",
                                    "at = torch.rand(3, device=x.device)"])
def test_what_is_not_of_sizes_alone_has_no_answer(change):
    space = {"torch": torch}
    exec(f"def ask(x):\n    at = torch.arange(3.0, device=x.device)\n    {change}\n    return at.tolist()", space)
    with OnMeta(), pytest.raises((RuntimeError, NotImplementedError)):
        space["ask"](torch.empty(3, 3, device="meta"))


def test_constants_are_not_written_over():
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("kept", torch.arange(4.0), persistent=False)

        def forward(self, x):
            self.kept += self.layer(x).mean(0)
            return x * self.kept

    with pytest.raises(pellucid.SkeletonError, match="into a tensor that has values"):
        pellucid.skeleton(Writes(), torch.ones(2, 4), device="meta")


def test_data_keeps_its_values_on_the_way():
    x = torch.empty(3, 3, device="meta")
    with OnMeta():
        t = x.new_tensor([1.0, 2.0, 4.0])
        assert t.is_meta and torch.arange(3).tolist() == [0, 1, 2]
        log = _structure.MetaLog()
        with log:
            log.refs[id(x)] = _structure.Ref(("input", 0))
            x * t
    from pellucid._prove_log import bits_of
    assert log.rows[-1].args[0][1] == bits_of(torch.tensor([1.0, 2.0, 4.0]))


def test_the_given_model_stays_as_it_was(net):
    model = net.Net().eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    pellucid.skeleton(model, torch.zeros(2, 7, dtype=torch.int64), device="meta")
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


def test_a_model_that_does_not_fit_by_the_program(net, tmp_path):
    """840 billion parameters."""
    out = tmp_path / "huge.py"
    command = [PELLUCID, "skeleton", f"{net.__file__}:huge", "--device", "meta", "-o", str(out)]
    environment = {**os.environ, "PELLUCID_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "NOT by values" in out.read_text()
    header = out.read_text().split("import torch")[0].replace("\n#  ", "")
    claim = r"Values: compared at a reduced size alone\. The model with depth=\d+, width=\d+ has this text"
    assert re.search(claim, header), header
    with without_weights():
        model, inputs = net.huge()
    report = pellucid.verify(out, model, inputs)
    assert report.good and report.level == "structure"
    assert [c.detail for c in report.failures] == ["not compared again: a small model that was compared by values"]
    out.write_text(out.read_text().replace(".flip(1)", ".flip(0)"))
    wrong = subprocess.run([PELLUCID, "verify", str(out), "--against", f"{net.__file__}:huge"], capture_output=True,
                           text=True, env=environment, timeout=120)
    assert wrong.returncode == 4, wrong.stderr + wrong.stdout
