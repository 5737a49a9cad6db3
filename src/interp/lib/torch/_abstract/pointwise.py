"""Operations element by element: the shape is the operands', broadcast; the dtype follows torch's promotion."""

import math

import _pellucid
from torch._abstract import values
from torch._abstract.core import Tensor, after, cast_value, changed, known_value, like, make, scalar_dtype, tensor
from torch._abstract.types import Size, bool_, defaults, int64, is_symbol, join_sizes, promote

functions = {}  # name -> function, both torch.name and Tensor.name


def _in_place(function):
    def operation(self, *args, **kwargs):
        result = function(self, *args, **kwargs)
        if result._given_by is not None:
            self._given_by = result._given_by
        return changed(self, cast_value(result._value, result.dtype, self.dtype))

    return operation


def _in_place_known_shape(self, *args, **kwargs):
    return changed(self, None)


def publish(name, function, in_place=True):
    functions[name] = function
    setattr(Tensor, name, function)
    if in_place:
        written = _in_place(function)
        functions[name + '_'] = written
        setattr(Tensor, name + '_', written)


def _of_unknown():
    return _pellucid.unknown('value of a tensor', 'it is computed from what is not known')


def _floating(function):
    """Integers become the default float."""

    def operation(input, *args, out=None, **kwargs):
        if is_symbol(input):
            return _of_unknown()
        t = like(input)
        if t.dtype.kind < 2:
            t.dtype = t._dtype = defaults.dtype
        if function is not None and not args and input._value is not None:
            t._value = values.mapped(function, known_value(input))
        return t if out is None else written_out(out, t)

    return operation


def _keeping(function):
    def operation(input, *args, out=None, **kwargs):
        if is_symbol(input):
            return _of_unknown()
        t = like(input)
        if function is not None and not args and input._value is not None:
            t._value = values.mapped(function, known_value(input))
        return t if out is None else written_out(out, t)

    return operation


def _testing(function):
    def operation(input, *args, out=None, **kwargs):
        if is_symbol(input):
            return _of_unknown()
        t = like(input)
        t.dtype = t._dtype = bool_
        if input._value is not None:
            t._value = values.mapped(function, known_value(input))
        return t if out is None else written_out(out, t)

    return operation


def written_out(out, t):
    out.shape = out._shape = t.shape
    return changed(out, t._value)


def _sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


_FLOATING = {
    'exp': math.exp, 'log': math.log, 'sqrt': math.sqrt, 'sin': math.sin, 'cos': math.cos, 'tan': math.tan,
    'asin': math.asin, 'acos': math.acos, 'atan': math.atan, 'sinh': math.sinh, 'cosh': math.cosh, 'tanh': math.tanh,
    'log2': math.log2, 'log10': math.log10, 'log1p': math.log1p, 'expm1': math.expm1, 'erf': math.erf,
    'rsqrt': lambda x: 1 / math.sqrt(x), 'reciprocal': lambda x: 1 / x, 'sigmoid': _sigmoid,
    'exp2': lambda x: 2.0 ** x, 'deg2rad': math.radians, 'rad2deg': math.degrees, 'lgamma': math.lgamma,
    'erfc': math.erfc, 'asinh': math.asinh, 'acosh': math.acosh, 'atanh': math.atanh,
    'sinc': lambda x: 1.0 if x == 0 else math.sin(math.pi * x) / (math.pi * x),
    'logit': lambda x: math.log(x / (1 - x)),
}
for _name, _function in _FLOATING.items():
    publish(_name, _floating(values.guarded(_function)))
for _name in ('erfinv', 'digamma', 'polygamma', 'mvlgamma', 'i0', 'special_expit', 'angle', 'igamma', 'xlogy1py'):
    publish(_name, _floating(None))
for _alias, _name in (('arcsin', 'asin'), ('arccos', 'acos'), ('arctan', 'atan'), ('arctanh', 'atanh')):
    publish(_alias, functions[_name])

