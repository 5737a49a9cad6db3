#!/usr/bin/env python3
"""Harmless files that no rule of the audit was made with: other estimators, dtypes, indexes, optimizers, schedulers,
checkpoints, modules, generators, matrices and formats than bench_audit.py has; packed files, archives, programs and
folders.

    python bench/audit_held_out.py FOLDER       writes them by the libraries that are installed
    python bench/bench_audit.py run FOLDER      counts the false alarms"""

from __future__ import annotations

import argparse
import enum
import pathlib
import pickle
import sys
from typing import Any, Callable

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from bench_audit import Corpus  # noqa: E402


def pickled(made: Any, path: pathlib.Path) -> None:
    path.write_bytes(pickle.dumps(made, protocol=5))


def make_numpy(corpus: Corpus) -> None:
    import numpy as np
    rng = np.random.default_rng(1)
    for kind in ("i1", "u2", "i4", "u8", "f2", "f4", "c8", "c16", "?", "S7", "U3", ">f8", ">i2", "M8[ns]", "m8[s]",
        "V4"):
        corpus.add(f"numpy_dtype_{kind.strip('<>?[]') or 'bool'}_{ord(kind[0])}.pkl",
                   lambda kind=kind: np.zeros((2, 3), kind), pickled)
    things: dict[str, Callable[[], Any]] = {
        "fortran": lambda: np.asfortranarray(rng.random((3, 4))),
        "struct": lambda: np.zeros(3, [("a", "f4"), ("b", "i8")]),
        "struct_nested": lambda: np.zeros(3, [("a", [("x", "f4"), ("y", "u1")]), ("b", "i8")]),
        "struct_sub": lambda: np.zeros(3, [("a", "f4", (2, 2))]),
        "struct_object": lambda: np.zeros(2, [("a", "O"), ("b", "i4")]),
        "object": lambda: np.array([{"a": 1}, [2], None, "x"], dtype=object),
        "scalar": lambda: np.float32(1.5), "scalar_int": lambda: np.int16(3), "scalar_str": lambda: np.str_("a"),
        "scalar_date": lambda: np.datetime64("2024-01-02"), "scalar_void": lambda: np.zeros(1, [("a", "i4")])[0],
        "dtype": lambda: np.dtype([("a", "f4"), ("b", "S3")]), "dtype_plain": lambda: np.dtype("float16"),
        "recarray": lambda: np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        "matrix": lambda: np.matrix([[1, 2]]), "masked_int": lambda: np.ma.array([1, 2], mask=[0, 1]),
        "masked_2d": lambda: np.ma.masked_greater(rng.random((3, 3)), 0.5),
        "masked_struct": lambda: np.ma.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        "polynomial": lambda: np.polynomial.Polynomial([1, 2, 3]), "chebyshev": lambda: np.polynomial.Chebyshev([1, 2]),
        "poly1d": lambda: np.poly1d([1, 2]), "generator_philox": lambda: np.random.Generator(np.random.Philox(3)),
        "generator_sfc": lambda: np.random.Generator(np.random.SFC64(3)),
        "random_state": lambda: np.random.RandomState(7),
        "generator_dxsm": lambda: np.random.Generator(np.random.PCG64DXSM(3)),
        "generator_mt": lambda: np.random.Generator(np.random.MT19937(3)),
        "seeds": lambda: np.random.SeedSequence(5).spawn(2),
        "bits": lambda: np.random.PCG64(9), "ufunc": lambda: np.add, "function": lambda: np.mean,
        "chararray": lambda: np.char.array(["a", "bc"]), "empty": lambda: np.zeros((0, 3)),
        "zero_d": lambda: np.array(3.0), "bool_mask": lambda: np.array([True, False]),
        "dict": lambda: {"a": np.ones(2)},
        "finfo": lambda: np.iinfo("i4").max, "memory": lambda: bytearray(b"abc"), "vectorize": lambda: np.float64,
    }
    for name, make in things.items():
        corpus.add(f"numpy_{name}.pkl", make, pickled)
        corpus.add(f"numpy_{name}_p0.pkl", make, lambda made, path: path.write_bytes(pickle.dumps(made, protocol=0)))
    corpus.add("numpy_savez.npz", lambda: np.ones(2), lambda made, path: np.savez(path, a=made, b=made))
    corpus.add("numpy_savezc.npz", lambda: np.ones(2), lambda made, path: np.savez_compressed(path, a=made))
    corpus.add("numpy_object.npy", lambda: np.array([1, "a"], object), lambda made, path: np.save(path, made))


