"""The operating system, from inside a closed room: files of the source roots can be read, nothing else is there."""

import sys
from abc import ABC

import _pellucid
from os import path
from os.path import curdir, pardir, sep, extsep, altsep, pathsep, devnull

name = 'posix'
linesep = '\n'
O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_EXCL = 0, 1, 2, 64, 512, 128
F_OK, R_OK, W_OK, X_OK = 0, 4, 2, 1
error = OSError


class _Environ(dict):
    def copy(self):
        return dict(self)

    def get(self, key, default=None):
        if key not in self:
            return default
        return self[key]

    def __contains__(self, key):
        there = dict.__contains__(self, key)
        if not there:
            _pellucid.premise(f'os.environ[{key!r}]', 'taken not to be set')
        return there


environ = _Environ()
environb = {}


def getenv(key, default=None):
    return environ.get(key, default)


def putenv(key, value):
    pass


unsetenv = putenv


class PathLike(ABC):
    @classmethod
    def __subclasshook__(cls, subclass):
        return hasattr(subclass, '__fspath__') if cls is PathLike else NotImplemented

    def __class_getitem__(cls, item):
        return cls


def fspath(p):
    return p if isinstance(p, (str, bytes)) else p.__fspath__()


def fsdecode(p):
    return fspath(p)


fsencode = fsdecode


def getcwd():
    return '.'


def unlisted(folder):
    """A folder of data: it may well be there when the program runs."""
    return _pellucid.unknown(f'os.listdir({folder!r})', 'there is no such folder in the roots')


def listdir(p='.'):
    folder = fspath(p)
    return _pellucid.list_dir(folder) if _pellucid.is_dir(folder) else unlisted(folder)


class DirEntry:
    def __init__(self, folder, name):
        self.name = name
        self.path = path.join(folder, name)

    def is_dir(self, *, follow_symlinks=True):
        return _pellucid.is_dir(self.path)

    def is_file(self, *, follow_symlinks=True):
        return _pellucid.is_file(self.path)

    def __fspath__(self):
        return self.path


class _Entries(list):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def scandir(p='.'):
    return _Entries([DirEntry(fspath(p), entry) for entry in listdir(p)])


def walk(top, topdown=True, onerror=None, followlinks=False):
    folders, files = [], []
    for entry in listdir(top) if path.isdir(top) else []:
        (folders if path.isdir(path.join(top, entry)) else files).append(entry)
    yield top, folders, files
    for folder in folders:
        for item in walk(path.join(top, folder)):
            yield item


def access(p, mode):
    return path.exists(p) and mode in (F_OK, R_OK)


def _refused(what):
    def function(*args, **kwargs):
        return _pellucid.unknown('os.' + what, 'nothing outside is touched')

    return function


for _name in ('system', 'popen', 'fork', 'kill', 'execv', 'execve', 'execvp', 'spawnv', 'getpid', 'getppid', 'getuid',
              'getlogin', 'stat', 'lstat', 'urandom', 'uname', 'sched_getaffinity', 'getloadavg', 'times',
              'readlink', 'statvfs', 'get_terminal_size', 'open', 'read', 'write', 'close', 'pipe'):
    globals()[_name] = _refused(_name)


def cpu_count():
    return _pellucid.symbol('os.cpu_count()', 'it depends on the machine')


process_cpu_count = cpu_count


def isatty(fd):
    return False


def _nothing(*args, **kwargs):
    return None


makedirs = mkdir = remove = unlink = rmdir = removedirs = rename = replace = link = symlink = chmod = chdir = _nothing
utime = truncate = nice = umask = setpgid = register_at_fork = add_dll_directory = fsync = _nothing


def _exit(status):
    raise SystemExit(status)


def abort():
    raise SystemExit(1)
