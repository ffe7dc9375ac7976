"""Straight lines through what was measured: seconds, or bytes, against baskets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """start: its value at no baskets. slope: for each basket."""

    start: float
    slope: float

    def at(self, baskets: float) -> float:
        """Return its value."""
        return self.start + self.slope * baskets


def through_largest(points: Mapping[int, float]) -> Line | None:
    """Return the line through the two points of the most baskets; None for fewer than two points."""
    if len(points) < 2:
        return None
    (low, of_low), (high, of_high) = sorted(points.items())[-2:]
    slope = (of_high - of_low) / (high - low)
    return Line(of_low - slope * low, slope)


def crossing(slow_start: Line, fast_start: Line) -> float | None:
    """Return from how many baskets on the first line is below the second; None where it never is."""
    if slow_start.slope >= fast_start.slope:
        return None
    return max(0.0, (slow_start.start - fast_start.start) / (fast_start.slope - slow_start.slope))
