import torch, torch.nn as nn


class MLP(nn.Module):
    def __init__(s):
        super().__init__()
        s.net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2))

    def forward(s, x):
        return s.net(x)


m = torch.compile(MLP(), backend="eager")
print(m(torch.randn(3, 8)).shape)
