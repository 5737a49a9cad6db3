"""Signatures, members and sources of interpreted things."""

import sys
import types

import _pellucid
from functools import partial

_native = _pellucid.types()
_function = _native['function']
_method = _native['method']
CO_VARARGS, CO_VARKEYWORDS, CO_GENERATOR, CO_COROUTINE = 4, 8, 32, 128


class _empty:
    pass


class _Kind(int):
    def __new__(cls, number, name, description):
        self = int.__new__(cls, number)
        self.name = name
        self.description = description
        return self

    def __str__(self):
        return self.name

    __repr__ = __str__


class Parameter:
    empty = _empty
    POSITIONAL_ONLY = _Kind(0, 'POSITIONAL_ONLY', 'positional-only')
    POSITIONAL_OR_KEYWORD = _Kind(1, 'POSITIONAL_OR_KEYWORD', 'positional or keyword')
    VAR_POSITIONAL = _Kind(2, 'VAR_POSITIONAL', 'variadic positional')
    KEYWORD_ONLY = _Kind(3, 'KEYWORD_ONLY', 'keyword-only')
    VAR_KEYWORD = _Kind(4, 'VAR_KEYWORD', 'variadic keyword')

    def __init__(self, name, kind, *, default=_empty, annotation=_empty):
        self.name = name
        self.kind = kind
        self.default = default
        self.annotation = annotation

    def replace(self, **changes):
        return Parameter(changes.get('name', self.name), changes.get('kind', self.kind),
                         default=changes.get('default', self.default), annotation=changes.get('annotation', self.annotation))

    def __eq__(self, other):
        return isinstance(other, Parameter) and (self.name, self.kind) == (other.name, other.kind)

    def __hash__(self):
        return hash((self.name, int(self.kind)))

    def __str__(self):
        text = {2: '*', 4: '**'}.get(int(self.kind), '') + self.name
        if self.annotation is not _empty:
            text += ': ' + formatannotation(self.annotation)
        if self.default is not _empty:
            text += (' = ' if self.annotation is not _empty else '=') + repr(self.default)
        return text

    def __repr__(self):
        return '<Parameter "%s">' % self


class BoundArguments:
    def __init__(self, signature, arguments):
        self.signature = signature
        self.arguments = arguments

    @property
    def args(self):
        result = []
        for name, parameter in self.signature.parameters.items():
            if parameter.kind > 2 or name not in self.arguments:
                break
            if parameter.kind == 2:
                result.extend(self.arguments[name])
            else:
                result.append(self.arguments[name])
        return tuple(result)

    @property
    def kwargs(self):
        result = {}
        passed = True
        for name, parameter in self.signature.parameters.items():
            if parameter.kind <= 2 and passed and name in self.arguments:
                continue
            passed = False if parameter.kind <= 2 else passed
            if name in self.arguments:
                if parameter.kind == 4:
                    result.update(self.arguments[name])
                elif parameter.kind != 2:
                    result[name] = self.arguments[name]
        return result

    def apply_defaults(self):
        arguments = {}
        for name, parameter in self.signature.parameters.items():
            if name in self.arguments:
                arguments[name] = self.arguments[name]
            elif parameter.default is not _empty:
                arguments[name] = parameter.default
            elif parameter.kind == 2:
                arguments[name] = ()
            elif parameter.kind == 4:
                arguments[name] = {}
        self.arguments = arguments


