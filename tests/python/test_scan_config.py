"""Networks that configuration files describe: YAML, OmegaConf, Hydra, registries, model descriptions."""

import json
import subprocess

import pytest
from conftest import PROGRAM


def run(folder, *arguments):
    done = subprocess.run([PROGRAM, "scan", "--json", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, {network["name"]: network for network in json.loads(done.stdout or "{}").get("networks", [])}


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


@pytest.mark.parametrize("text", ["a: b: c", "a: [1, 2", "a: 'x", "a: 1\n b: 2", "!!python/object:os.system x", "*nobody", "a: - b"])
def test_yaml_that_is_wrong_is_an_error_with_a_line(tmp_path, text):
    got = read_yaml(tmp_path, text)
    assert got.startswith("error ") and (": line 1, " in got or ": line 2, " in got)


def test_yaml_nested_too_deep_is_an_error(tmp_path):
    assert "too deep" in read_yaml(tmp_path, "[" * 5000)


def test_yaml_files_that_libraries_ship_are_read_as_pyyaml_does(tmp_path):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    texts = ["a: &x [1, 2]\nb: *x\n", "a:\n  - b\n  -\n    c: d\n", "k: >\n  x\n   y\n  z\n", "a: {b: , c: [d, ]}\n", "- - - a\n"]
    for text in texts:
        assert eval(read_yaml(tmp_path, text)) == yaml.safe_load(text)


NET = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self, width, depth=2, out=3):\n        super().__init__()\n" \
      "        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])\n        self.head = nn.Linear(width, out)\n"


def test_omegaconf_file_with_interpolation(tmp_path):
    write(tmp_path, net_py=NET, config_yaml="size: 8\nmodel:\n  width: ${size}\n  depth: 1\n  out: ${oc.decode:5}\n",
          train_py="from omegaconf import OmegaConf\nfrom net import Net\ncfg = OmegaConf.load('config.yaml')\n"
                   "cfg = OmegaConf.merge(cfg, OmegaConf.create({'model': {'depth': 3}}))\nnet = Net(**cfg.model)\n")
    status, networks = run(tmp_path, "train.py")
    assert status == 0 and networks["net"]["totals"]["parameters"] == 3 * 72 + 45 and networks["net"]["totals"]["exact"]


