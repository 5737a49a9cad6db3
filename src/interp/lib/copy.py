"""copy and deepcopy."""

import _pellucid

_native = _pellucid.types()
_ATOMS = {int, float, bool, complex, str, bytes, type, range, slice, property, type(None), type(...),
          type(NotImplemented), _native['function'], _native['builtin'], _native['code'], _native['module']}
_new = object.__new__
_ROOT = 'root'  # in a memo, whose other keys are numbers: what the copy began with


class Error(Exception):
    pass


error = Error


def copy(x):
    cls = type(x)
    if cls in _ATOMS or cls is tuple or cls is frozenset or isinstance(x, type):
        return x
    if cls in (list, dict, set, bytearray):
        return x.copy()
    own = getattr(cls, '__copy__', None)
    if own is not None:
        y = own(x)
    elif _pellucid.is_symbol(x):
        return x
    else:
        y = _rebuild(x, cls, None)
    _pellucid.copied(x, y, x)
    return y


def deepcopy(x, memo=None):
    cls = type(x)
    if cls in _ATOMS:
        return x
    if memo is None:
        memo = {_ROOT: x}
    key = id(x)
    if key in memo:
        return memo[key]
    if cls is list:
        y = memo[key] = []
        for item in x:
            y.append(deepcopy(item, memo))
        return y
    if cls is dict:
        y = memo[key] = {}
        for name, item in x.items():
            y[name if type(name) is str else deepcopy(name, memo)] = deepcopy(item, memo)
        return y
    if cls is tuple:
        items = [deepcopy(item, memo) for item in x]
        for a, b in zip(x, items):
            if a is not b:
                y = memo[key] = tuple(items)
                return y
        return x
    if isinstance(x, type):
        return x
    if cls is set or cls is frozenset:
        y = memo[key] = cls([deepcopy(item, memo) for item in x])
        return y
    if cls is bytearray:
        return x.copy()
    if cls is _native['method']:
        return _pellucid.make_method(x.__func__, deepcopy(x.__self__, memo))
    own = getattr(cls, '__deepcopy__', None)
    if own is not None:
        y = own(x, memo)
    elif _pellucid.is_symbol(x):
        return x
    else:
        y = _rebuild(x, cls, memo)
    _pellucid.copied(x, y, memo.get(_ROOT, x))
    memo[key] = y
    return y


def _rebuild(x, cls, memo):
    """A new object with the same state: what __reduce_ex__ describes, without pickling."""
    keep = (lambda value: value) if memo is None else (lambda value: deepcopy(value, memo))
    for base in cls.__mro__:
        if base is object:
            break
        if '__reduce__' in base.__dict__ or '__reduce_ex__' in base.__dict__:
            reduced = x.__reduce_ex__(4) if '__reduce_ex__' in base.__dict__ else x.__reduce__()
            if isinstance(reduced, str):
                return x
            return _from_reduced(reduced, keep)
    if isinstance(x, dict):
        y = cls.__new__(cls)
        if memo is not None:
            memo[id(x)] = y
        _copy_state(x, y, cls, keep)
        for name, item in dict.items(x):
            dict.__setitem__(y, keep(name), keep(item))
        return y
    if isinstance(x, list):
        y = cls.__new__(cls)
        if memo is not None:
            memo[id(x)] = y
        list.extend(y, [keep(item) for item in list.__iter__(x)])
    elif isinstance(x, tuple):
        y = tuple.__new__(cls, [keep(item) for item in x])
    elif isinstance(x, (set, frozenset)):
        y = cls([keep(item) for item in x])
    elif isinstance(x, str):
        y = str.__new__(cls, x)
    elif isinstance(x, int):
        y = int.__new__(cls, x)
    elif isinstance(x, float):
        y = float.__new__(cls, x)
    elif isinstance(x, BaseException):
        y = cls.__new__(cls, *x.args)
    else:
        given = getattr(cls, '__getnewargs__', None)
        y = cls.__new__(cls, *given(x)) if given is not None else _new(cls)
        if memo is not None:
            memo[id(x)] = y
    _copy_state(x, y, cls, keep)
    return y


def _copy_state(x, y, cls, keep):
    getter = _pellucid.lookup(cls, '__getstate__')
    if getter is not None and getter is not _pellucid.lookup(object, '__getstate__'):
        state = keep(x.__getstate__())
    else:
        own = _pellucid.get_dict(x)
        state = keep(dict(own)) if own is not None else None
        for base in cls.__mro__:
            slots = base.__dict__.get('__slots__', ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ('__dict__', '__weakref__') and hasattr(x, name):
                    object.__setattr__(y, name, keep(getattr(x, name)))
    if state is None:
        return
    if hasattr(cls, '__setstate__'):
        y.__setstate__(state)
    elif isinstance(state, dict):
        y.__dict__.update(state)


def _from_reduced(reduced, keep):
    function, args = reduced[0], reduced[1]
    y = function(*[keep(arg) for arg in args])
    if len(reduced) > 2 and reduced[2] is not None:
        state = keep(reduced[2])
        if hasattr(y, '__setstate__'):
            y.__setstate__(state)
        else:
            y.__dict__.update(state)
    if len(reduced) > 3 and reduced[3] is not None:
        for item in reduced[3]:
            y.append(keep(item))
    if len(reduced) > 4 and reduced[4] is not None:
        for name, item in reduced[4]:
            y[keep(name)] = keep(item)
    return y


def replace(obj, /, **changes):
    return obj.__replace__(**changes)
