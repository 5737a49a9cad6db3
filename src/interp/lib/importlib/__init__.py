"""Imports by name."""

import sys

import _pellucid
from importlib import machinery, util


def import_module(name, package=None):
    return _pellucid.import_module(name, package)


def reload(module):
    return module


def invalidate_caches():
    pass


def __import__(name, globals=None, locals=None, fromlist=(), level=0):
    module = _pellucid.import_module(name)
    return module if fromlist else sys.modules[name.partition('.')[0]]


def __getattr__(name):
    if name in ('abc', 'metadata', 'resources'):
        return _pellucid.import_module('importlib.' + name)
    raise AttributeError(name)
