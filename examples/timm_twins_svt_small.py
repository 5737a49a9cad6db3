# A skeleton of timm/twins_svt_small, made by pellucid with Python 3.11.7, timm 1.0.30, torch 2.13.0+cpu.
# Use: model = Twins(); model.load_state_dict(original.state_dict())
# Load weights before training: the author's initialisation is not in this file.
# Verification: bit-equal on the recorded input; eval mode: other lengths (2x3x96x128, 2x3x128x96), other data, other
#   batch sizes (3x3x64x64, 5x3x64x64, 1x3x64x64), a second call, other weights, float64; eval mode, gradients: the
#   recorded input; train mode, gradients: the recorded input, other batch sizes (3x3x64x64), other lengths
#   (2x3x96x128); new tensors are put where the original puts them

import torch.nn.functional as F
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self, in_chans, embed_dim, patch_size=2):
        super().__init__()
        self.proj = nn.Conv2d(in_chans, embed_dim, patch_size, stride=patch_size)
        self.norm = nn.LayerNorm(embed_dim)
        self.patch_size = (patch_size, patch_size)

    def forward(self, x):
        _, _, H, W = x.shape
        x = self.norm(self.proj(x).flatten(2).transpose(1, 2))
        out_size = (H // self.patch_size[0], W // self.patch_size[1])
        return x, out_size


class Mlp(nn.Module):
    def __init__(self, in_features):
        super().__init__()
        self.fc1 = nn.Linear(in_features, 4 * in_features)
        self.act = nn.GELU()
        self.drop1 = nn.Dropout(0.0)
        self.fc2 = nn.Linear(4 * in_features, in_features)
        self.drop2 = nn.Dropout(0.0)

    def forward(self, x):
        x = self.drop1(self.act(self.fc1(x)))
        return self.drop2(self.fc2(x))


class Block(nn.Module):
    def __init__(self, dim, attn):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = attn
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = Mlp(dim)

    def forward(self, x, size):
        x = x + self.attn(self.norm1(x), size)
        return x + self.mlp(self.norm2(x))


class LocallyGroupedAttn(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(0.0)
        self.ws = 7
        self.num_heads = dim // 32

    def forward(self, x, size):
        B, N, C = x.shape
        H, W = size
        x = x.view(B, H, W, C)
        pad_r = (self.ws - W % self.ws) % self.ws
        pad_b = (self.ws - H % self.ws) % self.ws
        x = F.pad(x, (0, 0, 0, pad_r, 0, pad_b))
        _, Hp, Wp, _ = x.shape
        _h, _w = Hp // self.ws, Wp // self.ws
        x = x.reshape(B, _h, self.ws, _w, self.ws, C).transpose(2, 3)
        qkv = (
            self.qkv(x)
            .reshape(B, _h * _w, self.ws * self.ws, 3, self.num_heads, C // self.num_heads)
            .permute(3, 0, 1, 4, 2, 5)
        )
        q, k, v = qkv.unbind(0)
        x = F.scaled_dot_product_attention(q, k, v).transpose(2, 3).reshape(B, _h, _w, self.ws, self.ws, C)
        x = x.transpose(2, 3).reshape(B, _h * self.ws, _w * self.ws, C)
        assert pad_r > 0, "path not recorded"
        return self.proj_drop(self.proj(x[:, :H, :W, :].contiguous().reshape(B, N, C)))


class GlobalSubSampleAttn(nn.Module):
    def __init__(self, dim, sr_ratio=None):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(0.0)
        self.sr = nn.Conv2d(dim, dim, sr_ratio, stride=sr_ratio) if sr_ratio is not None else None
        self.norm = nn.LayerNorm(dim) if sr_ratio is not None else None
        self.num_heads = dim // 32

    def forward(self, x, size):
        B, N, C = x.shape
        q = self.q(x).reshape(B, N, self.num_heads, C // self.num_heads).permute(0, 2, 1, 3)
        if self.sr is not None:
            x = self.norm(self.sr(x.permute(0, 2, 1).reshape(B, C, *size)).reshape(B, C, -1).permute(0, 2, 1))
        kv = self.kv(x).reshape(B, -1, 2, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        k, v = kv.unbind(0)
        x = self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, N, C))
        return self.proj_drop(x)


class PosConv(nn.Module):
    def __init__(self, in_chans):
        super().__init__()
        self.proj = nn.Sequential(nn.Conv2d(in_chans, in_chans, 3, padding=1, groups=in_chans))

    def forward(self, x, size):
        B, _, C = x.shape
        cnn_feat_token = x.transpose(1, 2).view(B, C, *size)
        x = self.proj(cnn_feat_token)
        x += cnn_feat_token
        return x.flatten(2).transpose(1, 2)


class Twins(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embeds = nn.ModuleList([
            PatchEmbed(3, 64, patch_size=4),
            PatchEmbed(64, 128),
            PatchEmbed(128, 256),
            PatchEmbed(256, 512),
        ])
        self.pos_drops = nn.ModuleList([nn.Dropout(0.0) for _ in range(4)])
        self.blocks = nn.ModuleList([
            nn.ModuleList([Block(64, LocallyGroupedAttn(64)), Block(64, GlobalSubSampleAttn(64, sr_ratio=8))]),
            nn.ModuleList([Block(128, LocallyGroupedAttn(128)), Block(128, GlobalSubSampleAttn(128, sr_ratio=4))]),
            nn.ModuleList([
                block
                for _ in range(5)
                for block in (Block(256, LocallyGroupedAttn(256)), Block(256, GlobalSubSampleAttn(256, sr_ratio=2)))
            ]),
            nn.ModuleList([
                Block(512, attn_layer(512))
                for attn_layer in (LocallyGroupedAttn, GlobalSubSampleAttn, LocallyGroupedAttn, GlobalSubSampleAttn)
            ]),
        ])
        self.pos_block = nn.ModuleList([PosConv(embed_dim) for embed_dim in (64, 128, 256, 512)])
        self.norm = nn.LayerNorm(512, eps=1e-6)
        self.head_drop = nn.Dropout(0.0)
        self.head = nn.Linear(512, 1000)

    def forward_features(self, x):
        B = x.shape[0]
        for i, (embed, drop, blocks, pos_blk) in enumerate(
            zip(self.patch_embeds, self.pos_drops, self.blocks, self.pos_block)
        ):
            x, size = embed(x)
            x = drop(x)
            for j, blk in enumerate(blocks):
                x = blk(x, size)
                if j == 0:
                    x = pos_blk(x, size)
            if i < 3:
                x = x.reshape(B, *size, -1).permute(0, 3, 1, 2).contiguous()
        return self.norm(x)

    def forward_head(self, x):
        return self.head(self.head_drop(x.mean(dim=1)))

    def forward(self, x):
        return self.forward_head(self.forward_features(x))
# pellucid: {"asserted":[],"failed":{},"given":{"x":"float32[2, 3, 64, 64]"},"lenient":[],"not_compared":{},"root":"Twins","runs":[{"compared":["result","generators","buffers"],"grad":false,"inputs":{"x":"float32[2, 3, 64, 64]"},"mode":"eval","name":"recorded","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[2, 3, 96, 128]"},"mode":"eval","name":"other length 1","status":"passed"},{"compared":["events"],"grad":false,"mode":"eval","name":"events","status":"passed"},{"compared":["result","generators","gradients"],"grad":true,"mode":"eval","name":"gradients enabled","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 1","status":"passed"},{"compared":["result","generators"],"grad":true,"mode":"eval","name":"other data 2","status":"passed"},{"compared":["result","generators"],"grad":false,"mode":"eval","name":"other data 3","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[3, 3, 64, 64]"},"mode":"eval","name":"other batch 1","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[5, 3, 64, 64]"},"mode":"eval","name":"other batch 2","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[2, 3, 128, 96]"},"mode":"eval","name":"other length 2","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"other batch 3","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"mode":"train","name":"train","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"x":"float32[3, 3, 64, 64]"},"mode":"train","name":"train: other batch","status":"passed"},{"compared":["result","generators","buffers","gradients"],"grad":true,"inputs":{"x":"float32[2, 3, 96, 128]"},"mode":"train","name":"train: other length","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"called","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"called again","status":"passed"},{"compared":["result","generators"],"grad":true,"inputs":{"x":"float32[1, 3, 64, 64]"},"mode":"eval","name":"other weights","status":"passed"},{"compared":["result","generators"],"grad":false,"inputs":{"x":"float64[1, 3, 64, 64]"},"mode":"eval","name":"float64","status":"passed"}],"verify":"default"}
