"""Where the numbers of a compiled function part: planted faults must be named by their line, and nothing else.

Backends of our own change one line of a graph, so that the tests need no C++ compiler and know the answer.
"""

import json
import operator
import os
import subprocess

import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402
from pellucid._numerics import Difference, _kernels, difference  # noqa: E402

HERE = os.path.abspath(__file__)


def changed(target, change):
    """A backend that computes the calls of `target` otherwise."""
    def backend(module, inputs):
        for node in list(module.graph.nodes):
            if node.op in ("call_function", "call_method") and node.target in target:
                with module.graph.inserting_after(node):
                    other = module.graph.call_function(change, (node,))
                node.replace_all_uses_with(other)
                other.args = (node,)
        module.recompile()
        return module.forward
    return backend


def a_bit_more(value):
    return torch.nextafter(value, torch.full_like(value, float("inf")))


def three_lines(x):
    y = x * 3
    z = torch.sin(y)
    return z - y


def small():
    """So small that sin(3 * x) is close to 3 * x: the subtraction is exact, and no bit of a fault is lost in it."""
    return torch.randn(64, generator=torch.Generator().manual_seed(0)) * 0.1


def line_of(text):
    with open(HERE, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.strip() == text)


def bisect(fn, *args, backend):
    return pellucid.bisect_numerics(fn, *args, backends=["eager", backend])


def test_equal_is_equal():
    made = pellucid.bisect_numerics(three_lines, small(), backends=["eager"])
    assert made.equal and made.first is None and not made.unknown and not made.not_finite
    assert "every bit is equal" in str(made) and made.to_dict()["equal"] is True


@pytest.mark.parametrize("target, text", [
    ({operator.mul, torch.mul}, "y = x * 3"), ({torch.sin}, "z = torch.sin(y)"), ({operator.sub}, "return z - y")])
def test_the_line_that_differs_is_named(target, text):
    torch._dynamo.reset()
    made = bisect(three_lines, small(), backend=changed(target, a_bit_more))
    assert not made.equal and made.first is not None, str(made)
    assert (made.first.file, made.first.line) == (HERE, line_of(text)), str(made)
    assert made.first.difference.ulp == 1 and made.first.difference.different == 64
    assert json.dumps(made.to_dict())


def test_what_differs_only_when_it_is_fused():
    """The backend is wrong only where a value is not an output: keeping all values hides it."""
    def backend(module, inputs):
        output = next(node for node in module.graph.nodes if node.op == "output")
        if len(output.all_input_nodes) > 1:
            return module.forward
        return changed({torch.sin}, a_bit_more)(module, inputs)

    made = bisect(three_lines, small(), backend=backend)
    assert made.first is not None and made.first.line == line_of("z = torch.sin(y)"), str(made)
    assert "only this line as output" in made.first.how


def test_what_no_graph_shows_is_unknown():
    calls = []

    def backend(module, inputs):  # wrong in the first compilation alone
        calls.append(module)
        return changed({torch.sin}, a_bit_more)(module, inputs) if len(calls) == 1 else module.forward

    made = bisect(three_lines, small(), backend=backend)
    assert not made.equal and made.first is None and "as a whole" in made.unknown


def test_gradients_are_compared():
    def same_with_twice_the_gradient(value):
        return value + (value - value.detach())

    weight = torch.nn.Linear(3, 2)
    made = bisect(weight, torch.randn(4, 3), backend=changed({torch._C._nn.linear}, same_with_twice_the_gradient))
    (stage,) = [stage for stage in made.stages if not stage.equal]
    assert not stage.differences and [d.what for d in stage.gradients] == ["weight", "bias"]
    assert "backward" in made.unknown and weight.weight.grad is None


def test_a_backend_that_fails_is_not_equal():
    def backend(module, inputs):
        raise ValueError("no such thing")

    made = bisect(three_lines, small(), backend=backend)
    assert not made.equal and "no such thing" in str(made) and "failed" in repr(made)


def test_chance_is_not_a_difference():
    def drops(x):
        return torch.nn.functional.dropout(x, 0.5, training=True)

    x, before = torch.randn(50), torch.get_rng_state()
    assert pellucid.bisect_numerics(drops, x, backends=["eager"]).equal
    assert torch.equal(before, torch.get_rng_state())


def test_state_is_put_back():
    norm = torch.nn.BatchNorm1d(3)
    pellucid.bisect_numerics(norm, torch.randn(5, 3), backends=["eager"])
    assert norm.running_mean.eq(0).all() and norm.num_batches_tracked == 0


def test_a_function_that_differs_from_itself():
    calls = []

    def counts(x):
        calls.append(None)
        return x + len(calls)

    made = pellucid.bisect_numerics(counts, torch.zeros(2), backends=["eager"])
    assert not made.equal and "two calls of the function as written differ" in str(made)


def logarithm(x):
    y = x - 2
    z = torch.log(y)
    return z.sum() * 2


def test_the_first_value_that_is_not_finite():
    made = pellucid.bisect_numerics(logarithm, torch.ones(4), backends=["eager"])
    (place,) = made.not_finite
    assert (place.line, place.node) == (line_of("z = torch.log(y)"), "z") and made.equal


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_steps_between_numbers(dtype):
    one = torch.tensor([1.0, -1.0, 0.0, 3.0], dtype=dtype)
    assert difference("x", one, one.clone()) is None
    for steps in (1, 2, 5):
        other = one.clone()
        for _ in range(steps):
            other[1] = torch.nextafter(other[1], torch.zeros((), dtype=dtype))
        found = difference("x", one, other)
        assert found is not None and found.ulp == steps and found.index == (1,)


@pytest.mark.parametrize("one, other, says", [
    (torch.ones(2), torch.ones(3), "shape"), (torch.ones(2), torch.ones(2).double(), "dtype"),
    (torch.ones(2), None, "the result"), (torch.tensor([1.0]), torch.tensor([float("nan")]), "nan"),
    (torch.tensor([2 ** 62]), torch.tensor([2 ** 62 + 1]), "1 of 1"),
    (torch.tensor([True]), torch.tensor([False]), "1 of 1"),
    (torch.tensor([1j]), torch.tensor([1j + 1]), "1 of 2")])
def test_nothing_that_differs_is_equal(one, other, says):
    found = difference("the result", one, other)
    assert isinstance(found, Difference) and says in str(found)
    assert difference("x", torch.tensor([float("nan")]), torch.tensor([float("nan")])) is None


def test_kernels_are_found_by_the_comments_of_output_code():
    code = ("cpp_a = async_compile.cpp_pybinding(['float*'], r'''\nvoid kernel() { a; }\n''')\n"
            "cpp_b = async_compile.cpp_pybinding(['float*'], r'''\nvoid kernel() { b; }\n''')\n"
            "    # Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.sin]\n    cpp_a(x)\n"
            "    # Topologically Sorted Source Nodes: [add], Original ATen: [aten.add]\n    cpp_b(x)\n")
    assert "{ a; }" in _kernels(code, "z") and "{ b; }" not in _kernels(code, "z")
    assert _kernels(code, "sin") == ""


def test_the_program(tmp_path):
    source = tmp_path / "net.py"
    source.write_text("import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
                      "        return torch.log(x - x)\n")
    command = [os.environ["PELLUCID"], "explain", f"{source}:Net", "--input", "2x2", "--numerics", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    told = json.loads(done.stdout)
    assert told["not_finite"][0]["line"] == 6 and [stage["backend"] for stage in told["stages"]][0] == "eager"
