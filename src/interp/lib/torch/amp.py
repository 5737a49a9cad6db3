"""Mixed precision: contexts and decorators without effect on shapes."""

import _pellucid
from torch import autocast


def custom_fwd(function=None, **kwargs):
    return function if function is not None else lambda f: f


custom_bwd = custom_fwd


def is_autocast_available(device_type):
    return True


class GradScaler:
    def __init__(self, *args, **kwargs):
        pass

    def scale(self, outputs):
        return outputs


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('torch.amp.' + name)
