# A skeleton of tv/resnet50, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, torchvision 0.28.0+cu130.
# Use: model = ResNet(); model.load_state_dict(original.state_dict())
# Load weights before training: the author's initialisation is not in this file.
# Verification: bit-equal on the recorded input; eval mode: other lengths (2x3x96x128, 2x3x128x96), other data, other
#   batch sizes (3x3x64x64, 5x3x64x64, 1x3x64x64), a second call, other weights, float64; eval mode, gradients: the
#   recorded input; train mode, gradients: the recorded input, other batch sizes (3x3x64x64), other lengths
#   (2x3x96x128); new tensors are put where the original puts them

import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, inplanes, width, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = (
            nn.Sequential(nn.Conv2d(inplanes, 4 * width, 1, stride=stride, bias=False), nn.BatchNorm2d(4 * width))
            if inplanes != 4 * width
            else None
        )

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = nn.Sequential(Bottleneck(64, 64), Bottleneck(256, 64), Bottleneck(256, 64))
        self.layer2 = nn.Sequential(Bottleneck(256, 128, stride=2), *[Bottleneck(512, 128) for _ in range(3)])
        self.layer3 = nn.Sequential(Bottleneck(512, 256, stride=2), *[Bottleneck(1024, 256) for _ in range(5)])
        self.layer4 = nn.Sequential(Bottleneck(1024, 512, stride=2), Bottleneck(2048, 512), Bottleneck(2048, 512))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(2048, 1000)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer2(self.layer1(self.maxpool(x)))
        x = self.avgpool(self.layer4(self.layer3(x)))
        return self.fc(torch.flatten(x, 1))
# pellucid: {"asserted":[],"failed":{},"given":{"x":"float32[2, 3, 64, 64]"},"lenient":[],"not_compared":{},"root":"ResNet","runs":[{"compared":["result","generators","buffers"],"grad":false,"inputs":{"x":"float32[2, 3, 64, 64]"},"mode":"eval","name":"recorded","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[2, 3, 96, 128]"},"mode":"eval","name":"other length 1","status":"passed"},{"compared":["events"],"grad":false,"mode":"eval","name":"events","status":"passed"},{"compared":["result","generators","gradients"],"grad":true,"mode":"eval","name":"gradients enabled","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 1","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"other data 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 3","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[3, 3, 64, 64]"},"mode":"eval","name":"other batch 1","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[5, 3, 64, 64]"},"mode":"eval","name":"other batch 2","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[2, 3, 128, 96]"},"mode":"eval","name":"other length 2","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"other batch 3","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"mode":"train","name":"train","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"x":"float32[3, 3, 64, 64]"},"mode":"train","name":"train: other batch","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"x":"float32[2, 3, 96, 128]"},"mode":"train","name":"train: other length","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"called","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"called again","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"other weights","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float64[1, 3, 64, 64]"},"mode":"eval","name":"float64","status":"passed"}],"verify":"default"}
