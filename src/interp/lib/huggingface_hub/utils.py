"""Helpers of the hub's client: errors are classes, the rest are names."""

import sys

import _pellucid
from huggingface_hub import errors


class SafetensorsRepoMetadata:
    pass


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    if name.endswith('Error') or name.endswith('Exception'):
        return getattr(errors, name)
    return _pellucid.symbol('huggingface_hub.utils.' + name)


def validate_hf_hub_args(function):
    return function


def is_offline_mode():
    return True


httpx = _pellucid.import_module('httpx')


def are_progress_bars_disabled():
    return True


def disable_progress_bars(name=None):
    pass


enable_progress_bars = disable_progress_bars
