"""What the recorder asks about objects of torch and the standard library: their public names, and where the
library ends and the author begins. The extension calls these once per object and remembers the answer."""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import dataclasses
import enum
import importlib.metadata
import inspect
import linecache
import os
import re
import sys
import sysconfig
import types
from typing import Any, Iterator

# The packages that a skeleton may import. Everything else is the author's.
_PACKAGES = frozenset(sys.stdlib_module_names) | {"torch", "numpy"}

# ---- files ----


def _library_roots() -> tuple[str, ...]:
    roots = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.path.abspath(__file__))}
    for name in ("torch", "numpy", "torchgen", "functorch", "sympy", "mpmath"):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            roots.add(os.path.dirname(os.path.abspath(file)))
    # what torch decorates classes with (torch.cuda.amp.autocast)
    alone = {file for name in ("typing_extensions",) if (file := getattr(sys.modules.get(name), "__file__", None))}
    # The separator keeps torchvision out of torch; site-packages lies inside of the standard library's folder.
    return (*(os.path.join(root, "") for root in roots if root), *alone)


_SITE = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_roots: tuple[int, tuple[str, ...]] = (0, ())

# Numbers of pel_code_role, ext/recorder.h.
LIBRARY, AUTHOR, SILENT = 0, 1, 2


def role_of(code: types.CodeType, author_roots: tuple[str, ...] | None, opened: frozenset[Any]) -> int:
    """Whose code it is: the library's (torch's, the standard library's, numpy's) or the author's, by its file. What is
    opened is read as if it were the author's.

    SILENT is library code below which nothing is the model's doing, even in the author's files: imports, Dynamo."""
    global _roots
    loaded = sum(package in sys.modules for package in ("torch", "numpy", "sympy"))
    if _roots[0] != loaded or not _roots[1]:
        _roots = (loaded, _library_roots())
    if code in opened:
        return AUTHOR
    filename = code.co_filename
    if filename.startswith("<frozen importlib") or filename.endswith(_SILENT):
        return SILENT
    if filename.startswith("<"):  # typed, piped, or made by exec: the author's, unless a library made it
        return LIBRARY if filename.startswith("<frozen") or _generated(code) else AUTHOR
    if author_roots is not None:
        return AUTHOR if filename.startswith(author_roots) else LIBRARY
    for root in _roots[1]:
        if filename.startswith(root) and not any(site in filename[len(root) - 1:] for site in _SITE):
            return LIBRARY
    return AUTHOR


_SILENT = tuple(os.path.join("torch", *path) for path in (("_dynamo", "convert_frame.py"), ("jit", "_recursive.py"),
                                                          ("jit", "frontend.py")))


def _generated(code: types.CodeType) -> bool:
    """Whether dataclasses or namedtuple wrote it: they call the text of all they make <string>."""
    return code.co_qualname.startswith("__create_fn__.") or code.co_varnames[:1] == ("_cls",)


def described(code: types.CodeType) -> types.CodeType:
    """The code object to read in the place of this one: where no source is, one that has been decompiled."""
    filename = code.co_filename
    if linecache.getlines(filename) or not filename.startswith("<") and os.path.exists(filename):
        return code
    from ._sourceless import twin_of
    return twin_of(code)


def source_of(filename: str) -> bytes:
    """The bytes of a source file, or what is known of one that is no file; empty if there is none."""
    if filename.startswith("<"):
        from ._sourceless import text_of
        return (text_of(filename) or "".join(linecache.getlines(filename))).encode("utf-8", "surrogatepass")
    try:
        with open(filename, "rb") as file:
            return file.read()
    except OSError:
        return b""


def place_of(kind: type) -> str:
    """Where a class is defined, as people look for it: file and line, or its module."""
    try:
        return f"{inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):
        return kind.__module__


# ---- names ----

