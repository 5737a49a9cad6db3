"""More harmless files for bench_audit.py: checkpoints of trainers, whole modules, optimizers and schedulers, joblib,
skops, Keras, ONNX, GGUF, torch.export, TorchScript, folders and configs as libraries and people write them."""

from __future__ import annotations

import json
import pathlib
import pickle
import struct
from typing import Any, Callable

from bench_audit import Corpus, stepped

Makes = dict[str, Callable[[], Any]]


def write_text(made: Any, path: pathlib.Path) -> None:
    path.write_text(made if isinstance(made, str) else json.dumps(made))


def pickled(made: Any, path: pathlib.Path) -> None:
    path.write_bytes(pickle.dumps(made))


def make_lightning(corpus: Corpus) -> None:
    import lightning.pytorch as lightning
    import torch

    class Net(lightning.LightningModule):
        def __init__(self, width: int = 3, rates: dict[str, float] | None = None) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(width, 1)

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.layer(batch[0]).mean()
            self.log("loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), 0.1)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 3)), 2)
    calls = lightning.callbacks
    kinds: dict[str, list[Any]] = {
        "plain": [],
        "early": [calls.EarlyStopping("loss")],
        "monitor": [calls.LearningRateMonitor()],
        "average": [calls.StochasticWeightAveraging(0.1)],
        "timer": [calls.Timer()],
        "best": [calls.ModelCheckpoint(corpus.folder.parent / "lightning", "{epoch}", "loss")],
    }
    for name, callbacks in kinds.items():

        def make(callbacks: list[Any] = callbacks, name: str = name) -> Any:
            logger = False if name != "monitor" else lightning.loggers.CSVLogger(corpus.folder.parent / "lightning")
            trainer = lightning.Trainer(
                max_epochs=1,
                logger=logger,
                callbacks=callbacks,
                enable_progress_bar=False,
                enable_checkpointing=name == "best",
                enable_model_summary=False,
                accelerator="cpu",
                default_root_dir=corpus.folder.parent / "lightning",
            )
            trainer.fit(Net(rates={"a": 0.1}), data)
            return trainer

        corpus.add(f"lightning_{name}.ckpt", make, lambda made, path: made.save_checkpoint(path))


def make_torch_more(corpus: Corpus) -> None:
    import torch
    from torch import nn
    from torch.optim import lr_scheduler

    save = torch.save
    whole: Makes = {
        name: lambda make=make: make()
        for name, make in {
            "conv1d": lambda: nn.Conv1d(2, 3, 3),
            "conv3d": lambda: nn.Conv3d(1, 1, 1),
            "deconv": lambda: nn.ConvTranspose2d(2, 2, 2),
            "unfold": lambda: nn.Unfold(2),
            "rnn": lambda: nn.RNN(2, 3),
            "cell": lambda: nn.LSTMCell(2, 3),
            "bilinear": lambda: nn.Bilinear(2, 2, 2),
            "shuffle": lambda: nn.PixelShuffle(2),
            "upsample": lambda: nn.Upsample(scale_factor=2),
            "pads": lambda: nn.Sequential(nn.ZeroPad2d(1), nn.ReflectionPad2d(1), nn.ConstantPad1d(1, 0.0)),
            "pools": lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.LPPool2d(2, 2), nn.FractionalMaxPool2d(2, 3)),
            "acts": lambda: nn.ModuleList(
                [nn.SiLU(), nn.Mish(), nn.PReLU(), nn.Hardswish(), nn.GLU(), nn.Softmax(1)]
            ),
            "drops": lambda: nn.ModuleList([nn.Dropout2d(), nn.AlphaDropout(), nn.FeatureAlphaDropout()]),
            "losses2": lambda: nn.ModuleList([nn.HuberLoss(), nn.CTCLoss(), nn.KLDivLoss(), nn.TripletMarginLoss()]),
            "syncbn": lambda: nn.SyncBatchNorm(2),
            "decoder": lambda: nn.TransformerDecoderLayer(4, 2, 8),
            "adaptive": lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5]),
            "channel": lambda: nn.ChannelShuffle(2),
            "hooked": lambda: nn.utils.spectral_norm(nn.Linear(2, 2)),
            "pruned": lambda: nn.utils.prune.random_unstructured(nn.Linear(4, 4), "weight", 0.5),
            "swa": lambda: torch.optim.swa_utils.AveragedModel(nn.Linear(2, 2)),
            "parallel": lambda: nn.DataParallel(nn.Linear(2, 2)),
            "dynamic": lambda: torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(2, 2)), {nn.Linear}),
        }.items()
    }
    for name, make in whole.items():
        corpus.add(f"torch_whole_{name}.pt", make, save)
        corpus.add(f"torch_whole_{name}.pkl", make, pickled)
    args: dict[str, tuple[Any, ...]] = {
        "StepLR": (1,),
        "MultiStepLR": ([1],),
        "ConstantLR": (),
        "LinearLR": (),
        "ExponentialLR": (0.9,),
        "PolynomialLR": (),
        "CosineAnnealingLR": (5,),
        "CosineAnnealingWarmRestarts": (3,),
        "CyclicLR": (0.1, 0.2),
        "OneCycleLR": (0.1, 10),
        "ReduceLROnPlateau": (),
    }
    for name, given in args.items():
        corpus.add(
            f"torch_schedule_{name}.pt",
            lambda name=name, given=given: getattr(lr_scheduler, name)(stepped("SGD"), *given),
            save,
        )
    chained = lambda: lr_scheduler.SequentialLR(
        optimizer := stepped("SGD"),
        [lr_scheduler.ConstantLR(optimizer), lr_scheduler.ExponentialLR(optimizer, 0.9)],  # noqa: E731
        [2],
    )
    corpus.add("torch_schedule_sequential.pt", chained, save)
    corpus.add("torch_schedule_sequential_state.pt", lambda: chained().state_dict(), save)
    data = torch.utils.data
    others: Makes = {
        "dataloader": lambda: data.DataLoader(data.TensorDataset(torch.ones(2))),
        "subset": lambda: data.Subset(data.TensorDataset(torch.ones(3)), [0, 1]),
        "concat": lambda: data.ConcatDataset([data.TensorDataset(torch.ones(3))]),
        "sampler": lambda: data.WeightedRandomSampler([0.5, 0.5], 2),
        "batches": lambda: data.BatchSampler(data.SequentialSampler([1, 2]), 2, False),
        "packed": lambda: nn.utils.rnn.pack_sequence([torch.ones(2, 1)]),
        "categorical": lambda: torch.distributions.Categorical(torch.ones(3)),
        "mvn": lambda: torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)),
        "mixture": lambda: torch.distributions.Independent(torch.distributions.Beta(torch.ones(2), torch.ones(2)), 1),
        "scaler": lambda: torch.amp.GradScaler("cpu").state_dict(),
        "rng": lambda: {"torch": torch.get_rng_state()},
        "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "float8": lambda: torch.ones(2).to(torch.float8_e4m3fn),
        "views": lambda: [t := torch.ones(4), t[1:]],
        "bool": lambda: torch.tensor([True]),
        "scalar": lambda: torch.tensor(3),
        "empty": lambda: torch.empty(0),
        "per_channel": lambda: torch.quantize_per_channel(
            torch.ones(2, 2), torch.ones(2), torch.zeros(2), 0, torch.qint8
        ),
        "named": lambda: torch.ones(2, 2, names=("a", "b")),
        "conj": lambda: torch.ones(2, dtype=torch.cfloat).conj(),
        "deep": lambda: {"ema": {"decay": 0.9, "shadow": {"a": torch.ones(1)}}, "cfg": {"lr": [1e-3, 1e-4]}},
        "random": lambda: {"py": __import__("random").getstate(), "np": __import__("numpy").random.get_state()},
        "sparse_optimizer": lambda: torch.optim.SparseAdam([torch.ones(2, requires_grad=True)]),
        "device": lambda: {"device": torch.device("cuda:0"), "dtype": torch.bfloat16, "fmt": torch.channels_last},
    }
    for name, make in others.items():
        corpus.add(f"torch_more_{name}.pt", make, save)
    import torch.distributed.checkpoint as dcp

    corpus.add(
        "torch_dcp",
        lambda: {"model": nn.Linear(2, 2).state_dict(), "step": 3},
        lambda made, path: dcp.save(made, checkpoint_id=path),
    )


