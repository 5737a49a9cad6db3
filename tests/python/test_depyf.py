"""`import pellucid.depyf as depyf`: programs that were written for depyf run, and what differs is said."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import textwrap
import types

import pytest

pellucid = pytest.importorskip("pellucid", reason="the extension is not built for this Python")

import pellucid.depyf as depyf  # noqa: E402
from pellucid.depyf.decompiler import DecompilationError, Decompiler  # noqa: E402
from pellucid.depyf.utils import collect_all_code_objects, decompile_ensure, get_code_owner  # noqa: E402
from pellucid.depyf.utils import get_function_signature  # noqa: E402


def defined(source: str, name: str = "f"):
    space: dict = {}
    exec(compile(source, "<text>", "exec"), space)
    return space[name]


def around(x, *rest, key, **more):
    text = f"""first {key}
        second"""
    if x:
        return text, rest, key, more
    return [y for y in rest if y]


def unreadable() -> types.CodeType:
    """Code that no statement describes: it jumps to its own first instruction and back into an expression."""
    code = around.__code__
    return code.replace(co_code=b"\xff\x00" * (len(code.co_code) // 2))


def test_text_runs_as_the_function_does() -> None:
    for args in ((1, 2), (0, 0, 5), (0,)):
        assert defined(depyf.decompile(around), "around")(*args, key=3) == around(*args, key=3)
    assert depyf.decompile(around) == depyf.decompile(around.__code__) == Decompiler(around).decompile()


def test_other_steps_leave_strings_alone() -> None:
    source = Decompiler(around).decompile(indentation=2)
    assert re.search(r"^  if x:$", source, re.MULTILINE) and re.search(r"^    return \(?text", source, re.MULTILINE)
    assert defined(source, "around")(1, key=3) == around(1, key=3)


def test_names_can_be_replaced() -> None:
    assert "def other(x, *rest, key, **more):" in Decompiler(around).decompile(overwite_fn_name="other")
    assert get_function_signature(around.__code__) == "def around(x, *rest, key, **more):\n"


def test_what_has_no_text_raises() -> None:
    with pytest.raises(DecompilationError):
        depyf.decompile(unreadable())
    fallback = decompile_ensure(unreadable(), overwite_fn_name="other")
    assert "Failed to decompile" in fallback
    compile(fallback, "<text>", "exec")


def test_code_objects_and_owners() -> None:
    import functools

    class Holder:
        def method(self):
            return lambda: 1

        def __call__(self):
            return 2

    assert len(collect_all_code_objects(Holder.method.__code__)) == 2
    assert get_code_owner(Holder().method).__code__ is Holder.method.__code__
    assert get_code_owner(functools.partial(around, 1)).__code__ is around.__code__
    assert get_code_owner(Holder()).__code__ is Holder.__call__.__code__


def test_compiled_like_another(tmp_path) -> None:
    template = str(tmp_path / "text_%d.py")
    made = [Decompiler.decompile_and_compile_like(around.__code__, around.__code__, filepath_template=template)
            for _ in range(2)]
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["text_0.py"], "equal text is written once"
    assert made[0].co_filename == str(tmp_path / "text_0.py") and made[0].co_name == "text_0"
    again = types.FunctionType(made[1], {}, "f", None, None)
    assert again(1, 2, key=3) == around(1, 2, key=3)


def test_free_variables_have_to_fit() -> None:
    def outer(a, b):
        def inner():
            return a

        def other():
            return a, b
        return inner, other

    inner, other = outer(1, 2)
    made = Decompiler.decompile_and_compile_like(inner.__code__, inner.__code__)
    assert types.FunctionType(made, {}, "f", None, inner.__closure__)() == 1
    with pytest.raises(DecompilationError, match="free variables"):
        Decompiler.decompile_and_compile_like(inner.__code__, other.__code__)


def test_parts_that_are_not_here_say_so() -> None:
    from pellucid.depyf import code_transform, explain
    for module, name in ((code_transform, "generate_dot_table"), (explain, "dump_src")):
        with pytest.raises(AttributeError, match="pellucid"):
            getattr(module, name)


def test_hidden_variables_are_added() -> None:
    from pellucid.depyf.code_transform import fix_irregular_code

    def old(x):
        hidden = x
        return hidden

    text = fix_irregular_code(old.__code__, "def old(x):\n    return x\n", add_local_variables=["more"])
    inner = [code for code in collect_all_code_objects(compile(text, "<text>", "exec")) if code.co_name == "old"]
    assert inner and {"hidden", "more"} <= set(inner[0].co_varnames)


# With torch.

@pytest.fixture
def torch():
    found = pytest.importorskip("torch", reason="torch is not installed")
    found._dynamo.reset()
    return found


def test_wrappers_keep_what_was_compiled_for_them(torch) -> None:
    """Three instances share one code object: each has its own compiled versions."""
    from pellucid.depyf.optimization import TorchCompileWrapperWithCustomDispatcher

    class Wrapper(TorchCompileWrapperWithCustomDispatcher):
        def __init__(self, name):
            self.name = name  # a text: Dynamo would let a number vary, and not compile for the third
            super().__init__(torch.compile(self.forward, backend="eager"))

        def forward(self, x, flag=None):
            y = getattr(torch, self.name)(x)
            return y if flag is None else y + 1

        def __call__(self, x, flag=None):
            if len(self.compiled_codes) < 2:
                return self.compiled_callable(x, flag)
            with self.dispatch_to_code(0 if flag is None else 1):
                return self.forward(x, flag)

    x = torch.arange(4.0)
    for wrapper in [Wrapper(name) for name in ("sin", "cos", "tanh")]:
        expected = getattr(torch, wrapper.name)(x)
        for _ in range(2):
            assert torch.equal(wrapper(x), expected)
            assert torch.equal(wrapper(x, flag=1), expected + 1)
        assert len(wrapper.compiled_codes) == 2


def test_by_hand_and_inside_of_a_hook(torch, tmp_path) -> None:
    """As vLLM does it: prepare_debug entered and left by hand, decompile called while Dynamo compiles."""
    texts = []

    def hook(old, new):
        if old.co_name == "step":
            texts.append(depyf.decompile(new))

    def step(x):
        y = x.sin()
        if y.sum() > 0:
            return y + 1
        return y - 1

    from pellucid.depyf.explain.enable_debugging import enable_bytecode_hook
    x = torch.arange(1.0, 3.0)
    session = depyf.prepare_debug(str(tmp_path))
    session.__enter__()
    try:
        with enable_bytecode_hook(hook):
            assert torch.equal(torch.compile(step, backend="eager")(x), step(x))
    finally:
        session.__exit__(None, None, None)
    assert texts and all("def step(" in text for text in texts)
    assert list(tmp_path.glob("full_code_for_*.py"))


def test_debug_wants_files_first(torch) -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        import pellucid.depyf as depyf
        try:
            with depyf.debug():
                pass
        except RuntimeError as error:
            print(error)
    """)], capture_output=True, text=True, env={**os.environ, "PYTHONBREAKPOINT": "0"}, check=True)
    assert "prepare_debug" in done.stdout


