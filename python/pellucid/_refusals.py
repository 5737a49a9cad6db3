"""What can't have a skeleton, said before anything is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable

from ._pellucid import Error

if TYPE_CHECKING:
    import torch

    from ._skeleton import Skeleton

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


class SkeletonError(Error, RuntimeError):
    """No skeleton could be made, or the one that was made is not equal to its original.

    `skeleton` has what there is: the source and the report of verification, or None."""

    def __init__(self, message: str, skeleton: Skeleton | None = None):
        super().__init__(message)
        self.skeleton = skeleton


def readable(model: Any, inputs: Inputs, device: str | None = None) -> torch.nn.Module:
    """The model itself, or what torch's wrappers hold; refuses what has no values, unless that is what was asked for:
    then it has none."""
    import torch

    from . import _inputs
    from ._check import buffers_of, named_buffers_of, named_parameters_of, parameters_of
    from ._wrappers import unwrapped
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"a skeleton is made of a torch.nn.Module, not of {type(model).__name__}")
    model = unwrapped(model)[0]
    if any(torch.nn.parameter.is_lazy(t) for t in (*parameters_of(model), *buffers_of(model))):
        _finish_lazy_modules(model, inputs)
    if device == "meta":
        from ._meta import hollowed
        model = hollowed(model)
    elif any(t.is_meta for t in (*parameters_of(model), *buffers_of(model), *_inputs.tensors(inputs))):
        _refuse_brought_weights(model)
        raise SkeletonError("tensors on the meta device have no values to compare; device=\"meta\" (--device meta) "
                            "compares the calls of ATen alone")
    _refuse_other_processes(model)
    _refuse_exported(model)
    refuse_subclasses([*named_parameters_of(model), *named_buffers_of(model),
                        *(("an input", t) for t in _inputs.tensors(inputs))])
    return model


def refuse_subclasses(named: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Tensors of another class than torch's plain ones: what their operators do is said by the class, and no skeleton
    has it. So it is with those of torch's own that stand for others: parts of a tensor that other processes have,
    packed weights."""
    import torch

    from ._library import place_of
    parameter = torch.nn.parameter
    plain = {torch.Tensor, torch.nn.Parameter, parameter.Buffer, parameter.UninitializedParameter,
             parameter.UninitializedBuffer}
    for name, tensor in named:
        kind = type(tensor)
        if kind in plain or (kind.__module__.split(".")[0] == "torch" and tensor.is_nested) or _only_has_a_name(tensor):
            continue
        raise SkeletonError(f"{place_of(kind)}: {name} is a {kind.__qualname__}, a subclass of torch.Tensor, "
                            "whose operators can't be followed; give the model plain tensors "
                            "(t.as_subclass(torch.Tensor), or dequantised ones)")


INERT = {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__new__", "__init__",
         "__slots__", "__firstlineno__", "__static_attributes__"}


def _only_has_a_name(tensor: torch.Tensor) -> bool:
    """A parameter of an author's class that changes no operator, and holds nothing else: what operators give is of
    torch's own class."""
    import torch
    mro = type(tensor).__mro__
    if torch.nn.Parameter not in mro or vars(tensor):
        return False
    return all(set(vars(kind)) <= INERT for kind in mro[:mro.index(torch.nn.Parameter)])


def _refuse_other_processes(model: torch.nn.Module) -> None:
    from ._wrappers import advice, parts_of_many
    for name, part, held in parts_of_many(model):
        kind = type(part)
        raise SkeletonError(f"{name or 'the model'} is a {kind.__module__}.{kind.__qualname__}, which works with other "
                            f"processes ({held}); {advice(part)}")


def _refuse_brought_weights(model: torch.nn.Module) -> None:
    """Weights that are on the meta device until the module runs: something around it brings them then."""
    from ._check import named_modules_of
    for name, part in named_modules_of(model):
        around = "forward" in vars(part) or part._forward_pre_hooks
        if around and any(t.is_meta for t in part.parameters(recurse=False)):
            raise SkeletonError(f"the weights of {name or 'the model'} are on the meta device, and what is put around "
                                "its forward brings them when it runs (offloading); make the skeleton of the model "
                                "as it is before, or take that off (accelerate: remove_hook_from_module(model, "
                                "recurse=True)) and load the weights")


def _refuse_exported(model: torch.nn.Module) -> None:
    """What torch.export makes of a model: it takes its arguments apart by trees that no text has."""
    from torch.fx import GraphModule
    from torch.fx.graph import _PyTreeCodeGen

    from ._check import named_modules_of
    for name, part in named_modules_of(model):
        if isinstance(part, GraphModule) and isinstance(part.graph._codegen, _PyTreeCodeGen):
            raise SkeletonError(f"{name or 'the model'} is what torch.export made of a model; make the skeleton of "
                                "that one, or of the file: torch.export.save(exported, \"model.pt2\"), then `pellucid "
                                "skeleton model.pt2 -o model.py`")


