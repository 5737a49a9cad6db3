"""The library models of src/interp/lib, run by CPython under the interpreter's import rules (stub_world).

Truth is the state dict of the real model, made by executing the library in a second process.
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys
from random import Random

import pytest

from stub_world import World

HERE = pathlib.Path(__file__).resolve().parent

NETS = """
import torch, torch.nn as nn, torch.nn.functional as F

class Branch(nn.Module):
    def __init__(self, use_branch):
        super().__init__()
        self.use_branch = use_branch
        self.fc1 = nn.Linear(10, 20)
        self.fc_branch = nn.Linear(20, 15)
        self.fc2 = nn.Linear(20, 5)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        if self.use_branch:
            x = self.fc_branch(x)
        return self.fc2(x)

class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc = nn.Linear(32 * 7 * 7, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(x.size(0), 32 * 7 * 7)
        return self.fc(x)
"""

ALL_SORTS = """import torch.nn as nn; nn.ModuleDict({
 'a': nn.LSTM(8, 16, 2, batch_first=True, bidirectional=True), 'b': nn.GRU(8, 4), 'c': nn.MultiheadAttention(16, 4),
 'd': nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64), 2), 'e': nn.Transformer(16, 2, 1, 1, 32),
 'f': nn.Embedding(10, 4), 'g': nn.LSTMCell(3, 5), 'h': nn.Bilinear(2, 3, 4), 'j': nn.EmbeddingBag(5, 3),
 'l': nn.RMSNorm(6), 'm': nn.utils.weight_norm(nn.Linear(3, 4)), 'n': nn.utils.spectral_norm(nn.Linear(3, 4)),
 'o': nn.Conv1d(4, 8, 3, groups=2),
 'p': nn.MultiheadAttention(8, 2, kdim=4, vdim=6, add_bias_kv=True), 'q': nn.BatchNorm2d(3),
 'r': nn.InstanceNorm2d(3, affine=True), 's': nn.ConvTranspose2d(4, 6, 2, groups=2, bias=False), 't': nn.PReLU(3),
 'u': nn.GroupNorm(2, 4), 'v': nn.Sequential(nn.ReLU(), nn.Linear(2, 1))})
""".replace("\n", "")

MODELS = [
    "import torchvision; torchvision.models.get_model('resnet18', weights=None)",
    "import torchvision; torchvision.models.get_model('quantized_googlenet', weights=None)",
    "import torchvision; torchvision.models.get_model('swin_t', weights=None)",
    "import timm; timm.create_model('vit_tiny_patch16_224')",
    "import timm; timm.create_model('maxvit_tiny_tf_224')",
    "import timm; timm.create_model('mobilenetv3_small_050')",
    "from transformers import AutoModel, BertConfig; AutoModel.from_config(BertConfig())",
    "from transformers import AutoModel, LlamaConfig; AutoModel.from_config(LlamaConfig())",
    "from transformers import AutoModel, Wav2Vec2Config; AutoModel.from_config(Wav2Vec2Config())",
]


def site_packages() -> pathlib.Path:
    spec = importlib.util.find_spec("torch")
    if spec is None:
        pytest.skip("torch is not installed: its sources are what is interpreted")
    return pathlib.Path(spec.submodule_search_locations[0]).parent


def run(codes: list[str], *options: str) -> list[dict]:
    done = subprocess.run([sys.executable, str(HERE / "stub_world.py"), *options], input="\n".join(codes)
                          + "\n", text=True, capture_output=True, timeout=1200, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == len(codes), done.stderr[-2000:]
    return lines


def no_sources(tmp_path: pathlib.Path) -> World:
    return World([tmp_path])


def test_shapes_that_disagree_are_named(tmp_path):
    world = no_sources(tmp_path)
    assert world.run(NETS + "tuple(Branch(False)(torch.randn(4, 10)).shape)") == (4, 5)
    with pytest.raises(RuntimeError, match="Linear takes 20 features and gets 15"):
        world.run(NETS + "Branch(True)(torch.randn(4, 10))")


def test_a_view_that_does_not_fit(tmp_path):
    world = no_sources(tmp_path)
    assert world.run(NETS + "tuple(Conv()(torch.randn(2, 3, 28, 28)).shape)") == (2, 10)
    with pytest.raises(RuntimeError, match=r"view: \(2, 32, 8, 8\) has 4096 elements, \(2, 1568\) takes 3136"):
        world.run(NETS + "Conv()(torch.randn(2, 3, 32, 32))")


def test_values_of_small_tensors(tmp_path):
    world = no_sources(tmp_path)
    code = """
