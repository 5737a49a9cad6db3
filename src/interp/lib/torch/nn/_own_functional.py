"""torch.nn.functional for where torch's source is not at hand: the same names over the same shape rules."""

import math
import sys

import _pellucid
import torch
from torch._abstract import layers as _layers
from torch._abstract.core import Tensor, changed, like, make
from torch._abstract.layers import nn_functions as _nn
from torch._abstract.pointwise import functions as _functions
from torch._abstract.types import ShapeError, Size

for _name in ('conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'avg_pool1d',
              'adaptive_avg_pool1d', 'bilinear', 'cosine_similarity', 'pairwise_distance', 'pixel_shuffle', 'pixel_unshuffle',
              'channel_shuffle', 'pdist', 'prelu', 'rrelu', 'selu', 'celu', 'threshold', 'ctc_loss', 'kl_div'):
    globals()[_name] = _functions[_name]
for _name in ('linear', 'avg_pool2d', 'avg_pool3d', 'adaptive_avg_pool2d', 'adaptive_avg_pool3d', 'one_hot', 'pad', 'glu',
              'scaled_dot_product_attention'):
    globals()[_name] = _nn[_name]


def _activation(input, *args, inplace=False, **kwargs):
    return changed(input, None) if inplace else like(input)


relu = relu6 = elu = silu = mish = gelu = leaky_relu = hardtanh = hardswish = hardsigmoid = softplus = softshrink = _activation
logsigmoid = tanhshrink = softsign = hardshrink = sigmoid = tanh = normalize = local_response_norm = _activation
relu_ = elu_ = leaky_relu_ = hardtanh_ = threshold_ = _layers.activation_in_place


def dropout(input, p=0.5, training=True, inplace=False):
    return input if inplace else like(input)


dropout1d = dropout2d = dropout3d = alpha_dropout = feature_alpha_dropout = dropout


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    return _functions['softmax'](input, dim, dtype)


log_softmax = softmin = softmax


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    return like(logits)


def _max_pool(n, plain, with_indices):
    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return (with_indices if return_indices else plain)(input, kernel_size, stride, padding, dilation, ceil_mode)

    return pool


max_pool1d = _max_pool(1, _layers.max_pool1d, _layers.max_pool1d_with_indices)
max_pool2d = _max_pool(2, _layers.max_pool2d, _layers.max_pool2d_with_indices)
max_pool3d = _max_pool(3, _layers.max_pool3d, _layers.max_pool3d_with_indices)


def _adaptive_max(n, with_indices):
    def pool(input, output_size, return_indices=False):
        result = with_indices(input, output_size)
        return result if return_indices else result[0]

    return pool


adaptive_max_pool1d = _adaptive_max(1, _layers.adaptive_max_pool1d)
adaptive_max_pool2d = _adaptive_max(2, _layers.adaptive_max_pool2d)
adaptive_max_pool3d = _adaptive_max(3, _layers.adaptive_max_pool3d)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return avg_pool2d(input, kernel_size, stride, 0, ceil_mode)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return avg_pool1d(input, kernel_size, stride, 0, ceil_mode)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return _nn['im2col'](input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return _nn['col2im'](input, output_size, kernel_size, dilation, padding, stride)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return _layers.batch_norm(input, weight, bias, running_mean, running_var)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    return _layers.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return _layers.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    return _layers.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    return _layers.group_norm(input, num_groups, weight, bias, eps)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    return _layers.embedding(weight, input)


def embedding_bag(input, weight, offsets=None, *args, **kwargs):
    return _layers.embedding_bag(weight, input if len(input.shape) == 2 or offsets is not None else input, offsets)[0]


def interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, antialias=False):
    n = len(input.shape) - 2
    if size is None:
        factors = _layers.spread(scale_factor, n)
        size = [_layers._scaled(input.shape[2 + i], factors[i]) for i in range(n)]
    return make(Size(tuple(input.shape[:2]) + _layers.spread(size, n)), input.dtype)


upsample = upsample_nearest = upsample_bilinear = interpolate


def grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=None):
    return _layers.grid_sampler(input, grid)


def affine_grid(theta, size, align_corners=None):
    return _layers.affine_grid_generator(theta, size)


def _loss(input, target=None, *args, reduction='mean', **kwargs):
    return _layers.loss(input, target, reduction=0 if reduction == 'none' else 1)


mse_loss = l1_loss = smooth_l1_loss = huber_loss = binary_cross_entropy = binary_cross_entropy_with_logits = _loss
soft_margin_loss = poisson_nll_loss = gaussian_nll_loss = hinge_embedding_loss = multilabel_margin_loss = _loss
cosine_embedding_loss = margin_ranking_loss = triplet_margin_loss = multi_margin_loss = multilabel_soft_margin_loss = kl_div = _loss
triplet_margin_with_distance_loss = _loss


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0):
    return _layers.class_loss(input, target, weight, 0 if reduction == 'none' else 1)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'):
    return _layers.class_loss(input, target, weight, 0 if reduction == 'none' else 1)


def multi_head_attention_forward(query, key, value, embed_dim_to_check, *args, **kwargs):
    if type(query.shape[-1]) is int and query.shape[-1] != embed_dim_to_check:
        raise ShapeError('MultiheadAttention takes %d features and gets %d' % (embed_dim_to_check, query.shape[-1]), query)
    n, m = query.shape[0], key.shape[0]
    shape = (n, m) if len(query.shape) == 2 else (query.shape[1], n, m)
    return like(query), make(Size(shape), query.dtype) if kwargs.get('need_weights', True) else None

_pellucid.name_apart(globals())
