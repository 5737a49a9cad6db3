"""References that keep their object: nothing dies while a network is looked at."""

from collections.abc import MutableMapping


class ref:
    def __init__(self, obj, callback=None):
        self._obj = obj

    def __call__(self):
        return self._obj

    def __hash__(self):
        return hash(self._obj)

    def __eq__(self, other):
        return isinstance(other, ref) and self._obj is other._obj

    def __class_getitem__(cls, item):
        return cls


ReferenceType = WeakMethod = ref
CallableProxyType = ProxyType = object
ProxyTypes = ()


def proxy(obj, callback=None):
    return obj


class WeakValueDictionary(dict):
    pass


class WeakKeyDictionary(MutableMapping):
    """Keys by identity where they cannot be hashed."""

    def __init__(self, items=()):
        self._items = {}
        for key, value in dict(items).items():
            self[key] = value

    def __getitem__(self, key):
        if id(key) not in self._items:
            raise KeyError(key)
        return self._items[id(key)][1]

    def __setitem__(self, key, value):
        self._items[id(key)] = (key, value)

    def __delitem__(self, key):
        del self._items[id(key)]

    def __contains__(self, key):
        return id(key) in self._items

    def __iter__(self):
        return iter([key for key, _ in self._items.values()])

    def __len__(self):
        return len(self._items)


class WeakSet(set):
    pass


class finalize:
    alive = True

    def __init__(self, obj, function, /, *args, **kwargs):
        pass

    def detach(self):
        return None


def getweakrefcount(obj):
    return 0


def getweakrefs(obj):
    return []
