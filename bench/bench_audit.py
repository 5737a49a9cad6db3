#!/usr/bin/env python3
"""How good is the audit? Files as the real libraries save them, and hostile ones, beside other scanners.

    python bench/bench_audit.py make FOLDER             writes harmless files by the libraries that are installed
    python bench/bench_audit.py run FOLDER [HOSTILE...] audits them; HOSTILE: folders with a manifest.json

`run` prints false alarms (suspicious or worse, and what could not be read), misses, precision, recall, F1 and the time
per file, for pellucid and for each of picklescan, fickling, modelscan, modelaudit that the Python that runs it has, or
the one that --scanners names. Each of these has --seconds for all files and --file-seconds for one. A file that takes
longer counts as an alarm; those that are not reached in time, in an order that a seed mixes, are not counted, and how
many they are is printed."""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import fractions
import json
import os
import pathlib
import pickle
import random
import resource
import shutil
import subprocess
import sys
import time
import uuid
from typing import Any, Callable

PROGRAM = os.environ.get("PELLUCID", str(pathlib.Path(__file__).parent.parent / "build" / "pellucid"))
Saver = Callable[[Any, pathlib.Path], None]


# ---- making ----

class Corpus:
    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.n = 0
        self.skipped: list[str] = []

    def add(self, name: str, make: Callable[[], Any], save: Saver) -> None:
        path = self.folder / name
        try:
            save(make(), path)
            self.n += 1
        except Exception as error:  # a library that is not there, or can't save that
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            self.skipped.append(f"{name}: {type(error).__name__}: {error}"[:160])

    def pickles(self, name: str, make: Callable[[], Any], protocols: tuple[int, ...] = (2, 4)) -> None:
        for protocol in protocols:
            self.add(f"{name}_p{protocol}.pkl", make, lambda made, path, p=protocol: path.write_bytes(
                pickle.dumps(made, protocol=p)))


def make_plain(corpus: Corpus) -> None:
    things: dict[str, Callable[[], Any]] = {
        "plain": lambda: {"a": [1, 2.5, None, True, "x", b"y", (1,), {2}, frozenset([3])], "b": 1 << 100},
        "ordered": lambda: collections.OrderedDict(a=1),
        "defaultdict": lambda: collections.defaultdict(list, a=[1]),
        "counter": lambda: collections.Counter("hello"),
        "deque": lambda: collections.deque([1, 2], maxlen=5),
        "dates": lambda: [datetime.datetime(2024, 1, 2), datetime.date(2024, 1, 2), datetime.timedelta(1),
                          datetime.timezone.utc, datetime.time(1)],
        "numbers": lambda: [decimal.Decimal("1.5"), fractions.Fraction(1, 3), complex(1, 2), range(3), slice(1, 2)],
        "uuid": lambda: uuid.UUID(int=5),
        "path": lambda: pathlib.PurePosixPath("/a/b"),
        "namespace": lambda: argparse.Namespace(lr=0.1, layers=[1, 2]),
        "bytearray": lambda: bytearray(b"abc"),
    }
    for name, make in things.items():
        corpus.pickles(f"py_{name}", make, (0, 2, 4))


def make_numpy(corpus: Corpus) -> None:
    import numpy as np
    things: dict[str, Callable[[], Any]] = {
        "array": lambda: np.arange(6.0).reshape(2, 3),
        "fortran": lambda: np.asfortranarray(np.ones((3, 4))),
        "structured": lambda: np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]),
        "object_array": lambda: np.array([1, "x", None], dtype=object),
        "strings": lambda: np.array(["a", "bcd"]),
        "dates": lambda: np.array(["2024-01-01"], dtype="datetime64[D]"),
        "scalars": lambda: [np.float32(1), np.int64(2), np.bool_(True), np.float64(3)],
        "dtype": lambda: [np.dtype("f4"), np.dtype([("a", "i4")])],
        "generator": lambda: np.random.default_rng(1),
        "random_state": lambda: np.random.RandomState(1),
        "seed_sequence": lambda: np.random.SeedSequence(5),
        "masked": lambda: np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]),
    }
    for name, make in things.items():
        corpus.pickles(f"np_{name}", make, (2, 4, 5) if name == "array" else (2, 4))
    corpus.add("np_plain.npy", lambda: np.arange(6.0), lambda made, path: np.save(path, made))
    corpus.add("np_plain.npz", lambda: np.arange(6.0), lambda made, path: np.savez(path, a=made))


