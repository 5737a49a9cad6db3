"""Versions as PEP 440 has them: parts, order, and how they are written."""


class InvalidVersion(ValueError):
    pass


_PRE = {'a': 'a', 'alpha': 'a', 'b': 'b', 'beta': 'b', 'c': 'rc', 'rc': 'rc', 'pre': 'rc', 'preview': 'rc'}
_POST = {'post': 'post', 'rev': 'post', 'r': 'post'}
_DEV = {'dev': 'dev'}
_FIRST, _LAST = (-1,), (1,)  # before and after every part that a version can have


def _digits(text):
    n = 0
    while n < len(text) and '0' <= text[n] <= '9':
        n += 1
    return (int(text[:n]), text[n:]) if n else (None, text)


def _marked(rest, names):
    """A part such as "rc1", ".post2", "-dev": what it is called, its number, the rest."""
    body = rest[1:] if rest and rest[0] in ('.', '-', '_') else rest
    word = max([name for name in names if body.startswith(name)], key=len, default=None)
    if word is None:
        return None, rest
    after = body[len(word) :]
    if after and after[0] in ('.', '-', '_'):
        after = after[1:]
    number, after = _digits(after)
    return (names[word], number or 0), after


def _local(text):
    parts = text.replace('-', '.').replace('_', '.').split('.')
    for part in parts:
        if not part or not all(['a' <= c <= 'z' or '0' <= c <= '9' for c in part]):
            return None
    return '.'.join([str(int(part)) if part.isdigit() else part for part in parts])


class Version:
    def __init__(self, version):
        text = version.strip().lower()
        rest, plus, local = (text[1:] if text.startswith('v') else text).partition('+')
        self.epoch, self.pre, self.post, self.dev, self.local = 0, None, None, None, None
        number, after = _digits(rest)
        if number is not None and after.startswith('!'):
            self.epoch = number
            number, after = _digits(after[1:])
        release = []
        while number is not None:
            release.append(number)
            rest = after
            number, after = _digits(after[1:]) if after.startswith('.') else (None, after)
        self.release = tuple(release)
        if release:
            rest = self._read_marks(rest)
            self.local = _local(local) if plus else None
        if not release or rest or (plus and self.local is None):
            raise InvalidVersion("Invalid version: '%s'" % version)
        self._key = self._order()

    def _read_marks(self, rest):
        self.pre, rest = _marked(rest, _PRE)
        number, after = _digits(rest[1:]) if rest.startswith('-') else (None, rest)
        if number is not None:
            self.post, rest = number, after
        else:
            found, rest = _marked(rest, _POST)
            self.post = found[1] if found else None
        found, rest = _marked(rest, _DEV)
        self.dev = found[1] if found else None
        return rest

    def _order(self):
        trimmed = list(self.release)
        while len(trimmed) > 1 and trimmed[-1] == 0:
            trimmed.pop()
        is_bare = self.pre is None and self.post is None and self.dev is not None
        pre = _FIRST if is_bare else _LAST if self.pre is None else (0,) + self.pre
        post = _FIRST if self.post is None else (0, self.post)
        dev = _LAST if self.dev is None else (0, self.dev)
        local = (_FIRST,)
        if self.local is not None:
            local = tuple([(1, int(part)) if part.isdigit() else (0, part) for part in self.local.split('.')])
        return self.epoch, tuple(trimmed), pre, post, dev, local

    @property
    def major(self):
        return self.release[0]

    @property
    def minor(self):
        return self.release[1] if len(self.release) > 1 else 0

    @property
    def micro(self):
        return self.release[2] if len(self.release) > 2 else 0

    @property
    def base_version(self):
        release = '.'.join([str(n) for n in self.release])
        return f'{self.epoch}!{release}' if self.epoch else release

    @property
    def public(self):
        return str(self).partition('+')[0]

    @property
    def is_prerelease(self):
        return self.pre is not None or self.dev is not None

    @property
    def is_devrelease(self):
        return self.dev is not None

    @property
    def is_postrelease(self):
        return self.post is not None

    def __str__(self):
        text = self.base_version
        if self.pre is not None:
            text += f'{self.pre[0]}{self.pre[1]}'
        if self.post is not None:
            text += f'.post{self.post}'
        if self.dev is not None:
            text += f'.dev{self.dev}'
        return text if self.local is None else f'{text}+{self.local}'

    def __repr__(self):
        return f"<Version('{self}')>"

    def __hash__(self):
        return hash(self._key)

    def __eq__(self, other):
        return self._key == other._key if isinstance(other, Version) else NotImplemented

    def __lt__(self, other):
        return self._key < other._key if isinstance(other, Version) else NotImplemented

    def __le__(self, other):
        return self._key <= other._key if isinstance(other, Version) else NotImplemented

    def __gt__(self, other):
        return self._key > other._key if isinstance(other, Version) else NotImplemented

    def __ge__(self, other):
        return self._key >= other._key if isinstance(other, Version) else NotImplemented


def parse(version):
    return Version(version)


LegacyVersion = Version
