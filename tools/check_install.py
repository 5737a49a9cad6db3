"""Builds the wheel, installs it into an environment of its own (build-install), and looks at what is there:
the program, its manual page, the licence, the package with its stubs, an extension that exports one symbol, and no
import of torch. The code is in the wheel twice (program and extension), not three times: the library for C comes with
-Csetup-args=-Ddevel=enabled alone, which is tried as well."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build-install"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
PROGRAM = """
import pellucid, pathlib, sys
assert "torch" not in sys.modules, "import pellucid imports torch"
folder = pathlib.Path(pellucid.__file__).parent
assert (folder / "py.typed").exists() and (folder / "_pellucid.pyi").exists(), "type stubs are missing"
print(next(folder.glob("_pellucid.*.so")))
"""


def run(*command: str) -> str:
    """Without PYTHONPATH: the Makefile's would put the package of the build before the installed one."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True,
                          check=True).stdout.strip()


def make_wheel(folder: pathlib.Path, *options: str) -> pathlib.Path:
    folder.mkdir(parents=True)
    where = ["-w", str(folder), *options, str(ROOT)]
    subprocess.run([*PIP, "wheel", "--quiet", "--no-build-isolation", "--no-deps", *where], check=True)
    return next(folder.glob("pellucid-*.whl"))


def problem_of(wheel: pathlib.Path) -> str:
    """What is in the wheel that should not be, or the other way round."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    if any(name.endswith((".a", ".h")) for name in names):
        return "the wheel has the library for C"
    for wanted in ("/licenses/LICENSE", "/share/man/man1/pellucid.1", "/scripts/pellucid", "/py.typed"):
        if not any(name.endswith(wanted) for name in names):
            return f"the wheel has no {wanted}"
    return ""


def problem_of_library(wheel: pathlib.Path, version: str) -> str:
    """A program in C, built with what the wheel of developers has."""
    folder = FOLDER / "devel"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    package = folder / "pellucid"
    program = FOLDER / "use.c"
    program.write_text(
        "#include <pellucid.h>\n#include <stdio.h>\nint main(void) { return puts(pellucid_version()) < 0; }\n")
    library = str(package / "lib" / "libpellucid.a")
    run("gcc", f"-I{package / 'include'}", str(program), library, "-lm", "-o", str(FOLDER / "use"))
    return "" if run(str(FOLDER / "use")) in version else "the library has another version than the program"


def main() -> int:
    shutil.rmtree(FOLDER, ignore_errors=True)
    wheel = make_wheel(FOLDER / "wheel")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(FOLDER / "venv")], check=True)
    python = FOLDER / "venv" / "bin" / "python"
    subprocess.run([*PIP, "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)], check=True)

    extension = run(str(python), "-c", PROGRAM)
    version = run(str(FOLDER / "venv" / "bin" / "pellucid"), "version")
    exported = [line.split()[-1] for line in run("nm", "-D", "--defined-only", extension).splitlines()]
    problem = problem_of(wheel)
    if exported != ["PyInit__pellucid"]:
        problem = f"the extension exports {exported}, not only PyInit__pellucid"
    devel = make_wheel(FOLDER / "devel-wheel", "-Csetup-args=-Ddevel=enabled")
    problem = problem or problem_of_library(devel, version)
    print(problem or f"{wheel.name}, {wheel.stat().st_size // 1024} KB: {version}")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
