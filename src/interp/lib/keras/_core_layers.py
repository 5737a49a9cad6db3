"""Layers of the table: dense, embedding, normalisation, merging, reshaping, pooling, activations."""

import _pellucid
from keras._engine import (Input, InputLayer, KerasTensor, Layer, Model, ShapeError, Variable, elementwise, flat, is_symbol, join,
                           matmul, operation, shape_of)


def spread(value, n):
    return tuple(value) if not is_symbol(value) and isinstance(value, (tuple, list)) else (value,) * n


class Dense(Layer):
    def __init__(self, units, activation=None, use_bias=True, kernel_initializer='glorot_uniform', bias_initializer='zeros',
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, lora_rank=None, lora_alpha=None, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.activation = activation
        self.use_bias = use_bias

    def build(self, input_shape):
        self.kernel = self.add_weight((input_shape[-1], self.units), name='kernel')
        if self.use_bias:
            self.bias = self.add_weight((self.units,), name='bias')
        self.built = True

    def call(self, inputs, training=None):
        takes(self, inputs, -1, self.kernel.shape[0], 'features')
        return KerasTensor(tuple(inputs.shape[:-1]) + (self.units,), inputs._dtype)


def takes(layer, inputs, axis, wanted, what):
    got = inputs.shape[axis]
    if type(got) is int and type(wanted) is int and got != wanted:
        raise ShapeError('%s %s takes %d %s and gets %d' % (type(layer).__name__, layer.name, wanted, what, got), inputs, layer)


class EinsumDense(Layer):
    def __init__(self, equation, output_shape, activation=None, bias_axes=None, kernel_initializer=None, bias_initializer=None,
                 kernel_regularizer=None, bias_regularizer=None, kernel_constraint=None, bias_constraint=None, lora_rank=None, lora_alpha=None, **kwargs):
        super().__init__(**kwargs)
        self.equation = equation
        self.partial_output_shape = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        self.bias_axes = bias_axes

    def build(self, input_shape):
        left, _, self.out_term = self.equation.replace(' ', '').partition('->')
        self.in_term, _, weight_term = left.partition(',')
        sizes = self._sizes(input_shape)
        self.kernel = self.add_weight([sizes[c] for c in weight_term], name='kernel')
        if self.bias_axes:
            out = [c for c in self.out_term if c != '.']
            first = min([out.index(c) for c in self.bias_axes])
            self.bias = self.add_weight([sizes[c] if c in self.bias_axes else 1 for c in out[first:]], name='bias')
        self.built = True

    def _sizes(self, input_shape):
        sizes = {}
        letters = self.in_term.replace('...', '')
        for c, n in zip(reversed(letters), reversed(tuple(input_shape))):
            sizes[c] = n
        for c, n in zip(reversed(self.out_term.replace('...', '')), reversed(self.partial_output_shape)):
            if n is not None:
                sizes[c] = n
        return sizes

    def call(self, inputs):
        sizes = self._sizes(inputs.shape)
        extra = len(inputs.shape) - len(self.in_term.replace('...', ''))
        batch = tuple(inputs.shape[:extra]) if '...' in self.out_term else ()
        return KerasTensor(batch + tuple([sizes[c] for c in self.out_term if c != '.']), inputs._dtype)


class Embedding(Layer):
    _rank = 2

    def __init__(self, input_dim, output_dim, embeddings_initializer='uniform', embeddings_regularizer=None,
                 embeddings_constraint=None, mask_zero=False, weights=None, lora_rank=None, lora_alpha=None, **kwargs):
        length = kwargs.pop('input_length', None)
        super().__init__(**kwargs)
        self.input_dim = input_dim
        self.output_dim = output_dim
        if length is not None and '_given_input_shape' not in self.__dict__:
            self.__dict__['_given_input_shape'] = (None, length)

    def build(self, input_shape=None):
        self.embeddings = self.add_weight((self.input_dim, self.output_dim), name='embeddings')
        self.built = True

    def call(self, inputs):
        return KerasTensor(tuple(inputs.shape) + (self.output_dim,), 'float32')


class BatchNormalization(Layer):
    _rank = 4

    def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer='zeros',
                 gamma_initializer='ones', moving_mean_initializer='zeros', moving_variance_initializer='ones',
                 beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None,
                 synchronized=False, renorm=False, fused=None, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis
        self.center = center
        self.scale = scale

    def build(self, input_shape):
        axis = self.axis[0] if isinstance(self.axis, (list, tuple)) else self.axis
        shape = (input_shape[axis],)
        if self.scale:
            self.gamma = self.add_weight(shape, name='gamma')
        if self.center:
            self.beta = self.add_weight(shape, name='beta')
        self.moving_mean = self.add_weight(shape, name='moving_mean', trainable=False)
        self.moving_variance = self.add_weight(shape, name='moving_variance', trainable=False)
        self.built = True

    def call(self, inputs, training=None, mask=None):
        axis = self.axis[0] if isinstance(self.axis, (list, tuple)) else self.axis
        takes(self, inputs, axis, self.moving_mean.shape[0], 'channels')
        return same(inputs)


def same(inputs, dtype=None):
    return KerasTensor(inputs.shape, dtype or inputs._dtype)


class LayerNormalization(Layer):
    def __init__(self, axis=-1, epsilon=1e-3, center=True, scale=True, rms_scaling=False, beta_initializer='zeros',
                 gamma_initializer='ones', beta_regularizer=None, gamma_regularizer=None, beta_constraint=None,
                 gamma_constraint=None, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis
        self.center = center
        self.scale = scale

    def build(self, input_shape):
        axes = self.axis if isinstance(self.axis, (list, tuple)) else [self.axis]
        shape = tuple([input_shape[a] for a in axes])
        if self.scale:
            self.gamma = self.add_weight(shape, name='gamma')
        if self.center:
            self.beta = self.add_weight(shape, name='beta')
        self.built = True

    def call(self, inputs):
        return same(inputs)


class RMSNormalization(Layer):
    def __init__(self, axis=-1, epsilon=1e-6, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def build(self, input_shape):
        self.scale = self.add_weight((input_shape[self.axis],), name='scale')
        self.built = True

    def call(self, inputs):
        return same(inputs)


class GroupNormalization(Layer):
    _rank = 4

    def __init__(self, groups=32, axis=-1, epsilon=1e-3, center=True, scale=True, **kwargs):
        for name in list(kwargs):
            if name.endswith('izer') or name.endswith('constraint'):
                kwargs.pop(name)
        super().__init__(**kwargs)
        self.groups, self.axis, self.center, self.scale = groups, axis, center, scale

    def build(self, input_shape):
        if self.scale:
            self.gamma = self.add_weight((input_shape[self.axis],), name='gamma')
        if self.center:
            self.beta = self.add_weight((input_shape[self.axis],), name='beta')
        self.built = True

    def call(self, inputs):
        return same(inputs)


class UnitNormalization(Layer):
    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)

    def call(self, inputs):
        return same(inputs)


class SpectralNormalization(Layer):
    def __init__(self, layer, power_iterations=1, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape):
        self.layer.build(input_shape)
        self.layer.built = True
        kernel = self.layer.kernel if hasattr(self.layer, 'kernel') else self.layer.embeddings
        self.vector_u = self.add_weight((1, kernel.shape[-1]), name='vector_u', trainable=False)
        self.built = True

    def call(self, inputs, training=False):
        return self.layer(inputs)


class Normalization(Layer):
    def __init__(self, axis=-1, mean=None, variance=None, invert=False, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis
        self.input_mean = mean

    def build(self, input_shape):
        if self.input_mean is None:
            axes = () if self.axis is None else self.axis if isinstance(self.axis, (list, tuple)) else (self.axis,)
            shape = tuple([input_shape[a] for a in axes])
            self.adapt_mean = self.add_weight(shape, name='mean', trainable=False)
            self.adapt_variance = self.add_weight(shape, name='variance', trainable=False)
            self.count = self.add_weight((), dtype='int32', name='count', trainable=False)
        self.built = True

    def adapt(self, data):
        pass

    def call(self, inputs):
        return same(inputs)


def _passing(name, *parameters):
    """A layer whose output is like its input and that has no weights."""

    def __init__(self, *args, **kwargs):
        for parameter, value in zip(parameters, args):
            setattr(self, parameter, value)
        for parameter in parameters[len(args):]:
            if parameter in kwargs:
                setattr(self, parameter, kwargs.pop(parameter))
        Layer.__init__(self, **kwargs)

    def call(self, inputs, training=None, mask=None):
        return same(inputs)

    return type(name, (Layer,), {'__init__': __init__, 'call': call, '__module__': 'keras.layers'})


Activation = _passing('Activation', 'activation')
Dropout = _passing('Dropout', 'rate', 'noise_shape', 'seed')
SpatialDropout1D = _passing('SpatialDropout1D', 'rate', 'seed')
SpatialDropout2D = _passing('SpatialDropout2D', 'rate', 'data_format', 'seed')
SpatialDropout3D = _passing('SpatialDropout3D', 'rate', 'data_format', 'seed')
GaussianDropout = _passing('GaussianDropout', 'rate', 'seed')
GaussianNoise = _passing('GaussianNoise', 'stddev', 'seed')
AlphaDropout = _passing('AlphaDropout', 'rate', 'noise_shape', 'seed')
ActivityRegularization = _passing('ActivityRegularization', 'l1', 'l2')
ReLU = _passing('ReLU', 'max_value', 'negative_slope', 'threshold')
LeakyReLU = _passing('LeakyReLU', 'negative_slope', 'alpha')
ELU = _passing('ELU', 'alpha')
Softmax = _passing('Softmax', 'axis')
ThresholdedReLU = _passing('ThresholdedReLU', 'theta')
Masking = _passing('Masking', 'mask_value')
Identity = _passing('Identity')
Rescaling = _passing('Rescaling', 'scale', 'offset')
RandomFlip = _passing('RandomFlip', 'mode', 'seed', 'data_format')
RandomRotation = _passing('RandomRotation', 'factor', 'fill_mode', 'interpolation', 'seed', 'fill_value', 'value_range', 'data_format')
RandomZoom = _passing('RandomZoom', 'height_factor', 'width_factor', 'fill_mode', 'interpolation', 'seed', 'fill_value', 'data_format')
RandomContrast = _passing('RandomContrast', 'factor', 'value_range', 'seed')
RandomBrightness = _passing('RandomBrightness', 'factor', 'value_range', 'seed')
RandomTranslation = _passing('RandomTranslation', 'height_factor', 'width_factor', 'fill_mode', 'interpolation', 'seed', 'fill_value', 'data_format')
RandomShear = _passing('RandomShear', 'x_factor', 'y_factor', 'interpolation', 'fill_mode', 'fill_value', 'data_format', 'seed')


class PReLU(Layer):
    def __init__(self, alpha_initializer='Zeros', alpha_regularizer=None, alpha_constraint=None, shared_axes=None, **kwargs):
        super().__init__(**kwargs)
        self.shared_axes = shared_axes

    def build(self, input_shape):
        shape = list(input_shape[1:])
        axes = [self.shared_axes] if isinstance(self.shared_axes, int) else self.shared_axes or ()
        for axis in axes:
            shape[axis - 1] = 1
        self.alpha = self.add_weight(shape, name='alpha')
        self.built = True

    def call(self, inputs):
        return same(inputs)


class Flatten(Layer):
    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)

    def call(self, inputs):
        return KerasTensor((inputs.shape[0], product(inputs.shape[1:])), inputs._dtype)


def product(sizes):
    n = 1
    for size in sizes:
        if size is None:
            return None
        n = size if type(n) is int and n == 1 else n * size
    return n


class Reshape(Layer):
    def __init__(self, target_shape, **kwargs):
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs):
        return KerasTensor((inputs.shape[0],) + resolve(inputs, inputs.shape[1:], self.target_shape), inputs._dtype)


def resolve(inputs, sizes, target):
    """Target sizes with -1 filled in."""
    total = product(sizes)
    known = product([n for n in target if type(n) is not int or n != -1])
    if -1 in [n for n in target if type(n) is int]:
        if type(total) is int and type(known) is int:
            if known == 0 or total % known:
                raise ShapeError('%d elements of %s do not divide into %s' % (total, tuple(sizes), tuple(target)), inputs)
            fill = total // known
        else:
            fill = None
        return tuple([fill if type(n) is int and n == -1 else n for n in target])
    if type(total) is int and type(known) is int and total != known:
        raise ShapeError('%s has %d elements, %s takes %d' % (tuple(sizes), total, tuple(target), known), inputs)
    return tuple(target)


class Permute(Layer):
    def __init__(self, dims, **kwargs):
        super().__init__(**kwargs)
        self.dims = dims

    def call(self, inputs):
        return KerasTensor((inputs.shape[0],) + tuple([inputs.shape[d] for d in self.dims]), inputs._dtype)


class RepeatVector(Layer):
    def __init__(self, n, **kwargs):
        super().__init__(**kwargs)
        self.n = n

    def call(self, inputs):
        return KerasTensor((inputs.shape[0], self.n, inputs.shape[1]), inputs._dtype)


class Lambda(Layer):
    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs):
        super().__init__(**kwargs)
        self.function = function
        self.given_output_shape = output_shape
        self.arguments = arguments or {}

    def call(self, inputs, training=None):
        if self.given_output_shape is not None and not callable(self.given_output_shape):
            return KerasTensor((shape_of(inputs)[0],) + tuple(self.given_output_shape), inputs._dtype)
        result = self.function(inputs, **self.arguments)
        if is_symbol(result):
            return same(inputs)
        return result


