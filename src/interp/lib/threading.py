"""One thread."""


class Lock:
    def acquire(self, blocking=True, timeout=-1):
        return True

    def release(self):
        pass

    def locked(self):
        return False

    def __enter__(self):
        return True

    def __exit__(self, *error):
        return False


RLock = Semaphore = BoundedSemaphore = lambda *args: Lock()


class Condition(Lock):
    def __init__(self, lock=None):
        pass

    def wait(self, timeout=None):
        return True

    def notify(self, n=1):
        pass

    notify_all = notify


class Event:
    def __init__(self):
        self._flag = False

    def is_set(self):
        return self._flag

    def set(self):
        self._flag = True

    def clear(self):
        self._flag = False

    def wait(self, timeout=None):
        return self._flag


class local:
    pass


class Thread:
    """Made, never run."""

    daemon = False
    name = 'Thread'

    def __init__(self, group=None, target=None, name=None, args=(), kwargs=None, *, daemon=None):
        self._target = target

    def start(self):
        pass

    join = run = start

    def is_alive(self):
        return False


Timer = Thread
_main = Thread()
_main.name = 'MainThread'
_main.ident = 1


def current_thread():
    return _main


main_thread = currentThread = current_thread


def get_ident():
    return 1


get_native_id = get_ident


def active_count():
    return 1


def enumerate():
    return [_main]
