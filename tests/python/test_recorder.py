"""The recorder: what it logs, and that the program does not notice it."""

from __future__ import annotations

import dis
import gc
import importlib.metadata
import collections
import re
import sys
import threading
import traceback
import types
import weakref
from typing import Any, Callable, Iterator

import pytest

_pellucid = pytest.importorskip("pellucid._pellucid", reason="needs the extension")
if not (3, 11) <= sys.version_info[:2] <= (3, 15):
    pytest.skip(f"recording is not supported in Python {sys.version_info[0]}.{sys.version_info[1]}",
                allow_module_level=True)
from pellucid import Error, _library  # noqa: E402
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
    assert values(text, "compute") == ["5", "(2, 3)", "0", "2", "10", "10", "10", "-10", "10", "3", "True",
                                       "10", "'10'", "'!'", "'10!'", "(2, 3)", "-1", "None",
                                       "slice(-1, None, None)", "(3,)", "[10, -10, True, '10!', (3,)]#1"]
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
    assert [step[1:] for step in steps if step[0] == str(at["FOR_ITER"])] == [["=", "0"], ["=", "1"],
                                                                              ["=", "2"], ["=", "3"], []]
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
        return (statistics._ss([1.5, 2.5]) and list(map(add_one, [1]))
                and sorted([Sorted(2), Sorted(1)], key=lambda s: s.value))
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


def test_a_descriptor_without_a_name_leaves_the_others_theirs() -> None:
    nameless, named = Recorder.run, str.upper  # one of a C type of ours, one of the library's

    def use() -> tuple:
        return nameless, named, str.lower

    assert values(recorded(use), "use")[:-1] == ["<method_descriptor>", "str.upper", "str", "str.lower"]


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
    frames = 0 if sys.version_info >= (3, 12) else 1
    assert len(re.findall(r"^activation .*<listcomp>", text, re.M)) == frames


def test_comprehensions_have_their_items_and_their_value() -> None:
    def build(xs: list) -> tuple:
        x = 7
        doubled = [x * 2 for x in xs if x]
        pairs = {a: b for a in doubled for b in [a + 1]}
        return doubled, pairs, {x for x in ()}, x
    text = recorded(build, [1, 0, 3])
    at = "build" if sys.version_info >= (3, 12) else "<listcomp>"  # since 3.12 they run in the frame around them
    assert {"1", "2", "0", "3", "6"} <= set(values(text, at))
    assert any(re.fullmatch(r"\[2, 6\]#\d+", value) for value in values(text, "build"))
    assert any(re.fullmatch(r"\{2: 3, 6: 7\}", value) for value in values(text, "build"))
    assert re.search(r"return \(\[2, 6\]#\d+, \{2: 3, 6: 7\}, set\(\), 7\)$", activation(text, "build")[-1])


def test_super_and_slices() -> None:
    class Base:
        def get(self, x: list) -> list:
            return x

    class Derived(Base):
        def get(self, x: list) -> list:
            x[:1] = [5]
            return super().get(x[1:])
    text = recorded(Derived().get, [1, 2])
    found = values(text, "Derived.get")
    assert "<super>" in found and "slice(None, 1, None)" in found and "slice(1, None, None)" in found
    assert any(value.endswith(". def " + Base.get.__qualname__) for value in found)


def test_each_state_of_an_object_that_a_callee_changes() -> None:
    class State:
        def __init__(self) -> None:
            self.n = 1000

    def poke(state: State) -> None:
        state.n = state.n + 1

    def count(state: State) -> State:
        for _ in range(20):
            poke(state)
        return state
    text = recorded(count, State())
    seen = re.findall(r"'n': (\d+)", "\n".join(activation(text, "count")[1:]))
    assert seen == [str(1000 + i) for i in (*range(21), 20)]


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


def test_code_without_source_is_the_authors_unless_a_library_made_it() -> None:
    names: dict[str, Any] = {}
    exec("def hidden(x):\n    return x", names)
    pair = collections.namedtuple("pair", "first second")

    def use() -> int:
        return names["hidden"](pair(3, 4).first)
    activations = "".join(re.findall(r"^activation.*$", recorded(use), re.M))
    assert "hidden" in activations and "lambda" not in activations and "__new__" not in activations


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


