"""Objects that a configuration names: `_target_` and its arguments."""

import functools

import _pellucid
from omegaconf import DictConfig, ListConfig, OmegaConf


def _find(name):
    parts = name.split('.')
    for n in range(len(parts) - 1, 0, -1):
        # nothing is caught here: a library that the module wants and no root has becomes a symbol only where nobody
        # would notice its absence
        if _pellucid.find_module('.'.join(parts[:n])) is not None:
            found = _pellucid.import_module('.'.join(parts[:n]))
            for part in parts[n:]:
                found = getattr(found, part)
            return found
    return _pellucid.unknown(name, 'the configuration names it, and no root has it')


get_object = get_class = get_method = get_static_method = _find


def _is_plain(value):
    return value is None or isinstance(value, (str, int, float, bool, list, tuple, dict, DictConfig, ListConfig))


def _value(value, recursive, convert):
    """An argument: objects that it names are made; a configuration without any stays one, unless convert says else."""
    if isinstance(value, (dict, DictConfig)):
        if recursive and '_target_' in value:
            return _make(value, recursive, convert)
        made = {key: _value(value[key], recursive, convert) for key in value}
        stays = isinstance(value, DictConfig) and convert == 'none' and all(map(_is_plain, made.values()))
        return DictConfig(made) if stays else made
    if isinstance(value, (list, tuple, ListConfig)):
        made = [_value(item, recursive, convert) for item in value]
        return ListConfig(made) if isinstance(value, ListConfig) and convert == 'none' and all(map(_is_plain, made)) else made
    return value


def _make(config, recursive, convert, *args, **kwargs):
    given = {key: config[key] for key in config if key not in ('_target_', '_partial_', '_recursive_', '_convert_', '_args_')}
    recursive = config.get('_recursive_', recursive)
    convert = config.get('_convert_', convert)
    given.update(kwargs)
    given = {key: _value(value, recursive, convert) for key, value in given.items()}
    args = args or [_value(item, recursive, convert) for item in config.get('_args_', ())]
    target = config['_target_']
    target = _find(target) if isinstance(target, str) else target
    if config.get('_partial_', False):
        return functools.partial(target, *args, **given)
    return target(*args, **given)


def instantiate(config, *args, **kwargs):
    if config is None:
        return None
    recursive = kwargs.pop('_recursive_', True)
    convert = kwargs.pop('_convert_', 'none')
    if kwargs.pop('_partial_', False):
        config = OmegaConf.merge(config, {'_partial_': True})
    if isinstance(config, (list, tuple, ListConfig)):
        return [instantiate(item, _recursive_=recursive, _convert_=convert) for item in config]
    if '_target_' not in config:
        return _value(config, recursive, convert)
    return _make(config, recursive, convert, *args, **kwargs)


call = instantiate


def get_original_cwd():
    return '.'


def to_absolute_path(path):
    return path
