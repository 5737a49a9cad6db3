"""Whether a module is there, without importing it."""

import sys

import _pellucid
from importlib.machinery import ModuleSpec


def find_spec(name, package=None):
    if name.startswith('.'):
        name = (package or '') + name
    if name in sys.modules:
        module = sys.modules[name]
        if module is not None:
            spec = ModuleSpec(name, origin=getattr(module, '__file__', None), is_package=hasattr(module, '__path__'))
            return spec
    found = _pellucid.find_module(name)
    if found is None:
        return None
    spec = ModuleSpec(name, origin=found[0], is_package=found[1])
    if found[1] and found[0]:
        spec.submodule_search_locations = [found[0].rpartition('/')[0]]
    return spec


def module_from_spec(spec):
    return _pellucid.new_module(spec.name)


def spec_from_file_location(name, location=None, *, loader=None, submodule_search_locations=None):
    return ModuleSpec(name, loader, origin=location)


def spec_from_loader(name, loader, *, origin=None, is_package=None):
    return ModuleSpec(name, loader, origin=origin)


def resolve_name(name, package):
    level = len(name) - len(name.lstrip('.'))
    if not level:
        return name
    return package.rsplit('.', level - 1)[0] + '.' + name[level:]


class LazyLoader:
    pass
