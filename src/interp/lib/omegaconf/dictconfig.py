"""Names of OmegaConf."""

from omegaconf import DictConfig  # noqa: F401
