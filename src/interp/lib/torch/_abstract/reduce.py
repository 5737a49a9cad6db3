"""Reductions, scans and sorts."""

import math

import _pellucid

from torch._abstract import values
from torch._abstract.core import Tensor, after, cast_value, like, make, tensor
from torch._abstract.pointwise import functions, known_value
from torch._abstract.shape import flatten, reshape
from torch._abstract.types import Size, ShapeError, axis, bool_, defaults, int64, is_symbol, join_sizes, promote


def _named(name, fields):
    """The named tuples that max, sort and their kin return."""

    class Result(tuple):
        __slots__ = ()

        def __new__(cls, items):
            return tuple.__new__(cls, items)

    for i, field in enumerate(fields):
        setattr(Result, field, property(lambda self, i=i: self[i]))
    Result.__name__ = Result.__qualname__ = name
    return Result


pair = _named('values_indices', ('values', 'indices'))


def _axes(dim, rank):
    if dim is None:
        return list(range(rank))
    if isinstance(dim, (tuple, list)):
        return [axis(d, rank) for d in dim] if len(dim) else list(range(rank))
    return [axis(dim, rank)] if rank else []


def _without(shape, dims, keepdim):
    if keepdim:
        return Size([1 if i in dims else n for i, n in enumerate(shape)])
    return Size([n for i, n in enumerate(shape) if i not in dims])


def reduction(function, kind=None):
    """kind: 'float' (mean), 'bool' (any), 'sum' (integers become int64), None keeps."""

    def operation(input, dim=None, keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None, **kwargs):
        if axis is not None:
            dim = axis
        if keepdims is not None:
            keepdim = keepdims
        dims = _axes(dim, len(input.shape))
        result = dtype or input.dtype
        if dtype is None:
            if kind == 'sum' and result.kind < 2:
                result = int64
            elif kind == 'bool':
                result = bool_
            elif kind == 'float' and result.kind < 2:
                raise RuntimeError('could not infer output dtype. Input dtype must be either a floating point or complex dtype')
        t = make(_without(input.shape, dims, keepdim), result)
        if input._value is not None and function is not None:
            t._value = values.reduced(function, known_value(input), tuple(input.shape), dims)
        return after(t, input)

    return operation


def _mean(numbers):
    return sum(numbers) / len(numbers) if numbers else math.nan


def _product(numbers):
    result = 1
    for x in numbers:
        result *= x
    return result


def _variance(numbers):
    if len(numbers) < 2:
        return math.nan
    mean = _mean(numbers)
    return sum([(x - mean) ** 2 for x in numbers]) / (len(numbers) - 1)


for _name, _function, _kind in (
        ('sum', sum, 'sum'), ('nansum', sum, 'sum'), ('prod', _product, 'sum'), ('mean', _mean, 'float'),
        ('nanmean', _mean, 'float'), ('any', any, 'bool'), ('all', all, 'bool'), ('amax', max, None),
        ('amin', min, None), ('count_nonzero', lambda line: sum([1 for x in line if x]), 'sum')):
    functions[_name] = reduction(_function, _kind)
    setattr(Tensor, _name, functions[_name])


def logsumexp(input, dim, keepdim=False, *, out=None):
    return after(make(_without(input.shape, _axes(dim, len(input.shape)), keepdim), input.dtype), input)


def spread(root):
    def operation(input, dim=None, unbiased=True, keepdim=False, *, correction=1, out=None, **kwargs):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        dims = _axes(dim, len(input.shape))
        t = make(_without(input.shape, dims, keepdim), input.dtype.to_real())
        if input._value is not None and correction == 1 and unbiased:
            t._value = values.reduced(lambda line: root(_variance(line)), known_value(input), tuple(input.shape), dims)
        return t

    return operation


var = spread(lambda x: x)
std = spread(math.sqrt)


def var_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    return var(input, dim, unbiased, keepdim), functions['mean'](input, dim, keepdim)


def std_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    return std(input, dim, unbiased, keepdim), functions['mean'](input, dim, keepdim)


def extreme(function, both):
    def operation(input, dim=None, keepdim=False, *, out=None, axis=None):
        if axis is not None:
            dim = axis
        if isinstance(dim, Tensor):
            return functions[both](input, dim)
        if dim is None:
            return functions['amax' if function is max else 'amin'](input)
        dims = _axes(dim, len(input.shape))
        shape = _without(input.shape, dims, keepdim)
        first = make(shape, input.dtype)
        second = make(shape, int64)
        if input._value is not None:
            first._value = values.reduced(function, known_value(input), tuple(input.shape), dims)
            second._value = values.reduced(lambda line: line.index(function(line)), known_value(input), tuple(input.shape), dims)
        return pair((after(first, input), second))

    return operation


def arg_extreme(function):
    def operation(input, dim=None, keepdim=False):
        dims = _axes(dim, len(input.shape))
        t = make(_without(input.shape, dims, keepdim), int64)
        if input._value is not None:
            t._value = values.reduced(lambda line: line.index(function(line)), known_value(input), tuple(input.shape), dims)
        return t

    return operation


