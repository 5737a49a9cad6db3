"""The module tree of live things, in the one form that all of pellucid shares (docs/model-json.md)."""

from __future__ import annotations

import ast
import functools
import json
import os
from typing import TYPE_CHECKING, Any, Mapping

from . import _pellucid
from ._given import given
from ._program import options_of, rows_of, run
from ._remote import is_remote
from ._result import Result, frame

if TYPE_CHECKING:
    import torch

SCHEMA = 2  # docs/model-json.md; src/model/model.h has it, too


class Tree(Result):
    """The hierarchy of a network. `str` gives it as text; `table`, `svg` and `html` are other views."""

    def __init__(self, *networks: dict[str, Any], source: str = ""):
        self._json = json.dumps({"networks": networks})
        self._source = source

    def to_dict(self) -> dict[str, Any]:
        """{"schema": 2, "networks": [...]}, as every command with --json prints it."""
        found: dict[str, Any] = json.loads(_pellucid.view(self._json, "json"))
        return found

    def text(self, depth: int = 0, unfolded: bool = False, coloured: bool = False) -> str:
        """A line for each module; equal neighbours are one line. `depth`: levels to show below the root, 0 for all."""
        return _pellucid.view(self._json, "tree", depth=depth, unfolded=unfolded, coloured=coloured).rstrip("\n")

    def table(self, depth: int = 0, unfolded: bool = False, coloured: bool = False, width: int = 0) -> str:
        """A row for each module: output shape, parameters, multiply-adds. `width`: columns to fit into, 0 for any."""
        return _pellucid.view(self._json, "table", depth=depth, unfolded=unfolded, coloured=coloured,
                              width=width).rstrip("\n")

    def svg(self, depth: int = 0) -> str:
        """A picture: boxes in boxes, and what flows between them."""
        return _pellucid.view(self._json, "svg", depth=depth)

    def html(self) -> str:
        """One page that needs nothing else: the tree to open and search, shapes, flow, and source if there is some."""
        return _pellucid.view(self._json, "html", source=self._source)

    def with_source(self, source: str) -> Tree:
        """The same tree, whose page shows the classes of `source` beside the modules."""
        made = Tree.__new__(Tree)
        made._json, made._source = self._json, source
        return made

    def __str__(self) -> str:
        return self.text()

    def _summary(self) -> str:
        rows = []
        for network in self.to_dict()["networks"]:
            totals = network["totals"]
            what = "elements" if totals.get("roles_known") is False else "parameters"
            rows.append(f"{network['class'] or network['name'] or 'a network'}, {totals['modules']:,} modules, "
                        f"{totals['parameters']:,} {what}")
        return "; ".join(rows) or "no networks"

    def _repr_html_(self) -> str:
        return frame(self.html(), "520px")


def tree(model: Any, args: Any = None, kwargs: Mapping[str, Any] | None = None, *, filter: str | None = None,
         memory: int | None = None, insecure: bool = False) -> Tree:
    """The hierarchy of a model: classes, arguments, tensors.

    Args:
        model: a checkpoint or a model file by its path, or by its address (hf://org/model/file, https://, s3://),
            which is read and not executed; a live model; or the name of one as the program takes it, such as
            "timm:resnet18"
        filter: of a file: only the tensors whose names fit, as "layers.0.*"
        memory: of a file: MiB that its tables may take
        insecure: of an address: http:// is allowed, too

    With inputs the model runs once, and the tree also has output shapes, multiply-adds and which module feeds which.
    `args` is a tuple or list of arguments, or the one argument itself; a dict whose keys `forward` takes holds keyword
    arguments.
    Live models are nn.Modules (scripted ones too), torch.export.ExportedPrograms, and Keras models.
    """
    if isinstance(model, os.PathLike) or (isinstance(model, str) and not _is_spec(model)):
        options = options_of(filter=filter, memory=memory, insecure=insecure)
        rows = rows_of(run("tree", "--json", *options, "--", os.fspath(model))[1])
        return Tree(*(network for row in rows for network in row["networks"]))
    if isinstance(model, str):
        from . import _specs
        model = _specs.load(model).model
    import torch
    if isinstance(model, torch.nn.Module):
        seen = None
        if args is not None or kwargs is not None:
            from ._watch import watch
            seen = watch(model, *given(model, args, kwargs))
        return Tree(_Walk(seen).network(model))
    if isinstance(model, torch.export.ExportedProgram):
        return Tree(_exported(model))
    if callable(getattr(model, "get_config", None)) and hasattr(model, "weights"):
        return Tree(_keras(model))
    raise TypeError(
        f"a tree is made of an nn.Module, an ExportedProgram or a Keras model, not of {type(model).__name__}")


def _is_spec(text: str) -> bool:
    """As the program decides: what has a colon and is neither an address nor a file names a live model."""
    return ":" in text and not is_remote(text) and not os.path.exists(text)


