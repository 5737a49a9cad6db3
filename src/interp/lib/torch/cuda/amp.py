from torch.amp import GradScaler, __getattr__, autocast, custom_bwd, custom_fwd, is_autocast_available
