"""Types and predicates shared by torch's sources."""

from typing import Any, Union

from torch._abstract.core import Tensor
from torch._abstract.types import device, dtype

DeviceLikeType = Union[str, device, int]
ShapeType = StrideType = DimsType = NumberType = TensorLikeType = Any
TensorLike = Tensor
FloatLike = (float,)
IntLike = (int,)
Number = Any


def is_float_dtype(d):
    return d.kind == 2


def is_integer_dtype(d):
    return d.kind == 1


def is_boolean_dtype(d):
    return d.kind == 0


def is_complex_dtype(d):
    return d.kind == 3
