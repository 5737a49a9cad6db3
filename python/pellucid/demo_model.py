"""The built-in example: a language model written the way model libraries are written.

Configurable in every direction, with registries, mixins, decorators, optional branches, a cache and three kinds
of masks, so that the dozen of lines that one particular model executes are hard to find. `pellucid demo` finds
them. Nothing but torch is needed.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any, Callable, Optional

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

# --------------------------------------------------------------------------------------------------------------
# Configuration
# --------------------------------------------------------------------------------------------------------------


class Config:
    """Holds what a model was built with. Unknown keys are kept, old names are understood."""

    renamed = {"n_embd": "hidden_size", "n_layer": "num_layers", "n_head": "num_heads"}

    def __init__(self, **values: Any):
        for key, value in values.items():
            setattr(self, self.renamed.get(key, key), value)

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_dict(cls, values: dict[str, Any], **overrides: Any) -> Config:
        return cls(**{**values, **overrides})


class LumenConfig(Config):
    def __init__(self, vocab_size=256, hidden_size=64, intermediate_size=None, num_layers=4,
                 num_heads=4, num_kv_heads=2, max_positions=128, position_embedding="rotary", rope_base=10000.0,
                 rope_scaling=None, hidden_act="silu", gated_mlp=True, qk_norm=True, attention_bias=False,
                 sliding_window=None, attention="sdpa", dropout=0.1, norm_eps=1e-6, norm_type="rms",
                 parallel_residual=False, tie_embeddings=True, logit_softcap=None, embedding_scale=True,
                 use_cache=True, return_dict=True, output_hidden_states=False, initializer_range=0.02,
                 num_labels=None, **extra):
        super().__init__(**extra)
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.intermediate_size = intermediate_size or int(8 * hidden_size / 3) // 8 * 8
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads or num_heads
        self.max_positions = max_positions
        self.position_embedding = position_embedding
        self.rope_base = rope_base
        self.rope_scaling = rope_scaling
        self.hidden_act = hidden_act
        self.gated_mlp = gated_mlp
        self.qk_norm = qk_norm
        self.attention_bias = attention_bias
        self.sliding_window = sliding_window
        self.attention = attention
        self.dropout = dropout
        self.norm_eps = norm_eps
        self.norm_type = norm_type
        self.parallel_residual = parallel_residual
        self.tie_embeddings = tie_embeddings
        self.logit_softcap = logit_softcap
        self.embedding_scale = embedding_scale
        self.use_cache = use_cache
        self.return_dict = return_dict
        self.output_hidden_states = output_hidden_states
        self.initializer_range = initializer_range
        self.num_labels = num_labels

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.num_heads

    def layer_window(self, index: int) -> Optional[int]:
        """Every other layer looks at a window, if there is one."""
        return self.sliding_window if self.sliding_window and index % 2 == 0 else None


# --------------------------------------------------------------------------------------------------------------
# Outputs
# --------------------------------------------------------------------------------------------------------------


class Output(OrderedDict):
    """A dict and a tuple at once: fields that are None are not there."""

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                super().__setitem__(field.name, value)

    def __getitem__(self, key):
        return super().__getitem__(key) if isinstance(key, str) else self.to_tuple()[key]

    def to_tuple(self) -> tuple:
        return tuple(super(Output, self).__getitem__(k) for k in self.keys())


@dataclass
class BaseOutput(Output):
    last_hidden_state: Optional[torch.Tensor] = None
    cache: Optional["Cache"] = None
    hidden_states: Optional[tuple] = None


@dataclass
class CausalOutput(Output):
    loss: Optional[torch.Tensor] = None
    logits: Optional[torch.Tensor] = None
    cache: Optional["Cache"] = None
    hidden_states: Optional[tuple] = None


# --------------------------------------------------------------------------------------------------------------
# Decorators
# --------------------------------------------------------------------------------------------------------------


def can_return_tuple(forward: Callable) -> Callable:
    """`return_dict=False` gives a plain tuple."""

    @functools.wraps(forward)
    def wrapper(self, *args, return_dict: Optional[bool] = None, **kwargs):
        output = forward(self, *args, **kwargs)
        wanted = return_dict if return_dict is not None else self.config.return_dict
        return output if wanted or not isinstance(output, Output) else output.to_tuple()

    return wrapper


def renamed_argument(old: str, new: str) -> Callable:
    """Accepts an argument under its former name."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if old in kwargs:
                warnings.warn(f"{old} is now called {new}", FutureWarning, stacklevel=2)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return wrapper

    return decorate


