def register(function, *args, **kwargs):
    return function


def unregister(function):
    pass