def refuse_functions(inputs: Inputs) -> None:
    """A function of the author's that callers give: another one would do something else, and it has no literal that an
    assertion could ask for."""
    import functools
    import types

    import torch

    from ._library import name_of

    def look(value: Any, place: str, depth: int) -> None:
        if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)) and name_of(value) is None:
            raise SkeletonError(f"{place} is a function that the caller gives, and a skeleton would keep this one "
                                "alone; give the model the function when it is built")
        if isinstance(value, torch.nn.Module):
            raise SkeletonError(f"{place} is a module that the caller gives ({type(value).__qualname__}), and a "
                                "skeleton has no other's parts; make the skeleton of a module that holds both")
        items = (value.items() if isinstance(value, dict)
                 else enumerate(value) if isinstance(value, (list, tuple)) else ())
        for key, item in items if depth < 8 else ():
            look(item, f"{place}[{key!r}]", depth + 1)

    for number, value in enumerate(inputs[0], 1):
        look(value, f"argument {number}", 0)
    for key, value in inputs[1].items():
        look(value, f"argument {key}", 0)


def refuse_backward_hooks(model: torch.nn.Module) -> None:
    """Hooks that only a backward pass runs: no recorded call shows what they do to gradients."""
    from ._check import named_modules_of, named_parameters_of
    for name, part in named_modules_of(model):
        if getattr(part, "_backward_hooks", None) or getattr(part, "_backward_pre_hooks", None):
            raise SkeletonError(f"{name or 'the model'} has a hook on its backward pass, which no recorded call "
                                "shows; remove it first, and register it on the skeleton")
    for name, tensor in named_parameters_of(model):
        if tensor._backward_hooks or getattr(tensor, "_post_accumulate_grad_hooks", None):
            raise SkeletonError(f"the parameter {name} has a hook on its gradient, which no recorded call shows; "
                                "remove it first, and register it on the skeleton")


def refuse_other_state(model: torch.nn.Module, leaves: tuple[type, ...]) -> None:
    """A skeleton's state_dict has its parameters and buffers. What has something else in it could not be loaded in the
    end: extra state, keys that hooks or an own state_dict() change, weights that are packed."""
    from ._check import modules_of, named_buffers_of, named_modules_of, named_parameters_of
    if any(isinstance(part, leaves) for part in modules_of(model)):
        return  # kept as they are, with what they keep
    plain: set[str] = set()
    for name, part in named_modules_of(model, each=True):
        fleeting: set[str] = getattr(part, "_non_persistent_buffers_set", set())
        own = {key for key, _ in (*named_parameters_of(part, below=False, each=True),
                                  *named_buffers_of(part, below=False, each=True)) if key not in fleeting}
        plain |= {f"{name}.{key}" if name else key for key in own}
    try:
        found = set(model.state_dict())
    except Exception as error:
        raise SkeletonError(f"the model's state_dict() raises {type(error).__name__}: {error}") from None
    for key in sorted(found - plain):
        path, _, last = key.rpartition(".")
        owner = _owner(model, path)
        kind = f"{type(owner).__module__}.{type(owner).__qualname__}"
        why = ("has extra state (get_extra_state)" if last == "_extra_state"
               else "keeps packed quantised weights (make the skeleton before they are quantised)"
               if kind.startswith("torch.ao.") or "packed" in key
               else "puts something else into its state_dict (by a hook or a state_dict() of its own)")
        raise SkeletonError(f"{key}: {kind} {why}: a skeleton has parameters and buffers alone")
    if missing := sorted(plain - found):
        raise SkeletonError(f"{missing[0]} is not in the model's state_dict: a hook, or a state_dict() of its own, "
                            "leaves it out")


def _owner(model: torch.nn.Module, path: str) -> torch.nn.Module:
    """The module that a key of the state_dict belongs to, as far as there is one."""
    while path:
        try:
            return model.get_submodule(path)
        except AttributeError:
            path = path.rpartition(".")[0]
    return model


def refuse_unknown_leaves(model: torch.nn.Module, leaves: tuple[type, ...]) -> None:
    """A leaf is imported and built again: with which arguments, must be known."""
    from . import _leaves
    from ._check import modules_of, named_modules_of
    inside: set[torch.nn.Module] = set()  # of leaves: these are built by them
    for name, part in named_modules_of(model) if leaves else ():
        if not isinstance(part, leaves) or part in inside:
            continue
        inside.update(modules_of(part))
        if _leaves.arguments(part, leaves) is None:
            kind = type(part)
            raise SkeletonError(f"{name or 'the model'} can't be kept as it is: no arguments were found that build "
                                f"{kind.__module__}.{kind.__qualname__} as this one is")


def _finish_lazy_modules(model: torch.nn.Module, inputs: Inputs) -> None:
    """Lazy modules get their parameters in the first call of the model: this is it."""
    import torch

    from . import _inputs
    from ._check import named_parameters_of
    from ._state import RandomState
    random = RandomState()
    args, kwargs = _inputs.copied(inputs)
    with torch.no_grad():
        model(*args, **kwargs)
    random.restore()
    lazy = [name for name, t in named_parameters_of(model) if torch.nn.parameter.is_lazy(t)]
    if lazy:
        raise SkeletonError(f"{lazy[0]} has no shape yet: it belongs to a lazy module that this call does not reach")


def part_of(model: torch.nn.Module, path: str) -> torch.nn.Module:
    from ._check import named_modules_of
    try:
        return model.get_submodule(path)
    except AttributeError:
        import difflib
        near = difflib.get_close_matches(path, [name for name, _ in named_modules_of(model)], 1)
        raise SkeletonError(f"the model has no module {path!r}" + (f"; did you mean {near[0]!r}?" if near else "")
                            ) from None
