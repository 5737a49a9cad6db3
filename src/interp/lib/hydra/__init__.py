"""Hydra: the configuration of a program, composed of the files beside it; the command line is taken to be empty."""

import functools

import _pellucid

from hydra import utils  # noqa: F401
from hydra._compose import MissingConfigException, compose_for  # noqa: F401

__version__ = '1.3.2'


def main(config_path=None, config_name=None, version_base=None):
    def decorate(function):
        @functools.wraps(function)
        def started(cfg=None):
            if cfg is not None:
                return function(cfg)
            _pellucid.premise('the command line', 'taken to be empty: the configuration is as its files have it')
            place = _pellucid.source_place(function)
            return function(compose_for(place[0] if place else '', config_path, config_name))

        return started

    return decorate


class initialize:
    _folder = None

    def __init__(self, config_path=None, job_name=None, caller_stack_depth=1, version_base=None):
        initialize._folder = (_pellucid.place()[0], config_path)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class initialize_config_dir(initialize):
    def __init__(self, config_dir, job_name=None, version_base=None):
        initialize._folder = ('', config_dir)


def compose(config_name=None, overrides=(), return_hydra_config=False, strict=None):
    file, folder = initialize._folder or (_pellucid.place()[0], None)
    return compose_for(file, folder, config_name, overrides)
