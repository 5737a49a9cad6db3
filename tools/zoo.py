#!/usr/bin/env python3
"""Skeletons of many real models: what comes out, what fails, why.

    tools/zoo.py --sample 40                 a random sample (the same for the same --rotate)
    tools/zoo.py --only 'hf/bert|timm/'      names that match
    tools/zoo.py --rerun-failed out.jsonl    those that failed, or that a newer build might mend
    tools/zoo.py --summary out.jsonl         the figures of a run

Each model gets a (forked) process of its own with limits on time and memory. Results are JSON lines, one per model.
The zoo is a folder with a zoo.py (names(), load()): $PELLUCID_SHARED/zoo, by default ../shared/zoo.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import collections
import contextlib
import faulthandler
import importlib.util
import io
import json
import keyword
import os
import queue
import random
import re
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import tokenize
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("PELLUCID_SHARED", os.path.join(HERE, "..", "..", "shared"))
ZOO = os.path.join(SHARED, "zoo")
STAGES = ("record", "synthesise", "load", "equal", "data", "batch", "length", "train", "grads")
MEMORY = 6 * 2**30


# ---- one model, in its own process ----

class Lines:
    """The author's lines that a call executes, and the files they are in."""

    def __init__(self) -> None:
        import torch
        self.seen: set[tuple[str, int]] = set()
        self.skipped = (os.path.dirname(torch.__file__) + os.sep,
                        os.path.dirname(os.__file__) + os.sep + "site-packages")
        self.library = os.path.dirname(os.__file__) + os.sep
        self.torch = os.path.dirname(torch.__file__) + os.sep
        self.known: dict[str, bool] = {}
        self.module = torch.nn.Module
        self.classes: set[type] = set()

    def author(self, path: str) -> bool:
        found = self.known.get(path)
        if found is None:
            in_library = path.startswith(self.library) and "site-packages" not in path
            found = not (path.startswith((self.torch, "<")) or in_library or path == os.path.abspath(__file__))
            self.known[path] = found
        return found

    def trace(self, frame: Any, event: str, _: Any) -> Any:
        if not self.author(frame.f_code.co_filename):
            return None
        names = frame.f_code.co_varnames
        receiver = frame.f_locals.get(names[0]) if names and names[0] == "self" else None
        if isinstance(receiver, self.module):
            self.classes.add(type(receiver))
        return self.line

    def line(self, frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self.line

    def __enter__(self) -> Lines:
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)


def author_facts(model: Any, args: tuple, kwargs: dict) -> dict[str, Any]:
    """What the skeleton is measured against: classes that ran, lines that ran, lines of their constructors."""
    import inspect

    import torch
    lines = Lines()

    def note(module: Any, _: Any) -> None:
        lines.classes.add(type(module))

    handle = torch.nn.modules.module.register_module_forward_pre_hook(note)
    try:
        with torch.no_grad(), lines:
            model(*args, **kwargs)
    finally:
        handle.remove()
    classes = {c for c in lines.classes if not c.__module__.startswith("torch.")}
    init_lines: set[tuple[str, int]] = set()
    for cls in classes:
        for base in cls.__mro__:
            init = vars(base).get("__init__")
            if inspect.isfunction(init) and lines.author(init.__code__.co_filename):
                try:
                    text, first = inspect.getsourcelines(init)
                except (OSError, TypeError):
                    continue
                init_lines |= {(init.__code__.co_filename, first + i) for i, t in enumerate(text) if t.strip()}
    files = {path for path, _ in lines.seen}
    return {"author_classes": len(classes), "author_lines": len(lines.seen), "init_lines": len(init_lines),
            "files": sorted(files)}


