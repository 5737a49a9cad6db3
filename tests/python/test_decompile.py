"""Decompiling live objects: what is accepted, the line map, and code that takes the place of other code."""

from __future__ import annotations

import dis
import enum
import functools
import inspect
import sys
import types

import pytest

pellucid = pytest.importorskip("pellucid", reason="the extension is not built for this Python")
from pellucid import _decompile  # noqa: E402


def example(a, b=2, *rest, key=None, **others):
    total = 0
    for item in rest:
        if item > a:
            total += item
        elif item == b:
            continue
        else:
            break
    try:
        return total / key
    except ZeroDivisionError:
        return others


def counter():
    count = 0

    def step(by=1):
        nonlocal count
        count += by
        return count

    return step


class Shape:
    sides = 4

    def __init__(self, n):
        self.n = n

    @property
    def area(self):
        return self.n**2

    @staticmethod
    def unit():
        return 1


def test_functions_compile_to_the_same_instructions() -> None:
    source = pellucid.decompile(example)
    namespace: dict = {}
    exec(source, namespace)
    again = namespace["example"].__code__
    instructions = lambda code: [(i.opname, i.argrepr) for i in dis.get_instructions(code) if "JUMP" not in i.opname]
    assert instructions(again) == instructions(example.__code__)


def test_what_can_be_decompiled(tmp_path) -> None:
    import colorsys
    import py_compile

    assert pellucid.decompile(example).startswith("def example(a, b=2, *rest, key=None, **others):")
    assert pellucid.decompile(example.__code__).splitlines()[1:] == pellucid.decompile(example).splitlines()[1:]
    assert pellucid.decompile(Shape(2).__init__).startswith("def __init__(self, n):")
    assert "def rgb_to_hsv(r, g, b):" in pellucid.decompile(colorsys)
    text = pellucid.decompile(Shape)
    assert (text.startswith("class Shape:\n") and "    @property\n    def area(self):" in text
            and "@staticmethod" in text)
    compile(text, "shape", "exec")
    path = tmp_path / "one.py"
    path.write_text("x = 1\n")
    compiled = py_compile.compile(str(path), cfile=str(tmp_path / "one.pyc"))
    assert pellucid.decompile(compiled) == "x = 1\n"
    with pytest.raises(TypeError):
        pellucid.decompile(3)
    with pytest.raises(FileNotFoundError):
        pellucid.decompile(tmp_path / "missing.pyc")


def test_broken_files_raise_with_a_place(tmp_path) -> None:
    path = tmp_path / "broken.pyc"
    path.write_bytes(b"\x03\xf3\r\n" + bytes(20))
    with pytest.raises(pellucid.Error, match="Python 2.7.*supported are 3.8 to 3.15") as error:
        pellucid.decompile(path)
    assert error.value.code == "UNSUPPORTED" and error.value.offset == 0


def test_every_instruction_has_a_line() -> None:
    made = pellucid.decompile_map(example)
    assert not made.incomplete and not made.objects
    table = made.line_table(example.__code__)
    offsets = {i.offset for i in dis.get_instructions(example.__code__) if i.opname not in ("CACHE", "EXTENDED_ARG")}
    assert offsets <= set(table)
    lines = made.source.splitlines()
    for instruction in dis.get_instructions(example.__code__):
        if instruction.opname == "RETURN_VALUE" and table[instruction.offset]:
            assert "return" in lines[table[instruction.offset] - 1] or "def" in lines[table[instruction.offset] - 1]
    division = next(i.offset for i in dis.get_instructions(example.__code__) if i.argrepr == "/")
    assert lines[table[division] - 1].strip() == "return total / key"


def test_recompiled_code_takes_the_place_of_the_old() -> None:
    made = types.FunctionType(pellucid.recompile(example.__code__), globals(), "example", example.__defaults__)
    made.__kwdefaults__ = example.__kwdefaults__
    for arguments in [(1, 2, 3, 4, 2, 5), (9, 2, 1), (0,)]:
        assert made(*arguments, key=2) == example(*arguments, key=2)
    assert made(1, key=0, x=5) == {"x": 5}


