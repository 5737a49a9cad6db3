"""Enumerations."""

import types


class auto:
    """Replaced by the next value when the class is made."""

    value = None

    def __init__(self, value=None):
        self.value = value


class nonmember:
    def __init__(self, value):
        self.value = value


class member(nonmember):
    pass


builtin_type = type
builtin_property = property
property = builtin_property
DynamicClassAttribute = property


_DESCRIPTORS = ('__get__', '__set__', '__delete__')


def _is_member(name, value):
    if name.startswith('__') and name.endswith('__'):
        return False
    if name.startswith('_') and name.endswith('_'):
        return False
    if isinstance(value, nonmember):
        return isinstance(value, member)
    for special in _DESCRIPTORS:
        if hasattr(type(value), special):
            return False
    return True


class EnumType(type):
    @classmethod
    def __prepare__(metacls, name, bases, **kwargs):
        return {}

    def __new__(metacls, name, bases, body, **kwargs):
        members = {}
        plain = {}
        ignored = body.get('_ignore_', ())
        if isinstance(ignored, str):
            ignored = ignored.replace(',', ' ').split()
        private = '_%s__' % name.lstrip('_')
        for key, value in body.items():
            if key in ignored or key == '_ignore_':
                continue
            if _is_member(key, value) and not key.startswith(private):
                members[key] = value.value if isinstance(value, member) else value
            else:
                plain[key] = value.value if isinstance(value, nonmember) else value
        kwargs.pop('boundary', None)
        cls = type.__new__(metacls, name, bases, plain, **kwargs)
        if not members:
            if '_member_map_' not in cls.__dict__:
                cls._member_map_ = {}
                cls._value2member_map_ = {}
                cls._member_names_ = []
            return cls
        for base in cls.__mro__[1:]:
            if base.__dict__.get('_member_map_'):
                raise TypeError('%s cannot extend enumeration %r' % (name, base))
        cls._member_map_ = {}
        cls._value2member_map_ = {}
        cls._member_names_ = []
        data_type = None
        for base in cls.__mro__[1:]:
            if base is not object and not isinstance(base, EnumType):
                if data_type is None and base in (int, str, float, bytes, tuple, complex):
                    data_type = base
        maker = plain.get('__new__')
        if maker is None:
            for base in cls.__mro__[1:]:
                found = base.__dict__.get('__new_member__')
                if found is not None:
                    maker = found
                    break
        elif isinstance(maker, staticmethod):
            maker = maker.__func__
        if '__new__' in plain:
            cls.__new_member__ = plain['__new__']
            del cls.__new__
        values = []
        for key, value in members.items():
            if isinstance(value, auto):
                if value.value is None:
                    value.value = cls._generate_next_value_(key, 1, len(values), values[:])
                value = value.value
            elif type(value) is tuple and any([isinstance(item, auto) for item in value]):
                value = tuple([cls._generate_next_value_(key, 1, len(values), values[:]) if isinstance(item, auto) else item
                               for item in value])
            args = value if type(value) is tuple else (value,)
            if maker is not None:
                made = maker(cls, *args)
                if not hasattr(made, '_value_'):
                    made._value_ = value
            elif data_type is not None:
                made = data_type.__new__(cls, value) if data_type is tuple else data_type.__new__(cls, *args)
                made._value_ = data_type(*args) if type(value) is tuple and data_type is not tuple else value
            else:
                made = object.__new__(cls)
                made._value_ = value
            value = made._value_
            values.append(value)
            made._name_ = key
            made.__objclass__ = cls
            if '__init__' in plain or _own_init(cls):
                made.__init__(*args)
                value = made._value_
            alias = None
            try:
                alias = cls._value2member_map_.get(value)
            except TypeError:
                for other in cls._member_map_.values():
                    if other._value_ == value:
                        alias = other
            if alias is not None:
                made = alias
            else:
                made._sort_order_ = len(cls._member_names_)
                cls._member_names_.append(key)
                try:
                    cls._value2member_map_[value] = made
                except TypeError:
                    pass
            cls._member_map_[key] = made
            type.__setattr__(cls, key, made)
        return cls

    def __init__(cls, *args, **kwargs):
        pass

    def __call__(cls, value, names=None, *args, module=None, qualname=None, type=None, start=1, boundary=None):
        if names is None and cls._member_map_:
            if args:
                value = (value,) + args
            return cls.__getvalue__(value)
        if names is None:
            return cls.__getvalue__(value)
        if isinstance(names, str):
            names = names.replace(',', ' ').split()
        if isinstance(names, dict):
            names = list(names.items())
        body = {}
        for i, item in enumerate(names):
            if isinstance(item, str):
                body[item] = i + start if not issubclass(cls, str) else item.lower()
            else:
                body[item[0]] = item[1]
        if module is not None:
            body['__module__'] = module
        return cls.__class__(value, (cls,) if type is None else (type, cls), body)

    def __getvalue__(cls, value):
        if builtin_type(value) is cls:
            return value
        try:
            if value in cls._value2member_map_:
                return cls._value2member_map_[value]
        except TypeError:
            for made in cls._member_map_.values():
                if made._value_ == value:
                    return made
        found = cls._missing_(value)
        if found is None:
            raise ValueError('%r is not a valid %s' % (value, cls.__qualname__))
        return found

    def __iter__(cls):
        return iter([cls._member_map_[name] for name in cls._member_names_])

    def __reversed__(cls):
        return iter([cls._member_map_[name] for name in reversed(cls._member_names_)])

    def __len__(cls):
        return len(cls._member_names_)

    def __bool__(cls):
        return True

    def __contains__(cls, value):
        if isinstance(value, cls):
            return True
        try:
            return value in cls._value2member_map_
        except TypeError:
            return False

    def __getitem__(cls, name):
        return cls._member_map_[name]

    @builtin_property
    def __members__(cls):
        return types.MappingProxyType(cls._member_map_)

    def __repr__(cls):
        return '<enum %r>' % cls.__name__

    def __dir__(cls):
        return list(cls._member_names_)


