"""Detection, generation and segmentation heads."""
import math
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import spectral_norm


class DETR(nn.Module):
    """The demo of the paper: a transformer of torch's own, learned positions."""

    def __init__(self, num_classes=5, hidden_dim=16, nheads=2):
        super().__init__()
        self.backbone = nn.Sequential(OrderedDict(
            conv1=nn.Conv2d(3, 8, 3, 2, 1), bn1=nn.BatchNorm2d(8), relu=nn.ReLU(inplace=True),
            conv2=nn.Conv2d(8, 32, 3, 4, 1)))
        self.conv = nn.Conv2d(32, hidden_dim, 1)
        self.transformer = nn.Transformer(hidden_dim, nheads, 1, 1, 32)
        self.linear_class = nn.Linear(hidden_dim, num_classes + 1)
        self.linear_bbox = nn.Linear(hidden_dim, 4)
        self.query_pos = nn.Parameter(torch.rand(7, hidden_dim))
        self.row_embed = nn.Parameter(torch.rand(50, hidden_dim // 2))
        self.col_embed = nn.Parameter(torch.rand(50, hidden_dim // 2))

    def forward(self, inputs):
        x = self.backbone(inputs)
        h = self.conv(x)
        H, W = h.shape[-2:]
        pos = torch.cat([
            self.col_embed[:W].unsqueeze(0).repeat(H, 1, 1),
            self.row_embed[:H].unsqueeze(1).repeat(1, W, 1),
        ], dim=-1).flatten(0, 1).unsqueeze(1)
        h = self.transformer(pos + 0.1 * h.flatten(2).permute(2, 0, 1),
                             self.query_pos.unsqueeze(1).repeat(1, h.shape[0], 1)).transpose(0, 1)
        return {"pred_logits": self.linear_class(h), "pred_boxes": self.linear_bbox(h).sigmoid()}


def detr():
    return DETR(), (torch.randn(2, 3, 32, 32),)


class Detect(nn.Module):
    """A head that builds its grids when it first sees a size, and keeps them."""

    stride = None
    dynamic = False

    def __init__(self, nc=3, anchors=((10, 13, 16, 30), (30, 61, 62, 45)), ch=(8, 16), inplace=True):
        super().__init__()
        self.nc, self.no = nc, nc + 5
        self.nl, self.na = len(anchors), len(anchors[0]) // 2
        self.grid = [torch.empty(0) for _ in range(self.nl)]
        self.anchor_grid = [torch.empty(0) for _ in range(self.nl)]
        self.register_buffer("anchors", torch.tensor(anchors).float().view(self.nl, -1, 2))
        self.m = nn.ModuleList(nn.Conv2d(x, self.no * self.na, 1) for x in ch)
        self.stride = torch.tensor([4.0, 8.0])

    def forward(self, x):
        z = []
        for i in range(self.nl):
            x[i] = self.m[i](x[i])
            bs, _, ny, nx = x[i].shape
            x[i] = x[i].view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous()
            if not self.training:
                if self.dynamic or self.grid[i].shape[2:4] != x[i].shape[2:4]:
                    self.grid[i], self.anchor_grid[i] = self._make_grid(nx, ny, i)
                xy, wh, conf = x[i].sigmoid().split((2, 2, self.nc + 1), 4)
                xy = (xy * 2 + self.grid[i]) * self.stride[i]
                wh = (wh * 2) ** 2 * self.anchor_grid[i]
                y = torch.cat((xy, wh, conf), 4)
                z.append(y.view(bs, self.na * nx * ny, self.no))
        return x if self.training else (torch.cat(z, 1), x)

    def _make_grid(self, nx=20, ny=20, i=0):
        d = self.anchors[i].device
        t = self.anchors[i].dtype
        shape = 1, self.na, ny, nx, 2
        y, x = torch.arange(ny, device=d, dtype=t), torch.arange(nx, device=d, dtype=t)
        yv, xv = torch.meshgrid(y, x, indexing="ij")
        grid = torch.stack((xv, yv), 2).expand(shape) - 0.5
        anchor_grid = (self.anchors[i] * self.stride[i]).view((1, self.na, 1, 1, 2)).expand(shape)
        return grid, anchor_grid


class Yolo(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 16, 3, 2, 1)
        self.detect = Detect()

    def forward(self, x):
        a = F.silu(self.c1(x))
        return self.detect([a, F.silu(self.c2(a))])


def yolo():
    return Yolo(), (torch.randn(2, 3, 16, 16),)


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost):
        super().__init__()
        self._embedding_dim, self._num_embeddings = embedding_dim, num_embeddings
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)
        self._commitment_cost = commitment_cost

    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 3, 1).contiguous()
        input_shape = inputs.shape
        flat_input = inputs.view(-1, self._embedding_dim)
        distances = (torch.sum(flat_input ** 2, dim=1, keepdim=True) + torch.sum(self._embedding.weight ** 2, dim=1)
                     - 2 * torch.matmul(flat_input, self._embedding.weight.t()))
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(encoding_indices.shape[0], self._num_embeddings, device=inputs.device)
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight).view(input_shape)
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss
        quantized = inputs + (quantized - inputs).detach()
        avg_probs = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity, encodings


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.ReLU(True), spectral_norm(nn.Conv2d(8, 6, 3, 1, 1)))
        self.vq = VectorQuantizer(9, 6, 0.25)
        self.decoder = nn.Sequential(nn.ConvTranspose2d(6, 8, 4, 2, 1), nn.ReLU(True), nn.Conv2d(8, 3, 1))

    def forward(self, x):
        loss, quantized, perplexity, _ = self.vq(self.encoder(x))
        return loss, self.decoder(quantized), perplexity


