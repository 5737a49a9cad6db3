"""Source back from a model file that holds a program, compared with the file where torch can run it.

The program writes the source without executing anything. The comparison loads the file with torch, so it is made only
of files that the audit calls harmless.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import re
import tempfile
import zipfile
from dataclasses import dataclass, field
from typing import Any

from ._program import Path, audit, run
from ._result import Result, lines_of

PROGRAMS = ("models/model.json", "serialized_exported_program.json")


@dataclass(repr=False)
class Recovered(Result):
    """The source of a model file: `source` defines the class `root`, which is constructed without arguments."""

    source: str
    root: str
    #: Runs in which it gave the file's results: as near as `nearness` says.
    equal: list[str] = field(default_factory=list)
    #: What differs first; "" if nothing does.
    difference: str = ""
    #: Why nothing was compared; "" if it was.
    not_compared: str = ""
    #: What the file was loaded with.
    loader: str = "torch.export.load"
    #: How near: other engines add in another order.
    nearness: str = "bit by bit"

    @property
    def verdict(self) -> str:
        if self.difference:
            return f"differs from the file: {self.difference}"
        if self.not_compared:
            return f"not verified: {self.not_compared}"
        return f"equal to {self.loader} of the file, {self.nearness}, in eval mode on {' and '.join(self.equal)}"

    def save(self, path: Path) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.source)

    def to_dict(self) -> dict[str, Any]:
        return {"root": self.root, "source": self.source, "equal": self.equal, "difference": self.difference or None,
                "not_compared": self.not_compared or None}

    def _summary(self) -> str:
        return f"{self.root}: {lines_of(self.source)} lines, {self.verdict}"

    def __str__(self) -> str:
        return self.source


def recover(file: Path, *, verify: bool = True) -> Recovered:
    """Writes the `nn.Module` classes of a torch.export archive (`.pt2`), a TorchScript archive, an ONNX graph or a
    Keras model from the file alone.

    Nothing of the file is executed to write them. With torch, the result is then compared with the file as
    `torch.export.load` or `torch.jit.load` reads it, on the example inputs that the file holds, or on inputs of shapes
    that it takes, and on other data; of the other kinds with onnxruntime or Keras, where they are installed. This loads
    the file, so it is done only where the audit calls the file harmless.

    Args:
        verify: False: don't load the file; the header says that nothing was compared
    """
    source = run("skeleton", "--no-verify", "--", os.fspath(file))[1]
    made = Recovered(source, re.findall(r"^class (\w+)", source, re.MULTILINE)[-1])
    if not verify:
        made.not_compared = "it was not asked for"
    elif importlib.util.find_spec("torch") is None:
        made.not_compared = "torch is not installed"
    else:
        _compare(made, file)
    from ._verify import with_verdict
    made.source = with_verdict(made.source, made.verdict + ".")
    return made


def _compare(made: Recovered, file: Path) -> None:
    """Runs both. What torch itself can't load or run is no difference, but nothing was compared then."""
    verdict = audit(file).verdict
    if verdict != "harmless":
        made.not_compared = f"the audit calls the file {verdict}, so torch must not load it"
        return
    kind = _engine(file)
    if kind:
        from ._recover_onnx import NEARNESS
        from ._recover_script import compare
        engine = {"onnx": "onnxruntime", "keras": "keras"}[kind]
        if importlib.util.find_spec(engine) is None:
            made.not_compared = f"{engine}, which would run the file, is not installed"
            return
        made.loader, made.nearness = engine, NEARNESS
        made.equal, made.difference, made.not_compared = compare(file, made.source, made.root, kind)
        return
    if not _is_export(file):
        from ._recover_script import compare
        made.loader = "torch.jit.load"
        made.equal, made.difference, made.not_compared = compare(file, made.source, made.root)
        return
    try:
        program, exact = _load(file)
        original = program.module()
        if program.example_inputs is None:
            raise ValueError("the file holds no example inputs")
        args, kwargs = program.example_inputs
    except Exception as error:  # whatever torch raises on files of other versions and classes
        made.not_compared = f"torch can't run the file: {type(error).__name__}: {str(error).splitlines()[0][:200]}"
        return
    try:
        module = _built(made, program)
    except Exception as error:
        made.difference = f"the source can't be built: {type(error).__name__}: {str(error)[:300]}"
        return
    for name, inputs in (("the file's example", (args, kwargs)), ("the example shuffled", _shuffled((args, kwargs)))):
        want, raised = _result(original, inputs)
        if raised and made.equal:
            continue  # the shuffled example is none that the program takes
        if raised:
            made.not_compared = f"the file's own program fails on its example: {raised}"
            return
        got, raised = _result(module, inputs)
        made.difference = f"{name}: it raises {raised}" if raised else _difference(want, got, exact, name)
        if made.difference:
            return
        made.equal.append(name)