EnumMeta = EnumType


def _own_init(cls):
    for base in cls.__mro__:
        if base is object or base in (int, str, float, bytes, tuple):
            return False
        if base is not Enum and '__init__' in base.__dict__ and isinstance(base, EnumType):
            return True
        if base is Enum:
            return False
    return False


class Enum(metaclass=EnumType):
    @builtin_property
    def name(self):
        return self._name_

    @builtin_property
    def value(self):
        return self._value_

    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        numbers = [value for value in last_values if isinstance(value, int)]
        return max(numbers) + 1 if numbers else start

    @classmethod
    def _missing_(cls, value):
        return None

    def __repr__(self):
        return '<%s.%s: %r>' % (type(self).__name__, self._name_, self._value_)

    def __str__(self):
        return '%s.%s' % (type(self).__name__, self._name_)

    def __format__(self, spec):
        return format(str(self), spec)

    def __hash__(self):
        return hash(self._name_)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        return (type(self), (self._value_,))


class ReprEnum(Enum):
    pass


class IntEnum(int, ReprEnum):
    def __str__(self):
        return int.__repr__(self)

    def __format__(self, spec):
        return format(int(self), spec)

    __hash__ = int.__hash__


class StrEnum(str, ReprEnum):
    def __str__(self):
        return str.__str__(self)

    def __format__(self, spec):
        return format(str.__str__(self), spec)

    __hash__ = str.__hash__

    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return name.lower()


class Flag(Enum):
    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        highest = 0
        for value in last_values:
            highest = max(highest, value)
        return 1 if not highest else 1 << highest.bit_length()

    @classmethod
    def _missing_(cls, value):
        made = int.__new__(cls, value) if issubclass(cls, int) else object.__new__(cls)
        made._value_ = value
        made._name_ = '|'.join([m._name_ for m in cls if m._value_ & value]) or None
        cls._value2member_map_[value] = made
        return made

    def __contains__(self, other):
        return other._value_ & self._value_ == other._value_

    def __bool__(self):
        return bool(self._value_)

    def __or__(self, other):
        return type(self)(self._value_ | getattr(other, '_value_', other))

    def __and__(self, other):
        return type(self)(self._value_ & getattr(other, '_value_', other))

    def __xor__(self, other):
        return type(self)(self._value_ ^ getattr(other, '_value_', other))

    def __invert__(self):
        whole = 0
        for m in type(self):
            whole |= m._value_
        return type(self)(whole & ~self._value_)

    __ror__ = __or__
    __rand__ = __and__

    def __iter__(self):
        return iter([m for m in type(self) if m._value_ & self._value_])


class IntFlag(int, Flag):
    __hash__ = int.__hash__


def unique(enumeration):
    for name, made in enumeration._member_map_.items():
        if name != made._name_:
            raise ValueError('duplicate values found in %r: %s -> %s' % (enumeration, name, made._name_))
    return enumeration


def global_enum(cls, update_str=False):
    return cls


STRICT, CONFORM, EJECT, KEEP = 'strict', 'conform', 'eject', 'keep'
