"""How a model is named on the command line, and where its inputs come from.

    file.py:callable               file.py:callable(arguments)
    package.module:callable        package.module:callable(arguments)
    timm:NAME                      timm:NAME(arguments)
    hf:CONFIG.json                 hf:MODEL_TYPE             hf:MODEL_TYPE(configuration values)

A callable returns a module, or a module with its inputs: (module, args), (module, kwargs), (module, args, kwargs).
An object that is already a module is taken as it is.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable

from . import _torchvision

if TYPE_CHECKING:
    import torch


class SpecError(ValueError):
    """The name of a model or of its inputs that can't be understood, found or called. `usage`: it is misspelt."""

    def __init__(self, message: str, usage: bool = False):
        super().__init__(message)
        self.usage = usage


@dataclass
class Subject:
    """A model with a call to make."""

    model: torch.nn.Module
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    origin: str = ""
    guess: Callable[[], tuple[tuple[Any, ...], dict[str, Any]] | None] = lambda: None
    arguments: dict[str, Any] = field(default_factory=dict)  # that it was made with, where `rebuild` takes others
    rebuild: Callable[[dict[str, Any]], Subject] | None = None
    too_large: str = ""  # why it was built without numbers, on the meta device: it has a tree, and can't run

    @property
    def has_inputs(self) -> bool:
        return bool(self.args or self.kwargs)


def load(spec: str, device: str | None = None) -> Subject:
    """Builds the model that the spec names; on the meta device without the numbers of its parameters."""
    if device == "meta":
        from ._meta import without_weights
        with without_weights():
            return load(spec)
    scheme, colon, rest = spec.partition(":")
    if not colon or not rest:
        raise SpecError(f"{spec!r} names no model; write file.py:callable, package.module:callable, timm:NAME "
                        "or hf:TYPE", usage=True)
    try:
        subject = _build(spec, scheme, rest)
    except Exception as error:
        if not _torchvision.is_missing(error):
            raise
        print("pellucid: torchvision's compiled operators don't fit this torch; models that call them will fail",
              file=sys.stderr)
        _torchvision.stand_in()
        subject = _build(spec, scheme, rest)
    subject.origin = spec
    return subject


def _build(spec: str, scheme: str, rest: str) -> Subject:
    if scheme == "timm":
        return _load_timm(rest)
    if scheme == "hf":
        return _load_hf(rest)
    return _subject_of(_call(*spec.rsplit(":", 1) if "(" not in rest else (scheme, rest)))


# ---- files and packages ----

def _import(place: str) -> dict[str, Any]:
    """The names in a file or a module."""
    if place.endswith(".py"):
        if not os.path.isfile(place):
            raise SpecError(f"{place}: there is no such file")
        folder = os.path.dirname(os.path.abspath(place))
        if folder not in sys.path:
            sys.path.insert(0, folder)
        name = os.path.splitext(os.path.basename(place))[0]
        found = importlib.util.spec_from_file_location(name, place)
        assert found is not None and found.loader is not None
        module = importlib.util.module_from_spec(found)
        sys.modules.setdefault(name, module)
        found.loader.exec_module(module)
        return vars(module)
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return vars(importlib.import_module(place))
    except ModuleNotFoundError as error:
        raise SpecError(f"{place}: {error}") from error


def class_named(path: str) -> type:
    """The class of that dotted name, or of file.py:Class."""
    place, _, name = path.rpartition(":" if ".py:" in path else ".")
    found = _import(place).get(name) if place else None
    if not isinstance(found, type):
        raise SpecError(f"leaf {path}: there is no such class; write package.module.Class", usage=True)
    return found


def _split_call(text: str) -> tuple[str, str | None]:
    """"name(arguments)" -> name, arguments; without parentheses the arguments are None."""
    match = re.fullmatch(r"([\w.\-/]+?)(?:\((.*)\))?", text, re.S)
    if match is None:
        raise SpecError(f"{text!r} is not a name, nor a call", usage=True)
    return match.group(1), match.group(2)


def _call(place: str, text: str) -> Any:
    name, arguments = _split_call(text)
    space = _import(place)
    value: Any = space
    for part in name.split("."):
        try:
            value = value[part] if value is space else getattr(value, part)
        except (KeyError, AttributeError):
            raise SpecError(f"{place} has no {name}") from None
    if arguments is not None:
        positional, keywords = _arguments(arguments, space)
        return value(*positional, **keywords)
    import torch
    return value if isinstance(value, torch.nn.Module) or not callable(value) else value()


