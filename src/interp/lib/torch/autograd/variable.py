from torch._abstract.core import Tensor as Variable
