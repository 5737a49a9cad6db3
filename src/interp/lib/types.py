"""Names of the interpreter's own types."""

import _pellucid

_native = _pellucid.types()
FunctionType = LambdaType = _native['function']
MethodType = _native['method']
BuiltinFunctionType = BuiltinMethodType = _native['builtin']
CodeType = _native['code']
FrameType = _native['frame']
GeneratorType = _native['generator']
CoroutineType = AsyncGeneratorType = _native['coroutine']
CellType = _native['cell']
ModuleType = _native['module']
MappingProxyType = _native['mappingproxy']
NoneType = _native['NoneType']
NotImplementedType = _native['NotImplementedType']
EllipsisType = _native['ellipsis']
TracebackType = _native['traceback']
GetSetDescriptorType = _native['getset']
UnionType = _native['union']
GenericAlias = _native['generic_alias']


class MemberDescriptorType:
    pass


class WrapperDescriptorType:
    pass


MethodWrapperType = MethodDescriptorType = ClassMethodDescriptorType = WrapperDescriptorType


class SimpleNamespace:
    def __init__(self, mapping=None, /, **kwargs):
        if mapping is not None:
            self.__dict__.update(mapping)
        self.__dict__.update(kwargs)

    def __repr__(self):
        return 'namespace(%s)' % ', '.join(['%s=%r' % item for item in self.__dict__.items()])

    def __eq__(self, other):
        return isinstance(other, SimpleNamespace) and self.__dict__ == other.__dict__

    __hash__ = None


class DynamicClassAttribute(property):
    pass


def new_class(name, bases=(), kwds=None, exec_body=None):
    body = {}
    if exec_body is not None:
        exec_body(body)
    kwds = dict(kwds or {})
    meta = kwds.pop('metaclass', type)
    return meta(name, resolve_bases(bases), body, **kwds)


def resolve_bases(bases):
    result = []
    for base in bases:
        if not isinstance(base, type) and hasattr(base, '__mro_entries__'):
            result.extend(base.__mro_entries__(bases))
        else:
            result.append(base)
    return tuple(result)


def prepare_class(name, bases=(), kwds=None):
    kwds = dict(kwds or {})
    return kwds.pop('metaclass', type), {}, kwds


def get_original_bases(cls):
    return cls.__dict__.get('__orig_bases__', cls.__bases__)


def coroutine(function):
    return function
