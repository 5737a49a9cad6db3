"""Values of small tensors, computed only when somebody asks for them.

A tensor whose elements are known has a Value: a flat list in row-major order, or the call that will make it. Most
index tables that constructors make are never looked at, so making them costs one object, not a loop. What depends on
chance or on weights has no Value (None), and asking for it gives an unknown.
"""

import math

import _pellucid

LIMIT = 1 << 20  # elements; a tensor above this is never computed


class Value:
    def __init__(self, make, *args):
        self.make = make
        self.args = args

    def get(self):
        make = self.make
        if make is not None:
            self.data = make(*self.args)
            self.make = self.args = None
        return self.data


def literal(data):
    value = Value(None)
    value.data = data
    return value


def count(shape):
    n = 1
    for size in shape:
        n = n * size
    return n


def filled(number, shape):
    return Value(_filled, number, shape)


def _filled(number, shape):
    return [number] * count(shape)


def stepped(start, step, n):
    return Value(_stepped, start, step, n)


def _stepped(start, step, n):
    return [start + step * i for i in range(n)]


def spaced(start, end, n):
    return Value(_spaced, start, end, n)


def _spaced(start, end, n):
    # As torch does: from both ends towards the middle, so that the last element is exactly `end`.
    if n == 1:
        return [start]
    step = (end - start) / (n - 1)
    half = n // 2
    return [start + step * i if i < half else end - step * (n - 1 - i) for i in range(n)]


def mapped(function, value):
    return None if value is None else Value(_mapped, function, value)


def _mapped(function, value):
    return [function(x) for x in value.get()]


def strides(shape):
    result = []
    step = 1
    for size in reversed(shape):
        result.append(step)
        step = step * size
    result.reverse()
    return result


def strided(value, offset, steps, shape):
    """The elements offset + sum(index * step), in the order of shape: slices, permutations and expansions alike."""
    return None if value is None else Value(_strided, value, offset, steps, shape)


def places(offset, steps, shape):
    at = [offset]
    for size, step in zip(shape, steps):
        at = [a + step * i for a in at for i in range(size)]
    return at


def _strided(value, offset, steps, shape):
    return _pellucid.strided(value.get(), offset, steps, shape)


def broadcast_steps(shape, to):
    steps = strides(shape)
    missing = len(to) - len(shape)
    return [0] * missing + [0 if shape[i] == 1 and to[missing + i] != 1 else steps[i] for i in range(len(shape))]


def broadcast(value, shape, to):
    if value is None or shape == to:
        return value
    return Value(_strided, value, 0, broadcast_steps(shape, to), to)


def zipped(function, a, a_shape, b, b_shape, shape):
    if a is None or b is None:
        return None
    return Value(_zipped, function, broadcast(a, a_shape, shape), broadcast(b, b_shape, shape))


def _zipped(function, a, b):
    return [function(x, y) for x, y in zip(a.get(), b.get())]


def chosen(condition, a, b):
    if condition is None or a is None or b is None:
        return None
    return Value(_chosen, condition, a, b)


def _chosen(condition, a, b):
    return [x if c else y for c, x, y in zip(condition.get(), a.get(), b.get())]


def joined(values, shapes, dim):
    for value in values:
        if value is None:
            return None
    return Value(_joined, values, shapes, dim)


def _joined(values, shapes, dim):
    outer = count(shapes[0][:dim])
    widths = [count(shape[dim:]) for shape in shapes]
    lists = [value.get() for value in values]
    result = []
    for row in range(outer):
        for width, data in zip(widths, lists):
            result.extend(data[row * width:(row + 1) * width])
    return result


def reduced(function, value, shape, dims):
    """One number per group of elements that differ only in dims (all of them: an empty list keeps every dimension)."""
    return None if value is None else Value(_reduced, function, value, shape, dims)


def _reduced(function, value, shape, dims):
    data = value.get()
    steps = strides(shape)
    kept = [i for i in range(len(shape)) if i not in dims]
    inner = places(0, [steps[i] for i in dims], [shape[i] for i in dims])
    outer = places(0, [steps[i] for i in kept], [shape[i] for i in kept])
    return [function([data[o + i] for i in inner]) for o in outer]


def running(function, value, shape, dim):
    """Scan along a dimension (cumsum, flip, sort): the function maps a list to a list of the same length."""
    return None if value is None else Value(_running, function, value, shape, dim)


def _running(function, value, shape, dim):
    data = value.get()
    result = list(data)
    steps = strides(shape)
    step = steps[dim]
    n = shape[dim]
    others = [i for i in range(len(shape)) if i != dim]
    for start in places(0, [steps[i] for i in others], [shape[i] for i in others]):
        line = function([data[start + i * step] for i in range(n)])
        for i in range(n):
            result[start + i * step] = line[i]
    return result


def taken(value, shape, dim, indices):
    """Whole slices along a dimension, by a list of indices given as a Value."""
    if value is None or indices is None:
        return None
    return Value(_taken, value, shape, dim, indices)


def _taken(value, shape, dim, indices):
    data = value.get()
    inner = count(shape[dim + 1:])
    n = shape[dim]
    picks = [i + n if i < 0 else i for i in indices.get()]
    result = []
    for row in range(count(shape[:dim])):
        for i in picks:
            start = (row * n + i) * inner
            result.extend(data[start:start + inner])
    return result


def written(value, offset, steps, shape, new):
    """A copy with the elements of a strided part replaced."""
    if value is None or new is None:
        return None
    return Value(_written, value, offset, steps, shape, new)


def _written(value, offset, steps, shape, new):
    return _pellucid.put_strided(value.get(), offset, steps, shape, new.get())


def nested(data, shape):
    if not shape:
        return data[0]
    if len(shape) == 1:
        return list(data)
    width = count(shape[1:])
    return [nested(data[i * width:(i + 1) * width], shape[1:]) for i in range(shape[0])]


def float_division(a, b):
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a)
    return a / b


def power(a, b):
    try:
        return a ** b
    except (OverflowError, ZeroDivisionError):
        return math.inf


def guarded(function):
    """Mathematics that gives nan or inf where Python raises."""

    def call(x):
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return -math.inf if function is math.log and x == 0 else math.nan

    return call
