import torch
from transformers import CLIPConfig, CLIPModel, CLIPTextConfig, CLIPVisionConfig

t = CLIPTextConfig(
    hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=100
)
v = CLIPVisionConfig(
    hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32,
    patch_size=16,
)
m = CLIPModel(CLIPConfig(text_config=t.to_dict(), vision_config=v.to_dict())).eval()

with torch.no_grad():
    a = m.get_text_features(input_ids=torch.randint(3, 90, (2, 7)))
    b = m.get_image_features(pixel_values=torch.randn(2, 3, 32, 32))
    print(type(a))
