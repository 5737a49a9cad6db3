"""The clock is not read."""

import _pellucid


def _unknown(name):
    return lambda *args: _pellucid.symbol('time.%s()' % name)


for _name in ('time', 'time_ns', 'monotonic', 'monotonic_ns', 'perf_counter', 'perf_counter_ns', 'process_time', 'localtime',
              'gmtime', 'strftime', 'ctime', 'asctime', 'mktime', 'thread_time'):
    globals()[_name] = _unknown(_name)


def sleep(seconds):
    pass


timezone = 0
tzname = ('UTC', 'UTC')
struct_time = tuple
