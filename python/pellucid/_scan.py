"""Networks out of source code, nothing of it executed: `pellucid scan` as a function.

The analysis runs in a process of its own, which has the memory that it takes and gives it back.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any, Iterable, Iterator, Mapping

from ._pellucid import Error
from ._tree import Tree


class Scan:
    """What was found: `networks` as in docs/model-json.md, and each of them as a Tree by index or name."""

    def __init__(self, networks: list[dict[str, Any]]):
        self.networks = networks

    def __len__(self) -> int:
        return len(self.networks)

    def __iter__(self) -> Iterator[Tree]:
        return (Tree(network) for network in self.networks)

    def __getitem__(self, which: int | str) -> Tree:
        if isinstance(which, int):
            return Tree(self.networks[which])
        for network in self.networks:
            if which in (network["name"], network["class"]):
                return Tree(network)
        raise KeyError(which)

    @property
    def unknown(self) -> list[dict[str, Any]]:
        return [row for network in self.networks for row in network["unknown"]]

    @property
    def errors(self) -> list[dict[str, Any]]:
        return [row for network in self.networks for row in network["errors"]]

    def to_dict(self) -> dict[str, Any]:
        return {"networks": self.networks}

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))


def scan(*targets: str | os.PathLike[str], code: str | None = None, roots: Iterable[str | os.PathLike[str]] = (),
         python: str | os.PathLike[str] | None = None, values: Mapping[str, Any] | None = None,
         forward: str | None = None, known: str | os.PathLike[str] | None = None) -> Scan:
    """The networks that source code builds, told without executing it.

    targets  files or directories
    code     a snippet instead, whose last expression counts as a network
    roots    where imports are looked for, read as text; by default the targets' folders and site-packages of `python`
    python   the interpreter whose site-packages count (this one)
    values   what symbols stand for: {"num_layers": 5}
    forward  shape of an input, "2x3x224x224": shapes and shape errors through forward
    known    a checkpoint or a trace, which says what the source leaves open; `facts` of a network say what it told
    """
    command = _command(roots, python, values, forward, known)
    command += ["--json", "-e", code] if code is not None else ["--json", "--", *map(os.fspath, targets)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    networks: list[dict[str, Any]] = []
    for line in done.stdout.splitlines():
        found = json.loads(line)
        if "error" in found and "networks" not in found:
            raise Error(found["error"]["message"])
        networks += found["networks"]
    if not done.stdout and done.returncode:
        raise Error(done.stderr.strip() or f"pellucid scan ended with {done.returncode}")
    return Scan(networks)


def scan_source(target: str | os.PathLike[str] | None = None, *, code: str | None = None, network: str | None = None,
                roots: Iterable[str | os.PathLike[str]] = (), python: str | os.PathLike[str] | None = None,
                values: Mapping[str, Any] | None = None, forward: str | None = None,
                known: str | os.PathLike[str] | None = None) -> str:
    """The network that source code builds, as a program that needs only torch. Nothing is executed, or verified.

    network  which, where there are several; the other arguments are those of `scan`
    """
    command = [*_command(roots, python, values, forward, known), "--source"]
    if network is not None:
        command += ["--network", network]
    command += ["-e", code] if code is not None else ["--", os.fspath(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise Error(done.stderr.strip() or f"pellucid scan ended with {done.returncode}")
    return done.stdout


def _command(roots: Iterable[str | os.PathLike[str]], python: str | os.PathLike[str] | None,
             values: Mapping[str, Any] | None, forward: str | None, known: str | os.PathLike[str] | None) -> list[str]:
    command = [program(), "scan", "--python", os.fspath(python or sys.executable)]
    for root in roots:
        command += ["--root", os.fspath(root)]
    for name, value in (values or {}).items():
        command += ["--set", f"{name}={value!r}"]
    if forward:
        command += ["--forward", forward]
    if known is not None:
        command += ["--with", os.fspath(known)]
    return command


def program() -> str:
    """The program `pellucid`: $PELLUCID, the one beside this Python, or the one on the path."""
    beside = os.path.join(os.path.dirname(sys.executable), "pellucid")
    found = os.environ.get("PELLUCID") or (beside if os.path.exists(beside) else shutil.which("pellucid"))
    if not found:
        raise Error("the program pellucid is neither beside this Python nor on the path; $PELLUCID may name it")
    return found
