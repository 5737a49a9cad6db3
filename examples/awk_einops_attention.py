# A skeleton of awk/einops_attention, made by pellucid with Python 3.11.7, torch 2.13.0+cpu.
# Use: model = Einops(); model.load_state_dict(original.state_dict())
# Load weights before training: the author's initialisation is not in this file.
# Verification: bit-equal on the recorded input; eval mode: other lengths (2x6x8, 2x8x8), other data, other batch sizes
#   (3x5x8, 5x5x8, 1x5x8), a second call, other weights, float64; eval mode, gradients: the recorded input; train mode,
#   gradients: the recorded input, other batch sizes (3x5x8), other lengths (2x6x8); new tensors are put where the
#   original puts them
# Written as the calls that ran, not as their source: einsum.

import torch
from torch import nn


class Einops(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.o = nn.Linear(8, 8)

    def forward(s, x):
        assert isinstance(x, torch.Tensor), "not recorded with this type"
        assert x.ndim == 3, "not recorded with this number of dimensions"
        q, k, v = s.qkv(x).unflatten(2, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        a = torch.einsum("abcd,abed->abce", q, k).softmax(-1)
        return s.o((a @ v).transpose(1, 2).flatten(2)).transpose(1, 2).mean(2)
# pellucid: {"asserted":[],"failed":{},"given":{"x":"float32[2, 5, 8]"},"lenient":[],"not_compared":{},"root":"Einops","runs":[{"compared":["result","generators","buffers"],"grad":false,"inputs":{"x":"float32[2, 5, 8]"},"mode":"eval","name":"recorded","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[2, 6, 8]"},"mode":"eval","name":"other length 1","status":"passed"},{"compared":["events"],"grad":false,"mode":"eval","name":"events","status":"differs"},{"compared":["result","generators","gradients"],"grad":true,"mode":"eval","name":"gradients enabled","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 1","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"other data 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 3","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[3, 5, 8]"},"mode":"eval","name":"other batch 1","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[5, 5, 8]"},"mode":"eval","name":"other batch 2","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[2, 8, 8]"},"mode":"eval","name":"other length 2","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[1, 5, 8]"},"mode":"eval","name":"other batch 3","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"mode":"train","name":"train","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"x":"float32[3, 5, 8]"},"mode":"train","name":"train: other batch","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"x":"float32[2, 6, 8]"},"mode":"train","name":"train: other length","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[1, 5, 8]"},"mode":"eval","name":"called","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[1, 5, 8]"},"mode":"eval","name":"called again","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[1, 5, 8]"},"mode":"eval","name":"other weights","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float64[1, 5, 8]"},"mode":"eval","name":"float64","status":"passed"}],"verify":"default"}
