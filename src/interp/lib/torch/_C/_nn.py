import _pellucid

from torch._abstract.layers import nn_functions

_pellucid.name_apart(nn_functions)
globals().update(nn_functions)