class Signature:
    empty = _empty

    def __init__(self, parameters=None, *, return_annotation=_empty):
        self.parameters = types.MappingProxyType({p.name: p for p in parameters or ()})
        self.return_annotation = return_annotation

    @classmethod
    def from_callable(cls, obj, *, follow_wrapped=True, **kwargs):
        return signature(obj, follow_wrapped=follow_wrapped)

    def replace(self, *, parameters=_empty, return_annotation=_empty):
        if parameters is _empty:
            parameters = self.parameters.values()
        return Signature(list(parameters), return_annotation=self.return_annotation if return_annotation is _empty else return_annotation)

    def bind(self, *args, **kwargs):
        return self._bind(args, kwargs, False)

    def bind_partial(self, *args, **kwargs):
        return self._bind(args, kwargs, True)

    def _bind(self, args, kwargs, partial):
        kwargs = dict(kwargs)
        arguments = {}
        args = list(args)
        rest = None
        for name, parameter in self.parameters.items():
            kind = parameter.kind
            if kind == 2:
                if args:
                    arguments[name] = tuple(args)
                    args = []
            elif kind == 4:
                rest = name
            elif kind < 2 and args:
                if name in kwargs and kind == 1:
                    raise TypeError('multiple values for argument %r' % name)
                arguments[name] = args.pop(0)
            elif name in kwargs:
                arguments[name] = kwargs.pop(name)
            elif parameter.default is _empty and not partial:
                raise TypeError('missing a required argument: %r' % name)
        if args:
            raise TypeError('too many positional arguments')
        if kwargs:
            if rest is None:
                raise TypeError('got an unexpected keyword argument %r' % list(kwargs)[0])
            arguments[rest] = kwargs
        return BoundArguments(self, arguments)

    def __str__(self):
        return '(' + ', '.join([str(p) for p in self.parameters.values()]) + ')'

    def __repr__(self):
        return '<Signature %s>' % self

    def __eq__(self, other):
        return isinstance(other, Signature) and list(self.parameters.values()) == list(other.parameters.values())

    __hash__ = None


def _of_function(function):
    code = function.__code__
    hints = function.__annotations__ or {}
    names = code.co_varnames
    n = code.co_argcount
    only = code.co_posonlyargcount
    defaults = function.__defaults__ or ()
    first = n - len(defaults)
    parameters = []
    for i in range(n):
        parameters.append(Parameter(names[i], Parameter.POSITIONAL_ONLY if i < only else Parameter.POSITIONAL_OR_KEYWORD,
                                    default=defaults[i - first] if i >= first else _empty,
                                    annotation=hints.get(names[i], _empty)))
    last = n + code.co_kwonlyargcount
    at = last
    if code.co_flags & CO_VARARGS:
        parameters.append(Parameter(names[at], Parameter.VAR_POSITIONAL, annotation=hints.get(names[at], _empty)))
        at += 1
    by_keyword = function.__kwdefaults__ or {}
    for i in range(n, last):
        parameters.append(Parameter(names[i], Parameter.KEYWORD_ONLY, default=by_keyword.get(names[i], _empty),
                                    annotation=hints.get(names[i], _empty)))
    if code.co_flags & CO_VARKEYWORDS:
        parameters.append(Parameter(names[at], Parameter.VAR_KEYWORD, annotation=hints.get(names[at], _empty)))
    return Signature(parameters, return_annotation=hints.get('return', _empty))


def _of_dataclass(cls):
    parameters = [Parameter('self', Parameter.POSITIONAL_OR_KEYWORD)]
    fields = [f for f in cls.__dataclass_fields__.values() if f.init and f._field_type != '_FIELD_CLASSVAR']
    missing = sys.modules['dataclasses'].MISSING
    for f in [f for f in fields if not f.kw_only] + [f for f in fields if f.kw_only]:
        default = f.default if f.default is not missing else _empty if f.default_factory is missing else f.default_factory
        parameters.append(Parameter(f.name, Parameter.KEYWORD_ONLY if f.kw_only else Parameter.POSITIONAL_OR_KEYWORD,
                                    default=default, annotation=f.type))
    return Signature(parameters, return_annotation=None)


def _without_first(found):
    parameters = list(found.parameters.values())
    if parameters and parameters[0].kind < 2:
        parameters = parameters[1:]
    return found.replace(parameters=parameters)


