"""How models and inputs are named on the command line."""

from __future__ import annotations

import json
import os
import sys

import pytest

torch = pytest.importorskip("torch", reason="specs build torch modules")

from pellucid import _live as program  # noqa: E402
from pellucid import _specs  # noqa: E402

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=4, name="x"):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.name = name
    def forward(self, x):
        print("a model may print")
        for layer in self.layers:
            x = layer(x)
        return x

def with_inputs(): return Net(), (torch.ones(2, 4),)
def with_both(): return Net(), (torch.ones(2, 4),), {}
def inputs(): return {"x": torch.ones(1, 4)}
class Box:
    made = Net(2)
def nothing(): return 3
WIDTH = 6
"""


@pytest.fixture
def net(tmp_path) -> str:
    path = tmp_path / "net_of_specs.py"
    path.write_text(NET)
    return str(path)


def width(subject) -> int:
    return subject.model.layers[0].in_features


def test_files(net) -> None:
    assert width(_specs.load(f"{net}:Net")) == 4
    assert width(_specs.load(f"{net}:Net(8, name='a:b')")) == 8
    assert width(_specs.load(f"{net}:Net(width=WIDTH)")) == 6
    assert width(_specs.load(f"{net}:Box.made")) == 2
    assert _specs.load(f"{net}:with_inputs").args[0].shape == (2, 4)
    assert _specs.load(f"{net}:with_both").has_inputs
    assert _specs.load("torch.nn:Linear(3, 4)").model.out_features == 4


@pytest.mark.parametrize("spec, message, usage", [
    ("net", "names no model", True),
    ("net.py:", "names no model", True),
    ("no_such_file.py:Net", "no such file", False),
    ("no_such_package.x:Net", "no_such_package", False),
    ("torch.nn:Linnear", "has no Linnear", False),
    ("torch.nn:Linear(3,", "is not a name", True),
    ("torch.nn:Linear(3 4)", "invalid syntax", True),
])
def test_mistakes(spec: str, message: str, usage: bool) -> None:
    with pytest.raises(_specs.SpecError, match=message) as caught:
        _specs.load(spec)
    assert caught.value.usage == usage


def test_not_a_model(net) -> None:
    with pytest.raises(_specs.SpecError, match="of type int"):
        _specs.load(f"{net}:nothing")


def test_inputs_by_shape() -> None:
    name, x = _specs.parse_input("1x3x4:float16", 0)
    assert name is None and x.shape == (1, 3, 4) and x.dtype == torch.float16
    name, x = _specs.parse_input("ids=2x50:int64<10", 0)
    assert name == "ids" and x.dtype == torch.int64 and 4 < x.max() < 10
    assert _specs.parse_input("7<5", 0)[1].dtype == torch.int64
    assert _specs.parse_input("m=2x2:bool", 0)[1].all()
    assert _specs.parse_input("scalar", 0)[1].shape == ()
    for bad in ("", "2x", "2x3:floot32", "a b=2", "2x3:nn", "-1x2"):
        with pytest.raises(_specs.SpecError):
            _specs.parse_input(bad, 0)


def test_inputs_in_order(net) -> None:
    subject = _specs.load(f"{net}:with_inputs")
    _specs.give_inputs(subject, [], None)
    assert subject.args[0].shape == (2, 4)
    _specs.give_inputs(subject, [], f"{net}:inputs")
    assert subject.kwargs["x"].shape == (1, 4) and not subject.args
    _specs.give_inputs(subject, ["5x4"], None)
    assert subject.args[0].shape == (5, 4)
    with pytest.raises(_specs.SpecError, match="doesn't say"):
        _specs.give_inputs(_specs.load(f"{net}:Net"), [], None)


def test_transformers(tmp_path, libraries) -> None:
    transformers = pytest.importorskip("transformers", reason="hf: specs need transformers")
    try:
        transformers.BertModel
    except Exception as problem:
        pytest.skip(f"transformers is here but can't import its models: {problem}")
    config = transformers.BertConfig(num_hidden_layers=1, hidden_size=32, num_attention_heads=2, intermediate_size=32)
    config.architectures = ["BertForMaskedLM"]
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config.to_dict()))
    subject = _specs.load(f"hf:{path}")
    assert type(subject.model).__name__ == "BertForMaskedLM"
    _specs.give_inputs(subject, [], None)
    assert subject.kwargs["input_ids"].shape == (2, 12)
    subject = _specs.load("hf:bert(num_hidden_layers=1, hidden_size=32, num_attention_heads=2, intermediate_size=32)")
    assert type(subject.model).__name__ == "BertModel"
    with pytest.raises(_specs.SpecError, match="did you mean 'bert'"):
        _specs.load("hf:berd")
    with pytest.raises(_specs.SpecError, match="name=value"):
        _specs.load("hf:bert(32)")


def test_a_model_that_does_not_fit_has_a_tree(libraries, monkeypatch, capfd) -> None:
    """Its weights are not made; what would run it says why it can't."""
    pytest.importorskip("transformers", reason="hf: specs need transformers")
    try:
        __import__("transformers").BertModel
    except Exception as problem:
        pytest.skip(f"transformers is here but can't import its models: {problem}")
    spec = "hf:bert(num_hidden_layers=2, hidden_size=32, num_attention_heads=2, intermediate_size=32)"
    whole = _specs.load(spec)
    assert not whole.too_large and all(not tensor.is_meta for tensor in whole.model.parameters())
    monkeypatch.setattr(_specs, "_free_memory", lambda: 1 << 20)
    subject = _specs.load(spec)
    assert "smaller configuration" in subject.too_large
    assert {name: tensor.shape for name, tensor in subject.model.state_dict().items()} == {
        name: tensor.shape for name, tensor in whole.model.state_dict().items()}
    with pytest.raises(_specs.SpecError, match="can't run here"):
        _specs.give_inputs(subject, [], None)
    assert program.main(["tree", spec]) == 0 and "BertLayer" in capfd.readouterr().out
    assert program.main(["skeleton", spec]) == 2 and "GB are free" in capfd.readouterr().err


