"""Names of YAML."""

from yaml import BaseLoader, ConstructorError, FullLoader as FullConstructor, SafeLoader as SafeConstructor  # noqa: F401