def vqvae():
    return VQVAE(), (torch.randn(2, 3, 8, 8),)


class EqualLinear(nn.Module):
    def __init__(self, in_dim, out_dim, bias_init=0, lr_mul=1, activation=None):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_dim, in_dim).div_(lr_mul))
        self.bias = nn.Parameter(torch.zeros(out_dim).fill_(bias_init))
        self.activation, self.scale, self.lr_mul = activation, (1 / math.sqrt(in_dim)) * lr_mul, lr_mul

    def forward(self, input):
        if self.activation:
            out = F.linear(input, self.weight * self.scale)
            return F.leaky_relu(out + self.bias * self.lr_mul, 0.2) * 2 ** 0.5
        return F.linear(input, self.weight * self.scale, bias=self.bias * self.lr_mul)


class ModulatedConv2d(nn.Module):
    def __init__(self, in_channel, out_channel, kernel_size, style_dim, demodulate=True, upsample=False):
        super().__init__()
        self.eps, self.kernel_size, self.in_channel, self.out_channel = 1e-8, kernel_size, in_channel, out_channel
        self.upsample, self.padding = upsample, kernel_size // 2
        self.scale = 1 / math.sqrt(in_channel * kernel_size ** 2)
        self.weight = nn.Parameter(torch.randn(1, out_channel, in_channel, kernel_size, kernel_size))
        self.modulation = EqualLinear(style_dim, in_channel, bias_init=1)
        self.demodulate = demodulate

    def __repr__(self):
        return f"{self.__class__.__name__}({self.in_channel}, {self.out_channel}, {self.kernel_size})"

    def forward(self, input, style):
        batch, in_channel, height, width = input.shape
        style = self.modulation(style).view(batch, 1, in_channel, 1, 1)
        weight = self.scale * self.weight * style
        if self.demodulate:
            demod = torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8)
            weight = weight * demod.view(batch, self.out_channel, 1, 1, 1)
        weight = weight.view(batch * self.out_channel, in_channel, self.kernel_size, self.kernel_size)
        if self.upsample:
            input = F.interpolate(input, scale_factor=2, mode="bilinear", align_corners=False)
            height, width = height * 2, width * 2
        input = input.view(1, batch * in_channel, height, width)
        out = F.conv2d(input, weight, padding=self.padding, groups=batch)
        _, _, height, width = out.shape
        return out.view(batch, self.out_channel, height, width)


