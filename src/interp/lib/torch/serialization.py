"""Files of weights are not read."""

import _pellucid


def add_safe_globals(items):
    pass


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('torch.serialization.' + name)
