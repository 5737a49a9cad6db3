"""What torch.nn needs of the script compiler: nothing is compiled here."""

from typing import Final, Any


class _Broadcasting:
    def __getitem__(self, item):
        return item


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = _Broadcasting()
BroadcastingList5 = BroadcastingList6 = BroadcastingListCls = BroadcastingList1


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    def dispatched(*args, **kwargs):
        flag = default
        if arg_name in kwargs:
            flag = kwargs[arg_name]
        elif arg_index < len(args):
            flag = args[arg_index]
        return (if_true if flag else if_false)(*args, **kwargs)

    dispatched.__name__ = func_name
    dispatched.__module__ = module_name
    return dispatched


def _overload(function):
    return function


_overload_method = export = unused = ignore = _copy_to_script_wrapper = _overload


def ignore(drop=False, **kwargs):
    return drop if callable(drop) else lambda function: function


def is_scripting():
    return False


def _script_if_tracing(function):
    return function


class Future:
    pass


RRef = Await = Future
