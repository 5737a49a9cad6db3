"""OmegaConf: configurations with attributes, missing values and interpolation."""

import dataclasses
import enum

import _pellucid

__version__ = '2.3.0'
MISSING = '???'
_resolvers = {}


class OmegaConfBaseException(Exception):
    pass


class MissingMandatoryValue(OmegaConfBaseException):
    pass


class ConfigKeyError(OmegaConfBaseException, KeyError):
    pass


class ConfigAttributeError(OmegaConfBaseException, AttributeError):
    pass


class InterpolationKeyError(OmegaConfBaseException):
    pass


class ReadonlyConfigError(OmegaConfBaseException):
    pass


class ValidationError(OmegaConfBaseException, ValueError):
    pass


class _SafeLoader:
    plain_exponents = True


def _literal(text):
    """What an override or a resolver's argument is, as YAML reads a value."""
    try:
        found = _pellucid.yaml_documents(text, True)
    except ValueError:
        return text
    return found[0] if found else ''


def _is_plain(value):
    return value is None or isinstance(value, (str, bytes, int, float, bool, enum.Enum))


def _node(value, parent):
    """A value as a configuration keeps it."""
    if isinstance(value, Container):
        value = value._raw()
    elif isinstance(value, type) and dataclasses.is_dataclass(value):
        value = _fields(value)
    elif dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return DictConfig(value, parent)
    if isinstance(value, (list, tuple)):
        return ListConfig(value, parent)
    return value


def _fields(cls):
    found = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
        else:
            found[field.name] = MISSING
    return found


class Container:
    def _set_up(self, parent):
        object.__setattr__(self, '_parent', parent)
        object.__setattr__(self, '_depth', 0)

    def _root(self):
        node = self
        while node._parent is not None:
            node = node._parent
        return node

    def _resolved(self, value, key):
        if isinstance(value, str) and '${' in value:
            return _interpolate(self, value, 0)
        if isinstance(value, str) and value == MISSING:
            raise MissingMandatoryValue('Missing mandatory value: ' + str(key))
        return value

    def copy(self):
        return type(self)(self._raw(), self._parent)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __repr__(self):
        return repr(self._raw())

    __str__ = __repr__


class DictConfig(Container):
    def __init__(self, content=None, parent=None, **kwargs):
        self._set_up(parent)
        object.__setattr__(self, '_content', {})
        for key, value in dict(content or {}).items():
            self._content[key] = _node(value, self)

    def _raw(self):
        return {key: value._raw() if isinstance(value, Container) else value for key, value in self._content.items()}

    def __getattr__(self, name):
        if name.startswith('__') and name.endswith('__'):
            raise AttributeError(name)
        if name not in self._content:
            raise ConfigAttributeError('Missing key ' + name)
        return self._resolved(self._content[name], name)

    def __setattr__(self, name, value):
        self._content[name] = _node(value, self)

    def __delattr__(self, name):
        del self._content[name]

    def __getitem__(self, key):
        if key not in self._content:
            raise ConfigKeyError('Missing key ' + str(key))
        return self._resolved(self._content[key], key)

    def __setitem__(self, key, value):
        self._content[key] = _node(value, self)

    def __delitem__(self, key):
        del self._content[key]

    def __contains__(self, key):
        return key in self._content and self._content[key] != MISSING

    def __iter__(self):
        return iter(list(self._content))

    def __len__(self):
        return len(self._content)

    def __bool__(self):
        return len(self._content) > 0

    def __eq__(self, other):
        return OmegaConf.to_container(self) == (OmegaConf.to_container(other) if isinstance(other, Container) else other)

    __hash__ = None

    def get(self, key, default=None):
        if key not in self._content or self._content[key] == MISSING:
            return default
        return self[key]

    def keys(self):
        return self._content.keys()

    def values(self):
        return [self[key] for key in self._content]

    def items(self):
        return [(key, self[key]) for key in self._content]

    def items_ex(self, resolve=True, keys=None):
        return self.items()

    def pop(self, key, *default):
        if key not in self._content and default:
            return default[0]
        value = self[key]
        del self._content[key]
        return value

    def setdefault(self, key, default=None):
        if key not in self._content:
            self[key] = default
        return self[key]

    def update(self, *others, **kwargs):
        for other in others:
            for key in other:
                self[key] = other[key]
        for key, value in kwargs.items():
            self[key] = value


