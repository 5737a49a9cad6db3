"""Constants of characters, and templates."""

import re

ascii_lowercase = 'abcdefghijklmnopqrstuvwxyz'
ascii_uppercase = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
ascii_letters = ascii_lowercase + ascii_uppercase
digits = '0123456789'
hexdigits = digits + 'abcdefABCDEF'
octdigits = '01234567'
punctuation = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'
whitespace = ' \t\n\r\v\f'
printable = digits + ascii_letters + punctuation + whitespace


def capwords(s, sep=None):
    return (sep or ' ').join([word.capitalize() for word in s.split(sep)])


class Template:
    def __init__(self, template):
        self.template = template

    def substitute(self, mapping=None, /, **kwargs):
        values = {**(mapping or {}), **kwargs}
        return re.sub(r'\$(?:(\$)|(\w+)|\{(\w+)\})', lambda m: '$' if m[1] else str(values[m[2] or m[3]]), self.template)

    def safe_substitute(self, mapping=None, /, **kwargs):
        values = {**(mapping or {}), **kwargs}
        return re.sub(r'\$(?:(\$)|(\w+)|\{(\w+)\})',
                      lambda m: '$' if m[1] else str(values.get(m[2] or m[3], m[0])), self.template)


class Formatter:
    def format(self, format_string, /, *args, **kwargs):
        return format_string.format(*args, **kwargs)

    def vformat(self, format_string, args, kwargs):
        return format_string.format(*args, **kwargs)
