"""What every result has, as mypy --strict sees it: a mistake in a type is found."""

from __future__ import annotations

import json
from typing import Any, Union

import pellucid

AnyResult = Union[pellucid.Audit, pellucid.Comparison, pellucid.Decompiled, pellucid.Disassembly, pellucid.Explanation,
                  pellucid.Report, pellucid.Scan, pellucid.Skeleton, pellucid.Sketch, pellucid.Sketches,
                  pellucid.Syntax, pellucid.Tree, pellucid.Written]


def show(result: AnyResult) -> str:
    values: dict[str, Any] = result.to_dict()
    return repr(result) + str(result) + result._repr_html_() + json.dumps(values)


def mistakes(tree: pellucid.Tree) -> None:
    pellucid.tree(tree, depth=1)  # type: ignore[call-arg]
    tree.text(depth="one")  # type: ignore[arg-type]
    pellucid.no_such_function()  # type: ignore[attr-defined]
    pellucid.decompile(show).line_table  # type: ignore[attr-defined]
