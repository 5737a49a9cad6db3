# A skeleton of hf/mamba, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, transformers 5.22.2.
# Use: model = MambaModel(); model.load_state_dict(original.state_dict())
# Load weights before training: the author's initialisation is not in this file, torch.empty has no values.
# Verification: bit-equal on the recorded input; eval mode: other lengths (2x13, 2x15), other data, other batch sizes
#   (3x12, 5x12, 1x12), a second call, other weights, float64; eval mode, gradients: the recorded input; train mode,
#   gradients: the recorded input, other batch sizes (3x12), other lengths (2x13); new tensors are put where the
#   original puts them

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


class MambaRMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(64))
        self.variance_epsilon = 1e-5

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


def causal_conv1d_fn(hidden_states, weight, bias):
    _, hidden_size, seq_len = hidden_states.shape
    padding = weight.shape[-1] - 1
    out = torch.conv1d(
        hidden_states.to(weight.dtype), weight=weight.unsqueeze(1), bias=bias, padding=padding, groups=hidden_size
    )[:, :, :seq_len]
    return F.silu(out).to(hidden_states.dtype)


def mamba_selective_scan(hidden_states, dt, A, B, C, D, z, delta_bias):
    batch_size, intermediate_size, seq_len = hidden_states.shape
    input_dtype = hidden_states.dtype
    dt = F.softplus(dt + delta_bias.to(dt.dtype)[..., None])
    B = B.transpose(1, 2)
    C = C.transpose(1, 2)
    discrete_A = torch.exp(A[None, :, None, :] * dt[:, :, :, None])
    discrete_B = dt[:, :, :, None] * B[:, None, :, :].float()
    deltaB_u = discrete_B * hidden_states[:, :, :, None].float()
    ssm_state = torch.zeros(batch_size, intermediate_size, A.shape[-1], dtype=input_dtype, device=hidden_states.device)
    scan_outputs = []
    for index in range(seq_len):
        ssm_state = discrete_A[:, :, index] * ssm_state + deltaB_u[:, :, index]
        scan_output = torch.matmul(ssm_state.to(input_dtype), C[:, index, :].unsqueeze(-1))
        scan_outputs.append(scan_output[:, :, 0])
    scan_output = torch.stack(scan_outputs, dim=-1) + hidden_states * D[None, :, None]
    return scan_output * F.silu(z)


class MambaMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.A_log = nn.Parameter(torch.empty(128, 16))
        self.D = nn.Parameter(torch.empty(128))
        self.conv1d = nn.Conv1d(128, 128, 4, padding=3, groups=128)
        self.in_proj = nn.Linear(64, 256, bias=False)
        self.x_proj = nn.Linear(128, 36, bias=False)
        self.dt_proj = nn.Linear(4, 128)
        self.out_proj = nn.Linear(128, 64, bias=False)
        self.time_step_rank = 4
        self.ssm_state_size = 16

    def forward(self, hidden_states):
        projected_states = self.in_proj(hidden_states).transpose(1, 2)
        A = -torch.exp(self.A_log.float())
        hidden_states_B_C, gate = projected_states.chunk(2, dim=1)
        hidden_states_B_C = causal_conv1d_fn(hidden_states_B_C, self.conv1d.weight.squeeze(1), self.conv1d.bias)
        hidden_states_B_C = hidden_states_B_C.transpose(1, 2)
        time_step, B, C = torch.split(
            self.x_proj(hidden_states_B_C), [self.time_step_rank, self.ssm_state_size, self.ssm_state_size], dim=-1
        )
        time_step = self.dt_proj.weight @ time_step.transpose(1, 2)
        time_proj_bias = self.dt_proj.bias.float()
        scan_output = mamba_selective_scan(
            hidden_states_B_C.transpose(1, 2),
            time_step,
            A,
            B.transpose(1, 2),
            C.transpose(1, 2),
            D=self.D.float(),
            z=gate,
            delta_bias=time_proj_bias,
        )
        return self.out_proj(scan_output.transpose(1, 2).to(hidden_states.dtype))


class MambaBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = MambaRMSNorm()
        self.mixer = MambaMixer()

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.norm(hidden_states.to(dtype=self.norm.weight.dtype))
        return residual.to(torch.float32) + self.mixer(hidden_states)


@dataclass
class MambaOutput:
    last_hidden_state: torch.Tensor


torch.export.register_dataclass(MambaOutput)


class MambaModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.Embedding(512, 64)
        self.layers = nn.ModuleList([MambaBlock() for _ in range(2)])
        self.norm_f = MambaRMSNorm()

    def forward(self, input_ids):
        assert input_ids is not None, "not recorded with this argument"
        hidden_states = self.embeddings(input_ids)
        for mixer_block in self.layers:
            hidden_states = mixer_block(hidden_states)
        return MambaOutput(last_hidden_state=self.norm_f(hidden_states))
# pellucid: {"asserted":[],"failed":{},"given":{"input_ids":"int64[2, 12]"},"lenient":[],"not_compared":{},"root":"MambaModel","runs":[{"compared":["result","generators","buffers"],"grad":false,"inputs":{"input_ids":"int64[2, 12]"},"mode":"eval","name":"recorded","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"input_ids":"int64[2, 13]"},"mode":"eval","name":"other length 1","status":"passed"},{"compared":["events"],"grad":false,"mode":"eval","name":"events","status":"passed"},{"compared":["result","generators","gradients"],"grad":true,"mode":"eval","name":"gradients enabled","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 1","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"other data 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 3","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"input_ids":"int64[3, 12]"},"mode":"eval","name":"other batch 1","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"input_ids":"int64[5, 12]"},"mode":"eval","name":"other batch 2","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"input_ids":"int64[2, 15]"},"mode":"eval","name":"other length 2","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"input_ids":"int64[1, 12]"},"mode":"eval","name":"other batch 3","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"mode":"train","name":"train","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"input_ids":"int64[3, 12]"},"mode":"train","name":"train: other batch","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"input_ids":"int64[2, 13]"},"mode":"train","name":"train: other length","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"given 1","raises":"ValueError","status":"passed","what":"without input_ids"},{"compared":["result","generators"],"grad":false,"inputs":{"input_ids":"int64[1, 12]"},"mode":"eval","name":"called","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"input_ids":"int64[1, 12]"},"mode":"eval","name":"called again","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"input_ids":"int64[1, 12]"},"mode":"eval","name":"other weights","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"input_ids":"int64[1, 12]"},"mode":"eval","name":"float64","status":"passed"}],"verify":"default"}
