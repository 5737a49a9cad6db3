"""Nothing is compiled: every decorator gives back what it decorates."""


def is_compiling():
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn=None, recursive=True, **kwargs):
    return fn if fn is not None else lambda function: function


def compile(fn=None, **kwargs):
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn):
    return fn


assume_constant_result = nested_compile_region = allow_in_graph


def substitute_in_graph(original, **kwargs):
    return lambda function: function


def reset():
    pass


def cudagraph_mark_step_begin():
    pass


def set_stance(*args, **kwargs):
    from torch import no_grad
    return no_grad()


def list_backends(*args):
    return []
