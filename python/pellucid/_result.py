"""What the functions of the package return: short in a shell, whole when printed, a box in a notebook."""

from __future__ import annotations

import html
from typing import Any

BOX = "max-width:100%;max-height:40em;overflow:auto;white-space:pre;margin:0"


class Result:
    """`repr` is one line, `str` is all of it, `to_dict` is for programs."""

    def _summary(self) -> str:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def __repr__(self) -> str:
        text = self._summary()
        return f"<pellucid.{type(self).__name__} {text if len(text) <= 200 else text[:199] + '…'}>"

    def _repr_html_(self) -> str:
        return f'<pre style="{BOX}">{html.escape(str(self))}</pre>'


def frame(page: str, height: str) -> str:
    """A whole page inside a cell of a notebook."""
    style = f"width:100%;max-width:100%;height:{height};border:1px solid #8884;border-radius:6px"
    return f'<iframe srcdoc="{html.escape(page, quote=True)}" style="{style}"></iframe>'


def lines_of(source: str) -> int:
    return sum(bool(line.strip()) for line in source.splitlines())
