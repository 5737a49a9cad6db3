"""torch.utils."""

import _pellucid

_SUBMODULES = {'hooks', 'data', 'checkpoint', '_pytree', 'model_zoo', 'cpp_extension', 'dlpack', 'tensorboard', 'weak',
               'bundled_inputs', 'mobile_optimizer', 'backend_registration', '_python_dispatch', 'collect_env',
               'flop_counter', 'benchmark', 'mkldnn', '_device', '_foreach_utils', 'serialization', 'deterministic'}


def swap_tensors(a, b):
    a.__dict__, b.__dict__ = b.__dict__, a.__dict__


def set_module(obj, mod):
    obj.__module__ = mod


def rename_privateuse1_backend(name):
    pass


def __getattr__(name):
    if name in _SUBMODULES:
        return _pellucid.import_module('torch.utils.' + name)
    raise AttributeError("module 'torch.utils' has no attribute '" + name + "'")
