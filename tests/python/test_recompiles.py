"""Why a function was compiled again: the cause that was planted is the cause that is named."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pellucid = pytest.importorskip("pellucid", reason="the extension is not built for this Python")

from pellucid import _recompiles as recompiles  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 1.0

    def forward(self, x):
        return x * self.scale


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@dataclasses.dataclass
class Options:
    factor: int


t = torch.ones

#: (name, function, calls, kind, what varied, the last pair of values)
PLANTED = [
    ("size", lambda x: x + 1, [(t(3),), (t(4),)], "tensor_size", "x", ("3", "4")),
    ("second size", lambda x: x + 1, [(t(2, 3),), (t(2, 5),)], "tensor_size", "x", ("3", "5")),
    ("rank", lambda x: x + 1, [(t(3),), (t(3, 1),)], "tensor_rank", "x", ("1", "2")),
    ("dtype", lambda x: x + 1, [(t(3),), (t(3).double(),)], "tensor_dtype", "x", ("Float", "Double")),
    ("stride", lambda x: x + 1, [(t(3, 4),), (t(4, 3).t(),)], "tensor_stride", "x", ("4", "1")),
    ("gradients", lambda x: x + 1, [(t(3),), (t(3).requires_grad_(),)], "tensor_requires_grad", "x",
     ("False", "True")),
    ("number", lambda x, n: x + n, [(t(3), 2), (t(3), 5)], "number", "n", ("2", "5")),
    ("text", lambda x, n: x + len(n), [(t(3), "a"), (t(3), "bb")], "choice", "n", ("'a'", "'bb'")),
    ("flag", lambda x, n: x + 1 if n else x - 1, [(t(3), True), (t(3), False)], "choice", "n", ("True", "False")),
    ("length", lambda x, n: x + sum(n), [(t(3), [1, 2]), (t(3), [1, 2, 3])], "structure", "n", None),
    ("keys", lambda x, n: x + sum(n.values()), [(t(3), {"a": 1}), (t(3), {"b": 1})], "structure", "n", None),
    ("type", lambda x, n: x + n, [(t(3), 1), (t(3), 1.5)], "type", "n", ("1", "1.5")),
    ("function", lambda x, f: f(x), [(t(3), torch.sin), (t(3), torch.cos)], "object", "f", None),
    ("record", lambda x, d: x + d.factor, [(t(3), Options(1)), (t(3), Options(7))], "number", "d.factor", ("1", "7")),
    ("one tensor twice", lambda x, y: x.add_(1) + y, [(t(3), t(3)), (t(3),) * 2], "aliases", None, None),
]


@pytest.mark.parametrize("name, fn, calls, kind, source, values", PLANTED, ids=[row[0] for row in PLANTED])
def test_the_planted_cause_is_named(name, fn, calls, kind, source, values) -> None:
    if name == "one tensor twice":
        shared = t(3)
        calls = [calls[0], (shared, shared)]
    made = pellucid.explain(fn, *calls[0], more=calls[1:])
    assert [cause.kind for cause in made.causes] == [kind]
    cause = made.causes[0]
    assert source is None or cause.source == source
    assert values is None or cause.values[-1] == values
    assert cause.again == ["0/1"] and cause.given and cause.given[0].startswith("test_recompiles.py:")
    assert cause.change and "nothing is known" not in cause.change
    assert "Why functions were compiled again" in made.text and "Why functions were compiled again" in made.html
    json.dumps(made.to_dict())


def test_modes_of_torch() -> None:
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    compiled(t(3))
    with torch.no_grad():
        made = pellucid.explain(compiled, t(3))
    assert [(cause.kind, cause.source) for cause in made.causes] == [("state", "grad_mode")]


def test_numbers_of_modules_name_the_lines_that_change_them() -> None:
    made = pellucid.explain(Counter(), t(2, 4), more=[(t(2, 4),)] * 3)
    causes = {cause.source.rpartition(".")[2]: cause for cause in made.causes}
    assert causes["calls"].kind == "module_number" and "register_buffer" in causes["calls"].change
    lines = pathlib.Path(__file__).read_text().splitlines()
    assert causes["calls"].changed, "the line that assigns"
    for said in causes["calls"].changed:
        place, line = said.split("  ", 1)
        assert lines[int(place.rpartition(":")[2]) - 1].strip() == line == "self.calls += 1"


def test_floats_of_modules() -> None:
    model = Scaled()
    compiled = torch.compile(model, backend="eager")
    compiled(t(3))
    model.scale = 2.5
    made = pellucid.explain(compiled, t(3))
    assert [(cause.kind, cause.source, cause.values) for cause in made.causes] == [
        ("module_float", "self.scale", [("1.0", "2.5")])]


def test_a_size_that_decides_is_no_free_size() -> None:
    made = pellucid.explain(lambda x: x + 1 if x.shape[0] < 5 else x - 1, t(3), more=[(t(4),), (t(9),)])
    found = [cause for cause in made.causes if cause.kind == "size_range"]
    assert found and "x.size()[0] is 9" in found[0].values[0][1] and found[0].source == "x"


def test_trying_counts_and_compares() -> None:
    model = Counter()
    before = torch.get_rng_state()
    made = pellucid.explain(model, t(2, 4), more=[(t(2, 4),)] * 3, attempt=True)
    assert model.calls == 4 and torch.equal(before, torch.get_rng_state()), "as after the calls themselves"
    tried = made.causes[0].tried
    assert "allow_unspec_int_on_nn_module = True: 2 compilations instead of 4; results equal" in tried
    sizes = pellucid.explain(lambda x: x.sin(), t(3), more=[(t(4),), (t(5),)], attempt=True)
    assert "dynamic=True): 1 compilations instead of 2; results equal" in sizes.causes[0].tried
    kept = pellucid.explain(lambda x, n: x + len(n), t(3), "a", more=[(t(3), "bb")], attempt=True)
    assert kept.causes[0].tried.startswith("nothing")


def test_trying_says_when_results_differ(monkeypatch) -> None:
    """A change that is faster and wrong must not look like one that helps."""
    calls = {"n": 0}

    def fn(x):
        torch._dynamo.graph_break()
        calls["n"] += 1  # state that nobody puts back
        return x * calls["n"]

    made = pellucid.explain(fn, t(3), more=[(t(4),), (t(5),)], attempt=True)
    tried = [cause.tried for cause in made.causes if "dynamic" in cause.tried]
    assert tried and all("other results" in words for words in tried)


def test_what_no_rule_knows_says_so() -> None:
    failure = recompiles.read("0/0: something_new(x, 3)   # y = x  # a.py:1 in f", lambda source: "")
    assert failure.kind == "unknown" and failure.version == "0/0" and failure.needed == "a.py:1  y = x"
    cause = recompiles.Cause("f", failure.kind, failure.source)
    assert cause.change == "nothing is known about this guard"


def test_values_are_read_not_run() -> None:
    class Trap:
        def boom(self):
            raise AssertionError("it was called")

    space = {"x": Trap(), "n": [1, 2]}
    assert recompiles._value("x.boom()", space) == "" and recompiles._value("len(n)", space) == "2"
    assert recompiles._value("n[1]", space) == "2" and recompiles._value("missing", space) == ""
    assert recompiles._value("__import__('os')", space) == ""


def test_program(tmp_path) -> None:
    (tmp_path / "m.py").write_text("import torch\ndef make():\n    return torch.nn.Linear(4, 4)\n")
    done = subprocess.run([sys.executable, "-m", "pellucid", "explain", f"{tmp_path / 'm.py'}:make", "--input", "2x4",
                           "--try", "--json"], capture_output=True, text=True, check=True)
    causes = json.loads(done.stdout)["causes"]
    assert causes and causes[0]["kind"] == "tensor_size" and "dynamic=True" in causes[0]["tried"]
