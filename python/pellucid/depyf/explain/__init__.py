"""depyf.explain: what programs use of it is in its modules."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    raise AttributeError(f"pellucid.depyf.explain has no {name}: pellucid.explain(fn, *args) says what was compiled")
