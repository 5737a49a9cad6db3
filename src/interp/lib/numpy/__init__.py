"""The part of numpy that constructors use: arrays are the abstract tensors under another name."""

import math
import sys

import _pellucid
from torch._abstract import core as _core, matrix as _matrix, pointwise as _pointwise, reduce as _reduce, shape as _shapes
from torch._abstract import types as _types
from torch._abstract.types import bool_ as _bool

__version__ = '2.4.6'
pi = math.pi
e = math.e
inf = Inf = infty = math.inf
nan = NaN = math.nan
newaxis = None
_operations = _pointwise.functions
_any = any


class dtype:
    def __new__(cls, name, *args):
        return _dtype(name)


def _dtype(name):
    if name is None:
        return None
    if isinstance(name, _types.dtype):
        return name
    if name is float or name == 'float':
        return _D
    if name is int or name == 'int':
        return _types.int64
    if name is bool or name == 'bool':
        return _bool
    if isinstance(name, str):
        for d in _types.all_dtypes:
            if d._name == name:
                return d
    return getattr(name, '_dtype', _D)


class generic:
    pass


class number(generic):
    pass


class integer(number):
    pass


class floating(number):
    pass


class bool_(integer):
    _dtype = _bool


class float32(floating):
    _dtype = _types.float32

    def __new__(cls, x=0.0):
        return float(x)


class float64(floating):
    _dtype = _types.float64

    def __new__(cls, x=0.0):
        return float(x)


class float16(floating):
    _dtype = _types.float16

    def __new__(cls, x=0.0):
        return float(x)


class int64(integer):
    _dtype = _types.int64

    def __new__(cls, x=0):
        return int(x)


class int32(int64):
    _dtype = _types.int32


class int16(int64):
    _dtype = _types.int16


class int8(int64):
    _dtype = _types.int8


class uint8(int64):
    _dtype = _types.uint8


class uint16(int64):
    _dtype = _types.uint16


class uint32(int64):
    _dtype = _types.uint32


class uint64(int64):
    _dtype = _types.uint64


class complex64(number):
    _dtype = _types.complex64


class complex128(number):
    _dtype = _types.complex128


float_ = double = float64
single = float32
half = float16
int_ = intp = long = int64
complexfloating = number
signedinteger = unsignedinteger = integer
str_ = str
bytes_ = bytes
object_ = object
_D = _types.float64


class ndarray:
    def __init__(self, shape, dtype=None, *args):
        self._tensor = _core.empty(*shape) if isinstance(shape, (tuple, list)) else _core.empty(shape)
        self._tensor.dtype = self._tensor._dtype = _dtype(dtype) or _D

    @staticmethod
    def _of(tensor):
        array = object.__new__(ndarray)
        array._tensor = tensor
        return array

    @property
    def shape(self):
        return tuple(self._tensor.shape)

    @shape.setter
    def shape(self, sizes):
        self._tensor = self._tensor.reshape(sizes)

    @property
    def dtype(self):
        return self._tensor.dtype

    @property
    def ndim(self):
        return len(self._tensor.shape)

    @property
    def size(self):
        return self._tensor.numel()

    @property
    def T(self):
        return _wrap(self._tensor.T)

    @property
    def flat(self):
        return iter(self._tensor.flatten().tolist())

    def astype(self, dtype, *args, **kwargs):
        return _wrap(self._tensor.to(_dtype(dtype)))

    def tolist(self):
        return self._tensor.tolist()

    def item(self, *args):
        return self._tensor.item()

    def copy(self, order=None):
        return _wrap(self._tensor.clone())

    def reshape(self, *sizes, order=None):
        return _wrap(self._tensor.reshape(*sizes))

    def transpose(self, *axes):
        if not axes:
            return self.T
        return _wrap(self._tensor.permute(*axes))

    def repeat(self, repeats, axis=None):
        return _wrap(self._tensor.repeat_interleave(repeats, axis))

    def fill(self, value):
        self._tensor.fill_(value)

    def __len__(self):
        return len(self._tensor)

    def __iter__(self):
        for item in self._tensor:
            yield _wrap(item)

    def __getitem__(self, key):
        if isinstance(key, tuple):
            key = tuple([k._tensor if isinstance(k, ndarray) else k for k in key])
        elif isinstance(key, ndarray):
            key = key._tensor
        return _wrap(self._tensor[key])

    def __setitem__(self, key, value):
        self._tensor[key] = value._tensor if isinstance(value, ndarray) else value

    def __bool__(self):
        return bool(self._tensor)

    def __int__(self):
        return int(self._tensor)

    def __index__(self):
        return int(self._tensor)

    def __float__(self):
        return float(self._tensor)

    def __repr__(self):
        return 'array(..., shape=%s)' % (self.shape,)

    def __deepcopy__(self, memo):
        return self.copy()


