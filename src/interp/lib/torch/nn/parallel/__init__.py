"""Wrappers that run a module on several devices; here there is one."""

import _pellucid
from torch.nn.modules.module import Module


class DataParallel(Module):
    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    def __init__(self, module, *args, **kwargs):
        super().__init__()
        self.module = module

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


def __getattr__(name):
    if name in ('scatter', 'gather', 'replicate', 'parallel_apply', 'distributed'):
        return _pellucid.symbol('torch.nn.parallel.' + name)
    raise AttributeError(name)


# torch imports these as a side effect, and models say nn.quantized without an import of it.
from torch.nn import intrinsic, qat, quantizable, quantized
