"""Calls of modules that a program makes itself, not those that a model makes of its parts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class OutermostCalls:
    """While it is open, a function of ours is in the place of nn.Module.__call__, and `called` is asked for each
    outermost call of the thread that made this object. Inside such a call modules are called as ever."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._is_open = self._inside = False

    def open(self) -> None:
        import torch
        self._plain = torch.nn.Module.__call__
        calls = self

        def call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            return calls._dispatch(module, args, kwargs)

        self._watching = call
        torch.nn.Module.__call__ = call
        self._is_open = True

    def close(self) -> None:
        import torch
        if self._is_open:
            torch.nn.Module.__call__ = self._plain
            self._is_open = False

    def concerns(self, module: torch.nn.Module) -> bool:
        return True

    def called(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Makes the call, and returns what it gives."""
        return self._plain(module, *args, **kwargs)

    def _dispatch(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import torch
        if (self._inside or not self._is_open or threading.get_ident() != self._thread or not self.concerns(module)):
            return self._plain(module, *args, **kwargs)
        self._inside = True
        torch.nn.Module.__call__ = self._plain
        try:
            return self.called(module, args, kwargs)
        finally:
            self._inside = False
            if self._is_open:
                torch.nn.Module.__call__ = self._watching
