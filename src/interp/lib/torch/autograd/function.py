"""autograd.Function: apply is forward with a context that remembers nothing."""


class _Context:
    needs_input_grad = ()
    saved_tensors = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors):
        pass

    mark_dirty = mark_non_differentiable = set_materialize_grads = mark_shared_storage = save_for_forward


FunctionCtx = _Context


class Function(_Context):
    @classmethod
    def apply(cls, *args, **kwargs):
        context = _Context()
        if 'setup_context' in cls.__dict__:
            output = cls.forward(*args, **kwargs)
            cls.setup_context(context, args, output)
            return output
        return cls.forward(context, *args, **kwargs)

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError('You must implement the forward function for custom autograd.Function.')


InplaceFunction = NestedIOFunction = Function


def once_differentiable(function):
    return function