# depyf's own tests, where their sources are: PELLUCID_DEPYF_TESTS=depyf-0.20.0/tests.

OWN = os.environ.get("PELLUCID_DEPYF_TESTS", "")
ALIAS = """
import importlib, sys
import pellucid.depyf
for name in ("", ".decompiler", ".utils", ".code_transform", ".optimization", ".explain", ".explain.enable_debugging",
             ".explain.enhance_logging"):
    sys.modules["depyf" + name] = importlib.import_module("pellucid.depyf" + name)
"""


def own_files() -> list[pathlib.Path]:
    folder = pathlib.Path(OWN)
    return [*sorted(folder.glob("test*.py")), *sorted((folder / "test_pytorch").glob("test_*.py"))] if OWN else []


@pytest.mark.slow
@pytest.mark.skipif(not OWN, reason="PELLUCID_DEPYF_TESTS names no folder with depyf's own tests")
@pytest.mark.parametrize("path", own_files(), ids=lambda path: path.stem)
def test_tests_of_depyf(path, tmp_path) -> None:
    (tmp_path / "sitecustomize.py").write_text(ALIAS)
    paths = os.pathsep.join([str(tmp_path), str(pathlib.Path(pellucid.__file__).parent.parent), str(path.parent)])
    as_tests = re.search(r"^(def test_|class Test|import unittest|import pytest)", path.read_text(), re.MULTILINE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)] if as_tests else \
        [sys.executable, str(path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": paths, "PYTHONBREAKPOINT": "0"})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