def make_torch(corpus: Corpus) -> None:
    import torch
    from torch import nn
    torch.manual_seed(0)

    def save(made: Any, path: pathlib.Path) -> None:
        torch.save(made, path)

    def legacy(made: Any, path: pathlib.Path) -> None:
        torch.save(made, path, _use_new_zipfile_serialization=False)

    nets: dict[str, Callable[[], Any]] = {
        "linear": lambda: nn.Linear(3, 4),
        "sequential": lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4), nn.Dropout()),
        "conv": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.GELU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(2)),
        "lists": lambda: nn.ModuleDict({"a": nn.ModuleList([nn.Linear(2, 2)]), "b": nn.Identity()}),
        "lstm": lambda: nn.LSTM(3, 4, num_layers=2),
        "gru": lambda: nn.GRU(3, 4),
        "encoder": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2),
        "transformer": lambda: nn.Transformer(8, 2, 1, 1, 16),
        "attention": lambda: nn.MultiheadAttention(8, 2),
        "embedding": lambda: nn.EmbeddingBag(10, 4),
        "params": lambda: nn.ParameterList([nn.Parameter(torch.ones(2))]),
        "norms": lambda: nn.Sequential(nn.LayerNorm(3), nn.GroupNorm(1, 3), nn.InstanceNorm1d(3), nn.RMSNorm(3)),
        "losses": lambda: [nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss()],
        "weight_norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)),
    }
    for name, make in nets.items():
        corpus.add(f"torch_module_{name}.pt", make, save)
        corpus.add(f"torch_module_{name}_legacy.pt", make, legacy)
        if name not in ("losses",):
            corpus.add(f"torch_state_{name}.pt", lambda make=make: make().state_dict(), save)
    tensors: dict[str, Callable[[], Any]] = {
        "tensor": lambda: torch.ones(2, 3),
        "parameter": lambda: nn.Parameter(torch.ones(2)),
        "sparse": lambda: torch.eye(3).to_sparse(),
        "csr": lambda: torch.eye(3).to_sparse_csr(),
        "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        "complex": lambda: torch.ones(2, dtype=torch.complex64),
        "bfloat": lambda: torch.ones(2, dtype=torch.bfloat16),
        "misc": lambda: {"size": torch.Size([1, 2]), "dtype": torch.float32, "device": torch.device("cpu")},
        "meta": lambda: torch.ones(2, device="meta"),
        "attribute": with_attribute,
        "generator_state": lambda: torch.get_rng_state(),
        "distribution": lambda: torch.distributions.Normal(torch.zeros(1), torch.ones(1)),
        "dataset": lambda: torch.utils.data.TensorDataset(torch.ones(2)),
    }
    for name, make in tensors.items():
        corpus.add(f"torch_{name}.pt", make, save)
        corpus.add(f"torch_{name}_legacy.pt", make, legacy)
    for kind in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "LBFGS",
                 "Rprop", "Adafactor"):
        corpus.add(f"torch_optim_{kind}.pt", lambda kind=kind: stepped(kind).state_dict(), save)
        corpus.add(f"torch_optim_whole_{kind}.pt", lambda kind=kind: stepped(kind), save)
    for kind, args in {"StepLR": (1,), "ExponentialLR": (0.9,), "CosineAnnealingLR": (5,), "ReduceLROnPlateau": (),
                       "LinearLR": (), "MultiStepLR": ([1, 2],), "CosineAnnealingWarmRestarts": (3,)}.items():
        corpus.add(f"torch_scheduler_{kind}.pt", lambda kind=kind, args=args: getattr(
            torch.optim.lr_scheduler, kind)(stepped("SGD"), *args).state_dict(), save)
    script = lambda made, path: torch.jit.save(made, str(path))  # noqa: E731
    corpus.add("torch_trace.pt", lambda: torch.jit.trace(nets["sequential"]().eval(), torch.ones(2, 3)), script)
    corpus.add("torch_script.pt", lambda: torch.jit.script(nets["sequential"]()), script)
    corpus.add("torch_checkpoint.pt", lambda: {"epoch": 3, "model": nets["conv"]().state_dict(),
                                               "optimizer": stepped("Adam").state_dict(),
                                               "args": argparse.Namespace(lr=1e-3),
                                               "best": collections.defaultdict(float, a=1.0)}, save)


