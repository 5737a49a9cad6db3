"""Warnings are nothing here."""

filters = []


def warn(message, category=None, stacklevel=1, source=None, **kwargs):
    pass


def warn_explicit(*args, **kwargs):
    pass


def simplefilter(action, category=Warning, lineno=0, append=False):
    pass


def filterwarnings(action, message='', category=Warning, module='', lineno=0, append=False):
    pass


def resetwarnings():
    pass


def showwarning(*args, **kwargs):
    pass


def formatwarning(message, category, filename, lineno, line=None):
    return str(message)


class catch_warnings:
    def __init__(self, *, record=False, module=None, action=None, category=Warning, lineno=0, append=False):
        self.record = record

    def __enter__(self):
        return [] if self.record else None

    def __exit__(self, *error):
        return False


class deprecated:
    def __init__(self, message, /, *, category=DeprecationWarning, stacklevel=1):
        self.message = message

    def __call__(self, thing, /):
        return thing
