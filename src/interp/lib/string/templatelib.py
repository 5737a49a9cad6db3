"""What a t-string makes: its texts, one more of them than fields, and its fields with their values."""


class Interpolation:
    __match_args__ = ('value', 'expression', 'conversion', 'format_spec')

    def __init__(self, value, expression='', conversion=None, format_spec=''):
        self.value = value
        self.expression = expression
        self.conversion = conversion
        self.format_spec = format_spec


class Template:
    def __init__(self, *args):
        strings, interpolations = [''], []
        for arg in args:
            if isinstance(arg, str):
                strings[-1] += arg
            elif isinstance(arg, Interpolation):
                interpolations.append(arg)
                strings.append('')
            else:
                raise TypeError('Template.__new__ *args need to be of type \'str\' or \'Interpolation\'')
        self.strings = tuple(strings)
        self.interpolations = tuple(interpolations)

    @property
    def values(self):
        return tuple([field.value for field in self.interpolations])

    def __iter__(self):
        for i, text in enumerate(self.strings):
            if text:
                yield text
            if i < len(self.interpolations):
                yield self.interpolations[i]

    def __add__(self, other):
        if not isinstance(other, Template):
            raise TypeError(f'can only concatenate string.templatelib.Template to a Template, not {type(other).__name__}')
        return Template(*self, *other)


def convert(obj, /, conversion):
    if conversion is None:
        return obj
    return {'s': str, 'r': repr, 'a': ascii}[conversion](obj)