def _wrap(x):
    """What numpy would give: a number for an array without dimensions, if it is known."""
    if isinstance(x, _core.Tensor):
        if not x.shape:
            data = x.known()
            if data is not None:
                return data[0]
        return ndarray._of(x)
    if isinstance(x, tuple):
        return tuple([_wrap(item) for item in x])
    return x


def _is_ours(x):
    """A symbol that a function of numpy's gave: an array of a shape that nobody knows, where other symbols are numbers."""
    return _pellucid.is_symbol(x) and _pellucid.symbol_text(x).startswith('numpy.')


def _lifted(name, function):
    """The function, for which an array that nobody knows gives another."""

    def operation(*args, **kwargs):
        for x in args:
            if _is_ours(x) or type(x) in (list, tuple) and _any([_is_ours(item) for item in x]):
                return _pellucid.symbol('numpy.%s(...)' % name, 'it depends on an array that is not known')
        return function(*args, **kwargs)

    return operation


def _tensor(x):
    if isinstance(x, ndarray):
        return x._tensor
    if isinstance(x, _core.Tensor):
        return x
    t = _core.tensor(x)
    if t.dtype is _types.float32:
        t.dtype = t._dtype = _D
    return t


def _binary_method(name, swap=False):
    function = _operations[name]

    def method(self, other):
        if _is_ours(other):
            return _pellucid.symbol('numpy.%s(...)' % name, 'it depends on an array that is not known')
        other = other._tensor if isinstance(other, ndarray) else _tensor(other) if isinstance(other, (list, tuple)) else other
        return _wrap(function(other, self._tensor) if swap else function(self._tensor, other))

    return method


for _dunder, _name in (('add', 'add'), ('sub', 'sub'), ('mul', 'mul'), ('truediv', 'div'), ('floordiv', 'floor_divide'),
                       ('mod', 'remainder'), ('pow', 'pow'), ('and', 'bitwise_and'), ('or', 'bitwise_or'),
                       ('eq', 'eq'), ('ne', 'ne'), ('lt', 'lt'), ('le', 'le'), ('gt', 'gt'), ('ge', 'ge'),
                       ('matmul', 'matmul')):
    setattr(ndarray, '__%s__' % _dunder, _binary_method(_name))
    setattr(ndarray, '__r%s__' % _dunder, _binary_method(_name, True))
ndarray.__hash__ = lambda self: id(self)
ndarray.__neg__ = lambda self: _wrap(-self._tensor)
ndarray.__abs__ = lambda self: _wrap(abs(self._tensor))


def _reducer(name):
    function = _operations[name]

    def operation(a, axis=None, dtype=None, out=None, keepdims=False, **kwargs):
        t = _tensor(a)
        if name == 'mean' and t.dtype.kind < 2:
            t = t.to(_D)
        return _wrap(function(t, axis, keepdims))

    return operation


for _name, _own in (('sum', 'sum'), ('prod', 'prod'), ('mean', 'mean'), ('any', 'any'), ('all', 'all'), ('max', 'amax'),
                    ('min', 'amin'), ('argmax', 'argmax'), ('argmin', 'argmin'), ('amax', 'amax'), ('amin', 'amin')):
    globals()[_name] = _reducer(_own)
    setattr(ndarray, _name, globals()[_name])
product = prod


def _unary(name):
    function = _operations[name]

    def operation(x, *args, **kwargs):
        t = _tensor(x)
        if t.dtype.kind < 2 and name not in ('abs', 'sign', 'square', 'neg'):
            t = t.to(_D)
        return _wrap(function(t))

    return operation


for _name in ('exp', 'log', 'log2', 'log10', 'log1p', 'expm1', 'sqrt', 'sin', 'cos', 'tan', 'tanh', 'floor', 'ceil',
              'abs', 'sign', 'square', 'round', 'isnan', 'isinf', 'isfinite', 'trunc', 'arctan', 'arccos', 'arcsin',
              'sinh', 'cosh', 'exp2', 'deg2rad', 'rad2deg', 'logical_not', 'reciprocal'):
    globals()[_name] = _unary(_name)
absolute = abs
rint = around = round
radians = deg2rad
degrees = rad2deg


