from keras._shapeless import Shapeless, get, maker


class Initializer(Shapeless):
    pass


serialize = deserialize = get
__getattr__ = maker(Initializer, 'keras.initializers')
