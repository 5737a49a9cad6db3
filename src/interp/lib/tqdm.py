"""Progress bars: the iterable itself."""

import sys

import _pellucid


class tqdm:
    def __init__(self, iterable=None, *args, **kwargs):
        self.iterable = iterable

    def __iter__(self):
        return iter(self.iterable)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def trange(*args, **kwargs):
    return range(*args)


contrib = sys.modules['tqdm.contrib'] = _pellucid.symbol_module('tqdm.contrib')
for _name in ('auto', 'std', 'notebook', 'asyncio'):
    globals()[_name] = sys.modules['tqdm.' + _name] = sys.modules[__name__]
