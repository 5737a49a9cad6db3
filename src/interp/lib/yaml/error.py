"""Names of YAML."""

from yaml import MarkedYAMLError, YAMLError  # noqa: F401
