"""Each check of the referee's table: a skeleton that is wrong in one way, which that check sees and no other."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json

import pytest

torch = pytest.importorskip("torch", reason="verification compares torch modules")

from pellucid import _again, _check, _values, _verdict, _verify  # noqa: E402
from pellucid._contract import read_contract, with_contract  # noqa: E402
from pellucid._verdict import RULES, Answer, Check, Report, rule_of  # noqa: E402
from pellucid._verdict import checked, combined, proved, unknown, wrong  # noqa: E402
from torch import nn  # noqa: E402

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.bn = nn.BatchNorm1d(4)

    def train(self, mode=True):
        super().train(mode)
        self.bn.eval()
        return self

    def forward(self, x, n=2, mode="a", meta=None, mask=None):
        torch.rand(1)
        y = self.bn(self.a(x)) * n
        if mode == "b":
            y = y + 1
        if meta is not None:
            y = y * meta["sizes"][0]
        if mask is not None:
            y = y * mask
        return y + torch.arange(4, device=x.device).to(x.dtype)
"""
TRAIN = SOURCE[SOURCE.index("    def train"):SOURCE.index("    def forward")]


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    return _check.load_source(SOURCE, "attacked_net").Net().eval()


@pytest.fixture(autouse=True)
def here(monkeypatch) -> None:
    """Without the cost of a process: the referee itself doesn't know the difference."""
    def referee(model, source, root, sequences, extra=()):
        data = _verify.referee_data(model, source, root, copy.deepcopy(sequences), extra)
        return [Check(**row) for row in _check.referee(data)]
    monkeypatch.setattr(_again, "referee", referee)


def verified(net, source: str, full: bool = True) -> Report:
    inputs = (torch.randn(2, 4), 2), {"mode": "a", "meta": {"sizes": [2, 5]}, "mask": torch.ones(4)}
    return _again.verify_source(source, net, *inputs, full=full, root="Net")


def test_the_original_itself_is_equal(net) -> None:
    before = copy.deepcopy(net.state_dict())
    report = verified(net, SOURCE)
    assert report.complete, str(report)
    assert report.answer.kind == "checked" and "train: other batch" in report.answer.evidence
    ran = {_verdict.base_name(c.name) for c in report.checks}
    runs = {rule.name for rule in RULES.values() if rule.when in ("default", "full")}
    assert runs - ran <= {"more", "eval", "eval: other batch", "eval: other length", "train: other length",
                          "other draw"}, "what this model has no use for"
    assert all(torch.equal(v, before[k]) and v.dtype == before[k].dtype for k, v in net.state_dict().items())
    assert all(p.requires_grad for p in net.parameters()) and not net.training


WRONG = [
    ("given", " * n", " * 2", True),
    ("given", 'if mode == "b":', "if False:", True),
    ("given", 'meta["sizes"][0]', "2", True),
    ("given", "        if mask is not None:\n            y = y * mask\n", "        y = y * mask\n", False),
    ("generators", "        torch.rand(1)\n", "", True),
    ("methods", TRAIN, "", True),
    ("train()", "self.bn.eval()", "self.missing.eval()", False),
    ("other weights", "self.bn(self.a(x))", "nn.functional.batch_norm(self.a(x), self.mean.to(x.dtype), "
     "self.mean.to(x.dtype) + 1, self.bn.weight, self.bn.bias)", True),
    ("float64", "        return y", "        return y.to(torch.float32)", True),
    ("half", "        return y", "        if x.dtype == torch.float16:\n            y = y * 2\n        return y", True),
    ("bfloat16", "        return y",
     "        if x.dtype == torch.bfloat16:\n            y = y * 2\n        return y", True),
    ("requires_grad_", "        return y", "        if not self.a.weight.requires_grad:\n            y = y * 2\n"
                                           "        return y", True),
    ("deepcopy", "    def forward",
     "    def __deepcopy__(self, memo):\n        raise TypeError\n\n    def forward", False),
    ("device", "arange(4, device=x.device)", "arange(4)", True),
    ("device", "device=x.device", 'device="cpu"', False),
    ("called again", "        return y", "        self.calls = getattr(self, 'calls', 0) + 1\n"
                                         "        y = y * self.calls\n        return y", True),
    ("train: other batch", "        return y",
     "        if self.training and x.shape[0] == 3:\n            y = y.detach()\n        return y", True),
]
# What else sees it, for the run holds it too.
ALSO = {"float64": {"half", "bfloat16"}, "requires_grad_": {"other weights"}, "deepcopy": {"other weights"},
        "methods": {"train", "train: other batch", "other draw"}}


