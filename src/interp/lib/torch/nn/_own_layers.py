"""torch.nn's layers for where torch's source is not at hand. Constructors take torch's arguments and make torch's
weights, in torch's order; forward follows the shape rules."""

import math
import sys
from collections import OrderedDict

import _pellucid
import torch
from torch.nn import _own_functional as F
from torch.nn import init
from torch.nn.modules.module import Module
from torch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter, is_lazy


def _spread(n):
    def spread(x):
        return tuple(x) if not is_symbol(x) and isinstance(x, (tuple, list)) else (x,) * n

    return spread


is_symbol = _pellucid.is_symbol
_shape = _spread(1)


_single, _pair, _triple, _quadruple = _spread(1), _spread(2), _spread(3), _spread(4)


def _ntuple(n, name='parse'):
    return _spread(n)


def _weight(*shape, device=None, dtype=None):
    return Parameter(torch.empty(*shape, device=device, dtype=dtype))


class Identity(Module):
    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = _weight(out_features, in_features, device=device, dtype=dtype)
        if bias:
            self.bias = _weight(out_features, device=device, dtype=dtype)
        else:
            self.register_parameter('bias', None)

    def reset_parameters(self):
        pass

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    pass


class LazyLinear(Linear):
    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter()
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter()

    def forward(self, input):
        if is_lazy(self.weight):
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
        return F.linear(input, self.weight, self.bias)


class Bilinear(Module):
    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = _weight(out_features, in1_features, in2_features)
        if bias:
            self.bias = _weight(out_features)
        else:
            self.register_parameter('bias', None)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)


