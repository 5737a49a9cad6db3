"""See through PyTorch models and the Python they are written in.

Importing this package neither needs nor imports torch.
"""

from ._pellucid import Error, __version__, format_source, parse_json

__all__ = ["Error", "__version__", "format_source", "parse_json"]
