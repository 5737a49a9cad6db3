"""Recomputation in the backward pass: the forward pass is the function itself."""


def checkpoint(function, *args, use_reentrant=None, context_fn=None, determinism_check=None, debug=None, early_stop=None,
               preserve_rng_state=True, **kwargs):
    return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    if hasattr(functions, 'children'):
        functions = list(functions.children())
    for function in functions:
        input = function(input)
    return input


def noop_context_fn():
    return None, None


class CheckpointPolicy:
    MUST_SAVE = PREFER_SAVE = MUST_RECOMPUTE = PREFER_RECOMPUTE = None


def create_selective_checkpoint_contexts(*args, **kwargs):
    return None


def set_checkpoint_early_stop(enable):
    return None