def make_pandas(corpus: Corpus) -> None:
    import numpy as np
    import pandas as pd
    things: dict[str, Callable[[], Any]] = {
        "nullable": lambda: pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.array(
            [True, None], dtype="boolean"), "c": pd.array([1.5, None], dtype="Float32")}),
        "object": lambda: pd.DataFrame({"a": [1, "x", None]}, dtype=object),
        "strings": lambda: pd.Series(["a", None, "c"], dtype="string"),
        "mixed": lambda: pd.DataFrame({"i": [1], "f": [1.5], "s": ["x"], "d": [pd.Timestamp("2024")], "b": [True]}),
        "timedelta_index": lambda: pd.timedelta_range("1D", periods=3),
        "period_index": lambda: pd.period_range("2024", periods=3, freq="M"),
        "period_series": lambda: pd.Series(pd.period_range("2024", periods=3, freq="Q")),
        "interval_index": lambda: pd.interval_range(0, 3), "cut": lambda: pd.cut(pd.Series([1, 2, 3]), 2),
        "categorical_index": lambda: pd.CategoricalIndex(["a", "b"]),
        "ordered": lambda: pd.Categorical(["a", "b"], categories=["b", "a"], ordered=True),
        "multi3": lambda: pd.MultiIndex.from_product([[1, 2], ["a", "b"], [True]]),
        "multi_columns": lambda: pd.DataFrame(np.ones((2, 2)), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
        "sparse": lambda: pd.Series(pd.arrays.SparseArray([0, 0, 1])), "grouped": lambda: pd.DataFrame(
            {"a": [1, 1, 2], "b": [1.0, 2, 3]}).groupby("a").sum(),
        "float_index": lambda: pd.Series([1, 2], index=[0.5, 1.5]), "named": lambda: pd.Series([1], name="x"),
        "attrs": lambda: _with_attrs(pd.DataFrame({"a": [1]})), "empty": lambda: pd.DataFrame(),
        "utc": lambda: pd.Series(pd.date_range("2024", periods=2, tz="UTC")), "wide": lambda: pd.DataFrame(
            np.zeros((2, 60))), "uint": lambda: pd.Series([1], dtype="uint8"), "complex": lambda: pd.Series([1j]),
        "na": lambda: pd.NA, "nat": lambda: pd.NaT, "timestamp_utc": lambda: pd.Timestamp("2024", tz="UTC"),
        "offset": lambda: pd.offsets.MonthEnd(2), "offset_business": lambda: pd.offsets.BDay(1),
        "offset_date": lambda: pd.DateOffset(months=2), "offset_hour": lambda: pd.offsets.Hour(3),
        "dtype": lambda: pd.CategoricalDtype(["a", "b"]), "described": lambda: pd.DataFrame({"a": [1.0, 2]}).describe(),
        "pivot": lambda: pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [3, 4]}).pivot(index="a", columns="b"),
        "dict": lambda: {"train": pd.DataFrame({"a": [1]}), "meta": {"n": 1}}, "interval": lambda: pd.Interval(0.5,
        2.5),
        "period": lambda: pd.Period("2024-03", freq="M"), "timedelta": lambda: pd.Timedelta("3h"),
        "dates_freq": lambda: pd.date_range("2024", periods=3, freq="W"), "bool_index": lambda: pd.Index([True, False]),
        "masked_series": lambda: pd.Series([1, None], dtype="Int8"), "concat": lambda: pd.concat(
            [pd.Series([1]), pd.Series([2])]), "rolling": lambda: pd.Series([1.0, 2, 3]).rolling(2).mean(),
    }
    for name, make in things.items():
        corpus.add(f"pandas_{name}.pkl", make, pickled)
    for name in ("mixed", "nullable", "multi3", "categorical_index", "cut", "wide"):
        corpus.add(f"pandas_{name}_to.pkl", things[name], lambda made, path: pd.to_pickle(made, path))


def _with_attrs(frame: Any) -> Any:
    frame.attrs["source"] = "here"
    return frame


def make_sklearn(corpus: Corpus) -> None:
    import joblib
    import numpy as np
    import sklearn.utils
    from sklearn.datasets import make_classification
    data, target = make_classification(60, 6, random_state=0)
    data = np.abs(data)
    known = set(pathlib.Path(__file__).with_name("bench_audit.py").read_text().replace('"', " ").split())
    for name, kind in sklearn.utils.all_estimators():
        if name in known:
            continue  # the rules were made with these

        def fit(kind: Any = kind) -> Any:
            try:
                return kind().fit(data, target)
            except TypeError:
                return kind(kind.__init__) if False else kind().fit(data)
        corpus.add(f"sklearn_{name}.pkl", fit, pickled)
        corpus.add(f"sklearn_{name}.joblib", fit, lambda made, path: joblib.dump(made, path, compress=3))


