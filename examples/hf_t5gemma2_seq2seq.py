# A skeleton of hf/t5gemma2:Seq2Seq, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, transformers 5.22.2.
# Use: model = T5Gemma2ForConditionalGeneration(); model.load_state_dict(original.state_dict())
# Load weights before training: the author's initialisation is not in this file, torch.empty has no values.
# Verification: bit-equal on the recorded input; eval mode: other lengths (2x13, 2x15), other data, other batch sizes
#   (3x12, 5x12, 1x12), a second call, other weights, float64; eval mode, gradients: the recorded input; train mode,
#   gradients: the recorded input, other batch sizes (3x12), other lengths (2x13); new tensors are put where the
#   original puts them; asserted, not equal: logits_to_keep=1

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


class T5Gemma2TextScaledWordEmbedding(nn.Embedding):
    def __init__(self):
        super().__init__(512, 64, padding_idx=0)
        self.eoi_embedding = nn.Parameter(torch.empty(64))
        self.register_buffer("embed_scale", torch.tensor(8.0), persistent=False)
        self.eoi_token_index = 510

    def forward(self, input_ids):
        input_embeddings = super().forward(input_ids) * self.embed_scale.to(self.weight.dtype)
        input_embeddings[input_ids == self.eoi_token_index] = self.eoi_embedding.to(input_embeddings.dtype)
        return input_embeddings


class T5Gemma2RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim))
        self.eps = 1e-6

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()) * (1.0 + self.weight.float())
        return output.type_as(x)


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


def repeat_kv(hidden_states):
    batch, num_key_value_heads, slen, head_dim = hidden_states.shape
    hidden_states = hidden_states[:, :, None, :, :].expand(batch, num_key_value_heads, 2, slen, head_dim)
    return hidden_states.reshape(batch, num_key_value_heads * 2, slen, head_dim)


def sdpa_attention_forward(query, key, value, attention_mask, scaling):
    key = repeat_kv(key)
    value = repeat_kv(value)
    attn_output = F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, scale=scaling)
    return attn_output.transpose(1, 2).contiguous()


class T5Gemma2SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(64, 64, bias=False)
        self.k_proj = nn.Linear(64, 32, bias=False)
        self.v_proj = nn.Linear(64, 32, bias=False)
        self.o_proj = nn.Linear(64, 64, bias=False)
        self.q_norm = T5Gemma2RMSNorm(16)
        self.k_norm = T5Gemma2RMSNorm(16)
        self.head_dim = 16
        self.scaling = 0.0625

    def forward(self, hidden_states, position_embeddings, attention_mask):
        input_shape = hidden_states.shape[:-1]
        hidden_shape = (*input_shape, -1, self.head_dim)
        query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        query_states = self.q_norm(query_states)
        key_states = self.k_norm(key_states)
        cos, sin = position_embeddings
        query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
        attn_output = sdpa_attention_forward(
            query_states, key_states, value_states, attention_mask, scaling=self.scaling
        )
        return self.o_proj(attn_output.reshape(*input_shape, -1).contiguous())


class GELUTanh(nn.Module):
    def forward(self, input):
        return F.gelu(input, approximate="tanh")


class T5Gemma2MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(64, 128, bias=False)
        self.up_proj = nn.Linear(64, 128, bias=False)
        self.down_proj = nn.Linear(128, 64, bias=False)
        self.act_fn = GELUTanh()
        self.dropout = nn.Dropout(0.0)

    def forward(self, x):
        hidden_states = self.dropout(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
        return self.down_proj(hidden_states)


class T5Gemma2EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = T5Gemma2SelfAttention()
        self.pre_self_attn_layernorm = T5Gemma2RMSNorm(64)
        self.post_self_attn_layernorm = T5Gemma2RMSNorm(64)
        self.mlp = T5Gemma2MLP()
        self.pre_feedforward_layernorm = T5Gemma2RMSNorm(64)
        self.post_feedforward_layernorm = T5Gemma2RMSNorm(64)
        self.dropout = nn.Dropout(0.0)

    def forward(self, hidden_states, position_embeddings, attention_mask):
        residual = hidden_states
        hidden_states = self.pre_self_attn_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, position_embeddings, attention_mask)
        hidden_states = residual + self.dropout(self.post_self_attn_layernorm(hidden_states))
        residual = hidden_states
        hidden_states = self.mlp(self.pre_feedforward_layernorm(hidden_states))
        hidden_states = self.post_feedforward_layernorm(hidden_states)
        return residual + self.dropout(hidden_states)


