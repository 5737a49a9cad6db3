"""Old names of functions and parameters, which work for one more version and say what replaces them."""

from __future__ import annotations

import warnings
from typing import TypeVar

T = TypeVar("T")


def renamed(function: str, old: str, new: str, value: T) -> T:
    """The value of a parameter that was given under its old name."""
    warnings.warn(f"pellucid.{function}({old}=) is now {new}=; the next version has the new name alone",
                  DeprecationWarning, stacklevel=3)
    return value


def moved(old: str, new: str) -> None:
    """Says that pellucid.<old> has another name."""
    warnings.warn(f"pellucid.{old} is now {new}; the next version has the new name alone",
                  DeprecationWarning, stacklevel=3)