class Loop:
    """A module with control flow, for scripts."""

    @staticmethod
    def make() -> Any:
        import torch

        class Net(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.LSTM(2, 2)])

            def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
                out = self.layers[0](x)
                if bool(out.sum() > 0):
                    out = torch.cat([out, out.chunk(2)[0]])
                y, (h, _) = self.layers[1](out.unsqueeze(0))
                return {"y": y, "h": torch.nn.functional.interpolate(h.unsqueeze(0), scale_factor=[2.0])}

        return Net()


def make_programs(corpus: Corpus) -> None:
    import torch
    from torch import nn

    nets: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
        "mlp": (lambda: nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4)), (2, 3)),
        "conv": (
            lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.SiLU(), nn.AdaptiveAvgPool2d(1)),
            (1, 3, 8, 8),
        ),
        "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (1, 4, 8)),
        "rnn": (lambda: nn.GRU(3, 4, batch_first=True), (1, 5, 3)),
    }
    for name, (make, shape) in nets.items():
        corpus.add(
            f"export_{name}.pt2",
            lambda make=make, shape=shape: torch.export.export(make().eval(), (torch.ones(shape),)),
            lambda made, path: torch.export.save(made, str(path)),
        )
        corpus.add(
            f"script_{name}.pt",
            lambda make=make: torch.jit.script(make().eval()),
            lambda made, path: torch.jit.save(made, str(path)),
        )
        corpus.add(
            f"trace_{name}.pt",
            lambda make=make, shape=shape: torch.jit.trace(make().eval(), torch.ones(shape), check_trace=False),
            lambda made, path: torch.jit.save(made, str(path)),
        )
        corpus.add(
            f"frozen_{name}.pt",
            lambda make=make: torch.jit.freeze(torch.jit.script(make().eval())),
            lambda made, path: torch.jit.save(made, str(path), _extra_files={"labels.txt": "a\nb"}),
        )
        corpus.add(
            f"lite_{name}.ptl",
            lambda make=make: torch.jit.script(make().eval()),
            lambda made, path: made._save_for_lite_interpreter(str(path)),
        )
    corpus.add(
        "export_dynamic.pt2",
        lambda: torch.export.export(
            nets["mlp"][0](), (torch.ones(4, 3),), dynamic_shapes=({0: torch.export.Dim("batch")},)
        ),
        lambda made, path: torch.export.save(made, str(path)),
    )
    corpus.add(
        "script_flow.pt", lambda: torch.jit.script(Loop.make()), lambda made, path: torch.jit.save(made, str(path))
    )


