"""Arguments of torch's own modules: found for every class, and building with them gives an equal module."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("pellucid._pellucid", reason="needs the extension")
from torch import nn  # noqa: E402

from pellucid import _leaves  # noqa: E402

F = nn.functional
CASES = [
    (nn.Linear, (3, 4), {}), (nn.Linear, (3, 4), dict(bias=False)), (nn.Linear, (3, 4), dict(dtype=torch.float64)),
    (nn.Bilinear, (2, 3, 4), {}), (nn.Bilinear, (2, 3, 4), dict(bias=False)),
    (nn.Conv1d, (3, 3, 1), {}), (nn.Conv2d, (3, 8, 3), dict(stride=2, padding=1, bias=False)),
    (nn.Conv2d, (4, 8, (3, 5)), dict(padding="same", groups=2, padding_mode="reflect")),
    (nn.Conv3d, (2, 2, (1, 2, 3)), {}), (nn.ConvTranspose1d, (3, 4, 2), {}),
    (nn.ConvTranspose2d, (3, 4, 2), dict(stride=2, output_padding=1)),
    (nn.ConvTranspose3d, (2, 2, 3), dict(dilation=2)),
    (nn.BatchNorm1d, (4,), dict(eps=1e-3, momentum=None, affine=False)), (nn.BatchNorm2d, (8,), {}),
    (nn.BatchNorm3d, (3,), dict(track_running_stats=False)), (nn.SyncBatchNorm, (4,), {}),
    (nn.InstanceNorm1d, (4,), {}), (nn.InstanceNorm2d, (4,), dict(affine=True)),
    (nn.InstanceNorm3d, (4,), dict(track_running_stats=True)), (nn.LayerNorm, (8,), {}),
    (nn.LayerNorm, ((4, 4),), dict(eps=1e-6, bias=False)), (nn.LayerNorm, (8,), dict(elementwise_affine=False)),
    (nn.RMSNorm, (8,), {}), (nn.RMSNorm, (8,), dict(eps=1e-6)), (nn.GroupNorm, (2, 8), {}),
    (nn.GroupNorm, (2, 8), dict(affine=False)), (nn.LocalResponseNorm, (3,), dict(k=2.0)), (nn.CrossMapLRN2d, (3,), {}),
    (nn.Embedding, (10, 4), {}), (nn.Embedding, (10, 4), dict(padding_idx=0, max_norm=1.0)),
    (nn.EmbeddingBag, (10, 4), dict(mode="sum", sparse=True)),
    (nn.Dropout, (0.3,), {}), (nn.Dropout1d, (), {}), (nn.Dropout2d, (), {}), (nn.Dropout3d, (0.1,), {}),
    (nn.AlphaDropout, (0.1,), dict(inplace=True)), (nn.FeatureAlphaDropout, (), {}),
    *[(cls, (), {}) for cls in (nn.ReLU, nn.ReLU6, nn.GELU, nn.SiLU, nn.SELU, nn.Tanh, nn.Sigmoid,
                                nn.Hardswish, nn.Mish, nn.Hardsigmoid, nn.LogSigmoid, nn.Softsign, nn.Tanhshrink,
                                nn.Softmax2d, nn.Identity, nn.GLU, nn.RReLU, nn.Softmax, nn.Hardshrink)],
    (nn.ReLU, (True,), {}), (nn.GELU, ("tanh",), {}), (nn.Hardtanh, (-2, 2), {}), (nn.LeakyReLU, (0.2,), {}),
    (nn.PReLU, (), {}), (nn.PReLU, (4,), {}), (nn.ELU, (0.5,), {}), (nn.CELU, (2.0,), {}),
    (nn.Softmax, (), dict(dim=-1)), (nn.LogSoftmax, (1,), {}), (nn.Softmin, (1,), {}), (nn.Softplus, (2,), {}),
    (nn.Softshrink, (0.3,), {}), (nn.Threshold, (0.1, 20), {}),
    (nn.LSTM, (4, 5), {}), (nn.LSTM, (4, 5), dict(proj_size=3)),
    (nn.LSTM, (4, 5), dict(num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)),
    (nn.GRU, (4, 4, 2), dict(bias=False)), (nn.RNN, (3, 4), {}), (nn.RNN, (3, 4), dict(nonlinearity="relu")),
    (nn.LSTMCell, (3, 4), {}), (nn.GRUCell, (3, 4), dict(bias=False)), (nn.RNNCell, (3, 4), dict(nonlinearity="relu")),
    (nn.MultiheadAttention, (8, 2), {}),
    (nn.MultiheadAttention, (8, 2), dict(dropout=0.1, bias=False, batch_first=True)),
    (nn.MultiheadAttention, (8, 2), dict(add_bias_kv=True, kdim=4, vdim=6)), (nn.TransformerEncoderLayer, (8, 2), {}),
    (nn.TransformerEncoderLayer, (8, 2, 16, 0.2, "gelu"), dict(batch_first=True, norm_first=True, bias=False)),
    (nn.TransformerEncoderLayer, (8, 2), dict(activation=F.silu)),
    (nn.TransformerDecoderLayer, (8, 2), dict(dim_feedforward=12)), (nn.Transformer, (8, 2, 1, 2, 16), {}),
    (nn.Upsample, (), dict(scale_factor=2, mode="bilinear", align_corners=False)), (nn.Upsample, (), dict(size=(4, 5))),
    (nn.UpsamplingNearest2d, (), dict(scale_factor=2)), (nn.UpsamplingBilinear2d, (), dict(size=5)),
    (nn.MaxPool1d, (2,), {}), (nn.MaxPool2d, (2,), {}), (nn.MaxPool2d, (3, 2, 1), dict(ceil_mode=True)),
    (nn.MaxPool3d, (2,), {}), (nn.MaxUnpool1d, (2,), {}), (nn.MaxUnpool2d, (2,), {}), (nn.MaxUnpool3d, (2, 3), {}),
    (nn.AvgPool1d, (2,), {}), (nn.AvgPool2d, (2,), dict(count_include_pad=False)), (nn.AvgPool3d, (2,), {}),
    (nn.AdaptiveAvgPool1d, (3,), {}), (nn.AdaptiveAvgPool2d, ((1, 1),), {}), (nn.AdaptiveAvgPool3d, (1,), {}),
    (nn.AdaptiveMaxPool1d, (3,), dict(return_indices=True)), (nn.AdaptiveMaxPool2d, ((None, 2),), {}),
    (nn.AdaptiveMaxPool3d, (1,), {}), (nn.LPPool1d, (2, 3), {}), (nn.LPPool2d, (2, 3), {}), (nn.LPPool3d, (2, 3), {}),
    (nn.FractionalMaxPool2d, (2,), dict(output_ratio=0.5)), (nn.FractionalMaxPool3d, (2,), dict(output_size=3)),
    (nn.PixelShuffle, (2,), {}), (nn.PixelUnshuffle, (2,), {}), (nn.ChannelShuffle, (2,), {}),
    (nn.Flatten, (), {}), (nn.Flatten, (2, 3), {}), (nn.Unflatten, (1, (2, 3)), {}),
    (nn.Fold, ((4, 5), 2), {}), (nn.Unfold, (3,), dict(padding=1)),
    *[(cls, (1,), {}) for cls in (nn.ZeroPad1d, nn.ZeroPad2d, nn.ZeroPad3d, nn.ReflectionPad1d, nn.ReflectionPad2d,
                                  nn.ReflectionPad3d, nn.ReplicationPad1d, nn.ReplicationPad2d, nn.ReplicationPad3d,
                                  nn.CircularPad1d, nn.CircularPad2d, nn.CircularPad3d)],
    (nn.ConstantPad1d, ((1, 2), 3.5), {}), (nn.ConstantPad2d, (1, 0), {}), (nn.ConstantPad3d, (1, 0.5), {}),
    (nn.CosineSimilarity, (), {}), (nn.PairwiseDistance, (1.0,), {}),
    (nn.CrossEntropyLoss, (), dict(label_smoothing=0.1)), (nn.NLLLoss, (torch.ones(3),), {}),
    (nn.AdaptiveLogSoftmaxWithLoss, (8, 20, [4, 10]), {}), (nn.BCEWithLogitsLoss, (), dict(reduction="sum")),
    *[(cls, (), {}) for cls in (nn.MSELoss, nn.L1Loss, nn.BCELoss, nn.HuberLoss, nn.SmoothL1Loss,
                                nn.KLDivLoss, nn.CTCLoss, nn.GaussianNLLLoss, nn.PoissonNLLLoss, nn.MarginRankingLoss,
                                nn.MultiMarginLoss, nn.MultiLabelMarginLoss, nn.MultiLabelSoftMarginLoss,
                                nn.SoftMarginLoss, nn.HingeEmbeddingLoss, nn.CosineEmbeddingLoss, nn.TripletMarginLoss,
                                nn.TripletMarginWithDistanceLoss)],
]


def _arguments(module: nn.Module) -> dict:
    found = _leaves.arguments(module)
    assert found is not None, f"no arguments found for {module}"
    return {name: value for name, value, _, is_default in found[0] if not is_default}


def _shapes(module: nn.Module) -> list:
    return [(n, t.shape, t.dtype) for n, t in (*module.named_parameters(), *module.named_buffers())]


@pytest.mark.parametrize("cls, args, kwargs", CASES, ids=lambda value: getattr(value, "__name__", None))
def test_rebuilt(cls: type, args: tuple, kwargs: dict) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = cls(*args, **kwargs)
        state = torch.random.get_rng_state()
        given = _arguments(module)
        assert torch.equal(state, torch.random.get_rng_state()), "looking drew random numbers"
        again = cls(**given)
    assert repr(again) == repr(module)
    assert _shapes(again) == _shapes(module)


def test_every_class_is_tried() -> None:
    built = {case[0] for case in CASES} | {nn.TransformerEncoder, nn.TransformerDecoder, nn.DataParallel}
    not_leaves = {nn.Module, nn.Container, nn.Sequential, nn.ModuleList, nn.ModuleDict,
                  nn.ParameterList, nn.ParameterDict, nn.RNNBase,
                  nn.RNNCellBase}  # containers take their children; the others are abstract
    missing = {cls for cls in vars(nn).values() if isinstance(cls, type)
               and issubclass(cls, nn.Module)} - built - not_leaves
    lazy = {cls for cls in missing if cls.__name__.startswith("Lazy")}  # they become the class proper when first run
    deprecated = {cls for cls in missing if cls.__name__ in ("NLLLoss2d",)}
    # Young classes that not every torch has.
    young = {cls for cls in missing if cls.__name__ in ("LinearCrossEntropyLoss",)}
    assert missing - lazy - deprecated - young == set()


def test_simplest_form() -> None:
    def text(module: nn.Module) -> dict:
        return _arguments(module)
    assert text(nn.Conv2d(3, 8, (3, 3), padding=(1, 1))) == dict(in_channels=3, out_channels=8,
                                                                 kernel_size=3, padding=1)
    assert text(nn.MaxPool2d(2)) == dict(kernel_size=2)
    assert text(nn.LayerNorm(8)) == dict(normalized_shape=8)
    assert text(nn.BatchNorm1d(4, affine=False)) == dict(num_features=4, affine=False)
    assert text(nn.Linear(2, 2).half()) == dict(in_features=2, out_features=2, dtype=torch.float16)
    assert text(nn.TransformerEncoderLayer(8, 2, activation="gelu"))["activation"] == "gelu"


def test_layers_as_arguments() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 3, norm=nn.LayerNorm(8))
    given = _arguments(encoder)
    assert given["encoder_layer"] is encoder.layers[0] and given["num_layers"] == 3 and given["norm"] is encoder.norm


def test_subclass_gives_arguments_of_its_base() -> None:
    class Scaled(nn.Linear):
        def __init__(self, size: int) -> None:
            super().__init__(size, size, bias=False)
            self.scale = nn.Parameter(torch.ones(size))
            self.factor = 2
    found = _leaves.arguments(Scaled(3))
    assert found is not None
    assert {row[0]: row[1] for row in found[0]} == dict(in_features=3, out_features=3, bias=False)
    assert set(found[1]) == {"weight", "bias", "in_features", "out_features"}


def test_what_cannot_be_rebuilt_is_not_guessed() -> None:
    class Plain(nn.Module):
        pass
    odd = nn.Linear(3, 4)
    odd.weight = nn.Parameter(torch.zeros(5, 3))
    assert _leaves.arguments(odd) is None
    assert _leaves.arguments(Plain()) is None
    assert _leaves.arguments(nn.Sequential(nn.ReLU())) is None


class Norm(nn.Module):
    """Keeps its arguments under other names, or not at all."""

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.variance_epsilon = eps

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


class Secret(nn.Module):
    def __init__(self, config: object) -> None:
        super().__init__()
        self.fc = nn.Linear(config.width, config.width)

    def forward(self, x):
        return self.fc(x)


def test_arguments_of_leaf_classes_are_looked_for() -> None:
    found = _leaves.arguments(Norm(4, 1e-5), (Norm,))
    assert found is not None
    assert {row[0]: row[1] for row in found[0]} == dict(width=4, eps=1e-5)
    found = _leaves.arguments(Norm(4), (Norm,))
    assert found is not None
    assert [row[0] for row in found[0] if not row[3]] == ["width"]


def test_leaf_that_cannot_be_built_again_is_refused() -> None:
    import types

    import pellucid
    net = nn.Sequential(Secret(types.SimpleNamespace(width=3)))
    with pytest.raises(pellucid.SkeletonError, match="0 can't be kept as it is: no arguments .*Secret"):
        pellucid.skeleton(net, torch.ones(2, 3), leaves=[Secret])
