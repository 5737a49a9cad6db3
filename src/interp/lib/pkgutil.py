"""Data and modules of packages."""

from os import path

import _pellucid


def get_data(package, resource):
    found = _pellucid.find_module(package)
    if found is None:
        return None
    return _pellucid.read_bytes(path.join(path.dirname(found[0]), resource))


class ModuleInfo(tuple):
    @property
    def module_finder(self):
        return self[0]

    @property
    def name(self):
        return self[1]

    @property
    def ispkg(self):
        return self[2]


def iter_modules(paths=None, prefix=''):
    for folder in paths or ():
        for entry in sorted(_pellucid.list_dir(folder)):
            if entry.endswith('.py') and entry != '__init__.py':
                yield ModuleInfo((None, prefix + entry[:-3], False))
            elif _pellucid.is_file(path.join(folder, entry, '__init__.py')):
                yield ModuleInfo((None, prefix + entry, True))


def walk_packages(paths=None, prefix='', onerror=None):
    for info in iter_modules(paths, prefix):
        yield info
        if info.ispkg:
            module = _pellucid.import_module(info.name)
            for inner in walk_packages(list(module.__path__), info.name + '.'):
                yield inner


def extend_path(paths, name):
    return paths


def find_loader(name):
    return _pellucid.find_module(name)


def resolve_name(name):
    module, _, attributes = name.partition(':')
    value = _pellucid.import_module(module)
    for attribute in attributes.split('.') if attributes else ():
        value = getattr(value, attribute)
    return value
