"""The noise of a rank search: what all steps share, and what each step draws for itself.

``TwoSidedSteps`` is the large margin mechanism's: X = Z - G, and Z_ℓ, all discrete Laplace; step ℓ stops when
Z_ℓ < slack + X. ``OneSidedSteps`` is the tight margin's: G >= 0 and Z_ℓ >= 0, geometric; step ℓ stops when
Z_ℓ >= G - slack, X being -G.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.intervals import Bounds, exp_bounds, laplace_tail_bounds
from fim_private.dp.randomness import Randomness, discrete_laplace_integer, geometric
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.laplace_sum import LaplaceSum

# The largest 1/b with which the sum of the remaining hazards is bounded.
_LARGEST_RATE = 400
# Noise values the distribution averages over: 100 MB or so of working memory.
_LARGEST_REACH = 1 << 21
# No noise of scale 1 reaches this with a probability above 1e-18.
_REACH = 42


class StepNoise(Protocol):
    """Integer noise X that all steps share, and the probability that a step stops given slack + X."""

    @property
    def step_reach(self) -> int:
        """Slack from which a step stops, up to 1e-18."""
        ...

    @property
    def rest_factor(self) -> int | None:
        """F with Σ_{j >= ℓ} h(j) <= F (ℓ + 2) h(ℓ) among zeros without slack; None where no such bound holds."""
        ...

    def shared(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the values of X, consecutive, and their probabilities, cut where the tail is below 1e-18."""
        ...

    def draw_shared(self, randomness: Randomness) -> int:
        """Draw X."""
        ...

    def hazard(self, slack: int, bits: int) -> Bounds:
        """Bound ``2**bits`` times the probability that a step stops; slack includes X."""
        ...

    def log_stay(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(a step does not stop) for each slack, which includes X."""
        ...


@dataclass(frozen=True)
class TwoSidedSteps:
    """Discrete Laplace noise: Z on the maximum and G, both shared, with X = Z - G, and Z_ℓ. Scales in units."""

    maximum_scale: Fraction
    shared_scale: Fraction
    step_scale: Fraction

    @property
    def step_reach(self) -> int:
        """Slack from which a step stops, up to 1e-18."""
        return math.ceil(_REACH * self.step_scale)

    @property
    def rest_factor(self) -> int | None:
        """An integer above e^{1/b}; None with next to no noise, where that is astronomic.

        T grows by at least (30/ε) ln((j+1)/(ℓ+1)) from ℓ to j, up to its rounding by less than 1, so
        h(j) <= e^{1/b} ((ℓ+1)/(j+1))^{5/2} h(ℓ) with b = 12/ε; the sum over j > ℓ is at most 2(ℓ+1)/3.
        """
        rate = 1 / self.step_scale
        return int(3 ** math.ceil(rate)) if rate <= _LARGEST_RATE else None

    def shared(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the values and probabilities of X = Z - G."""
        reach = _checked(math.ceil(_REACH * max(self.maximum_scale, self.shared_scale)))
        x = np.arange(-reach, reach + 1)
        return x, LaplaceSum.of([self.maximum_scale, self.shared_scale]).pmf(x)

    def draw_shared(self, randomness: Randomness) -> int:
        """Draw X = Z - G."""
        maximum = discrete_laplace_integer(self.maximum_scale, randomness=randomness)
        return maximum - discrete_laplace_integer(self.shared_scale, randomness=randomness)

    def hazard(self, slack: int, bits: int) -> Bounds:
        """P(Z_ℓ < slack) = P(Z_ℓ >= 1 - slack), Z_ℓ being symmetric."""
        return laplace_tail_bounds(self.step_scale, 1 - slack, bits)

    def log_stay(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(Z_ℓ >= slack)."""
        scale = float(self.step_scale)
        normaliser = math.log1p(math.exp(-1 / scale))
        above = -np.maximum(slack, 1) / scale - normaliser
        below = np.log1p(-np.exp(-(1 - np.minimum(slack, 0)) / scale - normaliser))
        return np.where(slack >= 1, above, below)


@dataclass(frozen=True)
class OneSidedSteps:
    """Geometric noise: P(G >= k) = e^{-shared_rate k}, P(Z_ℓ >= k) = e^{-step_rate k}, k >= 0. Rates per unit."""

    shared_rate: Fraction
    step_rate: Fraction

    @property
    def step_reach(self) -> int:
        """Slack from which a step stops."""
        return 0

    @property
    def rest_factor(self) -> int | None:
        """None: the search ends at a cap."""
        return None

    def shared(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the values and probabilities of X = -G."""
        reach = _checked(math.ceil(_REACH / self.shared_rate))
        x = np.arange(-reach, 1)
        return x, -np.expm1(-float(self.shared_rate)) * np.exp(float(self.shared_rate) * x)

    def draw_shared(self, randomness: Randomness) -> int:
        """Draw X = -G."""
        return -int(geometric(self.shared_rate, 1, randomness=randomness)[0])

    def hazard(self, slack: int, bits: int) -> Bounds:
        """P(Z_ℓ >= -slack)."""
        return exp_bounds(self.step_rate.numerator * max(-slack, 0), self.step_rate.denominator, bits)

    def log_stay(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(Z_ℓ < -slack), which is minus infinity from 0 on."""
        with np.errstate(divide="ignore"):
            return np.log(-np.expm1(float(self.step_rate) * np.minimum(slack, 0)))


def _checked(reach: int) -> int:
    if reach > _LARGEST_REACH:
        raise ParameterError(
            f"{parameter('epsilon')} is too small for the exact distribution to be held in memory; select still works"
        )
    return reach
