"""Builds the extension for another Python and runs the recorder's tests in it.

    python tools/other_pythons.py 3.12               that of pyenv or on the path
    python tools/other_pythons.py /path/to/python    this one; what it has of torch decides which tests it runs

The build is in build-3.12. pytest is taken from the Python that runs this if the other one has none: it is pure Python.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
PURE = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
PLAIN = ["tests/python/test_recorder.py"]
WITH_TORCH = [*PLAIN, "tests/python/test_recorder_torch.py", "tests/python/test_skeleton.py",
              "tests/python/test_author_models.py", "tests/python/test_interrupts.py",
              "tests/python/test_golden_lanes.py", "tests/python/test_other_data.py"]


def find(name: str) -> str | None:
    """An interpreter by its version (the variable PELLUCID_PYTHON_3_12 may name it) or by its path."""
    from roundtrip import python_for
    if os.sep in name:
        return name
    return os.environ.get("PELLUCID_PYTHON_" + name.replace(".", "_")) or python_for(name)


def ask(python: str, code: str) -> str:
    """What the code prints there; empty if it can't be run."""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def why_not(python: str | None) -> str:
    """What is missing to build for it; empty if nothing is."""
    if not python:
        return "there is no such Python here"
    headers = ask(
        python, "import os, sysconfig; print(os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')))")
    return "" if headers == "True" else "its headers are not installed"


def has(python: str, module: str) -> bool:
    return ask(python, f"import importlib.util; print(importlib.util.find_spec({module!r}) is not None)") == "True"


def build(python: str, folder: str, kind: str = "debug") -> None:
    if not (ROOT / folder / "build.ninja").exists():
        native = ROOT / folder / "python.ini"  # meson asks for it again whenever it sets itself up anew
        native.parent.mkdir(exist_ok=True)
        native.write_text(f"[binaries]\npython = '{python}'\n", encoding="utf-8")
        subprocess.run(["meson", "setup", folder, "--native-file", str(native), "-Dtests=false", "-Dpython=enabled",
                        f"-Dbuildtype={kind}", "-Dwerror=true"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder, "--quiet"], cwd=ROOT, check=True)
    subprocess.run([sys.executable, "tools/dev_tree.py", folder], cwd=ROOT, check=True)


def test(python: str, folder: str) -> int:
    torch = has(python, "torch")
    if not torch:
        print(f"{python} has no torch: the tests that need it are skipped there", flush=True)
    with tempfile.TemporaryDirectory() as pure:
        if not has(python, "pytest"):
            for name in PURE:
                found = importlib.util.find_spec(name)
                if found and found.origin:
                    origin = pathlib.Path(found.origin)
                    origin = origin.parent if found.submodule_search_locations else origin
                    (pathlib.Path(pure) / origin.name).symlink_to(origin)
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / folder / "python"), pure]),
                     "PELLUCID": str(ROOT / folder / "pellucid"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not slow",
                   *(WITH_TORCH if torch else PLAIN)]
        return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode


def main(name: str) -> int:
    python = find(name)
    problem = why_not(python)
    if problem or not python:
        sys.exit(f"{name}: {problem}")
    folder = "build-" + ask(python, "import sys; print('%d.%d' % sys.version_info[:2])")
    build(python, folder)
    return test(python, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
