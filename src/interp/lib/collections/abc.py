"""The abstract collections and their mixins."""

from abc import ABCMeta


def _methods(subclass, names):
    for name in names:
        for base in getattr(subclass, '__mro__', ()):
            if name in base.__dict__:
                if base.__dict__[name] is None:
                    return NotImplemented
                break
        else:
            return NotImplemented
    return True


class _Generic:
    def __class_getitem__(cls, item):
        return _Alias(cls, item if isinstance(item, tuple) else (item,))


class _Alias:
    """Sequence[int]: the class with arguments nobody checks."""

    def __init__(self, origin, args):
        self.__origin__ = origin
        self.__args__ = args

    def __mro_entries__(self, bases):
        return (self.__origin__,)

    def __or__(self, other):
        from typing import Union
        return Union[self, other]

    def __ror__(self, other):
        from typing import Union
        return Union[other, self]

    def __getitem__(self, item):
        return self

    def __call__(self, *args, **kwargs):
        return self.__origin__(*args, **kwargs)

    def __eq__(self, other):
        return isinstance(other, _Alias) and self.__origin__ is other.__origin__ and self.__args__ == other.__args__

    def __hash__(self):
        return hash((self.__origin__, self.__args__))

    def __repr__(self):
        return '%s%s' % (self.__origin__.__name__, list(self.__args__))

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return getattr(self.__origin__, name)


class Hashable(_Generic, metaclass=ABCMeta):
    __slots__ = ()

    @classmethod
    def __subclasshook__(cls, subclass):
        return _methods(subclass, ('__hash__',)) if cls is Hashable else NotImplemented


class Iterable(_Generic, metaclass=ABCMeta):
    __slots__ = ()

    @classmethod
    def __subclasshook__(cls, subclass):
        return _methods(subclass, ('__iter__',)) if cls is Iterable else NotImplemented


class Iterator(Iterable):
    __slots__ = ()

    def __iter__(self):
        return self

    @classmethod
    def __subclasshook__(cls, subclass):
        return _methods(subclass, ('__iter__', '__next__')) if cls is Iterator else NotImplemented


class Generator(Iterator):
    __slots__ = ()

    @classmethod
    def __subclasshook__(cls, subclass):
        return _methods(subclass, ('__iter__', '__next__', 'send', 'throw', 'close')) if cls is Generator else NotImplemented


class Reversible(Iterable):
    __slots__ = ()

    @classmethod
    def __subclasshook__(cls, subclass):
        return _methods(subclass, ('__reversed__', '__iter__')) if cls is Reversible else NotImplemented


class Sized(_Generic, metaclass=ABCMeta):
    __slots__ = ()

    @classmethod
    def __subclasshook__(cls, subclass):
        return _methods(subclass, ('__len__',)) if cls is Sized else NotImplemented


class Container(_Generic, metaclass=ABCMeta):
    __slots__ = ()

    @classmethod
    def __subclasshook__(cls, subclass):
        return _methods(subclass, ('__contains__',)) if cls is Container else NotImplemented


class Callable(_Generic, metaclass=ABCMeta):
    __slots__ = ()

    @classmethod
    def __subclasshook__(cls, subclass):
        return _methods(subclass, ('__call__',)) if cls is Callable else NotImplemented


class Awaitable(_Generic, metaclass=ABCMeta):
    __slots__ = ()

    @classmethod
    def __subclasshook__(cls, subclass):
        return _methods(subclass, ('__await__',)) if cls is Awaitable else NotImplemented


class Coroutine(Awaitable):
    __slots__ = ()


class AsyncIterable(_Generic, metaclass=ABCMeta):
    __slots__ = ()


class AsyncIterator(AsyncIterable):
    __slots__ = ()


class AsyncGenerator(AsyncIterator):
    __slots__ = ()


class Buffer(_Generic, metaclass=ABCMeta):
    __slots__ = ()


class Collection(Sized, Iterable, Container):
    __slots__ = ()

    @classmethod
    def __subclasshook__(cls, subclass):
        return _methods(subclass, ('__len__', '__iter__', '__contains__')) if cls is Collection else NotImplemented


class Sequence(Reversible, Collection):
    __slots__ = ()

    def __iter__(self):
        i = 0
        try:
            while True:
                yield self[i]
                i += 1
        except IndexError:
            return

    def __contains__(self, value):
        for item in self:
            if item is value or item == value:
                return True
        return False

    def __reversed__(self):
        for i in range(len(self) - 1, -1, -1):
            yield self[i]

    def index(self, value, start=0, stop=None):
        for i in range(start, len(self) if stop is None else stop):
            if self[i] is value or self[i] == value:
                return i
        raise ValueError

    def count(self, value):
        return sum([1 for item in self if item is value or item == value])


