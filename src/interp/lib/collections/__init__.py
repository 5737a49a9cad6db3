"""collections."""

from keyword import iskeyword
import sys

from collections import abc


class OrderedDict(dict):
    def move_to_end(self, key, last=True):
        value = self.pop(key)
        if last:
            self[key] = value
        else:
            items = list(self.items())
            self.clear()
            self[key] = value
            self.update(items)

    def popitem(self, last=True):
        if not self:
            raise KeyError('dictionary is empty')
        key = list(self)[-1 if last else 0]
        return key, self.pop(key)

    def copy(self):
        return self.__class__(self)

    def __repr__(self):
        return '%s(%s)' % (type(self).__name__, repr(dict(self)) if self else '')

    def __eq__(self, other):
        if isinstance(other, OrderedDict):
            return dict.__eq__(self, other) and list(self) == list(other)
        return dict.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    @classmethod
    def fromkeys(cls, iterable, value=None):
        self = cls()
        for key in iterable:
            self[key] = value
        return self


class defaultdict(dict):
    def __init__(self, default_factory=None, *args, **kwargs):
        dict.__init__(self, *args, **kwargs)
        self.default_factory = default_factory

    def __missing__(self, key):
        if self.default_factory is None:
            raise KeyError(key)
        value = self[key] = self.default_factory()
        return value

    def copy(self):
        return type(self)(self.default_factory, self)

    __copy__ = copy

    def __repr__(self):
        return 'defaultdict(%r, %s)' % (self.default_factory, dict.__repr__(self))


class deque:
    def __init__(self, iterable=(), maxlen=None):
        self.maxlen = maxlen
        self._items = list(iterable)
        if maxlen is not None:
            del self._items[:max(0, len(self._items) - maxlen)]

    def append(self, x):
        self._items.append(x)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[0]

    def appendleft(self, x):
        self._items.insert(0, x)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[-1]

    def extend(self, iterable):
        for x in iterable:
            self.append(x)

    def extendleft(self, iterable):
        for x in iterable:
            self.appendleft(x)

    def pop(self):
        if not self._items:
            raise IndexError('pop from an empty deque')
        return self._items.pop()

    def popleft(self):
        if not self._items:
            raise IndexError('pop from an empty deque')
        return self._items.pop(0)

    def clear(self):
        self._items.clear()

    def copy(self):
        return type(self)(self._items, self.maxlen)

    def remove(self, x):
        self._items.remove(x)

    def insert(self, i, x):
        self._items.insert(i, x)

    def index(self, *args):
        return self._items.index(*args)

    def count(self, x):
        return self._items.count(x)

    def reverse(self):
        self._items.reverse()

    def rotate(self, n=1):
        if self._items:
            n = n % len(self._items)
            self._items = self._items[-n:] + self._items[:-n] if n else self._items

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __reversed__(self):
        return reversed(self._items)

    def __contains__(self, x):
        return x in self._items

    def __getitem__(self, i):
        return self._items[i]

    def __setitem__(self, i, x):
        self._items[i] = x

    def __delitem__(self, i):
        del self._items[i]

    def __bool__(self):
        return bool(self._items)

    def __eq__(self, other):
        return isinstance(other, deque) and self._items == other._items

    __hash__ = None

    def __iadd__(self, iterable):
        self.extend(iterable)
        return self

    def __repr__(self):
        return 'deque(%r)' % self._items

    def __class_getitem__(cls, item):
        return cls


class Counter(dict):
    def __init__(self, iterable=None, **kwargs):
        dict.__init__(self)
        self.update(iterable, **kwargs)

    def __missing__(self, key):
        return 0

    def update(self, iterable=None, **kwargs):
        if iterable is not None:
            if isinstance(iterable, dict):
                for key, n in iterable.items():
                    self[key] = self.get(key, 0) + n
            else:
                for key in iterable:
                    self[key] = self.get(key, 0) + 1
        for key, n in kwargs.items():
            self[key] = self.get(key, 0) + n

    def subtract(self, iterable=()):
        items = iterable.items() if isinstance(iterable, dict) else [(key, 1) for key in iterable]
        for key, n in items:
            self[key] = self.get(key, 0) - n

    def most_common(self, n=None):
        ranked = sorted(self.items(), key=lambda item: item[1], reverse=True)
        return ranked if n is None else ranked[:n]

    def elements(self):
        for key, n in self.items():
            for _ in range(n):
                yield key

    def total(self):
        return sum(self.values())

    def copy(self):
        return type(self)(self)

    def __add__(self, other):
        result = Counter(self)
        result.update(other)
        return result

    def __sub__(self, other):
        result = Counter()
        for key, n in self.items():
            if n - other[key] > 0:
                result[key] = n - other[key]
        return result


