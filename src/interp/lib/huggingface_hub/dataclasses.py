"""Strict dataclasses: keyword arguments and class validators work; the types of fields are not checked."""

from dataclasses import MISSING, field, fields


def strict(cls=None, *, accept_kwargs=False):
    def wrap(cls):
        if not hasattr(cls, '__dataclass_fields__'):
            raise TypeError("Class '%s' must be a dataclass before applying @strict." % cls.__name__)
        cls.__validators__ = {}
        if accept_kwargs:
            _accept_keywords(cls)
        names = list(getattr(cls, '__class_validator_names__', ()))
        for name in cls.__dict__:
            if name.startswith('validate_') and name not in names:
                names.append(name)
        names.sort()
        cls.__class_validator_names__ = names
        cls.validate = _validate
        initial = cls.__init__

        def __init__(self, *args, **kwargs):
            initial(self, *args, **kwargs)
            for name in names:
                getattr(cls, name)(self)

        __init__.__wrapped__ = initial
        __init__.__qualname__ = cls.__qualname__ + '.__init__'
        __init__.__module__ = cls.__module__
        cls.__init__ = __init__
        return cls

    return wrap if cls is None else wrap(cls)


def _validate(self):
    for name in type(self).__class_validator_names__:
        getattr(self, name)()


_validate.__is_defined_by_strict_decorator__ = True


def _accept_keywords(cls):
    original = cls.__init__
    table = [(f.name, f.default, f.default_factory) for f in fields(cls)]
    known = {row[0] for row in table}

    def __init__(self, *args, **kwargs):
        if args:
            raise ValueError('When `accept_kwargs=True`, %s accepts only keyword arguments, but found `%d` positional args.'
                             % (cls.__name__, len(args)))
        for name, default, factory in table:
            if name in kwargs:
                setattr(self, name, kwargs[name])
            elif default is not MISSING:
                setattr(self, name, default)
            elif factory is not MISSING:
                setattr(self, name, factory())
            else:
                raise TypeError("Missing required field - '%s'" % name)
        self.__post_init__(**{name: value for name, value in kwargs.items() if name not in known})

    __init__.__wrapped__ = original
    __init__.__qualname__ = cls.__qualname__ + '.__init__'
    __init__.__module__ = cls.__module__
    cls.__init__ = __init__
    if not hasattr(cls, '__post_init__'):
        cls.__post_init__ = _set_all


def _set_all(self, **kwargs):
    for name, value in kwargs.items():
        setattr(self, name, value)


def validate_typed_dict(schema, data):
    pass


def validated_field(validator, default=MISSING, default_factory=MISSING, **kwargs):
    return field(default=default, default_factory=default_factory)


def as_validated_field(validator):
    def make(default=MISSING, default_factory=MISSING, init=True, repr=True, hash=None, compare=True, metadata=None, **kwargs):
        return field(default=default, default_factory=default_factory, init=init, repr=repr, hash=hash, compare=compare)

    return make
