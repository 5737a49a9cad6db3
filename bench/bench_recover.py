#!/usr/bin/env python3
"""Source back from model files that the real library wrote: does it compute what the file computes?

    python bench/bench_recover.py make FOLDER --kind pt2|traced|scripted|onnx|keras [--count 30] [--seed recover1]
    python bench/bench_recover.py run FOLDER [--kind ...] [--only TEXT] [--quick] [-o rows.jsonl]

Kinds: archives of torch.export, TorchScript (traced, scripted), ONNX (both exporters of torch, by turns; fixed and open
batch, by turns; needs onnx, onnxscript and onnxruntime) and Keras (keras.applications and small models, .keras
                                                                    and .h5 by
turns; needs keras). For these two another engine computes: equal means within 1e-5 of the largest number.

`make` takes models of the zoo at random (a fixed seed gives the same ones), has torch write each into a file, and
keeps beside it the inputs, other inputs of the same shapes, and the number of lines of the live model's skeleton. `run`
writes the source of each file with the program, loads the file's own weights strictly by name, and compares both in
bits on the file's own and on the other inputs. It asks pellucid for no verdict: what pellucid says is compared with
what was found, so that a file that is called equal and is not is counted as silently wrong.

Each model gets a (forked) process of its own with limits on time and memory. The zoo is a folder with a zoo.py
(names(), load()): $PELLUCID_SHARED/zoo, by default ../shared/zoo.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import operator
import os
import pathlib
import random
import re
import resource
import statistics
import sys
import tempfile
import time
import traceback
from typing import Any, Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = pathlib.Path(__file__).resolve().parent
SHARED = os.environ.get("PELLUCID_SHARED", str(HERE.parent.parent / "shared"))
KINDS = ("pt2", "traced", "scripted", "onnx", "keras")
ENDINGS = {"pt2": ".pt2", "traced": ".pt", "scripted": ".pt", "onnx": ".onnx"}
TOLERANCE = 1e-5
MEMORY = 3 * 2**30
SECONDS = 240
MOST_PARAMETERS = 12_000_000
GOOD = ("equal",)


def apart(body: Callable[[], dict[str, Any]], seconds: int = SECONDS) -> dict[str, Any]:
    """What body returns, computed in a process of its own; {"error"} if it raises, runs too long or is killed."""
    with tempfile.TemporaryFile("w+") as answer:
        child = os.fork()
        if not child:
            try:
                import torch
                torch.set_num_threads(1)
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY + 2**31, MEMORY + 2**31))
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    made = body()
            except BaseException as error:  # a row says what it was
                made = {"error": f"{type(error).__name__}: {str(error)[:400]}", "where": traceback.format_exc()[-600:]}
            json.dump(made, answer)
            answer.flush()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        answer.seek(0)
        text = answer.read()
    return json.loads(text) if text else {"error": f"the process ended with status {status}"}


# ---- make ----

def written(name: str, kind: str, path: pathlib.Path) -> dict[str, Any]:
    import torch
    import zoo
    model, args, kwargs = zoo.load(name)
    with torch.no_grad():
        if kind == "pt2":
            torch.export.save(torch.export.export(model, tuple(args), dict(kwargs)), path)
        elif kind == "traced":
            if kwargs:
                raise ValueError("the model takes keywords: a trace has none")
            torch.jit.trace(model, tuple(args), strict=False, check_trace=False).save(str(path))
        elif kind == "onnx":
            write_onnx(model, args, kwargs, path)
        else:
            torch.jit.script(model).save(str(path))
    other = zoo.another(name, args, kwargs)
    torch.save([(tuple(args), dict(kwargs)), (tuple(other[0]), dict(other[1]))], path.with_suffix(".inputs"))
    return {"name": name, "kind": kind, "parameters": sum(p.numel() for p in model.parameters())}


def write_onnx(model: Any, args: Any, kwargs: Any, path: pathlib.Path) -> None:
    """By the name's checksum: which exporter, and whether the first size of the first input is open."""
    import zlib

    import torch
    number = zlib.crc32(path.name.encode())
    new, is_open = bool(number & 1), bool(number & 2) and not kwargs and len(args) == 1
    how: dict[str, Any] = {"external_data": False} if new else {}
    if is_open and new:
        how["dynamic_shapes"] = ({0: torch.export.Dim("batch", min=1, max=64)},)
    if is_open and not new:
        how |= {"input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}}
    torch.onnx.export(model, tuple(args), path, kwargs=dict(kwargs), dynamo=new, verbose=False, **how)


def live_lines(name: str) -> dict[str, Any]:
    import pellucid
    import zoo
    model, args, kwargs = zoo.load(name)
    made = pellucid.skeleton(model, args, kwargs, more=[], verify=False, progress=False, strict=False)
    return {"lines": nonempty(str(made))}


def make(options: argparse.Namespace) -> int:
    import torch  # noqa: F401  (once, before the forks)
    if options.kind == "keras":
        import keras_files
        return keras_files.make(pathlib.Path(options.folder, "keras"), options.count)
    sys.path.insert(0, os.path.join(SHARED, "zoo"))
    import zoo
    kinds = [options.kind] if options.kind else list(KINDS[:4])
    small = {row["name"] for row in json.loads(pathlib.Path(SHARED, "zoo", "zoo.json").read_text())
             if row["params"] <= MOST_PARAMETERS}
    for kind in kinds:
        folder = pathlib.Path(options.folder, kind)
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(name for name in zoo.names() if name in small)
        random.Random(options.seed).shuffle(names)
        made, refused = 0, collections.Counter()
        for name in names:
            if made == options.count:
                break
            path = folder / (name.replace("/", "_") + ENDINGS[kind])
            note = path.with_suffix(".json")
            row = json.loads(note.read_text()) if note.exists() else apart(lambda: written(name, kind, path))
            if "error" not in row and "live" not in row and not options.no_live:
                row["live"] = apart(lambda: live_lines(name)).get("lines")
            note.write_text(json.dumps(row))
            if "error" in row:
                refused[re.sub(r"[^\w ].*", "", row["error"])[:60]] += 1
                path.unlink(missing_ok=True)
                continue
            made += 1
            print(f"{kind} {name}", flush=True)
        print(f"{kind}: {made} files; torch itself refused {sum(refused.values())}: {dict(refused)}")
    return 0


# ---- run ----

def nonempty(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def original_of(path: pathlib.Path, kind: str) -> tuple[Any, dict[str, Any], bool]:
    """The file as torch runs it, its tensors by name, and whether its results have their structure."""
    import torch
    if kind == "pt2":
        from pellucid._recover import _load
        program, exact = _load(path)
        tensors = {**program.state_dict, **{name: value for name, value in program.constants.items()
                                            if isinstance(value, torch.Tensor)}}
        return program.module(), tensors, exact
    module = torch.jit.load(str(path)).eval()
    return module, dict(module.state_dict()), kind == "scripted"


def leaves(value: Any) -> list[Any]:
    """Tensors and numbers in order: a trace returns tuples where the model returned something else."""
    import torch
    from torch.utils._pytree import tree_leaves
    if hasattr(value, "to_tuple"):
        value = value.to_tuple()
    return [leaf for leaf in tree_leaves(value) if leaf is not None and not isinstance(leaf, str)] \
        if not isinstance(value, torch.Tensor) else [value]


def same(want: Any, got: Any) -> str:
    """What differs, in bits; empty if nothing does."""
    import torch
    a, b = leaves(want), leaves(got)
    if len(a) != len(b):
        return f"{len(a)} results, and {len(b)}"
    for index, (left, right) in enumerate(zip(a, b)):
        if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
            if torch.as_tensor(left).tolist() != torch.as_tensor(right).tolist():
                return f"result {index}: {left} and {right}"
            continue
        if left.dtype != right.dtype or left.shape != right.shape:
            return f"result {index}: {left.dtype} {tuple(left.shape)} and {right.dtype} {tuple(right.shape)}"
        one, two = left.detach().contiguous(), right.detach().contiguous()
        if one.numel() and not torch.equal(one.reshape(-1).view(torch.uint8), two.reshape(-1).view(torch.uint8)):
            if not torch.equal(torch.nan_to_num(one), torch.nan_to_num(two)):
                return f"result {index}: by {float((one.double() - two.double()).abs().max())}"
    return ""


def call(module: Any, inputs: Any) -> Any:
    import copy

    import torch
    args, kwargs = copy.deepcopy(inputs)
    torch.manual_seed(0)
    with torch.no_grad():
        return module(*args, **kwargs)


def outcome(path: pathlib.Path, note: dict[str, Any], keep: pathlib.Path | None, verify: bool) -> dict[str, Any]:
    import pellucid
    import torch
    kind = note["kind"]
    row: dict[str, Any] = {"name": note["name"], "kind": kind, "live": note.get("live")}
    start = time.process_time()
    try:
        made = pellucid.recover(path, verify=verify)
    except Exception as error:
        return {**row, "outcome": "refused", "why": str(error).splitlines()[0].split("source from a file: ")[-1][:300]}
    row |= {"seconds": round(time.process_time() - start, 2), "lines": nonempty(made.source),
            "said": made.verdict[:300],
            "said_equal": bool(made.equal) and not made.difference and not made.not_compared,
            "operators": made.source.count("torch.ops.")}
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / (path.stem + ".py")).write_text(made.source)
    space: dict[str, Any] = {}
    try:
        exec(compile(made.source, "recovered", "exec"), space)
        module = space[made.root]().eval()
    except Exception as error:
        return {**row, "outcome": "not built", "why": f"{type(error).__name__}: {str(error)[:300]}"}
    if kind in ("onnx", "keras"):
        return {**row, **against_engine(path, kind, module)}
    original, tensors, exact = original_of(path, kind)
    for name in set(module.state_dict()) - set(tensors):  # plain tensor attributes, which no state dict has
        with contextlib.suppress(AttributeError):
            tensors[name] = operator.attrgetter(name)(original)
    try:
        module.load_state_dict(tensors, strict=True)
    except Exception as error:
        return {**row, "outcome": "weights do not fit", "why": str(error)[:300]}
    for index, inputs in enumerate(torch.load(path.with_suffix(".inputs"), weights_only=False)):
        what = ("the file's inputs", "other inputs")[index]
        try:
            want = call(original, inputs)
        except Exception as error:
            if index:
                continue  # the other inputs are none that this file takes
            return {**row, "outcome": "torch can't run it", "why": str(error)[:200]}
        try:
            found = same(want, call(module, inputs))
        except Exception as error:
            return {**row, "outcome": "raises", "why": f"{what}: {type(error).__name__}: {str(error)[:300]}"}
        if found:
            return {**row, "outcome": "differs", "why": f"{what}: {found}"}
        row["inputs"] = index + 1
    return {**row, "outcome": "equal"}


def against_engine(path: pathlib.Path, kind: str, module: Any) -> dict[str, Any]:
    """The file's weights by `convert --for-source`, strictly; results against onnxruntime or Keras."""
    import numpy
    import pellucid
    import torch
    from pellucid._recover_onnx import tensors
    weights = path.with_suffix(".safetensors")
    try:
        if module.state_dict():
            pellucid.convert(path, weights, for_source=True)
            module.load_state_dict(tensors(str(weights)), strict=True)
    except Exception as error:
        return {"outcome": "weights do not fit", "why": str(error)[:300]}
    finally:
        weights.unlink(missing_ok=True)
    runs = 0
    for index, (inputs, run_file) in enumerate(engine_runs(path, kind)):
        what = f"inputs {index + 1}"
        try:
            want = [numpy.asarray(value) for value in run_file()]
        except Exception as error:
            if not index:
                return {"outcome": "the engine can't run it", "why": str(error)[:200]}
            continue
        try:
            with torch.no_grad():
                got = module(*(torch.from_numpy(numpy.array(value)) for value in inputs))
        except Exception as error:
            return {"outcome": "raises", "why": f"{what}: {type(error).__name__}: {str(error)[:300]}"}
        results = [numpy.asarray(torch.as_tensor(value)) for value in leaves(got)]
        if [value.shape for value in want] != [value.shape for value in results]:
            return {"outcome": "differs",
                "why": f"{what}: shapes {[v.shape for v in want]}, {[v.shape for v in results]}"[:300]}
        for number, (left, right) in enumerate(zip(want, results)):
            a, b = (numpy.nan_to_num(value.astype("float64")) for value in (left, right))
            apart = float(abs(a - b).max()) / max(1.0, float(abs(a).max())) if a.size else 0.0
            if apart > TOLERANCE:
                return {"outcome": "differs", "why": f"{what}: result {number}: by {apart:.2g}"}
        runs += 1
    return {"outcome": "equal", "inputs": runs}


def engine_runs(path: pathlib.Path, kind: str) -> Any:
    """Inputs as arrays, and what runs the file on them."""
    import numpy
    import torch
    if kind == "keras":
        import keras_files
        yield from keras_files.runs(path)
        return
    import onnxruntime
    how = onnxruntime.SessionOptions()
    how.intra_op_num_threads, how.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(str(path), how, providers=["CPUExecutionProvider"])
    for args, kwargs in torch.load(path.with_suffix(".inputs"), weights_only=False):
        given = [numpy.asarray(value) for value in leaves((args, kwargs))]
        names = [i.name for i in session.get_inputs()]
        if len(given) == len(names):
            yield given, lambda: session.run(None, dict(zip(names, given)))


def summary(rows: list[dict[str, Any]]) -> None:
    for kind in KINDS:
        mine = [row for row in rows if row.get("kind") == kind]
        if not mine:
            continue
        equal = [row for row in mine if row["outcome"] == "equal"]
        wrong = [row for row in mine if row["outcome"] == "differs" and row.get("said_equal")]
        ratios = [row["lines"] / row["live"] for row in equal if row.get("live")]
        long = [row["name"] for row in equal if row["lines"] > 400 and row["lines"] > 1.5 * (row.get("live") or 0)]
        how = f"within {TOLERANCE:g}" if kind in ("onnx", "keras") else "in bits"
        print(f"{kind}: {len(equal)} of {len(mine)} equal {how} ({100 * len(equal) / len(mine):.0f}%), "
              f"{len(wrong)} silently wrong")
        if ratios:
            print(f"  lines by the live skeleton's: median {statistics.median(ratios):.2f}, "
                  f"{min(ratios):.2f} to {max(ratios):.2f}; over 400 lines and 1.5: {long or 'none'}")
            print(f"  processor seconds, median: {statistics.median(row['seconds'] for row in equal):.1f}")
        reasons = collections.Counter(f"{row['outcome']}: {re.sub(r'[0-9]+', 'N', row.get('why', ''))[:110]}"
                                      for row in mine if row["outcome"] != "equal")
        for reason, count in reasons.most_common():
            print(f"  {count:3} {reason}")


def run(options: argparse.Namespace) -> int:
    import torch  # noqa: F401

    import pellucid  # noqa: F401
    rows = []
    keep = pathlib.Path(options.keep) if options.keep else None
    for kind in [options.kind] if options.kind else KINDS:
        for note in sorted(pathlib.Path(options.folder, kind).glob("*.json")):
            content = json.loads(note.read_text())
            if "error" in content or (options.only and not re.search(options.only, content["name"])):
                continue
            path = note.with_suffix(ENDINGS.get(kind) or content["ending"])
            row = apart(lambda: outcome(path, content, keep / kind if keep else None, not options.quick))
            if "error" in row:
                row = {"name": content["name"], "kind": kind, "outcome": "failed", "why": row["error"]}
            rows.append(row)
            lines = f"{row.get('lines', ''):>5} {row.get('live') or '':>5}"
            print(f"{kind:9}{row['name']:40.40} {row['outcome']:10} {lines} {row.get('why', '')[:150]}", flush=True)
            if options.output:
                with open(options.output, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    summary(rows)
    return 0 if rows and all(row["outcome"] in GOOD for row in rows) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    for name in ("make", "run"):
        action = actions.add_parser(name)
        action.add_argument("folder")
        action.add_argument("--kind", choices=KINDS)
        if name == "make":
            action.add_argument("--count", type=int, default=30)
            action.add_argument("--seed", default="recover1")
            action.add_argument("--no-live", action="store_true", help="don't make the live skeletons")
        else:
            action.add_argument("--only", help="names that match")
            action.add_argument("--keep", metavar="FOLDER", help="where the sources go")
            action.add_argument("--quick", action="store_true", help="let pellucid compare nothing itself")
            action.add_argument("-o", "--output", help="rows as JSON lines")
    options = parser.parse_args()
    return make(options) if options.action == "make" else run(options)


if __name__ == "__main__":
    sys.exit(main())