# --------------------------------------------------------------------------------------------------------------
# Small parts
# --------------------------------------------------------------------------------------------------------------

ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "relu2": lambda x: F.relu(x).square(),
}


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float = 1e-6, elementwise_affine: bool = True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size)) if elementwise_affine else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        dtype = x.dtype
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        if self.weight is not None:
            x = x * self.weight
        return x.to(dtype)


NORMS = {"rms": RMSNorm, "layer": nn.LayerNorm}


def make_norm(config: LumenConfig, size: Optional[int] = None) -> nn.Module:
    return NORMS[config.norm_type](size or config.hidden_size, eps=config.norm_eps)


def rope_frequencies(config: LumenConfig) -> tuple[torch.Tensor, float]:
    """Inverse frequencies, and the factor by which the attention is scaled."""
    dim = config.head_dim
    inv_freq = 1.0 / (config.rope_base ** (torch.arange(0, dim, 2).float() / dim))
    scaling = config.rope_scaling
    if scaling is None:
        return inv_freq, 1.0
    if scaling["type"] == "linear":
        return inv_freq / scaling["factor"], 1.0
    if scaling["type"] == "yarn":
        factor = scaling["factor"]
        low, high = scaling.get("low", 1.0), scaling.get("high", 32.0)
        wavelength = 2 * math.pi / inv_freq
        ramp = ((config.max_positions / wavelength - low) / (high - low)).clamp(0, 1)
        return inv_freq / factor * (1 - ramp) + inv_freq * ramp, 0.1 * math.log(factor) + 1.0
    raise ValueError(f"unknown rope scaling {scaling['type']!r}")


