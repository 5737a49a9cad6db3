from typing import Any, Sequence, Union

from torch._abstract.core import Storage, Tensor
from torch._abstract.types import Size, device, dtype, layout, qscheme

_bool = bool
_int = int
_float = float
_complex = complex
_dtype = dtype
_device = device
_qscheme = qscheme
_layout = layout
_size = Any
_symsize = Any
_dispatchkey = Any
Number = Union[int, float, bool]
_Number = (int, float, bool)
FileLike = Any
Device = Any
IntLikeType = int
FloatLikeType = float
BoolLikeType = bool
_TensorOrTensors = _TensorOrTensorsOrGradEdge = Any
SymInt = int
py_sym_types = ()
PySymType = Any
