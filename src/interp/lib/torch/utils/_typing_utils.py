def copy_func_params(source):
    return lambda function: function


copy_method_params = copy_func_params


def not_none(obj):
    return obj
