"""Builds the wheel, installs it into an environment of its own (build-install), and looks at what is there:
the program, the library with its header, the package with its stubs, an extension that exports one symbol, and no
import of torch."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build-install"
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


def main() -> int:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--quiet", "--no-build-isolation", "--no-deps", "-w", str(FOLDER), str(ROOT)],
                   check=True)
    wheel = next(FOLDER.glob("pellucid-*.whl"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(FOLDER / "venv")], check=True)
    python = FOLDER / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)], check=True)

    extension = run(str(python), "-c", PROGRAM)
    version = run(str(FOLDER / "venv" / "bin" / "pellucid"), "version")
    exported = [line.split()[-1] for line in run("nm", "-D", "--defined-only", extension).splitlines()]
    if exported != ["PyInit__pellucid"]:
        print(f"the extension exports {exported}, not only PyInit__pellucid")
        return 1
    package = pathlib.Path(extension).parent
    program = FOLDER / "use.c"
    program.write_text(
        "#include <pellucid.h>\n#include <stdio.h>\nint main(void) { return puts(pellucid_version()) < 0; }\n")
    library = str(package / "lib" / "libpellucid.a")
    run("gcc", f"-I{package / 'include'}", str(program), library, "-lm", "-o", str(FOLDER / "use"))
    if run(str(FOLDER / "use")) not in version:
        print("the installed library has another version than the program")
        return 1
    print(f"{wheel.name}, {wheel.stat().st_size // 1024} KB: {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
