import sys

import _pellucid

sys.modules[__name__] = _pellucid.symbol_module(__name__)
