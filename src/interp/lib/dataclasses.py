"""dataclasses: the generated methods are closures over the fields."""

import sys
import types


class FrozenInstanceError(AttributeError):
    pass


class _Missing:
    def __repr__(self):
        return 'MISSING'


MISSING = _Missing()
KW_ONLY = _Missing()
_FIELD, _CLASSVAR, _INITVAR = '_FIELD', '_FIELD_CLASSVAR', '_FIELD_INITVAR'


class InitVar:
    def __init__(self, type):
        self.type = type

    def __class_getitem__(cls, type):
        return InitVar(type)

    def __or__(self, other):
        return self

    __ror__ = __or__


class Field:
    def __init__(self, default, default_factory, init, repr, hash, compare, metadata, kw_only, doc=None):
        self.name = None
        self.type = None
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.hash = hash
        self.compare = compare
        self.metadata = types.MappingProxyType(metadata or {})
        self.kw_only = kw_only
        self._field_type = _FIELD

    def __repr__(self):
        return 'Field(name=%r,type=%r,default=%r)' % (self.name, self.type, self.default)


def field(*, default=MISSING, default_factory=MISSING, init=True, repr=True, hash=None, compare=True, metadata=None,
          kw_only=MISSING, doc=None):
    if default is not MISSING and default_factory is not MISSING:
        raise ValueError('cannot specify both default and default_factory')
    return Field(default, default_factory, init, repr, hash, compare, metadata, kw_only)


def _kind(annotation):
    """Whether an annotation, perhaps a string, means ClassVar, InitVar or KW_ONLY."""
    if isinstance(annotation, str):
        head = annotation.partition('[')[0].rpartition('.')[2].strip()
        if head == 'ClassVar':
            return _CLASSVAR
        if head == 'InitVar':
            return _INITVAR
        return KW_ONLY if head == 'KW_ONLY' else _FIELD
    if annotation is KW_ONLY:
        return KW_ONLY
    if isinstance(annotation, InitVar) or annotation is InitVar:
        return _INITVAR
    origin = getattr(annotation, '__origin__', annotation)
    if origin is _class_var():
        return _CLASSVAR
    return _FIELD


def _class_var():
    typing = sys.modules.get('typing')
    return typing.ClassVar if typing is not None else MISSING


def _own_fields(cls, kw_only):
    own = cls.__dict__
    result = []
    for name, annotation in own.get('__annotations__', {}).items():
        kind = _kind(annotation)
        if kind is KW_ONLY:
            kw_only = True
            continue
        default = own.get(name, MISSING)
        if isinstance(default, Field):
            made = default
            if made.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, made.default)
        else:
            if type(default) is types.MemberDescriptorType:
                default = MISSING
            made = Field(default, MISSING, True, True, None, True, None, MISSING)
            if kind == _FIELD and isinstance(default, (list, dict, set)):
                raise ValueError('mutable default %r for field %s is not allowed: use default_factory' % (type(default), name))
        made.name = name
        made.type = annotation
        made._field_type = kind
        if made.kw_only is MISSING:
            made.kw_only = kw_only
        result.append(made)
    return result


def _process(cls, init, repr, eq, order, unsafe_hash, frozen, match_args, kw_only, slots):
    fields = {}
    for base in cls.__mro__[-1:0:-1]:
        fields.update(base.__dict__.get('__dataclass_fields__', {}))
    for made in _own_fields(cls, kw_only):
        fields[made.name] = made
    cls.__dataclass_fields__ = fields
    cls.__dataclass_params__ = types.SimpleNamespace(init=init, repr=repr, eq=eq, order=order, unsafe_hash=unsafe_hash,
                                                     frozen=frozen)
    shown = [f for f in fields.values() if f._field_type == _FIELD]
    if init and '__init__' not in cls.__dict__:
        cls.__init__ = _make_init(cls, [f for f in fields.values() if f._field_type != _CLASSVAR], frozen)
    if repr and '__repr__' not in cls.__dict__:
        cls.__repr__ = _make_repr([f.name for f in shown if f.repr])
    compared = [f.name for f in shown if f.compare]
    if eq and '__eq__' not in cls.__dict__:
        cls.__eq__ = _make_eq(compared)
    if order:
        for name, function in (('__lt__', lambda a, b: a < b), ('__le__', lambda a, b: a <= b),
                               ('__gt__', lambda a, b: a > b), ('__ge__', lambda a, b: a >= b)):
            setattr(cls, name, _make_order(compared, function))
    if frozen:
        cls.__setattr__ = _frozen_set
        cls.__delattr__ = _frozen_set
    if (eq and frozen and '__hash__' not in cls.__dict__) or unsafe_hash:
        cls.__hash__ = _make_hash([f.name for f in shown if (f.compare if f.hash is None else f.hash)])
    elif eq and not cls.__dict__.get('__hash__'):
        cls.__hash__ = None
    if match_args and '__match_args__' not in cls.__dict__:
        cls.__match_args__ = tuple([f.name for f in fields.values() if f.init and not f.kw_only])
    return cls


