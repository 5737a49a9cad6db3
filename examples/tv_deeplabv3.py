# A skeleton of tv/deeplabv3_mobilenet_v3_large, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, torchvision 0.28.0+cu130.
# Use: model = DeepLabV3(); model.load_state_dict(original.state_dict())
# Verification: bit-equal on the recorded input, other data, other batch sizes, other lengths, train mode, gradients

from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn


class Conv2dNormActivation(nn.Sequential):
    def __init__(self, in_channels, out_channels, kernel_size=1, stride=1, dilation=1, groups=1, activation_layer=None):
        super().__init__(
            nn.Conv2d(
                in_channels, out_channels, kernel_size, stride=stride, padding=kernel_size // 2 * dilation,
                dilation=dilation, groups=groups, bias=False,
            ),
            nn.BatchNorm2d(out_channels, eps=0.001, momentum=0.01),
            *([activation_layer(inplace=True)] if activation_layer is not None else []),
        )


class SqueezeExcitation(nn.Module):
    def __init__(self, input_channels, squeeze_channels):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = nn.ReLU()
        self.scale_activation = nn.Hardsigmoid()

    def _scale(self, input):
        scale = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(scale))

    def forward(self, input):
        return self._scale(input) * input


class InvertedResidual(nn.Module):
    def __init__(
        self, input_channels, expanded_channels, out_channels, activation_layer=nn.Hardswish, kernel=3, stride=1,
        dilation=1, squeeze_channels=None,
    ):
        super().__init__()
        self.block = nn.Sequential(
            *(
                [Conv2dNormActivation(input_channels, expanded_channels, activation_layer=activation_layer)]
                if input_channels != expanded_channels
                else []
            ),
            Conv2dNormActivation(
                expanded_channels, expanded_channels, kernel_size=kernel, stride=stride, dilation=dilation,
                groups=expanded_channels, activation_layer=activation_layer,
            ),
            *([SqueezeExcitation(expanded_channels, squeeze_channels)] if squeeze_channels is not None else []),
            Conv2dNormActivation(expanded_channels, out_channels),
        )
        self.use_res_connect = input_channels == out_channels

    def forward(self, input):
        result = self.block(input)
        if self.use_res_connect:
            result += input
        return result


class IntermediateLayerGetter(nn.ModuleDict):
    def __init__(self):
        super().__init__({
            "0": Conv2dNormActivation(3, 16, kernel_size=3, stride=2, activation_layer=nn.Hardswish),
            "1": InvertedResidual(16, 16, 16, activation_layer=nn.ReLU),
            "2": InvertedResidual(16, 64, 24, activation_layer=nn.ReLU, stride=2),
            "3": InvertedResidual(24, 72, 24, activation_layer=nn.ReLU),
            "4": InvertedResidual(24, 72, 40, activation_layer=nn.ReLU, kernel=5, stride=2, squeeze_channels=24),
            "5": InvertedResidual(40, 120, 40, activation_layer=nn.ReLU, kernel=5, squeeze_channels=32),
            "6": InvertedResidual(40, 120, 40, activation_layer=nn.ReLU, kernel=5, squeeze_channels=32),
            "7": InvertedResidual(40, 240, 80, stride=2),
            "8": InvertedResidual(80, 200, 80),
            "9": InvertedResidual(80, 184, 80),
            "10": InvertedResidual(80, 184, 80),
            "11": InvertedResidual(80, 480, 112, squeeze_channels=120),
            "12": InvertedResidual(112, 672, 112, squeeze_channels=168),
            "13": InvertedResidual(112, 672, 160, kernel=5, dilation=2, squeeze_channels=168),
            "14": InvertedResidual(160, 960, 160, kernel=5, dilation=2, squeeze_channels=240),
            "15": InvertedResidual(160, 960, 160, kernel=5, dilation=2, squeeze_channels=240),
            "16": Conv2dNormActivation(160, 960, activation_layer=nn.Hardswish),
        })
        self.return_layers = {"16": "out"}

    def forward(self, x):
        out = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                out["out"] = x
        return out


class ASPPConv(nn.Sequential):
    def __init__(self, dilation):
        super().__init__(
            nn.Conv2d(960, 256, 3, padding=dilation, dilation=dilation, bias=False), nn.BatchNorm2d(256), nn.ReLU()
        )


class ASPPPooling(nn.Sequential):
    def __init__(self):
        super().__init__(nn.AdaptiveAvgPool2d(1), nn.Conv2d(960, 256, 1, bias=False), nn.BatchNorm2d(256), nn.ReLU())

    def forward(self, x):
        size = x.shape[-2:]
        for mod in self:
            x = mod(x)
        return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


class ASPP(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([
            nn.Sequential(nn.Conv2d(960, 256, 1, bias=False), nn.BatchNorm2d(256), nn.ReLU()),
            ASPPConv(12),
            ASPPConv(24),
            ASPPConv(36),
            ASPPPooling(),
        ])
        self.project = nn.Sequential(nn.Conv2d(1280, 256, 1, bias=False), nn.BatchNorm2d(256), nn.ReLU(), nn.Dropout())

    def forward(self, x):
        _res = []
        for conv in self.convs:
            _res.append(conv(x))
        return self.project(torch.cat(_res, dim=1))


class DeepLabHead(nn.Sequential):
    def __init__(self):
        super().__init__(
            ASPP(), nn.Conv2d(256, 256, 3, padding=1, bias=False), nn.BatchNorm2d(256), nn.ReLU(), nn.Conv2d(256, 21, 1)
        )


class DeepLabV3(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = IntermediateLayerGetter()
        self.classifier = DeepLabHead()

    def forward(self, x):
        input_shape = x.shape[-2:]
        features = self.backbone(x)
        result = OrderedDict()
        x = self.classifier(features["out"])
        x = F.interpolate(x, size=input_shape, mode="bilinear", align_corners=False)
        result["out"] = x
        return result
