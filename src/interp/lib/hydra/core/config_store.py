"""Configurations that the program itself stores."""

from hydra._compose import STORE


class ConfigStore:
    _one = None

    @staticmethod
    def instance():
        if ConfigStore._one is None:
            ConfigStore._one = ConfigStore()
        return ConfigStore._one

    def store(self, name, node, group=None, package=None, provider=None):
        STORE[group or '', name[:-5] if name.endswith('.yaml') else name] = node
