"""keras.ops on shapes."""

import _pellucid
from keras._core_layers import concatenated, product, resolve
from keras._engine import KerasTensor, Variable, elementwise, flat, join, matmul, operation, shape_of

_ELEMENTWISE = ('abs absolute exp log sqrt rsqrt square sin cos tan tanh sigmoid relu relu6 elu selu gelu silu swish softplus '
                'softsign hard_sigmoid hard_silu hard_swish leaky_relu log_sigmoid log_softmax softmax erf floor ceil round sign negative '
                'reciprocal isnan isfinite isinf logical_not stop_gradient identity clip normalize nan_to_num log1p expm1 '
                'zeros_like ones_like flip roll cumsum cumprod sort argsort softmin mish hard_tanh tril triu sinh cosh l2_normalize')
_BINARY = ('add subtract multiply divide true_divide floor_divide power pow maximum minimum mod equal not_equal less '
           'less_equal greater greater_equal logical_and logical_or where bias_add add_n squared_difference divide_no_nan')


def _unary(name):
    def function(x, *args, **kwargs):
        return elementwise(name, x) if hasattr(x, 'shape') else _pellucid.symbol('%s(...)' % name)

    return function


def _binary(name):
    def function(*operands, **kwargs):
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = operands[0]
        return elementwise(name, *[x for x in operands if not isinstance(x, str)])

    return function


for _name in _ELEMENTWISE.split():
    globals()[_name] = _unary(_name)
for _name in _BINARY.split():
    globals()[_name] = _binary(_name)


def _reduction(name):
    def function(x, axis=None, keepdims=False, *args, **kwargs):
        axes = list(range(len(x.shape))) if axis is None else [axis] if isinstance(axis, int) else list(axis)
        axes = [a + len(x.shape) if a < 0 else a for a in axes]
        sizes = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
        return KerasTensor(sizes, 'int64' if name.startswith('arg') else x._dtype, operation(name, [x]))

    return function


for _name in 'sum mean max min prod std var any all amax amin argmax argmin logsumexp norm median count_nonzero'.split():
    globals()[_name] = _reduction(_name)


def reshape(x, newshape=None, shape=None, name=None):
    target = newshape if newshape is not None else shape
    target = tuple([n if isinstance(n, int) or n is None else None for n in target])
    sizes = list(x.shape)
    if sizes and sizes[0] is None and target and (target[0] is None or target[0] == -1):
        rest = target[1:]
        if target[0] == -1 or -1 in rest:
            total = product(sizes[1:])
            if -1 in rest and type(total) is int:
                return KerasTensor((None,) + resolve(x, sizes[1:], rest), x._dtype, operation('reshape', [x]))
            return KerasTensor((None,) + tuple([None if n == -1 else n for n in rest]), x._dtype, operation('reshape', [x]))
        return KerasTensor((None,) + rest, x._dtype, operation('reshape', [x]))
    return KerasTensor([None if n == -1 and None in sizes else n for n in resolve(x, sizes, target)], x._dtype, operation('reshape', [x]))


def transpose(x, axes=None, perm=None, **kwargs):
    order = axes if axes is not None else perm
    order = list(range(len(x.shape)))[::-1] if order is None else order
    return KerasTensor([x.shape[i] for i in order], x._dtype, operation('transpose', [x]))


def concatenate(xs, axis=-1, **kwargs):
    t = concatenated(xs, axis)
    t.node = operation('concatenate', xs)
    return t


def concat(values, axis, name=None):
    return concatenate(values, axis)


def stack(xs, axis=0, **kwargs):
    sizes = list(shape_of(xs[0]))
    sizes.insert(axis if axis >= 0 else axis + len(sizes) + 1, len(xs))
    return KerasTensor(sizes, getattr(xs[0], '_dtype', None), operation('stack', xs))


def unstack(x, num=None, axis=0):
    n = x.shape[axis] if num is None else num
    sizes = [size for i, size in enumerate(x.shape) if i != (axis if axis >= 0 else axis + len(x.shape))]
    return [KerasTensor(sizes, x._dtype, operation('unstack', [x])) for _ in range(n)]


