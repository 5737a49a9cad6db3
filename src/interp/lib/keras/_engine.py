"""Keras without numbers: layers that know their weights, tensors that know their shapes and who made them.

Shapes are tuples whose unknown sizes are None, as Keras has them. A layer is built by its first call; `call` runs on
KerasTensors, so a subclassed model finds the shapes of its weights as Keras does.
"""

import _pellucid
from keras._base import Layer as _Base
from torch._abstract import types as _types

is_symbol = _pellucid.is_symbol
_uids = {}


def snake_case(name):
    result = ''
    for i, c in enumerate(name):
        if c.isupper() and i and (name[i - 1].islower() or (i + 1 < len(name) and name[i + 1].islower() and name[i - 1] != '_')):
            result += '_'
        result += c.lower()
    return result.lstrip('_')


def get_uid(prefix=''):
    _uids[prefix] = _uids.get(prefix, 0) + 1
    return _uids[prefix]


def auto_name(prefix):
    n = get_uid(prefix)
    return prefix if n == 1 else '%s_%d' % (prefix, n - 1)


def reset_uids():
    _uids.clear()


def to_dtype(dtype):
    if dtype is None:
        return _types.float32
    if isinstance(dtype, _types.dtype):
        return dtype
    if dtype is bool:
        return _types.bool_
    text = dtype if isinstance(dtype, str) else getattr(dtype, 'name', 'float32')
    if text.startswith('mixed_'):
        return _types.float32
    for known in _types.all_dtypes:
        if known._name == text:
            return known
    return _types.float32


class ShapeError(ValueError):
    """Shapes that disagree: what a layer takes and what it gets."""

    def __init__(self, message, given=None, wanted=None):
        ValueError.__init__(self, message)
        self.given = given
        self.wanted = wanted


class Variable:
    """A weight."""

    def __init__(self, initializer=None, shape=None, dtype=None, trainable=True, name=None, **kwargs):
        if shape is None:
            shape = getattr(initializer, 'shape', ())
            if not isinstance(shape, tuple):
                shape = tuple(shape)
        self.shape = self._shape = tuple(shape)
        self._dtype = to_dtype(dtype)
        self.dtype = self._dtype._name
        self.trainable = trainable
        self.name = name or auto_name('variable')
        self.path = self.name
        self.initializer = initializer

    def assign(self, value):
        return self

    assign_add = assign_sub = assign

    def numpy(self):
        return self

    @property
    def value(self):
        return KerasTensor(self.shape, self._dtype)

    @property
    def ndim(self):
        return len(self.shape)

    def __repr__(self):
        return '<Variable %s shape=%s>' % (self.name, self.shape)


class KerasTensor:
    def __init__(self, shape, dtype=None, node=None, name=None, sparse=False, **kwargs):
        self.shape = self._shape = tuple(shape)
        self._dtype = to_dtype(dtype)
        self.dtype = self._dtype._name
        self.node = node
        self.name = name or 'keras_tensor'

    @property
    def ndim(self):
        return len(self.shape)

    def get_shape(self):
        return self.shape

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        if self.shape[0] is None:
            raise TypeError('Iterating over a symbolic KerasTensor is not supported.')
        return iter([self[i] for i in range(self.shape[0])])

    def __bool__(self):
        return bool(_pellucid.unknown('truth of a tensor', 'its values are not known'))

    def __hash__(self):
        return id(self)

    def __getitem__(self, key):
        sizes = []
        rest = list(self.shape)
        keys = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys[at:at + 1] = [slice(None)] * (len(rest) - len([k for k in keys if k is not None and k is not Ellipsis]))
        for k in keys:
            if k is None:
                sizes.append(1)
                continue
            n = rest.pop(0)
            if isinstance(k, slice):
                if n is None or is_symbol(n):
                    whole = k.start is None and k.stop is None
                    ended = k.start in (None, 0) and type(k.stop) is int and k.stop >= 0
                    sizes.append(n if whole else k.stop if ended else None)
                else:
                    sizes.append(len(range(*k.indices(n))))
        return KerasTensor(sizes + rest, self._dtype, operation('get_item', [self]))

    def __repr__(self):
        return '<KerasTensor shape=%s, dtype=%s>' % (self.shape, self.dtype)