class T5Gemma2RotaryEmbedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer(
            "sliding_attention_inv_freq", 1.0 / 10000.0 ** (torch.arange(0, 16, 2).float() / 16), persistent=False
        )

    @torch.no_grad()
    def forward(self, x, position_ids):
        inv_freq = self.sliding_attention_inv_freq
        freqs = position_ids[..., None].float() * inv_freq.to(device=x.device, dtype=torch.float32)
        emb = torch.cat((freqs, freqs), dim=-1)
        cos = emb.cos()
        sin = emb.sin()
        return cos.to(dtype=x.dtype), sin.to(dtype=x.dtype)


def _preprocess_mask_arguments(inputs_embeds, position_ids, encoder_hidden_states=None):
    q_length = inputs_embeds.shape[1]
    kv_length = encoder_hidden_states.shape[1] if encoder_hidden_states is not None else q_length
    if position_ids is not None:
        batch_size = inputs_embeds.shape[0]
        if batch_size != position_ids.shape[0]:
            position_ids = position_ids.expand(batch_size, -1)
        first_dummy_value = position_ids[:, :1] - 1
        position_diff = torch.diff(position_ids, prepend=first_dummy_value, dim=-1)
        packed_sequence_mask = (position_diff != 1).cumsum(-1)
        assert torch.compiler.is_compiling() or (packed_sequence_mask[:, -1] == 0).all(), "path not recorded"
    return q_length, kv_length


def bidirectional_mask_function(batch_idx, head_idx, q_idx, kv_idx):
    return q_idx >= 0


def and_masks(*mask_functions):
    def and_mask(batch_idx, head_idx, q_idx, kv_idx):
        result = q_idx.new_ones((), dtype=torch.bool)
        for mask in mask_functions:
            result = result & mask(batch_idx, head_idx, q_idx, kv_idx).to(result.device)
        return result

    return and_mask


def _non_vmap_expansion_sdpa(batch_indices, head_indices, q_indices, kv_indices):
    batch_indices = batch_indices[:, None, None, None]
    head_indices = head_indices[None, :, None, None]
    q_indices = q_indices[None, None, :, None]
    kv_indices = kv_indices[None, None, None, :]
    return batch_indices, head_indices, q_indices, kv_indices


def _vmap_expansion_sdpa(mask_function):
    dimensions = [(None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)]
    for dims in dimensions:
        mask_function = torch.vmap(mask_function, in_dims=dims, out_dims=0)
    return mask_function


def sdpa_mask(batch_size, q_length, kv_length, mask_function, allow_is_bidirectional_skip, use_vmap, device):
    if allow_is_bidirectional_skip:
        return None
    batch_arange = torch.arange(batch_size, device=device)
    head_arange = torch.arange(1, device=device)
    q_arange = torch.arange(q_length, device=device)
    kv_arange = torch.arange(kv_length, device=device)
    if not use_vmap:
        attention_mask = mask_function(*_non_vmap_expansion_sdpa(batch_arange, head_arange, q_arange, kv_arange))
        attention_mask = attention_mask.expand(batch_size, -1, q_length, kv_length)
    else:
        with torch._dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex():
            attention_mask = _vmap_expansion_sdpa(mask_function)(batch_arange, head_arange, q_arange, kv_arange)
    return attention_mask


def create_bidirectional_mask(
    inputs_embeds, encoder_hidden_states=None, and_mask_function=None, allow_is_bidirectional_skip=True
):
    q_length, kv_length = _preprocess_mask_arguments(inputs_embeds, None, encoder_hidden_states)
    embeds = encoder_hidden_states if encoder_hidden_states is not None else inputs_embeds
    batch_size = embeds.shape[0]
    device = inputs_embeds.device
    mask_factory_function = bidirectional_mask_function
    use_vmap = False
    if and_mask_function is not None:
        mask_factory_function = and_masks(mask_factory_function, and_mask_function)
        allow_is_bidirectional_skip = False
        use_vmap = True
    return sdpa_mask(
        batch_size, q_length, kv_length, mask_function=mask_factory_function,
        allow_is_bidirectional_skip=allow_is_bidirectional_skip, use_vmap=use_vmap, device=device,
    )


def sliding_window_mask_function():
    def inner_mask(batch_idx, head_idx, q_idx, kv_idx):
        dist = q_idx - kv_idx
        left_mask = (dist >= 0) & (dist < 2048)
        right_mask = (dist < 0) & (-dist < 2049)
        return left_mask | right_mask

    return inner_mask


