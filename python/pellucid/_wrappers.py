"""What people put around a model before they run it: seen through, with its keys explained, or refused in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING:
    import torch

# torch's own classes whose forward is that of one child, and nothing else while there is one process and no option that
# changes numbers: class -> (the child, options that must be unset).
SEEN_THROUGH = {
    "torch.nn.parallel.distributed.DistributedDataParallel": ("module", ("mixed_precision",)),
    "torch.nn.parallel.data_parallel.DataParallel": ("module", ("device_ids",)),
    "torch._dynamo.eval_frame.OptimizedModule": ("_orig_mod", ()),
    "torch.optim.swa_utils.AveragedModel": ("module", ()),
}
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
# What to do instead, by the part of torch that a class comes from.
ADVICE = (
    ("torch.distributed.fsdp._fully_shard", "make the skeleton before fully_shard(), or build the model anew and load "
                                            "what torch.distributed.checkpoint.state_dict.get_model_state_dict gives "
                                            "with full_state_dict=True"),
    ("torch.distributed.fsdp", "make the skeleton before FSDP(...), or build the model anew and load its full "
                               "state_dict"),
    ("torch.distributed.algorithms._checkpoint", "make the skeleton before checkpoint_wrapper()"),
    ("torch.distributed.tensor", "make the skeleton before the model is distributed"),
    ("torch.distributed.pipelining", "make the skeleton before the model is cut into stages"),
)


def unwrapped(model: torch.nn.Module) -> tuple[torch.nn.Module, str]:
    """What the wrappers of torch around the model hold, and what they put before the keys of its state_dict. A wrapper
    that does more than to call what it holds stays."""
    prefix = ""
    while (child := _only_calls(model)) is not None:
        prefix += f"{child}."
        model = model.get_submodule(child)
    return model, prefix


def _only_calls(model: torch.nn.Module) -> str | None:
    kind = type(model)
    child, unset = SEEN_THROUGH.get(f"{kind.__module__}.{kind.__qualname__}", (None, ()))
    if child is None or any(getattr(model, option, None) for option in unset):
        return None
    # DistributedDataParallel has no hooks of its own that a single process needs; an author's would be lost.
    return child if not any(vars(model).get(name) for name in HOOKS) else None


def with_load_line(source: str, prefix: str, keys: list[str]) -> str:
    """The source whose header loads a state_dict with this prefix. keys: those of the wrapped model."""
    if not prefix:
        return source
    only = f" if k.startswith({prefix!r})" if any(not key.startswith(prefix) for key in keys) else ""
    line = (f"model.load_state_dict({{k.removeprefix({prefix!r}): v for k, v in "
            f"original.state_dict().items(){only}}})".replace("'", '"'))
    return re.sub(r"^(# Use: model = \w+\(\);) .*$", lambda m: f"{m[1]}\n#   {line}", source, count=1, flags=re.M)


def parts_of_many(model: torch.nn.Module) -> Iterator[tuple[str, Any, str]]:
    """Modules that work together with other processes: name, module, and what shows it. They hold a process group, or
    are of a class of torch.distributed: nothing of it runs alone."""
    import torch

    from ._check import named_modules_of
    if not torch.distributed.is_available():
        return
    groups = (torch.distributed.ProcessGroup, torch.distributed.device_mesh.DeviceMesh)
    for name, part in named_modules_of(model):
        held = next((key for key, value in vars(part).items() if isinstance(value, groups)), None) or next(
            (c.__qualname__ for c in type(part).__mro__ if c.__module__.startswith("torch.distributed.")), None)
        if held is not None:
            yield name, part, held


def advice(part: torch.nn.Module) -> str:
    """What the user can do about such a part."""
    for kind in type(part).__mro__:
        for begin, text in ADVICE:
            if kind.__module__.startswith(begin):
                return text
    if "module" in dict(part.named_children()):
        return "make the skeleton of what it wraps, its .module"
    return "make the skeleton of a model that was not distributed"