def make_scipy(corpus: Corpus) -> None:
    import numpy as np
    import scipy.interpolate
    import scipy.optimize
    import scipy.signal
    import scipy.sparse as sp
    import scipy.spatial
    dense = np.eye(4)
    for kind in ("csc_matrix", "coo_matrix", "lil_matrix", "dok_matrix", "dia_matrix", "bsr_matrix", "csr_array",
                 "csc_array", "coo_array", "lil_array", "dok_array", "dia_array", "bsr_array"):
        corpus.add(f"scipy_{kind}.pkl", lambda kind=kind: getattr(sp, kind)(dense), pickled)
    corpus.add("scipy_save.npz", lambda: sp.csr_matrix(dense), lambda made, path: sp.save_npz(path, made))
    x = np.arange(6.0)
    things: dict[str, Callable[[], Any]] = {
        "cubic": lambda: scipy.interpolate.CubicSpline(x, x), "pchip": lambda: scipy.interpolate.PchipInterpolator(x,
        x),
        "akima": lambda: scipy.interpolate.Akima1DInterpolator(x, x),
        "bspline": lambda: scipy.interpolate.make_interp_spline(x, x),
        "ppoly": lambda: scipy.interpolate.PPoly(np.ones((2, 5)), x),
        "grid": lambda: scipy.interpolate.RegularGridInterpolator((x,), x),
        "rbf": lambda: scipy.interpolate.RBFInterpolator(
            x[:, None], x), "rotation": lambda: scipy.spatial.transform.Rotation.from_euler("x", 0.5),
        "optimum": lambda: scipy.optimize.minimize(lambda v: float((v ** 2).sum()), [1.0]),
        "filter": lambda: scipy.signal.dlti([1.0], [1.0, 0.5]), "bounds": lambda: scipy.optimize.Bounds([0], [1]),
        "linear": lambda: scipy.optimize.LinearConstraint(np.eye(2), 0, 1),
    }
    for name, make in things.items():
        corpus.add(f"scipy_{name}.pkl", make, pickled)


