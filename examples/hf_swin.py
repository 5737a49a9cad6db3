# A skeleton of hf/swin, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, transformers 5.22.2.
# Use: model = SwinModel(); model.load_state_dict(original.state_dict())
# Load weights before training: the author's initialisation is not in this file, torch.empty has no values.
# Verification: bit-equal on the recorded input; eval mode: other lengths (2x3x220x216, 2x3x216x220), a second call,
#   other data, other batch sizes (3x3x224x224, 5x3x224x224, 1x3x224x224), other weights, float64; eval mode, gradients:
#   the recorded input; train mode, gradients: the recorded input, other batch sizes (3x3x224x224), other lengths
#   (2x3x220x216); new tensors are put where the original puts them; asserted, not equal: interpolate_pos_encoding=True

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


class SwinPatchEmbeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.projection = nn.Conv2d(3, 96, 4, stride=4)

    def maybe_pad(self, pixel_values, height, width):
        assert width % 4 == 0 and height % 4 == 0, "path not recorded"
        return pixel_values

    def forward(self, pixel_values):
        _, _, height, width = pixel_values.shape
        embeddings = self.projection(self.maybe_pad(pixel_values, height, width))
        _, _, height, width = embeddings.shape
        output_dimensions = (height, width)
        embeddings = embeddings.flatten(2).transpose(1, 2)
        return embeddings, output_dimensions


class SwinEmbeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embeddings = SwinPatchEmbeddings()
        self.norm = nn.LayerNorm(96)
        self.dropout = nn.Dropout(0.0)

    def forward(self, pixel_values):
        embeddings, output_dimensions = self.patch_embeddings(pixel_values)
        embeddings = self.dropout(self.norm(embeddings))
        return embeddings, output_dimensions


class SwinRelativePositionBias(nn.Module):
    def __init__(self, num_heads):
        super().__init__()
        self.relative_position_bias_table = nn.Parameter(torch.empty(169, num_heads))
        place = torch.arange(49) // 7 * 13 + torch.arange(49) % 7
        self.register_buffer("relative_position_index", (place[:, None] - place + 84).view(2401), persistent=False)
        self.window_area = 49

    def forward(self):
        relative_position_bias = self.relative_position_bias_table[self.relative_position_index]
        relative_position_bias = relative_position_bias.view(self.window_area, self.window_area, -1)
        return relative_position_bias.permute(2, 0, 1).contiguous().unsqueeze(0)


def sdpa_attention_forward(query, key, value, attention_mask, scaling):
    attn_output = F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, scale=scaling)
    return attn_output.transpose(1, 2).contiguous()


class SwinAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.q_proj = nn.Linear(hidden_size, hidden_size)
        self.k_proj = nn.Linear(hidden_size, hidden_size)
        self.v_proj = nn.Linear(hidden_size, hidden_size)
        self.o_proj = nn.Linear(hidden_size, hidden_size)
        self.relative_position_bias = SwinRelativePositionBias(hidden_size // 32)
        self.head_dim = 32
        self.scaling = 32**-0.5

    def forward(self, hidden_states, attention_mask):
        input_shape = hidden_states.shape[:-1]
        hidden_shape = (*input_shape, -1, self.head_dim)
        query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        relative_position_bias = self.relative_position_bias()
        if attention_mask is not None:
            batch_size = input_shape[0] // attention_mask.shape[0]
            seq_len = input_shape[1]
            attention_mask = (
                attention_mask.unsqueeze(1)
                .unsqueeze(0)
                .expand(batch_size, -1, -1, -1, -1)
                .reshape(-1, 1, seq_len, seq_len)
            )
            combined_mask = relative_position_bias + attention_mask
        else:
            combined_mask = relative_position_bias
        attn_output = sdpa_attention_forward(
            query_states, key_states, value_states, combined_mask, scaling=self.scaling
        )
        return self.o_proj(attn_output.reshape(*input_shape, -1).contiguous())


class GELUActivation(nn.Module):
    def forward(self, input):
        return F.gelu(input)


class SwinMLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.activation_fn = GELUActivation()
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.fc2 = nn.Linear(4 * dim, dim)

    def forward(self, hidden_states):
        return self.fc2(self.activation_fn(self.fc1(hidden_states)))


class SwinDropPath(nn.Module):
    def __init__(self, drop_prob):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, hidden_states):
        if not self.training:
            return hidden_states
        keep_prob = 1 - self.drop_prob
        shape = (hidden_states.shape[0], 1, 1)
        random_tensor = torch.rand(shape, dtype=hidden_states.dtype, device=hidden_states.device)
        random_tensor = torch.floor(random_tensor + keep_prob)
        return hidden_states.div(keep_prob) * random_tensor