class _Merge(Layer):
    def call(self, inputs):
        shape = inputs[0].shape
        for x in inputs[1:]:
            if len(x.shape) != len(shape):
                raise ShapeError('%s gets shapes %s and %s' % (type(self).__name__, shape, x.shape), x, inputs[0])
            shape = join(shape, x.shape)
        return KerasTensor(shape, inputs[0]._dtype)


class Add(_Merge):
    pass


class Subtract(_Merge):
    pass


class Multiply(_Merge):
    pass


class Average(_Merge):
    pass


class Maximum(_Merge):
    pass


class Minimum(_Merge):
    pass


class Concatenate(Layer):
    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs):
        return concatenated(inputs, self.axis)


def concatenated(inputs, axis=-1):
    first = list(inputs[0].shape)
    at = axis if axis >= 0 else axis + len(first)
    total = first[at]
    for x in inputs[1:]:
        if len(x.shape) != len(first):
            raise ShapeError('concatenation of shapes %s and %s' % (tuple(first), x.shape), x, inputs[0])
        for i, (a, b) in enumerate(zip(first, x.shape)):
            if i != at and type(a) is int and type(b) is int and a != b:
                raise ShapeError('concatenation along %d: shapes %s and %s differ at dimension %d' % (at, tuple(first), x.shape, i), x, inputs[0])
        total = None if total is None or x.shape[at] is None else total + x.shape[at]
    first[at] = total
    return KerasTensor(first, inputs[0]._dtype)


