"""Paths as text."""

import _pellucid

curdir = '.'
pardir = '..'
sep = '/'
extsep = '.'
altsep = None
pathsep = ':'
devnull = '/dev/null'
supports_unicode_filenames = True


def _text(p):
    return p if isinstance(p, (str, bytes)) else p.__fspath__()


def join(a, *parts):
    result = _text(a)
    for part in parts:
        part = _text(part)
        if part.startswith('/'):
            result = part
        elif not result or result.endswith('/'):
            result += part
        else:
            result += '/' + part
    return result


def split(p):
    p = _text(p)
    i = p.rfind('/') + 1
    head, tail = p[:i], p[i:]
    if head and head != '/' * len(head):
        head = head.rstrip('/')
    return head, tail


def basename(p):
    return split(p)[1]


def dirname(p):
    return split(p)[0]


def splitext(p):
    p = _text(p)
    i = p.rfind('.')
    start = p.rfind('/') + 1
    if i <= start or not p[start:i].strip('.'):
        return p, ''
    return p[:i], p[i:]


def splitdrive(p):
    return '', _text(p)


def isabs(p):
    return _text(p).startswith('/')


def normpath(p):
    p = _text(p)
    if not p:
        return '.'
    root = '/' if p.startswith('/') else ''
    parts = []
    for part in p.split('/'):
        if part in ('', '.'):
            continue
        if part == '..' and parts and parts[-1] != '..':
            parts.pop()
        elif part != '..' or not root:
            parts.append(part)
    return root + '/'.join(parts) or '.'


def abspath(p):
    return normpath(p)  # where a script is started is "."


realpath = abspath


def normcase(p):
    return _text(p)


def expanduser(p):
    p = _text(p)
    return '/home' + p[1:] if p == '~' or p.startswith('~/') else p


def expandvars(p):
    return _text(p)


def _there(p, found):
    if not found:
        _pellucid.premise(f'{p}', 'taken not to be there: it is not in the roots')
    return found


def exists(p):
    p = _text(p)
    return _there(p, _pellucid.is_file(p) or _pellucid.is_dir(p))


lexists = exists


def isfile(p):
    return _there(_text(p), _pellucid.is_file(_text(p)))


def isdir(p):
    return _pellucid.is_dir(_text(p))


def islink(p):
    return False


ismount = islink


def samefile(a, b):
    return abspath(a) == abspath(b)


def getsize(p):
    return len(_pellucid.read_bytes(_text(p)))


def getmtime(p):
    return _pellucid.unknown('time of a file', 'the clock is not read')


getctime = getatime = getmtime


def relpath(p, start='.'):
    a = [part for part in abspath(start).split('/') if part]
    b = [part for part in abspath(p).split('/') if part]
    i = 0
    while i < min(len(a), len(b)) and a[i] == b[i]:
        i += 1
    return '/'.join(['..'] * (len(a) - i) + b[i:]) or '.'


def commonprefix(paths):
    if not paths:
        return ''
    low, high = min(paths), max(paths)
    for i, c in enumerate(low):
        if c != high[i]:
            return low[:i]
    return low


def commonpath(paths):
    split_paths = [_text(p).split('/') for p in paths]
    result = []
    for parts in zip(*split_paths):
        if len(set(parts)) != 1:
            break
        result.append(parts[0])
    return '/'.join(result) or '/'
