"""Model repositories that bring code: what loading with trust_remote_code=True would import and run, told from the
source. None of the hostile ones is harmless; the plain ones are."""

from __future__ import annotations

import json
import pathlib
import subprocess

import pytest

from conftest import PROGRAM

NET = '''
import math
from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from .configuration_net import NetConfig


class Attention(nn.Module):
    def __init__(self, config, scale: Optional[float] = None):
        super().__init__()
        self.q = nn.Linear(config.hidden_size, config.hidden_size)
        self.scale = scale or 1 / math.sqrt(config.hidden_size)
        self.register_buffer("steps", torch.arange(10), persistent=False)

    def forward(self, x, mask=None):
        q = self.q(x).view(x.shape[0], -1, 4, 8).transpose(1, 2)
        weight = torch.matmul(q, q.transpose(-1, -2)) * self.scale
        if mask is not None:
            weight = weight.masked_fill(mask, float("-inf"))
        return F.softmax(weight, dim=-1, dtype=torch.float32).to(q.dtype)


class Net(PreTrainedModel):
    config_class = NetConfig

    def __init__(self, config):
        super().__init__(config)
        self.layers = nn.ModuleList([Attention(config) for _ in range(2)])
        self.post_init()

    @torch.no_grad()
    def forward(self, x, input=None):
        for i, layer in enumerate(self.layers):
            x = getattr(self, f"layers")[i](x)
        return BaseModelOutput(last_hidden_state=x)
'''
CONFIG = '''
from transformers import PretrainedConfig


class NetConfig(PretrainedConfig):
    model_type = "net"

    def __init__(self, hidden_size=32, **kwargs):
        self.hidden_size = hidden_size
        super().__init__(**kwargs)
'''
MAP = {"model_type": "net", "auto_map": {"AutoConfig": "configuration_net.NetConfig", "AutoModel": "modeling_net.Net"}}

