"""Names of OmegaConf."""

from omegaconf import BaseContainer  # noqa: F401
