"""The abstract tensor: shape, dtype, device, requires_grad and, where they are known, values. And what makes one."""

import math

import _pellucid

from torch._abstract import values
from torch._abstract.types import (Size, bool_, complex64, cpu, defaults, device, dtype as DType, float32, float64,
                                   int64, is_symbol, numel as count)


class Tensor:
    requires_grad = False
    grad = None
    grad_fn = None
    is_leaf = True
    device = cpu
    layout = None  # torch.strided, set by torch/__init__
    names = None
    is_cuda = is_xpu = is_mps = is_quantized = is_sparse = is_nested = is_mkldnn = is_meta = is_sparse_csr = False
    is_cpu = True
    output_nr = 0
    _backward_hooks = None
    _version = 0
    _value = None
    _storage = None  # the tensor that owns the memory, when it is not this one
    _seen = 0  # the version of that tensor when this one's value was made
    _owner = None  # the tensor this shows, all of it or a part; what is written here is written there
    _place = None  # of a part: its offset and steps in that tensor; None: the elements are the same, in their order
    _shaped_by = None  # in a forward: name, file and line of the operation that gave it its shape
    _given_by = None  # the module that gave it, or a tuple of modules: written by the scan, passed on by operations
    __array_priority__ = 1000

    def __getattr__(self, name):
        _names = _pellucid.import_module('torch._names')
        if name in _names.of_tensor():
            function = _pellucid.get_dict(_pellucid.import_module('torch')).get(name)
            if function is None or is_symbol(function) or not callable(function):
                return _pellucid.unmodelled('Tensor.' + name)
            return lambda *args, **kwargs: function(self, *args, **kwargs)  # as torch's methods do
        raise AttributeError(f"'Tensor' object has no attribute '{name}'")

    def __init__(self, *args, device=None):
        # The legacy constructor: sizes, or the data.
        value = None
        if len(args) == 1 and not isinstance(args[0], int):
            if isinstance(args[0], Tensor):
                other = args[0]
                shape, value = other.shape, other._value
                self._storage = other if other._storage is None else other._storage
            elif isinstance(args[0], Size):
                shape = args[0]
            else:
                shape, value, _ = from_data(args[0])
        else:
            shape = size_of(args) if args else Size((0,))
        self.shape = self._shape = shape
        self.dtype = self._dtype = defaults.dtype
        self._value = value
        if device is not None:
            self.device = to_device(device)

    @staticmethod
    def _make_subclass(cls, data, require_grad=False, **kwargs):
        self = object.__new__(cls)
        self.shape = self._shape = data.shape
        self.dtype = self._dtype = data.dtype
        self._value = data._value
        self._storage = storage = data if data._storage is None else data._storage
        self._seen = storage._version
        if data.device is not cpu:
            self.device = data.device
        self.requires_grad = require_grad
        return self

    _make_wrapper_subclass = _make_subclass

    def as_subclass(self, cls):
        return Tensor._make_subclass(cls, self, self.requires_grad)

    def __deepcopy__(self, memo):
        key = id(self)
        if key in memo:
            return memo[key]
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        storage = self._storage
        if storage is not None:
            if id(storage) in memo:
                other._storage = memo[id(storage)]
            else:
                other._storage = memo[id(storage)] = like(storage)
        memo[key] = other
        return other

    def __hash__(self):
        return id(self)

    def __bool__(self):
        return bool(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    def __complex__(self):
        return complex(self.item())

    def __len__(self):
        if not self.shape:
            raise TypeError('len() of a 0-d tensor')
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError('iteration over a 0-d tensor')
        return iter(self.unbind(0))

    def __contains__(self, item):
        return bool((self == item).any())

    def __repr__(self):
        return 'tensor(..., size=%s, dtype=%r)' % (tuple(self.shape), self.dtype)

    def __format__(self, spec):
        if not self.shape and self._value is not None:
            return format(self.item(), spec)
        return repr(self)

    def __reduce_ex__(self, protocol):
        return (tensor, (self.tolist(),))

    def known(self):
        """The elements, or None."""
        value = known_value(self)
        return None if value is None or count(self.shape) > values.LIMIT else value.get()

    def item(self):
        shape = self.shape
        if shape:
            n = count(shape)
            if type(n) is int and n != 1:
                raise RuntimeError('a Tensor with %d elements cannot be converted to Scalar' % n)
        data = self.known()
        if data is None:
            return _pellucid.unknown('value of a tensor', 'it depends on weights, on inputs or on chance')
        return data[0]

    def tolist(self):
        data = self.known()
        if data is None:
            return _pellucid.unknown('values of a tensor', 'they depend on weights, on inputs or on chance')
        return values.nested(data, tuple(self.shape))

    @property
    def data(self):
        other = alias(self)
        other._owner = self
        return other

    @data.setter
    def data(self, new):
        self.shape = self._shape = new.shape
        self.dtype = self._dtype = new.dtype
        self._value = new._value

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def itemsize(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return count(self.shape) * self.dtype.itemsize

    @property
    def T(self):
        return self.permute(*range(len(self.shape) - 1, -1, -1))

    @property
    def mT(self):
        return self.transpose(-2, -1)

    @property
    def H(self):
        return self.transpose(0, 1)

    @property
    def mH(self):
        return self.transpose(-2, -1)

    @property
    def real(self):
        return make(self.shape, self.dtype.to_real())

    @property
    def imag(self):
        return make(self.shape, self.dtype.to_real())

    def dim(self):
        return len(self.shape)

    ndimension = dim

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def numel(self):
        return count(self.shape)

    nelement = numel

    def element_size(self):
        return self.dtype.itemsize

    def stride(self, dim=None):
        steps = tuple(values.strides(self.shape))
        return steps if dim is None else steps[dim]

    def storage_offset(self):
        return 0

    def data_ptr(self):
        return id(self if self._storage is None else self._storage)

    def untyped_storage(self):
        return Storage(self if self._storage is None else self._storage)

    storage = _typed_storage = untyped_storage

    def is_floating_point(self):
        return self.dtype.kind == 2

    def is_complex(self):
        return self.dtype.kind == 3

    def is_signed(self):
        return self.dtype.is_signed

    def is_contiguous(self, memory_format=None):
        return True

    def is_pinned(self, device=None):
        return False

    def is_shared(self):
        return False

    def is_inference(self):
        return False

    def is_conj(self):
        return False

    is_neg = is_conj

    def is_same_size(self, other):
        return tuple(self.shape) == tuple(other.shape)

    def get_device(self):
        return -1

    def requires_grad_(self, requires_grad=True):
        self.requires_grad = requires_grad
        return self

    def retain_grad(self):
        pass

    def backward(self, *args, **kwargs):
        pass

    def register_hook(self, hook):
        from torch.utils.hooks import RemovableHandle
        return RemovableHandle({})

    register_post_accumulate_grad_hook = register_hook

    def share_memory_(self):
        return self

    def pin_memory(self, device=None):
        return self

    def numpy(self, *, force=False):
        from numpy import ndarray
        return ndarray._of(self)

    def __array__(self, dtype=None):
        return self.numpy()

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Storage:
    def __init__(self, owner):
        self.owner = owner

    def data_ptr(self):
        return id(self.owner)

    def nbytes(self):
        return count(self.owner.shape) * self.owner.dtype.itemsize

    size = __len__ = nbytes

    def __eq__(self, other):
        return isinstance(other, Storage) and self.owner is other.owner

    def __hash__(self):
        return id(self.owner)


_new = object.__new__
_shaped = _pellucid.shaped


def make(shape, dtype, value=None):
    t = _new(Tensor)
    t.shape = t._shape = shape if type(shape) is Size else Size(shape)
    t.dtype = t._dtype = dtype
    if value is not None:
        t._value = value
    by = _shaped()
    if by is not None:
        t._shaped_by = by
    return t


def like(x):
    """A new tensor with the shape, dtype and device of another; its values are not known."""
    t = _new(Tensor)
    t.shape = t._shape = x.shape
    t.dtype = t._dtype = x.dtype
    if x.device is not cpu:
        t.device = x.device
    if x._given_by is not None:
        t._given_by = x._given_by
    if x._shaped_by is not None:
        t._shaped_by = x._shaped_by
    return t


def alias(x):
    """Another tensor over the same memory."""
    t = like(x)
    t._value = x._value
    t._storage = storage = x if x._storage is None else x._storage
    t._seen = storage._version
    return t


def view(x, shape, value):
    """Part of x, or all of it in another shape, over the same memory."""
    t = _new(Tensor)
    t.shape = t._shape = shape if type(shape) is Size else Size(shape)
    t.dtype = t._dtype = x.dtype
    t._value = value
    if x.device is not cpu:
        t.device = x.device
    if x._given_by is not None:
        t._given_by = x._given_by
    by = _shaped()
    if by is not None:
        t._shaped_by = x._shaped_by if t.shape == x.shape else by
    t._storage = storage = x if x._storage is None else x._storage
    t._seen = storage._version
    if value is not None and value is x._value:
        t._owner = x
    return t


def after(t, *sources):
    """t comes from these: passes on their device and who gave them."""
    givers = ()
    for x in sources:
        if isinstance(x, Tensor):
            if x.device is not cpu:
                t.device = x.device
            if x._shaped_by is not None and x.shape == t.shape:
                t._shaped_by = x._shaped_by
            given = x._given_by
            if given is not None:
                for name in given if type(given) is tuple else (given,):
                    if name not in givers:
                        givers += (name,)
    if givers:
        t._given_by = givers[0] if len(givers) == 1 else givers
    return t


def known_value(t):
    """The Value of a tensor, or None where other aliases have written over it."""
    storage = t._storage
    if storage is not None and storage._version != t._seen:
        return _shown_value(t, storage)
    return t._value


def _shown_value(t, storage):
    """What t shows of its owner now, if that is known."""
    value = None if t._owner is None else known_value(t._owner)
    if value is not None and t._place is not None:
        value = values.strided(value, *t._place, t.shape)
    t._value = value
    t._seen = storage._version
    return value


def changed(t, value):
    """After an operation in place: t has this value (None: unknown), and so have those that it shows a part of; what
    else shares its memory has none any more."""
    storage = t._storage
    if storage is None:
        t._version += 1
    else:
        shown = () if t._owner is None else _owners_after(t, value)
        storage._version += 1
        storage._value = None
        t._seen = storage._version
        for owner, its_value in shown:
            owner._value = its_value
            if owner is not storage:
                owner._seen = storage._version
    t._value = value
    return t


def _owners_after(t, value):
    result = []
    while t._owner is not None:
        owner = t._owner
        if t._place is not None:
            value = values.written(known_value(owner), *t._place, tuple(t.shape), value)
        result.append((owner, value))
        t = owner
    return result


def to_dtype(kind):
    """torch takes Python's own types for dtypes."""
    if kind is None or type(kind) is DType:
        return kind
    if kind is bool:
        return bool_
    if kind is int:
        return int64
    return float64 if kind is float else kind._dtype


def to_device(where):
    if where is None:
        return cpu
    if type(where) is not device:
        where = device(where)
    return where


def size_of(args):
    if len(args) == 1:
        first = args[0]
        if type(first) is Size:
            return first
        if type(first) is not int and not is_symbol(first) and isinstance(first, (tuple, list)):
            args = first
    for n in args:
        if type(n) is not int or n < 0:
            return _checked_size(args)
    return Size(args)


def _checked_size(args):
    args = [n if is_symbol(n) else n.__index__() for n in args]
    for n in args:
        if type(n) is int and n < 0:
            raise RuntimeError('Trying to create tensor with negative dimension %d: %r' % (n, args))
    return Size(args)


def _made(shape, dtype, value, where, requires_grad):
    t = _new(Tensor)
    t.shape = t._shape = shape
    t.dtype = t._dtype = defaults.dtype if dtype is None else dtype if type(dtype) is DType else to_dtype(dtype)
    if value is not None:
        t._value = value
    if where is not None:
        t.device = to_device(where)
    elif defaults.devices:
        t.device = defaults.devices[-1]
    if requires_grad:
        t.requires_grad = True
    return t


def empty(*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, memory_format=None,
          out=None, generator=None, names=None):
    if not size and names is not None:
        size = names
    return _made(size_of(size), dtype, None, device, requires_grad)


def _empty(function):
    """Gives a factory the keyword form empty(size=...)."""

    def factory(*args, size=None, **kwargs):
        return function(*args, **kwargs) if size is None else function(size, **kwargs)

    return factory


def zeros(*size, dtype=None, device=None, requires_grad=False, layout=None, out=None, names=None, pin_memory=False):
    shape = size_of(size)
    if type(dtype) is type:
        dtype = to_dtype(dtype)
    number = 0.0 if dtype is None or dtype.kind == 2 else False if dtype.kind == 0 else 0
    return _made(shape, dtype, values.filled(number, shape), device, requires_grad)


def ones(*size, dtype=None, device=None, requires_grad=False, layout=None, out=None, names=None, pin_memory=False):
    shape = size_of(size)
    if type(dtype) is type:
        dtype = to_dtype(dtype)
    number = 1.0 if dtype is None or dtype.kind == 2 else True if dtype.kind == 0 else 1
    return _made(shape, dtype, values.filled(number, shape), device, requires_grad)


empty_by_size = _empty(empty)
zeros_by_size = _empty(zeros)
ones_by_size = _empty(ones)


def full(size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, out=None, names=None,
         pin_memory=False):
    shape = size_of((size,))
    dtype = to_dtype(dtype)
    if is_symbol(fill_value):
        value = None
        dtype = dtype or defaults.dtype
    elif isinstance(fill_value, Tensor):
        dtype = dtype or fill_value.dtype
        data = fill_value.known()
        value = None if data is None else values.filled(data[0], shape)
    else:
        if dtype is None:
            dtype = scalar_dtype(fill_value)
        value = values.filled(cast_number(fill_value, dtype), shape)
    return _made(shape, dtype, value, device, requires_grad)


def scalar_dtype(x):
    if isinstance(x, bool):
        return bool_
    if isinstance(x, int):
        return int64
    if isinstance(x, float):
        return defaults.dtype
    if isinstance(x, complex):
        return complex64
    if isinstance(x, Tensor):
        return x.dtype
    own = getattr(x, 'dtype', None)  # a number of numpy's
    if isinstance(own, DType):
        return own
    if is_symbol(x):
        return defaults.dtype
    raise TypeError('no dtype for a value of type ' + type(x).__name__)


def cast_number(x, dtype):
    kind = dtype.kind
    if kind == 2:
        return float(x)
    if kind == 1:
        return int(x)
    if kind == 0:
        return bool(x)
    return x


def random(*size, dtype=None, device=None, requires_grad=False, layout=None, out=None, generator=None, names=None,
           pin_memory=False, memory_format=None):
    return _made(size_of(size), dtype, None, device, requires_grad)


random_by_size = _empty(random)


def randint(low, high=None, size=None, *, dtype=None, device=None, requires_grad=False, generator=None, layout=None,
            out=None, pin_memory=False):
    if size is None:
        size = high
    return _made(size_of((size,)), dtype or int64, None, device, requires_grad)


def randperm(n, *, dtype=None, device=None, generator=None, requires_grad=False, layout=None, out=None,
             pin_memory=False):
    return _made(size_of((n,)), dtype or int64, None, device, requires_grad)


def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, device=None):
    if size is None:
        size = mean.shape if isinstance(mean, Tensor) else std.shape
    return _made(size_of((size,)), dtype, None, device, False)


def number(x):
    """A number or a symbol, out of a tensor if need be."""
    if type(x) is int or type(x) is float or is_symbol(x):
        return x
    return x.item() if isinstance(x, Tensor) else x


def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False, layout=None, out=None,
           pin_memory=False):
    if not is_symbol(end) and end is None:
        start, end = 0, start
    start, end, step = number(start), number(end), number(step)
    if type(start) is int and type(end) is int and type(step) is int:
        n = (end - start + step - (1 if step > 0 else -1)) // step
        if dtype is None:
            dtype = int64
    elif is_symbol(start) or is_symbol(end) or is_symbol(step):
        n = end if type(start) is int and start == 0 else end - start
        if type(step) is not int or step != 1:
            n = n // step
        return _made(Size((n,)), dtype or int64, None, device, requires_grad)
    else:
        whole = (end - start) / step
        n = int(whole)
        if n < whole:
            n += 1
        if dtype is None:
            dtype = defaults.dtype
    if n < 0:
        raise RuntimeError('upper bound and lower bound inconsistent with step sign')
    if dtype.kind == 2:
        start = float(start)
    return _made(Size((n,)), dtype, values.stepped(start, step, n), device, requires_grad)


