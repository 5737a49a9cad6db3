from types import CodeType
from typing import Any, Callable, Sequence, Union

__version__: str

_Source = Union[str, bytes, bytearray, memoryview]
_Version = Union[str, tuple[int, int], None]

class Error(ValueError):
    code: str
    message: str
    file: str | None
    line: int | None
    column: int | None
    offset: int

class Recorder:
    origin: str
    def __new__(
        cls,
        model: object,
        author_roots: object = None,
        *,
        leaves: object = (),
        origin: str = "",
        tracked: bool = True,
        events: bool = False,
    ) -> Recorder: ...
    def run(self, label: str, args: tuple[object, ...] = (), kwargs: dict[str, object] = {}) -> object: ...
    def log_bytes(self) -> bytes: ...
    def synthesise(self) -> tuple[str, str, dict[str, object]]: ...
    def event_names(self) -> list[str]: ...
    def caches(self) -> tuple[Any, ...]: ...
    def dump(self) -> str: ...

def dump_trace(data: bytes) -> str: ...
def parse_json(source: _Source, *, python_version: _Version = None, filename: str | None = None) -> str: ...
def format_source(
    source: _Source, *, python_version: _Version = None, width: int = 100, filename: str | None = None
) -> str: ...
def decompile_code(
    code: CodeType,
    *,
    width: int = 100,
    lines: bool = False,
    one_line: bool = False,
    spell: Callable[[object], str | None] | None = None,
) -> tuple[str, list[tuple[str, str]], list[object], list[list[tuple[int, int]]] | None]: ...
def decompile_bytes(
    data: bytes, *, marshal: int = 0, width: int = 100, json: bool = False, filename: str | None = None
) -> str: ...
def encode_lines(firstlineno: int, code_size: int, rows: Sequence[tuple[int, int]]) -> bytes: ...
def set_lines(code: CodeType, filename: str, firstlineno: int, linetable: bytes) -> bool: ...

def synthesise(trace: bytes, without: Sequence[tuple[str, int]] = (),
               class_facts: Sequence[str] = ()) -> tuple[str, str, dict[str, Any]]: ...
def look(
    read_at: Callable[[int, int], bytes],
    size: int,
    *,
    name: str = "",
    what: str = "tree",
    etag: str = "",
    max_bytes: int = 0,
    memory: int = 0,
    places: bool = True,
    beside: Callable[[str], tuple[Callable[[int, int], bytes], int] | None] | None = None,
) -> tuple[str, int, int]: ...
def view(
    json: _Source,
    view: str = "tree",
    *,
    depth: int = 0,
    unfolded: bool = False,
    source: _Source = "",
    coloured: bool = False,
    width: int = 0,
) -> str: ...