def make_sklearn_more(corpus: Corpus) -> None:
    import joblib
    import numpy as np
    import sklearn.compose
    import sklearn.ensemble
    import sklearn.feature_extraction.text
    import sklearn.linear_model
    import sklearn.multiclass
    import sklearn.neighbors
    import sklearn.pipeline
    import sklearn.preprocessing
    import sklearn.svm
    import sklearn.tree

    rng = np.random.RandomState(0)
    data, labels, words = rng.rand(30, 4), rng.randint(0, 2, 30), ["a b", "b c", "c d a"] * 10
    linear = sklearn.linear_model.LogisticRegression
    prep, tree = sklearn.preprocessing, sklearn.tree.DecisionTreeClassifier
    things: Makes = {
        "columns": (
            lambda: sklearn.compose.ColumnTransformer(
                [("a", prep.StandardScaler(), [0, 1]), ("b", "passthrough", [2])], remainder="drop"
            ).fit(data)
        ),
        "stack": (
            lambda: sklearn.ensemble.StackingClassifier([("a", linear()), ("b", tree())], cv=2).fit(data, labels)
        ),
        "vote": lambda: sklearn.ensemble.VotingClassifier([("a", linear()), ("b", tree())]).fit(data, labels),
        "text": (
            lambda: sklearn.pipeline.make_pipeline(sklearn.feature_extraction.text.TfidfVectorizer(), linear()).fit(
                words, labels
            )
        ),
        "hashing": lambda: sklearn.feature_extraction.text.HashingVectorizer(),
        "ovr": lambda: sklearn.multiclass.OneVsRestClassifier(sklearn.svm.SVC()).fit(data, labels),
        "log": lambda: prep.FunctionTransformer(np.log1p).fit(data),
        "union": (
            lambda: sklearn.pipeline.FeatureUnion([("a", prep.MinMaxScaler()), ("b", prep.Normalizer())]).fit(data)
        ),
        "splines": lambda: prep.SplineTransformer().fit(data),
        "target": lambda: prep.LabelBinarizer().fit(labels),
        "regressor": (
            lambda: sklearn.compose.TransformedTargetRegressor(
                sklearn.linear_model.Ridge(), transformer=prep.StandardScaler()
            ).fit(data, labels)
        ),
        "ball": lambda: sklearn.neighbors.KNeighborsRegressor(algorithm="ball_tree").fit(data, labels),
        "kd": lambda: sklearn.neighbors.KernelDensity().fit(data),
        "trees": lambda: sklearn.ensemble.ExtraTreesClassifier(3).fit(data, labels),
        "arrays": lambda: {"a": np.ones((3, 3)), "b": [np.arange(5), "x"], "c": (np.float32(1), None)},
    }
    for name, make in things.items():
        corpus.add(f"sklearnmore_{name}.joblib", make, joblib.dump)
        corpus.add(f"sklearnmore_{name}.pkl", make, pickled)
    for method in ("zlib", "gzip", "bz2", "xz", "lzma"):
        corpus.add(
            f"joblib_{method}.joblib",
            things["trees"],
            lambda made, path, method=method: joblib.dump(made, path, compress=(method, 3)),
        )
    import skops.io

    for name in ("columns", "stack", "text", "trees", "union"):
        corpus.add(f"skops_{name}.skops", things[name], skops.io.dump)


