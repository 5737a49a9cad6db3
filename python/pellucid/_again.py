"""pellucid.verify: the runs that a skeleton's file claims, made again against its model."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING, Any, Callable

from ._contract import read_contract
from ._given import given
from ._refusals import SkeletonError, readable
from ._skeleton import Skeleton
from ._verdict import Check, Report
from ._verify import verify as referee
from ._workshop import Workshop, workshop_for

if TYPE_CHECKING:
    import torch


def verify(file: str | os.PathLike[str], model: torch.nn.Module, args: Any = (),
           kwargs: dict[str, Any] | None = None, *, full: bool | None = None, module: str | None = None,
           progress: Callable[[str], None] | None = None, methods: Any = None) -> Report:
    """Compares the skeleton in `file` with `model`, on these inputs and on what pellucid makes of them.

    Args:
        full: every check of the table; by default the set that the file itself was verified with
        module: the part of the model that the file is a skeleton of
        methods: the calls that it was made of, as for `skeleton`

    A run that the file's contract says was equal and that is not, or was not made again, is a check that failed."""
    with open(file, encoding="utf-8") as opened:
        source = opened.read()
    return verify_source(source, model, args, kwargs, full=full, module=module, progress=progress, methods=methods)


def verify_source(source: str, model: torch.nn.Module, args: Any = (), kwargs: dict[str, Any] | None = None, *,
                  full: bool | None = None, module: str | None = None, root: str = "", draws: bool = False,
                  progress: Callable[[str], None] | None = None, methods: Any = None) -> Report:
    """draws: the model is known to draw random numbers, so other ones are tried, too."""
    from . import _traced
    inputs = given(model, args, kwargs)
    contract = read_contract(source)
    root = root or (contract["root"] if contract else _last_class(source))
    several = None
    if methods:
        from ._methods import several_of
        several = several_of(model, methods, inputs)
        source, root = several.appended(source, root)
        model, inputs = several.module, several.inputs[0]
    elif contract is not None and contract.get("methods"):
        raise SkeletonError(f"the file is made of calls of {', '.join(contract['methods'])}: give them (--call)")
    device = "meta" if contract is not None and contract.get("verify") == "structure" else None
    work = workshop_for(device)(readable(model, inputs, device), module, (), "", progress or (lambda text: None))
    work.full = full if full is not None else contract is not None and contract.get("verify") == "full"
    work.records = False
    work.several = several
    with work:
        work.record_given(inputs)
        work.drew |= draws or any(run["name"].startswith("other draw") for run in (contract or {}).get("runs", ()))
        work.record_more(several.inputs[1:] or None if several is not None else None)
        _traced.asked_again(work, contract)
        work.progress("verifying")
        work.state.restore()
        devices = work.devices(source)
        report = work.report
        found = (work.verified(source, root, _packages(source)) if device
                 else referee(work.model, source, root, work.sequences, _packages(source)))
        report.checks = found + report.checks + devices
        report.runs = [row["about"] for rows in work.sequences for row in rows if "about" in row]
        report.level = work.level or ("full" if work.full else "default")
        if contract is not None and contract.get("proof"):
            _prove_again(work, source, root)
    if contract is not None:
        report.checks += broken_claims(contract, report)
    else:
        report.remarks.append("the file has no contract: nothing is known of what it claims")
    return report


def _packages(source: str) -> set[str]:
    """What the file imports may be imported: whether it should, was decided when it was made."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in found} - {"torch", "numpy", ""}


def _last_class(source: str) -> str:
    try:
        names = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    except SyntaxError as error:
        raise SkeletonError(f"line {error.lineno}: {error.msg}") from None
    if not names:
        raise SkeletonError("the file defines no class")
    return names[-1]


def _prove_again(work: Workshop, source: str, root: str) -> None:
    work.progress("comparing the calls of torch for all sizes")
    made = Skeleton(source, root, None, work.report, model=work.model)
    made.given = [call.inputs for call in (*work.recorded[:1], *([work.single] if work.single else []))]
    made.varied = {label: work.varied(label) for label in ("other batch", "other length")}
    made.prove()


# What a file may say beside its runs and its proof, and that is not made again here.
NOT_AGAIN = {"config": "sizes that can be changed", "reduced": "a small model that was compared by values"}


def broken_claims(contract: dict[str, Any], report: Report) -> list[Check]:
    """Runs that the file says were equal and that were not, and what was not compared again: of that nothing is
    known."""
    statuses = {c.name: c.status for c in report.checks}
    claims = [run for run in contract.get("runs", ()) if run.get("status") == "passed" and not run.get("failed")]
    broken, left = [], [words for key, words in NOT_AGAIN.items() if contract.get(key)]
    for run in claims:
        status = statuses.get(run["name"], "skipped")
        if status in ("failed", "refused"):
            broken.append(Check("claims", "failed", f"{run['name']}: the file says that it was equal", silent=True))
        elif status not in ("passed", "differs"):
            left.append(run["name"])
    if proof := contract.get("proof"):
        found = report.proof
        if found is None or found.kind != "proved":
            broken.append(Check("claims", "failed", "the file says that it is proved, and it is not", silent=(
                found is not None and found.kind == "wrong")))
        elif list(found.evidence) != proof:
            broken.append(Check("claims", "failed",
                                f"proved is something else than the file says: {found.evidence[0]}"))
    if left:
        broken.append(Check("claims", "failed", f"not compared again: {', '.join(left)}"[:300]))
    said = f"{len(claims)} runs that the file names" + ", and its proof" * bool(proof)
    return broken or [Check("claims", "passed", said)]