class Dot(Layer):
    def __init__(self, axes, normalize=False, **kwargs):
        super().__init__(**kwargs)
        self.axes = axes

    def call(self, inputs):
        a, b = list(inputs[0].shape), list(inputs[1].shape)
        i, j = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        del a[i]
        del b[j]
        shape = a + b[1:]
        return KerasTensor(shape if len(shape) > 1 else shape + [1], inputs[0]._dtype)


def _merging(cls):
    def function(inputs, *args, **kwargs):
        return cls(**kwargs)(inputs) if not args else cls(*args, **kwargs)(inputs)

    return function


add, subtract, multiply, average = _merging(Add), _merging(Subtract), _merging(Multiply), _merging(Average)
maximum, minimum, dot = _merging(Maximum), _merging(Minimum), _merging(Dot)


def concatenate(inputs, axis=-1, **kwargs):
    return Concatenate(axis=axis, **kwargs)(inputs)


class Wrapper(Layer):
    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape=None):
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True

    def call(self, inputs):
        return self.layer(inputs)


class TimeDistributed(Wrapper):
    def build(self, input_shape):
        self.built = True

    def call(self, inputs, training=None, mask=None):
        inner = self.layer(KerasTensor((inputs.shape[0],) + tuple(inputs.shape[2:]), inputs._dtype))
        return KerasTensor((inputs.shape[0], inputs.shape[1]) + tuple(inner.shape[1:]), inner._dtype)


