"""tensorflow.keras is keras."""

import sys

import _pellucid
import keras

for _name in ('activations', 'applications', 'backend', 'callbacks', 'constraints', 'datasets', 'initializers', 'layers', 'losses',
              'metrics', 'mixed_precision', 'models', 'optimizers', 'preprocessing', 'regularizers', 'utils', 'ops', 'saving'):
    if _name != 'applications' or _pellucid.find_module('keras.applications') is not None:
        if _name != 'applications':
            sys.modules['tensorflow.keras.' + _name] = _pellucid.import_module('keras.' + _name)
sys.modules[__name__] = keras
