"""Operators as functions."""


def lt(a, b): return a < b
def le(a, b): return a <= b
def eq(a, b): return a == b
def ne(a, b): return a != b
def ge(a, b): return a >= b
def gt(a, b): return a > b
def not_(a): return not a
def truth(a): return bool(a)
def is_(a, b): return a is b
def is_not(a, b): return a is not b
def add(a, b): return a + b
def sub(a, b): return a - b
def mul(a, b): return a * b
def truediv(a, b): return a / b
def floordiv(a, b): return a // b
def mod(a, b): return a % b
def pow(a, b): return a ** b
def matmul(a, b): return a @ b
def and_(a, b): return a & b
def or_(a, b): return a | b
def xor(a, b): return a ^ b
def lshift(a, b): return a << b
def rshift(a, b): return a >> b
def neg(a): return -a
def pos(a): return +a
def invert(a): return ~a
def index(a): return a.__index__()
def concat(a, b): return a + b
def contains(a, b): return b in a
def getitem(a, b): return a[b]
def countOf(a, b): return list(a).count(b)


abs = abs
inv = invert


def setitem(a, b, c):
    a[b] = c


def delitem(a, b):
    del a[b]


def iadd(a, b):
    a += b
    return a


def imul(a, b):
    a *= b
    return a


def isub(a, b):
    a -= b
    return a


def ior(a, b):
    a |= b
    return a


def iand(a, b):
    a &= b
    return a


def itruediv(a, b):
    a /= b
    return a


def length_hint(obj, default=0):
    return len(obj) if hasattr(obj, '__len__') else default


class attrgetter:
    def __init__(self, attr, *attrs):
        self._attrs = (attr,) + attrs

    def __call__(self, obj):
        found = []
        for attr in self._attrs:
            value = obj
            for name in attr.split('.'):
                value = getattr(value, name)
            found.append(value)
        return found[0] if len(found) == 1 else tuple(found)


class itemgetter:
    def __init__(self, item, *items):
        self._items = (item,) + items

    def __call__(self, obj):
        return obj[self._items[0]] if len(self._items) == 1 else tuple([obj[i] for i in self._items])


class methodcaller:
    def __init__(self, name, /, *args, **kwargs):
        self._name, self._args, self._kwargs = name, args, kwargs

    def __call__(self, obj):
        return getattr(obj, self._name)(*self._args, **self._kwargs)


__add__, __sub__, __mul__, __truediv__, __floordiv__, __mod__, __pow__ = add, sub, mul, truediv, floordiv, mod, pow
__lt__, __le__, __eq__, __ne__, __ge__, __gt__, __getitem__, __neg__ = lt, le, eq, ne, ge, gt, getitem, neg
__and__, __or__, __xor__, __matmul__, __contains__, __invert__ = and_, or_, xor, matmul, contains, invert
