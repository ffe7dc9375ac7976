"""Bisection over whole numbers, for conditions that go on holding once they hold."""

from __future__ import annotations

from collections.abc import Callable


def least(holds: Callable[[int], bool], start: int, most: int | None = None) -> int:
    """Return the least integer >= start of which a condition holds.

    most: what is returned where it holds of none below; whether it holds of that one is not asked.
    """
    low, high = start - 1, start
    while high != most and not holds(high):
        low, high = high, max(2 * high, high + 1)
        high = high if most is None else min(high, most)
    return least_between(holds, low, high)


def least_between(
    holds: Callable[[int], bool], low: int, high: int, guess: int | None = None
) -> int:
    """Return the least integer in (low, high] of which a condition holds, which holds of high and
    not of low.

    guess: is tried first, and whether it is the least.
    """
    probes = [] if guess is None else [guess - 1, guess]
    while high - low > 1:
        middle = probes.pop() if probes else (low + high) // 2
        if low < middle < high:
            low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def least_lasting(holds: Callable[[int], bool], low: int, start: int, run: int) -> int:
    """Return about the least integer above low of which a condition holds, and of the run - 1 after
    it.

    start: above low, tried first. For conditions that go on holding but for rounding.
    """
    high = start
    while not holds(high):
        low, high = high, 2 * high
    found = least_between(holds, low, high)
    while failures := [n for n in range(found, found + run) if not holds(n)]:
        found = failures[-1] + 1
    return found
