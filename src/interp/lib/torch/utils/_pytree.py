"""Nested lists, tuples and dicts of things."""

import _pellucid

registered = {}


class TreeSpec:
    def __init__(self, type, context, children_specs):
        self.type = type
        self.context = context
        self.children_specs = children_specs

    def is_leaf(self):
        return self.type is None


LeafSpec = TreeSpec
PyTree = Context = object
MappingKey = SequenceKey = GetAttrKey = object


def register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs):
    registered[cls] = (flatten_fn, unflatten_fn)


_register_pytree_node = register_dataclass = register_pytree_node


def register_constant(cls):
    pass


def _parts(tree):
    kind = type(tree)
    if kind in registered:
        return registered[kind][0](tree)
    if isinstance(tree, dict):
        return list(tree.values()), list(tree.keys())
    if isinstance(tree, (list, tuple)):
        return list(tree), None
    return None


def tree_flatten(tree, is_leaf=None):
    parts = None if is_leaf is not None and is_leaf(tree) else _parts(tree)
    if parts is None:
        return [tree], TreeSpec(None, None, [])
    leaves = []
    specs = []
    for child in parts[0]:
        inside, spec = tree_flatten(child, is_leaf)
        leaves.extend(inside)
        specs.append(spec)
    return leaves, TreeSpec(type(tree), parts[1], specs)


def tree_unflatten(leaves, treespec):
    return _build(iter(leaves), treespec)


def _build(leaves, spec):
    if spec.type is None:
        return next(leaves)
    children = [_build(leaves, child) for child in spec.children_specs]
    if spec.type in registered:
        return registered[spec.type][1](children, spec.context)
    if spec.context is not None:
        return spec.type(zip(spec.context, children))
    return spec.type(*children) if hasattr(spec.type, '_fields') else spec.type(children)


def tree_map(function, tree, *rests, is_leaf=None):
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(rest, is_leaf)[0] for rest in rests]
    return tree_unflatten([function(*items) for items in zip(leaves, *others)], spec)


def tree_map_only(kind, function, tree=None, is_leaf=None):
    return tree_map(lambda x: function(x) if isinstance(x, kind) else x, tree, is_leaf=is_leaf)


def tree_leaves(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[1]


def tree_any(predicate, tree, is_leaf=None):
    return any([predicate(x) for x in tree_leaves(tree, is_leaf)])


def tree_all(predicate, tree, is_leaf=None):
    return all([predicate(x) for x in tree_leaves(tree, is_leaf)])


def _is_leaf(tree, is_leaf=None):
    return _parts(tree) is None


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('torch.utils._pytree.' + name)