def test_recompiled_code_has_the_same_free_variables() -> None:
    step = counter()
    step.__code__ = pellucid.recompile(step.__code__)
    assert [step(), step(2), step()] == [1, 3, 4]


def test_constants_without_a_literal_stay_the_objects_they_are() -> None:
    marker = object()

    def f(x):
        return (x, "marker")

    consts = tuple(marker if c == "marker" else c for c in f.__code__.co_consts)
    code = f.__code__.replace(co_consts=consts)
    assert types.FunctionType(pellucid.recompile(code), {})(1)[1] is marker
    made = pellucid.decompile_map(code)
    assert list(made.objects.values()) == [marker] and list(made.objects)[0] in made.source


def test_generators_and_coroutines_are_what_they_were() -> None:
    def numbers(n):
        for i in range(n):
            yield i * i

    async def later(x):
        return x + 1

    again = types.FunctionType(pellucid.recompile(numbers.__code__), globals())
    assert list(again(4)) == [0, 1, 4, 9]
    again = types.FunctionType(pellucid.recompile(later.__code__), globals())
    assert inspect.iscoroutinefunction(again)


def test_recompile_refuses_what_is_no_code() -> None:
    with pytest.raises(TypeError):
        pellucid.recompile(example)


def test_a_live_function_has_its_defaults_and_annotations() -> None:
    free = 3

    def function(a, b: int = 2, /, c=(1, None), *rest, d, e="text", f=object(), **more) -> str:
        return a + b + free

    first = pellucid.decompile(function).splitlines()[0]
    assert first == 'def function(a, b: int = 2, /, c=(1, None), *rest, d, e="text", f=..., **more) -> str:'
    assert pellucid.decompile(lambda x, *, y=3: x + y) == "lambda x, *, y=3: x + y\n"


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_defaults_that_have_no_literal() -> None:
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    for default, text in ((Mute(), "..."), (deep, "..."), (float("inf"), "1e309"), (-float("inf"), "-1e309")):
        def function(x=default):
            return x

        assert pellucid.decompile(function) == f"def function(x={text}):\n    return x\n"


def test_a_wrapper_of_itself_has_no_code() -> None:
    def function():
        pass

    function.__wrapped__ = function
    with pytest.raises(ValueError, match="wrapper loop"):
        pellucid.decompile(function)


def test_a_live_class_with_a_local_base_and_a_computed_docstring() -> None:
    class Base:
        pass

    class Local(Base):
        __doc__ = 3

        def method(self):
            return 1

    assert pellucid.decompile(Local) == "class Local(Base):\n    def method(self):\n        return 1\n"


class Colour(enum.Enum):
    RED = 1
    CRIMSON = 1
    GREEN = ("g", 0.5)

    @property
    def low(self):
        return self.name.lower()

    @classmethod
    def _missing_(cls, value):
        return cls.RED


class Bits(enum.IntFlag):
    LOW = 1
    HIGH = 2


def test_a_live_enum_is_its_members_and_what_its_author_wrote() -> None:
    assert pellucid.decompile(Colour) == inspect.getsource(Colour).replace("enum.Enum", "Enum")
    assert pellucid.decompile(Bits) == inspect.getsource(Bits).replace("enum.IntFlag", "IntFlag")


def test_a_class_without_functions_has_attributes() -> None:
    class Plain:
        size = 3

    assert pellucid.decompile(Plain) == "class Plain:\n    size = 3\n"
    with pytest.raises(TypeError, match="int has no bytecode"):
        pellucid.decompile(int)


def test_a_live_class_has_its_attributes_and_private_names() -> None:
    assert pellucid.decompile(Kept) == inspect.getsource(Kept).replace("'", '"')


class Kept:
    """With a docstring
    of two lines."""

    size: int
    width: int = 4
    scale = 0.5

    @staticmethod
    def twice(x=None):
        """Also
        of two."""
        return x

    @property
    def secret(self):
        return self.__secret

    @secret.setter
    def secret(self, value):
        self.__secret = value

    class Inner:
        def __init__(self):
            super().__init__()


