"""The machine, as far as anybody may know."""


def system():
    return 'Linux'


def machine():
    return 'x86_64'


def python_version():
    return '3.11.7'


def python_version_tuple():
    return ('3', '11', '7')


def python_implementation():
    return 'CPython'


def platform(*args):
    return 'Linux-x86_64'


def node():
    return ''


release = version = processor = node


def uname():
    return ('Linux', '', '', '', 'x86_64')


def architecture(*args):
    return ('64bit', 'ELF')