def make_torch(corpus: Corpus) -> None:
    import torch
    from torch import nn, optim

    def save(made: Any, path: pathlib.Path) -> None:
        torch.save(made, path)

    layers: dict[str, Callable[[], nn.Module]] = {
        "gru": lambda: nn.GRU(3, 4, 2, bidirectional=True), "rnn": lambda: nn.RNN(3, 4),
        "grucell": lambda: nn.GRUCell(3, 4),
        "attention": lambda: nn.MultiheadAttention(8, 2), "encoder": lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16), 2), "decoder": lambda: nn.TransformerDecoderLayer(8, 2, 16),
        "transformer": lambda: nn.Transformer(8, 2, 1, 1, 16), "conv3": lambda: nn.Conv3d(1, 2, 3),
        "convt": lambda: nn.ConvTranspose2d(1, 2, 3), "group": lambda: nn.GroupNorm(2, 4),
        "instance": lambda: nn.InstanceNorm2d(3),
        "prelu": lambda: nn.PReLU(), "bilinear": lambda: nn.Bilinear(2, 3, 4), "bag": lambda: nn.EmbeddingBag(5, 3),
        "unflatten": lambda: nn.Unflatten(1, (2, 2)), "lists": lambda: nn.ModuleList([nn.Linear(1, 1), nn.Tanh()]),
        "dicts": lambda: nn.ModuleDict({"a": nn.Linear(1, 1)}), "parameters": lambda: nn.ParameterList([torch.ones(2)]),
        "pixel": lambda: nn.Sequential(nn.PixelShuffle(2), nn.Upsample(scale_factor=2), nn.AdaptiveAvgPool2d(1)),
        "losses": lambda: nn.ModuleList([nn.CrossEntropyLoss(torch.ones(3)), nn.HuberLoss(), nn.TripletMarginLoss()]),
        "weight_norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)),
        "spectral": lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3)),
        "rms": lambda: nn.RMSNorm(4), "softmax2": lambda: nn.Sequential(nn.Softmax2d(), nn.Hardswish(), nn.Mish(),
        nn.GLU()),
        "fold": lambda: nn.Sequential(nn.Unfold(2), nn.Fold((3, 3), 2)), "syncbn": lambda: nn.SyncBatchNorm(3),
        "half": lambda: nn.Linear(2, 2).half(), "bfloat": lambda: nn.Linear(2, 2).bfloat16(),
        "double": lambda: nn.Conv1d(
            1, 1, 1).double(), "pads": lambda: nn.Sequential(nn.ReflectionPad2d(1), nn.ZeroPad2d(1)),
    }
    for name, make in layers.items():
        corpus.add(f"torch_layer_{name}.pt", make, save)
        corpus.add(f"torch_layer_{name}_old.pt", make, lambda made, path: torch.save(
            made, path, _use_new_zipfile_serialization=False))
        corpus.add(f"torch_state_{name}.pt", lambda make=make: make().state_dict(), save)

    def trained(kind: str) -> Any:
        net = nn.Linear(2, 2)
        options = {"lr": 0.1} if kind not in ("LBFGS",) else {}
        optimizer = getattr(optim, kind)(net.parameters(), **options)

        def loss() -> Any:
            optimizer.zero_grad()
            out = net(torch.ones(1, 2)).sum()
            out.backward()
            return out
        optimizer.step(loss)
        return net, optimizer

    kinds = ("LBFGS", "SparseAdam", "Rprop", "ASGD", "NAdam", "RAdam", "Adamax", "Adagrad", "Adafactor", "Adadelta",
        "Muon")
    for kind in kinds:
        corpus.add(f"torch_optim_{kind}.pt", lambda kind=kind: trained(kind)[1].state_dict(), save)
        corpus.add(f"torch_optim_{kind}_whole.pt", lambda kind=kind: trained(kind)[1], save)
    schedules: dict[str, Callable[[Any], Any]] = {
        "step": lambda o: optim.lr_scheduler.StepLR(o, 2), "multi": lambda o: optim.lr_scheduler.MultiStepLR(o, [1, 2]),
        "cosine": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 5), "warm": lambda o: optim.lr_scheduler.
        CosineAnnealingWarmRestarts(o, 3), "plateau": lambda o: optim.lr_scheduler.ReduceLROnPlateau(o),
        "onecycle": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=5), "exp": lambda o: optim.lr_scheduler.
        ExponentialLR(o, 0.9), "linear": lambda o: optim.lr_scheduler.LinearLR(o), "poly": lambda o: optim.lr_scheduler.
        PolynomialLR(o), "cyclic": lambda o: optim.lr_scheduler.CyclicLR(o, 0.01, 0.1), "sequence": lambda o: optim.
        lr_scheduler.SequentialLR(o, [optim.lr_scheduler.ConstantLR(o), optim.lr_scheduler.StepLR(o, 1)], [2]),
    }
    for name, schedule in schedules.items():
        corpus.add(f"torch_schedule_{name}.pt", lambda schedule=schedule: schedule(optim.SGD(
            nn.Linear(1, 1).parameters(), lr=0.1, momentum=0.9)).state_dict(), save)

    class Level(enum.Enum):
        LOW = 1

    def checkpoint() -> dict[str, Any]:
        net, optimizer = trained("NAdam")
        return {"epoch": 3, "global_step": 100, "pytorch-lightning_version": "2.5.0", "state_dict": net.state_dict(),
                "loops": {"fit_loop": {"state_dict": {}}}, "callbacks": {"ModelCheckpoint{'monitor': None}": {
                    "best_model_score": torch.tensor(0.5), "dirpath": "/x", "best_k_models": {}}},
                "optimizer_states": [optimizer.state_dict()], "lr_schedulers": [], "hparams_name": "kwargs",
                "hyper_parameters": {"lr": 0.1, "sizes": [1, 2], "path": pathlib.PurePosixPath("a/b")},
                "rng": torch.get_rng_state(), "args": argparse.Namespace(lr=0.1, name="x")}
    corpus.add("torch_checkpoint.ckpt", checkpoint, save)
    tensors: dict[str, Callable[[], Any]] = {
        "coo": lambda: torch.eye(3).to_sparse(), "csr": lambda: torch.eye(3).to_sparse_csr(),
        "bool": lambda: torch.ones(2) > 0,
        "complex": lambda: torch.ones(2, dtype=torch.complex64),
        "float8": lambda: torch.ones(2).to(torch.float8_e4m3fn),
        "uint16": lambda: torch.ones(2, dtype=torch.uint16), "view": lambda: torch.ones(4, 4)[1:, ::2],
        "grad": lambda: torch.ones(
            2, requires_grad=True), "size": lambda: torch.Size([1, 2]), "device": lambda: torch.device("cpu"),
                "dtype": lambda:
        torch.float16, "generator": lambda: torch.Generator().manual_seed(3),
            "nested": lambda: torch.nested.nested_tensor(
            [torch.ones(2), torch.ones(3)]), "quantized": lambda: torch.quantize_per_channel(torch.ones(2, 2),
                torch.ones(2),
                                                                                              torch.zeros(2), 0,
                                                                                                  torch.qint8),
        "conj": lambda: torch.ones(2, dtype=torch.complex64).conj(), "storage": lambda: torch.ones(2).untyped_storage(),
        "buffer": lambda: nn.Buffer(torch.ones(2)), "layout": lambda: torch.strided,
        "format": lambda: torch.channels_last,
        "distribution": lambda: torch.distributions.Normal(0.0, 1.0), "dataset": lambda: torch.utils.data.TensorDataset(
            torch.ones(3)), "subset": lambda: torch.utils.data.Subset(torch.utils.data.TensorDataset(torch.ones(3)),
                [0]),
    }
    for name, made in tensors.items():
        corpus.add(f"torch_tensor_{name}.pt", made, save)
        corpus.add(f"torch_tensor_{name}.pkl", made, pickled)
    for name in ("gru", "conv3", "group", "prelu", "rms", "pads"):
        corpus.add(f"torch_script_{name}.pt", lambda name=name: torch.jit.script(layers[name]()), lambda made,
            path: made.save(
            str(path)))
    shapes = {"group": (1, 4, 2), "prelu": (2,), "rms": (2, 4), "pads": (1, 1, 3, 3), "convt": (1, 1, 4, 4)}
    for name, shape in shapes.items():
        corpus.add(f"torch_export_{name}.pt2", lambda name=name, shape=shape: torch.export.export(
            layers[name]().eval(), (torch.ones(shape),)), lambda made, path: torch.export.save(made, path))
        corpus.add(f"torch_onnx_{name}.onnx", lambda name=name, shape=shape: torch.onnx.export(
            layers[name]().eval(), (torch.ones(shape),), verbose=False), lambda made, path: made.save(str(path)))


