"""Scripts as people have them: one command each, `pellucid skeleton -o FILE -- python SCRIPT`.

    python bench/bench_scripts.py [NAME...]     needs torch; timm and transformers for some

bench/scripts has small programs in the style of quickstarts: training loops, generation, two networks at once. A
script counts if its skeleton was equal to the model in every check (exit code 0). Scripts whose libraries are missing
are named, and don't count as fine.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# Libraries that import torchvision fail where its compiled operators don't fit the torch that is here.
SITE = "from pellucid import _torchvision\n_torchvision.stand_in()\n"


def run(script: pathlib.Path, folder: str) -> tuple[int, str, float]:
    program = os.environ.get("PELLUCID", "pellucid")
    paths = [folder, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "PELLUCID_PYTHON": sys.executable, "OMP_NUM_THREADS": "1",
                   "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    start = time.monotonic()
    try:
        command = [program, "skeleton", "-o", os.path.join(folder, script.name), "--", "python", str(script)]
        done = subprocess.run(command,
                              capture_output=True, text=True, timeout=300, env=environment, cwd=folder, check=False)
    except subprocess.TimeoutExpired:
        return 124, "stopped after 300 s", 300.0
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return done.returncode, lines[-1] if lines else "", time.monotonic() - start


def main() -> int:
    scripts = [path for path in sorted((HERE / "scripts").glob("*.py"))
               if len(sys.argv) == 1 or path.stem in sys.argv[1:]]
    equal = 0
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "sitecustomize.py").write_text(SITE)
        for script in scripts:
            code, said, seconds = run(script, folder)
            equal += code == 0
            print(f"{script.stem:16} exit {code}  {seconds:5.1f} s  {said[:100]}", flush=True)
    print(f"{equal} of {len(scripts)} scripts: skeleton of the model equal in every check")
    return 0 if equal == len(scripts) else 1


if __name__ == "__main__":
    sys.exit(main())