class RotaryEmbedding(nn.Module):
    def __init__(self, config: LumenConfig):
        super().__init__()
        inv_freq, self.attention_scaling = rope_frequencies(config)
        self.register_buffer("inv_freq", inv_freq, persistent=False)

    @torch.no_grad()
    def forward(self, x: torch.Tensor, position_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        freqs = position_ids[:, :, None].float() * self.inv_freq[None, None, :]
        emb = torch.cat((freqs, freqs), dim=-1)
        cos = emb.cos() * self.attention_scaling
        sin = emb.sin() * self.attention_scaling
        return cos.to(x.dtype), sin.to(x.dtype)


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


# --------------------------------------------------------------------------------------------------------------
# Cache and masks
# --------------------------------------------------------------------------------------------------------------


class Cache:
    """Keys and values of earlier tokens, a pair per layer."""

    def __init__(self):
        self.layers: list[tuple[torch.Tensor, torch.Tensor]] = []

    def length(self) -> int:
        return self.layers[0][0].shape[-2] if self.layers else 0

    def update(self, key: torch.Tensor, value: torch.Tensor, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if index == len(self.layers):
            self.layers.append((key, value))
        else:
            old_key, old_value = self.layers[index]
            self.layers[index] = (torch.cat((old_key, key), dim=-2), torch.cat((old_value, value), dim=-2))
        return self.layers[index]


def causal_mask(length: int, past: int, window: Optional[int], device: torch.device) -> torch.Tensor:
    rows = torch.arange(past, past + length, device=device)[:, None]
    columns = torch.arange(past + length, device=device)[None, :]
    mask = columns <= rows
    if window is not None:
        mask = mask & (columns > rows - window)
    return mask[None, None]


def make_masks(config: LumenConfig, embeds: torch.Tensor, attention_mask: Optional[torch.Tensor],
               past: int) -> dict[Optional[int], Optional[torch.Tensor]]:
    """One mask per kind of layer; none where the kernel's own causal mask will do."""
    length = embeds.shape[1]
    masks = {}
    for window in {config.layer_window(i) for i in range(config.num_layers)}:
        if attention_mask is None and window is None and config.attention == "sdpa" and (past == 0 or length == 1):
            masks[window] = None
            continue
        mask = causal_mask(length, past, window, embeds.device)
        if attention_mask is not None:
            mask = mask & attention_mask[:, None, None, :].bool()
        masks[window] = mask
    return masks


# --------------------------------------------------------------------------------------------------------------
# Attention
# --------------------------------------------------------------------------------------------------------------

ATTENTION_FUNCTIONS: dict[str, Callable] = {}


def register_attention(name: str) -> Callable:
    def add(function: Callable) -> Callable:
        ATTENTION_FUNCTIONS[name] = function
        return function

    return add


def repeat_kv(x: torch.Tensor, times: int) -> torch.Tensor:
    if times == 1:
        return x
    batch, heads, length, dim = x.shape
    return x[:, :, None].expand(batch, heads, times, length, dim).reshape(batch, heads * times, length, dim)


@register_attention("eager")
def eager_attention(module, query, key, value, mask, scaling, dropout=0.0):
    key, value = repeat_kv(key, module.groups), repeat_kv(value, module.groups)
    weights = query @ key.transpose(2, 3) * scaling
    if mask is not None:
        weights = weights.masked_fill(~mask, torch.finfo(weights.dtype).min)
    weights = F.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
    weights = F.dropout(weights, p=dropout, training=module.training)
    return weights @ value, weights


@register_attention("sdpa")
def sdpa_attention(module, query, key, value, mask, scaling, dropout=0.0):
    key, value = repeat_kv(key, module.groups), repeat_kv(value, module.groups)
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout, scale=scaling,
                                            is_causal=mask is None and query.shape[2] > 1)
    return output, None


class Attention(nn.Module):
    def __init__(self, config: LumenConfig, index: int):
        super().__init__()
        self.config = config
        self.index = index
        self.head_dim = config.head_dim
        self.groups = config.num_heads // config.num_kv_heads
        self.scaling = self.head_dim ** -0.5
        self.window = config.layer_window(index)
        bias = config.attention_bias
        self.q_proj = nn.Linear(config.hidden_size, config.num_heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(config.hidden_size, config.num_kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(config.hidden_size, config.num_kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(config.num_heads * self.head_dim, config.hidden_size, bias=bias)
        self.q_norm = make_norm(config, self.head_dim) if config.qk_norm else nn.Identity()
        self.k_norm = make_norm(config, self.head_dim) if config.qk_norm else nn.Identity()

    def forward(self, hidden_states, rotary=None, masks=None, cache=None):
        input_shape = hidden_states.shape[:-1]
        hidden_shape = (*input_shape, -1, self.head_dim)
        query = self.q_norm(self.q_proj(hidden_states).view(hidden_shape)).transpose(1, 2)
        key = self.k_norm(self.k_proj(hidden_states).view(hidden_shape)).transpose(1, 2)
        value = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        if rotary is not None:
            query, key = apply_rotary(query, key, *rotary)
        if cache is not None:
            key, value = cache.update(key, value, self.index)
        attend = ATTENTION_FUNCTIONS[self.config.attention]
        output, weights = attend(self, query, key, value, masks[self.window], self.scaling,
                                 dropout=self.config.dropout if self.training else 0.0)
        output = output.transpose(1, 2).reshape(*input_shape, -1)
        return self.o_proj(output), weights


class MLP(nn.Module):
    def __init__(self, config: LumenConfig):
        super().__init__()
        self.act = ACTIVATIONS[config.hidden_act]
        self.gate_proj = (nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
                          if config.gated_mlp else None)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        if self.gate_proj is not None:
            return self.down_proj(self.act(self.gate_proj(x)) * self.up_proj(x))
        return self.down_proj(self.act(self.up_proj(x)))


# --------------------------------------------------------------------------------------------------------------
# The model
# --------------------------------------------------------------------------------------------------------------


class CheckpointMixin:
    """Runs a layer again in the backward pass instead of keeping what it computed."""

    gradient_checkpointing = False

    def __call__(self, *args, **kwargs):
        if self.gradient_checkpointing and self.training:
            return checkpoint(functools.partial(super().__call__, **kwargs), *args, use_reentrant=False)
        return super().__call__(*args, **kwargs)


class Layer(CheckpointMixin, nn.Module):
    def __init__(self, config: LumenConfig, index: int):
        super().__init__()
        self.parallel = config.parallel_residual
        self.attention = Attention(config, index)
        self.mlp = MLP(config)
        self.attention_norm = make_norm(config)
        self.mlp_norm = nn.Identity() if self.parallel else make_norm(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden_states, rotary=None, masks=None, cache=None):
        residual = hidden_states
        hidden_states = self.attention_norm(hidden_states)
        attention_output, _ = self.attention(hidden_states, rotary=rotary, masks=masks, cache=cache)
        if self.parallel:
            return residual + self.dropout(attention_output + self.mlp(hidden_states))
        hidden_states = residual + self.dropout(attention_output)
        return hidden_states + self.dropout(self.mlp(self.mlp_norm(hidden_states)))


class InitMixin:
    """Weights as the configuration wants them; heads tied to embeddings."""

    def post_init(self):
        self.apply(self._init_weights)
        self.tie_weights()

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=self.config.initializer_range)
            if getattr(module, "bias", None) is not None:
                nn.init.zeros_(module.bias)

    def tie_weights(self):
        head = self.get_output_embeddings()
        if head is not None and self.config.tie_embeddings:
            head.weight = self.get_input_embeddings().weight

    def get_output_embeddings(self):
        return None


class Pretrained(InitMixin, nn.Module):
    config_class = LumenConfig

    def __init__(self, config: LumenConfig):
        super().__init__()
        self.config = config

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


class Lumen(Pretrained):
    def __init__(self, config: LumenConfig):
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.positions = None
        if config.position_embedding == "learned":
            self.positions = nn.Embedding(config.max_positions, config.hidden_size)
        self.rotary = RotaryEmbedding(config) if config.position_embedding == "rotary" else None
        self.layers = nn.ModuleList([Layer(config, i) for i in range(config.num_layers)])
        self.norm = make_norm(config)
        self.post_init()

    def get_input_embeddings(self):
        return self.embed

    @can_return_tuple
    @renamed_argument("past_key_values", "cache")
    def forward(self, input_ids=None, attention_mask=None, position_ids=None, inputs_embeds=None, cache=None,
                use_cache=None, output_hidden_states=None):
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        config = self.config
        use_cache = config.use_cache if use_cache is None else use_cache
        output_hidden_states = config.output_hidden_states if output_hidden_states is None else output_hidden_states
        if self.training and use_cache:
            use_cache = False
        if inputs_embeds is None:
            inputs_embeds = self.embed(input_ids)
            if config.embedding_scale:
                inputs_embeds = inputs_embeds * config.hidden_size ** 0.5
        if use_cache and cache is None:
            cache = Cache()
        past = cache.length() if cache is not None else 0
        if position_ids is None:
            position_ids = torch.arange(past, past + inputs_embeds.shape[1], device=inputs_embeds.device)[None]
        hidden_states = inputs_embeds
        if self.positions is not None:
            hidden_states = hidden_states + self.positions(position_ids)
        rotary = self.rotary(hidden_states, position_ids) if self.rotary is not None else None
        masks = make_masks(config, hidden_states, attention_mask, past)
        all_hidden_states = () if output_hidden_states else None
        for layer in self.layers:
            if output_hidden_states:
                all_hidden_states += (hidden_states,)
            hidden_states = layer(hidden_states, rotary=rotary, masks=masks, cache=cache)
        hidden_states = self.norm(hidden_states)
        if output_hidden_states:
            all_hidden_states += (hidden_states,)
        return BaseOutput(last_hidden_state=hidden_states, cache=cache, hidden_states=all_hidden_states)


class LumenForCausalLM(Pretrained):
    def __init__(self, config: LumenConfig):
        super().__init__(config)
        self.model = Lumen(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.model.get_input_embeddings()

    def get_output_embeddings(self):
        return self.lm_head

    @can_return_tuple
    def forward(self, input_ids=None, attention_mask=None, labels=None, logits_to_keep=0, **kwargs):
        outputs = self.model(input_ids, attention_mask=attention_mask, return_dict=True, **kwargs)
        hidden_states = outputs.last_hidden_state
        logits = self.lm_head(hidden_states[:, -logits_to_keep:] if logits_to_keep else hidden_states)
        if self.config.logit_softcap is not None:
            logits = torch.tanh(logits / self.config.logit_softcap) * self.config.logit_softcap
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten(), ignore_index=-100)
        return CausalOutput(loss=loss, logits=logits, cache=outputs.cache, hidden_states=outputs.hidden_states)


# --------------------------------------------------------------------------------------------------------------


def demo() -> LumenForCausalLM:
    """The model that `pellucid demo` looks into."""
    torch.manual_seed(0)
    return LumenForCausalLM(LumenConfig(use_cache=False)).eval()


def demo_inputs() -> dict[str, torch.Tensor]:
    input_ids = torch.arange(24).view(2, 12) * 7 % 256
    attention_mask = torch.ones(2, 12, dtype=torch.long)
    attention_mask[1, 9:] = 0
    return {"input_ids": input_ids, "attention_mask": attention_mask}
