"""Names of OmegaConf."""

from omegaconf import ListConfig  # noqa: F401
