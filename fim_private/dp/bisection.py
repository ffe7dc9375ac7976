"""Bisection over whole numbers, in the one form that samplers, thresholds and plans need."""

from __future__ import annotations

from collections.abc import Callable


def least_integer(holds: Callable[[int], bool], first: int, last: int | None = None) -> int:
    """Return the least integer >= first for which a condition holds.

    The condition must be monotone: once it holds, it holds for all larger integers.
    last: an integer >= first for which the condition is known to hold; None: the search goes on until it holds.

    >>> least_integer(lambda n: n * n >= 50, 0), least_integer(lambda n: n * n >= 50, 0, 7), least_integer(bool, 0)
    (8, 7, 1)
    """
    if last is None:
        step = 1
        while not holds(first + step - 1):
            step *= 2
        first, last = first + step // 2, first + step - 1
    while first < last:
        middle = (first + last) // 2
        if holds(middle):
            last = middle
        else:
            first = middle + 1
    return first
