"""dtypes, sizes, devices and the rules that join them."""

import _pellucid

is_symbol = _pellucid.is_symbol


class ShapeError(RuntimeError):
    """Shapes that disagree. `given` is the tensor that came, `wanted` the one (a weight, mostly) it does not fit."""

    def __init__(self, message, given=None, wanted=None):
        RuntimeError.__init__(self, message)
        self.given = given
        self.wanted = wanted


class dtype:
    def __init__(self, name, itemsize, kind, rank):
        self._name = name
        self.itemsize = itemsize
        self.kind = kind  # 0 bool, 1 integer, 2 float, 3 complex
        self.rank = rank
        self.is_floating_point = kind == 2
        self.is_complex = kind == 3
        self.is_signed = kind != 0 and not name.startswith('uint')

    def __repr__(self):
        return 'torch.' + self._name

    def __reduce__(self):
        return self._name

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self

    def to_real(self):
        return {'complex32': float16, 'complex64': float32, 'complex128': float64}.get(self._name, self)

    def to_complex(self):
        return {'float16': complex32, 'bfloat16': complex64, 'float32': complex64, 'float64': complex128}.get(self._name, self)


bool_ = dtype('bool', 1, 0, 0)
uint8 = dtype('uint8', 1, 1, 1)
int8 = dtype('int8', 1, 1, 1)
int16 = dtype('int16', 2, 1, 2)
int32 = dtype('int32', 4, 1, 3)
int64 = dtype('int64', 8, 1, 4)
uint16 = dtype('uint16', 2, 1, 2)
uint32 = dtype('uint32', 4, 1, 3)
uint64 = dtype('uint64', 8, 1, 4)
float8_e4m3fn = dtype('float8_e4m3fn', 1, 2, 1)
float8_e5m2 = dtype('float8_e5m2', 1, 2, 1)
float8_e4m3fnuz = dtype('float8_e4m3fnuz', 1, 2, 1)
float8_e5m2fnuz = dtype('float8_e5m2fnuz', 1, 2, 1)
float8_e8m0fnu = dtype('float8_e8m0fnu', 1, 2, 1)
float4_e2m1fn_x2 = dtype('float4_e2m1fn_x2', 1, 2, 1)
float16 = dtype('float16', 2, 2, 2)
bfloat16 = dtype('bfloat16', 2, 2, 2)
float32 = dtype('float32', 4, 2, 3)
float64 = dtype('float64', 8, 2, 4)
complex32 = dtype('complex32', 4, 3, 2)
complex64 = dtype('complex64', 8, 3, 3)
complex128 = dtype('complex128', 16, 3, 4)
quint8 = dtype('quint8', 1, 1, 1)
qint8 = dtype('qint8', 1, 1, 1)
qint32 = dtype('qint32', 4, 1, 3)
quint4x2 = dtype('quint4x2', 1, 1, 1)
quint2x4 = dtype('quint2x4', 1, 1, 1)

all_dtypes = [bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float8_e4m3fn, float8_e5m2,
              float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2, float16, bfloat16, float32, float64,
              complex32, complex64, complex128, quint8, qint8, qint32, quint4x2, quint2x4]


def promote(a, b):
    """The dtype of two tensors of the same rank class (torch.promote_types)."""
    if a is b:
        return a
    if a.kind != b.kind:
        low, high = (a, b) if a.kind < b.kind else (b, a)
        if high.kind == 3 and low is float64:
            return complex128
        return high
    if a.rank == b.rank:
        if a.kind == 1:
            return [None, int16, int32, int64, int64][a.rank]  # uint8 and int8 meet in int16
        return float32
    return a if a.rank > b.rank else b


class Size(tuple):
    __slots__ = ()

    def numel(self):
        n = 1
        for size in self:
            n = n * size
        return n

    def __repr__(self):
        return 'torch.Size(' + repr(list(self)) + ')'

    def __getitem__(self, key):
        item = tuple.__getitem__(self, key)
        return Size(item) if type(key) is slice else item

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))


