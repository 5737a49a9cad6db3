# A skeleton of tv/efficientnet_v2_s, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, torchvision 0.28.0+cu130.
# Use: model = EfficientNet(); model.load_state_dict(original.state_dict())
# Load weights before training: the author's initialisation is not in this file.
# Verification: bit-equal on the recorded input; eval mode: other lengths (2x3x96x128, 2x3x128x96), other data, other
#   batch sizes (3x3x64x64, 5x3x64x64, 1x3x64x64), a second call, other weights, float64; eval mode, gradients: the
#   recorded input; train mode, gradients: the recorded input, other batch sizes (3x3x64x64), other lengths
#   (2x3x96x128); new tensors are put where the original puts them

import torch
from torch import nn


class Conv2dNormActivation(nn.Sequential):
    def __init__(self, in_channels, out_channels, kernel_size=1, stride=1, groups=1, with_silu=True):
        super().__init__(
            nn.Conv2d(
                in_channels, out_channels, kernel_size, stride=stride, padding=kernel_size // 2, groups=groups,
                bias=False,
            ),
            nn.BatchNorm2d(out_channels, eps=0.001),
            *([nn.SiLU(inplace=True)] if with_silu else []),
        )


def stochastic_depth(input, p, training):
    if not training or p == 0.0:
        return input
    survival_rate = 1.0 - p
    size = [input.shape[0]] + [1] * 3
    noise = torch.empty(size, dtype=input.dtype, device=input.device).bernoulli_(survival_rate)
    noise.div_(survival_rate)
    return input * noise


class StochasticDepth(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, input):
        return stochastic_depth(input, self.p, self.training)


class FusedMBConv(nn.Module):
    def __init__(self, block_in_channels, in_channels, out_channels, stochastic_depth_prob, stride=1, kernel_size=1):
        super().__init__()
        self.block = nn.Sequential(
            *(
                [Conv2dNormActivation(block_in_channels, in_channels, kernel_size=3, stride=stride)]
                if block_in_channels != in_channels
                else []
            ),
            Conv2dNormActivation(
                in_channels, out_channels, kernel_size=kernel_size, with_silu=block_in_channels == in_channels
            ),
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob)
        self.use_res_connect = block_in_channels == out_channels

    def forward(self, input):
        result = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


class SqueezeExcitation(nn.Module):
    def __init__(self, input_channels, squeeze_channels):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = nn.SiLU(inplace=True)
        self.scale_activation = nn.Sigmoid()

    def _scale(self, input):
        scale = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(scale))

    def forward(self, input):
        return self._scale(input) * input


class MBConv(nn.Module):
    def __init__(self, input_channels, expanded_channels, out_channels, stochastic_depth_prob, stride=1):
        super().__init__()
        self.block = nn.Sequential(
            Conv2dNormActivation(input_channels, expanded_channels),
            Conv2dNormActivation(
                expanded_channels, expanded_channels, kernel_size=3, stride=stride, groups=expanded_channels
            ),
            SqueezeExcitation(expanded_channels, input_channels // 4),
            Conv2dNormActivation(expanded_channels, out_channels, with_silu=False),
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob)
        self.use_res_connect = input_channels == out_channels

    def forward(self, input):
        result = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


class EfficientNet(nn.Module):
    def __init__(self):
        super().__init__()
        rates = [0.2 * i / 40 for i in range(41)]
        self.features = nn.Sequential(
            Conv2dNormActivation(3, 24, kernel_size=3, stride=2),
            nn.Sequential(
                FusedMBConv(24, 24, 24, stochastic_depth_prob=rates[0], kernel_size=3),
                FusedMBConv(24, 24, 24, stochastic_depth_prob=rates[1], kernel_size=3),
            ),
            nn.Sequential(
                FusedMBConv(24, 96, 48, stochastic_depth_prob=rates[2], stride=2),
                *[FusedMBConv(48, 192, 48, stochastic_depth_prob=rate) for rate in rates[3:6]],
            ),
            nn.Sequential(
                FusedMBConv(48, 192, 64, stochastic_depth_prob=rates[6], stride=2),
                *[FusedMBConv(64, 256, 64, stochastic_depth_prob=rate) for rate in rates[7:10]],
            ),
            nn.Sequential(
                MBConv(64, 256, 128, stochastic_depth_prob=rates[10], stride=2),
                *[MBConv(128, 512, 128, stochastic_depth_prob=rate) for rate in rates[11:16]],
            ),
            nn.Sequential(
                MBConv(128, 768, 160, stochastic_depth_prob=rates[16]),
                *[MBConv(160, 960, 160, stochastic_depth_prob=rate) for rate in rates[17:25]],
            ),
            nn.Sequential(
                MBConv(160, 960, 256, stochastic_depth_prob=rates[25], stride=2),
                *[MBConv(256, 1536, 256, stochastic_depth_prob=rate) for rate in rates[26:40]],
            ),
            Conv2dNormActivation(256, 1280),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(0.2, inplace=True), nn.Linear(1280, 1000))

    def forward(self, x):
        assert x.ndim == 4, "not recorded with this number of dimensions"
        x = torch.flatten(self.avgpool(self.features(x)), 1)
        return self.classifier(x)
# pellucid: {"asserted":[],"failed":{},"given":{"x":"float32[2, 3, 64, 64]"},"lenient":[],"not_compared":{},"root":"EfficientNet","runs":[{"compared":["result","generators","buffers"],"grad":false,"inputs":{"x":"float32[2, 3, 64, 64]"},"mode":"eval","name":"recorded","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[2, 3, 96, 128]"},"mode":"eval","name":"other length 1","status":"passed"},{"compared":["events"],"grad":false,"mode":"eval","name":"events","status":"passed"},{"compared":["result","generators","gradients"],"grad":true,"mode":"eval","name":"gradients enabled","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 1","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"other data 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 3","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[3, 3, 64, 64]"},"mode":"eval","name":"other batch 1","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[5, 3, 64, 64]"},"mode":"eval","name":"other batch 2","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[2, 3, 128, 96]"},"mode":"eval","name":"other length 2","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"other batch 3","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"mode":"train","name":"train","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"x":"float32[3, 3, 64, 64]"},"mode":"train","name":"train: other batch","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"x":"float32[2, 3, 96, 128]"},"mode":"train","name":"train: other length","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 1","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 3","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 4","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 5","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 6","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 7","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 8","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 9","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 10","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 11","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"train","name":"other draw 12","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"called","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"called again","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"other weights","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float64[1, 3, 64, 64]"},"mode":"eval","name":"float64","status":"passed"}],"verify":"default"}
