import torch, torch.nn as nn, torch.nn.functional as F
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 16)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(16, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


p = Policy()
s = torch.randn(1, 4)

for _ in range(3):
    m = Categorical(p(s))
    a = m.sample()
    p.saved_log_probs.append(m.log_prob(a))
    p.rewards.append(1.0)

loss = torch.cat([-l * r for l, r in zip(p.saved_log_probs, p.rewards)]).sum()
loss.backward()
print("ok")