def make_lightning(corpus: Corpus) -> None:
    import lightning
    import torch

    class Net(lightning.LightningModule):
        def __init__(self, width: int = 2, name: str = "x") -> None:
            super().__init__()
            self.save_hyperparameters()
            self.net = torch.nn.Linear(width, 1)

        def training_step(self, batch: Any, i: int) -> Any:
            return self.net(batch).sum()

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), lr=0.1)
            return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1)}

    def save(made: Any, path: pathlib.Path) -> None:
        loader = torch.utils.data.DataLoader(torch.ones(4, 2), batch_size=2)
        trainer = lightning.Trainer(max_epochs=1, logger=False, enable_progress_bar=False, accelerator="cpu",
                                    enable_model_summary=False, enable_checkpointing=True, default_root_dir=path.parent)
        trainer.fit(made, loader)
        trainer.save_checkpoint(path)
    corpus.add("lightning_net.ckpt", Net, save)
    corpus.add("lightning_named.ckpt", lambda: Net(name="y"), save)


def make_keras(corpus: Corpus) -> None:
    import keras
    from keras import layers

    def build(*parts: Any, shape: tuple[int, ...] = (8,)) -> Any:
        return keras.Sequential([keras.Input(shape), *parts])
    nets: dict[str, Callable[[], Any]] = {
        "dense": lambda: build(layers.Dense(4, "relu"), layers.Dropout(0.1), layers.Dense(1)),
        "conv": lambda: build(layers.Conv2D(2, 3), layers.BatchNormalization(), layers.GlobalAveragePooling2D(),
                              shape=(8, 8, 1)),
        "lstm": lambda: build(layers.Bidirectional(layers.LSTM(3)), shape=(4, 2)),
        "gru": lambda: build(layers.GRU(3, return_sequences=True), layers.TimeDistributed(layers.Dense(2)), shape=(4,
        2)),
        "embed": lambda: build(layers.Embedding(10, 4), layers.Flatten(), shape=(3,)),
        "norm": lambda: build(layers.LayerNormalization(), layers.UnitNormalization(), layers.Softmax()),
        "image": lambda: build(layers.Rescaling(1 / 255), layers.RandomFlip(), layers.SeparableConv2D(2, 3),
        layers.MaxPooling2D(),
                               shape=(8, 8, 3)),
        "separate": lambda: build(layers.DepthwiseConv2D(3), layers.ReLU(), layers.UpSampling2D(), shape=(8, 8, 2)),
    }
    for name, make in nets.items():
        corpus.add(f"keras_{name}.keras", make, lambda made, path: made.save(path))
        corpus.add(f"keras_{name}.h5", make, lambda made, path: made.save(path))
        corpus.add(f"keras_{name}.weights.h5", make, lambda made, path: made.save_weights(path))


# ---- archives, packed files, programs and folders ----

