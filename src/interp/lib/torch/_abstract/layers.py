"""The C side of torch.nn.functional: shapes of convolutions, poolings, norms, attention, recurrent networks, losses."""

import _pellucid

from torch._abstract import values
from torch._abstract.core import Tensor, after, changed, like, make
from torch._abstract.pointwise import functions, known_value, publish
from torch._abstract.types import Size, ShapeError, count_work, defaults, differ, int64, is_symbol, join_sizes, numel, promote


def linear(input, weight, bias=None):
    shape = tuple(input.shape)
    features = weight.shape[-1]
    if not shape:
        raise ShapeError('Linear takes %s features and gets a scalar' % features, input, weight)
    if differ(shape[-1], features):
        raise ShapeError('Linear takes %d features and gets %d' % (features, shape[-1]), input, weight)
    if input.dtype.kind == 1:
        raise RuntimeError('Linear takes floating point numbers and gets %r' % input.dtype)
    if len(weight.shape) == 1:
        return after(make(Size(shape[:-1]), input.dtype), input)
    t = make(Size(shape[:-1] + (weight.shape[0],)), input.dtype)
    count_work(numel(t.shape) * features)
    return after(t, input)


def bilinear(input1, input2, weight, bias=None):
    for x, n in ((input1, weight.shape[1]), (input2, weight.shape[2])):
        if differ(x.shape[-1], n):
            raise ShapeError('Bilinear takes %d features and gets %d' % (n, x.shape[-1]), x, weight)
    return after(make(Size(tuple(input1.shape[:-1]) + (weight.shape[0],)), input1.dtype), input1)


def spread(value, n):
    if not is_symbol(value) and isinstance(value, (tuple, list)):
        return tuple(value) if len(value) == n else tuple(value) * n
    return (value,) * n


