def get_overwrite_module_params_on_conversion():
    return False


def get_swap_module_params_on_conversion():
    return False


def set_overwrite_module_params_on_conversion(value):
    pass


set_swap_module_params_on_conversion = set_overwrite_module_params_on_conversion