@pytest.mark.parametrize("check, old, new, silent", WRONG)
def test_only_this_check_sees_it(net, check: str, old: str, new: str, silent: bool) -> None:
    assert old in SOURCE
    source = SOURCE.replace(old, new, 1)
    if "self.mean" in source:  # statistics that somebody took for constants
        source = source.replace("        self.bn =", "        self.mean = torch.zeros(4)\n        self.bn =", 1)
    report = verified(net, source)
    found = {rule_of(c.name).name for c in report.failures}
    assert check in found and found <= {check} | ALSO.get(check, set()), str(report)
    mine = [c for c in report.failures if rule_of(c.name).name == check]
    assert any(c.silent for c in mine) == silent, str(report)
    rule = RULES[check]
    expected = (rule.silent if silent else rule.loud) == _verdict.NAME
    if not ALSO.get(check):
        assert report.good == expected and not report.complete
    assert "NOT: " in report.verdict and report.answer.kind in ("wrong", "unknown")


def test_the_default_set_is_smaller(net) -> None:
    report = verified(net, SOURCE, full=False)
    ran = {_verdict.base_name(c.name) for c in report.checks}
    assert not ran & {rule.name for rule in RULES.values() if rule.when == "full"}
    assert report.complete and "float64" in report.verdict and "float16" not in report.verdict


def test_an_assertion_about_a_given_value_is_an_answer(net) -> None:
    report = verified(net, SOURCE.replace("        torch.rand(1)", '        assert n == 2, "n"\n        torch.rand(1)'))
    assert report.complete and report.status("given") == "guarded"
    assert "asserted, not equal: n=3" in report.verdict


def test_where_the_original_raises(net) -> None:
    text = SOURCE.replace("        torch.rand(1)", "        torch.rand(1)\n        1 / (n == 2)")
    strict = _check.load_source(text, "strict_net").Net().eval()
    report = verified(strict, SOURCE)
    assert report.status("given") == "lenient" and "this does not: n=" in report.verdict
    assert report.complete, "the skeleton takes more than the original"


# ---- verdicts ----

def test_no_answer_without_evidence() -> None:
    for make in (proved, checked, unknown, wrong):
        with pytest.raises(ValueError, match="evidence"):
            make()
        assert make("x").evidence == ("x",)
    with pytest.raises(ValueError):
        Answer("fine", ("x",))
    assert combined([checked("a"), unknown("b"), checked("c")]) == unknown("b")
    assert combined([checked("a"), proved("b")]).kind == "checked" and combined([]).kind == "unknown"
    assert combined([wrong("a"), unknown("b"), wrong("c")]) == wrong("a", "c")


def test_a_check_that_the_table_does_not_have_is_held_against_the_skeleton() -> None:
    report = Report([Check("recorded", "passed"), Check("something new", "failed", "x")])
    assert not report.good and report.answer.kind == "wrong"
    assert Report([]).answer.kind == "unknown" and not Report([]).good
    assert Report([Check("recorded", "skipped", "why")]).answer.kind == "unknown"


# ---- what callers give ----

@dataclasses.dataclass(frozen=True)
class Options:
    k: int
    names: tuple = ("a", "b")


def test_every_value_is_found_and_changed_alone() -> None:
    inputs = (torch.ones(2), [1, {"x": 2.5}], Options(3)), {"flag": True, "none": None}
    found = dict(_values.leaves(inputs))
    assert sorted(map(str, found.values())) == ["1", "2.5", "3", "True", "a", "b"]
    for path, value in found.items():
        changed = _values.with_value(inputs, path, "new")
        after = dict(_values.leaves(changed))
        assert after[path] == "new" and {k: v for k, v in after.items() if k != path} == {
            k: v for k, v in found.items() if k != path}
    assert dict(_values.leaves(inputs)) == found, "what was given is as it was"


# ---- contracts ----

