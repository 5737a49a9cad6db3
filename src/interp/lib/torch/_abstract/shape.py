"""Operations that move, cut and join, and indexing. Values follow as offsets and steps into the source."""

import _pellucid

from torch._abstract import values
from torch._abstract.core import Tensor, after, alias, cast_value, changed, like, make, tensor, to_device, to_dtype, view
from torch._abstract.pointwise import functions, known_value, publish
from torch._abstract.types import (ShapeError, Size, axis, bool_, differ, device, dtype, float64, int64, is_symbol,
                                   join_sizes, numel, promote, uint8)
from torch._abstract import types


def _dims(args):
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        return list(args[0])
    return list(args)


def _number(n):
    return n if type(n) is int or is_symbol(n) else n.__index__()


def resolve(input, sizes, what):
    """Sizes with -1 filled in; raises where the counts cannot be equal."""
    shape = input.shape
    sizes = [n if type(n) is int else _number(n) for n in sizes]
    open_at = None
    known = 1
    factors = []  # symbols among the wanted sizes
    for i, n in enumerate(sizes):
        if type(n) is not int:
            factors.append(n)
        elif n == -1:
            if open_at is not None:
                raise RuntimeError('only one dimension can be inferred')
            open_at = i
        elif n < 0:
            raise RuntimeError('invalid shape dimension %d' % n)
        else:
            known *= n
    total = 1
    rest = []  # symbols of the tensor that the wanted sizes do not name
    for n in shape:
        if type(n) is int:
            total *= n
        else:
            text = _pellucid.symbol_text(n)
            for other in factors:
                if _pellucid.symbol_text(other) == text:
                    factors.remove(other)
                    break
            else:
                rest.append(n)
    if not rest and not factors:
        if open_at is None:
            if total != known:
                raise ShapeError('%s: %s has %d elements, %s takes %d' % (what, tuple(shape), total, tuple(sizes), known), input)
        else:
            if known == 0 or total % known:
                raise ShapeError('%s: %d elements of %s do not divide into %s' % (what, total, tuple(shape), tuple(sizes)), input)
            sizes[open_at] = total // known
    elif open_at is not None:
        if not factors and known and total % known == 0:
            size = total // known
            for n in rest:
                size = n if type(size) is int and size == 1 else n * size
        elif not factors and known and all([_pellucid.symbol_why(n) == 'a size of the input' for n in rest]):
            # a size of the input may be any number, one too
            raise ShapeError('%s: %d elements of %s do not divide into %s' % (what, total, tuple(shape), tuple(sizes)), input)
        else:
            size = total
            for n in rest:
                size = n * size
            for n in factors:
                size = size // n
            if known != 1:
                size = size // known
        sizes[open_at] = size
    return Size(sizes)


def reshape(input, *shape, **kwargs):
    sizes = _dims(shape) if shape else list(kwargs['shape'])
    return view(input, resolve(input, sizes, 'reshape'), known_value(input))


def view_(self, *shape, dtype=None):
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], types.dtype)):
        other = dtype or shape[0]
        sizes = list(self.shape)
        if sizes and other.itemsize != self.dtype.itemsize:
            sizes[-1] = sizes[-1] * self.dtype.itemsize // other.itemsize
        return make(Size(sizes), other)
    return view(self, resolve(self, _dims(shape), 'view'), known_value(self))


def view_as(self, other):
    return view_(self, other.shape)


def part(x, shape, offset, steps):
    """A view of elements that lie regularly; writing to it writes to x."""
    t = view(x, shape, values.strided(known_value(x), offset, steps, shape))
    t._owner = x
    t._place = (offset, steps)
    return t


def permute(input, *dims, **kwargs):
    order = _dims(dims) if dims else list(kwargs['dims'])
    shape = input.shape
    rank = len(shape)
    if len(order) != rank:
        raise ShapeError('permute: %d dimensions named, the tensor %s has %d' % (len(order), tuple(shape), rank), input)
    order = [axis(d, rank) for d in order]
    if len(set(order)) != rank:
        raise ShapeError('permute: a dimension of %s is named twice in %s' % (tuple(shape), tuple(order)), input)
    new = Size([shape[d] for d in order])
    if input._value is None:
        return view(input, new, None)
    steps = values.strides(shape)
    return part(input, new, 0, [steps[d] for d in order])


