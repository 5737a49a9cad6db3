"""A configuration from its files: the list of defaults, groups, packages, overrides."""

import os.path

import _pellucid
from omegaconf import DictConfig, OmegaConf, _literal

STORE = {}  # (group, name) -> what the program stored


class MissingConfigException(Exception):
    pass


def compose_for(file, config_path, config_name, overrides=()):
    folder = os.path.normpath(os.path.join(os.path.dirname(file), config_path or ''))
    if config_name is None:
        return OmegaConf.create({})
    chosen, values = {}, []
    for one in overrides:
        key, equals, value = one.lstrip('+~').partition('=')
        if _is_group(folder, key):
            chosen[key] = value
        else:
            values.append((key, _literal(value)))
    config = DictConfig({})
    choices = _choices(folder, '', config_name, chosen)
    _add(config, folder, '', config_name, choices, '')
    for key, value in values:
        OmegaConf.update(config, key, value)
    return config


def _is_group(folder, key):
    return _pellucid.is_dir(folder + '/' + key) or any(group == key for group, _ in STORE)


def _read(folder, group, name):
    """The content of a file of the configuration, and the package that its first lines name."""
    plain = name[:-5] if name.endswith('.yaml') else name[:-4] if name.endswith('.yml') else name
    if (group, plain) in STORE:
        return OmegaConf.create(STORE[group, plain]), None
    for ending in ('.yaml', '.yml'):
        path = '%s/%s%s' % (folder + '/' + group if group else folder, plain, ending)
        if _pellucid.is_file(path):
            text = _pellucid.read_text(path)
            package = None
            for line in text.split('\n'):
                if line.startswith('#') and '@package' in line:
                    package = line.split('@package')[1].strip()
                elif line.strip() and not line.startswith('#'):
                    break
            found = _pellucid.yaml_documents(text, True)
            return OmegaConf.create(found[0] if found and found[0] is not None else {}), package
    return None, None


def _entries(config):
    """Of the list of defaults: (kind, group, name or None, optional)."""
    for entry in config._content.pop('defaults', None) or ():
        if isinstance(entry, str):
            yield 'config', None, entry, False
            continue
        for key in entry:
            words = key.split()
            kind = 'override' if 'override' in words else 'group'
            yield kind, words[-1], entry[key], 'optional' in words


def _choices(folder, group, name, chosen):
    """What each group was chosen as: overrides of nested files and of the caller win over the lists themselves."""
    found = dict(chosen)
    config, _ = _read(folder, group, name)
    if config is None:
        return found
    for kind, key, value, _ in _entries(config):
        if key is None or not isinstance(value, str):
            continue
        where = key[1:] if key.startswith('/') else group + '/' + key if group and kind == 'group' else key
        if kind == 'override':
            found.setdefault(where, value)
        else:
            for inner, choice in _choices(folder, where.split('@')[0], found.get(where, value), {}).items():
                found.setdefault(inner, choice)
    return found


def _put(config, package, content):
    for part in package.split('.') if package else ():
        if not isinstance(config._content.get(part), DictConfig):
            config[part] = {}
        config = config._content[part]
    merged = OmegaConf.merge(config, content)
    config._content.clear()
    for key, value in merged._content.items():
        config[key] = value


def _add(config, folder, group, name, choices, package):
    content, own_package = _read(folder, group, name)
    if content is None:
        raise MissingConfigException('there is no configuration %s in %s' % (name, group or folder))
    if own_package == '_global_':
        package = ''
    elif own_package and own_package not in ('_group_',):
        package = own_package
    is_put = False
    for kind, key, value, optional in list(_entries(content)):
        if key is None and value == '_self_':
            _put(config, package, content)
            is_put = True
        elif key is None:
            _add(config, folder, group, value, choices, package)
        elif kind == 'group':
            _add_group(config, folder, group, (key, value, optional), (choices, package))
    if not is_put:
        _put(config, package, content)


def _add_group(config, folder, group, entry, outside):
    key, value, optional = entry
    choices, package = outside
    key, at, target = key.partition('@')
    where = key[1:] if key.startswith('/') else group + '/' + key if group else key
    if where.startswith('hydra'):
        return
    value = choices.get(where, value)
    if value == '???':
        value = _pellucid.unknown('defaults ' + where, 'the command line chooses it')
    inside = where.replace('/', '.') if not at else '' if target == '_global_' else target
    if at and package and inside:
        inside = package + '.' + inside
    for one in [value] if value is None or isinstance(value, str) else list(value):
        if one is None or _pellucid.is_symbol(one):
            continue
        content, _ = _read(folder, where, one)
        if content is None and optional:
            continue
        _add(config, folder, where, one, choices, inside)
