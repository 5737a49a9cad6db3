"""Parameters and buffers: tensors that a module registers."""

import _pellucid
import torch
from torch._abstract.core import Tensor, changed
from torch._abstract.types import Size, cpu


class Parameter(Tensor):
    requires_grad = True

    def __init__(self, data=None, requires_grad=True):
        if data is None:
            data = torch.empty(0)
        self.shape = self._shape = data.shape
        self.dtype = self._dtype = data.dtype
        self._value = data._value
        self._storage = storage = data if data._storage is None else data._storage
        self._seen = storage._version
        if data.device is not cpu:
            self.device = data.device
        if requires_grad is not True:
            self.requires_grad = requires_grad
        elif not _pellucid.is_symbol(data) and data.dtype.kind < 2:
            raise RuntimeError('Only Tensors of floating point and complex dtype can require gradients')

    def __repr__(self):
        return 'Parameter containing:\n' + Tensor.__repr__(self)


class Buffer(Tensor):
    def __init__(self, data=None, persistent=True):
        if data is None:
            data = torch.empty(0)
        self.shape = self._shape = data.shape
        self.dtype = self._dtype = data.dtype
        self._value = data._value
        self._storage = storage = data if data._storage is None else data._storage
        self._seen = storage._version
        if data.device is not cpu:
            self.device = data.device
        self.persistent = persistent
        self._is_buffer = True


class UninitializedTensorMixin:
    """A parameter whose shape is found by the first forward."""

    def materialize(self, shape, device=None, dtype=None):
        self.shape = self._shape = Size(shape)
        if dtype is not None:
            self.dtype = self._dtype = dtype
        self.__class__ = self.cls_to_become
        changed(self, None)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    cls_to_become = Parameter

    def __init__(self, requires_grad=True, device=None, dtype=None):
        Parameter.__init__(self, torch.empty(0, device=device, dtype=dtype), requires_grad)
        self._shape = None


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    cls_to_become = Tensor

    def __init__(self, requires_grad=False, device=None, dtype=None, persistent=True):
        Tensor.__init__(self)
        if dtype is not None:
            self.dtype = self._dtype = dtype
        self.persistent = persistent
        self._is_buffer = True
        self._shape = None


def is_lazy(param):
    return isinstance(param, UninitializedTensorMixin)
