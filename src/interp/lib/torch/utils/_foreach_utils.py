def _device_has_foreach_support(device):
    return False


_has_foreach_support = _device_has_foreach_support


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    return {}


def _get_foreach_kernels_supported_devices():
    return []


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices
