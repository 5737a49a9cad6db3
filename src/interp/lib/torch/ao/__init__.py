"""Quantisation: names only, but for the stubs that models carry."""

import sys

import _pellucid

from torch.ao import quantization

nn = sys.modules['torch.ao.nn'] = _pellucid.symbol_module('torch.ao.nn')
ns = sys.modules['torch.ao.ns'] = _pellucid.symbol_module('torch.ao.ns')
pruning = sys.modules['torch.ao.pruning'] = _pellucid.symbol_module('torch.ao.pruning')
