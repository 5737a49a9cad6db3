"""Layers over space and time: convolutions, poolings, paddings, recurrent networks."""

import _pellucid
from keras._core_layers import Wrapper, same, spread, takes
from keras._engine import KerasTensor, Layer, ShapeError, is_symbol, shape_of


def _drop_options(kwargs):
    """Initialisers, regularisers and constraints change no shape."""
    return {key: value for key, value in kwargs.items()
            if not key.endswith('initializer') and not key.endswith('regularizer') and not key.endswith('constraint')}


def length(size, kernel, padding, stride, dilation=1):
    if size is None:
        return None
    kernel = dilation * (kernel - 1) + 1
    if padding == 'valid':
        size = size - kernel + 1
    return (size + stride - 1) // stride


class _Conv(Layer):
    _n = 2

    def __init__(self, filters, kernel_size, strides=1, padding='valid', data_format=None, dilation_rate=1, groups=1,
                 activation=None, use_bias=True, **kwargs):
        super().__init__(**_drop_options(kwargs))
        n = self._n
        self.filters = filters
        self.kernel_size = spread(kernel_size, n)
        self.strides = spread(strides, n)
        self.padding = padding.lower()
        self.data_format = data_format or 'channels_last'
        self.dilation_rate = spread(dilation_rate, n)
        self.groups = groups
        self.activation = activation
        self.use_bias = use_bias

    @property
    def _rank(self):
        return self._n + 2

    def _channels(self, shape):
        if len(shape) != self._n + 2:
            raise ShapeError('%s %s takes %d dimensions and gets %s' % (type(self).__name__, self.name, self._n + 2, tuple(shape)))
        return shape[-1] if self.data_format == 'channels_last' else shape[1]

    def build(self, input_shape):
        channels = self._channels(input_shape)
        self._kernel_weights(channels)
        self.__dict__['_channels_in'] = channels
        if self.use_bias:
            self.bias = self.add_weight((self.filters,), name='bias')
        self.built = True

    def _kernel_weights(self, channels):
        self.kernel = self.add_weight(self.kernel_size + (channels // self.groups if self.groups != 1 else channels, self.filters), name='kernel')

    def _length(self, size, i):
        out = length(size, self.kernel_size[i], self.padding if self.padding == 'valid' else 'same', self.strides[i], self.dilation_rate[i])
        if type(out) is int and out < 1:
            raise ShapeError('%s %s: a kernel of %s is larger than the input' % (type(self).__name__, self.name, self.kernel_size))
        return out

    def call(self, inputs):
        self._channels(inputs.shape)
        takes(self, inputs, -1 if self.data_format == 'channels_last' else 1, self._channels_in, 'channels')
        space = inputs.shape[1:-1] if self.data_format == 'channels_last' else inputs.shape[2:]
        space = tuple([self._length(size, i) for i, size in enumerate(space)])
        if self.data_format == 'channels_last':
            return KerasTensor((inputs.shape[0],) + space + (self.filters,), inputs._dtype)
        return KerasTensor((inputs.shape[0], self.filters) + space, inputs._dtype)


class Conv1D(_Conv):
    _n = 1


class Conv2D(_Conv):
    _n = 2


class Conv3D(_Conv):
    _n = 3


class _ConvTranspose(_Conv):
    def __init__(self, filters, kernel_size, strides=1, padding='valid', output_padding=None, data_format=None, dilation_rate=1,
                 activation=None, use_bias=True, **kwargs):
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, 1, activation, use_bias, **kwargs)
        self.output_padding = output_padding

    def _kernel_weights(self, channels):
        self.kernel = self.add_weight(self.kernel_size + (self.filters, channels), name='kernel')

    def _length(self, size, i):
        if size is None:
            return None
        kernel = self.dilation_rate[i] * (self.kernel_size[i] - 1) + 1
        stride = self.strides[i]
        if self.output_padding is None:
            return size * stride + (max(kernel - stride, 0) if self.padding == 'valid' else 0)
        pad = kernel // 2 if self.padding == 'same' else 0
        return (size - 1) * stride + kernel - 2 * pad + spread(self.output_padding, self._n)[i]


class Conv1DTranspose(_ConvTranspose):
    _n = 1


class Conv2DTranspose(_ConvTranspose):
    _n = 2


class Conv3DTranspose(_ConvTranspose):
    _n = 3


class _DepthwiseConv(_Conv):
    def __init__(self, kernel_size, strides=1, padding='valid', depth_multiplier=1, data_format=None, dilation_rate=1,
                 activation=None, use_bias=True, **kwargs):
        super().__init__(None, kernel_size, strides, padding, data_format, dilation_rate, 1, activation, use_bias, **kwargs)
        self.depth_multiplier = depth_multiplier

    def _kernel_weights(self, channels):
        self.filters = channels * self.depth_multiplier
        self.kernel = self.add_weight(self.kernel_size + (channels, self.depth_multiplier), name='kernel')


class DepthwiseConv1D(_DepthwiseConv):
    _n = 1


class DepthwiseConv2D(_DepthwiseConv):
    _n = 2


class _SeparableConv(_Conv):
    def __init__(self, filters, kernel_size, strides=1, padding='valid', data_format=None, dilation_rate=1, depth_multiplier=1,
                 activation=None, use_bias=True, **kwargs):
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, 1, activation, use_bias, **kwargs)
        self.depth_multiplier = depth_multiplier

    def _kernel_weights(self, channels):
        self.depthwise_kernel = self.add_weight(self.kernel_size + (channels, self.depth_multiplier), name='depthwise_kernel')
        self.pointwise_kernel = self.add_weight((1,) * self._n + (channels * self.depth_multiplier, self.filters), name='pointwise_kernel')