def split(x, indices_or_sections=None, axis=0, num_or_size_splits=None, **kwargs):
    how = indices_or_sections if indices_or_sections is not None else num_or_size_splits
    axis = axis if axis >= 0 else axis + len(x.shape)
    n = x.shape[axis]
    if isinstance(how, int):
        parts = [None if n is None else n // how] * how
    elif num_or_size_splits is not None:
        parts = list(how)
    else:
        edges = [0] + list(how) + [n]
        parts = [b - a for a, b in zip(edges, edges[1:])]
    return [KerasTensor([part if i == axis else size for i, size in enumerate(x.shape)], x._dtype, operation('split', [x])) for part in parts]


def expand_dims(x, axis=-1, **kwargs):
    sizes = list(x.shape)
    sizes.insert(axis if axis >= 0 else axis + len(sizes) + 1, 1)
    return KerasTensor(sizes, x._dtype, operation('expand_dims', [x]))


def squeeze(x, axis=None, **kwargs):
    axes = None if axis is None else [a + len(x.shape) if a < 0 else a for a in ([axis] if isinstance(axis, int) else axis)]
    return KerasTensor([n for i, n in enumerate(x.shape) if not (n == 1 and (axes is None or i in axes))], x._dtype, operation('squeeze', [x]))


def cast(x, dtype, **kwargs):
    return KerasTensor(shape_of(x), dtype, operation('cast', [x]))


def shape(x, *args, **kwargs):
    return tuple(x.shape)


def convert_to_tensor(x, dtype=None, **kwargs):
    return x


convert_to_numpy = constant = convert_to_tensor


def zeros(shape, dtype='float32', **kwargs):
    return KerasTensor((shape,) if isinstance(shape, int) else shape, dtype)


ones = empty = zeros


def full(shape, fill_value, dtype='float32'):
    return KerasTensor(shape, dtype)


fill = lambda dims, value, **kwargs: KerasTensor(dims, 'float32')


def arange(start, stop=None, step=1, dtype=None, **kwargs):
    if stop is None:
        start, stop = 0, start
    n = None if not isinstance(stop, int) or not isinstance(start, int) else len(range(start, stop, step))
    return KerasTensor((n,), dtype or 'int32')


def tile(x, repeats, **kwargs):
    return KerasTensor([None if n is None or not isinstance(r, int) else n * r for n, r in zip(x.shape, repeats)], x._dtype, operation('tile', [x]))


def repeat(x, repeats, axis=None, **kwargs):
    return KerasTensor([n * repeats if i == axis and n is not None else n for i, n in enumerate(x.shape)], x._dtype, operation('repeat', [x]))


def broadcast_to(x, shape):
    return KerasTensor(shape, getattr(x, '_dtype', None), operation('broadcast_to', [x]))


def pad(x, pad_width, *args, **kwargs):
    return KerasTensor([None if n is None else n + p[0] + p[1] for n, p in zip(x.shape, pad_width)], x._dtype, operation('pad', [x]))


def take(x, indices, axis=None):
    sizes = list(x.shape)
    axis = 0 if axis is None else axis
    return KerasTensor(sizes[:axis] + list(shape_of(indices)) + sizes[axis + 1:], x._dtype, operation('take', [x]))


def gather(params, indices, axis=0, **kwargs):
    return take(params, indices, axis)


def one_hot(x, num_classes, **kwargs):
    return KerasTensor(tuple(shape_of(x)) + (num_classes,), 'float32', operation('one_hot', [x]))


def einsum(subscripts, *operands, **kwargs):
    left, _, right = subscripts.replace(' ', '').partition('->')
    sizes = {}
    for term, x in zip(left.split(','), operands):
        for letter, n in zip(term, shape_of(x)):
            if sizes.get(letter) is None:
                sizes[letter] = n
    return KerasTensor([sizes[letter] for letter in right], operands[0]._dtype, operation('einsum', list(operands)))


def top_k(x, k, **kwargs):
    made = KerasTensor(tuple(x.shape[:-1]) + (k,), x._dtype, operation('top_k', [x]))
    return made, KerasTensor(made.shape, 'int32', made.node)


def swapaxes(x, axis1, axis2):
    sizes = list(x.shape)
    sizes[axis1], sizes[axis2] = sizes[axis2], sizes[axis1]
    return KerasTensor(sizes, x._dtype, operation('swapaxes', [x]))


def ndim(x):
    return len(x.shape)


def is_tensor(x):
    return isinstance(x, KerasTensor)


dot = matmul


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('keras.ops.' + name)
