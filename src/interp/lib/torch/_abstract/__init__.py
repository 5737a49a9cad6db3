"""Tensors without elements: torch's operations as rules on shapes and dtypes."""

from torch._abstract import core, layers, matrix, pointwise, reduce, shape, types, values
