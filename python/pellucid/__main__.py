"""`python -m pellucid` is the program `pellucid`, with this Python for what needs a live one."""

from __future__ import annotations

import os
import sys

from ._program import program

MARK = "PELLUCID_STARTED_BY_PYTHON"  # a program of another version would start us again, and we it, without end


def main() -> int:
    from ._pellucid import Error
    if os.environ.get(MARK) == str(os.getpid()):
        print("pellucid: the program and the package are not of one version; install both anew", file=sys.stderr)
        return 2
    try:
        path = program()
    except Error as error:
        print(f"pellucid: {error}", file=sys.stderr)
        return 2
    os.environ[MARK] = str(os.getpid())  # exec keeps the process: only our own next start has this number
    os.environ.setdefault("PELLUCID_PYTHON", sys.executable)
    sys.stdout.flush()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