_NAMESPACES = """torch torch.nn torch.nn.functional torch.fft torch.linalg torch.special torch.nn.init torch.nn.utils
torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.utils.parametrizations torch.nn.attention torch.autograd
torch.utils.checkpoint torch.func torch.sparse torch.nested torch.cuda torch.backends.cudnn torch.distributions
torch.amp torch.jit torch.overrides torch.testing""".split()
_names: dict[int, str] = {}
_named: list[Any] = []  # keeps the ids of _names meaningful


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, complex, str, bytes, tuple, list, dict, set))


def _public(namespace: str) -> Iterator[tuple[str, Any]]:
    module = sys.modules.get(namespace)
    for name, value in vars(module).items() if module is not None else ():
        if not name.startswith("_") and not _plain(value) and not isinstance(value, types.ModuleType):
            yield f"{namespace}.{name}", value


def _note(path: str, value: Any) -> None:
    if id(value) not in _names:
        _names[id(value)] = path
        _named.append(value)


def _fill() -> None:
    for name, value in vars(builtins).items():
        if not name.startswith("_") and not _plain(value):
            _note(name, value)
    for namespace in _NAMESPACES:
        for path, value in _public(namespace):
            known = isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType))
            module = getattr(value, "__module__", None) if known else None
            if module is None or module.split(".")[0] in ("torch", "builtins"):
                _note(path, value)
    torch = sys.modules.get("torch")
    if torch is not None:
        own = torch._C._VariableFunctions  # where torch.abs and the like come from, should somebody have replaced them
        for name in dir(own):
            if not name.startswith("_"):
                _note(f"torch.{name}", getattr(own, name))
        for kind in torch.Tensor.__mro__[:-1]:
            for name, value in vars(kind).items():
                if callable(value) or isinstance(value, (types.GetSetDescriptorType, types.MethodDescriptorType)):
                    _note(f"torch.Tensor.{name}", value)


def name_of(value: Any) -> str | None:
    """The shortest dotted name by which torch, numpy or the standard library give this very object."""
    if not _names or ("torch" in sys.modules) != _has_torch[0]:
        _has_torch[0] = "torch" in sys.modules
        _fill()
    known = _names.get(id(value))
    if known is not None:
        return known
    try:
        path = _own_name(value)
    except Exception:  # objects may answer anything to questions about themselves
        return None
    if path is not None:
        _note(path, value)
    return path


_has_torch = [False]


def _own_name(value: Any) -> str | None:
    if isinstance(value, types.ModuleType):
        whole = value.__name__
        return whole if whole.split(".")[0] in _PACKAGES and sys.modules.get(whole) is value else None
    owner = getattr(value, "__objclass__", None)
    if isinstance(owner, type) and isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType,
                                                      types.GetSetDescriptorType, types.MemberDescriptorType,
                                                      types.ClassMethodDescriptorType)):
        base = name_of(owner)
        own = getattr(value, "__name__")
        return f"{base}.{own}" if base and vars(owner).get(own) is value else None
    if _is_torch_op(value):
        return f"torch.ops.{value}"
    if type(value).__module__ == "torch._library.custom_ops" and type(value).__name__ == "CustomOpDef":
        operator: str = value._qualname  # what @torch.library.custom_op makes of a function
        return "torch.ops." + operator.replace("::", ".")
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if name is None and not isinstance(value, type):
        name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        return _constant_name(value)
    if module is None:
        module = getattr(type(getattr(value, "__self__", None)), "__module__", None)
    if not isinstance(module, str) or module.split(".")[0] not in _PACKAGES:
        return None
    found = _find(module, name)
    if found is value or (found is not None and _same_builtin(found, value)):
        public = _shorter(module, name, value)
        return name if public == "builtins" else f"{public}.{name}"
    return None


def _is_torch_op(value: Any) -> bool:
    return type(value).__module__ == "torch._ops" and type(value).__name__ in ("OpOverload", "OpOverloadPacket")


def _constant_name(value: Any) -> str | None:
    """Objects that a module holds under a name and that don't know it: torch.strided, math constants don't count."""
    module = type(value).__module__
    if module.split(".")[0] != "torch":
        return None
    for name in ("torch", module):
        for key, held in vars(sys.modules[name]).items() if name in sys.modules else ():
            if held is value and not key.startswith("_"):
                return f"{name}.{key}"
    return None


