"""The subcommands of the program that need no live model, as functions of the same names.

The work is done by the program, in a process of its own: a hostile file can't reach this one.
"""

from __future__ import annotations

import json
import marshal as _marshal
import os
import shutil
import subprocess
import sys
import tempfile
import types
from typing import Any, Iterable, Mapping, Sequence, Union

from . import _pellucid
from ._pellucid import Error
from ._result import Result

Path = Union[str, "os.PathLike[str]"]
BAD_USAGE, BAD_INPUT, INCOMPLETE, FOUND = 1, 2, 3, 4


def program() -> str:
    """The program `pellucid`: $PELLUCID, the one of this environment or build, or the one on the path."""
    given = os.environ.get("PELLUCID")
    if given:
        return given
    package = os.path.dirname(os.path.abspath(__file__))
    for folder in (os.path.dirname(sys.executable), os.path.dirname(os.path.dirname(package))):
        path = os.path.join(folder, "pellucid")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which("pellucid")
    if not found:
        raise Error("the program pellucid is neither beside this Python nor on the path; $PELLUCID may name it")
    return found


def run(*arguments: str, input: bytes = b"") -> tuple[int, str]:
    """Exit code and output. Raises ValueError for bad usage, Error where nothing came out but a complaint."""
    environment = {**os.environ, "PELLUCID_PYTHON": os.environ.get("PELLUCID_PYTHON", sys.executable)}
    done = subprocess.run([program(), *arguments], input=input, capture_output=True, check=False, env=environment)
    out, said = done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "replace").strip()
    if done.returncode == BAD_USAGE:
        raise ValueError(said)
    if done.returncode < 0 or (done.returncode == BAD_INPUT and not out.strip()):
        raise error_of({"message": said or f"pellucid {arguments[0]} ended with {done.returncode}"})
    return done.returncode, out