class Node:
    """One call: who was called with which tensors."""

    def __init__(self, operation, inputs):
        self.operation = operation
        self.inputs = inputs
        self.outputs = []


class Operation:
    """A function that was applied to tensors; it has a name and no weights."""

    def __init__(self, name):
        self.name = auto_name(name)


def operation(name, inputs):
    tensors = [x for x in flat(inputs) if isinstance(x, KerasTensor)]
    return Node(Operation(name), tensors)


def flat(x):
    if isinstance(x, dict):
        return [item for value in x.values() for item in flat(value)]
    if isinstance(x, (list, tuple)):
        return [item for value in x for item in flat(value)]
    return [x]


def join(a, b):
    """Broadcasting of shapes with None in them."""
    if len(a) < len(b):
        a, b = b, a
    extra = len(a) - len(b)
    result = list(a)
    for i in range(len(b)):
        x, y = a[extra + i], b[i]
        if x is None or is_symbol(x):
            result[extra + i] = x if y is None or is_symbol(y) or y == 1 else y
        elif y is None or is_symbol(y):
            result[extra + i] = y if x == 1 else x
        elif x == 1:
            result[extra + i] = y
        elif y != 1 and x != y:
            raise ShapeError('shapes %s and %s do not broadcast' % (tuple(a), tuple(b)))
    return tuple(result)


def shape_of(x):
    return tuple(x.shape) if hasattr(x, 'shape') else ()


def elementwise(name, *operands, dtype=None):
    shape = ()
    kind = None
    for x in operands:
        shape = join(shape, shape_of(x))
        if kind is None and isinstance(x, (KerasTensor, Variable)):
            kind = x._dtype
    return KerasTensor(shape, dtype or kind, operation(name, list(operands)))


def _operator(name, dtype=None):
    return lambda self, other: elementwise(name, self, other, dtype=dtype)


def _reflected(name):
    return lambda self, other: elementwise(name, other, self)


for _dunder, _name in (('add', 'add'), ('sub', 'subtract'), ('mul', 'multiply'), ('truediv', 'true_divide'),
                       ('floordiv', 'floor_divide'), ('mod', 'mod'), ('pow', 'power')):
    for _class in (KerasTensor, Variable):
        setattr(_class, '__%s__' % _dunder, _operator(_name))
        setattr(_class, '__r%s__' % _dunder, _reflected(_name))
for _dunder, _name in (('lt', 'less'), ('le', 'less_equal'), ('gt', 'greater'), ('ge', 'greater_equal'), ('and', 'logical_and'),
                       ('or', 'logical_or')):
    setattr(KerasTensor, '__%s__' % _dunder, _operator(_name, 'bool'))
KerasTensor.__neg__ = lambda self: elementwise('negative', self)
KerasTensor.__abs__ = lambda self: elementwise('absolute', self)
KerasTensor.__invert__ = lambda self: elementwise('logical_not', self)


def matmul(a, b, transpose_a=False, transpose_b=False, name=None, **kwargs):
    x, y = list(shape_of(a)), list(shape_of(b))
    if transpose_a:
        x[-1], x[-2] = x[-2], x[-1]
    if transpose_b:
        y[-1], y[-2] = y[-2], y[-1]
    inner = y[-2] if len(y) > 1 else y[-1]
    if type(x[-1]) is int and type(inner) is int and x[-1] != inner:
        raise ShapeError('matmul: %s and %s cannot be multiplied: %d columns against %d rows' % (tuple(x), tuple(y), x[-1], inner), a, b)
    batch = join(tuple(x[:-2]), tuple(y[:-2])) if len(x) > 2 or len(y) > 2 else ()
    return KerasTensor(batch + tuple(x[-2:-1] if len(x) > 1 else ()) + tuple(y[-1:] if len(y) > 1 else ()),
                       getattr(a, '_dtype', None), operation('matmul', [a, b]))


KerasTensor.__matmul__ = matmul
KerasTensor.__rmatmul__ = lambda self, other: matmul(other, self)
Variable.__matmul__ = matmul


