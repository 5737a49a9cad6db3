"""Gradients are not computed; functions with a backward of their own still have a forward."""

import _pellucid
from torch._abstract.core import Tensor
from torch.autograd.function import Function
from torch.autograd import function

Variable = Tensor


def grad(outputs, inputs, *args, **kwargs):
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    from torch import empty_like
    return tuple(empty_like(x) for x in inputs)


def backward(*args, **kwargs):
    pass


def __getattr__(name):
    if name in ('no_grad', 'enable_grad', 'set_grad_enabled', 'inference_mode'):
        import torch
        return getattr(torch, name)
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('torch.autograd.' + name)
