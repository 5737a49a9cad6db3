"""The importer of src/interp, in CPython: runs library sources over the stubs of src/interp/lib, to test the stubs
alone.

Modules are found as the interpreter finds them: a stub first, then the source roots (read as text), then, for what is
neither, there is no such module. Nothing is taken from sys.modules: every
module of this world imports through its own table, so that the stub `torch` and the stub `enum` live beside the real
ones.

    python tests/python/stub_world.py --root SITE_PACKAGES 'EXPRESSION' ['EXPRESSION'...]

prints, for every expression, one line of JSON: the state dict of the module it gives, as [name, shape, dtype] rows.
"""

from __future__ import annotations

import argparse
import builtins
import hashlib
import inspect
import json
import math
import importlib.util
import os
import pathlib
import re
import sys
import traceback
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STUBS = ROOT / "src" / "interp" / "lib"

LENDING = set((STUBS / "symbols.txt").read_text().split())  # modules whose every attribute is a symbol
WORKS_WITHOUT_C = ("torch", "torchvision", "torchaudio", "timm", "transformers")


class Unknown(Exception):
    """A symbol was asked for something only a value has."""


class Symbol:
    """Stands for what is not known; carries the text that made it."""

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    def __repr__(self) -> str:
        return f"<{self._text}>"

    def __getattr__(self, name: str):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Symbol(f"{self._text}.{name}")

    def __setattr__(self, name: str, value) -> None:
        pass

    def __call__(self, *args, **kwargs):
        # A symbol used as a decorator gives back what it decorates.
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return args[0]
        return Symbol(f"{self._text}(...)")

    def __mro_entries__(self, bases):
        return ()

    def __getitem__(self, key):
        return Symbol(f"{self._text}[{key!r}]")

    def __or__(self, other):
        return Symbol(f"{self._text} | {other!r}")

    __ror__ = __or__

    def __bool__(self):
        raise Unknown(f"truth of {self._text}")

    def __iter__(self):
        raise Unknown(f"iteration over {self._text}")

    def __len__(self):
        raise Unknown(f"length of {self._text}")

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


class SymbolModule(types.ModuleType):
    def __getattr__(self, name: str):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Symbol(f"{self.__name__}.{name}")


class Regex:
    """The face of a compiled pattern that the interpreter's own `re` stands on: spans, no match objects."""

    def __init__(self, pattern: re.Pattern) -> None:
        self.pattern = pattern
        self.groups = pattern.groups
        self.groupindex = dict(pattern.groupindex)

    def spans(self, found):
        return None if found is None else tuple(end for span in found.regs for end in span)

    def search(self, text, pos=0, endpos=sys.maxsize):
        return self.spans(self.pattern.search(text, pos, endpos))

    def match(self, text, pos=0, endpos=sys.maxsize):
        return self.spans(self.pattern.match(text, pos, endpos))

    def fullmatch(self, text, pos=0, endpos=sys.maxsize):
        return self.spans(self.pattern.fullmatch(text, pos, endpos))


def native_types() -> dict:
    def generator():
        yield

    async def coroutine():
        pass

    waiting = coroutine()
    waiting.close()
    return {
        "function": types.FunctionType, "method": types.MethodType, "builtin": types.BuiltinFunctionType,
        "code": types.CodeType, "frame": types.FrameType, "generator": types.GeneratorType,
        "coroutine": type(waiting), "cell": types.CellType, "module": types.ModuleType,
        "mappingproxy": types.MappingProxyType, "NoneType": type(None), "NotImplementedType": type(NotImplemented),
        "ellipsis": type(...), "traceback": types.TracebackType, "dict_keys": type({}.keys()),
        "dict_values": type({}.values()), "dict_items": type({}.items()), "getset": types.GetSetDescriptorType,
        "union": types.UnionType, "generic_alias": types.GenericAlias,
    }


