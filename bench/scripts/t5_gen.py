import torch
from transformers import T5Config, T5ForConditionalGeneration

m = T5ForConditionalGeneration(
    T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=100, decoder_start_token_id=0)
).eval()
print(m.generate(input_ids=torch.randint(2, 100, (1, 7)), max_new_tokens=3))
