"""Models as they stand in repositories (author_models/): each becomes a skeleton that is equal in every check."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("torch", reason="torch is not installed")

import pellucid
import torch

FAST = {"vision": ["vqvae", "yolo", "bifpn"], "audio": ["wavenet"],
        "odd": ["registered", "scripted_helper", "choices", "controlled_path"],
        "torch_parts": ["encoder", "own_layer", "parametrized"], "science": ["permuted_weights"]}
SLOW = {"gpt": ["gpt", "gpt_slow"], "llama": ["llama"], "mamba": ["mamba"], "diffusion_unet": ["diffusion_unet"],
        "audio": ["tacotron_decoder", "mel_front"], "sequence": ["transformer_xl", "rwkv", "bilstm_crf", "seq2seq"],
        "vision": ["detr", "stylegan", "capsules", "deformable"],
        "science": ["nerf", "glow", "neural_ode", "pointnet", "gnn", "long_conv"],
        "odd": ["moe", "perceiver", "custom_code"],
        "torch_parts": ["decoder", "own_activation", "replaced_layer", "traced"]}


def rows(table: dict[str, list[str]]) -> list[str]:
    return [f"{file}.{name}" for file, names in table.items() for name in names]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*rows(FAST), *(pytest.param(name, marks=pytest.mark.slow) for name in rows(SLOW))])
def test_equal_in_every_check(name: str) -> None:
    file, _, function = name.partition(".")
    torch.manual_seed(0)
    model, inputs = getattr(importlib.import_module(f"author_models.{file}"), function)()
    args, kwargs = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
    made = pellucid.skeleton(model.eval(), args, kwargs)
    assert made.report.complete, made.report.verdict
