"""Whether a class's own train() does anything that torch's does not, tried on the model itself.

Libraries override train() for cases that most models never meet (kernels to be chosen again, a part to be frozen).
Where every instance of a class comes out of its own train() as it comes out of nn.Module's, in both modes, the skeleton
needs none. The referee enters train mode by train() and eval mode by eval(), so that is compared once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    import torch


def _state(model: torch.nn.Module) -> dict[Any, Any]:
    """What train() could change: every attribute of every module by identity, which parameters want gradients, and what
    the weights are: some models merge or split them there, in place."""
    import torch
    found: dict[Any, Any] = {}
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            found[name, key] = value if key == "training" else {k: id(v) for k, v in value.items()} if isinstance(
                value, dict) else list(map(id, value)) if isinstance(value, list) else id(value)
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        whole = tensor.detach().to_dense() if tensor.layout is not torch.strided else tensor.detach()
        found[name,] = tensor.requires_grad, tensor._version, repr(whole.double().sum().item())
    return found


def _is_plain(module: torch.nn.Module, put_back: Callable[[], None]) -> bool:
    import torch
    try:
        for mode in (True, False):
            put_back()
            torch.nn.Module.train(module, mode)
            wanted = _state(module)
            put_back()
            torch.nn.Module.train(module, mode)
            if _state(module) != wanted:
                return False  # putting back leaves traces here: nothing can be compared
            put_back()
            if type(module).train(module, mode) is not module or _state(module) != wanted:
                return False
    except Exception:
        return False  # not known: the skeleton's train() refuses
    finally:
        put_back()
    return True


def plain_train(model: torch.nn.Module, restore: Callable[[], None]) -> list[str]:
    """The classes, as module.qualname, whose own train() acts like nn.Module's for every instance in the model.
    restore: puts everything else of the model back as it was handed over."""
    import torch
    flags = {module: module.training for module in model.modules()}
    if all(type(module).train is torch.nn.Module.train for module in flags):
        return []
    weights = [(t, t.detach().clone()) for t in (*model.parameters(), *model.buffers())
               if t.layout is torch.strided and not t.is_meta]

    def put_back() -> None:
        restore()
        for tensor, value in weights:  # restore() looks at versions, which what goes through .data does not count
            if not torch.equal(tensor.detach(), value):
                tensor.data.copy_(value)
        for module, flag in flags.items():
            module.training = flag

    plain: dict[str, bool] = {}
    for module in flags:
        kind = type(module)
        if kind.train is not torch.nn.Module.train:
            name = f"{kind.__module__}.{kind.__qualname__}"
            plain[name] = plain.get(name, True) and _is_plain(module, put_back)
    return [name for name, is_so in plain.items() if is_so]
