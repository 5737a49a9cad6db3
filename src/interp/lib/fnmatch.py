"""Patterns of file names."""

import re


def translate(pattern):
    result = ''
    i = 0
    n = len(pattern)
    while i < n:
        c = pattern[i]
        i += 1
        if c == '*':
            result += '.*'
        elif c == '?':
            result += '.'
        elif c == '[':
            j = i + 1 if i < n and pattern[i] in '!]' else i
            j = pattern.find(']', j)
            if j < 0:
                result += '\\['
            else:
                inside = pattern[i:j].replace('\\', '\\\\')
                i = j + 1
                result += '[' + ('^' + inside[1:] if inside.startswith('!') else inside) + ']'
        else:
            result += re.escape(c)
    return '(?s:' + result + ')\\Z'


def fnmatchcase(name, pattern):
    if '[' not in pattern and '?' not in pattern:  # the common kinds, without a regular expression
        parts = pattern.split('*')
        if len(parts) == 1:
            return name == pattern
        if not name.startswith(parts[0]):
            return False
        at = len(parts[0])
        for part in parts[1:-1]:
            at = name.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return name.endswith(parts[-1]) and len(name) - len(parts[-1]) >= at
    return re.match(translate(pattern), name) is not None


fnmatch = fnmatchcase


def filter(names, pattern):
    return [name for name in names if fnmatchcase(name, pattern)]
