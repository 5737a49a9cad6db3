"""torch.nn: its own source where a source root has it; else layers of the same names, arguments and weights."""

import sys

import _pellucid

_real = _pellucid.find_module('torch.nn.modules.linear')
if _real is not None:
    _file = _real[0].rpartition('/modules/')[0] + '/__init__.py'
    __file__ = _file
    exec(compile(_pellucid.read_text(_file), _file, 'exec'), globals())
    _pellucid.import_module('torch.nn._symbolic')
else:
    from torch.nn import init, parameter
    from torch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
    from torch.nn.modules.module import Module
    from torch.nn import _own_functional as functional
    from torch.nn import _own_layers as modules
    from torch.nn._own_layers import *

    sys.modules['torch.nn.functional'] = functional
    _modules = sys.modules['torch.nn.modules']
    for _name in ('activation', 'batchnorm', 'container', 'conv', 'distance', 'dropout', 'flatten', 'fold', 'instancenorm',
                  'linear', 'loss', 'normalization', 'padding', 'pixelshuffle', 'pooling', 'rnn', 'sparse', 'transformer',
                  'upsampling', 'utils', 'lazy'):
        sys.modules['torch.nn.modules.' + _name] = modules
        setattr(_modules, _name, modules)
    for _name in modules.__all__:
        setattr(_modules, _name, getattr(modules, _name))
    modules = _modules
    utils = _pellucid.import_module('torch.nn._own_utils')
    sys.modules['torch.nn.utils'] = utils
    sys.modules['torch.nn.utils.rnn'] = sys.modules['torch.nn.utils.parametrizations'] = utils
    from torch.nn import attention, parallel
    from torch.nn.parallel import DataParallel
