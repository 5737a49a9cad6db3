"""Operators by namespace."""

import sys
from types import ModuleType

import _pellucid
from torch._abstract.layers import nn_functions
from torch._abstract.pointwise import functions


class _Namespace:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        if self._name == 'aten':
            function = functions.get(name) or nn_functions.get(name)
            if function is not None:
                return function
        return _pellucid.symbol('torch.ops.%s.%s' % (self._name, name))


aten = _Namespace('aten')


def load_library(path):
    pass


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _Namespace(name)
