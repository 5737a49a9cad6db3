import torch
from transformers import BertConfig, BertForSequenceClassification

m = BertForSequenceClassification(
    BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100,
        num_labels=3,
    )
)
o = torch.optim.AdamW(m.parameters())
b = dict(
    input_ids=torch.randint(0, 100, (2, 9)),
    attention_mask=torch.ones(2, 9, dtype=torch.long),
    labels=torch.tensor([0, 2]),
)
out = m(**b)
out.loss.backward()
o.step()
m.eval()

with torch.no_grad():
    print(m(**b).logits.shape)