def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False, layout=None, out=None,
             pin_memory=False):
    start, end, steps = number(start), number(end), number(steps)
    dtype = dtype or defaults.dtype
    value = None
    if not (is_symbol(start) or is_symbol(end) or is_symbol(steps)):
        value = values.spaced(start, end, steps)
        if dtype is float32:
            value = values.mapped(_to_float32, value)
        elif dtype.kind == 1:
            value = values.mapped(int, value)
    return _made(Size((steps,)), dtype, value, device, requires_grad)


def _to_float32(x):
    if x == 0 or x != x or x in (math.inf, -math.inf):
        return x
    fraction, exponent = math.frexp(x)
    return math.ldexp(round(fraction * 16777216), exponent - 24)


def logspace(start, end, steps, base=10.0, **kwargs):
    t = linspace(start, end, steps, **kwargs)
    t._value = values.mapped(lambda x: base ** x, t._value)
    return t


def eye(n, m=None, *, dtype=None, device=None, requires_grad=False, layout=None, out=None, pin_memory=False):
    m = n if not is_symbol(m) and m is None else m
    value = None
    if type(n) is int and type(m) is int:
        value = values.Value(_eye, n, m)
    return _made(Size((n, m)), dtype, value, device, requires_grad)


def _eye(n, m):
    return [1.0 if i == j else 0.0 for i in range(n) for j in range(m)]


