"""depyf.optimization: choosing among compiled versions of a method without Dynamo's guards."""

from __future__ import annotations

import contextlib
import threading
import weakref
from abc import abstractmethod
from types import CodeType
from typing import Any, Callable, Iterator

from .. import _compiler_compat as compat

_calling = threading.local()  # .stack: the wrappers whose compiled method is being called


class TorchCompileWrapperWithCustomDispatcher:
    """Keeps what torch.compile makes of `forward`, in the order of compilation, to be called directly.

    A subclass defines `forward`, hands its compiled form to `__init__`, and decides in `__call__` when to call one of
    `self.compiled_codes` by `with self.dispatch_to_code(index): return self.forward(...)`.
    """

    def __init__(self, compiled_callable: Callable[..., Any], use_custom_dispatcher: bool = True) -> None:
        self.original_code_object: CodeType = type(self).forward.__code__
        self.compiled_codes: list[CodeType] = []
        self.use_custom_dispatcher = use_custom_dispatcher
        this = weakref.ref(self)

        def call(*args: Any, **kwargs: Any) -> Any:
            """Says whose method is compiled meanwhile: all instances share one code object."""
            stack = _calling.__dict__.setdefault("stack", [])
            stack.append(this)
            try:
                return compiled_callable(*args, **kwargs)
            finally:
                stack.pop()

        def hook(old_code: CodeType, new_code: CodeType) -> None:
            stack = getattr(_calling, "stack", None)
            wrapper = this()
            if wrapper is not None and stack and stack[-1] is this:
                wrapper.bytecode_hook(old_code, new_code)

        self.compiled_callable = call
        weakref.finalize(self, compat.on_bytecode(hook))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.compiled_callable(*args, **kwargs)

    @abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        ...

    def bytecode_hook(self, old_code: CodeType, new_code: CodeType) -> None:
        """Keeps what was compiled for this instance."""
        if old_code is self.original_code_object:
            self.compiled_codes.append(new_code)

    @contextlib.contextmanager
    def dispatch_to_code(self, index: int) -> Iterator[None]:
        """While it is open, `forward` is that version: it has the arguments and cells of the original."""
        forward: Any = type(self).forward
        forward.__code__ = self.compiled_codes[index]
        try:
            yield
        finally:
            forward.__code__ = self.original_code_object
