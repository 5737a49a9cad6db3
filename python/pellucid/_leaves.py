"""Which arguments would build this module of torch's again?

Most modules keep their arguments as attributes of the same name. Where they don't, the few rules in _DERIVED say how
to read them off. Whatever the guess, it counts only if building a module with it (on the meta device, so no memory and
no random numbers) gives the same parameters, buffers, children and plain attributes.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import types
import warnings
from typing import Any, Callable, Iterator

import torch
from torch import nn
from torch.nn.utils.prune import BasePruningMethod, identity
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm
from torch.overrides import TorchFunctionMode

from ._check import buffers_of, modules_of, named_buffers_of, named_parameters_of, parameters_of
from ._library import name_of

Arguments = dict[str, Any]
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
_OWN_FIELDS = frozenset(vars(nn.Module()))
_MISSING = object()


def arguments(module: nn.Module, leaves: tuple[type, ...] | None = None, opened: frozenset[Any] = frozenset()
              ) -> tuple[tuple[tuple[str, Any, bool, bool], ...], tuple[str, ...]] | None:
    """((name, value, positional, is default), ...), and what the class then makes by itself; None if unknown.
    The rows without a name are what was done to the module then, one after the other.

    For a module of torch's or of a leaf class, or of an author's class that inherits from one of torch's: then of
    that base.
    """
    cls = type(module) if leaves and isinstance(module, leaves) else torch_class(module)
    if cls is None or cls in opened:
        return None
    found = _find(module, cls)
    if found is None:
        return None
    given, built = found
    parameters = _parameters(cls)
    rows: list[Any] = []
    for name, parameter in parameters.items():
        if name in ("device", "dtype") and name not in given:
            continue
        default = parameter.default
        value = given.get(name, default)
        if isinstance(value, torch.Tensor) and value.dim() == 0 and not value.is_floating_point():
            value = value.item()  # a size that somebody computed with torch.prod
        is_default = default is not inspect.Parameter.empty and _same(value, default)
        # Dropout(0.1), LeakyReLU(0.2): one number that needs no name.
        is_positional = default is inspect.Parameter.empty or (not rows and isinstance(default, float))
        rows.append((name, value, is_positional, is_default))
    done = _done_to(module)
    rows += [("", function, False, False) for function in done]
    made = (*built._modules, *built._parameters, *built._buffers, *_attributes(built),
            *(_replaced(module)[1] if done else ()))
    return tuple(rows), tuple(made)


def torch_class(module: nn.Module) -> type | None:
    """The first module class of torch's that the module inherits from, unless that is nn.Module itself or a container.
    """
    for cls in type(module).__mro__:
        if issubclass(cls, nn.Module) and cls.__module__.split(".")[0] == "torch" and name_of(cls) is not None:
            return None if cls is nn.Module or issubclass(cls, _CONTAINERS) else cls
    return None


def _wrappers() -> tuple[type, ...]:
    """Modules of torch's around one of somebody's, and those that have no Python."""
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    compiled = (dynamo.OptimizedModule,) if dynamo else ()
    return (nn.DataParallel, nn.parallel.DistributedDataParallel, torch.jit.ScriptModule, *compiled)


def opened(model: nn.Module, leaves: tuple[type, ...] | None = None) -> frozenset[Any]:
    """Classes of torch's that no arguments build as they are in this model (children of another kind, an activation
    that is a lambda), or whose inner methods an author's class replaces; with the code of their methods and of the
    private functions that these call. They are read as if the author had written them. A class that has no forward of
    its own (fx.GraphModule) adds nothing to nn.Module, so its code stays closed."""
    found: set[Any] = set()
    closed = (*_wrappers(), *(leaves or ()))
    modules = list(modules_of(model)) if isinstance(model, nn.Module) else []
    made = {id(inner) for module in modules
            if isinstance(outer := getattr(module, "parametrizations", None), nn.ModuleDict)
            for inner in modules_of(outer)}  # by the functions that parametrize
    modules = [module for module in modules if id(module) not in made]
    for module in reversed(modules):  # children first: who holds one that is opened is opened
        cls = torch_class(module)
        if cls is None or cls in found or isinstance(module, closed) or (
                _can_be_written(module) and not _replaces_inner_method(type(module), cls)
                and found.isdisjoint(map(type, modules_of(module)))):
            continue
        for base in cls.__mro__[:cls.__mro__.index(nn.Module)]:
            found.add(base)
            for method in vars(base).values():
                _open_function(inspect.unwrap(getattr(method, "__func__", method)), found)
    for module in modules:  # functions of torch's that run around a module, as torch.ao's observers do
        for hook in (*module._forward_hooks.values(), *module._forward_pre_hooks.values()):
            _open_function(hook, found)
    return frozenset(found)


def _open_function(function: Any, found: set[Any]) -> None:
    if not isinstance(function, types.FunctionType) or function.__code__ in found:
        return
    found.add(function.__code__)
    for name in function.__code__.co_names:
        if name.startswith("_") and not name.startswith("__"):
            _open_function(function.__globals__.get(name, getattr(nn.functional, name, None)), found)


# what an author's class may have and nobody inside calls
_OUTER = ("__init__", "forward", "extra_repr", "reset_parameters")


def _replaces_inner_method(cls: type, base: type) -> bool:
    """As authors do with TransformerEncoderLayer._sa_block, which torch's forward calls."""
    return any(isinstance(method, types.FunctionType) and name not in _OUTER and name not in vars(nn.Module)
               and isinstance(getattr(base, name, None), types.FunctionType)
               for owner in cls.__mro__[:cls.__mro__.index(base)] for name, method in vars(owner).items())