def with_attribute() -> Any:
    import torch
    tensor = torch.ones(2)
    tensor.note = "x"  # type: ignore[attr-defined]
    return tensor


def stepped(kind: str) -> Any:
    import torch
    model = torch.nn.Linear(3, 2)
    optimizer = getattr(torch.optim, kind)(model.parameters(), **({"lr": 0.1} if kind != "Adafactor" else {}))

    def loss() -> Any:
        optimizer.zero_grad()
        made = model(torch.ones(1, 3)).sum()
        made.backward()
        return made

    optimizer.step(loss)
    return optimizer


def make_vision(corpus: Corpus) -> None:
    import torch
    import torchvision

    def save(made: Any, path: pathlib.Path) -> None:
        torch.save(made, path)

    small = ("alexnet resnet18 squeezenet1_1 mobilenet_v2 mobilenet_v3_small shufflenet_v2_x0_5 mnasnet0_5 densenet121 "
             "googlenet efficientnet_b0 regnet_y_400mf vit_b_32 swin_t convnext_tiny maxvit_t").split()
    for name in small:
        with_meta(corpus, f"torchvision_{name}.pt", lambda name=name: torchvision.models.get_model(
            name, weights=None, **({"init_weights": False} if name in ("googlenet",) else {})), save)
    for name in ("fasterrcnn_mobilenet_v3_large_320_fpn", "deeplabv3_mobilenet_v3_large", "fcn_resnet50", "r3d_18",
                 "ssdlite320_mobilenet_v3_large", "raft_small"):
        with_meta(corpus, f"torchvision_{name}.pt", lambda name=name: torchvision.models.get_model(
            name, weights=None, weights_backbone=None) if "raft" not in name and "r3d" not in name else
            torchvision.models.get_model(name, weights=None), save)
    transforms = torchvision.transforms
    corpus.pickles("torchvision_transforms", lambda: transforms.Compose(
        [transforms.Resize(8), transforms.RandomCrop(4), transforms.ToTensor(), transforms.Normalize([0.5], [0.5])]))


def with_meta(corpus: Corpus, name: str, make: Callable[[], Any], save: Saver) -> None:
    """Models on the meta device: the same pickle, without the gigabytes."""
    import torch

    def build() -> Any:
        with torch.device("meta"):
            return make()

    corpus.add(name, build, save)


def make_timm(corpus: Corpus) -> None:
    import timm
    import torch
    names = ("resnet10t vit_tiny_patch16_224 swin_tiny_patch4_window7_224 convnext_atto efficientnet_lite0 "
             "mobilenetv3_small_050 mixer_s32_224 gmlp_ti16_224 regnetx_002 ghostnet_050 levit_128s poolformer_s12 "
             "coat_lite_tiny pit_ti_224 xcit_nano_12_p16_224 deit_tiny_patch16_224 beit_base_patch16_224 "
             "cait_xxs24_224 tnt_s_patch16_224 crossvit_tiny_240 edgenext_xx_small mobilevit_xxs "
             "maxvit_tiny_rw_224 dpn68 hardcorenas_a selecsls42 rexnet_100 lcnet_035 tinynet_e repvgg_a0 fbnetc_100 "
             "nf_regnet_b0 sequencer2d_s davit_tiny "
             "focalnet_tiny_srf eva02_tiny_patch14_224 fastvit_t8 inception_next_tiny efficientformer_l1").split()
    for name in names:
        with_meta(corpus, f"timm_{name}.pt", lambda name=name: timm.create_model(name), torch.save)


def make_transformers(corpus: Corpus) -> None:
    import torch
    import transformers
    tiny = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, vocab_size=50,
                max_position_embeddings=64)
    names = ("bert roberta distilbert albert electra gpt2 gpt_neox llama mistral qwen2 gemma phi t5 bart mbart opt "
             "bloom vit deit clip whisper wav2vec2 xlnet deberta falcon mamba camembert convbert funnel mpnet").split()
    for name in names:
        def make(name: str = name) -> Any:
            config = transformers.AutoConfig.for_model(name)
            for key, value in tiny.items():
                if hasattr(config, key) and name not in ("clip", "funnel", "mamba", "xlnet"):
                    try:
                        setattr(config, key, value)
                    except (AttributeError, NotImplementedError):
                        continue
            return transformers.AutoModel.from_config(config)
        with_meta(corpus, f"transformers_{name}.pt", make, torch.save)
        corpus.pickles(f"transformers_config_{name}", lambda name=name: transformers.AutoConfig.for_model(name), (4,))
    corpus.add("transformers_training_args.bin", lambda: transformers.TrainingArguments("/tmp/x"), torch.save)