import torch
x = torch.arange(12).view(3, 4)
y = x.permute(1, 0)[1:3, ::2] + 1
z = torch.cat([x[:, 0], torch.tensor([7, 8])])
x[0, 1:3] = -1
[y.tolist(), z.tolist(), x.tolist(), x.sum(1).tolist(), (x < 0).nonzero().tolist(), x.max().item(),
 torch.linspace(0, 1, 3).tolist(),
 torch.stack(torch.meshgrid(torch.arange(2), torch.arange(2), indexing='ij')).flatten(1).tolist(),
 x.float().mean().item()]
"""
    assert world.run(code) == [
        [[2, 10], [3, 11]], [0, 4, 8, 7, 8], [[0, -1, -1, 3], [4, 5, 6, 7], [8, 9, 10, 11]], [1, 22, 38],
        [[0, 1], [0, 2]], 11, [0.0, 0.5, 1.0], [[0, 0, 1, 1], [0, 1, 0, 1]], 61 / 12,
    ]


VIEWS = """
import torch
x = torch.arange(12).view(3, 4)
y = x.permute(1, 0)
y[:, 0] += 100
x.view(-1)[::5] = 7
z = x.t()
z[1][1:] *= 2
q = x.narrow(0, 1, 2)
q.zero_()
w = x.select(1, 3)
w += 1
d = x.detach()
d[0, 0] = -1
[t.tolist() for t in (x, y, z, q, w, d)]
"""


def test_what_is_written_to_a_view_is_in_its_base_and_in_other_views(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: its views are what is compared with")
    scope: dict = {}
    *lines, last = VIEWS.strip().splitlines()
    exec("\n".join(lines), scope)
    assert no_sources(tmp_path).run(VIEWS) == eval(last, scope)


def test_what_is_written_to_an_expanded_view_is_not_known(tmp_path):
    with pytest.raises(Exception, match="value of a tensor"):
        no_sources(tmp_path).run("import torch\nx = torch.zeros(1, 4)\nx.expand(2, 4).fill_(1)\nx[0, 0].item()")


def test_layers_without_torchs_source(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: its layers are what is compared with")
    assert run([ALL_SORTS], "--root", str(tmp_path), "--strict") == run([ALL_SORTS], "--real")


def test_dtypes_are_promoted_as_torch_does():
    torch = pytest.importorskip("torch", reason="torch is not installed: its promotion is what is compared with")
    names = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
             "float64", "complex64"]
    world = World([])
    mine = world.run(f"""
import torch
[str((torch.zeros(2, dtype=getattr(torch, a)) + torch.zeros(s, dtype=getattr(torch, b))).dtype)
 for a in {names} for b in {names} for s in ((2,), ())]
""")
    real = [str(torch.result_type(torch.zeros(2, dtype=getattr(torch, a)), torch.zeros(s, dtype=getattr(torch, b))))
            for a in names for b in names for s in ((2,), ())]
    assert mine == real


@pytest.mark.slow
def test_state_dicts_of_libraries(libraries):
    wanted = run(MODELS, "--real")
    got = run(MODELS, "--root", str(site_packages()), "--strict")
    wrong = [code for code, a, b in zip(MODELS, wanted, got) if "state" in a and a != b]
    assert not wrong
    assert sum("state" in row for row in wanted) >= 1


@pytest.mark.slow
def test_output_shapes_of_every_module():
    codes = [code for code in MODELS if "import timm" in code]
    options = ["--forward", "auto"]
    assert run(codes, "--real", *options) == run(codes, "--root", str(site_packages()), "--strict", *options)


KERAS_SUBCLASS = """
import tensorflow as tf
from tensorflow.keras import layers

class Net(tf.keras.Model):
    def __init__(self, num_layers):
        super().__init__()
        self.hidden = []
        for _ in range(num_layers):
            self.hidden.append(layers.Dense(32, activation='relu'))
        self.out = layers.Dense(10)

    def call(self, x):
        for layer in self.hidden:
            x = layer(x)
        return self.out(x)
"""


def weights(layer) -> list:
    return [(name, [w.shape for w in inner._weights_in_order]) for name, inner in layer._layers_in_order]


def test_a_keras_subclass(tmp_path):
    model = no_sources(tmp_path).run(KERAS_SUBCLASS + "model = Net(5)\nmodel.build((None, 20))\nmodel")
    assert weights(model) == [
        ("dense", [(20, 32), (32,)]), *[(f"dense_{i}", [(32, 32), (32,)]) for i in range(1, 5)],
        ("dense_5", [(32, 10), (10,)]),
    ]


def test_a_keras_sequential(tmp_path):
    model = no_sources(tmp_path).run("""
from tensorflow.keras.models import Sequential
from tensorflow.keras.layers import Bidirectional, Conv2D, Dense, Flatten, MaxPooling2D
Sequential([Conv2D(32, (3, 3), activation='relu', input_shape=(28, 28, 1)), MaxPooling2D((2, 2)), Flatten(), Dense(10)])
""")
    assert weights(model) == [("conv2d", [(3, 3, 1, 32), (32,)]), ("max_pooling2d", []), ("flatten", []),
                              ("dense", [(5408, 10), (10,)])]
    assert model.count_params() == 54410


def test_keras_functional_with_a_shared_layer(tmp_path):
    model = no_sources(tmp_path).run("""