def test_the_contract_travels_in_the_file(net) -> None:
    report = verified(net, SOURCE, full=False)
    source = with_contract(SOURCE, report, "Net")
    assert source == with_contract(source, report, "Net"), "written twice it is the same"
    contract = read_contract(source)
    assert contract["root"] == "Net" and contract["given"]["x"] == "float32[2, 4]" and contract["given"]["n"] == "2"
    together = next(run for run in contract["runs"] if run["name"] == "train: other batch")
    assert together["mode"] == "train" and together["grad"] and together["inputs"] == {"x": "float32[3, 4]"}
    assert {"result", "generators", "buffers", "gradients"} == set(together["compared"])
    assert json.loads(json.dumps(report.to_dict()))["contract"]["runs"]
    again = verified(net, source, full=False)
    assert again.complete and again.status("claims") == "passed"
    spoiled = verified(net, source.replace(" * n", " * 2"), full=False)
    assert spoiled.status("claims") == "failed" and not spoiled.good
    assert read_contract(SOURCE) is None and read_contract("# pellucid: {broken\n") is None


# ---- skeletons as users get them: the same as the original, or an error ----

class Frozen(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c, self.bn = nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)

    def train(self, mode: bool = True) -> nn.Module:
        super().train(mode)
        self.bn.eval()
        return self

    def forward(self, x):
        return self.bn(self.c(x))


class Captures(nn.Module):
    def forward(self, x, options):
        match options:
            case {"scale": s, **rest}:
                return x * s
            case _:
                return x


class Sizes(nn.Module):
    def forward(self, x):
        match x.shape:
            case (k, n):
                return x * n
            case _:
                return x


class Grid(nn.Module):
    def forward(self, x, *, grid):
        match grid:
            case {"h": h, "w": w}:
                return x.view(x.shape[0], h, w)


class Unread(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x):
        torch.binomial(torch.full((3,), 10.0), torch.full((3,), 0.5))
        return self.l(x)


def outcome(model, args, kwargs, training=False):
    torch.manual_seed(3)
    model.train(training)
    result = model(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    return result, torch.get_rng_state(), [b.clone() for b in model.buffers()]


def same(a, b) -> bool:
    return all(torch.equal(x, y) for x, y in zip((a[0], a[1], *a[2]), (b[0], b[1], *b[2])))


X = torch.randn(3, 4)
CALLS = [
    (Frozen, (torch.randn(2, 3, 4, 4),), {}, (torch.randn(2, 3, 4, 4),), {}, True),
    (Captures, (X, {"scale": 2}), {}, (X, {"scale": 5}), {}, False),
    (Captures, (X, {"scale": 2}), {}, (X, {"scala": 5}), {}, False),
    (Sizes, (X,), {}, (torch.randn(3, 7),), {}, False),
    (Grid, (X,), {"grid": {"h": 2, "w": 2}}, (X,), {"grid": {"h": 1, "w": 4}}, False),
    (Unread, (X,), {}, (X,), {}, False),
]


@pytest.mark.parametrize("more", [None, []])
@pytest.mark.parametrize("kind, args, kwargs, other_args, other_kwargs, training", CALLS)
def test_the_same_or_an_error(kind, args, kwargs, other_args, other_kwargs, training, more, monkeypatch) -> None:
    import pellucid
    from pellucid import _workshop
    monkeypatch.setattr(_workshop, "verify", _again.referee)
    torch.manual_seed(0)
    model = kind().eval()
    try:
        made = pellucid.skeleton(model, args, kwargs, more=more)
    except pellucid.SkeletonError as error:
        assert kind is not Frozen and "differs" in str(error)
        return
    assert made.report.good
    twin = made.module()
    assert same(outcome(model, args, kwargs), outcome(twin, args, kwargs))
    if kind is Captures and more is None and "scale" in other_args[1]:
        assert "scale" in made.source or "not recorded" in made.source, "asked for, or asserted"
    try:
        given = outcome(twin, other_args, other_kwargs, training)
    except (AssertionError, KeyError):
        return
    assert same(outcome(model, other_args, other_kwargs, training), given), made.source


def test_each_retreat_is_explained(monkeypatch) -> None:
    import pellucid
    from pellucid import _workshop
    monkeypatch.setattr(_workshop, "verify", _again.referee)
    synthesise = pellucid._pellucid.synthesise

    def sloppy(trace, *known):
        source, *rest = synthesise(trace, *known)
        return source.replace("* n", "* 2"), *rest
    monkeypatch.setattr(pellucid._pellucid, "synthesise", sloppy)

    class Scaled(nn.Module):
        def forward(self, x, n):
            return x * n
    made = pellucid.skeleton(Scaled().eval(), (X, 2))
    assert made.report.retreats[0].startswith("recorded too: given 1 (n=3): result")
    assert made.report.retreats[-1] == "asserted in the root's forward: n == 2" and "assert n == 2, " in made.source
    assert made.report.complete and "asserted, not equal: n=3" in made.source
    assert made.report.to_dict()["retreats"] == made.report.retreats


def test_the_program_makes_the_runs_again(tmp_path, capsys, monkeypatch) -> None:
    import pellucid._live as program
    (tmp_path / "model.py").write_text(SOURCE + "\n\ndef build():\n    torch.manual_seed(0)\n"
                                                "    return Net().eval(), (torch.randn(2, 4),)\n")
    spec, file = f"{tmp_path / 'model.py'}:build", tmp_path / "net.py"
    model = _check.load_source(SOURCE, "program_net").Net().eval()
    report = _again.verify_source(SOURCE, model, torch.randn(2, 4), root="Net")
    file.write_text(with_contract(SOURCE, report, "Net"))
    assert program.main(["verify", str(file), "--against", spec]) == program.FINE
    assert "runs that the file names" in capsys.readouterr().out
    file.write_text(file.read_text().replace("* n", "* 3"))
    assert program.main(["verify", str(file), "--against", spec, "--json"]) == program.FOUND
    found = json.loads(capsys.readouterr().out)
    assert not found["good"] and found["answer"]["kind"] == "wrong"


# ---- what programs from the grammar found ----

class AsksGradient(nn.Module):
    def forward(self, x, n=2):
        match n:
            case int(k):
                return x + torch.native_dropout(x, 0.5, x.requires_grad)[0]


class SwitchesGradient(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x, n=2):
        with torch.enable_grad():
            y = self.l(x)
        match n:
            case int(k):
                return y * k + self.l(x)


class CastsItself(nn.Module):
    """What it gives is infinite on the recorded input, with or without its cast."""

    def forward(self, x, n=2):
        match n:
            case int(k):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    return (x @ x.t()).float() * 1e38 * 1e38


class AsksType(nn.Module):
    def forward(self, x, n=2):
        match n:
            case int(k):
                return x, x.element_size()


class WalksOverKeys(nn.Module):
    def forward(self, x, meta):
        match meta:
            case {"a": a, **rest}:
                return x * a, [key * 2 for key in meta]


class LeavesOneOut(nn.Module):
    """Its train() names a module that forward does not."""

    def __init__(self) -> None:
        super().__init__()
        self.l, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)

    def train(self, mode: bool = True) -> nn.Module:
        super().train(mode)
        self.drop.eval()
        return self

    def forward(self, x):
        return self.l(x)


