"""The compiler's front end is not here."""

import sys

import _pellucid


def _decorator(fn=None, *args, **kwargs):
    return fn if fn is not None else lambda function: function


_module = _pellucid.symbol_module(__name__)
_module.is_compiling = lambda: False
_module.disable = _module.allow_in_graph = _module.optimize = _module.assume_constant_result = _decorator
_module.mark_static_address = _module.mark_dynamic = _module.mark_static = _module.reset = lambda *args, **kwargs: None
_module.graph_break = lambda *args: None
sys.modules[__name__] = _module