_KEEPING = {
    'neg': lambda x: -x, 'negative': lambda x: -x, 'positive': lambda x: x, 'floor': math.floor, 'ceil': math.ceil,
    'trunc': math.trunc, 'fix': math.trunc, 'sign': lambda x: (x > 0) - (x < 0), 'sgn': lambda x: (x > 0) - (x < 0),
    'relu': lambda x: x if x > 0 else 0 * x, 'square': lambda x: x * x, 'frac': lambda x: x - math.trunc(x),
    'conj': lambda x: x, 'resolve_conj': lambda x: x, 'resolve_neg': lambda x: x, 'bitwise_not': lambda x: not x if x is True or x is False else ~x,
    'conj_physical': lambda x: x,
}
for _name, _function in _KEEPING.items():
    publish(_name, _keeping(_function))
for _name in ('nan_to_num', 'hardshrink', 'celu', 'selu', 'rrelu', 'threshold', 'dropout', 'alpha_dropout',
              'feature_dropout', 'feature_alpha_dropout', 'renorm', 'detach_copy', 'prelu_copy', 'cauchy',
              'log_normal', 'geometric', 'exponential', 'uniform', 'normal_values', 'bernoulli', 'random'):
    publish(_name, _keeping(None))


def round_(input, *, decimals=0, out=None):
    t = like(input)
    t._value = values.mapped(lambda x: round(x, decimals), known_value(input))
    return t


publish('round', round_)


def abs_(input, *, out=None):
    t = like(input)
    if t.dtype.kind == 3:
        t.dtype = t._dtype = t.dtype.to_real()
    else:
        t._value = values.mapped(abs, known_value(input))
    return t


publish('abs', abs_)
publish('absolute', abs_)

for _name, _function in {
    'isnan': lambda x: x != x, 'isinf': lambda x: x in (math.inf, -math.inf),
    'isfinite': lambda x: x == x and x not in (math.inf, -math.inf), 'logical_not': lambda x: not x,
    'isneginf': lambda x: x == -math.inf, 'isposinf': lambda x: x == math.inf, 'signbit': lambda x: x < 0,
    'isreal': lambda x: True,
}.items():
    publish(_name, _testing(_function), _name == 'logical_not')


def fill_(self, value):
    if isinstance(value, Tensor):
        data = value.known()
        value = None if data is None else data[0]
    if value is None or is_symbol(value):
        return changed(self, None)
    return changed(self, values.filled(value, self.shape))


def zero_(self):
    return changed(self, values.filled(0.0 if self.dtype.kind == 2 else 0, self.shape))


def copy_(self, src, non_blocking=False):
    if isinstance(src, Tensor):
        join = join_sizes(self.shape, src.shape, ' in copy_', src, self)
        if len(join) != len(self.shape):
            join_sizes((), src.shape)
        return changed(self, cast_value(values.broadcast(known_value(src), tuple(src.shape), tuple(self.shape)), src.dtype, self.dtype)
                       if src._value is not None else None)
    return fill_(self, src)


for _name in ('uniform_', 'normal_', 'random_', 'bernoulli_', 'exponential_', 'cauchy_', 'log_normal_', 'geometric_'):
    functions[_name] = _in_place_known_shape
    setattr(Tensor, _name, _in_place_known_shape)
for _function in (fill_, zero_, copy_):
    functions[_function.__name__] = _function
    setattr(Tensor, _function.__name__, _function)


def result_dtype(a, b):
    """Of a tensor and a tensor or number: ranks above zero count more than scalars of the same kind."""
    if isinstance(b, Tensor):
        x = a.dtype
        y = b.dtype
        if x is y:
            return x
        if (not a.shape) is not (not b.shape):
            strong, weak = (y, x) if not a.shape else (x, y)
            if strong.kind >= weak.kind:
                return strong
            return strong.to_complex() if weak.kind == 3 and strong.kind == 2 else weak
        return promote(x, y)
    x = a.dtype
    if type(b) is float:
        return x if x.kind >= 2 else defaults.dtype
    if type(b) is int:
        return x if x.kind >= 1 else int64
    if type(b) is bool:
        return x
    if isinstance(b, complex):
        return x if x.kind == 3 else x.to_complex() if x.kind == 2 else defaults.dtype.to_complex()
    if is_symbol(b):
        return x
    y = scalar_dtype(b)
    return x if x.kind >= y.kind else y