class device:
    """A place for tensors; as a context, the default one."""

    def __init__(self, type='cpu', index=None):
        if isinstance(type, device):
            self.type = type.type
            self.index = type.index
            return
        if isinstance(type, int):
            type, index = 'cuda', type
        name, colon, number = type.partition(':')
        self.type = name
        self.index = int(number) if colon else index

    def __repr__(self):
        if self.index is None:
            return "device(type='%s')" % self.type
        return "device(type='%s', index=%d)" % (self.type, self.index)

    def __str__(self):
        return self.type if self.index is None else '%s:%d' % (self.type, self.index)

    def __eq__(self, other):
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self):
        return hash((self.type, self.index))

    def __deepcopy__(self, memo):
        return self

    def __enter__(self):
        defaults.devices.append(self)
        return self

    def __exit__(self, *error):
        defaults.devices.pop()


class Defaults:
    """What the factories use when nobody says otherwise."""

    def __init__(self):
        self.dtype = float32
        self.devices = []


cpu = device('cpu')
defaults = Defaults()


class _Flag:
    """A named constant (memory format, layout)."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return 'torch.' + self.name

    def __deepcopy__(self, memo):
        return self


class memory_format(_Flag):
    pass


class layout(_Flag):
    pass


class qscheme(_Flag):
    pass


_FLOATS = {  # bits, eps, max, smallest normal, resolution
    'float64': (64, 2.220446049250313e-16, 1.7976931348623157e+308, 2.2250738585072014e-308, 1e-15),
    'float32': (32, 1.1920928955078125e-07, 3.4028234663852886e+38, 1.1754943508222875e-38, 1e-06),
    'float16': (16, 0.0009765625, 65504.0, 6.103515625e-05, 0.001),
    'bfloat16': (16, 0.0078125, 3.3895313892515355e+38, 1.1754943508222875e-38, 0.01),
    'float8_e4m3fn': (8, 0.125, 448.0, 0.015625, 1.0),
    'float8_e5m2': (8, 0.25, 57344.0, 6.103515625e-05, 1.0),
    'float8_e4m3fnuz': (8, 0.125, 240.0, 0.0078125, 1.0),
    'float8_e5m2fnuz': (8, 0.125, 57344.0, 3.0517578125e-05, 1.0),
}


class finfo:
    def __init__(self, type=None):
        type = defaults.dtype if type is None else type
        if type.kind == 3:
            type = type.to_real()
        if type._name not in _FLOATS:
            raise TypeError('torch.finfo() requires a floating point input type. Use torch.iinfo to handle '
                            "'torch.%s'" % type._name)
        self.bits, self.eps, self.max, self.tiny, self.resolution = _FLOATS[type._name]
        self.min = -self.max
        self.smallest_normal = self.tiny
        self.dtype = type._name


class iinfo:
    def __init__(self, type):
        if type.kind != 1:
            raise TypeError('torch.iinfo() requires an integer input type. Use torch.finfo to handle %r' % type)
        self.bits = type.itemsize * 8
        signed = type.is_signed
        self.max = (1 << (self.bits - 1 if signed else self.bits)) - 1
        self.min = -self.max - 1 if signed else 0
        self.dtype = type._name


def join_sizes(a, b, what='', first=None, second=None):
    """Broadcasting. Symbols meet numbers as numbers: what a symbol must be for the code to run."""
    if a is b:
        return a
    if len(a) < len(b):
        a, b = b, a
    extra = len(a) - len(b)
    result = list(a)
    for i in range(len(b)):
        x = a[extra + i]
        y = b[i]
        if type(x) is int and type(y) is int:
            if x != y:
                if x == 1:
                    result[extra + i] = y
                elif y != 1:
                    raise ShapeError('shapes %s and %s do not broadcast%s: %d against %d at dimension %d'
                                     % (tuple(a), tuple(b), what, x, y, extra + i), first, second)
        elif type(x) is int:
            if x == 1:
                result[extra + i] = y
        elif type(y) is int and y != 1:
            result[extra + i] = y
    return Size(result)


def differ(a, b):
    """Sizes known to be different; a symbol differs from nothing."""
    return type(a) is int and type(b) is int and a != b


def axis(dim, rank):
    if type(dim) is not int:
        dim = dim.__index__()
    if dim < 0:
        dim += rank if rank else 1
    if dim < 0 or dim >= (rank if rank else 1):
        raise IndexError('Dimension out of range: a tensor of rank %d has no dimension %d' % (rank, dim))
    return dim


def numel(shape):
    n = 1
    for size in shape:
        n = n * size
    return n


work = [0, False]  # multiply-adds of what has run so far; whether some could not be counted


def count_work(n):
    if type(n) is int:
        work[0] += n
    else:
        work[1] = True