class _ConvNd(Module):
    _n = 2
    _transposed = False

    def _setup(self, in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode,
               device, dtype):
        Module.__init__(self)
        if not is_symbol(in_channels) and in_channels is not None and not is_symbol(groups):
            if groups <= 0:
                raise ValueError('groups must be a positive integer')
            if in_channels % groups != 0:
                raise ValueError('in_channels must be divisible by groups')
            if not is_symbol(out_channels) and out_channels % groups != 0:
                raise ValueError('out_channels must be divisible by groups')
        spread = _spread(self._n)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = spread(kernel_size)
        self.stride = spread(stride)
        self.padding = padding if not is_symbol(padding) and isinstance(padding, str) else spread(padding)
        self.dilation = spread(dilation)
        self.transposed = self._transposed
        self.output_padding = spread(output_padding)
        self.groups = groups
        self.padding_mode = padding_mode
        if not is_symbol(in_channels) and in_channels is None:
            self.weight = UninitializedParameter()
        elif self._transposed:
            self.weight = _weight(in_channels, out_channels if type(groups) is int and groups == 1 else out_channels // groups, *self.kernel_size, device=device, dtype=dtype)
        else:
            self.weight = _weight(out_channels, in_channels if type(groups) is int and groups == 1 else in_channels // groups, *self.kernel_size, device=device, dtype=dtype)
        if bias:
            self.bias = _weight(out_channels, device=device, dtype=dtype)
        else:
            self.register_parameter('bias', None)

    def reset_parameters(self):
        pass


class _Conv(_ConvNd):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode='zeros', device=None, dtype=None):
        self._setup(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input, weight, bias):
        conv = (None, F.conv1d, F.conv2d, F.conv3d)[self._n]
        return conv(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input):
        if is_lazy(self.weight):
            self.in_channels = input.shape[-self._n - 1]
            self.weight.materialize((self.out_channels, self.in_channels // self.groups) + self.kernel_size)
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    _n = 1


class Conv2d(_Conv):
    _n = 2


class Conv3d(_Conv):
    _n = 3


class _ConvTransposeNd(_ConvNd):
    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode='zeros', device=None, dtype=None):
        self._setup(in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode, device, dtype)

    def forward(self, input, output_size=None):
        conv = (None, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self._n]
        result = conv(input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        if output_size is not None:
            return torch.empty(*(tuple(result.shape[:-self._n]) + tuple(output_size)[-self._n:]))
        return result


class ConvTranspose1d(_ConvTransposeNd):
    _n = 1


class ConvTranspose2d(_ConvTransposeNd):
    _n = 2


class ConvTranspose3d(_ConvTransposeNd):
    _n = 3


def _lazy_conv(base):
    class Lazy(base):
        def __init__(self, out_channels, kernel_size, *args, **kwargs):
            base.__init__(self, None, out_channels, kernel_size, *args, **kwargs)

    return Lazy


LazyConv1d, LazyConv2d, LazyConv3d = _lazy_conv(Conv1d), _lazy_conv(Conv2d), _lazy_conv(Conv3d)


class _NormBase(Module):
    _instance = False

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = _weight(num_features, device=device, dtype=dtype)
            self.bias = _weight(num_features, device=device, dtype=dtype)
        else:
            self.register_parameter('weight', None)
            self.register_parameter('bias', None)
        if track_running_stats:
            self.register_buffer('running_mean', torch.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer('running_var', torch.ones(num_features, device=device, dtype=dtype))
            self.register_buffer('num_batches_tracked', torch.tensor(0, dtype=torch.long, device=device))
        else:
            self.register_buffer('running_mean', None)
            self.register_buffer('running_var', None)
            self.register_buffer('num_batches_tracked', None)

    def reset_running_stats(self):
        pass

    reset_parameters = reset_running_stats

    def forward(self, input):
        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias)


class _BatchNorm(_NormBase):
    pass


class BatchNorm1d(_BatchNorm):
    pass


class BatchNorm2d(_BatchNorm):
    def forward(self, input):
        if len(input.shape) != 4:
            raise torch.ShapeError('BatchNorm2d takes 4 dimensions and gets %s' % (tuple(input.shape),), input, self.weight)
        return super().forward(input)


class BatchNorm3d(_BatchNorm):
    pass


class SyncBatchNorm(_BatchNorm):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        return module


class _InstanceNorm(_NormBase):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input):
        return torch.empty_like(input)


class InstanceNorm1d(_InstanceNorm):
    pass


class InstanceNorm2d(_InstanceNorm):
    pass


class InstanceNorm3d(_InstanceNorm):
    pass


class LayerNorm(Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        Module.__init__(self)
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = _weight(self.normalized_shape, device=device, dtype=dtype)
        else:
            self.register_parameter('weight', None)
        if elementwise_affine and bias:
            self.bias = _weight(self.normalized_shape, device=device, dtype=dtype)
        else:
            self.register_parameter('bias', None)

    def reset_parameters(self):
        pass

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        Module.__init__(self)
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        if elementwise_affine:
            self.weight = _weight(self.normalized_shape, device=device, dtype=dtype)
        else:
            self.register_parameter('weight', None)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None):
        Module.__init__(self)
        if type(num_channels) is int and type(num_groups) is int and num_channels % num_groups != 0:
            raise ValueError('num_channels must be divisible by num_groups')
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        if affine:
            self.weight = _weight(num_channels, device=device, dtype=dtype)
            self.bias = _weight(num_channels, device=device, dtype=dtype)
        else:
            self.register_parameter('weight', None)
            self.register_parameter('bias', None)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class Embedding(Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, _freeze=False, device=None, dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm = max_norm
        if _weight is None:
            self.weight = Parameter(torch.empty(num_embeddings, embedding_dim, device=device, dtype=dtype), requires_grad=not _freeze)
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, **kwargs):
        return cls(embeddings.shape[0], embeddings.shape[1], _weight=embeddings, _freeze=freeze)

    def reset_parameters(self):
        pass

    def forward(self, input):
        return F.embedding(input, self.weight)


class EmbeddingBag(Embedding):
    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', sparse=False,
                 _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None):
        Embedding.__init__(self, num_embeddings, embedding_dim, padding_idx, _weight=_weight)
        self.mode = mode

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets)