def make_keras(corpus: Corpus) -> None:
    import os

    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    layers = keras.layers

    def functional() -> Any:
        start = keras.Input((8, 8, 3))
        one = layers.Conv2D(4, 3, padding="same", activation="relu", kernel_regularizer=keras.regularizers.L2(0.1))(
            start
        )
        two = layers.SeparableConv2D(4, 3, padding="same")(start)
        return keras.Model(start, layers.Dense(2)(layers.GlobalAveragePooling2D()(layers.Add()([one, two]))))

    def attention() -> Any:
        start = keras.Input((5, 8))
        mixed = layers.MultiHeadAttention(2, 4)(start, start)
        return keras.Model(start, layers.LayerNormalization()(mixed + start))

    def compiled() -> Any:
        model = keras.Sequential(
            [keras.Input((3,)), layers.Dense(2, activation="softmax", kernel_constraint=keras.constraints.MaxNorm(2))]
        )
        model.compile(
            keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(0.1, 10)),
            loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
            metrics=["accuracy", "AUC"],
        )
        return model

    models: Makes = {
        "functional": functional,
        "attention": attention,
        "compiled": compiled,
        "lstm": lambda: keras.Sequential(
            [keras.Input((4, 2)), layers.Bidirectional(layers.LSTM(3)), layers.Dropout(0.1)]
        ),
        "distributed": lambda: keras.Sequential(
            [
                keras.Input((4, 2)),
                layers.TimeDistributed(layers.Dense(2)),
                layers.GRU(2, return_sequences=True),
                layers.Flatten(),
            ]
        ),
        "embedding": lambda: keras.Sequential(
            [
                keras.Input((4,)),
                layers.Embedding(9, 2),
                layers.Conv1D(2, 2),
                layers.GlobalMaxPooling1D(),
                layers.Dense(1, "sigmoid"),
            ]
        ),
        "augment": lambda: keras.Sequential(
            [
                keras.Input((8, 8, 3)),
                layers.Rescaling(1 / 255),
                layers.RandomFlip(),
                layers.RandomRotation(0.1),
                layers.Resizing(4, 4),
                layers.Flatten(),
            ]
        ),
        "norm": lambda: keras.Sequential(
            [
                keras.Input((3,)),
                layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 1.0, 1.0]),
                layers.BatchNormalization(),
                layers.PReLU(),
                layers.GaussianNoise(0.1),
            ]
        ),
        "nested": lambda: keras.Sequential([keras.Input((3,)), keras.Sequential([layers.Dense(2)], name="inner")]),
        "einsum": lambda: keras.Sequential(
            [
                keras.Input((2, 3)),
                layers.EinsumDense("abc,cd->abd", (None, 4)),
                layers.Reshape((8,)),
                layers.RepeatVector(2),
                layers.Permute((2, 1)),
            ]
        ),
    }
    for name, make in models.items():
        for ending in (".keras", ".h5", ".weights.h5"):
            corpus.add(
                f"keras_{name}{ending}",
                make,
                lambda made, path, ending=ending: (
                    made.save_weights(path) if ending == ".weights.h5" else made.save(path)
                ),
            )
        corpus.add(f"keras_{name}.json", lambda make=make: make().to_json(), write_text)