def transpose(input, dim0, dim1):
    rank = len(input.shape)
    if not rank:
        return alias(input)
    a = axis(dim0, rank)
    b = axis(dim1, rank)
    order = list(range(rank))
    order[a], order[b] = b, a
    return permute(input, order)


def t(input):
    return alias(input) if len(input.shape) < 2 else transpose(input, 0, 1)


def movedim(input, source, destination):
    rank = len(input.shape)
    source = [source] if isinstance(source, int) else list(source)
    destination = [destination] if isinstance(destination, int) else list(destination)
    source = [axis(d, rank) for d in source]
    destination = [axis(d, rank) for d in destination]
    order = [None] * rank
    for s, d in zip(source, destination):
        order[d] = s
    others = iter([d for d in range(rank) if d not in source])
    return permute(input, [next(others) if d is None else d for d in order])


def flatten(input, start_dim=0, end_dim=-1):
    shape = input.shape
    rank = len(shape)
    if not rank:
        return view(input, Size((1,)), known_value(input))
    first = axis(start_dim, rank)
    last = axis(end_dim, rank)
    if first > last:
        raise RuntimeError('flatten() has invalid args: start_dim cannot come after end_dim')
    n = 1
    for size in shape[first:last + 1]:
        n = size if type(n) is int and n == 1 else n * size
    return view(input, Size(tuple(shape[:first]) + (n,) + tuple(shape[last + 1:])), known_value(input))


def unflatten(input, dim, sizes):
    dim = axis(dim, len(input.shape))
    split = resolve(make(Size((input.shape[dim],)), input.dtype), list(sizes), 'unflatten')
    shape = tuple(input.shape)
    return view(input, Size(shape[:dim] + tuple(split) + shape[dim + 1:]), known_value(input))


