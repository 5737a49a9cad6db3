"""Scripting is the identity: the Python stays what it is."""

import _pellucid
from torch import nn
from typing import Final, Any
from torch.jit import _state, annotations


def is_scripting():
    return False


is_tracing = is_scripting


def script(obj, *args, **kwargs):
    return obj


def trace(func, *args, **kwargs):
    return func


trace_module = freeze = optimize_for_inference = trace


def export(function):
    return function


unused = interface = script_method = script_if_tracing = _script_if_tracing = _overload = _overload_method = export


def ignore(drop=False, **kwargs):
    return drop if callable(drop) else lambda function: function


def annotate(the_type, value):
    return value


def isinstance(obj, target_type):
    import builtins
    return builtins.isinstance(obj, target_type)


def fork(func, *args, **kwargs):
    return func(*args, **kwargs)


def wait(future):
    return future


def load(*args, **kwargs):
    return _pellucid.unknown('torch.jit.load', 'files are not read')


def save(*args, **kwargs):
    pass


def set_fusion_strategy(strategy):
    pass


class Error(RuntimeError):
    pass


class Attribute:
    def __init__(self, value, type):
        self.value = value


class ScriptModule(nn.Module):
    pass


class RecursiveScriptModule(ScriptModule):
    pass


class ScriptFunction:
    pass


TracedModule = TopLevelTracedModule = ScriptModule
CompilationUnit = object


class strict_fusion:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


optimized_execution = fuser = lambda *args: strict_fusion()
