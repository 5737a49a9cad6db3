"""functools."""

import _pellucid

WRAPPER_ASSIGNMENTS = ('__module__', '__name__', '__qualname__', '__doc__', '__annotations__')
WRAPPER_UPDATES = ('__dict__',)


class partial:
    def __new__(cls, func, /, *args, **keywords):
        if not _pellucid.is_symbol(func) and isinstance(func, partial):
            args = func.args + args
            keywords = {**func.keywords, **keywords}
            func = func.func
        self = object.__new__(cls)
        self.func = func
        self.args = args
        self.keywords = keywords
        return self

    def __call__(self, /, *args, **keywords):
        if self.keywords:
            return self.func(*self.args, *args, **{**self.keywords, **keywords})
        return self.func(*self.args, *args, **keywords)

    def __repr__(self):
        inside = [repr(self.func)] + [repr(x) for x in self.args] + ['%s=%r' % item for item in self.keywords.items()]
        return 'functools.partial(' + ', '.join(inside) + ')'

    def __deepcopy__(self, memo):
        from copy import deepcopy
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.args = deepcopy(self.args, memo)
        other.keywords = deepcopy(self.keywords, memo)
        return other


class partialmethod:
    def __init__(self, func, /, *args, **keywords):
        self.func = func
        self.args = args
        self.keywords = keywords

    def __get__(self, obj, cls=None):
        func = self.func.__get__(obj, cls) if hasattr(self.func, '__get__') else self.func
        return partial(func, *self.args, **self.keywords)


def update_wrapper(wrapper, wrapped, assigned=WRAPPER_ASSIGNMENTS, updated=WRAPPER_UPDATES):
    for name in assigned:
        try:
            value = getattr(wrapped, name)
        except AttributeError:
            continue
        setattr(wrapper, name, value)
    own = getattr(wrapped, '__dict__', None)
    if own and updated:
        wrapper.__dict__.update(own)
    wrapper.__wrapped__ = wrapped
    return wrapper


def wraps(wrapped, assigned=WRAPPER_ASSIGNMENTS, updated=WRAPPER_UPDATES):
    return lambda wrapper: update_wrapper(wrapper, wrapped, assigned, updated)


_nothing = object()


def reduce(function, sequence, initial=_nothing, /):
    items = iter(sequence)
    if initial is _nothing:
        for value in items:
            break
        else:
            raise TypeError('reduce() of empty iterable with no initial value')
    else:
        value = initial
    for item in items:
        value = function(value, item)
    return value


def lru_cache(maxsize=128, typed=False):
    if callable(maxsize):
        return _cached(maxsize)
    return _cached


def _cached(function):
    memory = {}

    def wrapper(*args, **kwargs):
        key = (args, tuple(kwargs.items())) if kwargs else args
        try:
            if key in memory:
                return memory[key]
        except TypeError:
            return function(*args, **kwargs)
        value = memory[key] = function(*args, **kwargs)
        return value

    wrapper.cache_clear = memory.clear
    wrapper.cache_info = lambda: (0, 0, None, len(memory))
    wrapper.cache_parameters = lambda: {'maxsize': None, 'typed': False}
    return update_wrapper(wrapper, function)


cache = _cached


class cached_property:
    def __init__(self, func):
        self.func = func
        self.attrname = None
        self.__doc__ = func.__doc__

    def __set_name__(self, owner, name):
        self.attrname = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        memory = instance.__dict__
        name = self.attrname
        if name not in memory:
            memory[name] = self.func(instance)
        return memory[name]


def total_ordering(cls):
    own = cls.__dict__
    if '__lt__' in own:
        cls.__gt__ = lambda self, other: not (self < other or self == other)
        cls.__le__ = lambda self, other: self < other or self == other
        cls.__ge__ = lambda self, other: not self < other
    elif '__gt__' in own:
        cls.__lt__ = lambda self, other: not (self > other or self == other)
        cls.__ge__ = lambda self, other: self > other or self == other
        cls.__le__ = lambda self, other: not self > other
    elif '__le__' in own:
        cls.__gt__ = lambda self, other: not self <= other
        cls.__lt__ = lambda self, other: self <= other and not self == other
        cls.__ge__ = lambda self, other: not self <= other or self == other
    elif '__ge__' in own:
        cls.__lt__ = lambda self, other: not self >= other
        cls.__gt__ = lambda self, other: self >= other and not self == other
        cls.__le__ = lambda self, other: not self >= other or self == other
    return cls


def cmp_to_key(compare):
    class Key:
        def __init__(self, obj):
            self.obj = obj

        def __lt__(self, other):
            return compare(self.obj, other.obj) < 0

        def __gt__(self, other):
            return compare(self.obj, other.obj) > 0

        def __eq__(self, other):
            return compare(self.obj, other.obj) == 0

    return Key


def singledispatch(function):
    registry = {object: function}

    def register(cls, func=None):
        if func is None:
            if isinstance(cls, type):
                return lambda f: register(cls, f)
            func = cls
            cls = list(func.__annotations__.values())[0]
        registry[cls] = func
        return func

    def dispatch(cls):
        for base in cls.__mro__:
            if base in registry:
                return registry[base]
        return function

    def wrapper(*args, **kwargs):
        return dispatch(type(args[0]))(*args, **kwargs)

    wrapper.register = register
    wrapper.dispatch = dispatch
    wrapper.registry = registry
    return update_wrapper(wrapper, function)


class singledispatchmethod:
    def __init__(self, func):
        self.dispatcher = singledispatch(func)

    def register(self, cls, method=None):
        return self.dispatcher.register(cls, method)

    def __get__(self, obj, cls=None):
        return lambda *args, **kwargs: self.dispatcher.dispatch(type(args[0])).__get__(obj, cls)(*args, **kwargs)