class _Field:
    def __init__(self, index):
        self.index = index

    def __get__(self, obj, cls=None):
        return self if obj is None else tuple.__getitem__(obj, self.index)


def namedtuple(typename, field_names, *, rename=False, defaults=None, module=None):
    if isinstance(field_names, str):
        field_names = field_names.replace(',', ' ').split()
    names = [str(name) for name in field_names]
    if rename:
        names = ['_%d' % i if not name.isidentifier() or iskeyword(name) or name.startswith('_') or name in names[:i] else name
                 for i, name in enumerate(names)]
    fields = tuple(names)
    n = len(fields)
    given = {} if not defaults else dict(zip(fields[n - len(tuple(defaults)):], defaults))

    def __new__(cls, *args, **kwargs):
        if len(args) == n and not kwargs:
            return tuple.__new__(cls, args)
        if len(args) > n:
            raise TypeError('%s() takes %d positional arguments but %d were given' % (typename, n + 1, len(args) + 1))
        values = list(args)
        for name in fields[len(args):]:
            if name in kwargs:
                values.append(kwargs.pop(name))
            elif name in given:
                values.append(given[name])
            else:
                raise TypeError("%s() missing required argument: '%s'" % (typename, name))
        if kwargs:
            raise TypeError("%s() got an unexpected keyword argument '%s'" % (typename, list(kwargs)[0]))
        return tuple.__new__(cls, values)

    def _make(cls, iterable):
        return tuple.__new__(cls, iterable)

    def _replace(self, **kwargs):
        result = self._make([kwargs.pop(name, value) for name, value in zip(fields, self)])
        if kwargs:
            raise ValueError('Got unexpected field names: %r' % list(kwargs))
        return result

    def _asdict(self):
        return dict(zip(fields, self))

    def __repr__(self):
        return '%s(%s)' % (type(self).__name__, ', '.join(['%s=%r' % item for item in zip(fields, self)]))

    def __getnewargs__(self):
        return tuple(self)

    body = {'__slots__': (), '_fields': fields, '_field_defaults': given, '__new__': __new__, '_make': classmethod(_make),
            '_replace': _replace, '_asdict': _asdict, '__repr__': __repr__, '__getnewargs__': __getnewargs__,
            '__match_args__': fields, '__doc__': typename}
    for i, name in enumerate(fields):
        body[name] = _Field(i)
    cls = type(typename, (tuple,), body)
    if module is not None:
        cls.__module__ = module
    else:
        cls.__module__ = sys._getframe(1).f_globals.get('__name__', '__main__')
    return cls


class ChainMap(abc.MutableMapping):
    def __init__(self, *maps):
        self.maps = list(maps) or [{}]

    def __getitem__(self, key):
        for mapping in self.maps:
            if key in mapping:
                return mapping[key]
        raise KeyError(key)

    def __setitem__(self, key, value):
        self.maps[0][key] = value

    def __delitem__(self, key):
        del self.maps[0][key]

    def __iter__(self):
        keys = {}
        for mapping in reversed(self.maps):
            keys.update(dict.fromkeys(mapping))
        return iter(keys)

    def __len__(self):
        return len(list(iter(self)))

    def new_child(self, m=None):
        return ChainMap({} if m is None else m, *self.maps)


class UserDict(abc.MutableMapping):
    def __init__(self, dict=None, /, **kwargs):
        self.data = {}
        if dict is not None:
            self.update(dict)
        if kwargs:
            self.update(kwargs)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, key):
        if key in self.data:
            return self.data[key]
        if hasattr(self.__class__, '__missing__'):
            return self.__class__.__missing__(self, key)
        raise KeyError(key)

    def __setitem__(self, key, item):
        self.data[key] = item

    def __delitem__(self, key):
        del self.data[key]

    def __iter__(self):
        return iter(self.data)

    def __contains__(self, key):
        return key in self.data

    def __repr__(self):
        return repr(self.data)

    def copy(self):
        return self.__class__(self.data)


class UserList(abc.MutableSequence):
    def __init__(self, initlist=None):
        self.data = list(initlist or ())

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]

    def __setitem__(self, i, item):
        self.data[i] = item

    def __delitem__(self, i):
        del self.data[i]

    def insert(self, i, item):
        self.data.insert(i, item)


class UserString(str):
    pass