class SeparableConv1D(_SeparableConv):
    _n = 1


class SeparableConv2D(_SeparableConv):
    _n = 2


class _Pool(Layer):
    _n = 2

    def __init__(self, pool_size=2, strides=None, padding='valid', data_format=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        n = self._n
        self.pool_size = spread(pool_size, n)
        self.strides = self.pool_size if strides is None else spread(strides, n)
        self.padding = padding.lower()
        self.data_format = data_format or 'channels_last'

    def call(self, inputs):
        if len(inputs.shape) != self._n + 2:
            raise ShapeError('%s %s takes %d dimensions and gets %s' % (type(self).__name__, self.name, self._n + 2, inputs.shape), inputs)
        last = self.data_format == 'channels_last'
        space = inputs.shape[1:-1] if last else inputs.shape[2:]
        space = tuple([length(size, self.pool_size[i], self.padding, self.strides[i]) for i, size in enumerate(space)])
        if last:
            return KerasTensor((inputs.shape[0],) + space + (inputs.shape[-1],), inputs._dtype)
        return KerasTensor(tuple(inputs.shape[:2]) + space, inputs._dtype)


class MaxPooling1D(_Pool):
    _n = 1


class MaxPooling2D(_Pool):
    pass


class MaxPooling3D(_Pool):
    _n = 3


class AveragePooling1D(_Pool):
    _n = 1


class AveragePooling2D(_Pool):
    pass


class AveragePooling3D(_Pool):
    _n = 3


class _GlobalPool(Layer):
    def __init__(self, data_format=None, keepdims=False, **kwargs):
        super().__init__(**kwargs)
        self.data_format = data_format or 'channels_last'
        self.keepdims = keepdims

    def call(self, inputs, mask=None):
        n = len(inputs.shape) - 2
        if self.data_format == 'channels_last':
            return KerasTensor((inputs.shape[0],) + ((1,) * n if self.keepdims else ()) + (inputs.shape[-1],), inputs._dtype)
        return KerasTensor(tuple(inputs.shape[:2]) + ((1,) * n if self.keepdims else ()), inputs._dtype)


class GlobalMaxPooling1D(_GlobalPool):
    pass


class GlobalMaxPooling2D(_GlobalPool):
    pass


class GlobalMaxPooling3D(_GlobalPool):
    pass


class GlobalAveragePooling1D(_GlobalPool):
    pass


class GlobalAveragePooling2D(_GlobalPool):
    pass


class GlobalAveragePooling3D(_GlobalPool):
    pass


def _pairs(value, n):
    if isinstance(value, int) or is_symbol(value):
        return ((value, value),) * n
    return tuple([(v, v) if isinstance(v, int) else tuple(v) for v in value])


class _Resize(Layer):
    """Padding, cropping and upsampling: each dimension of space on its own."""

    _n = 2

    def call(self, inputs):
        last = getattr(self, 'data_format', 'channels_last') == 'channels_last'
        space = inputs.shape[1:1 + self._n] if last else inputs.shape[2:]
        space = tuple([None if size is None else self._sized(size, i) for i, size in enumerate(space)])
        if last:
            return KerasTensor((inputs.shape[0],) + space + tuple(inputs.shape[1 + self._n:]), inputs._dtype)
        return KerasTensor(tuple(inputs.shape[:2]) + space, inputs._dtype)


class ZeroPadding2D(_Resize):
    def __init__(self, padding=1, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.padding = _pairs(padding, self._n) if self._n > 1 or isinstance(padding, int) else (tuple(padding),)
        self.data_format = data_format or 'channels_last'

    def _sized(self, size, i):
        return size + self.padding[i][0] + self.padding[i][1]


class ZeroPadding1D(ZeroPadding2D):
    _n = 1


class ZeroPadding3D(ZeroPadding2D):
    _n = 3


class Cropping2D(_Resize):
    def __init__(self, cropping=0, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.cropping = _pairs(cropping, self._n) if self._n > 1 or isinstance(cropping, int) else (tuple(cropping),)
        self.data_format = data_format or 'channels_last'

    def _sized(self, size, i):
        return size - self.cropping[i][0] - self.cropping[i][1]


class Cropping1D(Cropping2D):
    _n = 1


class Cropping3D(Cropping2D):
    _n = 3


class UpSampling2D(_Resize):
    def __init__(self, size=2, data_format=None, interpolation='nearest', **kwargs):
        super().__init__(**kwargs)
        self.size = spread(size, self._n)
        self.data_format = data_format or 'channels_last'

    def _sized(self, size, i):
        return size * self.size[i]


class UpSampling1D(UpSampling2D):
    _n = 1


class UpSampling3D(UpSampling2D):
    _n = 3


class _Cell(Layer):
    _gates = 1

    def __init__(self, units, activation='tanh', recurrent_activation='sigmoid', use_bias=True, dropout=0.0, recurrent_dropout=0.0, **kwargs):
        for name in ('reset_after', 'unit_forget_bias', 'implementation', 'seed'):
            if name in kwargs:
                self.__dict__['_' + name] = kwargs.pop(name)
        super().__init__(**_drop_options(kwargs))
        self.units = units
        self.activation = activation
        self.use_bias = use_bias

    @property
    def state_size(self):
        return [self.units, self.units] if self._gates == 4 else self.units

    @property
    def output_size(self):
        return self.units

    def build(self, input_shape):
        width = self.units * self._gates
        self.kernel = self.add_weight((input_shape[-1], width), name='kernel')
        self.recurrent_kernel = self.add_weight((self.units, width), name='recurrent_kernel')
        if self.use_bias:
            two = self._gates == 3 and self.__dict__.get('_reset_after', True)
            self.bias = self.add_weight((2, width) if two else (width,), name='bias')
        self.built = True

    def call(self, inputs, states=None, training=False):
        takes(self, inputs, -1, self.kernel.shape[0], 'features')
        out = KerasTensor((inputs.shape[0], self.units), inputs._dtype)
        return out, [out, out] if self._gates == 4 else [out]


class SimpleRNNCell(_Cell):
    pass


class GRUCell(_Cell):
    _gates = 3


class LSTMCell(_Cell):
    _gates = 4


class StackedRNNCells(Layer):
    def __init__(self, cells, **kwargs):
        super().__init__(**kwargs)
        self.cells = list(cells)

    def build(self, input_shape):
        shape = tuple(input_shape)
        for cell in self.cells:
            cell.build(shape)
            cell.built = True
            shape = shape[:-1] + (cell.units,)
        self.built = True

    @property
    def units(self):
        return self.cells[-1].units

    _gates = 1


class RNN(Layer):
    _rank = 3

    def __init__(self, cell, return_sequences=False, return_state=False, go_backwards=False, stateful=False, unroll=False,
                 zero_output_for_mask=False, time_major=False, **kwargs):
        super().__init__(**kwargs)
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state

    def build(self, input_shape, initial_state_shape=None):
        if not self.cell.built:
            self.cell.build((input_shape[0],) + tuple(input_shape[2:]))
            self.cell.built = True
        self.built = True

    def _maybe_build(self, args, kwargs):
        self.build(shape_of(args[0]))

    def call(self, inputs, initial_state=None, mask=None, training=False):
        if len(inputs.shape) != 3:
            raise ShapeError('%s %s takes 3 dimensions and gets %s' % (type(self).__name__, self.name, inputs.shape), inputs)
        kernel = getattr(self.cell, 'kernel', None)
        if kernel is not None:
            takes(self, inputs, -1, kernel.shape[0], 'features')
        units = self.cell.units
        shape = (inputs.shape[0], inputs.shape[1], units) if self.return_sequences else (inputs.shape[0], units)
        out = KerasTensor(shape, inputs._dtype)
        if not self.return_state:
            return out
        state = KerasTensor((inputs.shape[0], units), inputs._dtype)
        return [out, state, KerasTensor(state.shape, state._dtype)] if getattr(self.cell, '_gates', 1) == 4 else [out, state]


class _NamedRNN(RNN):
    _cell = SimpleRNNCell

    def __init__(self, units, activation='tanh', recurrent_activation='sigmoid', use_bias=True, **kwargs):
        options = {name: kwargs.pop(name) for name in ('return_sequences', 'return_state', 'go_backwards', 'stateful', 'unroll',
                                                       'time_major', 'name', 'trainable', 'dtype', 'input_shape', 'input_dim',
                                                       'batch_input_shape')
                   if name in kwargs}
        kwargs.pop('use_cudnn', None)
        kwargs.pop('zero_output_for_mask', None)
        super().__init__(self._cell(units, activation, recurrent_activation, use_bias, **_drop_options(kwargs)), **options)
        self.units = units


class SimpleRNN(_NamedRNN):
    def __init__(self, units, activation='tanh', use_bias=True, **kwargs):
        super().__init__(units, activation, 'sigmoid', use_bias, **kwargs)


class GRU(_NamedRNN):
    _cell = GRUCell


class LSTM(_NamedRNN):
    _cell = LSTMCell


class Bidirectional(Wrapper):
    _rank = 3

    def __init__(self, layer, merge_mode='concat', weights=None, backward_layer=None, **kwargs):
        super().__init__(layer, **kwargs)
        del self._tracked[:]
        self.merge_mode = merge_mode
        self.forward_layer = layer
        self.return_sequences = layer.return_sequences
        if backward_layer is None:
            cell = layer.cell
            again = type(cell)(cell.units, cell.activation, use_bias=cell.use_bias)
            again.__dict__.update({key: value for key, value in cell.__dict__.items() if key in ('_reset_after',)})
            backward_layer = RNN.__new__(type(layer))
            RNN.__init__(backward_layer, again, layer.return_sequences, layer.return_state, name='backward_' + layer.name)
        layer.name = 'forward_' + layer.name if not layer.name.startswith('forward_') else layer.name
        self.backward_layer = backward_layer
        given = layer.__dict__.get('_given_input_shape')
        if given is not None and '_given_input_shape' not in self.__dict__:
            self.__dict__['_given_input_shape'] = given

    def build(self, input_shape=None):
        for layer in (self.forward_layer, self.backward_layer):
            layer.build(input_shape)
            layer.built = True
        self.built = True

    def call(self, inputs, initial_state=None, mask=None, training=False):
        out = self.forward_layer(inputs)
        states = []
        if isinstance(out, list):
            out, *states = out
            states = states + [KerasTensor(s.shape, s._dtype) for s in states]
        self.backward_layer(inputs)
        if self.merge_mode == 'concat':
            result = KerasTensor(tuple(out.shape[:-1]) + (out.shape[-1] * 2,), out._dtype)
        elif self.merge_mode is None:
            return [out, same(out)] + states
        else:
            result = same(out)
        return [result] + states if states else result


class ConvLSTM2D(Layer):
    _rank = 5

    def __init__(self, filters, kernel_size, strides=1, padding='valid', data_format=None, dilation_rate=1, use_bias=True,
                 return_sequences=False, return_state=False, **kwargs):
        keep = {key: kwargs[key] for key in ('name', 'trainable', 'dtype', 'input_shape', 'batch_input_shape') if key in kwargs}
        super().__init__(**keep)
        self.filters = filters
        self.kernel_size = spread(kernel_size, 2)
        self.strides = spread(strides, 2)
        self.padding = padding
        self.use_bias = use_bias
        self.return_sequences = return_sequences

    def build(self, input_shape):
        self.kernel = self.add_weight(self.kernel_size + (input_shape[-1], self.filters * 4), name='kernel')
        self.recurrent_kernel = self.add_weight(self.kernel_size + (self.filters, self.filters * 4), name='recurrent_kernel')
        if self.use_bias:
            self.bias = self.add_weight((self.filters * 4,), name='bias')
        self.built = True

    def call(self, inputs, mask=None, training=False):
        space = tuple([length(inputs.shape[2 + i], self.kernel_size[i], self.padding, self.strides[i]) for i in range(2)])
        time = (inputs.shape[1],) if self.return_sequences else ()
        return KerasTensor((inputs.shape[0],) + time + space + (self.filters,), inputs._dtype)
