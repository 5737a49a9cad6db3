# A skeleton of awk/einops_attention, made by pellucid with Python 3.11.7, torch 2.13.0+cpu.
# Use: model = Einops(); model.load_state_dict(original.state_dict())
# Verification: bit-equal on the recorded input, other data, other batch sizes, other lengths, train mode, gradients
# Written as the calls that ran, not as their source: einsum, rearrange, rearrange_2.

import torch
from torch import nn


def rearrange(tensor):
    return tensor.reshape(tensor.shape[0], tensor.shape[1], 3, 2, 4).permute(2, 0, 3, 1, 4)


def rearrange_2(tensor):
    return tensor.permute(0, 2, 1, 3).reshape(tensor.shape[0], tensor.shape[2], 8)


class Einops(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.o = nn.Linear(8, 8)

    def forward(s, x):
        assert x.ndim == 3, "not recorded with this number of dimensions"
        q, k, v = rearrange(s.qkv(x))
        a = torch.einsum("abcd,abed->abce", q, k).softmax(-1)
        return s.o(rearrange_2(a @ v)).permute(0, 2, 1).mean(dim=(2,))
