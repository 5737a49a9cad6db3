"""typing: names that can be subscripted, joined and inherited from; nothing is checked."""

import collections
import collections.abc
import contextlib
import re as _re
import sys
import types

import _pellucid

TYPE_CHECKING = False
_native = _pellucid.types()
_NoneType = type(None)


class _Form:
    """A name of this module: Any, Union, Literal, ClassVar, ..."""

    def __init__(self, name, origin=None):
        self._name = name
        self.__name__ = self.__qualname__ = name
        self.__origin__ = origin if origin is not None else self
        self.__module__ = 'typing'

    def __getitem__(self, item):
        return _Alias(self, item if isinstance(item, tuple) else (item,))

    def __call__(self, *args, **kwargs):
        if self.__origin__ is self:
            raise TypeError('Cannot instantiate typing.' + self._name)
        return self.__origin__(*args, **kwargs)

    def __or__(self, other):
        return Union[self, other]

    def __ror__(self, other):
        return Union[other, self]

    def __mro_entries__(self, bases):
        return () if self.__origin__ is self else (self.__origin__,)

    def __instancecheck__(self, instance):
        return isinstance(instance, self.__origin__)

    def __subclasscheck__(self, cls):
        return issubclass(cls, self.__origin__)

    def __repr__(self):
        return 'typing.' + self._name

    def __deepcopy__(self, memo):
        return self

    __copy__ = __reduce__ = lambda self: self


class _UnionForm(_Form):
    def __getitem__(self, item):
        items = []
        for part in item if isinstance(item, tuple) else (item,):
            if part is None:
                part = _NoneType
            inside = part.__args__ if isinstance(part, _Alias) and part._form is Union else (part,)
            if isinstance(part, _native['union']):
                inside = part.__args__
            for x in inside:
                if not any([x is y for y in items]):
                    items.append(x)
        return items[0] if len(items) == 1 else _Alias(self, tuple(items))


class _OptionalForm(_Form):
    def __getitem__(self, item):
        return Union[item, None]


class _AnnotatedForm(_Form):
    def __getitem__(self, item):
        alias = _Alias(self, (item[0],))
        alias.__metadata__ = tuple(item[1:])
        alias.__origin__ = item[0]
        return alias


class _Alias:
    """A subscripted name."""

    def __init__(self, form, args):
        self._form = form
        self._name = form._name
        self.__origin__ = form.__origin__
        self.__args__ = args
        self.__parameters__ = ()

    def __getitem__(self, item):
        return self

    def __call__(self, *args, **kwargs):
        return self.__origin__(*args, **kwargs)

    def __or__(self, other):
        return Union[self, other]

    def __ror__(self, other):
        return Union[other, self]

    def __mro_entries__(self, bases):
        return self._form.__mro_entries__(bases)

    def __instancecheck__(self, instance):
        return isinstance(instance, self.__args__ if self._form is Union else self.__origin__)

    def __subclasscheck__(self, cls):
        return issubclass(cls, self.__args__ if self._form is Union else self.__origin__)

    def __eq__(self, other):
        if not isinstance(other, _Alias) or self._form is not other._form:
            return False
        if self._form is Union:
            return set(self.__args__) == set(other.__args__)
        return self.__args__ == other.__args__

    def __hash__(self):
        return hash((self._name, len(self.__args__)))

    def __repr__(self):
        if self._form is Union and len(self.__args__) == 2 and self.__args__[1] is _NoneType:
            return 'typing.Optional[%s]' % _text(self.__args__[0])
        return 'typing.%s[%s]' % (self._name, ', '.join([_text(arg) for arg in self.__args__]))

    def __deepcopy__(self, memo):
        return self

    def __getattr__(self, name):
        if name.startswith('__') and name.endswith('__'):
            raise AttributeError(name)
        return getattr(self.__origin__, name)


def _text(x):
    if isinstance(x, type):
        return x.__qualname__ if x.__module__ == 'builtins' else x.__module__ + '.' + x.__qualname__
    return '...' if x is ... else repr(x)


class Any:
    pass


Union = _UnionForm('Union')
Optional = _OptionalForm('Optional')
Annotated = _AnnotatedForm('Annotated')
Literal = _Form('Literal')
ClassVar = _Form('ClassVar')
Final = _Form('Final')
TypeAlias = _Form('TypeAlias')
Concatenate = _Form('Concatenate')
TypeGuard = _Form('TypeGuard')
TypeIs = _Form('TypeIs')
Unpack = _Form('Unpack')
Required = _Form('Required')
NotRequired = _Form('NotRequired')
ReadOnly = _Form('ReadOnly')
Self = _Form('Self')
Never = _Form('Never')
NoReturn = _Form('NoReturn')
LiteralString = _Form('LiteralString')
Text = str
AnyStr = None