class MultiHeadAttention(Layer):
    def __init__(self, num_heads, key_dim, value_dim=None, dropout=0.0, use_bias=True, output_shape=None, attention_axes=None,
                 flash_attention=None, use_gate=False, seed=None, **kwargs):
        for name in list(kwargs):
            if name.endswith('izer') or name.endswith('constraint'):
                kwargs.pop(name)
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim or key_dim
        self.use_bias = use_bias
        self.given_output_shape = output_shape

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = value_shape or query_shape
        key_shape = key_shape or value_shape
        for name, shape, width in (('query', query_shape, self.key_dim), ('key', key_shape, self.key_dim), ('value', value_shape, self.value_dim)):
            layer = EinsumDense('abc,cde->abde', (None, self.num_heads, width), bias_axes='de' if self.use_bias else None, name=name)
            layer.build((None, None, shape[-1]))
            setattr(self, name + '_dense', layer)
        out = self.given_output_shape or query_shape[-1]
        out = out[-1] if isinstance(out, (tuple, list)) else out
        self.output_dense = EinsumDense('abcd,cde->abe', (None, out), bias_axes='e' if self.use_bias else None, name='attention_output')
        self.output_dense.build((None, None, self.num_heads, self.value_dim))
        self.built = True

    def _maybe_build(self, args, kwargs):
        named = dict(zip(('query', 'value', 'key'), args))
        named.update({name: x for name, x in kwargs.items() if name in ('query', 'value', 'key')})
        self.build(*[shape_of(named[name]) if named.get(name) is not None else None for name in ('query', 'value', 'key')])

    def call(self, query, value=None, key=None, query_mask=None, value_mask=None, key_mask=None, attention_mask=None,
             return_attention_scores=False, training=None, use_causal_mask=False):
        out = self.given_output_shape or query.shape[-1]
        out = out[-1] if isinstance(out, (tuple, list)) else out
        result = KerasTensor(tuple(query.shape[:-1]) + (out,), query._dtype)
        if return_attention_scores:
            return result, KerasTensor((query.shape[0], self.num_heads, query.shape[1], value.shape[1]), query._dtype)
        return result


