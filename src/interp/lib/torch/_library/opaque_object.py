def is_opaque_type(cls):
    return False


is_opaque_value_type = is_opaque_reference_type = is_opaque_value = is_opaque_type
is_opaque_symbolic_type = is_opaque_type


def register_opaque_type(cls, *args, **kwargs):
    return cls