List = _Form('List', list)
Dict = _Form('Dict', dict)
Set = _Form('Set', set)
FrozenSet = _Form('FrozenSet', frozenset)
Tuple = _Form('Tuple', tuple)
Type = _Form('Type', type)
DefaultDict = _Form('DefaultDict', collections.defaultdict)
OrderedDict = _Form('OrderedDict', collections.OrderedDict)
Counter = _Form('Counter', collections.Counter)
ChainMap = _Form('ChainMap', collections.ChainMap)
Deque = _Form('Deque', collections.deque)
Pattern = _Form('Pattern', _re.Pattern)
Match = _Form('Match', _re.Match)
ContextManager = _Form('ContextManager', contextlib.AbstractContextManager)
AsyncContextManager = _Form('AsyncContextManager', contextlib.AbstractAsyncContextManager)
for _name in ('Hashable', 'Iterable', 'Iterator', 'Generator', 'Reversible', 'Sized', 'Container', 'Callable', 'Awaitable',
              'Coroutine', 'AsyncIterable', 'AsyncIterator', 'AsyncGenerator', 'Collection', 'Sequence', 'MutableSequence',
              'MutableSet', 'Mapping', 'MutableMapping', 'MappingView', 'KeysView', 'ItemsView', 'ValuesView',
              'ByteString'):
    globals()[_name] = _Form(_name, getattr(collections.abc, _name))
AbstractSet = _Form('AbstractSet', collections.abc.Set)


class TypeVar:
    def __init__(self, name, *constraints, bound=None, covariant=False, contravariant=False, default=None,
                 infer_variance=False):
        self.__name__ = name
        self.__constraints__ = constraints
        self.__bound__ = bound
        self.__default__ = default

    def __or__(self, other):
        return Union[self, other]

    def __ror__(self, other):
        return Union[other, self]

    def __repr__(self):
        return '~' + self.__name__

    def __deepcopy__(self, memo):
        return self


class ParamSpec(TypeVar):
    @property
    def args(self):
        return self

    kwargs = args


class TypeVarTuple(TypeVar):
    def __iter__(self):
        yield self


AnyStr = TypeVar('AnyStr', bytes, str)


class TypeAliasType:
    def __init__(self, name, value, *, type_params=()):
        self.__name__ = name
        self.__value__ = value

    def __or__(self, other):
        return Union[self, other]

    __ror__ = __or__


class Generic:
    __slots__ = ()

    def __class_getitem__(cls, item):
        return _Generic(cls, item if isinstance(item, tuple) else (item,))


class _Generic:
    """A generic class with its parameters: Module[T]."""

    def __init__(self, origin, args):
        self.__origin__ = origin
        self.__args__ = args
        self.__parameters__ = tuple([x for x in args if isinstance(x, TypeVar)])

    def __mro_entries__(self, bases):
        if self.__origin__ is Generic:
            after = False
            for base in bases:
                if after and isinstance(base, _Generic):  # it is generic itself
                    return ()
                after = after or base is self
        return (self.__origin__,)

    def __getitem__(self, item):
        return self

    def __call__(self, *args, **kwargs):
        return self.__origin__(*args, **kwargs)

    def __or__(self, other):
        return Union[self, other]

    def __ror__(self, other):
        return Union[other, self]

    def __getattr__(self, name):
        if name.startswith('__') and name.endswith('__'):
            raise AttributeError(name)
        return getattr(self.__origin__, name)

    def __repr__(self):
        return '%s[%s]' % (self.__origin__.__name__, ', '.join([_text(arg) for arg in self.__args__]))


class _ProtocolMeta(type):
    def __instancecheck__(cls, instance):
        if cls in type(instance).__mro__:
            return True
        if not cls.__dict__.get('_is_runtime_protocol', False):
            return False
        names = cls.__dict__.get('_protocol_names')
        if names is None:
            names = set()
            for base in cls.__mro__[:-1]:
                if base is not Protocol and base is not Generic:
                    names.update([n for n in base.__dict__ if not n.startswith('_') or n in ('__call__', '__len__', '__iter__')])
                    names.update(base.__dict__.get('__annotations__', {}))
            cls._protocol_names = names
        return all([hasattr(instance, name) for name in names])


class Protocol(metaclass=_ProtocolMeta):
    __slots__ = ()

    def __class_getitem__(cls, item):
        return _Generic(cls, item if isinstance(item, tuple) else (item,))


def runtime_checkable(cls):
    cls._is_runtime_protocol = True
    return cls


runtime = runtime_checkable


class SupportsInt(Protocol):
    pass


SupportsFloat = SupportsIndex = SupportsAbs = SupportsRound = SupportsBytes = SupportsComplex = SupportsInt


class IO(Generic):
    pass


class TextIO(IO):
    pass


class BinaryIO(IO):
    pass