def emitted_facts(source: str, files: list[str]) -> dict[str, Any]:
    import torch
    known = set(dir(builtins)) | set(keyword.kwlist) | {"torch", "nn", "F", "math", "self", "super"}
    for space in (torch, torch.Tensor, torch.nn, torch.nn.functional, torch.nn.Module, torch.nn.init):
        known |= set(dir(space))
    for path in files:
        try:
            with open(path, encoding="utf-8") as file:
                known |= set(re.findall(r"[^\W\d]\w*", file.read()))
        except OSError:
            pass
    tree = ast.parse(source)
    names = {n.name: [ast.unparse(b) for b in n.bases] for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}

    def is_module(name: str, depth: int = 0) -> bool:
        return depth < 20 and any(b.split(".")[-1] == "Module" or b.startswith("nn.")
                                  or (b in names and is_module(b, depth + 1))
                                  for b in names[name])

    strange: collections.Counter[str] = collections.Counter()
    strange_lines: set[int] = set()
    code_lines: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT,
                              tokenize.ENDMARKER):
                continue
            code_lines.add(token.start[0])
            if token.type == tokenize.NAME and token.string not in known:
                strange[token.string] += 1
                strange_lines.add(token.start[0])
    except tokenize.TokenError:
        pass
    return {"classes": sum(is_module(n) for n in names), "lines": sum(bool(t.strip()) for t in source.splitlines()),
            "code_lines": len(code_lines), "author_named": len(code_lines) - len(strange_lines),
            "strange": [n for n, _ in strange.most_common(8)]}


def announce(stage: str) -> None:
    """Printed as it begins, so that a killed process tells how far it came."""
    print("STAGE " + stage, flush=True)


def told(error: Exception) -> str:
    """An error in one line, with the place in our own files where it came from."""
    mine = [f for f in traceback.extract_tb(error.__traceback__) if os.sep + "pellucid" + os.sep in f.filename]
    at = f" [{os.path.basename(mine[-1].filename)}:{mine[-1].lineno}]" if mine else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}{at}"


def report_facts(report: Any) -> dict[str, Any]:
    facts = {
        "verdict": report.verdict,
        "seconds": {k: round(v, 3) for k, v in report.seconds.items()},
        "checks": {c.name: c.status for c in report.checks},
        "good": report.good,
        "complete": report.complete,
        "remarks": report.remarks,
        "synthesis": {k: v for k, v in report.synthesis.items() if isinstance(v, (int, float, str, bool))},
        "silent": [c.name for c in report.checks if c.silent],
        "events": next((c.detail for c in report.checks if c.status == "differs"), ""),
    }
    if report.failures:
        facts["error"] = f"{report.failures[0].name}: {report.failures[0].detail}"
    return facts


def run_one(name: str, keep: str | None) -> dict[str, Any]:
    """All stages of one model."""
    result: dict[str, Any] = {"name": name}
    announce("build")
    faulthandler.enable()
    sys.path.insert(0, ZOO)
    import zoo
    start = time.perf_counter()
    model, args, kwargs = zoo.load(name)
    result["build_s"] = time.perf_counter() - start
    announce("import")
    import pellucid
    if keep:
        keep_traces(keep, name)
    announce("record")
    start = time.perf_counter()
    try:
        made = pellucid.skeleton(model, args, kwargs, strict=False, origin=name,
                                 progress=lambda text: announce(STAGE_OF.get(text, text)))
    except Exception as error:
        result["error"] = told(error)
        return result
    finally:
        result["total_s"] = time.perf_counter() - start
    announce("measure")
    result.update(report_facts(made.report))
    if keep:
        os.makedirs(keep, exist_ok=True)
        made.save(os.path.join(keep, name.replace("/", "_") + ".py"))
    facts = author_facts(model, args, kwargs)
    with contextlib.suppress(SyntaxError):
        result.update(emitted_facts(made.source, facts.pop("files")))
    result.update(facts)
    return result


def keep_traces(folder: str, name: str) -> None:
    """The trace is written before the synthesis reads it, so that it is there whatever happens."""
    from pellucid import _pellucid
    synthesise = _pellucid.synthesise
    os.makedirs(folder, exist_ok=True)

    def keeping(trace: bytes, *how: Any) -> Any:
        with open(os.path.join(folder, name.replace("/", "_") + ".trace"), "wb") as file:
            file.write(trace)
        return synthesise(trace, *how)

    _pellucid.synthesise = keeping


STAGE_OF = {"recording": "record", "writing": "synthesise", "verifying": "verify"}


