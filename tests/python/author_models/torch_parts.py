"""Models around torch's own transformer: as it is, with a layer of the author's, with one that was put in later; one
that torch.fx traced; and parametrized modules."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrizations, parametrize


class AttentionKeeper(nn.TransformerEncoderLayer):
    """Keeps its attention weights, which torch's layer throws away."""

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        x, weights = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=True)
        self.weights = weights.detach()
        return self.dropout1(x)


class Classifier(nn.Module):
    def __init__(self, layer, norm=None):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=norm)
        self.head = nn.Linear(16, 3)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens))[:, 0])


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 32, batch_first=True), 2)

    def forward(self, memory, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.decoder(self.embed(target), memory, tgt_mask=mask)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.scale = nn.Parameter(torch.ones(8, 1, 1))

    def forward(self, image):
        return F.max_pool2d(self.stem(image) * self.scale, 2)


def tokens():
    return (torch.randint(0, 50, (2, 7)),)


def encoder():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True, activation="gelu")
    return Classifier(layer, nn.LayerNorm(16)), tokens()


def decoder():
    return Translator(), (torch.randn(2, 5, 16), *tokens())


def own_layer():
    return Classifier(AttentionKeeper(16, 2, 32, batch_first=True)), tokens()


def own_activation():
    return Classifier(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True,
                                                 activation=lambda x: F.silu(x) * 2)), tokens()


def replaced_layer():
    model = Classifier(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True))
    model.encoder.layers[1] = nn.TransformerEncoderLayer(16, 4, 64, batch_first=True)
    return model, tokens()


def traced():
    return nn.Sequential(torch.fx.symbolic_trace(Backbone().eval()), nn.Conv2d(8, 2, 1)), (torch.randn(2, 3, 8, 8),)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)


class CausalConv(nn.Conv1d):
    def __init__(self, channels, width, kernel):
        super().__init__(channels, width, kernel)
        self.register_buffer("past", torch.zeros(1, channels, kernel - 1))
        self.pad = kernel - 1

    def forward(self, x, streaming=False):
        x = torch.cat((self.past, x), -1) if streaming else F.pad(x, (self.pad, 0))
        return super().forward(x)


class SymmetricMix(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size, size))
        self.bias = nn.Parameter(torch.randn(size))
        parametrize.register_parametrization(self, "weight", Symmetric())

    def forward(self, x):
        return x @ self.weight + self.bias


class Parametrized(nn.Module):
    """Torch derives a class from the author's for each module that it parametrizes; some of the class are not."""

    def __init__(self):
        super().__init__()
        self.first = parametrizations.weight_norm(CausalConv(3, 4, 3))
        self.second = parametrizations.spectral_norm(CausalConv(4, 6, 2))
        self.last = CausalConv(6, 6, 2)
        self.mix = SymmetricMix(6)

    def forward(self, x):
        return self.mix(self.last(self.second(self.first(x))).transpose(1, 2))


def parametrized():
    return Parametrized(), (torch.randn(2, 3, 9),)
