# A skeleton of hf/whisper:Speech2, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, transformers 5.22.2.
# Use: model = WhisperForConditionalGeneration(); model.load_state_dict(original.state_dict())
# Load weights before training: the author's initialisation is not in this file.
# Verification: bit-equal on the recorded input; eval mode: other lengths (2x7, 2x9), other data, other batch sizes
#   (3x80x64, 5x80x64, 1x80x64), a second call, other weights, float64; eval mode, gradients: the recorded input; train
#   mode, gradients: the recorded input, other batch sizes (3x80x64), other lengths (2x7); new tensors are put where the
#   original puts them

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


def sdpa_attention_forward(module, query, key, value):
    q_length = query.shape[2]
    is_causal = q_length > 1 and module.is_causal
    assert not (is_causal and q_length > 1 and key.shape[2] > q_length), "path not recorded"
    attn_output = F.scaled_dot_product_attention(query, key, value, scale=1.0, is_causal=is_causal)
    return attn_output.transpose(1, 2).contiguous()


class WhisperAttention(nn.Module):
    def __init__(self, is_causal=False):
        super().__init__()
        self.k_proj = nn.Linear(64, 64, bias=False)
        self.v_proj = nn.Linear(64, 64)
        self.q_proj = nn.Linear(64, 64)
        self.out_proj = nn.Linear(64, 64)
        self.head_dim = 16
        self.scaling = 0.25
        self.num_heads = 4
        self.is_causal = is_causal

    def forward(self, hidden_states, key_value_states=None):
        input_shape = hidden_states.shape[:-1]
        hidden_shape = (*input_shape, -1, self.head_dim)
        query_states = (self.q_proj(hidden_states) * self.scaling).view(hidden_shape).transpose(1, 2).contiguous()
        current_states = key_value_states if key_value_states is not None else hidden_states
        kv_shape = (input_shape[0], -1, self.num_heads, self.head_dim)
        key_states = self.k_proj(current_states).view(kv_shape).transpose(1, 2).contiguous()
        value_states = self.v_proj(current_states).view(kv_shape).transpose(1, 2).contiguous()
        attn_output = sdpa_attention_forward(self, query_states, key_states, value_states)
        return self.out_proj(attn_output.reshape(*input_shape, -1).contiguous())


class GELUActivation(nn.Module):
    def forward(self, input):
        return F.gelu(input)


class WhisperEncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = WhisperAttention()
        self.self_attn_layer_norm = nn.LayerNorm(64)
        self.activation_fn = GELUActivation()
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 64)
        self.final_layer_norm = nn.LayerNorm(64)

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.self_attn(self.self_attn_layer_norm(hidden_states))
        hidden_states = residual + F.dropout(hidden_states, p=0.0, training=self.training)
        residual = hidden_states
        hidden_states = self.activation_fn(self.fc1(self.final_layer_norm(hidden_states)))
        hidden_states = self.fc2(F.dropout(hidden_states, p=0.0, training=self.training))
        hidden_states = residual + F.dropout(hidden_states, p=0.0, training=self.training)
        assert hidden_states.dtype != torch.float16, "path not recorded"
        return hidden_states


class WhisperEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(80, 64, 3, padding=1)
        self.conv2 = nn.Conv1d(64, 64, 3, stride=2, padding=1)
        self.embed_positions = nn.Embedding(32, 64).requires_grad_(False)
        self.layers = nn.ModuleList([WhisperEncoderLayer() for _ in range(2)])
        self.layer_norm = nn.LayerNorm(64)

    def forward(self, input_features):
        assert input_features.shape[-1] == 64, "path not recorded"
        inputs_embeds = F.gelu(self.conv1(input_features))
        inputs_embeds = F.gelu(self.conv2(inputs_embeds)).permute(0, 2, 1)
        all_positions = torch.arange(32, device=inputs_embeds.device)
        hidden_states = inputs_embeds + self.embed_positions(all_positions)
        hidden_states = F.dropout(hidden_states, p=0.0, training=self.training)
        for encoder_layer in self.layers:
            if self.training:
                torch.rand([])
            hidden_states = encoder_layer(hidden_states)
        return self.layer_norm(hidden_states)


class WhisperPositionalEmbedding(nn.Embedding):
    def __init__(self):
        super().__init__(128, 64)

    def forward(self, position_ids):
        return self.weight[position_ids]


class WhisperDecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = WhisperAttention(is_causal=True)
        self.activation_fn = GELUActivation()
        self.self_attn_layer_norm = nn.LayerNorm(64)
        self.encoder_attn = WhisperAttention()
        self.encoder_attn_layer_norm = nn.LayerNorm(64)
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 64)
        self.final_layer_norm = nn.LayerNorm(64)

    def forward(self, hidden_states, encoder_hidden_states):
        residual = hidden_states
        hidden_states = self.self_attn(self.self_attn_layer_norm(hidden_states))
        hidden_states = residual + F.dropout(hidden_states, p=0.0, training=self.training)
        residual = hidden_states
        hidden_states = self.encoder_attn_layer_norm(hidden_states)
        hidden_states = self.encoder_attn(hidden_states, key_value_states=encoder_hidden_states)
        hidden_states = residual + F.dropout(hidden_states, p=0.0, training=self.training)
        residual = hidden_states
        hidden_states = self.activation_fn(self.fc1(self.final_layer_norm(hidden_states)))
        hidden_states = self.fc2(F.dropout(hidden_states, p=0.0, training=self.training))
        return residual + F.dropout(hidden_states, p=0.0, training=self.training)


class WhisperDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(512, 64, padding_idx=510)
        self.embed_positions = WhisperPositionalEmbedding()
        self.layers = nn.ModuleList([WhisperDecoderLayer() for _ in range(2)])
        self.layer_norm = nn.LayerNorm(64)

    def forward(self, input_ids, encoder_hidden_states):
        inputs_embeds = self.embed_tokens(input_ids)
        position_ids = torch.arange(inputs_embeds.shape[1], device=inputs_embeds.device)
        position_ids = position_ids.unsqueeze(0).repeat(inputs_embeds.shape[0], 1)
        positions = self.embed_positions(position_ids)
        hidden_states = inputs_embeds + positions.to(inputs_embeds.device)
        hidden_states = F.dropout(hidden_states, p=0.0, training=self.training)
        assert inputs_embeds.shape[0] == position_ids.shape[0], "path not recorded"
        for decoder_layer in self.layers:
            if self.training:
                torch.rand([])
            hidden_states = decoder_layer(hidden_states, encoder_hidden_states)
        return self.layer_norm(hidden_states)


class WhisperModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = WhisperEncoder()
        self.decoder = WhisperDecoder()

    def forward(self, input_features, decoder_input_ids):
        encoder_outputs = self.encoder(input_features)
        decoder_outputs = self.decoder(decoder_input_ids, encoder_hidden_states=encoder_outputs)
        return decoder_outputs, encoder_outputs


@dataclass
class Seq2SeqLMOutput:
    logits: torch.Tensor
    encoder_last_hidden_state: torch.Tensor


torch.export.register_dataclass(Seq2SeqLMOutput)


class WhisperForConditionalGeneration(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = WhisperModel()
        self.proj_out = nn.Linear(64, 512, bias=False)
        self.proj_out.weight = self.model.decoder.embed_tokens.weight

    def forward(self, input_features, *, decoder_input_ids=None):
        assert input_features is not None and decoder_input_ids is not None, "not recorded with these arguments"
        last_hidden_state, encoder_last_hidden_state = self.model(input_features, decoder_input_ids)
        lm_logits = self.proj_out(last_hidden_state)
        return Seq2SeqLMOutput(logits=lm_logits, encoder_last_hidden_state=encoder_last_hidden_state)
# pellucid: {"asserted":[],"failed":{},"given":{"decoder_input_ids":"int64[2, 6]","input_features":"float32[2, 80, 64]"},"lenient":[],"not_compared":{},"root":"WhisperForConditionalGeneration","runs":[{"compared":["result","generators","buffers"],"grad":false,"inputs":{"decoder_input_ids":"int64[2, 6]","input_features":"float32[2, 80, 64]"},"mode":"eval","name":"recorded","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[2, 7]"},"mode":"eval","name":"other length 1","status":"passed"},{"compared":["events"],"grad":false,"mode":"eval","name":"events","status":"differs"},{"compared":["result","generators","gradients"],"grad":true,"mode":"eval","name":"gradients enabled","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 1","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"other data 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 3","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[3, 6]","input_features":"float32[3, 80, 64]"},"mode":"eval","name":"other batch 1","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[5, 6]","input_features":"float32[5, 80, 64]"},"mode":"eval","name":"other batch 2","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[2, 9]"},"mode":"eval","name":"other length 2","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[1, 6]","input_features":"float32[1, 80, 64]"},"mode":"eval","name":"other batch 3","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"mode":"train","name":"train","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"decoder_input_ids":"int64[3, 6]","input_features":"float32[3, 80, 64]"},"mode":"train","name":"train: other batch","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"decoder_input_ids":"int64[2, 7]"},"mode":"train","name":"train: other length","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 1","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 3","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 4","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 5","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 6","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 7","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 8","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 9","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 10","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 11","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 12","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"given 1","raises":"AttributeError","status":"passed","what":"without input_features"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"given 2","raises":"ValueError","status":"passed","what":"without decoder_input_ids"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[1, 6]","input_features":"float32[1, 80, 64]"},"mode":"eval","name":"called","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[1, 6]","input_features":"float32[1, 80, 64]"},"mode":"eval","name":"called again","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[1, 6]","input_features":"float32[1, 80, 64]"},"mode":"eval","name":"other weights","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[1, 6]","input_features":"float64[1, 80, 64]"},"mode":"eval","name":"float64","status":"passed"}],"verify":"default"}
