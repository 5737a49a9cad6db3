"""Every error by the name it is asked for."""

_made = {}


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    if name not in _made:
        _made[name] = type(name, (Exception,), {'__module__': 'huggingface_hub.errors'})
    return _made[name]
