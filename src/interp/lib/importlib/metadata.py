"""Versions of what is installed: the names of the *.dist-info folders in the source roots."""

import sys

import _pellucid


class PackageNotFoundError(ModuleNotFoundError):
    pass


_versions = {}

# Distributions whose modules are modelled beside this file: they count as installed where no root has them.
_modelled = {'regex': '2026.1.1', 'numpy': '2.2.0', 'pyyaml': '6.0.2', 'tqdm': '4.67.1', 'packaging': '25.0',
             'filelock': '3.20.0', 'requests': '2.32.0'}


def _canonical(name):
    return name.lower().replace('-', '_').replace('.', '_')


def _roots():
    """Where modules come from: the path, or the folders of the packages that are imported."""
    roots = list(sys.path)
    for name, module in list(sys.modules.items()):
        file = getattr(module, '__file__', None)
        if '.' not in name and isinstance(file, str) and file.startswith('/'):
            folder = file.rpartition('/')[0]
            if file.endswith('/__init__.py'):
                folder = folder.rpartition('/')[0]
            if folder not in roots:
                roots.append(folder)
    return roots


def _table():
    if not _versions:
        _versions['_'] = None
        for root in _roots():
            try:
                entries = _pellucid.list_dir(root)
            except OSError:
                continue
            for entry in entries:
                if entry.endswith('.dist-info'):
                    name, _, version = entry[:-10].rpartition('-')
                    _versions[_canonical(name)] = version
    return _versions


def version(distribution_name):
    name = _canonical(distribution_name)
    found = _table().get(name) or _modelled.get(name)
    if found is None:
        raise PackageNotFoundError(distribution_name)
    return found


class Distribution:
    def __init__(self, name):
        self.name = name
        self.version = version(name)
        self.metadata = {'Name': name, 'Version': self.version}
        self.requires = []
        self.entry_points = []


def distribution(name):
    return Distribution(name)


def metadata(name):
    return Distribution(name).metadata


def distributions(**kwargs):
    return []


def requires(name):
    return []


def files(name):
    return []


class EntryPoints(list):
    def select(self, **kwargs):
        return []


def entry_points(**kwargs):
    return EntryPoints()


class _Packages(dict):
    """Import names are taken to be distribution names."""

    def __missing__(self, key):
        return [key]

    def get(self, key, default=None):
        return [key] if _canonical(key) in _table() else default

    def __contains__(self, key):
        return _canonical(key) in _table()


def packages_distributions():
    result = _Packages()
    for name in _table():
        if name != '_':
            result[name] = [name]
    return result