def rows_of(out: str) -> list[dict[str, Any]]:
    """The lines of --json. Raises Error for a line that is an error and nothing else."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines() if line.strip()]
    for row in rows:
        if "error" in row and len(row) == 1:
            raise error_of(row["error"])
    return rows


def error_of(row: Mapping[str, Any]) -> Error:
    message = str(row["message"])
    place = f"{row['file']}:{row['line']}:{row['column']}: " if row.get("file") and row.get("line") else ""
    error = Error(place + message)
    error.message, error.code, error.file = message, row.get("code") or "FORMAT", row.get("file")
    error.line, error.column, error.offset = row.get("line"), row.get("column"), row.get("offset") or 0
    return error


def options_of(**given: Any) -> list[str]:
    """Options of the program: True is a switch, a list or a mapping gives the option for each of its items."""
    made: list[str] = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            made.append(option)
        elif isinstance(value, Mapping):
            made += [text for k, v in value.items() for text in (option, f"{k}={v!r}")]
        elif isinstance(value, (list, tuple)):
            made += [text for item in value for text in (option, os.fspath(item))]
        else:
            made += [option, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    return made


# ---- audit ----

class Audit(Result):
    """What opening the files would run. `verdict` is the worst of them, `exit_code` what the program ends with."""

    def __init__(self, rows: list[dict[str, Any]], exit_code: int, text: str, arguments: Sequence[str] = ()):
        self.files = [row for row in rows if "summary" not in row]
        self.exit_code, self._text, self._arguments = exit_code, text, list(arguments)

    def sarif(self) -> dict[str, Any]:
        """SARIF 2.1.0. The files are read again."""
        return dict(json.loads(run("audit", "--sarif", *self._arguments)[1]))

    def cyclonedx(self) -> dict[str, Any]:
        """A bill of materials, CycloneDX 1.6. The files are read again."""
        return dict(json.loads(run("audit", "--cyclonedx", *self._arguments)[1]))

    def write_baseline(self, path: Path) -> None:
        """Writes all findings, to be allowed from now on. The files are read again."""
        run("audit", "--write-baseline", os.fspath(path), *self._arguments)

    @staticmethod
    def explain(rule: str) -> str:
        """What a kind of finding means ("all": all of them in short)."""
        return run("audit", "--explain", rule)[1]

    @property
    def verdict(self) -> str:
        """Of the file that decides the exit code; "unknown" where there is none."""
        order = ("harmless", "unknown", "broken", "suspicious", "dangerous")  # a word that is not here is worse
        found = [str(row.get("verdict", "unknown")) for row in self.files]
        return max(found, key=lambda word: order.index(word) if word in order else len(order), default="unknown")

    @property
    def findings(self) -> list[dict[str, Any]]:
        return [{"file": row.get("file"), **finding} for row in self.files for finding in row.get("findings", ())]

    def to_dict(self) -> dict[str, Any]:
        return {"verdict": self.verdict, "exit_code": self.exit_code, "files": self.files}

    def _summary(self) -> str:
        n = len(self.files)
        return f"{self.verdict}: {n} file{'' if n == 1 else 's'}, {len(self.findings)} findings"

    def __str__(self) -> str:
        return self._text


def audit(*files: Path, allow: str | None = None, baseline: Path | None = None, root: Iterable[Path] = (),
          python: Path | None = None, memory: int | None = None, insecure: bool = False) -> Audit:
    """What would run if these model files, or all below these folders, were opened. Nothing of them is executed.

    Args:
        allow: "unknown": files that no reader knows don't count for the exit code
        baseline: a file of findings that don't count for the exit code (docs/audit.md)
        root: folders that modules are imported from: what unknown names do is read off their source
        python: the same of the packages that a Python has
        memory: MiB that the tables of a file may take
        insecure: of addresses: http:// is allowed, too
    """
    arguments = [*options_of(allow=allow, baseline=baseline, root=root, python=python, memory=memory,
                             insecure=insecure), "--",
                 *(os.fspath(file) for file in files)]
    code, out = run("audit", "--json", *arguments)
    rows = [json.loads(line) for line in out.splitlines() if line.strip()]
    return Audit(rows, code, run("audit", *arguments)[1].rstrip("\n"), arguments)


# ---- compare ----

class Comparison(Result):
    """Whether two models have the same tensors. True where all that were compared agree; see `not_compared`."""

    def __init__(self, row: dict[str, Any], text: str):
        self._row, self._text = row, text

    @property
    def same(self) -> bool:
        return not self.differences

    @property
    def equal(self) -> int:
        """How many tensors agree in name, shape and dtype."""
        return int(self._row["equal"])

    @property
    def differences(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._row["differences"]
        return found

    @property
    def not_compared(self) -> int:
        """Tensors without the prefix that was stripped from the names of their side, such as those of an optimiser."""
        return int(self._row["not_compared"])

    @property
    def open(self) -> int:
        """What agrees only if something that a source leaves open does: sizes, layers, branches."""
        return int(self._row["open"])

    @property
    def load_state_dict(self) -> dict[str, Any] | None:
        """What `load_state_dict(strict=True)` would say, renames, and the line that loads; None between two files."""
        return self._row.get("load_state_dict")

    def __bool__(self) -> bool:
        return self.same

    def to_dict(self) -> dict[str, Any]:
        return self._row

    def _summary(self) -> str:
        apart = f", {self.not_compared} were not compared" if self.not_compared else ""
        return f"{self.equal} tensors agree, {len(self.differences)} do not{apart}"

    def __str__(self) -> str:
        return self._text


def paths_of_two(folder: str, a: Any, b: Any) -> list[str]:
    """Of two models for the program; what is no path is written into the folder."""
    return [_as_path(x, os.path.join(folder, f"{name}.json")) for name, x in (("a", a), ("b", b))]


def compare(a: Any, b: Any, *, ignore_dtype: bool = False, root: Iterable[Path] = (), python: Path | None = None,
            set: Mapping[str, Any] | None = None, memory: int | None = None, insecure: bool = False) -> Comparison:
    """Whether this checkpoint fits this model: tensors that are missing, extra, or of other shape or dtype.

    Args:
        a: path of a checkpoint, source file or trace; a live module; what `tree` or `scan` returned
        b: the other one
        ignore_dtype: float16 weights fit a float32 model
        root: of source files, as for `scan`
        python: of source files, as for `scan`
        set: of source files, as for `scan`
        memory: MiB that the tables of a file may take
        insecure: of addresses: http:// is allowed, too
    """
    with tempfile.TemporaryDirectory(prefix="pellucid-") as folder:
        paths = paths_of_two(folder, a, b)
        arguments = [*options_of(ignore_dtype=ignore_dtype, root=list(root), python=python, set=set, memory=memory,
                                 insecure=insecure), "--", *paths]
        rows = rows_of(run("compare", "--json", *arguments)[1])
        text = run("compare", *arguments)[1].rstrip("\n")
    if len(rows) != 1:
        raise Error("pellucid compare gave no comparison")
    return Comparison(rows[0], text)


def _as_path(x: Any, path: str) -> str:
    """The path itself, or a file with the tree of what is no path."""
    if isinstance(x, (str, os.PathLike)):
        return os.fspath(x)
    if not hasattr(x, "networks") and not hasattr(x, "with_source"):
        from ._tree import tree
        x = tree(x)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"networks": x.to_dict()["networks"]}, file)
    return path


# ---- convert and extract ----

class Written(Result):
    """A file that was written. It is a path: open(), np.load() and the like take it."""

    def __init__(self, path: Path, said: str):
        self.path, self._said = os.fspath(path), said

    def __fspath__(self) -> str:
        return self.path

    def to_dict(self) -> dict[str, Any]:
        return {"path": self.path, "bytes": os.path.getsize(self.path)}

    def _summary(self) -> str:
        return f"{self.path}, {os.path.getsize(self.path):,} bytes"

    def __str__(self) -> str:
        return self._said or self.path


def convert(file: Path, output: Path, *, prefix: str | None = None, constants: bool = False,
            for_source: bool = False, map: Path | None = None, memory: int | None = None,
            insecure: bool = False) -> Written:
    """Writes every tensor of a model file's state dict into a safetensors file, bit by bit, without executing anything.

    Args:
        prefix: only the tensors whose names begin so, without it
        constants: what no state dict has, too: buffers that are not persistent, constants of a program
        for_source: the tensors of the source that `recover` writes: its names, orders and shapes
        map: those of another layout, by a file that `Alignment.save` or `align --json` wrote
    """
    options = options_of(output=output, prefix=prefix, constants=constants, for_source=for_source, map=map,
                         memory=memory, insecure=insecure)
    return Written(output, run("convert", *options, "--", os.fspath(file))[1].strip())


def extract(file: Path, name: str, output: Path, *, memory: int | None = None, insecure: bool = False) -> Written:
    """Writes one tensor of a model file into a .npy file, without executing anything."""
    options = options_of(output=output, memory=memory, insecure=insecure)
    return Written(output, run("extract", *options, "--", os.fspath(file), name)[1].strip())


# ---- bytecode and source ----

class Disassembly(Result):
    """Instructions, as text or as a dict (docs/dis-json.md)."""

    def __init__(self, text: str, rows: list[dict[str, Any]]):
        self._text, self._rows = text, rows

    def to_dict(self) -> dict[str, Any]:
        return self._rows[0] if len(self._rows) == 1 else {"files": self._rows}

    def _summary(self) -> str:
        return f"{len(self._text.splitlines()):,} lines"

    def __str__(self) -> str:
        return self._text


def dis(target: Any, *, normalised: bool = False, marshal: str | None = None) -> Disassembly:
    """The instructions of a .pyc file by its path, or of a function, method or code object of this Python.

    Args:
        normalised: as the decompiler reads them, one set for all Pythons
        marshal: "3.11": the file is no .pyc and holds marshalled code of that Python
    """
    data, operand = b"", "-"
    if isinstance(target, (str, os.PathLike)):
        operand = os.fspath(target)
    else:
        from ._decompile import _code_of
        code: types.CodeType = _code_of(target)
        data, marshal = _marshal.dumps(code), "%d.%d" % sys.version_info[:2]
    arguments = [*options_of(normalised=normalised, marshal=marshal), "--", operand]
    rows = rows_of(run("dis", "--json", *arguments, input=data)[1])
    return Disassembly(run("dis", *arguments, input=data)[1].rstrip("\n"), rows)


class Syntax(Result):
    """A syntax tree: CPython's nodes, fields and positions (docs/ast-json.md)."""

    def __init__(self, text: str, name: str):
        self._json, self._name = text, name

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._json)
        return found

    def to_json(self) -> str:
        return self._json

    def _summary(self) -> str:
        return f"{self._name}, {len(self.to_dict().get('body', ())):,} statements"

    def __str__(self) -> str:
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)


def _source(path: Path | None, code: str | bytes | None) -> tuple[str | bytes, str | None]:
    if (path is None) == (code is None):
        raise TypeError("give a path, or code=")
    if path is None:
        assert code is not None
        return code, None
    with open(path, "rb") as file:
        return file.read(), os.fspath(path)


def ast(path: Path | None = None, *, code: str | bytes | None = None,
        python_version: str | tuple[int, int] | None = None) -> Syntax:
    """The syntax tree of a source file, or of `code`. `python_version`: the Python whose grammar is meant."""
    source, name = _source(path, code)
    return Syntax(_pellucid.parse_json(source, python_version=python_version, filename=name), name or "code")


def format(path: Path | None = None, *, code: str | bytes | None = None, width: int = 100,
           python_version: str | tuple[int, int] | None = None) -> str:
    """A source file, or `code`, printed anew: the same program, in one layout."""
    source, name = _source(path, code)
    return _pellucid.format_source(source, python_version=python_version, width=width, filename=name)