def operand(x, other):
    if isinstance(x, Tensor):
        return x
    t = tensor(x)
    return t


def _beside_symbol(kind, input, other):
    """A tensor and something unknown: a number, for all that its author says."""
    t, symbol = (other, input) if is_symbol(input) else (input, other)
    if is_symbol(t) or not isinstance(t, Tensor):
        return _of_unknown()
    _pellucid.unknown(_pellucid.symbol_text(symbol), 'beside a tensor it is taken for a number')
    dtype = bool_ if kind == 'bool' else defaults.dtype if kind == 'float' and t.dtype.kind < 2 else t.dtype
    return after(make(t.shape, dtype, None), t)


def binary(function, kind=None):
    """kind: None promotes, 'bool' compares, 'float' divides."""

    def operation(input, other, *args, out=None, alpha=None, rounding_mode=None):
        if is_symbol(other) or is_symbol(input):
            return _beside_symbol(kind, input, other)
        if not isinstance(input, Tensor):
            if not isinstance(other, Tensor):
                input = tensor(input)
            else:
                return _reversed(function, kind, input, other)
        if isinstance(other, Tensor):
            shape = join_sizes(input.shape, other.shape, '', input, other)
        else:
            if hasattr(other, '_tensor'):
                other = other._tensor
                shape = join_sizes(input.shape, other.shape, '', input, other)
            else:
                shape = input.shape
        if kind == 'bool':
            dtype = bool_
        else:
            dtype = result_dtype(input, other)
            if kind == 'float' and dtype.kind < 2 and rounding_mode is None:
                dtype = defaults.dtype
        value = None
        if input._value is not None:
            use = function
            if rounding_mode is not None:
                use = _ROUNDED[rounding_mode]
            if isinstance(other, Tensor):
                if other._value is not None:
                    first, second = known_value(input), known_value(other)
                    if alpha is not None and alpha != 1:
                        second = values.mapped(lambda x: alpha * x, second)
                    value = values.zipped(use, first, tuple(input.shape), second, tuple(other.shape), tuple(shape))
            elif not is_symbol(other):
                if alpha is not None and alpha != 1:
                    other = alpha * other
                value = values.mapped(lambda x: use(x, other), known_value(input))
        t = after(make(shape, dtype, value), input, other)
        return t if out is None else written_out(out, t)

    return operation


