# A skeleton of tv/swin_t, made by pellucid.
# Recorded with Python 3.11.7, torch 2.13.0+cpu, torchvision 0.28.0+cu130, timm 1.0.30, transformers 5.22.2, numpy 2.4.6.
#
#     model = SwinTransformer()
#     model.load_state_dict(original.state_dict())
#
# Verification: bit-equal on recorded, recorded: buffers, gradients enabled, gradients, other data,
#   other batch, other length, train, train: buffers, train: gradients

import torch
import torch.nn.functional as F
from torch import nn


class Permute(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return torch.permute(x, self.dims)


def _get_relative_position_bias(relative_position_bias_table, relative_position_index):
    relative_position_bias = relative_position_bias_table[relative_position_index]
    relative_position_bias = relative_position_bias.view(49, 49, -1)
    return relative_position_bias.permute(2, 0, 1).contiguous().unsqueeze(0)


def shifted_window_attention(
    input,
    qkv_weight,
    proj_weight,
    relative_position_bias,
    num_heads,
    shift_size,
    qkv_bias,
    proj_bias,
    training,
):
    B, H, W, C = input.shape
    pad_r = (7 - W % 7) % 7
    pad_b = (7 - H % 7) % 7
    x = F.pad(input, (0, 0, 0, pad_r, 0, pad_b))
    _, pad_H, pad_W, _ = x.shape
    shift_size = shift_size.copy()
    if 7 >= pad_H:
        shift_size[0] = 0
    if 7 >= pad_W:
        shift_size[1] = 0
    if sum(shift_size) > 0:
        x = torch.roll(x, shifts=(-shift_size[0], -shift_size[1]), dims=(1, 2))
    num_windows = pad_H // 7 * (pad_W // 7)
    x = x.view(B, pad_H // 7, 7, pad_W // 7, 7, C)
    x = x.permute(0, 1, 3, 2, 4, 5).reshape(B * num_windows, 49, C)
    qkv = F.linear(x, qkv_weight, qkv_bias)
    qkv = qkv.reshape(x.size(0), x.size(1), 3, num_heads, C // num_heads).permute(2, 0, 3, 1, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    q = q * (C // num_heads) ** -0.5
    attn = q.matmul(k.transpose(-2, -1))
    attn = attn + relative_position_bias
    if sum(shift_size) > 0:
        attn_mask = x.new_zeros((pad_H, pad_W))
        h_slices = ((0, -7), (-7, -shift_size[0]), (-shift_size[0], None))
        w_slices = ((0, -7), (-7, -shift_size[1]), (-shift_size[1], None))
        count = 0
        for h in h_slices:
            for w in w_slices:
                attn_mask[h[0] : h[1], w[0] : w[1]] = count
                count += 1
        attn_mask = attn_mask.view(pad_H // 7, 7, pad_W // 7, 7)
        attn_mask = attn_mask.permute(0, 2, 1, 3).reshape(num_windows, 49)
        attn_mask = attn_mask.unsqueeze(1) - attn_mask.unsqueeze(2)
        attn_mask = attn_mask.masked_fill(attn_mask != 0, -100.0).masked_fill(attn_mask == 0, 0.0)
        attn = attn.view(x.size(0) // num_windows, num_windows, num_heads, x.size(1), x.size(1))
        attn = attn + attn_mask.unsqueeze(1).unsqueeze(0)
        attn = attn.view(-1, num_heads, x.size(1), x.size(1))
    attn = F.softmax(attn, dim=-1)
    attn = F.dropout(attn, p=0.0, training=training)
    x = attn.matmul(v).transpose(1, 2).reshape(x.size(0), x.size(1), C)
    x = F.linear(x, proj_weight, proj_bias)
    x = F.dropout(x, p=0.0, training=training)
    x = x.view(B, pad_H // 7, pad_W // 7, 7, 7, C)
    x = x.permute(0, 1, 3, 2, 4, 5).reshape(B, pad_H, pad_W, C)
    if sum(shift_size) > 0:
        x = torch.roll(x, shifts=(shift_size[0], shift_size[1]), dims=(1, 2))
    return x[:, :H, :W, :].contiguous()


class ShiftedWindowAttention(nn.Module):
    def __init__(self, num_heads, shift_size):
        super().__init__()
        self.relative_position_bias_table = nn.Parameter(torch.empty(169, num_heads))
        self.register_buffer("relative_position_index", torch.empty(2401, dtype=torch.int64))
        self.qkv = nn.Linear(32 * num_heads, 96 * num_heads)
        self.proj = nn.Linear(32 * num_heads, 32 * num_heads)
        self.window_size = [7, 7]
        self.num_heads = num_heads
        self.shift_size = shift_size

    def forward(self, x):
        relative_position_bias = _get_relative_position_bias(
            self.relative_position_bias_table, self.relative_position_index
        )
        return shifted_window_attention(
            x,
            self.qkv.weight,
            self.proj.weight,
            relative_position_bias,
            self.num_heads,
            shift_size=self.shift_size,
            qkv_bias=self.qkv.bias,
            proj_bias=self.proj.bias,
            training=self.training,
        )


def _log_api_usage_once():
    torch._C._log_api_usage_once("torchvision.ops.stochastic_depth.stochastic_depth")


def stochastic_depth(input, p, training):
    _log_api_usage_once()
    if not training or p == 0.0:
        return input
    survival_rate = 1.0 - p
    size = [input.shape[0]] + [1] * 3
    noise = torch.empty(size, dtype=input.dtype, device=input.device)
    noise = noise.bernoulli_(survival_rate)
    noise.div_(survival_rate)
    return input * noise


class StochasticDepth(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, input):
        return stochastic_depth(input, self.p, self.training)


class MLP(nn.Sequential):
    def __init__(self, in_features):
        super().__init__(
            nn.Linear(in_features, 4 * in_features),
            nn.GELU(),
            nn.Dropout(p=0.0),
            nn.Linear(4 * in_features, in_features),
            nn.Dropout(p=0.0),
        )


class SwinTransformerBlock(nn.Module):
    def __init__(self, dim, shift_size, p):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = ShiftedWindowAttention(dim // 32, shift_size)
        self.stochastic_depth = StochasticDepth(p)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = MLP(dim)

    def forward(self, x):
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


def _patch_merging_pad(x):
    H, W, _ = x.shape[-3:]
    x = F.pad(x, (0, 0, 0, W % 2, 0, H % 2))
    x0 = x[..., ::2, ::2, :]
    x1 = x[..., 1::2, ::2, :]
    x2 = x[..., ::2, 1::2, :]
    x3 = x[..., 1::2, 1::2, :]
    return torch.cat([x0, x1, x2, x3], -1)


class PatchMerging(nn.Module):
    def __init__(self, in_features):
        super().__init__()
        self.reduction = nn.Linear(in_features, in_features // 2, bias=False)
        self.norm = nn.LayerNorm(in_features)

    def forward(self, x):
        x = _patch_merging_pad(x)
        x = self.norm(x)
        return self.reduction(x)


class SwinTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Sequential(nn.Conv2d(3, 96, 4, stride=4), Permute([0, 2, 3, 1]), nn.LayerNorm(96)),
            nn.Sequential(
                SwinTransformerBlock(96, [0, 0], 0.0),
                SwinTransformerBlock(96, [3, 3], 0.018181818181818184),
            ),
            PatchMerging(384),
            nn.Sequential(
                SwinTransformerBlock(192, [0, 0], 0.03636363636363637),
                SwinTransformerBlock(192, [3, 3], 0.05454545454545456),
            ),
            PatchMerging(768),
            nn.Sequential(
                SwinTransformerBlock(384, [0, 0], 0.07272727272727274),
                SwinTransformerBlock(384, [3, 3], 0.09090909090909091),
                SwinTransformerBlock(384, [0, 0], 0.10909090909090911),
                SwinTransformerBlock(384, [3, 3], 0.1272727272727273),
                SwinTransformerBlock(384, [0, 0], 0.14545454545454548),
                SwinTransformerBlock(384, [3, 3], 0.16363636363636364),
            ),
            PatchMerging(1536),
            nn.Sequential(
                SwinTransformerBlock(768, [0, 0], 0.18181818181818182),
                SwinTransformerBlock(768, [3, 3], 0.2),
            ),
        )
        self.norm = nn.LayerNorm(768)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.head = nn.Linear(768, 1000)

    def forward(self, x):
        x = self.features(x)
        x = self.norm(x)
        x = self.permute(x)
        x = self.avgpool(x)
        x = self.flatten(x)
        return self.head(x)
