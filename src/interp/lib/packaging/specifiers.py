"""Conditions on versions."""

from packaging.version import Version


class InvalidSpecifier(ValueError):
    pass


class SpecifierSet:
    def __init__(self, specifiers='', prereleases=None):
        self._parts = []
        for part in str(specifiers).split(','):
            part = part.strip()
            for sign in ('==', '!=', '<=', '>=', '~=', '<', '>'):
                if part.startswith(sign):
                    self._parts.append((sign, Version(part[len(sign):].strip().replace('.*', ''))))
                    break

    def contains(self, version, prereleases=None):
        v = version if isinstance(version, Version) else Version(version)
        for sign, other in self._parts:
            if not {'==': v == other, '!=': v != other, '<=': v <= other, '>=': v >= other, '~=': v >= other,
                    '<': v < other, '>': v > other}[sign]:
                return False
        return True

    __contains__ = contains

    def filter(self, versions, prereleases=None):
        return [v for v in versions if self.contains(v)]


Specifier = SpecifierSet