class T5Gemma2TextEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = T5Gemma2TextScaledWordEmbedding()
        self.norm = T5Gemma2RMSNorm(64)
        self.layers = nn.ModuleList([T5Gemma2EncoderLayer() for _ in range(2)])
        self.dropout = nn.Dropout(0.0)
        self.rotary_emb = T5Gemma2RotaryEmbedding()

    def forward(self, inputs_embeds, attention_mask, position_ids, return_dict_, use_cache):
        kwargs = {
            "inputs_embeds": inputs_embeds,
            "attention_mask": attention_mask,
            "position_ids": position_ids,
            "return_dict": return_dict_,
            "use_cache": use_cache,
        }
        kwargs.pop("return_dict", True)
        return self.forward_2(kwargs["inputs_embeds"])

    def forward_2(self, hidden_states):
        position_ids = torch.arange(0, hidden_states.shape[1], device=hidden_states.device).unsqueeze(0)
        self_attn_mask_mapping = {
            "full_attention": create_bidirectional_mask(hidden_states),
            "sliding_attention": create_bidirectional_mask(
                hidden_states, and_mask_function=sliding_window_mask_function()
            ),
        }
        position_embeddings = self.rotary_emb(hidden_states, position_ids)
        hidden_states = self.dropout(hidden_states)
        for layer_module in self.layers:
            hidden_states = layer_module(
                hidden_states, position_embeddings, self_attn_mask_mapping["sliding_attention"]
            )
        return self.dropout(self.norm(hidden_states))


class SiglipVisionEmbeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("position_ids", torch.arange(4).view(1, 4), persistent=False)
        self.patch_embedding = nn.Conv2d(3, 64, 16, stride=16, padding="valid")
        self.position_embedding = nn.Embedding(4, 64)


class T5Gemma2Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.text_model = T5Gemma2TextEncoder()
        # here for its weights alone
        self.vision_tower = nn.ModuleDict({
            "embeddings": SiglipVisionEmbeddings(),
            "encoder": nn.ModuleDict({
                "layers": nn.ModuleList([
                    nn.ModuleDict({
                        "layer_norm1": nn.LayerNorm(64, eps=1e-6),
                        "self_attn": nn.ModuleDict({
                            "k_proj": nn.Linear(64, 64),
                            "v_proj": nn.Linear(64, 64),
                            "q_proj": nn.Linear(64, 64),
                            "out_proj": nn.Linear(64, 64),
                        }),
                        "layer_norm2": nn.LayerNorm(64, eps=1e-6),
                        "mlp": nn.ModuleDict({"fc1": nn.Linear(64, 128), "fc2": nn.Linear(128, 64)}),
                    })
                    for _ in range(2)
                ])
            }),
            "post_layernorm": nn.LayerNorm(64, eps=1e-6),
            "head": nn.ParameterDict([
                ("probe", nn.Parameter(torch.empty(1, 1, 64))),
                ("attention", nn.MultiheadAttention(64, 4, batch_first=True)),
                ("layernorm", nn.LayerNorm(64, eps=1e-6)),
                ("mlp", nn.ModuleDict({"fc1": nn.Linear(64, 128), "fc2": nn.Linear(128, 64)})),
            ]),
        })
        # here for its weights alone
        self.multi_modal_projector = nn.ParameterDict({
            "mm_input_projection_weight": nn.Parameter(torch.empty(64, 64)),
            "mm_soft_emb_norm": T5Gemma2RMSNorm(64),
        })

    def forward(self, input_ids, return_dict):
        inputs_embeds = self.text_model.embed_tokens(input_ids)
        return self.text_model(
            inputs_embeds, attention_mask=None, position_ids=None, return_dict_=return_dict, use_cache=False
        )


class T5Gemma2MergedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(64, 64, bias=False)
        self.k_proj = nn.Linear(64, 32, bias=False)
        self.v_proj = nn.Linear(64, 32, bias=False)
        self.o_proj = nn.Linear(64, 64, bias=False)
        self.q_norm = T5Gemma2RMSNorm(16)
        self.k_norm = T5Gemma2RMSNorm(16)
        self.head_dim = 16
        self.scaling = 0.0625

    def forward(self, hidden_states, position_embeddings, merged_attention_mask, encoder_hidden_states):
        input_shape = hidden_states.shape[:-1]
        hidden_shape = (*input_shape, -1, self.head_dim)
        cross_input_shape = encoder_hidden_states.shape[:-1]
        cross_hidden_shape = (*cross_input_shape, -1, self.head_dim)
        query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        query_states = self.q_norm(query_states)
        key_states = self.k_norm(key_states)
        cos, sin = position_embeddings
        query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
        cross_key_states = self.k_proj(encoder_hidden_states).view(cross_hidden_shape).transpose(1, 2)
        cross_value_states = self.v_proj(encoder_hidden_states).view(cross_hidden_shape).transpose(1, 2)
        cross_key_states = self.k_norm(cross_key_states)
        key_states = torch.cat([key_states, cross_key_states], dim=2)
        value_states = torch.cat([value_states, cross_value_states], dim=2)
        attn_output = sdpa_attention_forward(
            query_states, key_states, value_states, merged_attention_mask, scaling=self.scaling
        )
        return self.o_proj(attn_output.reshape(*input_shape, -1).contiguous())