def make_packed(corpus: Corpus) -> None:
    """Arrays and estimators by joblib's compressions, streams with unusual parameters, arrays in archives."""
    import bz2
    import gzip
    import lzma
    import zlib

    import joblib
    import numpy as np
    things: dict[str, Any] = {
        "arrays": {"a": np.arange(500.0), "b": np.arange(7, dtype="u1"), "c": np.array(["x", "yz"])},
        "dates": [np.zeros(3, "M8[ns]"), np.zeros(2, "m8[s]"), np.zeros(2, [("a", "f4"), ("b", "i8")])],
        "objects": np.array([{"a": 1}, None, "x"], dtype=object),
        "nested": {"model": {"w": [np.ones((3, 4)), np.zeros(0)], "names": ("a", "b")}},
    }
    for name, thing in things.items():
        for method in ("zlib", "gzip", "bz2", "lzma", "xz"):
            corpus.add(f"joblib_{name}_{method}.joblib", lambda thing=thing: thing,
                       lambda made, path, method=method: joblib.dump(made, path, compress=(method, 3)))
        for protocol in (0, 1, 2, 3, 5):
            corpus.add(f"joblib_{name}_p{protocol}.joblib", lambda thing=thing: thing,
                       lambda made, path, protocol=protocol: joblib.dump(made, path, protocol=protocol))
    raw = pickle.dumps({"a": list(range(3000)), "b": "text" * 50}, protocol=4)

    def deflated(window: int) -> bytes:
        packer = zlib.compressobj(6, zlib.DEFLATED, window)
        return packer.compress(raw) + packer.flush()

    packed: dict[str, Callable[[], bytes]] = {
        **{f"zlib_{window}.pkl": lambda window=window: deflated(window) for window in (9, 11, 13, 15)},
        "gzip_1.pkl.gz": lambda: gzip.compress(raw, 1), "bz2_1.pkl.bz2": lambda: bz2.compress(raw, 1),
        "xz_0.pkl.xz": lambda: lzma.compress(raw, preset=0),
        "xz_sha.pkl.xz": lambda: lzma.compress(raw, check=lzma.CHECK_SHA256),
        "lzma_lc0.pkl.lzma": lambda: lzma.compress(raw, lzma.FORMAT_ALONE, filters=[
            {"id": lzma.FILTER_LZMA1, "lc": 0, "lp": 2, "pb": 0, "dict_size": 1 << 16}]),
        "gzip_twice.pkl.gz": lambda: gzip.compress(gzip.compress(raw)),
        "gzip_members.pkl.gz": lambda: gzip.compress(raw[:100]) + gzip.compress(raw[100:]),
    }
    for name, make_bytes in packed.items():
        corpus.add(f"packed_{name}", make_bytes, lambda made, path: path.write_bytes(made))


def make_archives(corpus: Corpus) -> None:
    """What people pack: repositories, several models, arrays."""
    import io
    import json
    import tarfile
    import zipfile

    import numpy as np
    import torch
    from safetensors.torch import save as save_safetensors
    state = {"w": torch.ones(2, 3)}
    buffer = io.BytesIO()
    torch.save(state, buffer)
    array = io.BytesIO()
    np.save(array, np.arange(4.0))
    config = json.dumps({"model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu",
                         "activation_function": "gelu_new"}).encode()
    tokenizer = json.dumps({"tokenizer_class": "BertTokenizer", "model_max_length": 512, "chat_template":
                            "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}{% endfor %}"}).encode()
    members = {
        "repository": {"r/config.json": config, "r/model.safetensors": save_safetensors(state),
                       "r/tokenizer_config.json": tokenizer},
        "checkpoints": {"a.pt": buffer.getvalue(), "b.pt": buffer.getvalue()},
        "arrays": {"a.npy": array.getvalue(), "b/c.npy": array.getvalue()},
        "yaml": {"config.yaml": b"lr: 0.1\nmodel:\n  _target_: torch.nn.Linear\n  in_features: 3\n",
                 "w.safetensors": save_safetensors(state)},
        "pickles": {"x.pkl": pickle.dumps({"a": 1}), "y/z.pickle": pickle.dumps([1, 2])},
    }

    def zipped(files: dict[str, bytes], method: int) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as made:
            for name, content in files.items():
                made.writestr(name, content)
        return out.getvalue()

    def tarred(files: dict[str, bytes], mode: Any) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=mode) as made:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                made.addfile(info, io.BytesIO(content))
        return out.getvalue()

    for name, files in members.items():
        for how, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
            corpus.add(f"archive_{name}_{how}.zip", lambda f=files, m=method: zipped(f, m),
                       lambda made, path: path.write_bytes(made))
        for ending, mode in (("tar", "w"), ("tar.gz", "w:gz"), ("tar.xz", "w:xz")):
            corpus.add(f"archive_{name}.{ending}", lambda f=files, m=mode: tarred(f, m),
                       lambda made, path: path.write_bytes(made))


