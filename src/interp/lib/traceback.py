"""Tracebacks are the interpreter's business."""


def format_exc(*args, **kwargs):
    return ''


format_stack = extract_stack = extract_tb = format_tb = lambda *args, **kwargs: []


def format_exception(*args, **kwargs):
    return []


def print_exc(*args, **kwargs):
    pass


print_stack = print_exception = print_tb = print_exc


class FrameSummary:
    pass


class TracebackException:
    pass