def from_data(data):
    """Shape, value and dtype of nested lists and numbers, or of an array."""
    if is_symbol(data):
        return Size(()), None, defaults.dtype
    if isinstance(data, Tensor):
        return data.shape, data._value, data.dtype
    if isinstance(data, (list, tuple, range)):
        sizes = []
        flat = list(data)
        level = data
        while isinstance(level, (list, tuple, range)):
            sizes.append(len(level))
            if not is_symbol(sizes[-1]) and not sizes[-1]:
                break
            level = level[0]
            if is_symbol(level):  # asking it whether it is a list would ask so at each depth, without end
                _pellucid.note_guess(_pellucid.symbol_text(level), 'as an item of a tensor\'s data it is taken for a number')
                break
            if isinstance(level, (list, tuple, range)):
                flat = [x for row in flat for x in row]
        if flat and not is_symbol(flat[0]) and (isinstance(flat[0], Tensor) or hasattr(flat[0], '_tensor')):
            return _from_tensors(flat, sizes)
        kind = None
        known = True
        for x in flat:
            if type(x) is float:
                kind = defaults.dtype if kind is None or kind.kind < 2 else kind
            elif type(x) is bool:
                kind = kind or bool_
            elif type(x) is int:
                if kind is None or kind.kind == 0:
                    kind = int64
            elif is_symbol(x):
                known = False
            else:
                other = scalar_dtype(x)
                if kind is None or other.kind > kind.kind:
                    kind = other
        if kind is None:
            kind = defaults.dtype
        if kind.kind == 2:
            flat = [float(x) if type(x) is int or type(x) is bool else x for x in flat]
        return Size(sizes), values.literal(flat) if known else None, kind
    if hasattr(data, '_tensor'):  # an array of our numpy
        t = data._tensor
        return t.shape, t._value, t.dtype
    return Size(()), values.literal([data]), scalar_dtype(data)