def make_sklearn(corpus: Corpus) -> None:
    import joblib
    import numpy as np
    import sklearn
    from sklearn.utils import all_estimators
    rng = np.random.RandomState(0)
    data, labels = rng.rand(40, 4), rng.randint(0, 2, 40)
    wanted = ("LogisticRegression LinearRegression Ridge Lasso ElasticNet SVC LinearSVC SVR KNeighborsClassifier "
              "KMeans DBSCAN PCA TruncatedSVD NMF DecisionTreeClassifier RandomForestClassifier ExtraTreesRegressor "
              "GradientBoostingClassifier HistGradientBoostingClassifier AdaBoostClassifier BaggingClassifier "
              "GaussianNB MultinomialNB BernoulliNB MLPClassifier StandardScaler MinMaxScaler RobustScaler "
              "OneHotEncoder "
              "OrdinalEncoder LabelEncoder PolynomialFeatures SimpleImputer KNNImputer IsolationForest GaussianMixture "
              "GaussianProcessRegressor LinearDiscriminantAnalysis Perceptron SGDClassifier IsotonicRegression "
              "CalibratedClassifierCV NearestNeighbors SelectKBest VarianceThreshold QuantileTransformer "
              "PowerTransformer KBinsDiscretizer SpectralClustering BayesianRidge").split()
    found = dict(all_estimators())
    for name in wanted:
        def make(name: str = name) -> Any:
            estimator = found[name]()
            if name == "LabelEncoder":
                return estimator.fit(labels)
            if name == "IsotonicRegression":
                return estimator.fit(data[:, 0], labels)
            return estimator.fit(np.abs(data), labels)
        corpus.pickles(f"sklearn_{name}", make, (4,))
        corpus.add(f"sklearn_{name}.joblib", make, lambda made, path: joblib.dump(made, path))
    corpus.add("sklearn_packed.joblib", lambda: found["RandomForestClassifier"](5).fit(data, labels),
               lambda made, path: joblib.dump(made, path, compress=3))
    corpus.pickles("sklearn_pipeline", lambda: sklearn.pipeline.make_pipeline(
        found["StandardScaler"](), found["PCA"](2), found["LogisticRegression"]()).fit(data, labels))
    corpus.pickles("sklearn_grid", lambda: __import__("sklearn.model_selection").model_selection.GridSearchCV(
        found["Ridge"](), {"alpha": [1, 2]}).fit(data, labels))


def make_pandas(corpus: Corpus) -> None:
    import pandas as pd
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": ["x", "y"], "d": pd.to_datetime(["2024-01-01"] * 2)})
    things = {"frame": frame, "series": frame["a"], "index": pd.Index([1, 2]), "range": pd.RangeIndex(3),
              "multi": frame.set_index(["a", "c"]), "category": frame["c"].astype("category"),
              "timestamp": pd.Timestamp("2024-01-01"), "timedelta": pd.Timedelta(1, "D"), "period": pd.Period("2024"),
              "interval": pd.Interval(0, 1), "dates": pd.date_range("2024-01-01", periods=3)}
    for name, thing in things.items():
        corpus.pickles(f"pandas_{name}", lambda thing=thing: thing, (4,))


def make_scipy(corpus: Corpus) -> None:
    import numpy as np
    import scipy.interpolate
    import scipy.sparse
    import scipy.spatial
    for name in ("csr_matrix", "csc_matrix", "coo_matrix", "lil_matrix", "dok_matrix", "csr_array"):
        corpus.pickles(f"scipy_{name}", lambda name=name: getattr(scipy.sparse, name)(np.eye(3)), (4,))
    corpus.pickles("scipy_kdtree", lambda: scipy.spatial.cKDTree(np.eye(3)), (4,))
    corpus.pickles("scipy_interp", lambda: scipy.interpolate.interp1d([0, 1], [1, 2]), (4,))


def make_safetensors(corpus: Corpus) -> None:
    import safetensors.torch
    import torch
    corpus.add("plain.safetensors", lambda: {"a": torch.ones(2)},
               lambda made, path: safetensors.torch.save_file(made, str(path)))


