"""Documentation decorators: they give back what they decorate."""

from functools import update_wrapper

import _pellucid


def _same(*args, **kwargs):
    return lambda function: function


add_start_docstrings = add_start_docstrings_to_model_forward = add_end_docstrings = _same
add_code_sample_docstrings = replace_return_docstrings = _same


def get_docstring_indentation_level(func):
    return 0


def filter_outputs_from_example(docstring, **kwargs):
    return docstring


def copy_func(f):
    f = getattr(f, '__func__', f)
    g = update_wrapper(_pellucid.make_function(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__), f)
    g.__kwdefaults__ = f.__kwdefaults__
    return g


def _prepare_output_docstrings(*args, **kwargs):
    return ''