class StyledConv(nn.Module):
    def __init__(self, in_channel, out_channel, style_dim, upsample=False):
        super().__init__()
        self.conv = ModulatedConv2d(in_channel, out_channel, 3, style_dim, upsample=upsample)
        self.noise_weight = nn.Parameter(torch.full((1,), 0.1))
        self.bias = nn.Parameter(torch.zeros(1, out_channel, 1, 1))

    def forward(self, input, style, noise=None):
        out = self.conv(input, style)
        if noise is None:
            batch, _, height, width = out.shape
            noise = out.new_empty(batch, 1, height, width).normal_()
        return F.leaky_relu(out + self.noise_weight * noise + self.bias, 0.2)


class Generator(nn.Module):
    def __init__(self, size=16, style_dim=8, n_mlp=2):
        super().__init__()
        self.size, self.style_dim = size, style_dim
        self.style = nn.Sequential(*[EqualLinear(style_dim, style_dim, lr_mul=0.01, activation="fused_lrelu")
                                     for _ in range(n_mlp)])
        self.input = nn.Parameter(torch.randn(1, 6, 4, 4))
        self.conv1 = StyledConv(6, 6, style_dim)
        self.to_rgb1 = ModulatedConv2d(6, 3, 1, style_dim, demodulate=False)
        self.log_size = int(math.log(size, 2))
        self.num_layers = (self.log_size - 2) * 2 + 1
        self.convs, self.to_rgbs, self.noises = nn.ModuleList(), nn.ModuleList(), nn.Module()
        for layer_idx in range(self.num_layers):
            res = (layer_idx + 5) // 2
            self.noises.register_buffer(f"noise_{layer_idx}", torch.randn(1, 1, 2 ** res, 2 ** res))
        for i in range(3, self.log_size + 1):
            self.convs.append(StyledConv(6, 6, style_dim, upsample=True))
            self.convs.append(StyledConv(6, 6, style_dim))
            self.to_rgbs.append(ModulatedConv2d(6, 3, 1, style_dim, demodulate=False))

    def forward(self, styles, randomize_noise=False):
        styles = [self.style(s) for s in styles]
        if randomize_noise:
            noise = [None] * self.num_layers
        else:
            noise = [getattr(self.noises, f"noise_{i}") for i in range(self.num_layers)]
        latent = styles[0].unsqueeze(1).repeat(1, self.log_size * 2 - 2, 1)
        out = self.input.repeat(latent.shape[0], 1, 1, 1)
        out = self.conv1(out, latent[:, 0], noise=noise[0])
        skip = self.to_rgb1(out, latent[:, 1])
        i = 1
        for conv1, conv2, noise1, noise2, to_rgb in zip(
                self.convs[::2], self.convs[1::2], noise[1::2], noise[2::2], self.to_rgbs):
            out = conv1(out, latent[:, i], noise=noise1)
            out = conv2(out, latent[:, i + 1], noise=noise2)
            skip = to_rgb(out, latent[:, i + 2]) + F.interpolate(skip, scale_factor=2)
            i += 2
        return skip


def stylegan():
    return Generator(), ([torch.randn(2, 8)],)


class PrimaryCaps(nn.Module):
    def __init__(self, num_capsules=4, in_channels=8, out_channels=4):
        super().__init__()
        self.capsules = nn.ModuleList([nn.Conv2d(in_channels, out_channels, 5, 2) for _ in range(num_capsules)])

    def forward(self, x):
        u = torch.stack([capsule(x) for capsule in self.capsules], dim=1)
        return self.squash(u.view(x.size(0), -1, len(self.capsules)))

    @staticmethod
    def squash(input_tensor):
        squared_norm = (input_tensor ** 2).sum(-1, keepdim=True)
        return squared_norm * input_tensor / ((1.0 + squared_norm) * torch.sqrt(squared_norm))


