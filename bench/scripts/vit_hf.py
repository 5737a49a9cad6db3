import torch
from transformers import ViTConfig, ViTForImageClassification

m = ViTForImageClassification(
    ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32,
        patch_size=8,
    )
).eval()

with torch.inference_mode():
    print(m(pixel_values=torch.randn(1, 3, 32, 32)).logits.argmax(-1).item())
