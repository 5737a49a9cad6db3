"""The loop that tries again, and the steps back of single functions: each is in the report, and each has its limit."""

from __future__ import annotations

import re

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import pellucid  # noqa: E402
from pellucid import _retreats, _workshop  # noqa: E402
from pellucid._retreats import RETREATS, Verdict  # noqa: E402
from pellucid._verdict import Check  # noqa: E402

X = torch.ones(2, 4)


def shifted(x):
    """Nobody can follow this text, and its calls of torch say all."""
    place = {}
    exec("k = 2", place)
    return x.add(1).mul(x.sum())


class Shifts(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(shifted(x))


def test_steps_of_a_function_are_explained() -> None:
    made = pellucid.skeleton(Shifts().eval(), X, progress=False)
    assert made.report.good
    first, *steps = made.report.retreats
    assert re.match(r"recorded with the calls of torch: .*it has no source", first), first
    assert steps == ["<module> is written as the calls that it made: it has no source"]
    assert made.report.to_dict()["retreats"] == made.report.retreats
    assert str(made.report).count(steps[0]) == 1


def test_every_verdict_has_a_rule_and_every_rule_a_limit() -> None:
    assert {verdict for row in RETREATS for verdict in row.answers} == set(Verdict)
    assert len({row.name for row in RETREATS}) == len(RETREATS) == len({row.rule for row in RETREATS})
    assert all(row.most > 0 for row in RETREATS)
    per_recording = sum(row.most for row in RETREATS if not row.for_all)
    assert per_recording < _retreats.ATTEMPTS, "the model as it was given does not use up all attempts"


class Plain(nn.Module):
    def forward(self, x, n):
        return x * n + 1


@pytest.mark.parametrize("limit", [_retreats.ATTEMPTS, 2])
def test_what_never_becomes_right_ends(limit, monkeypatch) -> None:
    """Every text is called wrong, at another line each time: the loop ends, and says what limit it met."""
    attempts = []
    monkeypatch.setattr(_retreats, "ATTEMPTS", limit)
    again = _retreats.Retreat("again", frozenset({Verdict.DIFFERS}), 3, lambda plan, attempt, best: "again")
    monkeypatch.setattr(_retreats, "RETREATS", (again, *RETREATS))

    def compared(self, source, root):
        attempts.append(source)
        lines = [i for i, line in enumerate(source.split("\n"), 1) if line.startswith("        ")]
        return [Check("recorded", "failed", f"attempt {len(attempts)}", silent=True,
                      line=lines[len(attempts) % len(lines)]),
                *(Check(name, "failed", "differs", silent=True) for name in self.changes)]
    monkeypatch.setattr(_workshop.Workshop, "compared", compared)
    with pytest.raises(pellucid.SkeletonError, match="attempt") as raised:
        pellucid.skeleton(Plain().eval(), (X, 3), progress=False)
    report = raised.value.skeleton.report
    assert 1 < len(attempts) <= limit + 1
    assert len(report.retreats) >= len(attempts) - 1
    assert ("given up after 3 attempts" if limit == 2 else "again: 3 times, and not more") in report.remarks


def test_a_rule_that_fails_is_passed_over_and_said(monkeypatch) -> None:
    def broken(plan, attempt, best):
        raise ZeroDivisionError("of our own")
    row = _retreats.Retreat("broken", frozenset(Verdict), 1, broken)
    monkeypatch.setattr(_retreats, "RETREATS", (row, *RETREATS))
    made = pellucid.skeleton(Shifts().eval(), X, progress=False)
    assert made.report.good and "broken: given up: ZeroDivisionError: of our own" in made.report.remarks


def test_a_recording_that_fails_leaves_the_one_there_was() -> None:
    work = _workshop.Workshop(Plain().eval(), None, (), "", lambda text: None)
    with work:
        work.record_given(((X, 3), {}))
        before = work.recording
        wrong = _workshop.Call("wrong", ((X, "no number"), {}), False)
        with pytest.raises(TypeError):
            work.record_again(True, [*work.recorded, wrong])
        assert work.recording == before
