import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 32)
        self.fc21 = nn.Linear(32, 4)
        self.fc22 = nn.Linear(32, 4)
        self.fc3 = nn.Linear(4, 32)
        self.fc4 = nn.Linear(32, 64)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, lv = self.encode(x.view(-1, 64))
        return self.decode(self.reparameterize(mu, lv)), mu, lv


m = VAE()
o = torch.optim.Adam(m.parameters())

for _ in range(2):
    x = torch.rand(5, 1, 8, 8)
    r, mu, lv = m(x)
    l = (
        F.binary_cross_entropy(r, x.view(-1, 64), reduction="sum")
        - 0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
    )
    o.zero_grad()
    l.backward()
    o.step()

with torch.no_grad():
    print(m.decode(torch.randn(2, 4)).shape)
