"""Scripts as people have them: one command each, `pellucid skeleton -o FILE -- python SCRIPT`.

    python bench/bench_scripts.py [NAME...]     needs torch; timm and transformers for some
    python bench/bench_scripts.py --sketch      `pellucid sketch -o DIR -- python SCRIPT` instead

bench/scripts has small programs in the style of quickstarts: training loops, generation, two networks at once. A
script counts if its skeleton was equal to the model in every check (exit code 0). Scripts whose libraries are missing
are named, and don't count as fine. A sketch counts if it prints what the script printed.
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


def run(script: pathlib.Path, folder: str, command: str) -> tuple[int, str, float]:
    program = os.environ.get("PELLUCID", "pellucid")
    paths = [folder, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "PELLUCID_PYTHON": sys.executable, "OMP_NUM_THREADS": "1",
                   "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    start = time.monotonic()
    try:
        name = script.name if command == "skeleton" else script.stem
        done = subprocess.run([program, command, "-o", os.path.join(folder, name), "--", "python", str(script)],
                              capture_output=True, text=True, timeout=300, env=environment, cwd=folder, check=False)
    except subprocess.TimeoutExpired:
        return 124, "stopped after 300 s", 300.0
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return done.returncode, lines[-1] if lines else "", time.monotonic() - start


def main() -> int:
    command = "sketch" if "--sketch" in sys.argv else "skeleton"
    names = [word for word in sys.argv[1:] if word != "--sketch"]
    scripts = [path for path in sorted((HERE / "scripts").glob("*.py"))
               if not names or path.stem in names]
    equal = 0
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "sitecustomize.py").write_text(SITE)
        for script in scripts:
            code, said, seconds = run(script, folder, command)
            equal += code == 0
            print(f"{script.stem:16} exit {code}  {seconds:5.1f} s  {said[-100:]}", flush=True)
    what = "skeleton of the model equal in every check" if command == "skeleton" else "the sketch prints the same"
    print(f"{equal} of {len(scripts)} scripts: {what}")
    return 0 if equal == len(scripts) else 1


if __name__ == "__main__":
    sys.exit(main())
