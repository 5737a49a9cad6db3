"""Many models: one row for each file, into a table. What was done is known after any interruption.

Rows go to a journal beside the table, a line each, as they come; the table is made from it at the end. A run that was
killed goes on from the journal: the line that it died in is done again, no other. A later run over a finished table
keeps the rows whose files have not changed.
"""

from __future__ import annotations

import concurrent.futures
import fnmatch
import hashlib
import itertools
import json
import os
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from ._program import Path, rows_of, run
from ._remote import RemoteError, files_below, files_of_query, is_hub_query, is_remote, shown
from ._result import Result
from ._survey_row import COLUMNS, Limits, open_source, row_of

WORKERS = 32  # threads: they wait for answers most of the time
BATCH = 64  # files that a process, or a worker of a cluster, gets at once
Item = tuple[str, "str | None"]  # an address, and why it can not be looked at


class SurveyError(ValueError):
    """The survey can't be begun: bad options, a library that is not installed."""


class Survey(Result):
    """A table that was written: `path`, `rows`, `errors`, and how many files have each verdict."""

    def __init__(self, path: str, rows: int, reused: int, verdicts: dict[str, int]):
        self.path, self.rows, self.reused, self.verdicts = path, rows, reused, verdicts

    @property
    def errors(self) -> int:
        """Rows without a verdict: their files could not be read."""
        return self.verdicts.get("", 0)

    @property
    def exit_code(self) -> int:
        """What the program ends with: as an audit of all the files does; no file at all is not fine."""
        if self.verdicts.keys() & {"dangerous", "suspicious"}:
            return 4
        return 0 if self.verdicts.keys() == {"harmless"} else 2

    def to_dict(self) -> dict[str, Any]:
        return {"path": self.path, "rows": self.rows, "reused": self.reused, "errors": self.errors,
                "verdicts": {name: n for name, n in self.verdicts.items() if name}}

    def _summary(self) -> str:
        found = ", ".join(f"{n:,} {name or 'without an answer'}" for name, n in sorted(self.verdicts.items()))
        known = f" ({self.reused:,} known before)" if self.reused else ""
        files = "file" if self.rows == 1 else "files"
        return f"{self.path}: {self.rows:,} {files}{known}" + (f": {found}" if found else "")

    def __str__(self) -> str:
        return self._summary()


def survey(*sources: Path, output: Path, tensors: Path | None = None, match: Sequence[str] = (),
           fits: str | None = None, engine: str = "local", workers: int = WORKERS, processes: int = 1,
           insecure: bool = False, seconds: float = 120.0, max_bytes: int = 256 << 20,
           progress: Callable[[int], None] | None = None) -> Survey:
    """One row for each model file: what it is, whether it is safe, how large, and what looking cost.

    Args:
        sources: files, folders, addresses (hf://org/model, https://, s3://), queries of the hub (hf://org,
            hf://?search=bert&limit=100); "@list.txt" names a file of them, a line each
        output: .parquet (needs pyarrow), .jsonl
        tensors: a second table, of names, dtypes and shapes
        match: only files whose names fit one of these patterns, as "*.safetensors"
        fits: source code, as for `scan`: the column says whether the tensors are those of its network
        engine: "local", or "ray" or "dask" for the cluster that they are connected to
        workers: requests at the same time, in each process
        processes: of the local engine, or batches that a cluster has at the same time
        insecure: http:// is allowed, too
        seconds: that the requests for one file may take
        max_bytes: that are read of one file
    """
    table = _Table(os.fspath(output), os.fspath(tensors) if tensors is not None else None)
    if engine not in ENGINES:
        raise SurveyError(f"engine must be one of {', '.join(ENGINES)}, not {engine}")
    limits = Limits(insecure, seconds, max_bytes, tensors=tensors is not None)
    wanted = _network_of(fits) if fits else None
    with table:
        todo = table.without_known(_files([os.fspath(source) for source in sources], match), limits)
        for n, row in enumerate(ENGINES[engine](todo, limits, wanted, workers, processes), 1):
            table.add(row)
            if progress:
                progress(n)
    return table.finish()


def _network_of(code: str) -> dict[str, Any]:
    networks = [network for row in rows_of(run("scan", "--json", "--", code)[1]) for network in row["networks"]]
    if len(networks) != 1:
        raise SurveyError(f"--fits {code}: {len(networks)} networks; one is needed")
    return dict(networks[0]["state"])


# ---- which files ----

