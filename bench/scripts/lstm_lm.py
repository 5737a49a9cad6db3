import torch, torch.nn as nn


class RNNModel(nn.Module):
    def __init__(self, ntoken=50, ninp=16, nhid=16, nlayers=2):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=0.2)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid = nhid
        self.nlayers = nlayers

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output))
        return torch.log_softmax(decoded.view(-1, 50), 1), hidden

    def init_hidden(self, b):
        w = next(self.parameters())
        return w.new_zeros(self.nlayers, b, self.nhid), w.new_zeros(self.nlayers, b, self.nhid)


m = RNNModel()
h = m.init_hidden(3)
crit = nn.NLLLoss()

for i in range(2):
    h = tuple(t.detach() for t in h)
    m.zero_grad()
    out, h = m(torch.randint(0, 50, (5, 3)), h)
    loss = crit(out, torch.randint(0, 50, (15,)))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(m.parameters(), 0.25)

m.eval()

with torch.no_grad():
    h = m.init_hidden(1)
    x = torch.randint(50, (1, 1))
    for _ in range(3):
        o, h = m(x, h)
        x.fill_(torch.multinomial(o.squeeze().exp(), 1)[0])

print(x)
