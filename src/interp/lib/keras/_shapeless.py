"""Constraints, initializers and regularizers: what fills or watches a weight changes no shape."""


class Shapeless:
    def __init__(self, *args, **kwargs):
        self._init_args = (args, kwargs)

    def __call__(self, shape, dtype=None, **kwargs):
        from keras._engine import KerasTensor
        return KerasTensor(shape, dtype)

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def get_config(self):
        return {}


def get(identifier):
    return identifier


def maker(kind, module):
    """A module's __getattr__ that makes a class of this kind for each name it is asked."""
    made = {}

    def make(name):
        if name.startswith('__'):
            raise AttributeError(name)
        if name not in made:
            made[name] = type(name, (kind,), {'__module__': module})
        return made[name]

    return make
