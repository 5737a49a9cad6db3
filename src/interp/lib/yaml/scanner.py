"""Names of YAML."""

from yaml import ScannerError  # noqa: F401