MAKERS = [make_plain, make_numpy, make_torch, make_vision, make_timm, make_transformers, make_sklearn, make_pandas,
          make_scipy, make_safetensors]


def make(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(folder)
    from audit_formats import MAKERS as MORE  # it needs this module's Corpus
    for maker in [*MAKERS, *MORE]:
        before = corpus.n
        try:
            maker(corpus)
        except Exception as error:  # a library that is not there, or does not fit the others
            corpus.skipped.append(f"{maker.__name__}: {type(error).__name__}: {error}")
        print(f"{maker.__name__[5:]}: {corpus.n - before} files", flush=True)
    for row in corpus.skipped:
        print("skipped", row)
    print(corpus.n, "files")


# ---- running ----

def pellucid_says(paths: list[pathlib.Path]) -> dict[str, str]:
    verdicts: dict[str, str] = {}
    for path in paths:  # a folder is one file: its worst
        done = subprocess.run([PROGRAM, "audit", "--json", *(["--allow", "unknown"] if path.is_dir() else []), path],
                              stdout=subprocess.PIPE, check=False)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        verdicts[str(path)] = rows[-1]["summary"]["verdict"] if "summary" in rows[-1] else rows[0]["verdict"]
    return verdicts


def seconds_per_file(paths: list[pathlib.Path]) -> float:
    """Of the processor: the machine may be busy. All threads count, and starting the program."""
    many = (paths * (1000 // max(len(paths), 1) + 1))[:1000]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PROGRAM, "audit", "--quiet", *many], stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / len(many)


OTHERS = r"""
import importlib.metadata, json, pathlib, signal, sys, time
name, limit, paths = sys.argv[1], float(sys.argv[2]), json.load(sys.stdin)
class TooLong(BaseException):
    pass
def end(*_):
    raise TooLong
def say(**row):
    sys.__stdout__.write("\n\x00" + json.dumps(row) + "\n")
    sys.__stdout__.flush()
signal.signal(signal.SIGALRM, end)
def picklescan(path):
    from picklescan.scanner import scan_file_path
    result = scan_file_path(path)
    return result.issues_count > 0 or result.scan_err
def fickling(path):
    import fickling
    return not fickling.is_likely_safe(path)
def modelscan(path):
    from modelscan.modelscan import ModelScan
    result = ModelScan().scan(pathlib.Path(path))
    return result["summary"]["total_issues"] > 0 or bool(result.get("errors"))
def modelaudit(path):
    from modelaudit.core import scan_model_directory_or_file
    result = scan_model_directory_or_file(path)
    issues = result["issues"] if isinstance(result, dict) else result.issues
    def level(issue):
        value = issue["severity"] if isinstance(issue, dict) else issue.severity
        return str(getattr(value, "value", value)).lower()
    return any(level(issue) in ("warning", "error", "critical") for issue in issues)
scan = {"picklescan": picklescan, "fickling": fickling, "modelscan": modelscan, "modelaudit": modelaudit}[name]
try:
    scan(paths[0])  # imports are no part of the time
except BaseException:
    pass
say(version=importlib.metadata.version(name))
for path in paths:
    start, too_long = time.process_time(), False
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        alarm = bool(scan(path))
    except TooLong:
        alarm = too_long = True
    except BaseException:
        alarm = True
    signal.setitimer(signal.ITIMER_REAL, 0)
    say(path=path, alarm=alarm, too_long=too_long, seconds=time.process_time() - start)
"""


def other_says(args: argparse.Namespace, name: str, paths: list[pathlib.Path]) -> list[dict[str, Any]]:
    """Its version, and a row per file: its alarm (what it fails on is one) and its time, imports not counted."""
    # modelaudit reports its use to an address unless it is asked not to; without a network it waits for that
    quiet = {**os.environ, "PROMPTFOO_DISABLE_TELEMETRY": "1", "NO_ANALYTICS": "1"}
    mixed = [str(path) for path in paths]
    random.Random(1).shuffle(mixed)
    try:
        said: bytes | None = subprocess.run(
            [args.scanners, "-c", OTHERS, name, str(args.file_seconds)], input=json.dumps(mixed).encode(), env=quiet,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=args.seconds).stdout
    except subprocess.TimeoutExpired as ended:
        said = ended.stdout
    rows = []
    for line in (said or b"").splitlines():
        if line.startswith(b"\x00") and line.endswith(b"}"):
            rows.append(json.loads(line[1:]))
    return rows


def report_other(args: argparse.Namespace, name: str, good: list[pathlib.Path], bad: list[pathlib.Path]) -> None:
    rows = other_says(args, name, good + bad)
    if len(rows) < 2:
        print(f"{name}: is not installed in {args.scanners}, failed, or gave no result in {args.seconds} s")
        return
    version, rows = rows[0]["version"], rows[1:]
    alarms = {row["path"]: row["alarm"] for row in rows}
    reached = [[path for path in paths if str(path) in alarms] for paths in (good, bad)]
    report(f"{name} {version}", reached[0], reached[1], alarms)
    print(f"  {1000 * sum(row['seconds'] for row in rows) / len(rows):.3f} ms per file; {len(good + bad) - len(rows)} "
          f"files were not reached in {args.seconds} s, {sum(row['too_long'] for row in rows)} took longer than "
          f"{args.file_seconds} s")


def by_library(good: list[pathlib.Path], alarms: dict[str, bool]) -> str:
    """False alarms and files of each library: the first word of their names."""
    rows: dict[str, list[int]] = {}
    for path in good:
        row = rows.setdefault(path.name.split("_")[0].split(".")[0], [0, 0])
        row[0] += alarms.get(str(path), True)
        row[1] += 1
    return ", ".join(f"{library} {row[0]}/{row[1]}" for library, row in sorted(rows.items()))


def report(name: str, good: list[pathlib.Path], bad: list[pathlib.Path], alarms: dict[str, bool]) -> None:
    false = [path for path in good if alarms.get(str(path), True)]
    missed = [path for path in bad if not alarms.get(str(path), False)]
    caught = len(bad) - len(missed)
    precision = caught / max(caught + len(false), 1)
    recall = caught / max(len(bad), 1)
    score = 2 * precision * recall / max(precision + recall, 1e-9)
    hostile = (f", {len(missed)} of {len(bad)} hostile ones pass; precision {precision:.3f}, recall {recall:.3f}, "
               f"F1 {score:.3f}") if bad else "; no hostile files given"
    print(f"{name}: {len(false)} of {len(good)} harmless files alarm{hostile}")
    print(f"  false alarms by library: {by_library(good, alarms)}")


def run(args: argparse.Namespace) -> None:
    good = sorted(path for path in args.folder.iterdir())
    bad: list[pathlib.Path] = []
    for folder in args.hostile:
        manifest = json.loads((folder / "manifest.json").read_text())
        rows = manifest.items() if isinstance(manifest, dict) else ((row["file"], row) for row in manifest)
        bad += [folder / name for name, row in rows if not isinstance(row, dict) or row.get("expect") != "a note"]
    version = subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE, check=False).stdout.decode().strip()
    print(f"{version}, Python {sys.version.split()[0]}")
    verdicts = pellucid_says(good + bad)
    for path in good:
        if verdicts[str(path)] != "harmless":
            print(f"  {verdicts[str(path)]}: {path.name}")
    for path in bad:
        if verdicts[str(path)] not in ("dangerous", "suspicious", "broken"):
            print(f"  passed as {verdicts[str(path)]}: {path.name}")
    caught = {"dangerous", "suspicious", "broken"}  # unknown is no catch, but of a harmless file it is an alarm
    report("pellucid", good, bad, {
        **{str(path): verdicts[str(path)] != "harmless" for path in good},
        **{str(path): verdicts[str(path)] in caught for path in bad}})
    print(f"  {1000 * seconds_per_file(good):.3f} ms per file, 1,000 of the harmless ones")
    for name in ("picklescan", "fickling", "modelscan", "modelaudit"):
        report_other(args, name, good, bad)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("folder", type=pathlib.Path)
    running = commands.add_parser("run")
    running.add_argument("folder", type=pathlib.Path)
    running.add_argument("hostile", type=pathlib.Path, nargs="*")
    running.add_argument("--scanners", default=sys.executable, help="a Python that has the other scanners")
    running.add_argument("--seconds", type=float, default=1800, help="for all files, of each other scanner")
    running.add_argument("--file-seconds", type=float, default=20, help="for one file, of each other scanner")
    args = parser.parse_args()
    if args.command == "make":
        make(args.folder)
    else:
        run(args)


if __name__ == "__main__":
    main()
