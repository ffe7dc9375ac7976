"""Bisection over whole numbers."""

from __future__ import annotations

from collections.abc import Callable


def least(holds: Callable[[int], bool], start: int) -> int:
    """Return the least integer >= start of which a condition holds that, once it holds, goes on holding."""
    low, high = start - 1, start
    while not holds(high):
        low, high = high, max(2 * high, high + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
