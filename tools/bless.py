"""Writes what comes out into the expectations of the golden cases whose names begin with NAME. Review the diff.

    python tools/bless.py decompile/ternary
"""

import pathlib
import subprocess
import sys

if len(sys.argv) < 2:
    sys.exit(__doc__)
runner = pathlib.Path(__file__).resolve().parent.parent / "tests" / "run_golden.py"
sys.exit(subprocess.run([sys.executable, str(runner), "--bless", *sys.argv[1:]], check=False).returncode)
