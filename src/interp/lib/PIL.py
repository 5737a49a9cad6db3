import sys

import _pellucid

_module = _pellucid.symbol_module(__name__)
_module.__version__ = '11.0.0'
sys.modules[__name__] = _module