# A line or more that does something, and what the finding says.
HOSTILE = {
    "system": ("import os\nos.system('id')", "runs a process: os.system"),
    "renamed": ("from os import system as s\ns('id')", "os.system"),
    "module_renamed": ("import os as o\no.popen('id')", "os.popen"),
    "through_torch": ("import torch\ntorch.os.system('id')", "torch.os.system"),
    "through_nn": ("from torch import nn\nnn.modules.os.system('id')", "os.system"),
    "through_enum": ("import enum\nenum.bltns.eval('1')", "enum.bltns"),
    "through_random": ("import random\nrandom._os.system('id')", "random._os"),
    "through_value": ("import warnings\nx = warnings\nx.sys.modules", "a module as a value"),
    "subprocess": ("import subprocess\nsubprocess.run(['id'])", "subprocess.run"),
    "in_try": ("try:\n    import subprocess as s\nexcept ImportError:\n    s = None\ns.Popen('id')",
               "subprocess.Popen"),
    "eval": ("eval('1')", "makes code of data: eval"),
    "exec": ("exec(open('x').read())", "exec"),
    "shadowed_elsewhere": ("def f(eval):\n    pass\neval('1')", "makes code of data: eval"),
    "handed_on": ("list(map(eval, ['1']))", "eval"),
    "in_decorator": ("@exec\ndef f():\n    pass", "exec"),
    "in_default": ("def f(x=eval('1')):\n    pass", "eval"),
    "in_fstring": ("f\"{eval('1')}\"", "eval"),
    "in_lambda": ("f = lambda: eval('1')", "eval"),
    "in_class": ("class C:\n    x = __import__('os')", "C makes code of data: __import__"),
    "in_comprehension": ("[eval(x) for x in ('1',)]", "eval"),
    "in_match": ("match 1:\n    case 1:\n        eval('1')", "eval"),
    "in_async": ("async def f():\n    eval('1')", "f makes code of data: eval"),
    "importlib": ("import importlib\nimportlib.import_module('os')", "importlib.import_module"),
    "builtins": ("__builtins__['eval']('1')", "__builtins__"),
    "builtins_module": ("import builtins\nbuiltins.eval('1')", "eval"),
    "self_of_builtin": ("print.__self__.eval('1')", "print.__self__"),
    "globals": ("globals()['x']", "globals"),
    "subclasses": ("().__class__.__bases__[0].__subclasses__()", "__subclasses__"),
    "function_globals": ("def f():\n    pass\nf.__globals__['x']", "__globals__"),
    "globals_in_chain": ("from torch import nn\nnn.Module.forward.__globals__.get('os')", "__globals__"),
    "text_of_dunder": ("x = {}\nx['__builtins__']", "__builtins__"),
    "getattr_constant": ("import torch\ngetattr(torch, 'os').system('id')", "torch.os"),
    "getattr_computed": ("import torch\ngetattr(torch, 'o' + 's')", "the name is computed"),
    "getattr_of_value": ("def f(x, n):\n    return getattr(x, n)", "the name is computed"),
    "getattr_handed_on": ("import functools, warnings\nfunctools.reduce(getattr, ['sys', 'modules'], warnings)",
                          "getattr"),
    "attrgetter": ("import operator, torch\noperator.attrgetter('os')(torch)", "operator.attrgetter"),
    "base64": ("import base64\nx = base64.b64decode('aWQ=')", "base64.b64decode"),
    "marshal": ("import marshal\nmarshal.loads(b'')", "marshal.loads"),
    "pickle": ("import pickle\npickle.loads(b'')", "pickle.loads"),
    "torch_load": ("import torch\ntorch.load('x.bin')", "torch.load"),
    "numpy_load": ("import numpy as np\nnp.load('x.npy', allow_pickle=True)", "numpy.load"),
    "network": ("import urllib.request\nurllib.request.urlopen('http://localhost')", "uses the network"),
    "requests": ("import requests\nrequests.get('http://localhost')", "requests.get"),
    "socket": ("from socket import socket\nsocket().connect(('localhost', 1))", "uses the network"),
    "hub": ("import torch\ntorch.hub.load('a', 'b')", "torch.hub.load"),
    "from_pretrained": ("from transformers import AutoModel\nAutoModel.from_pretrained('x/y')", "from_pretrained"),
    "write": ("open('x', 'w')", "writes or removes files: open"),
    "write_keyword": ("open('x', mode='a')", "writes or removes files: open"),
    "write_computed": ("m = 'w'\nopen('x', m)", "the mode is computed"),
    "read": ("open('/etc/passwd')", "reads files: open"),
    "path_write": ("from pathlib import Path\nPath('x').write_text('y')", "write_text"),
    "rmtree": ("import shutil\nshutil.rmtree('x')", "shutil.rmtree"),
    "ctypes": ("import ctypes\nctypes.CDLL(None)", "loads native code"),
    "extension": ("from torch.utils.cpp_extension import load_inline\nload_inline('x', '')", "cpp_extension"),
    "library": ("import torch\ntorch.ops.load_library('x.so')", "load_library"),
    "environment": ("import os\nos.environ['TOKEN']", "os.environ"),
    "star": ("from somebody import *", "all of its names are imported"),
    "unknown_module": ("import somebody\nsomebody.f()", "somebody"),
    "unknown_function": ("from somebody import f\nf()", "somebody.f"),
    "unknown_method": ("def f(x):\n    x.frobnicate()", ".frobnicate()"),
    "method_system": ("def f(x):\n    x.system('id')", ".system"),
    "up": ("from ..other import f\nf()", "another folder"),
    "missing": ("from .nowhere import f\nf()", "nowhere.py"),
    "atexit": ("import atexit\natexit.register(print)", "atexit.register"),
    "deleted": ("class C:\n    def __del__(self):\n        import os\n        os.remove('x')", "C.__del__ writes"),
}


