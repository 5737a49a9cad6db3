import torch
from transformers import GPT2Config, GPT2LMHeadModel

m = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64)).eval()
print(m.generate(torch.randint(2, 90, (1, 5)), max_new_tokens=3, do_sample=True, pad_token_id=0))