def _by_dim(input, dim=None, keepdim=False, *args, **kwargs):
    """median, mode, kthvalue: values and indices along a dimension."""
    if dim is None:
        return after(make(Size(()), input.dtype), input)
    shape = _without(input.shape, _axes(dim, len(input.shape)), keepdim)
    return pair((make(shape, input.dtype), make(shape, int64)))


def median(input, dim=None, keepdim=False, *, out=None):
    if dim is None:
        t = make(Size(()), input.dtype)
        t._value = values.reduced(lambda line: sorted(line)[(len(line) - 1) // 2], known_value(input), tuple(input.shape),
                                  list(range(len(input.shape))))
        return t
    return _by_dim(input, dim, keepdim)


def kthvalue(input, k, dim=-1, keepdim=False, *, out=None):
    return _by_dim(input, dim, keepdim)


def aminmax(input, *, dim=None, keepdim=False, out=None):
    return functions['amin'](input, dim, keepdim), functions['amax'](input, dim, keepdim)


def quantile(input, q, dim=None, keepdim=False, *, interpolation='linear', out=None):
    shape = _without(input.shape, _axes(dim, len(input.shape)), keepdim)
    if isinstance(q, Tensor) and len(q.shape):
        shape = Size(tuple(q.shape) + tuple(shape))
    return after(make(shape, input.dtype), input)


def scan(function, kind=None):
    def operation(input, dim, *, dtype=None, out=None):
        t = like(input)
        if dtype is not None:
            t.dtype = t._dtype = dtype
        elif t.dtype.kind < 2 and kind == 'sum':
            t.dtype = t._dtype = int64
        if input._value is not None:
            t._value = values.running(function, known_value(input), tuple(input.shape), axis(dim, len(input.shape)))
        return t

    return operation


def _cumulative_sum(line):
    total = 0
    result = []
    for x in line:
        total += x
        result.append(total)
    return result


def _cumulative_product(line):
    total = 1
    result = []
    for x in line:
        total *= x
        result.append(total)
    return result


def cumulative_pair(input, dim):
    return pair((like(input), make(input.shape, int64)))


def softmax(input, dim=None, dtype=None, _stacklevel=3, *, out=None):
    t = like(input)
    if dtype is not None:
        t.dtype = t._dtype = dtype
    elif t.dtype.kind < 2:
        t.dtype = t._dtype = defaults.dtype
    return t


def sort(input, dim=-1, descending=False, stable=False, *, out=None):
    first = like(input)
    second = make(input.shape, int64)
    if input._value is not None and input.shape:
        at = axis(dim, len(input.shape))
        first._value = values.running(lambda line: sorted(line, reverse=descending), known_value(input), tuple(input.shape), at)
        second._value = values.running(lambda line: sorted(range(len(line)), key=line.__getitem__, reverse=descending),
                                       known_value(input), tuple(input.shape), at)
    return pair((first, second))


def argsort(input, dim=-1, descending=False, stable=False):
    return sort(input, dim, descending)[1]


def topk(input, k, dim=-1, largest=True, sorted=True, *, out=None):
    at = axis(dim, len(input.shape))
    if isinstance(k, Tensor):
        k = k.item()
    n = input.shape[at]
    if type(n) is int and type(k) is int and k > n:
        raise ShapeError('topk: %d of dimension %d, which has %d' % (k, at, n), input)
    shape = list(input.shape)
    shape[at] = k
    return pair((make(Size(shape), input.dtype), make(Size(shape), int64)))


def nonzero(input, *, as_tuple=False, out=None):
    data = input.known()
    rank = len(input.shape)
    if data is None:
        n = _pellucid.unknown('number of non-zero elements', 'the values of the tensor are not known')
        if as_tuple:
            return tuple(make(Size((n,)), int64) for _ in range(rank))
        return make(Size((n, rank)), int64)
    steps = values.strides(input.shape)
    found = [[i // step % size for step, size in zip(steps, input.shape)] for i, x in enumerate(data) if x]
    if as_tuple:
        return tuple(make(Size((len(found),)), int64, values.literal([row[d] for row in found])) for d in range(rank))
    return make(Size((len(found), rank)), int64, values.literal([i for row in found for i in row]))


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    data = input.known() if dim is None else None
    value = None
    if data is None:
        n = _pellucid.unknown('number of unique elements', 'the values of the tensor are not known')
    else:
        distinct = _sorted(set(data))
        n = len(distinct)
        value = values.literal(distinct)
    shape = (n,)
    if dim is not None:
        shape = tuple(n if i == axis(dim, len(input.shape)) else size for i, size in enumerate(input.shape))
    result = [make(Size(shape), input.dtype, value)]
    if return_inverse:
        result.append(make(input.shape if dim is None else Size((input.shape[dim],)), int64))
    if return_counts:
        result.append(make(Size((n,)), int64, None if data is None else values.literal([data.count(x) for x in distinct])))
    return result[0] if len(result) == 1 else tuple(result)


_sorted = sorted


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    return unique(input, True, return_inverse, return_counts, dim)


def bincount(input, weights=None, minlength=0):
    data = input.known()
    if data is None:
        n = _pellucid.unknown('bins of bincount', 'the values of the tensor are not known')
        return make(Size((n,)), int64)
    n = max(max(data) + 1 if data else 0, minlength)
    return make(Size((n,)), int64, values.literal([data.count(i) for i in range(n)]))


def histc(input, bins=100, min=0, max=0, *, out=None):
    return after(make(Size((bins,)), input.dtype), input)


def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    return make(Size(tuple(input.shape[:-1]) + (num_samples,)), int64)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    return make(input.shape if isinstance(input, Tensor) else Size(()), int64)


def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    return make(input.shape if isinstance(input, Tensor) else Size(()), int64)


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    t = make(elements.shape if isinstance(elements, Tensor) else Size(()), bool_)
    if isinstance(elements, Tensor) and elements._value is not None:
        wanted = test_elements.known() if isinstance(test_elements, Tensor) else [test_elements]
        if wanted is not None:
            t._value = values.mapped(lambda x: (x in wanted) is not invert, known_value(elements))
    return t


def norm(input, p='fro', dim=None, keepdim=False, dtype=None, out=None):
    t = make(_without(input.shape, _axes(dim, len(input.shape)), keepdim), dtype or input.dtype.to_real())
    if p in ('fro', 2, 2.0, None) and input._value is not None:
        t._value = values.reduced(lambda line: math.sqrt(sum([x * x for x in line])), known_value(input),
                                  tuple(input.shape), _axes(dim, len(input.shape)))
    return t


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    return norm(x, ord, dim, keepdim, dtype)


def norm_except_dim(v, pow=2, dim=0):
    if dim == -1:
        return make(Size(()), v.dtype)
    return make(Size([n if i == axis(dim, len(v.shape)) else 1 for i, n in enumerate(v.shape)]), v.dtype)


def diff(input, n=1, dim=-1, prepend=None, append=None):
    from torch._abstract.shape import cat, narrow
    parts = [x for x in (prepend, input, append) if x is not None]
    x = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(n):
        size = x.shape[dim] - 1
        x = functions['sub'](narrow(x, dim, 1, size), narrow(x, dim, 0, size))
    return x


def cdist(x1, x2, p=2.0, compute_mode=None):
    if type(x1.shape[-1]) is int and type(x2.shape[-1]) is int and x1.shape[-1] != x2.shape[-1]:
        raise ShapeError('cdist: vectors of %d and of %d' % (x1.shape[-1], x2.shape[-1]), x2, x1)
    return after(make(Size(tuple(join_sizes(x1.shape[:-2], x2.shape[:-2])) + (x1.shape[-2], x2.shape[-2])), x1.dtype), x1)


def trace(input):
    return after(make(Size(()), input.dtype), input)


def cov(input, *, correction=1, fweights=None, aweights=None):
    n = input.shape[0] if len(input.shape) > 1 else None
    return after(make(Size(()) if n is None else Size((n, n)), input.dtype), input)


functions['max'] = extreme(max, 'maximum')
functions['min'] = extreme(min, 'minimum')
functions['argmax'] = arg_extreme(max)
functions['argmin'] = arg_extreme(min)
functions['cumsum'] = scan(_cumulative_sum, 'sum')
functions['cumprod'] = scan(_cumulative_product, 'sum')
functions['cummax'] = functions['cummin'] = cumulative_pair
functions['logcumsumexp'] = lambda input, dim: like(input)
functions['log_softmax'] = functions['softmax'] = functions['softmin'] = softmax
functions['mode'] = lambda input, dim=-1, keepdim=False: _by_dim(input, dim, keepdim)
functions['var'] = var
functions['std'] = std
functions['nanquantile'] = quantile
functions['nanmedian'] = median
functions['argwhere'] = lambda input: nonzero(input)
for _function in (logsumexp, var_mean, std_mean, median, kthvalue, aminmax, quantile, sort, argsort, topk, nonzero, unique,
                  unique_consecutive, bincount, histc, multinomial, searchsorted, bucketize, isin, norm, diff, trace,
                  cdist, norm_except_dim, cov):
    functions[_function.__name__] = _function
for _name in ('max', 'min', 'argmax', 'argmin', 'cumsum', 'cumprod', 'cummax', 'cummin', 'logcumsumexp', 'log_softmax',
              'softmax', 'mode', 'var', 'std', 'logsumexp', 'median', 'kthvalue', 'aminmax', 'quantile', 'sort',
              'argsort', 'topk', 'nonzero', 'unique', 'unique_consecutive', 'bincount', 'histc', 'multinomial',
              'norm', 'diff', 'trace', 'argwhere', 'nanmedian', 'nanquantile'):
    setattr(Tensor, _name, functions[_name])
Tensor.cumsum_ = lambda self, dim, dtype=None: self
Tensor.softmax = softmax