def audit(path: pathlib.Path) -> tuple[str, str]:
    done = subprocess.run([PROGRAM, "audit", "--json", str(path)], stdout=subprocess.PIPE, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    verdict = rows[-1]["summary"]["verdict"] if "summary" in rows[-1] else rows[0]["verdict"]
    return verdict, done.stdout.decode()


def repository(folder: pathlib.Path, **files: str) -> pathlib.Path:
    for name, text in {"config.json": json.dumps(MAP), "modeling_net.py": NET, "configuration_net.py": CONFIG,
                       **{key.replace("__", "."): text for key, text in files.items()}}.items():
        (folder / name).write_text(text)
    return folder


def test_plain_repository(tmp_path: pathlib.Path) -> None:
    verdict, out = audit(repository(tmp_path, requirements__txt="torch>=2\n# a comment\neinops\n",
                                    conf__yaml="model:\n  _target_: torch.nn.Linear\n"))
    assert verdict == "harmless", out
    assert "with trust_remote_code=True, AutoModel imports modeling_net.py and makes Net" in out


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_source(tmp_path: pathlib.Path, name: str) -> None:
    source, wanted = HOSTILE[name]
    path = tmp_path / "modeling_net.py"
    path.write_text(source + "\n")
    verdict, out = audit(path)
    assert verdict in ("dangerous", "suspicious"), out
    assert wanted in json.loads(json.dumps(out)), out


def test_config_leads_to_the_source(tmp_path: pathlib.Path) -> None:
    """The config alone says what the code does that it names, and the code that this one imports."""
    folder = repository(tmp_path, configuration_net__py=CONFIG + "\nfrom .helper import f\n",
                        helper__py="import os\n\n\ndef f():\n    os.system('id')\n")
    verdict, out = audit(folder / "config.json")
    assert verdict == "dangerous"
    assert "helper.py:5: f runs a process: os.system" in out


def test_effects_have_their_place(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "modeling_net.py"
    path.write_text(NET.replace("self.post_init()", "eval('1')"))
    line = 1 + path.read_text().split("eval(")[0].count("\n")
    _, out = audit(path)
    assert f"modeling_net.py:{line}: Net.__init__ makes code of data: eval" in out


@pytest.mark.parametrize("name, text, wanted", [
    ("config.json", json.dumps({"auto_map": {"AutoModel": "owner/other--modeling.Net"}}), "another repository"),
    ("config.json", json.dumps({"auto_map": {"AutoModel": "modeling.Net"}}), "whose source is not here"),
    ("config.json", json.dumps({"custom_pipelines": {"x": {"impl": "pipeline.P"}}}), "whose source is not here"),
    ("tokenizer_config.json", json.dumps({"auto_map": {"AutoTokenizer": ["tok.T", None]}, "chat_template": "{{ x }}"}),
     "tok.T"),
    ("hydra.json", json.dumps({"a": [{"_target_": "os.system"}]}), "a config calls os.system"),
    ("hydra.json", json.dumps({"a": {"_target_": "somebody.Net"}}), "nobody knows"),
    ("conf.yaml", "model:\n  _target_: builtins.eval\n", "a config calls builtins.eval"),
    ("conf.yaml", "model: {_target_: somebody.Net, x: 1}\n", "a config calls somebody.Net"),
    ("conf.yaml", "x: !!python/object/apply:os.system [id]\n", "!!python"),
    ("requirements.txt", "torch\ngit+https://example.org/x\n", "from elsewhere"),
    ("requirements-dev.txt", "--extra-index-url http://example.org\n", "from elsewhere"),
    ("setup.py", "from setuptools import setup\nimport os\nos.system('id')\nsetup()\n", "os.system"),
    ("a.ipynb", json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "source": [
        "!pip install x\n", "y = 1\n"]}]}), "!pip install x"),
    ("a.ipynb", json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "source": "import os\nos.system('id')"}]}),
     "os.system"),
])
def test_what_leads_to_code(tmp_path: pathlib.Path, name: str, text: str, wanted: str) -> None:
    (tmp_path / name).write_text(text)
    verdict, out = audit(tmp_path / name)
    assert verdict in ("dangerous", "suspicious"), out
    assert wanted in out


def test_plain_notebook(tmp_path: pathlib.Path) -> None:
    cells = [{"cell_type": "markdown", "source": "os.system"},
             {"cell_type": "code", "source": ["import math\n", "math.pi"]}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"nbformat": 4, "cells": cells}))
    assert audit(tmp_path / "a.ipynb")[0] == "harmless"


def test_source_that_is_none(tmp_path: pathlib.Path) -> None:
    (tmp_path / "modeling.py").write_text("def (:\n")
    assert audit(tmp_path / "modeling.py")[0] == "broken"