def _can_be_written(module: nn.Module) -> bool:
    try:
        found = arguments(module)
    except Exception:  # a lazy module that has no shapes yet
        return True
    return found is not None and not any(isinstance(value, types.FunctionType) and name_of(value) is None
                                         for _, value, _, _ in found[0])


# ---- parameters behind hooks of torch's ----


def _done_to(module: nn.Module) -> list[functools.partial[Any]]:
    """torch.nn.utils.weight_norm, spectral_norm and prune as they were called on the module, whose parameters they
    replaced. What was pruned is in the mask, which is a buffer of the state_dict, so that the mask of ones will do."""
    found = []
    for hook in module._forward_pre_hooks.values():
        given: Arguments = {}
        if isinstance(hook, WeightNorm):
            function: Callable[..., Any] = nn.utils.weight_norm
            given = {"name": hook.name, "dim": hook.dim}
        elif isinstance(hook, SpectralNorm):
            function = nn.utils.spectral_norm
            given = {"name": hook.name, "n_power_iterations": hook.n_power_iterations, "eps": hook.eps, "dim": hook.dim}
            if hook.dim == (1 if "ConvTranspose" in type(module).__name__ else 0):
                del given["dim"]
        elif isinstance(hook, BasePruningMethod):
            function, given = identity, {"name": hook._tensor_name}
        else:
            continue
        defaults = inspect.signature(function).parameters
        found.append(functools.partial(function, **{k: v for k, v in given.items() if v != defaults[k].default}))
    return found


def _replaced(module: nn.Module) -> tuple[set[str], set[str]]:
    """The parameters that something computes from others, and these others."""
    outer = getattr(module, "parametrizations", None)
    replaced = set(outer._modules) if isinstance(outer, nn.Module) else set()
    others: set[str] = set()
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, (WeightNorm, SpectralNorm)):
            replaced.add(hook.name)
            others |= {hook.name + end for end in ("_g", "_v", "_u", "_orig")}
        elif isinstance(hook, BasePruningMethod):
            replaced.add(hook._tensor_name)
            others |= {hook._tensor_name + end for end in ("_orig", "_mask")}
    return replaced, others


# ---- guessing ----

@functools.lru_cache(512)
def _after_self(function: Any) -> tuple[tuple[str, inspect.Parameter], ...]:
    return tuple(inspect.signature(function).parameters.items())[1:]


