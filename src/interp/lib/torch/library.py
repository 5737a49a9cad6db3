"""Registration of operators: decorators that keep the Python function."""

import _pellucid


def _decorator(*args, **kwargs):
    return lambda function: function


def custom_op(name, fn=None, **kwargs):
    def wrap(function):
        function.register_fake = function.register_kernel = function.register_autograd = lambda f=None, *a, **k: f
        return function

    return wrap(fn) if fn is not None else wrap


triton_op = custom_op
register_fake = register_kernel = register_autograd = impl = impl_abstract = register_torch_dispatch = register_vmap = _decorator
wrap_triton = lambda function: function
register_fake_class = lambda name: (lambda cls: cls)


def define(*args, **kwargs):
    return lambda function: function


class Library:
    def __init__(self, ns, kind, dispatch_key=''):
        self.ns = ns

    def define(self, *args, **kwargs):
        pass

    def impl(self, *args, **kwargs):
        pass

    _register_fake = impl


def get_ctx():
    return _pellucid.symbol('torch.library.get_ctx()')


def opcheck(*args, **kwargs):
    return {}