class DigitCaps(nn.Module):
    def __init__(self, num_routes, num_capsules=3, in_channels=4, out_channels=5, num_iterations=3):
        super().__init__()
        self.num_routes, self.num_capsules, self.num_iterations = num_routes, num_capsules, num_iterations
        self.W = nn.Parameter(torch.randn(1, num_routes, num_capsules, out_channels, in_channels))

    def forward(self, x):
        batch_size = x.size(0)
        x = torch.stack([x] * self.num_capsules, dim=2).unsqueeze(4)
        W = torch.cat([self.W] * batch_size, dim=0)
        u_hat = torch.matmul(W, x)
        b_ij = torch.zeros(1, self.num_routes, self.num_capsules, 1, device=x.device)
        for iteration in range(self.num_iterations):
            c_ij = F.softmax(b_ij, dim=1)
            c_ij = torch.cat([c_ij] * batch_size, dim=0).unsqueeze(4)
            v_j = PrimaryCaps.squash((c_ij * u_hat).sum(dim=1, keepdim=True))
            if iteration < self.num_iterations - 1:
                a_ij = torch.matmul(u_hat.transpose(3, 4), torch.cat([v_j] * self.num_routes, dim=1))
                b_ij = b_ij + a_ij.squeeze(4).mean(dim=0, keepdim=True)
        return v_j.squeeze(1)


class CapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 5)
        self.primary, self.digits = PrimaryCaps(), DigitCaps(4 * 4 * 4)

    def forward(self, x):
        out = self.digits(self.primary(F.relu(self.conv(x)))).squeeze(-1)
        return out, (out ** 2).sum(-1) ** 0.5


def capsules():
    return CapsNet(), (torch.randn(2, 1, 15, 15),)


class BiFPN(nn.Module):
    """Fast normalised fusion; modules found by name in ModuleDicts."""

    def __init__(self, channels=8, levels=("p3", "p4", "p5"), epsilon=1e-4):
        super().__init__()
        self.levels, self.epsilon = levels, epsilon
        self.up = nn.ModuleDict({level: self._conv(channels) for level in levels[:-1]})
        self.down = nn.ModuleDict({level: self._conv(channels) for level in levels[1:]})
        self.weights = nn.ParameterDict(
            {f"{kind}_{level}": nn.Parameter(torch.ones(2 if kind == "up" else 3))
             for kind, names in (("up", levels[:-1]), ("down", levels[1:])) for level in names})

    @staticmethod
    def _conv(channels):
        return nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1, groups=channels),
                             nn.Conv2d(channels, channels, 1), nn.BatchNorm2d(channels, momentum=0.01, eps=1e-3),
                             nn.SiLU())

    def _fuse(self, name, *features):
        weight = F.relu(self.weights[name])[:len(features)]
        weight = weight / (weight.sum(dim=0) + self.epsilon)
        return sum(w * f for w, f in zip(weight, features))

    def forward(self, features):
        middle = {self.levels[-1]: features[self.levels[-1]]}
        for upper, level in zip(self.levels[:0:-1], self.levels[-2::-1]):
            grown = F.interpolate(middle[upper], scale_factor=2, mode="nearest")
            middle[level] = self.up[level](self._fuse(f"up_{level}", features[level], grown))
        out = OrderedDict([(self.levels[0], middle[self.levels[0]])])
        for lower, level in zip(self.levels, self.levels[1:]):
            shrunk = F.max_pool2d(out[lower], 2)
            parts = (features[level], shrunk) if level == self.levels[-1] else (features[level], middle[level], shrunk)
            out[level] = self.down[level](self._fuse(f"down_{level}", *parts))
        return out


def bifpn():
    return BiFPN(), ({"p3": torch.randn(2, 8, 16, 16), "p4": torch.randn(2, 8, 8, 8), "p5": torch.randn(2, 8, 4, 4)},)


