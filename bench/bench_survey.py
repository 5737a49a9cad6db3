"""What looking at many models costs: bytes, requests and CPU seconds, from a server on loopback.

    python bench/bench_survey.py [--models 600] [--delay 0.05] [--out survey.json]
    python bench/bench_survey.py --hub 20000 [--engine ray] [--processes 2]     a hub of so many repositories

The models are sparse files of real shapes: safetensors in shards with an index, PyTorch archives and GGUF files of some
gigabytes. The server is another process, so its work does not count. Prints a line for each kind, then CPU seconds of
the worker per 1,000 models and its memory.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))
LAYERS, WIDTH, WORDS = 32, 4096, 32000  # of a network of 7 thousand million parameters
NAMES = [("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("o", WIDTH, WIDTH), ("gate", 11008, WIDTH),
         ("up", 11008, WIDTH), ("down", WIDTH, 11008), ("norm1", WIDTH, 0), ("norm2", WIDTH, 0)]


def tensors() -> list[tuple[str, list[int]]]:
    rows = [("model.embed_tokens.weight", [WORDS, WIDTH])]
    rows += [(f"model.layers.{i}.{name}.weight", [n, m] if m else [n]) for i in range(LAYERS) for name, n, m in NAMES]
    return [*rows, ("model.norm.weight", [WIDTH]), ("lm_head.weight", [WORDS, WIDTH])]


def size_of(shape: list[int]) -> int:
    return 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)


def sparse(path: pathlib.Path, head: bytes, size: int) -> None:
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)


def make_safetensors(folder: pathlib.Path, name: str) -> list[str]:
    """Two shards and their index: one model, by its index."""
    rows, where = tensors(), {}
    for part in range(2):
        at, head = 0, {}
        for key, shape in rows[part::2]:
            head[key] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size_of(shape)]}
            at += size_of(shape)
            where[key] = f"{name}-{part}.safetensors"
        text = json.dumps(head).encode()
        sparse(folder / f"{name}-{part}.safetensors", struct.pack("<Q", len(text)) + text, at)
    (folder / f"{name}.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return [f"{name}.safetensors.index.json"]


def make_gguf(folder: pathlib.Path, name: str) -> list[str]:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    rows, at = tensors(), 0
    words = struct.pack("<IQ", 8, 2000) + b"".join(text(f"word{i}") for i in range(2000))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(rows), 2) + text("general.architecture") + struct.pack(
        "<I", 8) + text("llama") + text("tokenizer.ggml.tokens") + struct.pack("<I", 9) + words
    for key, shape in rows:
        head += text(key) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), 1, at)
        at += (size_of(shape) + 31) // 32 * 32
    sparse(folder / f"{name}.gguf", head + bytes(-len(head) % 32), at)
    return [f"{name}.gguf"]


def make_archive(folder: pathlib.Path, name: str) -> list[str]:
    """As torch.save writes it, without torch: the pickle, a storage for each tensor, the directory at the end."""
    import io
    import pickle

    class Storage:
        pass

    class Rebuild:
        def __init__(self, number: int, shape: list[int]):
            self.number, self.shape = number, shape

        def __reduce__(self):  # type: ignore[no-untyped-def]
            stride = (self.shape[1], 1) if len(self.shape) > 1 else (1,)
            return NAMED["torch._utils", "_rebuild_tensor_v2"], (StorageOf(self.number, self.shape), 0,
                                                                 tuple(self.shape), stride, False, {})

    class StorageOf(Storage):
        def __init__(self, number: int, shape: list[int]):
            self.number, self.shape = number, shape

    class Named:
        def __init__(self, module: str, name: str):
            self.__module__, self.__qualname__, self.__name__ = module, name, name

        def __call__(self) -> None:
            raise AssertionError

    class Pickler(pickle._Pickler):  # type: ignore[name-defined,misc]
        def persistent_id(self, value: object):  # type: ignore[no-untyped-def]
            if isinstance(value, StorageOf):
                return "storage", NAMED["torch", "HalfStorage"], str(value.number), "cpu", size_of(value.shape) // 2
            return None

        def save_named(self, value: Named) -> None:
            self.write(pickle.GLOBAL + f"{value.__module__}\n{value.__name__}\n".encode())

        dispatch = {**pickle._Pickler.dispatch, Named: save_named}  # type: ignore[attr-defined]

    NAMED = {key: Named(*key) for key in (("torch._utils", "_rebuild_tensor_v2"), ("torch", "HalfStorage"))}
    text = io.BytesIO()
    Pickler(text, 2).dump({key: Rebuild(i, shape) for i, (key, shape) in enumerate(tensors())})
    path = folder / f"{name}.pt"
    with path.open("wb") as file, zipfile.ZipFile(SparseFile(file), "w") as archive:  # type: ignore[arg-type]
        archive.writestr("archive/data.pkl", text.getvalue())
        archive.writestr("archive/byteorder", "little")
        for i, (_, shape) in enumerate(tensors()):
            with archive.open(f"archive/data/{i}", "w", force_zip64=True) as member:
                zeros, left = bytes(1 << 20), size_of(shape)
                while left:
                    left -= member.write(zeros[:left])
        archive.writestr("archive/version", "3\n")
    return [path.name]


class SparseFile:
    """Zeros that are written become holes."""

    def __init__(self, file):  # type: ignore[no-untyped-def]
        self.file = file

    def write(self, data: bytes) -> int:
        if len(data) >= 4096 and not any(data[:64]) and data == bytes(len(data)):
            self.file.seek(len(data), 1)
            return len(data)
        return int(self.file.write(data))

    def __getattr__(self, name: str):  # type: ignore[no-untyped-def]
        return getattr(self.file, name)


KINDS = {"safetensors, two shards by their index": make_safetensors, "GGUF": make_gguf, "PyTorch archive": make_archive}


def serve(folder: str, delay: float) -> subprocess.Popen[str]:
    code = ("import sys, pathlib, time; sys.path.insert(0, sys.argv[1]); from range_server import Served\n"
            "with Served(pathlib.Path(sys.argv[2]), float(sys.argv[3])) as server:\n"
            "    print(server.url('ok', ''), flush=True); sys.stdin.read()")
    return child_of(code, folder, str(delay))


def serve_hub(folder: str, repositories: dict[str, list[str]], delay: float) -> subprocess.Popen[str]:
    """A hub whose repositories hold these files; its table of repositories is a file, for it is long."""
    table = pathlib.Path(folder, "repositories.json")
    table.write_text(json.dumps(repositories))
    code = ("import sys, json, pathlib; sys.path.insert(0, sys.argv[1]); from hub_server import Hub\n"
            "folder = pathlib.Path(sys.argv[2])\n"
            "table = json.loads((folder / 'repositories.json').read_text())\n"
            "with Hub(folder, {one: {name: folder / name for name in names} for one, names in table.items()},\n"
            "         float(sys.argv[3])) as hub:\n"
            "    print(hub.endpoint, flush=True); sys.stdin.read()")
    return child_of(code, folder, str(delay))


def child_of(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, str(ROOT / "tests" / "python"), *arguments],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=600)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that the server waits before each answer")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--hub", type=int, metavar="N", help="survey a hub of N repositories instead")
    parser.add_argument("--engine", default="local")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", help="the figures as JSON")
    options = parser.parse_args()
    from pellucid import survey
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="pellucid-") as name:
        folder = pathlib.Path(name)
        files = {kind: [path for i in range(3) for path in make(folder, f"{make.__name__}{i}")]
                 for kind, make in KINDS.items()}
        if options.hub:
            return survey_a_hub(folder, options, files)
        server = serve(name, options.delay)
        try:
            assert server.stdout
            base = server.stdout.readline().strip()
            for kind, names in files.items():
                survey(*(base + one for one in names), output=folder / "t.jsonl", insecure=True)
                rows = [json.loads(line) for line in (folder / "t.jsonl").read_text().splitlines()]
                assert all(row["verdict"] == "harmless" and row["tensors"] for row in rows), rows
                figures[kind] = {column: statistics.median(row[column] for row in rows)
                                 for column in ("bytes_read", "requests", "tensors")}
                print(f"{kind}: {figures[kind]}")
                (folder / "t.jsonl").unlink()
            every = [one for names in files.values() for one in names]
            (folder / "list.txt").write_text("\n".join(
                f"{base}{every[i % len(every)]}?{i}".replace("?", "?n=") for i in range(options.models)))
            many(folder, options, figures)
        finally:
            server.kill()
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(figures, indent=1) + "\n")
    return 0


def survey_a_hub(folder: pathlib.Path, options: argparse.Namespace, files: dict[str, list[str]]) -> int:
    """Repositories of real shapes: an index with its shards, an archive, or a file of GGUF; all by one query."""
    import os
    import time
    kinds = [[[path.name for path in sorted(folder.glob(name.replace(".safetensors.index.json", "") + "*"))]
              for name in names] for names in files.values()]
    holds = [names for models in zip(*kinds) for names in models]
    repositories = {f"org/net-{i}": holds[i % len(holds)] for i in range(options.hub)}
    server = serve_hub(str(folder), repositories, options.delay)
    try:
        assert server.stdout
        os.environ["HF_ENDPOINT"] = server.stdout.readline().strip()
        from pellucid import survey
        started, output = time.monotonic(), folder / "hub.jsonl"
        made = survey("hf://org", output=output, workers=options.workers, insecure=True, engine=options.engine,
                      processes=options.processes)
        wanted = sum(map(len, repositories.values()))
        figures = {"repositories": options.hub, "files": wanted, "rows": made.rows, "verdicts": made.verdicts,
                   "seconds": round(time.monotonic() - started, 1)}
        with output.open() as rows:
            names = {json.loads(line)["uri"] for line in rows}
        print(f"hub: {figures}")
        assert made.rows == len(names) == wanted and made.verdicts == {"harmless": wanted}, "rows are lost or doubled"
        if options.out:
            pathlib.Path(options.out).write_text(json.dumps(figures, indent=1) + "\n")
    finally:
        server.kill()
    return 0


def many(folder: pathlib.Path, options: argparse.Namespace, figures: dict[str, object]) -> None:
    """The CPU time of a worker over many models. Addresses differ in their query, which rows don't show."""
    import time

    from pellucid._survey import _threads
    from pellucid._survey_row import Limits
    lines = (folder / "list.txt").read_text().split()
    before, started, seen = resource.getrusage(resource.RUSAGE_SELF), time.monotonic(), 0
    early = 0
    for row in _threads(((line, None) for line in lines), Limits(insecure=True), None, options.workers):
        assert row["verdict"] == "harmless", row
        seen += 1
        if seen == len(lines) // 4:
            early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figures["worker"] = {"models": seen, "CPU seconds per 1,000": round(1000 * cpu / seen, 2),
                         "seconds": round(time.monotonic() - started, 1), "delay": options.delay,
                         "MiB after a quarter": early >> 10, "MiB at the end": after.ru_maxrss >> 10}
    print(f"worker: {figures['worker']}")


if __name__ == "__main__":
    sys.exit(main())
