"""depyf.explain.enhance_logging."""

from __future__ import annotations

from ..._compiler import _log_source as pytorch_bytecode_src_hook
from ..._compiler import install as install
from ..._compiler import uninstall as uninstall

__all__ = ["install", "pytorch_bytecode_src_hook", "uninstall"]
