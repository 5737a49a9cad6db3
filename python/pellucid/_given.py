"""The arguments of one call, as users give them to skeleton(), tree() and sketch()."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any


def given(model: Any, args: Any = (),
          kwargs: Mapping[str, Any] | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments.

    A tuple or a list holds the positional arguments. A mapping holds keyword arguments where `forward` takes its keys,
    and is the one argument where it does not. Anything else is the one argument.
    """
    named = dict(kwargs or {})
    if args is None:
        return (), named
    if isinstance(args, tuple):
        return args, named
    if isinstance(args, list):
        return tuple(args), named
    if isinstance(args, Mapping) and _are_keywords(model, args, named):
        return (), {**args, **named}
    return (args,), named


def _are_keywords(model: Any, mapping: Mapping[Any, Any], named: dict[str, Any]) -> bool:
    """Whether the model takes these keys as keywords. Where its signature is unknown, it is not known to take them."""
    if not mapping or not all(isinstance(key, str) and key not in named for key in mapping):
        return False
    try:
        inspect.signature(getattr(model, "forward", model)).bind(**mapping, **named)
    except (TypeError, ValueError):
        return False
    return True
