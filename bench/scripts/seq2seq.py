import torch, torch.nn as nn, math


class PositionalEncoding(nn.Module):
    def __init__(self, d, dropout=0.1, max_len=100):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(max_len, 1, d)
        pe[:, 0, 0::2] = torch.sin(position * div)
        pe[:, 0, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0)])


class TransformerModel(nn.Module):
    def __init__(self, ntoken=40, d=16):
        super().__init__()
        self.pos_encoder = PositionalEncoding(d)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 2, 32, 0.1), 2)
        self.embedding = nn.Embedding(ntoken, d)
        self.d_model = d
        self.linear = nn.Linear(d, ntoken)

    def forward(self, src, src_mask=None):
        src = self.embedding(src) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        if src_mask is None:
            src_mask = nn.Transformer.generate_square_subsequent_mask(len(src))
        return self.linear(self.encoder(src, src_mask))


m = TransformerModel()
m.train()
x = torch.randint(0, 40, (7, 3))
nn.functional.cross_entropy(m(x).view(-1, 40), x.view(-1)).backward()
m.eval()

with torch.no_grad():
    print(m(x[:4]).shape)
