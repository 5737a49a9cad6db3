"""Builds the extension with AddressSanitizer and runs tests/python/smoke_extension.py in it.

The interpreter itself is not instrumented, so the sanitizer's library is preloaded, and leaks are not reported:
CPython keeps memory until the end on purpose.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-asan-ext"


def main() -> int:
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True,
                           check=True).stdout.strip()
    library = pathlib.Path(found)
    if not library.is_absolute() or not library.exists():
        print("SKIPPED: gcc has no libasan here")
        return 0
    shutil.rmtree(BUILD, ignore_errors=True)
    options = ["-Db_sanitize=address", "-Db_lundef=false", "-Dbuildtype=debugoptimized", "-Dtests=false",
               "-Dpython=enabled"]
    environment = {**os.environ, "CC": "gcc"}
    subprocess.run(["meson", "setup", str(BUILD), *options], cwd=ROOT, env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(BUILD), "--quiet"], check=True)
    subprocess.run([sys.executable, "tools/dev_tree.py", BUILD.name], cwd=ROOT, check=True)
    environment |= {
        "LD_PRELOAD": str(library),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "PYTHONPATH": str(BUILD / "python"),
        "PYTHONMALLOC": "malloc",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "tests/python/smoke_extension.py"]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
