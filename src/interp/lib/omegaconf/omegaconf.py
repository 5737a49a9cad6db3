"""Names of OmegaConf."""

from omegaconf import OmegaConf, open_dict, read_write  # noqa: F401
