# A skeleton of hf/mt5, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, transformers 5.22.2.
# Use: model = MT5Model(); model.load_state_dict(original.state_dict())
# Load weights before training: the author's initialisation is not in this file, torch.empty has no values.
# Verification: bit-equal on the recorded input; eval mode: other lengths (2x13, 2x15), other data, other batch sizes
#   (3x12, 5x12, 1x12), a second call, other weights, float64; eval mode, gradients: the recorded input; train mode,
#   gradients: the recorded input, other batch sizes (3x12), other lengths (2x13); new tensors are put where the
#   original puts them

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


def _relative_position_bucket(relative_position, bidirectional, num_buckets, max_distance):
    relative_buckets = 0
    if bidirectional:
        num_buckets //= 2
        relative_buckets += (relative_position > 0).to(torch.int64) * 16
        relative_position = torch.abs(relative_position)
    else:
        relative_position = -torch.min(relative_position, torch.zeros_like(relative_position))
    max_exact = num_buckets // 2
    is_small = relative_position < max_exact
    relative_position_if_large = (
        max_exact
        + (
            torch.log(relative_position.float() / max_exact)
            / math.log(max_distance / max_exact)
            * (num_buckets - max_exact)
        ).to(torch.int64)
    )
    relative_position_if_large = torch.min(
        relative_position_if_large, torch.full_like(relative_position_if_large, num_buckets - 1)
    )
    relative_buckets += torch.where(is_small, relative_position, relative_position_if_large)
    return relative_buckets


def create_position_bias_mask(position_bias, is_causal, query, key):
    min_dtype = torch.finfo(key.dtype).min
    if is_causal:
        device = key.device
        q_length, kv_length = query.shape[2], key.shape[2]
        causal_mask = torch.arange(q_length, device=device)[:, None] >= torch.arange(kv_length, device=device)[None, :]
        causal_mask = causal_mask.view(1, 1, q_length, kv_length)
        position_bias_mask = torch.where(causal_mask, position_bias, min_dtype)
    else:
        position_bias_mask = position_bias
    return position_bias_mask.contiguous()


def sdpa_attention_forward(module, query, key, value, dropout, position_bias):
    q_length = query.shape[2]
    is_causal = q_length > 1 and module.is_causal
    assert not (is_causal and q_length > 1 and key.shape[2] > q_length), "path not recorded"
    attention_mask = create_position_bias_mask(position_bias, is_causal, query, key)
    attn_output = F.scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, dropout_p=dropout, scale=1.0
    )
    return attn_output.transpose(1, 2).contiguous()


class MT5Attention(nn.Module):
    def __init__(self, has_relative_attention_bias=False, is_decoder=True, is_causal=False):
        super().__init__()
        self.q = nn.Linear(64, 64, bias=False)
        self.k = nn.Linear(64, 64, bias=False)
        self.v = nn.Linear(64, 64, bias=False)
        self.o = nn.Linear(64, 64, bias=False)
        self.relative_attention_bias = nn.Embedding(32, 4) if has_relative_attention_bias else None
        self.key_value_proj_dim = 16
        self.has_relative_attention_bias = has_relative_attention_bias
        self.n_heads = 4
        self.dropout = 0.1
        self.is_decoder = is_decoder
        self.relative_attention_num_buckets = 32
        self.relative_attention_max_distance = 128
        self.is_causal = is_causal

    def compute_bias(self, query_length, key_length, device):
        context_position = torch.arange(query_length, dtype=torch.int64, device=device)[:, None] + 0
        memory_position = torch.arange(key_length, dtype=torch.int64, device=device)[None, :]
        relative_position = memory_position - context_position
        relative_position_bucket = _relative_position_bucket(
            relative_position, bidirectional=not self.is_decoder, num_buckets=self.relative_attention_num_buckets,
            max_distance=self.relative_attention_max_distance,
        )
        return self.relative_attention_bias(relative_position_bucket).permute([2, 0, 1]).unsqueeze(0)

    def forward(self, hidden_states, key_value_states, position_bias):
        input_shape = hidden_states.shape[:-1]
        hidden_shape = (*input_shape, -1, self.key_value_proj_dim)
        is_cross_attention = key_value_states is not None
        query_states = self.q(hidden_states).view(hidden_shape).transpose(1, 2)
        current_states = key_value_states if is_cross_attention else hidden_states
        kv_shape = (*current_states.shape[:-1], -1, self.key_value_proj_dim)
        key_states = self.k(current_states).view(kv_shape).transpose(1, 2)
        value_states = self.v(current_states).view(kv_shape).transpose(1, 2)
        if position_bias is None:
            key_length = key_states.shape[-2]
            if not self.has_relative_attention_bias:
                position_bias = torch.zeros(
                    (1, self.n_heads, input_shape[1], key_length), device=query_states.device, dtype=query_states.dtype
                )
            else:
                position_bias = self.compute_bias(input_shape[1], key_length, device=query_states.device)
        attn_output = sdpa_attention_forward(
            self,
            query_states,
            key_states,
            value_states,
            dropout=0.0 if not self.training else self.dropout,
            position_bias=position_bias,
        )
        attn_output = self.o(attn_output.reshape(*input_shape, -1).contiguous())
        return attn_output, position_bias


