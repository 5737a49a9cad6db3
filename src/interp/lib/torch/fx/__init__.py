"""Tracing lends names only; wrap marks a function and gives it back."""

import sys

import _pellucid


class Proxy:
    pass


class Tracer:
    pass


_module = _pellucid.symbol_module(__name__)
_module.wrap = lambda function: function
_module.Proxy = Proxy
_module.Tracer = Tracer
_module.has_side_effect = lambda function: function
sys.modules[__name__] = _module
