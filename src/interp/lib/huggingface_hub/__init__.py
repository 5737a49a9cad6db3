"""The hub is not reached: names, errors that can be caught, and strict dataclasses."""

import sys

import _pellucid
from huggingface_hub import dataclasses, errors

_module = _pellucid.symbol_module(__name__)
_module.__version__ = '2.4.0'
_module.dataclasses = dataclasses
_module.errors = errors
_module.is_offline_mode = lambda: True
_module.constants = _pellucid.import_module('huggingface_hub.constants')
sys.modules[__name__] = _module
