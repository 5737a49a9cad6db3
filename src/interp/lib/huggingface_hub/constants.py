"""Settings of the hub's client."""

import _pellucid

HF_HUB_CACHE = HUGGINGFACE_HUB_CACHE = HF_HOME = HF_ASSETS_CACHE = HF_MODULES_CACHE = '/nonexistent/huggingface'
HF_HUB_OFFLINE = True
HF_HUB_DISABLE_TELEMETRY = True
HF_HUB_ENABLE_HF_TRANSFER = False
HF_HUB_DISABLE_PROGRESS_BARS = True
SAFETENSORS_SINGLE_FILE = 'model.safetensors'
SAFETENSORS_INDEX_FILE = 'model.safetensors.index.json'
PYTORCH_WEIGHTS_NAME = 'pytorch_model.bin'
CONFIG_NAME = 'config.json'
ENV_VARS_TRUE_VALUES = {'1', 'ON', 'YES', 'TRUE'}


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('huggingface_hub.constants.' + name)