class TrackedList(list):
    """A list of a layer's attribute: what is put in later belongs to the layer too."""

    def append(self, item):
        list.append(self, item)
        self.owner[0]._track(self.owner[1], item)

    def extend(self, items):
        for item in items:
            self.append(item)

    def insert(self, index, item):
        list.insert(self, index, item)
        self.owner[0]._track(self.owner[1], item)

    def __iadd__(self, items):
        self.extend(items)
        return self

    def __setitem__(self, key, item):
        list.__setitem__(self, key, item)
        self.owner[0]._track(self.owner[1], item)


class TrackedDict(dict):
    def __setitem__(self, key, item):
        dict.__setitem__(self, key, item)
        self.owner[0]._track(self.owner[1], item)

    def update(self, items=(), **kwargs):
        for key, item in dict(items, **kwargs).items():
            self[key] = item


def _arguments(layer, kind):
    """What the attributes of a layer say of the arguments of its constructor."""
    import inspect

    found = {}
    for parameter in list(inspect.signature(kind.__init__).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        value = layer.__dict__.get(parameter.name, parameter)
        if value is parameter:
            text = '%s.%s' % (layer.name, parameter.name)
            value = _pellucid.symbol(text, 'the model of the layer does not keep it')
        elif callable(value) and not is_symbol(value):
            value = getattr(value, '__name__', value)
        found[parameter.name] = value
    return found


class Layer(_Base):
    """Base of every layer. Sublayers and weights are found by assignment, in order."""

    _settled = False

    def __new__(cls, *args, **kwargs):
        self = object.__new__(cls)
        own = self.__dict__
        own['_tracked'] = []  # (attribute, layer), in order of assignment
        own['_own_weights'] = []
        own['built'] = False
        own['_name'] = None
        own['trainable_'] = True
        own['_init_args'] = (args, kwargs)
        own['_input_shape'] = None
        own['_output_shape'] = None
        own['_nodes'] = []
        return self

    def __init__(self, *, activity_regularizer=None, trainable=True, dtype=None, autocast=True, name=None, **kwargs):
        own = self.__dict__
        own['_name'] = name if name is not None else auto_name(snake_case(type(self).__name__))
        own['trainable_'] = trainable
        own['_dtype_name'] = dtype if isinstance(dtype, str) else 'float32'
        own['_settled'] = True
        shape = kwargs.pop('input_shape', None)
        if shape is None and 'input_dim' in kwargs:
            shape = (kwargs.pop('input_dim'),)
        if 'batch_input_shape' in kwargs:
            shape = tuple(kwargs.pop('batch_input_shape'))[1:]
        if shape is not None:
            own['_given_input_shape'] = (None,) + tuple(shape)
        kwargs.pop('weights', None)
        kwargs.pop('batch_size', None)
        if kwargs:
            raise ValueError('Unrecognized keyword arguments passed to %s: %s' % (type(self).__name__, kwargs))

    def __setattr__(self, attribute, value):
        own = self.__dict__
        if attribute in ('name', 'trainable'):
            own['_name' if attribute == 'name' else 'trainable_'] = value
            if attribute == 'trainable':
                for _, layer in own['_tracked']:
                    layer.trainable = value
            return
        if not is_symbol(value) and isinstance(value, (Layer, Variable, list, tuple, dict)):
            if not attribute.startswith('_'):
                if type(value) is list:
                    value = TrackedList(value)
                    value.owner = (self, attribute)
                elif type(value) is dict:
                    value = TrackedDict(value)
                    value.owner = (self, attribute)
            self._track(attribute, value)
        object.__setattr__(self, attribute, value)

    def _track(self, attribute, value):
        if isinstance(value, Layer):
            tracked = self.__dict__['_tracked']
            if not any([layer is value for _, layer in tracked]):
                tracked.append((attribute, value))
        elif isinstance(value, Variable):
            weights = self.__dict__['_own_weights']
            if not any([w is value for w in weights]):
                weights.append(value)
        elif isinstance(value, (list, tuple, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                if isinstance(item, (Layer, Variable, list, tuple, dict)):
                    self._track(attribute, item)

    @property
    def name(self):
        if self._name is None:
            self.__dict__['_name'] = auto_name(snake_case(type(self).__name__))
        return self._name

    @property
    def trainable(self):
        return self.trainable_

    @property
    def dtype(self):
        return self.__dict__.get('_dtype_name', 'float32')

    compute_dtype = variable_dtype = dtype
    dtype_policy = None
    supports_masking = True
    stateful = False
    losses = metrics = ()
    input_spec = None

    @property
    def _layers_in_order(self):
        return [(layer.name, layer) for _, layer in self._tracked]

    @property
    def _layers(self):
        return [layer for _, layer in self._tracked]

    @property
    def _weights_in_order(self):
        weights = self._own_weights
        if not self.built and not weights and not self._tracked:
            weights = self._unseen_weights()
        for w in weights:
            w.trainable = w.trainable and self.trainable_
        return [w for w in weights if w.trainable] + [w for w in weights if not w.trainable]

    def _unseen_weights(self):
        """Of a layer that nothing has called: they depend on what will come, which gets a name. It stays unbuilt."""
        if type(self).build is Layer.build:
            return []
        rank = getattr(self, '_rank', 2)
        shape = (None,) * (rank - 1) + (_pellucid.symbol(self.name + '.input_dim'),)
        before, uids = dict(self.__dict__), dict(_uids)
        try:
            self.build(shape)
            return list(self._own_weights)
        except (TypeError, ValueError, AttributeError, IndexError):
            _pellucid.unknown('weights of ' + self.name, 'they depend on what it is called with')
            return []
        finally:
            self._own_weights.clear()
            self._tracked.clear()
            self.__dict__.clear()
            self.__dict__.update(before)
            _uids.clear()
            _uids.update(uids)

    @property
    def weights(self):
        result = list(self._weights_in_order)
        for _, layer in self._layers_in_order:
            for w in layer.weights:
                if not any([w is other for other in result]):
                    result.append(w)
        return result

    variables = weights

    @property
    def trainable_weights(self):
        return [w for w in self.weights if w.trainable]

    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self):
        return [w for w in self.weights if not w.trainable]

    non_trainable_variables = non_trainable_weights

    def count_params(self):
        total = 0
        for w in self.weights:
            n = 1
            for size in w.shape:
                n = n * size
            total = total + n
        return total

    def add_weight(self, shape=None, initializer=None, dtype=None, trainable=True, autocast=True, regularizer=None,
                   constraint=None, aggregation=None, overwrite_with_gradient=False, name=None, **kwargs):
        if isinstance(shape, str):  # the old order of arguments: name, shape
            name, shape = shape, initializer if isinstance(initializer, (tuple, list)) else kwargs.get('shape', ())
        shape = () if shape is None else (shape,) if is_symbol(shape) or isinstance(shape, int) else tuple(shape)
        w = Variable(initializer, shape, dtype or self.dtype, trainable, name)
        self._own_weights.append(w)
        return w

    add_variable = add_weight

    def build(self, input_shape):
        self.__dict__['built'] = True

    def call(self, *args, **kwargs):
        raise NotImplementedError('Layer %s does not have a `call()` method implemented.' % type(self).__name__)

    def compute_output_shape(self, *args, **kwargs):
        output = self(*[KerasTensor(shape) for shape in args])
        return output.shape

    def __call__(self, *args, **kwargs):
        tensors = [x for x in flat([list(args), kwargs]) if isinstance(x, KerasTensor)]
        if not self.built:
            self._maybe_build(args, kwargs)
        keep = {key: value for key, value in kwargs.items() if key not in ('training', 'mask')}
        if 'training' in kwargs and self._takes('training'):
            keep['training'] = kwargs['training']
        if 'mask' in kwargs and self._takes('mask'):
            keep['mask'] = kwargs['mask']
        outputs = self.call(*args, **keep)
        self.__dict__['built'] = True
        if args:
            self.__dict__['_input_shape'] = _shapes(args[0])
        self.__dict__['_output_shape'] = _shapes(outputs)
        node = Node(self, tensors)
        self._nodes.append(node)
        return _stamped(outputs, node)

    def _takes(self, name):
        code = getattr(getattr(type(self).call, '__wrapped__', type(self).call), '__code__', None)
        if code is None:
            return True
        return name in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] or bool(code.co_flags & 8)

    def _maybe_build(self, args, kwargs):
        self.__dict__['built'] = True
        code = getattr(type(self).build, '__code__', None)
        if code is not None and code.co_argcount > 2 and args:
            names = code.co_varnames[1:code.co_argcount]
            shapes = {}
            values = list(args) + list(kwargs.values())
            for name, value in zip(names, values):
                if isinstance(value, (KerasTensor, list, tuple)):
                    shapes[name] = _shapes(value)
            if len(shapes) == len(names):
                self.build(**shapes)
                return
        if args:
            self.build(_shapes(args[0]))
        elif kwargs:
            self.build(_shapes(list(kwargs.values())[0]))

    @property
    def input_shape(self):
        return self._input_shape

    @property
    def output_shape(self):
        return self._output_shape

    @property
    def output(self):
        return self._nodes[-1].outputs[0]

    @property
    def input(self):
        return self._nodes[-1].inputs[0]

    def get_config(self):
        """What the constructor of the library's own class takes; a class of the author's adds its part itself."""
        config = {'name': self.name, 'trainable': self.trainable, 'dtype': self.dtype}
        for kind in type(self).__mro__:
            if kind is Layer or not kind.__module__.startswith('keras'):
                continue
            if '__init__' in kind.__dict__:
                config.update(_arguments(self, kind))
                break
        return config

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def get_weights(self):
        return [w for w in self.weights]

    def set_weights(self, weights):
        pass

    def add_loss(self, loss, **kwargs):
        pass

    add_metric = add_loss

    def compute_mask(self, inputs, previous_mask):
        return previous_mask

    def get_build_config(self):
        return None

    def load_own_variables(self, store):
        pass

    save_own_variables = load_own_variables


def _shapes(x):
    if isinstance(x, dict):
        return {key: _shapes(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)) and x and not isinstance(x[0], (int, type(None))):
        return [_shapes(item) for item in x]
    return shape_of(x)


def _stamped(outputs, node):
    """The same outputs, made by this node."""
    if isinstance(outputs, KerasTensor):
        made = KerasTensor(outputs.shape, outputs._dtype, node)
        node.outputs.append(made)
        return made
    if isinstance(outputs, dict):
        return {key: _stamped(value, node) for key, value in outputs.items()}
    if isinstance(outputs, (list, tuple)) and not hasattr(outputs, '_fields'):
        return type(outputs)([_stamped(value, node) for value in outputs])
    return outputs


class InputLayer(Layer):
    def __init__(self, shape=None, batch_size=None, dtype=None, sparse=None, batch_shape=None, input_tensor=None,
                 optional=False, name=None, ragged=None, input_shape=None, batch_input_shape=None, type_spec=None, **kwargs):
        Layer.__init__(self, name=name)
        shape = shape if shape is not None else input_shape
        batch_shape = batch_shape if batch_shape is not None else batch_input_shape
        if batch_shape is None:
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            batch_shape = (batch_size,) + shape
        self.__dict__['built'] = True
        self.batch_shape = tuple(batch_shape)
        node = Node(self, [])
        tensor = KerasTensor(self.batch_shape, dtype, node, self.name)
        node.outputs.append(tensor)
        self._nodes.append(node)
        self.__dict__['_output_shape'] = self.batch_shape
        self.__dict__['tensor'] = tensor

    def call(self, *args):
        return self.tensor


def Input(shape=None, batch_size=None, dtype=None, sparse=None, batch_shape=None, name=None, tensor=None, optional=False,
          **kwargs):
    given = dict(shape=shape, batch_size=batch_size, dtype=dtype, sparse=sparse, batch_shape=batch_shape, input_tensor=tensor, name=name)
    given = {key: value for key, value in given.items() if value is not None}
    return InputLayer(**given, **kwargs).tensor


class Model(Layer):
    def __new__(cls, *args, **kwargs):
        functional = len(args) == 2 or 'outputs' in kwargs or (len(args) == 1 and 'outputs' in kwargs)
        if functional and cls is Model:
            return Layer.__new__(Functional, *args, **kwargs)
        return Layer.__new__(cls, *args, **kwargs)

    def __init__(self, *args, **kwargs):
        if 'outputs' in kwargs or len(args) == 2:
            _graph(self, *args, **kwargs)
            return
        Layer.__init__(self, **kwargs)

    @property
    def layers(self):
        return [layer for _, layer in self._layers_in_order]

    def get_layer(self, name=None, index=None):
        if index is not None:
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError('No such layer: %s. Existing layers are: %s.' % (name, [layer.name for layer in self.layers]))

    def build(self, input_shape):
        if type(self).call is not Layer.call and not isinstance(self, (Functional, Sequential)):
            shapes = input_shape
            if isinstance(shapes, dict):
                self.call({key: KerasTensor(shape) for key, shape in shapes.items()})
            elif shapes and isinstance(shapes[0], (tuple, list)):
                self.call([KerasTensor(shape) for shape in shapes])
            else:
                self.call(KerasTensor(shapes))
        self.__dict__['built'] = True

    def _maybe_build(self, args, kwargs):
        self.__dict__['built'] = True
        if type(self).build is not Model.build:
            Layer._maybe_build(self, args, kwargs)

    def compile(self, *args, **kwargs):
        pass

    def summary(self, *args, **kwargs):
        pass

    def load_weights(self, *args, **kwargs):
        pass

    save = save_weights = export = compile_from_config = load_weights

    def fit(self, x=None, *args, **kwargs):
        return _pellucid.symbol('history')

    def evaluate(self, *args, **kwargs):
        return _pellucid.symbol('loss')

    def predict(self, x, *args, **kwargs):
        return _pellucid.symbol('predictions')

    train_on_batch = test_on_batch = evaluate
    predict_on_batch = predict
    optimizer = None
    stop_training = False

    def to_json(self, **kwargs):
        return '{}'

    @property
    def inputs(self):
        return self.__dict__.get('_inputs')

    @property
    def outputs(self):
        return self.__dict__.get('_outputs')

    @property
    def input(self):
        found = self.__dict__.get('_input_struct')
        return found if found is not None else self._nodes[-1].inputs[0]

    @property
    def output(self):
        found = self.__dict__.get('_output_struct')
        return found if found is not None else self._nodes[-1].outputs[0]


class Functional(Model):
    def __init__(self, inputs=None, outputs=None, name=None, **kwargs):
        _graph(self, inputs, outputs, name, **kwargs)

    def call(self, inputs, training=None, mask=None):
        return _replay(self, inputs)


def _graph(self, inputs, outputs, name=None, **kwargs):
    """Finds the layers between inputs and outputs, in the order Keras lists them: by depth from the outputs."""
    Layer.__init__(self, name=name if name is not None else auto_name('functional'), trainable=kwargs.get('trainable', True))
    own = self.__dict__
    own['_input_struct'] = inputs
    own['_output_struct'] = outputs
    own['_inputs'] = [x for x in flat(inputs)]
    own['_outputs'] = [x for x in flat(outputs)]
    nodes = []  # in the order they were reached: inputs of a node before the node
    _collect(own['_outputs'], set([id(x) for x in own['_inputs']]), nodes)
    own['_graph_nodes'] = nodes
    depths = {}
    for node in reversed(nodes):
        depth = depths.setdefault(id(node), 0)
        for x in node.inputs:
            if x.node is not None:
                depths[id(x.node)] = max(depths.get(id(x.node), 0), depth + 1)
    layers = []
    order = {}
    layer_depths = {}
    for node in nodes:
        layer = node.operation
        if id(layer) not in order:
            order[id(layer)] = len(order)
            layers.append(layer)
        layer_depths[id(layer)] = max(layer_depths.get(id(layer), 0), depths.get(id(node), 0))
    layers.sort(key=lambda layer: (-layer_depths[id(layer)], order[id(layer)]))
    for layer in layers:
        if isinstance(layer, Layer):
            self._tracked.append((layer.name, layer))
    own['built'] = True
    own['_input_shape'] = _shapes(inputs)
    own['_output_shape'] = _shapes(outputs)


def _collect(outputs, stops, nodes):
    """Nodes that lead to the outputs, every one after those it needs; without recursion: nets are deep."""
    seen = {}
    stack = []
    for x in reversed(outputs):
        if x.node is not None:
            stack.append((x.node, 0))
    while stack:
        node, i = stack.pop()
        key = id(node)
        if i == 0:
            if key in seen:
                continue
            seen[key] = True
        if i < len(node.inputs):
            stack.append((node, i + 1))
            x = node.inputs[i]
            if x.node is not None and id(x.node) not in seen:
                stack.append((x.node, 0))
        else:
            nodes.append(node)


def _replay(self, inputs):
    """A functional model called on other tensors."""
    values = {}
    given = [x for x in flat(inputs)]
    for x, value in zip(self._inputs, given):
        if len(x.shape) != len(shape_of(value)):
            raise ShapeError('%s takes %s and gets %s' % (self.name, x.shape, shape_of(value)), value)
        values[id(x)] = value
    for node in self._graph_nodes:
        if not node.outputs or id(node.outputs[0]) in values:
            continue
        if isinstance(node.operation, Layer) and not isinstance(node.operation, InputLayer):
            for x in node.outputs:
                values[id(x)] = KerasTensor(_rebatched(x.shape, given), x._dtype)
    outputs = [KerasTensor(_rebatched(x.shape, given), x._dtype) for x in self._outputs]
    struct = self._output_struct
    if isinstance(struct, dict):
        return dict(zip(struct, outputs))
    return outputs if isinstance(struct, (list, tuple)) else outputs[0]


def _rebatched(shape, given):
    return (shape_of(given[0])[0],) + tuple(shape[1:]) if shape and given and shape_of(given[0]) else shape


class Sequential(Model):
    def __init__(self, layers=None, trainable=True, name=None):
        Layer.__init__(self, trainable=trainable, name=name)
        self.__dict__['_current'] = None  # shape after the last layer, once it is known
        for layer in layers or ():
            self.add(layer)

    def add(self, layer, rebuild=True):
        own = self.__dict__
        if isinstance(layer, KerasTensor):
            layer = layer.node.operation
        if not isinstance(layer, Layer):
            if is_symbol(layer):
                _pellucid.unknown('a layer of a Sequential', 'it is not known')
                return
            raise ValueError('Only instances of `keras.Layer` can be added to a Sequential model. Received: %r' % (layer,))
        if isinstance(layer, InputLayer):
            own['_current'] = layer.tensor
            own['_inputs'] = [layer.tensor]
            own['_input_struct'] = layer.tensor
            return
        self._tracked.append((layer.name, layer))
        if own['_current'] is None:
            given = layer.__dict__.get('_given_input_shape')
            if given is None and isinstance(layer, Model) and layer.inputs:
                given = layer.inputs[0].shape
            if given is not None:
                first = Input(batch_shape=given)
                own['_current'] = first
                own['_inputs'] = [first]
                own['_input_struct'] = first
        if own['_current'] is not None:
            own['_current'] = layer(own['_current'])
            own['built'] = True
            own['_outputs'] = [own['_current']]
            own['_output_struct'] = own['_current']

    def pop(self, rebuild=True):
        return self._tracked.pop()[1]

    def get_config(self):
        layers = [{'class_name': type(layer).__name__, 'config': layer.get_config()} for _, layer in self._tracked]
        if self.__dict__.get('_inputs'):
            first = {'batch_shape': tuple(self._inputs[0].shape)}
            layers.insert(0, {'class_name': 'InputLayer', 'config': first})
        return {'name': self.name, 'trainable': self.trainable, 'dtype': self.dtype, 'layers': layers}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        import keras.layers

        model = cls(name=config.get('name'))
        for row in config['layers']:
            kind = (custom_objects or {}).get(row['class_name']) or getattr(keras.layers, row['class_name'])
            model.add(kind.from_config(row['config']))
        return model

    def build(self, input_shape=None):
        if input_shape is not None and self.__dict__['_current'] is None:
            x = KerasTensor(input_shape)
            for _, layer in self._tracked:
                x = layer(x)
            self.__dict__['_current'] = x
        self.__dict__['built'] = True

    def _maybe_build(self, args, kwargs):
        self.__dict__['built'] = True

    def call(self, inputs, training=None, mask=None):
        x = inputs
        for _, layer in self._tracked:
            x = layer(x)
        return x
