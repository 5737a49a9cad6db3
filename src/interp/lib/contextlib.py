"""Contexts."""

from abc import ABC
from functools import wraps


class AbstractContextManager(ABC):
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return None

    @classmethod
    def __subclasshook__(cls, subclass):
        if cls is AbstractContextManager:
            return hasattr(subclass, '__enter__') and hasattr(subclass, '__exit__')
        return NotImplemented

    def __class_getitem__(cls, item):
        return cls


class AbstractAsyncContextManager(ABC):
    def __class_getitem__(cls, item):
        return cls


class ContextDecorator:
    def _recreate_cm(self):
        return self

    def __call__(self, function):
        @wraps(function)
        def inner(*args, **kwargs):
            with self._recreate_cm():
                return function(*args, **kwargs)

        return inner


class _GeneratorContextManager(ContextDecorator, AbstractContextManager):
    def __init__(self, function, args, kwargs):
        self.gen = function(*args, **kwargs)
        self.function, self.args, self.kwargs = function, args, kwargs

    def _recreate_cm(self):
        return self.__class__(self.function, self.args, self.kwargs)

    def __enter__(self):
        try:
            return next(self.gen)
        except StopIteration:
            raise RuntimeError("generator didn't yield") from None

    def __exit__(self, kind, error, traceback):
        if kind is None:
            try:
                next(self.gen)
            except StopIteration:
                return False
            raise RuntimeError("generator didn't stop")
        if error is None:
            error = kind()
        try:
            self.gen.throw(error)
        except StopIteration as stop:
            return stop is not error
        except BaseException as raised:
            if raised is error:
                return False
            raise
        raise RuntimeError("generator didn't stop after throw()")


def contextmanager(function):
    @wraps(function)
    def helper(*args, **kwargs):
        return _GeneratorContextManager(function, args, kwargs)

    return helper


def asynccontextmanager(function):
    return function


class nullcontext(AbstractContextManager):
    def __init__(self, enter_result=None):
        self.enter_result = enter_result

    def __enter__(self):
        return self.enter_result

    def __exit__(self, *error):
        return None


class closing(AbstractContextManager):
    def __init__(self, thing):
        self.thing = thing

    def __enter__(self):
        return self.thing

    def __exit__(self, *error):
        self.thing.close()


class suppress(AbstractContextManager):
    _may_suppress = True

    def __init__(self, *exceptions):
        self.exceptions = exceptions

    def __enter__(self):
        return None

    def __exit__(self, kind, error, traceback):
        return kind is not None and issubclass(kind, self.exceptions)


class redirect_stdout(nullcontext):
    pass


class redirect_stderr(nullcontext):
    pass


class chdir(nullcontext):
    pass


class ExitStack(AbstractContextManager):
    def __init__(self):
        self._callbacks = []

    def enter_context(self, context):
        result = context.__enter__()
        self._callbacks.append(context.__exit__)
        return result

    def push(self, exit):
        self._callbacks.append(exit.__exit__ if hasattr(exit, '__exit__') else exit)
        return exit

    def callback(self, function, /, *args, **kwargs):
        self._callbacks.append(lambda *error: function(*args, **kwargs) and False)
        return function

    def pop_all(self):
        other = type(self)()
        other._callbacks, self._callbacks = self._callbacks, []
        return other

    def close(self):
        self.__exit__(None, None, None)

    def __exit__(self, kind, error, traceback):
        handled = False
        while self._callbacks:
            if self._callbacks.pop()(kind, error, traceback):
                handled = True
                kind = error = traceback = None
        return handled


AsyncExitStack = ExitStack