def _made(name, parameters, function, bases=(Module,)):
    """A layer without weights: its arguments become attributes, its forward is a function of the input and itself."""
    names = [parameter.split('=')[0] for parameter in parameters.split()]
    defaults = dict([(parameter.split('=')[0], _VALUES[parameter.split('=')[1]] if parameter.split('=')[1] in _VALUES
                      else float(parameter.split('=')[1]) if '.' in parameter.split('=')[1] else int(parameter.split('=')[1]))
                     for parameter in parameters.split() if '=' in parameter])

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        if len(args) > len(names):
            raise TypeError('%s.__init__() takes %d positional arguments but %d were given' % (name, len(names) + 1, len(args) + 1))
        given = dict(zip(names, args))
        for key, value in kwargs.items():
            if key not in names:
                raise TypeError("%s.__init__() got an unexpected keyword argument '%s'" % (name, key))
            given[key] = value
        for key in names:
            if key in given:
                setattr(self, key, given[key])
            elif key in defaults:
                setattr(self, key, defaults[key])
            else:
                raise TypeError("%s.__init__() missing 1 required positional argument: '%s'" % (name, key))

    def forward(self, *inputs, **kwargs):
        return function(self, *inputs, **kwargs)

    return type(name, bases, {'__init__': __init__, 'forward': forward, '__module__': 'torch.nn.modules', '__qualname__': name})


_VALUES = {'None': None, 'True': True, 'False': False, 'mean': 'mean', 'zeros': 'zeros', 'none': 'none', 'nearest': 'nearest',
           'constant': 'constant'}


def _same(self, input, *args, **kwargs):
    return F.relu(input, inplace=getattr(self, 'inplace', False))


_PLAIN = {
    'ReLU': 'inplace=False', 'ReLU6': 'inplace=False', 'ELU': 'alpha=1.0 inplace=False', 'SELU': 'inplace=False',
    'CELU': 'alpha=1.0 inplace=False', 'GELU': 'approximate=none', 'SiLU': 'inplace=False', 'Mish': 'inplace=False', 'Sigmoid': '',
    'Tanh': '', 'Softsign': '', 'Tanhshrink': '', 'LogSigmoid': '', 'Hardswish': 'inplace=False', 'Hardsigmoid': 'inplace=False',
    'Hardtanh': 'min_val=-1.0 max_val=1.0 inplace=False', 'Hardshrink': 'lambd=0.5', 'Softshrink': 'lambd=0.5',
    'LeakyReLU': 'negative_slope=0.01 inplace=False', 'RReLU': 'lower=0.125 upper=0.3333333333333333 inplace=False',
    'Softplus': 'beta=1.0 threshold=20.0', 'Threshold': 'threshold value inplace=False', 'Softmax': 'dim=None', 'Softmin': 'dim=None',
    'LogSoftmax': 'dim=None', 'Softmax2d': '', 'Dropout': 'p=0.5 inplace=False', 'Dropout1d': 'p=0.5 inplace=False',
    'Dropout2d': 'p=0.5 inplace=False', 'Dropout3d': 'p=0.5 inplace=False', 'AlphaDropout': 'p=0.5 inplace=False',
    'FeatureAlphaDropout': 'p=0.5 inplace=False', 'LocalResponseNorm': 'size alpha=0.0001 beta=0.75 k=1.0', 'ChannelShuffle': 'groups',
}
for _name, _parameters in _PLAIN.items():
    globals()[_name] = _made(_name, _parameters, _same)


class GLU(Module):
    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)


class PReLU(Module):
    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = _weight(num_parameters, device=device, dtype=dtype)

    def forward(self, input):
        return torch.empty_like(input)


for _n in (1, 2, 3):
    _d = '%dd' % _n
    globals()['MaxPool' + _d] = _made('MaxPool' + _d, 'kernel_size stride=None padding=0 dilation=1 return_indices=False ceil_mode=False',
                                      lambda self, x, f=getattr(F, 'max_pool' + _d): f(x, self.kernel_size, self.stride, self.padding,
                                                                                       self.dilation, self.ceil_mode, self.return_indices))
    globals()['AvgPool' + _d] = _made('AvgPool' + _d, 'kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True'
                                      + (' divisor_override=None' if _n > 1 else ''),
                                      lambda self, x, f=getattr(F, 'avg_pool' + _d): f(x, self.kernel_size, self.stride, self.padding, self.ceil_mode))
    globals()['AdaptiveAvgPool' + _d] = _made('AdaptiveAvgPool' + _d, 'output_size',
                                              lambda self, x, f=getattr(F, 'adaptive_avg_pool' + _d): f(x, self.output_size))
    globals()['AdaptiveMaxPool' + _d] = _made('AdaptiveMaxPool' + _d, 'output_size return_indices=False',
                                              lambda self, x, f=getattr(F, 'adaptive_max_pool' + _d): f(x, self.output_size, self.return_indices))
    for _kind in ('Reflection', 'Replication', 'Zero', 'Circular'):
        globals()[_kind + 'Pad' + _d] = _made(_kind + 'Pad' + _d, 'padding', lambda self, x, n=2 * _n: F.pad(x, _spread(n)(self.padding)))
    globals()['ConstantPad' + _d] = _made('ConstantPad' + _d, 'padding value', lambda self, x, n=2 * _n: F.pad(x, _spread(n)(self.padding), 'constant', self.value))
