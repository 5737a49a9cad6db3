"""Names of packages with conditions on their versions."""

from packaging.specifiers import SpecifierSet


class InvalidRequirement(ValueError):
    pass


class Requirement:
    def __init__(self, text):
        name = text
        for i, c in enumerate(text):
            if c in '<>=!~ ;[':
                name = text[:i]
                break
        self.name = name.strip()
        self.specifier = SpecifierSet(text[len(name):].partition(';')[0])
        self.marker = None
        self.extras = set()
