"""Hooks, the action and the recipe: their entry points are run, and what they say is what the package says."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
from conftest import PROGRAM, ROOT

import pellucid

yaml = pytest.importorskip("yaml", reason="hooks, action and recipe are YAML, and there is no reader for it")
BAD = b"cposix\nsystem\n(S'echo'\ntR."
PACKAGE = str(pathlib.Path(pellucid.__file__).parent.parent)


@pytest.fixture
def environment(tmp_path):
    """As after an installation: the program is on the path, Python has the package."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "pellucid").symlink_to(PROGRAM)
    (folder / "python").symlink_to(sys.executable)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": PACKAGE,
            "GITHUB_OUTPUT": str(tmp_path / "output")}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "bad.pkl").write_bytes(BAD)
    (tmp_path / "good.npy").write_bytes(b"\x93NUMPY\x01\x00\x46\x00" + b"{'descr': '<f4', 'fortran_order': False, "
                                        b"'shape': (1,), }".ljust(69) + b"\n" + bytes(4))
    (tmp_path / "net.py").write_text("from torch import nn\nnet = nn.Linear(2, 3)\n")
    return tmp_path


HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}


def run_hook(name: str, path, environment) -> int:
    command = [*shlex.split(HOOKS[name]["entry"]), str(path)]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode


def test_hooks(files, environment) -> None:
    assert run_hook("pellucid-audit", files / "bad.pkl", environment) == 4
    assert run_hook("pellucid-audit", files / "good.npy", environment) == 0
    assert run_hook("pellucid-scan", files / "net.py", environment) in (0, 3)
    pattern = re.compile(HOOKS["pellucid-audit"]["files"])
    assert all(pattern.search(name) for name in ("model.pt", "a/b.safetensors", "x.ckpt", "m.gguf"))
    assert not any(map(pattern.search, ("model.py", "README.md", "ptx")))


ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


def run_action(environment, **inputs: str) -> subprocess.CompletedProcess[str]:
    step = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "run")
    values = {name: row["default"] for name, row in ACTION["inputs"].items()} | inputs
    given = {name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match.group(1)], text)
             for name, text in step["env"].items()}
    assert "${{" not in step["run"]  # inputs in a script would be code
    return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", step["run"]], env={**environment, **given}, text=True,
                          capture_output=True, check=False)


def test_action(files, environment) -> None:
    bad = run_action(environment, paths=f"{files / 'bad.pkl'}\n{files / 'good.npy'}\n")
    assert bad.returncode == 4 and "dangerous" in bad.stdout
    assert pathlib.Path(environment["GITHUB_OUTPUT"]).read_text() == "exit-code=4\n"
    assert run_action(environment, paths=str(files / "good.npy"), options="--quiet\n--json").returncode == 0
    assert run_action(environment, command="scan", paths=str(files / "net.py")).returncode in (0, 3)
    assert run_action(environment, command="rm").returncode == 1
    spaced = files / "with space; touch oops.pkl"
    spaced.write_bytes(BAD)
    assert run_action(environment, paths=str(spaced)).returncode == 4 and not (files / "oops.pkl").exists()


def test_recipe(environment, tmp_path) -> None:
    text = (ROOT / "conda" / "recipe.yaml").read_text()
    recipe = yaml.safe_load(text.replace("${{ version }}", "0"))
    assert recipe["context"]["version"] == pellucid.__version__
    assert recipe["requirements"]["run"] == ["python >=3.10"]
    assert (ROOT / recipe["about"]["license_file"]).is_file()
    for row in recipe["tests"]:
        for name in row.get("python", {}).get("imports", ()):
            subprocess.run([sys.executable, "-c", f"import {name}"], env=environment, check=True)
        for command in row.get("script", ()):
            subprocess.run(command, shell=True, env=environment, check=True, capture_output=True, cwd=tmp_path)


def test_versions_of_python_are_promised_alike() -> None:
    """requires-python, the classifiers, the recipe, meson's condition and the environment's oldest are one promise."""
    project = (ROOT / "pyproject.toml").read_text()
    floor = re.search(r'requires-python = ">=3\.(\d+)(?:,<3\.(\d+))?"', project)
    assert floor
    minors = [int(m) for m in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', project)]
    assert minors == list(range(int(floor.group(1)), minors[-1] + 1))
    if floor.group(2):
        assert int(floor.group(2)) == minors[-1] + 1
    assert f"version_compare('>=3.{minors[0]}')" in (ROOT / "meson.build").read_text()
    assert f"OLDEST = (3, {minors[0]})" in (ROOT / "tools" / "setup_env.py").read_text()
