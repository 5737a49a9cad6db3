"""The demo: what it says it wrote is there, and the README says what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

pytest.importorskip("torch", reason="the demo runs a torch module")
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run([sys.executable, "-m", "pellucid", "demo", "-o", "files/here"], cwd=folder, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_last_line_names_files_that_are_there(demo) -> None:
    folder, said = demo
    named = re.findall(r"\S+\.(?:py|html)\b", said.splitlines()[-1])
    assert [os.path.basename(path) for path in named] == ["lumen.py", "demo_skeleton.py", "demo.html"]
    for path in named:
        assert (folder / path).is_file(), path


def test_the_makefile_leaves_the_caller_where_the_files_are_named_from() -> None:
    rule = re.search(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert rule and "cd " not in rule.group(1) and "demo -o $(BUILD)/demo" in rule.group(1)


def test_the_attention_is_shown_first(demo) -> None:
    folder, said = demo
    after_title = said.split("lines became", 1)[1].splitlines()
    assert next(line for line in after_title[1:] if line.strip()).startswith("class Attention(")
    page = (folder / "files" / "here" / "demo.html").read_text(encoding="utf-8")
    assert page.index("<h3>Attention") < page.index("<h3>RotaryEmbedding")


def test_the_readme_has_the_demos_numbers_and_code(demo) -> None:
    folder, said = demo
    before, after = re.search(r"(\d+) lines became (\d+)", said).groups()
    assert f"({before} lines:" in README and f"a file of {after} lines" in README
    shown = re.search(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL).group(1)
    written = (folder / "files" / "here" / "demo_skeleton.py").read_text(encoding="utf-8")
    for function in shown.strip().split("\n\n\n"):
        assert function in written
