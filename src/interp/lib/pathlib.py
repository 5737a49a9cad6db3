"""Paths as objects."""

import fnmatch
import io
import os
from os import path as _path

import _pellucid


class PurePath:
    def __init__(self, *parts):
        text = _path.join(*[os.fspath(part) for part in parts]) if parts else '.'
        root = '/' if text.startswith('/') else ''
        self._text = root + '/'.join([part for part in text.split('/') if part and part != '.']) or '.'

    def __fspath__(self):
        return self._text

    __str__ = __fspath__

    def as_posix(self):
        return self._text

    def as_uri(self):
        return 'file://' + self._text

    def __repr__(self):
        return '%s(%r)' % (type(self).__name__, self._text)

    def __truediv__(self, other):
        return type(self)(self._text, other)

    def __rtruediv__(self, other):
        return type(self)(other, self._text)

    def joinpath(self, *others):
        return type(self)(self._text, *others)

    def __eq__(self, other):
        return isinstance(other, PurePath) and self._text == other._text

    def __lt__(self, other):
        return self._text < other._text

    def __hash__(self):
        return hash(self._text)

    @property
    def parts(self):
        parts = tuple([part for part in self._text.split('/') if part])
        return ('/',) + parts if self._text.startswith('/') else parts

    @property
    def name(self):
        return '' if self._text in ('/', '.') else self._text.rpartition('/')[2]

    @property
    def stem(self):
        return _path.splitext(self.name)[0]

    @property
    def suffix(self):
        return _path.splitext(self.name)[1]

    @property
    def suffixes(self):
        return ['.' + part for part in self.name.lstrip('.').split('.')[1:]]

    @property
    def parent(self):
        head = _path.dirname(self._text)
        return type(self)(head or ('/' if self._text.startswith('/') else '.'))

    @property
    def parents(self):
        result = []
        current = self
        while current.parent != current:
            current = current.parent
            result.append(current)
        return result

    @property
    def anchor(self):
        return '/' if self._text.startswith('/') else ''

    root = anchor
    drive = ''

    def is_absolute(self):
        return self._text.startswith('/')

    def with_suffix(self, suffix):
        return type(self)(_path.splitext(self._text)[0] + suffix)

    def with_name(self, name):
        return self.parent / name

    def with_stem(self, stem):
        return self.with_name(stem + self.suffix)

    def relative_to(self, *other):
        base = type(self)(*other)._text
        if base == '.':
            return self
        if self._text == base:
            return type(self)('.')
        if not self._text.startswith(base.rstrip('/') + '/'):
            raise ValueError('%r is not in the subpath of %r' % (self._text, base))
        return type(self)(self._text[len(base.rstrip('/')) + 1:])

    def is_relative_to(self, *other):
        base = type(self)(*other)._text
        return self._text == base or self._text.startswith(base.rstrip('/') + '/')

    def match(self, pattern):
        return fnmatch.fnmatchcase(self._text, pattern) or fnmatch.fnmatchcase(self.name, pattern)


class Path(PurePath):
    @classmethod
    def cwd(cls):
        return cls('.')

    @classmethod
    def home(cls):
        return cls('/home')

    def exists(self, **kwargs):
        return _path.exists(self._text)

    def is_file(self, **kwargs):
        return _path.isfile(self._text)

    def is_dir(self, **kwargs):
        return _path.isdir(self._text)

    def is_symlink(self):
        return False

    def resolve(self, strict=False):
        return type(self)(_path.abspath(self._text))

    absolute = resolve

    def expanduser(self):
        return type(self)(_path.expanduser(self._text))

    def read_text(self, encoding=None, errors=None):
        return _pellucid.read_text(self._text)

    def read_bytes(self):
        return _pellucid.read_bytes(self._text)

    def open(self, mode='r', buffering=-1, encoding=None, errors=None, newline=None):
        return open(self._text, mode)

    def write_text(self, data, *args, **kwargs):
        return len(data)

    write_bytes = write_text

    def iterdir(self):
        return os.unlisted(self._text) if not self.is_dir() else (self / entry for entry in _pellucid.list_dir(self._text))

    def glob(self, pattern):
        return os.unlisted(self._text) if not self.is_dir() else self._matches(pattern)

    def _matches(self, pattern):
        first, slash, rest = pattern.partition('/')
        if first == '**':
            for folder in self._folders():
                for found in folder.glob(rest or '*'):
                    yield found
            return
        for entry in sorted(_pellucid.list_dir(self._text)):
            if fnmatch.fnmatchcase(entry, first):
                child = self / entry
                if not slash:
                    yield child
                elif child.is_dir():
                    for found in child.glob(rest):
                        yield found

    def rglob(self, pattern):
        return self.glob('**/' + pattern)

    def _folders(self):
        yield self
        for child in self.iterdir():
            if child.is_dir():
                for folder in child._folders():
                    yield folder

    def stat(self):
        return _pellucid.unknown('Path.stat', 'the file system is not looked at')

    def mkdir(self, *args, **kwargs):
        pass

    unlink = rmdir = touch = rename = replace = symlink_to = chmod = mkdir


PosixPath = Path
PurePosixPath = PurePath
WindowsPath = PureWindowsPath = PurePath
