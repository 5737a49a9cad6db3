"""Regular expressions: the face of the native matcher, which gives spans."""

import _pellucid

A = ASCII = 256
I = IGNORECASE = 2
L = LOCALE = 4
M = MULTILINE = 8
S = DOTALL = 16
U = UNICODE = 32
X = VERBOSE = 64
T = TEMPLATE = 1
DEBUG = 128
NOFLAG = 0
RegexFlag = int


class error(Exception):
    def __init__(self, msg, pattern=None, pos=None):
        Exception.__init__(self, msg)
        self.msg = msg
        self.pattern = pattern
        self.pos = pos


PatternError = error


class Match:
    def __init__(self, pattern, string, spans, pos, endpos):
        self.re = pattern
        self.string = string
        self._spans = spans
        self.pos = pos
        self.endpos = endpos

    def _index(self, group):
        if isinstance(group, str):
            if group not in self.re.groupindex:
                raise IndexError('no such group')
            return self.re.groupindex[group]
        if group < 0 or group > self.re.groups:
            raise IndexError('no such group')
        return group

    def _get(self, group, default=None):
        i = self._index(group) * 2
        start = self._spans[i]
        return default if start < 0 else self.string[start:self._spans[i + 1]]

    def group(self, *groups):
        if not groups:
            return self._get(0)
        if len(groups) == 1:
            return self._get(groups[0])
        return tuple([self._get(g) for g in groups])

    def __getitem__(self, group):
        return self._get(group)

    def groups(self, default=None):
        return tuple([self._get(i, default) for i in range(1, self.re.groups + 1)])

    def groupdict(self, default=None):
        return {name: self._get(i, default) for name, i in self.re.groupindex.items()}

    def start(self, group=0):
        return self._spans[self._index(group) * 2]

    def end(self, group=0):
        return self._spans[self._index(group) * 2 + 1]

    def span(self, group=0):
        i = self._index(group) * 2
        return self._spans[i], self._spans[i + 1]

    @property
    def lastindex(self):
        last = None
        for i in range(1, self.re.groups + 1):
            if self._spans[2 * i] >= 0:
                last = i
        return last

    @property
    def lastgroup(self):
        for name, i in self.re.groupindex.items():
            if i == self.lastindex:
                return name
        return None

    def expand(self, template):
        return _expand(self, _template(template))

    def __bool__(self):
        return True

    def __repr__(self):
        return '<re.Match object; span=%r, match=%r>' % (self.span(), self.group())


def _template(text):
    """A replacement as a list of strings and group names."""
    if '\\' not in text:
        return [text]
    parts = []
    plain = ''
    i = 0
    n = len(text)
    while i < n:
        c = text[i]
        if c != '\\' or i + 1 == n:
            plain += c
            i += 1
            continue
        d = text[i + 1]
        i += 2
        if d == 'g' and i < n and text[i] == '<':
            end = text.index('>', i)
            name = text[i + 1:end]
            parts.append(plain)
            plain = ''
            parts.append((int(name) if name.isdigit() else name,))
            i = end + 1
        elif d.isdigit() and d != '0':
            number = d
            if i < n and text[i].isdigit():
                number += text[i]
                i += 1
            parts.append(plain)
            plain = ''
            parts.append((int(number),))
        else:
            plain += {'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'v': '\v', 'a': '\a', 'b': '\b', '\\': '\\', '0': '\0'}.get(d, '\\' + d)
    parts.append(plain)
    return parts


def _expand(match, parts):
    return ''.join([part if isinstance(part, str) else match._get(part[0], '') for part in parts])


class Pattern:
    def __init__(self, pattern, flags):
        self.pattern = pattern
        self.flags = flags | UNICODE
        self._native = _pellucid.regex(pattern, int(flags))
        self.groups = self._native.groups
        self.groupindex = self._native.groupindex

    def _made(self, spans, string, pos, endpos):
        return None if spans is None else Match(self, string, spans, pos, endpos)

    def search(self, string, pos=0, endpos=None):
        endpos = len(string) if endpos is None else endpos
        return self._made(self._native.search(string, pos, endpos), string, pos, endpos)

    def match(self, string, pos=0, endpos=None):
        endpos = len(string) if endpos is None else endpos
        return self._made(self._native.match(string, pos, endpos), string, pos, endpos)

    def fullmatch(self, string, pos=0, endpos=None):
        endpos = len(string) if endpos is None else endpos
        return self._made(self._native.fullmatch(string, pos, endpos), string, pos, endpos)

    def finditer(self, string, pos=0, endpos=None):
        endpos = len(string) if endpos is None else endpos
        last = -1
        while pos <= endpos:
            spans = self._native.search(string, pos, endpos)
            if spans is None:
                return
            if spans[1] == spans[0] == last:  # an empty match where the last one ended
                pos += 1
                last = -1
                continue
            yield Match(self, string, spans, pos, endpos)
            last = spans[1]
            pos = spans[1] if spans[1] > spans[0] else spans[1] + 1

    def findall(self, string, pos=0, endpos=None):
        result = []
        for match in self.finditer(string, pos, endpos):
            if self.groups == 0:
                result.append(match.group())
            elif self.groups == 1:
                result.append(match._get(1, ''))
            else:
                result.append(match.groups(''))
        return result

    def sub(self, repl, string, count=0):
        return self.subn(repl, string, count)[0]

    def subn(self, repl, string, count=0):
        parts = None if callable(repl) else _template(repl)
        result = []
        at = 0
        n = 0
        for match in self.finditer(string):
            start, end = match.span()
            result.append(string[at:start])
            result.append(repl(match) if parts is None else _expand(match, parts))
            at = end
            n += 1
            if n == count:
                break
        result.append(string[at:])
        return ''.join(result), n

    def split(self, string, maxsplit=0):
        result = []
        at = 0
        n = 0
        for match in self.finditer(string):
            if maxsplit and n >= maxsplit:
                break
            start, end = match.span()
            result.append(string[at:start])
            result.extend(match.groups())
            at = end
            n += 1
        result.append(string[at:])
        return result

    def __repr__(self):
        return 're.compile(%r)' % self.pattern

    def __deepcopy__(self, memo):
        return self

    def __eq__(self, other):
        return isinstance(other, Pattern) and self.pattern == other.pattern and self.flags == other.flags

    def __hash__(self):
        return hash(self.pattern)

    def __class_getitem__(cls, item):
        return cls


_cache = {}


def compile(pattern, flags=0):
    if isinstance(pattern, Pattern):
        return pattern
    key = (pattern, int(flags))
    if key not in _cache:
        _cache[key] = Pattern(pattern, int(flags))
    return _cache[key]


def search(pattern, string, flags=0):
    return compile(pattern, flags).search(string)


def match(pattern, string, flags=0):
    return compile(pattern, flags).match(string)


def fullmatch(pattern, string, flags=0):
    return compile(pattern, flags).fullmatch(string)


def findall(pattern, string, flags=0):
    return compile(pattern, flags).findall(string)


def finditer(pattern, string, flags=0):
    return compile(pattern, flags).finditer(string)


def sub(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).sub(repl, string, count)


def subn(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).subn(repl, string, count)


def split(pattern, string, maxsplit=0, flags=0):
    return compile(pattern, flags).split(string, maxsplit)


def escape(pattern):
    return ''.join(['\\' + c if c in '()[]{}?*+-|^$\\.&~# \t\n\r\v\f' else c for c in pattern])


def purge():
    _cache.clear()
