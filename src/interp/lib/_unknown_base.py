"""Classes that stand for bases which no source root has."""

from torch import nn

_made = {}


def like_module(name):
    if name not in _made:

        def __init__(self, *args, **kwargs):
            nn.Module.__init__(self)

        _made[name] = type(name.rpartition('.')[2], (nn.Module,), {'__init__': __init__, '__module__': name.rpartition('.')[0]})
    return _made[name]
