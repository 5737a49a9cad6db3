"""YAML, as PyYAML's safe loader reads it. Objects of tags are not made: such a file can't be read here."""

import _pellucid

__version__ = '6.0.2'


class YAMLError(Exception):
    pass


class MarkedYAMLError(YAMLError):
    pass


class ScannerError(MarkedYAMLError):
    pass


class ParserError(MarkedYAMLError):
    pass


class ConstructorError(MarkedYAMLError):
    pass


class BaseLoader:
    plain_exponents = False
    yaml_implicit_resolvers = {}

    @classmethod
    def add_constructor(cls, tag, constructor):
        pass

    add_multi_constructor = add_constructor

    @classmethod
    def add_implicit_resolver(cls, tag, regexp, first=None):
        # the usual reason for one: numbers such as 1e-3, which are texts without it
        if tag == 'tag:yaml.org,2002:float':
            cls.plain_exponents = True
        else:
            _pellucid.unknown('yaml resolver ' + str(tag), 'what it makes of plain values is not known')


class SafeLoader(BaseLoader):
    pass


class FullLoader(SafeLoader):
    pass


class Loader(FullLoader):
    pass


class UnsafeLoader(Loader):
    pass


CLoader = CFullLoader = CUnsafeLoader = Loader
CSafeLoader = CBaseLoader = SafeLoader


class SafeDumper:
    @classmethod
    def add_representer(cls, data_type, representer):
        pass

    add_multi_representer = add_representer

    @classmethod
    def add_implicit_resolver(cls, tag, regexp, first=None):
        pass

    def ignore_aliases(self, data):
        return True


class Dumper(SafeDumper):
    pass


CDumper = Dumper
CSafeDumper = SafeDumper


def _documents(stream, loader):
    text = stream if isinstance(stream, (str, bytes)) else stream.read()
    if _pellucid.is_symbol(text):
        return None
    if isinstance(text, bytes):
        text = text.decode('utf-8')
    try:
        return _pellucid.yaml_documents(text, bool(getattr(loader, 'plain_exponents', False)))
    except ValueError as error:
        raise YAMLError(str(error)) from None


def load(stream, Loader=None):
    found = _documents(stream, Loader)
    if found is None:
        return _pellucid.unknown('yaml.load', 'the text is not known')
    if len(found) > 1:
        raise YAMLError('expected a single document in the stream')
    return found[0] if found else None


def load_all(stream, Loader=None):
    found = _documents(stream, Loader)
    return _pellucid.unknown('yaml.load_all', 'the text is not known') if found is None else iter(found)


def safe_load(stream):
    return load(stream, SafeLoader)


def full_load(stream):
    return load(stream, FullLoader)


def unsafe_load(stream):
    return load(stream, UnsafeLoader)


def safe_load_all(stream):
    return load_all(stream, SafeLoader)


full_load_all = unsafe_load_all = safe_load_all


def dump(data, stream=None, Dumper=None, **options):
    return _pellucid.symbol('yaml.dump(...)', 'texts of YAML are not written') if stream is None else None


safe_dump = dump_all = safe_dump_all = dump


def add_constructor(tag, constructor, Loader=None):
    pass


add_multi_constructor = add_representer = add_multi_representer = add_constructor


def add_implicit_resolver(tag, regexp, first=None, Loader=None, Dumper=None):
    (Loader or SafeLoader).add_implicit_resolver(tag, regexp, first)


class YAMLObject:
    pass
