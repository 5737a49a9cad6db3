"""Configuration files whose dicts name classes of registries: `type=`, `_base_`, `with read_base():`."""

import json
import subprocess
import sys

import pytest
from conftest import PROGRAM

REGISTRY = """
class Registry:
    def __init__(self, name):
        self.name, self.table = name, {}
    def register_module(self, name=None):
        def keep(thing):
            self.table[name or thing.__name__] = thing
            return thing
        return keep
    def build(self, cfg):
        cfg = dict(cfg)
        return self.table[cfg.pop('type')](**cfg)
MODELS = Registry('models')
"""
BACKBONE = """
from torch import nn
from registry import MODELS
@MODELS.register_module()
class Stack(nn.Module):
    def __init__(self, depth, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
"""
DETECTOR = """
from torch import nn
from registry import MODELS
@MODELS.register_module(name='Finder')
class Detector(nn.Module):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone = MODELS.build(backbone)
        self.head = nn.Linear(head.inputs, head.classes)
class Plain:
    pass
@MODELS.register_module()
class Sampler(Plain):
    def __init__(self, size): pass
"""
BASE = """
num_classes = 7
model = dict(type='Finder', backbone=dict(type='Stack', depth=2, width=8), head=dict(inputs=8, classes=num_classes))
sampler = dict(type='Sampler', size=3)
"""


def scan(folder, *arguments):
    command = [PROGRAM, "scan", *arguments, "--root", ".", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)["networks"]


@pytest.fixture
def repository(tmp_path):
    for name, text in {
        "registry.py": REGISTRY,
        "nets/stack.py": BACKBONE,
        "nets/detector.py": DETECTOR,
        "configs/base/model.py": BASE,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def config(repository, text, name="one.py"):
    (repository / "configs" / name).write_text(text)
    return scan(repository, "configs/" + name)


def finder(depth=2, width=8, inputs=8, classes=7):
    return {f"backbone.layers.{i}.weight": [width, width] for i in range(depth)} | {"head.weight": [classes, inputs]}


def weights(network):
    return {name: shape for name, shape in network["state"].items() if name.endswith("weight")}


# text of a configuration -> what the registry builds of it
BUILT = {
    "_base_ = 'base/model.py'\n": finder(),
    "_base_ = ['./base/model.py']\nmodel = dict(backbone=dict(depth=3))\n": finder(depth=3),
    "_base_ = 'base/model.py'\n"
    "model = dict(backbone=dict(_delete_=True, type='Stack', depth=1, width=4))\n": finder(1, 4),
    "_base_ = 'base/model.py'\nn = _base_.num_classes + 1\nmodel = dict(head=dict(classes=n))\n": finder(classes=8),
    "_base_ = 'base/model.py'\nmodel = dict(head=dict(inputs={{_base_.num_classes}}))\n": finder(inputs=7),
    "with read_base():\n    from .base.model import *\nmodel.update(dict(backbone=dict(width=16)))\n": finder(width=16),
    "with read_base():\n    from .base.model import model\nmodel.head.classes = 2\n": finder(classes=2),
    "from nets.detector import Detector\nmodel = dict(type=Detector, backbone=dict(type='Stack', depth=1, width=2),\n"
    "  head=dict(inputs=2, classes=2))\nmodel['type'] = 'Finder'\n": finder(1, 2, 2, 2),
}


@pytest.mark.parametrize("text", BUILT)
def test_the_registry_builds_what_is_described(repository, text):
    code, networks = config(repository, text)
    built = {network["name"]: network for network in networks if network.get("class")}
    assert weights(built["model"]) == BUILT[text], networks
    assert set(built) == {"model"}, "a description of something else is no network"
    assert code == (3 if "read_base" in text else 0), networks  # nothing defines read_base here


def test_the_sizes_are_those_of_an_execution(repository):
    pytest.importorskip("torch")
    code = ("import sys; sys.path[:0] = ['.', 'nets']\nfrom registry import MODELS\nimport stack, detector, json\n"
            "class D(dict):\n    __getattr__ = dict.__getitem__\n"
            "m = MODELS.build(dict(type='Finder', backbone=dict(type='Stack', depth=2, width=8),"
            " head=D(inputs=8, classes=7)))\nprint(json.dumps({k: list(v.shape) for k, v in m.state_dict().items()}))")
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True)
    _, networks = config(repository, "_base_ = 'base/model.py'\n")
    assert networks[0]["state"] == json.loads(done.stdout)


# text of a configuration -> what must be said: name, reason, line
UNBUILT = {
    "x = 1\nmodel = dict(type='Nobody', depth=2)\n": ("Nobody", "no source in the roots registers", 2),
    "_base_ = ['base/none.py']\n": ("base/none.py", "there is no such Python file in the roots", 1),
    "\nmodel = dict(encoder=dict(type='Stack', depth=1, width=2))\n": ("Stack", "which code builds them", 2),
    "from missing.nets import Net\nmodel = dict(type=Net)\n": ("missing.nets.Net", "its class is not in the roots", 2),
    "hooks = [dict(type='Nobody')]\n": ("Nobody", "they may be networks", 1),
}


@pytest.mark.parametrize("text", UNBUILT)
def test_what_is_not_built_is_said(repository, text):
    code, networks = config(repository, text)
    what, why, line = UNBUILT[text]
    rows = [row for network in networks for row in network["unknown"]]
    assert code == 3
    assert any(row["what"] == what and why in row["why"] and row["line"] == line for row in rows), rows
    assert not any(network["totals"]["exact"] for network in networks if network.get("totals"))


def test_a_name_that_two_sources_register_is_not_guessed(repository):
    (repository / "nets" / "other.py").write_text(BACKBONE)
    code, networks = config(repository, "model = dict(type='Stack', depth=1, width=2)\n")
    assert code == 3 and "nothing says which is meant" in networks[0]["unknown"][0]["why"]


def test_data_without_descriptions_is_no_network(repository):
    text = "lr = 0.1\nsizes = dict(a=1, type_of=2)\nsampler = dict(type='Sampler', size=1)\n"
    code, networks = config(repository, text)
    assert (code, networks) == (0, [])


def test_a_constructor_that_fails_is_marked(repository):
    code, networks = config(repository, "model = dict(type='Stack', depth='two', width=2)\n")
    assert code == 3 and networks and not networks[0]["totals"]["exact"]


def test_relative_imports_of_a_file_whose_folder_has_no_init(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "part.py").write_text("from torch import nn\nwidth = 3\n")
    (tmp_path / "a" / "b" / "near.py").write_text("height = 5\n")
    (tmp_path / "a" / "b" / "net.py").write_text(
        "from ..part import nn, width\nfrom .near import height\nm = nn.Linear(width, height)\n")
    code, networks = scan(tmp_path, "a/b/net.py")
    assert code == 0 and weights(networks[0]) == {"weight": [5, 3]}
    assert "a.b" in [row["what"] for row in networks[0]["assumed"]]


def test_deep_data_is_no_configuration(repository):
    assert config(repository, "x = []\nfor i in range(10**5): x = [x]\n") == (0, [])
    code, networks = config(repository, "x = dict(type='Stack')\nx['me'] = [x]\n")
    assert code == 3 and "too deep" in networks[0]["unknown"][0]["why"]
