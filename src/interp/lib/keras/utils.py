"""keras.utils."""

import sys

import _pellucid


def register_keras_serializable(package='Custom', name=None):
    return lambda cls: cls


def get_source_inputs(tensor):
    nodes, found = [tensor.node], []
    seen = set()
    while nodes:
        node = nodes.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if not node.inputs:
            found.extend(node.outputs)
        nodes.extend([x.node for x in node.inputs])
    return found


_module = _pellucid.symbol_module(__name__)
_module.register_keras_serializable = register_keras_serializable
_module.get_source_inputs = get_source_inputs
_module.set_random_seed = lambda seed: None
_module.plot_model = _module.disable_interactive_logging = lambda *args, **kwargs: None
sys.modules[__name__] = _module
