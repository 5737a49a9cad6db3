"""Registration for pickling: kept, never used."""

dispatch_table = {}


def pickle(ob_type, pickle_function, constructor_ob=None):
    dispatch_table[ob_type] = pickle_function


def constructor(obj):
    pass


def __newobj__(cls, *args):
    return cls.__new__(cls, *args)