def make_onnx(corpus: Corpus) -> None:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    real = TensorProto.FLOAT
    value = helper.make_tensor_value_info

    def model(nodes: list[Any], weights: Any = (), **more: Any) -> Any:
        graph = helper.make_graph(nodes, "g", [value("x", real, [None, 3])], [value("y", real, None)], list(weights))
        return helper.make_model(
            graph,
            opset_imports=[
                helper.make_opsetid("", 18),
                helper.make_opsetid("ai.onnx.ml", 3),
                helper.make_opsetid("own", 1),
            ],
            **more,
        )

    weight = numpy_helper.from_array(np.ones((3, 3), "f4"), "w")
    then = helper.make_graph([helper.make_node("Relu", ["x"], ["t"])], "then", [], [value("t", real, None)])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [value("e", real, None)])
    function = helper.make_function(
        "own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 18)]
    )
    things: Makes = {
        "matmul": lambda: model([helper.make_node("MatMul", ["x", "w"], ["y"])], [weight]),
        "branch": lambda: model(
            [
                helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array(True))),
                helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
            ]
        ),
        "function": lambda: model([helper.make_node("Twice", ["x"], ["y"], domain="own")], functions=[function]),
        "trees": lambda: model(
            [helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[0.0], scale=[1.0])]
        ),
        "norm": lambda: model(
            [helper.make_node("LayerNormalization", ["x", "s"], ["y"])],
            [numpy_helper.from_array(np.ones(3, "f4"), "s")],
        ),
        "strings": lambda: model(
            [helper.make_node("Identity", ["x"], ["y"])],
            [numpy_helper.from_array(np.array(["a", "b"], object), "names")],
        ),
        "metadata": lambda: described(model([helper.make_node("Softmax", ["x"], ["y"], axis=1)])),
    }

    def described(made: Any) -> Any:
        helper.set_model_props(made, {"author": "a", "labels": "cat,dog", "names": "{0: 'person', 1: 'car'}"})
        return made

    for name, make in things.items():
        corpus.add(f"onnx_{name}.onnx", make, lambda made, path: onnx.save_model(made, str(path)))

    def outside(made: Any, path: pathlib.Path) -> None:
        path.mkdir()
        onnx.save_model(
            made, str(path / "model.onnx"), save_as_external_data=True, location="model.onnx_data", size_threshold=0
        )

    corpus.add("onnx_external", things["matmul"], outside)


