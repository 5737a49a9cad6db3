"""Constructors of torch's own source that check their sizes: sizes that are symbols are taken as they are."""

import _pellucid
import torch
from torch.nn.modules.activation import MultiheadAttention
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.module import Module
from torch.nn.modules.normalization import GroupNorm, LayerNorm, RMSNorm
from torch.nn.modules.rnn import RNNBase
from torch.nn.parameter import Parameter

is_symbol = _pellucid.is_symbol


def _or_own(cls, n):
    """The first n sizes decide: with a symbol among them, the constructor that asks nothing of them runs."""
    checked = cls.__init__
    name = cls.__name__

    def __init__(self, *args, **kwargs):
        for x in args[:n]:
            if is_symbol(x):
                break
        else:
            for x in kwargs.values():
                if is_symbol(x):
                    break
            else:
                checked(self, *args, **kwargs)
                return
        getattr(_pellucid.import_module('torch.nn._own_layers'), name).__init__(self, *args, **kwargs)

    __init__.__wrapped__ = checked
    cls.__init__ = __init__


_or_own(LayerNorm, 1)
_or_own(RMSNorm, 1)
_or_own(GroupNorm, 2)
_or_own(MultiheadAttention, 2)
_or_own(RNNBase, 4)
_checked_conv = _ConvNd.__init__


def _conv(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias,
          padding_mode, device=None, dtype=None):
    if not (is_symbol(in_channels) or is_symbol(out_channels) or is_symbol(groups)):
        _checked_conv(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups,
                      bias, padding_mode, device, dtype)
        return
    Module.__init__(self)
    self.in_channels, self.out_channels, self.kernel_size, self.stride = in_channels, out_channels, kernel_size, stride
    self.padding, self.dilation, self.transposed, self.output_padding = padding, dilation, transposed, output_padding
    self.groups, self.padding_mode = groups, padding_mode
    first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
    if type(groups) is not int or groups != 1:
        second = second // groups
    self.weight = Parameter(torch.empty((first, second) + tuple(kernel_size), device=device, dtype=dtype))
    if bias:
        self.bias = Parameter(torch.empty(out_channels, device=device, dtype=dtype))
    else:
        self.register_parameter('bias', None)


_conv.__wrapped__ = _checked_conv
_ConvNd.__init__ = _conv
