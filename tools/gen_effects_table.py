#!/usr/bin/env python3
"""Writes data/effects/LIBRARY.txt: which names of a library a pickle may use, and how, without an effect.

    python tools/gen_effects_table.py torch numpy ...     writes the tables of these
    python tools/gen_effects_table.py --why torch.nn.Linear torch.load
    python tools/gen_effects_table.py --check MODULE ...  compares these modules with the tables

The library must be importable. The analysis (tools/effects.py) reads its source; native code counts only where
data/effects/natives.txt has it, with the reason why somebody who read it takes it for pure.

A row is "module uses hash name name ...", sorted. The uses:
    n  cls.__new__(cls, ...), which NEWOBJ runs, and __del__ later
    s  BUILD: __setstate__, or the attributes, and what looks __setstate__ up
    i  APPENDS, SETITEMS, ADDITEMS
    k  being a key: __hash__ and __eq__
    c  a call
    q  the special methods that code runs on values that it does not know: ==, len, iter, str ...
    t  it is a class: what a call returns is of it
    d  s holds for a dict of attributes only: what is set by name (slots) runs code that is not pure
    a  n and c hold only if all arguments are plain, and all that is in them
    e  an enumeration: called with a plain value, it gives one of its members, which all code shares
    g  reading any attribute of an object runs nothing (what s says of its state holds)
    v  a value: all uses are pure if all that it gets is plain, or a value; and then so is it
A capital letter: only if all classes of the file have q. After them, for s: ":KEY" if what the state has under that
key must be plain, "::KEY" if all that is in it must be, "!KEY" if it must not be there; a number is an item of a
tuple. "#N": the state is a tuple of at least N items, for native code takes them without counting. The hash is that
of all functions that were looked at."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.metadata
import io
import os
import pathlib
import pkgutil
import re
import sys
import types
import warnings
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from effects import (  # noqa: E402
    SPECIAL, Graph, constructor, defining, entries_method, entries_new, enumeration, getters)

FOLDER = pathlib.Path(__file__).parent.parent / "data" / "effects"
ITEMS = ("__setitem__", "append", "extend", "add")
STANDARD = """abc argparse array ast bisect builtins calendar cmath collections collections.abc colorsys contextlib
contextvars copy copyreg csv dataclasses datetime decimal difflib enum errno fractions functools graphlib hashlib heapq
html inspect ipaddress itertools json json.decoder json.encoder keyword logging math numbers operator pathlib pprint
queue random re reprlib sched secrets statistics string struct textwrap threading time token tokenize traceback types
typing unicodedata uuid warnings weakref zoneinfo _codecs _collections _decimal _functools _io _operator _random
_struct _thread io""".split()
SKIPPED = ("test", "tests", "testing", "conftest", "__main__", "benchmarks", "_pytesttester", "setup", "distutils")


def natives() -> dict[str, str]:
    rows: dict[str, str] = {}
    for line in (FOLDER / "natives.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, why = line.partition(" ")
            rows[name] = "pure: " + why.strip()
    return rows


# ---- which names there are ----

def import_quietly(name: str) -> types.ModuleType | None:
    sink = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(sink), redirect_stderr(sink):
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except BaseException as error:  # libraries raise what they like, SystemExit too
            if isinstance(error, KeyboardInterrupt):
                raise
            return None


def modules_of(library: str) -> Iterator[types.ModuleType]:
    if library == "python":
        yield from filter(None, map(import_quietly, STANDARD))
        return
    top = import_quietly(library)
    if top is None:
        sys.exit(f"{library} can't be imported")
    yield top
    seen, todo = {library}, [top]
    while todo:
        package = todo.pop()
        for _, name, is_package in pkgutil.iter_modules(getattr(package, "__path__", []), package.__name__ + "."):
            if name.rpartition(".")[2] in SKIPPED:
                continue
            module = import_quietly(name)
            if module is None:
                continue
            seen.add(name)
            yield module
            if is_package:
                todo.append(module)
    for name, module in sorted(sys.modules.items()):  # parts of native modules have no files: torch._C._nn
        if name.startswith(library + ".") and name not in seen and isinstance(module, types.ModuleType):
            if getattr(module, "__file__", None) is None and not hasattr(module, "__path__"):
                yield module


def names_of(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Classes and functions that a pickle finds in the module, and that live there."""
    for name, thing in list(vars(module).items()):
        if not isinstance(thing, (type, types.FunctionType, types.BuiltinFunctionType)) and (
                type(thing).__name__ != "cython_function_or_method"):
            continue
        if not name.isascii() or getattr(thing, "__module__", None) not in (module.__name__, None):
            continue
        yield name, thing
        if isinstance(thing, type):
            for inner_name, inner in list(vars(thing).items()):
                if isinstance(inner, type) and inner.__qualname__ == f"{name}.{inner_name}":
                    yield inner.__qualname__, inner