HYDRA = dict(
    net_py=NET, conf__train_yaml="defaults:\n  - _self_\n  - model: small\n  - optional local: none\n  - override hydra/job: x\nwidth: 6\n",
    conf__model__small_yaml="_target_: net.Net\nwidth: ${width}\n", conf__model__large_yaml="_target_: net.Net\nwidth: 64\ndepth: 4\n",
    train_py="import hydra\nfrom hydra.utils import instantiate\n\n@hydra.main(version_base=None, config_path='conf', config_name='train')\n"
             "def main(cfg):\n    net = instantiate(cfg.model, out=7)\n    print(net)\n\nif __name__ == '__main__':\n    main()\n",
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


def test_handler_that_raises_again_catches_nothing(tmp_path):
    write(tmp_path, task_py="from torch import nn\ndef run():\n    import nowhere\n    nowhere.start()\n    return nn.Linear(2, 3)\n"
                            "try:\n    net = run()\nexcept Exception as error:\n    print(error)\n    raise error\n")
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


def test_registry_and_a_configuration_of_dicts(tmp_path):
    write(tmp_path, registry_py=REGISTRY, config_py="model = dict(type='Net', width=4, depth=1)\n",
          net_py="from registry import MODELS\n" + NET.replace("class Net", "@MODELS.register_module()\nclass Net"),
          train_py="import importlib\nimport net\nfrom registry import MODELS\ncfg = importlib.import_module('config')\nmodel = MODELS.build(cfg.model)\n")
    assert run(tmp_path, "train.py")[1]["model"]["totals"]["parameters"] == 20 + 15


def test_model_description_in_yaml(tmp_path):
    write(tmp_path, model_yaml="nc: 4\nwidth: 0.5\nlayers:\n  # from, number, module, args\n  [[-1, 1, Conv, [16, 3]],\n   [-1, 2, Conv, [32, 3]],\n   [-1, 1, Head, [nc]],\n  ]\n",
          build_py="import yaml\nfrom pathlib import Path\nfrom torch import nn\n"
                   "class Conv(nn.Module):\n    def __init__(self, a, b, k):\n        super().__init__()\n        self.conv = nn.Conv2d(a, b, k)\n"
                   "class Head(nn.Module):\n    def __init__(self, a, n):\n        super().__init__()\n        self.fc = nn.Linear(a, n)\n"
                   "def parse_model(d, ch):\n    nc, width, layers = d['nc'], d['width'], []\n    for f, n, m, args in d['layers']:\n"
                   "        m = eval(m) if isinstance(m, str) else m\n        for j, a in enumerate(args):\n            args[j] = eval(a) if isinstance(a, str) else a\n"
                   "        if m is Conv:\n            c2 = int(args[0] * width)\n            parts = [Conv(ch if i == 0 else c2, c2, *args[1:]) for i in range(n)]\n            ch = c2\n"
                   "        else:\n            parts = [m(ch, *args)]\n        layers.append(nn.Sequential(*parts) if n > 1 else parts[0])\n    return nn.Sequential(*layers)\n"
                   "with open(Path(__file__).parent / 'model.yaml') as f:\n    d = yaml.safe_load(f)\nmodel = parse_model(d, 3)\n")
    status, networks = run(tmp_path, "build.py")
    wanted = (8 * 3 * 9 + 8) + (16 * 8 * 9 + 16) + (16 * 16 * 9 + 16) + (4 * 16 + 4)
    assert status == 0 and networks["model"]["totals"] | {"parameters": wanted} == networks["model"]["totals"]


# ---- what a scan of strangers' repositories got wrong ----


def test_list_that_a_loop_filled_and_something_cut(tmp_path):
    code = ("import os\nfrom torch import nn\nn = int(os.environ['N'])\na = [1]\nfor i in range(n):\n    a.append(2)\n    del a[0]\n"
            "    a.append(3)\n    a.append(4)\nlayers = [nn.Linear(3, 4)]\nfor i in range(n):\n    layers.append(nn.Linear(4, 4))\n"
            "more = list(layers)\nmore.append(nn.Linear(4, 9))\nlayers.append(nn.Linear(4, 2))\none = nn.Sequential(*layers)\ntwo = nn.Sequential(*more)\n")
    status, networks = run(tmp_path, "-e", code)
    assert status == 3 and set(networks) == {"one", "two"}
    repeats = {name: [child["repeat"] for child in networks[name]["tree"][0]["children"]] for name in networks}
    assert repeats["one"][0] == repeats["two"][0] == 1 and repeats["one"][1] == repeats["two"][1] != 1


def test_answers_that_were_not_tried_make_no_sum_exact(tmp_path):
    lines = ["import random", "from torch import nn", "a = []"]
    lines += [f"if random.random() > 0.{k}: a.append(1)" for k in range(30)]
    lines += ["layers = [nn.Linear(3, 4)]", "if len(a) > 20: layers.append(nn.Linear(4, 5))", "model = nn.Sequential(*layers)"]
    status, networks = run(tmp_path, "-e", "\n".join(lines))
    assert status == 3 and not networks["model"]["totals"]["exact"]


def test_network_of_the_other_answer_alone(tmp_path):
    status, networks = run(tmp_path, "-e", "import random\nfrom torch import nn\nif random.random() < 0.5:\n    pass\nelse:\n    model = nn.Linear(2, 3)\n")
    assert status == 3 and networks["model"]["totals"]["parameters"] == 9 and not networks["model"]["totals"]["exact"]


def test_numbers_are_numbers(tmp_path):
    code = "import numbers\nfrom torch import nn\nm = nn.Identity(isinstance(3, numbers.Number), isinstance(2.5, numbers.Complex), isinstance('x', numbers.Number))"
    assert run(tmp_path, "-e", code)[1]["m"]["args"] == {"0": True, "1": True, "2": False}