def stages_of(row: dict[str, Any]) -> dict[str, str]:
    """The row's outcome per stage, in the words of the checks."""
    checks = row.get("checks")
    if checks is None:
        at = row.get("stage", "record")
        reached = {"record": 0, "running the original": 0, "other data, other sizes, train mode": 0, "synthesise": 1,
                   "verify": 2}.get(at, 0)
        return {s: "passed" if i < reached else "failed" if i == reached else "-" for i, s in enumerate(STAGES)}

    def worst(*names: str) -> str:
        found = [v for k, v in checks.items() if re.sub(r" \d+$", "", k) in names]
        return next((w for w in ("failed", "refused", "skipped", "passed") if w in found), "-")

    return {"record": "passed", "synthesise": "passed", "load": worst("imports", "build", "load"),
            "equal": worst("recorded", "recorded: buffers", "gradients enabled"), "data": worst("other data"),
            "batch": worst("other batch"), "length": worst("other length"),
            "train": worst("train", "train: buffers", "eval", "eval: buffers"),
            "grads": worst("gradients", "train: gradients", "eval: gradients", "order", "ties", "requires_grad")}


def passes(row: dict[str, Any]) -> bool:
    """Equal on the recorded input, other data and another batch size; strict load."""
    found = stages_of(row)
    return (all(found[s] in ("passed", "skipped") for s in ("load", "equal", "data", "batch"))
            and found["equal"] == "passed")


# ---- many models ----

def memory_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


class Worker:
    """A process that has imported the libraries and forks for every model: importing takes longer than most models."""

    def __init__(self, options: argparse.Namespace):
        command = [sys.executable, "-W", "ignore", os.path.abspath(__file__), "--serve", "--time", str(options.time)]
        if options.keep:
            command += ["--keep", options.keep]
        environment = dict(os.environ, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)

    def run(self, name: str) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"name": name, "error": "the worker ended",
                                              "stage": "build", "wall_s": 0.0}

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Referees:
    """A process that has imported torch alone and forks a referee for every skeleton."""

    def __init__(self) -> None:
        import pellucid
        self.path = os.path.join(tempfile.mkdtemp(prefix="zoo-"), "referee")
        script = os.path.join(os.path.dirname(os.path.abspath(pellucid.__file__)), "_check.py")
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", os.path.abspath(__file__), "--referees",
                                         self.path, script])

    def run(self, data: str, result: str, patience: float) -> str:
        """In the place of pellucid._verify.run_referee."""
        for _ in range(600):
            if os.path.exists(self.path):
                break
            time.sleep(0.1)
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(patience)
            link.connect(self.path)
            link.sendall(f"{data}\n{result}\n".encode())
            try:
                answer = link.recv(1000).decode()
            except TimeoutError:
                return f"took more than {patience:.0f} s"
        return "" if answer == "0" else f"ended with status {answer}"

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(os.path.dirname(self.path), ignore_errors=True)


def serve_referees(path: str, script: str) -> None:
    spec = importlib.util.spec_from_file_location("pellucid_referee", script)
    assert spec is not None and spec.loader is not None
    referee = importlib.util.module_from_spec(spec)
    sys.modules["pellucid_referee"] = referee
    spec.loader.exec_module(referee)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        while True:
            link, _ = server.accept()
            with link:
                request = b""
                while request.count(b"\n") < 2:
                    request += link.recv(1000)
                pid = os.fork()
                if pid == 0:
                    code = 1
                    try:
                        code = referee.main(request.decode().split("\n")[:2])
                    except BaseException:
                        traceback.print_exc()
                    os._exit(code)
                done, status = 0, 0
                while not done:  # a client that was killed closes its end: nobody waits for the answer then
                    if select.select([link], [], [], 0.02)[0] and not link.recv(1, socket.MSG_PEEK):
                        os.kill(pid, signal.SIGKILL)
                        done, status = os.waitpid(pid, 0)
                    else:
                        done, status = os.waitpid(pid, os.WNOHANG)
                with contextlib.suppress(OSError):
                    link.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def import_libraries() -> Referees:
    """All that the zoo's models need, once, so that each of them is a fork; and the process that judges."""
    sys.path.insert(0, ZOO)
    import zoo
    for module in ("timm", "torchvision", "transformers", "zoo_hf"):
        try:
            if module == "timm":
                zoo.shim()
            __import__(module)
        except Exception as problem:
            print(f"{module} can't be imported: {problem}", file=sys.stderr)
    import pellucid._verify
    referees = Referees()
    pellucid._verify.run_referee = referees.run
    return referees