def _make_init(cls, fields, frozen):
    ordered = [f for f in fields if f.init and not f.kw_only] + [f for f in fields if f.init and f.kw_only]
    positional = [f.name for f in ordered if not f.kw_only]
    names = [f.name for f in ordered]
    allowed = set(names)
    seen_default = False
    for f in ordered:
        if f.kw_only:
            continue
        if f.default is not MISSING or f.default_factory is not MISSING:
            seen_default = True
        elif seen_default:
            raise TypeError("non-default argument '%s' follows default argument" % f.name)
    rows = []
    for f in fields:
        rows.append((f.name, f.default, f.default_factory, f.init, f._field_type == _INITVAR))
    has_init_vars = any([row[4] for row in rows])

    def __init__(self, *args, **kwargs):
        if args:
            if len(args) > len(positional):
                raise TypeError('%s.__init__() takes %d positional arguments but %d were given'
                                % (cls.__name__, len(positional) + 1, len(args) + 1))
            for name, value in zip(positional, args):
                if name in kwargs:
                    raise TypeError("%s.__init__() got multiple values for argument '%s'" % (cls.__name__, name))
                kwargs[name] = value
        for name in kwargs:
            if name not in allowed:
                raise TypeError("%s.__init__() got an unexpected keyword argument '%s'" % (cls.__name__, name))
        passed = []
        for name, default, factory, init, is_init_var in rows:
            if init and name in kwargs:
                value = kwargs[name]
            elif factory is not MISSING:
                value = factory()
            elif default is not MISSING:
                if not init and not is_init_var:
                    continue
                value = default
            elif init:
                raise TypeError("%s.__init__() missing required argument: '%s'" % (cls.__name__, name))
            else:
                continue
            if is_init_var:
                passed.append(value)
            elif frozen:
                object.__setattr__(self, name, value)
            else:
                setattr(self, name, value)
        if has_post:
            self.__post_init__(*passed)

    has_post = hasattr(cls, '__post_init__')
    __init__.__qualname__ = cls.__qualname__ + '.__init__'
    __init__.__module__ = cls.__module__
    __init__.__dataclass__ = cls
    __init__.__annotations__ = {f.name: f.type for f in ordered}
    __init__.__annotations__['return'] = None
    return __init__


def _make_repr(names):
    def __repr__(self):
        return '%s(%s)' % (self.__class__.__qualname__, ', '.join(['%s=%r' % (name, getattr(self, name)) for name in names]))

    return __repr__


def _make_eq(names):
    def __eq__(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        for name in names:
            a = getattr(self, name)
            b = getattr(other, name)
            if not (a is b or a == b):
                return False
        return True

    return __eq__


def _make_order(names, function):
    def method(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return function(tuple([getattr(self, n) for n in names]), tuple([getattr(other, n) for n in names]))

    return method


def _make_hash(names):
    def __hash__(self):
        return hash(tuple([getattr(self, name) for name in names]))

    return __hash__


def _frozen_set(self, name, value=None):
    raise FrozenInstanceError("cannot assign to field '%s'" % name)


def dataclass(cls=None, /, *, init=True, repr=True, eq=True, order=False, unsafe_hash=False, frozen=False, match_args=True,
              kw_only=False, slots=False, weakref_slot=False):
    def wrap(cls):
        return _process(cls, init, repr, eq, order, unsafe_hash, frozen, match_args, kw_only, slots)

    return wrap if cls is None else wrap(cls)


def fields(class_or_instance):
    table = getattr(class_or_instance, '__dataclass_fields__', None)
    if table is None:
        raise TypeError('must be called with a dataclass type or instance')
    return tuple([f for f in table.values() if f._field_type == _FIELD])


def is_dataclass(obj):
    cls = obj if isinstance(obj, type) else type(obj)
    return hasattr(cls, '__dataclass_fields__')


def _convert(value, make, factory):
    if is_dataclass(value) and not isinstance(value, type):
        return make(value)
    if isinstance(value, tuple) and hasattr(value, '_fields'):
        return type(value)(*[_convert(v, make, factory) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)([_convert(v, make, factory) for v in value])
    if isinstance(value, dict):
        if hasattr(type(value), 'default_factory'):
            result = type(value)(value.default_factory)
            for k, v in value.items():
                result[_convert(k, make, factory)] = _convert(v, make, factory)
            return result
        return type(value)([(_convert(k, make, factory), _convert(v, make, factory)) for k, v in value.items()])
    from copy import deepcopy
    return deepcopy(value)


def asdict(obj, *, dict_factory=dict):
    def make(x):
        return dict_factory([(f.name, _convert(getattr(x, f.name), make, dict_factory)) for f in fields(x)])

    if not is_dataclass(obj) or isinstance(obj, type):
        raise TypeError('asdict() should be called on dataclass instances')
    return make(obj)


def astuple(obj, *, tuple_factory=tuple):
    def make(x):
        return tuple_factory([_convert(getattr(x, f.name), make, tuple_factory) for f in fields(x)])

    return make(obj)


def replace(obj, /, **changes):
    for f in obj.__dataclass_fields__.values():
        if f._field_type == _CLASSVAR:
            continue
        if not f.init:
            if f.name in changes:
                raise TypeError('field %s is declared with init=False, it cannot be specified with replace()' % f.name)
            continue
        if f.name not in changes:
            changes[f.name] = getattr(obj, f.name)
    return obj.__class__(**changes)


def make_dataclass(cls_name, fields, *, bases=(), namespace=None, **options):
    body = dict(namespace or {})
    annotations = {}
    for item in fields:
        if isinstance(item, str):
            annotations[item] = object
        else:
            annotations[item[0]] = item[1]
            if len(item) == 3:
                body[item[0]] = item[2]
    body['__annotations__'] = annotations
    return dataclass(type(cls_name, bases, body), **options)
