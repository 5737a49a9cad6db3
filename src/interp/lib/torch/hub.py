"""Downloads: none."""

from urllib.parse import urlparse

import _pellucid

HASH_REGEX = None


def get_dir():
    return '/nonexistent/torch/hub'


def set_dir(d):
    pass


def download_url_to_file(*args, **kwargs):
    raise OSError('nothing is downloaded')


def load_state_dict_from_url(url, *args, **kwargs):
    return _pellucid.unknown('weights from ' + str(url), 'nothing is downloaded')


def load(*args, **kwargs):
    return _pellucid.unknown_module('torch.hub.load', 'nothing is downloaded')


_get_torch_home = get_dir
_get_cache_dir = get_dir
READ_DATA_CHUNK = 128 * 1024