TEMPLATES = {
    "chatml": (
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' "
        "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    ),
    "strict": (
        "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Roles must alternate') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + "
        "message['content'].strip() + ' [/INST]' }}{% else %}{{ message['content'] | trim + eos_token }}{% endif %}"
        "{% endfor %}"
    ),
    "tools": (
        "{%- if not date_string is defined %}{%- set date_string = strftime_now('%d %b %Y') %}{%- endif %}"
        "{%- set ns = namespace(last=messages|length - 1, found=false) %}{%- if tools is not none %}"
        "{%- for t in tools %}{{- t | tojson(indent=4) }}{{- '\n\n' }}{%- endfor %}{%- endif %}"
        "{%- for m in messages[::-1] %}{%- if m.tool_calls is defined and m.tool_calls %}{%- set tc = "
        "m.tool_calls[0].function %}{{- tc.name ~ ': ' ~ tc.arguments | tojson }}{%- elif m.content is string and "
        "'</think>' in m.content %}{{- m.content.split('</think>')[-1].lstrip('\n') }}{%- else %}{%- for c in "
        "m.content | selectattr('type', 'equalto', 'text') %}{{- c['text'] }}{%- endfor %}{%- endif %}{%- endfor %}"
    ),
    "macro": (
        "{%- macro render(item, name='x') -%}{%- for k, v in item.items() -%}{{ k|upper ~ '=' ~ v|default('') }}"
        "{%- endfor -%}{%- endmacro -%}{{ render(messages[0]) }}{%- set _ = messages.pop(0) if false else none -%}"
    ),
}


def make_gguf(corpus: Corpus) -> None:
    import gguf
    import numpy as np

    def save(made: str, path: pathlib.Path) -> None:
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_block_count(1)
        writer.add_context_length(32)
        writer.add_name("tiny")
        writer.add_description("a test.txt of os and sys")
        writer.add_tokenizer_model("gpt2")
        writer.add_token_list(["a", "b", "os.system", "eval(", "{{", "__class__", "</s>"])
        writer.add_token_scores([0.0] * 7)
        writer.add_array("tokenizer.ggml.merges", ["a b", "b c"])
        writer.add_chat_template(made)
        writer.add_tensor("token_embd.weight", np.ones((4, 32), np.float32))
        writer.add_tensor("blk.0.attn_q.weight", np.ones((2, 32), np.float16))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    for name, template in TEMPLATES.items():
        corpus.add(f"gguf_{name}.gguf", lambda template=template: template, save)
        corpus.add(f"template_{name}.jinja", lambda template=template: template, write_text)


def make_folders(corpus: Corpus) -> None:
    import safetensors.torch
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    tiny = dict(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        vocab_size=50,
        num_key_value_heads=2,
    )

    def tokenizer() -> Any:
        made = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "os.system": 2, "eval(": 3, "test.txt": 4}, "[UNK]"))
        made.pre_tokenizer = pre_tokenizers.Whitespace()
        fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]")
        fast.chat_template = TEMPLATES["chatml"]
        return fast

    for name in ("bert", "llama", "gpt2", "t5", "vit", "qwen2"):

        def make(name: str = name) -> Any:
            config = transformers.AutoConfig.for_model(name)
            for key, value in tiny.items():
                if hasattr(config, key):
                    setattr(config, key, value)
            return transformers.AutoModel.from_config(config)

        def save(made: Any, path: pathlib.Path, name: str = name) -> None:
            made.save_pretrained(path, max_shard_size="20KB" if name in ("llama", "bert") else "5GB")
            if name != "vit":
                tokenizer().save_pretrained(path)
            made.config.save_pretrained(path)

        corpus.add(f"hf_{name}", make, save)
    corpus.add("hf_tokenizer", tokenizer, lambda made, path: made.save_pretrained(path))
    corpus.add(
        "hf_generation",
        lambda: transformers.GenerationConfig(max_new_tokens=5, temperature=0.5),
        lambda made, path: made.save_pretrained(path),
    )
    corpus.add(
        "metadata.safetensors",
        lambda: {"a": torch.ones(2, dtype=torch.bfloat16), "b.c": torch.ones(1, 0)},
        lambda made, path: safetensors.torch.save_file(made, str(path), {"format": "pt", "epoch": "3"}),
    )
    piece = (
        lambda word: struct.pack("BB", 10, len(word) + 7)
        + struct.pack("BB", 10, len(word))  # noqa: E731
        + word
        + b"\x15"
        + struct.pack("<f", -1.0)
    )
    corpus.add(
        "sentencepiece_hf",
        lambda: b"".join(map(piece, (b"<unk>", b"<s>", b"\xe2\x96\x81the", b"os"))),
        lambda made, path: (path.mkdir(), (path / "config.json").write_text('{"model_type": "t5"}')),
    )


