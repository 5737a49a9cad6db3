# A skeleton of timm/swinv2_tiny_window16_256, made by pellucid.
# Recorded with Python 3.11.7, torch 2.13.0+cpu, torchvision 0.28.0+cu130, timm 1.0.30, transformers 5.22.2, numpy 2.4.6.
#
#     model = SwinTransformerV2()
#     model.load_state_dict(original.state_dict())
#
# Verification: bit-equal on recorded, recorded: buffers, gradients enabled, gradients, other data,
#   other batch, train, train: buffers, train: gradients
# 6 constant tensors without a formula stand at the end of the file.

import base64
import zlib

import torch
import torch.nn.functional as F
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Conv2d(3, 96, 4, stride=4)
        self.norm = nn.LayerNorm(96)

    def forward(self, x):
        _, _, H, W = x.shape
        torch._assert(H == 256, f"Input height ({H}) doesn't match model ({256}).")
        torch._assert(W == 256, f"Input width ({W}) doesn't match model ({256}).")
        x = self.proj(x)
        x = x.permute(0, 2, 3, 1)
        return self.norm(x)


class SwinTransformerV2Stage(nn.Module):
    def __init__(self, downsample, blocks):
        super().__init__()
        self.downsample = downsample
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x):
        x = self.downsample(x)
        for blk in self.blocks:
            x = blk(x)
        return x


class WindowAttention(nn.Module):
    def __init__(
        self,
        num_heads,
        window_size,
        relative_coords_table="relative_coords_table_2",
        relative_position_index="relative_position_index_3",
    ):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.empty(num_heads, 1, 1))
        self.q_bias = nn.Parameter(torch.empty(32 * num_heads))
        self.v_bias = nn.Parameter(torch.empty(32 * num_heads))
        self.register_buffer("k_bias", torch.zeros(32 * num_heads), persistent=False)
        self.register_buffer(
            "relative_coords_table", _embedded(relative_coords_table), persistent=False
        )
        self.register_buffer(
            "relative_position_index", _embedded(relative_position_index), persistent=False
        )
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False)
        )
        self.qkv = nn.Linear(32 * num_heads, 96 * num_heads, bias=False)
        self.attn_drop = nn.Dropout(p=0.0)
        self.proj = nn.Linear(32 * num_heads, 32 * num_heads)
        self.proj_drop = nn.Dropout(p=0.0)
        self.softmax = nn.Softmax(dim=-1)
        self.num_heads = num_heads
        self.window_size = window_size

    def forward(self, x, mask):
        B_, N, C = x.shape
        qkv_bias = torch.cat((self.q_bias, self.k_bias, self.v_bias))
        qkv = F.linear(x, weight=self.qkv.weight, bias=qkv_bias)
        qkv = qkv.reshape(B_, N, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        logit_scale = torch.clamp(self.logit_scale, max=4.605170185988092).exp()
        attn = attn * logit_scale
        relative_position_bias_table = self.cpb_mlp(self.relative_coords_table).view(
            -1, self.num_heads
        )
        relative_position_bias = (
            relative_position_bias_table[self.relative_position_index.view(-1)].view(
                self.window_size[0] * self.window_size[1],
                self.window_size[0] * self.window_size[1],
                -1,
            )
        )
        relative_position_bias = relative_position_bias.permute(2, 0, 1).contiguous()
        relative_position_bias = 16 * torch.sigmoid(relative_position_bias)
        attn = attn + relative_position_bias.unsqueeze(0)
        if mask is not None:
            num_win = mask.shape[0]
            attn = attn.view(-1, num_win, self.num_heads, N, N) + mask.unsqueeze(1).unsqueeze(0)
            attn = attn.view(-1, self.num_heads, N, N)
            attn = self.softmax(attn)
        else:
            attn = self.softmax(attn)
        attn = self.attn_drop(attn)
        x = (attn @ v).transpose(1, 2).reshape(B_, N, C)
        x = self.proj(x)
        return self.proj_drop(x)


class GELU(nn.Module):
    def forward(self, input):
        return F.gelu(input)


class Mlp(nn.Module):
    def __init__(self, in_features):
        super().__init__()
        self.fc1 = nn.Linear(in_features, 4 * in_features)
        self.act = GELU()
        self.drop1 = nn.Dropout(p=0.0)
        self.fc2 = nn.Linear(4 * in_features, in_features)
        self.drop2 = nn.Dropout(p=0.0)

    def forward(self, x):
        x = self.fc1(x)
        x = self.act(x)
        x = self.drop1(x)
        x = self.fc2(x)
        return self.drop2(x)


def window_partition(x, window_size):
    B, H, W, C = x.shape
    x = x.view(B, H // window_size[0], window_size[0], W // window_size[1], window_size[1], C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size[0], window_size[1], C)


def window_reverse(windows, window_size, img_size):
    H, W = img_size
    C = windows.shape[-1]
    x = windows.view(
        -1, H // window_size[0], W // window_size[1], window_size[0], window_size[1], C
    )
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, H, W, C)


class SwinTransformerV2Block(nn.Module):
    def __init__(
        self,
        num_heads,
        window_size,
        drop_path1,
        drop_path2,
        shift_size,
        attn_mask=None,
        relative_coords_table="relative_coords_table_2",
        relative_position_index="relative_position_index_3",
        window_area=256,
    ):
        super().__init__()
        self.register_buffer("attn_mask", attn_mask, persistent=False)
        self.attn = WindowAttention(
            num_heads,
            window_size,
            relative_coords_table=relative_coords_table,
            relative_position_index=relative_position_index,
        )
        self.norm1 = nn.LayerNorm(32 * num_heads)
        self.drop_path1 = drop_path1
        self.mlp = Mlp(32 * num_heads)
        self.norm2 = nn.LayerNorm(32 * num_heads)
        self.drop_path2 = drop_path2
        self.shift_size = shift_size
        self.window_size = window_size
        self.window_area = window_area

    def _attn(self, x):
        _, H, W, C = x.shape
        has_shift = any(self.shift_size)
        if has_shift:
            shifted_x = torch.roll(x, shifts=(-8, -8), dims=(1, 2))
        else:
            shifted_x = x
        pad_h = (self.window_size[0] - H % self.window_size[0]) % self.window_size[0]
        pad_w = (self.window_size[1] - W % self.window_size[1]) % self.window_size[1]
        shifted_x = F.pad(shifted_x, (0, 0, 0, pad_w, 0, pad_h))
        _, Hp, Wp, _ = shifted_x.shape
        x_windows = window_partition(shifted_x, self.window_size)
        x_windows = x_windows.view(-1, self.window_area, C)
        attn_mask = self.attn_mask
        attn_windows = self.attn(x_windows, mask=attn_mask)
        attn_windows = attn_windows.view(-1, self.window_size[0], self.window_size[1], C)
        shifted_x = window_reverse(attn_windows, self.window_size, (Hp, Wp))
        shifted_x = shifted_x[:, :H, :W, :].contiguous()
        if has_shift:
            x = torch.roll(shifted_x, shifts=(8, 8), dims=(1, 2))
        else:
            x = shifted_x
        return x

    def forward(self, x):
        B, H, W, C = x.shape
        x = x + self.drop_path1(self.norm1(self._attn(x)))
        x = x.reshape(B, -1, C)
        x = x + self.drop_path2(self.norm2(self.mlp(x)))
        return x.reshape(B, H, W, C)


def drop_path(x, drop_prob, training):
    if not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = x.new_empty(shape).bernoulli_(keep_prob)
    random_tensor.div_(keep_prob)
    return x * random_tensor


class DropPath(nn.Module):
    def __init__(self, drop_prob):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training)


