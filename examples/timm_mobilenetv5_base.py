# A skeleton of timm/mobilenetv5_base, made by pellucid with Python 3.11.7, timm 1.0.30, torch 2.13.0+cpu.
# Use: model = MobileNetV5(); model.load_state_dict(original.state_dict())
# Verification: bit-equal on the recorded input, other data, other batch sizes, other lengths, train mode, gradients

import collections

import torch
import torch.nn.functional as F
from torch import nn


def rms_norm2d(x, weight):
    v = torch.mean(x.pow(2), dim=1, keepdim=True)
    x = x * torch.rsqrt(v + 1e-6)
    return x * weight.reshape(1, -1, 1, 1)


class RmsNormAct2d(nn.Module):
    def __init__(self, dim, act):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim))
        self.act = act

    def forward(self, x):
        return self.act(rms_norm2d(x, self.weight))


class ConvNormAct(nn.Module):
    def __init__(self, in_channels, out_channels, act, kernel_size=1, stride=1, padding=0, groups=1, bias=False):
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, groups=groups, bias=bias
        )
        self.bn = RmsNormAct2d(out_channels, act)

    def forward(self, x):
        return self.bn(self.conv(x))


class EdgeResidual(nn.Module):
    def __init__(self, in_channels=128, stride=1, has_skip=True):
        super().__init__()
        self.conv_exp = nn.Conv2d(in_channels, 4 * in_channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = RmsNormAct2d(4 * in_channels, nn.GELU(approximate="tanh"))
        self.conv_pwl = nn.Conv2d(4 * in_channels, 128, 1, bias=False)
        self.bn2 = RmsNormAct2d(128, nn.Identity())
        self.has_skip = has_skip

    def forward(self, x):
        shortcut = x
        x = self.conv_pwl(self.bn1(self.conv_exp(x)))
        x = self.bn2(x)
        if self.has_skip:
            x = x + shortcut
        return x


class UniversalInvertedResidual(nn.Module):
    def __init__(self, dw_start, in_channels, out_channels, dw_mid, pw_proj_out_channels, layer_scale, has_skip=True):
        super().__init__()
        self.dw_start = dw_start
        self.pw_exp = ConvNormAct(in_channels, out_channels, nn.GELU(approximate="tanh"))
        self.dw_mid = dw_mid
        self.pw_proj = ConvNormAct(out_channels, pw_proj_out_channels, nn.Identity())
        self.layer_scale = layer_scale
        self.has_skip = has_skip

    def forward(self, x):
        shortcut = x
        x = self.dw_mid(self.pw_exp(self.dw_start(x)))
        x = self.layer_scale(self.pw_proj(x))
        if self.has_skip:
            x = x + shortcut
        return x


class LayerScale2d(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.empty(dim))

    def forward(self, x):
        return x * self.gamma.view(1, -1, 1, 1)


class MultiQueryAttention2d(nn.Module):
    def __init__(self, in_channels=1024, num_heads=16):
        super().__init__()
        self.query = nn.Sequential(collections.OrderedDict({
            "proj": nn.Conv2d(in_channels, in_channels, 1, bias=False)
        }))
        self.key = nn.Sequential(collections.OrderedDict({"proj": nn.Conv2d(in_channels, 64, 1, bias=False)}))
        self.value = nn.Sequential(collections.OrderedDict({"proj": nn.Conv2d(in_channels, 64, 1, bias=False)}))
        self.output = nn.Sequential(collections.OrderedDict({
            "proj": nn.Conv2d(in_channels, in_channels, 1, bias=False),
            "drop": nn.Dropout(p=0.0),
        }))
        self.num_heads = num_heads

    def _reshape_input(self, t):
        s = t.shape
        return t.reshape(s[0], s[1], -1).transpose(1, 2).unsqueeze(1).contiguous()

    def _reshape_projected_query(self, t, num_heads):
        s = t.shape
        return t.reshape(s[0], num_heads, 64, -1).transpose(-1, -2).contiguous()

    def _reshape_output(self, t, num_heads, h_px, w_px):
        s = t.shape
        feat_dim = s[-1] * num_heads
        return t.transpose(1, 2).reshape(s[0], h_px, w_px, feat_dim).permute(0, 3, 1, 2).contiguous()

    def forward(self, x):
        _, _, H, W = x.shape
        q = self._reshape_projected_query(self.query(x), self.num_heads)
        k = self._reshape_input(self.key(x))
        v = self._reshape_input(self.value(x))
        o = self._reshape_output(F.scaled_dot_product_attention(q, k, v), self.num_heads, H, W)
        return self.output(o)


class MobileAttention(nn.Module):
    def __init__(self, dim=1024, num_heads=16):
        super().__init__()
        self.norm = RmsNormAct2d(dim, nn.Identity())
        self.attn = MultiQueryAttention2d(in_channels=dim, num_heads=num_heads)
        self.layer_scale = LayerScale2d(dim)

    def forward(self, x):
        return self.layer_scale(self.attn(self.norm(x))) + x


class RmsNorm2d(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2048))

    def forward(self, x):
        return rms_norm2d(x, self.weight)


