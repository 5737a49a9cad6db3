"""keras.activations: functions that keep the shape."""

from keras._engine import elementwise


def _activation(name):
    def function(x, *args, **kwargs):
        return elementwise(name, x)

    function.__name__ = name
    return function


for _name in ('relu', 'relu6', 'elu', 'selu', 'gelu', 'silu', 'swish', 'sigmoid', 'tanh', 'softmax', 'softplus', 'softsign',
              'linear', 'exponential', 'hard_sigmoid', 'hard_silu', 'hard_swish', 'leaky_relu', 'log_softmax', 'mish', 'log_sigmoid',
              'hard_tanh', 'celu', 'glu', 'tanh_shrink', 'soft_shrink', 'squareplus'):
    globals()[_name] = _activation(_name)


def get(identifier):
    if identifier is None:
        return linear
    return globals().get(identifier, identifier) if isinstance(identifier, str) else identifier


def serialize(activation):
    return getattr(activation, '__name__', str(activation))


deserialize = get
