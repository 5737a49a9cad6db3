"""itertools, as generators."""


class chain:
    def __init__(self, *iterables):
        self.items = _chained(iterables)

    @classmethod
    def from_iterable(cls, iterables):
        self = cls()
        self.items = _chained(iterables)
        return self

    def __iter__(self):
        return self.items

    def __next__(self):
        return next(self.items)


def _chained(iterables):
    for iterable in iterables:
        for item in iterable:
            yield item


def product(*iterables, repeat=1):
    result = [()]
    for pool in [list(iterable) for iterable in iterables] * repeat:
        result = [row + (item,) for row in result for item in pool]
    return iter(result)


def count(start=0, step=1):
    while True:
        yield start
        start += step


def cycle(iterable):
    saved = list(iterable)
    while saved:
        for item in saved:
            yield item


class repeat:
    def __init__(self, object, times=None):
        self.object = object
        self.times = times

    def __iter__(self):
        if type(self.times) is int and self.times <= 16:  # as (x,) * n, which most of them are
            rest, self.times = [self.object] * self.times, 0
            return iter(rest)
        return self

    def __next__(self):
        if self.times is not None:
            if self.times <= 0:
                raise StopIteration
            self.times -= 1
        return self.object

    def __len__(self):
        return self.times


def islice(iterable, *args):
    bounds = slice(*args)
    start = bounds.start or 0
    step = bounds.step or 1
    stop = bounds.stop
    if stop is not None and stop <= start:
        return
    wanted = start
    for i, item in enumerate(iterable):
        if i == wanted:
            yield item
            wanted += step
        if stop is not None and i + 1 >= stop:
            return


def zip_longest(*iterables, fillvalue=None):
    lists = [list(iterable) for iterable in iterables]
    for i in range(max([len(x) for x in lists], default=0)):
        yield tuple([x[i] if i < len(x) else fillvalue for x in lists])


def accumulate(iterable, func=None, *, initial=None):
    total = initial
    first = initial is None
    if not first:
        yield total
    for item in iterable:
        if first:
            total = item
            first = False
        else:
            total = total + item if func is None else func(total, item)
        yield total


def groupby(iterable, key=None):
    group = None
    for item in iterable:
        k = item if key is None else key(item)
        if group is None or k != current:
            if group is not None:
                yield current, iter(group)
            group = []
            current = k
        group.append(item)
    if group is not None:
        yield current, iter(group)


def permutations(iterable, r=None):
    pool = tuple(iterable)
    n = len(pool)
    r = n if r is None else r
    for indices in product(range(n), repeat=r):
        if len(set(indices)) == r:
            yield tuple([pool[i] for i in indices])


def combinations(iterable, r):
    pool = tuple(iterable)
    n = len(pool)
    if r > n:
        return
    indices = list(range(r))
    yield tuple([pool[i] for i in indices])
    while True:
        for i in range(r - 1, -1, -1):
            if indices[i] != i + n - r:
                break
        else:
            return
        indices[i] += 1
        for j in range(i + 1, r):
            indices[j] = indices[j - 1] + 1
        yield tuple([pool[i] for i in indices])


def combinations_with_replacement(iterable, r):
    pool = tuple(iterable)
    for indices in product(range(len(pool)), repeat=r):
        if sorted(indices) == list(indices):
            yield tuple([pool[i] for i in indices])


def starmap(function, iterable):
    for args in iterable:
        yield function(*args)


def takewhile(predicate, iterable):
    for item in iterable:
        if not predicate(item):
            return
        yield item


def dropwhile(predicate, iterable):
    dropping = True
    for item in iterable:
        if dropping and predicate(item):
            continue
        dropping = False
        yield item


def filterfalse(predicate, iterable):
    for item in iterable:
        if not (item if predicate is None else predicate(item)):
            yield item


def compress(data, selectors):
    for item, keep in zip(data, selectors):
        if keep:
            yield item


def pairwise(iterable):
    first = True
    for item in iterable:
        if not first:
            yield last, item
        last = item
        first = False


def batched(iterable, n):
    batch = []
    for item in iterable:
        batch.append(item)
        if len(batch) == n:
            yield tuple(batch)
            batch = []
    if batch:
        yield tuple(batch)


def tee(iterable, n=2):
    saved = list(iterable)
    return tuple([iter(saved) for _ in range(n)])
