"""Names of older versions of Hydra."""

from hydra import compose, initialize, initialize_config_dir  # noqa: F401
