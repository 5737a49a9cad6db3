"""What a long job does at the moment, for people: one line on a terminal or below the cell of a notebook."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Callable, Union

Wanted = Union[bool, Callable[[str], None], None]


class Progress:
    """A context manager to be called with each step. The line is gone when the block ends; `close` leaves another.

    wanted  None: where somebody looks, that is on a terminal or in a notebook. True: also elsewhere, a line for each
            step. False: nowhere. A callable gets each step instead.
    """

    def __init__(self, wanted: Wanted = None):
        self._callable = wanted if callable(wanted) else None
        self._cell = _notebook_cell() if wanted is None or wanted is True else None
        self._line = self._cell is None and wanted in (None, True) and _is_terminal(sys.stderr)
        self._plain = wanted is True and self._cell is None and not self._line

    def __enter__(self) -> Progress:
        return self

    def __call__(self, text: str) -> None:
        if self._callable is not None:
            self._callable(text)
        elif self._cell is not None:
            self._cell.update(_Line(f"{text} …"))
        elif self._line:
            print(f"\r\033[K{text} …", end="", file=sys.stderr, flush=True)
        elif self._plain:
            print(f"{text} …", file=sys.stderr, flush=True)

    def close(self, text: str = "") -> None:
        """Ends the display, with one last line if somebody was shown the others."""
        if self._cell is not None:
            self._cell.update(_Line(text))
        elif self._line:
            print("\r\033[K" + (text + "\n" if text else ""), end="", file=sys.stderr, flush=True)
        elif self._plain and text:
            print(text, file=sys.stderr, flush=True)
        self._cell, self._line, self._plain = None, False, False

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()


class _Line:
    """Text that a notebook shows as it is, without quotes."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream is not None and stream.isatty())
    except (AttributeError, ValueError):  # a stream of somebody's own, or one that is closed
        return False


def _notebook_cell() -> Any:
    """A display that can be changed, in a notebook that runs; None elsewhere. IPython is never imported for it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    try:
        from IPython.display import display
        return display(_Line(""), display_id=True)
    except Exception:  # a kernel without displays: the work is worth more than its progress
        return None
