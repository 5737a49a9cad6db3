# A skeleton of hf/llama, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, transformers 5.22.2.
# Use: model = LlamaModel(); model.load_state_dict(original.state_dict())
# Load weights before training: the author's initialisation is not in this file, torch.empty has no values.
# Verification: bit-equal on the recorded input; eval mode: other lengths (2x13, 2x15), other data, other batch sizes
#   (3x12, 5x12, 1x12), a second call, other weights, float64; eval mode, gradients: the recorded input; train mode,
#   gradients: the recorded input, other batch sizes (3x12), other lengths (2x13); new tensors are put where the
#   original puts them

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary_pos_emb(q, k, cos, sin):
    cos = cos.unsqueeze(1)
    sin = sin.unsqueeze(1)
    q_embed = q * cos + rotate_half(q) * sin
    k_embed = k * cos + rotate_half(k) * sin
    return q_embed, k_embed


def sdpa_attention_forward(query, key, value, scaling):
    q_length = query.shape[2]
    is_causal = bool(q_length > 1)
    assert not (is_causal and q_length > 1 and key.shape[2] > q_length), "path not recorded"
    attn_output = F.scaled_dot_product_attention(query, key, value, scale=scaling, is_causal=is_causal)
    return attn_output.transpose(1, 2).contiguous()


class LlamaAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(64, 64, bias=False)
        self.k_proj = nn.Linear(64, 64, bias=False)
        self.v_proj = nn.Linear(64, 64, bias=False)
        self.o_proj = nn.Linear(64, 64, bias=False)
        self.head_dim = 16
        self.scaling = 0.25

    def forward(self, hidden_states, position_embeddings):
        input_shape = hidden_states.shape[:-1]
        hidden_shape = (*input_shape, -1, self.head_dim)
        query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        cos, sin = position_embeddings
        query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
        attn_output = sdpa_attention_forward(query_states, key_states, value_states, scaling=self.scaling)
        return self.o_proj(attn_output.reshape(*input_shape, -1).contiguous())


class SiLUActivation(nn.Module):
    def forward(self, input):
        return F.silu(input)


class LlamaMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(64, 128, bias=False)
        self.up_proj = nn.Linear(64, 128, bias=False)
        self.down_proj = nn.Linear(128, 64, bias=False)
        self.act_fn = SiLUActivation()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class LlamaRMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(64))
        self.variance_epsilon = 1e-6

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class LlamaDecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = LlamaAttention()
        self.mlp = LlamaMLP()
        self.input_layernorm = LlamaRMSNorm()
        self.post_attention_layernorm = LlamaRMSNorm()

    def forward(self, hidden_states, position_embeddings):
        hidden_states = hidden_states + self.self_attn(self.input_layernorm(hidden_states), position_embeddings)
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


class LlamaRotaryEmbedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / 10000.0 ** (torch.arange(0, 16, 2).float() / 16), persistent=False)

    @torch.no_grad()
    def forward(self, x, position_ids):
        freqs = position_ids[..., None].float() * self.inv_freq.to(device=x.device, dtype=torch.float32)
        emb = torch.cat((freqs, freqs), dim=-1)
        cos = emb.cos()
        sin = emb.sin()
        return cos.to(dtype=x.dtype), sin.to(dtype=x.dtype)


@dataclass
class BaseModelOutputWithPast:
    last_hidden_state: torch.Tensor


torch.export.register_dataclass(BaseModelOutputWithPast)


class LlamaModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(512, 64)
        self.layers = nn.ModuleList([LlamaDecoderLayer() for _ in range(2)])
        self.norm = LlamaRMSNorm()
        self.rotary_emb = LlamaRotaryEmbedding()

    def forward(self, input_ids):
        assert input_ids is not None, "not recorded with this argument"
        hidden_states = self.embed_tokens(input_ids)
        position_ids = torch.arange(hidden_states.shape[1], device=hidden_states.device).unsqueeze(0)
        position_embeddings = self.rotary_emb(hidden_states, position_ids)
        for decoder_layer in self.layers:
            hidden_states = decoder_layer(hidden_states, position_embeddings)
        return BaseModelOutputWithPast(last_hidden_state=self.norm(hidden_states))
# pellucid: {"asserted":[],"failed":{},"given":{"input_ids":"int64[2, 12]"},"lenient":[],"not_compared":{},"root":"LlamaModel","runs":[{"compared":["result","generators","buffers"],"grad":false,"inputs":{"input_ids":"int64[2, 12]"},"mode":"eval","name":"recorded","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"input_ids":"int64[2, 13]"},"mode":"eval","name":"other length 1","status":"passed"},{"compared":["events"],"grad":false,"mode":"eval","name":"events","status":"differs"},{"compared":["result","generators","gradients"],"grad":true,"mode":"eval","name":"gradients enabled","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 1","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"other data 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 3","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"input_ids":"int64[3, 12]"},"mode":"eval","name":"other batch 1","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"input_ids":"int64[5, 12]"},"mode":"eval","name":"other batch 2","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"input_ids":"int64[2, 15]"},"mode":"eval","name":"other length 2","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"input_ids":"int64[1, 12]"},"mode":"eval","name":"other batch 3","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"mode":"train","name":"train","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"input_ids":"int64[3, 12]"},"mode":"train","name":"train: other batch","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"input_ids":"int64[2, 13]"},"mode":"train","name":"train: other length","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"given 1","raises":"ValueError","status":"passed","what":"without input_ids"},{"compared":["result","generators"],"grad":false,"inputs":{"input_ids":"int64[1, 12]"},"mode":"eval","name":"called","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"input_ids":"int64[1, 12]"},"mode":"eval","name":"called again","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"input_ids":"int64[1, 12]"},"mode":"eval","name":"other weights","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"input_ids":"int64[1, 12]"},"mode":"eval","name":"float64","status":"passed"}],"verify":"default"}