def _files(sources: Iterable[str], match: Sequence[str]) -> Iterator[Item]:
    """Each file once, in order; with the reason why a source can't be listed, if that is so."""
    seen: set[bytes] = set()  # hashes: a million addresses would take much memory
    for source in sources:
        for uri, why in _below(source):
            if match and why is None and not any(fnmatch.fnmatch(os.path.basename(uri), one) for one in match):
                continue
            key = hashlib.blake2b(uri.encode("utf-8", "surrogateescape"), digest_size=16).digest()
            if key not in seen:
                seen.add(key)
                yield uri, why


def _below(source: str) -> Iterator[Item]:
    if source.startswith("@"):
        with open(source[1:], encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    yield from _below(line.strip())
    elif is_remote(source):
        try:
            if is_hub_query(source):
                yield from ((uri, None) for uri in files_of_query(source))
                return
            found = files_below(source)
            yield from [(source, None)] if found is None else [(uri, None) for uri, _ in found]
        except RemoteError as error:  # of a query, after what it gave before
            yield source, str(error)
    elif os.path.isdir(source):
        for folder, folders, names in os.walk(source):
            folders.sort()
            yield from ((os.path.join(folder, name), None) for name in sorted(names))
    else:
        yield source, None  # a file that is not there is a row with an error


# ---- engines ----

def _answer(item: Item, limits: Limits, wanted: Mapping[str, Any] | None) -> dict[str, Any]:
    uri, why = item
    if why is None:
        return row_of(uri, limits, wanted)
    return {**dict.fromkeys(COLUMNS), "uri": shown(uri), "error": why}


def _threads(items: Iterable[Item], limits: Limits, wanted: Mapping[str, Any] | None,
             workers: int) -> Iterator[dict[str, Any]]:
    """As they are done. At most twice as many are on their way as there are workers."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        yield from _as_done(lambda item: pool.submit(_answer, item, limits, wanted), items, 2 * workers)


def _as_done(submit: Callable[[Any], concurrent.futures.Future[Any]],
             items: Iterable[Any], ahead: int) -> Iterator[Any]:
    """Results as they come; as many items as `ahead` says are on their way."""
    rest = iter(items)
    waiting = {submit(item) for item in itertools.islice(rest, ahead)}
    while waiting:
        done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
        waiting |= {submit(item) for item in itertools.islice(rest, len(done))}
        for future in done:
            yield future.result()


def _batch(items: list[Item], limits: Limits, wanted: Mapping[str, Any] | None,
           workers: int) -> list[dict[str, Any]]:
    return list(_threads(items, limits, wanted, workers))


def _batched(submit: Callable[[list[Item]], concurrent.futures.Future[list[dict[str, Any]]]], todo: Iterable[Item],
             processes: int) -> Iterator[dict[str, Any]]:
    """The rows of all batches, two of which are on their way for each process."""
    for rows in _as_done(submit, _batches(todo), 2 * processes):
        yield from rows


def _local(todo: Iterable[Item], limits: Limits, wanted: Mapping[str, Any] | None, workers: int,
           processes: int) -> Iterator[dict[str, Any]]:
    if processes <= 1:
        yield from _threads(todo, limits, wanted, workers)
        return
    import multiprocessing
    with concurrent.futures.ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield from _batched(lambda batch: pool.submit(_batch, batch, limits, wanted, workers), todo, processes)


def _batches(todo: Iterable[Item]) -> Iterator[list[Item]]:
    items = iter(todo)
    while batch := list(itertools.islice(items, BATCH)):
        yield batch


def _ray(todo: Iterable[Item], limits: Limits, wanted: Mapping[str, Any] | None, workers: int,
         processes: int) -> Iterator[dict[str, Any]]:
    """Tasks on the cluster, a batch each; a worker that dies is replaced, and its batch done again."""
    try:
        import ray
    except ModuleNotFoundError:
        raise SurveyError("--engine ray needs Ray. Type: pip install ray") from None
    if not ray.is_initialized():
        ray.init(address=os.environ.get("RAY_ADDRESS"), log_to_driver=False, configure_logging=False)
    task = ray.remote(max_retries=5, retry_exceptions=False)(_batch)
    yield from _batched(lambda batch: task.remote(batch, limits, wanted, workers).future(), todo, processes)


def _dask(todo: Iterable[Item], limits: Limits, wanted: Mapping[str, Any] | None, workers: int,
          processes: int) -> Iterator[dict[str, Any]]:
    """As on Ray; the scheduler gives the batch of a worker that died to another one."""
    try:
        import distributed
    except ModuleNotFoundError:
        raise SurveyError("--engine dask needs Dask. Type: pip install distributed") from None
    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    here = {} if address else {"n_workers": processes, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(address, set_as_default=False, **here) as client:
        pool = client.get_executor(pure=False)
        yield from _batched(lambda batch: pool.submit(_batch, batch, limits, wanted, workers), todo, processes)


ENGINES = {"local": _local, "ray": _ray, "dask": _dask}


# ---- the table ----

class _Table:
    """The journal, and the tables that are made from it."""

    def __init__(self, path: str, tensors: str | None):
        for name in filter(None, (path, tensors)):
            if os.path.splitext(name)[1] not in (".parquet", ".jsonl"):
                raise SurveyError(f"{name}: a table ends with .parquet or .jsonl")
            if name.endswith(".parquet"):
                _pyarrow()
            if not os.path.isdir(os.path.dirname(name) or "."):
                raise SurveyError(f"{name}: there is no folder {os.path.dirname(name)}")
        self.path, self.tensors, self.journal = path, tensors, path + ".journal"
        self.known: dict[str, str | None] = {}  # of the journal and of the last table: address, version
        self.in_journal: set[str] = set()
        self.kept: set[str] = set()

    def __enter__(self) -> _Table:
        for row in _read(self.path):
            self.known[row["uri"]] = row["etag"] if row["verdict"] else None
        self._mend_journal()
        for row in _read(self.journal):
            self.in_journal.add(row["uri"])
        self._file = open(self.journal, "ab")
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    def _mend_journal(self) -> None:
        """Cuts off the line that a killed run did not end."""
        try:
            with open(self.journal, "rb+") as file:
                size = file.seek(0, os.SEEK_END)
                while size:
                    start = max(0, size - (1 << 16))
                    file.seek(start)
                    at = file.read(size - start).rfind(b"\n")
                    if at >= 0:
                        size = start + at + 1
                        break
                    size = start
                file.truncate(size)
        except FileNotFoundError:
            pass

    def without_known(self, items: Iterable[Item], limits: Limits) -> Iterator[Item]:
        """What is still to be done: not what the journal has, nor what the last table has of the same version."""
        for uri, why in items:
            name = shown(uri) if is_remote(uri) else uri
            if name in self.in_journal:
                continue
            etag = self.known.get(name)
            if etag and why is None and not limits.tensors:
                try:
                    if open_source(uri, limits).etag == etag:
                        self.kept.add(name)
                        continue
                except OSError:
                    pass  # its row will say why
            yield uri, why

    def add(self, row: dict[str, Any]) -> None:
        """One write for a line: what dies in between leaves whole lines, and at most one that is not."""
        self._file.write(json.dumps(row, separators=(",", ":")).encode() + b"\n")
        self._file.flush()

    def _rows(self) -> Iterator[dict[str, Any]]:
        if self.kept:
            yield from (row for row in _read(self.path) if row["uri"] in self.kept)
        yield from _read(self.journal)

    def finish(self) -> Survey:
        """Writes the tables, each by one rename, then forgets the journal."""
        verdicts: dict[str, int] = {}
        rows = 0

        def counted() -> Iterator[dict[str, Any]]:
            nonlocal rows
            for row in self._rows():
                rows += 1
                verdicts[row["verdict"] or ""] = verdicts.get(row["verdict"] or "", 0) + 1
                yield {name: row[name] for name in COLUMNS}

        if self.tensors:
            _write(self.tensors, ({"uri": row["uri"], "name": name, "dtype": dtype, "shape": json.dumps(shape)}
                                  for row in _read(self.journal) for name, dtype, shape in row.get("listed", ())),
                   {"uri": str, "name": str, "dtype": str, "shape": str})
        _write(self.path, counted(), COLUMNS)
        os.remove(self.journal)
        return Survey(self.path, rows, len(self.kept), verdicts)


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise SurveyError("a .parquet table needs pyarrow. Type: pip install pyarrow; or write .jsonl"
                          ) from None
    return pyarrow


def _read(path: str) -> Iterator[dict[str, Any]]:
    if not os.path.exists(path):
        return
    if path.endswith(".parquet"):
        _pyarrow()
        import pyarrow.parquet
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            for row in batch.to_pylist():
                row["dtypes"] = dict(row["dtypes"]) if row.get("dtypes") is not None else None
                yield row
        return
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _write(path: str, rows: Iterator[dict[str, Any]], columns: Mapping[str, type]) -> None:
    made = path + ".part"
    if path.endswith(".parquet"):
        arrow = _pyarrow()
        kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), list: arrow.list_(arrow.string()),
                 dict: arrow.map_(arrow.string(), arrow.int64())}
        schema = arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
        with arrow.parquet.ParquetWriter(made, schema, compression="zstd") as writer:
            while batch := list(itertools.islice(rows, 10_000)):
                for row in batch:
                    if row.get("dtypes") is not None:
                        row["dtypes"] = list(row["dtypes"].items())
                writer.write_table(arrow.Table.from_pylist(batch, schema))
    else:
        with open(made, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    os.replace(made, path)
