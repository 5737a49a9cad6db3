"""The source of a Keras model against the file as Keras itself runs it, in a process of its own."""

from __future__ import annotations

import os
from typing import Any

#: Lengths that a model leaves open.
LENGTHS = (16, 32, 9, 64)


def compared(file: str, source: str, root: str) -> tuple[list[str], str, str]:
    """Runs in which both are equal, what differs, and why nothing was compared."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import numpy

    from ._recover_onnx import built, difference
    from ._recover_script import _said
    try:
        import keras
        model = keras.saving.load_model(file, compile=False)
    except Exception as error:  # whatever it raises on files of other versions
        return [], "", f"Keras can't load the file: {_said(error)}"
    try:
        module = built(file, source, root)
    except Exception as error:
        return [], f"the source can't be built: {_said(error)}", ""
    equal: list[str] = []
    why = "no inputs that were tried run in Keras"
    for seed, length in enumerate(LENGTHS):
        random = numpy.random.default_rng(seed)
        inputs = []
        for tensor in model.inputs:
            shape = [seed + 2, *(length if size is None else size for size in tensor.shape[1:])]
            dtype = str(tensor.dtype)
            inputs.append(random.integers(0, 2, shape).astype(dtype) if "int" in dtype
                          else random.standard_normal(shape).astype("float32"))
        try:
            result = model(inputs if len(inputs) > 1 else inputs[0], training=False)
        except Exception as error:
            why = f"no inputs that were tried run in Keras: {_said(error)}"
            continue
        results = result if isinstance(result, (list, tuple)) else [result]
        name = f"random values ({', '.join('x'.join(map(str, value.shape)) for value in inputs)})"
        if differs := difference(module, inputs, [_array(value) for value in results]):
            return equal, f"{name}: {differs}", ""
        equal.append(name)
        if len(equal) == 2:
            break
    return equal, "", "" if equal else why


def _array(value: Any) -> Any:
    import keras
    return keras.ops.convert_to_numpy(value)
