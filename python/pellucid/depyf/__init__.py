"""depyf's public names, by pellucid: `import pellucid.depyf as depyf`.

What differs is said in docs/torch-compile.md ("Coming from depyf"). Names of depyf's own decompiler, which is not here,
raise an AttributeError that says what to use.
"""

from __future__ import annotations

from .._pellucid import __version__ as __version__
from .decompiler import DecompilationError as DecompilationError
from .decompiler import Decompiler as Decompiler
from .decompiler import decompile as decompile

try:
    from .explain.enable_debugging import debug as debug
    from .explain.enable_debugging import prepare_debug as prepare_debug
    from .explain.enhance_logging import install as install
    from .explain.enhance_logging import uninstall as uninstall
except ImportError as error:
    if error.name is None or error.name.split(".")[0] != "torch":
        raise
    # As in depyf: without torch there is only the decompiler.
