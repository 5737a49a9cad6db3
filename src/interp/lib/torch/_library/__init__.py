import _pellucid


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('torch._library.' + name)