def _engine(file: Path) -> str:
    """Which other library's file it is; "" if torch itself runs it."""
    with open(file, "rb") as opened:
        start = opened.read(4)
    if start[:1] == b"\x08":
        return "onnx"
    if start == b"\x89HDF":
        return "keras"
    with zipfile.ZipFile(file) as archive:
        return "keras" if {"config.json", "metadata.json"} <= set(archive.namelist()) else ""


def _is_export(file: Path) -> bool:
    with zipfile.ZipFile(file) as archive:
        return any(name.endswith(PROGRAMS) for name in archive.namelist())


def _load(file: Path) -> tuple[Any, bool]:
    """The program, and whether its results have the structure that the file names: torch refuses one of classes that
    nobody registered, and their leaves are the same in a tuple."""
    import logging

    import torch
    logger = logging.getLogger("torch.export")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        try:
            return torch.export.load(os.fspath(file)), True
        except Exception:
            with tempfile.TemporaryDirectory() as folder:
                plain = os.path.join(folder, "plain.pt2")
                if not _copy_with_plain_results(file, plain):
                    raise
                return torch.export.load(plain), False
    finally:
        logger.setLevel(level)


def _copy_with_plain_results(file: Path, to: str) -> bool:
    """A copy in which results of other classes than Python's are tuples. False: there are none."""
    changed = False
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(to, "w") as new:
        for member in old.infolist():
            content = old.read(member)
            if member.filename.endswith(PROGRAMS):
                program = json.loads(content)
                for call in program["graph_module"]["module_call_graph"]:
                    if signature := call.get("signature"):
                        protocol, spec = json.loads(signature["out_spec"])
                        plain = _plain_spec(spec)
                        changed |= plain != spec
                        signature["out_spec"] = json.dumps([protocol, plain])
                content = json.dumps(program).encode()
            new.writestr(member.filename, content)
    return changed


def _plain_spec(spec: dict[str, Any]) -> dict[str, Any]:
    children = [_plain_spec(child) for child in spec["children_spec"]]
    if spec["type"] is None or spec["type"].startswith(("builtins.", "collections.")):
        return {**spec, "children_spec": children}
    return {"type": "builtins.tuple", "context": "null", "children_spec": children}


def _built(made: Recovered, program: Any) -> Any:
    import torch

    from ._check import load_source
    module = vars(load_source(made.source, "pellucid_recovered", "<recovered>"))[made.root]().eval()
    state = {**program.state_dict, **{name: value for name, value in program.constants.items()
                                      if isinstance(value, torch.Tensor)}}
    module.load_state_dict(state)
    return module


def _result(module: Any, inputs: tuple[Any, Any]) -> tuple[Any, str]:
    import torch
    args, kwargs = copy.deepcopy(inputs)
    torch.manual_seed(0)
    try:
        with torch.no_grad():
            return module(*args, **kwargs), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error)[:200]}"


def _shuffled(inputs: Any) -> Any:
    """Other data of the same shapes, made of the same values, so that indices stay in their range."""
    import torch
    generator = torch.Generator().manual_seed(1)

    def shuffle(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.numel() < 2:
            return value
        order = torch.randperm(value.numel(), generator=generator)
        return value.detach().reshape(-1)[order].reshape(value.shape)
    return torch.utils._pytree.tree_map(shuffle, inputs)


def _difference(want: Any, got: Any, exact: bool, name: str) -> str:
    import torch

    from ._check import difference, plain_form
    if not exact:
        want, got = torch.utils._pytree.tree_leaves(want), torch.utils._pytree.tree_leaves(got)
    found = difference(plain_form(want), plain_form(got))
    return f"{name}: {found}" if found else ""