class ListConfig(Container):
    def __init__(self, content=None, parent=None, **kwargs):
        self._set_up(parent)
        object.__setattr__(self, '_content', [])
        for value in list(content or []):
            self._content.append(_node(value, self))

    def _raw(self):
        return [value._raw() if isinstance(value, Container) else value for value in self._content]

    def __getitem__(self, at):
        if isinstance(at, slice):
            return ListConfig(self._raw()[at], self._parent)
        return self._resolved(self._content[at], at)

    def __setitem__(self, at, value):
        self._content[at] = _node(value, self)

    def __iter__(self):
        for at in range(len(self._content)):
            yield self[at]

    def __len__(self):
        return len(self._content)

    def __contains__(self, value):
        return value in list(self)

    def __eq__(self, other):
        return list(self) == list(other)

    __hash__ = None

    def __add__(self, other):
        return ListConfig(self._raw() + list(other), self._parent)

    def __radd__(self, other):
        return ListConfig(list(other) + self._raw(), self._parent)

    def append(self, value):
        self._content.append(_node(value, self))

    def extend(self, values):
        for value in values:
            self.append(value)

    def insert(self, at, value):
        self._content.insert(at, _node(value, self))

    def index(self, value):
        return list(self).index(value)

    def pop(self, at=-1):
        value = self[at]
        self._content.pop(at)
        return value


BaseContainer = Container


# ---- interpolation ----


def _closing(text, at):
    depth = 0
    while at < len(text):
        if text.startswith('${', at):
            depth += 1
            at += 2
            continue
        if text[at] == '}':
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise InterpolationKeyError('no } in ' + text)


def _interpolate(node, text, depth):
    if depth > 50:
        raise InterpolationKeyError('interpolation goes round in circles: ' + text)
    begin = text.find('${')
    end = _closing(text, begin)
    value = _look_up(node, text[begin + 2:end], depth)
    if begin == 0 and end == len(text) - 1:
        return value
    rest = text[end + 1:]
    if '${' in rest:
        rest = _interpolate(node, rest, depth + 1)
    return '%s%s%s' % (text[:begin], value, rest)


def _look_up(node, inside, depth):
    if '${' in inside:
        inside = str(_interpolate(node, inside, depth + 1))
    inside = inside.strip()
    name, colon, rest = inside.partition(':')
    if colon and '.' not in name.replace('oc.', '') and '[' not in name:
        return _resolve(name.strip(), rest, inside)
    if name.startswith('oc.') and colon:
        return _resolve(name, rest, inside)
    start = node._root()
    if inside.startswith('.'):
        start = node
        inside = inside[1:]
        while inside.startswith('.'):
            start = start._parent
            inside = inside[1:]
    value = start
    for part in inside.replace('[', '.').replace(']', '').split('.'):
        value = value[int(part)] if isinstance(value, ListConfig) else value[part]
    return value


def _resolve(name, rest, inside):
    if name in _resolvers:
        given = [_literal(part.strip()) for part in rest.split(',')] if rest else []
        return _resolvers[name](*given)
    if name == 'oc.select' or name == 'oc.create' or name == 'oc.decode':
        return _literal(rest)
    return _pellucid.symbol('${' + inside + '}', 'the environment or a resolver gives it')


# ---- the functions ----


def _merge_into(target, other):
    for key, value in other._content.items():
        old = target._content.get(key)
        if isinstance(old, DictConfig) and isinstance(value, DictConfig):
            _merge_into(old, value)
        else:
            target._content[key] = _node(value._raw() if isinstance(value, Container) else value, target)


