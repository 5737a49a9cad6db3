"""keras.models."""

import _pellucid
from keras._engine import Functional, Model, Sequential


def load_model(*args, **kwargs):
    return _pellucid.unknown('a loaded Keras model', 'files are not read')


def clone_model(model, *args, **kwargs):
    return model


def model_from_json(*args, **kwargs):
    return _pellucid.unknown('a Keras model from JSON', 'descriptions in text are not read')


save_model = lambda *args, **kwargs: None
