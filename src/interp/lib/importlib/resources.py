"""Files beside modules."""

from pathlib import Path

import _pellucid


def files(package):
    found = _pellucid.find_module(package if isinstance(package, str) else package.__name__)
    return Path(found[0]).parent


def read_text(package, resource, encoding='utf-8', errors='strict'):
    return (files(package) / resource).read_text()


def read_binary(package, resource):
    return (files(package) / resource).read_bytes()


def open_text(package, resource, *args):
    return (files(package) / resource).open()


def is_resource(package, name):
    return (files(package) / name).is_file()
