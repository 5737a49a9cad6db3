"""torch, as far as a constructor or a forward pass can see it. torch.nn is interpreted from its own source over this."""

import math
import sys

import _pellucid
from torch._abstract import types as _types
from torch._abstract.types import (ShapeError, Size, defaults as _defaults, device, dtype, finfo, iinfo, layout,
                                   memory_format, promote as promote_types, qscheme)
from torch._abstract.core import (Storage, Tensor, arange, as_tensor, empty_by_size as empty, empty_like, eye,
                                  from_numpy, full, full_like, linspace, logspace, normal, ones_by_size as ones,
                                  ones_like, random_by_size as rand, randint, randint_like, randperm, tensor,
                                  typed as _typed, zeros_by_size as zeros, zeros_like)
from torch._abstract.core import make as _make
from torch._abstract.pointwise import functions as _functions, result_dtype as _result_dtype
from torch._abstract import layers as _layers, matrix as _matrix, reduce as _reduce, shape as _shape

__version__ = '2.13.0+cpu'

randn = rand
rand_like = randn_like = empty_like
asarray = as_tensor
scalar_tensor = tensor
empty_strided = lambda size, stride, **kwargs: empty(size, **kwargs)
empty_permuted = lambda size, order, **kwargs: empty(size, **kwargs)
range = lambda start, end, step=1, **kwargs: arange(start, end + step, step, **kwargs)

_pellucid.name_apart(_functions)
globals().update(_functions)
_pellucid.name_apart(globals())
for _dtype in _types.all_dtypes:
    globals()[_dtype._name] = _dtype
float = float32
double = float64
half = float16
short = int16
int = int32
long = int64
cfloat = complex64
cdouble = complex128
chalf = complex32

inf = math.inf
nan = math.nan
pi = math.pi
e = math.e
newaxis = None

strided = layout('strided')
sparse_coo = layout('sparse_coo')
sparse_csr = layout('sparse_csr')
jagged = layout('jagged')
_mkldnn = layout('_mkldnn')
Tensor.layout = strided
contiguous_format = memory_format('contiguous_format')
preserve_format = memory_format('preserve_format')
channels_last = memory_format('channels_last')
channels_last_3d = memory_format('channels_last_3d')
legacy_contiguous_format = contiguous_format
per_tensor_affine = qscheme('per_tensor_affine')
per_channel_affine = qscheme('per_channel_affine')
per_tensor_symmetric = qscheme('per_tensor_symmetric')
per_channel_symmetric = qscheme('per_channel_symmetric')

FloatTensor = _typed(float32)
DoubleTensor = _typed(float64)
HalfTensor = _typed(float16)
BFloat16Tensor = _typed(bfloat16)
LongTensor = _typed(int64)
IntTensor = _typed(int32)
ShortTensor = _typed(int16)
CharTensor = _typed(int8)
ByteTensor = _typed(uint8)
BoolTensor = _typed(_types.bool_)
UntypedStorage = TypedStorage = FloatStorage = Storage


class Generator:
    def __init__(self, device='cpu'):
        self.device = _types.device(device)

    def manual_seed(self, seed):
        return self

    def seed(self):
        return _pellucid.unknown('seed of a generator', 'it is random')

    initial_seed = seed


default_generator = Generator()


def manual_seed(seed):
    return default_generator


seed = initial_seed = get_rng_state = lambda *args: None
set_rng_state = lambda *args: None


class SymInt:
    pass


class SymFloat:
    pass


class SymBool:
    pass


class Stream:
    pass


class Event:
    pass


def sym_int(x):
    return _builtin_int(x)


def sym_float(x):
    return x


def sym_not(x):
    return not x


sym_max = max
sym_min = min


class _Mode:
    """no_grad and its kin: contexts that are also decorators, and change nothing about shapes."""

    def __init__(self, mode=None, *args, **kwargs):
        self.mode = mode

    def __new__(cls, function=None, *args, **kwargs):
        if callable(function) and not isinstance(function, bool_type):
            return function  # used as @no_grad, without a call
        return object.__new__(cls)

    def __call__(self, function):
        return function

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def clone(self):
        return self


bool_type = type(True)
_builtin_int = type(1)


class no_grad(_Mode):
    pass


class enable_grad(_Mode):
    pass


class inference_mode(_Mode):
    pass


class set_grad_enabled(_Mode):
    pass


class autocast(_Mode):
    pass


autograd_mode = _Mode


def is_grad_enabled():
    return True


def is_inference_mode_enabled():
    return False


def is_autocast_enabled(device_type=None):
    return False


is_autocast_cpu_enabled = is_autocast_cache_enabled = is_autocast_enabled


def get_autocast_dtype(device_type):
    return bfloat16


get_autocast_gpu_dtype = get_autocast_cpu_dtype = lambda: bfloat16


def is_anomaly_enabled():
    return False


def get_default_dtype():
    return _defaults.dtype