def serve(options: argparse.Namespace) -> int:
    """Reads names, writes rows."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    referees = import_libraries()
    for line in sys.stdin:
        print(json.dumps(run_limited(line.strip(), options)), file=answers, flush=True)
    referees.close()
    return 0


def run_limited(name: str, options: argparse.Namespace,
                work: Callable[[str, str | None], dict[str, Any]] = run_one) -> dict[str, Any]:
    """One model in a forked process, with limits on time and memory."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            code = 1
            try:
                print("RESULT " + json.dumps(work(name, options.keep)), flush=True)
                code = 0
            except BaseException:
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(code)
        killed, status = "", None
        while status is None:
            time.sleep(0.05)
            done, found = os.waitpid(pid, os.WNOHANG)
            if done:
                status = found
            elif time.monotonic() - start > options.time:
                killed = f"took more than {options.time:.0f} s"
            elif memory_of(pid) > MEMORY:
                killed = f"took more than {MEMORY >> 30} GiB"
            if killed and status is None:
                os.killpg(pid, signal.SIGKILL)
                status = os.waitpid(pid, 0)[1]
        out.seek(0)
        err.seek(0)
        stdout, stderr = out.read(), err.read()
    row: dict[str, Any] = {"name": name}
    stage = "build"
    for line in stdout.splitlines():
        if line.startswith("STAGE "):
            stage = line[6:]
        elif line.startswith("RESULT "):
            row = json.loads(line[7:])
    if "checks" not in row:
        row["stage"] = stage
        if "error" not in row:
            lines = [t for t in stderr.splitlines() if t.strip()]
            last = next((t for t in lines if t.startswith("Fatal Python error")), lines[-1] if lines else "")
            row["error"] = killed or (f"signal {os.WTERMSIG(status)}: {last}" if os.WIFSIGNALED(status) else last)
    row["wall_s"] = round(time.monotonic() - start, 1)
    return row


