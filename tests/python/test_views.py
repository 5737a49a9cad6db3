"""Views of live models: the numbers against torch's own counter, and that watching leaves nothing behind."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import pellucid  # noqa: E402
from pellucid._pellucid import view  # noqa: E402
from torch import nn  # noqa: E402


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = self.norm(x)
        return x + self.drop(self.attention(y, y, y, need_weights=False)[0])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight
        self.again = self.blocks[0].norm
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64), persistent=False)
        self.embed.weight.requires_grad_(False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return {"logits": self.head(self.again(x))}


@pytest.fixture(scope="module")
def net():
    return Net()


@pytest.fixture(scope="module")
def run(net):
    return pellucid.tree(net, (torch.arange(8).view(2, 4),))


def test_text_folds_equal_neighbours(net) -> None:
    text = str(pellucid.tree(net))
    assert "0 … 2 ×3: Block()" in text and "norm: LayerNorm((16,), eps=1e-5" in text
    assert re.search(r"embed: Embedding\(50, 16\)  weight 50×16 frozen", text)
    assert "(= embed.weight)" in text and "again: LayerNorm() (= blocks.0.norm)" in text
    count = sum(p.numel() for p in net.parameters())
    assert text.splitlines()[-1].startswith(f"{count:,} parameters, {count - 800:,} of them trainable; 1 in buffers")


def test_numbers_are_those_of_torchs_counter(net, run) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
    # of the processor's fused attention the counter has no formula; of its parts it has
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        net(torch.arange(8).view(2, 4))
    (network,) = run.to_dict()["networks"]
    assert network["totals"]["flops"] == counter.get_total_flops() / 2 > 0
    assert network["totals"]["parameters"] == sum(p.numel() for p in net.parameters())
    assert network["totals"]["trainable"] == sum(p.numel() for p in net.parameters() if p.requires_grad)
    assert {k: tuple(v) for k, v in network["state"].items()} == {k: tuple(v.shape)
                                                                  for k, v in net.state_dict().items()}
    assert list(network["state"]) == list(net.state_dict())


def test_layers_whose_cost_is_known_cost_what_torch_counts() -> None:
    from torch.utils.flop_counter import FlopCounterMode
    image = torch.randn(2, 6, 9, 9)
    for layer, given in ((nn.Linear(9, 5), image), (nn.Conv2d(6, 4, 3, stride=2, groups=2, bias=False), image),
                         (nn.Conv1d(6, 4, 3), image[..., 0]), (nn.Conv3d(6, 4, 3), torch.randn(2, 6, 5, 5, 5)),
                         (nn.ConvTranspose2d(6, 4, 3, stride=2, groups=2), image), (nn.BatchNorm2d(6), image)):
        model = nn.Sequential(layer).eval()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(given)
        (network,) = pellucid.tree(model, (given,)).to_dict()["networks"]
        assert network["totals"]["flops"] == counter.get_total_flops() / 2, layer


def test_what_torchs_counter_does_not_see() -> None:
    """Whole layers as one operator: attention in evaluation, recurrent layers."""
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2,
                                    enable_nested_tensor=False)
    given = torch.randn(2, 5, 16)
    (network,) = pellucid.tree(encoder.eval(), (given,)).to_dict()["networks"]
    linear = 10 * (16 * 48 + 16 * 16 + 2 * 16 * 32)  # in, out, and the two of the feed-forward part
    assert network["totals"]["flops"] == 2 * (linear + 2 * 2 * 5 * 5 * 16)
    assert torch.backends.mha.get_fastpath_enabled()
    (network,) = pellucid.tree(nn.LSTM(8, 4, num_layers=2, bidirectional=True),
                               (torch.randn(3, 2, 8),)).to_dict()["networks"]
    assert network["totals"]["flops"] == 6 * 2 * (16 * 8 + 16 * 4 + 16 * 8 + 16 * 4)


def test_hooks_are_counted_too() -> None:
    layer = nn.Linear(4, 4, bias=False)
    layer.register_forward_hook(lambda module, args, output: output @ output.T)
    (network,) = pellucid.tree(nn.Sequential(layer), (torch.zeros(3, 4),)).to_dict()["networks"]
    assert network["totals"]["flops"] == 3 * 4 * 4 + 3 * 4 * 3


def test_flow_and_shapes(run) -> None:
    (network,) = run.to_dict()["networks"]
    edges = {(e["from"], e["to"]) for e in network["flow"]}
    assert ("input", "embed") in edges and ("head", "output") in edges
    assert ("embed", "blocks.0.norm") in edges
    # What the first block adds to goes through it, not around it.
    assert ("embed", "blocks.0") in edges and ("blocks.0", "blocks.1.norm") in edges
    assert ("embed", "blocks.1.norm") not in edges
    head = next(n for n in network["tree"][0]["children"] if n["name"] == "head")
    assert head["output"] == [2, 4, 50]


def test_watching_leaves_nothing_behind(net) -> None:
    net.train()
    before = torch.get_rng_state()
    pellucid.tree(net, (torch.zeros(1, 4, dtype=torch.int64),))
    assert torch.equal(torch.get_rng_state(), before)
    assert nn.Module.__call__ is nn.Module._wrapped_call_impl
    assert all(not m._forward_hooks and not m._forward_pre_hooks for m in net.modules())
    assert all(p.grad is None for p in net.parameters()) and net.training


def test_an_exception_of_the_model_comes_out(net) -> None:
    with pytest.raises(IndexError):
        pellucid.tree(net, (torch.full((1, 4), 99),))
    assert all(not m._forward_hooks and not m._forward_pre_hooks for m in net.modules())


def test_svg_is_xml(run) -> None:
    root = xml.etree.ElementTree.fromstring(run.svg())
    boxes = root.findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(boxes) >= 6
    assert any(t.text == "embed: Embedding(50, 16)" for t in root.iter("{http://www.w3.org/2000/svg}text"))


def test_page_holds_the_data_and_cannot_be_broken_out_of() -> None:
    model = {"networks": [{"name": "</script><b>", "tree": [{"name": "", "class": "N"}]}]}
    page = view(json.dumps(model), "html", source="class N:\n    x = '</script>'\n")
    assert "</script><b>" not in page and page.count("</script>") == 6
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg", "", page)  # nothing from the network


def test_table(run) -> None:
    lines = run.table().splitlines()
    assert lines[0].split() == ["Module", "Output", "Parameters", "Mult-adds"]
    assert any(line.startswith("├─ embed: Embedding") and "2×4×16" in line for line in lines)


def test_notebook(run) -> None:
    assert run._repr_html_().startswith("<iframe srcdoc=")


def test_exported_program() -> None:
    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(10, 20), nn.Linear(20, 5)

        def forward(self, x):
            return self.fc2(torch.relu(self.fc1(x)))

    program = torch.export.export(Small(), (torch.randn(2, 10),))
    (network,) = pellucid.tree(program).to_dict()["networks"]
    assert network["state"] == {"fc1.weight": [20, 10], "fc1.bias": [20], "fc2.weight": [5, 20], "fc2.bias": [5]}
    assert [c["class"] for c in network["tree"][0]["children"]] == ["Linear", "Linear"]


def test_scripted_module() -> None:
    scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 4), nn.ReLU()))
    (network,) = pellucid.tree(scripted).to_dict()["networks"]
    assert network["tree"][0]["children"][0]["class"] == "Linear"
    assert network["state"]["0.weight"] == [4, 3]


def test_what_has_no_tree_is_refused() -> None:
    with pytest.raises(TypeError, match="not of int"):
        pellucid.tree(3)


class Named(nn.Module):
    def forward(self, x, scale=None):
        return {"sum": x + 1 if scale is None else x * scale}


class Batch(nn.Module):
    def forward(self, batch):
        return batch["image"] + batch["mask"]


@pytest.mark.parametrize("model, args, kwargs, names", [
    (nn.Linear(4, 3), torch.ones(2, 4), None, "bare tensor"),
    (nn.Linear(4, 3), [torch.ones(2, 4)], None, "list"),
    (nn.Linear(4, 3), (), {"input": torch.ones(2, 4)}, "keywords alone"),
    (nn.Linear(4, 3), None, {"input": torch.ones(2, 4)}, "keywords alone"),
    (Named(), {"x": torch.ones(2, 3), "scale": torch.ones(1)}, None, "keys of forward"),
    (Named(), {"x": torch.ones(2, 3)}, {"scale": torch.ones(1)}, "keys of forward and keywords"),
    (Batch(), {"image": torch.ones(2, 3), "mask": torch.ones(2, 3)}, None, "the one argument"),
])
def test_one_way_to_give_inputs(model, args, kwargs, names) -> None:
    """tree(), skeleton() and sketch() understand the same arguments, and understand them alike."""
    from pellucid._sketch import sketch
    assert pellucid.tree(model, args, kwargs).to_dict()["networks"][0]["tree"][0]["output"]
    assert pellucid.skeleton(model, args, kwargs, more=[], verify=False).source
    sketch(model, args, kwargs)


def rows_of(table: str) -> list[tuple[int, str, int, float]]:
    """(level, label, parameters, multiply-adds) of each row of a table."""
    units = {"K": 1e3, "M": 1e6, "G": 1e9}
    head, *lines = table.split("\n\n")[0].splitlines()
    found = []
    for line in lines:
        match = re.match(r"((?:│  |   |├─ |└─ )*)(.*?)  .*?([\d,]+|–) +(–|[\d.]+(?: [KMG])?)$", line)
        assert match, line
        prefix, label, parameters, cost = match.groups()
        number, _, unit = cost.partition(" ")
        found.append((len(prefix) // 3, label, 0 if parameters == "–" else int(parameters.replace(",", "")),
                      0.0 if cost == "–" else float(number) * units.get(unit, 1)))
    return found


@pytest.mark.parametrize("unfolded", [False, True])
def test_columns_add_up(net, run, unfolded) -> None:
    """A row is at least the sum of the rows one level below it; of parameters exactly, where it has none itself."""
    rows = rows_of(run.table(unfolded=unfolded))
    assert any("×3" in label for _, label, *_ in rows) is not unfolded
    for i, (level, label, parameters, cost) in enumerate(rows):
        below = []
        for row in rows[i + 1:]:
            if row[0] <= level:
                break
            below += [row] if row[0] == level + 1 else []
        if not below:
            continue
        if "MultiheadAttention" not in label:  # has parameters of its own
            assert parameters == sum(row[2] for row in below), label
        assert cost >= 0.99 * sum(row[3] for row in below), label
        if "ModuleList" in label:
            assert cost == pytest.approx(sum(row[3] for row in below), rel=0.01) and cost > 0


def test_depth_counts_levels_below_the_root(net) -> None:
    tree = pellucid.tree(net)
    one = tree.text(depth=1).splitlines()
    assert one[0].startswith("Net(") and any(line.startswith("├─ embed") for line in one)
    assert not any(line.startswith("│  ") for line in one)
    assert tree.text(depth=2) != tree.text(depth=1) and tree.text(depth=99) == tree.text()
    assert len(tree.table(depth=1).split("\n\n")[0].splitlines()) == 1 + 1 + len(net._modules)
    assert tree.svg(depth=1).count("<rect") < tree.svg(depth=2).count("<rect")


def test_a_state_dict_says_tensors_and_counts_known_buffers_apart(pellucid, tmp_path) -> None:
    """Running statistics are known by the counter beside them; nothing says what the rest is."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.BatchNorm1d(6, affine=False))
    path = tmp_path / "state.pt"
    torch.save(model.state_dict(), path)
    parameters = sum(p.numel() for p in model.parameters())
    buffers = sum(b.numel() for b in model.buffers())
    found = json.loads(pellucid("tree", path, "--json").out)["networks"][0]["totals"]
    assert (found["parameters"], found["buffers"], found["roles_known"]) == (parameters, buffers, False)
    text = pellucid("tree", path).out
    assert f"{parameters} elements in 4 tensors; {buffers} elements in 6 buffers" in text and "parameters" not in text
    assert "Elements" in pellucid("tree", "--table", path).out

    torch.save(model, path)  # a whole module has its roles
    assert f"{parameters} parameters; {buffers} in buffers" in pellucid("tree", path).out