class CountsModes(nn.Module):
    """Its eval() does something, too."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def train(self, mode: bool = True) -> nn.Module:
        self.count += 1
        return super().train(mode)

    def forward(self, x):
        return x * self.count


class KeepsFirst(nn.Module):
    """The first call is another than those that follow, and nothing of that is in the result."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = None

    def forward(self, x):
        match x.shape:
            case (_, n):
                torch.rand(self.kept or 2)
        self.kept = 1
        return x


class Default(nn.Module):
    def forward(self, x, n=3):
        return x * n


def called(model, args, kwargs, how):
    torch.manual_seed(3)
    args = tuple(a.clone().requires_grad_() if how == "x wants gradients" and isinstance(a, torch.Tensor) else a
                 for a in copy.deepcopy(args))
    if how in ("eval()", "train()"):
        model.train(how == "train()")
    with torch.no_grad() if how == "no_grad" else torch.enable_grad():
        result = model(*args, **kwargs)
    parts = [*result] if isinstance(result, tuple) else [result]
    plain = [(p.detach(), p.requires_grad) if isinstance(p, torch.Tensor) else p for p in parts]
    return plain, torch.get_rng_state()


FINDS = [
    (AsksGradient, (X,), (X,), {}, "x wants gradients"),
    (SwitchesGradient, (X,), (X,), {}, "no_grad"),
    (AsksType, (X,), (X.double(),), {}, ""),
    (CastsItself, (X.abs() + 1,), (X * 1e-37,), {}, ""),
    (WalksOverKeys, (X, {"a": 2, "b": 3}), (X, {"b": 3, "a": 2}), {}, ""),
    (LeavesOneOut, (X,), (X,), {}, "train()"),
    (CountsModes, (X,), (X,), {}, "eval()"),
    (KeepsFirst, (X,), (X,), {}, ""),
    (Default, (X,), (X,), {"n": 5}, ""),
]


