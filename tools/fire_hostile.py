#!/usr/bin/env python3
"""Shows that the hostile pickles of tests/python/hostile_pickles.py do something when they are opened.

    python tools/fire_hostile.py [NAME ...]

Each is opened in a child of its own: an empty folder that is removed afterwards, the user nobody and no network where
this runs as root on Linux, 30 seconds of CPU, 6 GB of memory. What fired left "canary" there, removed "victim", or
ended the child by a signal ("crash"). Exit code 1 if one that should fire did not."""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "python"))
import hostile_pickles  # noqa: E402

NOBODY = 65534
READERS = {
    "pickle": "pickle.load(file)",
    "python": "pickle._loads(file.read())",
    "twice": "pickle.load(file); pickle.load(file)",
    "item": "pickle.load(file)['missing']",
    "torch": "import torch; torch.load(file, weights_only=False)",
    "joblib": "import joblib; joblib.load(file)",
    "crash": "pickle.load(file)",
}


def fire(case: hostile_pickles.Case, python: str) -> tuple[bool, str]:
    """Whether it fired, and the last line that the child wrote."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fire"))
    try:
        (folder / "victim").mkdir()
        (folder / "file").write_bytes(case.data)
        if os.getuid() == 0:
            for path in (folder, folder / "victim"):
                os.chown(path, NOBODY, NOBODY)
        code = f"import pickle\nwith open('file', 'rb') as file:\n    {READERS[case.reader]}\n"
        alone = ALONE if os.getuid() == 0 and shutil.which("setpriv") and shutil.which("unshare") else []
        env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(
            folder / "cache"), "TMPDIR": str(folder)}
        try:
            done = subprocess.run([*alone, python, "-c", LIMITED, code], cwd=folder, env=env, timeout=90, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            ended, out = done.returncode, done.stdout.decode(errors="replace").strip().splitlines()
        except subprocess.TimeoutExpired:
            ended, out = 0, ["timeout"]
        fired = (folder / "canary").exists() or not (folder / "victim").exists()
        if case.reader == "crash":
            fired = ended < 0
        return fired, out[-1] if out else ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# No network; a user who may read what root may (Python itself may be in root's folder) and write nothing.
ALONE = ["unshare", "-n", "--", "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
         "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search",
         "--bounding-set=-all,+dac_read_search", "--no-new-privs"]
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
exec(sys.argv[1])
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    fired = missed = skipped = 0
    for key, case in hostile_pickles.cases().items():
        if args.names and key not in args.names:
            continue
        if not case.fires or (case.needs and importlib.util.find_spec(case.needs) is None):
            skipped += 1
            continue
        did, said = fire(case, sys.executable)
        fired += did
        missed += not did
        if not did:
            print(f"{key}: did not fire: {said}", flush=True)
    print(f"{fired} fired, {missed} did not, {skipped} not tried")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
