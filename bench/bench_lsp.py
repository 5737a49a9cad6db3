"""The language server: from an edit to its diagnostics, processor time of all its processes and time of the clock.

    python bench/bench_lsp.py FILE.py... [--python venv/bin/python] [--edits 20]
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "python"))
from lsp_client import Client  # noqa: E402

START = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}


def children(process: int) -> list[int]:
    return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def milliseconds(process: int) -> int:
    """Of a process and of its children that have ended; a tick is 10 ms."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1].split()
    return 10 * sum(int(field) for field in fields[11:15])


def measure(path: pathlib.Path, python: str, edits: int) -> tuple[float, float]:
    client = Client("--python", python)
    client.start(path.parent)
    uri = client.open(path, path.read_text())
    client.diagnostics(uri)
    process = client.process.pid
    processes = [process, *children(process)]
    before, walls = sum(map(milliseconds, processes)), []
    for version in range(2, edits + 2):
        time.sleep(0.25)  # no typing: then the server would wait for its end
        began = time.monotonic()
        client.change(uri, version, {"range": START, "text": "# edited\n"})
        client.diagnostics(uri, version)
        walls.append(1000 * (time.monotonic() - began))
    spent = sum(map(milliseconds, processes)) - before
    client.stop()
    return spent / edits, sorted(walls)[edits // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--edits", type=int, default=20)
    given = parser.parse_args()
    for path in given.files:
        processor, clock = measure(path.resolve(), given.python, given.edits)
        print(f"{path.name}: {processor:.0f} ms of processor, {clock:.0f} ms of clock for an edit")


if __name__ == "__main__":
    main()
