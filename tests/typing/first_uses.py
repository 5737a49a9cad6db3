"""A user's script, as mypy --strict sees it: every function that the README names, and what it returns."""

from __future__ import annotations

from typing import Any

import pellucid


def look(model: Any, x: Any) -> str:
    made: pellucid.Skeleton = pellucid.skeleton(model, x, more=[], strict=False, verify=True, progress=False)
    made.save("skeleton.py")
    report: pellucid.Report = made.report
    failures: list[pellucid.Check] = report.failures
    found: pellucid.Tree = pellucid.tree(model, x)
    whole: dict[str, Any] = found.to_dict()
    return f"{made.source} {report.verdict} {failures} {found.text(depth=1)} {found.table()} {whole}"


def read(path: str) -> list[str]:
    audit: pellucid.Audit = pellucid.audit(path, allow="unknown")
    comparison: pellucid.Comparison = pellucid.compare(path, pellucid.tree(path), ignore_dtype=True)
    written: pellucid.Written = pellucid.convert(path, "model.safetensors", prefix="model.")
    array: pellucid.Written = pellucid.extract(path, "fc.weight", "weight.npy")
    return [audit.verdict, str(comparison.differences), written.path, array.path]


def decode(path: str) -> str:
    source: str = pellucid.decompile(path, width=80)
    lines: pellucid.Decompiled = pellucid.decompile_map(read)
    table: dict[int, int] = lines.line_table(read.__code__)
    code = pellucid.recompile(read.__code__)
    shown: pellucid.Disassembly = pellucid.dis(code, normalised=True)
    syntax: pellucid.Syntax = pellucid.ast(code="x = 1", python_version="3.11")
    return pellucid.format(code=source, width=100) + str(shown) + str(syntax.to_dict()) + str(table)


def find(path: str) -> list[pellucid.Tree]:
    found: pellucid.Scan = pellucid.scan(path, root=["lib"], set={"depth": 3}, forward="2x3x224x224")
    print(found.source("net"), found.unknown, found.errors)
    try:
        return list(found)
    except pellucid.Error as error:
        print(error.code, error.file, error.line, error.column, error.offset)
        raise


def follow(model: Any, x: Any) -> pellucid.Skeleton:
    with pellucid.record(model) as recording:
        model(x)
    with pellucid.prepare_debug("dump"), pellucid.debug():
        model(x)
    explanation: pellucid.Explanation = pellucid.explain(model, x, backend="eager")
    files: pellucid.Sketches = pellucid.sketch(model, x)
    print(explanation.graph_breaks, [file.path for file in files], pellucid.__version__)
    return recording.skeleton(verify=False)
