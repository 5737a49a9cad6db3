"""What compilers since 3.14 write in a new way. tests/python/dis_reference.py makes the .pyc and .json files."""
import asyncio
from os import *


def arithmetic(a, b, c=7):
    assert a, "no a"
    total = a + b * c - 300
    total += a[b]
    a[1:2] = b[1:2, ::3]
    return {"x": total, "y": None, "z": a[b:c]}


def contexts(path, other):
    with open(path) as file, other:
        for line in file:
            if line is None:
                continue
            if line == "stop":
                break
            yield line
        return
    raise NotImplementedError


def comprehensions(rows, *rest, **more):
    numbers = [x * 2 for x in rows if x]
    names = {x: {y for y in x} for x in rows}
    if any(x > 1 for x in rows) and all(numbers):
        return tuple(x for x in names), print(*rest, **more)
    return (yield from numbers)


async def waits(source):
    async with source as opened:
        async for x in opened:
            await asyncio.sleep(x)
    try:
        return [y async for y in source]
    except* (OSError, ValueError) as group:
        print(f"{group!r:>10} and {source}")
    finally:
        del source


class Shape[T]:
    sides: int = 4
    name: "str"

    def area(self, x: int, y: float = 0.5) -> float:
        def inner():
            return super(Shape, self).area(x, y) + self.sides
        self.x, self.y = x, y
        return inner()

    def kind(self, value):
        match value:
            case [1, *rest]:
                return rest
            case {"k": k, **rest}:
                return k, rest
            case Shape(sides=3):
                return -1
        return super().kind(value)