# ---- what owns code ----


def _plus(a, b):
    return a + b


class _Adder:
    def __call__(self, a, b):
        return a + b

    @property
    def twice(self):
        return self + self

    @functools.cached_property
    def thrice(self):
        return self * 3


@pytest.mark.parametrize("owner, line", [
    (functools.partial(functools.partial(_plus, 1), 2), "return a + b"),
    (_Adder(), "return a + b"),
    (_Adder().__call__, "return a + b"),
    (_Adder.twice, "return self + self"),
    (_Adder.__dict__["thrice"], "return self * 3"),
    (functools.lru_cache(_plus), "return a + b"),
    (staticmethod(_plus), "return a + b"),
    (_Adder, "class _Adder:"),
], ids=lambda x: type(x).__name__)
def test_owners_of_code(owner, line):
    assert line in pellucid.decompile(owner)


def test_module_of_torch():
    torch = pytest.importorskip("torch")
    assert "F.linear(input, self.weight, self.bias)" in pellucid.decompile(torch.nn.Linear(2, 2))


@pytest.mark.parametrize("nothing", [3, object(), len, property()], ids=lambda nothing: type(nothing).__name__)
def test_nothing_to_decompile(nothing):
    with pytest.raises(TypeError):
        pellucid.decompile(nothing)


def test_free_variables_change_places():
    """Cells that a nested function takes are loaded by place, too; in 3.13 as if they were local variables."""
    def outer(a, b):
        def f():
            def g():
                return a, b
            return g(), b, a
        return f

    f = outer("A", "B")
    assert f.__code__.co_freevars == ("a", "b")
    turned = _decompile._order_free(f.__code__, ("b", "a"))
    cells = dict(zip(f.__code__.co_freevars, f.__closure__))
    again = types.FunctionType(turned, {}, "f", None, tuple(cells[name] for name in turned.co_freevars))
    assert again() == f() == (("A", "B"), "B", "A")


def _assembled(instructions: list[tuple[str, int]], like: types.FunctionType) -> types.FunctionType:
    """A function of raw 3.11 instructions, with the variables and constants of another."""
    import opcode

    code = b""
    for name, arg in instructions:
        number = opcode.opmap[name]
        code += bytes([number, arg]) + bytes(2 * opcode._inline_cache_entries[number])
    made = like.__code__.replace(co_code=code, co_exceptiontable=b"", co_stacksize=8)
    return types.FunctionType(made, globals())


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="assembles instructions of 3.11")
def test_what_has_no_structure_still_does_the_same() -> None:
    def like(a, b):
        a = b = 1
        return a

    # two loops that jump into each other's middle: no nesting of statements has this shape
    tangled = _assembled([
        ("RESUME", 0), ("LOAD_FAST", 0), ("POP_JUMP_FORWARD_IF_FALSE", 5),
        ("LOAD_FAST", 0), ("LOAD_CONST", 1), ("BINARY_OP", 10), ("STORE_FAST", 0),  # A: a -= 1
        ("LOAD_FAST", 1), ("LOAD_CONST", 1), ("BINARY_OP", 0), ("STORE_FAST", 1),   # B: b += 1
        ("LOAD_FAST", 0), ("POP_JUMP_BACKWARD_IF_TRUE", 12),                        # to A
        ("LOAD_FAST", 1), ("LOAD_CONST", 1), ("BINARY_OP", 6), ("POP_JUMP_BACKWARD_IF_TRUE", 12),  # to B
        ("LOAD_FAST", 1), ("RETURN_VALUE", 0)], like)
    made = pellucid.decompile_map(tangled.__code__)
    assert made.incomplete and "# pellucid: incomplete" in made.source and "NotImplementedError" not in made.source
    namespace: dict = {}
    exec(made.source, namespace)
    for a in range(4):
        for b in range(3):
            assert namespace["like"](a, b) == tangled(a, b)