class OmegaConf:
    @staticmethod
    def create(obj=None, parent=None, flags=None):
        if obj is None:
            return DictConfig({})
        if isinstance(obj, str):
            obj = _literal(obj)
            obj = {} if obj is None else {obj: None} if isinstance(obj, str) else obj
        return _node(obj, parent)

    structured = create

    @staticmethod
    def load(file_):
        text = file_.read() if hasattr(file_, 'read') else _pellucid.read_text(str(file_))
        if _pellucid.is_symbol(text):
            return _pellucid.unknown('OmegaConf.load', 'the text is not known')
        found = _pellucid.yaml_documents(text, True)
        value = found[0] if found else None
        return OmegaConf.create({} if value is None else value)

    @staticmethod
    def save(config, f, resolve=False):
        pass

    @staticmethod
    def from_dotlist(dotlist):
        made = DictConfig({})
        for one in dotlist:
            key, equals, value = one.partition('=')
            OmegaConf.update(made, key, _literal(value) if equals else None)
        return made

    @staticmethod
    def from_cli(args_list=None):
        if args_list is None:
            _pellucid.premise('the command line', 'taken to be empty: arguments have their defaults')
        return OmegaConf.from_dotlist(args_list or [])

    @staticmethod
    def merge(*configs):
        first = _node(configs[0], None)
        if isinstance(first, ListConfig):
            return _node(configs[-1], None)
        for other in configs[1:]:
            _merge_into(first, other if isinstance(other, Container) else _node(other, None))
        return first

    unsafe_merge = merge

    @staticmethod
    def update(cfg, key, value=None, merge=True, force_add=False):
        parts = key.replace('[', '.').replace(']', '').split('.')
        for part in parts[:-1]:
            if isinstance(cfg, ListConfig):
                cfg = cfg[int(part)]
                continue
            if not isinstance(cfg._content.get(part), Container):
                cfg[part] = {}
            cfg = cfg._content[part]
        last = int(parts[-1]) if isinstance(cfg, ListConfig) else parts[-1]
        cfg[last] = value

    @staticmethod
    def select(cfg, key, default=None, throw_on_resolution_failure=True, throw_on_missing=False):
        value = cfg
        for part in key.replace('[', '.').replace(']', '').split('.') if key else ():
            if isinstance(value, ListConfig):
                value = value[int(part)]
            elif isinstance(value, DictConfig) and part in value:
                value = value[part]
            else:
                return default
        return value

    @staticmethod
    def to_container(cfg, resolve=False, throw_on_missing=False, enum_to_str=False, structured_config_mode=None):
        if isinstance(cfg, DictConfig):
            return {key: OmegaConf._plain(cfg, key, resolve) for key in cfg._content}
        if isinstance(cfg, ListConfig):
            return [OmegaConf._plain(cfg, at, resolve) for at in range(len(cfg._content))]
        return cfg

    @staticmethod
    def _plain(cfg, key, resolve):
        value = cfg._content[key]
        if resolve and isinstance(value, str) and '${' in value:
            value = cfg[key]
        return OmegaConf.to_container(value, resolve) if isinstance(value, Container) else value

    @staticmethod
    def to_object(cfg):
        return OmegaConf.to_container(cfg, resolve=True)

    @staticmethod
    def to_yaml(cfg, resolve=False, sort_keys=False):
        return _pellucid.symbol('OmegaConf.to_yaml(...)', 'texts of YAML are not written')

    @staticmethod
    def resolve(cfg):
        for key in cfg._content if isinstance(cfg, DictConfig) else range(len(cfg._content)):
            value = cfg._content[key]
            if isinstance(value, Container):
                OmegaConf.resolve(value)
            elif isinstance(value, str) and '${' in value:
                cfg[key] = cfg[key]

    @staticmethod
    def is_config(obj):
        return isinstance(obj, Container)

    @staticmethod
    def is_dict(obj):
        return isinstance(obj, DictConfig)

    @staticmethod
    def is_list(obj):
        return isinstance(obj, ListConfig)

    @staticmethod
    def is_missing(cfg, key):
        return key in cfg._content and cfg._content[key] == MISSING

    @staticmethod
    def is_interpolation(cfg, key=None):
        value = cfg if key is None else cfg._content[key]
        return isinstance(value, str) and '${' in value

    @staticmethod
    def register_new_resolver(name, resolver, replace=False, use_cache=False):
        _resolvers[name] = resolver

    register_resolver = register_new_resolver

    @staticmethod
    def has_resolver(name):
        return name in _resolvers

    @staticmethod
    def clear_resolvers():
        _resolvers.clear()

    @staticmethod
    def set_struct(cfg, value):
        pass

    set_readonly = set_struct

    @staticmethod
    def is_struct(cfg):
        return False

    is_readonly = is_struct

    @staticmethod
    def masked_copy(cfg, keys):
        return DictConfig({key: cfg._raw()[key] for key in ([keys] if isinstance(keys, str) else keys)})


class _Nothing:
    def __enter__(self):
        return None

    def __exit__(self, *error):
        return False


def open_dict(config):
    return _Nothing()


read_write = open_dict


def flag_override(config, names, values):
    return _Nothing()


def II(interpolation):
    return '${' + interpolation + '}'


def SI(interpolation):
    return interpolation
