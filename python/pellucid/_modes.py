"""Whether a class's own train() does anything that torch's does not, tried on the model itself.

Libraries override train() for cases that most models never meet (kernels to be chosen again, a part to be frozen).
Where every instance of a class comes out of its own train() as it comes out of nn.Module's, in both modes, the skeleton
needs none. The referee enters train mode by train() and eval mode by eval(), so that is compared once more.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ._check import buffers_of, modules_of, named_modules_of, named_parameters_of, parameters_of
from ._state import copies


def _state(model: torch.nn.Module) -> dict[Any, Any]:
    """What train() could change beside the weights: every attribute of every module by identity, and which parameters
    want gradients."""
    found: dict[Any, Any] = {}
    for name, module in named_modules_of(model):
        for key, value in vars(module).items():
            found[name, key] = value if key == "training" else {k: id(v) for k, v in value.items()} if isinstance(
                value, dict) else list(map(id, value)) if isinstance(value, list) else id(value)
    found.update({(name,): p.requires_grad for name, p in named_parameters_of(model, each=True)})
    return found


class Computes(TorchDispatchMode):
    """Whether anything is computed."""

    any = False

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        self.any = True
        return function(*args, **(kwargs or {}))


class Trial:
    """A model that is put back as it was handed over, weights too: some models merge or split them in train(), through
    .data, which no version counts."""

    def __init__(self, model: torch.nn.Module, restore: Callable[[], None]):
        self.restore = restore
        self.flags = {module: module.training for module in modules_of(model)}
        self.weights = [*parameters_of(model), *buffers_of(model)]
        self.kept = copies(self.weights)

    def changed(self) -> list[int]:
        return [i for i, t in enumerate(self.weights) if not t.is_meta and not torch.equal(t.detach(), self.kept[i])]

    def put_back(self) -> None:
        self.restore()
        for i in self.changed():
            self.weights[i].data.copy_(self.kept[i])
        for module, flag in self.flags.items():
            module.training = flag

    def is_plain(self, module: torch.nn.Module, mode: bool) -> bool:
        try:
            self.put_back()
            torch.nn.Module.train(module, mode)
            wanted = _state(module)
            self.put_back()
            with Computes() as computes:
                is_same = type(module).train(module, mode) is module and _state(module) == wanted
            if any(t.is_meta for t in self.weights) and computes.any:
                return False  # what it did to weights without values would not show
            return is_same and not self.changed()
        except Exception:
            return False  # not known: the skeleton's train() refuses
        finally:
            self.put_back()


def plain_train(model: torch.nn.Module, restore: Callable[[], None]) -> list[str]:
    """The classes, as module.qualname, whose own train() acts like nn.Module's for every instance in the model; with
    "eval " in front those of which that is so of train(False). restore: puts everything but weights back as it was
    handed over."""
    import torch
    own = [module for module in modules_of(model) if type(module).train is not torch.nn.Module.train]
    if not own or any(t.layout is not torch.strided for t in (*parameters_of(model), *buffers_of(model))):
        return []  # of weights that can't be compared bit by bit nothing is known
    trial = Trial(model, restore)
    plain: dict[str, bool] = {}
    for module in own:
        name = f"{type(module).__module__}.{type(module).__qualname__}"
        in_eval = plain.get(f"eval {name}", True) and trial.is_plain(module, False)
        plain[f"eval {name}"] = in_eval
        plain[name] = in_eval and plain.get(name, True) and trial.is_plain(module, True)
    return [name for name, is_so in plain.items() if is_so]


def known_records() -> list[str]:
    """Dataclasses that torch's trees of values (torch.export, vmap) know, as "pytree module.qualname"."""
    import dataclasses

    from torch.utils import _pytree
    return [f"pytree {kind.__module__}.{kind.__qualname__}" for kind in getattr(_pytree, "SUPPORTED_NODES", ())
            if isinstance(kind, type) and dataclasses.is_dataclass(kind)]


def known_operators() -> list[str]:
    """Operators that Python's functions of one file were registered for with torch.library: "operator torch.ops.a.b",
    the schema, and where its functions begin: for values, for none, what is kept for gradients, gradients. Those that
    change what they get, or are something else on some device, are not among them."""
    from torch._library import custom_ops
    found = []
    for name, made in list(getattr(custom_ops, "OPDEFS", {}).items()):
        try:
            parts = [made._init_fn, made._abstract_fn, made._setup_context_fn, made._backward_fn]
            codes = [getattr(inspect.unwrap(part), "__code__", None) if part else None for part in parts]
            plain = set(made._backend_fns) <= {None} and not made._vmap_fn and not made._torch_dispatch_fns
            whole = all(code is not None or part is None for code, part in zip(codes, parts))
            files = {code.co_filename for code in codes if code}
            if plain and whole and len(files) == 1 and "!" not in made._schema:
                lines = [str(code.co_firstlineno if code else 0) for code in codes]
                found.append("\n".join(["operator torch.ops." + name.replace("::", "."), made._schema, *lines]))
        except AttributeError:  # another torch: nothing is known of it
            continue
    return found
