"""Abstract base classes."""


def abstractmethod(function):
    function.__isabstractmethod__ = True
    return function


class abstractclassmethod(classmethod):
    pass


class abstractstaticmethod(staticmethod):
    pass


class abstractproperty(property):
    pass


_answers = {}  # class -> {other class: is it one below}: CPython remembers them, too, until something is registered


def _registers(cls):
    """Whether something was registered with the class or with one below it."""
    if '_abc_registry' in cls.__dict__:
        return True
    for child in type.__subclasses__(cls):
        if _registers(child):
            return True
    return False


class ABCMeta(type):
    def register(cls, subclass):
        _answers.clear()
        if '_abc_registry' not in cls.__dict__:
            cls._abc_registry = []
        cls._abc_registry.append(subclass)
        return subclass

    def __instancecheck__(cls, instance):
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass):
        answers = _answers.get(cls)
        if answers is None:
            answers = _answers[cls] = {}
        answer = answers.get(subclass)
        if answer is None:
            answer = answers[subclass] = cls._is_above(subclass)
        return answer

    def _is_above(cls, subclass):
        if cls in getattr(subclass, '__mro__', ()):
            return True
        hook = getattr(cls, '__subclasshook__', None)
        if hook is not None:
            answer = hook(subclass)
            if answer is not NotImplemented:
                return answer
        own = cls.__dict__
        if '_abc_registry' in own:
            for registered in own['_abc_registry']:
                if issubclass(subclass, registered):
                    return True
        for child in type.__subclasses__(cls):
            if child is not subclass and _registers(child) and issubclass(subclass, child):
                return True
        return False

    def _dump_registry(cls):
        pass


class ABC(metaclass=ABCMeta):
    __slots__ = ()


def update_abstractmethods(cls):
    return cls


def get_cache_token():
    return 0