LPPool1d = _made('LPPool1d', 'norm_type kernel_size stride=None ceil_mode=False', lambda self, x: F.lp_pool1d(x, 2, self.kernel_size, self.stride))
LPPool2d = _made('LPPool2d', 'norm_type kernel_size stride=None ceil_mode=False', lambda self, x: F.lp_pool2d(x, 2, self.kernel_size, self.stride))
Upsample = _made('Upsample', 'size=None scale_factor=None mode=nearest align_corners=None recompute_scale_factor=None',
                 lambda self, x: F.interpolate(x, self.size, self.scale_factor))
UpsamplingNearest2d = _made('UpsamplingNearest2d', 'size=None scale_factor=None', lambda self, x: F.interpolate(x, self.size, self.scale_factor))
UpsamplingBilinear2d = _made('UpsamplingBilinear2d', 'size=None scale_factor=None', lambda self, x: F.interpolate(x, self.size, self.scale_factor))
PixelShuffle = _made('PixelShuffle', 'upscale_factor', lambda self, x: F.pixel_shuffle(x, self.upscale_factor))
PixelUnshuffle = _made('PixelUnshuffle', 'downscale_factor', lambda self, x: F.pixel_unshuffle(x, self.downscale_factor))
Flatten = _made('Flatten', 'start_dim=1 end_dim=-1', lambda self, x: x.flatten(self.start_dim, self.end_dim))
Unflatten = _made('Unflatten', 'dim unflattened_size', lambda self, x: x.unflatten(self.dim, self.unflattened_size))
Unfold = _made('Unfold', 'kernel_size dilation=1 padding=0 stride=1', lambda self, x: F.unfold(x, self.kernel_size, self.dilation, self.padding, self.stride))
Fold = _made('Fold', 'output_size kernel_size dilation=1 padding=0 stride=1',
             lambda self, x: F.fold(x, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride))
CosineSimilarity = _made('CosineSimilarity', 'dim=1 eps=0.00000001', lambda self, a, b: F.cosine_similarity(a, b, self.dim))
PairwiseDistance = _made('PairwiseDistance', 'p=2.0 eps=0.000001 keepdim=False', lambda self, a, b: F.pairwise_distance(a, b, self.p, self.eps, self.keepdim))

for _name, _extra in (('L1Loss', ''), ('MSELoss', ''), ('SmoothL1Loss', 'beta=1.0'), ('HuberLoss', 'delta=1.0'), ('KLDivLoss', 'log_target=False'),
                      ('SoftMarginLoss', ''), ('MultiLabelMarginLoss', ''), ('PoissonNLLLoss', ''), ('HingeEmbeddingLoss', 'margin=1.0'),
                      ('MarginRankingLoss', 'margin=0.0'), ('CosineEmbeddingLoss', 'margin=0.0'), ('GaussianNLLLoss', ''), ('CTCLoss', 'blank=0'),
                      ('MultiMarginLoss', 'p=1 margin=1.0'), ('TripletMarginLoss', 'margin=1.0 p=2.0')):
    globals()[_name] = _made(_name, (_extra + ' size_average=None reduce=None reduction=mean').strip(),
                             lambda self, input, target=None, *args: F.mse_loss(input, target, reduction=self.reduction))


class _WeightedLoss(Module):
    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0):
        super().__init__()
        self.register_buffer('weight', weight)
        self.ignore_index, self.reduction, self.label_smoothing = ignore_index, reduction, label_smoothing

    def forward(self, input, target):
        return F.cross_entropy(input, target, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    pass


class NLLLoss(_WeightedLoss):
    pass


class BCELoss(Module):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction='mean'):
        super().__init__()
        self.register_buffer('weight', weight)
        self.reduction = reduction

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class BCEWithLogitsLoss(BCELoss):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None):
        super().__init__(weight, reduction=reduction)
        self.register_buffer('pos_weight', pos_weight)