class PatchMerging(nn.Module):
    def __init__(self, in_features):
        super().__init__()
        self.reduction = nn.Linear(in_features, in_features // 2, bias=False)
        self.norm = nn.LayerNorm(in_features // 2)

    def forward(self, x):
        B, H, W, C = x.shape
        pad_values = (0, 0, 0, W % 2, 0, H % 2)
        x = F.pad(x, pad_values)
        _, H, W, _ = x.shape
        x = x.reshape(B, H // 2, 2, W // 2, 2, C).permute(0, 1, 3, 4, 2, 5).flatten(3)
        x = self.reduction(x)
        return self.norm(x)


class FastAdaptiveAvgPool(nn.Module):
    def forward(self, x):
        return x.mean((1, 2), keepdim=False)


class SelectAdaptivePool2d(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = FastAdaptiveAvgPool()
        self.flatten = nn.Identity()

    def forward(self, x):
        return self.pool(x)


class ClassifierHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.global_pool = SelectAdaptivePool2d()
        self.drop = nn.Dropout(p=0.0)
        self.fc = nn.Linear(768, 1000)
        self.flatten = nn.Identity()

    def forward(self, x):
        x = self.global_pool(x)
        x = self.drop(x)
        return self.fc(x)


class SwinTransformerV2(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.layers = nn.Sequential(
            SwinTransformerV2Stage(
                nn.Identity(),
                [
                    SwinTransformerV2Block(
                        3, (16, 16), nn.Identity(), drop_path2=nn.Identity(), shift_size=(0, 0)
                    ),
                    SwinTransformerV2Block(
                        3,
                        (16, 16),
                        DropPath(0.00909090880304575),
                        drop_path2=DropPath(0.00909090880304575),
                        shift_size=(8, 8),
                        attn_mask=_embedded("attn_mask_0"),
                    ),
                ],
            ),
            SwinTransformerV2Stage(
                PatchMerging(384),
                [
                    SwinTransformerV2Block(
                        6,
                        (16, 16),
                        DropPath(0.0181818176060915),
                        drop_path2=DropPath(0.0181818176060915),
                        shift_size=(0, 0),
                    ),
                    SwinTransformerV2Block(
                        6,
                        (16, 16),
                        DropPath(0.027272727340459824),
                        drop_path2=DropPath(0.027272727340459824),
                        shift_size=(8, 8),
                        attn_mask=_embedded("attn_mask_1"),
                    ),
                ],
            ),
            SwinTransformerV2Stage(
                PatchMerging(768),
                [
                    SwinTransformerV2Block(
                        12,
                        (16, 16),
                        DropPath(drop_prob),
                        drop_path2=DropPath(drop_prob),
                        shift_size=(0, 0),
                    )
                    for drop_prob in (
                        0.036363635212183,
                        0.045454543083906174,
                        0.054545458406209946,
                        0.06363636255264282,
                        0.0727272778749466,
                        0.08181818574666977,
                    )
                ],
            ),
            SwinTransformerV2Stage(
                PatchMerging(1536),
                [
                    SwinTransformerV2Block(
                        24,
                        (8, 8),
                        DropPath(0.09090909361839294),
                        drop_path2=DropPath(0.09090909361839294),
                        shift_size=(0, 0),
                        relative_coords_table="relative_coords_table_4",
                        relative_position_index="relative_position_index_5",
                        window_area=64,
                    ),
                    SwinTransformerV2Block(
                        24,
                        (8, 8),
                        DropPath(0.10000000149011612),
                        drop_path2=DropPath(0.10000000149011612),
                        shift_size=(0, 0),
                        relative_coords_table="relative_coords_table_4",
                        relative_position_index="relative_position_index_5",
                        window_area=64,
                    ),
                ],
            ),
        )
        self.norm = nn.LayerNorm(768)
        self.head = ClassifierHead()

    def forward_features(self, x):
        x = self.patch_embed(x)
        x = self.layers(x)
        return self.norm(x)

    def forward(self, x):
        x = self.forward_features(x)
        return self.head(x)


# Constant tensors that no formula was found for: dtype, shape, elements (zlib, base64).
def _embedded(name):
    dtype, shape, text = _EMBEDDED[name]
    data = bytearray(zlib.decompress(base64.b64decode(text)))
    return torch.frombuffer(data, dtype=dtype).reshape(shape)


_EMBEDDED = {
    "attn_mask_0": (torch.float32, (16, 256, 256), """
eNrt27EJw0AQRUH1X9ZFV5YLMBwIGx57zMCGLxH+iqznAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAA+Le9zqfX6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vb7vPR+9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6+f3no9er9fr
9Xq9Xq/X6/V6vV6v1+v1er1er9fr9fN7z0ev1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1et//6/V6vV6v1+v1er1er9fr9Xq9
Xq/X6/V6vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V63//r9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/ve89H
r9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xrf/+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er+97z0ev1+v1er1er9fr9Xq9
Xq/X6/V6vV6v1+v1et//6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6
3//r9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/ve89Hr9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xrf/+v1er1er9fr9Xq9
Xq/X6/V6vV6v1+v1er1er+97z0ev1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1et//6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6
vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V63//r9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/ve89Hr9fr9Xq9
Xq/X6/V6vV6v1+v1er1er9fr9Xrf/+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er+97z0ev1+v1er1er9fr9Xq9Xq/X6/V6
vV6v1+v1et//6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V63//r9Xq9
Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/ve89Hr9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xrf/+v1er1er9fr9Xq9Xq/X6/V6
vV6v1+v1er1er+97z0ev1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1et//6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v73vP
R6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V63//r9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/ve89Hr9fr9Xq9Xq/X6/V6
vV6v1+v1er1er9fr9fr7v/8HAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB4a6/z6fV6vV6v1+v1
er1er9fr9Xq9Xq/X6/V6vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/X6+b3no9fr9Xq9Xq/X6/V6vV6v1+v1er1e
r9fr9Xr9/N7z0ev1er1er9fr9Xq9Xq/X6/V6vV6v1+v1er3e9/96vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6
vV6v1+v1er1er9fr9Xq9Xq/X6/V6vd73/3q9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/ve89Hr9Xq9Xq/X6/V6vV6v1+v1
er1er9fr9Xq93vf/er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr+97z0ev1er1er9fr9Xq9Xq/X6/V6vV6v1+v1er3e9/96
vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vd73/3q9Xq/X6/V6vV6v1+v1
er1er9fr9Xq9Xq/X6/ve89Hr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq93vf/er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr
+97z0ev1er1er9fr9Xq9Xq/X6/V6vV6v1+v1er3e9/96vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6vV6v1+v1
er1er9fr9Xq9Xq/X6/V6vd73/3q9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/ve89Hr9Xq9Xq/X6/V6vV6v1+v1er1er9fr
9Xq93vf/er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr+97z0ev1er1er9fr9Xq9Xq/X6/V6vV6v1+v1er3e9/96vV6v1+v1
er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vd73/3q9Xq/X6/V6vV6v1+v1er1er9fr
9Xq9Xq/X6/ve89Hr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq93vf/er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr+97z0ev1
er1er9fr9Xq9Xq/X6/V6vV6v1+v1er3e9/96vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6vV6v1+v1er1er9fr
9Xq9Xq/X6/V6vd73/3q9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/ve89Hr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9/v7v
/wEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAN7a63x6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v
1+v73vPR6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vX5+7/no9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xj+/93z0er1er9fr
9Xq9Xq/X6/V6vV6v1+v1er1er/f9v16v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1+r73fPR6vV6v1+v1er1er9fr9Xq9Xq/X
6/V6vV6v9/2/Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/X6vvd89Hq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/3/b9er9fr
9Xq9Xq/X6/V6vV6v1+v1er1er9fr9fq+93z0er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er/f9v16v1+v1er1er9fr9Xq9Xq/X
6/V6vV6v1+v1+r73fPR6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v9/2/Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/X6vvd8
9Hq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/3/b9er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9fq+93z0er1er9fr9Xq9Xq/X
6/V6vV6v1+v1er1er/f9v16v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1+r73fPR6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v
9/2/Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/X6vvd89Hq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/3/b9er9fr9Xq9Xq/X
6/V6vV6v1+v1er1er9fr9fq+93z0er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er/f9v16v1+v1er1er9fr9Xq9Xq/X6/V6vV6v
1+v1+r73fPR6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v9/2/Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/X6vvd89Hq9Xq/X
6/V6vV6v1+v1er1er9fr9Xq9Xq/3/b9er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9fq+93z0er1er9fr9Xq9Xq/X6/V6vV6v
1+v1er1er/f9v16v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1+r73fPR6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v9/2/Xq/X
6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/X6vvd89Hq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq+///t/7vbr/0Pc7MP+nf1j/87+
sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf
2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O79/+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/
9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07
+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sHxuwf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9
O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+
sX9n//j92z/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv
7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX/nnPc/3v/O/rEB+8f+nf1j/87+sX9n
/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/2
7+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/fv/1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39
Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/
s3/s39k/9u/sH/t39o/9O/vH/h327+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/
Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s3/n9
27+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv
7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+we8/533P/bv7B/7d9i/s3/s39k/9u/sH/t39o/9O/vH
/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n
/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/5/dv/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Y
v7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/s
H/t39o/9O/vH/p39YwP2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv
7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH79/+8f+nf1j
/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+z
f+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/c877H+9/Z//Yv7N/7N/ZPzZg/9i/s3/s39k/9u/sH/t39o/9O/vH/p39
Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/
s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/vH7t3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP
/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O
/rF/Z//Yv8P+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d
/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O79/+3f2j/07+8f+nf1j
/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+z
f+zf2T/27+wf+3f2j/07+8f+nf0D3v/O+x/7d/aP/Tv7x/6d/WP/Dvt39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7
d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39
Y//O/rF/Z//Yv7N/7N/ZP/bv/P7t39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/
zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/
bMD+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+z
f+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p394/dv/9i/s3/s39k/9u/sH/t39o/9
O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+
sX9n/9i/s3/s3znn/Y/3v7N/7N/ZP/bv7B/7d/aP/Tv7xwbsH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP
/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O
/rF/Z//Yv7N/7N/ZP37/9o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/2
7+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d9i/s3/s
39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2
j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/5/dv/87+sX9n/9i/s3/s39k/9u/sH/t39o/9
O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+
qd4P+tm98/63H/t39m8/9u/s337s39m//di/s3+9/Tv719u/s3+9/TvvB/vyfnD2r7d/Z/96+3f2r7d/Z/96+3f2r7d/Z/96
+3f2r7d/Z996+3b2r7d/Z/96+3f2r7d/Z/96+3f2r7d/Z/96+3f2r7d/5/2g935w9q+3f2f/evt39q+3f2f/evt39q+3f2f/
evt39q+3f+f3rXf2bz/27+zffuzf2b/92L+zf/uxf2f/evt39q+3f2f/evt33g/25f3g7F9v/87+9fbv7F9v/87+9fbv7F9v
/87+9fbv7F9v/86+9fbt7F9v/87+9fbv7F9v/87+9fbv7F9v/87+9fbv7F9v/877Qe/94Oxfb//O/vX27+xfb//O/vX27+xf
b//O/vX27+xfb//O71vvnP3Yv7N/+7F/Z//2Y//O/u3H/p396+3f2b/e/p396+3feT/Yl/eDs3+9/Tv719u/s3+9/Tv719u/
s3+9/Tv719u/s3+9/Tv71tu3s3+9/Tv719u/s3+9/Tv719u/s3+9/Tv719u/s3+9/TvvB733g7N/vf07+9fbv7N/vf07+9fb
v7N/vf07+9fbv7N/vf07v2+9c37/9u/s337s39m//di/s3/7sX9n/3r7d/avt39n/3r7d94P9uX94Oxfb//O/vX27+xfb//O
/vX27+xfb//O/vX27+xfb//OvvX27exfb//O/vX27+xfb//O/vX27+xfb//O/vX27+xfb//O+0Hv/eDsX2//zv719u/sX2//
zv719u/sX2//zv719u/sX2//zjnvN71z9mP/zv7tx/6d/duP/Tv7tx/7d/avt39n/3r7d/avt3/n/WBf3g/O/vX27+xfb//O
/vX27+xfb//O/vX27+xfb//O/vX27+xbb9/O/vX27+xfb//O/vX27+xfb//O/vX27+xfb//O/vX277wf9N4Pzv719u/sX2//
zv719u/sX2//zv719u/sX2//zv719u/8vvXO+f3bv7N/+7F/Z//2Y//O/u3H/p396+3f2b/e/p396+3feT/Yl/eDs3+9/Tv7
19u/s3+9/Tv719u/s3+9/Tv719u/s3+9/Tv71tu3s3+9/Tv719u/s3+9/Tv719u/s3+9/Tv719u/s3+9/TvvB733g7N/vf07
+9fbv7N/vf07+9fbv7N/vf07+9fbv7N/vf07v2+9c37/emf/9mP/zv7tx/6d/duP/Tv7tx/7d/avt39n/3r7d94P9uX94Ozf
fuzf2b/e/p396+3f2b/e/p396+3f2b/e/p396+3f2bfevp396+3f2b/e/p396+3f2b/e/p396+3f2b/e/p396+3feT/ovR+c
/evt39m/3v6d/evt39m/3v6d/evt39m/3v6d/evt3/l9653z+9c7+7cf+3f2bz/27+zffuzf2b/92L+zf739O/vX27/zfrAv
7wdn//Zj/87+9fbv7F9v/87+9fbv7F9v/87+9fbv7F9v/86+9fbt7F9v/87+9fbv7F9v/87+9fbv7F9v/87+9fbv7F9v/877
Qe/94Oxfb//O/vX27+xfb//O/vX27+xfb//O/vX27+xf/+0DrPDWjA==
"""),
    "attn_mask_1": (torch.float32, (4, 256, 256), """
eNrt2zEKhEAQBdG5/7GMPJYHEAQRKXp4BT+sZNjqaF0LAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADgLefxPD6fz+fz+Xw+n8/n8/l8
Pp/P5/P5fD6fz+fz+b3vffh8Pp/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/Pn+97Hz6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz
5/veh8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/n8/l83//z+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/vfe/D5/P5fD6fz+fz
+Xw+n8/n8/l8Pp/P5/P5fL7v//l8Pp/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/e+9+Hz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz
+Xw+3/f/fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fze9/78Pl8Pp/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/v+38+n8/n8/l8
Pp/P5/P5fD6fz+fz+Xw+n8/n8/m97334fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz/f9P5/P5/P5fD6fz+fz+Xw+n8/n8/l8
Pp/P5/P5/N73Pnw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/n+/6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xx+73sfPp/P
5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/N9/8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/n8/l8Pr/3vQ+fz+fz+Xw+n8/n8/l8Pp/P
5/P5fD6fz+fz+b7/5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6f3/veh8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/n8/l83//z
+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/vfe/D5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fL7v//l8Pp/P5/P5fD6fz+fz
+Xw+n8/n8/l8Pp/P5/e+9+Hz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+3/f/fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz
e9/78Pl8Pp/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/v+38+n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/n8/m97334fD6fz+fz+Xw+
n8/n8/l8Pp/P5/P5fD6fz/f9P5/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5/N73Pnw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+
n8/n+/6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xx+73sfPp/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/P3//4fe/P1/yE2
e9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf
9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/s3vX/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6
N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6h
f9M/9G/6h/5N/9C/6R/6N/1DA/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6h
f9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/z+9Q/9m/6hf9M/
9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9
Q/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6NzP3H+6/6R8a0D/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+
Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o
3/QP/Zv+4fevf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP
/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/wb9m/6hf9M/9G/6h/5N/9C/6R/6
N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6h
f9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/8/vVv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/
6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf/x1H/izfXP/9aN/079+
9G/614/+Tf/60b/pn69/0z9f/6Z/vv7NfdCX+2D65+vf9M/Xv+mfr3/TP1//pn++/k3/fP2b/vn6N33z9W365+vf9M/Xv+mf
r3/TP1//pn++/k3/fP2b/vn6N/eB7z6Y/vn6N/3z9W/65+vf9M/Xv+mfr3/TP1//pn++/s3vm2/614/+Tf/60b/pXz/6N/3r
R/+mf77+Tf98/Zv++fo390Ff7oPpn69/0z9f/6Z/vv5N/3z9m/75+jf98/Vv+ufr3/TN17fpn69/0z9f/6Z/vv5N/3z9m/75
+jf98/Vv+ufr39wHvvtg+ufr3/TP17/pn69/0z9f/6Z/vv5N/3z9m/75+je/b76ZfvRv+teP/k3/+tG/6V8/+jf98/Vv+ufr
3/TP17+5D/pyH0z/fP2b/vn6N/3z9W/65+vf9M/Xv+mfr3/TP1//pm++vk3/fP2b/vn6N/3z9W/65+vf9M/Xv+mfr3/TP1//
5j7w3QfTP1//pn++/k3/fP2b/vn6N/3z9W/65+vf9M/Xv/l98838/vVv+teP/k3/+tG/6V8/+jf98/Vv+ufr3/TP17+5D/py
H0z/fP2b/vn6N/3z9W/65+vf9M/Xv+mfr3/TP1//pm++vk3/fP2b/vn6N/3z9W/65+vf9M/Xv+mfr3/TP1//5j7w3QfTP1//
pn++/k3/fP2b/vn6N/3z9W/65+vf9M/Xv5m5b3wz/ejf9K8f/Zv+9aN/079+9G/65+vf9M/Xv+mfr39zH/TlPpj++fo3/fP1
b/rn69/0z9e/6Z+vf9M/X/+mf77+Td98fZv++fo3/fP1b/rn69/0z9e/6Z+vf9M/X/+mf77+zX3guw+mf77+Tf98/Zv++fo3
/fP1b/rn69/0z9e/6Z+vf/P75pv5/evf9K8f/Zv+9aN/079+9G/65+vf9M/Xv+mfr39zH/TlPpj++fo3/fP1b/rn69/0z9e/
6Z+vf9M/X/+mf77+Td98fZv++fo3/fP1b/rn69/0z9e/6Z+vf9M/X/+mf77+zX3guw+mf77+Tf98/Zv++fo3/fP1b/rn69/0
z9e/6Z+vf/P75pv5/fNN//rRv+lfP/o3/etH/6Z//ejf9M/Xv+mfr39zH/TlPpj+9aN/0z9f/6Z/vv5N/3z9m/75+jf98/Vv
+ufr3/TN17fpn69/0z9f/6Z/vv5N/3z9m/75+jf98/Vv+ufr39wHvvtg+ufr3/TP17/pn69/0z9f/6Z/vv5N/3z9m/75+je/
b76Z3z/f9K8f/Zv+9aN/079+9G/614/+Tf98/Zv++fo390Ff7oPpXz/6N/3z9W/65+vf9M/Xv+mfr3/TP1//pn++/k3ffH2b
/vn6N/3z9W/65+vf9M/Xv+mfr3/TP1//pn++/s194LsPpn++/k3/fP2b/vn6N/3z9W/65+vf9M/Xv+mff+cCR4aoYA==
"""),
    "relative_coords_table_2": (torch.float32, (1, 31, 31, 2), """
eNpdmSuuLVUURbEvwSPpAjSANRBIFAqBewkfgUUBCSEEJJo2oPBAS2gBOJ5AwjwZIyHnJpV5K1W19xzZv7XWefHu97+/8Prs
q28f+t4/Xz/01cdfPPSbtz9/6EfvvHzoX59++NA/fnj/oX+/5KEf/vzWQz959eZDv/vp9Ye+8d6fv02//PWXh/741QcPfe2/
P+/P5+f75/fYHraP/WH/6Af9oV/0jzzIh6zEOu0a93Tc03FPxz0d93Tc03FPxz0d93Tc03FPxz0d93Tc3p/Pz/fP77E9bB/7
w/7RD/pDv+gfeZAtXhrbWKdd456Oezru6bin456Oezru6bin456Oezru6bin4/b+fH6+f36P7WH72B/2j37QH/pF/8iCfPHS
XG5sY512jXs67um4p+Oejns67um4p+Oejns67um4p+P2/nx+vn9+j+1h+9gf9o9+0B/6Re/Ig3zx0tptLje2sU67xj0d93Tc
03FPxz0d93Tc03FPxz0d93Tc3p/Pz/fP77E9bB/7w/7RD/pDr+gfeZAvXtqrWrvN5cY21mnXuKfjno57Ou7puKfjno57Ou7p
uKfj9v58fr5/fo/tYfvYH/aPftAb+kX/yIN88dLe3F7V2m0uN7axTrvGPR33dNzTcU/HPR33dNzTcU/H7f35/Hz//B7bw/ax
P+wfvaA/9Iv+kQf54qWzqL25vaq121xubGOddo17Ou7puKfjno57Ou7puKfj9v58fr5/fo/tYfvYH/aNftAf+kX/yIN88dLZ
21nU3txe1dptLje2sU67xj0d93Tc03FPxz0d93Tc3p/Pz/fP77E9bB/7wv7RD/pDv+gfeZAvXoo1Ons7i9qb26tau83lxjbW
ade4p+Oejns67um4p+P2/nx+vn9+j+1h29gf9o9+0B/6Rf/Ig3zxUmxVrNHZ21nU3txe1dptLje2sU67xj0d93Tc03FPx+39
+fx8//we28L2sT/sH/2gP/SL/pEH+eKlWLLYqlijs7ezqL25vaq121xubGOddo17Ou7puKfj9v58fr5/fovtYfvYH/aPftAf
+kX/yIN88VLsXCxZbFWs0dnbWdTe3F7V2m0uN7axTrvGPR33dNzen8/Pd8/vsT1sH/vD/tEP+kO/6B95kC9eyhWKnYsli62K
NTp7O4vam9urWrvN5cY21mnXuKfj9v58dr5/fo/tYfvYH/aPftAf+kX/yIN88VJuVK5Q7FwsWWxVrNHZ21nU3txe1dptLje2
sU67xu3/5/Pz/fN7bA/bx/6wf/SD/tAv+kce5IuXcsFyo3KFYudiyWKrYo3O3s6i9ub2qtZuc7mxjfW1//2N2+fn++f32B62
j/1h/+gH/aFf9I88yBcv5b7lguVG5QrFzsWSxVbFGp29nUXtze1Vrd3mcmMbq/fn8/P983tsD9vH/rB/9IP+0C/6Rx7ki5dy
/XLfcsFyo3KFYudiyWKrYo3O3s6i9ub2qtZuc7mxjdXn5/vn99geto/9Yf/oB/2hX/SPPMgXL9U2yvXLfcsFy43KFYqdiyWL
rYo1Ons7i9qb26tau83lxjZW3z+/x/awfewP+0c/6A/9on/kQb54qZZTbaNcv9y3XLDcqFyh2LlYstiqWKOzt7Oovbm9qrXb
XG5sY/V7bA/bx/6wf/SD/tAv+kce5IuXalfVcqptlOuX+5YLlhuVKxQ7F0sWWxVrdPZ2FrU3t1e1dpvLjW2stoftY3/YP/pB
f+gX/SMP8sVLtbpqV9Vyqm2U65f7lguWG5UrFDsXSxZbFWt09nYWtTe3V7V2m8uNbay2j/1h/+gH/aFf9I88yBcv1Sar1VW7
qpZTbaNcv9y3XLDcqFyh2LlYstiqWKOzt7Oovbm9qrXbXG5sY7U/7B/9oD/0i/6RB/nipVpstclqddWuquVU2yjXL/ctFyw3
Klcodi6WLLYq1ujs7Sxqb26vau02lxvbWO0f/aA/9Iv+kQf54qXac7XYapPV6qpdVcuptlGuX+5bLlhuVK5Q7FwsWWxVrNHZ
21nU3txe1dptLje2seoH/aFf9I88yBcv1dqrPVeLrTZZra7aVbWcahvl+uW+5YLlRuUKxc7FksVWxRqdvZ1F7c3tVa3d5nJj
G6v+0C/6Rx7ki5d+W6jWXu25Wmy1yWp11a6q5VTbKNcv9y0XLDcqVyh2LpYstirW6OztLGpvbq9q7TaXG9tY9Yv+kQf54qXf
UvptoVp7tedqsdUmq9VVu6qWU22jXL/ct1yw3Khcodi5WLLYqlijs7ezqL25vaq121xubGPVP/IgX7z021G/pfTbQrX2as/V
YqtNVqurdlUtp9pGuX65b7lguVG5QrFzsWSxVbFGZ29nUXtze1Vrt7nc2MYqD/LFS7+V9dtRv6X020K19mrP1WKrTVarq3ZV
LafaRrl+uW+5YLlRuUKxc7FksVWxRmdvZ1F7c3tVa7e53NjGKl+8Xf//jfD5N6Tn3xiea9DPNcrnGtZzjeM5B37OkZ5j6OcY
6/kMft6jn9fw8xg/rn8BIMPhqA==
"""),
    "relative_position_index_3": (torch.int64, (256, 256), """
eNrF3VVwUOf+7+FkLdydOu6udby4Sx2o4S516rhLnTruUmc77lKn3Ya7VOGv+8yced8zc252rsKTm+8k91nrSX7JfP6ZmfF/
P/4R9u9h/xb2r2F/CPt92INhvwv7bdhvwn4d9quwX4b9IuyBsH8J++ewfwr7x7B/CPv7sL8LuyHs52E/C/tp2E/Cfhz2o7Af
hl0f9oOw74d9L+y7Yd8J+3bYt8LOD/tm2DfCvh72tbCvhn0l7Mth54V9KeyLYV8I+3zY58I+G/aZsOPCPh32qbBPhn0i7ONh
Hwv7aNixYR8J+3DYh8I+GPaBsH3D9gnbO+z9Ye8Le2/Ye8LeHfausHeG7RX2jrCtwrYM2yJs87DNwjYN2yTs7WFvC3tr2FvC
3hz2prA3hm0ctnLYSmErhq0QtnzYcmHLhi0T9oaw14e9Luy1Ya8Je3XYq8KWDps7bK6wOcPmCJuGTcJmhs0I+6/w6f+G/Z+w
/x32v8L+Z9j/CHs57MmwJ8IeD3ss7NGwR8IeDnso7D/D/iPs38P+Lexfw/4Q9vuwB8PuCLs97LawW8NuCbs57KawG8P+Jeyf
w/4p7B/D/iHs78P+LuyGsMvDLgu7NOySsIvDLgq7MOyCsB+EfT/se2HfDftO2LfDvhV2fthpYaeGnRJ2cthJYSeGnRB2fNiX
wr4Y9oWwz4d9LuyzYZ8JOy7s0LBDwg4OOyjswLADwvYP2y/sI2EfDvtQ2AfDPhC2b9g+YXuH7RS2Y9gOYduHbRe2bdg2YVuH
vSNsq7Atw7YI2zxss7BNwzYJWztsrbA1w9YIWz1stbBVw1YJWzlspbAVw1YIWz5subBlw5YJWzhsobAFwxYImz9svrB5w+YJ
mztsrrA5w+YIm4ZN/v/Hxv/7OBS+8E/kgI3YAQuwA8ZjB/TDDmiNHVAFOyAPdsAp7ICd2AErsAOmYwcMww7ojB1QBzugCHbA
4UzrgE3YAQuxAyZgB/THDmiDHVAVOyAvdsBp7IBd2AErsQNmYAcMxw7ogh1QFzugKHbAkUzrgM3YAYuwAyZiBwzADmiLHVAN
OyAfdsAZ7IDd2AGrsANmYgeMwA7oih1QDzugGHbA0UzrgC3YAYuxAyZhBwzEDmiHHVAdOyA/dsBZ7IA92AGrsQNmYQeMxA7o
hh1QHzugOHbAsUzrgK3YAUuwAyZjBwzCDmiPHVADO6AAdsA57IC92AFrsANmYweMwg7ojh3QADugBHbA8UzrgG3YAUuxA6Zg
BwzGDuiAHVATO6AgdsB57IB92AFrsQPmYAeMxg7ogR3QEDugJHbAiUzrgO3YAcuwA6ZiBwzBDuiIHVALO6AQdsAF7ID92AHr
sAPmYgeMwQ7oiR3QCDugFHbAyUzrgB3YAcuxA6ZhBwzFDuiEHVAbO6AwdsBF7IAD2AHrsQPmYQeMxQ7ohR3QGDugNHbAqUzr
gJ3YASuwA6ZjBwzDDuiMHVAHO6AIdsCPGdYBX2AHfIgd8DJ2wKPYAXdiB9yIHXAVdsDpTOuAXdgBK7EDZmAHDMcO6IIdUBc7
oCh2wE8Z1gFfYgd8hB3wCnbAY9gBd2EH3IQdcDV2wJlM64Dd2AGrsANmYgeMwA7oih1QDzugGHbAzxnWAV9hB3yMHfAqdsDj
2AF3YwfcjB1wDXbA2UzrgD3YAauxA2ZhB4zEDuiGHVAfO6A4dsAvGdYBX2MHfIId8Bp2wBPYAfdgB9yCHXAtdsC5TOuAvdgB
a7ADZmMHjMIO6I4d0AA7oAR2wK8Z1gHfYAd8ih3wOnbAk9gB92IH3IodcB12wPlM64B92AFrsQPmYAeMxg7ogR3QEDugJHbA
bxnWAd9iB3yGHfAGdsBT2AH3YQfchh1wPXbAhUzrgP3YAeuwA+ZiB4zBDuiJHdAIO6AUdsClDOuA77ADPscOeBM74GnsgPux
A27HDrgBO+Bf4Tnwv2H/J+x/h/2vsP8Z9j/CXo7Pj/hzRPx9Yrwrxr8vin9nHP/fKP7fMe4OH8Dd4fW4OzwPd4fH4u5wL9wd
boy7w6Vxd/hyFneB7O4OH8ziLpDd3eENWdwFsrs7PD+Lu0B2d4fHZXEXyO7ucO8s7gLZ3R1uksVdILu7w2XCxhCgcsAh7ICN
2AELsAPGYwf0ww5ojR1QBTsgD3aA6g5/n8Vd4Eo5QHWH38riLnClHKC6w32yuAtcKQeo7nB0QGZiHXAYO2ATdsBC7IAJ2AH9
sQPaYAdUxQ7Iix2gusM/ZHEXuFIOUN3ht7O4C1wpB6jucN8s7gJXygGqOxwdkCTWAUewAzZjByzCDpiIHTAAO6AtdkA17IB8
2AGqOxwdoLrD0QGqOxwdoLrD0QGqOxwdoLrD0QGqOxwdkCbWAUexA7ZgByzGDpiEHTAQO6AddkB17ID82AGqOxwdoLrD0QGq
OxwdoLrD0QGqOxwdoLrD0QGqOxwdkCOxDjiGHbAVO2AJdsBk7IBB2AHtsQNqYAcUwA5Q3eHoANUdjg5Q3eHoANUdjg5Q3eHo
ANUdjg5Q3eHogJyJdcBx7IBt2AFLsQOmYAcMxg7ogB1QEzugIHaA6g5HB6jucHSA6g5HB6jucHSA6g5HB6jucHSA6g5HB+RK
rANOYAdsxw5Yhh0wFTtgCHZAR+yAWtgBhbADVHc4OkB1h6MDVHc4OkB1h6MDVHc4OkB1h6MDVHc4OiB3Yh1wEjtgB3bAcuyA
adgBQ7EDOmEH1MYOKIwdoLrD0QGqOxwdoLrD0QGqOxwdoLrD0QGqOxwdoLrD0QF5EuuAU9gBO7EDVmAHTMcOGIYd0Bk7oA52
QBHsANUdjg5Q3eHoANUdjg5Q3eHoANUdjg5Q3eHoANUdjg7Im1gHnMYO2IUdsBI7YAZ2wHDsgC7YAXWxA4piB6jucHSA6g5H
B6jucHSA6g5HB6jucHSA6g5HB6jucHRAvsQ64Ax2wG7sgFXYATOxA0ZgB3TFDqiHHVAMO0B1h6MDVHc4OkB1h6MDVHc4OkB1
h6MDVHc4OkB1h6MD8ifWAWexA/ZgB6zGDpiFHTASO6AbdkB97IDi2AGqOxwdoLrD0QGqOxwdoLrD0QGqOxwdoLrD0QGqOxwd
UCCxDjiHHbAXO2ANdsBs7IBR2AHdsQMaYAeUwA5Q3eHoANUdjg5Q3eHoANUdjg5Q3eHoANUdjg5Q3eHogIKJdcB57IB92AFr
sQPmYAeMxg7ogR3QEDugJHaA6g5HB6jucHSA6g5HB6jucHSA6g5HB6jucHSA6g5HBxRKrAMuYAfsxw5Yhx0wFztgDHZAT+yA
RtgBpbADLmVYB3yHHfA5dsCb2AFPYwfcjx1wO3bADeF9fH3Y68JeG/aasFeHvSps6bClwpYMWyJs8bDFwhYNWyRsYdwdvoi7
wwdwd3g97g7Pw93hsbg73At3hxvj7nBp3B2+nMVdILu7wwezuAtkd3d4QxZ3gezuDs/P4i6Q3d3hcVncBbK7O9w7i7tAdneH
m4Qtk1gHZGAHHMIO2IgdsAA7YDx2QD/sgNbYAVWwA/JgB6ju8PdZ3AWulANUd/itLO4CV8oBqjvcJ4u7wJVyQNnEOiATO+Aw
dsAm7ICF2AETsAP6Ywe0wQ6oih2QFztAdYd/yOIucKUcoLrDb2dxF7hSDlDd4b5Z3AWulAPKJdYBCXbAEeyAzdgBi7ADJmIH
DMAOaIsdUA07IB92gOoORweo7nB0gOoORweo7nB0gOoORweo7nB0QPnEOiDFDjiKHbAFO2AxdsAk7ICB2AHtsAOqYwfkxw5Q
3eHoANUdjg5Q3eHoANUdjg5Q3eHoANUdjg6okFgH5MAOOIYdsBU7YAl2wGTsgEHYAe2xA2pgBxTADlDd4egA1R2ODlDd4egA
1R2ODlDd4egA1R2ODqiYWAfkxA44jh2wDTtgKXbAFOyAwdgBHbADamIHFMQOUN3h6ADVHY4OUN3h6ADVHY4OUN3h6ADVHY4O
qJRYB+TCDjiBHbAdO2AZdsBU7IAh2AEdsQNqYQcUwg5Q3eHoANUdjg5Q3eHoANUdjg5Q3eHoANUdjg6onFgH5MYOOIkdsAM7
YDl2wDTsgKHYAZ2wA2pjBxTGDlDd4egA1R2ODlDd4egA1R2ODlDd4egA1R2ODqiSWAfkwQ44hR2wEztgBXbAdOyAYdgBnbED
6mAHFMEOUN3h6ADVHY4OUN3h6ADVHY4OUN3h6ADVHY4OqJpYB+TFDjiNHbALO2AldsAM7IDh2AFdsAPqYgcUxQ5Q3eHoANUd
jg5Q3eHoANUdjg5Q3eHoANUdjg6ollgH5MMOOIMdsBs7YBV2wEzsgBHYAV2xA+phBxTDDlDd4egA1R2ODlDd4egA1R2ODlDd
4egA1R2ODqieWAfkxw44ix2wBztgNXbALOyAkdgB3bAD6mMHFMcOUN3h6ADVHY4OUN3h6ADVHY4OUN3h6ADVHY4OqJFYBxTA
DjiHHbAXO2ANdsBs7IBR2AHdsQMaYAeUwA5Q3eHoANUdjg5Q3eHoANUdjg5Q3eHoANUdjg6omVgHFMQOOI8dsA87YC12wBzs
gNHYAT2wAxpiB5TEDlDd4egA1R2ODlDd4egA1R2ODlDd4egA1R2ODqiVWAcUwg64gB2wHztgHXbAXOyAMdgBPbEDGmEHlMIO
uJRhHfAddsDn2AFvYgc8jR1wP3bA7eF9eFvYW8PeEvbmsDeFvTFs47CNwjYM2yBs/bD1wtYNWydsbdwdLoy7wxdxd/gA7g6v
x93hebg7PBZ3h3vh7nBj3B0ujbvDl7O4C2R3d/hgFneB7O4Ob8jiLpDd3eH5WdwFsrs7PC6Lu0B2d4d7h22SWAeUwQ7IwA44
hB2wETtgAXbAeOyAftgBrbEDqmAH5MEOUN3h77O4C1wpB6ju8FtZ3AWulANUdzg6oGliHVAWOyATO+AwdsAm7ICF2AETsAP6
Ywe0wQ6oih2QFztAdYd/yOIucKUcoLrDb2dxF7hSDlDd4eiAZol1QDnsgAQ74Ah2wGbsgEXYAROxAwZgB7TFDqiGHZAPO0B1
h6MDVHc4OkB1h6MDVHc4OkB1h6MDmifWAeWxA1LsgKPYAVuwAxZjB0zCDhiIHdAOO6A6dkB+7ADVHY4OUN3h6ADVHY4OUN3h
6ADVHY4OaJFYB1TADsiBHXAMO2ArdsAS7IDJ2AGDsAPaYwfUwA4ogB2gusPRAao7HB2gusPRAao7HB2gusPRAS0T64CK2AE5
sQOOYwdsww5Yih0wBTtgMHZAB+yAmtgBBbEDVHc4OkB1h6MDVHc4OkB1h6MDVHc4OqBVYh1QCTsgF3bACeyA7dgBy7ADpmIH
DMEO6IgdUAs7oBB2gOoORweo7nB0gOoORweo7nB0gOoORwfckVgHVMYOyI0dcBI7YAd2wHLsgGnYAUOxAzphB9TGDiiMHaC6
w9EBqjscHaC6w9EBqjscHaC6w9EBrRPrgCrYAXmwA05hB+zEDliBHTAdO2AYdkBn7IA62AFFsANUdzg6QHWHowNUdzg6QHWH
owNUdzg6oE1iHVAVOyAvdsBp7IBd2AErsQNmYAcMxw7ogh1QFzugKHaA6g5HB6jucHSA6g5HB6jucHSA6g5HB7RNrAOqYQfk
ww44gx2wGztgFXbATOyAEdgBXbED6mEHFMMOUN3h6ADVHY4OUN3h6ADVHY4OUN3h6IB2iXVAdeyA/NgBZ7ED9mAHrMYOmIUd
MBI7oBt2QH3sgOLYAao7HB2gusPRAao7HB2gusPRAao7HB3QPrEOqIEdUAA74Bx2wF7sgDXYAbOxA0ZhB3THDmiAHVACO0B1
h6MDVHc4OkB1h6MDVHc4OkB1h6MDOiTWATWxAwpiB5zHDtiHHbAWO2AOdsBo7IAe2AENsQNKYgeo7nB0gOoORweo7nB0gOoO
Rweo7nB0QMfEOqAWdkAh7IAL2AH7sQPWYQfMxQ4Ygx3QEzugEXZAKeyASxnWAd9hB3yOHfAmdsDT2AH3h/fRfWHvDXtP2LvD
3hX2zrC9wvYM2yNs97DdwnYN2yVs57CdcHe4Nu4OF8bd4Yu4O3wAd4fX4+7wPNwdHou7w71wd7gx7g6Xxt3hy1ncBbK7O3ww
i7tAdneHN2RxF8ju7vD8LO4C2d0dHhe2d2Id0AQ7oAx2QAZ2wCHsgI3YAQuwA8ZjB/TDDmiNHVAFOyAPdoDqDn+fxV3gSjlA
dYffyuIucKUc0CexDmiKHVAWOyATO+AwdsAm7ICF2AETsAP6Ywe0wQ6oih2QFztAdYd/yOIucKUcoLrDb2dxF7hSDuibWAc0
ww4ohx2QYAccwQ7YjB2wCDtgInbAAOyAttgB1bAD8mEHqO5wdIDqDkcHqO5wdIDqDkcHPJBYBzTHDiiPHZBiBxzFDtiCHbAY
O2ASdsBA7IB22AHVsQPyYweo7nB0gOoORweo7nB0gOoORwc8mFgHtMAOqIAdkAM74Bh2wFbsgCXYAZOxAwZhB7THDqiBHVAA
O0B1h6MDVHc4OkB1h6MDVHc4OuChxDqgJXZAReyAnNgBx7EDtmEHLMUOmIIdMBg7oAN2QE3sgILYAao7HB2gusPRAao7HB2g
usPRAQ8n1gGtsAMqYQfkwg44gR2wHTtgGXbAVOyAIdgBHbEDamEHFMIOUN3h6ADVHY4OUN3h6ADVHY4OeCSxDrgDO6AydkBu
7ICT2AE7sAOWYwdMww4Yih3QCTugNnZAYewA1R2ODlDd4egA1R2ODlDd4eiAfol1QGvsgCrYAXmwA05hB+zEDliBHTAdO2AY
dkBn7IA62AFFsANUdzg6QHWHowNUdzg6QHWHowP6J9YBbbADqmIH5MUOOI0dsAs7YCV2wAzsgOHYAV2wA+piBxTFDlDd4egA
1R2ODlDd4egA1R2ODhiQWAe0xQ6ohh2QDzvgDHbAbuyAVdgBM7EDRmAHdMUOqIcdUAw7QHWHowNUdzg6QHWHowNUdzg6YGBi
HdAOO6A6dkB+7ICz2AF7sANWYwfMwg4YiR3QDTugPnZAcewA1R2ODlDd4egA1R2ODlDd4eiAQYl1QHvsgBrYAQWwA85hB+zF
DliDHTAbO2AUdkB37IAG2AElsANUdzg6QHWHowNUdzg6QHWHowMGJ9YBHbADamIHFMQOOI8dsA87YC12wBzsgNHYAT2wAxpi
B5TEDlDd4egA1R2ODlDd4egA1R2ODhiSWAd0xA6ohR1QCDvgAnbAfuyAddgBc7EDxmAH9MQOaIQdUAo74FKGdcB32AGfYwe8
iR3wdHgfPBX2ybBPhH087GNhHw07NuyYsKPDjgo7MuyIsMPDDgs7FHeHO+HucG3cHS6Mu8MXcXf4AO4Or8fd4Xm4OzwWd4d7
4e5wY9wdLo27w5ezuAtkd3f4YBZ3gezuDm/I4i6Q3d3h+WHHJdYBvbEDmmAHlMEOyMAOOIQdsBE7YAF2wHjsgH7YAa2xA6pg
B+TBDlDd4e+zuAtcKQeo7nB0wDOJdUAf7ICm2AFlsQMysQMOYwdswg5YiB0wATugP3ZAG+yAqtgBebEDVHf4hyzuAlfKAao7
HB3wbGId0Bc7oBl2QDnsgAQ74Ah2wGbsgEXYAROxAwZgB7TFDqiGHZAPO0B1h6MDVHc4OkB1h6MDnkusAx7ADmiOHVAeOyDF
DjiKHbAFO2AxdsAk7ICB2AHtsAOqYwfkxw5Q3eHoANUdjg5Q3eHogOcT64AHsQNaYAdUwA7IgR1wDDtgK3bAEuyAydgBg7AD
2mMH1MAOKIAdoLrD0QGqOxwdoLrD0QEvJNYBD2EHtMQOqIgdkBM74Dh2wDbsgKXYAVOwAwZjB3TADqiJHVAQO0B1h6MDVHc4
OkB1h6MDXkysAx7GDmiFHVAJOyAXdsAJ7IDt2AHLsAOmYgcMwQ7oiB1QCzugEHaA6g5HB6jucHSA6g5HB7yUWAc8gh1wB3ZA
ZeyA3NgBJ7EDdmAHLMcOmIYdMBQ7oBN2QG3sgMLYAao7HB2gusPRAao7HB0wPrEO6Icd0Bo7oAp2QB7sgFPYATuxA1ZgB0zH
DhiGHdAZO6AOdkAR7ADVHY4OUN3h6ADVHY4OmJBYB/THDmiDHVAVOyAvdsBp7IBd2AErsQNmYAcMxw7ogh1QFzugKHaA6g5H
B6jucHSA6g5HB0xMrAMGYAe0xQ6ohh2QDzvgDHbAbuyAVdgBM7EDRmAHdMUOqIcdUAw7QHWHowNUdzg6QHWHowMmJdYBA7ED
2mEHVMcOyI8dcBY7YA92wGrsgFnYASOxA7phB9THDiiOHaC6w9EBqjscHaC6w9EBkxPrgEHYAe2xA2pgBxTADjiHHbAXO2AN
dsBs7IBR2AHdsQMaYAeUwA5Q3eHoANUdjg5Q3eHogCmJdcBg7IAO2AE1sQMKYgecxw7Yhx2wFjtgDnbAaOyAHtgBDbEDSmIH
qO5wdIDqDkcHqO5wdMDUxDpgCHZAR+yAWtgBhbADLmAH7McOWIcdMBc7YAx2QE/sgEbYAaWwAy5lWAd8hx3wOXbAm+F5/EbY
18O+FvbVsK+EfTnsvLBzw84JOzvsrLAzw84IOz3sNNwdHoq7w51wd7g27g4Xxt3hi7g7fAB3h9fj7vA83B0ei7vDvXB3uDHu
DpfG3eHLWdwFsrs7fDCLu0B2d4c3hJ2fWAeMww7ojR3QBDugDHZABnbAIeyAjdgBC7ADxmMH9MMOaI0dUAU7IA92gOoOf5/F
XeBKOeCtxDrgGeyAPtgBTbEDymIHZGIHHMYO2IQdsBA7YAJ2QH/sgDbYAVWxA/JiB6ju8A9Z3AWulAPeTqwDnsUO6Isd0Aw7
oBx2QIIdcAQ7YDN2wCLsgInYAQOwA9piB1TDDsiHHaC6w9EBqjscHfBOYh3wHHbAA9gBzbEDymMHpNgBR7EDtmAHLMYOmIQd
MBA7oB12QHXsgPzYAao7HB2gusPRAe8m1gHPYwc8iB3QAjugAnZADuyAY9gBW7EDlmAHTMYOGIQd0B47oAZ2QAHsANUdjg5Q
3eHogPcS64AXsAMewg5oiR1QETsgJ3bAceyAbdgBS7EDpmAHDMYO6IAdUBM7oCB2gOoORweo7nB0wPuJdcCL2AEPYwe0wg6o
hB2QCzvgBHbAduyAZdgBU7EDhmAHdMQOqIUdUAg7QHWHowNUdzg64IPEOuAl7IBHsAPuwA6ojB2QGzvgJHbADuyA5dgB07AD
hmIHdMIOqI0dUBg7QHWHowNUdzg6YEFiHTAeO6AfdkBr7IAq2AF5sANOYQfsxA5YgR0wHTtgGHZAZ+yAOtgBRbADVHc4OkB1
h6MDFibWAROwA/pjB7TBDqiKHZAXO+A0dsAu7ICV2AEzsAOGYwd0wQ6oix1QFDtAdYejA1R3ODpgUWIdMBE7YAB2QFvsgGrY
AfmwA85gB+zGDliFHTATO2AEdkBX7IB62AHFsANUdzg6QHWHowMWJ9YBk7ADBmIHtMMOqI4dkB874Cx2wB7sgNXYAbOwA0Zi
B3TDDqiPHVAcO0B1h6MDVHc4OmBJYh0wGTtgEHZAe+yAGtgBBbADzmEH7MUOWIMdMBs7YBR2QHfsgAbYASWwA1R3ODpAdYej
A5Ym1gFTsAMGYwd0wA6oiR1QEDvgPHbAPuyAtdgBc7ADRmMH9MAOaIgdUBI7QHWHowNUdzg6YFliHTAVO2AIdkBH7IBa2AGF
sAMuYAfsxw5Yhx0wFztgDHZAT+yARtgBpbADLmVYB3yHHfB5eB5+FvbTsJ+E/TjsR2E/DLs+7Lqwa8OuCbs67KqwK8OuCLsc
d4en4e7wUNwd7oS7w7Vxd7gw7g5fxN3hA7g7vB53h+fh7vBY3B3uhbvDjXF3uDTuDl/O4i6Q3d3hg2E3JNYB87EDxmEH9MYO
aIIdUAY7IAM74BB2wEbsgAXYAeOxA/phB7TGDqiCHZAHO0B1h6MDfpdYB7yFHfAMdkAf7ICm2AFlsQMysQMOYwdswg5YiB0w
ATugP3ZAG+yAqtgBebEDVHc4OuD3iXXA29gBz2IH9MUOaIYdUA47IMEOOIIdsBk7YBF2wETsgAHYAW2xA6phB+TDDlDd4eiA
PyTWAe9gBzyHHfAAdkBz7IDy2AEpdsBR7IAt2AGLsQMmYQcMxA5ohx1QHTsgP3aA6g5HB/wxsQ54FzvgeeyAB7EDWmAHVMAO
yIEdcAw7YCt2wBLsgMnYAYOwA9pjB9TADiiAHaC6w9EBf0qsA97DDngBO+Ah7ICW2AEVsQNyYgccxw7Yhh2wFDtgCnbAYOyA
DtgBNbEDCmIHqO5wdMCfE+uA97EDXsQOeBg7oBV2QCXsgFzYASewA7ZjByzDDpiKHTAEO6AjdkAt7IBC2AGqOxwd8JfEOuAD
7ICXsAMewQ64AzugMnZAbuyAk9gBO7ADlmMHTMMOGIod0Ak7oDZ2QGHsANUdjg7YmFgHLMAOGI8d0A87oDV2QBXsgDzYAaew
A3ZiB6zADpiOHTAMO6AzdkAd7IAi2AGqOxwdsCmxDliIHTABO6A/dkAb7ICq2AF5sQNOYwfswg5YiR0wAztgOHZAF+yAutgB
RbEDVHc4OmBzYh2wCDtgInbAAOyAttgB1bAD8mEHnMEO2I0dsAo7YCZ2wAjsgK7YAfWwA4phB6jucHTAlsQ6YDF2wCTsgIHY
Ae2wA6pjB+THDjiLHbAHO2A1dsAs7ICR2AHdsAPqYwcUxw5Q3eHogK2JdcAS7IDJ2AGDsAPaYwfUwA4ogB1wDjtgL3bAGuyA
2dgBo7ADumMHNMAOKIEdoLrD0QHbEuuApdgBU7ADBmMHdMAOqIkdUBA74Dx2wD7sgLXYAXOwA0ZjB/TADmiIHVASO0B1h6MD
tifWAcuwA6ZiBwzBDuiIHVALO6AQdsAF7ID92AHrsAPmYgeMwQ7oiR3QCDugFHbApQzrgO/C8+jbsN+E/TrsV2G/DPtF2ANh
94fdF3Zv2D1hd4fdFXZn2B24O7wcd4en4e7wUNwd7oS7w7Vxd7gw7g5fxN3hA7g7vB53h+fh7vBY3B3uhbvDjXF3uDTuDl8O
ezCxDtiAHTAfO2AcdkBv7IAm2AFlsAMysAMOYQdsxA5YgB0wHjugH3ZAa+yAKtgBebADvk+sA36HHfAWdsAz2AF9sAOaYgeU
xQ7IxA44jB2wCTtgIXbABOyA/tgBbbADqmIH5MUO+CGxDvg9dsDb2AHPYgf0xQ5ohh1QDjsgwQ44gh2wGTtgEXbAROyAAdgB
bbEDqmEH5MMO+GtiHfAH7IB3sAOeww54ADugOXZAeeyAFDvgKHbAFuyAxdgBk7ADBmIHtMMOqI4dkB874G+JdcAfsQPexQ54
HjvgQeyAFtgBFbADcmAHHMMO2IodsAQ7YDJ2wCDsgPbYATWwAwpgB/w9sQ74E3bAe9gBL2AHPIQd0BI7oCJ2QE7sgOPYAduw
A5ZiB0zBDhiMHdABO6AmdkBB7IB/JNYBf8YOeB874EXsgIexA1phB1TCDsiFHXACO2A7dsAy7ICp2AFDsAM6YgfUwg4ohB3w
z8Q64C/YAR9gB7yEHfAIdsAd2AGVsQNyYwecxA7YgR2wHDtgGnbAUOyATtgBtbEDCmMHHEqsAzZiByzADhiPHdAPO6A1dkAV
7IA82AGnsAN2YgeswA6Yjh0wDDugM3ZAHeyAItgBhxPrgE3YAQuxAyZgB/THDmiDHVAVOyAvdsBp7IBd2AErsQNmYAcMxw7o
gh1QFzugKHbAkcQ6YDN2wCLsgInYAQOwA9piB1TDDsiHHXAGO2A3dsAq7ICZ2AEjsAO6YgfUww4ohh1wNLEO2IIdsBg7YBJ2
wEDsgHbYAdWxA/JjB5zFDtiDHbAaO2AWdsBI7IBu2AH1sQOKYwccS6wDtmIHLMEOmIwdMAg7oD12QA3sgALYAeewA/ZiB6zB
DpiNHTAKO6A7dkAD7IAS2AHHE+uAbdgBS7EDpmAHDMYO6IAdUBM7oCB2wHnsgH3YAWuxA+ZgB4zGDuiBHdAQO6AkdsCJxDpg
O3bAMuyAqdgBQ7ADOmIH1MIOKIQdcAE7YD92wDrsgLnYAWOwA3piBzTCDiiFHXApPA9+C/tr2F/C/hz2p7A/hr0Y9kLY82HP
hT0b9kzY02FPhT2Ju8M7cHd4Oe4OT8Pd4aG4O9wJd4dr4+5wYdwdvoi7wwdwd3g97g7Pw93hsbg73At3hxvj7nDp+H2cWAcc
xA7YgB0wHztgHHZAb+yAJtgBZbADMrADDmEHbMQOWIAdMB47oB92QGvsgCrYAf+RWAd8jx3wO+yAt7ADnsEO6IMd0BQ7oCx2
QCZ2wGHsgE3YAQuxAyZgB/THDmiDHVAVO+A/E+uAH7ADfo8d8DZ2wLPYAX2xA5phB5TDDkiwA45gB2zGDliEHTARO2AAdkBb
7IBq2AH/lVgH/BU74A/YAe9gBzyHHfAAdkBz7IDy2AEpdsBR7IAt2AGLsQMmYQcMxA5ohx1QHTvgvxPrgL9hB/wRO+Bd7IDn
sQMexA5ogR1QATsgB3bAMeyArdgBS7ADJmMHDMIOaI8dUAM74H8S64C/Ywf8CTvgPeyAF7ADHsIOaIkdUBE7ICd2wHHsgG3Y
AUuxA6ZgBwzGDuiAHVATO+B/E+uAf2AH/Bk74H3sgBexAx7GDmiFHVAJOyAXdsAJ7IDt2AHLsAOmYgcMwQ7oiB1QCzvgX4l1
wD+xA/6CHfABdsBL2AGPYAfcgR1QGTsgN3bASeyAHdgBy7EDpmEHDMUO6IQdUBs7ICO1DjiEHbARO2ABdsB47IB+2AGtsQOq
YAfkwQ44hR2wEztgBXbAdOyAYdgBnbED6mAHZKbWAYexAzZhByzEDpiAHdAfO6ANdkBV7IC82AGnsQN2YQesxA6YgR0wHDug
C3ZAXeyAJLUOOIIdsBk7YBF2wETsgAHYAW2xA6phB+TDDjiDHbAbO2AVdsBM7IAR2AFdsQPqYQekqXXAUeyALdgBi7EDJmEH
DMQOaIcdUB07ID92wFnsgD3YAauxA2ZhB4zEDuiGHVAfOyBHah1wDDtgK3bAEuyAydgBg7AD2mMH1MAOKIAdcA47YC92wBrs
gNnYAaOwA7pjBzTADsiZWgccxw7Yhh2wFDtgCnbAYOyADtgBNbEDCmIHnMcO2IcdsBY7YA52wGjsgB7YAQ2xA3Kl1gEnsAO2
Ywcsww6Yih0wBDugI3ZALeyAQtgBF7AD9mMHrMMOmIsdMAY7oCd2QCPsgFLhfV4ybImwxcMWC1s0bJGwhcMWClswbIGw+cPm
C5s3bJ6wudN/fxfI7u7wSdwd3oG7w8txd3ga7g4Pxd3hTrg7XBt3hwvj7vBF3B0+gLvD63F3eB7uDo/F3eFeuDvcOGzp1DpA
dYdP4e7wTtwdXoG7w9Nxd3gY7g53xt3hOrg7XAR3h3/E3eEvcHf4Q9wdfhl3hx/F3eE7cXc4OuCq1DpAdYdP4+7wLtwdXom7
wzNwd3g47g53wd3hurg7XBR3h3/C3eEvcXf4I9wdfgV3hx/D3eG7cHc4OuDq1DpAdYfP4O7wbtwdXoW7wzNxd3gE7g53xd3h
erg7XAx3h3/G3eGvcHf4Y9wdfhV3hx/H3eG7cXc4OuCa1DpAdYfP4u7wHtwdXo27w7Nwd3gk7g53w93h+rg7XBx3h3/B3eGv
cXf4E9wdfg13h5/A3eF7cHc4OuDa1DpAdYfP4e7wXtwdXoO7w7Nxd3gU7g53x93hBrg7XAJ3h3/F3eFvcHf4U9wdfh13h5/E
3eF7cXc4OuC61DpAdYfP4+7wPtwdXou7w3Nwd3g07g73wN3hhrg7XBJ3h3/D3eFvcXf4M9wdfgN3h5/C3eH7cHc4OuD61DpA
dYcv4O7wftwdXoe7w3Nxd3gM7g73xN3hRrg7XAp3hy/h7vB3uDv8Oe4Ov4m7w0/j7vD9uDscHXBDah2gusMXcXf4AO4Or8fd
4Xm4OzwWd4d74e5wY9wdLo27w5dxd/gg7g5vwN3h+bg7PA53h3vj7nB0QJnUOiADO+AQdsBG7IAF2AHjsQP6YQe0xg6ogh2Q
BzvgFHbATuyAFdgB07EDhmEHdMYOKJtaB2RiBxzGDtiEHbAQO2ACdkB/7IA22AFVsQPyYgecxg7YhR2wEjtgBnbAcOyALtgB
5VLrgAQ74Ah2wGbsgEXYAROxAwZgB7TFDqiGHZAPO+AMdsBu7IBV2AEzsQNGYAd0xQ4on1oHpNgBR7EDtmAHLMYOmIQdMBA7
oB12QHXsgPzYAWexA/ZgB6zGDpiFHTASO6AbdkCF1DogB3bAMeyArdgBS7ADJmMHDMIOaI8dUAM7oAB2wDnsgL3YAWuwA2Zj
B4zCDuiOHVAxtQ7IiR1wHDtgG3bAUuyAKdgBg7EDOmAH1MQOKIgdcB47YB92wFrsgDnYAaOxA3pgB1RKrQNyYQecwA7Yjh2w
DDtgKnbAEOyAjtgBtbADCmEHXMAO2I8dsA47YC52wBjsgJ7YAY3C+7Rh2AZh64etF7Zu2Dpha4etFbZm2Bphq4etFrZq2Cph
K+PucO70398Fsrs7fBJ3h3fg7vBy3B2ehrvDQ3F3uBPuDtfG3eHCuDt8EXeHD+Du8HrcHZ6Hu8NjcXe4V9jGqXVAaewA1R0+
hbvDO3F3eAXuDk/H3eFhuDvcGXeH6+DucBHcHf4Rd4e/wN3hD3F3+GXcHX4Ud4ejA25MrQOuwg5Q3eHTuDu8C3eHV+Lu8Azc
HR6Ou8NdcHe4Lu4OF8Xd4Z9wd/hL3B3+CHeHX8Hd4cdwdzg64KbUOuBq7ADVHT6Du8O7cXd4Fe4Oz8Td4RG4O9wVd4fr4e5w
Mdwd/hl3h7/C3eGPcXf4Vdwdfhx3h6MDbk6tA67BDlDd4bO4O7wHd4dX4+7wLNwdHom7w91wd7g+7g4Xx93hX3B3+GvcHf4E
d4dfw93hJ3B3ODrgltQ64FrsANUdPoe7w3txd3gN7g7Pxt3hUbg73B13hxvg7nAJ3B3+FXeHv8Hd4U9xd/h13B1+EneHowNu
Ta0DrsMOUN3h87g7vA93h9fi7vAc3B0ejbvDPXB3uCHuDpfE3eHfcHf4W9wd/gx3h9/A3eGncHc4OuC21DrgeuwA1R2+gLvD
+3F3eB3uDs/F3eExuDvcE3eHG+HucCncHb6Eu8Pf4e7w57g7/CbuDj+Nu8PRAben1gE3YAeo7vBF3B0+gLvD63F3eB7uDo/F
3eFeuDvcGHeHS+Pu8GXcHT6Iu8MbcHd4Pu4Oj8Pd4eiAJql1QBnsgAzsgEPYARuxAxZgB4zHDuiHHdAaO6AKdkAe7IBT2AE7
sQNWYAdMxw4Yhh3QNLUOKIsdkIkdcBg7YBN2wELsgAnYAf2xA9pgB1TFDsiLHXAaO2AXdsBK7IAZ2AHDsQOapdYB5bADEuyA
I9gBm7EDFmEHTMQOGIAd0BY7oBp2QD7sgDPYAbuxA1ZhB8zEDhiBHdA8tQ4ojx2QYgccxQ7Ygh2wGDtgEnbAQOyAdtgB1bED
8mMHnMUO2IMdsBo7YBZ2wEjsgBapdUAF7IAc2AHHsAO2YgcswQ6YjB0wCDugPXZADeyAAtgB57AD9mIHrMEOmI0dMAo7oGVq
HVAROyAndsBx7IBt2AFLsQOmYAcMxg7ogB1QEzugIHbAeeyAfdgBa7ED5mAHjMYOaJVaB1TCDsiFHXACO2A7dsAy7ICp2AFD
sAM6YgfUwg4ohB1wATtgP3bAOuyAudgBY7ADeob3WY+w3cN2C9s1bJewncN2CtsxbIew7cO2C9s2bJuwrcPegbvDlXF3OHf6
7+8C2d0dPom7wztwd3g57g5Pw93hobg73Al3h2vj7nBh3B2+iLvDB3B3eD3uDs/D3eGxYXul1gGNsQNKYweo7vAp3B3eibvD
K3B3eDruDg/D3eHOuDtcB3eHi+Du8I+4O/wF7g5/iLvDL+PucHTAnal1wI3YAVdhB6ju8GncHd6Fu8MrcXd4Bu4OD8fd4S64
O1wXd4eL4u7wT7g7/CXuDn+Eu8Ov4O5wdMBdqXXATdgBV2MHqO7wGdwd3o27w6twd3gm7g6PwN3hrrg7XA93h4vh7vDPuDv8
Fe4Of4y7w6/i7nB0wN2pdcDN2AHXYAeo7vBZ3B3eg7vDq3F3eBbuDo/E3eFuuDtcH3eHi+Pu8C+4O/w17g5/grvDr+HucHTA
Pal1wC3YAddiB6ju8DncHd6Lu8NrcHd4Nu4Oj8Ld4e64O9wAd4dL4O7wr7g7/A3uDn+Ku8Ov4+5wdMC9qXXArdgB12EHqO7w
edwd3oe7w2txd3gO7g6Pxt3hHrg73BB3h0vi7vBvuDv8Le4Of4a7w2/g7nB0wH2pdcBt2AHXYweo7vAF3B3ej7vD63B3eC7u
Do/B3eGeuDvcCHeHS+Hu8CXcHf4Od4c/x93hN3F3ODrg/tQ64HbsgBuwA1R3+CLuDh/A3eH1uDs8D3eHx+LucC/cHW6Mu8Ol
cXf4Mu4OH8Td4Q24Ozwfd4ejA3qn1gFNsAPKYAdkYAccwg7YiB2wADtgPHZAP+yA1tgBVbAD8mAHnMIO2IkdsAI7YDp2QJ/U
OqApdkBZ7IBM7IDD2AGbsAMWYgdMwA7ojx3QBjugKnZAXuyA09gBu7ADVmIHzMAO6JtaBzTDDiiHHZBgBxzBDtiMHbAIO2Ai
dsAA7IC22AHVsAPyYQecwQ7YjR2wCjtgJnbAA6l1QHPsgPLYASl2wFHsgC3YAYuxAyZhBwzEDmiHHVAdOyA/dsBZ7IA92AGr
sQNmYQc8mFoHtMAOqIAdkAM74Bh2wFbsgCXYAZOxAwZhB7THDqiBHVAAO+AcdsBe7IA12AGzsQMeSq0DWmIHVMQOyIkdcBw7
YBt2wFLsgCnYAYOxAzpgB9TEDiiIHXAeO2AfdsBa7IA52AEPp9YBrbADKmEH5MIOOIEdsB07YBl2wFTsgCHYAR2xA2phBxTC
DriAHbAfO2AddsBc7IAx4X0yOuyosCPDjgg7POywsEPDDgk7OOygsAPDDgjbP2y/sI/g7vAduDtcGXeHc6f//i6Q3d3hk7g7
vAN3h5fj7vA03B0eirvDnXB3uDbuDhfG3eGLuDt8AHeH1+Pu8LywY1PrgF7YAY2xA0pjB6ju8CncHd6Ju8MrcHd4Ou4OD8Pd
4c64O1wHd4eL4O7wj7g7/AXuDn+Iu8PRAY+m1gF3YgfciB1wFXaA6g6fxt3hXbg7vBJ3h2fg7vBw3B3ugrvDdXF3uCjuDv+E
u8Nf4u7wR7g7HB3wWGodcBd2wE3YAVdjB6ju8BncHd6Nu8OrcHd4Ju4Oj8Dd4a64O1wPd4eL4e7wz7g7/BXuDn+Mu8PRAY+n
1gF3YwfcjB1wDXaA6g6fxd3hPbg7vBp3h2fh7vBI3B3uhrvD9XF3uDjuDv+Cu8Nf4+7wJ7g7HB3wRGodcA92wC3YAddiB6ju
8DncHd6Lu8NrcHd4Nu4Oj8Ld4e64O9wAd4dL4O7wr7g7/A3uDn+Ku8PRAU+m1gH3Ygfcih1wHXaA6g6fx93hfbg7vBZ3h+fg
7vBo3B3ugbvDDXF3uCTuDv+Gu8Pf4u7wZ7g7HB3wVGodcB92wG3YAddjB6ju8AXcHd6Pu8PrcHd4Lu4Oj8Hd4Z64O9wId4dL
4e7wJdwd/g53hz/H3eHogKdT64D7sQNuxw64ATtAdYcv4u7wAdwdXo+7w/Nwd3gs7g73wt3hxrg7XBp3hy/j7vBB3B3egLvD
0QHjUuuA3tgBTbADymAHZGAHHMIO2IgdsAA7YDx2QD/sgNbYAVWwA/JgB5zCDtiJHbACO+CZ1DqgD3ZAU+yAstgBmdgBh7ED
NmEHLMQOmIAd0B87oA12QFXsgLzYAaexA3ZhB6zEDng2tQ7oix3QDDugHHZAgh1wBDtgM3bAIuyAidgBA7AD2mIHVMMOyIcd
cAY7YDd2wCrsgOdS64AHsAOaYweUxw5IsQOOYgdswQ5YjB0wCTtgIHZAO+yA6tgB+bEDzmIH7MEOWI0d8HxqHfAgdkAL7IAK
2AE5sAOOYQdsxQ5Ygh0wGTtgEHZAe+yAGtgBBbADzmEH7MUOWIMd8EJqHfAQdkBL7ICK2AE5sQOOYwdsww5Yih0wBTtgMHZA
B+yAmtgBBbEDzmMH7MMOWIsd8GJqHfAwdkAr7IBK2AG5sANOYAdsxw5Yhh0wFTtgCHZAR+yAWtgBhbADLmAH7McOWIcdMDc8
z+eEnR12VtiZYWeEnR52WtipYaeEnRx2UtiJYSeEHR/2JdwdfgR3h+/A3eHKuDucO/33d4Hs7g6fxN3hHbg7vBx3h6fh7vBQ
3B3uhLvDtXF3uDDuDl/E3eEDuDu8Puy81DpgLHZAL+yAxtgBpbEDVHf4FO4O78Td4RW4Ozwdd4eH4e5wZ9wdroO7w0Vwd/hH
3B3+AneHowNeTq0DHsUOuBM74EbsgKuwA1R3+DTuDu/C3eGVuDs8A3eHh+PucBfcHa6Lu8NFcXf4J9wd/hJ3h6MDXkmtAx7D
DrgLO+Am7ICrsQNUd/gM7g7vxt3hVbg7PBN3h0fg7nBX3B2uh7vDxXB3+GfcHf4Kd4ejA15NrQMexw64GzvgZuyAa7ADVHf4
LO4O78Hd4dW4OzwLd4dH4u5wN9wdro+7w8Vxd/gX3B3+GneHowNeS60DnsAOuAc74BbsgGuxA1R3+BzuDu/F3eE1uDs8G3eH
R+HucHfcHW6Au8MlcHf4V9wd/gZ3h6MDXk+tA57EDrgXO+BW7IDrsANUd/g87g7vw93htbg7PAd3h0fj7nAP3B1uiLvDJXF3
+DfcHf4Wd4ejA95IrQOewg64DzvgNuyA67EDVHf4Au4O78fd4XW4OzwXd4fH4O5wT9wdboS7w6Vwd/gS7g5/h7vD0QFvptYB
T2MH3I8dcDt2wA3YAao7fBF3hw/g7vB63B2eh7vDY3F3uBfuDjfG3eHSuDt8GXeHD+LucHTA/NQ6YBx2QG/sgCbYAWWwAzKw
Aw5hB2zEDliAHTAeO6AfdkBr7IAq2AF5sANOYQfsxA54K7UOeAY7oA92QFPsgLLYAZnYAYexAzZhByzEDpiAHdAfO6ANdkBV
7IC82AGnsQN2YQe8nVoHPIsd0Bc7oBl2QDnsgAQ74Ah2wGbsgEXYAROxAwZgB7TFDqiGHZAPO+AMdsBu7IB3UuuA57ADHsAO
aI4dUB47IMUOOIodsAU7YDF2wCTsgIHYAe2wA6pjB+THDjiLHbAHO+Dd1DrgeeyAB7EDWmAHVMAOyIEdcAw7YCt2wBLsgMnY
AYOwA9pjB9TADiiAHXAOO2AvdsB7qXXAC9gBD2EHtMQOqIgdkBM74Dh2wDbsgKXYAVOwAwZjB3TADqiJHVAQO+A8dsA+7ID3
U+uAF7EDHsYOaIUdUAk7IBd2wAnsgO3YAcuwA6ZiBwzBDuiIHVALO6AQdsAF7ID92AHrwvN0bdg1YVeHXRV2ZdgVYZeHXRZ2
adglYReHXRR2YdgFYT/A3eGXcHf4EdwdvgN3hyvj7nDu9N/fBbK7O3wSd4d34O7wctwdnoa7w0Nxd7gT7g7Xxt3hwrg7fBF3
hw+EXZ9aB8zDDhiLHdALO6AxdkBp7ADVHT6Fu8M7cXd4Be4OT8fd4WG4O9wZd4fr4O5wEdwd/hF3h6MDPkytA17GDngUO+BO
7IAbsQOuwg5Q3eHTuDu8C3eHV+Lu8AzcHR6Ou8NdcHe4Lu4OF8Xd4Z9wdzg64KPUOuAV7IDHsAPuwg64CTvgauwA1R0+g7vD
u3F3eBXuDs/E3eERuDvcFXeH6+HucDHcHf4Zd4ejAz5OrQNexQ54HDvgbuyAm7EDrsEOUN3hs7g7vAd3h1fj7vAs3B0eibvD
3XB3uD7uDhfH3eFfcHc4OuCT1DrgNeyAJ7AD7sEOuAU74FrsANUdPoe7w3txd3gN7g7Pxt3hUbg73B13hxvg7nAJ3B3+FXeH
owM+Ta0DXscOeBI74F7sgFuxA67DDlDd4fO4O7wPd4fX4u7wHNwdHo27wz1wd7gh7g6XxN3h33B3ODrgs9Q64A3sgKewA+7D
DrgNO+B67ADVHb6Au8P7cXd4He4Oz8Xd4TG4O9wTd4cb4e5wKdwdvoS7w9EBn6fWAW9iBzyNHXA/dsDt2AE3YAeo7vBF3B0+
gLvD63F3eB7uDo/F3eFeuDvcGHeHS+Pu8GXcHY4O2JBaB8zHDhiHHdAbO6AJdkAZ7IAM7IBD2AEbsQMWYAeMxw7ohx3QGjug
CnZAHuyAU9gBv0utA97CDngGO6APdkBT7ICy2AGZ2AGHsQM2YQcsxA6YgB3QHzugDXZAVeyAvNgBp7EDfp9aB7yNHfAsdkBf
7IBm2AHlsAMS7IAj2AGbsQMWYQdMxA4YgB3QFjugGnZAPuyAM9gBf0itA97BDngOO+AB7IDm2AHlsQNS7ICj2AFbsAMWYwdM
wg4YiB3QDjugOnZAfuyAs9gBf0ytA97FDngeO+BB7IAW2AEVsANyYAccww7Yih2wBDtgMnbAIOyA9tgBNbADCmAHnMMO+FNq
HfAedsAL2AEPYQe0xA6oiB2QEzvgOHbANuyApdgBU7ADBmMHdMAOqIkdUBA74Dx2wJ9T64D3sQNexA54GDugFXZAJeyAXNgB
J7ADtmMHLMMOmIodMAQ7oCN2QC3sgELYARewA/4P1JbgCQ==
"""),
    "relative_coords_table_4": (torch.float32, (1, 15, 15, 2), """
eNpdlTFqHUEQBZUqVS7QGZwo0pbu4Fs4MBhjUKJYR9EhDHZk8LHst1SB2A/D0zLTr+iZ7tbt89vvW9fD39dTn75+OfXPj8+n
vnx6PPX++92p395//pre/P/5fbiP5zEe/dAfWcSatsadjjsddzrudNzpuH4f7uN5jEc/9I5HucWatsadjjsddzrudFy/D/fx
PMajF/rHo7sst1jT1rjTcafjTsf1+3Afz2Ms+qF/PHq77rLcYk1b407HnY7r9+E+nsV49EP/eFQrvV13WW6xpq1xp+P6fbiH
5zEe/dA/HtVmtdLbdZflFmvaGte/D/fxPMajH/rHo16oNquV3q67LLdYNx9+47qP5zEe/dA/HvVevVBtViu9XXdZbrH8PtzH
8xiPfugfj3q93qsXqs1qpbfrLsstlvt4HuPRD/3j0Wyp1+u9eqHarFZ6u+6y3GJ5HuPRD/3j0SxrttTr9V69UG1WK71dd1lu
sYxHP/SPR7OzWdZsqdfrvXqh2qxWervustxi6Yf+8WhWNzubZc2Wer3eqxeqzWqlt+suyy2W/vFaH/9HXGfodcZce/Bao9c3
vOZ4rn/ZkrrL
"""),
    "relative_position_index_5": (torch.int64, (64, 64), """
eNrt2EW7FgQUReEL0t0NAqJ0p4CAtIJ0dzd4SQlplVAE6e7u7u4GaaT8KQxYE6bsCed79pmsP7An501O+nA/01F0JB1Bh9Nh
dCjtS/vQ3rQX7Ul70O60G21H29I2tDVtRX+iLWkL2og2pN/TBrQ+rUe/o3VpNVqVVqGVaSVakVag5enXtAT9ihanxWhR+iUt
QvPQ3DQXzUlz0Ow0G81K09I0NDVNRb+gKWmKpI9vNE3+xB30E3fQXtxBY3EH1cUdfCPuIK+4g3TiDsaIO+gv7qCDuIMm4g5q
iDsoKe4gn7iD9OIOxoo7GCDuoKO4g6biDmqKOygl7iC/uIMM4g7GiTsYKO6gk7iDZuIOaok7KC3uoIC4g4ziDsaLOxgk7qCz
uIPm4g6+FXdQRtxBQXEHmcQdTBB3MFjcQRdxBz+IO6gt7qCsuINC4g4yizv4RdzBEHEHXcUd/CjuoI64g3LiDgqLO8gi7mA6
nUan0l/pFDqZTqITxb/RfvB5+MEMcQf2g9h+MFPcgf0gth/MEndgP4jtB7PFHdgPYvvBb+IO7Aex/eB3cQf2g9h+8Ie4A/tB
bD/4my6gf9E/6Xw6j86lc+wHCeEHC8Ud2A9i+8EicQf2g9h+8I+4A/tBbD9YLO7AfhDbD5aIO7AfxPaDpeIO7Aex/WCZuAP7
QWw/WEfX0jV0NV1FV9IVdLn9ICH8YL24A/tBbD/YIO7AfhDbDzaKO7AfxPaDTeIO7Aex/WCzuAP7QWw/2CLuwH4Q2w+2ijuw
H8T2g710D91Nd9GddAfdTrfZDxLCD/aJO7AfxPaD/eIO7Aex/eCAuAP7QWw/OCjuwH4Q2w8OiTuwH8T2g8PiDuwHsf3giLgD
+0FsPzhDT9NT9CQ9QY/TY/So/SAh/OCsuAP7QWw/OCfuwH4Q2w/OizuwH8T2gwviDuwHsf3gorgD+0FsP7gk7sB+ENsPLos7
sB/E9oPb9Ba9SW/Q6/QavUqv2A8Swg/uiDuwH8T2g7viDuwHsf3gnrgD+0FsP7gv7sB+ENsPHog7sB/E9oOH4g7sB7H94F9x
B/aD2H7wkr6gz+kz+pQ+oY/pI/tBQvjBf+IO7Aex/eCVuAP7QWw/eC3uwH4Q2w/eiDuwH8T2g7fiDuwHsf3gnbgD+0FsP/hf
3IH9ILYfvAfOaQBq
"""),
}