class _NamedTupleMeta(type):
    def __new__(meta, name, bases, body):
        if body.get('_root', False):
            return type.__new__(meta, name, bases, body)
        hints = body.get('__annotations__', {})
        defaults = [body[field] for field in hints if field in body]
        base = collections.namedtuple(name, list(hints), defaults=defaults, module=body.get('__module__'))
        rest = {key: value for key, value in body.items() if key not in hints and key not in ('__slots__', '__classcell__')}
        for key, value in rest.items():
            if key not in ('__module__', '__qualname__', '__dict__', '__weakref__'):
                setattr(base, key, value)
        base.__annotations__ = dict(hints)
        base.__orig_bases__ = (NamedTuple,)
        return base


class _NamedTupleBase(metaclass=_NamedTupleMeta):
    _root = True


class _NamedTuple:
    def __call__(self, typename, fields=(), **kwargs):
        fields = list(fields) or list(kwargs.items())
        made = collections.namedtuple(typename, [name for name, _ in fields])
        made.__annotations__ = dict(fields)
        return made

    def __mro_entries__(self, bases):
        return (_NamedTupleBase,)


NamedTuple = _NamedTuple()


class _TypedDictMeta(type):
    def __new__(meta, name, bases, body, total=True, closed=None, extra_items=None):
        hints = {}
        for base in bases:
            hints.update(base.__dict__.get('__annotations__', {}))
        hints.update(body.get('__annotations__', {}))
        body = dict(body)
        body['__annotations__'] = hints
        body['__total__'] = total
        body['__required_keys__'] = frozenset(hints if total else ())
        body['__optional_keys__'] = frozenset(() if total else hints)
        return type.__new__(meta, name, (dict,), body)

    def __init__(cls, name, bases, body, total=True, closed=None, extra_items=None):
        type.__init__(cls, name, bases, body)

    def __instancecheck__(cls, instance):
        raise TypeError('TypedDict does not support instance and class checks')


class _TypedDictBase(metaclass=_TypedDictMeta):
    pass


class _TypedDict:
    def __call__(self, typename, fields=(), *, total=True, **kwargs):
        return _TypedDictMeta(typename, (), {'__annotations__': dict(fields or kwargs)}, total=total)

    def __mro_entries__(self, bases):
        return (_TypedDictBase,)


TypedDict = _TypedDict()


def is_typeddict(cls):
    return isinstance(cls, _TypedDictMeta)


class NewType:
    def __init__(self, name, tp):
        self.__name__ = name
        self.__supertype__ = tp

    def __call__(self, x):
        return x

    def __or__(self, other):
        return Union[self, other]

    __ror__ = __or__


class ForwardRef:
    def __init__(self, arg, *args, **kwargs):
        self.__forward_arg__ = arg


def cast(typ, val):
    return val


def overload(function):
    return function


def no_type_check(arg):
    return arg


final = override = no_type_check_decorator = no_type_check


def dataclass_transform(**kwargs):
    return lambda cls: cls


def assert_never(arg):
    raise AssertionError('Expected code to be unreachable')


def assert_type(val, typ):
    return val


def reveal_type(obj):
    return obj


def get_overloads(function):
    return []


def clear_overloads():
    pass


def get_origin(tp):
    if isinstance(tp, _Alias):
        return Annotated if tp._form is Annotated else tp.__origin__
    if isinstance(tp, _native['union']):
        return _native['union']
    if isinstance(tp, (_native['generic_alias'], _Generic, collections.abc._Alias)):
        return tp.__origin__
    return Generic if tp is Generic else None


def get_args(tp):
    if isinstance(tp, _Alias) and tp._form is Annotated:
        return (tp.__origin__,) + tp.__metadata__
    if isinstance(tp, (_Alias, _native['union'], _native['generic_alias'], _Generic, collections.abc._Alias)):
        args = tp.__args__
        if getattr(tp, '__origin__', None) is collections.abc.Callable and len(args) == 2 and isinstance(args[0], list):
            return (list(args[0]), args[1])
        return args
    return ()


def get_type_hints(obj, globalns=None, localns=None, include_extras=False):
    hints = {}
    if isinstance(obj, type):
        for base in reversed(obj.__mro__):
            scope = globalns if globalns is not None else getattr(sys.modules.get(base.__module__), '__dict__', {})
            for name, value in base.__dict__.get('__annotations__', {}).items():
                hints[name] = _evaluated(value, scope, localns)
        return hints
    if globalns is None:
        function = obj
        while hasattr(function, '__wrapped__'):
            function = function.__wrapped__
        globalns = getattr(function, '__globals__', None)
        if globalns is None:
            globalns = getattr(obj, '__dict__', {})
    for name, value in (getattr(obj, '__annotations__', None) or {}).items():
        hints[name] = _evaluated(value, globalns, localns)
    return hints


def _evaluated(value, scope, local):
    if value is None:
        return _NoneType
    if isinstance(value, ForwardRef):
        value = value.__forward_arg__
    if isinstance(value, str):
        return eval(value, dict(scope), local)
    return value