class MultiLabelSoftMarginLoss(BCELoss):
    pass


class Sequential(Module):
    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[index]))
        return list(self._modules.values())[index]

    def __setitem__(self, index, module):
        setattr(self, list(self._modules)[index], module)

    def __delitem__(self, index):
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[index]]:
            delattr(self, name)
        self.__dict__['_modules'] = {str(i): module for i, module in enumerate(self._modules.values())}

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __add__(self, other):
        return Sequential(*list(self), *list(other))

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        modules = list(self)
        modules.insert(index, module)
        self.__dict__['_modules'] = {str(i): m for i, m in enumerate(modules)}
        return self

    def pop(self, key):
        module = self[key]
        del self[key]
        return module

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, index):
        modules = list(self._modules.values())
        return self.__class__(modules[index]) if isinstance(index, slice) else modules[index]

    def __setitem__(self, index, module):
        return setattr(self, str(index if index >= 0 else index + len(self)), module)

    __delitem__ = Sequential.__delitem__
    __len__ = Sequential.__len__
    __iter__ = Sequential.__iter__
    insert = Sequential.insert
    pop = Sequential.pop

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return self.__class__(list(self) + list(other))

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self


class ModuleDict(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        self._modules.clear()

    def pop(self, key):
        return self._modules.pop(key)

    def keys(self):
        return self._modules.keys()

    def items(self):
        return self._modules.items()

    def values(self):
        return self._modules.values()

    def update(self, modules):
        for key, module in modules.items() if hasattr(modules, 'items') else modules:
            self[key] = module


class ParameterList(Module):
    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        for value in values or ():
            self.append(value)

    def append(self, value):
        setattr(self, str(self._size), value if isinstance(value, Parameter) or not isinstance(value, torch.Tensor) else Parameter(value))
        self._size += 1
        return self

    def extend(self, values):
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def __getitem__(self, index):
        if isinstance(index, slice):
            return ParameterList([self[i] for i in range(*index.indices(self._size))])
        return getattr(self, str(index if index >= 0 else index + self._size))

    def __setitem__(self, index, value):
        setattr(self, str(index), value)

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(self._size)])


class ParameterDict(Module):
    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        return getattr(self, key)

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, key, value if isinstance(value, Parameter) or not isinstance(value, torch.Tensor) else Parameter(value))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        return self._keys.keys()

    def values(self):
        return [self[key] for key in self._keys]

    def items(self):
        return [(key, self[key]) for key in self._keys]

    def update(self, parameters):
        for key, value in parameters.items() if hasattr(parameters, 'items') else parameters:
            self[key] = value


class RNNBase(Module):
    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        Module.__init__(self)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional, self.proj_size = bias, batch_first, dropout, bidirectional, proj_size
        gates = {'LSTM': 4, 'GRU': 3}.get(mode, 1)
        directions = 2 if bidirectional else 1
        out = proj_size or hidden_size
        for layer in range(num_layers):
            for direction in range(directions):
                width = input_size if layer == 0 else out * directions
                suffix = '_l%d%s' % (layer, '_reverse' if direction else '')
                setattr(self, 'weight_ih' + suffix, _weight(gates * hidden_size, width))
                setattr(self, 'weight_hh' + suffix, _weight(gates * hidden_size, out))
                if bias:
                    setattr(self, 'bias_ih' + suffix, _weight(gates * hidden_size))
                    setattr(self, 'bias_hh' + suffix, _weight(gates * hidden_size))
                if proj_size:
                    setattr(self, 'weight_hr' + suffix, _weight(proj_size, hidden_size))

    def flatten_parameters(self):
        pass

    def forward(self, input, hx=None):
        if type(input.shape[-1]) is int and type(self.input_size) is int and input.shape[-1] != self.input_size:
            raise torch.ShapeError('%s takes %d features and gets %d' % (self.mode, self.input_size, input.shape[-1]), input, self.weight_ih_l0)
        directions = 2 if self.bidirectional else 1
        out = self.proj_size or self.hidden_size
        batch = () if len(input.shape) == 2 else (input.shape[0 if self.batch_first else 1],)
        output = torch.empty(*(tuple(input.shape[:-1]) + (out * directions,)))
        state = torch.empty(*((self.num_layers * directions,) + batch + (out,)))
        if self.mode != 'LSTM':
            return output, state
        return output, (state, torch.empty(*((self.num_layers * directions,) + batch + (self.hidden_size,))))


