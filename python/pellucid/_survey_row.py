"""One row of a survey: what a model file is, whether it is safe, how much of it was read. Needs no torch."""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import Any, Mapping, NamedTuple

from . import _pellucid
from ._remote import BLOCK, Missing, Options, Source, beside, is_remote, open_file, shown

KEPT = 256  # blocks of a file that are kept between its tree and its audit: 16 MiB
MAX_FINDINGS = 20  # that a row lists; it says how many more there are


class Limits(NamedTuple):
    insecure: bool = False
    seconds: float = 120.0  # for the requests of one file
    max_bytes: int = 256 << 20  # that are read of one file
    memory: int = 256 << 20  # that its tables may take
    tensors: bool = False  # rows list their tensors, too


class LocalFile:
    """A file of this machine, as a source."""

    def __init__(self, path: str):
        self.uri = path
        self._file = open(path, "rb")
        info = os.fstat(self._file.fileno())
        self.size, self.etag = info.st_size, f"{info.st_mtime_ns:x}-{info.st_size:x}"

    def read_at(self, offset: int, length: int) -> bytes:
        return os.pread(self._file.fileno(), length, offset)


class Kept:
    """A source whose blocks are kept, so that the second look reads only what the first did not. Counts requests."""

    def __init__(self, source: Source):
        self.source = source
        self.blocks: dict[int, bytes] = {}
        self.bytes = self.requests = 0

    def read_at(self, offset: int, length: int) -> bytes:
        wanted = range(offset // BLOCK, (offset + length + BLOCK - 1) // BLOCK)
        if offset % BLOCK == 0 and all(number in self.blocks for number in wanted):
            return b"".join(self.blocks[number] for number in wanted)[:length]
        data = self.source.read_at(offset, length)
        self.requests += 1
        self.bytes += len(data)
        if offset % BLOCK == 0 and len(self.blocks) + len(wanted) <= KEPT:
            for i, number in enumerate(wanted):
                self.blocks[number] = data[i * BLOCK:(i + 1) * BLOCK]
        return data


def open_source(uri: str, limits: Limits) -> Source:
    return open_file(uri, Options(limits.insecure, limits.seconds)) if is_remote(uri) else LocalFile(uri)


class _Looked:
    """The file, and what was opened beside it, in one count."""

    def __init__(self, source: Source, limits: Limits):
        self.limits = limits
        self.files: dict[str, Kept | None] = {source.uri: Kept(source)}
        self.first = source

    def beside(self, name: str) -> tuple[Any, int] | None:
        uri = beside(self.first.uri, name) if is_remote(self.first.uri) else os.path.join(
            os.path.dirname(self.first.uri), name)
        if uri not in self.files:
            try:
                self.files[uri] = Kept(open_source(uri, self.limits))
            except (Missing, FileNotFoundError, IsADirectoryError):
                self.files[uri] = None
        found = self.files[uri]
        return (found.read_at, found.source.size) if found else None

    def look(self, what: str) -> Any:
        kept = self.files[self.first.uri]
        assert kept is not None
        text, _, _ = _pellucid.look(kept.read_at, self.first.size, name=os.path.basename(shown(self.first.uri)),
                                    what=what, etag=self.first.etag, max_bytes=self.limits.max_bytes,
                                    memory=self.limits.memory, beside=self.beside, places=False)
        return json.loads(text)

    def count(self, name: str) -> int:
        return sum(getattr(file, name) for file in self.files.values() if file)


COLUMNS = {
    "uri": str, "etag": str, "size": int, "format": str, "verdict": str, "findings": list, "n_findings": int,
    "architecture": str, "tensor_names": str, "classes": list, "parameters": int, "tensors": int, "dtypes": dict,
    "bytes": int, "fits": str, "bytes_read": int, "requests": int, "seconds": float, "error": str,
}


def row_of(uri: str, limits: Limits, wanted: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The row of one file. Never raises for what is wrong with the file or its server: that is in `error`."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row["uri"] = shown(uri) if is_remote(uri) else uri
    started, looked = time.perf_counter(), None
    try:
        looked = _Looked(open_source(uri, limits), limits)
        row["etag"], row["size"] = looked.first.etag, looked.first.size
        # Both must read to their end: half an answer is none.
        audit, tree = looked.look("audit"), None
        try:
            tree = looked.look("tree")
        except _pellucid.Error as error:
            if error.code in ("READ", "TOO_BIG", "MEMORY"):
                raise
            row["error"] = f"no tree: {error.message}"
        _fill(row, audit, tree, limits.tensors, wanted)
    except (OSError, _pellucid.Error, ValueError) as error:
        # A read that failed: whatever was found before it does not count.
        row.update(format=None, verdict=None, findings=None, n_findings=None, error=_said(error))
    if looked:
        row["bytes_read"], row["requests"] = looked.count("bytes"), looked.count("requests")
    row["seconds"] = round(time.perf_counter() - started, 6)
    return row


def _said(error: Exception) -> str:
    code = getattr(error, "code", None)
    text = getattr(error, "message", None) or (error.strerror if isinstance(error, OSError) and error.strerror
                                               else str(error))
    return f"{code or type(error).__name__}: {text}"


def _fill(row: dict[str, Any], audit: dict[str, Any], tree: dict[str, Any] | None, lists_tensors: bool,
          wanted: Mapping[str, Any] | None) -> None:
    found = [f"{one['severity']} {one['kind']}: {one['text']}" for one in audit["findings"]]
    row.update(format=audit.get("format"), verdict=audit["verdict"], findings=found[:MAX_FINDINGS],
               n_findings=len(found) + int(audit.get("dropped") or 0))
    if tree is None:
        return
    networks = tree["networks"]
    state = {name: shape for network in networks for name, shape in network["state"].items()}
    kinds = {name: kind for network in networks for name, kind in network["dtypes"].items()}
    counts: dict[str, int] = {}
    for name in state:
        counts[kinds.get(name, "?")] = counts.get(kinds.get(name, "?"), 0) + 1
    row.update(architecture=architecture_of(networks), tensor_names=_hash(sorted(state.items())), dtypes=counts,
               classes=sorted({network["class"] for network in networks} - {""}), tensors=len(state),
               parameters=sum(network["totals"]["parameters"] for network in networks),
               bytes=sum(network["totals"]["bytes"] for network in networks))
    if wanted is not None:
        row["fits"] = fit(state, wanted)
    if lists_tensors:
        row["listed"] = [(name, kinds.get(name), shape) for name, shape in state.items()]


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":"), sort_keys=True).encode()).hexdigest()[:16]