class Attention(Layer):
    def __init__(self, use_scale=False, score_mode='dot', dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.score_mode = score_mode

    def build(self, input_shape):
        if self.use_scale:
            self.scale = self.add_weight((), name='scale')
        if self.score_mode == 'concat':
            self.concat_score_weight = self.add_weight((), name='concat_score_weight')
        self.built = True

    def call(self, inputs, mask=None, training=False, return_attention_scores=False, use_causal_mask=False):
        query, value = inputs[0], inputs[1]
        return KerasTensor(tuple(query.shape[:-1]) + (value.shape[-1],), query._dtype)


class AdditiveAttention(Attention):
    def __init__(self, use_scale=True, dropout=0.0, **kwargs):
        super().__init__(use_scale=use_scale, **kwargs)

    def build(self, input_shape):
        if self.use_scale:
            self.scale = self.add_weight((input_shape[0][-1],), name='scale')
        self.built = True


class TextVectorization(Layer):
    def __init__(self, max_tokens=None, standardize=None, split=None, ngrams=None, output_mode='int', output_sequence_length=None, **kwargs):
        super().__init__(name=kwargs.get('name'))
        self.output_sequence_length = output_sequence_length

    def adapt(self, *args, **kwargs):
        pass

    def call(self, inputs):
        return KerasTensor((inputs.shape[0], self.output_sequence_length), 'int64')


class CategoryEncoding(Layer):
    def __init__(self, num_tokens=None, output_mode='multi_hot', sparse=False, **kwargs):
        super().__init__(**kwargs)
        self.num_tokens = num_tokens

    def call(self, inputs, count_weights=None):
        return KerasTensor((inputs.shape[0], self.num_tokens), 'float32')


class Resizing(Layer):
    def __init__(self, height, width, interpolation='bilinear', crop_to_aspect_ratio=False, **kwargs):
        kwargs = {key: value for key, value in kwargs.items() if key in ('name', 'trainable', 'dtype', 'input_shape')}
        super().__init__(**kwargs)
        self.height, self.width = height, width

    def call(self, inputs):
        return KerasTensor((inputs.shape[0], self.height, self.width, inputs.shape[-1]), inputs._dtype)


class CenterCrop(Resizing):
    pass


class RandomCrop(Resizing):
    pass