def signature(obj, *, follow_wrapped=True, globals=None, locals=None, eval_str=False):
    if isinstance(obj, _method):
        return _without_first(signature(obj.__func__))
    if follow_wrapped:
        obj = unwrap(obj, stop=lambda f: hasattr(f, '__signature__'))
        if isinstance(obj, _method):
            return signature(obj)
    own = getattr(obj, '__signature__', None)
    if own is not None and isinstance(own, Signature):
        return own
    if isinstance(obj, _function):
        if hasattr(obj, '__dataclass__'):
            return _of_dataclass(obj.__dataclass__)
        return _of_function(obj)
    if isinstance(obj, partial):
        found = signature(obj.func)
        parameters = []
        skip = len(obj.args)
        for p in found.parameters.values():
            if skip and p.kind < 2:
                skip -= 1
                continue
            if p.name in obj.keywords:
                p = p.replace(default=obj.keywords[p.name], kind=Parameter.KEYWORD_ONLY)
            elif parameters and parameters[-1].kind == 3 and p.kind == 1:
                p = p.replace(kind=Parameter.KEYWORD_ONLY)
            parameters.append(p)
        return found.replace(parameters=parameters)
    if isinstance(obj, type):
        for name in ('__new__', '__init__'):
            for base in obj.__mro__:
                if base is object:
                    break
                method = base.__dict__.get(name)
                if method is not None:
                    if isinstance(method, staticmethod):
                        method = method.__func__
                    if isinstance(method, _function):
                        found = signature(method)
                        if name == '__new__' and len(found.parameters) == 3 and '__init__' in base.__dict__:
                            break
                        return _without_first(found)
        return Signature([])
    if isinstance(obj, (staticmethod, classmethod)):
        return signature(obj.__func__)
    call = getattr(type(obj), '__call__', None)
    if isinstance(call, _function):
        return _without_first(signature(call))
    if callable(obj):
        raise ValueError('no signature found for builtin %r' % (obj,))
    raise TypeError('%r is not a callable object' % (obj,))


def unwrap(function, *, stop=None):
    while hasattr(function, '__wrapped__') and (stop is None or not stop(function)):
        function = function.__wrapped__
    return function


class FullArgSpec(tuple):
    _fields = ('args', 'varargs', 'varkw', 'defaults', 'kwonlyargs', 'kwonlydefaults', 'annotations')

    def __getattr__(self, name):
        if name in FullArgSpec._fields:
            return self[FullArgSpec._fields.index(name)]
        raise AttributeError(name)


def getfullargspec(function):
    found = signature(function, follow_wrapped=False)
    if isinstance(function, _method):
        found = signature(function.__func__, follow_wrapped=False)
    args, only, defaults, keyword_defaults, hints = [], [], [], {}, {}
    varargs = varkw = None
    for p in found.parameters.values():
        if p.annotation is not _empty:
            hints[p.name] = p.annotation
        if p.kind < 2:
            args.append(p.name)
            if p.default is not _empty:
                defaults.append(p.default)
        elif p.kind == 2:
            varargs = p.name
        elif p.kind == 3:
            only.append(p.name)
            if p.default is not _empty:
                keyword_defaults[p.name] = p.default
        else:
            varkw = p.name
    return FullArgSpec((args, varargs, varkw, tuple(defaults) or None, only, keyword_defaults or None, hints))


def getcallargs(function, /, *args, **kwargs):
    bound = signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def isclass(obj):
    return isinstance(obj, type)


def isfunction(obj):
    return isinstance(obj, _function)


def ismethod(obj):
    return isinstance(obj, _method)


def ismodule(obj):
    return isinstance(obj, _native['module'])


def isbuiltin(obj):
    return isinstance(obj, _native['builtin'])


def isroutine(obj):
    return isinstance(obj, (_function, _method, _native['builtin']))


def isgenerator(obj):
    return isinstance(obj, _native['generator'])


def isgeneratorfunction(obj):
    return isinstance(obj, _function) and bool(obj.__code__.co_flags & CO_GENERATOR)


def iscoroutinefunction(obj):
    return isinstance(obj, _function) and bool(obj.__code__.co_flags & CO_COROUTINE)


def iscoroutine(obj):
    return isinstance(obj, _native['coroutine'])


def isawaitable(obj):
    return hasattr(obj, '__await__')


