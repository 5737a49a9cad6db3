"""Runs a script and notes which lines of which files ran. Run by its path, in a process of its own, without pellucid.

    python _sketch_run.py RESULT.json ROOTS.json SCRIPT ARGUMENTS...

ROOTS.json: {"left": [folders whose files are not watched], "own": [folders in these that are]}. The result has for each
file its lines, the lines of its methods that override nothing, and for each function, by its line, the parameters that
were None or False in every call. Workers that multiprocessing forks write RESULT.json.<process> beside it.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing.util
import os
import runpy
import sys
import threading
import warnings
from typing import Any


class Lines:
    def __init__(self, result: str, left: list[str], own: list[str]) -> None:
        self.result, self.left, self.own = result, tuple(left), tuple(own)
        self.seen: dict[str, set[int]] = {}
        self.idle: dict[str, dict[str, set[str]]] = {}  # file -> line of a function -> names of parameters
        self.known: dict[str, bool] = {}
        self.start = os.getcwd()

    def full(self, path: str) -> str:
        """As the script was started: it may be in another directory by now."""
        return os.path.normpath(os.path.join(self.start, path))

    def is_ours(self, path: str) -> bool:
        known = self.known.get(path)
        if known is None:
            full = self.full(path)
            inside = not full.startswith(self.left) or full.startswith(self.own)
            known = self.known[path] = inside and os.path.isfile(full)
        return known

    def call(self, frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not self.is_ours(code.co_filename):
            return None
        lines = self.seen.setdefault(self.full(code.co_filename), set())
        lines.add(frame.f_lineno)
        self.note_defaults(frame)

        def line(frame: Any, event: str, argument: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return line

        return line

    def note_defaults(self, frame: Any) -> None:
        code = frame.f_code
        if not code.co_flags & 1 or code.co_name.startswith("<"):
            return
        rows = self.idle.setdefault(self.full(code.co_filename), {})
        values = frame.f_locals
        plain = {name for name in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
                 if values.get(name, 0) is None or values.get(name, 0) is False}
        line = str(code.co_firstlineno)
        rows[line] = rows[line] & plain if line in rows else plain

    def methods(self) -> dict[str, set[int]]:
        """Lines of the methods that override nothing: who asks for one that is gone gets no other."""
        found: dict[str, set[int]] = {}
        warnings.simplefilter("ignore")  # of names that a library has for a while only
        classes = {value for module in list(sys.modules.values()) if isinstance(module, type(sys))
                   for value in list(vars(module).values()) if isinstance(value, type)}
        for kind in classes:
            for name, value in list(vars(kind).items()):
                code = getattr(getattr(value, "__func__", value), "__code__", None)
                if code is not None and not any(name in vars(base) for base in kind.__mro__[1:]):
                    found.setdefault(self.full(code.co_filename), set()).add(code.co_firstlineno)
        return found

    def write(self, result: str = "") -> None:
        sys.settrace(None)
        methods = self.methods()
        rows = {path: {"lines": sorted(lines), "methods": sorted(methods.get(path, ())),
                       "idle": {line: sorted(names) for line, names in self.idle.get(path, {}).items()}}
                for path, lines in self.seen.items()}
        with open(result or self.result, "w", encoding="utf-8") as file:
            json.dump(rows, file)

    def in_child(self) -> None:
        """A worker that multiprocessing forked: what it ran counts, too."""
        self.seen, self.idle = {}, {}
        multiprocessing.util.Finalize(None, self.write, args=(f"{self.result}.{os.getpid()}",), exitpriority=0)


def main() -> None:
    result, roots, script = sys.argv[1:4]
    with open(roots, encoding="utf-8") as file:
        lines = Lines(result, **json.load(file))
    atexit.register(lines.write)
    multiprocessing.util.register_after_fork(lines, Lines.in_child)
    sys.argv = sys.argv[3:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    threading.settrace(lines.call)
    sys.settrace(lines.call)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