@pytest.mark.parametrize("more", [None, []])
@pytest.mark.parametrize("kind, args, other_args, other_kwargs, how", FINDS)
def test_finds_stay_mended(kind, args, other_args, other_kwargs, how, more, monkeypatch) -> None:
    """The same as the original, or an error that says why."""
    import pellucid
    from pellucid import _workshop
    monkeypatch.setattr(_workshop, "verify", _again.referee)
    torch.manual_seed(0)
    model = kind()
    model.training = False
    try:
        made = pellucid.skeleton(model, args, more=more)
    except pellucid.SkeletonError:
        assert kind in (AsksGradient, SwitchesGradient, KeepsFirst, CastsItself)
        return
    twin = made.module()
    try:
        given = called(twin, other_args, other_kwargs, how)
    except AssertionError:
        return
    wanted = called(model, other_args, other_kwargs, how)
    assert torch.equal(wanted[1], given[1]), made.source
    assert _check.difference(_check.plain_form(wanted[0]), _check.plain_form(given[0])) is None, made.source


def test_tensors_that_are_held_are_left_out() -> None:
    """A tensor in a dict, a list or a record is None in another caller's; what has no name there is left alone."""
    inputs = (({"mask": torch.ones(1), "n": 2}, [torch.ones(2)], torch.ones(3)), {})
    model = torch.nn.Module()
    model.forward = lambda d, parts, x: x
    found = [[(c.text, c.new) for c in candidates] for candidates in _values.changes(inputs, model)]
    assert [("without d['mask']", _values.ABSENT), ("without d['mask']", None)] in found
    assert [("without parts[0]", None)] in found
    assert not any(text.startswith("without x") for candidates in found for text, _ in candidates)
    change = next(c for row in _values.changes(inputs, model) for c in row if c.text == "without parts[0]")
    assert _values.with_value(inputs, change.path, change.new)[0][1] == [None]
    assert _values.guard(change, inspect.signature(model.forward)) == "parts[0] is not None"


def test_sizes_and_containers_of_the_library_travel_as_what_they_are() -> None:
    import collections
    for value in (torch.Size([2, 3]), collections.deque([1], 2), collections.OrderedDict(a=1), frozenset([1]),
                  collections.defaultdict(int, a=1), collections.Counter("aab")):
        form = _check.plain_form(value)
        again = _check.from_form(_check.map_tensors(form, lambda t: t), {})
        assert type(again) is type(value) and again == value
        assert _check.difference(form, _check.plain_form(tuple(value))) is not None
    assert _check.difference(_check.plain_form({"a": 1}), _check.plain_form(collections.OrderedDict(a=1)))
    assert _check.difference(_check.plain_form(0.0), _check.plain_form(-0.0))


def test_defaults_are_changed_like_given_values(monkeypatch) -> None:
    import pellucid
    from pellucid import _workshop
    monkeypatch.setattr(_workshop, "verify", _again.referee)
    made = pellucid.skeleton(Default().eval(), (X,))
    assert [run["what"] for run in made.report.runs if "what" in run] == ["n=4"]


# ---- refusals that are known before anything runs ----

class Extra(nn.Linear):
    def get_extra_state(self):
        return {"version": 2}

    def set_extra_state(self, state) -> None:
        pass


class Renames(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 4)
        self._register_state_dict_hook(lambda module, state, *_: state.update(other=state.pop("l.weight")))


class LeavesOut(Renames):
    def state_dict(self, *args, **kwargs):
        return {k: v for k, v in nn.Linear(4, 4).state_dict(prefix="l.").items() if k != "l.bias"}