@pytest.mark.parametrize("state", [
    {"running_mean": torch.ones(4), "running_var": torch.ones(4)},
    {"running_mean": torch.ones(4), "running_var": torch.ones(4), "num_batches_tracked": torch.ones(())},
    {"running_mean": torch.ones(4), "running_var": torch.ones(5), "num_batches_tracked": torch.tensor(1)},
    {"running_mean": torch.ones(4, 4), "running_var": torch.ones(4, 4), "num_batches_tracked": torch.tensor(1)},
])
def test_names_alone_are_no_evidence(pellucid, tmp_path, state) -> None:
    torch.save(state, tmp_path / "state.pt")
    assert json.loads(pellucid("tree", tmp_path / "state.pt", "--json").out)["networks"][0]["totals"]["buffers"] == 0


def test_what_is_no_tensor_is_shown(pellucid, tmp_path) -> None:
    import argparse
    path = tmp_path / "checkpoint.pt"
    torch.save({"epoch": 3, "lr": 0.1, "config": {"name": "net", "sizes": [1, 2]}, "args": argparse.Namespace(seed=7),
                "empty": {}, "state_dict": nn.Linear(2, 2).half().state_dict(),
                "history": list(range(5)), "when": torch.Size([2, 3])}, path)
    text = pellucid("tree", path).out
    for line in ("epoch = 3", "lr = 0.1", 'config.name = "net"', "config.sizes = [1, 2]", "args.seed = 7", "empty = {}",
                 "history = [0, 1, 2, 3, 4]"):
        assert f"  {line}\n" in text, line
    assert "float16 12 bytes" in text and "_metadata" not in text
    values = json.loads(pellucid("tree", path, "--json").out)["networks"][0]["values"]
    assert {"name": "args.seed", "value": "7"} in values and any(row["name"] == "when" for row in values)
    torch.save({"state": torch.ones(2), **{f"k{i}": i for i in range(50)}}, path)
    assert "  and 30 more, which --json lists\n" in pellucid("tree", path).out
    torch.save({"state": torch.ones(2), **{f"k{i}": i for i in range(10_005)}}, path)
    assert "  and 9,985 more\n" in pellucid("tree", path).out
    assert json.loads(pellucid("tree", path, "--json").out)["networks"][0]["values_left_out"] == 5
