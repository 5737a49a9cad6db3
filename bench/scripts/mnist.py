import torch, torch.nn as nn, torch.nn.functional as F, torch.optim as optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(2304, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout2(x)
        return F.log_softmax(self.fc2(x), dim=1)


def train(model, loader, opt):
    model.train()
    for data, target in loader:
        opt.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        opt.step()


def test(model, loader):
    model.eval()
    n = 0
    with torch.no_grad():
        for d, t in loader:
            n += (model(d).argmax(1) == t).sum().item()
    print("correct", n)


def main():
    loader = [(torch.randn(4, 1, 28, 28), torch.randint(0, 10, (4,))) for _ in range(2)]
    m = Net()
    train(m, loader, optim.Adadelta(m.parameters(), lr=1.0))
    test(m, loader)
    torch.save(m.state_dict(), "/dev/null")


if __name__ == "__main__":
    main()
