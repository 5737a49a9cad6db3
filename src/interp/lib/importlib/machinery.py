"""Specifications of modules."""

SOURCE_SUFFIXES = ['.py']
BYTECODE_SUFFIXES = ['.pyc']
EXTENSION_SUFFIXES = ['.so']


class ModuleSpec:
    def __init__(self, name, loader=None, *, origin=None, loader_state=None, is_package=None):
        self.name = name
        self.loader = loader
        self.origin = origin
        self.submodule_search_locations = [] if is_package else None
        self.parent = name if is_package else name.rpartition('.')[0]
        self.has_location = origin is not None


class SourceFileLoader:
    def __init__(self, fullname, path):
        self.name = fullname
        self.path = path


ExtensionFileLoader = SourcelessFileLoader = NamespaceLoader = SourceFileLoader


class FileFinder:
    def __init__(self, path, *loader_details):
        self.path = path

    def find_spec(self, fullname, target=None):
        return None


class PathFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        from importlib.util import find_spec
        return find_spec(fullname)


BuiltinImporter = FrozenImporter = PathFinder


def all_suffixes():
    return ['.py', '.pyc', '.so']
