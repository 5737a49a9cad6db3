"""Streams in memory."""

import _pellucid

SEEK_SET, SEEK_CUR, SEEK_END = 0, 1, 2
DEFAULT_BUFFER_SIZE = 8192


class IOBase:
    closed = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.closed = True

    def flush(self):
        pass

    def readable(self):
        return True

    writable = seekable = readable

    def isatty(self):
        return False


class _Memory(IOBase):
    def __init__(self, initial=None):
        self._data = self._empty if initial is None else initial
        self._at = 0

    def read(self, n=-1):
        end = len(self._data) if n is None or n < 0 else self._at + n
        part = self._data[self._at:end]
        self._at += len(part)
        return part

    def readline(self, *args):
        end = self._data.find(self._newline, self._at) + 1
        return self.read((end or len(self._data)) - self._at)

    def readlines(self):
        return list(self)

    def __iter__(self):
        while True:
            line = self.readline()
            if not line:
                return
            yield line

    def write(self, text):
        self._data = self._data[:self._at] + text + self._data[self._at + len(text):]
        self._at += len(text)
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def getvalue(self):
        return self._data

    getbuffer = getvalue

    def seek(self, offset, whence=0):
        self._at = offset if whence == 0 else self._at + offset if whence == 1 else len(self._data) + offset
        return self._at

    def tell(self):
        return self._at

    def truncate(self, size=None):
        self._data = self._data[:self._at if size is None else size]


class StringIO(_Memory):
    _empty = ''
    _newline = '\n'

    def __init__(self, initial=None, newline='\n'):
        _Memory.__init__(self, initial)


class BytesIO(_Memory):
    _empty = b''
    _newline = b'\n'


class TextIOWrapper(StringIO):
    pass


class UnsupportedOperation(OSError, ValueError):
    pass


RawIOBase = BufferedIOBase = TextIOBase = BufferedReader = BufferedWriter = FileIO = IOBase


def open(file, mode='r', *args, **kwargs):
    if 'w' in mode or 'a' in mode or 'x' in mode:  # what is written goes nowhere
        return BytesIO() if 'b' in mode else StringIO()
    if hasattr(file, '__fspath__'):
        file = file.__fspath__()
    if isinstance(file, str) and not _pellucid.is_symbol(file) and not _pellucid.is_file(file):
        _pellucid.premise('open(%r)' % file, 'there is no such file in the roots')
    if 'b' in mode:
        return BytesIO(_pellucid.read_bytes(file))
    return StringIO(_pellucid.read_text(file))
