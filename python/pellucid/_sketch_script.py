"""`pellucid sketch -- python SCRIPT.py`: the script and the modules of its repository, cut to what ran, as files that
run again.

The script runs once with its lines watched, in a process of its own; then the cut files run, and what they print is
compared. Where they print something else, less is cut; where that does not help it is said.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any, Iterable

from ._cut import Run, cut_all
from ._result import Result
from ._specs import SpecError

RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_sketch_run.py")
LEVELS = ("parameters, imports, definitions and branches", "imports, definitions and branches", "branches")
AGAIN = 3  # runs of the script, before a difference is the fault of what was cut: chance may print the same twice


@dataclass(repr=False)
class RunningSketch(Result):
    """Files below a folder, and whether they do what the script did."""

    folder: str
    rows: list[dict[str, Any]]
    script: str  # of these files, the one to run
    same: bool | None = None  # None: the script prints something else each time
    detail: str = ""
    cuts: str = ""  # what was cut
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {"folder": self.folder, "script": self.script, "files": self.rows, "same_output": self.same,
                "detail": self.detail, "cut": self.cuts, "notes": self.notes}

    def _summary(self) -> str:
        kept, lines = sum(row["kept"] for row in self.rows), sum(row["lines"] for row in self.rows)
        verdict = {True: "prints the same", False: f"NOT the same: {self.detail}", None: f"unknown: {self.detail}"}
        count = len(self.rows)
        return (f"{count} file{'s' * (count != 1)}, {kept} of {lines} lines, without {self.cuts} that did not run; "
                f"python {os.path.join(self.folder, self.script)} {verdict[self.same]}")

    def __str__(self) -> str:
        rows = [f"{row['kept']:6} of {row['lines']:6} lines  {row['file']}" for row in self.rows]
        return "\n".join([*rows, self._summary()])


def sketch_script(script: str, arguments: list[str], folder: str, packages: Iterable[str] = (),
                  python: str = sys.executable) -> RunningSketch:
    """packages: names of installed packages that are cut, too; other installed packages stay what they are."""
    _refuse_originals(folder, {os.path.abspath(script): os.path.basename(script)})
    given = _Given()
    first, runs = _watched(script, arguments, list(packages), python, given)
    if os.path.abspath(script) not in runs:
        raise SpecError(f"{script}: no line of it was noted; it ended with exit code {first[0]}, before its first line "
                        "or by os._exit, os.exec* or a signal, which leave nothing behind")
    files = {path: _read(path) for path in sorted(runs)}
    for path in list(files):
        for package in _packages_of(path, files):
            files[package], runs[package] = _read(package), Run(set())
    places = {path: _place(path, script, packages) for path in files}
    _refuse_originals(folder, places)
    made = RunningSketch(folder, [], places[os.path.abspath(script)])
    cut_script = os.path.join(folder, made.script)
    for level, cuts in enumerate(LEVELS):
        if level == 1:
            runs = {path: Run(run.lines, {}, run.methods) for path, run in runs.items()}
        texts = cut_all(files, runs, unasked=level < 2)
        _write(folder, {places[path]: text for path, text in texts.items()})
        made.cuts = cuts
        made.rows = [{"file": places[path], "lines": _count(files[path]), "kept": _count(text)}
                     for path, text in texts.items()]
        second = _run([python, cut_script, *arguments], given)
        made.same, made.detail = second == first, _difference(first, second)
        if made.same:
            _look_for_originals(made, _watched(cut_script, arguments, list(packages), python, given, True)[1], files)
            return made
        if level == 0 and any(_run([python, script, *arguments], given) != first for _ in range(AGAIN)):
            made.same, made.detail = None, f"the script itself prints something else each time{given.why}"
            made.same = None if second[0] == first[0] else False
            if made.same is None:
                return made
        made.notes.append(f"less is cut: without {cuts} it printed something else: {made.detail}")
    return made


Outcome = tuple[int, bytes]


class _Given:
    """Standard input: each run of the script gets it from the same place on, where it can be read again."""

    def __init__(self) -> None:
        self.start, self.why = -1, ""
        try:
            self.start = os.lseek(0, 0, os.SEEK_CUR)
        except OSError:
            if not os.isatty(0):
                self.why = ("; its standard input can be read once: give a file (< FILE), and each run gets it from "
                            "the beginning")

    def rewind(self) -> None:
        if self.start >= 0:
            os.lseek(0, self.start, os.SEEK_SET)


def _refuse_originals(folder: str, places: dict[str, str]) -> None:
    """The files that are read are not written over: the user has no others."""
    for path, place in places.items():
        to = os.path.join(folder, place)
        if os.path.exists(to) and os.path.samefile(to, path):
            raise SpecError(f"-o {folder}: {to} is the script's own file, and would be written over; "
                            "name another folder")


def _look_for_originals(made: RunningSketch, runs: Iterable[str], files: Iterable[str]) -> None:
    """What prints the same is no sketch's doing if the script found the files that it was made from."""
    used = sorted(set(map(os.path.realpath, runs)) & set(map(os.path.realpath, files)))
    if used:
        made.same, made.detail = None, f"it prints the same, but ran {used[0]} itself, where the script looks for it"


