"""Tries the package in every Python that pyproject.toml promises and that is here, and in newer ones that are here.

    python tools/check_pythons.py           the extension alone, linked with build/libpellucid.a: seconds for each
    python tools/check_pythons.py --wheel   what `pip install .` does: a wheel, a fresh environment, package and program

Fails if a promised Python fails. Says which ones are not here, and what came of those that nobody promised.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from other_pythons import ROOT, ask, find, why_not

NEWER = ("3.14", "3.15")  # tried where they are, promised or not
PACKAGE = ROOT / "python" / "pellucid"

# In the Python that is tried. Recording and decompiling work, or are refused in words that say where they would.
LOOK = """
import json, pathlib, subprocess, sys
import pellucid
assert "torch" not in sys.modules, "import pellucid imports torch"
for name in pellucid.__all__:
    assert name in dir(pellucid), name
from pellucid import _pellucid
assert json.loads(_pellucid.parse_json("x = 1"))["body"], "the parser gives no tree"
try:
    assert "return a + 1" in pellucid.decompile(compile("def f(a):\\n    return a + 1\\n", "f.py", "exec")), "decompile"
    decompiling = "decompiles"
except pellucid.Error as refusal:
    assert "the decompiler reads bytecode of Python 3.8 to" in str(refusal), refusal
    decompiling = "refuses to decompile its own bytecode, in words"
try:
    _pellucid.Recorder(len).run("look", ([],))
    recording = "records"
except NotImplementedError as refusal:
    assert "CPython" in str(refusal), refusal
    recording = "refuses to record, in words"
print(f"{recording}, {decompiling}")
"""


def promised() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)


def run(*command: str, folder: pathlib.Path, **variables: str) -> str:
    """What the command prints; raises RuntimeError with what it said where it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PELLUCID")}
    done = subprocess.run(command, cwd=folder, env={**environment, **variables}, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        lines = f"{done.stdout.strip()}\n{done.stderr.strip()}\nexit {done.returncode}".strip().splitlines()
        raise RuntimeError(f"{' '.join(command[:4])} …:\n    " + "\n    ".join(lines[-25:]))
    return done.stdout.strip()


def with_extension(python: str, folder: pathlib.Path) -> str:
    """Compiles the extension for this Python, beside links to the package."""
    include, suffix = ask(python, "import sysconfig as s; print(s.get_path('include')); "
                                  "print(s.get_config_var('EXT_SUFFIX'))").splitlines()
    package = folder / "pellucid"
    package.mkdir()
    for path in PACKAGE.iterdir():
        if path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    run("gcc", "-std=c11", "-D_GNU_SOURCE", "-O0", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{include}",
        f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", *sorted(map(str, (ROOT / "ext").glob("*.c"))),
        "-Wl,--whole-archive", str(ROOT / "build" / "libpellucid.a"), "-Wl,--no-whole-archive", "-lm",
        "-o", str(package / f"_pellucid{suffix}"), folder=folder)
    return run(python, "-c", LOOK, folder=folder, PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE="1")


def with_wheel(python: str, folder: pathlib.Path) -> str:
    """Builds and installs the wheel as a user would, and runs the program of the environment in both ways."""
    run(python, "-m", "venv", "venv", folder=folder)
    inside = str(folder / "venv" / "bin" / "python")
    pip = (inside, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT), folder=folder)
    wheel = next(folder.glob("pellucid-*.whl"))
    run(*pip, "install", "--quiet", "--no-deps", str(wheel), folder=folder)
    found = run(inside, "-c", LOOK, folder=folder)
    program = str(folder / "venv" / "bin" / "pellucid")
    versions = {run(program, "version", folder=folder), run(inside, "-m", "pellucid", "version", folder=folder)}
    if len(versions) != 1:
        raise RuntimeError(f"the program and the module are not one: {sorted(versions)}")
    return f"{wheel.name}, {found}"


def main() -> int:
    way = with_wheel if "--wheel" in sys.argv else with_extension
    wanted, failed, absent = promised(), [], []
    for version in [*wanted, *(v for v in NEWER if v not in wanted)]:
        python = find(version)
        problem = why_not(python)
        if problem or not python:
            if version in wanted:
                absent.append(f"{version} ({problem})")
            continue
        with tempfile.TemporaryDirectory(prefix="pellucid-") as folder:
            try:
                print(f"{version}: {way(python, pathlib.Path(folder))}", flush=True)
            except RuntimeError as error:
                print(f"{version}: FAILED{'' if version in wanted else ', not promised'}: {error}", flush=True)
                failed += [version] if version in wanted else []
    if absent:
        print("not tried: " + ", ".join(absent))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