def squeeze(input, dim=None):
    shape = input.shape
    rank = len(shape)
    if dim is None:
        new = [n for n in shape if type(n) is not int or n != 1]
    else:
        drop = [axis(d, rank) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
        new = [n for i, n in enumerate(shape) if not (i in drop and type(n) is int and n == 1)]
    return view(input, Size(new), known_value(input))


def unsqueeze(input, dim):
    dim = axis(dim, len(input.shape) + 1)
    shape = list(input.shape)
    shape.insert(dim, 1)
    return view(input, Size(shape), known_value(input))


def expand(self, *sizes, implicit=False):
    sizes = [n if type(n) is int else _number(n) for n in _dims(sizes)]
    shape = self.shape
    extra = len(sizes) - len(shape)
    if extra < 0:
        raise ShapeError('expand: %s has more dimensions than %s' % (tuple(shape), tuple(sizes)), self)
    for i, n in enumerate(sizes):
        own = shape[i - extra] if i >= extra else 1
        if type(n) is int and n == -1:
            sizes[i] = own
        elif differ(own, n) and own != 1:
            raise ShapeError('expand: %d at dimension %d of %s cannot become %d' % (own, i - extra, tuple(shape), n), self)
    new = Size(sizes)
    value = None
    if self._value is not None:
        value = values.broadcast(known_value(self), tuple(shape), tuple(new))
    return view(self, new, value)


def broadcast_to(input, size):
    return expand(input, *size)


def broadcast_shapes(*shapes):
    result = Size(())
    for shape in shapes:
        result = join_sizes(result, (shape,) if isinstance(shape, int) else shape)
    return result


def broadcast_tensors(*tensors):
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    shape = broadcast_shapes(*[x.shape for x in tensors])
    return tuple(expand(x, *shape) for x in tensors)


def repeat(self, *sizes, **kwargs):
    sizes = _dims(sizes) if sizes else list(kwargs['repeats'])
    extra = len(sizes) - len(self.shape)
    if extra < 0:
        raise ShapeError('repeat: %d counts for a tensor of rank %d' % (len(sizes), len(self.shape)), self)
    x = self
    if extra:
        x = view(self, Size([1] * extra + list(self.shape)), known_value(self))
    for dim, n in enumerate(sizes):
        n = _number(n)
        if type(n) is not int or n != 1:
            if x._value is None or type(n) is not int:
                shape = list(x.shape)
                shape[dim] = shape[dim] * n
                x = after(make(Size(shape), x.dtype), x)
            else:
                x = cat([x] * n, dim) if n else make(Size(tuple(x.shape[:dim]) + (0,) + tuple(x.shape[dim + 1:])), x.dtype)
    return x if x is not self else clone(self)


def tile(input, *dims, **kwargs):
    dims = _dims(dims) if dims else list(kwargs['dims'])
    return repeat(input, [1] * (len(input.shape) - len(dims)) + dims)


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    if repeats is None:
        n = sum(input.tolist())
        return make(Size((n,)), int64)
    if isinstance(repeats, Tensor) and numel(repeats.shape) != 1:
        if dim is None:
            input, dim = flatten(input), 0
        n = output_size if output_size is not None else sum(repeats.tolist())
        shape = list(input.shape)
        shape[dim] = n
        return after(make(Size(shape), input.dtype), input)
    n = repeats.item() if isinstance(repeats, Tensor) else repeats
    if dim is None:
        input, dim = flatten(input), 0
    dim = axis(dim, len(input.shape))
    shape = tuple(input.shape)
    new = Size(shape[:dim] + (shape[dim] * n,) + shape[dim + 1:])
    value = None
    if input._value is not None and type(n) is int:
        value = values.broadcast(known_value(input), shape[:dim + 1] + (1,) + shape[dim + 1:],
                                 shape[:dim + 1] + (n,) + shape[dim + 1:])
    return after(make(new, input.dtype, value), input)


def clone(input, *, memory_format=None):
    other = like(input)
    other._value = known_value(input)
    return other


def same(self, *args, **kwargs):
    return self


def detach(input):
    other = alias(input)
    other._owner = input
    return other


def contiguous(self, memory_format=None):
    return self


def cat(tensors, dim=0, *, out=None, axis=None):
    if axis is not None:
        dim = axis
    tensors = list(tensors)
    if not tensors:
        raise RuntimeError('torch.cat(): expected a non-empty list of Tensors')
    kept = [x for x in tensors if len(x.shape) != 1 or type(x.shape[0]) is not int or x.shape[0] != 0] or tensors[:1]
    first = kept[0]
    rank = len(first.shape)
    dim = types.axis(dim, rank)
    total = 0
    dtype = tensors[0].dtype
    for x in kept:
        if len(x.shape) != rank:
            raise ShapeError('cat: %s has %d dimensions, %s has %d' % (tuple(x.shape), len(x.shape), tuple(first.shape), rank), x, first)
        for i in range(rank):
            if i != dim and differ(x.shape[i], first.shape[i]):
                raise ShapeError('cat along %d: %s and %s differ at dimension %d' % (dim, tuple(first.shape), tuple(x.shape), i), x, first)
        total = x.shape[dim] if type(total) is int and total == 0 else total + x.shape[dim]
    for x in tensors:
        if x.dtype is not dtype:
            dtype = promote(dtype, x.dtype)
    shape = list(first.shape)
    shape[dim] = total
    value = None
    if first._value is not None:
        value = values.joined([known_value(x) for x in kept], [tuple(x.shape) for x in kept], dim)
    return after(make(Size(shape), dtype, value), *kept)


def stack(tensors, dim=0, *, out=None):
    tensors = list(tensors)
    first = tensors[0]
    for x in tensors:
        if len(x.shape) != len(first.shape) or True in [differ(a, b) for a, b in zip(x.shape, first.shape)]:
            raise ShapeError('stack: %s and %s differ' % (tuple(first.shape), tuple(x.shape)), x, first)
    return cat([unsqueeze(x, dim) for x in tensors], dim if dim >= 0 else dim + len(first.shape) + 1)


def hstack(tensors):
    tensors = [x if len(x.shape) else reshape(x, 1) for x in tensors]
    return cat(tensors, 0 if len(tensors[0].shape) == 1 else 1)


def vstack(tensors):
    return cat([x if len(x.shape) > 1 else reshape(x, 1, -1) for x in tensors], 0)


def dstack(tensors):
    return cat([atleast_3d(x) for x in tensors], 2)


def column_stack(tensors):
    return cat([x if len(x.shape) > 1 else reshape(x, -1, 1) for x in tensors], 1)


def atleast_1d(x):
    return x if len(x.shape) else reshape(x, 1)


def atleast_2d(x):
    return x if len(x.shape) > 1 else reshape(x, 1, -1)


def atleast_3d(x):
    rank = len(x.shape)
    return x if rank > 2 else unsqueeze(atleast_2d(x), -1)


def narrow(input, dim, start, length):
    dim = axis(dim, len(input.shape))
    start = _number(start)
    if type(start) is int and start < 0:
        start = start + input.shape[dim]
    if type(length) is int and type(start) is int and type(input.shape[dim]) is int and start + length > input.shape[dim]:
        raise ShapeError('narrow: %d from %d goes beyond %d at dimension %d' % (length, start, input.shape[dim], dim), input)
    shape = list(input.shape)
    shape[dim] = length
    new = Size(shape)
    if input._value is None or type(start) is not int:
        return view(input, new, None)
    steps = values.strides(input.shape)
    return part(input, new, start * steps[dim], steps)


def split(input, split_size_or_sections, dim=0, **kwargs):
    sections = split_size_or_sections
    dim = axis(dim, len(input.shape))
    n = input.shape[dim]
    if isinstance(sections, (tuple, list)):
        total = 0
        for size in sections:
            total = total + size
        if differ(total, n):
            raise ShapeError('split: the sections %s make %d, dimension %d of %s has %d' % (list(sections), total, dim, tuple(input.shape), n), input)
        sizes = sections
    elif type(n) is int and type(sections) is int:
        sizes = [sections] * (n // sections)
        if n % sections:
            sizes.append(n % sections)
        sizes = sizes or [0]
    else:
        return _pellucid.unknown('split of a dimension of unknown size', 'the number of parts is not known')
    parts = []
    start = 0
    for size in sizes:
        parts.append(narrow(input, dim, start, size))
        start = start + size
    return tuple(parts)


def chunk(input, chunks, dim=0):
    n = input.shape[axis(dim, len(input.shape))]
    if type(n) is not int:
        size = n // chunks
        return tuple(narrow(input, dim, size * i, size) for i in range(chunks))
    return split(input, max(1, (n + chunks - 1) // chunks), dim)


def tensor_split(input, indices_or_sections=None, dim=0, *, indices=None, sections=None):
    n = input.shape[axis(dim, len(input.shape))]
    if indices_or_sections is None:
        indices_or_sections = sections if indices is None else indices
    how = indices_or_sections.tolist() if isinstance(indices_or_sections, Tensor) else indices_or_sections
    if isinstance(how, int):
        sizes = [n // how + (1 if i < n % how else 0) for i in range(how)]
    else:
        ends = [min(i, n) for i in how] + [n]
        sizes = [max(0, end - start) for start, end in zip([0] + ends[:-1], ends)]
    return split(input, sizes, dim)


def unbind(input, dim=0):
    dim = axis(dim, len(input.shape))
    n = input.shape[dim]
    if type(n) is not int:
        return _pellucid.unknown('unbind of a dimension of unknown size', 'the number of parts is not known')
    return tuple(select(input, dim, i) for i in range(n))


def select(input, dim, index):
    dim = axis(dim, len(input.shape))
    n = input.shape[dim]
    index = _number(index)
    if type(index) is int and type(n) is int:
        if index < -n or index >= n:
            raise IndexError('index %d is out of bounds for dimension %d with size %d' % (index, dim, n))
        if index < 0:
            index += n
    shape = list(input.shape)
    del shape[dim]
    new = Size(shape)
    if input._value is None or type(index) is not int:
        return view(input, new, None)
    steps = values.strides(input.shape)
    offset = index * steps[dim]
    del steps[dim]
    return part(input, new, offset, steps)


def flip(input, *dims, **kwargs):
    dims = _dims(dims) if dims else _dims((kwargs['dims'],))
    other = clone(input)
    for dim in dims:
        other._value = values.running(_backwards, other._value, input.shape, axis(dim, len(input.shape)))
    return other


def _backwards(line):
    return line[::-1]


def roll(input, shifts, dims=None):
    return like(input)


def rot90(input, k=1, dims=(0, 1)):
    return like(input) if k % 2 == 0 else transpose(input, dims[0], dims[1])


def diagonal(input, offset=0, dim1=0, dim2=1):
    rank = len(input.shape)
    a, b = axis(dim1, rank), axis(dim2, rank)
    rows, columns = input.shape[a], input.shape[b]
    n = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    shape = [size for i, size in enumerate(input.shape) if i != a and i != b]
    return view(input, Size(shape + [n]), None)


def diag(input, diagonal=0, *, out=None):
    if len(input.shape) == 1:
        n = input.shape[0] + abs(diagonal)
        return after(make(Size((n, n)), input.dtype), input)
    return functions['diagonal'](input, diagonal)


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    n = input.shape[-1] + abs(offset)
    return after(make(Size(tuple(input.shape[:-1]) + (n, n)), input.dtype), input)


def triangle(lower):
    def operation(input, diagonal=0, *, out=None):
        other = like(input)
        if input._value is not None:
            other._value = values.Value(_triangle, known_value(input), tuple(input.shape), diagonal, lower)
        return other

    return operation


def _triangle(value, shape, diagonal, lower):
    data = value.get()
    columns = shape[-1]
    rows = shape[-2]
    result = []
    for i, x in enumerate(data):
        distance = i % columns - i // columns % rows
        result.append(x if (distance <= diagonal if lower else distance >= diagonal) else 0 * x)
    return result


def triangle_indices(row, col, offset=0, *, dtype=None, device=None, layout=None):
    pairs = [(i, j) for i in range(row) for j in range(col) if j - i >= offset]
    return tensor([[p[0] for p in pairs], [p[1] for p in pairs]], dtype=dtype or int64)


def lower_indices(row, col, offset=0, *, dtype=None, device=None, layout=None):
    pairs = [(i, j) for i in range(row) for j in range(col) if j - i <= offset]
    return tensor([[p[0] for p in pairs], [p[1] for p in pairs]], dtype=dtype or int64)


def unfold(self, dimension, size, step):
    dim = axis(dimension, len(self.shape))
    shape = list(self.shape)
    n = shape[dim]
    if type(n) is int and n < size:
        raise ShapeError('unfold: windows of %d in dimension %d of size %d' % (size, dim, n), self)
    shape[dim] = (n - size) // step + 1
    return view(self, Size(shape + [size]), None)


def as_strided(input, size, stride, storage_offset=None):
    return view(input, Size(size), None)


def meshgrid(*tensors, indexing=None):
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    tensors = [x if len(x.shape) else reshape(x, 1) for x in tensors]
    if indexing == 'xy' and len(tensors) >= 2:
        tensors = [tensors[1], tensors[0]] + list(tensors[2:])
    sizes = [x.shape[0] for x in tensors]
    result = []
    for i, x in enumerate(tensors):
        shape = [1] * len(sizes)
        shape[i] = sizes[i]
        result.append(expand(view(x, Size(shape), known_value(x)), *sizes))
    if indexing == 'xy' and len(result) >= 2:
        result = [transpose(x, 0, 1) for x in [result[1], result[0]] + result[2:]]
    return tuple(result)


def cartesian_prod(*tensors):
    if len(tensors) == 1:
        return tensors[0]
    return reshape(stack(meshgrid(*tensors), -1), -1, len(tensors))


def index_select(input, dim, index, *, out=None):
    dim = axis(dim, len(input.shape))
    shape = list(input.shape)
    if shape:
        shape[dim] = numel(index.shape)
    value = None
    if input._value is not None and index._value is not None:
        value = values.taken(known_value(input), input.shape, dim, known_value(index))
    return make(Size(shape), input.dtype, value)


def gather(input, dim, index, *, sparse_grad=False, out=None):
    if len(index.shape) != len(input.shape):
        raise ShapeError('gather: the index %s and the tensor %s differ in rank' % (tuple(index.shape), tuple(input.shape)), index, input)
    return after(make(index.shape, input.dtype), input)


def take_along_dim(input, indices, dim=None):
    if dim is None:
        return after(make(indices.shape, input.dtype), input)
    dim = axis(dim, len(input.shape))
    a = list(input.shape)
    a[dim] = 1
    b = list(indices.shape)
    n = b[dim]
    b[dim] = 1
    shape = list(join_sizes(Size(a), Size(b)))
    shape[dim] = n
    return after(make(Size(shape), input.dtype), input)


def take(input, index):
    return after(make(index.shape, input.dtype), input)


def _written_somewhere(self, *args, **kwargs):
    return like(self)


for _name in ('scatter', 'scatter_add', 'scatter_reduce', 'index_add', 'index_fill', 'index_copy', 'index_put',
              'select_scatter', 'slice_scatter', 'put', 'fill_diagonal', 'index_reduce', 'diagonal_scatter'):
    publish(_name, _written_somewhere)


def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    for arg in args:
        if type(arg) is types.dtype or arg is bool or arg is int or arg is float:
            dtype = to_dtype(arg)
        elif isinstance(arg, Tensor):
            dtype, device = arg.dtype, arg.device
        elif isinstance(arg, (str, types.device)):
            device = arg
    dtype = to_dtype(dtype)
    if device is not None:
        device = to_device(device)
    if (dtype is None or dtype is self.dtype) and (device is None or device == self.device) and not copy:
        return self
    other = like(self)
    other._value = known_value(self)
    if dtype is not None and dtype is not self.dtype:
        other._value = cast_value(other._value, self.dtype, dtype)
        other.dtype = other._dtype = dtype
    if device is not None:
        other.device = device
    return other


def type_(self, dtype=None, non_blocking=False):
    if dtype is None:
        return 'torch.' + {'float32': 'Float', 'int64': 'Long', 'float64': 'Double', 'float16': 'Half',
                           'int32': 'Int', 'bool': 'Bool', 'uint8': 'Byte', 'bfloat16': 'BFloat16'}[self.dtype._name] + 'Tensor'
    if isinstance(dtype, str):
        import torch
        dtype = getattr(torch, dtype.replace('torch.', ''))
    if not isinstance(dtype, types.dtype):
        dtype = dtype.dtype
    return to(self, dtype)


def _caster(target):
    def method(self, memory_format=None):
        return to(self, target)

    return method


for _name, _dtype in (('float', types.float32), ('double', float64), ('half', types.float16), ('bfloat16', types.bfloat16),
                      ('long', int64), ('int', types.int32), ('short', types.int16), ('char', types.int8),
                      ('byte', uint8), ('bool', bool_), ('cfloat', types.complex64), ('cdouble', types.complex128)):
    setattr(Tensor, _name, _caster(_dtype))
Tensor.to = to
Tensor.type = type_
Tensor.type_as = lambda self, other: to(self, other.dtype)
Tensor.cpu = lambda self, memory_format=None: to(self, device='cpu')
Tensor.cuda = lambda self, device=None, non_blocking=False, memory_format=None: to(self, device='cuda')


class _Index:
    """An index tuple applied to a shape: offset, steps and sizes where it is basic; else only the sizes."""

    def __init__(self, input, key):
        key = list(key) if type(key) is tuple else [key]
        shape = input.shape
        taken = 0
        for item in key:
            if item is None or item is Ellipsis:
                continue
            if isinstance(item, Tensor) and item.dtype in (bool_, uint8):
                taken += len(item.shape)
            elif item is not True and item is not False:
                taken += 1
        rank = len(shape)
        if taken > rank:
            raise IndexError('too many indices for tensor of dimension %d' % rank)
        for i, item in enumerate(key):
            if item is Ellipsis:
                key[i:i + 1] = [slice(None)] * (rank - taken)
                break
        else:
            key = key + [slice(None)] * (rank - taken)
        self.strides = values.strides(shape) if input._value is not None else [0] * rank
        self.offset = 0
        self.sizes = []
        self.steps = []
        self.basic = True
        self.advanced = []  # (position in sizes, index tensor, dimension)
        dim = 0
        for item in key:
            if item is None:
                self.sizes.append(1)
                self.steps.append(0)
            elif type(item) is slice:
                self.slice(item, shape[dim], self.strides[dim])
                dim += 1
            elif item is True or item is False:
                self.sizes.append(1 if item else 0)
                self.steps.append(0)
            elif type(item) is int:
                n = shape[dim]
                if type(n) is int:
                    if item < -n or item >= n:
                        raise IndexError('index %d is out of bounds for dimension %d with size %d' % (item, dim, n))
                    if item < 0:
                        item += n
                    self.offset += item * self.strides[dim]
                dim += 1
            elif is_symbol(item):
                self.basic = False
                dim += 1
            else:
                dim = self.by_tensor(item, dim)
        if self.advanced:
            self.join_advanced()

    def slice(self, item, n, step):
        if item.start is None and item.stop is None and item.step is None:
            self.sizes.append(n)
            self.steps.append(step)
            return
        start, stop, by = [x.item() if isinstance(x, Tensor) else x for x in (item.start, item.stop, item.step)]
        if type(n) is int and not is_symbol(start) and not is_symbol(stop) and not is_symbol(by):
            start, stop, by = slice(start, stop, by).indices(n)
            if by <= 0:
                raise ValueError('step must be greater than zero')
            self.sizes.append(max(0, (stop - start + by - 1) // by))
            self.steps.append(step * by)
            self.offset += start * step
            return
        self.basic = False
        self.steps.append(0)
        if by is None:
            by = 1
        # Ends that are symbols are taken to lie inside: size is what they say.
        if start is None or (type(start) is int and start == 0):
            size = n if stop is None else n + stop if type(stop) is int and stop < 0 else stop
        elif stop is None:
            size = -start if type(start) is int and start < 0 else n - start
        elif type(stop) is int and stop < 0 and not (type(start) is int and start < 0):
            size = n + stop - start
        else:
            size = stop - start
        if type(by) is not int or by != 1:
            size = (size + by - 1) // by
        self.sizes.append(size)

    def by_tensor(self, item, dim):
        self.basic = False
        if not isinstance(item, Tensor):
            item = tensor(item)
        if item.dtype is bool_ or item.dtype is uint8:
            data = item.known()
            if data is None:
                n = _pellucid.unknown('number of elements under a mask', 'the mask is not known')
            else:
                n = sum([1 for x in data if x])
            self.advanced.append((len(self.sizes), make(Size((n,)), int64), None))
            return dim + len(item.shape)
        self.advanced.append((len(self.sizes), item, dim))
        return dim + 1

    def join_advanced(self):
        shape = Size(())
        for _, item, _ in self.advanced:
            shape = join_sizes(shape, item.shape)
        positions = [p for p, _, _ in self.advanced]
        at = positions[0] if positions[0] == positions[-1] else 0
        self.sizes[at:at] = list(shape)


def getitem(self, key):
    index = _Index(self, key)
    new = Size(index.sizes)
    if index.basic:
        return view(self, new, None) if self._value is None else part(self, new, index.offset, index.steps)
    value = None
    if self._value is not None and len(index.advanced) == 1:
        _, item, dim = index.advanced[0]
        key = [k for k in (key if type(key) is tuple else (key,))]
        if dim is not None and item._value is not None:
            plain = [k for k in key if not isinstance(k, (Tensor, list))]
            if dim == 0 and len(key) == 1:
                value = values.taken(known_value(self), self.shape, 0, known_value(item))
            elif not [k for k in plain if k is not Ellipsis and k != slice(None)] and None not in plain:
                value = values.taken(known_value(self), self.shape, dim, known_value(item))
        elif dim is None and len(key) == 1 and isinstance(key[0], Tensor) and tuple(key[0].shape) == tuple(self.shape):
            value = values.Value(_under, known_value(self), known_value(key[0]))
    elif self._value is not None and len(index.advanced) == len(self.shape) > 1:
        items = [item for _, item, dim in index.advanced if dim is not None and item._value is not None]
        if len(items) == len(self.shape):
            value = values.Value(_picked, known_value(self), values.strides(self.shape),
                                 [values.broadcast(known_value(i), tuple(i.shape), tuple(new)) for i in items], tuple(self.shape))
    return after(make(new, self.dtype, value), self)


def _under(value, mask):
    return [x for x, keep in zip(value.get(), mask.get()) if keep]


def _picked(value, steps, indices, shape):
    data = value.get()
    lists = [[i + n if i < 0 else i for i in index.get()] for index, n in zip(indices, shape)]
    return [data[sum([i * step for i, step in zip(place, steps)])] for place in zip(*lists)]


def setitem(self, key, value):
    index = _Index(self, key)
    new = Size(index.sizes)
    if isinstance(value, Tensor):
        source = value
        shape = list(value.shape)
        while len(shape) > len(new) and type(shape[0]) is int and shape[0] == 1:
            del shape[0]
        joined = join_sizes(new, Size(shape), ' in an assignment', value, self)
        for a, b in zip(joined, new):
            if len(joined) != len(new) or differ(a, b):
                raise ShapeError('a tensor of shape %s is assigned to a place of shape %s' % (tuple(value.shape), tuple(new)), value, self)
    else:
        source = None
    result = None
    if index.basic and self._value is not None:
        if source is None:
            fill = None if is_symbol(value) or isinstance(value, (list, tuple)) else values.filled(value, new)
        else:
            fill = values.broadcast(known_value(source), tuple(shape), tuple(new)) if source._value is not None else None
        result = values.written(known_value(self), index.offset, index.steps, tuple(new), fill)
    changed(self, result)


Tensor.__getitem__ = getitem
Tensor.__setitem__ = setitem


def masked_select(input, mask):
    return getitem(expand(input, *join_sizes(input.shape, mask.shape)), mask)


def resize_(self, *sizes, memory_format=None):
    self.shape = self._shape = Size(_dims(sizes))
    return changed(self, None)


def set_(self, source=None, *args):
    if isinstance(source, Tensor):
        self.data = source
    return self


def unsqueeze_(self, dim):
    self.shape = self._shape = unsqueeze(self, dim).shape
    return self


def squeeze_(self, dim=None):
    self.shape = self._shape = squeeze(self, dim).shape
    return self


def transpose_(self, dim0, dim1):
    self.shape = self._shape = transpose(self, dim0, dim1).shape
    return changed(self, None)


def t_(self):
    return transpose_(self, 0, 1)


def unsafe_chunk(input, chunks, dim=0):
    return chunk(input, chunks, dim)


def block_diag(*tensors):
    rows = sum([x.shape[-2] if len(x.shape) > 1 else 1 for x in tensors])
    columns = sum([x.shape[-1] if len(x.shape) else 1 for x in tensors])
    return make(Size((rows, columns)), tensors[0].dtype)


def combinations(input, r=2, with_replacement=False):
    n = input.shape[0]
    count = n * (n + (1 if with_replacement else -1)) // 2 if r == 2 else _pellucid.unknown('combinations', 'r is not 2')
    return after(make(Size((count, r)), input.dtype), input)


for _function in (reshape, view_as, permute, transpose, t, movedim, flatten, unflatten, squeeze, unsqueeze, expand,
                  broadcast_to, repeat, tile, repeat_interleave, clone, detach, contiguous, narrow, split, chunk,
                  tensor_split, unbind, select, flip, roll, rot90, diagonal, diag, diag_embed, unfold, as_strided,
                  index_select, gather, take_along_dim, take, masked_select, cat, stack, hstack, vstack, dstack,
                  column_stack, atleast_1d, atleast_2d, atleast_3d, broadcast_shapes, broadcast_tensors, meshgrid,
                  cartesian_prod, resize_, set_, unsqueeze_, squeeze_, transpose_, t_, unsafe_chunk, block_diag,
                  combinations):
    functions[_function.__name__] = _function
for _name in ('reshape', 'view_as', 'permute', 'transpose', 't', 'movedim', 'flatten', 'unflatten', 'squeeze',
              'unsqueeze', 'expand', 'broadcast_to', 'repeat', 'tile', 'repeat_interleave', 'clone', 'detach',
              'contiguous', 'narrow', 'split', 'chunk', 'tensor_split', 'unbind', 'select', 'flip', 'roll', 'rot90',
              'diagonal', 'diag', 'diag_embed', 'unfold', 'as_strided', 'index_select', 'gather', 'take_along_dim',
              'take', 'masked_select', 'resize_', 'set_', 'unsqueeze_', 'squeeze_', 'transpose_', 't_'):
    setattr(Tensor, _name, functions[_name])
Tensor.view = view_
Tensor.expand_as = lambda self, other: expand(self, *other.shape)
Tensor.reshape_as = lambda self, other: reshape(self, *other.shape)
Tensor.swapaxes = Tensor.swapdims = Tensor.transpose
Tensor.moveaxis = movedim
Tensor.ravel = flatten
Tensor.detach_ = Tensor.coalesce = Tensor.to_dense = same
for _name in ('to_sparse', 'to_sparse_coo', 'to_sparse_csr', 'to_sparse_csc', 'to_sparse_bsr', 'to_sparse_bsc', 'to_mkldnn'):
    setattr(Tensor, _name, lambda self, *args, **kwargs: clone(self))  # how the elements are kept is not in a tree
Tensor.fliplr = lambda self: flip(self, 1)
publish('tril', triangle(True))
publish('triu', triangle(False))
for _alias, _name in (('concat', 'cat'), ('concatenate', 'cat'), ('swapaxes', 'transpose'), ('swapdims', 'transpose'),
                      ('moveaxis', 'movedim'), ('ravel', 'flatten'), ('row_stack', 'vstack')):
    functions[_alias] = functions[_name]
functions['triu_indices'] = triangle_indices
functions['tril_indices'] = lower_indices
functions['unsafe_split'] = split
functions['split_with_sizes'] = split
Tensor.split_with_sizes = split
functions['fliplr'] = Tensor.fliplr
functions['flipud'] = lambda input: flip(input, 0)
