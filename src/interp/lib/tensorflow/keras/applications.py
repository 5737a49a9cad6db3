import sys

import _pellucid

sys.modules[__name__] = _pellucid.import_module('keras.applications')
