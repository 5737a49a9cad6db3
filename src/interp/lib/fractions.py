"""Rational numbers."""

import math


class Fraction:
    def __init__(self, numerator=0, denominator=1):
        if isinstance(numerator, float):
            numerator, denominator = numerator.as_integer_ratio()
        elif isinstance(numerator, str):
            top, _, bottom = numerator.partition('/')
            numerator, denominator = int(top), int(bottom or 1)
        elif isinstance(numerator, Fraction):
            numerator, denominator = numerator.numerator, numerator.denominator * denominator
        if denominator == 0:
            raise ZeroDivisionError('Fraction(%s, 0)' % numerator)
        common = math.gcd(numerator, denominator) * (-1 if denominator < 0 else 1)
        self.numerator = numerator // common
        self.denominator = denominator // common

    def _pair(self, other):
        return other if isinstance(other, Fraction) else Fraction(other)

    def __add__(self, other):
        other = self._pair(other)
        return Fraction(self.numerator * other.denominator + other.numerator * self.denominator, self.denominator * other.denominator)

    __radd__ = __add__

    def __neg__(self):
        return Fraction(-self.numerator, self.denominator)

    def __sub__(self, other):
        return self + -self._pair(other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        other = self._pair(other)
        return Fraction(self.numerator * other.numerator, self.denominator * other.denominator)

    __rmul__ = __mul__

    def __truediv__(self, other):
        other = self._pair(other)
        return Fraction(self.numerator * other.denominator, self.denominator * other.numerator)

    def __rtruediv__(self, other):
        return Fraction(other) / self

    def __eq__(self, other):
        other = self._pair(other)
        return self.numerator == other.numerator and self.denominator == other.denominator

    def __lt__(self, other):
        other = self._pair(other)
        return self.numerator * other.denominator < other.numerator * self.denominator

    def __le__(self, other):
        return self < other or self == other

    def __hash__(self):
        return hash((self.numerator, self.denominator))

    def __float__(self):
        return self.numerator / self.denominator

    def __int__(self):
        return int(self.numerator / self.denominator)

    def __repr__(self):
        return 'Fraction(%d, %d)' % (self.numerator, self.denominator)

    def __str__(self):
        return str(self.numerator) if self.denominator == 1 else '%d/%d' % (self.numerator, self.denominator)

    def limit_denominator(self, max_denominator=1000000):
        return self
