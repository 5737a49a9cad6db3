# A skeleton of tv/deeplabv3_mobilenet_v3_large, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, torchvision 0.28.0+cu130.
# Use: model = DeepLabV3(); model.load_state_dict(original.state_dict())
# Verification: bit-equal on the recorded input, other data, other batch sizes, other lengths, train mode, gradients

from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn


class Conv2dNormActivation(nn.Sequential):
    def __init__(self, in_channels, out_channels, kernel_size=1, stride=1, padding=0, dilation=1, groups=1, layer=None):
        super().__init__(
            nn.Conv2d(
                in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation,
                groups=groups, bias=False,
            ),
            nn.BatchNorm2d(out_channels, eps=0.001, momentum=0.01),
            *([layer] if layer is not None else []),
        )


class InvertedResidual(nn.Module):
    def __init__(self, block, use_res_connect=True):
        super().__init__()
        self.block = nn.Sequential(*block)
        self.use_res_connect = use_res_connect

    def forward(self, input):
        result = self.block(input)
        if self.use_res_connect:
            result += input
        return result


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


class IntermediateLayerGetter(nn.ModuleDict):
    def __init__(self):
        super().__init__({
            "0": Conv2dNormActivation(3, 16, kernel_size=3, stride=2, padding=1, layer=nn.Hardswish(inplace=True)),
            "1": InvertedResidual([
                Conv2dNormActivation(16, 16, kernel_size=3, padding=1, groups=16, layer=nn.ReLU(inplace=True)),
                Conv2dNormActivation(16, 16),
            ]),
            "2": InvertedResidual(
                [
                    Conv2dNormActivation(16, 64, layer=nn.ReLU(inplace=True)),
                    Conv2dNormActivation(
                        64, 64, kernel_size=3, stride=2, padding=1, groups=64, layer=nn.ReLU(inplace=True)
                    ),
                    Conv2dNormActivation(64, 24),
                ],
                use_res_connect=False,
            ),
            "3": InvertedResidual([
                Conv2dNormActivation(24, 72, layer=nn.ReLU(inplace=True)),
                Conv2dNormActivation(72, 72, kernel_size=3, padding=1, groups=72, layer=nn.ReLU(inplace=True)),
                Conv2dNormActivation(72, 24),
            ]),
            "4": InvertedResidual(
                [
                    Conv2dNormActivation(24, 72, layer=nn.ReLU(inplace=True)),
                    Conv2dNormActivation(
                        72, 72, kernel_size=5, stride=2, padding=2, groups=72, layer=nn.ReLU(inplace=True)
                    ),
                    SqueezeExcitation(72, 24),
                    Conv2dNormActivation(72, 40),
                ],
                use_res_connect=False,
            ),
            "5": InvertedResidual([
                Conv2dNormActivation(40, 120, layer=nn.ReLU(inplace=True)),
                Conv2dNormActivation(120, 120, kernel_size=5, padding=2, groups=120, layer=nn.ReLU(inplace=True)),
                SqueezeExcitation(120, 32),
                Conv2dNormActivation(120, 40),
            ]),
            "6": InvertedResidual([
                Conv2dNormActivation(40, 120, layer=nn.ReLU(inplace=True)),
                Conv2dNormActivation(120, 120, kernel_size=5, padding=2, groups=120, layer=nn.ReLU(inplace=True)),
                SqueezeExcitation(120, 32),
                Conv2dNormActivation(120, 40),
            ]),
            "7": InvertedResidual(
                [
                    Conv2dNormActivation(40, 240, layer=nn.Hardswish(inplace=True)),
                    Conv2dNormActivation(
                        240, 240, kernel_size=3, stride=2, padding=1, groups=240, layer=nn.Hardswish(inplace=True)
                    ),
                    Conv2dNormActivation(240, 80),
                ],
                use_res_connect=False,
            ),
            "8": InvertedResidual([
                Conv2dNormActivation(80, 200, layer=nn.Hardswish(inplace=True)),
                Conv2dNormActivation(200, 200, kernel_size=3, padding=1, groups=200, layer=nn.Hardswish(inplace=True)),
                Conv2dNormActivation(200, 80),
            ]),
            "9": InvertedResidual([
                Conv2dNormActivation(80, 184, layer=nn.Hardswish(inplace=True)),
                Conv2dNormActivation(184, 184, kernel_size=3, padding=1, groups=184, layer=nn.Hardswish(inplace=True)),
                Conv2dNormActivation(184, 80),
            ]),
            "10": InvertedResidual([
                Conv2dNormActivation(80, 184, layer=nn.Hardswish(inplace=True)),
                Conv2dNormActivation(184, 184, kernel_size=3, padding=1, groups=184, layer=nn.Hardswish(inplace=True)),
                Conv2dNormActivation(184, 80),
            ]),
            "11": InvertedResidual(
                [
                    Conv2dNormActivation(80, 480, layer=nn.Hardswish(inplace=True)),
                    Conv2dNormActivation(
                        480, 480, kernel_size=3, padding=1, groups=480, layer=nn.Hardswish(inplace=True)
                    ),
                    SqueezeExcitation(480, 120),
                    Conv2dNormActivation(480, 112),
                ],
                use_res_connect=False,
            ),
            "12": InvertedResidual([
                Conv2dNormActivation(112, 672, layer=nn.Hardswish(inplace=True)),
                Conv2dNormActivation(672, 672, kernel_size=3, padding=1, groups=672, layer=nn.Hardswish(inplace=True)),
                SqueezeExcitation(672, 168),
                Conv2dNormActivation(672, 112),
            ]),
            "13": InvertedResidual(
                [
                    Conv2dNormActivation(112, 672, layer=nn.Hardswish(inplace=True)),
                    Conv2dNormActivation(
                        672, 672, kernel_size=5, padding=4, dilation=2, groups=672, layer=nn.Hardswish(inplace=True)
                    ),
                    SqueezeExcitation(672, 168),
                    Conv2dNormActivation(672, 160),
                ],
                use_res_connect=False,
            ),
            "14": InvertedResidual([
                Conv2dNormActivation(160, 960, layer=nn.Hardswish(inplace=True)),
                Conv2dNormActivation(
                    960, 960, kernel_size=5, padding=4, dilation=2, groups=960, layer=nn.Hardswish(inplace=True)
                ),
                SqueezeExcitation(960, 240),
                Conv2dNormActivation(960, 160),
            ]),
            "15": InvertedResidual([
                Conv2dNormActivation(160, 960, layer=nn.Hardswish(inplace=True)),
                Conv2dNormActivation(
                    960, 960, kernel_size=5, padding=4, dilation=2, groups=960, layer=nn.Hardswish(inplace=True)
                ),
                SqueezeExcitation(960, 240),
                Conv2dNormActivation(960, 160),
            ]),
            "16": Conv2dNormActivation(160, 960, layer=nn.Hardswish(inplace=True)),
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
    def __init__(self, padding):
        super().__init__(
            nn.Conv2d(960, 256, 3, padding=padding, dilation=padding, bias=False), nn.BatchNorm2d(256), nn.ReLU()
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
