"""Names of YAML."""

from yaml import Dumper, SafeDumper  # noqa: F401
