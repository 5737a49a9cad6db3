"""Which tensor of one model is which of another, and the function that converts between them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._pellucid import Error
from ._program import Path, options_of, paths_of_two, rows_of, run
from ._result import Result


class Alignment(Result):
    """The correspondence of two models' tensors. True where each tensor of one is in the other."""

    def __init__(self, row: dict[str, Any], text: str, source: str, code: int):
        self._row, self._text, self._source, self.exit_code = row, text, source, code

    @property
    def rows(self) -> list[dict[str, Any]]:
        """For each tensor of `b` that has its source: what it is made of, what shows it, how its values compare."""
        found: list[dict[str, Any]] = self._row["rows"]
        return found

    @property
    def ambiguous(self) -> list[dict[str, Any]]:
        """Tensors that fit in more than one way, with their candidates."""
        found: list[dict[str, Any]] = self._row["ambiguous"]
        return found

    @property
    def only_a(self) -> list[str]:
        return [str(name) for name in self._row["only_a"]]

    @property
    def only_b(self) -> list[str]:
        return [str(name) for name in self._row["only_b"]]

    @property
    def proved(self) -> bool:
        """Whether every row was compared and is bit-equal; rows of equal constants do not count as shown."""
        return bool(self.rows) and self._row["equal"] == len(self.rows)

    def source(self) -> str:
        """The text of a module with `convert(state_dict)`."""
        return self._source

    def convert(self, state_dict: Mapping[str, Any]) -> dict[str, Any]:
        """The tensors of `b` made of those of a state dict that is laid out as `a` is."""
        space: dict[str, Any] = {}
        exec(compile(self._source, "<pellucid.align>", "exec"), space)
        convert: Callable[[Mapping[str, Any]], dict[str, Any]] = space["convert"]
        return convert(state_dict)

    def save(self, path: Path) -> None:
        """The map that `pellucid.convert(..., map=path)` takes."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._row, file)

    def __bool__(self) -> bool:
        return self.exit_code == 0

    def to_dict(self) -> dict[str, Any]:
        return self._row

    def _summary(self) -> str:
        left = len(self.only_a) + len(self.only_b)
        open_ = sum(len(row["to"]) for row in self.ambiguous)
        return (f"{len(self.rows)} tensors, {self._row['equal']} bit-equal"
                + (f", {open_} ambiguous" if open_ else "") + (f", {left} alone" if left else ""))

    def __str__(self) -> str:
        return self._text


def align(a: Any, b: Any, *, output: Path | None = None, values: bool = True, root: Iterable[Path] = (),
          python: Path | None = None, set: Mapping[str, Any] | None = None, memory: int | None = None,
          insecure: bool = False) -> Alignment:
    """Finds for each tensor of `b` the tensors of `a` that it is made of.

    Args:
        a: path of a checkpoint, source file or trace; a live module; what `tree` or `scan` returned
        b: the other one
        output: where a module with `convert(state_dict)` goes
        values: False: by names, shapes and order alone, though both have values
        root: of source files, as for `scan`
        python: of source files, as for `scan`
        set: of source files, as for `scan`
        memory: MiB that the tables of a file may take
        insecure: of addresses: http:// is allowed, too
    """
    with tempfile.TemporaryDirectory(prefix="pellucid-") as folder:
        paths = paths_of_two(folder, a, b)
        made = os.path.join(folder, "map.py") if output is None else os.fspath(output)
        options = options_of(no_values=not values, root=list(root), python=python, set=set, memory=memory,
                             insecure=insecure)
        code, out = run("align", "--json", "--output", made, *options, "--", *paths)
        rows = rows_of(out)
        if len(rows) != 1:
            raise Error("pellucid align gave no map")
        with open(made, encoding="utf-8") as file:
            source = file.read()
        text = run("align", *options, "--", *paths)[1].rstrip("\n")
    return Alignment(rows[0], text, source, code)