def test_a_trace_function_can_not_record_what_it_runs() -> None:
    refused: list[str] = []

    def tracer(frame: Any, event: str, arg: Any) -> None:
        if not refused:
            try:
                Recorder(add_one).run("call", (1,))
            except RuntimeError as error:
                refused.append(str(error))
    sys.settrace(tracer)
    try:
        add_one(1)
    finally:
        sys.settrace(None)
    assert refused and "trace function" in refused[0]


needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12")


def monitoring_tools() -> list:
    return [sys.monitoring.get_tool(number) for number in range(6)]


@needs_monitoring
def test_monitoring_is_left_as_it_was() -> None:
    def fail() -> None:
        raise Custom("x")
    before = monitoring_tools()
    Recorder(add_one).run("call", (1,))
    assert monitoring_tools() == before
    with pytest.raises(Custom):
        Recorder(fail).run("call")
    assert monitoring_tools() == before
    for number in [number for number, name in enumerate(before) if name is None]:  # the recorder had one of these
        sys.monitoring.use_tool_id(number, "test")
        try:
            assert sys.monitoring.get_local_events(number, add_one.__code__) == 0
            assert sys.monitoring.get_local_events(number, fail.__code__) == 0
        finally:
            sys.monitoring.free_tool_id(number)


@needs_monitoring
def test_without_room_in_monitoring_nothing_happens() -> None:
    mine = [number for number, name in enumerate(monitoring_tools()) if name is None]
    for number in mine:
        sys.monitoring.use_tool_id(number, f"tool{number}")
    try:
        with pytest.raises(RuntimeError, match="no room for the recorder.*tool4"):
            Recorder(add_one).run("call", (1,))
    finally:
        for number in mine:
            sys.monitoring.free_tool_id(number)
    assert Recorder(add_one).run("call", (1,)) == 2


@needs_monitoring
def test_other_monitors_see_what_they_would() -> None:
    """A coverage tool counts lines while a model is recorded, as a whole and for single functions."""
    def work(n: int) -> int:
        total = 0
        for i in range(n):
            total += add_one(i)
        return total
    plain = activation(recorded(work, 3), "work")
    lines: list[int] = []
    number = [number for number, name in enumerate(monitoring_tools()) if name is None][0]
    event = sys.monitoring.events.LINE
    sys.monitoring.use_tool_id(number, "lines")
    sys.monitoring.register_callback(number, event, lambda code, line: lines.append(line)
                                     if code is work.__code__ else None)
    try:
        for events, local in ((event, 0), (0, event)):
            lines.clear()
            sys.monitoring.set_events(number, events)
            sys.monitoring.set_local_events(number, work.__code__, local)
            work(3)
            alone = list(lines)
            lines.clear()
            assert activation(recorded(work, 3), "work") == plain
            assert lines == alone and lines
            assert sys.monitoring.get_local_events(number, work.__code__) == local
    finally:
        sys.monitoring.set_local_events(number, work.__code__, 0)
        sys.monitoring.set_events(number, 0)
        sys.monitoring.register_callback(number, event, None)
        sys.monitoring.free_tool_id(number)


def test_one_function_recorded_in_two_threads() -> None:
    """The one that ends first does not end the other's view of it."""
    first_ended = threading.Event()
    texts: dict[str, str] = {}

    def shared(wait: bool) -> int:
        if wait:
            thread.start()
            first_ended.wait(10)
        return add_one(3)

    def other() -> None:
        texts["other"] = recorded(shared, False)
        first_ended.set()
    thread = threading.Thread(target=other)
    text = recorded(shared, True)
    thread.join()
    for found in (text, texts["other"]):
        assert activation(found, "shared")[-1].endswith("return 4") and "add_one" in "".join(values(found, "shared"))
        assert values(found, "add_one") == ["3", "1", "4"]


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


def test_versions_of_packages_that_load_their_parts_later(monkeypatch) -> None:
    class Lazy(types.ModuleType):
        def __getattr__(self, name):
            raise RuntimeError("asked, it loads everything")

    monkeypatch.setitem(sys.modules, "lazy_thing", Lazy("lazy_thing"))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"9.1 of {name}")
    assert "lazy_thing 9.1 of lazy_thing" in _library.versions()