def failure_class(row: dict[str, Any]) -> str:
    """The error with what is particular to the model taken out, for grouping."""
    text = row.get("error", "")
    text = re.sub(r"line \d+: ", "", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", text)
    text = re.sub(r"\d+(\.\d+)?(e-?\d+)?", "N", text)
    return text[:110]


def run_many(names: list[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    width = max(map(len, names), default=10)
    workers: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    started = [Worker(options) for _ in range(min(options.workers, len(names)))]
    for worker in started:
        workers.put(worker)

    def run(name: str) -> dict[str, Any]:
        worker = workers.get()
        try:
            return worker.run(name)
        finally:
            workers.put(worker)

    with open(options.out, "a") as out, ThreadPoolExecutor(max(1, len(started))) as pool:
        for row in pool.map(run, names):
            rows.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
            found = stages_of(row)
            marks = "".join({"passed": "+", "failed": "X", "refused": "r", "skipped": ".", "-": " "}[found[s]]
                            for s in STAGES)
            ratio = f"{row['lines']:4}/{row['author_lines'] + row['init_lines']:<5}" if "lines" in row else " " * 10
            print(f"{row['name']:{width}} {marks} {ratio} {row['wall_s']:6.1f}s {row.get('error', '')[:110]}",
                  flush=True)
    for worker in started:
        worker.close()
    return rows


def read_rows(path: str) -> list[dict[str, Any]]:
    """The last row of each model."""
    with open(path) as file:
        return list({(row := json.loads(line))["name"]: row for line in file if line.strip()}.values())


def percent(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f}%)" if whole else "none"


def print_summary(rows: list[dict[str, Any]]) -> None:
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["name"].split("/")[0]].append(row)
    print(f"\n{'':6}{'n':>5}" + "".join(f"{s:>11}" for s in STAGES) + f"{'all good':>11}")
    for group, members in [*sorted(groups.items()), ("all", rows)]:
        cells = ""
        for s in STAGES:
            found = [stages_of(r)[s] for r in members]
            cells += f"{found.count('passed'):>6}/{sum(f in ('passed', 'failed', 'refused') for f in found):<4}"
        print(f"{group:6}{len(members):>5}{cells}{sum(map(passes, members)):>11}")
    print(f"\nequal on recorded, other data, other batch, strict load: {percent(sum(map(passes, rows)), len(rows))}")
    silent = [(r["name"], r["silent"]) for r in rows if r.get("silent")]
    print(f"differs without raising: {len(silent)}; accepted all the same: "
          f"{sum(bool(r.get('good')) and bool(r.get('silent')) for r in rows)}")
    measured = [r for r in rows if "lines" in r and r.get("author_lines")]
    if measured:
        ratios = [r["lines"] / (r["author_lines"] + r["init_lines"]) for r in measured]
        whole = sum(r["classes"] == r["author_classes"] for r in measured)
        fewer = sum(r["classes"] < r["author_classes"] for r in measured)
        code = sum(r["code_lines"] for r in measured)
        print(f"classes emitted = author's: {percent(whole, len(measured))}, fewer: {fewer}; "
              f"lines ÷ author's: median {statistics.median(ratios):.2f}")
        print(f"lines with author names only: {percent(sum(r['author_named'] for r in measured), code)}")
        functions = [(r["synthesis"].get("functions", 0), r["synthesis"].get("from_source", 0)) for r in measured]
        written, of = sum(b for _, b in functions), sum(a for a, _ in functions)
        print(f"functions from the author's source: {percent(written, of)}")
        events = [e for r in measured if (e := r.get("checks", {}).get("events")) in ("passed", "differs")]
        unread = sum("nobody reads" in r.get("events", "") for r in measured)
        print(f"events equal to the original's, in order: {percent(events.count('passed'), len(events))}; "
              f"but for calls whose results nobody reads: {percent(events.count('passed') + unread, len(events))}")
        times = [r["seconds"].get("record", 0) + r["seconds"].get("synthesise", 0) for r in measured]
        print(f"recording and writing: median {statistics.median(times):.2f} s; whole: "
              f"median {statistics.median(r['total_s'] for r in measured):.1f} s")
    classes = collections.Counter(failure_class(r) for r in rows if r.get("error"))
    if classes:
        print("\nfailures by kind:")
    for text, count in classes.most_common(40):
        example = min((r for r in rows if r.get("error") and failure_class(r) == text),
                      key=lambda r: r.get("author_lines", 10**6))
        print(f"{count:4}  {text}   e.g. {example['name']}")


def choose(options: argparse.Namespace) -> list[str]:
    with open(os.path.join(ZOO, "zoo.json")) as file:
        names = [row["name"] for row in json.load(file)]
    if options.rerun_failed:
        names = [r["name"] for r in read_rows(options.rerun_failed) if not r.get("complete")]
    if options.only:
        names = [n for n in names if re.search(options.only, n)]
    if options.sample and options.sample < len(names):
        names = random.Random(options.rotate).sample(names, options.sample)
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N", help="this many, chosen at random")
    parser.add_argument("--rotate", default="0", metavar="DAY", help="another text, another sample")
    parser.add_argument("--only", metavar="REGEX", help="names that match")
    parser.add_argument("--rerun-failed", metavar="FILE", help="those not complete in FILE")
    parser.add_argument("--summary", metavar="FILE", help="print the figures of FILE, run nothing")
    parser.add_argument("--out", default="zoo.jsonl", metavar="FILE", help="where results go, appended (zoo.jsonl)")
    parser.add_argument("--keep", metavar="DIR", help="keep skeletons and traces there")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--time", type=float, default=240.0, metavar="SECONDS", help="limit for one model (240)")
    parser.add_argument("--at-least", type=float, metavar="PERCENT", help="exit 4 if fewer are equal")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--referees", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.referees:
        serve_referees(*options.referees)
    if options.serve:
        return serve(options)
    if options.summary:
        print_summary(read_rows(options.summary))
        return 0
    if not os.path.exists(os.path.join(ZOO, "zoo.json")):
        print(f"skipped: there is no zoo at {ZOO} (set PELLUCID_SHARED)", file=sys.stderr)
        return 0
    rows = run_many(choose(options), options)
    print_summary(rows)
    if any(r.get("good") and r.get("silent") for r in rows):
        print("zoo: a skeleton that differs was accepted", file=sys.stderr)
        return 4
    share = 100 * sum(map(passes, rows)) / len(rows) if rows else 100.0
    return 4 if options.at_least is not None and share < options.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
