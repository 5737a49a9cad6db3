"""The network is not reached; its errors can be named in `except`."""

import _pellucid

_made = {}


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    if name.endswith('Error') or name.endswith('Timeout') or name.endswith('Exception'):
        if name not in _made:
            _made[name] = type(name, (Exception,), {})
        return _made[name]
    return _pellucid.symbol('httpx.' + name)
