"""Files and folders that are made to do something (hostile_files.py): each is judged alone, as a person would.

They are only read, by pellucid; nothing here opens one."""

from __future__ import annotations

import datetime
import json
import pathlib
import random
import subprocess

import hostile_files
from conftest import PROGRAM

ORDER = ["harmless", "unknown", "broken", "suspicious", "dangerous"]
EXITS = {"harmless": 0, "unknown": 2, "broken": 2, "suspicious": 4, "dangerous": 4}


def judge(path: pathlib.Path) -> tuple[str, int]:
    done = subprocess.run([PROGRAM, "audit", "--json", str(path)], stdout=subprocess.PIPE, timeout=60, check=False)
    last = json.loads(done.stdout.splitlines()[-1])
    return last.get("summary", last)["verdict"], done.returncode


def test_nothing_hostile_passes(tmp_path: pathlib.Path) -> None:
    """No verdict is better than it may be, and no exit code is better than its verdict."""
    hostile_files.write(tmp_path)
    paths = {name: tmp_path / "files" / name for name in hostile_files.HOSTILE}
    paths |= {name: tmp_path / "folders" / name for name in (*hostile_files.FOLDERS, *hostile_files.LINKS)}
    assert len(paths) > 700
    assert hostile_files.EXPECT.keys() <= paths.keys()
    passed = {}
    for name, path in paths.items():
        verdict, code = judge(path)
        least = hostile_files.EXPECT.get(name, ("suspicious", ""))[0]
        if ORDER.index(verdict) < ORDER.index(least) or code != EXITS[verdict]:
            passed[name] = verdict, code
    assert passed == {}


def test_what_is_expected_is_not_too_much(tmp_path: pathlib.Path) -> None:
    """Rows of EXPECT that are worse by now would hide that a verdict got better again."""
    hostile_files.write(tmp_path)
    for name, (least, _) in hostile_files.EXPECT.items():
        path = tmp_path / ("files" if name in hostile_files.HOSTILE else "folders") / name
        if least in ("harmless", "unknown"):
            assert judge(path)[0] == least, name


def test_a_tree_says_so(tmp_path: pathlib.Path) -> None:
    """`tree` of a hostile file has the audit's line, be it broken or not, and ends with 4 if it is dangerous."""
    hostile_files.write(tmp_path)
    names = [name for name in hostile_files.HOSTILE if name not in hostile_files.EXPECT]
    silent = {}
    for name in random.Random(datetime.date.today().toordinal()).sample(names, 150):
        done = subprocess.run([PROGRAM, "tree", tmp_path / "files" / name], stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, timeout=60)
        if b"audit: suspicious" not in done.stdout and (b"audit: dangerous" not in done.stdout or done.returncode != 4):
            silent[name] = done.returncode, done.stdout[-200:]
    assert silent == {}


def test_everyday_words_are_no_names(tmp_path: pathlib.Path) -> None:
    """Modules of Python have everyday names: a config that says test.txt calls nothing, but platform.popen is there."""
    plain = ("test.txt", "platform.x", "torch.compile", "trace.json", "code.zip", "http.port", "signal.type")
    names = ("test.support.script_helper.run_python", "platform.popen", "torch.load", "site.main", "code.interact",
             "test.test_os", "trace.Trace", "commands.getoutput", "http.client.HTTPSConnection", "profile.run")
    (tmp_path / "plain.yaml").write_text("".join(f"key{i}: {word}\n" for i, word in enumerate(plain)))
    assert judge(tmp_path / "plain.yaml")[0] == "harmless"
    for name in names:
        (tmp_path / "named.yaml").write_text(f"key: {name}\n")
        assert judge(tmp_path / "named.yaml")[0] == "dangerous", name