class DeformConv2d(nn.Module):
    """Offsets and bilinear sampling written out with gather."""

    def __init__(self, inc, outc, kernel_size=3, padding=1, stride=1):
        super().__init__()
        self.kernel_size, self.padding, self.stride = kernel_size, padding, stride
        self.zero_padding = nn.ZeroPad2d(padding)
        self.conv = nn.Conv2d(inc, outc, kernel_size=kernel_size, stride=kernel_size, bias=False)
        self.p_conv = nn.Conv2d(inc, 2 * kernel_size * kernel_size, kernel_size=3, padding=1, stride=stride)

    def forward(self, x):
        offset = self.p_conv(x)
        dtype = offset.data.type()
        ks = self.kernel_size
        N = offset.size(1) // 2
        x = self.zero_padding(x)
        p = self._get_p(offset, dtype).contiguous().permute(0, 2, 3, 1)
        q_lt = p.detach().floor()
        q_rb = q_lt + 1
        edge = torch.tensor([x.size(2) - 1, x.size(3) - 1]).repeat_interleave(N)
        q_lt = torch.minimum(q_lt.clamp(min=0), edge).long()
        q_rb = torch.minimum(q_rb.clamp(min=0), edge).long()
        q_lb = torch.cat([q_lt[..., :N], q_rb[..., N:]], dim=-1)
        q_rt = torch.cat([q_rb[..., :N], q_lt[..., N:]], dim=-1)
        p = torch.cat([torch.clamp(p[..., :N], 0, x.size(2) - 1), torch.clamp(p[..., N:], 0, x.size(3) - 1)], dim=-1)

        def weight(q, sy, sx):
            return (1 + sy * (q[..., :N].type_as(p) - p[..., :N])) * (1 + sx * (q[..., N:].type_as(p) - p[..., N:]))

        x_offset = sum(weight(q, sy, sx).unsqueeze(dim=1) * self._get_x_q(x, q, N)
                       for q, sy, sx in ((q_lt, 1, 1), (q_rb, -1, -1), (q_lb, 1, -1), (q_rt, -1, 1)))
        return self.conv(self._reshape_x_offset(x_offset, ks))

    def _get_p(self, offset, dtype):
        N, h, w = offset.size(1) // 2, offset.size(2), offset.size(3)
        r = (self.kernel_size - 1) // 2
        p_n_x, p_n_y = torch.meshgrid(torch.arange(-r, r + 1), torch.arange(-r, r + 1), indexing="ij")
        p_n = torch.cat([torch.flatten(p_n_x), torch.flatten(p_n_y)], 0).view(1, 2 * N, 1, 1).type(dtype)
        p_0_x, p_0_y = torch.meshgrid(torch.arange(1, h * self.stride + 1, self.stride),
                                      torch.arange(1, w * self.stride + 1, self.stride), indexing="ij")
        p_0_x = torch.flatten(p_0_x).view(1, 1, h, w).repeat(1, N, 1, 1)
        p_0_y = torch.flatten(p_0_y).view(1, 1, h, w).repeat(1, N, 1, 1)
        return torch.cat([p_0_x, p_0_y], 1).type(dtype) + p_n + offset

    def _get_x_q(self, x, q, N):
        b, h, w, _ = q.size()
        padded_w, c = x.size(3), x.size(1)
        x = x.contiguous().view(b, c, -1)
        index = q[..., :N] * padded_w + q[..., N:]
        index = index.contiguous().unsqueeze(dim=1).expand(-1, c, -1, -1, -1).contiguous().view(b, c, -1)
        return x.gather(dim=-1, index=index).contiguous().view(b, c, h, w, N)

    @staticmethod
    def _reshape_x_offset(x_offset, ks):
        b, c, h, w, N = x_offset.size()
        x_offset = torch.cat([x_offset[..., s:s + ks].contiguous().view(b, c, h, w * ks) for s in range(0, N, ks)],
                             dim=-1)
        return x_offset.contiguous().view(b, c, h * ks, w * ks)


def deformable():
    return nn.Sequential(DeformConv2d(3, 4), nn.ReLU(), DeformConv2d(4, 2)), (torch.randn(2, 3, 6, 6),)
