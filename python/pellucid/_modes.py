"""Whether a class's own train() does anything that torch's does not, tried on the model itself.

Libraries override train() for cases that most models never meet (kernels to be chosen again, a part to be frozen).
Where every instance of a class comes out of its own train() as it comes out of nn.Module's, in both modes, the skeleton
needs none. The referee enters train mode by train() and eval mode by eval(), so that is compared once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def _state(model: torch.nn.Module) -> dict[Any, Any]:
    """What train() could change: every attribute of every module by identity, and which parameters want gradients."""
    found: dict[Any, Any] = {}
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            found[name, key] = value if key == "training" else {k: id(v) for k, v in value.items()} if isinstance(
                value, dict) else list(map(id, value)) if isinstance(value, list) else id(value)
    found.update({(name,): p.requires_grad for name, p in model.named_parameters(remove_duplicate=False)})
    return found


def _put_back(flags: dict[torch.nn.Module, bool]) -> None:
    for module, flag in flags.items():
        module.training = flag


def _is_plain(module: torch.nn.Module, flags: dict[torch.nn.Module, bool]) -> bool:
    import torch
    try:
        for mode in (True, False):
            _put_back(flags)
            torch.nn.Module.train(module, mode)
            wanted = _state(module)
            _put_back(flags)
            if type(module).train(module, mode) is not module or _state(module) != wanted:
                return False
    except Exception:
        return False  # not known: the skeleton's train() refuses
    finally:
        _put_back(flags)
    return True


def plain_train(model: torch.nn.Module) -> list[str]:
    """The classes, as module.qualname, whose own train() acts like nn.Module's for every instance in the model."""
    import torch
    flags = {module: module.training for module in model.modules()}
    plain: dict[str, bool] = {}
    for module in flags:
        kind = type(module)
        if kind.train is not torch.nn.Module.train:
            name = f"{kind.__module__}.{kind.__qualname__}"
            plain[name] = plain.get(name, True) and _is_plain(module, flags)
    return [name for name, is_so in plain.items() if is_so]
