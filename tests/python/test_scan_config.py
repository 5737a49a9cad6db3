"""Networks that configuration files describe: YAML, OmegaConf, Hydra, registries, model descriptions."""

import json
import subprocess

import pytest
from conftest import PROGRAM


def run(folder, *arguments):
    command = [PROGRAM, "scan", "--json", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    networks = json.loads(done.stdout or "{}").get("networks", [])
    return done.returncode, {network["name"]: network for network in networks}


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read_yaml(folder, text, function="yaml.safe_load"):
    code = (f"import yaml\nfrom torch import nn\ntry:\n    v = repr({function}({text!r}))\n"
            "except yaml.YAMLError as e:\n    v = 'error ' + str(e)\nm = nn.Identity(v)")
    return run(folder, "-e", code)[1]["m"]["args"]["0"]


YAML = {
    "a: 1\nb: [1, 2.5, x]\n": {"a": 1, "b": [1, 2.5, "x"]},
    "a:\n- 1\n- b: 2\n  c: 3\n": {"a": [1, {"b": 2, "c": 3}]},
    "x: 1e-3\ny: 1.0e-3\nz: 1.0e3\n": {"x": "1e-3", "y": 0.001, "z": "1.0e3"},
    "- yes\n- off\n- ~\n- null\n- 'no'\n": [True, False, None, None, "no"],
    "- 0x1F\n- 017\n- 1_000\n- 0b11\n- 1:30\n": [31, 15, 1000, 3, 90],
    "b: &b {n: 3, k: 1}\nx:\n  <<: *b\n  n: 4\n": {"b": {"n": 3, "k": 1}, "x": {"n": 4, "k": 1}},
    "t: |\n  one\n   two\n\nf: >-\n  a\n  b\n\n  c\n": {"t": "one\n two\n", "f": "a b\nc"},
    "a: 'it''s'\nb: \"d\\n\\u00e9\"\nc: plain\n  goes on\n": {"a": "it's", "b": "d\né", "c": "plain goes on"},
    "{a: {b: [c, {d: e}]}, 'f': 1}": {"a": {"b": ["c", {"d": "e"}]}, "f": 1},
    "# only a comment\n": None,
    "url: http://a/b:80 # not part\n": {"url": "http://a/b:80"},
    "1: a\ntrue: b\n": {1: "a", True: "b"},
}


@pytest.mark.parametrize("text", YAML)
def test_yaml_is_read_as_pyyaml_does(tmp_path, text):
    got = eval(read_yaml(tmp_path, text))
    assert got == YAML[text]
    assert "<<" in text or repr(got) == repr(YAML[text])  # True is not 1; merged keys come first


WRONG = ["a: b: c", "a: [1, 2", "a: 'x", "a: 1\n b: 2", "!!python/object:os.system x", "*nobody", "a: - b"]


@pytest.mark.parametrize("text", WRONG)
def test_yaml_that_is_wrong_is_an_error_with_a_line(tmp_path, text):
    got = read_yaml(tmp_path, text)
    assert got.startswith("error ") and (": line 1, " in got or ": line 2, " in got)


def test_yaml_nested_too_deep_is_an_error(tmp_path):
    assert "too deep" in read_yaml(tmp_path, "[" * 5000)


def test_yaml_files_that_libraries_ship_are_read_as_pyyaml_does(tmp_path):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    texts = ["a: &x [1, 2]\nb: *x\n", "a:\n  - b\n  -\n    c: d\n", "k: >\n  x\n   y\n  z\n", "a: {b: , c: [d, ]}"]
    for text in texts:
        assert eval(read_yaml(tmp_path, text)) == yaml.safe_load(text)


NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self, width, depth=2, out=3):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, out)
"""
MERGED = """
from omegaconf import OmegaConf
from net import Net
cfg = OmegaConf.load('config.yaml')
cfg = OmegaConf.merge(cfg, OmegaConf.create({'model': {'depth': 3}}))
net = Net(**cfg.model)
"""


def test_omegaconf_file_with_interpolation(tmp_path):
    config = "size: 8\nmodel:\n  width: ${size}\n  depth: 1\n  out: ${oc.decode:5}\n"
    write(tmp_path, net_py=NET, config_yaml=config, train_py=MERGED)
    status, networks = run(tmp_path, "train.py")
    assert status == 0 and networks["net"]["totals"]["parameters"] == 3 * 72 + 45 and networks["net"]["totals"]["exact"]


TRAIN = """
import hydra
from hydra.utils import instantiate

@hydra.main(version_base=None, config_path='conf', config_name='train')
def main(cfg):
    net = instantiate(cfg.model, out=7)
    print(net)

if __name__ == '__main__':
    main()
"""
DEFAULTS = """
defaults:
  - _self_
  - model: small
  - optional local: none
  - override hydra/job: x