def _find(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        if found is None or part == "<locals>":
            return None
        found = vars(found).get(part) if isinstance(found, (type, types.ModuleType)) else None
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
    return found


def _same_builtin(a: Any, b: Any) -> bool:
    return isinstance(a, types.BuiltinFunctionType) and isinstance(b, types.BuiltinFunctionType) and a == b


def _shorter(module: str, qualname: str, value: Any) -> str:
    """The outermost package that gives the same object, a public one if there is any: collections.abc, not
    _collections_abc; torch._subclasses.FakeTensor, for it is in no other, as authors write it."""
    parts = module.split(".")
    candidates = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
    if module.startswith("_"):
        candidates = [module.lstrip("_").replace("_", "."), module.lstrip("_"), *candidates]
    there = [candidate for candidate in candidates if _find(candidate, qualname) is value]
    public = (candidate for candidate in there if not any(part.startswith("_") for part in candidate.split(".")))
    return next(public, there[0] if there else module)


# ---- literals ----


def _is_literal(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _spelled(value: Any) -> str:
    """repr, but for numbers that are no literals: inf, nan, and complex ones and lists of such."""
    if isinstance(value, list):
        return f"[{', '.join(map(_spelled, value))}]"
    finite = not isinstance(value, (float, complex)) or value - value == 0
    return repr(value) if finite else f"{type(value).__name__}({str(value)!r})"


def _context_variable(value: contextvars.ContextVar[Any]) -> str | None:
    try:
        default = contextvars.Context().run(value.get)  # in a new context nobody has set it
    except LookupError:
        return f"contextvars.ContextVar({value.name!r})"
    return f"contextvars.ContextVar({value.name!r}, default={_spelled(default)})" if _is_literal(default) else None


def literal_of(value: Any) -> str | None:
    """An expression of torch and the standard library that makes an equal object."""
    torch = sys.modules.get("torch")
    numpy = sys.modules.get("numpy")
    try:
        if isinstance(value, contextvars.ContextVar):
            return _context_variable(value)
        if torch is not None:
            if isinstance(value, torch.device):
                return f"torch.device({str(value)!r})"
            if isinstance(value, (torch.finfo, torch.iinfo)):
                return f"torch.{type(value).__name__}(torch.{value.dtype})"
        if numpy is not None:
            if isinstance(value, numpy.dtype):
                return f"numpy.dtype({value.name!r})"
            if isinstance(value, numpy.generic):
                return f"numpy.{type(value).__name__}({_spelled(value.item())})"
    except Exception:
        return None
    return None


def array_literal(value: Any) -> str | None:
    """The same of a small array of numbers."""
    if value.size > 512 or value.dtype.kind not in "biuf":
        return None
    return f"numpy.array({_spelled(value.tolist())}, dtype={value.dtype.name!r})"


# ---- classes ----

# In the order of pel_class_kind, src/trace/log.h.
_KINDS = ("torch module", "module", "autograd", "dataclass", "namedtuple", "enum", "library", "author")


def has_forward(module_class: type) -> bool:
    return getattr(module_class, "forward") is not sys.modules["torch"].nn.Module.forward


def class_facts(cls: type, leaves: tuple[type, ...] | None, opened: frozenset[Any]
                ) -> tuple[int, str, str, int, tuple[str, ...]]:
    """(kind, public name if it is the library's, file, line of the class statement or 0, fields).

    A leaf, which the user wants to keep as it is, is written like a class of the library's; one of the library's that
    is opened like one of the author's."""
    torch = sys.modules.get("torch")
    path = name_of(cls) or ""
    if cls in opened:
        path = "" if has_forward(cls) else "torch.nn.Module"
    if not path and leaves and issubclass(cls, leaves):
        path = f"{cls.__module__}.{cls.__qualname__}"
    is_module = torch is not None and issubclass(cls, torch.nn.Module)
    fields: tuple[str, ...] = ()
    if path:
        kind = "torch module" if is_module else "library"
    elif is_module:
        kind = "module"
    elif torch is not None and issubclass(cls, torch.autograd.Function):
        kind = "autograd"
    elif issubclass(cls, enum.Enum):
        kind = "enum"
    else:
        kind = "author"
    if not is_module and dataclasses.is_dataclass(cls):
        fields = tuple(field.name for field in dataclasses.fields(cls))
        kind = "dataclass" if kind == "author" else kind
    elif issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple):
        fields = tuple(map(str, getattr(cls, "_fields")))
        kind = "namedtuple" if kind == "author" else kind
    file = ""
    if not path:
        file = getattr(sys.modules.get(cls.__module__), "__file__", None) or _file_of_methods(cls)
    return _KINDS.index(kind), path, file, _class_line(cls, file) if file else 0, fields


def field_defaults(cls: type) -> dict[str, Any]:
    """What fields of a dataclass or named tuple are if they are not given.

    A class, or a list, dict or set, means a new one each time; `dataclasses.field`, that it can't be said.
    """
    if not dataclasses.is_dataclass(cls):
        return {name: value for name, value in getattr(cls, "_field_defaults", {}).items() if isinstance(name, str)}
    plain = {f.name: f.default for f in dataclasses.fields(cls)
             if f.default is not dataclasses.MISSING and not isinstance(f.default, type)}
    made = {f.name: _made_by(f.default_factory) for f in dataclasses.fields(cls)
            if f.default_factory is not dataclasses.MISSING}
    return plain | made


def _made_by(factory: Any) -> Any:
    """What the factory of a field makes: a display of constants can be made here and now, for it does nothing else."""
    if factory in (list, dict, set):
        return factory
    if not isinstance(factory, types.FunctionType):
        return dataclasses.field
    code = factory.__code__
    if code.co_names or code.co_freevars or code.co_varnames:
        return dataclasses.field
    made = factory()
    return made if type(made) in (list, dict, set) and made else dataclasses.field


def _file_of_methods(cls: type) -> str:
    for value in vars(cls).values():
        if isinstance(value, types.FunctionType):
            return value.__code__.co_filename
    return ""


def _class_line(cls: type, file: str) -> int:
    lines = linecache.getlines(file)
    statement = re.compile(rf"(\s*)class\s+{re.escape(cls.__name__)}\b")
    found = [(number, match[1]) for number, line in enumerate(lines) if (match := statement.match(line))]
    if len(found) != 1:
        return 0
    number, indent = found[0]
    while number > 0 and lines[number - 1].startswith(f"{indent}@"):
        number -= 1
    return number + 1


def owner_of(qualname: str, module_globals: dict[str, Any], first_argument: Any) -> type | None:
    """The class in whose body a function of this qualified name was written or got a name, if that can be found."""
    path, _, name = qualname.rpartition(".")
    if path.endswith("<locals>"):
        return None
    kind = first_argument if isinstance(first_argument, type) else type(first_argument)
    file = module_globals.get("__name__")
    for cls in type.mro(kind) if kind is not type else ():
        if cls.__qualname__ == path and cls.__module__ == file:
            return cls
        if not path and any(isinstance(f, types.FunctionType) and (f.__qualname__, f.__module__) == (qualname, file)
                            for f in vars(cls).values()):
            return cls
    found: Any = module_globals.get(path.split(".")[0])
    for part in path.split(".")[1:]:
        found = vars(found).get(part) if isinstance(found, type) else None
    return found if isinstance(found, type) and found.__qualname__ == path else None


def versions() -> str:
    """Of whatever is imported and says its version: the skeleton's header names those that the model comes from."""
    parts = ["Python " + ".".join(map(str, sys.version_info[:3]))]
    for name, module in sorted(list(sys.modules.items())):
        if "." in name or name in sys.stdlib_module_names or not isinstance(module, types.ModuleType):
            continue
        version = vars(module).get("__version__")  # a module's __getattr__ may do anything
        if version is None and type(module) is not types.ModuleType:  # one that loads its parts when they are asked for
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                version = importlib.metadata.version(name)
        if isinstance(version, str) and "," not in version:
            parts.append(f"{name} {version}")
    return ", ".join(parts)