class _Walk:
    def __init__(self, seen: Any):
        self.seen = seen
        self.first_module: dict[int, str] = {}
        self.first_tensor: dict[int, str] = {}
        self.dtypes: dict[str, str] = {}

    def network(self, model: torch.nn.Module) -> dict[str, Any]:
        root = self.node("", model, "")
        flow = [{"from": a, "to": b, "shape": shape} for (a, b), shape in self.seen.flow.items()] if self.seen else []
        return {"name": "", "tree": [root], "dtypes": self.dtypes, "flow": flow}

    def node(self, name: str, module: torch.nn.Module, path: str) -> dict[str, Any]:
        cls = type(module)
        found: dict[str, Any] = {"name": name, "class": getattr(module, "original_name", cls.__name__),
                                 "origin": {"file": cls.__module__}}
        if id(module) in self.first_module:
            return {**found, "shared_with": self.first_module[id(module)]}
        self.first_module[id(module)] = path or "the root"
        if cls.__module__.startswith("torch.nn.") and not module._modules:
            found.update(_arguments(module.extra_repr()))
        self.tensors(found, module, path)
        row = self.seen.seen.get(path) if self.seen else None
        if row is not None:
            found["flops"] = row.flops
            if row.output is not None:
                found["output"] = row.output
        found["children"] = [self.node(child, part, f"{path}.{child}" if path else child)
                             for child, part in module._modules.items() if part is not None]
        return found

    def tensors(self, found: dict[str, Any], module: torch.nn.Module, path: str) -> None:
        frozen, tied, not_saved = [], {}, []
        for key, slots in (("parameters", module._parameters), ("buffers", module._buffers)):
            shapes = found[key] = {}
            for name, tensor in slots.items():
                if tensor is None:
                    continue
                full = f"{path}.{name}" if path else name
                shapes[name] = _shape(tensor)
                self.dtypes[full] = _dtype(tensor.dtype)
                if key == "parameters" and not tensor.requires_grad:
                    frozen.append(name)
                if key == "buffers" and name in module._non_persistent_buffers_set:
                    not_saved.append(name)
                first = self.first_tensor.setdefault(id(tensor), full)
                if first != full:
                    tied[name] = first
        found.update({k: v for k, v in (("frozen", frozen), ("tied", tied), ("not_saved", not_saved)) if v})


@functools.lru_cache(maxsize=None)
def _dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _shape(tensor: Any) -> list[int] | None:
    try:
        return list(tensor.shape)
    except RuntimeError:  # lazy parameters have none yet
        return None


@functools.lru_cache(maxsize=4096)
def _arguments(text: str) -> dict[str, Any]:
    """What a module says of itself, `3, 64, kernel_size=(7, 7)`, as arguments; nothing if it is no list of them."""
    try:
        call = ast.parse(f"_({text})", mode="eval").body
    except SyntaxError:
        return {}
    if not isinstance(call, ast.Call):
        return {}
    args, as_source = {}, []
    for name, value in [*((str(i), v) for i, v in enumerate(call.args)), *((k.arg, k.value) for k in call.keywords)]:
        if name is None:
            return {}
        try:
            args[name] = _plain(ast.literal_eval(value))
        except (ValueError, TypeError):
            args[name] = ast.unparse(value)
            as_source.append(name)
    return {"args": args, "source_args": as_source} if as_source else {"args": args}


def _plain(value: Any) -> Any:
    """As JSON has it; raises ValueError for what it has not."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    raise ValueError(value)


# ---- exported programs and Keras models: names make the hierarchy ----


class _Paths:
    """Modules by their dotted paths, made as they are needed."""

    def __init__(self, root_class: str):
        self.root = self._new("", root_class)
        self.at = {"": self.root}

    @staticmethod
    def _new(name: str, cls: str) -> dict[str, Any]:
        return {"name": name, "class": cls, "parameters": {}, "buffers": {}, "children": []}

    def module(self, path: str, cls: str = "") -> dict[str, Any]:
        if path not in self.at:
            parent, _, name = path.rpartition(".")
            self.at[path] = self._new(name, cls)
            self.module(parent)["children"].append(self.at[path])
        if cls:
            self.at[path]["class"] = cls
        return self.at[path]


def _exported(program: Any) -> dict[str, Any]:
    signature, state = program.graph_signature, program.state_dict
    paths = _Paths("")
    for node in program.graph.nodes:
        for path, cls in (node.meta.get("nn_module_stack") or {}).values():
            paths.module(path.removeprefix("L['self']").lstrip("."), str(cls).rpartition(".")[2])
    buffers = set(signature.buffers)
    dtypes = {}
    for name, tensor in state.items():
        path, _, own = name.rpartition(".")
        paths.module(path)["buffers" if name in buffers else "parameters"][own] = _shape(tensor)
        dtypes[name] = _dtype(tensor.dtype)
    return {"name": "", "tree": [paths.root], "dtypes": dtypes}


def _keras(model: Any) -> dict[str, Any]:
    dtypes: dict[str, str] = {}

    def node(layer: Any, name: str, path: str) -> dict[str, Any]:
        inner = list(getattr(layer, "layers", None) or [])
        found: dict[str, Any] = {"name": name, "class": type(layer).__name__, "parameters": {}, "buffers": {},
                 "args": {}, "children": []}
        if not inner:
            config = layer.get_config()
            for key in ("units", "filters", "kernel_size", "strides", "activation", "rate", "padding"):
                if isinstance(config.get(key), (int, float, str, list, tuple)):
                    found["args"][key] = _plain(config[key])
            trainable = {id(w) for w in layer.trainable_weights}
            for weight in layer.weights:
                own = weight.name.rpartition("/")[2].partition(":")[0]
                found["parameters" if id(weight) in trainable else "buffers"][own] = [int(n) for n in weight.shape]
                dtypes[f"{path}.{own}" if path else own] = str(weight.dtype)
        found["children"] = [node(part, part.name, f"{path}.{part.name}" if path else part.name) for part in inner]
        return found

    return {"name": model.name, "tree": [node(model, "", "")], "dtypes": dtypes}