_ROUNDED = {'floor': lambda a, b: a // b, 'trunc': lambda a, b: math.trunc(a / b)}


def _reversed(function, kind, number, other):
    dtype = bool_ if kind == 'bool' else result_dtype(other, number)
    if kind == 'float' and dtype.kind < 2:
        dtype = defaults.dtype
    value = None
    if other._value is not None and not is_symbol(number):
        value = values.mapped(lambda x: function(number, x), known_value(other))
    return after(make(other.shape, dtype, value), other)


def _floor_divide(a, b):
    return a // b if b else math.nan


def _remainder(a, b):
    return a % b if b else math.nan


_BINARY = {
    'add': (lambda a, b: a + b, None), 'sub': (lambda a, b: a - b, None), 'mul': (lambda a, b: a * b, None),
    'div': (values.float_division, 'float'), 'floor_divide': (_floor_divide, None), 'remainder': (_remainder, None),
    'fmod': (math.fmod, None), 'pow': (values.power, None), 'maximum': (max, None), 'minimum': (min, None),
    'fmax': (max, None), 'fmin': (min, None), 'atan2': (math.atan2, 'float'), 'hypot': (math.hypot, 'float'),
    'eq': (lambda a, b: a == b, 'bool'), 'ne': (lambda a, b: a != b, 'bool'), 'lt': (lambda a, b: a < b, 'bool'),
    'le': (lambda a, b: a <= b, 'bool'), 'gt': (lambda a, b: a > b, 'bool'), 'ge': (lambda a, b: a >= b, 'bool'),
    'logical_and': (lambda a, b: bool(a and b), 'bool'), 'logical_or': (lambda a, b: bool(a or b), 'bool'),
    'logical_xor': (lambda a, b: bool(a) != bool(b), 'bool'), 'bitwise_and': (lambda a, b: a & b, None),
    'bitwise_or': (lambda a, b: a | b, None), 'bitwise_xor': (lambda a, b: a ^ b, None),
    'bitwise_left_shift': (lambda a, b: a << b, None), 'bitwise_right_shift': (lambda a, b: a >> b, None),
    'xlogy': (lambda a, b: 0.0 if a == 0 else a * math.log(b), 'float'), 'copysign': (math.copysign, 'float'),
    'logaddexp': (lambda a, b: max(a, b) + math.log1p(math.exp(-abs(a - b))), 'float'),
    'heaviside': (lambda a, b: b if a == 0 else float(a > 0), None), 'gcd': (math.gcd, None),
    'nextafter': (lambda a, b: a, None), 'ldexp': (lambda a, b: a * 2.0 ** b, 'float'),
}
for _name, (_function, _kind) in _BINARY.items():
    publish(_name, binary(_function, _kind))
for _alias, _name in (('subtract', 'sub'), ('multiply', 'mul'), ('divide', 'div'), ('true_divide', 'div'),
                      ('greater', 'gt'), ('greater_equal', 'ge'), ('less', 'lt'), ('less_equal', 'le'),
                      ('not_equal', 'ne'), ('arctan2', 'atan2'), ('float_power', 'pow')):
    publish(_alias, functions[_name])


def rsub(input, other, *, alpha=1):
    return functions['sub'](other, input)


def _operator(name):
    function = functions[name]

    def method(self, other):
        if is_symbol(other) or isinstance(other, (Tensor, int, float, complex)) or hasattr(other, '_tensor'):
            return function(self, other)
        return NotImplemented

    return method


def _reflected(name):
    function = functions[name]

    def method(self, other):
        if is_symbol(other) or isinstance(other, (int, float, complex)):
            return function(other, self)
        return NotImplemented

    return method


for _dunder, _name in (('add', 'add'), ('sub', 'sub'), ('mul', 'mul'), ('truediv', 'div'), ('floordiv', 'floor_divide'),
                       ('mod', 'remainder'), ('pow', 'pow'), ('and', 'bitwise_and'), ('or', 'bitwise_or'),
                       ('xor', 'bitwise_xor'), ('lshift', 'bitwise_left_shift'), ('rshift', 'bitwise_right_shift')):
    setattr(Tensor, '__%s__' % _dunder, _operator(_name))
    setattr(Tensor, '__r%s__' % _dunder, _reflected(_name))
    setattr(Tensor, '__i%s__' % _dunder, functions[_name + '_'])
for _name in ('eq', 'ne', 'lt', 'le', 'gt', 'ge'):
    setattr(Tensor, '__%s__' % _name, _operator(_name))
Tensor.__neg__ = functions['neg']
Tensor.__pos__ = functions['positive']
Tensor.__abs__ = functions['abs']
Tensor.__invert__ = functions['bitwise_not']


def _equality(name, otherwise):
    function = functions[name]

    def method(self, other):
        if other is None or isinstance(other, str):
            return otherwise
        return function(self, other)

    return method


Tensor.__eq__ = _equality('eq', False)
Tensor.__ne__ = _equality('ne', True)


def clamp(input, min=None, max=None, *, out=None):
    low, high = min, max
    shape = input.shape
    dtype = input.dtype
    for bound in (low, high):
        if isinstance(bound, Tensor):
            shape = join_sizes(shape, bound.shape, '', input, bound)
            dtype = result_dtype(make(shape, dtype), bound)
        elif type(bound) is float and dtype.kind < 2:
            dtype = defaults.dtype
    value = None
    if input._value is not None and not isinstance(low, Tensor) and not isinstance(high, Tensor):
        if not is_symbol(low) and not is_symbol(high):
            value = values.mapped(lambda x: _clamp(x, low, high), known_value(input))
    t = after(make(shape, dtype, value), input)
    return t if out is None else written_out(out, t)


def _clamp(x, low, high):
    if low is not None and x < low:
        x = low
    if high is not None and x > high:
        x = high
    return x


publish('clamp', clamp)
publish('clip', clamp)
publish('clamp_min', lambda input, min, out=None: clamp(input, min))
publish('clamp_max', lambda input, max, out=None: clamp(input, None, max))


def where(condition, input=None, other=None, *, out=None):
    if input is None and other is None:
        from torch._abstract.reduce import nonzero
        return nonzero(condition, as_tuple=True)
    if not isinstance(condition, Tensor) and isinstance(input, Tensor):
        condition = tensor(condition)
    first = input if isinstance(input, Tensor) else tensor(input)
    second = other if isinstance(other, Tensor) else tensor(other)
    shape = join_sizes(join_sizes(first.shape, second.shape, '', first, second), condition.shape, '', condition)
    if isinstance(input, Tensor):
        dtype = result_dtype(first, other)
    elif isinstance(other, Tensor):
        dtype = result_dtype(second, input)
    else:
        dtype = promote(first.dtype, second.dtype)
    value = None
    if condition._value is not None and first._value is not None and second._value is not None:
        whole = tuple(shape)
        value = values.chosen(values.broadcast(known_value(condition), tuple(condition.shape), whole),
                              values.broadcast(known_value(first), tuple(first.shape), whole),
                              values.broadcast(known_value(second), tuple(second.shape), whole))
    return after(make(shape, dtype, value), condition, first, second)


functions['where'] = where
Tensor.where = lambda self, condition, other: where(condition, self, other)


def masked_fill(input, mask, value):
    other = value if isinstance(value, Tensor) else None
    shape = join_sizes(input.shape, mask.shape, '', input, mask)
    result = None
    if input._value is not None and mask._value is not None and other is None and not is_symbol(value):
        whole = tuple(shape)
        result = values.chosen(values.broadcast(known_value(mask), tuple(mask.shape), whole), values.filled(value, whole),
                               values.broadcast(known_value(input), tuple(input.shape), whole))
    return after(make(shape, input.dtype, result), input)


publish('masked_fill', masked_fill)


def _broadcasting(input, *others, **kwargs):
    """lerp, addcmul, addcdiv, ...: the shape of all, the dtype of all, values not followed."""
    shape = input.shape
    dtype = input.dtype
    for other in others:
        if isinstance(other, Tensor):
            shape = join_sizes(shape, other.shape, '', input, other)
            dtype = promote(dtype, other.dtype)
    return after(make(shape, dtype), input, *others)


for _name in ('lerp', 'addcmul', 'addcdiv', 'prelu', 'dist_values', 'masked_scatter', 'igammac'):
    publish(_name, _broadcasting)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    return functions['le'](functions['abs'](functions['sub'](input, other)), atol + rtol * functions['abs'](other))


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    return bool(isclose(input, other, rtol, atol).all())


def equal(input, other):
    if tuple(input.shape) != tuple(other.shape):
        return False
    return bool(functions['eq'](input, other).all())


for _function in (isclose, allclose, equal):
    functions[_function.__name__] = _function
    setattr(Tensor, _function.__name__, _function)


def bernoulli(input, p=None, *, generator=None, out=None):
    return like(input)


functions['bernoulli'] = bernoulli
Tensor.bernoulli = bernoulli


def complex_(real, imag, *, out=None):
    return make(join_sizes(real.shape, imag.shape, '', real, imag), real.dtype.to_complex())


functions['complex'] = complex_
functions['polar'] = complex_


def view_as_complex(input):
    return make(Size(input.shape[:-1]), input.dtype.to_complex())


def view_as_real(input):
    return make(Size(tuple(input.shape) + (2,)), input.dtype.to_real())


functions['view_as_complex'] = view_as_complex
functions['view_as_real'] = view_as_real