def _arguments(text: str, space: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, as Python evaluates them among the names of the module it is in."""
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except SyntaxError as error:
        raise SpecError(f"({text}): {error.msg}", usage=True) from None
    assert isinstance(call, ast.Call)

    def value(node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "<arguments>", "eval"), dict(space))

    return [value(a) for a in call.args], {k.arg: value(k.value) for k in call.keywords if k.arg}


def _keywords(text: str | None) -> dict[str, Any]:
    """Arguments that all have names."""
    positional, keywords = _arguments(text or "", {})
    if positional:
        raise SpecError(f"({text}): write name=value for each argument", usage=True)
    return keywords


def _subject_of(value: Any) -> Subject:
    import torch
    if isinstance(value, torch.nn.Module):
        return Subject(value, guess=lambda: _guess(value))
    if isinstance(value, tuple) and value and isinstance(value[0], torch.nn.Module):
        rest = value[1:]
        if len(rest) == 1:
            return Subject(value[0], *as_inputs(rest[0]))
        if len(rest) == 2:
            return Subject(value[0], tuple(rest[0]), dict(rest[1]))
    raise SpecError(f"a module is wanted, and this is of type {type(value).__name__}")


def as_inputs(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(value, dict):
        return (), value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict):
        return value
    return (value, {}) if isinstance(value, tuple) else ((value,), {})


def _guess(model: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """What a model says of its own inputs."""
    for name in ("example_input_array", "example_inputs", "dummy_inputs"):
        value = getattr(model, name, None)
        value = value() if callable(value) else value
        if value is not None:
            return as_inputs(value)
    return None


# ---- timm ----

def _load_timm(text: str) -> Subject:
    name, arguments = _split_call(text)
    try:
        import timm
    except ImportError as error:
        raise SpecError(f"timm:{name}: timm can't be imported: {error}") from error
    if not timm.is_model(name):
        import difflib
        near = difflib.get_close_matches(name, timm.list_models(), 1)
        raise SpecError(f"timm has no model {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    keywords = _keywords(arguments)
    model = timm.create_model(name, pretrained=False, **keywords).eval()

    def guess() -> tuple[tuple[Any, ...], dict[str, Any]]:
        import torch
        size = timm.data.resolve_model_data_config(model)["input_size"]
        return (torch.randn(2, *size, generator=torch.Generator().manual_seed(0)),), {}

    return Subject(model, guess=guess)


# ---- transformers ----

def _load_hf(text: str) -> Subject:
    try:
        import transformers
    except ImportError as error:
        raise SpecError(f"hf:{text}: transformers can't be imported: {error}") from error
    if text.endswith(".json") or os.path.isdir(text):
        path = os.path.join(text, "config.json") if os.path.isdir(text) else text
        try:
            with open(path, encoding="utf-8") as file:
                values = json.load(file)
        except (OSError, ValueError) as error:
            raise SpecError(f"{path}: {error}") from error
        kind = values.get("model_type") if isinstance(values, dict) else None
        keywords: dict[str, Any] = {}
    else:
        kind, arguments = _split_call(text)
        values, keywords = None, _keywords(arguments)
    mapping = transformers.CONFIG_MAPPING
    if kind not in mapping:
        import difflib
        near = difflib.get_close_matches(str(kind), list(mapping), 1)
        raise SpecError(f"transformers has no model type {kind!r}" + (f"; did you mean {near[0]!r}?" if near else ""))

    def build(changes: dict[str, Any]) -> Subject:
        config = (mapping[kind].from_dict({**values, **changes}) if values is not None
                  else mapping[kind](**{**keywords, **changes}))
        names = getattr(config, "architectures", None) or []
        maker = getattr(transformers, names[0], None) if names else None
        make = maker._from_config if maker is not None else transformers.AutoModel.from_config
        model, why = _fitting(lambda: make(config).eval())
        return Subject(model, guess=lambda: _guess_hf(model), too_large=why)

    from ._config_fields import hf_arguments
    subject = build({})
    subject.arguments, subject.rebuild = hf_arguments(subject.model.config, values or keywords), build
    return subject


def _fitting(build: Callable[[], Any]) -> tuple[Any, str]:
    """The model, or one without numbers, with the reason, where its weights are more than the memory that is free."""
    import torch

    from ._meta import is_building
    if is_building():
        return build(), ""
    room = _free_memory()
    try:
        with torch.device("meta"):
            shape = build()
    except Exception:  # there are constructors that compute
        return build(), ""
    size = sum(tensor.numel() * tensor.element_size() for tensor in (*shape.parameters(), *shape.buffers()))
    if room is None or size < 0.8 * room:
        return build(), ""
    count = sum(tensor.numel() for tensor in shape.parameters())
    return shape, (f"{count:,} parameters take {size / 1e9:.0f} GB, and {room / 1e9:.0f} GB are free here; "
                   "`skeleton --device meta` needs no numbers; or give a smaller configuration, as "
                   "hf:TYPE(num_hidden_layers=2, hidden_size=256, ...)")


def _free_memory() -> int | None:
    """Bytes that can be had without swapping; None: this system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None


def _guess_hf(model: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Inputs by the name of the main one, in the sizes that the configuration gives."""
    import torch
    g = torch.Generator().manual_seed(0)

    def find(*keys: str) -> Any:
        todo = [model.config]
        while todo:
            config = todo.pop(0)
            for key in keys:
                if getattr(config, key, None) is not None:
                    return getattr(config, key)
            todo += [v for v in vars(config).values() if hasattr(v, "model_type")]
        return None

    def ids(length: int = 12) -> Any:
        return torch.randint(5, max(6, min(find("vocab_size") or 100, 30_000) - 60), (2, length), generator=g)

    main = getattr(model, "main_input_name", "input_ids")
    if main == "input_ids":
        inputs = {"input_ids": ids()}
        if getattr(model.config, "is_encoder_decoder", False):
            inputs["decoder_input_ids"] = ids(8)
        return (), inputs
    if main == "pixel_values":
        size = find("image_size", "img_size") or 224
        height, width = (size, size) if isinstance(size, int) else tuple(size)[-2:]
        return (), {"pixel_values": torch.randn(2, find("num_channels", "in_channels") or 3, height,
                                                width, generator=g)}
    if main == "input_values":
        return (), {"input_values": torch.randn(2, 16_000, generator=g)}
    if main == "input_features":
        length = 2 * (find("max_source_positions") or 50)
        inputs = {"input_features": torch.randn(2, find("num_mel_bins") or 80, length, generator=g)}
        if getattr(model.config, "is_encoder_decoder", False):
            inputs["decoder_input_ids"] = ids(8)
        return (), inputs
    return _guess(model)


# ---- inputs ----

def parse_input(text: str, number: int) -> tuple[str | None, torch.Tensor]:
    """[NAME=]SIZExSIZE…[:DTYPE][<LIMIT]: random values, integers below the limit."""
    import torch
    match = re.fullmatch(r"(?:(\w+)=)?(scalar|\d+(?:x\d+)*)(?::(\w+))?(?:<(\d+))?", text)
    if match is None:
        raise SpecError(f"{text!r} is no input; write 1x3x224x224:float32, or ids=2x12:int64<100", usage=True)
    name, sizes, dtype_name, limit = match.groups()
    dtype = getattr(torch, dtype_name or ("int64" if limit else "float32"), None)
    if not isinstance(dtype, torch.dtype):
        raise SpecError(f"{text!r}: torch has no dtype {dtype_name}", usage=True)
    shape = () if sizes == "scalar" else tuple(int(n) for n in sizes.split("x"))
    g = torch.Generator().manual_seed(number)
    if dtype == torch.bool:
        return name, torch.ones(shape, dtype=dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return name, torch.randn(shape, generator=g, dtype=dtype if dtype.is_complex else torch.float32).to(dtype)
    return name, torch.randint(0, int(limit or 2), shape, generator=g).to(dtype)


def parse_call(text: str) -> tuple[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """METHOD(ARGUMENT, ...): an argument is [NAME=]SIZExSIZE…[:DTYPE][<LIMIT], a tensor, or a literal of Python's."""
    method, arguments = _split_call(text)
    if arguments is None or not method.isidentifier():
        raise SpecError(f"{text!r} is no call; write METHOD(2x3x32x32, ids=2x12:int64<100, normalize=True)", usage=True)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for number, part in enumerate(_parts_of(arguments)):
        name, equal, rest = part.partition("=")
        name, rest = (name.strip(), rest) if equal and name.strip().isidentifier() else ("", part)
        rest = rest.strip()
        if re.search(r"^\d+(x\d+)+|^\d+[:<]|^scalar", rest):
            value: Any = parse_input(rest, number)[1]
        else:
            try:
                value = ast.literal_eval(rest)
            except (ValueError, SyntaxError):
                raise SpecError(f"{rest!r} in {text!r} is no shape, nor a literal of Python's", usage=True) from None
        if name:
            kwargs[name] = value
        else:
            args.append(value)
    return method, (tuple(args), kwargs)


def _parts_of(text: str) -> list[str]:
    """Parted at the commas that are in no brackets and in no string."""
    parts, depth, quote = [""], 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        depth += (c in "([{") - (c in ")]}") if not quote else 0
        if c == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def give_inputs(subject: Subject, texts: list[str], maker: str | None) -> None:
    """Inputs from the command line, from a callable, from the spec itself, or as the model says, in this order."""
    if subject.too_large:
        raise SpecError(f"{subject.origin} can't run here: {subject.too_large}")
    if texts:
        pairs = [parse_input(t, i) for i, t in enumerate(texts)]
        subject.args = tuple(t for name, t in pairs if name is None)
        subject.kwargs = {name: t for name, t in pairs if name is not None}
    elif maker:
        place, colon, name = maker.partition(":")
        if not colon:
            raise SpecError(f"--inputs {maker}: write file.py:callable", usage=True)
        subject.args, subject.kwargs = as_inputs(_call(place, name))
    elif not subject.has_inputs:
        guessed = subject.guess()
        if guessed is None:
            raise SpecError(f"{subject.origin} doesn't say what its inputs are; give --input or --inputs", usage=True)
        subject.args, subject.kwargs = guessed