TEXTS: dict[str, Any] = {
    "trainer_state.json": {"best_metric": None, "epoch": 1.0, "log_history": [{"loss": 0.5, "step": 10}]},
    "vocab.json": {"a": 0, "os": 1, "os.system": 2, "subprocess": 3, "eval(": 4},
    "results.json": {"eval_loss": 0.5, "epoch": 3.0},
    "special_tokens_map.json": {"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}},
    "preprocessor_config.json": {
        "do_normalize": True,
        "image_mean": [0.5],
        "image_processor_type": "ViTImageProcessor",
    },
    "scheduler_config.json": {"_class_name": "DDIMScheduler", "_diffusers_version": "0.30", "beta_start": 0.0001},
    "model_index.json": {
        "_class_name": "StableDiffusionPipeline",
        "_diffusers_version": "0.30",
        "unet": ["diffusers", "UNet2DConditionModel"],
        "tokenizer": ["transformers", "CLIPTokenizer"],
    },
    "adapter_config.json": {
        "peft_type": "LORA",
        "r": 8,
        "target_modules": ["q_proj", "v_proj"],
        "bias": "none",
        "base_model_name_or_path": "meta-llama/Llama-3-8B",
        "task_type": "CAUSAL_LM",
    },
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ],
    "quantize.json": {"model_type": "llama", "quantization_config": {"quant_method": "gptq", "bits": 4}},
    "log.jsonl": '{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.4, "file": "test.txt"}\n',
    "train.yaml": (
        "model: resnet50\ndata:\n  root: /data/imagenet\n  train: train.txt\n  val: val.txt\n  test: test.txt\n"
        "optimizer: torch.optim.AdamW\nlr: 1e-3\ncompile: true\ntorch.compile: false\nlogger: wandb\n"
    ),
    "data.yaml": (
        "path: ../datasets/coco128\ntrain: images/train2017\nval: images/val2017\nnc: 2\nnames: ['cat', \"dog's\"]\n"
        "# download: https://example.org/x.zip\n"
    ),
    "hydra.yaml": (
        "defaults:\n  - _self_\n  - model: resnet\noptimizer:\n  _target_: torch.optim.Adam\n  lr: ${lr}\n"
        "lr: 0.1\nactivation:\n  _target_: torch.nn.ReLU\n"
    ),
    "lightning.yaml": (
        "seed_everything: 42\ntrainer:\n  max_epochs: 3\n  accelerator: auto\n  precision: bf16-mixed\n"
        "model:\n  class_path: torch.nn.Linear\n  init_args: {in_features: 2, out_features: 3}\n"
    ),
    "hparams.yaml": "batch_size: 32\nlearning_rate: 0.001\nhidden: [64, 32]\nact: relu\nplatform: platform.x\n",
    "env.yaml": (
        "name: ml\nchannels: [conda-forge, defaults]\ndependencies:\n- python=3.11\n- pip\n- pip:\n  - torch==2.3.0\n"
    ),
    "MLmodel": (
        "artifact_path: model\nflavors:\n  sklearn:\n    code: null\n    pickled_model: model.pkl\n   "
        " sklearn_version: 1.4.0\nmlflow_version: 2.12.1\nmodel_uuid: abc\nutc_time_created: '2024-01-01 10:00:00'\n"
    ),
    "mmcv.yaml": (
        "Collections:\n- Name: ResNet\n  Metadata:\n    Training Data: ImageNet-1k\n    Architecture: [Bottleneck]\n"
        "Models:\n- Name: resnet50\n  In Collection: ResNet\n  Weights: https://example.org/r50.pth\n"
    ),
    "accelerate.yaml": (
        "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\n"
        "num_processes: 8\nmain_training_function: main\nrdzv_backend: static\nsame_network: true\n"
    ),
    "dvc.yaml": "stages:\n  train:\n    cmd: python train.py\n    deps: [data, train.py]\n    metrics: [m.json]\n",
    "requirements.txt": "torch>=2.0\nnumpy==1.26.4 ; python_version < '3.12'\n# a comment\nscikit-learn[all]~=1.4\n",
    "axolotl.yml": (
        "base_model: mistralai/Mistral-7B-v0.1\nload_in_8bit: false\ndatasets:\n  - path: tatsu-lab/alpaca\n"
        '    type: alpaca\nwandb_project:\noutput_dir: ./out\nspecial_tokens:\n  pad_token: "<|end|>"\n'
    ),
    "nemo.yaml": (
        "name: m\ntrainer:\n  devices: 1\nmodel:\n  encoder:\n    _target_: torch.nn.TransformerEncoderLayer\n"
        "    d_model: 8\n    nhead: 2\n"
    ),
    "params.yaml": "prepare:\n  split: 0.20\n  seed: 20170428\ntrain:\n  n_est: 50\n  file: model.pkl\n",
    "bom.json": "\ufeff" + json.dumps({"model_type": "bert"}),
}


def make_texts(corpus: Corpus) -> None:
    for name, made in TEXTS.items():
        corpus.add(
            f"text_{name.split('.')[0]}",
            lambda made=made: made,
            lambda made, path, name=name: (path.mkdir(), write_text(made, path / name)),
        )


MAKERS = [
    make_lightning,
    make_torch_more,
    make_programs,
    make_sklearn_more,
    make_keras,
    make_onnx,
    make_gguf,
    make_folders,
    make_texts,
]