def _two(name):
    function = _operations[name]
    return lambda a, b, *args, **kwargs: _wrap(function(_tensor(a), _tensor(b)))


for _name in ('add', 'subtract', 'multiply', 'divide', 'true_divide', 'floor_divide', 'maximum', 'minimum', 'matmul',
              'outer', 'remainder', 'equal', 'not_equal', 'less', 'greater', 'logical_and', 'logical_or', 'arctan2',
              'less_equal', 'greater_equal', 'hypot', 'logaddexp'):
    globals()[_name] = _two('eq' if _name == 'equal' else _name)
dot = matmul
mod = remainder


def power(a, b):
    if (type(a) is int or type(a) is float) and (type(b) is int or type(b) is float):
        return a ** b  # tables of positions ask for this element by element
    if _is_ours(a) or _is_ours(b):
        return _pellucid.symbol('numpy.power(...)', 'it depends on an array that is not known')
    a, b = _tensor(a), _tensor(b)
    return _wrap(_operations['pow'](a, b))


def array(obj, dtype=None, copy=True, ndmin=0, **kwargs):
    if isinstance(obj, (list, tuple)) and obj and isinstance(obj[0], ndarray):
        t = _shapes.stack([x._tensor for x in obj])
    else:
        t = _tensor(list(obj) if isinstance(obj, range) else obj)
    if dtype is not None:
        t = t.to(_dtype(dtype))
    return ndarray._of(t)


def asarray(obj, dtype=None, **kwargs):
    return obj if isinstance(obj, ndarray) and dtype is None else array(obj, dtype)


ascontiguousarray = asanyarray = asarray


def _filled(factory):
    def make(shape, dtype=None, order=None, **kwargs):
        return ndarray._of(factory(shape, dtype=_dtype(dtype) or _D))

    return make


zeros = _filled(_core.zeros)
ones = _filled(_core.ones)
empty = _filled(_core.empty)


def full(shape, fill_value, dtype=None, **kwargs):
    return ndarray._of(_core.full(shape, fill_value, dtype=_dtype(dtype)))


def zeros_like(a, dtype=None, **kwargs):
    return ndarray._of(_core.zeros_like(_tensor(a), dtype=_dtype(dtype)))


def ones_like(a, dtype=None, **kwargs):
    return ndarray._of(_core.ones_like(_tensor(a), dtype=_dtype(dtype)))


empty_like = zeros_like


def full_like(a, fill_value, dtype=None, **kwargs):
    return ndarray._of(_core.full_like(_tensor(a), fill_value, dtype=_dtype(dtype)))


def arange(start, stop=None, step=1, dtype=None, **kwargs):
    t = _core.arange(start, stop, step, dtype=_dtype(dtype))
    if dtype is None and t.dtype is _types.float32:
        t.dtype = t._dtype = _D
    return ndarray._of(t)


def linspace(start, stop, num=50, endpoint=True, dtype=None, **kwargs):
    if not endpoint:
        stop = stop - (stop - start) / num
    return ndarray._of(_core.linspace(start, stop, num, dtype=_dtype(dtype) or _D))


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    t = _core.linspace(start, stop, num, dtype=_D)
    return power(base, ndarray._of(t))


def eye(N, M=None, k=0, dtype=None, **kwargs):
    return ndarray._of(_core.eye(N, M, dtype=_dtype(dtype) or _D))


identity = eye


def concatenate(arrays, axis=0, **kwargs):
    return _wrap(_shapes.cat([_tensor(a) for a in arrays], axis))


def stack(arrays, axis=0, **kwargs):
    return _wrap(_shapes.stack([_tensor(a) for a in arrays], axis))


def hstack(arrays):
    return _wrap(_shapes.hstack([_tensor(a) for a in arrays]))


def vstack(arrays):
    return _wrap(_shapes.vstack([_tensor(a) for a in arrays]))


def meshgrid(*arrays, indexing='xy', **kwargs):
    return list(_wrap(_shapes.meshgrid(*[_tensor(a) for a in arrays], indexing=indexing)))


def reshape(a, shape, **kwargs):
    return _wrap(_tensor(a).reshape(shape))


def transpose(a, axes=None):
    return _wrap(_tensor(a).T if axes is None else _tensor(a).permute(*axes))


def expand_dims(a, axis):
    return _wrap(_tensor(a).unsqueeze(axis))


def squeeze(a, axis=None):
    return _wrap(_tensor(a).squeeze(axis))


def tile(a, reps):
    return _wrap(_shapes.tile(_tensor(a), reps if isinstance(reps, (tuple, list)) else (reps,)))


