"""Loops whose last jump back is not at their end: compilers since 3.14 lead it on, or leave none."""


def ends_in_raise(event):
    while True:
        event.wait(0.1)
        if event.is_set():
            break
        if event.is_late():
            raise TimeoutError("late")
    send(event)


def breaks_to_outer(file):
    while True:
        text = file.read()
        if not text:
            flush()
            return
        while True:
            i = text.find("x")
            if i < 0:
                keep(text)
                break
            text = text[i:]


def leaves_by_hand(context):
    entered = context.__enter__()
    result = call(entered)
    context.__exit__(None, None, None)
    return result


def with_in_finally(name):
    try:
        yield name
    finally:
        if name:
            if is_folder(name):
                with suppress(OSError):
                    remove_folder(name)
            else:
                with suppress(OSError):
                    remove(name)
    done(name)


def chooses(c):
    return ("a" if c else "b",)


def asserts(x):
    if x is True:
        assert False, "message"


def doubles():
    return {1, 2, 2}
