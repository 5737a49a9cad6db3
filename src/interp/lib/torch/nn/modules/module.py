"""nn.Module with torch's own semantics in fewer steps: most of what a constructor runs is attribute assignment.

Hooks are made when somebody asks for them; gradients, scripting and tracing have no part in it.
"""

import itertools
from collections import OrderedDict, namedtuple

import _pellucid
import torch
from torch._abstract.core import Tensor
from torch.nn.parameter import Buffer, Parameter
from torch.utils.hooks import RemovableHandle

_set = _pellucid.object_setattr
_set_plain = _pellucid.set_plain
_registered = _pellucid.registered
_discard = _pellucid.discard
is_symbol = _pellucid.is_symbol
_IncompatibleKeys = namedtuple('IncompatibleKeys', ['missing_keys', 'unexpected_keys'])
_EXTRA_STATE_KEY_SUFFIX = '_extra_state'
_global_buffer_registration_hooks = OrderedDict()
_global_module_registration_hooks = OrderedDict()
_global_parameter_registration_hooks = OrderedDict()
_global_backward_pre_hooks = OrderedDict()
_global_backward_hooks = OrderedDict()
_global_forward_pre_hooks = OrderedDict()
_global_forward_hooks = OrderedDict()
_global_forward_hooks_always_called = OrderedDict()
_global_forward_hooks_with_kwargs = OrderedDict()
_global_is_full_backward_hook = None


def _addindent(text, count):
    first, *rest = text.split('\n')
    return '\n'.join([first] + [' ' * count + line if line else line for line in rest])


def _registering(table):
    def register(hook, **options):
        handle = RemovableHandle(table)
        table[handle.id] = hook
        return handle

    return register


register_module_buffer_registration_hook = _registering(_global_buffer_registration_hooks)
register_module_module_registration_hook = _registering(_global_module_registration_hooks)
register_module_parameter_registration_hook = _registering(_global_parameter_registration_hooks)
register_module_forward_pre_hook = _registering(_global_forward_pre_hooks)
register_module_forward_hook = _registering(_global_forward_hooks)
register_module_backward_hook = register_module_full_backward_hook = _registering(_global_backward_hooks)
register_module_full_backward_pre_hook = _registering(_global_backward_pre_hooks)


def _has_any_global_hook():
    return bool(_global_forward_pre_hooks or _global_forward_hooks)


class _Hooks:
    """A table of hooks that an instance gets when it is first asked for."""

    def __init__(self, name):
        self.name = name

    def __get__(self, module, cls=None):
        if module is None:
            return self
        table = module.__dict__[self.name] = OrderedDict()
        return table


def _forward_unimplemented(self, *input):
    raise NotImplementedError('Module [%s] is missing the required "forward" function' % type(self).__name__)