width: 6
"""
HYDRA = dict(
    net_py=NET,
    train_py=TRAIN,
    conf__train_yaml=DEFAULTS,
    conf__model__small_yaml="_target_: net.Net\nwidth: ${width}\n",
    conf__model__large_yaml="_target_: net.Net\nwidth: 64\ndepth: 4\n",
)


def test_hydra_program(tmp_path):
    write(tmp_path, **HYDRA)
    status, networks = run(tmp_path, "train.py")
    assert status == 0 and networks["net"]["totals"]["parameters"] == 2 * 42 + 49 and networks["net"]["totals"]["exact"]


def test_hydra_program_inside_of_a_package_is_started(tmp_path):
    write(tmp_path, **{("src__" + name if name.endswith("_py") else name): text for name, text in HYDRA.items()})
    (tmp_path / "src" / "__init__.py").write_text("")
    train = (tmp_path / "src" / "train.py").read_text().replace("'conf'", "'../conf'")
    (tmp_path / "src" / "train.py").write_text(train)
    for path in (tmp_path / "conf" / "model").iterdir():
        path.write_text(path.read_text().replace("net.Net", "src.net.Net"))
    status, networks = run(tmp_path, "src/train.py", "--root", ".")
    assert status == 0 and networks["net"]["totals"]["parameters"] == 2 * 42 + 49


TASK = """
from torch import nn
def run():
    import nowhere
    nowhere.start()
    return nn.Linear(2, 3)
try:
    net = run()
except Exception as error:
    print(error)
    raise error
"""


def test_handler_that_raises_again_catches_nothing(tmp_path):
    write(tmp_path, task_py=TASK)
    assert run(tmp_path, "task.py")[1]["net"]["totals"]["parameters"] == 9


REGISTRY = """
class Registry:
    def __init__(self, name):
        self.table = {}
    def register_module(self, name=None):
        def add(cls):
            self.table[name or cls.__name__] = cls
            return cls
        return add
    def build(self, cfg):
        cfg = dict(cfg)
        return self.table[cfg.pop('type')](**cfg)

MODELS = Registry('models')
"""


BUILT = """
import importlib
import net
from registry import MODELS
cfg = importlib.import_module('config')
model = MODELS.build(cfg.model)
"""


def test_registry_and_a_configuration_of_dicts(tmp_path):
    net = "from registry import MODELS\n" + NET.replace("class Net", "@MODELS.register_module()\nclass Net")
    config = "model = dict(type='Net', width=4, depth=1)\n"
    write(tmp_path, registry_py=REGISTRY, config_py=config, net_py=net, train_py=BUILT)
    assert run(tmp_path, "train.py")[1]["model"]["totals"]["parameters"] == 20 + 15


DESCRIPTION = """
nc: 4
width: 0.5
layers:
  # from, number, module, args
  [[-1, 1, Conv, [16, 3]],
   [-1, 2, Conv, [32, 3]],
   [-1, 1, Head, [nc]],
  ]
"""
BUILDER = """
import yaml
from pathlib import Path
from torch import nn

class Conv(nn.Module):
    def __init__(self, a, b, k):
        super().__init__()
        self.conv = nn.Conv2d(a, b, k)

class Head(nn.Module):
    def __init__(self, a, n):
        super().__init__()
        self.fc = nn.Linear(a, n)

def parse_model(d, ch):
    nc, width, layers = d['nc'], d['width'], []
    for f, n, m, args in d['layers']:
        m = eval(m) if isinstance(m, str) else m
        for j, a in enumerate(args):
            args[j] = eval(a) if isinstance(a, str) else a
        if m is Conv:
            c2 = int(args[0] * width)
            parts = [Conv(ch if i == 0 else c2, c2, *args[1:]) for i in range(n)]
            ch = c2
        else:
            parts = [m(ch, *args)]
        layers.append(nn.Sequential(*parts) if n > 1 else parts[0])
    return nn.Sequential(*layers)

with open(Path(__file__).parent / 'model.yaml') as f:
    d = yaml.safe_load(f)
model = parse_model(d, 3)
"""


def test_model_description_in_yaml(tmp_path):
    write(tmp_path, model_yaml=DESCRIPTION, build_py=BUILDER)
    status, networks = run(tmp_path, "build.py")
    wanted = (8 * 3 * 9 + 8) + (16 * 8 * 9 + 16) + (16 * 16 * 9 + 16) + (4 * 16 + 4)
    assert status == 0 and networks["model"]["totals"] | {"parameters": wanted} == networks["model"]["totals"]


# ---- what a scan of strangers' repositories got wrong ----

FILLED = """
import os
from torch import nn
n = int(os.environ['N'])
a = [1]
for i in range(n):
    a.append(2)
    del a[0]
    a.append(3)
    a.append(4)
layers = [nn.Linear(3, 4)]
for i in range(n):
    layers.append(nn.Linear(4, 4))
