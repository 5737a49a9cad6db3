# A skeleton of timm/swinv2_tiny_window16_256, made by pellucid with Python 3.11.7, timm 1.0.30, torch 2.13.0+cpu.
# Use: model = SwinTransformerV2(); model.load_state_dict(original.state_dict())
# Verification: bit-equal on the recorded input, other data, other batch sizes, train mode, gradients
# 4 constant tensors without a formula stand at the end of the file.

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
        return self.norm(self.proj(x).permute(0, 2, 3, 1))


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
        self, num_heads, relative_position_index, window_size, relative_coords_table="relative_coords_table_2"
    ):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.empty(num_heads, 1, 1))
        self.q_bias = nn.Parameter(torch.empty(32 * num_heads))
        self.v_bias = nn.Parameter(torch.empty(32 * num_heads))
        self.register_buffer("k_bias", torch.zeros(32 * num_heads), persistent=False)
        self.register_buffer("relative_coords_table", _embedded(relative_coords_table), persistent=False)
        self.register_buffer("relative_position_index", relative_position_index, persistent=False)
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False))
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
        relative_position_bias_table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        relative_position_bias = relative_position_bias_table[self.relative_position_index.view(-1)].view(
            self.window_size[0] * self.window_size[1], self.window_size[0] * self.window_size[1], -1
        )
        relative_position_bias = 16 * torch.sigmoid(relative_position_bias.permute(2, 0, 1).contiguous())
        attn = attn + relative_position_bias.unsqueeze(0)
        if mask is not None:
            num_win = mask.shape[0]
            attn = attn.view(-1, num_win, self.num_heads, N, N) + mask.unsqueeze(1).unsqueeze(0)
            attn = self.softmax(attn.view(-1, self.num_heads, N, N))
        else:
            attn = self.softmax(attn)
        attn = self.attn_drop(attn)
        return self.proj_drop(self.proj((attn @ v).transpose(1, 2).reshape(B_, N, C)))


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
        x = self.drop1(self.act(self.fc1(x)))
        return self.drop2(self.fc2(x))