def test_timm(libraries) -> None:
    pytest.importorskip("timm", reason="timm: specs need timm", exc_type=Exception)
    subject = _specs.load("timm:resnet18(num_classes=3)")
    assert subject.model.num_classes == 3
    _specs.give_inputs(subject, [], None)
    assert subject.args[0].shape == (2, 3, 224, 224)
    with pytest.raises(_specs.SpecError, match="did you mean"):
        _specs.load("timm:resnet1888")


# ---- the commands ----

def test_tree(net, capfd) -> None:
    assert program.main(["tree", f"{net}:Net"]) == 0
    out = capfd.readouterr().out
    assert "0 … 2 ×3: Linear(in_features=4, out_features=4, bias=True)  weight 4×4, bias 4" in out
    assert out.endswith("60 parameters\n")
    assert program.main(["tree", f"{net}:Net", "--json"]) == 0
    (network,) = json.loads(capfd.readouterr().out)["networks"]
    assert list(network["state"])[:2] == ["layers.0.weight", "layers.0.bias"]
    assert [part["name"] for part in network["tree"][0]["children"][0]["children"]] == ["0", "1", "2"]


def test_sketch(net, tmp_path, capfd) -> None:
    assert program.main(["sketch", f"{net}:with_inputs", "-o", str(tmp_path / "out")]) == 0
    captured = capfd.readouterr()
    assert "a model may print" not in captured.out and "a model may print" in captured.err
    text = (tmp_path / "out" / os.path.basename(net)).read_text()
    assert "x = layer(x)" in text and "def inputs" not in text and "..." in text
    compile(text, "sketch", "exec")


def test_exit_codes(net, capfd) -> None:
    assert program.main(["tree", "nothing"]) == 1
    assert program.main(["tree", "no.py:f"]) == 2
    with pytest.raises(SystemExit) as caught:
        program.main(["tree"])
    assert caught.value.code == 1
    assert "no.py: there is no such file" in capfd.readouterr().err


def test_errors_say_where_and_are_json_too(net, tmp_path, monkeypatch, capfd) -> None:
    monkeypatch.chdir(tmp_path)
    assert program.main(["skeleton", f"{net}:Net", "--input", "2x3", "--json"]) == 2
    shown = capfd.readouterr()
    error = json.loads(shown.out)["error"]
    assert (error["file"], error["line"]) == ("net_of_specs.py", 13) and "RuntimeError" in error["message"]
    assert shown.err.splitlines()[-1].startswith("pellucid: net_of_specs.py:13: RuntimeError: ")
    assert program.main(["skeleton", "nothing", "--json"]) == 1
    assert json.loads(capfd.readouterr().out)["error"]["code"] == "USAGE"


