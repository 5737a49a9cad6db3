import sys

from torch.ao import quantization

sys.modules[__name__] = quantization