class Module:
    dump_patches = False
    _version = 1
    training = True
    call_super_init = False
    _is_full_backward_hook = None
    _compiled_call_impl = None
    _backward_pre_hooks = _Hooks('_backward_pre_hooks')
    _backward_hooks = _Hooks('_backward_hooks')
    _forward_hooks = _Hooks('_forward_hooks')
    _forward_hooks_with_kwargs = _Hooks('_forward_hooks_with_kwargs')
    _forward_hooks_always_called = _Hooks('_forward_hooks_always_called')
    _forward_pre_hooks = _Hooks('_forward_pre_hooks')
    _forward_pre_hooks_with_kwargs = _Hooks('_forward_pre_hooks_with_kwargs')
    _state_dict_hooks = _Hooks('_state_dict_hooks')
    _state_dict_pre_hooks = _Hooks('_state_dict_pre_hooks')
    _load_state_dict_pre_hooks = _Hooks('_load_state_dict_pre_hooks')
    _load_state_dict_post_hooks = _Hooks('_load_state_dict_post_hooks')

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and (args or kwargs):
            if kwargs:
                raise TypeError("%s.__init__() got an unexpected keyword argument '%s'" % (type(self).__name__, next(iter(kwargs))))
            raise TypeError('%s.__init__() takes 1 positional argument but %d were given' % (type(self).__name__, len(args) + 1))
        own = self.__dict__
        own['training'] = True
        own['_parameters'] = {}
        own['_buffers'] = {}
        own['_non_persistent_buffers_set'] = set()
        own['_modules'] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward = _forward_unimplemented

    def __setattr__(self, name, value):
        if _set_plain(self, name, value):
            return
        own = self.__dict__
        if is_symbol(value):
            _set(self, name, value)
            return
        if isinstance(value, Parameter):
            if '_parameters' not in own:
                raise AttributeError('cannot assign parameters before Module.__init__() call')
            _discard(name, own, own['_buffers'], own['_modules'], own['_non_persistent_buffers_set'])
            self.register_parameter(name, value)
            return
        if isinstance(value, Module):
            if '_modules' not in own:
                raise AttributeError('cannot assign module before Module.__init__() call')
            _discard(name, own, own['_parameters'], own['_buffers'], own['_non_persistent_buffers_set'])
            own['_modules'][name] = value
            return
        if '_parameters' in own:
            if name in own['_parameters']:
                if value is not None:
                    raise TypeError("cannot assign '%s' as parameter '%s' (torch.nn.Parameter or None expected)"
                                    % (torch.typename(value), name))
                self.register_parameter(name, value)
                return
            if name in own['_modules']:
                if value is not None:
                    raise TypeError("cannot assign '%s' as child module '%s' (torch.nn.Module or None expected)"
                                    % (torch.typename(value), name))
                own['_modules'][name] = value
                return
            if name in own['_buffers'] or isinstance(value, Buffer):
                if value is not None and not isinstance(value, Tensor):
                    raise TypeError("cannot assign '%s' as buffer '%s' (torch.nn.Buffer, torch.Tensor or None expected)"
                                    % (torch.typename(value), name))
                persistent = value.persistent if isinstance(value, Buffer) else name not in own['_non_persistent_buffers_set']
                if type(self).register_buffer is Module.register_buffer or persistent is not True:
                    self.register_buffer(name, value, persistent)
                else:
                    self.register_buffer(name, value)
                return
        _set(self, name, value)

    def __getattr__(self, name):
        return _registered(self, name)

    def __delattr__(self, name):
        own = self.__dict__
        if name in own['_parameters']:
            del own['_parameters'][name]
        elif name in own['_buffers']:
            del own['_buffers'][name]
            own['_non_persistent_buffers_set'].discard(name)
        elif name in own['_modules']:
            del own['_modules'][name]
        else:
            object.__delattr__(self, name)

    def register_buffer(self, name, tensor, persistent=True):
        own = self.__dict__
        if '_buffers' not in own:
            raise AttributeError('cannot assign buffer before Module.__init__() call')
        if not isinstance(name, str):
            raise TypeError('buffer name should be a string. Got ' + torch.typename(name))
        if '.' in name:
            raise KeyError('buffer name can\'t contain "."')
        if name == '':
            raise KeyError('buffer name can\'t be empty string ""')
        if name not in own['_buffers'] and hasattr(self, name):
            raise KeyError("attribute '%s' already exists" % name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError("cannot assign '%s' object to buffer '%s' (torch Tensor or None required)" % (torch.typename(tensor), name))
        own['_buffers'][name] = tensor
        if persistent:
            own['_non_persistent_buffers_set'].discard(name)
        else:
            own['_non_persistent_buffers_set'].add(name)

    def register_parameter(self, name, param):
        own = self.__dict__
        if '_parameters' not in own:
            raise AttributeError('cannot assign parameter before Module.__init__() call')
        if not isinstance(name, str):
            raise TypeError('parameter name should be a string. Got ' + torch.typename(name))
        if '.' in name:
            raise KeyError('parameter name can\'t contain "."')
        if name == '':
            raise KeyError('parameter name can\'t be empty string ""')
        if name not in own['_parameters'] and hasattr(self, name):
            raise KeyError("attribute '%s' already exists" % name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError("cannot assign '%s' object to parameter '%s' (torch.nn.Parameter or None required)"
                            % (torch.typename(param), name))
        own['_parameters'][name] = param

    def add_module(self, name, module):
        if not isinstance(module, Module) and module is not None:
            raise TypeError(torch.typename(module) + ' is not a Module subclass')
        if not isinstance(name, str):
            raise TypeError('module name should be a string. Got ' + torch.typename(name))
        own = self.__dict__
        if name not in own['_modules'] and hasattr(self, name):
            raise KeyError("attribute '%s' already exists" % name)
        if '.' in name:
            raise KeyError('module name can\'t contain ".", got: ' + name)
        if name == '':
            raise KeyError('module name can\'t be empty string ""')
        own['_modules'][name] = module

    def register_module(self, name, module):
        self.add_module(name, module)

    def get_submodule(self, target):
        module = self
        if target == '':
            return module
        for item in target.split('.'):
            if not hasattr(module, item):
                raise AttributeError(module._get_name() + ' has no attribute `' + item + '`')
            module = getattr(module, item)
            if not isinstance(module, Module):
                raise AttributeError('`' + item + '` is not an nn.Module')
        return module

    def set_submodule(self, target, module, strict=False):
        head, _, name = target.rpartition('.')
        parent = self.get_submodule(head)
        if strict and not hasattr(parent, name):
            raise AttributeError(parent._get_name() + ' has no attribute `' + name + '`')
        setattr(parent, name, module)

    def get_parameter(self, target):
        path, _, name = target.rpartition('.')
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(module._get_name() + ' has no attribute `' + name + '`')
        param = getattr(module, name)
        if not isinstance(param, Parameter):
            raise AttributeError('`' + name + '` is not an nn.Parameter')
        return param

    def get_buffer(self, target):
        path, _, name = target.rpartition('.')
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(module._get_name() + ' has no attribute `' + name + '`')
        if name not in module._buffers:
            raise AttributeError('`' + name + '` is not a buffer')
        return getattr(module, name)

    def get_extra_state(self):
        raise RuntimeError('get_extra_state is not implemented')

    def set_extra_state(self, state):
        raise RuntimeError('set_extra_state is not implemented')

    def _apply(self, fn, recurse=True):
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                applied = fn(param)
                if applied is not param:
                    param.data = applied
                    param.device = applied.device
        for key, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[key] = fn(buffer)
        return self

    def apply(self, fn):
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args, **kwargs):
        device, dtype, non_blocking, convert_to_format = torch._C._nn._parse_to(*args, **kwargs)
        if dtype is not None and dtype.kind < 2:
            raise TypeError('nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=%r' % dtype)
        return self._apply(lambda t: t.to(device=device, dtype=dtype if t.is_floating_point() or t.is_complex() else None))

    def cuda(self, device=None):
        return self._apply(lambda t: t.cuda(device))

    def cpu(self):
        return self._apply(lambda t: t.cpu())

    def xpu(self, device=None):
        return self

    ipu = mtia = xpu

    def type(self, dst_type):
        return self._apply(lambda t: t.type(dst_type))

    def float(self):
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self):
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self):
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self):
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def to_empty(self, *, device, recurse=True):
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def _add_hook(self, table, hook, extras=(), prepend=False):
        handle = RemovableHandle(table)
        table[handle.id] = hook
        for extra, value in extras:
            if value:
                extra[handle.id] = True
        if prepend:
            table.move_to_end(handle.id, last=False)
        return handle

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        return self._add_hook(self._forward_pre_hooks, hook, ((self._forward_pre_hooks_with_kwargs, with_kwargs),), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        return self._add_hook(self._forward_hooks, hook, ((self._forward_hooks_with_kwargs, with_kwargs),
                                                          (self._forward_hooks_always_called, always_call)), prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        return self._add_hook(self._backward_hooks, hook, (), prepend)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook, prepend=False):
        return self._add_hook(self._backward_pre_hooks, hook, (), prepend)

    def _call_impl(self, *args, **kwargs):
        own = self.__dict__
        if args and is_symbol(args[0]):
            # data that nobody knows: what comes out tells nothing of the network
            return _pellucid.symbol(type(self).__name__ + '(' + _pellucid.symbol_text(args[0]) + ')', _pellucid.symbol_why(args[0]))
        if '_forward_hooks' not in own and '_forward_pre_hooks' not in own and not _global_forward_hooks:
            return self.forward(*args, **kwargs)
        for key, hook in [*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()]:
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for key, hook in [*_global_forward_hooks.items(), *self._forward_hooks.items()]:
            if key in self._forward_hooks_with_kwargs:
                changed = hook(self, args, kwargs, result)
            else:
                changed = hook(self, args, result)
            if changed is not None:
                result = changed
        return result

    _wrapped_call_impl = _call_impl
    __call__ = _call_impl

    def _slow_forward(self, *input, **kwargs):
        return self.forward(*input, **kwargs)

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop('_compiled_call_impl', None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)

    def _register_state_dict_hook(self, hook):
        return self._add_hook(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        hook._from_public_api = True
        return self._add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        return self._add_hook(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return self._add_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        return self._add_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook):
        return self._add_hook(self._load_state_dict_post_hooks, hook)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix='', keep_vars=False):
        if args:
            if destination is None:
                destination = args[0]
            if len(args) > 1 and prefix == '':
                prefix = args[1]
            if len(args) > 2 and keep_vars is False:
                keep_vars = args[2]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        own = self.__dict__
        metadata = {'version': self._version}
        if hasattr(destination, '_metadata'):
            destination._metadata[prefix[:-1]] = metadata
        if '_state_dict_pre_hooks' in own:
            for hook in own['_state_dict_pre_hooks'].values():
                hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in own['_modules'].items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + '.', keep_vars=keep_vars)
        if '_state_dict_hooks' in own:
            for hook in own['_state_dict_hooks'].values():
                result = hook(self, destination, prefix, metadata)
                if result is not None and not getattr(hook, '_from_public_api', False):
                    destination = result
        return destination

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        pass

    def load_state_dict(self, state_dict, strict=True, assign=False):
        return _IncompatibleKeys([], [])

    def _named_members(self, get_members_fn, prefix='', recurse=True, remove_duplicate=True):
        memo = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_prefix, module in modules:
            for name, value in get_members_fn(module):
                if value is None or id(value) in memo:
                    continue
                if remove_duplicate:
                    memo.add(id(value))
                yield module_prefix + ('.' if module_prefix else '') + name, value

    def parameters(self, recurse=True):
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(self, prefix='', recurse=True, remove_duplicate=True):
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix='', recurse=True, remove_duplicate=True):
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self):
        for _, module in self.named_children():
            yield module

    def named_children(self):
        memo = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in memo:
                memo.add(id(module))
                yield name, module

    def modules(self, remove_duplicate=True):
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo=None, prefix='', remove_duplicate=True):
        if memo is None:
            memo = set()
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    yield from module.named_modules(memo, prefix + ('.' if prefix else '') + name, remove_duplicate)

    def train(self, mode=True):
        if not isinstance(mode, bool):
            raise ValueError('training mode is expected to be boolean')
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        pass

    def share_memory(self):
        return self

    def _get_name(self):
        return self.__class__.__name__

    def extra_repr(self):
        return ''

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split('\n') if extra else []
        children = ['(%s): %s' % (name, _addindent(repr(module), 2)) for name, module in self._modules.items()]
        head = self._get_name() + '('
        if lines or children:
            if len(lines) == 1 and not children:
                head += lines[0]
            else:
                head += '\n  ' + '\n  '.join(lines + children) + '\n'
        return head + ')'

    def __dir__(self):
        names = list(dir(self.__class__)) + list(self.__dict__) + list(self._parameters) + list(self._modules) + list(self._buffers)
        return sorted([name for name in names if not name[0].isdigit()])

    def _replicate_for_data_parallel(self):
        return self

    def compile(self, *args, **kwargs):
        pass