more = list(layers)
more.append(nn.Linear(4, 9))
layers.append(nn.Linear(4, 2))
one = nn.Sequential(*layers)
two = nn.Sequential(*more)
"""


def test_list_that_a_loop_filled_and_something_cut(tmp_path):
    status, networks = run(tmp_path, "-e", FILLED)
    assert status == 3 and set(networks) == {"one", "two"}
    repeats = {name: [child["repeat"] for child in networks[name]["tree"][0]["children"]] for name in networks}
    assert repeats["one"][0] == repeats["two"][0] == 1 and repeats["one"][1] == repeats["two"][1] != 1


def test_answers_that_were_not_tried_make_no_sum_exact(tmp_path):
    lines = ["import random", "from torch import nn", "a = []"]
    lines += [f"if random.random() > 0.{k}: a.append(1)" for k in range(30)]
    lines += ["layers = [nn.Linear(3, 4)]", "if len(a) > 20: layers.append(nn.Linear(4, 5))"]
    status, networks = run(tmp_path, "-e", "\n".join([*lines, "model = nn.Sequential(*layers)"]))
    assert status == 3 and not networks["model"]["totals"]["exact"]


def test_network_of_the_other_answer_alone(tmp_path):
    code = "import random\nfrom torch import nn\nif random.random() < 0.5:\n    pass\nelse:\n    m = nn.Linear(2, 3)"
    status, networks = run(tmp_path, "-e", code)
    assert status == 3 and networks["m"]["totals"]["parameters"] == 9 and not networks["m"]["totals"]["exact"]


def test_numbers_are_numbers(tmp_path):
    asked = "isinstance(3, numbers.Number), isinstance(2.5, numbers.Complex), isinstance('x', numbers.Number)"
    code = f"import numbers\nfrom torch import nn\nm = nn.Identity({asked})"
    assert run(tmp_path, "-e", code)[1]["m"]["args"] == {"0": True, "1": True, "2": False}


# ---- the summary of a folder ----


UNUSED = """
from torch import nn
class Plain(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.fc = nn.Linear(n, n)
class Open(Plain):
    def __init__(self, n):
        super().__init__(n)
"""


def scan_folder(folder, *options):
    command = [PROGRAM, "scan", ".", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def repository(tmp_path):
    write(tmp_path, **HYDRA, unused_py=UNUSED, broken_py="import nowhere\nx = nowhere.y\n")
    return tmp_path


def test_summary_of_a_folder(repository):
    done = scan_folder(repository)
    head = done.stdout[: done.stdout.index("\n\n")].split("\n")
    assert done.returncode == 3
    assert head[0] == "networks that are built: 1"
    assert head[1].startswith("  ./train.py:7  net = Net(width=6, out=7): 133 parameters, reads ")
    assert "conf/model/small.yaml" in head[1] and ".py," not in head[1]
    assert head[2] == "classes that these or other classes contain: 1"  # train.py builds net.py's Net
    assert head[3] == "classes that nothing here builds: 2"
    assert "  ./unused.py  Plain(): 20 parameters" in head
    assert "  ./unused.py  Open(n): size depends on its arguments" in head
    assert any("there is no such module in the roots: nowhere (./broken.py:1)" in line for line in head)
    for jobs in ("0", "1", "2"):
        again = scan_folder(repository, "-j", jobs)
        assert again.stdout == done.stdout and again.returncode == 3


def test_summary_of_a_folder_as_json(repository):
    first = json.JSONDecoder().raw_decode(scan_folder(repository, "--json").stdout)[0]
    assert first["networks"] == []
    (built,) = first["summary"]["built"]
    assert (built["file"], built["line"], built["parameters"], built["exact"]) == ("./train.py", 7, 133, True)
    classes = {row["name"]: row["open_arguments"] for row in first["summary"]["classes"]}
    assert classes == {"Net": 1, "Plain": 0, "Open": 1}
    builders = {row["name"]: row.get("built_by") for row in first["summary"]["classes"]}
    assert builders == {"Net": "./train.py", "Plain": None, "Open": None}
    assert sum(row["count"] for row in first["summary"]["unknown"]) >= 1


def test_a_class_of_another_file_is_built(tmp_path):
    """Two files have a class of the same name: the one that is imported is built, the other is not."""
    block = "from torch import nn\nclass Block(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n" \
            "        self.fc = nn.Linear(n, n)\n"
    whole = block.replace("Block", "Net").replace("nn.Linear(n, n)", "Block(n)")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "lib" / "used.py").write_text(block)
    (tmp_path / "lib" / "idle.py").write_text(block)
    (tmp_path / "lib" / "whole.py").write_text("from .used import Block\n" + whole)
    (tmp_path / "train.py").write_text("from lib.whole import Net\nmodel = Net(3)\n")
    first = json.JSONDecoder().raw_decode(scan_folder(tmp_path, "--json").stdout)[0]["summary"]
    rows = {row["file"]: row.get("built_by") for row in first["classes"]}
    assert rows == {"./lib/idle.py": None, "./lib/used.py": "./lib/whole.py", "./lib/whole.py": "./train.py"}
    assert [row["name"] for row in first["built"]] == ["model"]
