"""Chance: what it would give is not known."""

import _pellucid


def _unknown(name):
    def function(*args, **kwargs):
        made = _pellucid.unknown('random.' + name, 'it is random')
        return args[0][made] if name == 'choice' and args and isinstance(args[0], (list, tuple)) else made

    return function


class Random:
    def __init__(self, seed=None):
        pass

    def seed(self, *args):
        pass

    setstate = seed

    def getstate(self):
        return ()

    def shuffle(self, x):
        for i in range(len(x)):
            x[i] = _pellucid.unknown('element after random.shuffle', 'it is random')


SystemRandom = Random
_instance = Random()
seed = _instance.seed
setstate = _instance.setstate
getstate = _instance.getstate
shuffle = _instance.shuffle
for _name in ('random', 'randint', 'randrange', 'choice', 'choices', 'sample', 'uniform', 'gauss', 'normalvariate',
              'betavariate', 'expovariate', 'triangular', 'getrandbits', 'lognormvariate', 'randbytes'):
    globals()[_name] = _unknown(_name)
    setattr(Random, _name, staticmethod(globals()[_name]))
