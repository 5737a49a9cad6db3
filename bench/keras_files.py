"""Files of Keras for bench_recover.py: keras.applications and small models, written by the real library."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Callable, Iterator

os.environ.setdefault("KERAS_BACKEND", "torch")

APPLICATIONS = ("MobileNet", "MobileNetV2", "MobileNetV3Small", "MobileNetV3Large", "EfficientNetB0",
                "EfficientNetV2B0",
                "DenseNet121", "ResNet50", "ResNet50V2", "NASNetMobile", "Xception", "InceptionV3", "VGG16",
                "ConvNeXtTiny")


def small() -> dict[str, Callable[[], Any]]:
    import keras
    from keras import layers as l

    def sequential(shape: tuple[int | None, ...], *layers: Any) -> Any:
        return keras.Sequential([keras.Input(shape), *layers])

    def functional() -> Any:
        x = keras.Input((16, 16, 3))
        a = l.Conv2D(8, 3, padding="same", activation="relu")(x)
        b = l.Conv2D(8, 5, strides=2, padding="same", use_bias=False)(a)
        b = l.UpSampling2D(2, interpolation="bilinear")(l.BatchNormalization()(b))
        y = l.Concatenate()([a, l.Add()([a, b]), l.Multiply()([a, b])])
        y = l.GlobalAveragePooling2D()(y)
        return keras.Model(x, [l.Dense(4, activation="softmax")(y), l.Dense(1, activation="sigmoid")(y)])

    def shared() -> Any:
        layer = l.Dense(6, activation="tanh")
        a, b = keras.Input((5,)), keras.Input((5,))
        return keras.Model([a, b], l.Subtract()([layer(a), layer(b)]))

    def nested() -> Any:
        inner = keras.Sequential([keras.Input((8,)), l.Dense(
            8, activation="gelu"), l.LayerNormalization()], name="inner")
        x = keras.Input((8,))
        return keras.Model(x, l.Dense(3)(inner(inner(x))))

    def attention() -> Any:
        x = keras.Input((10,), dtype="int32")
        y = l.Embedding(40, 16)(x)
        y = l.Add()([y, l.MultiHeadAttention(4, 4)(y, y)])
        y = l.LayerNormalization(epsilon=1e-6)(y)
        y = l.Add()([y, l.Dense(16)(l.Dense(32, activation="relu")(y))])
        return keras.Model(x, l.Dense(2)(l.Flatten()(y)))

    def residual() -> Any:
        x = keras.Input((32, 32, 3))
        y = l.Conv2D(16, 3, padding="same")(x)
        for _ in range(4):
            z = l.Activation("relu")(l.BatchNormalization()(l.Conv2D(16, 3, padding="same")(y)))
            y = l.Add()([y, z])
        return keras.Model(x, l.Dense(10)(l.GlobalMaxPooling2D()(y)))

    return {
        "mlp": lambda: sequential((12,), l.Dense(16, activation="relu"), l.Dropout(0.3),
                                  l.Dense(4, activation="softmax")),
        "cnn": lambda: sequential((28, 28, 1), l.Conv2D(8, 3, activation="relu"), l.MaxPooling2D(), l.Conv2D(8, 3),
                                  l.ReLU(),
                                  l.Flatten(), l.Dense(10)),
        "even_strides": lambda: sequential((15, 14, 3), l.Conv2D(4, 3, strides=2, padding="same"),
                                           l.MaxPooling2D(3, 2, "same"),
                                           l.AveragePooling2D(2, 2, "same"), l.Flatten(), l.Dense(3)),
        "depthwise": lambda: sequential((16, 16, 4), l.DepthwiseConv2D(3, strides=2, padding="same",
                                                                       depth_multiplier=2),
                                        l.SeparableConv2D(6,
                                                          3), l.ZeroPadding2D(((1, 0),
                                                                               (2, 1))), l.GlobalAveragePooling2D()),
        "transposed": lambda: sequential((7, 7, 8), l.Conv2DTranspose(4, 3, strides=2, padding="same"),
                                         l.Conv2DTranspose(3, 4, strides=2, padding="valid"), l.Cropping2D(2)),
        "one_dimension": lambda: sequential((20, 6), l.Conv1D(8, 3, padding="causal"), l.MaxPooling1D(), l.Conv1D(8, 5,
                                            padding="same", dilation_rate=2), l.GlobalMaxPooling1D(), l.Dense(2)),
        "lstm": lambda: sequential((12, 5), l.LSTM(7, return_sequences=True), l.LSTM(6), l.Dense(2)),
        "gru": lambda: sequential((12, 5), l.GRU(7, return_sequences=True), l.GRU(6), l.Dense(2)),
        "bidirectional": lambda: sequential((12, 5), l.Bidirectional(l.LSTM(7, return_sequences=True)), l.Dense(2)),
        "activations": lambda: sequential((9,), l.Dense(9, activation="elu"), l.LeakyReLU(0.1),
                                          l.Dense(9, activation="selu"),
                                          l.PReLU(), l.Dense(9, activation="swish"), l.Dense(9,
                                                                                             activation="hard_sigmoid"),
                                          l.Dense(9, activation="softplus"), l.Activation("relu6"), l.Softmax()),
        "shapes": lambda: sequential((24,), l.Reshape((2, 3, 4)), l.Permute((2, 3, 1)), l.Rescaling(0.5, 1.0),
                                     l.Flatten(),
                                     l.RepeatVector(3), l.TimeDistributed(l.Dense(5))),
        "norms": lambda: sequential((8, 8, 6), l.GroupNormalization(3), l.LayerNormalization(), l.UnitNormalization(),
                                    l.BatchNormalization(scale=False), l.BatchNormalization(center=False)),
        "functional": functional, "shared": shared, "nested": nested, "attention": attention, "residual": residual,
        "three_dimensions": lambda: sequential((8, 8, 8, 2), l.Conv3D(4, 3, padding="same"), l.MaxPooling3D(),
                                               l.GlobalAveragePooling3D()),
    }


def randomised(model: Any) -> None:
    """Fresh weights have zeros and ones where errors would hide."""
    import numpy
    random = numpy.random.default_rng(0)
    for variable in model.weights:
        value = numpy.array(variable)
        noise = random.uniform(0.5, 1.5, value.shape) if "variance" in variable.path else value + \
                               random.normal(0, 0.05, value.shape)
        variable.assign(noise.astype(value.dtype))


def make(folder: pathlib.Path, count: int) -> int:
    import keras
    folder.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[], Any]] = dict(small())
    for name in APPLICATIONS:
        size = 75 if name in ("Xception", "InceptionV3") else 64
        makers[name] = lambda name=name, size=size: getattr(keras.applications, name)(
            weights=None, input_shape=(size, size, 3), include_top=name != "NASNetMobile")
    for index, (name, maker) in enumerate(list(makers.items())[:count]):
        ending = (".keras", ".h5")[index % 2]
        path = folder / (name + ending)
        if path.exists():
            continue
        try:
            model = maker()
            randomised(model)
            model.save(path)
            note = {"name": name, "kind": "keras", "ending": ending, "live": None, "parameters": model.count_params()}
            print(f"keras {name}{ending}", flush=True)
        except Exception as error:
            note = {"name": name, "kind": "keras", "error": f"{type(error).__name__}: {str(error)[:200]}"}
            print(f"keras {name}: {note['error']}", flush=True)
        path.with_suffix(".json").write_text(json.dumps(note))
    return 0


def runs(path: pathlib.Path) -> Iterator[tuple[list[Any], Callable[[], list[Any]]]]:
    import keras
    import numpy
    model = keras.saving.load_model(path, compile=False)
    for seed, batch in ((0, 2), (1, 3)):
        random = numpy.random.default_rng(seed)
        given = []
        for tensor in model.inputs:
            shape = [batch, *(9 if size is None else size for size in tensor.shape[1:])]
            given.append(random.integers(0, 4, shape).astype(tensor.dtype) if "int" in str(tensor.dtype)
                         else random.standard_normal(shape).astype("float32"))

        def run_file(given: list[Any] = given) -> list[Any]:
            result = model(given if len(given) > 1 else given[0], training=False)
            values = result if isinstance(result, (list, tuple)) else [result]
            return [keras.ops.convert_to_numpy(value) for value in values]
        yield given, run_file
