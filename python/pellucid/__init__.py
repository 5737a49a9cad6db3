"""See through PyTorch models and the Python they are written in.

Importing this package neither needs nor imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._pellucid import Error, __version__, format_source, parse_json

if TYPE_CHECKING:
    from ._compiler import Explanation, debug, explain, install, prepare_debug, uninstall
    from ._decompile import Decompiled, decompile, decompile_map, recompile
    from ._link import link
    from ._record import Recording, record
    from ._skeleton import Skeleton, SkeletonError, skeleton
    from ._scan import Scan, scan, scan_source
    from ._tree import Tree, tree
    from ._verify import Check, Report

# Names that live in modules which are read on first use, most of them because they need torch.
_LAZY = {
    "Decompiled": "_decompile", "decompile": "_decompile", "decompile_map": "_decompile", "recompile": "_decompile",
    "Explanation": "_compiler", "debug": "_compiler", "explain": "_compiler", "install": "_compiler",
    "prepare_debug": "_compiler", "uninstall": "_compiler", "link": "_link",
    "Recording": "_record", "record": "_record",
    "Skeleton": "_skeleton", "SkeletonError": "_skeleton", "skeleton": "_skeleton",
    "Tree": "_tree", "tree": "_tree", "Scan": "_scan", "scan": "_scan", "scan_source": "_scan",
    "Check": "_verify", "Report": "_verify",
}

__all__ = ["Error", "__version__", "format_source", "parse_json", *_LAZY]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib
    value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
