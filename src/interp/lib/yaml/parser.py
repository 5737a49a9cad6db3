"""Names of YAML."""

from yaml import ParserError  # noqa: F401
