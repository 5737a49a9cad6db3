"""Handles of hooks."""


class RemovableHandle:
    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks = hooks_dict
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self):
        if self.id in self.hooks:
            del self.hooks[self.id]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


class BackwardHook:
    def __init__(self, module, user_hooks, user_pre_hooks):
        pass

    def setup_input_hook(self, args):
        return args

    def setup_output_hook(self, args):
        return args


def unserializable_hook(function):
    return function


def warn_if_has_hooks(tensor):
    pass
