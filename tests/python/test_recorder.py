"""The recorder: what it logs, and that the program does not notice it."""

from __future__ import annotations

import dis
import gc
import re
import sys
import threading
import traceback
import weakref
from typing import Any, Callable, Iterator

import pytest

_pellucid = pytest.importorskip("pellucid._pellucid", reason="needs the extension")
if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    pytest.skip(f"recording is not supported in Python {sys.version_info[0]}.{sys.version_info[1]}", allow_module_level=True)
from pellucid import Error  # noqa: E402
from pellucid._pellucid import Recorder, dump_trace  # noqa: E402


def recorded(function: Callable, *args: Any, **kwargs: Any) -> str:
    """The dump of one call; the trace file must carry the same."""
    recorder = Recorder(function)
    recorder.run("call", args, kwargs)
    text = recorder.dump()
    assert dump_trace(recorder.log_bytes()) == text
    return text


def activation(text: str, name: str, number: int = 0) -> list[str]:
    """The lines of the n-th activation of a function: parameters, then a line per record."""
    found = [part for part in re.split(r"^activation ", text, flags=re.M)[1:]
             if part.splitlines()[0].split(" in ")[0].split(" direct")[0].endswith(name)]
    return [line.strip() for line in found[number].splitlines()[1:]]


def values(text: str, name: str, number: int = 0) -> list[str]:
    return [line.split(" = ", 1)[1] for line in activation(text, name, number)[1:] if " = " in line]


# ---- what is logged ----


def add_one(x: int) -> int:
    return x + 1


def test_values_of_expressions() -> None:
    def compute(a: int, b: tuple = (2, 3)) -> list:
        c = a * b[0]
        return [c, -c, c > 3, f"{c}!", b[-1:]]
    text = recorded(compute, 5)
    assert activation(text, "compute")[0] == "a=5 b=(2, 3)"
    assert values(text, "compute") == ["5", "(2, 3)", "0", "2", "10", "10", "10", "-10", "10", "3", "True", "10", "'10'", "'!'",
                                       "'10!'", "(2, 3)", "-1", "None", "slice(-1, None, None)", "(3,)",
                                       "[10, -10, True, '10!', (3,)]#1"]
    assert activation(text, "compute")[-1].endswith("return [10, -10, True, '10!', (3,)]#1")