def isframe(obj):
    return isinstance(obj, _native['frame'])


def iscode(obj):
    return isinstance(obj, _native['code'])


isasyncgen = isasyncgenfunction = lambda obj: False


def istraceback(obj):
    return isinstance(obj, _native['traceback'])


def isdatadescriptor(obj):
    return hasattr(type(obj), '__set__')


def ismethoddescriptor(obj):
    return hasattr(type(obj), '__get__') and not hasattr(type(obj), '__set__') and not isroutine(obj)


def isabstract(cls):
    return any([getattr(getattr(cls, name, None), '__isabstractmethod__', False) for name in dir(cls)])


def getmembers(obj, predicate=None):
    result = []
    for name in sorted(dir(obj)):
        try:
            value = getattr(obj, name)
        except AttributeError:
            continue
        if predicate is None or predicate(value):
            result.append((name, value))
    return result


getmembers_static = getmembers
_missing = object()


def getattr_static(obj, attr, default=_missing):
    own = _pellucid.get_dict(obj)
    if own is not None and attr in own:
        return own[attr]
    found = _pellucid.lookup(obj if isinstance(obj, type) else type(obj), attr, _missing)
    if found is not _missing:
        return found
    if default is _missing:
        raise AttributeError(attr)
    return default


def getmro(cls):
    return cls.__mro__


def getdoc(obj):
    doc = getattr(obj, '__doc__', None)
    return cleandoc(doc) if isinstance(doc, str) else None


def cleandoc(doc):
    lines = doc.expandtabs().split('\n')
    margin = None
    for line in lines[1:]:
        content = len(line.lstrip())
        if content:
            indent = len(line) - content
            margin = indent if margin is None else min(margin, indent)
    if lines:
        lines[0] = lines[0].lstrip()
    if margin is not None:
        lines[1:] = [line[margin:] for line in lines[1:]]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return '\n'.join(lines)


def getsource(obj):
    text = _pellucid.source_of(obj)
    if text is None:
        raise OSError('could not get source code')
    return text


def getsourcelines(obj):
    place = _pellucid.source_place(obj)
    return getsource(obj).splitlines(True), place[1] if place else 0


def getsourcefile(obj):
    return getfile(obj)


def getfile(obj):
    if ismodule(obj):
        return obj.__file__
    place = _pellucid.source_place(obj)
    if place is None:
        module = sys.modules.get(getattr(obj, '__module__', None))
        if module is not None and hasattr(module, '__file__'):
            return module.__file__
        raise TypeError('%r is a built-in' % (obj,))
    return place[0]


getabsfile = getfile


def getmodule(obj, _filename=None):
    if ismodule(obj):
        return obj
    if hasattr(obj, '__module__'):
        return sys.modules.get(obj.__module__)
    if isframe(obj):
        return sys.modules.get(obj.f_globals.get('__name__'))
    path = obj.co_filename if iscode(obj) else _filename
    for module in list(sys.modules.values()) if path else []:
        if getattr(module, '__file__', None) == path:
            return module
    return None


def getmodulename(path):
    return path.rpartition('/')[2].partition('.')[0]


def currentframe():
    return sys._getframe(1)


class FrameInfo(tuple):
    @property
    def frame(self):
        return self[0]

    @property
    def filename(self):
        return self[1]

    @property
    def lineno(self):
        return self[2]

    @property
    def function(self):
        return self[3]


def stack(context=1):
    result = []
    frame = sys._getframe(1)
    while frame is not None:
        result.append(FrameInfo((frame, frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, None, None)))
        frame = frame.f_back
    return result


def get_annotations(obj, *, globals=None, locals=None, eval_str=False):
    if isinstance(obj, type):
        return dict(obj.__dict__.get('__annotations__', {}))
    return dict(getattr(obj, '__annotations__', None) or {})


def formatannotation(annotation, base_module=None):
    if isinstance(annotation, type):
        return annotation.__qualname__ if annotation.__module__ == 'builtins' else annotation.__module__ + '.' + annotation.__qualname__
    return repr(annotation)