def make_exported(corpus: Corpus) -> None:
    """Programs of torch.export whose arguments are trees of several kinds."""
    import collections

    import torch

    class Takes(torch.nn.Module):
        def __init__(self, get: Callable[[Any], Any]) -> None:
            super().__init__()
            self.lin, self.get = torch.nn.Linear(3, 2), get

        def forward(self, x: Any) -> Any:
            return {"y": self.lin(self.get(x)), "z": [self.get(x) + 1]}

    x = torch.ones(1, 3)
    kinds: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "dict": ({"a": x, "b": x}, lambda v: v["a"] + v["b"]), "list": ([x, [x]], lambda v: v[0] + v[1][0]),
        "ordered": (collections.OrderedDict(a=x), lambda v: v["a"]),
        "default": (collections.defaultdict(list, a=x), lambda v: v["a"]),
        "deque": (collections.deque([x]), lambda v: v[0]), "tuple": ((x, (x, 2)), lambda v: v[0] * v[1][1]),
        "none": ((x, None), lambda v: v[0]),
    }
    for name, (value, get) in kinds.items():
        def save(made: Any, path: pathlib.Path, value: Any = value) -> None:
            torch.export.save(torch.export.export(made, (value,)), path)
        corpus.add(f"export_{name}.pt2", lambda get=get: Takes(get), save)
    corpus.add("export_dynamic.pt2", lambda: Takes(lambda v: v), lambda made, path: torch.export.save(
        torch.export.export(made, (torch.ones(4, 3),), dynamic_shapes=({0: torch.export.Dim("n")},)), path))
    for name, net in (("conv", torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU())),
                      ("lstm", torch.nn.GRU(3, 4)), ("norm", torch.nn.LayerNorm(3))):
        sizes = {"conv": (1, 1, 8, 8), "lstm": (2, 1, 3), "norm": (2, 3)}[name]
        corpus.add(f"export_{name}.pt2", lambda net=net: net, lambda made, path, sizes=sizes: torch.export.save(
            torch.export.export(made.eval(), (torch.ones(sizes),)), path))


def make_boosters(corpus: Corpus) -> None:
    """xgboost, lightgbm and skops, in each of their forms."""
    import joblib
    import numpy as np
    rng = np.random.default_rng(0)
    x, y = rng.random((40, 3)), rng.integers(0, 2, 40)
    try:
        import xgboost
        model = xgboost.XGBClassifier(n_estimators=2, max_depth=2).fit(x, y)
        corpus.add("xgboost.json", lambda: model, lambda made, path: made.save_model(path))
        corpus.add("xgboost.ubj", lambda: model, lambda made, path: made.save_model(path))
    except ImportError as error:
        corpus.skipped.append(f"xgboost: {error}")
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier
    estimators: dict[str, Any] = {
        "logistic": LogisticRegression(), "forest": RandomForestClassifier(3), "tree": DecisionTreeClassifier(),
        "pipeline": make_pipeline(StandardScaler(), SVC()), "neighbours": KNeighborsClassifier(3),
        "descent": SGDClassifier(), "boosting": GradientBoostingClassifier(n_estimators=3),
    }
    for name, estimator in estimators.items():
        estimator.fit(x, y)
        corpus.add(f"boosters_{name}_zlib.joblib", lambda e=estimator: e,
                   lambda made, path: joblib.dump(made, path, compress=3))
        try:
            from skops import io as skops_io
            corpus.add(f"skops_{name}.skops", lambda e=estimator: e, lambda made, path: skops_io.dump(made, path))
        except ImportError as error:
            corpus.skipped.append(f"skops: {error}")


def make_tensorflow(corpus: Corpus) -> None:
    """SavedModels, TFLite files and graphs as tensorflow itself writes them; graphs as text."""
    import keras
    import tensorflow as tf
    from keras import layers

    class Module(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable([[1.0, 2.0]])

        @tf.function(input_signature=[tf.TensorSpec([None, 1])])
        def __call__(self, x: Any) -> Any:
            return tf.nn.softmax(tf.matmul(x, self.w))

    def lite(made: Any, path: pathlib.Path) -> None:
        path.write_bytes(tf.lite.TFLiteConverter.from_keras_model(made).convert())
    nets: dict[str, Callable[[], Any]] = {
        "dense": lambda: keras.Sequential([keras.Input((4,)), layers.Dense(2, "relu"), layers.Softmax()]),
        "conv": lambda: keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(2, 3), layers.Flatten()]),
        "embed": lambda: keras.Sequential([keras.Input((3,)), layers.Embedding(9, 2), layers.LSTM(2)]),
    }
    corpus.add("tensorflow_module", Module, lambda made, path: tf.saved_model.save(made, str(path)))
    for name, make_net in nets.items():
        corpus.add(f"tensorflow_{name}", make_net, lambda made, path: made.export(str(path), verbose=False))
        corpus.add(f"tensorflow_{name}.tflite", make_net, lite)

    def checkpoint(made: Any, path: pathlib.Path) -> None:
        path.mkdir()
        tf.train.Checkpoint(made=made).save(str(path / "ckpt"))
    corpus.add("tensorflow_checkpoint", Module, checkpoint)


