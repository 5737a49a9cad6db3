"""The C extension, by the names that Python sources take from it."""

import enum

import _pellucid
from torch._abstract.core import Tensor
from torch._abstract.types import Size, device, dtype, layout, memory_format
from torch._C import _nn

_TensorMeta = type
TensorBase = Tensor


def _add_docstr(obj, text):
    return obj


def _disabled_torch_function_impl(cls, function, types, args=(), kwargs=None):
    return function(*args, **(kwargs or {}))


_disabled_torch_dispatch_impl = _disabled_torch_function_impl


def _nothing(*args, **kwargs):
    return None


def _no(*args, **kwargs):
    return False


_get_tracing_state = _log_api_usage_once = _set_grad_enabled = _nothing
_is_any_autocast_enabled = _is_torch_function_enabled = _is_tracing = _has_torch_function = _no
_is_torch_function_mode_enabled = _is_fwd_grad_enabled = _has_torch_function_unary = _has_torch_function_variadic = _no
_pellucid.name_apart(globals())


def _get_privateuse1_backend_name():
    return 'privateuseone'


def _get_accelerator(check=None):
    return device('cpu')


def _len_torch_function_stack():
    return 0


class _SDPBackend(enum.IntEnum):
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


class _ScalingType(enum.IntEnum):
    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class _SwizzleType(enum.IntEnum):
    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


class ScriptMethod:
    pass


class ScriptModule:
    pass


class ScriptFunction:
    pass


class Generator:
    pass


class Future:
    pass


class Value:
    pass


class Graph:
    pass


class Node:
    pass


class DisableTorchFunctionSubclass:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


DisableTorchFunction = _ExcludeDispatchKeyGuard = DisableTorchFunctionSubclass


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('torch._C.' + name)
