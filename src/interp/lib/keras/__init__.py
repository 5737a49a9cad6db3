"""Keras: layers as a table with their weights. `keras.applications` is interpreted from its own source over this."""

import _pellucid
from keras._engine import Functional, Input, InputLayer, KerasTensor, Layer, Model, Sequential, Variable
from keras import activations, backend, initializers, layers, models, ops, regularizers, utils

__version__ = '3.15.1'


def version():
    return __version__


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.import_module('keras.' + name)