import keras
from keras import layers
a, b = keras.Input((16,), name='a'), keras.Input((16,), name='b')
shared = layers.Dense(8)
x = layers.concatenate([shared(a), shared(b)])
keras.Model([a, b], layers.Dense(1)(x * 2 + 1))
""")
    assert weights(model) == [("a", []), ("b", []), ("dense", [(16, 8), (8,)]), ("concatenate", []),
                              ("dense_1", [(16, 1), (1,)])]


def test_a_tensorflow_module(tmp_path):
    module = no_sources(tmp_path).run("""
import tensorflow as tf
class Affine(tf.Module):
    def __init__(self, n, m):
        super().__init__()
        self.w = tf.Variable(tf.random.normal([n, m]), name='w')
        self.b = tf.Variable(tf.zeros([m]), name='b')
class Two(tf.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Affine(3, 4), Affine(4, 2)
Two()
""")
    assert weights(module) == [("first", [(4,), (3, 4)]), ("second", [(2,), (4, 2)])]


def test_a_keras_layer_that_builds(tmp_path):
    model = no_sources(tmp_path).run("""
import tensorflow as tf
class Affine(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer='random_normal',
                                 trainable=True, name='w')
    def call(self, inputs):
        return tf.matmul(inputs, self.w)
x = tf.keras.Input((4,))
tf.keras.Model(x, Affine(7)(x))
""")
    assert weights(model) == [("input_layer", []), ("affine", [(4, 7)])]


def test_keras_layers_that_disagree(tmp_path):
    with pytest.raises(ValueError, match="Dense dense takes 8 features and gets 9"):
        no_sources(tmp_path).run("""
import keras
layer = keras.layers.Dense(4)
layer(keras.Input((8,)))
layer(keras.Input((9,)))
""")


TOTALS = {"VGG16": 138357544, "ResNet50": 25636712, "MobileNetV2": 3538984, "EfficientNetB0": 5330571,
          "NASNetMobile": 5326716, "DenseNet121": 8062504, "ConvNeXtTiny": 28589128, "Xception": 22910480,
          "InceptionV3": 23851784}


@pytest.mark.slow
def test_totals_of_keras_applications():
    spec = importlib.util.find_spec("keras")
    if spec is None:
        pytest.skip("keras is not installed: the sources of its applications are what is interpreted")
    world = World([pathlib.Path(spec.submodule_search_locations[0]).parent])
    assert {name: world.run(f"import keras\nkeras.applications.{name}(weights=None).count_params()")
            for name in TOTALS} == TOTALS


def test_the_list_of_files_is_whole():
    folder = HERE.parent.parent / "src" / "interp" / "lib"
    listed = set(line.strip(" ',\n") for line in (folder / "meson.build").read_text().splitlines()
                 if line.startswith("  '"))
    assert listed == {str(path.relative_to(folder)) for path in folder.rglob("*.py")} | {"symbols.txt"}
    names = (folder / "symbols.txt").read_text().split()
    assert names == sorted(set(names))


def versions(random):
    """A text that is a version, or nearly one."""
    text = random.choice(["", "", "v"]) + random.choice(["", "", "1!"])
    text += ".".join(str(random.choice([0, 1, 2, 10])) for _ in range(random.randint(1, 4)))
    for names in (["a", "rc", "c", "beta", "preview"], ["post", "r"], ["dev"]):
        if random.random() < 0.35:
            text += random.choice(["", ".", "-", "_"]) + random.choice(names) + random.choice(["", "-", "1", ".12"])
    text += random.choice(["", "", "-1", "+cu118", "+1.x", "+01", "+"])
    return text if random.random() < 0.9 else text[:2] + random.choice(".-+!x ") + text[2:]


def test_versions_are_read_and_ordered_as_packaging_does():
    real = pytest.importorskip("packaging.version")
    ours = World([]).import_("packaging.version", fromlist=("Version",))
    random, last, n = Random(5), None, 0
    parts = "epoch release pre post dev local public base_version is_prerelease is_devrelease major minor micro".split()
    for _ in range(2000):
        text = versions(random)
        try:
            theirs = real.Version(text)
        except real.InvalidVersion:
            with pytest.raises(ours.InvalidVersion):
                ours.Version(text)
            continue
        made = ours.Version(text)
        assert str(made) == str(theirs), text
        assert [getattr(made, part) for part in parts] == [getattr(theirs, part) for part in parts], text
        if last:
            assert (made < last[0], made == last[0]) == (theirs < last[1], theirs == last[1]), (text, str(last[0]))
        last, n = (made, theirs), n + 1
    assert n > 1000
