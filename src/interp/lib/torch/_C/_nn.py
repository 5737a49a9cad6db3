from torch._abstract.layers import nn_functions

globals().update(nn_functions)
