"""The program around its jobs: help, manual page, completions, versions."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import PROGRAM, ROOT


def subcommands(pellucid) -> list[str]:
    listed = pellucid("help").out.split("subcommands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


def test_every_subcommand_teaches_with_an_example(pellucid) -> None:
    for name in subcommands(pellucid):
        result = pellucid(name, "--help")
        assert result.code == 0 and result.out == pellucid("help", name).out
        assert result.out.startswith(f"usage: pellucid {name}")
        assert f"pellucid {name}" in result.out.split("example:\n")[1]
        assert max(map(len, result.out.splitlines())) <= 80


def test_examples_show_what_is_printed(pellucid) -> None:
    """The examples that are a pipe into the program are run: what they claim is what comes out."""
    checked = 0
    for name in subcommands(pellucid):
        example = pellucid("help", name).out.split("example:\n")[1]
        lines = [line[2:] for line in example.rstrip("\n").split("\n")]
        match = re.fullmatch(r"\$ (echo '.*' \| pellucid .*)", lines[0])
        if match:
            command = match.group(1).replace("pellucid", PROGRAM)
            done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
            assert done.stdout.rstrip("\n").split("\n") == lines[1:]
            checked += 1
    assert checked >= 2


def test_the_overview_fits_a_terminal(pellucid) -> None:
    assert max(map(len, pellucid("help").out.splitlines())) <= 80


def test_no_arguments(pellucid) -> None:
    result = pellucid()
    assert result.code == 1 and result.out == "" and "subcommands:" in result.err


def test_manual_page_is_up_to_date(pellucid) -> None:
    assert (ROOT / "docs" / "pellucid.1").read_text() == pellucid("help", "--man").out, "make docs writes it anew"


def test_manual_page_is_clean_roff(pellucid) -> None:
    if not shutil.which("groff"):
        pytest.skip("no groff here")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww"], input=pellucid("help", "--man").out, capture_output=True,
        text=True, check=True
    )
    assert done.stderr == "" and "EXIT STATUS" in re.sub(".\b", "", done.stdout)


BASH = """
source <("$1" completion bash)
COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_pellucid
printf '%s\\n' "${COMPREPLY[@]}"
"""


def bash_completes(*words: str) -> list[str]:
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", PROGRAM, "pellucid", *words], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completion() -> None:
    if not shutil.which("bash"):
        pytest.skip("no bash here")
    assert bash_completes("as") == ["ast"]
    assert bash_completes("ast", "--py") == ["--python-version"]
    assert bash_completes("ast", "--python-version", "3.1") == ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
    assert bash_completes("completion", "z") == ["zsh"]
    assert sorted(bash_completes("ast", "mes")) == ["meson.build", "meson.options"]


def test_zsh_completion_parses() -> None:
    if not shutil.which("zsh"):
        pytest.skip("no zsh here")
    script = subprocess.run([PROGRAM, "completion", "zsh"], capture_output=True, check=True).stdout
    done = subprocess.run(["zsh", "-n", "/dev/stdin"], input=script, capture_output=True, check=False)
    assert done.returncode == 0 and done.stderr == b""


def test_versions_agree(pellucid) -> None:
    header = re.search(r'PELLUCID_VERSION "(.*)"', (ROOT / "include" / "pellucid.h").read_text()).group(1)
    build = re.search(r"version: '(.*?)'", (ROOT / "meson.build").read_text()).group(1)
    changes = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).group(1)
    assert header == build == changes == json.loads(pellucid("version", "--json").out)["version"]


def test_output_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    if not pathlib.Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2 and "cannot write" in done.stderr


def test_no_colours_in_a_pipe(pellucid) -> None:
    assert "\033" not in pellucid("ast", "-", input=b"x = = 1").err


def test_no_name_is_defined_twice() -> None:
    """Two folders that define one name link without a word, and one calls the other's."""
    archive = pathlib.Path(PROGRAM).parent / "libpellucid.a"
    if not shutil.which("nm") or not archive.exists():
        pytest.skip("no nm here, or no static library beside the program")
    listed = subprocess.run(["nm", "--defined-only", "-g", str(archive)], capture_output=True, text=True,
                            check=True).stdout
    names = [line.split()[2] for line in listed.splitlines() if len(line.split()) == 3
             and line.split()[2].startswith("pel")]
    assert len(names) > 100 and sorted({n for n in names if names.count(n) > 1}) == []


@pytest.mark.parametrize("path", sorted((ROOT / "fuzz" / "corpus" / "skeleton").iterdir()), ids=lambda path: path.stem)
def test_fuzzing_skeletons_begins_with_traces_that_have_one(pellucid, path: pathlib.Path) -> None:
    """A corpus in an older version of the file would be refused at its first bytes, and nothing be fuzzed."""
    done = pellucid("skeleton", path)
    if path.stem.startswith("found_"):  # by the fuzzer: such a trace need not have one
        assert done.code in (2, 3) and "version" not in done.err, done.err
    else:
        assert done.code == 3 and "class " in done.out, done.err
