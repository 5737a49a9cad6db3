"""Networks that a file describes by data: dicts whose `type` names a class that a registry has, and the files that
`_base_` names, whose values they change.

The file's own statements have run before. A registry that has such a class builds it by its own code; what this file
adds is which source registers the name (_pellucid.registrations), and how descriptions inherit.
"""

import sys

import _pellucid


class Fields(dict):
    """A dict whose keys are attributes, too; update() goes into dicts that both have."""

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(f"'Fields' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        self[name] = value

    def __delattr__(self, name):
        del self[name]

    def __deepcopy__(self, memo):
        return plain(self)

    def copy(self):
        return Fields(self)

    def update(self, *others, **more):
        for other in others + (more,):
            for key, value in dict(other).items():
                mine = self.get(key)
                if isinstance(mine, dict) and isinstance(value, dict):
                    mine.update(plain(value))
                else:
                    self[key] = plain(value)


def plain(value):
    """A copy with Fields for all dicts."""
    if _pellucid.is_symbol(value):
        return value
    if isinstance(value, dict):
        return Fields({key: plain(item) for key, item in value.items()})
    if type(value) in (list, tuple):
        return type(value)([plain(item) for item in value])
    return value


def merge(below, above):
    made = Fields(below)
    for key, value in above.items():
        if not _pellucid.is_symbol(value) and isinstance(value, dict):
            keeps = not value.get('_delete_', False)
            value = Fields({k: v for k, v in value.items() if k != '_delete_'})
            old = made.get(key)
            made[key] = merge(old, value) if keeps and isinstance(old, dict) else merge({}, value)
        else:
            made[key] = value
    return made


class Bases(Fields):
    """What the files that `_base_` names define, one after the other."""


_problems = []
DEEPEST, MOST = 100, 100000  # a configuration that a person wrote has less


def is_readable(value):
    """Whether value can be walked: it does not hold itself, nor unfold to more than memory. Not recursive itself."""
    waiting, n = [(value, 0)], 0
    while waiting:
        part, depth = waiting.pop()
        if _pellucid.is_symbol(part) or not isinstance(part, (dict, list, tuple)):
            continue
        n += 1
        if depth > DEEPEST or n > MOST:
            return False
        for item in part.values() if isinstance(part, dict) else part:
            waiting.append((item, depth + 1))
    return True


def may_describe(name, value):
    """A dict or list that can be read; of one that can't, a row says so if it is a dict."""
    if is_readable(value):
        return True
    if isinstance(value, dict):
        _problems.append((name, name, 'it nests too deep to be read as a configuration'))
    return False


def data_of(space):
    kinds = _pellucid.types()
    code = (type, kinds['function'], kinds['module'], kinds['builtin'])
    return {
        key: value
        for key, value in space.items()
        if not key.startswith('__') and key != '_base_' and not _pellucid.is_symbol(value)
        if not isinstance(value, code) and may_describe(key, value)
    }


def whole(space):
    """The values of a file on top of those that it inherits."""
    own, below = plain(data_of(space)), space.get('_base_')
    return merge(below, own) if isinstance(below, Bases) else own


def bases(names, path):
    made = Bases()
    for name in [names] if isinstance(names, str) else names:
        if not isinstance(name, str):
            continue
        place = name if name.startswith('/') else path.rpartition('/')[0] + '/' + name
        place = place.lstrip('/') if not path.startswith('/') and '/' not in path else place
        if not name.endswith('.py') or not _pellucid.is_file(place):
            _problems.append(('_base_', name, 'there is no such Python file in the roots: --root names a folder that has it'))
            continue
        for key, value in whole(_pellucid.run_file(place)).items():
            if key in made:
                _problems.append(('_base_', key, f'two of the files that _base_ names define it; {name} counts'))
            made[key] = value
    return made


def adopt(space):
    """What `with read_base():` imported is changed by update(), as Fields are."""
    for key, value in list(space.items()):
        if type(value) in (dict, list, tuple) and not key.startswith('__'):
            space[key] = plain(value)


# ---- who builds it ----


def types_in(value, found):
    """All that `type` names, below value."""
    if _pellucid.is_symbol(value):
        return found
    if isinstance(value, dict):
        kind = value.get('type')
        if not _pellucid.is_symbol(kind) and isinstance(kind, (str, type)) and kind not in found:
            found.append(kind)
        for item in value.values():
            types_in(item, found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            types_in(item, found)
    return found


def bare(kind):
    return kind.rpartition('.')[2] if isinstance(kind, str) else kind.__name__


class Search:
    """Where the classes are that descriptions name."""

    def __init__(self, path, names, scopes):
        self.path = path
        self.rows, self.is_cut = _pellucid.registrations(names, scopes)

    def find(self, kind, scope):
        """The row of a name: file, root, module, what is defined, registry, registered name. Or a reason why not."""
        rows = [row for row in self.rows if row[5] == bare(kind)]
        if isinstance(kind, type):
            rows = [row for row in rows if row[2] == kind.__module__][:1]
            return rows[0] if rows else (None, None, kind.__module__, kind.__name__, '', kind.__name__)
        if '.' in kind:
            scope = kind.partition('.')[0]
        named = [row for row in rows if row[2].partition('.')[0] == scope]
        near = [row for row in rows if self.path.startswith(row[1] + '/') or row[1] == '.']
        rows = named or near or rows
        if not rows:
            cut = '; not all files were searched' if self.is_cut else ''
            return f'no source in the roots registers {kind!r}{cut}: --root and --python name more'
        if len({row[0] for row in rows}) > 1:
            return f'{kind!r} is registered by {rows[0][0]} and by {rows[1][0]}, nothing says which is meant'
        return rows[0]


def reach(space, dotted):
    """The object that a dotted name of a module is; None: there is none."""
    parts = dotted.split('.')
    found = space.get(parts[0])
    for part in parts[1:]:
        found = getattr(found, part, None)
    return found


def is_layer(kind):
    return isinstance(kind, type) and any([base.__name__ in ('Module', 'Layer') for base in kind.__mro__])


def enter_scope(registry, scope):
    """Registries that know of each other ask which of them is meant by a name without a prefix."""
    home = sys.modules.get(type(registry).__module__.rpartition('.')[0])
    enter = getattr(home, 'init_default_scope', None)
    if enter is not None:
        enter(scope)


def registered(row):
    """What a row's source defines, and the registry that has it. None: that its import does not give."""
    space = vars(_pellucid.import_module(row[2]))
    return reach(space, row[3]) if row[3] else None, reach(space, row[4]) if row[4] else None


def build(search, value, row, scope):
    """The network that a description is of; None: it is of something else."""
    kind, registry = registered(row)
    is_known = isinstance(kind, type) and not _pellucid.is_symbol(kind)
    if kind is None or (is_known and not is_layer(kind)):
        return None
    for part in types_in(value, []):
        inner = search.find(part, scope)
        if not isinstance(inner, str) and inner[0] is not None and inner[1] == row[1]:
            _pellucid.import_module(inner[2])
    if registry is not None and scope is not None:
        enter_scope(registry, scope)
    given = plain(value)
    if hasattr(registry, 'build'):
        return registry.build(given)
    given.pop('type')
    return kind(**given)


def describe(name, value, search, scope, space, rows):
    """Builds what one name of the file describes; a row of `rows` says why not."""
    kind = value['type'] if isinstance(value, dict) and 'type' in value else None
    if _pellucid.is_symbol(kind):
        rows.append((name, _pellucid.symbol_text(kind), f'{name} describes one: its class is not in the roots'))
    elif isinstance(kind, (str, type)):
        row = search.find(kind, scope)
        if isinstance(row, str):
            rows.append((name, bare(kind), f'{name} describes one: {row}'))
            return
        made = build(search, value, row, scope)
        if made is not None:
            space[name] = made
    else:
        lost, layers = [], []
        for part in types_in(value, []):
            row = search.find(part, scope)
            if isinstance(row, str):
                lost.append(bare(part))
            elif is_layer(registered(row)[0]):
                layers.append(bare(part))
        if layers:
            rows.append((name, ', '.join(layers), f'{name} describes them: which code builds them, this file does not say'))
        if lost:
            rows.append((name, ', '.join(lost), f'{name} names them: no source in the roots registers them, they may be networks'))


def networks(space, path, is_one_of_many):
    """Puts what the file describes into its names. Gives rows: a name of the file, what is not known, why."""
    values = whole(space)  # before the problems, which it adds to
    rows = _problems[:]
    del _problems[:]
    described = {name: value for name, value in values.items() if types_in(value, []) or _names_symbol(value)}
    if not described:
        return rows
    if is_one_of_many:
        kinds = ', '.join([bare(kind) for kind in types_in(described, [])][:3])
        rows.append((list(described)[0], kinds, 'described, not built, one of many sources: scan this one alone'))
        return rows
    imports = values.get('custom_imports')
    for name in imports.get('imports', []) if isinstance(imports, dict) else []:
        _pellucid.import_module(name)
    scope = values.get('default_scope')
    kinds = types_in(described, [])
    scopes = [kind.partition('.')[0] for kind in kinds if isinstance(kind, str) and '.' in kind]
    scopes += [kind.__module__.partition('.')[0] for kind in kinds if isinstance(kind, type)]
    search = Search(path, [bare(kind) for kind in kinds], scopes + ([scope] if isinstance(scope, str) else []))
    for name, value in described.items():
        describe(name, value, search, scope, space, rows)
    return rows


def _names_symbol(value):
    return isinstance(value, dict) and _pellucid.is_symbol(value.get('type'))
