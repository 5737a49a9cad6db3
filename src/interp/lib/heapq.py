"""Heaps, kept sorted."""

from bisect import insort


def heappush(heap, item):
    insort(heap, item)


def heappop(heap):
    return heap.pop(0)


def heapify(x):
    x.sort()


def heappushpop(heap, item):
    heappush(heap, item)
    return heappop(heap)


def heapreplace(heap, item):
    first = heappop(heap)
    heappush(heap, item)
    return first


def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[:n]


def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[:n]


def merge(*iterables, key=None, reverse=False):
    return iter(sorted([x for iterable in iterables for x in iterable], key=key, reverse=reverse))