class RNN(RNNBase):
    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        super().__init__('RNN_' + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__('LSTM', input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size)


class GRU(RNNBase):
    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 device=None, dtype=None):
        super().__init__('GRU', input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)


class RNNCellBase(Module):
    _gates = 1

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity='tanh', device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.weight_ih = _weight(self._gates * hidden_size, input_size)
        self.weight_hh = _weight(self._gates * hidden_size, hidden_size)
        if bias:
            self.bias_ih = _weight(self._gates * hidden_size)
            self.bias_hh = _weight(self._gates * hidden_size)
        else:
            self.register_parameter('bias_ih', None)
            self.register_parameter('bias_hh', None)

    def forward(self, input, hx=None):
        F.linear(input, self.weight_ih)
        state = torch.empty(*(tuple(input.shape[:-1]) + (self.hidden_size,)))
        return (state, torch.empty_like(state)) if self._gates == 4 else state


class RNNCell(RNNCellBase):
    pass


class GRUCell(RNNCellBase):
    _gates = 3


class LSTMCell(RNNCellBase):
    _gates = 4


class MultiheadAttention(Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
                 batch_first=False, device=None, dtype=None):
        Module.__init__(self)
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = kdim is None and vdim is None
        if type(embed_dim) is int and type(num_heads) is int and embed_dim % num_heads:
            raise AssertionError('embed_dim must be divisible by num_heads')
        if not self._qkv_same_embed_dim:
            self.q_proj_weight = _weight(embed_dim, embed_dim)
            self.k_proj_weight = _weight(embed_dim, self.kdim)
            self.v_proj_weight = _weight(embed_dim, self.vdim)
            self.register_parameter('in_proj_weight', None)
        else:
            self.in_proj_weight = _weight(3 * embed_dim, embed_dim)
            self.register_parameter('q_proj_weight', None)
            self.register_parameter('k_proj_weight', None)
            self.register_parameter('v_proj_weight', None)
        if bias:
            self.in_proj_bias = _weight(3 * embed_dim)
        else:
            self.register_parameter('in_proj_bias', None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias)
        if add_bias_kv:
            self.bias_k = _weight(1, 1, embed_dim)
            self.bias_v = _weight(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        for x, n in ((query, self.embed_dim), (key, self.kdim), (value, self.vdim)):
            if type(x.shape[-1]) is int and type(n) is int and x.shape[-1] != n:
                raise torch.ShapeError('MultiheadAttention takes %d features and gets %d' % (n, x.shape[-1]), x, self.out_proj.weight)
        at = -2 if self.batch_first else 0
        n, m = query.shape[at], key.shape[at]
        batch = () if len(query.shape) == 2 else (query.shape[0 if self.batch_first else 1],)
        return torch.empty_like(query), torch.empty(*(batch + (n, m))) if need_weights else None


class TransformerEncoderLayer(Module):
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        x = self.norm1(src + self.dropout1(self.self_attn(src, src, src, need_weights=False)[0]))
        return self.norm2(x + self.dropout2(self.linear2(self.dropout(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        x = self.norm1(tgt + self.dropout1(self.self_attn(tgt, tgt, tgt, need_weights=False)[0]))
        x = self.norm2(x + self.dropout2(self.multihead_attn(x, memory, memory, need_weights=False)[0]))
        return self.norm3(x + self.dropout3(self.linear2(self.dropout(self.linear1(x)))))


class TransformerEncoder(Module):
    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        from copy import deepcopy
        self.layers = ModuleList([deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(TransformerEncoder):
    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt, memory, *args, **kwargs):
        for layer in self.layers:
            tgt = layer(tgt, memory)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, activation=F.relu,
                 custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True,
                 device=None, dtype=None):
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, norm)
        norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, norm)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src, tgt, *args, **kwargs):
        return self.decoder(tgt, self.encoder(src))

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        return torch.empty(sz, sz)


__all__ = [_name for _name, _value in list(globals().items()) if isinstance(_value, type) and issubclass(_value, Module)]
__all__ += ['_single', '_pair', '_triple', '_quadruple', '_ntuple', 'Parameter']