def convolution(n):
    name = 'Conv%dd' % n

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        shape = tuple(input.shape)
        rank = len(shape)
        if rank != n + 2 and rank != n + 1:
            raise ShapeError('%s takes %d or %d dimensions and gets %s' % (name, n + 1, n + 2, shape), input, weight)
        channels = weight.shape[1] * groups
        if differ(shape[rank - n - 1], channels):
            raise ShapeError('%s takes %d channels and gets %d' % (name, channels, shape[rank - n - 1]), input, weight)
        stride = spread(stride, n)
        dilation = spread(dilation, n)
        result = [weight.shape[0]]
        if rank == n + 2:
            result.insert(0, shape[0])
        for i in range(n):
            size = shape[rank - n + i]
            kernel = weight.shape[2 + i]
            reach = dilation[i] * (kernel - 1)
            if padding == 'same':
                result.append(size)
                continue
            pad = 0 if padding == 'valid' else spread(padding, n)[i]
            whole = size + 2 * pad
            if type(whole) is int and type(reach) is int and whole < reach + 1:
                raise ShapeError('%s: a kernel of %d is larger than the padded input of %d' % (name, reach + 1, whole), input, weight)
            step = stride[i]
            left = whole - reach - 1
            result.append(left + 1 if type(step) is int and step == 1 else left // step + 1)
        t = make(Size(result), input.dtype)
        count_work(numel(t.shape) * numel(weight.shape[1:]))
        return after(t, input)

    return conv


def transposed_convolution(n):
    name = 'ConvTranspose%dd' % n

    def conv(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        shape = tuple(input.shape)
        rank = len(shape)
        if rank != n + 2 and rank != n + 1:
            raise ShapeError('%s takes %d or %d dimensions and gets %s' % (name, n + 1, n + 2, shape), input, weight)
        if differ(shape[rank - n - 1], weight.shape[0]):
            raise ShapeError('%s takes %d channels and gets %d' % (name, weight.shape[0], shape[rank - n - 1]), input, weight)
        stride, padding = spread(stride, n), spread(padding, n)
        output_padding, dilation = spread(output_padding, n), spread(dilation, n)
        result = [weight.shape[1] * groups]
        if rank == n + 2:
            result.insert(0, shape[0])
        for i in range(n):
            result.append((shape[rank - n + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight.shape[2 + i] - 1)
                          + output_padding[i] + 1)
        count_work(numel(shape) * numel(weight.shape[1:]))
        return after(make(Size(result), input.dtype), input)

    return conv


conv1d, conv2d, conv3d = convolution(1), convolution(2), convolution(3)
conv_transpose1d, conv_transpose2d, conv_transpose3d = (transposed_convolution(1), transposed_convolution(2),
                                                        transposed_convolution(3))


def general_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *rest):
    n = len(weight.shape) - 2
    if transposed:
        return (None, conv_transpose1d, conv_transpose2d, conv_transpose3d)[n](input, weight, bias, stride, padding,
                                                                              output_padding, groups, dilation)
    return (None, conv1d, conv2d, conv3d)[n](input, weight, bias, stride, padding, dilation, groups)


def conv_tbc(input, weight, bias, pad=0):
    return after(make(Size((input.shape[0] + 2 * pad - weight.shape[0] + 1, input.shape[1], weight.shape[2])), input.dtype), input)


def windows(input, n, kernel, stride, padding, dilation, ceil_mode, what):
    shape = tuple(input.shape)
    rank = len(shape)
    if rank != n + 1 and rank != n + 2:
        raise ShapeError('%s takes %d or %d dimensions and gets %s' % (what, n + 1, n + 2, shape), input)
    kernel = spread(kernel, n)
    stride = kernel if stride is None or (isinstance(stride, (tuple, list)) and not stride) else spread(stride, n)
    padding, dilation = spread(padding, n), spread(dilation, n)
    result = list(shape[:rank - n])
    for i in range(n):
        size = shape[rank - n + i]
        left = size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1
        if type(left) is int and type(stride[i]) is int:
            if ceil_mode:
                count = (left + stride[i] - 1) // stride[i] + 1
                if (count - 1) * stride[i] >= size + padding[i]:
                    count -= 1
            else:
                count = left // stride[i] + 1
            if count < 1:
                raise ShapeError('%s: windows of %s do not fit into %s' % (what, tuple(kernel), shape), input)
        else:
            count = (left + stride[i] - 1 if ceil_mode else left) // stride[i] + 1
        result.append(count)
    t = make(Size(result), input.dtype)
    return after(t, input)


def max_pool(n):
    what = 'MaxPool%dd' % n

    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return windows(input, n, kernel_size, stride, padding, dilation, ceil_mode, what)

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        t = pool(input, kernel_size, stride, padding, dilation, ceil_mode)
        return t, make(t.shape, int64)

    return pool, with_indices


def avg_pool(n):
    what = 'AvgPool%dd' % n

    def pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        return windows(input, n, kernel_size, stride, padding, 1, ceil_mode, what)

    return pool


def adaptive(n, what):
    def pool(input, output_size, return_indices=False):
        shape = tuple(input.shape)
        rank = len(shape)
        if rank != n + 1 and rank != n + 2:
            raise ShapeError('%s takes %d or %d dimensions and gets %s' % (what, n + 1, n + 2, shape), input)
        sizes = spread(output_size, n)
        result = [shape[rank - n + i] if sizes[i] is None else sizes[i] for i in range(n)]
        t = make(Size(shape[:rank - n] + tuple(result)), input.dtype)
        return after(t, input)

    def with_indices(input, output_size, return_indices=False):
        t = pool(input, output_size)
        return t, make(t.shape, int64)

    return pool, with_indices


max_pool1d, max_pool1d_with_indices = max_pool(1)
max_pool2d, max_pool2d_with_indices = max_pool(2)
max_pool3d, max_pool3d_with_indices = max_pool(3)
avg_pool1d, avg_pool2d, avg_pool3d = avg_pool(1), avg_pool(2), avg_pool(3)
adaptive_avg_pool1d = adaptive(1, 'AdaptiveAvgPool1d')[0]
adaptive_avg_pool2d = adaptive(2, 'AdaptiveAvgPool2d')[0]
adaptive_avg_pool3d = adaptive(3, 'AdaptiveAvgPool3d')[0]
adaptive_max_pool1d = adaptive(1, 'AdaptiveMaxPool1d')[1]
adaptive_max_pool2d = adaptive(2, 'AdaptiveMaxPool2d')[1]
adaptive_max_pool3d = adaptive(3, 'AdaptiveMaxPool3d')[1]


def unpool(n):
    def pool(input, indices, output_size, *args):
        return after(make(Size(tuple(input.shape)[:len(input.shape) - n] + tuple(output_size)[-n:]), input.dtype), input)

    return pool


def fractional(n):
    def pool(input, kernel_size, output_size, random_samples=None):
        t = make(Size(tuple(input.shape)[:-n] + spread(output_size, n)), input.dtype)
        return t, make(t.shape, int64)

    return pool


def im2col(input, kernel_size, dilation, padding, stride):
    kernel, dilation, padding, stride = [spread(x, 2) for x in (kernel_size, dilation, padding, stride)]
    *batch, channels, height, width = input.shape
    rows = (height + 2 * padding[0] - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
    columns = (width + 2 * padding[1] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    return after(make(Size(tuple(batch) + (channels * kernel[0] * kernel[1], rows * columns)), input.dtype), input)


def col2im(input, output_size, kernel_size, dilation, padding, stride):
    kernel, size = spread(kernel_size, 2), spread(output_size, 2)
    *batch, channels, _ = input.shape
    return after(make(Size(tuple(batch) + (channels // (kernel[0] * kernel[1]),) + size), input.dtype), input)


def pad(input, pad, mode='constant', value=None):
    shape = list(input.shape)
    rank = len(shape)
    if len(pad) > 2 * rank:
        raise ShapeError('pad: %d paddings for a tensor of rank %d' % (len(pad) // 2, rank), input)
    for i in range(len(pad) // 2):
        at = rank - 1 - i
        old = shape[at]
        shape[at] = old + (pad[2 * i] + pad[2 * i + 1])
        if type(shape[at]) is int and shape[at] < 0:
            raise ShapeError('pad: dimension %d of %s becomes negative' % (at, tuple(input.shape)), input)
        if mode == 'reflect' and type(old) is int and type(pad[2 * i]) is int and (pad[2 * i] >= old or pad[2 * i + 1] >= old):
            raise ShapeError('pad: reflection by %s does not fit into dimension %d of %s' % (tuple(pad), at, tuple(input.shape)), input)
    result = None
    if input._value is not None and mode == 'constant' and not [p for p in pad if type(p) is not int or p < 0]:
        full = tuple(shape)
        steps = values.strides(full)
        offset = 0
        for i in range(len(pad) // 2):
            offset += pad[2 * i] * steps[rank - 1 - i]
        number = value if value is not None else (0.0 if input.dtype.kind == 2 else 0)
        result = values.written(values.filled(number, full), offset, steps, tuple(input.shape), known_value(input))
    t = make(Size(shape), input.dtype, result)
    return after(t, input)


def upsample(n):
    def resize(input, output_size=None, *args, **kwargs):
        shape = tuple(input.shape)
        factors = kwargs.get('scale_factors')
        if output_size is None and factors is None:
            for arg in args:  # (input, output_size, align_corners, scale_factors)
                if isinstance(arg, (tuple, list)):
                    factors = arg
        if output_size is not None:
            sizes = spread(output_size, n)
        else:
            sizes = tuple([_scaled(shape[i - n], factors[i]) for i in range(n)])
        if len(shape) != n + 2:
            raise ShapeError('upsampling over %d dimensions gets %s' % (n, shape), input)
        t = make(Size(shape[:2] + sizes), input.dtype)
        return after(t, input)

    return resize


def _scaled(size, factor):
    if type(size) is int:
        return int(size * factor)
    return size * (int(factor) if type(factor) is float and factor == int(factor) else factor)


def pixel_shuffle(input, upscale_factor):
    *batch, channels, height, width = input.shape
    r = upscale_factor
    if type(channels) is int and channels % (r * r):
        raise ShapeError('PixelShuffle by %d takes multiples of %d channels and gets %d' % (r, r * r, channels), input)
    return after(make(Size(tuple(batch) + (channels // (r * r), height * r, width * r)), input.dtype), input)


def pixel_unshuffle(input, downscale_factor):
    *batch, channels, height, width = input.shape
    r = downscale_factor
    return after(make(Size(tuple(batch) + (channels * r * r, height // r, width // r)), input.dtype), input)


def channels_of(what, x, weights, channels):
    for weight in weights:
        if weight is not None and differ(weight.shape[0], channels):
            raise ShapeError('%s takes %d channels and gets %d' % (what, weight.shape[0], channels), x, weight)


def batch_norm(input, weight, bias, running_mean, running_var, training=False, momentum=0.1, eps=1e-5, cudnn_enabled=False):
    if len(input.shape) > 1:
        channels_of('BatchNorm', input, (running_mean, running_var, weight, bias), input.shape[1])
    return like(input)


def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=False):
    channels_of('InstanceNorm', input, (running_mean, running_var, weight, bias), input.shape[1])
    return like(input)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=False):
    channels = input.shape[1]
    if type(channels) is int and type(num_groups) is int and channels % num_groups:
        raise ShapeError('GroupNorm of %d groups gets %d channels' % (num_groups, channels), input, weight)
    channels_of('GroupNorm', input, (weight, bias), channels)
    return like(input)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=False):
    wanted = tuple(normalized_shape)
    got = tuple(input.shape)[-len(wanted):]
    if len(got) != len(wanted) or True in [differ(a, b) for a, b in zip(got, wanted)]:
        raise ShapeError('LayerNorm takes %s at the end and gets %s' % (wanted, tuple(input.shape)), input, weight)
    return like(input)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    wanted = tuple(normalized_shape)
    got = tuple(input.shape)[-len(wanted):]
    if len(got) != len(wanted) or True in [differ(a, b) for a, b in zip(got, wanted)]:
        raise ShapeError('RMSNorm takes %s at the end and gets %s' % (wanted, tuple(input.shape)), input, weight)
    return like(input)


def embedding(weight, input, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if input.dtype.kind != 1:
        raise RuntimeError('Embedding takes integers and gets %r' % input.dtype)
    return after(make(Size(tuple(input.shape) + (weight.shape[1],)), weight.dtype), input)


def embedding_bag(weight, input, offsets=None, *args, **kwargs):
    n = input.shape[0] if offsets is None else offsets.shape[0]
    t = make(Size((n, weight.shape[1])), weight.dtype)
    return t, t, t, t


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    q, k, v = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    if differ(q[-1], k[-1]):
        raise ShapeError('attention: queries of %d against keys of %d' % (q[-1], k[-1]), key, query)
    if differ(k[-2], v[-2]):
        raise ShapeError('attention: %d keys and %d values' % (k[-2], v[-2]), value, key)
    if enable_gqa:
        batch = q[:-2]
    else:
        batch = tuple(join_sizes(join_sizes(q[:-2], k[:-2], ' in attention', key, query), v[:-2], ' in attention', value, query))
    if attn_mask is not None:
        join_sizes(Size(batch + (q[-2], k[-2])), attn_mask.shape, ' in attention, for the mask', attn_mask, query)
    t = make(Size(batch + (q[-2], v[-1])), query.dtype)
    count_work(numel(batch) * q[-2] * k[-2] * (q[-1] + v[-1]))
    return after(t, query, key, value)


def one_hot(input, num_classes=-1):
    if num_classes == -1:
        num_classes = functions['amax'](input).item() + 1
    return make(Size(tuple(input.shape) + (num_classes,)), int64)


def glu(input, dim=-1):
    shape = list(input.shape)
    if type(shape[dim]) is int and shape[dim] % 2:
        raise ShapeError('GLU halves dimension %d of %s' % (dim, tuple(shape)), input)
    shape[dim] = shape[dim] // 2
    return after(make(Size(shape), input.dtype), input)


def loss(input, target=None, *args, **kwargs):
    """Losses with a reduction give one number; without one, the shape of what they compare."""
    reduction = kwargs.get('reduction', 1)
    for arg in args:
        if type(arg) is int and type(arg) is not bool:
            reduction = arg
    if reduction == 0:
        shape = join_sizes(input.shape, target.shape, ' in a loss', input, target) if isinstance(target, Tensor) else input.shape
        return make(shape, input.dtype)
    return after(make(Size(()), input.dtype), input)


def class_loss(input, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    if len(input.shape) > 1 and len(target.shape) == len(input.shape) - 1 and differ(input.shape[0], target.shape[0]):
        raise ShapeError('a loss over %d rows gets %d targets' % (input.shape[0], target.shape[0]), target, input)
    if reduction == 0:
        return make(target.shape if target.dtype.kind == 1 else Size(tuple(input.shape[:1]) + tuple(input.shape[2:])), input.dtype)
    return after(make(Size(()), input.dtype), input)


def lstm(input, *args):
    return _recurrent(input, args, 2)


def gru(input, *args):
    return _recurrent(input, args, 1)


def _recurrent(input, args, states):
    """(input, hx, weights, bias, layers, dropout, train, bidirectional, batch_first), or packed: (data, sizes, hx, ...)."""
    packed = isinstance(args[0], Tensor) and len(args) > 1 and not isinstance(args[1], (bool, int)) and isinstance(args[1], (Tensor, tuple, list)) and (
        len(args) == 8 and isinstance(args[2], (list, tuple)))
    if packed and isinstance(args[3], bool):
        hx, weights, _, layers, _, _, bidirectional = args[1:8]
    else:
        packed = False
        hx, weights, _, layers, _, _, bidirectional = args[:7]
    directions = 2 if bidirectional else 1
    weight_ih, weight_hh = weights[0], weights[1]
    if differ(input.shape[-1], weight_ih.shape[1]):
        raise ShapeError('a recurrent layer takes %d features and gets %d' % (weight_ih.shape[1], input.shape[-1]), input, weight_ih)
    width = weight_hh.shape[1]
    first = hx[0] if isinstance(hx, (tuple, list)) else hx
    out = make(Size(tuple(input.shape[:-1]) + (first.shape[-1] * directions,)), input.dtype)
    if states == 2:
        return out, like(hx[0]), like(hx[1])
    return out, like(first)


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    linear(input, w_ih)
    return like(hx[0]), like(hx[1])


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    linear(input, w_ih)
    return like(hx)


def pack_padded_sequence(input, lengths, batch_first):
    n = functions['sum'](lengths)
    count = n.item()
    longest = functions['amax'](lengths).item()
    return make(Size((count,) + tuple(input.shape[2:])), input.dtype), make(Size((longest,)), int64)


def grid_sampler(input, grid, *args, **kwargs):
    return after(make(Size(tuple(input.shape[:2]) + tuple(grid.shape[1:-1])), input.dtype), input)


def affine_grid_generator(theta, size, align_corners=False):
    return make(Size((size[0],) + tuple(size[2:]) + (len(size) - 2,)), theta.dtype)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    shape = list(join_sizes(x1.shape, x2.shape, '', x1, x2))
    del shape[dim]
    return after(make(Size(shape), x1.dtype), x1)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    shape = list(join_sizes(x1.shape, x2.shape, '', x1, x2))
    shape[-1:] = [1] if keepdim else []
    return after(make(Size(shape), x1.dtype), x1)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side='right'):
    longest = max([x.shape[0] for x in sequences])
    rest = tuple(sequences[0].shape[1:])
    n = len(sequences)
    return make(Size(((n, longest) if batch_first else (longest, n)) + rest), sequences[0].dtype)


def parse_to(*args, **kwargs):
    """Module.to: device, dtype, non_blocking, memory format."""
    from torch._abstract import types
    device = kwargs.get('device')
    dtype = kwargs.get('dtype')
    for arg in args:
        if isinstance(arg, types.dtype):
            dtype = arg
        elif isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, (str, int, types.device)) and not isinstance(arg, bool):
            device = arg
    if device is not None and not isinstance(device, types.device):
        device = types.device(device)
    return device, dtype, kwargs.get('non_blocking', False), kwargs.get('memory_format')


def multi_head(query, *args, **kwargs):
    return like(query), None


def weight_norm(v, g, dim=0):
    return like(v)


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', normalized=False,
         onesided=None, return_complex=None, align_to_window=None):
    hop = n_fft // 4 if hop_length is None else hop_length
    n = input.shape[-1] + (2 * (n_fft // 2) if center else 0)
    frames = (n - n_fft) // hop + 1
    bins = n_fft if onesided is False else n_fft // 2 + 1
    shape = tuple(input.shape[:-1]) + (bins, frames)
    return after(make(Size(shape), input.dtype.to_complex()) if return_complex else make(Size(shape + (2,)), input.dtype), input)


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
          length=None, return_complex=False):
    hop = n_fft // 4 if hop_length is None else hop_length
    n = length
    if n is None:
        n = n_fft + hop * (input.shape[-1] - 1) - (2 * (n_fft // 2) if center else 0)
    return make(Size(tuple(input.shape[:-2]) + (n,)), input.dtype.to_real())


def window(window_length, *args, dtype=None, device=None, **kwargs):
    return make(Size((window_length,)), dtype or defaults.dtype)


def channel_shuffle(input, groups):
    return like(input)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    return make(Size(()) if reduction else Size((log_probs.shape[1],)), log_probs.dtype)


for _function in (linear, bilinear, conv_tbc, max_pool1d_with_indices, batch_norm, instance_norm, group_norm, layer_norm,
                  rms_norm, embedding, embedding_bag, scaled_dot_product_attention, lstm_cell, gru_cell, lstm, gru,
                  cosine_similarity, pairwise_distance, pixel_shuffle, pixel_unshuffle, channel_shuffle, grid_sampler,
                  affine_grid_generator, stft, istft, ctc_loss):
    functions[_function.__name__] = _function
for _n in (1, 2, 3):
    functions['conv%dd' % _n] = (conv1d, conv2d, conv3d)[_n - 1]
    functions['conv_transpose%dd' % _n] = (conv_transpose1d, conv_transpose2d, conv_transpose3d)[_n - 1]
    functions['max_pool%dd' % _n] = (max_pool1d, max_pool2d, max_pool3d)[_n - 1]
functions['convolution'] = functions['_convolution'] = general_convolution
functions['avg_pool1d'] = avg_pool1d
functions['max_pool1d_with_indices'] = max_pool1d_with_indices
functions['adaptive_avg_pool1d'] = adaptive_avg_pool1d
functions['adaptive_max_pool1d'] = adaptive_max_pool1d
functions['native_channel_shuffle'] = channel_shuffle
functions['rnn_tanh'] = functions['rnn_relu'] = gru
functions['rnn_tanh_cell'] = functions['rnn_relu_cell'] = gru_cell
functions['_weight_norm'] = weight_norm
functions['_weight_norm_interface'] = weight_norm
functions['_pack_padded_sequence'] = pack_padded_sequence
functions['_native_multi_head_attention'] = multi_head
for _name in ('hann_window', 'hamming_window', 'blackman_window', 'bartlett_window', 'kaiser_window'):
    functions[_name] = window
for _name in ('binary_cross_entropy_with_logits', 'cosine_embedding_loss', 'hinge_embedding_loss', 'kl_div',
              'margin_ranking_loss', 'poisson_nll_loss', 'triplet_margin_loss'):
    functions[_name] = loss
functions['pdist'] = lambda input, p=2.0: make(Size((input.shape[0] * (input.shape[0] - 1) // 2,)), input.dtype)

nn_functions = {
    'linear': linear, 'pad': pad, 'im2col': im2col, 'col2im': col2im, 'glu': glu, 'one_hot': one_hot,
    'scaled_dot_product_attention': scaled_dot_product_attention, 'cross_entropy_loss': class_loss,
    'nll_loss_nd': class_loss, 'nll_loss': class_loss, 'pad_sequence': pad_sequence, '_parse_to': parse_to,
    'max_pool2d_with_indices': max_pool2d_with_indices, 'max_pool3d_with_indices': max_pool3d_with_indices,
    'avg_pool2d': avg_pool2d, 'avg_pool3d': avg_pool3d, 'adaptive_avg_pool2d': adaptive_avg_pool2d,
    'adaptive_avg_pool3d': adaptive_avg_pool3d, 'adaptive_max_pool2d': adaptive_max_pool2d,
    'adaptive_max_pool3d': adaptive_max_pool3d, 'max_unpool2d': unpool(2), 'max_unpool3d': unpool(3),
    'fractional_max_pool2d': fractional(2), 'fractional_max_pool3d': fractional(3),
}
for _name in ('l1_loss', 'mse_loss', 'smooth_l1_loss', 'huber_loss', 'soft_margin_loss', 'binary_cross_entropy',
              'multilabel_margin_loss', 'multi_margin_loss'):
    nn_functions[_name] = loss
for _name in ('upsample_nearest1d', '_upsample_nearest_exact1d', 'upsample_linear1d'):
    nn_functions[_name] = upsample(1)
for _name in ('upsample_nearest2d', '_upsample_nearest_exact2d', 'upsample_bilinear2d', 'upsample_bicubic2d',
              '_upsample_bilinear2d_aa', '_upsample_bicubic2d_aa', '_upsample_lanczos2d_aa'):
    nn_functions[_name] = upsample(2)
for _name in ('upsample_nearest3d', '_upsample_nearest_exact3d', 'upsample_trilinear3d'):
    nn_functions[_name] = upsample(3)


def activation(input, *args, **kwargs):
    return like(input)


def activation_in_place(input, *args, **kwargs):
    return changed(input, None)


for _name in ('relu6', 'silu', 'mish', 'gelu', 'elu', 'leaky_relu', 'hardtanh', 'hardswish', 'hardsigmoid', 'softplus',
              'softshrink', 'log_sigmoid', 'rrelu_with_noise'):
    nn_functions[_name] = activation
    nn_functions[_name + '_'] = activation_in_place
for _name in ('hardtanh', 'softplus', 'silu'):
    setattr(Tensor, _name, activation)