class MT5LayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(64))
        self.variance_epsilon = 1e-6

    def forward(self, hidden_states):
        variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        assert self.weight.dtype not in [torch.float16, torch.bfloat16], "path not recorded"
        return self.weight * hidden_states


class MT5LayerSelfAttention(nn.Module):
    def __init__(self, has_relative_attention_bias, is_decoder):
        super().__init__()
        self.SelfAttention = MT5Attention(
            has_relative_attention_bias=has_relative_attention_bias, is_decoder=is_decoder, is_causal=is_decoder
        )
        self.layer_norm = MT5LayerNorm()
        self.dropout = nn.Dropout(0.1)

    def forward(self, hidden_states, position_bias):
        normed_hidden_states = self.layer_norm(hidden_states)
        attention_output, position_bias = self.SelfAttention(normed_hidden_states, None, position_bias)
        attention_output = hidden_states + self.dropout(attention_output)
        return attention_output, position_bias


class MT5LayerCrossAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.EncDecAttention = MT5Attention()
        self.layer_norm = MT5LayerNorm()
        self.dropout = nn.Dropout(0.1)

    def forward(self, hidden_states, key_value_states, position_bias):
        normed_hidden_states = self.layer_norm(hidden_states)
        attention_output, position_bias = self.EncDecAttention(normed_hidden_states, key_value_states, position_bias)
        layer_output = hidden_states + self.dropout(attention_output)
        return layer_output, position_bias


class NewGELUActivation(nn.Module):
    def forward(self, input):
        return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2 / math.pi) * (input + 0.044715 * torch.pow(input, 3.0))))


class MT5DenseGatedActDense(nn.Module):
    def __init__(self):
        super().__init__()
        self.wi_0 = nn.Linear(64, 128, bias=False)
        self.wi_1 = nn.Linear(64, 128, bias=False)
        self.wo = nn.Linear(128, 64, bias=False)
        self.dropout = nn.Dropout(0.1)
        self.act = NewGELUActivation()

    def forward(self, hidden_states):
        hidden_gelu = self.act(self.wi_0(hidden_states))
        hidden_linear = self.wi_1(hidden_states)
        hidden_states = self.dropout(hidden_gelu * hidden_linear)
        assert hidden_states.dtype == self.wo.weight.dtype, "path not recorded"
        return self.wo(hidden_states)


class MT5LayerFF(nn.Module):
    def __init__(self):
        super().__init__()
        self.DenseReluDense = MT5DenseGatedActDense()
        self.layer_norm = MT5LayerNorm()
        self.dropout = nn.Dropout(0.1)

    def forward(self, hidden_states):
        forwarded_states = self.DenseReluDense(self.layer_norm(hidden_states))
        return hidden_states + self.dropout(forwarded_states)


class MT5Block(nn.Module):
    def __init__(self, has_relative_attention_bias, is_decoder):
        super().__init__()
        self.layer = nn.ModuleList([
            MT5LayerSelfAttention(has_relative_attention_bias, is_decoder),
            *([MT5LayerCrossAttention()] if is_decoder else []),
            MT5LayerFF(),
        ])
        self.is_decoder = is_decoder

    def forward(self, hidden_states, position_bias, encoder_hidden_states, encoder_decoder_position_bias):
        hidden_states, self_attn_position_bias = self.layer[0](hidden_states, position_bias)
        assert hidden_states.dtype != torch.float16, "path not recorded"
        cross_attn_position_bias = None
        do_cross_attention = self.is_decoder
        if do_cross_attention:
            hidden_states, cross_attn_position_bias = self.layer[1](
                hidden_states, key_value_states=encoder_hidden_states, position_bias=encoder_decoder_position_bias
            )
            assert hidden_states.dtype != torch.float16, "path not recorded"
        hidden_states = self.layer[-1](hidden_states)
        assert hidden_states.dtype != torch.float16, "path not recorded"
        return hidden_states, self_attn_position_bias, cross_attn_position_bias


def _preprocess_mask_arguments(inputs_embeds, encoder_hidden_states=None):
    q_length = inputs_embeds.shape[1]
    kv_length = encoder_hidden_states.shape[1] if encoder_hidden_states is not None else q_length
    return q_length, kv_length


def _ignore_causal_mask_sdpa(q_length, kv_length):
    assert q_length == 1 or kv_length == q_length, "path not recorded"
    return True