def quantised() -> nn.Module:
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 4)), {nn.Linear}, dtype=torch.qint8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("build, message", [
    (lambda: nn.Sequential(Extra(4, 4)), r"0._extra_state: .*Extra has extra state"),
    (Renames, "other: .*Renames puts something else into its state_dict"),
    (LeavesOut, "l.bias is not in the model's state_dict"),
    (quantised, "packed quantised weights"),
])
def test_what_could_not_be_loaded_is_refused_at_once(build, message: str) -> None:
    import pellucid
    model, calls = build(), []
    model.register_forward_pre_hook(lambda *_: calls.append(1))
    with pytest.raises(pellucid.SkeletonError, match=message):
        pellucid.skeleton(model, torch.randn(2, 4))
    assert not calls, "nothing was run"


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch can't be distributed")
def test_what_works_with_other_processes_is_refused_at_once(monkeypatch) -> None:
    import pellucid

    class Shares(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module, self.group = nn.Linear(4, 4), torch.distributed.ProcessGroup(0, 1)

        def forward(self, x):
            return self.module(x)
    with pytest.raises(pellucid.SkeletonError, match=r"works with other processes \(group\); .* its .module"):
        pellucid.skeleton(Shares(), X)


def sizes_played(monkeypatch) -> set[tuple[int, ...]]:
    """Heights and widths of the pictures that are tried, as they come in."""
    from pellucid._workshop import Workshop
    seen: set[tuple[int, ...]] = set()
    played = Workshop.played

    def spy(self, call, *args, **kwargs):
        seen.add(tuple(call.inputs[0][0].shape[-2:]))
        return played(self, call, *args, **kwargs)
    monkeypatch.setattr(Workshop, "played", spy)
    return seen


def test_hooks_of_a_run_do_not_blind_the_grid(monkeypatch) -> None:
    """The size of a step comes from the model's own convolutions, though runs put hooks back."""
    import pellucid
    seen = sizes_played(monkeypatch)
    model = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1)).eval()
    pellucid.skeleton(model, torch.randn(2, 4, 16, 16), verify=False)
    assert len(seen) > 1 and max(h * w for h, w in seen) <= 3 * 16 * 16, seen


class Chooses(nn.Module):
    """Its train() is of its own, and does nothing of its own in this model."""

    def __init__(self):
        super().__init__()
        self.fc, self.drop, self.kernels = nn.Linear(4, 4), nn.Dropout(0.5), []

    def choose(self):
        self.kernels = [torch.relu]

    def train(self, mode: bool = True):
        changed = self.training != mode
        out = super().train(mode)
        if self.kernels and changed:
            self.choose()
        return out

    def forward(self, x):
        return self.drop(self.fc(x))


class Counts(Chooses):
    def train(self, mode: bool = True):
        self.kernels = [mode]
        return super().train(mode)


class Merges(Chooses):
    def train(self, mode: bool = True):
        self.fc.weight.data.add_(1.0 if mode else -1.0)
        return super().train(mode)


class Turns(Chooses):
    """The sum of its weights stays what it was."""

    def train(self, mode: bool = True):
        self.fc.weight.data.copy_(self.fc.weight.data.flip(0))
        return super().train(mode)


@pytest.mark.parametrize("kind, is_plain", [(Chooses, True), (Counts, False), (Merges, False), (Turns, False),
                                            (Frozen, False)])
def test_a_train_of_its_own_is_plain_or_not(kind, is_plain, monkeypatch) -> None:
    import pellucid
    from pellucid import _modes, _workshop
    from pellucid._state import ModelState
    monkeypatch.setattr(_workshop, "verify", _again.referee)
    model = kind().eval()
    flags = [m.training for m in model.modules()]
    found = _modes.plain_train(model, ModelState(model).restore)
    assert any(not name.startswith("eval ") for name in found) == is_plain
    assert [m.training for m in model.modules()] == flags
    if kind is Chooses:
        made = pellucid.skeleton(model, (X,))
        assert "def train" not in made.source and made.report.good
        assert made.module().train().drop.training


class Patches(nn.Module):
    """Its patches are cut by a reshape: no convolution tells their size."""

    def __init__(self, patch: int) -> None:
        super().__init__()
        self.patch, self.fc = patch, nn.Linear(3 * patch * patch, 4)

    def forward(self, x):
        b, c, h, w = x.shape
        p = self.patch
        assert h % p == 0 and w % p == 0
        x = x.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * p * p)
        return self.fc(x)


@pytest.mark.parametrize("patch, size", [(14, 56), (14, 112), (7, 28), (16, 64)])
def test_another_resolution_is_found_for_every_patch(monkeypatch, patch: int, size: int) -> None:
    import pellucid
    seen = sizes_played(monkeypatch)
    model = Patches(patch).eval()
    made = pellucid.skeleton(model, torch.randn(2, 3, size, size), verify=False)
    taken = {s for s in seen if s[0] % patch == 0 and s[1] % patch == 0} - {(size, size)}
    assert taken and max(h * w for h, w in seen) <= 3 * size * size, seen
    assert "other length" not in {c.name for c in made.report.checks if c.status == "skipped"}
