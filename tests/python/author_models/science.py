"""Fields, flows, solvers, point clouds, graphs, long convolutions."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Embedder:
    def __init__(self, **kwargs):
        self.kwargs = kwargs
        self.create_embedding_fn()

    def create_embedding_fn(self):
        embed_fns = []
        d = self.kwargs["input_dims"]
        out_dim = 0
        if self.kwargs["include_input"]:
            embed_fns.append(lambda x: x)
            out_dim += d
        max_freq = self.kwargs["max_freq_log2"]
        freq_bands = 2.0 ** torch.linspace(0.0, max_freq, steps=self.kwargs["num_freqs"])
        for freq in freq_bands:
            for p_fn in self.kwargs["periodic_fns"]:
                embed_fns.append(lambda x, p_fn=p_fn, freq=freq: p_fn(x * freq))
                out_dim += d
        self.embed_fns = embed_fns
        self.out_dim = out_dim

    def embed(self, inputs):
        return torch.cat([fn(inputs) for fn in self.embed_fns], -1)


def get_embedder(multires):
    embedder_obj = Embedder(include_input=True, input_dims=3, max_freq_log2=multires - 1, num_freqs=multires,
                            log_sampling=True, periodic_fns=[torch.sin, torch.cos])
    return lambda x, eo=embedder_obj: eo.embed(x), embedder_obj.out_dim


class NeRF(nn.Module):
    def __init__(self, D=4, W=16, skips=(2,), use_viewdirs=True):
        super().__init__()
        self.embed_fn, input_ch = get_embedder(3)
        self.embeddirs_fn, input_ch_views = get_embedder(2)
        self.skips, self.use_viewdirs = skips, use_viewdirs
        self.pts_linears = nn.ModuleList(
            [nn.Linear(input_ch, W)] + [nn.Linear(W, W) if i not in self.skips else nn.Linear(W + input_ch, W)
                                        for i in range(D - 1)])
        self.views_linears = nn.ModuleList([nn.Linear(input_ch_views + W, W // 2)])
        self.feature_linear = nn.Linear(W, W)
        self.alpha_linear = nn.Linear(W, 1)
        self.rgb_linear = nn.Linear(W // 2, 3)

    def forward(self, inputs, viewdirs):
        inputs_flat = torch.reshape(inputs, [-1, inputs.shape[-1]])
        input_pts = self.embed_fn(inputs_flat)
        input_dirs = viewdirs[:, None].expand(inputs.shape)
        input_views = self.embeddirs_fn(torch.reshape(input_dirs, [-1, input_dirs.shape[-1]]))
        h = input_pts
        for i, l in enumerate(self.pts_linears):
            h = self.pts_linears[i](h)
            h = F.relu(h)
            if i in self.skips:
                h = torch.cat([input_pts, h], -1)
        alpha = self.alpha_linear(h)
        h = torch.cat([self.feature_linear(h), input_views], -1)
        for l in self.views_linears:
            h = F.relu(l(h))
        outputs_flat = torch.cat([self.rgb_linear(h), alpha], -1)
        return torch.reshape(outputs_flat, list(inputs.shape[:-1]) + [outputs_flat.shape[-1]])


def nerf():
    return NeRF(), (torch.randn(2, 5, 3), torch.randn(2, 3))


class ActNorm(nn.Module):
    def __init__(self, in_channel):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, in_channel, 1, 1))
        self.scale = nn.Parameter(torch.ones(1, in_channel, 1, 1))
        self.register_buffer("initialized", torch.tensor(1, dtype=torch.uint8))

    def initialize(self, input):
        with torch.no_grad():
            flatten = input.permute(1, 0, 2, 3).contiguous().view(input.shape[1], -1)
            self.loc.data.copy_(-flatten.mean(1).view(1, -1, 1, 1))
            self.scale.data.copy_(1 / (flatten.std(1).view(1, -1, 1, 1) + 1e-6))

    def forward(self, input):
        _, _, height, width = input.shape
        if self.initialized.item() == 0:
            self.initialize(input)
            self.initialized.fill_(1)
        log_abs = torch.log(torch.abs(self.scale))
        return self.scale * (input + self.loc), height * width * torch.sum(log_abs)


class InvConv2d(nn.Module):
    def __init__(self, in_channel):
        super().__init__()
        q, _ = torch.linalg.qr(torch.randn(in_channel, in_channel))
        self.weight = nn.Parameter(q.unsqueeze(2).unsqueeze(3))

    def forward(self, input):
        _, _, height, width = input.shape
        out = F.conv2d(input, self.weight)
        logdet = height * width * torch.slogdet(self.weight.squeeze().double())[1].float()
        return out, logdet


class AffineCoupling(nn.Module):
    def __init__(self, in_channel, filter_size=8, affine=True):
        super().__init__()
        self.affine = affine
        self.net = nn.Sequential(nn.Conv2d(in_channel // 2, filter_size, 3, padding=1), nn.ReLU(inplace=True),
                                 nn.Conv2d(filter_size, in_channel if affine else in_channel // 2, 3, padding=1))

    def forward(self, input):
        in_a, in_b = input.chunk(2, 1)
        if self.affine:
            log_s, t = self.net(in_a).chunk(2, 1)
            s = F.sigmoid(log_s + 2)
            out_b = (in_b + t) * s
            logdet = torch.sum(torch.log(s).view(input.shape[0], -1), 1)
        else:
            out_b = in_b + self.net(in_a)
            logdet = None
        return torch.cat([in_a, out_b], 1), logdet


class Flow(nn.Module):
    def __init__(self, in_channel, affine):
        super().__init__()
        self.actnorm, self.invconv = ActNorm(in_channel), InvConv2d(in_channel)
        self.coupling = AffineCoupling(in_channel, affine=affine)

    def forward(self, input):
        out, logdet = self.actnorm(input)
        out, det1 = self.invconv(out)
        out, det2 = self.coupling(out)
        logdet = logdet + det1
        if det2 is not None:
            logdet = logdet + det2
        return out, logdet


def gaussian_log_p(x, mean, log_sd):
    return -0.5 * math.log(2 * math.pi) - log_sd - 0.5 * (x - mean) ** 2 / torch.exp(2 * log_sd)


class Glow(nn.Module):
    def __init__(self, in_channel=1, n_flow=2):
        super().__init__()
        squeeze_dim = in_channel * 4
        self.flows = nn.ModuleList([Flow(squeeze_dim, affine=i % 2 == 0) for i in range(n_flow)])
        self.prior = nn.Conv2d(squeeze_dim, squeeze_dim * 2, 3, padding=1)

    def forward(self, input):
        b_size, n_channel, height, width = input.shape
        squeezed = input.view(b_size, n_channel, height // 2, 2, width // 2, 2)
        squeezed = squeezed.permute(0, 1, 3, 5, 2, 4)
        out = squeezed.contiguous().view(b_size, n_channel * 4, height // 2, width // 2)
        logdet = 0
        for flow in self.flows:
            out, det = flow(out)
            logdet = logdet + det
        zero = torch.zeros_like(out)
        mean, log_sd = self.prior(zero).chunk(2, 1)
        log_p = gaussian_log_p(out, mean, log_sd).view(b_size, -1).sum(1)
        return log_p, logdet, out


def glow():
    return Glow(), (torch.randn(2, 1, 4, 4),)


class ODEFunc(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, 12), nn.Tanh(), nn.Linear(12, dim))
        self.nfe = 0

    def forward(self, t, y):
        self.nfe += 1
        return self.net(torch.cat([y, t.expand(y.shape[0], 1)], dim=1))


def rk4_step(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, y + dt * k1 / 2)
    k3 = func(t + dt / 2, y + dt * k2 / 2)
    k4 = func(t + dt, y + dt * k3)
    return (k1 + 2 * k2 + 2 * k3 + k4) * dt / 6


def euler_step(func, t, dt, y):
    return func(t, y) * dt


SOLVERS = {"rk4": rk4_step, "euler": euler_step}


def odeint(func, y0, t, method="rk4"):
    step = SOLVERS[method]
    solution = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        y0 = y0 + step(func, t0, t1 - t0, y0)
        solution.append(y0)
    return torch.stack(solution)


class NeuralODE(nn.Module):
    def __init__(self, dim=4, method="rk4"):
        super().__init__()
        self.func, self.method = ODEFunc(dim), method
        self.register_buffer("times", torch.linspace(0, 1, 4))

    @property
    def nfe(self):
        return self.func.nfe

    def forward(self, x):
        self.func.nfe = 0
        return odeint(self.func, x, self.times, self.method)[-1]


def neural_ode():
    return NeuralODE(), (torch.randn(3, 4),)


class STN3d(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.k = k
        self.conv1, self.fc1 = nn.Conv1d(k, 8, 1), nn.Linear(8, k * k)
        self.bn1 = nn.BatchNorm1d(8)

    def forward(self, x):
        batchsize = x.size()[0]
        x = F.relu(self.bn1(self.conv1(x)))
        x = torch.max(x, 2, keepdim=True)[0]
        x = x.view(-1, 8)
        x = self.fc1(x)
        iden = torch.eye(self.k).flatten().view(1, self.k * self.k).repeat(batchsize, 1)
        if x.is_cuda:
            iden = iden.cuda()
        return (x + iden).view(-1, self.k, self.k)


class PointNet(nn.Module):
    def __init__(self, classes=4, feature_transform=True):
        super().__init__()
        self.stn, self.conv1, self.bn1 = STN3d(), nn.Conv1d(3, 6, 1), nn.BatchNorm1d(6)
        self.feature_transform = feature_transform
        if self.feature_transform:
            self.fstn = STN3d(k=6)
        self.conv2, self.bn2, self.head = nn.Conv1d(6, 10, 1), nn.BatchNorm1d(10), nn.Linear(10, classes)

    def forward(self, x):
        trans = self.stn(x)
        x = torch.bmm(x.transpose(2, 1), trans).transpose(2, 1)
        x = F.relu(self.bn1(self.conv1(x)))
        if self.feature_transform:
            trans_feat = self.fstn(x)
            x = torch.bmm(x.transpose(2, 1), trans_feat).transpose(2, 1)
        else:
            trans_feat = None
        x = torch.max(self.bn2(self.conv2(x)), 2)[0]
        return F.log_softmax(self.head(x), dim=1), trans, trans_feat


def pointnet():
    return PointNet(), (torch.randn(2, 3, 11),)


def scatter_mean(src, index, dim_size):
    out = torch.zeros(dim_size, src.size(1), dtype=src.dtype, device=src.device)
    out.index_add_(0, index, src)
    count = torch.zeros(dim_size, dtype=src.dtype, device=src.device).scatter_add_(
        0, index, torch.ones_like(index).to(src))
    return out / count.clamp(min=1).unsqueeze(-1)


class MessagePassing(nn.Module):
    aggregators = {"mean": scatter_mean,
                   "sum": lambda src, index, n: torch.zeros(n, src.size(1)).index_add(0, index, src)}

    def __init__(self, dim, aggr="mean"):
        super().__init__()
        self.aggr = aggr
        self.message = nn.Sequential(nn.Linear(2 * dim + 1, dim), nn.SiLU())
        self.update = nn.GRUCell(dim, dim)

    def forward(self, h, pos, edge_index):
        row, col = edge_index
        dist = (pos[row] - pos[col]).pow(2).sum(-1, keepdim=True)
        m = self.message(torch.cat([h[row], h[col], dist], dim=-1))
        return self.update(self.aggregators[self.aggr](m, col, h.size(0)), h)


class GNN(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.lin = nn.Linear(3, dim)
        self.convs = nn.ModuleList([MessagePassing(dim), MessagePassing(dim, "sum")])

    def forward(self, x, pos, edge_index, batch):
        h = self.lin(x)
        for conv in self.convs:
            h = h + conv(h, pos, edge_index)
        return scatter_mean(h, batch, int(batch.max()) + 1)


def gnn():
    edges = torch.randint(0, 7, (2, 16))
    return GNN(), (torch.randn(7, 3), torch.randn(7, 3), edges, torch.tensor([0, 0, 0, 1, 1, 1, 1]))


def fftconv(u, k, D):
    seqlen = u.shape[-1]
    fft_size = 2 * seqlen
    k_f = torch.fft.rfft(k, n=fft_size) / fft_size
    u_f = torch.fft.rfft(u.to(dtype=k.dtype), n=fft_size)
    y = torch.fft.irfft(u_f * k_f, n=fft_size, norm="forward")[..., :seqlen]
    return (y + u * D.unsqueeze(-1)).to(dtype=u.dtype)


class Sin(nn.Module):
    def __init__(self, dim, w=10.0):
        super().__init__()
        self.freq = nn.Parameter(w * torch.ones(1, dim))

    def forward(self, x):
        return torch.sin(self.freq * x)


class HyenaFilter(nn.Module):
    def __init__(self, d_model, emb_dim=3, order=8, seq_len=16):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(d_model))
        t = torch.linspace(0, 1, seq_len)[None, :, None]
        bands = (emb_dim - 1) // 2
        w = 2 * math.pi * torch.linspace(0, seq_len - 1, seq_len)[None, :, None] / seq_len
        f = torch.linspace(1e-4, bands - 1, bands)[None, None]
        z = torch.exp(-1j * f * w)
        self.z = nn.Parameter(torch.cat([t, z.real, z.imag], dim=-1), requires_grad=False)
        self.register_buffer("t", t)
        self.implicit_filter = nn.Sequential(nn.Linear(emb_dim, order), Sin(order),
                                             nn.Linear(order, d_model, bias=False))

    def filter(self, L):
        h = self.implicit_filter(self.z[:, :L])
        return h * torch.exp(-self.t[:, :L] * 0.3)

    def forward(self, x, L):
        k = self.filter(L)
        k = k[0] if k.ndim == 3 else k
        return fftconv(x, k.transpose(0, 1), self.bias)


class S4DKernel(nn.Module):
    def __init__(self, d_model, N=4):
        super().__init__()
        C = torch.randn(d_model, N // 2, dtype=torch.cfloat)
        self.C = nn.Parameter(torch.view_as_real(C))
        self.log_dt = nn.Parameter(torch.rand(d_model) - 3)
        self.log_A_real = nn.Parameter(torch.log(0.5 * torch.ones(d_model, N // 2)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(N // 2).float().repeat(d_model, 1))

    def forward(self, L):
        dt = torch.exp(self.log_dt)
        C = torch.view_as_complex(self.C)
        A = -torch.exp(self.log_A_real) + 1j * self.A_imag
        dtA = A * dt.unsqueeze(-1)
        K = dtA.unsqueeze(-1) * torch.arange(L, device=A.device)
        C = C * (torch.exp(dtA) - 1.0) / A
        return 2 * torch.einsum("hn, hnl -> hl", C, torch.exp(K)).real


class LongConv(nn.Module):
    def __init__(self, d_model=4):
        super().__init__()
        self.in_proj = nn.Linear(d_model, 3 * d_model)
        self.filter_fn = HyenaFilter(d_model)
        self.kernel = S4DKernel(d_model)
        self.D = nn.Parameter(torch.randn(d_model))
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, u):
        L = u.size(-2)
        v, x1, x2 = self.in_proj(u).transpose(1, 2).chunk(3, dim=1)
        v = self.filter_fn(v * x1, L)
        y = fftconv(v, self.kernel(L=L), self.D)
        return self.out_proj((F.gelu(y) * x2).transpose(1, 2))


def long_conv():
    return LongConv(), (torch.randn(2, 8, 4),)


class Mixing(nn.Module):
    """Weights that lie in memory as a transposed matrix does, as those of a QR decomposition: copies that don't give
    other bits."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(size, size))[0])
        self.out = nn.Parameter(torch.randn(1, size).t())
        self.register_buffer("table", torch.randn(3, size, 2).permute(2, 0, 1))

    def forward(self, x):
        volume = torch.logdet(self.weight.abs() + torch.eye(x.shape[-1]))
        return x @ self.weight * volume + self.table.sum((0, 1)), x @ self.out


class MixingFlow(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Mixing(40), Mixing(40)

    def forward(self, x):
        return self.second(self.first(x)[0])


def permuted_weights():
    return MixingFlow(), (torch.randn(2, 40),)
