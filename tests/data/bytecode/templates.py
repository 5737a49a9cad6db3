"""t-strings, which keep the text of their fields."""


def templates(a, b):
    x = t"hello {a!r:>{b}} and { b + 1 } {a = }"
    return t"", t"{a}", t"x{a:b}{b!s}", t"{-1}{a[1:2]}{[v for v in a if v]}", t"{t'{a}'} {f'{b}x'}", x


class Owner:
    def method(self, n):
        return t"{self.__private:{n}} {n.m(1)!a}"
