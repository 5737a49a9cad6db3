"""TensorFlow, as far as Keras models and modules touch it."""

import sys

import _pellucid
from keras import ops as _ops
from keras._base import Layer as _Base
from keras._engine import KerasTensor, Layer, Variable as _Variable, auto_name, snake_case, to_dtype

__version__ = '2.16.0'
Tensor = KerasTensor


class Variable(_Variable):
    def __init__(self, initial_value=None, trainable=True, validate_shape=True, caching_device=None, name=None,
                 variable_def=None, dtype=None, import_scope=None, constraint=None, synchronization=None, aggregation=None,
                 shape=None, **kwargs):
        if callable(initial_value) and not hasattr(initial_value, 'shape'):
            initial_value = initial_value()
        if shape is None:
            shape = _shape(initial_value)
        kind = dtype if dtype is not None else getattr(initial_value, 'dtype', None)
        _Variable.__init__(self, None, shape, kind, trainable, name or 'Variable')


def _shape(value):
    if hasattr(value, 'shape'):
        return tuple(value.shape)
    sizes = []
    while isinstance(value, (list, tuple)):
        sizes.append(len(value))
        value = value[0] if value else None
    return tuple(sizes)


class Module(_Base):
    """tf.Module: variables and modules that are attributes, in the order of their names."""

    def __init__(self, name=None):
        self._name = name or snake_case(type(self).__name__)

    @property
    def name(self):
        return self._name

    class _Scope:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return False

    @property
    def name_scope(self):
        return Module._Scope()

    @classmethod
    def with_name_scope(cls, method):
        return method

    def _members(self):
        for name, value in sorted(self.__dict__.items()):
            items = value if isinstance(value, (list, tuple)) else list(value.values()) if isinstance(value, dict) else [value]
            for i, item in enumerate(items):
                yield (name if item is value else '%s.%d' % (name, i)), item

    @property
    def _weights_in_order(self):
        result = []
        for name, item in self._members():
            if isinstance(item, _Variable):
                if item.name == 'Variable':
                    item.name = name
                result.append(item)
        return result

    @property
    def _layers_in_order(self):
        return [(name, item) for name, item in self._members() if isinstance(item, _Base)]

    @property
    def variables(self):
        result = list(self._weights_in_order)
        for _, item in self._layers_in_order:
            result.extend([w for w in item.variables if not any([w is other for other in result])])
        return tuple(result)

    @property
    def trainable_variables(self):
        return tuple([w for w in self.variables if w.trainable])

    @property
    def submodules(self):
        result = []
        for _, item in self._layers_in_order:
            result.append(item)
            result.extend(getattr(item, 'submodules', ()))
        return tuple(result)


def function(func=None, **kwargs):
    return func if func is not None else lambda f: f


class GradientTape:
    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def gradient(self, *args, **kwargs):
        return _pellucid.symbol('gradients')


class TensorShape(tuple):
    def as_list(self):
        return list(self)


def zeros(shape, dtype='float32', name=None):
    return KerasTensor(shape, dtype)


ones = zeros


def constant(value, dtype=None, shape=None, name=None):
    return KerasTensor(_shape(value) if shape is None else shape, dtype)


convert_to_tensor = lambda value, dtype=None, **kwargs: value if hasattr(value, 'shape') else constant(value, dtype)


def random_normal(shape, *args, **kwargs):
    return KerasTensor(shape, kwargs.get('dtype'))


for _name in ('float32', 'float64', 'float16', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'string'):
    globals()[_name] = _name
bool = 'bool'
newaxis = None


class _Functions:
    """tf.math, tf.nn, tf.linalg: the same rules under other names."""

    def __init__(self, name, **own):
        self._name = name
        self.__dict__.update(own)

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return _function(name)


_RENAMED = {'reduce_mean': 'mean', 'reduce_sum': 'sum', 'reduce_max': 'max', 'reduce_min': 'min', 'reduce_prod': 'prod',
            'reduce_all': 'all', 'reduce_any': 'any', 'rsqrt': 'rsqrt', 'pow': 'power'}


def _function(name):
    return getattr(_ops, _RENAMED.get(name, name))


math = _Functions('math')
nn = _Functions('nn', dropout=lambda x, *args, **kwargs: x)
linalg = _Functions('linalg')
random = _Functions('random', normal=random_normal, uniform=random_normal, truncated_normal=random_normal, set_seed=lambda seed: None)
for _name in ('data', 'io', 'image', 'summary', 'train', 'config', 'distribute', 'saved_model', 'lookup', 'strings', 'compat',
              'initializers', 'lite', 'estimator', 'errors', 'debugging', 'experimental', 'types', 'python', 'autograph'):
    globals()[_name] = sys.modules['tensorflow.' + _name] = _pellucid.symbol_module('tensorflow.' + _name)
keras = _pellucid.import_module('tensorflow.keras')


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _function(name)
