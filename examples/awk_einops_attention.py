# A skeleton of awk/einops_attention, made by pellucid with Python 3.11.7, torch 2.13.0+cpu.
# Use: model = Einops(); model.load_state_dict(original.state_dict())
# Verification: bit-equal on the recorded input, other data, other batch sizes, other lengths, train mode, gradients
# Written as the calls that ran, not as their source: _apply_recipe.

import torch
from torch import nn


def _apply_recipe(tensor, reduction_type):
    if reduction_type == "rearrange":
        if tensor.ndim == 3:
            return tensor.reshape(tensor.shape[0], tensor.shape[1], 3, 2, 4).permute(2, 0, 3, 1, 4)
        return tensor.permute(0, 2, 1, 3).reshape(tensor.shape[0], tensor.shape[2], 8)
    return tensor.permute(0, 2, 1).mean(dim=(2,))


def TorchBackend_einsum(x_0, x_1):
    return torch.einsum("abcd,abed->abce", x_0, x_1)


def einsum(tensors_and_pattern_0, tensors_and_pattern_1, tensors_and_pattern_2):
    tensors = (tensors_and_pattern_0, tensors_and_pattern_1, tensors_and_pattern_2)[:-1]
    return TorchBackend_einsum(*tensors)


class Einops(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.o = nn.Linear(8, 8)

    def forward(s, x):
        q, k, v = _apply_recipe(s.qkv(x), reduction_type="rearrange")
        a = einsum(q, k, "b h i d, b h j d -> b h i j").softmax(-1)
        return _apply_recipe(s.o(_apply_recipe(a @ v, reduction_type="rearrange")), "mean")
