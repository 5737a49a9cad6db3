import torch, torch.nn as nn


class G(nn.Module):
    def __init__(s):
        super().__init__()
        s.main = nn.Sequential(
            nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(True),
            nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(s, x):
        return s.main(x)


class D(nn.Module):
    def __init__(s):
        super().__init__()
        s.main = nn.Sequential(
            nn.Conv2d(3, 16, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(16, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(s, x):
        return s.main(x).view(-1, 1).squeeze(1)


g, d = G(), D()
c = nn.BCELoss()

for _ in range(2):
    d.zero_grad()
    real = torch.randn(4, 3, 8, 8)
    lab = torch.ones(4)
    c(d(real), lab).backward()
    f = g(torch.randn(4, 8, 1, 1))
    c(d(f.detach()), lab * 0).backward()
    g.zero_grad()
    c(d(f), lab).backward()

print("ok")
