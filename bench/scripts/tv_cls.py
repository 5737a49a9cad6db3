import torch, torchvision

m = torchvision.models.mobilenet_v3_small(num_classes=5).eval()

with torch.no_grad():
    print(m(torch.randn(1, 3, 64, 64)).softmax(1).argmax())