# ---- what they do ----

class Judge:
    def __init__(self) -> None:
        self.natives = natives()
        self.graph = Graph(self.natives)
        self.reasons: dict[str, str] = {}
        self.bodies: set[str] = set()

    def ask(self, letter: str, entries: list[Any]) -> str:
        why, quiet, bodies = self.graph.judge(entries)
        self.reasons[letter] = why
        if why:
            return ""
        self.bodies |= bodies
        if letter == "s":
            self.fields = "".join(sorted(self.graph.fields))
        elif any(word[0] == "!" for word in self.graph.fields):
            self.reasons[letter] = "it calls methods that a state may shadow"
            return ""
        elif self.graph.fields:
            quiet = True
        return letter.upper() if quiet else letter

    def uses(self, thing: Any, name: str) -> str:
        self.reasons, self.bodies, self.fields = {}, set(), ""
        words = self.natives.get(name, "").split()
        if "=value" in words:
            fields = "".join(sorted(word for word in words[1:] if word[0] in ":!#"))
            return ("tv" if isinstance(thing, type) else "v") + fields
        if isinstance(thing, type):
            return self.uses_of_class(thing)
        if isinstance(thing, types.FunctionType):
            return self.ask("c", [(thing, None, False)])
        return "C" if name in self.natives else ""

    def ask_state(self, setstate: list[Any], lookup: list[Any], setattr_: list[Any], setters: dict[str, Any]) -> str:
        """Attributes of a dict go into __dict__; only those of slots go through __setattr__ and properties. Setters
        with an effect are keys that the state may not have."""
        if setstate:
            return self.ask("s", setstate + lookup)
        bad = set()
        for name, entry in setters.items():
            why, quiet, _ = self.graph.judge([entry])
            if why or quiet or self.graph.fields:
                bad.add(name)
        letter = self.ask("s", lookup + setattr_ + [entry for name, entry in setters.items() if name not in bad])
        if letter and len(bad) <= 12:
            self.fields += "".join(sorted(f"!{name}" for name in bad))
            return letter
        letter = self.ask("s", lookup)
        return letter + "d" if letter else ""

    def plain_arguments(self, kind: type) -> str:
        owner = getattr(kind.__new__, "__self__", None)
        names = [f"{owner.__module__}.{owner.__qualname__}.__new__"] if isinstance(owner, type) else []
        names += [f"{base.__module__}.{base.__qualname__}.__init__" for base in kind.__mro__]
        return "a" if any("=plain" in self.natives.get(name, "").split() for name in names) else ""

    def uses_of_class(self, kind: type) -> str:
        def method(name: str) -> list[Any]:
            return entries_method(kind, name, True, self.natives)

        members = enumeration(kind, self.natives)
        if members is not None:
            return "te" if self.ask("e", members) == "e" else ""
        metaclass, _ = defining(type(kind), "__getattribute__")
        if metaclass is not type or defining(type(kind), "__getattr__")[0] is not None:
            return ""
        lookup = method("__getattribute__") + method("__getattr__") + method("__del__")
        setters: dict[str, Any] = {}
        for base in reversed(kind.__mro__):
            for name, thing in vars(base).items():
                if isinstance(thing, property):
                    if thing.fset is not None:
                        setters[name] = (thing.fset, kind, True) if isinstance(thing.fset, types.FunctionType) else (
                            f"a native setter of {name}")
                elif hasattr(type(thing), "__set__") and not isinstance(
                        thing, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                    setters[name] = f"a descriptor sets {name}"
        text = "t" + self.ask("n", entries_new(kind, self.natives) + method("__del__"))
        text += self.ask_state(method("__setstate__"), lookup, method("__setattr__"), setters)
        fields = self.fields
        if letter_of_state(text):
            text += "g" if self.ask("g", getters(kind)) == "g" else ""
        self.fields = fields
        text += self.plain_arguments(kind)
        text += self.ask("i", sum((method(name) for name in ITEMS), []))
        text += self.ask("k", method("__hash__") + method("__eq__"))
        text += self.ask("c", constructor(kind, self.natives))
        text += self.ask("q", sum((method(name) for name in (*SPECIAL, "keys")), []))
        return text + self.fields


def letter_of_state(uses: str) -> bool:
    return "s" in uses.lower()


def rows_of(judge: Judge, module: types.ModuleType) -> list[str]:
    groups: dict[str, list[str]] = {}
    bodies: dict[str, set[str]] = {}
    for name, thing in names_of(module):
        uses = judge.uses(thing, f"{module.__name__}.{name}")
        if not set(re.split("[:!#]", uses)[0].lower()) & set("nscve"):
            continue
        groups.setdefault(uses, []).append(name)
        bodies.setdefault(uses, set()).update(judge.bodies)
    rows = []
    for uses, names in groups.items():
        text = "".join(sorted(bodies[uses])).encode()
        rows.append(f"{module.__name__} {uses} {hashlib.sha256(text).hexdigest()[:8]} {' '.join(sorted(names))}")
    return rows or [f"{module.__name__} - -"]


def write_table(library: str) -> None:
    judge = Judge()
    rows: set[str] = set()
    n_modules = 0
    for module in modules_of(library):
        rows.update(rows_of(judge, module))
        n_modules += 1
    distribution = {"sklearn": "scikit-learn"}.get(library, library)
    version = ".".join(map(str, sys.version_info[:3])) if library == "python" else (
        importlib.metadata.version(distribution))
    body = "".join(row + "\n" for row in sorted(rows))
    digest = hashlib.sha256(body.encode()).hexdigest()[:16]
    (FOLDER / f"{library}.txt").write_text(f"# {len(body):8} {library} {version} {digest}\n{body}")
    print(f"{library} {version}: {n_modules} modules, {len(rows)} rows, {len(judge.graph.facts)} functions")


def explain(names: list[str]) -> None:
    judge = Judge()
    for name in names:
        module, _, rest = name.rpartition(".")
        thing = getattr(importlib.import_module(module), rest)
        print(name, judge.uses(thing, name) or "-")
        for letter, why in judge.reasons.items():
            print(f"    {letter} {why or 'pure'}")


def check(modules: list[str]) -> int:
    """The rows of these modules, made anew, must be those of the tables."""
    judge, differ = Judge(), 0
    for name in modules:
        library = name.split(".")[0]
        path = FOLDER / f"{library}.txt"
        table = (path if path.exists() else FOLDER / "python.txt").read_text().splitlines()
        module = import_quietly(name)
        if module is None:
            sys.exit(f"{name} can't be imported")
        want, got = sorted(row for row in table if row.split(" ")[0] == name), sorted(rows_of(judge, module))
        if want != got:
            differ += 1
            print(f"{name}: the table has\n  " + "\n  ".join(want) + "\nbut it comes out as\n  " + "\n  ".join(got))
    return 1 if differ else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--why", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    sys.setrecursionlimit(5000)
    os.environ.setdefault("PYTHONHASHSEED", "0")
    if args.why:
        explain(args.names)
    elif args.check:
        return check(args.names)
    else:
        for library in args.names:
            write_table(library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
