"""Notebooks as programs, and what Keras layers say of themselves: nothing but the program is needed."""

from __future__ import annotations

import json


def cell(*lines: str) -> dict[str, object]:
    return {"cell_type": "code", "source": [line + "\n" for line in lines], "metadata": {}, "outputs": []}


def test_a_notebook_is_a_program(pellucid, tmp_path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# not code ("]},
        cell("%matplotlib inline", "!pip install torch", "import torch.nn as nn", "files = !ls"),
        cell("%%bash", "echo ("),
        cell("this is no Python at all"),
        cell("%%time", "model = nn.Sequential(", "    nn.Linear(7", "    % 4, 2))"),
    ]
    folder = tmp_path / "notebooks"
    folder.mkdir()
    (folder / "model.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    for target in (folder / "model.ipynb", folder):
        done = pellucid("scan", target, "--json")
        network = json.loads(done.out.splitlines()[-1])["networks"][0]
        assert network["state"]["0.weight"] == [2, 3]
        assert [row["what"] for row in network["unknown"]] == ["SyntaxError: cell 4 is no Python"]
        assert done.code == 3


def test_a_notebook_that_is_none_is_refused(pellucid, tmp_path) -> None:
    (tmp_path / "model.ipynb").write_text('{"cells": 3}')
    done = pellucid("scan", tmp_path / "model.ipynb")
    assert done.code == 2 and "cells" in done.err


KERAS = """
import tensorflow as tf

model = tf.keras.Sequential([
    tf.keras.layers.Dense(64, activation='relu', input_shape=(10,)),
    tf.keras.layers.Dense(10, activation='softmax'),
])
rows = []
for layer in model.layers:
    config = layer.get_config()
    rows.append((config['units'], config['activation'], config.get('batch_input_shape', None)))
size = sum(row[0] for row in rows if row[1] in ('relu', 'softmax'))
again = tf.keras.Sequential.from_config(model.get_config())
sized = tf.keras.layers.Dense(size)
sized.build((None, 2))
"""


def test_layers_say_their_configuration(pellucid, tmp_path) -> None:
    (tmp_path / "model.py").write_text(KERAS)
    done = pellucid("scan", tmp_path / "model.py", "--json")
    networks = {network["name"]: network for network in json.loads(done.out)["networks"]}
    assert [row for row in networks["model"]["unknown"]] == []
    assert networks["again"]["totals"]["parameters"] == networks["model"]["totals"]["parameters"] == 1354
    assert networks["sized"]["totals"]["parameters"] == 2 * 74 + 74