def _run(command: list[str], given: _Given) -> Outcome:
    given.rewind()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    return done.returncode, done.stdout


def _watched(script: str, arguments: list[str], packages: list[str], python: str, given: _Given,
             is_silent: bool = False) -> tuple[Outcome, dict[str, Run]]:
    """Runs the script; what it prints is shown as it comes."""
    given.rewind()
    with tempfile.TemporaryDirectory(prefix="pellucid-") as temporary:
        return _noted(script, arguments, temporary, packages, python, is_silent)


def _noted(script: str, arguments: list[str], temporary: str, packages: list[str], python: str,
           is_silent: bool) -> tuple[Outcome, dict[str, Run]]:
    result, roots = os.path.join(temporary, "lines.json"), os.path.join(temporary, "roots.json")
    ask = ("import sys, sysconfig, json, importlib.util as u; print(json.dumps([list({sysconfig.get_path(k) for k in "
           "('stdlib', 'platstdlib', 'purelib', 'platlib')}), [u.find_spec(n) and u.find_spec(n).submodule_search_"
           "locations and list(u.find_spec(n).submodule_search_locations) for n in sys.argv[1:]]]))")
    said = subprocess.run([python, "-c", ask, *packages], stdout=subprocess.PIPE, check=True, text=True).stdout
    libraries, found = json.loads(said)
    for name, places in zip(packages, found):
        if not places:
            raise SpecError(f"--package {name}: this Python has no package of that name")
    own = [os.path.abspath(place) + os.sep for places in found for place in places]
    left = [os.path.abspath(p) + os.sep for p in (*libraries, os.path.dirname(RUNNER))]
    here = os.path.dirname(os.path.abspath(script)) + os.sep
    with open(roots, "w", encoding="utf-8") as file:
        json.dump({"left": [p for p in left if not here.startswith(p)], "own": own}, file)
    process = subprocess.Popen([python, RUNNER, result, roots, script, *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL if is_silent else None)
    assert process.stdout is not None
    said_bytes = b""
    while chunk := process.stdout.read1(1 << 16):  # type: ignore[attr-defined]
        said_bytes += chunk
        if not is_silent:
            sys.stdout.buffer.write(chunk)
            sys.stdout.flush()
    code = process.wait()
    runs: dict[str, Run] = {}
    for name in sorted(glob.glob(glob.escape(result) + "*")):
        with open(name, encoding="utf-8") as file:
            rows = json.load(file)
        for path, row in rows.items():
            idle = {int(line): set(names) for line, names in row["idle"].items()}
            known = runs.get(path)
            if known is None:
                runs[path] = Run(set(row["lines"]), idle, set(row["methods"]))
                continue
            known.lines.update(row["lines"])
            known.methods.update(row["methods"])
            for line, names in idle.items():
                known.idle[line] = known.idle[line] & names if line in known.idle else names
    return (code, said_bytes), runs


def _read(path: str) -> str:
    import tokenize
    with tokenize.open(path) as file:
        return file.read()


def _packages_of(path: str, known: Iterable[str]) -> list[str]:
    """The __init__.py of the packages that a file is in, where they did not run: an empty one has no lines."""
    found = []
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        init = os.path.join(folder, "__init__.py")
        if init not in known and init not in found:
            found.append(init)
        folder = os.path.dirname(folder)
    return found


def _place(path: str, script: str, packages: Iterable[str]) -> str:
    """Below the folder that Python imports it from: the first one above that is no package."""
    root = os.path.dirname(path)
    if path == os.path.abspath(script):
        return os.path.basename(path)
    here = os.path.dirname(os.path.abspath(script))
    if not os.path.isfile(os.path.join(root, "__init__.py")) and path.startswith(here + os.sep):
        return os.path.relpath(path, here)  # a folder without __init__.py is imported from the script's
    while os.path.isfile(os.path.join(root, "__init__.py")):
        root = os.path.dirname(root)
    return os.path.relpath(path, here if path.startswith(here + os.sep) and root.startswith(here) else root)


def _write(folder: str, texts: dict[str, str]) -> None:
    for place, text in texts.items():
        path = os.path.join(folder, place)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _count(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def _difference(first: Outcome, second: Outcome) -> str:
    if first[0] != second[0]:
        return f"exit code {second[0]} instead of {first[0]}"
    one, other = (said.decode(errors="replace").splitlines() for said in (first[1], second[1]))
    for number, (a, b) in enumerate(zip(one, other), 1):
        if a != b:
            return f"line {number} of what it prints: {b[:80]!r} instead of {a[:80]!r}"
    return f"{len(other)} lines printed instead of {len(one)}" if len(one) != len(other) else ""
