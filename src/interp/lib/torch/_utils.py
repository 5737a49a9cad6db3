"""Small helpers of torch's own sources."""


def _get_device_index(device, optional=False, allow_cpu=False):
    return -1


def _get_all_device_indices():
    return []


_get_available_device_type = _get_device_attr = lambda *args: None


def _flatten_dense_tensors(tensors):
    import torch
    return torch.cat([t.reshape(-1) for t in tensors])


class ExceptionWrapper:
    pass


def _rebuild_parameter(data, requires_grad, backward_hooks):
    from torch.nn.parameter import Parameter
    return Parameter(data, requires_grad)


def is_compiling():
    return False