class MutableSequence(Sequence):
    __slots__ = ()

    def append(self, value):
        self.insert(len(self), value)

    def extend(self, values):
        for value in list(values):
            self.append(value)

    def pop(self, index=-1):
        value = self[index]
        del self[index]
        return value

    def remove(self, value):
        del self[self.index(value)]

    def clear(self):
        while len(self):
            self.pop()

    def reverse(self):
        items = list(self)[::-1]
        for i, item in enumerate(items):
            self[i] = item

    def __iadd__(self, values):
        self.extend(values)
        return self


class Set(Collection):
    __slots__ = ()

    @classmethod
    def _from_iterable(cls, iterable):
        return cls(iterable)

    def __le__(self, other):
        return len(self) <= len(other) and all([item in other for item in self])

    def __lt__(self, other):
        return len(self) < len(other) and self <= other

    def __ge__(self, other):
        return len(self) >= len(other) and all([item in self for item in other])

    def __gt__(self, other):
        return len(self) > len(other) and self >= other

    def __eq__(self, other):
        return isinstance(other, Set) and len(self) == len(other) and self <= other

    def __and__(self, other):
        return self._from_iterable([item for item in other if item in self])

    __rand__ = __and__

    def __or__(self, other):
        return self._from_iterable([item for part in (self, other) for item in part])

    __ror__ = __or__

    def __sub__(self, other):
        return self._from_iterable([item for item in self if item not in other])

    def __xor__(self, other):
        return (self - other) | (other - self)

    def isdisjoint(self, other):
        return not any([item in self for item in other])


class MutableSet(Set):
    __slots__ = ()

    def remove(self, value):
        if value not in self:
            raise KeyError(value)
        self.discard(value)

    def pop(self):
        for value in self:
            self.discard(value)
            return value
        raise KeyError

    def clear(self):
        for value in list(self):
            self.discard(value)

    def __ior__(self, other):
        for value in other:
            self.add(value)
        return self

    def __isub__(self, other):
        for value in list(other):
            self.discard(value)
        return self


class Mapping(Collection):
    __slots__ = ()

    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key):
        try:
            self[key]
        except KeyError:
            return False
        return True

    def keys(self):
        return KeysView(self)

    def items(self):
        return ItemsView(self)

    def values(self):
        return ValuesView(self)

    def __eq__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        return dict(self.items()) == dict(other.items())

    __hash__ = None
    __reversed__ = None


class MutableMapping(Mapping):
    __slots__ = ()
    _missing = object()

    def pop(self, key, default=_missing):
        try:
            value = self[key]
        except KeyError:
            if default is MutableMapping._missing:
                raise
            return default
        del self[key]
        return value

    def popitem(self):
        for key in self:
            value = self[key]
            del self[key]
            return key, value
        raise KeyError

    def clear(self):
        for key in list(self):
            del self[key]

    def update(self, other=(), /, **kwargs):
        if hasattr(other, 'keys'):
            for key in other.keys():
                self[key] = other[key]
        else:
            for key, value in other:
                self[key] = value
        for key, value in kwargs.items():
            self[key] = value

    def setdefault(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            self[key] = default
        return default


class MappingView(Sized):
    def __init__(self, mapping):
        self._mapping = mapping

    def __len__(self):
        return len(self._mapping)


class KeysView(MappingView, Set):
    @classmethod
    def _from_iterable(cls, iterable):
        return set(iterable)

    def __iter__(self):
        return iter(self._mapping)

    def __contains__(self, key):
        return key in self._mapping


class ItemsView(MappingView, Set):
    @classmethod
    def _from_iterable(cls, iterable):
        return set(iterable)

    def __iter__(self):
        for key in self._mapping:
            yield key, self._mapping[key]

    def __contains__(self, item):
        return item[0] in self._mapping and self._mapping[item[0]] == item[1]


class ValuesView(MappingView, Collection):
    def __iter__(self):
        for key in self._mapping:
            yield self._mapping[key]

    def __contains__(self, value):
        return value in list(iter(self))


for _class in (tuple, str, range, bytes, memoryview):
    Sequence.register(_class)
MutableSequence.register(list)
MutableSequence.register(bytearray)
Set.register(frozenset)
MutableSet.register(set)
MutableMapping.register(dict)
KeysView.register(type({}.keys()))
ItemsView.register(type({}.items()))
ValuesView.register(type({}.values()))
ByteString = Sequence