class World:
    def __init__(self, roots: list[pathlib.Path], borrow: set[str] = frozenset()) -> None:
        self.roots = roots
        self.borrow = borrow  # names of the standard library taken from CPython, for want of a stub
        self.borrowed: set[str] = set()
        self.modules: dict[str, types.ModuleType] = {}
        self.builtins = {name: value for name, value in vars(builtins).items() if name != "open"}
        self.builtins["__import__"] = self.import_
        self.modules["math"] = math
        self.modules["sys"] = self.system()
        self.modules["builtins"] = types.ModuleType("builtins")
        self.modules["builtins"].__dict__.update(self.builtins)
        self.modules["_pellucid"] = self.primitives()

    def system(self) -> types.ModuleType:
        module = types.ModuleType("sys")
        for name in ("version_info", "version", "platform", "maxsize", "_getframe", "byteorder",
                     "float_info", "exc_info", "intern", "getrecursionlimit", "getsizeof", "implementation",
                     "stdout", "stderr"):
            setattr(module, name, getattr(sys, name))
        module.modules = self.modules
        module.path = [str(root) for root in self.roots]
        module.argv = [""]
        module.executable = ""
        return module

    def primitives(self) -> types.ModuleType:
        module = types.ModuleType("_pellucid")

        def unknown(what: str, why: str = ""):
            raise Unknown(f"{what}: {why}")

        def symbol_module(name: str) -> types.ModuleType:
            made = SymbolModule(name)
            made.__path__ = []
            return made

        def inside(path) -> pathlib.Path:
            path = pathlib.Path(str(path)).resolve()
            if not any(path.is_relative_to(root) for root in (STUBS, *self.roots)):
                raise FileNotFoundError(str(path))
            return path

        tables = ("_parameters", "_modules", "_buffers")

        def registered(owner, name: str):
            for table in tables:
                if name in owner.__dict__.get(table, ()):
                    return owner.__dict__[table][name]
            raise AttributeError(f"'{type(owner).__name__}' object has no attribute '{name}'")

        def discard(name: str, *containers) -> None:
            for container in containers:
                container.pop(name, None) if isinstance(container, dict) else container.discard(name)

        def lattice(offset: int, steps, shape) -> list[int]:
            at = [offset]
            for size, step in zip(shape, steps):
                at = [a + step * i for a in at for i in range(size)]
            return at

        def put_strided(data: list, offset: int, steps, shape, new: list) -> list:
            data = list(data)
            for place, item in zip(lattice(offset, steps, shape), new):
                data[place] = item
            return data

        module.strided = lambda data, offset, steps, shape: [data[i] for i in lattice(offset, steps, shape)]
        module.put_strided = put_strided
        module.set_plain = lambda owner, name, value: False  # "nothing was done" is always a right answer
        module.registered = registered
        module.discard = discard
        # With a reason it is what the machine decides (how many processors): here one machine will do.
        module.symbol = lambda text, why=None: 1 if why else Symbol(text)
        module.is_symbol = lambda value: isinstance(value, Symbol)
        module.unknown = module.unknown_module = unknown
        module.unmodelled = lambda name: Symbol(name)
        module.premise = lambda what, why: None
        module.shaped = lambda: None
        module.symbol_module = symbol_module
        module.symbol_text = lambda value: value._text
        module.symbol_why = lambda value: ""
        module.place = lambda: ("", 0)
        module.copied = lambda value, made, root: None
        module.note_error = lambda what, why="": None
        module.note_guess = lambda what, why="": None
        module.type_of = type
        module.lookup = inspect.getattr_static
        module.get_dict = lambda value: getattr(value, "__dict__", None)
        module.object_setattr = object.__setattr__
        module.read_text = lambda path: inside(path).read_text(encoding="utf-8")
        module.read_bytes = lambda path: inside(path).read_bytes()
        module.is_file = lambda path: pathlib.Path(str(path)).is_file()
        module.is_dir = lambda path: pathlib.Path(str(path)).is_dir()
        module.list_dir = lambda path: sorted(entry.name for entry in inside(path).iterdir())
        module.source_of = lambda value: None
        module.source_place = lambda value: None
        module.import_module = self.import_module
        module.find_module = self.find_module
        module.new_module = types.ModuleType
        module.name_apart = lambda namespace: None  # matters to whoever writes the functions down
        module.make_function = types.FunctionType
        module.make_method = types.MethodType
        module.make_cell = types.CellType
        module.types = native_types
        module.regex = lambda pattern, flags=0: Regex(re.compile(pattern, flags))
        module.json_loads = json.loads
        module.hash_text = lambda text, name: hashlib.new(name, text.encode()).hexdigest()
        module.float_format = format
        module.steps = lambda: 0
        return module

    def import_module(self, name: str, package: str | None = None) -> types.ModuleType:
        if name.startswith("."):
            level = len(name) - len(name.lstrip("."))
            for _ in range(level - 1):
                package = package.rpartition(".")[0]
            name = package + "." + name.lstrip(".") if name.lstrip(".") else package
        return self.load(name)

    def find_module(self, name: str):
        found = self.find(name)
        return (str(found[0]), found[1]) if found else None

    def find(self, name: str):
        """Path of the module's source, whether it is a package, and where its submodules are."""
        relative = name.replace(".", "/")
        if self.is_compiled(name.partition(".")[0]):
            return None
        inside = [root / relative for root in self.roots if (root / relative).is_dir()]
        for base in (STUBS, *self.roots):
            package = base / relative / "__init__.py"
            if package.is_file():
                return package, True, inside
            file = base / (relative + ".py")
            if file.is_file():
                return file, False, []
        return (None, True, inside) if inside else None

    def is_compiled(self, top: str) -> bool:
        """Whether a package can't work without C that this world has no stub for: it is taken for absent."""
        if top in WORKS_WITHOUT_C or self.is_stub(top):
            return False
        return any(any((root / top).glob("*.so")) for root in self.roots)

    def load(self, name: str) -> types.ModuleType:
        if name in self.modules:
            module = self.modules[name]
            if module is None:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            return module
        parent_name, _, child = name.rpartition(".")
        parent = self.load(parent_name) if parent_name else None
        if name in self.modules:
            return self.modules[name]
        lends_names = name in LENDING and not self.is_stub(name)
        found = self.find(name) if not isinstance(parent, SymbolModule) or self.is_stub(name) else None
        if lends_names or (found is None and isinstance(parent, SymbolModule)):
            self.modules[name] = module = self.modules["_pellucid"].symbol_module(name)
        elif found is None:
            module = self.without_source(name, parent)
        else:
            module = self.from_source(name, *found)
        if parent is not None:
            setattr(parent, child, self.modules[name])
        return self.modules[name]

    def is_stub(self, name: str) -> bool:
        base = STUBS / name.replace(".", "/")
        return base.with_suffix(".py").is_file() or (base / "__init__.py").is_file()

    def without_source(self, name: str, parent) -> types.ModuleType:
        top = name.partition(".")[0]
        if name in self.borrow or (top in self.borrow and parent is not None):
            __import__(name)
            self.borrowed.add(name)
            self.modules[name] = sys.modules[name]
            return self.modules[name]
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    def from_source(self, name: str, path, is_package: bool, inside) -> types.ModuleType:
        module = types.ModuleType(name)
        module.__package__ = name if is_package else name.rpartition(".")[0]
        module.__builtins__ = self.builtins
        if is_package:
            module.__path__ = [str(folder) for folder in inside]
        module.__spec__ = types.SimpleNamespace(name=name, parent=module.__package__, loader=None, origin=str(path),
                                                submodule_search_locations=module.__path__ if is_package else None)
        self.modules[name] = module
        if path is None:
            return module
        module.__file__ = str(path)
        code = compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
        try:
            exec(code, module.__dict__)
        except BaseException:
            self.modules.pop(name, None)
            raise
        return module

    def import_(self, name, globals=None, locals=None, fromlist=(), level=0):
        if level:
            package = globals["__package__"]
            for _ in range(level - 1):
                package = package.rpartition(".")[0]
            name = f"{package}.{name}" if name else package
        module = self.load(name)
        if not fromlist:
            return module if level else self.load(name.partition(".")[0])
        for item in fromlist:
            if item != "*" and hasattr(module, "__path__") and not hasattr(module, item):
                try:
                    self.load(f"{name}.{item}")
                except ModuleNotFoundError as error:
                    if error.name != f"{name}.{item}":
                        raise
        return module

    def run(self, code: str, filename: str = "<main>"):
        """Executes statements; gives the value of the last one if it is an expression."""
        import ast

        tree = ast.parse(code)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        module = types.ModuleType("__main__")
        module.__builtins__ = self.builtins
        module.__package__ = ""
        self.modules["__main__"] = module
        exec(compile(tree, filename, "exec", dont_inherit=True), module.__dict__)
        return eval(compile(last, filename, "eval", dont_inherit=True), module.__dict__) if last is not None else None


