"""keras.backend."""

import _pellucid
from keras._engine import KerasTensor, Variable, get_uid, reset_uids
from keras.ops import *
from keras import ops as _ops


def backend():
    return 'tensorflow'


def image_data_format():
    return 'channels_last'


def set_image_data_format(data_format):
    pass


def floatx():
    return 'float32'


def set_floatx(value):
    pass


def epsilon():
    return 1e-7


def is_keras_tensor(x):
    return isinstance(x, KerasTensor)


def clear_session(free_memory=True):
    reset_uids()


def int_shape(x):
    return tuple(x.shape)


def standardize_dtype(dtype):
    return dtype or 'float32'


def standardize_data_format(data_format):
    return data_format or 'channels_last'


class name_scope:
    def __init__(self, name, *args, **kwargs):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def learning_phase():
    return 0


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return getattr(_ops, name)