def test_only_the_side_that_ran_and_every_step_of_a_loop() -> None:
    def loop(n: int) -> int:
        total = 0
        for i in range(n):
            if i % 2:
                total += i
        return total
    text = recorded(loop, 4)
    at = {i.opname: i.offset // 2 for i in dis.get_instructions(loop)}
    steps = [line.split() for line in activation(text, "loop")[1:]]
    assert [step[1:] for step in steps if step[0] == str(at["FOR_ITER"])] == [["=", "0"], ["=", "1"], ["=", "2"], ["=", "3"], []]
    added = [i.offset // 2 for i in dis.get_instructions(loop) if i.opname == "BINARY_OP" and i.argrepr == "+="]
    assert [step[2] for step in steps if step[0] == str(added[0])] == ["1", "4"]
    assert activation(text, "loop")[-1].endswith("return 4")


def test_calls_hang_below_the_instruction() -> None:
    def outer(x: int) -> int:
        return add_one(add_one(x))
    text = recorded(outer, 1)
    calls = [line for line in activation(text, "outer") if " call " in line]
    assert len(calls) == 2
    assert activation(text, "add_one", 0)[0] == "x=1" and activation(text, "add_one", 1)[0] == "x=2"
    assert text.count(" direct\n") == 2


def test_library_between_is_not_direct() -> None:
    import functools

    @functools.lru_cache
    def cached(x: int) -> int:
        return x

    class Sorted:
        def __init__(self, value: int) -> None:
            self.value = value

    def outer() -> list:
        import statistics
        return statistics._ss([1.5, 2.5]) and list(map(add_one, [1])) and sorted([Sorted(2), Sorted(1)], key=lambda s: s.value)
    text = recorded(outer)
    assert "activation" in text and "statistics" not in "".join(re.findall(r"^code.*$", text, re.M))


def test_methods_and_attributes() -> None:
    class Thing:
        def __init__(self) -> None:
            self.size = 3

        def double(self) -> int:
            return self.size * 2

        @property
        def half(self) -> float:
            return self.size / 2

    def use(thing: Thing) -> float:
        return thing.double() + thing.half + len([].__class__.__name__)
    text = recorded(use, Thing())
    assert any(v.endswith(". def " + Thing.double.__qualname__) for v in values(text, "use"))
    assert "1.5" in values(text, "use") and "len" in values(text, "use")
    assert re.search(r"class \d+ author's .*Thing", text)
    assert re.search(r"code \d+ .*Thing.double .* of Thing", text)


def test_objects_are_seen_in_each_state() -> None:
    class State:
        pass

    def change(state: State) -> State:
        state.a = 1
        state.b = state
        return state
    text = recorded(change, State())
    seen = [line for line in activation(text, "change")[1:] if "State#" in line]
    assert "{}" in seen[0] and "'a': 1" in seen[-1] and "'b': State#1" in seen[-1]


def test_lists_have_an_identity() -> None:
    def build() -> tuple:
        a = [1]
        b = a
        c = [1]
        b.append(2)
        return a, c
    last = activation(recorded(build), "build")[-1]
    (a, a_number), (c, c_number) = re.findall(r"(\[[^]]*\])#(\d+)", last)
    assert (a, c) == ("[1, 2]", "[1]") and a_number != c_number


def test_generators_are_one_activation() -> None:
    def count(n: int) -> Iterator[int]:
        for i in range(n):
            got = yield i
            assert got is None

    def use() -> list:
        return [x * 10 for x in count(3)]
    text = recorded(use)
    lines = activation(text, "count")
    assert [line.split("yield ")[1] for line in lines if " yield " in line] == ["0", "1", "2"]
    assert lines[-1].endswith("return None")
    assert len(re.findall(r"^activation .*count", text, re.M)) == 1
    assert len(re.findall(r"^activation .*<listcomp>", text, re.M)) == 1


def test_generators_that_are_closed_or_thrown_into() -> None:
    def forever() -> Iterator[int]:
        try:
            while True:
                yield 1
        except ValueError:
            yield 2

    def use() -> tuple:
        g = forever()
        a = next(g)
        b = g.throw(ValueError("x"))
        g.close()
        h = forever()
        next(h)
        return a, b
    text = recorded(use)
    assert activation(text, "use")[-1].endswith("return (1, 2)")
    assert any(" raise ValueError" in line for line in activation(text, "forever"))


def test_nested_functions_closures_lambdas_recursion() -> None:
    def make(n: int) -> Callable:
        def fact(k: int) -> int:
            return 1 if k <= n else k * fact(k - 1)
        return fact

    def use() -> int:
        return make(1)(4) + (lambda z: z)(5)
    text = recorded(use)
    assert activation(text, "use")[-1].endswith("return 29")
    facts = re.findall(r"^activation .*fact(?= )", text, re.M)
    assert len(facts) == 4
    assert "n=1" in activation(text, "fact")[0]
    assert activation(text, "<lambda>")[0] == "z=5"


def test_exceptions_inside_are_logged() -> None:
    def careful() -> str:
        try:
            {}["key"]
        except KeyError:
            return "caught"
        return ""
    lines = activation(recorded(careful), "careful")
    assert any(line.endswith("raise KeyError") for line in lines) and lines[-1].endswith("return 'caught'")


def test_star_arguments_defaults_and_keyword_only() -> None:
    def take(a: int, *rest: int, key: int = 7, **more: int) -> tuple:
        return a, rest, key, more
    text = recorded(take, 1, 2, 3, extra=4)
    assert activation(text, "take")[0] == "a=1 key=7 rest=(2, 3) more={'extra': 4}"


def test_long_functions_with_extended_arguments() -> None:
    body = "\n".join(f"    v{i} = x + {i + 1000}" for i in range(300))
    source = f"def long(x):\n{body}\n    for i in range(2):\n        v0 = v0 + v299\n{body}\n    return v0 + v299\n"
    import linecache
    linecache.cache["<long>"] = (len(source), None, source.splitlines(True), "<long>")
    names: dict[str, Any] = {}
    exec(compile(source, "<long>", "exec"), names)
    text = recorded(names["long"], 1)
    assert values(text, "long").count("1300") == 5  # 1 + 1299: computed twice, read twice in the loop and at the end
    assert activation(text, "long")[-1].endswith("return 2301")


def test_big_containers_are_cut_and_say_so() -> None:
    def big() -> list:
        return list(range(1000))
    assert ", ...]" in activation(recorded(big), "big")[-1]


def test_sets() -> None:
    def build() -> tuple:
        return {7}, frozenset({8}), set(range(5))
    line = activation(recorded(build), "build")[-1]
    assert "set(7)" in line and "frozenset(8)" in line and "set(0, 1, 2, 3, 4)" in line


def test_code_without_source_is_the_library() -> None:
    names: dict[str, Any] = {}
    exec("def hidden(x):\n    return x", names)

    def use() -> int:
        return names["hidden"](3)
    assert "hidden" not in "".join(re.findall(r"^activation.*$", recorded(use), re.M))


def test_author_roots(tmp_path: Any) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def mine(f):\n    return f(1)\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    recorder = Recorder(names["mine"], [str(tmp_path)])
    assert recorder.run("call", (add_one,)) == 2
    assert re.findall(r"^activation \d+ run 0 code \d+ (\w+)", recorder.dump(), re.M) == ["mine"]


# ---- the program does not notice ----


class Custom(Exception):
    pass


def test_exceptions_come_out_unchanged() -> None:
    raised = Custom("as it was", 3)

    def deep() -> None:
        raise raised

    def fail() -> None:
        deep()
    recorder = Recorder(fail)
    with pytest.raises(Custom) as info:
        recorder.run("call")
    assert info.value is raised and info.value.__cause__ is None and info.value.__context__ is None
    names = [frame.name for frame in traceback.extract_tb(info.value.__traceback__)]
    assert names[-2:] == ["fail", "deep"]
    assert sys.gettrace() is None
    dump_trace(recorder.log_bytes())  # what was recorded until then is a proper log
    assert Recorder(add_one).run("again", (1,)) == 2


def test_trace_function_of_others_is_put_back() -> None:
    events = []

    def tracer(frame: Any, event: str, arg: Any) -> Any:
        events.append(event)
        return tracer
    sys.settrace(tracer)
    try:
        Recorder(add_one).run("call", (1,))
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(None)


def test_profile_function_sees_everything() -> None:
    def profiled() -> list:
        seen: list[str] = []
        sys.setprofile(lambda frame, event, arg: seen.append(frame.f_code.co_name) if event == "call" else None)
        try:
            Recorder(lambda: (add_one(1), re.compile("a|b" * 3))).run("call")
        finally:
            sys.setprofile(None)
        return seen
    seen = profiled()
    assert "add_one" in seen and "compile" in seen


def test_running_twice_at_once_is_refused() -> None:
    inner = Recorder(add_one)
    with pytest.raises(RuntimeError, match="running in this thread"):
        Recorder(lambda: inner.run("inner", (1,))).run("outer")
    recorder = Recorder(lambda: recorder.log_bytes())
    with pytest.raises(RuntimeError, match="running"):
        recorder.run("call")
    assert inner.run("alone", (1,)) == 2


def test_other_threads_are_left_alone_and_may_record_too() -> None:
    results: dict[str, str] = {}
    started, go_on = threading.Event(), threading.Event()

    def other(x: int) -> int:
        started.set()
        go_on.wait(10)
        return x * 2

    def worker() -> None:
        results["other"] = recorded(other, 21)

    def main(x: int) -> int:
        thread = threading.Thread(target=worker)
        thread.start()
        started.wait(10)
        for i in range(3):
            x = add_one(x)
        go_on.set()
        thread.join()
        return x
    text = recorded(main, 1)
    assert len(re.findall(r"^activation .*add_one", text, re.M)) == 3
    assert not re.search(r"^activation .*\bother\b", text, re.M)
    assert activation(results["other"], "other")[-1].endswith("return 42")
    assert "add_one" not in results["other"]


def test_deep_recursion_raises_as_ever() -> None:
    def forever(n: int) -> int:
        return forever(n + 1)
    with pytest.raises(RecursionError):
        Recorder(forever).run("call", (0,))
    assert Recorder(add_one).run("call", (1,)) == 2


def test_nothing_is_kept_alive_by_values() -> None:
    class Thing:
        pass
    things = []

    def make() -> int:
        thing = Thing()
        things.append(weakref.ref(thing))
        return 1

    recorder = Recorder(make)
    recorder.run("call")
    gc.collect()
    assert things[0]() is None


def test_memory_is_given_back() -> None:
    class Model:
        def __call__(self) -> int:
            return add_one(1)
    model = Model()
    recorder = Recorder(model)
    recorder.run("call")
    gone = weakref.ref(model)
    del model, recorder
    gc.collect()
    assert gone() is None


def test_objects_are_not_asked_anything() -> None:
    class Touchy:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"asked for {name}")

        def _no(self, *_: Any) -> Any:
            raise AssertionError("asked")
        __eq__ = __len__ = __iter__ = __bool__ = __repr__ = __str__ = _no
        __hash__ = _no  # type: ignore[assignment]

    def hold(x: object) -> object:
        y = [x, {"k": x}]
        return y[0]
    thing = Touchy()
    recorder = Recorder(hold)
    assert recorder.run("call", (thing,)) is thing


def test_bad_arguments() -> None:
    with pytest.raises(TypeError):
        Recorder(3)
    with pytest.raises(TypeError):
        Recorder(add_one, leaves=["nn.Linear"])
    with pytest.raises(TypeError):
        Recorder(add_one).run(3)
    recorder = Recorder(add_one, origin="here")
    assert recorder.origin == "here"
    with pytest.raises(TypeError):
        recorder.origin = 3
    with pytest.raises(Error):
        dump_trace(b"nonsense")
    data = bytearray(Recorder(add_one).log_bytes())
    data[8] = 99
    with pytest.raises(Error, match="version 99"):
        dump_trace(bytes(data))


def test_truncated_and_altered_trace_files() -> None:
    recorder = Recorder(lambda: [add_one(i) for i in range(3)])
    recorder.run("call")
    data = recorder.log_bytes()
    for end in range(0, len(data), 7):
        with pytest.raises(Error):
            dump_trace(data[:end])
    for at in range(9, len(data), 11):
        try:
            dump_trace(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
        except Error:
            pass