def sdpa_mask(q_length, kv_length, allow_is_causal_skip):
    if allow_is_causal_skip and _ignore_causal_mask_sdpa(q_length, kv_length):
        return


def create_bidirectional_mask(inputs_embeds, encoder_hidden_states=None):
    q_length, kv_length = _preprocess_mask_arguments(inputs_embeds, encoder_hidden_states)
    sdpa_mask(q_length, kv_length, allow_is_causal_skip=False)


class MT5Stack(nn.Module):
    def __init__(self, is_decoder):
        super().__init__()
        self.embed_tokens = nn.Embedding(512, 64)
        self.block = nn.ModuleList([MT5Block(True, is_decoder), MT5Block(False, is_decoder)])
        self.final_layer_norm = MT5LayerNorm()
        self.dropout = nn.Dropout(0.1)
        self.is_decoder = is_decoder

    def forward(self, input_ids, encoder_hidden_states=None):
        inputs_embeds = self.embed_tokens(input_ids)
        if self.is_decoder:
            q_length, kv_length = _preprocess_mask_arguments(inputs_embeds)
            sdpa_mask(q_length, kv_length, allow_is_causal_skip=True)
        else:
            create_bidirectional_mask(inputs_embeds)
        if self.is_decoder:
            create_bidirectional_mask(inputs_embeds, encoder_hidden_states)
        position_bias = None
        encoder_decoder_position_bias = None
        hidden_states = self.dropout(inputs_embeds)
        for layer_module in self.block:
            hidden_states, self_attention_position_bias, cross_attention_position_bias = layer_module(
                hidden_states, position_bias, encoder_hidden_states, encoder_decoder_position_bias
            )
            position_bias = self_attention_position_bias
            if self.is_decoder:
                encoder_decoder_position_bias = cross_attention_position_bias
        return self.dropout(self.final_layer_norm(hidden_states))


@dataclass
class Seq2SeqModelOutput:
    last_hidden_state: torch.Tensor
    encoder_last_hidden_state: torch.Tensor


torch.export.register_dataclass(Seq2SeqModelOutput)


class MT5Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Embedding(512, 64)
        self.encoder = MT5Stack(False)
        self.decoder = MT5Stack(True)
        self.encoder.embed_tokens.weight = self.shared.weight
        self.decoder.embed_tokens.weight = self.shared.weight

    def forward(self, input_ids, *, decoder_input_ids=None):
        assert input_ids is not None and decoder_input_ids is not None, "not recorded with these arguments"
        encoder_outputs = self.encoder(input_ids)
        decoder_outputs = self.decoder(decoder_input_ids, encoder_hidden_states=encoder_outputs)
        return Seq2SeqModelOutput(last_hidden_state=decoder_outputs, encoder_last_hidden_state=encoder_outputs)
# pellucid: {"asserted":[],"failed":{},"given":{"decoder_input_ids":"int64[2, 6]","input_ids":"int64[2, 12]"},"lenient":[],"not_compared":{},"root":"MT5Model","runs":[{"compared":["result","generators","buffers"],"grad":false,"inputs":{"decoder_input_ids":"int64[2, 6]","input_ids":"int64[2, 12]"},"mode":"eval","name":"recorded","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[2, 7]","input_ids":"int64[2, 13]"},"mode":"eval","name":"other length 1","status":"passed"},{"compared":["events"],"grad":false,"mode":"eval","name":"events","status":"passed"},{"compared":["result","generators","gradients"],"grad":true,"mode":"eval","name":"gradients enabled","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 1","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"other data 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 3","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[3, 6]","input_ids":"int64[3, 12]"},"mode":"eval","name":"other batch 1","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[5, 6]","input_ids":"int64[5, 12]"},"mode":"eval","name":"other batch 2","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[2, 9]","input_ids":"int64[2, 15]"},"mode":"eval","name":"other length 2","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[1, 6]","input_ids":"int64[1, 12]"},"mode":"eval","name":"other batch 3","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"mode":"train","name":"train","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"decoder_input_ids":"int64[3, 6]","input_ids":"int64[3, 12]"},"mode":"train","name":"train: other batch","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"decoder_input_ids":"int64[2, 7]","input_ids":"int64[2, 13]"},"mode":"train","name":"train: other length","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 1","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 3","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 4","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 5","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 6","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 7","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 8","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 9","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 10","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 11","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 12","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"given 1","raises":"ValueError","status":"passed","what":"without input_ids"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"given 2","raises":"ValueError","status":"passed","what":"without decoder_input_ids"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[1, 6]","input_ids":"int64[1, 12]"},"mode":"eval","name":"called","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[1, 6]","input_ids":"int64[1, 12]"},"mode":"eval","name":"called again","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[1, 6]","input_ids":"int64[1, 12]"},"mode":"eval","name":"other weights","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[1, 6]","input_ids":"int64[1, 12]"},"mode":"eval","name":"float64","status":"passed"}],"verify":"default"}
