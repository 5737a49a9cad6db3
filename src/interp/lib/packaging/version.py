"""Versions that can be compared."""


class InvalidVersion(ValueError):
    pass


_MARKS = {'dev': -4, 'a': -3, 'alpha': -3, 'b': -2, 'beta': -2, 'rc': -1, 'c': -1, 'pre': -1, 'post': 1}


class Version:
    def __init__(self, version):
        text = str(version).strip().lower().lstrip('v')
        self._text = text
        public, _, self.local = text.partition('+')
        release = []
        mark = (0, 0)
        rest = public
        while rest:
            number, rest = _digits(rest)
            if number is None:
                break
            release.append(number)
            if not rest.startswith('.') or not rest[1:2].isdigit():
                break
            rest = rest[1:]
        if not release:
            raise InvalidVersion("Invalid version: '%s'" % version)
        rest = rest.lstrip('.-_')
        name = ''
        while rest and rest[0].isalpha():
            name += rest[0]
            rest = rest[1:]
        if name:
            if name not in _MARKS:
                raise InvalidVersion("Invalid version: '%s'" % version)
            mark = (_MARKS[name], _digits(rest.lstrip('.-_'))[0] or 0)
        self.release = tuple(release)
        self._mark = mark
        trimmed = list(release)
        while len(trimmed) > 1 and trimmed[-1] == 0:
            trimmed.pop()
        self._key = (tuple(trimmed), mark)

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
        return '.'.join([str(n) for n in self.release])

    @property
    def public(self):
        return self._text.partition('+')[0]

    @property
    def is_prerelease(self):
        return self._mark[0] < 0

    @property
    def is_devrelease(self):
        return self._mark[0] == -4

    @property
    def is_postrelease(self):
        return self._mark[0] > 0

    def __str__(self):
        return self._text

    def __repr__(self):
        return "<Version('%s')>" % self._text

    def __hash__(self):
        return hash(self._key)

    def __eq__(self, other):
        return isinstance(other, Version) and self._key == other._key

    def __lt__(self, other):
        return self._key < other._key

    def __le__(self, other):
        return self._key <= other._key

    def __gt__(self, other):
        return self._key > other._key

    def __ge__(self, other):
        return self._key >= other._key


def _digits(text):
    n = 0
    while n < len(text) and text[n].isdigit():
        n += 1
    return (int(text[:n]), text[n:]) if n else (None, text)


def parse(version):
    return Version(version)


LegacyVersion = Version
