"""No program of scan_attacks.txt makes `pellucid scan` say something wrong in silence: what it calls exact is what
executing the program gives, and what differs is said to be unknown or assumed."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch's sources are interpreted, and there are none here", allow_module_level=True)

FAKELIB = """
import sys, types, torch.nn as nn, torch
m = sys.modules['fakelib'] = types.ModuleType('fakelib')
class Par(nn.Module):
    def __init__(s, a, b, **k):
        super().__init__()
        s.w = nn.Parameter(torch.zeros(a, b))
    def forward(s, x):
        return x
m.Par = Par
m.make = lambda *a, **k: Par(3, 3)
m.N = 5
m.table = {'x': Par}
m.deco = lambda c: c
class Base(nn.Module):
    def __init__(s, *a, **k):
        super().__init__()
        s.basew = nn.Parameter(torch.zeros(7))
m.Base = Base
m.patch = lambda mod: setattr(mod, 'patched', Par(2,2))
m.Mixin = Base
import os
os.environ['LOCAL_RANK']='0'; os.environ['N']='4'
"""


def attacks() -> dict[str, tuple[str, str]]:
    """Name -> setup, program."""
    text = (pathlib.Path(__file__).parent.parent / "data" / "scan_attacks.txt").read_text()
    found = {}
    for block in text.split("\n=== ")[1:]:
        name, _, rest = block.partition("\n")
        program, _, setup = rest.partition("\n---\n")
        found[name] = setup.replace("$fakelib", FAKELIB), program + "\n"
    return found


ATTACKS = attacks()
EXECUTE = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
import torch, torch.nn
for name, (setup, program) in json.load(sys.stdin).items():
    read, write = os.pipe()
    child = os.fork()
    if not child:
        scope = {"__name__": "__main__"}
        exec(setup, scope)
        exec(program, scope)
        state = {key: list(value.shape) for key, value in scope["model"].state_dict().items()}
        os.write(write, json.dumps(state).encode())
        os._exit(0)
    os.close(write)
    print("state", json.dumps([name, json.loads(os.read(read, 1 << 20) or b"null")]), flush=True)
    os.close(read)
    os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def executed() -> dict[str, dict[str, list[int]]]:
    done = subprocess.run([sys.executable, "-c", EXECUTE], capture_output=True, text=True, check=True,
                          input=json.dumps(ATTACKS), env={**os.environ, "OMP_NUM_THREADS": "1"})
    return dict(json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("state "))


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_is_wrong_in_silence(name, executed, pellucid, tmp_path) -> None:
    path = tmp_path / "model.py"
    path.write_text(ATTACKS[name][1])
    assert executed[name] is not None, "the attack itself does not run"
    done = pellucid("scan", path, "--python", sys.executable, "--json")
    networks = {network["name"]: network for network in json.loads(done.out)["networks"]}
    if "model" not in networks:
        assert done.code == 3
        return
    model = networks["model"]
    if list(model["state"].items()) == list(executed[name].items()):
        return
    if model.get("assumed") and done.code == 0:
        return
    assert done.code == 3 and not model["totals"]["exact"] and model["unknown"]
