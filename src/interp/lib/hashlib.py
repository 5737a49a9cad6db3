"""Digests of text."""

import _pellucid


class _Hash:
    def __init__(self, name, data=b''):
        self.name = name
        self._data = data

    def update(self, data):
        self._data += data

    def hexdigest(self):
        return _pellucid.hash_text(self._data.decode('latin-1'), self.name)

    def digest(self):
        return bytes.fromhex(self.hexdigest())

    def copy(self):
        return _Hash(self.name, self._data)


def md5(data=b'', **kwargs):
    return _Hash('md5', data)


def sha1(data=b'', **kwargs):
    return _Hash('sha1', data)


def sha256(data=b'', **kwargs):
    return _Hash('sha256', data)


def new(name, data=b'', **kwargs):
    return _Hash(name, data)


algorithms_available = algorithms_guaranteed = {'md5', 'sha1', 'sha256'}