def window_partition(x, window_size):
    B, H, W, C = x.shape
    x = x.view(B, H // window_size[0], window_size[0], W // window_size[1], window_size[1], C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size[0], window_size[1], C)


def window_reverse(windows, window_size, img_size):
    H, W = img_size
    C = windows.shape[-1]
    x = windows.view(-1, H // window_size[0], W // window_size[1], window_size[0], window_size[1], C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, H, W, C)


class SwinTransformerV2Block(nn.Module):
    def __init__(
        self, num_heads, relative_position_index, window_size, drop_path1, drop_path2, shift_size, attn_mask=None,
        relative_coords_table="relative_coords_table_2", window_area=256,
    ):
        super().__init__()
        self.register_buffer("attn_mask", attn_mask, persistent=False)
        self.attn = WindowAttention(
            num_heads, relative_position_index, window_size, relative_coords_table=relative_coords_table
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
        x_windows = window_partition(shifted_x, self.window_size).view(-1, self.window_area, C)
        attn_mask = self.attn_mask
        attn_windows = self.attn(x_windows, mask=attn_mask)
        attn_windows = attn_windows.view(-1, self.window_size[0], self.window_size[1], C)
        shifted_x = window_reverse(attn_windows, self.window_size, (Hp, Wp))[:, :H, :W, :].contiguous()
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
        x = self.reduction(x.reshape(B, H // 2, 2, W // 2, 2, C).permute(0, 1, 3, 4, 2, 5).flatten(3))
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
        return self.fc(self.drop(self.global_pool(x)))


class SwinTransformerV2(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.layers = nn.Sequential(
            SwinTransformerV2Stage(
                nn.Identity(),
                [
                    SwinTransformerV2Block(
                        3,
                        (lambda place: place[:, None] - place + 480)(
                            torch.arange(256) // 16 * 31 + torch.arange(256) % 16
                        ),
                        (16, 16),
                        drop_path1=nn.Identity(),
                        drop_path2=nn.Identity(),
                        shift_size=(0, 0),
                    ),
                    SwinTransformerV2Block(
                        3,
                        (lambda place: place[:, None] - place + 480)(
                            torch.arange(256) // 16 * 31 + torch.arange(256) % 16
                        ),
                        (16, 16),
                        drop_path1=DropPath(0.00909090880304575),
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
                        (lambda place: place[:, None] - place + 480)(
                            torch.arange(256) // 16 * 31 + torch.arange(256) % 16
                        ),
                        (16, 16),
                        drop_path1=DropPath(0.0181818176060915),
                        drop_path2=DropPath(0.0181818176060915),
                        shift_size=(0, 0),
                    ),
                    SwinTransformerV2Block(
                        6,
                        (lambda place: place[:, None] - place + 480)(
                            torch.arange(256) // 16 * 31 + torch.arange(256) % 16
                        ),
                        (16, 16),
                        drop_path1=DropPath(0.027272727340459824),
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
                        (lambda place: place[:, None] - place + 480)(
                            torch.arange(256) // 16 * 31 + torch.arange(256) % 16
                        ),
                        (16, 16),
                        drop_path1=DropPath(drop_prob),
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
                        (lambda place: place[:, None] - place + 112)(torch.arange(64) // 8 * 15 + torch.arange(64) % 8),
                        (8, 8),
                        drop_path1=DropPath(0.09090909361839294),
                        drop_path2=DropPath(0.09090909361839294),
                        shift_size=(0, 0),
                        relative_coords_table="relative_coords_table_3",
                        window_area=64,
                    ),
                    SwinTransformerV2Block(
                        24,
                        (lambda place: place[:, None] - place + 112)(torch.arange(64) // 8 * 15 + torch.arange(64) % 8),
                        (8, 8),
                        drop_path1=DropPath(0.10000000149011612),
                        drop_path2=DropPath(0.10000000149011612),
                        shift_size=(0, 0),
                        relative_coords_table="relative_coords_table_3",
                        window_area=64,
                    ),
                ],
            ),
        )
        self.norm = nn.LayerNorm(768)
        self.head = ClassifierHead()

    def forward(self, x):
        return self.head(self.norm(self.layers(self.patch_embed(x))))


# Constant tensors that no formula was found for: dtype, shape, elements (zlib, base64).
def _embedded(name):
    dtype, shape, text = _EMBEDDED[name]
    data = bytearray(zlib.decompress(base64.b64decode(text)))
    return torch.frombuffer(data, dtype=dtype).reshape(shape)


_EMBEDDED = {
    "attn_mask_0": (torch.float32, (16, 256, 256), """
eNrt27EJw0AQRUH1X9ZFV5YLMBwIGx57zMCGLxH+iqznAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+Le9zqfX6/V6vV6v1+v1
er1er9fr9Xq9Xq/X6/V6vb7vPR+9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6+f3no9er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9fN7z0ev1+v1er1er9fr
9Xq9Xq/X6/V6vV6v1+v1et//6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V63//r9Xq9Xq/X6/V6vV6v
1+v1er1er9fr9Xq9Xq/ve89Hr9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xrf/+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er+97z0ev1+v1er1er9fr9Xq9
Xq/X6/V6vV6v1+v1et//6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V63//r9Xq9Xq/X6/V6vV6v1+v1
er1er9fr9Xq9Xq/ve89Hr9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xrf/+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er+97z0ev1+v1er1er9fr9Xq9Xq/X
6/V6vV6v1+v1et//6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V63//r9Xq9Xq/X6/V6vV6v1+v1er1e
r9fr9Xq9Xq/ve89Hr9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xrf/+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er+97z0ev1+v1er1er9fr9Xq9Xq/X6/V6
vV6v1+v1et//6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V63//r9Xq9Xq/X6/V6vV6v1+v1er1er9fr
9Xq9Xq/ve89Hr9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xrf/+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er+97z0ev1+v1er1er9fr9Xq9Xq/X6/V6vV6v
1+v1et//6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V63//r9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9
Xq/ve89Hr9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9fr7v/8HAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB4a6/z6fV6vV6v1+v1
er1er9fr9Xq9Xq/X6/V6vV6v73vPR6/X6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/X6+b3no9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xr9/N7z0ev1er1er9fr
9Xq9Xq/X6/V6vV6v1+v1er3e9/96vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vd73/3q9Xq/X6/V6vV6v
1+v1er1er9fr9Xq9Xq/X6/ve89Hr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq93vf/er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr+97z0ev1er1er9fr9Xq9
Xq/X6/V6vV6v1+v1er3e9/96vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vd73/3q9Xq/X6/V6vV6v1+v1
er1er9fr9Xq9Xq/X6/ve89Hr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq93vf/er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr+97z0ev1er1er9fr9Xq9Xq/X
6/V6vV6v1+v1er3e9/96vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vd73/3q9Xq/X6/V6vV6v1+v1er1e
r9fr9Xq9Xq/X6/ve89Hr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq93vf/er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr+97z0ev1er1er9fr9Xq9Xq/X6/V6
vV6v1+v1er3e9/96vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vd73/3q9Xq/X6/V6vV6v1+v1er1er9fr
9Xq9Xq/X6/ve89Hr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq93vf/er1er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr+97z0ev1er1er9fr9Xq9Xq/X6/V6vV6v
1+v1er3e9/96vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vd73/3q9Xq/X6/V6vV6v1+v1er1er9fr9Xq9
Xq/X6/ve89Hr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9/v7v/wEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAN7a63x6vV6v1+v1
er1er9fr9Xq9Xq/X6/V6vV6v1+v73vPR6/V6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vX5+7/no9Xq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xj+/93z0er1er9fr
9Xq9Xq/X6/V6vV6v1+v1er1er/f9v16v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1+r73fPR6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v9/2/Xq/X6/V6vV6v
1+v1er1er9fr9Xq9Xq/X6/X6vvd89Hq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/3/b9er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9fq+93z0er1er9fr9Xq9
Xq/X6/V6vV6v1+v1er1er/f9v16v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1+r73fPR6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v9/2/Xq/X6/V6vV6v1+v1
er1er9fr9Xq9Xq/X6/X6vvd89Hq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/3/b9er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9fq+93z0er1er9fr9Xq9Xq/X
6/V6vV6v1+v1er1er/f9v16v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1+r73fPR6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v9/2/Xq/X6/V6vV6v1+v1er1e
r9fr9Xq9Xq/X6/X6vvd89Hq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/3/b9er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9fq+93z0er1er9fr9Xq9Xq/X6/V6
vV6v1+v1er1er/f9v16v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1+r73fPR6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v9/2/Xq/X6/V6vV6v1+v1er1er9fr
9Xq9Xq/X6/X6vvd89Hq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq/3/b9er9fr9Xq9Xq/X6/V6vV6v1+v1er1er9fr9fq+93z0er1er9fr9Xq9Xq/X6/V6vV6v
1+v1er1er/f9v16v1+v1er1er9fr9Xq9Xq/X6/V6vV6v1+v1+r73fPR6vV6v1+v1er1er9fr9Xq9Xq/X6/V6vV6v9/2/Xq/X6/V6vV6v1+v1er1er9fr9Xq9
Xq/X6/X6vvd89Hq9Xq/X6/V6vV6v1+v1er1er9fr9Xq9Xq+///t/7vbr/0Pc7MP+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Y
v7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O79/+3f2j/07+8f+
nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07
+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sHxuwf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/
7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n//j92z/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s
39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX/nnPc/
3v/O/rEB+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/2
7+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/fv/1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv
7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/h327+wf+3f2j/07+8f+nf1j
/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+
nf1j/87+sX9n/9i/s3/s3/n927+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv
7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+we8/533P/bv7B/7d9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/Z
P/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/5/dv/87+
sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j
/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39YwP2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv
7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH79/+8f+nf1j/87+sX9n/9i/s3/s39k/9u/s
H/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/c877H+9/
Z//Yv7N/7N/ZPzZg/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2
j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/vH7t3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP
/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv8P+nf1j/87+sX9n
/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+
sX9n/9i/s3/s39k/9u/sH/t39o/9O79/+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP
/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf0D3v/O+x/7d/aP/Tv7x/6d/WP/Dvt39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7
d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv
/P7t39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n
/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/bMD+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP
/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p394/dv/9i/s3/s39k/9u/sH/t39o/9
O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s3znn/Y/3v7N/
7N/ZP/bv7B/7d/aP/Tv7xwbsH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+
nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP37/9o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d
/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d9i/s3/s
39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+sX9n/9i/
s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/5/dv/87+sX9n/9i/s3/s39k/9u/sH/t39o/9O/vH/p39Y//O/rF/Z//Yv7N/7N/ZP/bv7B/7d/aP/Tv7x/6d
/WP/zv6xf2f/2L+zf+zf2T/27+wf+3f2j/07+8f+nf1j/87+qd4P+tm98/63H/t39m8/9u/s337s39m//di/s3+9/Tv719u/s3+9/TvvB/vyfnD2r7d/Z/96
+3f2r7d/Z/96+3f2r7d/Z/96+3f2r7d/Z996+3b2r7d/Z/96+3f2r7d/Z/96+3f2r7d/Z/96+3f2r7d/5/2g935w9q+3f2f/evt39q+3f2f/evt39q+3f2f/
evt39q+3f+f3rXf2bz/27+zffuzf2b/92L+zf/uxf2f/evt39q+3f2f/evt33g/25f3g7F9v/87+9fbv7F9v/87+9fbv7F9v/87+9fbv7F9v/86+9fbt7F9v
/87+9fbv7F9v/87+9fbv7F9v/87+9fbv7F9v/877Qe/94Oxfb//O/vX27+xfb//O/vX27+xfb//O/vX27+xfb//O71vvnP3Yv7N/+7F/Z//2Y//O/u3H/p39
6+3f2b/e/p396+3feT/Yl/eDs3+9/Tv719u/s3+9/Tv719u/s3+9/Tv719u/s3+9/Tv71tu3s3+9/Tv719u/s3+9/Tv719u/s3+9/Tv719u/s3+9/TvvB733
g7N/vf07+9fbv7N/vf07+9fbv7N/vf07+9fbv7N/vf07v2+9c37/9u/s337s39m//di/s3/7sX9n/3r7d/avt39n/3r7d94P9uX94Oxfb//O/vX27+xfb//O
/vX27+xfb//O/vX27+xfb//OvvX27exfb//O/vX27+xfb//O/vX27+xfb//O/vX27+xfb//O+0Hv/eDsX2//zv719u/sX2//zv719u/sX2//zv719u/sX2//
zjnvN71z9mP/zv7tx/6d/duP/Tv7tx/7d/avt39n/3r7d/avt3/n/WBf3g/O/vX27+xfb//O/vX27+xfb//O/vX27+xfb//O/vX27+xbb9/O/vX27+xfb//O
/vX27+xfb//O/vX27+xfb//O/vX277wf9N4Pzv719u/sX2//zv719u/sX2//zv719u/sX2//zv719u/8vvXO+f3bv7N/+7F/Z//2Y//O/u3H/p396+3f2b/e
/p396+3feT/Yl/eDs3+9/Tv719u/s3+9/Tv719u/s3+9/Tv719u/s3+9/Tv71tu3s3+9/Tv719u/s3+9/Tv719u/s3+9/Tv719u/s3+9/TvvB733g7N/vf07
+9fbv7N/vf07+9fbv7N/vf07+9fbv7N/vf07v2+9c37/emf/9mP/zv7tx/6d/duP/Tv7tx/7d/avt39n/3r7d94P9uX94Ozffuzf2b/e/p396+3f2b/e/p39
6+3f2b/e/p396+3f2bfevp396+3f2b/e/p396+3f2b/e/p396+3f2b/e/p396+3feT/ovR+c/evt39m/3v6d/evt39m/3v6d/evt39m/3v6d/evt3/l9653z
+9c7+7cf+3f2bz/27+zffuzf2b/92L+zf739O/vX27/zfrAv7wdn//Zj/87+9fbv7F9v/87+9fbv7F9v/87+9fbv7F9v/86+9fbt7F9v/87+9fbv7F9v/87+
9fbv7F9v/87+9fbv7F9v/877Qe/94Oxfb//O/vX27+xfb//O/vX27+xfb//O/vX27+xf/+0DrPDWjA==
"""),
    "attn_mask_1": (torch.float32, (4, 256, 256), """
eNrt2zEKhEAQBdG5/7GMPJYHEAQRKXp4BT+sZNjqaF0LAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADgLefxPD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+b3vffh8
Pp/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/Pn+97Hz6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz5/veh8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/n8/l83//z+Xw+
n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/vfe/D5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fL7v//l8Pp/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/e+9+Hz+Xw+
n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+3/f/fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fze9/78Pl8Pp/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/v+38+n8/n8/l8
Pp/P5/P5fD6fz+fz+Xw+n8/n8/m97334fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz/f9P5/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5/N73Pnw+n8/n8/l8
Pp/P5/P5fD6fz+fz+Xw+n8/n+/6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xx+73sfPp/P5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/N9/8/n8/l8Pp/P5/P5
fD6fz+fz+Xw+n8/n8/l8Pr/3vQ+fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+b7/5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6f3/veh8/n8/l8Pp/P5/P5
fD6fz+fz+Xw+n8/n8/l83//z+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/vfe/D5/P5fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fL7v//l8Pp/P5/P5fD6fz+fz
+Xw+n8/n8/l8Pp/P5/e+9+Hz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+3/f/fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fze9/78Pl8Pp/P5/P5fD6fz+fz
+Xw+n8/n8/l8Pp/v+38+n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/n8/m97334fD6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz/f9P5/P5/P5fD6fz+fz+Xw+n8/n
8/l8Pp/P5/P5/N73Pnw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xw+n8/n+/6fz+fz+Xw+n8/n8/l8Pp/P5/P5fD6fz+fz+Xx+73sfPp/P5/P5fD6fz+fz+Xw+n8/n
8/l8Pp/P5/P3//4fe/P1/yE2e9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf
9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/s3vX/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0
b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1DA/qH/k3/0L/pH/o3/UP/pn/o
3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP
/Zv+oX/TP/z+9Q/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9
Q/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6NzP3H+6/6R8a0D/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9
m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+4fevf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D
/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/wb9
m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6h
f9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/8/vVv+of+Tf/Qv+kf+jf9Q/+mf+jf9A/9m/6hf9M/9G/6h/5N/9C/6R/6N/1D/6Z/6N/0D/2b/qF/0z/0b/qH/k3/
0L/pH/o3/UP/pn/o3/QP/Zv+oX/TP/Rv+of+Tf/Qv+kf+jf9Q/+mf/x1H/izfXP/9aN/079+9G/614/+Tf/60b/pn69/0z9f/6Z/vv7NfdCX+2D65+vf9M/X
v+mfr3/TP1//pn++/k3/fP2b/vn6N33z9W365+vf9M/Xv+mfr3/TP1//pn++/k3/fP2b/vn6N/eB7z6Y/vn6N/3z9W/65+vf9M/Xv+mfr3/TP1//pn++/s3v
m2/614/+Tf/60b/pXz/6N/3rR/+mf77+Tf98/Zv++fo390Ff7oPpn69/0z9f/6Z/vv5N/3z9m/75+jf98/Vv+ufr3/TN17fpn69/0z9f/6Z/vv5N/3z9m/75
+jf98/Vv+ufr39wHvvtg+ufr3/TP17/pn69/0z9f/6Z/vv5N/3z9m/75+je/b76ZfvRv+teP/k3/+tG/6V8/+jf98/Vv+ufr3/TP17+5D/pyH0z/fP2b/vn6
N/3z9W/65+vf9M/Xv+mfr3/TP1//pm++vk3/fP2b/vn6N/3z9W/65+vf9M/Xv+mfr3/TP1//5j7w3QfTP1//pn++/k3/fP2b/vn6N/3z9W/65+vf9M/Xv/l9
8838/vVv+teP/k3/+tG/6V8/+jf98/Vv+ufr3/TP17+5D/pyH0z/fP2b/vn6N/3z9W/65+vf9M/Xv+mfr3/TP1//pm++vk3/fP2b/vn6N/3z9W/65+vf9M/X
v+mfr3/TP1//5j7w3QfTP1//pn++/k3/fP2b/vn6N/3z9W/65+vf9M/Xv5m5b3wz/ejf9K8f/Zv+9aN/079+9G/65+vf9M/Xv+mfr39zH/TlPpj++fo3/fP1
b/rn69/0z9e/6Z+vf9M/X/+mf77+Td98fZv++fo3/fP1b/rn69/0z9e/6Z+vf9M/X/+mf77+zX3guw+mf77+Tf98/Zv++fo3/fP1b/rn69/0z9e/6Z+vf/P7
5pv5/evf9K8f/Zv+9aN/079+9G/65+vf9M/Xv+mfr39zH/TlPpj++fo3/fP1b/rn69/0z9e/6Z+vf9M/X/+mf77+Td98fZv++fo3/fP1b/rn69/0z9e/6Z+v
f9M/X/+mf77+zX3guw+mf77+Tf98/Zv++fo3/fP1b/rn69/0z9e/6Z+vf/P75pv5/fNN//rRv+lfP/o3/etH/6Z//ejf9M/Xv+mfr39zH/TlPpj+9aN/0z9f
/6Z/vv5N/3z9m/75+jf98/Vv+ufr3/TN17fpn69/0z9f/6Z/vv5N/3z9m/75+jf98/Vv+ufr39wHvvtg+ufr3/TP17/pn69/0z9f/6Z/vv5N/3z9m/75+je/
b76Z3z/f9K8f/Zv+9aN/079+9G/614/+Tf98/Zv++fo390Ff7oPpXz/6N/3z9W/65+vf9M/Xv+mfr3/TP1//pn++/k3ffH2b/vn6N/3z9W/65+vf9M/Xv+mf
r3/TP1//pn++/s194LsPpn++/k3/fP2b/vn6N/3z9W/65+vf9M/Xv+mff+cCR4aoYA==
"""),
    "relative_coords_table_2": (torch.float32, (1, 31, 31, 2), """
eNpdmSuuLVUURbEvwSPpAjSANRBIFAqBewkfgUUBCSEEJJo2oPBAS2gBOJ5AwjwZIyHnJpV5K1W19xzZv7XWefHu97+/8Prsq28f+t4/Xz/01cdfPPSbtz9/
6EfvvHzoX59++NA/fnj/oX+/5KEf/vzWQz959eZDv/vp9Ye+8d6fv02//PWXh/741QcPfe2/P+/P5+f75/fYHraP/WH/6Af9oV/0jzzIh6zEOu0a93Tc03FP
xz0d93Tc03FPxz0d93Tc03FPxz0d93Tc3p/Pz/fP77E9bB/7w/7RD/pDv+gfeZAtXhrbWKdd456Oezru6bin456Oezru6bin456Oezru6bin4/b+fH6+f36P
7WH72B/2j37QH/pF/8iCfPHSXG5sY512jXs67um4p+Oejns67um4p+Oejns67um4p+P2/nx+vn9+j+1h+9gf9o9+0B/6Re/Ig3zx0tptLje2sU67xj0d93Tc
03FPxz0d93Tc03FPxz0d93Tc3p/Pz/fP77E9bB/7w/7RD/pDr+gfeZAvXtqrWrvN5cY21mnXuKfjno57Ou7puKfjno57Ou7puKfj9v58fr5/fo/tYfvYH/aP
ftAb+kX/yIN88dLe3F7V2m0uN7axTrvGPR33dNzTcU/HPR33dNzTcU/H7f35/Hz//B7bw/axP+wfvaA/9Iv+kQf54qWzqL25vaq121xubGOddo17Ou7puKfj
no57Ou7puKfj9v58fr5/fo/tYfvYH/aNftAf+kX/yIN88dLZ21nU3txe1dptLje2sU67xj0d93Tc03FPxz0d93Tc3p/Pz/fP77E9bB/7wv7RD/pDv+gfeZAv
Xoo1Ons7i9qb26tau83lxjbWade4p+Oejns67um4p+P2/nx+vn9+j+1h29gf9o9+0B/6Rf/Ig3zxUmxVrNHZ21nU3txe1dptLje2sU67xj0d93Tc03FPx+39
+fx8//we28L2sT/sH/2gP/SL/pEH+eKlWLLYqlijs7ezqL25vaq121xubGOddo17Ou7puKfj9v58fr5/fovtYfvYH/aPftAf+kX/yIN88VLsXCxZbFWs0dnb
WdTe3F7V2m0uN7axTrvGPR33dNzen8/Pd8/vsT1sH/vD/tEP+kO/6B95kC9eyhWKnYsli62KNTp7O4vam9urWrvN5cY21mnXuKfj9v58dr5/fo/tYfvYH/aP
ftAf+kX/yIN88VJuVK5Q7FwsWWxVrNHZ21nU3txe1dptLje2sU67xu3/5/Pz/fN7bA/bx/6wf/SD/tAv+kce5IuXcsFyo3KFYudiyWKrYo3O3s6i9ub2qtZu
c7mxjfW1//2N2+fn++f32B62j/1h/+gH/aFf9I88yBcv5b7lguVG5QrFzsWSxVbFGp29nUXtze1Vrd3mcmMbq/fn8/P983tsD9vH/rB/9IP+0C/6Rx7ki5dy
/XLfcsFyo3KFYudiyWKrYo3O3s6i9ub2qtZuc7mxjdXn5/vn99geto/9Yf/oB/2hX/SPPMgXL9U2yvXLfcsFy43KFYqdiyWLrYo1Ons7i9qb26tau83lxjZW
3z+/x/awfewP+0c/6A/9on/kQb54qZZTbaNcv9y3XLDcqFyh2LlYstiqWKOzt7Oovbm9qrXbXG5sY/V7bA/bx/6wf/SD/tAv+kce5IuXalfVcqptlOuX+5YL
lhuVKxQ7F0sWWxVrdPZ2FrU3t1e1dpvLjW2stoftY3/YP/pBf+gX/SMP8sVLtbpqV9Vyqm2U65f7lguWG5UrFDsXSxZbFWt09nYWtTe3V7V2m8uNbay2j/1h
/+gH/aFf9I88yBcv1Sar1VW7qpZTbaNcv9y3XLDcqFyh2LlYstiqWKOzt7Oovbm9qrXbXG5sY7U/7B/9oD/0i/6RB/nipVpstclqddWuquVU2yjXL/ctFyw3
Klcodi6WLLYq1ujs7Sxqb26vau02lxvbWO0f/aA/9Iv+kQf54qXac7XYapPV6qpdVcuptlGuX+5bLlhuVK5Q7FwsWWxVrNHZ21nU3txe1dptLje2seoH/aFf
9I88yBcv1dqrPVeLrTZZra7aVbWcahvl+uW+5YLlRuUKxc7FksVWxRqdvZ1F7c3tVa3d5nJjG6v+0C/6Rx7ki5d+W6jWXu25Wmy1yWp11a6q5VTbKNcv9y0X
LDcqVyh2LpYstirW6OztLGpvbq9q7TaXG9tY9Yv+kQf54qXfUvptoVp7tedqsdUmq9VVu6qWU22jXL/ct1yw3Khcodi5WLLYqlijs7ezqL25vaq121xubGPV
P/IgX7z021G/pfTbQrX2as/VYqtNVqurdlUtp9pGuX65b7lguVG5QrFzsWSxVbFGZ29nUXtze1Vrt7nc2MYqD/LFS7+V9dtRv6X020K19mrP1WKrTVarq3ZV
LafaRrl+uW+5YLlRuUKxc7FksVWxRmdvZ1F7c3tVa7e53NjGKl+8Xf//jfD5N6Tn3xiea9DPNcrnGtZzjeM5B37OkZ5j6OcY6/kMft6jn9fw8xg/rn8BIMPh
qA==
"""),
    "relative_coords_table_3": (torch.float32, (1, 15, 15, 2), """
eNpdlTFqHUEQBZUqVS7QGZwo0pbu4Fs4MBhjUKJYR9EhDHZk8LHst1SB2A/D0zLTr+iZ7tbt89vvW9fD39dTn75+OfXPj8+nvnx6PPX++92p395//pre/P/5
fbiP5zEe/dAfWcSatsadjjsddzrudNzpuH4f7uN5jEc/9I5HucWatsadjjsddzrudFy/D/fxPMajF/rHo7sst1jT1rjTcafjTsf1+3Afz2Ms+qF/PHq77rLc
Yk1b407HnY7r9+E+nsV49EP/eFQrvV13WW6xpq1xp+P6fbiH5zEe/dA/HtVmtdLbdZflFmvaGte/D/fxPMajH/rHo16oNquV3q67LLdYNx9+47qP5zEe/dA/
HvVevVBtViu9XXdZbrH8PtzH8xiPfugfj3q93qsXqs1qpbfrLsstlvt4HuPRD/3j0Wyp1+u9eqHarFZ6u+6y3GJ5HuPRD/3j0SxrttTr9V69UG1WK71dd1lu
sYxHP/SPR7OzWdZsqdfrvXqh2qxWervustxi6Yf+8WhWNzubZc2Wer3eqxeqzWqlt+suyy2W/vFaH/9HXGfodcZce/Bao9c3vOZ4rn/ZkrrL
"""),
}
