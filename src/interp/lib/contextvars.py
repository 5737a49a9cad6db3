"""Variables of a context: there is one."""

_missing = object()


class Token:
    MISSING = _missing

    def __init__(self, var, old):
        self.var = var
        self.old_value = old


class ContextVar:
    def __init__(self, name, *, default=_missing):
        self.name = name
        self._value = self._default = default

    def get(self, default=_missing):
        if self._value is not _missing:
            return self._value
        if default is not _missing:
            return default
        raise LookupError(self.name)

    def set(self, value):
        token = Token(self, self._value)
        self._value = value
        return token

    def reset(self, token):
        self._value = token.old_value

    def __class_getitem__(cls, item):
        return cls


class Context(dict):
    def run(self, function, *args, **kwargs):
        return function(*args, **kwargs)


def copy_context():
    return Context()
