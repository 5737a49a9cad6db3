"""What real repositories also do: routing, registries, decorators, scripted helpers, lazy buffers, checkpoints."""
import contextlib
import copy
import enum
import functools
from collections import namedtuple
from typing import Dict, Optional

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from . import splines


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)))


class SparseMoE(nn.Module):
    def __init__(self, dim=6, n_experts=4, top_k=2):
        super().__init__()
        self.gate = nn.Linear(dim, n_experts, bias=False)
        self.experts = nn.ModuleList([Expert(dim, 8) for _ in range(n_experts)])
        self.top_k = top_k

    def forward(self, x):
        b, n, d = x.shape
        flat = x.view(-1, d)
        weights = F.softmax(self.gate(flat), dim=1, dtype=torch.float)
        weights, selected = torch.topk(weights, self.top_k, dim=-1)
        weights /= weights.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(flat)
        mask = F.one_hot(selected, num_classes=len(self.experts)).permute(2, 1, 0)
        for i, expert in enumerate(self.experts):
            idx, top = torch.where(mask[i])
            out.index_add_(0, top, expert(flat[top]) * weights[top, idx, None])
        return out.view(b, n, d), selected.view(b, n, -1)


def moe():
    return SparseMoE(), (torch.randn(2, 5, 6),)


@torch.jit.script
def bias_gelu(bias: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = bias + y
    return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


class ScriptedHelpers(nn.Module):
    """Megatron's way: a jitted function in the middle of forward."""

    def __init__(self, dim=6):
        super().__init__()
        self.dense = nn.Linear(dim, 2 * dim, bias=False)
        self.bias = nn.Parameter(torch.randn(2 * dim))
        self.out = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return self.out(bias_gelu(self.bias, self.dense(x)))


def scripted_helper():
    return ScriptedHelpers(), (torch.randn(3, 6),)


REGISTRY: Dict[str, type] = {}


def register(name=None):
    def wrap(cls):
        REGISTRY[name or cls.__name__.lower()] = cls
        return cls
    return wrap


def with_residual(forward):
    @functools.wraps(forward)
    def inner(self, x, *args, **kwargs):
        out = forward(self, x, *args, **kwargs)
        return out + x if out.shape == x.shape else out
    return inner


@register("mlp")
class Mlp(nn.Module):
    def __init__(self, dim, drop=0.1):
        super().__init__()
        self.fc1, self.fc2, self.drop = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim), nn.Dropout(drop)

    @with_residual
    def forward(self, x):
        return self.drop(self.fc2(F.gelu(self.fc1(x))))


@register()
class Mixer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self._cache = None

    def positions(self, x):
        """Built when a length is first seen."""
        if self._cache is None or self._cache.shape[0] < x.shape[1]:
            self._cache = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)[:, None] / 10
        return self._cache[:x.shape[1]]

    @with_residual
    def forward(self, x, scale: Optional[float] = None):
        mixed = x.cumsum(1) / (torch.arange(x.shape[1])[None, :, None] + 1) + self.positions(x)
        return self.norm(mixed) * (scale or 1.0)


Stage = namedtuple("Stage", ["kind", "depth", "options"])


