"""Names of YAML."""

from yaml import BaseLoader, CLoader, CSafeLoader, FullLoader, Loader, SafeLoader, UnsafeLoader  # noqa: F401
