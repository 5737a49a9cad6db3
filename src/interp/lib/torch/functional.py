from torch._abstract.pointwise import functions

globals().update(functions)
