"""Parts of Hydra that programs import."""
