"""Flags of libraries that are not here."""

import sys
from types import ModuleType

import _pellucid


class Flags(ModuleType):
    enabled = deterministic = benchmark = allow_tf32 = False
    fp32_precision = 'none'

    def is_available(self):
        return False

    is_built = is_macos_or_newer = is_available

    def version(self):
        return None

    def flags(self, *args, **kwargs):
        return _Context()


class _Context:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def _no(*args, **kwargs):
    return False


for _name in ('cudnn', 'cuda', 'mkldnn', 'mkl', 'mps', 'openmp', 'xeon', 'quantized', 'mha', 'nnpack', 'opt_einsum',
              'cpu', 'xnnpack', 'cusparselt', 'kleidiai', 'miopen', 'xpu'):
    _module = Flags('torch.backends.' + _name)
    globals()[_name] = _module
    sys.modules['torch.backends.' + _name] = _module
cuda.matmul = Flags('torch.backends.cuda.matmul')
cuda.sdp_kernel = lambda *args, **kwargs: _Context()
cuda.SDPAParams = object
cuda.can_use_flash_attention = cuda.can_use_efficient_attention = cuda.can_use_cudnn_attention = _no
cuda.flash_sdp_enabled = cuda.mem_efficient_sdp_enabled = cuda.cudnn_sdp_enabled = cuda.is_flash_attention_available = _no
cuda.math_sdp_enabled = lambda: True
cuda.enable_flash_sdp = cuda.enable_mem_efficient_sdp = cuda.enable_math_sdp = cuda.enable_cudnn_sdp = _no
cudnn.conv = Flags('torch.backends.cudnn.conv')
cudnn.is_acceptable = _no
cudnn.rnn = Flags('torch.backends.cudnn.rnn')
sys.modules['torch.backends.cudnn.rnn'] = cudnn.rnn
mha.get_fastpath_enabled = _no
mha.set_fastpath_enabled = _no
quantized.engine = 'none'
quantized.supported_engines = ['none']
fp32_precision = 'none'


def disable_global_flags():
    pass
