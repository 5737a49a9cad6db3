"""Subclasses that override functions: none here."""

from torch._abstract.core import Tensor


def has_torch_function(relevant_args):
    return False


def has_torch_function_unary(x):
    return False


def has_torch_function_variadic(*args):
    return False


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    return public_api(*args, **kwargs)


def is_tensor_like(x):
    return isinstance(x, Tensor) or hasattr(type(x), '__torch_function__')


def get_default_nowrap_functions():
    return set()


def wrap_torch_function(dispatcher):
    return lambda function: function


def resolve_name(function):
    return getattr(function, '__name__', None)


class TorchFunctionMode:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


BaseTorchFunctionMode = TorchFunctionMode
