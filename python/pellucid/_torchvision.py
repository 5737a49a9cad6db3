"""Makes torchvision importable where its compiled operators don't fit the torch that is there.

Its Python part only needs that they are declared; models that call none of them work, and timm and transformers
import it whether or not they need it.
"""

from __future__ import annotations

import importlib.util
import sys

KEPT: list[object] = []  # what is declared is forgotten with the object that declared it


def is_missing(error: BaseException) -> bool:
    """Whether an import failed for that reason. Libraries raise errors of their own from it, as transformers does."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        found = todo.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, RuntimeError) and "operator torchvision::" in str(found):
            return True
        todo += [found.__cause__, found.__context__]
    return False


def stand_in() -> None:
    if KEPT or importlib.util.find_spec("torch") is None or importlib.util.find_spec("torchvision") is None:
        return
    import torch

    try:
        import torchvision  # noqa: F401
    except RuntimeError:  # "operator torchvision::nms does not exist"
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        KEPT.append(library)
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
