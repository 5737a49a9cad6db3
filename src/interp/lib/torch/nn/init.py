"""Initial values. Nobody asks for them when a network is only looked at: what counts is that the shape permits them."""

import math
import warnings

import torch
from torch._abstract.core import changed
from torch._abstract.types import is_symbol


def _calculate_fan_in_and_fan_out(tensor):
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError('Fan in and fan out can not be computed for tensor with fewer than 2 dimensions')
    field = 1
    for n in shape[2:]:
        field = field * n
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ('fan_in', 'fan_out'):
        raise ValueError("Mode %s not supported, please use one of ['fan_in', 'fan_out']" % mode)
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == 'fan_in' else fan_out


def calculate_gain(nonlinearity, param=None):
    if nonlinearity == 'tanh':
        return 5.0 / 3
    if nonlinearity == 'relu':
        return math.sqrt(2.0)
    if nonlinearity == 'leaky_relu':
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity == 'selu':
        return 3.0 / 4
    return 1


def _random(tensor, *args, **kwargs):
    return changed(tensor, None)


def _random_matrix(tensor, *args, **kwargs):
    if len(tensor.shape) < 2 and not hasattr(tensor, 'cls_to_become'):
        raise ValueError('Fan in and fan out can not be computed for tensor with fewer than 2 dimensions')
    return changed(tensor, None)


def kaiming_uniform_(tensor, a=0, mode='fan_in', nonlinearity='leaky_relu', generator=None):
    if any([type(n) is int and n == 0 for n in tensor.shape]):
        warnings.warn('Initializing zero-element tensors is a no-op')
        return tensor
    return _random_matrix(tensor)


def constant_(tensor, val):
    return tensor.fill_(val)


def ones_(tensor):
    return tensor.fill_(1.0)


def zeros_(tensor):
    return tensor.zero_()


def eye_(tensor):
    if len(tensor.shape) != 2:
        raise ValueError('Only tensors with 2 dimensions are supported')
    return changed(tensor, None)


def dirac_(tensor, groups=1):
    if len(tensor.shape) not in (3, 4, 5):
        raise ValueError('Only tensors with 3, 4, or 5 dimensions are supported')
    return changed(tensor, None)


def orthogonal_(tensor, gain=1, generator=None):
    if len(tensor.shape) < 2:
        raise ValueError('Only tensors with 2 or more dimensions are supported')
    return changed(tensor, None)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    if len(tensor.shape) != 2:
        raise ValueError('Only tensors with 2 dimensions are supported')
    return changed(tensor, None)


uniform_ = normal_ = trunc_normal_ = _random
_no_grad_uniform_ = _no_grad_normal_ = _no_grad_trunc_normal_ = _random
xavier_uniform_ = xavier_normal_ = _random_matrix
kaiming_normal_ = kaiming_uniform_
_no_grad_fill_ = constant_
_no_grad_zero_ = zeros_
uniform = normal = _random
constant = constant_
eye = eye_
dirac = dirac_
xavier_uniform = xavier_normal = _random_matrix
kaiming_uniform = kaiming_normal = kaiming_uniform_
orthogonal = orthogonal_
sparse = sparse_