def _from_tensors(flat, sizes):
    flat = [x if isinstance(x, Tensor) else tensor(x) for x in flat]
    first = flat[0]
    dtype = first.dtype
    value = values.joined([x._value for x in flat], [(count(x.shape),) for x in flat], 0)
    return Size(sizes + list(first.shape)), value, dtype


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    if is_symbol(data):
        text = _pellucid.symbol_text(data)
        if text.startswith('numpy.'):  # what a function of numpy's gave: its shape is as unknown
            return _pellucid.unknown('torch.tensor(%s)' % text, 'it is made from an array that is not known')
        _pellucid.note_guess(text, 'as the data of a tensor it is taken for a number')
    shape, value, own = from_data(data)
    dtype = to_dtype(dtype)
    if dtype is not None and dtype is not own:
        value = cast_value(value, own, dtype)
    return _made(shape, dtype or own, value, device, requires_grad)


def cast_value(value, old, new):
    if value is None or old.kind == new.kind:
        return value
    return values.mapped([bool, int, float, complex][new.kind], value)


def as_tensor(data, dtype=None, device=None):
    if isinstance(data, Tensor):
        return data if dtype is None or dtype is data.dtype else data.to(dtype)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(array):
    if is_symbol(array):
        return _pellucid.unknown('torch.from_numpy(%s)' % _pellucid.symbol_text(array), 'the array is not known')
    shape, value, own = from_data(array)
    return make(shape, own, value)


