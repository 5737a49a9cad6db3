"""The names that Keras' own sources import from each other."""

import sys

import _pellucid
import keras
from keras import activations, backend, initializers, layers, models, ops, regularizers, utils

for _name in ('activations', 'backend', 'initializers', 'layers', 'models', 'ops', 'regularizers', 'utils'):
    sys.modules['keras.src.' + _name] = getattr(keras, _name)
saving = sys.modules['keras.src.saving'] = _pellucid.symbol_module('keras.src.saving')
random = sys.modules['keras.src.random'] = _pellucid.symbol_module('keras.src.random')


def _module(name, **attributes):
    made = sys.modules[name] = _pellucid.symbol_module(name)
    for key, value in attributes.items():
        setattr(made, key, value)
    return made


def _export(path, **kwargs):
    return lambda thing: thing


api_export = _module('keras.src.api_export', keras_export=_export)
_module('keras.src.layers.layer', Layer=keras.Layer)
_file_utils = _module('keras.src.utils.file_utils', exists=lambda path: False)
utils.file_utils = _file_utils
ops.operation_utils = _module('keras.src.ops.operation_utils', get_source_inputs=utils.get_source_inputs)
