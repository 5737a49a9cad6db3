"""Functional transforms."""

import _pellucid


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, **options):
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    return module(*args, **(kwargs or {}))


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('torch.func.' + name)
