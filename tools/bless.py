"""Writes what comes out into the expectations of the golden cases whose names begin with NAME. Review the diff.

    python tools/bless.py decompile/ternary
"""

import pathlib
import subprocess
import sys

if len(sys.argv) < 2:
    sys.exit(__doc__)
tests = pathlib.Path(__file__).resolve().parent.parent / "tests"
# Skeletons are made in one process, by a runner of their own.
lanes = [name for name in sys.argv[1:] if name.startswith("lanes")]
others = [name for name in sys.argv[1:] if name not in lanes]
code = 0
for runner, names in ((tests / "python" / "test_golden_lanes.py", lanes), (tests / "run_golden.py", others)):
    if names:
        code |= subprocess.run([sys.executable, str(runner), "--bless", *names], check=False).returncode
sys.exit(code)
