"""Networks out of source code, nothing of it executed: `pellucid scan` as a function.

The analysis runs in a process of its own, which has the memory that it takes and gives it back.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Iterable, Iterator, Mapping

from ._names import renamed
from ._pellucid import Error
from ._program import Path, options_of, rows_of, run
from ._result import Result
from ._tree import SCHEMA, Tree


class Scan(Result):
    """What was found: `networks` as in docs/model-json.md, and each of them as a Tree by index or name."""

    def __init__(self, networks: list[dict[str, Any]], source: Callable[[str | None], str] | None = None):
        self.networks, self._source = networks, source

    def source(self, network: str | None = None) -> str:
        """A network as a program that needs only torch. Nothing was executed, so nothing is verified."""
        if self._source is None:
            raise Error("this scan has several targets; write the source of one")
        return self._source(network)

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
        return {"schema": SCHEMA, "networks": self.networks}

    def _summary(self) -> str:
        names = [network["name"] or network["class"] for network in self.networks]
        text = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        unknown, errors = len(self.unknown), len(self.errors)
        return f"{text or 'no networks'}; {unknown} unknown, {errors} errors"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))


def scan(*targets: Path, code: str | None = None, root: Iterable[Path] = (), python: Path | None = None,
         set: Mapping[str, Any] | None = None, forward: str | None = None, known: Path | None = None,
         roots: Iterable[Path] | None = None, values: Mapping[str, Any] | None = None) -> Scan:
    """The networks that source code builds, found without executing it.

    Args:
        targets: files or directories
        code: a snippet instead, whose last expression counts as a network
        root: where imports are looked for, read as text; by default the targets' folders and site-packages of
            `python`
        python: the interpreter whose site-packages count (this one)
        set: what symbols stand for: {"num_layers": 5}
        forward: shape of an input, "2x3x224x224": shapes and shape errors through forward
        known: a checkpoint or a trace, which says what the source leaves open (--with of the program); `facts`
            of a network say what it gave
        roots: the old name of root
        values: the old name of set
    """
    root = root if roots is None else renamed("scan", "roots", "root", roots)
    set = set if values is None else renamed("scan", "values", "set", values)
    options = _options(root, python, set, forward, known)
    operands = ["-e", code] if code is not None else ["--", *(os.fspath(target) for target in targets)]
    rows = rows_of(run("scan", *options, "--json", *operands)[1])

    def source(network: str | None) -> str:
        return run("scan", *options, *options_of(source=True, network=network), *operands)[1]

    networks = [network for row in rows for network in row["networks"]]
    return Scan(networks, source if code is not None or len(targets) == 1 else None)


def scan_source(target: Path | None = None, *, code: str | None = None, network: str | None = None,
                roots: Iterable[Path] = (), python: Path | None = None, values: Mapping[str, Any] | None = None,
                forward: str | None = None, known: Path | None = None) -> str:
    """The old name of scan(...).source(network)."""
    if (target is None) == (code is None):
        raise TypeError("give a file, or code=")
    options = [*_options(roots, python, values, forward, known), *options_of(source=True, network=network)]
    return run("scan", *options, *(["-e", code] if code is not None else ["--", os.fspath(target or "")]))[1]


def _options(root: Iterable[Path], python: Path | None, set: Mapping[str, Any] | None, forward: str | None,
             known: Path | None) -> list[str]:
    return [*options_of(python=python or sys.executable, root=list(root), set=set, forward=forward),
            *(["--with", os.fspath(known)] if known is not None else [])]
