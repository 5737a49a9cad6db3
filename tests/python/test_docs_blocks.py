"""The blocks of the documentation are run: what a page shows is what comes out.

    PYTHONPATH=build/python PELLUCID=build/pellucid python tests/python/test_docs_blocks.py --bless

A ```console block is a command behind "$ " and its output, run from the checkout. A ```python block is a program that
must end without an error. Blocks that are indented are not run: they name files that a reader has.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = sorted((ROOT / "docs" / "tasks").glob("*.md"))
CONSOLE = re.compile(r"^```console\n\$ (.*)\n((?:.*\n)*?)```$", re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE_BLOCKS = [(page, match) for page in PAGES for match in CONSOLE.finditer(page.read_text(encoding="utf-8"))]
PYTHON_BLOCKS = [(page, text) for page in PAGES for text in PYTHON.findall(page.read_text(encoding="utf-8"))]


def run(command: str) -> str:
    program = pathlib.Path(os.environ.get("PELLUCID", ROOT / "build" / "pellucid")).resolve()
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "80"})
    return done.stdout + done.stderr + (f"[exit code {done.returncode}]\n" if done.returncode else "")


@pytest.mark.parametrize("page,block", CONSOLE_BLOCKS, ids=[f"{p.stem}-{m.start()}" for p, m in CONSOLE_BLOCKS])
def test_console_block(page, block) -> None:
    assert run(block.group(1)) == block.group(2)


@pytest.mark.parametrize("page,text", PYTHON_BLOCKS, ids=[p.stem for p, _ in PYTHON_BLOCKS])
def test_python_block(page, text, tmp_path, monkeypatch) -> None:
    if "import torch" in text:
        pytest.importorskip("torch", reason="the block uses torch")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"{page.stem}_block.py"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_page_has_a_block_that_runs() -> None:
    shown = {page for page, _ in CONSOLE_BLOCKS} | {page for page, _ in PYTHON_BLOCKS}
    assert shown == set(PAGES)


def test_commands_of_the_readme_exist() -> None:
    """Each script that it names is there and has the options that are shown with it."""
    commands = re.findall(r"`(?:python )?((?:tools|bench)/\w+\.py)([^`]*)`", (ROOT / "README.md").read_text())
    assert len(commands) > 30
    for script, arguments in commands:
        text = (ROOT / script).read_text()
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", arguments):
            assert f'"{option}"' in text, f"{script} has no option {option}"


def test_folders_and_files_are_listed() -> None:
    architecture = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    for folder in (path for path in (ROOT / "src").iterdir() if path.is_dir()):
        assert f"[`src/{folder.name}`]" in architecture, folder.name
    listed = (ROOT / "python" / "pellucid" / "README.md").read_text()
    for path in (ROOT / "python" / "pellucid").glob("*.py"):
        family = re.sub(r"(?<=_compiler).*", "*", path.stem)
        assert f"`{path.name}`" in listed or f"`{family}.py`" in listed, path.name


def bless() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        made = CONSOLE.sub(lambda match: f"```console\n$ {match.group(1)}\n{run(match.group(1))}```", text)
        page.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    if "--bless" in sys.argv:
        bless()