def like_factory(number):
    """zeros_like and its kin: a number to fill with, or None for values nobody knows."""

    def factory(input, *, dtype=None, device=None, requires_grad=False, layout=None, memory_format=None,
                pin_memory=False, generator=None):
        t = like(input)
        if dtype is not None:
            t.dtype = t._dtype = dtype
        if device is not None:
            t.device = to_device(device)
        if requires_grad:
            t.requires_grad = True
        if number is not None:
            t._value = values.filled(cast_number(number, t.dtype), t.shape)
        return t

    return factory


zeros_like = like_factory(0)
ones_like = like_factory(1)
empty_like = like_factory(None)


def full_like(input, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, memory_format=None,
              pin_memory=False):
    t = full(input.shape, fill_value, dtype=dtype or input.dtype, device=device)
    if requires_grad:
        t.requires_grad = True
    return t


def randint_like(input, low=0, high=None, *, dtype=None, device=None, **kwargs):
    return empty_like(input, dtype=dtype, device=device)


def new_factory(factory):
    """Tensor.new_zeros and its kin: the dtype and device of self unless given."""

    def method(self, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **kwargs):
        if 'size' in kwargs:
            size = (kwargs.pop('size'),) + size
        return factory(*size, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad,
                       **kwargs)

    return method


Tensor.new_zeros = new_factory(zeros)
Tensor.new_ones = new_factory(ones)
Tensor.new_empty = new_factory(empty)
Tensor.new_full = new_factory(full)


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    return tensor(data, dtype=dtype or (self.dtype), device=device, requires_grad=requires_grad)


def new(self, *args, **kwargs):
    t = Tensor(*args)
    t.dtype = t._dtype = self.dtype
    return t


Tensor.new_tensor = new_tensor
Tensor.new = new


def typed(kind):
    """torch.FloatTensor and its kin: called like Tensor, and isinstance asks for the dtype."""

    class Meta(type):
        def __instancecheck__(cls, instance):
            return isinstance(instance, Tensor) and instance.dtype is kind

    class Typed(metaclass=Meta):
        dtype = kind

        def __new__(cls, *args, **kwargs):
            t = Tensor(*args)
            t.dtype = t._dtype = kind
            if kind.kind != 2:
                t._value = cast_value(t._value, float32, kind)
            return t

    return Typed