class MobileNetV5MultiScaleFusionAdapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.ffn = UniversalInvertedResidual(
            nn.Identity(),
            1536,
            3072,
            dw_mid=nn.Identity(),
            pw_proj_out_channels=2048,
            layer_scale=nn.Identity(),
            has_skip=False,
        )
        self.norm = RmsNorm2d()

    def forward(self, inputs):
        high_resolution = inputs[0].shape[-2:]
        resized_inputs = []
        for img in inputs:
            feat_size = img.shape[-2:]
            if feat_size[0] < high_resolution[0] or feat_size[1] < high_resolution[1]:
                img = F.interpolate(img, size=high_resolution, mode="nearest")
            resized_inputs.append(img)
        channel_cat_imgs = torch.cat(resized_inputs, dim=1)
        img = self.ffn(channel_cat_imgs)
        assert high_resolution[0] != 16 and high_resolution[0] % 16 != 0, "path not recorded"
        return self.norm(F.interpolate(img, size=(16, 16), mode="bilinear"))


class SelectAdaptivePool2d(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        return self.pool(x)


class Linear(nn.Linear):
    def __init__(self):
        super().__init__(2048, 1000)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)


class MobileNetV5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_stem = ConvNormAct(3, 64, nn.GELU(approximate="tanh"), kernel_size=3, stride=2, padding=1, bias=True)
        self.blocks = nn.Sequential(
            nn.Sequential(EdgeResidual(in_channels=64, stride=2, has_skip=False), EdgeResidual(), EdgeResidual()),
            nn.Sequential(
                UniversalInvertedResidual(
                    ConvNormAct(128, 128, nn.Identity(), kernel_size=3, padding=1, groups=128),
                    128,
                    768,
                    dw_mid=ConvNormAct(
                        768, 768, nn.GELU(approximate="tanh"), kernel_size=5, stride=2, padding=2, groups=768
                    ),
                    pw_proj_out_channels=256,
                    layer_scale=LayerScale2d(256),
                    has_skip=False,
                ),
                UniversalInvertedResidual(
                    ConvNormAct(256, 256, nn.Identity(), kernel_size=5, padding=2, groups=256),
                    256,
                    1024,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=256,
                    layer_scale=LayerScale2d(256),
                ),
                UniversalInvertedResidual(
                    ConvNormAct(256, 256, nn.Identity(), kernel_size=3, padding=1, groups=256),
                    256,
                    1024,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=256,
                    layer_scale=LayerScale2d(256),
                ),
                UniversalInvertedResidual(
                    ConvNormAct(256, 256, nn.Identity(), kernel_size=5, padding=2, groups=256),
                    256,
                    1024,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=256,
                    layer_scale=LayerScale2d(256),
                ),
                UniversalInvertedResidual(
                    ConvNormAct(256, 256, nn.Identity(), kernel_size=3, padding=1, groups=256),
                    256,
                    1024,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=256,
                    layer_scale=LayerScale2d(256),
                ),
            ),
            nn.Sequential(
                UniversalInvertedResidual(
                    ConvNormAct(256, 256, nn.Identity(), kernel_size=5, padding=2, groups=256),
                    256,
                    1536,
                    dw_mid=ConvNormAct(
                        1536, 1536, nn.GELU(approximate="tanh"), kernel_size=5, stride=2, padding=2, groups=1536
                    ),
                    pw_proj_out_channels=512,
                    layer_scale=LayerScale2d(512),
                    has_skip=False,
                ),
                UniversalInvertedResidual(
                    ConvNormAct(512, 512, nn.Identity(), kernel_size=5, padding=2, groups=512),
                    512,
                    2048,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=512,
                    layer_scale=LayerScale2d(512),
                ),
                UniversalInvertedResidual(
                    ConvNormAct(512, 512, nn.Identity(), kernel_size=5, padding=2, groups=512),
                    512,
                    2048,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=512,
                    layer_scale=LayerScale2d(512),
                ),
                UniversalInvertedResidual(
                    nn.Identity(),
                    512,
                    512,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=512,
                    layer_scale=LayerScale2d(512),
                ),
                MobileAttention(dim=512, num_heads=8),
                UniversalInvertedResidual(
                    nn.Identity(),
                    512,
                    1024,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=512,
                    layer_scale=LayerScale2d(512),
                ),
                MobileAttention(dim=512, num_heads=8),
                UniversalInvertedResidual(
                    nn.Identity(),
                    512,
                    1024,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=512,
                    layer_scale=LayerScale2d(512),
                ),
                MobileAttention(dim=512, num_heads=8),
                UniversalInvertedResidual(
                    nn.Identity(),
                    512,
                    1024,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=512,
                    layer_scale=LayerScale2d(512),
                ),
                MobileAttention(dim=512, num_heads=8),
                UniversalInvertedResidual(
                    nn.Identity(),
                    512,
                    1024,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=512,
                    layer_scale=LayerScale2d(512),
                ),
                MobileAttention(dim=512, num_heads=8),
                UniversalInvertedResidual(
                    nn.Identity(),
                    512,
                    1024,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=512,
                    layer_scale=LayerScale2d(512),
                ),
                MobileAttention(dim=512, num_heads=8),
                UniversalInvertedResidual(
                    nn.Identity(),
                    512,
                    1024,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=512,
                    layer_scale=LayerScale2d(512),
                ),
            ),
            nn.Sequential(
                UniversalInvertedResidual(
                    ConvNormAct(512, 512, nn.Identity(), kernel_size=5, padding=2, groups=512),
                    512,
                    3072,
                    dw_mid=ConvNormAct(
                        3072, 3072, nn.GELU(approximate="tanh"), kernel_size=5, stride=2, padding=2, groups=3072
                    ),
                    pw_proj_out_channels=1024,
                    layer_scale=LayerScale2d(1024),
                    has_skip=False,
                ),
                MobileAttention(),
                UniversalInvertedResidual(
                    nn.Identity(),
                    1024,
                    2048,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=1024,
                    layer_scale=LayerScale2d(1024),
                ),
                MobileAttention(),
                UniversalInvertedResidual(
                    nn.Identity(),
                    1024,
                    2048,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=1024,
                    layer_scale=LayerScale2d(1024),
                ),
                MobileAttention(),
                UniversalInvertedResidual(
                    nn.Identity(),
                    1024,
                    2048,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=1024,
                    layer_scale=LayerScale2d(1024),
                ),
                MobileAttention(),
                UniversalInvertedResidual(
                    nn.Identity(),
                    1024,
                    2048,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=1024,
                    layer_scale=LayerScale2d(1024),
                ),
                MobileAttention(),
                UniversalInvertedResidual(
                    nn.Identity(),
                    1024,
                    2048,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=1024,
                    layer_scale=LayerScale2d(1024),
                ),
                MobileAttention(),
                UniversalInvertedResidual(
                    nn.Identity(),
                    1024,
                    2048,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=1024,
                    layer_scale=LayerScale2d(1024),
                ),
                MobileAttention(),
                UniversalInvertedResidual(
                    nn.Identity(),
                    1024,
                    2048,
                    dw_mid=nn.Identity(),
                    pw_proj_out_channels=1024,
                    layer_scale=LayerScale2d(1024),
                ),
            ),
        )
        self.msfa = MobileNetV5MultiScaleFusionAdapter()
        self.global_pool = SelectAdaptivePool2d()
        self.flatten = nn.Flatten()
        self.classifier = Linear()
        self.msfa_indices = [3, 4]

    def forward_features(self, x):
        feat_idx = 0
        intermediates = []
        x = self.conv_stem(x)
        for blk in self.blocks:
            feat_idx += 1
            x = blk(x)
            if feat_idx in self.msfa_indices:
                intermediates.append(x)
        return self.msfa(intermediates)

    def forward_head(self, x):
        return self.classifier(self.flatten(self.global_pool(x)))

    def forward(self, x):
        return self.forward_head(self.forward_features(x))
