"""How many units there are: exactly where that is public, otherwise a noisy count; and what it makes of supports."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Self

from fim_private.dp.randomness import Randomness
from fim_private.mining import noisy_supports
from fim_private.mining.noisy_supports import CONFIDENCE, SupportNoise
from fim_private.rules.association import Slice

# A share of a noisy number of units is an interval with 95 % probability, if the interval of the support misses with
# 4 % at most and that of the number of units with 1 %.
SUPPORT_CONFIDENCE, UNITS_CONFIDENCE = Fraction(96, 100), Fraction(99, 100)
# Of so many slices of the number of units the bounds of rules are hardly wider than of more.
_SLICES = 16


@dataclass(frozen=True)
class UnitCount:
    """A number of units, >= 0. noise: what it has; None where it is exact."""

    number: int
    noise: SupportNoise | None = None

    @classmethod
    def noisy(cls, units: int, noise: SupportNoise, randomness: Randomness) -> Self:
        """Return the number with noise, at least 0: one unit more or less moves it by 1."""
        [number] = noisy_supports.release([units], noise, randomness=randomness)
        return cls(max(number, 0), noise)

    @property
    def interval(self) -> tuple[int, int] | None:
        """The (lowest, highest) number there may be, with 95 % probability; None where it is exact."""
        return None if self.noise is None else self.within(CONFIDENCE)

    def within(self, confidence: Fraction) -> tuple[int, int]:
        """Return (lowest, highest), >= 0, between which the true number lies with at least this probability."""
        width = 0 if self.noise is None else self.noise.within(confidence)
        return max(self.number - width, 0), self.number + width

    def slices(self, confidence: Fraction, *, moving: bool) -> list[Slice]:
        """Return slices of the numbers there may be, with this probability.

        moving: whether supports have two normals: given a number of units that is higher by 1, they are higher by 1/2.
        """
        fewest, most = self.within(confidence)
        if not moving:
            return [Slice(fewest, most)]
        ends = [fewest + (most - fewest) * part / _SLICES for part in range(_SLICES + 1)]
        return [Slice(low, high, (low - self.number) / 2, (high - self.number) / 2) for low, high in pairwise(ends)]

    def share_interval(self, lowest: int, highest: int) -> tuple[float, float]:
        """Return an interval of a support's share of all units, 0 to 1.

        lowest, highest: of the support, with SUPPORT_CONFIDENCE at least. The share is in it with 95 % probability.
        """
        fewest, most = self.within(UNITS_CONFIDENCE)
        return min(lowest / max(most, 1), 1.0), min(highest / fewest, 1.0) if fewest else 1.0