def window_partition(input_feature, window_size):
    batch_size, height, width, num_channels = input_feature.shape
    input_feature = input_feature.view(
        batch_size, height // window_size, window_size, width // window_size, window_size, num_channels
    )
    return input_feature.transpose(2, 3).contiguous().view(-1, window_size, window_size, num_channels)


def window_reverse(windows, window_size, height, width):
    num_channels = windows.shape[-1]
    windows = windows.view(-1, height // window_size, width // window_size, window_size, window_size, num_channels)
    return windows.transpose(2, 3).contiguous().view(-1, height, width, num_channels)


class SwinLayer(nn.Module):
    def __init__(self, dim, shift_size, drop_prob=None):
        super().__init__()
        self.attention = SwinAttention(dim)
        self.layernorm_before = nn.LayerNorm(dim)
        self.layernorm_after = nn.LayerNorm(dim)
        self.mlp = SwinMLP(dim)
        self.dropout = nn.Dropout(0.0)
        self.drop_path = SwinDropPath(drop_prob) if drop_prob is not None else nn.Identity()
        self.window_size = 7
        self.shift_size = shift_size

    def forward(self, hidden_states, input_dimensions):
        if min(input_dimensions) <= self.window_size:
            self.shift_size = 0
            self.window_size = min(input_dimensions)
        height, width = input_dimensions
        batch_size, _, channels = hidden_states.size()
        shortcut = hidden_states
        hidden_states = self.layernorm_before(hidden_states).view(batch_size, height, width, channels)
        hidden_states, pad_values = self.maybe_pad(hidden_states, height, width)
        _, height_pad, width_pad, _ = hidden_states.shape
        hidden_states_windows = window_partition(self.cyclic_shift(hidden_states), self.window_size)
        hidden_states_windows = hidden_states_windows.view(-1, self.window_size * self.window_size, channels)
        attn_mask = self.get_attn_mask(
            height_pad, width_pad, dtype=hidden_states.dtype, device=hidden_states_windows.device
        )
        attention_output = self.dropout(self.attention(hidden_states_windows, attn_mask))
        attention_windows = attention_output.view(-1, self.window_size, self.window_size, channels)
        attention_windows = self.cyclic_shift(
            window_reverse(attention_windows, self.window_size, height_pad, width_pad), reverse=True
        )
        if pad_values[3] > 0 or pad_values[5] > 0:
            attention_windows = attention_windows[:, :height, :width, :].contiguous()
        attention_windows = attention_windows.view(batch_size, height * width, channels)
        hidden_states = shortcut + self.drop_path(attention_windows)
        residual = hidden_states
        hidden_states = self.mlp(self.layernorm_after(hidden_states))
        return self.dropout(hidden_states) + residual

    def get_attn_mask(self, height, width, dtype, device):
        if self.shift_size <= 0:
            return None
        h_idx = torch.arange(height, device=device)
        w_idx = torch.arange(width, device=device)
        h_region = (h_idx >= height - self.window_size).long() + (h_idx >= height - self.shift_size).long()
        w_region = (w_idx >= width - self.window_size).long() + (w_idx >= width - self.shift_size).long()
        img_mask = (h_region[None, :, None, None] * 3 + w_region[None, None, :, None]).to(dtype)
        mask_windows = window_partition(img_mask, self.window_size)
        mask_windows = mask_windows.view(-1, self.window_size * self.window_size)
        attn_mask = mask_windows.unsqueeze(1) - mask_windows.unsqueeze(2)
        return attn_mask.masked_fill(attn_mask != 0, -100.0).masked_fill(attn_mask == 0, 0.0)

    def maybe_pad(self, hidden_states, height, width):
        pad_right = (self.window_size - width % self.window_size) % self.window_size
        pad_bottom = (self.window_size - height % self.window_size) % self.window_size
        pad_values = (0, 0, 0, pad_right, 0, pad_bottom)
        hidden_states = F.pad(hidden_states, pad_values)
        return hidden_states, pad_values

    def cyclic_shift(self, hidden_states, reverse=False):
        if self.shift_size > 0:
            direction = 1 if reverse else -1
            hidden_states = torch.roll(
                hidden_states, shifts=(direction * self.shift_size, direction * self.shift_size), dims=(1, 2)
            )
        return hidden_states


class SwinPatchMerging(nn.Module):
    def __init__(self, in_features):
        super().__init__()
        self.reduction = nn.Linear(in_features, in_features // 2, bias=False)
        self.norm = nn.LayerNorm(in_features)

    def maybe_pad(self, input_feature, height, width):
        if height % 2 == 1 or width % 2 == 1:
            input_feature = F.pad(input_feature, (0, 0, 0, width % 2, 0, height % 2))
        return input_feature

    def forward(self, input_feature, input_dimensions):
        height, width = input_dimensions
        batch_size, _, num_channels = input_feature.shape
        input_feature = input_feature.view(batch_size, height, width, num_channels)
        input_feature = self.maybe_pad(input_feature, height, width)
        input_feature = torch.cat([input_feature[:, row::2, col::2, :] for col in range(2) for row in range(2)], dim=-1)
        input_feature = input_feature.view(batch_size, -1, 4 * num_channels)
        input_feature = self.norm(input_feature)
        return self.reduction(input_feature)


class SwinStage(nn.Module):
    def __init__(self, dim, blocks_drop_prob, drop_prob=None, downsample=True):
        super().__init__()
        self.blocks = nn.ModuleList([
            SwinLayer(dim, 0, drop_prob=drop_prob),
            SwinLayer(dim, 3, drop_prob=blocks_drop_prob),
        ])
        self.downsample = SwinPatchMerging(4 * dim) if downsample else None

    def forward(self, hidden_states, input_dimensions):
        for layer_module in self.blocks:
            hidden_states = layer_module(hidden_states, input_dimensions)
        hidden_states_before_downsampling = hidden_states
        if self.downsample is not None:
            hidden_states = self.downsample(hidden_states_before_downsampling, input_dimensions)
        return hidden_states


class SwinEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        rates = [0.1 * i / 7 for i in range(8)]
        self.layers = nn.ModuleList([
            SwinStage(96, rates[1]),
            SwinStage(192, rates[3], drop_prob=rates[2]),
            SwinStage(384, rates[5], drop_prob=rates[4]),
            SwinStage(768, rates[7], drop_prob=rates[6], downsample=False),
        ])

    def forward(self, hidden_states, input_dimensions):
        for layer_module in self.layers:
            hidden_states = layer_module(hidden_states, input_dimensions)
            if layer_module.downsample is not None:
                input_dimensions = ((input_dimensions[0] + 1) // 2, (input_dimensions[1] + 1) // 2)
        return hidden_states


@dataclass
class SwinModelOutput:
    last_hidden_state: torch.Tensor
    pooler_output: torch.Tensor


torch.export.register_dataclass(SwinModelOutput)


class SwinModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = SwinEmbeddings()
        self.encoder = SwinEncoder()
        self.layernorm = nn.LayerNorm(768)
        self.pooler = nn.AdaptiveAvgPool1d(1)

    def forward(self, pixel_values=None, bool_masked_pos=None, interpolate_pos_encoding=False):
        assert pixel_values is not None and bool_masked_pos is None and interpolate_pos_encoding is False, (
            "not recorded with these arguments"
        )
        assert pixel_values.ndim == 4, "not recorded with this number of dimensions"
        embedding_output, input_dimensions = self.embeddings(pixel_values)
        sequence_output = self.layernorm(self.encoder(embedding_output, input_dimensions))
        pooled_output = torch.flatten(self.pooler(sequence_output.transpose(1, 2)), 1)
        return SwinModelOutput(last_hidden_state=sequence_output, pooler_output=pooled_output)
# pellucid: {"asserted":["interpolate_pos_encoding=True"],"failed":{},"given":{"pixel_values":"float32[2, 3, 224, 224]"},"lenient":[],"not_compared":{},"root":"SwinModel","runs":[{"compared":["result","generators","buffers"],"grad":false,"inputs":{"pixel_values":"float32[2, 3, 224, 224]"},"mode":"eval","name":"recorded","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"pixel_values":"float32[2, 3, 220, 216]"},"mode":"eval","name":"other length 1","status":"passed"},{"compared":["events"],"grad":false,"mode":"eval","name":"events","status":"differs"},{"compared":["result","generators","gradients"],"grad":true,"mode":"eval","name":"gradients enabled","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"called","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"called again","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 1","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"other data 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 3","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"pixel_values":"float32[3, 3, 224, 224]"},"mode":"eval","name":"other batch 1","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"pixel_values":"float32[5, 3, 224, 224]"},"mode":"eval","name":"other batch 2","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"pixel_values":"float32[2, 3, 216, 220]"},"mode":"eval","name":"other length 2","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"pixel_values":"float32[1, 3, 224, 224]"},"mode":"eval","name":"other batch 3","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"mode":"train","name":"train","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"pixel_values":"float32[3, 3, 224, 224]"},"mode":"train","name":"train: other batch","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"pixel_values":"float32[2, 3, 220, 216]"},"mode":"train","name":"train: other length","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 1","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 3","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 4","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 5","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 6","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"interpolate_pos_encoding":"True"},"mode":"eval","name":"given 1","status":"guarded","what":"interpolate_pos_encoding=True"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"given 2","raises":"AttributeError","status":"passed","what":"without pixel_values"},{"compared":["result","generators"],"grad":true,"inputs":{"pixel_values":"float32[1, 3, 224, 224]"},"mode":"eval","name":"other weights","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"pixel_values":"float64[1, 3, 224, 224]"},"mode":"eval","name":"float64","status":"passed"}],"verify":"default"}
