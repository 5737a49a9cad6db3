"""JSON."""

import _pellucid


class JSONDecodeError(ValueError):
    def __init__(self, msg, doc='', pos=0):
        ValueError.__init__(self, msg)
        self.msg = msg
        self.doc = doc
        self.pos = pos


class JSONDecoder:
    def __init__(self, **kwargs):
        pass

    def decode(self, text):
        return loads(text)


def loads(s, *, cls=None, object_hook=None, parse_float=None, parse_int=None, parse_constant=None, object_pairs_hook=None,
          **kwargs):
    if isinstance(s, (bytes, bytearray)):
        s = s.decode('utf-8')
    try:
        value = _pellucid.json_loads(s)
    except ValueError as error:
        raise JSONDecodeError(str(error), s, 0) from None
    if object_pairs_hook is not None:
        return _hooked(value, lambda d: object_pairs_hook(list(d.items())))
    return value if object_hook is None else _hooked(value, object_hook)


def _hooked(value, hook):
    if isinstance(value, dict):
        return hook({key: _hooked(item, hook) for key, item in value.items()})
    if isinstance(value, list):
        return [_hooked(item, hook) for item in value]
    return value


def load(fp, **kwargs):
    return loads(fp.read(), **kwargs)


_ESCAPES = {'"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\f': '\\f', '\b': '\\b'}


def _string(text, ascii):
    result = '"'
    for c in text:
        if c in _ESCAPES:
            result += _ESCAPES[c]
        elif c < ' ' or (ascii and c > '~'):
            code = ord(c)
            if code > 0xFFFF:
                code -= 0x10000
                result += '\\u%04x\\u%04x' % (0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
            else:
                result += '\\u%04x' % code
        else:
            result += c
    return result + '"'


class JSONEncoder:
    item_separator = ', '
    key_separator = ': '

    def __init__(self, *, skipkeys=False, ensure_ascii=True, check_circular=True, allow_nan=True, sort_keys=False,
                 indent=None, separators=None, default=None):
        self.ensure_ascii = ensure_ascii
        self.sort_keys = sort_keys
        self.indent = indent
        if separators is not None:
            self.item_separator, self.key_separator = separators
        elif indent is not None:
            self.item_separator = ','
        if default is not None:
            self.default = default

    def default(self, o):
        raise TypeError('Object of type %s is not JSON serializable' % type(o).__name__)

    def encode(self, o):
        return self._encode(o, 0)

    def iterencode(self, o):
        yield self.encode(o)

    def _encode(self, o, level):
        if o is None:
            return 'null'
        if o is True:
            return 'true'
        if o is False:
            return 'false'
        if isinstance(o, str):
            return _string(o, self.ensure_ascii)
        if isinstance(o, int):
            return int.__repr__(o)
        if isinstance(o, float):
            return 'NaN' if o != o else 'Infinity' if o == float('inf') else '-Infinity' if o == -float('inf') else float.__repr__(o)
        if isinstance(o, (list, tuple)):
            return self._block('[', ']', [self._encode(item, level + 1) for item in o], level)
        if isinstance(o, dict):
            items = sorted(o.items()) if self.sort_keys else o.items()
            return self._block('{', '}', [_string(_key(k), self.ensure_ascii) + self.key_separator + self._encode(v, level + 1)
                                          for k, v in items], level)
        return self._encode(self.default(o), level)

    def _block(self, opening, closing, parts, level):
        if not parts:
            return opening + closing
        if self.indent is None:
            return opening + self.item_separator.join(parts) + closing
        step = self.indent if isinstance(self.indent, str) else ' ' * self.indent
        inner = '\n' + step * (level + 1)
        return opening + inner + (self.item_separator + inner).join(parts) + '\n' + step * level + closing


def _key(k):
    if isinstance(k, str):
        return k
    return {True: 'true', False: 'false', None: 'null'}[k] if k is None or isinstance(k, bool) else repr(k)


def dumps(obj, *, cls=None, **kwargs):
    return (cls or JSONEncoder)(**kwargs).encode(obj)


def dump(obj, fp, **kwargs):
    fp.write(dumps(obj, **kwargs))


from json import decoder, encoder