def repeat(a, repeats, axis=None):
    return _wrap(_tensor(a).repeat_interleave(repeats, axis))


def cumsum(a, axis=None, dtype=None, out=None):
    t = _tensor(a)
    return _wrap(t.flatten().cumsum(0) if axis is None else t.cumsum(axis))


ndarray.cumsum = cumsum
ndarray.squeeze = squeeze
ndarray.flatten = ndarray.ravel = lambda self, order=None: _wrap(self._tensor.flatten())


def clip(a, a_min=None, a_max=None, **kwargs):
    return _wrap(_tensor(a).clamp(a_min, a_max))


ndarray.clip = clip


def where(condition, x=None, y=None):
    if x is None:
        return _wrap(_reduce.nonzero(_tensor(condition), as_tuple=True))
    return _wrap(_pointwise.where(_tensor(condition), _tensor(x), _tensor(y)))


def argsort(a, axis=-1, **kwargs):
    return _wrap(_tensor(a).argsort(axis))


def sort(a, axis=-1, **kwargs):
    return _wrap(_tensor(a).sort(axis)[0])


def unique(a, *args, **kwargs):
    return _wrap(_reduce.unique(_tensor(a)))


def diff(a, n=1, axis=-1, **kwargs):
    return _wrap(_reduce.diff(_tensor(a), n, axis))


def std(a, axis=None, **kwargs):
    return _wrap(_core.make(_reduce._without(_tensor(a).shape, _reduce._axes(axis, len(_tensor(a).shape)), False), _D))


var = std
ndarray.std = ndarray.var = std


def triu(m, k=0):
    return _wrap(_tensor(m).triu(k))


def tril(m, k=0):
    return _wrap(_tensor(m).tril(k))


def einsum(subscripts, *operands, **kwargs):
    return _wrap(_matrix.einsum(subscripts, *[_tensor(x) for x in operands]) if isinstance(subscripts, str)
                 else _pellucid.unknown('numpy.einsum by sublists', 'only equations in text are modelled'))


def interp(x, xp, fp, *args):
    return _wrap(_core.make(_tensor(x).shape, _D))


def ndindex(*shape):
    import itertools
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    return itertools.product(*[range(n) for n in shape])


def lcm(a, b):
    return int(a) * int(b) // math.gcd(int(a), int(b)) if a and b else 0


def isscalar(x):
    return isinstance(x, (int, float, complex, str, bytes))


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return _wrap(_pointwise.isclose(_tensor(a), _tensor(b), rtol, atol))


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return bool(all(isclose(a, b, rtol, atol)))


def array_equal(a, b):
    return _pointwise.equal(_tensor(a), _tensor(b))


def shape(a):
    return tuple(_tensor(a).shape)


def ndim(a):
    return len(_tensor(a).shape)


def size(a, axis=None):
    return _tensor(a).numel() if axis is None else _tensor(a).shape[axis]


def issubdtype(a, b):
    kind = _dtype(a).kind
    if b is integer or b is int64:
        return kind == 1
    if b is floating:
        return kind == 2
    return _dtype(a) is _dtype(b)


class finfo(_types.finfo):
    def __init__(self, kind):
        _types.finfo.__init__(self, _dtype(kind))


class iinfo(_types.iinfo):
    def __init__(self, kind):
        _types.iinfo.__init__(self, _dtype(kind))


class errstate:
    def __init__(self, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def seterr(**kwargs):
    return {}


def set_printoptions(*args, **kwargs):
    pass


def load(*args, **kwargs):
    return _pellucid.unknown('numpy.load', 'files of arrays are not read')


class RandomState:
    def __init__(self, seed=None):
        pass

    def __getattr__(self, name):
        return getattr(random, name)


for _name in ('random', 'testing', 'lib', 'core', 'polynomial', 'typing', 'ma', 'exceptions', 'linalg', 'fft'):
    globals()[_name] = sys.modules['numpy.' + _name] = _pellucid.symbol_module('numpy.' + _name)


def _random(*size, **kwargs):
    sizes = kwargs.get('size', size)
    return ndarray._of(_core.empty(sizes if isinstance(sizes, (tuple, list)) else (sizes,), dtype=_D))


random.rand = random.randn = _random
random.RandomState = random.default_rng = RandomState
random.seed = lambda *args: None


for _name, _value in list(globals().items()):
    if type(_value) is type(_lifted) and _name[0] != '_' and _name != 'power':  # element by element: power looks itself
        globals()[_name] = _lifted(_name, _value)


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('numpy.' + name)