class T5Gemma2DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = T5Gemma2MergedAttention()
        self.pre_self_attn_layernorm = T5Gemma2RMSNorm(64)
        self.post_self_attn_layernorm = T5Gemma2RMSNorm(64)
        self.mlp = T5Gemma2MLP()
        self.pre_feedforward_layernorm = T5Gemma2RMSNorm(64)
        self.post_feedforward_layernorm = T5Gemma2RMSNorm(64)
        self.dropout = nn.Dropout(0.0)

    def forward(self, hidden_states, position_embeddings, merged_attention_mask, encoder_hidden_states):
        residual = hidden_states
        hidden_states = self.pre_self_attn_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, position_embeddings, merged_attention_mask, encoder_hidden_states)
        hidden_states = residual + self.dropout(self.post_self_attn_layernorm(hidden_states))
        residual = hidden_states
        hidden_states = self.mlp(self.pre_feedforward_layernorm(hidden_states))
        hidden_states = self.post_feedforward_layernorm(hidden_states)
        return residual + self.dropout(hidden_states)


def causal_mask_function(batch_idx, head_idx, q_idx, kv_idx):
    return kv_idx <= q_idx


def create_causal_mask(inputs_embeds, position_ids):
    q_length, kv_length = _preprocess_mask_arguments(inputs_embeds, position_ids)
    batch_size, device = inputs_embeds.shape[0], inputs_embeds.device
    return sdpa_mask(
        batch_size, q_length, kv_length, mask_function=causal_mask_function, allow_is_bidirectional_skip=False,
        use_vmap=False, device=device,
    )


def sliding_window_overlay():
    def inner_mask(batch_idx, head_idx, q_idx, kv_idx):
        return kv_idx > q_idx - 4096

    return inner_mask


def create_sliding_window_causal_mask(inputs_embeds, position_ids):
    q_length, kv_length = _preprocess_mask_arguments(inputs_embeds, position_ids)
    batch_size, device = inputs_embeds.shape[0], inputs_embeds.device
    mask_factory_function = and_masks(sliding_window_overlay(), causal_mask_function)
    return sdpa_mask(
        batch_size, q_length, kv_length, mask_function=mask_factory_function, allow_is_bidirectional_skip=False,
        use_vmap=False, device=device,
    )


class T5Gemma2Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = T5Gemma2TextScaledWordEmbedding()
        self.norm = T5Gemma2RMSNorm(64)
        self.layers = nn.ModuleList([T5Gemma2DecoderLayer() for _ in range(2)])
        self.dropout = nn.Dropout(0.0)
        self.rotary_emb = T5Gemma2RotaryEmbedding()

    def forward(
        self, input_ids, attention_mask, position_ids, inputs_embeds, past_key_values, encoder_hidden_states,
        encoder_attention_mask, use_cache, return_dict_,
    ):
        kwargs = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "position_ids": position_ids,
            "inputs_embeds": inputs_embeds,
            "past_key_values": past_key_values,
            "encoder_hidden_states": encoder_hidden_states,
            "encoder_attention_mask": encoder_attention_mask,
            "use_cache": use_cache,
            "return_dict": return_dict_,
        }
        kwargs.pop("return_dict", True)
        return self.forward_2(kwargs["input_ids"], encoder_hidden_states=kwargs["encoder_hidden_states"])

    def forward_2(self, input_ids, encoder_hidden_states):
        hidden_states = self.embed_tokens(input_ids)
        position_ids = torch.arange(hidden_states.shape[1], device=hidden_states.device).unsqueeze(0)
        self_attn_mask_mapping = {
            "full_attention": create_causal_mask(hidden_states, position_ids),
            "sliding_attention": create_sliding_window_causal_mask(hidden_states, position_ids),
        }
        cross_attn_mask_mapping = create_bidirectional_mask(
            hidden_states, encoder_hidden_states, allow_is_bidirectional_skip=False
        )
        merged_attn_mask_mapping = torch.cat(
            [self_attn_mask_mapping["sliding_attention"], cross_attn_mask_mapping], dim=-1
        )
        position_embeddings = self.rotary_emb(hidden_states, position_ids)
        hidden_states = self.dropout(hidden_states)
        for layer_module in self.layers:
            hidden_states = layer_module(
                hidden_states, position_embeddings, merged_attn_mask_mapping, encoder_hidden_states
            )
        return self.dropout(self.norm(hidden_states))