def _parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Of the constructor; one that only passes everything on (nn.LSTM) has the parameters of its base's."""
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        found = dict(_after_self(getattr(base, "__init__")))
        if not any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found.values()):
            found.pop("mode", None) if issubclass(cls, nn.RNNBase) else None
            if cls is nn.RNN:
                found["nonlinearity"] = inspect.Parameter("nonlinearity",
                                                          inspect.Parameter.KEYWORD_ONLY, default="tanh")
            return found
        if cls is nn.Identity:
            return {}
    return {}


def _has(name: str) -> Callable[[nn.Module], Any]:
    return lambda module: getattr(module, name, None) is not None


def _at(path: str) -> Callable[[nn.Module], Any]:
    def read(module: Any) -> Any:
        for part in path.split("."):
            module = module[int(part)] if part.isdigit() else getattr(module, part)
        return module
    return read


_LAYER = {"d_model": _at("self_attn.embed_dim"), "nhead": _at("self_attn.num_heads"), "dropout": _at("dropout.p"),
          "dim_feedforward": _at("linear1.out_features"), "layer_norm_eps": _at("norm1.eps"),
          "batch_first": _at("self_attn.batch_first"), "bias": lambda m: m.linear1.bias is not None}

def _of_first_layer(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda module: read(module.encoder.layers[0])


_DERIVED: dict[type, dict[str, Callable[[Any], Any]]] = {
    nn.MultiheadAttention: {"bias": _has("in_proj_bias"), "add_bias_kv": _has("bias_k")},
    nn.TransformerEncoderLayer: _LAYER,
    nn.TransformerDecoderLayer: _LAYER,
    nn.TransformerEncoder: {"encoder_layer": _at("layers.0")},
    nn.TransformerDecoder: {"decoder_layer": _at("layers.0")},
    nn.Transformer: {
        "num_encoder_layers": lambda m: len(m.encoder.layers), "num_decoder_layers": lambda m: len(m.decoder.layers),
        **{name: _of_first_layer(read) for name, read in _LAYER.items()},
        "activation": _at("encoder.layers.0.activation"), "norm_first": _at("encoder.layers.0.norm_first")},
    nn.AdaptiveLogSoftmaxWithLoss: {"cutoffs": lambda m: m.cutoffs[:-1]},
    nn.Bilinear: {"bias": _has("bias")},
    nn.PairwiseDistance: {"p": _at("norm")},
}
_FUNCTIONS = {torch.nn.functional.relu: "relu", torch.nn.functional.gelu: "gelu"}


def _guess(module: nn.Module, cls: type, unread: list[str]) -> Arguments | None:
    """unread: those that the module does not tell. Of an author's class they can be looked for."""
    rules: dict[str, Callable[[Any], Any]] = {}
    for base in reversed(cls.__mro__):
        rules.update(_DERIVED.get(base, {}))
    given: Arguments = {}
    for name, parameter in _parameters(cls).items():
        if name == "device":
            continue
        value = _read(module, name, parameter, rules.get(name))
        if value is _MISSING:
            unread.append(name)
            if parameter.default is inspect.Parameter.empty and _is_torchs(cls):
                return None
        elif not _same(value, parameter.default):
            given[name] = value
    return given


def _read(module: nn.Module, name: str, parameter: inspect.Parameter, rule: Callable[[Any], Any] | None) -> Any:
    if name == "dtype":
        return _dtype(module)
    try:
        value = _as_python(rule(module) if rule else getattr(module, name))
    except (AttributeError, IndexError, TypeError):
        return _MISSING
    if isinstance(parameter.default, bool) and not isinstance(value, bool):  # bias=True makes a parameter or None
        return value is not None
    if isinstance(value, torch.Tensor) and name.startswith("_"):
        return _MISSING
    if value is parameter.default or not callable(value) or isinstance(value, nn.Module):
        return value
    return _FUNCTIONS.get(value, value)


def _dtype(module: nn.Module) -> Any:
    """Where it matters: all floating parameters and buffers agree, and not on the default."""
    found = {t.dtype for t in (*parameters_of(module), *buffers_of(module)) if t.is_floating_point() or t.is_complex()}
    return found.pop() if len(found) == 1 and torch.get_default_dtype() not in found else _MISSING


# ---- trying ----

_tried: dict[tuple[Any, ...], tuple[Arguments, nn.Module] | None] = {}
_TRIED_MAX = 10_000
_SEARCHED_MAX = 200  # builds of a leaf class whose arguments are looked for


def _find(module: nn.Module, cls: type) -> tuple[Arguments, nn.Module] | None:
    unread: list[str] = []
    try:
        given = _guess(module, cls, unread)
    except Exception:  # a property of the author's subclass may raise anything
        return None
    if given is None:
        return None
    is_searched = bool(unread) and not _is_torchs(cls)
    key = None if is_searched else _key(module, cls, given)  # what its parts hold is not in the key
    if key is not None and key in _tried:
        return _tried[key]
    found = None
    for candidate in _searched(module, cls, given, unread) if is_searched else _variants(given):
        built = _build(cls, candidate)
        if built is not None and _equal(built, module, cls):
            found = _simplest(cls, candidate, built, module)
            break
    if key is not None and len(_tried) < _TRIED_MAX:
        _tried[key] = found
    return found


def _key(module: nn.Module, cls: type, given: Arguments) -> tuple[Any, ...] | None:
    """Equal modules are looked at once. None for those whose arguments are not plain values."""
    def plain(value: Any) -> bool:
        return isinstance(value, (bool, int, float, str, torch.dtype, type(None))) or (
            isinstance(value, (tuple, list)) and all(map(plain, value)))
    if not all(map(plain, given.values())) or type(module) is not cls:
        return None
    named: Any = module
    tensors = tuple((n, tuple(t.shape), t.dtype) for n, t in (*named_parameters_of(named), *named_buffers_of(named)))
    return cls, repr(sorted(given.items())), tensors, repr([(n, v) for n, v in _attributes(module).items() if plain(v)])


def _variants(given: Arguments) -> Iterator[Arguments]:
    """The guess, then the guess with one argument left to its default."""
    yield given
    for name in given:
        yield {k: v for k, v in given.items() if k != name}


def _is_torchs(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "torch"


def _searched(module: nn.Module, cls: type, given: Arguments, unread: list[str]) -> Iterator[Arguments]:
    """A leaf class need not keep its arguments, but what it made of them shows: sizes, attributes of its parts."""
    parameters = _parameters(cls)
    shown = list(_plain_values(module))
    empty = inspect.Parameter.empty
    names = [name for name in unread if name != "dtype"]
    choices = [[_MISSING, *shown] if parameters[name].default is not empty else shown for name in names]
    for values in itertools.islice(itertools.product(*choices), _SEARCHED_MAX):
        yield {**given, **{name: value for name, value in zip(names, values) if value is not _MISSING}}


def _plain_values(module: nn.Module) -> Iterator[Any]:
    seen: set[tuple[type, Any]] = set()
    sizes = (n for t in (*parameters_of(module), *buffers_of(module)) for n in t.shape)
    held = (value for part in modules_of(module) for value in _attributes(part).values())
    for value in itertools.chain(sizes, held):
        if isinstance(value, (bool, int, float, str)) and (type(value), value) not in seen:
            seen.add((type(value), value))
            yield value


class _Uninitialised(TorchFunctionMode):
    """Tensors on the meta device have no elements to fill; torch would import half of itself to find that out."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        target = args[0] if args else kwargs.get("tensor")  # torch.nn.init's functions name it
        fills = name.endswith("_") and not name.endswith("__") and name != "requires_grad_"
        if fills and isinstance(target, torch.Tensor) and target.is_meta:
            return target
        return func(*args, **kwargs)


def _build(cls: type, given: Arguments) -> nn.Module | None:
    parameters = _parameters(cls)
    call = {k: _shadow(v) for k, v in given.items()}
    if any(v is _MISSING for v in call.values()):
        return None
    if "device" in parameters:
        call["device"] = "meta"
    state = torch.random.get_rng_state()
    try:
        with warnings.catch_warnings(), _Uninitialised():
            warnings.simplefilter("ignore")
            return cls(**call)
    except Exception:  # a wrong guess may fail in any way
        return None
    finally:
        torch.random.set_rng_state(state)


def _shadow(value: Any) -> Any:
    """An argument that is a module itself, built anew without memory."""
    if not isinstance(value, nn.Module):
        return value
    cls = torch_class(value)
    found = _find(value, cls) if cls is type(value) else None
    return found[1] if found else _MISSING


def _simplest(cls: type, given: Arguments, built: nn.Module, module: nn.Module) -> tuple[Arguments, nn.Module]:
    """As people write it: nothing that follows from the rest (stride in pooling), 3 instead of (3, 3)."""
    parameters = _parameters(cls)
    shorter = dict(given)
    for name, value in given.items():
        if isinstance(value, tuple) and value and all(_same(v, value[0]) for v in value):
            shorter[name] = value[0]
    for candidate in (shorter,
                      *({**given, name: value} for name, value in shorter.items() if value is not given[name])):
        if candidate != given and (other := _build(cls, candidate)) is not None and _equal(other, module, cls):
            given, built = candidate, other
            break
    for name in list(given):
        if parameters[name].default is not inspect.Parameter.empty:
            candidate = {k: v for k, v in given.items() if k != name}
            if (other := _build(cls, candidate)) is not None and _equal(other, module, cls):
                given, built = candidate, other
    return given, built


# ---- comparing ----


def _attributes(module: nn.Module) -> Arguments:
    return {name: value for name, value in vars(module).items() if name not in _OWN_FIELDS}


def _equal(built: nn.Module, module: nn.Module, cls: type) -> bool:
    """Whether the built module is what the class must have made of the module before its author went on."""
    replaced, others = _replaced(module)
    return (_equal_tensors(built._parameters, module._parameters, replaced)
            and _equal_tensors(built._buffers, module._buffers, replaced)
            and built._non_persistent_buffers_set <= module._non_persistent_buffers_set
            and _equal_children(built, module)
            and all(name in vars(module) and _same(value, vars(module)[name])
                    for name, value in _attributes(built).items() if not _is_idle(module, name))
            and (type(module) is not cls or _nothing_else(built, module, replaced, others)))


def _is_idle(module: nn.Module, name: str) -> bool:
    """Attributes that say what others say, or that nothing reads: who changed those others left them behind."""
    if name == "_reversed_padding_repeated_twice":
        return getattr(module, "padding_mode", "") == "zeros"
    return name.startswith("_flat_weight")


def _nothing_else(built: nn.Module, module: nn.Module, replaced: set[str], others: set[str]) -> bool:
    return ((set(module._parameters) - others) | replaced == set(built._parameters)
            and set(module._modules) == set(built._modules))


def _equal_tensors(built: dict[str, Any], real: dict[str, Any], replaced: set[str]) -> bool:
    for name, tensor in built.items():
        if name in replaced:
            continue
        other = real.get(name, _MISSING)
        if other is _MISSING or (tensor is None) != (other is None):
            return False
        if tensor is not None and (tensor.shape != other.shape or tensor.dtype != other.dtype):
            return False
    return True


def _equal_children(built: nn.Module, module: nn.Module) -> bool:
    for name, child in built._modules.items():
        other = module._modules.get(name, _MISSING)
        if (other is _MISSING or (child is None) != (other is None)
            or (child is not None and type(child) is not type(other))):
            return False
        if child is not None and not _equal(child, other, type(child)):
            return False
    return True


def _as_python(value: Any) -> Any:
    """numpy's numbers as what they stand for: authors compute sizes with it."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return value.item()
    return type(value)(map(_as_python, value)) if type(value) in (tuple, list) else value


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    a, b = _as_python(a), _as_python(b)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):  # stride=[2, 2] computes what (2, 2) does
        return len(a) == len(b) and all(map(_same, a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return bool(a.shape == b.shape and a.dtype == b.dtype)
    if isinstance(a, nn.Module):
        return _equal(a, b, type(a))
    try:
        return bool(a == b)
    except Exception:
        return False
