"""transformers' lazy packages, without the scan of every file that its own index makes.

The real module is interpreted; only what builds and reads the index of names is replaced: a name is looked for when it
is asked for, in the files that can have it.
"""

import sys
from os import path as _path
from types import ModuleType as _ModuleType

import _pellucid

if not hasattr(sys, 'meta_path'):
    sys.meta_path = []  # the package appends a finder of old names
_FILE = _path.join(_path.dirname(_pellucid.find_module('transformers')[0]), 'utils', 'import_utils.py')
__file__ = _FILE
exec(compile(_pellucid.read_text(_FILE), _FILE, 'exec'), globals())


class _Unread(dict):
    """The part of an import structure that nobody has read: where the files are."""

    folder = None
    prefix = ''


def define_import_structure(module_path, prefix=None):
    text = str(module_path)
    unread = _Unread()
    unread.folder = _path.dirname(text) if text.endswith('.py') else text
    unread.prefix = prefix + '.' if prefix else ''
    return {frozenset(): unread}


def _names_it(file, name):
    """Whether a file lists the name in its __all__."""
    _, found, listed = _pellucid.read_text(file).rpartition('\n__all__')
    return bool(found) and ('"%s"' % name in listed or "'%s'" % name in listed)


class _LazyModule(_ModuleType):
    def __init__(self, name, module_file, import_structure, module_spec=None, extra_objects=None,
                 explicit_import_shortcut=None):
        super().__init__(name)
        self._name = name
        self._objects = extra_objects or {}
        self._class_to_module = {}
        self._modules = set()
        self._folders = []
        self._listed = {}
        for key, part in import_structure.items():
            if isinstance(key, frozenset):
                if isinstance(part, _Unread):
                    self._folders.append((part.folder, part.prefix))
                entries = part
            else:
                entries = {key: part}
            for module, names in entries.items():
                self._modules.add(module)
                for item in names:
                    self._class_to_module[item] = module
        self._import_structure = import_structure
        self.__file__ = module_file
        self.__spec__ = module_spec
        self.__package__ = name
        self.__path__ = [_path.dirname(module_file)]

    def __dir__(self):
        return list(self.__dict__) + list(self._class_to_module) + list(self._modules)

    def __getattr__(self, name):
        if name.startswith('_'):
            if name in ('_objects', '_class_to_module', '_modules', '_folders'):
                raise AttributeError(name)
            if name in self._objects:
                return self._objects[name]
            if name == '__all__':
                return list(self._class_to_module) + list(self._modules)
            if name.startswith('__'):
                raise AttributeError(name)
        elif name in self._objects:
            return self._objects[name]
        module = self._class_to_module.get(name)
        if module is None and name in self._modules:
            value = _pellucid.import_module('.' + name, self.__name__)
        else:
            if module is None:
                module = self._find(name)
            if module is None:
                raise AttributeError('module %s has no attribute %s' % (self.__name__, name))
            if module == name:
                value = _pellucid.import_module('.' + name, self.__name__)
            else:
                value = getattr(_pellucid.import_module('.' + module, self.__name__), name)
        setattr(self, name, value)
        return value

    def _find(self, name):
        for folder, prefix in self._folders:
            entries = self._listed.get(folder)
            if entries is None:
                entries = self._listed[folder] = _pellucid.list_dir(folder)
            if name + '.py' in entries or name in entries:
                return prefix + name
            if name.islower():
                continue  # functions are imported from their modules
            found = self._in_files(folder, entries, name)
            if found is not None:
                return prefix + found
            found = self._in_packages(folder, entries, name)
            if found is not None:
                return prefix + found
        return None

    def _in_files(self, folder, entries, name):
        for entry in entries:
            if entry.endswith('.py') and entry != '__init__.py' and _names_it(_path.join(folder, entry), name):
                return entry[:-3]
        return None

    def _in_packages(self, folder, entries, name):
        """Packages whose name begins the wanted one come first, the longest before the others; then all."""
        lower = name.lower().replace('_', '')
        packages = [entry for entry in entries if '.' not in entry and not entry.startswith('_')]
        likely = [entry for entry in packages if lower.startswith(entry.replace('_', ''))]
        likely.sort(key=len, reverse=True)
        for package in likely + [entry for entry in packages if entry not in likely]:
            inside = _path.join(folder, package)
            if not _pellucid.is_dir(inside):
                continue
            found = self._in_files(inside, _pellucid.list_dir(inside), name)
            if found is not None:
                return package + '.' + found
        return None

    def _get_module(self, module_name):
        return _pellucid.import_module('.' + module_name, self.__name__)

    def __reduce__(self):
        return self._name


def direct_transformers_import(path, file='__init__.py'):
    return sys.modules['transformers']
