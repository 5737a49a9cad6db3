"""Models around torch's own transformer: as it is, with a layer of the author's, with one that was put in later; and
one that torch.fx traced."""
import torch
import torch.nn as nn
import torch.nn.functional as F


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
