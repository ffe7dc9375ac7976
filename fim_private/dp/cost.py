"""What a mechanism costs, as exact numbers, and how these are written.

They are written exactly, or rounded to the safe side: spending is rounded up, and what is left is
rounded down.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from typing import Any

from fim_private.dp.bounds import quotient

# As a caller gives it: a float stands for what its digits say.
Number = float | Fraction


class Exact(Fraction):
    """An exact share of a budget: a Fraction that takes a float for the decimal number its digits
    say.

    Exact(0.1) is 1/10, and compares as equal to the float 0.1, which no other Fraction does. Made a
    float, and so wherever it is printed, it is the least float whose digits say no less. A
    guarantee must not be rounded down. (A format such as .3g rounds that float like any other;
    at_least does not.) Arithmetic on it gives plain Fractions.
    """

    __slots__ = ()

    def __new__(cls, value: Number, denominator: int | None = None) -> Exact:
        """Return the value, or value / denominator; a float stands for the decimal number that its
        repr shows.
        """
        return super().__new__(cls, by_digits(value), denominator)

    def __float__(self) -> float:
        nearest = self.numerator / self.denominator
        return nearest if by_digits(nearest) >= self else math.nextafter(nearest, math.inf)

    def __repr__(self) -> str:
        return repr(float(self))

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return format(float(self), form)

    def __reduce__(self) -> tuple[type[Exact], tuple[int, int]]:
        return type(self), (self.numerator, self.denominator)

    # A float equal to it may have another hash: nothing here uses both as keys.
    __hash__ = Fraction.__hash__

    def __eq__(self, number: object) -> bool:
        return super().__eq__(by_digits(number))

    def __lt__(self, number: Any) -> bool:
        return super().__lt__(by_digits(number))

    def __le__(self, number: Any) -> bool:
        return super().__le__(by_digits(number))

    def __gt__(self, number: Any) -> bool:
        return super().__gt__(by_digits(number))

    def __ge__(self, number: Any) -> bool:
        return super().__ge__(by_digits(number))


def by_digits(value: Any) -> Any:
    """Return a finite float of any width as the rational that was typed, its shortest decimal form;
    else the value.
    """
    if not isinstance(value, numbers.Real) or isinstance(value, numbers.Rational):
        return value
    if not math.isfinite(value):
        return float(value)
    # Those of numpy's float32 are fewer than those of the float that is equal to it.
    if isinstance(value, float):
        return Fraction(repr(float(value)))
    return Fraction(str(value))


# A number of so few digits was given by somebody, who is to see it again. What is computed has
# more: it is read with 3. For programs a number has up to 15, or 6.
_GIVEN_DIGITS, _READ_DIGITS = 8, 3


def at_least(value: Number) -> str:
    """Write a number of a guarantee: exactly if 15 significant digits suffice, else rounded up to
    6 of them.
    """
    return _written(value, 15, 6, ROUND_CEILING)


def at_most(value: Number) -> str:
    """Write what is left of a budget: exactly if 15 significant digits suffice, else rounded down
    to 6.
    """
    return _written(value, 15, 6, ROUND_FLOOR)


def least_in_words(value: Number) -> str:
    """Write a number of a guarantee for people: as it was given, or with three digits, rounded
    up.
    """
    return _written(value, _GIVEN_DIGITS, _READ_DIGITS, ROUND_CEILING)


def most_in_words(value: Number) -> str:
    """Write what is left of a budget for people: as it was given, or with three digits, rounded
    down.
    """
    return _written(value, _GIVEN_DIGITS, _READ_DIGITS, ROUND_FLOOR)


def one_in_words(probability: Number) -> str:
    """Write a probability > 0 as "one in 165,000": the number has three digits, and is rounded
    down.
    """
    odds = math.floor(1 / Exact(probability))
    if odds < 10**_READ_DIGITS:
        return f"one in {odds:,}" if odds else "one"
    unread = odds % 10 ** (len(str(odds)) - _READ_DIGITS)
    return f"one in {odds - unread:,}"


def rounded_down(value: Fraction) -> float:
    """Return the largest float, >= 0, whose digits say no more than a number >= 0: of what is left
    of a budget.
    """
    nearest = value.numerator / value.denominator
    return nearest if by_digits(nearest) <= value else max(math.nextafter(nearest, -math.inf), 0.0)


def rounded_up(value: Number, digits: int) -> str:
    """Write a number with `digits` significant digits, >= 1, rounded up."""
    return _written(value, digits, digits, ROUND_CEILING)


def _written(value: Number, most_digits: int, digits: int, rounding: str) -> str:
    """Write a number exactly if so many digits suffice, else rounded to `digits` of them."""
    exact = Exact(value)
    written = f"{float(exact):.{most_digits}g}"
    if Fraction(written) == exact:
        return written
    return f"{float(quotient(Context(prec=digits, rounding=rounding), exact)):.{digits}g}"


@dataclass(frozen=True, init=False)
class PrivacyCost:
    """The (epsilon, delta) that a mechanism spends: known before any data is seen, exact, and not
    checked here.

    epsilon: > 0. delta: in [0, 1), and 0 for a purely private mechanism. Floats are taken for what
    their digits say.
    """

    epsilon: Exact
    delta: Exact

    def __init__(self, epsilon: Number, delta: Number) -> None:
        vars(self).update(epsilon=Exact(epsilon), delta=Exact(delta))

    @property
    def in_words(self) -> str:
        """What it is, rounded up, such as "ε = 1, δ = 1e-06"."""
        return f"ε = {least_in_words(self.epsilon)}, δ = {least_in_words(self.delta)}"

    @property
    def as_total(self) -> str:
        """What several releases come to, such as "ε = 1 (stated at δ = 1e-06)".

        That δ is the one at which ε was asked for. The releases need not have used it up.
        """
        loss = f"ε = {least_in_words(self.epsilon)}"
        return f"{loss} (stated at δ = {least_in_words(self.delta)})" if self.delta else loss

    def to_dict(self) -> dict[str, float]:
        """Return plain values, rounded up to floats."""
        return {"epsilon": float(self.epsilon), "delta": float(self.delta)}


@dataclass(frozen=True, init=False)
class ZcdpCost:
    """What a release spends in zCDP: it is delta-approximately rho-zCDP, as exact as PrivacyCost.

    (Bun and Steinke, "Concentrated differential privacy", 2016, Definition 8.1.)

    Attributes:
        rho: > 0.
        delta: In [0, 1).
        normal: Whether all of its noise is normal, apart from picks that count as Gaussian
            (docs/privacy.md, Theorem 33). It is then delta-approximately √(2 rho)-GDP, too.
    """

    rho: Exact
    delta: Exact
    normal: bool

    def __init__(self, rho: Number, delta: Number, *, normal: bool = False) -> None:
        vars(self).update(rho=Exact(rho), delta=Exact(delta), normal=normal)