class Registered(nn.Module):
    """Blocks from a registry, recomputed in training, with an early exit for short inputs."""

    def __init__(self, dim=6, stages=(Stage("mixer", 1, {}), Stage("mlp", 2, {"drop": 0.2})), use_checkpoint=True):
        super().__init__()
        self.stages = nn.ModuleDict()
        for n, stage in enumerate(stages):
            blocks = [REGISTRY[stage.kind](dim, **stage.options) for _ in range(stage.depth)]
            self.stages[f"{n}_{stage.kind}"] = nn.Sequential(*blocks)
        self.use_checkpoint = use_checkpoint
        self.head = nn.Linear(dim, 3)
        self.teacher = copy.deepcopy(self.head)
        for p in self.teacher.parameters():
            p.requires_grad = False

    def _context(self):
        return torch.enable_grad() if self.training else contextlib.nullcontext()

    def forward(self, x, return_all=False):
        outputs = {}
        with self._context():
            for name, stage in self.stages.items():
                if self.training and self.use_checkpoint:
                    x = checkpoint(stage, x, use_reentrant=False)
                else:
                    x = stage(x)
                outputs[name] = x
        logits = self.head(x.mean(1))
        with torch.no_grad():
            target = self.teacher(x.mean(1)).softmax(-1)
        if self.training:
            return {"loss": F.kl_div(logits.log_softmax(-1), target, reduction="batchmean"), "logits": logits}
        if return_all:
            return logits, outputs
        return {"logits": logits, "agreement": (logits.argmax(-1) == target.argmax(-1)).float().mean()}


def registered():
    return Registered(), (torch.randn(2, 5, 6),)


class PerceiverLayer(nn.Module):
    def __init__(self, latent_dim, input_dim, heads=2):
        super().__init__()
        self.norm, self.norm_context = nn.LayerNorm(latent_dim), nn.LayerNorm(input_dim)
        self.to_q, self.to_kv = nn.Linear(latent_dim, latent_dim), nn.Linear(input_dim, 2 * latent_dim)
        self.heads, self.out = heads, nn.Linear(latent_dim, latent_dim)

    def split(self, t):
        return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, context=None, mask=None):
        context = self.norm_context(context) if context is not None else self.norm(x)
        q, (k, v) = self.to_q(self.norm(x)), self.to_kv(context).chunk(2, dim=-1)
        q, k, v = map(self.split, (q, k, v))
        sim = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if mask is not None:
            sim.masked_fill_(~mask[:, None, None], -torch.finfo(sim.dtype).max)
        return x + self.out((sim.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Perceiver(nn.Module):
    def __init__(self, depth=3, latents=4, dim=8, input_dim=7, weight_tie_layers=True):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, dim))
        get_cross = functools.lru_cache(None)(lambda _cache=True: PerceiverLayer(dim, input_dim))
        self.layers = nn.ModuleList([
            nn.ModuleList([get_cross() if weight_tie_layers and i > 0 else PerceiverLayer(dim, input_dim),
                           PerceiverLayer(dim, dim)]) for i in range(depth)])
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 3))

    def forward(self, data, mask=None):
        b, *axis, _ = data.shape
        grid = torch.stack(torch.meshgrid(*[torch.linspace(-1.0, 1.0, size) for size in axis], indexing="ij"), dim=-1)
        data = torch.cat((data, grid.expand(b, *grid.shape)), dim=-1).flatten(1, -2)
        x = self.latents.expand(b, -1, -1)
        for cross, own in self.layers:
            x = cross(x, context=data, mask=mask)
            x = own(x, x)
        return self.to_logits(x.mean(dim=-2))


def perceiver():
    return Perceiver(), (torch.randn(2, 3, 3, 5), torch.rand(2, 9) > 0.3)


class GhostConfig:
    model_type = "ghost"

    def __init__(self, hidden_size=8, num_layers=2, hidden_act="gelu_new", output_hidden_states=False, **kwargs):
        self.hidden_size, self.num_layers, self.hidden_act = hidden_size, num_layers, hidden_act
        self.output_hidden_states = output_hidden_states
        for key, value in kwargs.items():
            setattr(self, key, value)

    @property
    def use_return_dict(self):
        return getattr(self, "return_dict", True)


ACT2FN = {"gelu_new": functools.partial(F.gelu, approximate="tanh"), "relu": torch.relu}


class PreTrained(nn.Module):
    config_class = GhostConfig

    def __init__(self, config, *inputs, **kwargs):
        super().__init__()
        self.config = config

    def post_init(self):
        self.apply(lambda m: m.reset_parameters() if isinstance(m, nn.Linear) else None)

    @property
    def dtype(self):
        return next(self.parameters()).dtype

    def extended_mask(self, mask):
        return (1.0 - mask[:, None, :].to(self.dtype)) * torch.finfo(self.dtype).min


class GhostLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.act = ACT2FN[config.hidden_act]

    def forward(self, hidden_states, attention_mask=None, output_attentions=False):
        scores = self.query(hidden_states) @ hidden_states.transpose(-1, -2)
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = scores.softmax(-1)
        outputs = (hidden_states + self.act(self.dense(probs @ hidden_states)),)
        return outputs + (probs,) if output_attentions else outputs


class GhostModel(PreTrained):
    def __init__(self, config):
        super().__init__(config)
        self.embed = nn.Embedding(30, config.hidden_size)
        self.layer = nn.ModuleList([GhostLayer(config) for _ in range(config.num_layers)])
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, output_hidden_states=None, return_dict=None):
        output_hidden_states = (output_hidden_states if output_hidden_states is not None
                                else self.config.output_hidden_states)
        return_dict = return_dict if return_dict is not None else self.config.use_return_dict
        if attention_mask is None:
            attention_mask = torch.ones(input_ids.shape, device=input_ids.device)
        mask = self.extended_mask(attention_mask)
        hidden_states = self.embed(input_ids)
        all_hidden_states = () if output_hidden_states else None
        for layer_module in self.layer:
            if output_hidden_states:
                all_hidden_states = all_hidden_states + (hidden_states,)
            hidden_states = layer_module(hidden_states, mask)[0]
        if not return_dict:
            return tuple(v for v in [hidden_states, all_hidden_states] if v is not None)
        return {"last_hidden_state": hidden_states, "hidden_states": all_hidden_states}


def custom_code():
    return GhostModel(GhostConfig(output_hidden_states=True, extra="unused")), {
        "input_ids": torch.randint(0, 30, (2, 6)), "attention_mask": torch.tensor([[1] * 6, [1] * 4 + [0] * 2])}


class Norm(enum.Enum):
    BEFORE = "before"
    AFTER = "after"


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-1, 1)


binarise = StraightThrough.apply


def squared_relu(x):
    return F.relu(x) ** 2


def leaky(x, slope=0.1):
    return torch.where(x > 0, x, slope * x)


ACTIVATIONS = {"relu2": squared_relu, "silu": F.silu, "leaky": functools.partial(leaky, slope=0.2), "prelu": nn.PReLU()}


class Choice(nn.Module):
    """Everything that differs between instances comes out of a table: functions, members of an Enum, arrays."""

    def __init__(self, dim, activation, norm):
        super().__init__()
        self.fc, self.ln = nn.Linear(dim, dim), nn.LayerNorm(dim)
        self.act = ACTIVATIONS[activation]
        self.norm = norm
        self.order = np.arange(dim)[::-1].copy()

    def forward(self, x):
        h = self.ln(x) if self.norm is Norm.BEFORE else x
        h = self.act(self.fc(h))[..., self.order]
        h = h + binarise(h)
        return self.ln(h) if self.norm is Norm.AFTER else h


def choices(dim=6):
    blocks = [Choice(dim, *row) for row in (("relu2", Norm.BEFORE), ("silu", Norm.AFTER), ("leaky", Norm.BEFORE),
                                            ("prelu", Norm.AFTER))]
    return nn.Sequential(*blocks), (torch.randn(3, dim),)


class ControlledPath(nn.Module):
    """Makes objects of classes that it knows by the module they are in."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(torch.prod(torch.tensor([1, 3])), 4)

    def forward(self, coefficients):
        spline = splines.Cubic(coefficients)
        path = spline.evaluate(spline.interval.last / 2)
        hidden = splines.Scale(path.value.mean())(self.first(path.value))
        return splines.Path(splines.Reverse.apply(hidden), slope=self.second(path.slope))


def controlled_path():
    return ControlledPath(), (torch.randn(2, 5, 6),)