def architecture_of(networks: list[dict[str, Any]]) -> str:
    """A hash of the tree without names, dtypes and repeats: shapes of tensors, level by level. Blocks that follow each
    other and are equal count once, so that a network of 12 blocks and one of 24 are one family."""
    return _hash([[_form(node) for node in network["tree"]] for network in networks])


def _form(node: Mapping[str, Any]) -> Any:
    own = sorted(map(json.dumps, [*node.get("parameters", {}).values(), *node.get("buffers", {}).values()]))
    children: list[Any] = []
    for child in node.get("children", ()):
        form = _form(child)
        if form != [[], []] and (not children or children[-1] != form):
            children.append(form)
    # A level that only holds another one is a prefix, such as "model."
    return children[0] if not own and len(children) == 1 else [own, children]


def fit(state: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """How the tensors fit a network: "yes", or what is wrong. A prefix of all names is no difference."""
    names = list(state)
    prefix = os.path.commonprefix(names).rpartition(".")[0] + "." if names else ""
    for cut in {0, len(prefix) if prefix != "." else 0}:
        have = {name[cut:]: shape for name, shape in state.items()}
        missing, extra = wanted.keys() - have.keys(), have.keys() - wanted.keys()
        other = [name for name in wanted.keys() & have.keys() if not _same(have[name], wanted[name])]
        if not missing and not extra and not other:
            return "yes"
        said = f"no: {len(missing)} missing, {len(extra)} unexpected, {len(other)} of other shape"
    return said


def _same(shape: Any, wanted: Any) -> bool:
    """A size that the source leaves open fits any number."""
    return (isinstance(shape, list) and isinstance(wanted, list) and len(shape) == len(wanted)
            and all(isinstance(b, str) or a == b for a, b in zip(shape, wanted)))