def set_default_dtype(d):
    _defaults.dtype = d


def get_default_device():
    return _defaults.devices[-1] if _defaults.devices else _types.cpu


def set_default_device(where):
    _defaults.devices[:] = [] if where is None else [_types.device(where)]


set_default_tensor_type = lambda kind: set_default_dtype(kind.dtype) if hasattr(kind, 'dtype') else None


def is_tensor(obj):
    return isinstance(obj, Tensor)


def is_storage(obj):
    return isinstance(obj, Storage)


def is_floating_point(input):
    return input.dtype.kind == 2


def is_complex(input):
    return input.dtype.kind == 3


def is_nonzero(input):
    return bool_type(input)


def is_same_size(input, other):
    return input.is_same_size(other)


def numel(input):
    return input.numel()


def typename(obj):
    if isinstance(obj, Tensor):
        return obj.type()
    module = getattr(obj, '__module__', '') or ''
    name = getattr(obj, '__qualname__', None) or type(obj).__qualname__
    return name if module in ('builtins', '') else module + '.' + name


def result_type(a, b):
    if isinstance(a, Tensor):
        return _result_dtype(a, b)
    return _result_dtype(b, a) if isinstance(b, Tensor) else _result_dtype(tensor(a), b)


def can_cast(from_, to):
    return from_.kind <= to.kind


def is_deterministic_algorithms_warn_only_enabled():
    return False


def are_deterministic_algorithms_enabled():
    return False


def _nothing(*args, **kwargs):
    return None


use_deterministic_algorithms = set_num_threads = set_printoptions = set_float32_matmul_precision = _nothing
set_flush_denormal = set_warn_always = set_num_interop_threads = save = set_deterministic_debug_mode = _nothing
set_anomaly_enabled = set_autocast_enabled = clear_autocast_cache = _nothing
_assert_async = _nothing
_pellucid.name_apart(globals())


def get_float32_matmul_precision():
    return 'highest'


def get_num_threads():
    return 1


get_num_interop_threads = get_num_threads


def _assert(condition, message=''):
    if not _pellucid.is_symbol(condition):
        assert condition, message


def _check(condition, message=None):
    if not _pellucid.is_symbol(condition) and not condition:
        raise RuntimeError(message() if callable(message) else message or 'Expected cond to be True')


def _check_value(condition, message=None):
    if not _pellucid.is_symbol(condition) and not condition:
        raise ValueError(message() if callable(message) else message)


def _check_with(error, condition, message=None):
    if not _pellucid.is_symbol(condition) and not condition:
        raise error(message() if callable(message) else message)


def _check_type(condition, message=None):
    _check_with(TypeError, condition, message)


def _check_index(condition, message=None):
    _check_with(IndexError, condition, message)


def _check_is_size(*args, **kwargs):
    return None


_check_not_implemented = _check_tensor_all = _check


def _has_compatible_shallow_copy_type(a, b):
    return True


def load(f, *args, **kwargs):
    return _pellucid.unknown_module('torch.load', 'files of weights are not read')


def compile(model=None, **kwargs):
    return model if model is not None else (lambda function: function)


def vmap(function, *args, **kwargs):
    return lambda *a, **k: _pellucid.unknown('torch.vmap', 'mapped functions are not followed')


def from_dlpack(x):
    return x


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    n = count if count >= 0 else (len(buffer) - offset) // dtype.itemsize
    return _make(Size((n,)), dtype)


def get_device_module(device=None):
    from torch import cuda
    return cuda


def cond(pred, true_fn, false_fn, operands=()):
    return true_fn(*operands) if pred else false_fn(*operands)


_SUBMODULES = {
    'nn', 'jit', 'cuda', 'utils', 'optim', 'distributed', 'backends', 'autograd', 'fx', 'hub', 'fft', 'linalg',
    'special', 'onnx', 'library', 'overrides', 'compiler', 'export', 'amp', 'func', 'quantization', 'ao', 'version',
    'types', 'serialization', 'random', 'sparse', 'masked', 'distributions', 'futures', 'ops', 'xpu', 'mps', 'cpu',
    'mtia', 'accelerator', 'testing', 'multiprocessing', 'profiler', 'package', 'nested', 'signal', 'return_types',
    '_C', '_VF', '_dynamo', '_jit_internal', '_utils', '_tensor', '_prims_common', '__future__', '_inductor',
    '_higher_order_ops', '_subclasses', '_decomp', '_refs', '_prims', '_library', '_lowrank', '_ops', 'monitor',
    'functional', 'torch_version', 'storage', '_logging', '_functorch', '_guards', '_sources', '__config__',
}


def __getattr__(name):
    if name in _SUBMODULES:
        return _pellucid.import_module('torch.' + name)
    _names = _pellucid.import_module('torch._names')
    if name in _names.of_torch():
        return _pellucid.unmodelled('torch.' + name)
    raise AttributeError("module 'torch' has no attribute '" + name + "'")


bool = _types.bool_
