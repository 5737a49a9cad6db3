"""See through PyTorch models and the Python they are written in.

    skeleton, record, sketch     a running model as one file; calls that a program makes; the author's files, cut
    diff                         what differs between two skeletons, class by class
    tree, compare                the hierarchy of a model or a checkpoint; whether a checkpoint fits
    align                        which tensor of one model is which of another, and the function that converts
    scan                         the networks that source code builds, without executing it
    audit, convert, extract      model files: what opening them would run; their tensors
    recover                      the source of a model file that holds a program
    survey                       many model files, wherever they are: a table with a row each
    serve                        the model files of a folder, in a browser
    explain, prepare_debug, debug, link, install    what torch.compile made
    explain_trace                the same of a log that torch.compile wrote, from another machine
    bisect_numerics              the line where a compiled function's numbers part from the function as written
    decompile, dis, recompile, ast, format          bytecode and source

What they return has a short repr, a text (str), a dict (to_dict) and a box in notebooks. Importing this package neither
needs nor imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._pellucid import Error, __version__

if TYPE_CHECKING:
    from ._align import Alignment, align
    from ._compiler import Explanation, debug, explain, explain_trace, install, prepare_debug, uninstall
    from ._decompile import Decompiled, decompile, decompile_map, recompile
    from ._diff import Difference, diff
    from ._link import link
    from ._meta import without_weights
    from ._numerics import Numerics, bisect_numerics
    from ._pellucid import format_source as format_source
    from ._pellucid import parse_json as parse_json
    from ._program import (Audit, Comparison, Disassembly, Syntax, Written, ast, audit, compare, convert, dis, extract,
                           format)
    from ._record import Recording, record
    from ._recover import Recovered, recover
    from ._scan import Scan, scan
    from ._scan import scan_source as scan_source
    from ._serve import serve
    from ._skeleton import Skeleton, SkeletonError, skeleton
    from ._sketch import Sketch, Sketches, sketch
    from ._survey import Survey, survey
    from ._tree import Tree, tree
    from ._again import verify
    from ._verdict import Answer, Check, Report

__all__ = [
    "Alignment", "Answer", "Audit", "Check", "Comparison", "Decompiled", "Difference", "Disassembly", "Error",
    "Explanation", "Numerics", "Recording", "Recovered", "Report", "Scan", "Skeleton", "SkeletonError", "Sketch",
    "Sketches", "Survey", "Syntax", "Tree", "Written", "__version__", "align", "ast", "audit", "bisect_numerics",
    "compare", "convert", "debug", "decompile", "decompile_map", "diff", "dis", "explain", "explain_trace", "extract",
    "format", "install", "link", "prepare_debug", "recompile", "record", "recover", "scan", "serve", "skeleton",
    "sketch", "survey", "tree", "uninstall", "verify", "without_weights",
]

# Modules are read on first use of a name, most of them because they need torch.
_MODULES = {
    "_align": "Alignment align",
    "_compiler": "Explanation debug explain explain_trace install prepare_debug uninstall",
    "_decompile": "Decompiled decompile decompile_map recompile",
    "_diff": "Difference diff",
    "_link": "link",
    "_meta": "without_weights",
    "_numerics": "Numerics bisect_numerics",
    "_program": "Audit Comparison Disassembly Syntax Written ast audit compare convert dis extract format",
    "_record": "Recording record",
    "_recover": "Recovered recover",
    "_scan": "Scan scan",
    "_serve": "serve",
    "_skeleton": "Skeleton SkeletonError skeleton",
    "_sketch": "Sketch Sketches sketch",
    "_survey": "Survey survey",
    "_tree": "Tree tree",
    "_verdict": "Answer Check Report",
    "_again": "verify",
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names.split()}
# Old names, for one more version: where they are, and what replaces them.
_OLD = {
    "parse_json": ("_pellucid", "pellucid.ast(code=...).to_json()"),
    "format_source": ("_pellucid", "pellucid.format(code=...)"),
    "scan_source": ("_scan", "pellucid.scan(...).source()"),
}


if not TYPE_CHECKING:  # for type checkers, a name that is not there is a mistake
    def __getattr__(name: str) -> Any:
        import importlib
        if name in _OLD:
            from ._names import moved
            module, new = _OLD[name]
            moved(name, new)
            return getattr(importlib.import_module(f".{module}", __name__), name)
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
