"""torch.nn.utils for where torch's source is not at hand."""

import _pellucid
import torch
from torch.nn.parameter import Parameter


def weight_norm(module, name='weight', dim=0):
    weight = getattr(module, name)
    delattr(module, name)
    module.register_parameter(name + '_g', Parameter(torch.norm_except_dim(weight, 2, dim)))
    module.register_parameter(name + '_v', Parameter(weight.data))
    setattr(module, name, torch.empty_like(weight))
    return module


def spectral_norm(module, name='weight', n_power_iterations=1, eps=1e-12, dim=None):
    weight = getattr(module, name)
    delattr(module, name)
    module.register_parameter(name + '_orig', weight)
    setattr(module, name, torch.empty_like(weight))
    height = weight.shape[0]
    module.register_buffer(name + '_u', torch.empty(height))
    module.register_buffer(name + '_v', torch.empty(weight.numel() // height))
    return module


def remove_weight_norm(module, name='weight'):
    return _pellucid.unknown('remove_weight_norm', "torch's own source is not among the roots")


def clip_grad_norm_(parameters, max_norm, *args, **kwargs):
    return _pellucid.symbol('norm of the gradients')


clip_grad_norm = clip_grad_value_ = clip_grad_norm_


def parameters_to_vector(parameters):
    return torch.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    pass


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side='right'):
    from torch._abstract.layers import pad_sequence
    return pad_sequence(sequences, batch_first)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    return input


pack_sequence = pack_padded_sequence


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    return sequence, torch.empty(sequence.shape[0 if batch_first else 1], dtype=torch.long)


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('torch.nn.utils.' + name)