class T5Gemma2Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = T5Gemma2Encoder()
        self.decoder = T5Gemma2Decoder()

    def forward(self, input_ids, decoder_input_ids):
        encoder_outputs = self.encoder(input_ids, return_dict=True)
        decoder_outputs = self.decoder(
            decoder_input_ids, attention_mask=None, position_ids=None, inputs_embeds=None, past_key_values=None,
            encoder_hidden_states=encoder_outputs, encoder_attention_mask=None, use_cache=False, return_dict_=True,
        )
        return decoder_outputs, encoder_outputs


class T5Gemma2LMHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.out_proj = nn.Linear(64, 512, bias=False)

    def forward(self, hidden_states):
        return self.out_proj(hidden_states)


@dataclass
class Seq2SeqLMOutput:
    logits: torch.Tensor
    encoder_last_hidden_state: torch.Tensor


torch.export.register_dataclass(Seq2SeqLMOutput)


class T5Gemma2ForConditionalGeneration(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = T5Gemma2Model()
        self.lm_head = T5Gemma2LMHead()
        self.model.decoder.embed_tokens.weight = self.model.encoder.text_model.embed_tokens.weight
        self.model.decoder.embed_tokens.eoi_embedding = self.model.encoder.text_model.embed_tokens.eoi_embedding
        self.lm_head.out_proj.weight = self.model.encoder.text_model.embed_tokens.weight

    def forward(self, input_ids, *, decoder_input_ids=None):
        assert input_ids is not None and decoder_input_ids is not None, "not recorded with these arguments"
        hidden_states, encoder_last_hidden_state = self.model(input_ids, decoder_input_ids)
        logits = self.lm_head(hidden_states)
        return Seq2SeqLMOutput(logits=logits, encoder_last_hidden_state=encoder_last_hidden_state)
# pellucid: {"asserted":["logits_to_keep=1"],"failed":{},"given":{"decoder_input_ids":"int64[2, 6]","input_ids":"int64[2, 12]"},"lenient":[],"not_compared":{},"root":"T5Gemma2ForConditionalGeneration","runs":[{"compared":["result","generators","buffers"],"grad":false,"inputs":{"decoder_input_ids":"int64[2, 6]","input_ids":"int64[2, 12]"},"mode":"eval","name":"recorded","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[2, 7]","input_ids":"int64[2, 13]"},"mode":"eval","name":"other length 1","status":"passed"},{"compared":["events"],"grad":false,"mode":"eval","name":"events","status":"differs"},{"compared":["result","generators","gradients"],"grad":true,"mode":"eval","name":"gradients enabled","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 1","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"other data 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 3","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[3, 6]","input_ids":"int64[3, 12]"},"mode":"eval","name":"other batch 1","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[5, 6]","input_ids":"int64[5, 12]"},"mode":"eval","name":"other batch 2","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[2, 9]","input_ids":"int64[2, 15]"},"mode":"eval","name":"other length 2","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[1, 6]","input_ids":"int64[1, 12]"},"mode":"eval","name":"other batch 3","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"mode":"train","name":"train","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"decoder_input_ids":"int64[3, 6]","input_ids":"int64[3, 12]"},"mode":"train","name":"train: other batch","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"decoder_input_ids":"int64[2, 7]","input_ids":"int64[2, 13]"},"mode":"train","name":"train: other length","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"logits_to_keep":"1"},"mode":"eval","name":"given 1","status":"guarded","what":"logits_to_keep=1"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"given 2","raises":"ValueError","status":"passed","what":"without input_ids"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"given 3","raises":"ValueError","status":"passed","what":"without decoder_input_ids"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[1, 6]","input_ids":"int64[1, 12]"},"mode":"eval","name":"called","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[1, 6]","input_ids":"int64[1, 12]"},"mode":"eval","name":"called again","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"decoder_input_ids":"int64[1, 6]","input_ids":"int64[1, 12]"},"mode":"eval","name":"other weights","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"decoder_input_ids":"int64[1, 6]","input_ids":"int64[1, 12]"},"mode":"eval","name":"float64","status":"passed"}],"verify":"default"}
