"""torch.nn.modules: its own source where a source root has it; torch.nn fills in the names else."""

import _pellucid

_real = _pellucid.find_module('torch.nn.modules.linear')
if _real is not None:
    _file = _real[0].rpartition('/')[0] + '/__init__.py'
    __file__ = _file
    exec(compile(_pellucid.read_text(_file), _file, 'exec'), globals())