def make_repositories(corpus: Corpus) -> None:
    """Folders with the configs that libraries write, of keys that may name code."""
    import json
    configs: dict[str, dict[str, Any]] = {
        "lora": {"adapter_config.json": {"peft_type": "LORA", "base_model_name_or_path": "x/y", "r": 8,
                                         "megatron_config": None, "megatron_core": "megatron.core",
                                         "auto_mapping": None, "target_modules": ["q_proj"]}},
        "dense": {"modules.json": [{"idx": 0, "name": "0", "path": "2_Dense",
                                    "type": "sentence_transformers.models.Dense"}]},
        "gpt2": {"config.json": {"model_type": "gpt2", "activation_function": "gelu_new",
                                 "_attn_implementation": "sdpa", "task_specific_params": {"text": {"max": 5}}}},
        "attention": {"config.json": {"model_type": "x", "attn_implementation": {"text": "eager", "vision": "sdpa"}}},
        "processor": {"processor_config.json": {"processor_class": "LlavaProcessor",
                                                "image_processor": {"image_processor_type": "CLIPImageProcessor"}}},
        "generation": {"generation_config.json": {"transformers_version": "5.0", "max_new_tokens": 5,
                                                  "do_sample": True}},
        "diffusers": {"model_index.json": {"_class_name": "StableDiffusionPipeline", "_diffusers_version": "0.30",
                                           "unet": ["diffusers", "UNet2DConditionModel"],
                                           "tokenizer": ["transformers", "CLIPTokenizer"]}},
        "quantized": {"config.json": {"model_type": "llama", "quantization_config": {"quant_method": "gptq", "bits": 4,
                                                                                     "model_file_base_name": "m"}}},
        "image": {"preprocessor_config.json": {"image_processor_type": "ViTImageProcessor", "do_resize": True,
                                               "do_normalize": True}},
        "prompts": {"config.json": {"model_type": "x", "prompt_template": "{system}\n{prompt}", "prefix": "a: b"}},
    }
    for name, files in configs.items():
        def save(made: dict[str, Any], path: pathlib.Path) -> None:
            path.mkdir()
            for file, content in made.items():
                (path / file).write_text(json.dumps(content, indent=2))
        corpus.add(f"repository_{name}", lambda files=files: files, save)
    texts = {
        "hydra.yaml": "defaults:\n  - _self_\nmodel:\n  _target_: torch.nn.Linear\n  in_features: ${size}\nsize: 3\n",
        "trainer.yaml": "trainer:\n  max_epochs: 3\n  precision: 16-mixed\ndata:\n  path: runs/a.b/c.yaml\n",
        "environment.yml": "name: x\nchannels: [conda-forge]\ndependencies:\n  - python=3.11\n  - pip:\n    - torch\n",
        "requirements.txt": "torch>=2.0\nnumpy\n# a comment\ntransformers==4.40\n",
        "template.jinja": "{%- for m in messages %}{{- m.role ~ ': ' ~ m.content }}{%- endfor %}",
        "times.yaml": "start: 10:30\nratio: 16:9\nurl: http://example.org/x\nkey:value\n",
    }
    for file, content in texts.items():
        corpus.add(file, lambda content=content: content, lambda made, path: path.write_text(made))


def make(folder: pathlib.Path) -> None:
    corpus = Corpus(folder)
    for part in (make_numpy, make_pandas, make_scipy, make_sklearn, make_torch, make_lightning, make_keras,
                 make_packed, make_archives, make_exported, make_boosters, make_tensorflow, make_repositories):
        before = corpus.n
        try:
            part(corpus)
        except Exception as error:  # the library is not there
            print(f"skipped {part.__name__}: {type(error).__name__}: {error}"[:200])
        print(f"{part.__name__}: {corpus.n - before} files", flush=True)
    for row in corpus.skipped:
        print("not made:", row)
    print(f"{corpus.n} files")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    target = parser.parse_args().folder
    target.mkdir(parents=True, exist_ok=True)
    make(target)
