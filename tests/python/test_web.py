"""The page without installation: what it says of a file is what the program says, byte by byte, in a real browser."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BROWSER = ROOT / "tests" / "browser"
SHARED = pathlib.Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared"))
PROGRAM = os.environ.get("PELLUCID", "pellucid")
MODEL = ["tree --json", "audit --json", "tree", "audit"]
JOBS = {".py": ["scan --json", "scan", "ast"], ".pyc": ["decompile", "dis"]}


@pytest.fixture(scope="module")
def page() -> pathlib.Path:
    for tool in ("emcc", "node"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool} is installed: the page can't be built (Debian: emscripten, node-acorn)")
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "web.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build-web" / "pellucid.html"


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if not found or not (BROWSER / "node_modules" / "playwright-core").is_dir():
        pytest.skip("no Chromium, or no playwright-core (npm install --prefix tests/browser)")
    return found


def samples(folder: pathlib.Path) -> list[pathlib.Path]:
    """Files of every reader, hostile ones too: they are only read."""
    found = [path for path in sorted((ROOT / "fuzz" / "corpus" / "model").iterdir()) if path.is_file()]
    found += [path for path in sorted((SHARED / "data" / "files").rglob("*"))  # none where there is no collection
              if path.is_file() and path.name != "manifest.json" and path.stat().st_size < 1 << 20]
    found += sorted((ROOT / "tests" / "data").rglob("*.pyc"))[:8]
    net = folder / "net.py"
    net.write_text("from torch import nn\nmodel = nn.Sequential(nn.Linear(2**31 + 5 - 2**31, 7), nn.ReLU())\n")
    bad = folder / "bad.py"
    bad.write_text("def f(:\n    pass\n")
    unique = {path.name: path for path in [*found, net, bad]}  # dropped files have no folder
    flat = []
    for name, path in unique.items():
        copy = folder / name
        if copy != path:
            shutil.copy(path, copy)
        flat.append(copy)
    return flat


def native(job: str, path: pathlib.Path) -> tuple[int, str, str]:
    done = subprocess.run([PROGRAM, *job.split(), path.name], cwd=path.parent, capture_output=True, text=True,
                          check=False, errors="replace")
    return done.returncode, done.stdout, done.stderr


def test_every_sample_is_as_the_program_says(page: pathlib.Path, chromium: str, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    jobs = [(path, JOBS.get(path.suffix, MODEL)) for path in samples(folder)]
    asked = tmp_path / "jobs.json"
    asked.write_text(json.dumps([[str(path), names] for path, names in jobs]))
    done = subprocess.run(["node", "web.mjs", str(page), chromium, str(tmp_path / "web.png"), str(asked)], cwd=BROWSER,
                          capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    answers = iter(json.loads(done.stdout))
    n, different = 0, []
    for path, names in jobs:
        for job in names:
            answer = next(answers)
            code, out, said = native("ast --json" if job == "ast" else job, path)
            n += 1
            assert "failed" not in answer, (path.name, job, answer)
            if answer["isError"]:
                error = json.loads(answer["text"])["error"]
                same = code in (2, 4) and error["message"] in said + out
            else:
                same = answer["code"] == code and answer["text"].rstrip("\n") == out.rstrip("\n")
            if not same:
                different.append((path.name, job, code, answer["code"], out[:300], answer["text"][:300], said[:200]))
    assert not different, f"{len(different)} of {n}: {different[:5]}"
    print(f"{n} answers of {len(jobs)} files equal")