@pytest.mark.parametrize("target", ["-o", "--html", "--save-trace"])
def test_targets_are_looked_at_first(target: str, tmp_path, capfd) -> None:
    """The model that could not be built is not reached."""
    assert program.main(["skeleton", "no.py:f", target, str(tmp_path)]) == 2
    assert "a file is wanted" in capfd.readouterr().err
    assert program.main(["skeleton", "no.py:f", target, str(tmp_path / "no" / "x")]) == 2
    assert "there is no folder" in capfd.readouterr().err


def test_a_part_that_is_not_there(net) -> None:
    import pellucid
    with pytest.raises(pellucid.SkeletonError, match="no module 'layer.0'; did you mean 'layers.0'"):
        pellucid.skeleton(_specs.load(f"{net}:Net").model, torch.ones(2, 4), module="layer.0")


def test_cut_keeps_what_ran() -> None:
    from pellucid._sketch import cut
    source = "import os\n\ndef f(x):\n    if x:\n        return 1\n    return 2\n\ndef g():\n    return 3\n"
    assert cut(source, {4, 6}) == "import os\n\ndef f(x):\n    if x:\n        ...\n    return 2\n\n...\n"


def test_import_does_not_need_torch() -> None:
    import subprocess
    script = ("import sys, pellucid; assert 'torch' not in sys.modules; "
              "assert callable(pellucid.skeleton); dir(pellucid)")
    subprocess.run([sys.executable, "-c", script], check=True)


def test_torchvision_whose_operators_do_not_fit(tmp_path, monkeypatch, capsys) -> None:
    """timm and transformers import it; what they raise then is no reason to give up."""
    from pellucid import _torchvision
    declared: list[str] = []
    monkeypatch.setattr(_torchvision, "stand_in", lambda: declared.append("nms"))
    path = tmp_path / "net_with_operators.py"
    path.write_text("import builtins\nfrom torch import nn\n"
                    "if not builtins.declared:\n    raise RuntimeError('operator torchvision::nms does not exist')\n"
                    "def make(): return nn.Linear(4, 4)\n")
    monkeypatch.setattr("builtins.declared", declared, raising=False)
    assert type(_specs.load(f"{path}:make").model).__name__ == "Linear"
    assert "torchvision's compiled operators" in capsys.readouterr().err


def test_the_reason_may_be_a_cause_or_a_context() -> None:
    from pellucid._torchvision import is_missing
    reason = RuntimeError("operator torchvision::nms does not exist")

    def raised(how: str) -> BaseException:
        try:
            try:
                raise reason
            except RuntimeError as error:
                if how == "from":
                    raise ModuleNotFoundError("Could not import module 'X'") from error
                raise ImportError("another")
        except ImportError as error:
            return error

    assert is_missing(reason) and is_missing(raised("from")) and is_missing(raised("while"))
    assert not is_missing(ModuleNotFoundError("no module named torchvision"))
    circle = ValueError()
    circle.__cause__ = KeyError()
    circle.__cause__.__cause__ = circle
    assert not is_missing(circle)


BROKEN_TORCHVISION = """
import torch
@torch.library.register_fake("torchvision::nms")
def meta(dets, scores, iou_threshold): return dets
"""
LAZY_LIBRARY = """
import importlib
from torch import nn
def build():
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        raise ModuleNotFoundError("Could not import module 'Model'. Are this object's requirements defined "
                                  "correctly?") from error
    return nn.Linear(4, 4)
"""


def test_libraries_that_wrap_what_a_broken_torchvision_raises(tmp_path) -> None:
    """In a process of its own: a torchvision whose operators torch does not have, behind a library as transformers."""
    import pathlib
    import subprocess
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision" / "__init__.py").write_text(BROKEN_TORCHVISION)
    (tmp_path / "lazy_library.py").write_text(LAZY_LIBRARY)
    package = str(pathlib.Path(_specs.__file__).parent.parent)
    script = ("import sys; from pellucid import _specs; "
              "print(type(_specs.load('lazy_library:build').model).__name__)")
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, text=True, capture_output=True, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), package])})
    assert done.stdout == "Linear\n", done.stderr
    assert "torchvision's compiled operators" in done.stderr


@pytest.mark.parametrize("more", [["--prove"], ["--verify=full"], ["--device=cuda"]])
def test_device_meta_with_what_it_cannot_do(pellucid, more) -> None:
    result = pellucid("skeleton", "net.py:build", "--device=meta", *more)
    assert result.code == 1 and "--device" in result.err and "usage:" not in result.err, result.err