def rows(model) -> list:
    return [[name, list(tensor.shape), str(tensor.dtype)] for name, tensor in model.state_dict().items()]


def shapes_of(value) -> list:
    """Shapes of the tensors inside an output, in order."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return [list(value.shape)]
    if hasattr(value, "values") and callable(value.values):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [shape for item in value for shape in shapes_of(item)]
    return []


def forward(model, torch, sizes: list[int]) -> list:
    """The output shapes of every module, in the order of their calls."""
    calls: list = []
    for name, module in model.named_modules():
        module.register_forward_hook(lambda module, args, output, name=name: calls.append([name, shapes_of(output)]))
    model.eval()
    with torch.no_grad():
        model(torch.empty(*sizes, device=next(model.parameters()).device))
    return calls


BORROW = set(sys.stdlib_module_names)


def real_libraries() -> None:
    """Lets the real libraries be imported (see conftest.libraries), and their weights be left as memory has them."""
    sys.path.insert(0, str(ROOT / "python" / "pellucid"))
    import _torchvision

    _torchvision.stand_in()
    import torch

    def left(tensor, *args, **kwargs):
        return tensor

    for name in ("uniform_", "normal_", "trunc_normal_", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_",
                 "xavier_normal_", "orthogonal_", "zeros_", "ones_", "constant_", "_no_grad_trunc_normal_"):
        setattr(torch.nn.init, name, left)
    for name in ("uniform_", "normal_", "erfinv_", "clamp_", "zero_"):
        setattr(torch.Tensor, name, left)


def real_model(code: str):
    """Built without memory where the library allows it; some read values while they are built."""
    import torch

    scope: dict = {}
    *first, last = code.split(";")
    exec("\n".join(part.strip() for part in first), scope)
    try:
        with torch.device("meta"):
            return eval(last.strip(), scope)
    except Exception:
        return eval(last.strip(), scope)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--strict", action="store_true", help="take nothing from CPython's standard library")
    parser.add_argument("--real", action="store_true", help="execute the real libraries instead")
    parser.add_argument("--trace", action="store_true", help="print tracebacks")
    parser.add_argument("--forward",
                        help="run forward on an input of this shape (2x3x224x224; auto: the shape that timm names)")
    parser.add_argument("code", nargs="*")
    options = parser.parse_args()
    sys.setrecursionlimit(10000)
    if options.real:
        real_libraries()
    world = None if options.real else World([root.resolve() for root in options.root],
                                            {"keyword"} if options.strict else BORROW)
    source = iter(options.code) if options.code else (line.rstrip("\n") for line in sys.stdin)
    for code in source:
        try:
            if options.real:
                model = real_model(code)
            else:
                model = world.run(code.replace("; ", "\n"))
            if options.forward:
                torch = sys.modules["torch"] if options.real else world.load("torch")
                if options.real:
                    model = model.to("meta")
                if options.forward == "auto":
                    sizes = [2, *model.pretrained_cfg["input_size"]]
                else:
                    sizes = [int(size) for size in options.forward.split("x")]
                answer = {"calls": forward(model, torch, sizes)}
            else:
                answer = {"state": rows(model)}
        except BaseException as error:
            if options.trace:
                traceback.print_exc()
            if isinstance(error, KeyboardInterrupt):
                raise
            frame = traceback.extract_tb(error.__traceback__)[-1]
            answer = {"error": f"{type(error).__name__}: {error}"[:400], "at": f"{frame.filename}:{frame.lineno}"}
        print(json.dumps(answer), flush=True)
    if world is not None and options.trace:
        print("borrowed:", " ".join(sorted(world.borrowed)), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
