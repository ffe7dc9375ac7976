"""The noise of a rank search: what all steps share, and what each step draws for itself.

The slack of step ℓ is c(1) - c(ℓ+1) less its threshold. ``TwoSidedSteps`` is for the large margin mechanism: X = Z - G
and Z_ℓ, all discrete Laplace; step ℓ stops when Z_ℓ < slack + X. ``OneSidedSteps`` is for the tight margin mechanism:
G >= 0 and Z_ℓ >= 0, geometric; step ℓ stops when Z_ℓ >= G - slack, so X is -G.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.intervals import Bounds, exp_bounds, laplace_tail_bounds
from fim_private.dp.randomness import Randomness, discrete_laplace_integer, geometric
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.laplace_sum import LaplaceSum

# The largest 1/b with which the sum of the remaining hazards is bounded.
_LARGEST_RATE = 400
# Most noise values that a distribution averages over: 100 MB or so of memory.
_LARGEST_REACH = 1 << 21
# No noise of scale 1 reaches this with a probability above 1e-18.
_REACH = 42


class StepNoise(Protocol):
    """Integer noise X, in units, that all steps share, and the probability that a step stops given slack + X."""

    @property
    def step_reach(self) -> int:
        """The least slack, in units, from which a step stops with a probability of 1, up to 1e-18."""
        ...

    @property
    def rest_factor(self) -> int | None:
        """An F with Σ_{j >= ℓ} h(j) <= F (ℓ + 2) h(ℓ) for the hazards h of zeros without slack (docs/privacy.md, "Exact
        distribution"); None where no such bound holds.
        """
        ...

    def shared(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the values of X, consecutive, and their probabilities: (n,) int64 and (n,) float64.

        Tails below 1e-18 are cut. Raises ParameterError where the values do not fit in memory.
        """
        ...

    def draw_shared(self, randomness: Randomness) -> int:
        """Draw X, exactly."""
        ...

    def hazard(self, slack: int, bits: int) -> Bounds:
        """Bound ``2**bits`` times the probability that a step stops; slack includes X."""
        ...

    def most_hazard(self, slack: int) -> float:
        """Return a bound, from above up to rounding, of the probability that a step stops; slack includes X."""
        ...

    def log_stay(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(a step does not stop), (n,) float64, for each slack, which includes X: (n,) float64."""
        ...


@dataclass(frozen=True)
class TwoSidedSteps:
    """The large margin mechanism's discrete Laplace noise: Z on the maximum and G, both shared (X = Z - G), and Z_ℓ.

    The scales are in units, > 0, and those of Z and G differ.
    """

    maximum_scale: Fraction
    shared_scale: Fraction
    step_scale: Fraction

    @property
    def step_reach(self) -> int:
        """The least slack, in units, from which a step stops with a probability of 1, up to 1e-18."""
        return math.ceil(_REACH * self.step_scale)

    @property
    def rest_factor(self) -> int | None:
        """An integer of at least e^{1/b}; None where there is next to no noise, and it would be astronomic.

        T grows by at least (30/ε) ln((j+1)/(ℓ+1)) from ℓ to j, up to its rounding by less than 1, so
        h(j) <= e^{1/b} ((ℓ+1)/(j+1))^{5/2} h(ℓ) with b = 12/ε; the sum over j > ℓ is at most 2(ℓ+1)/3 times e^{1/b}
        h(ℓ).
        """
        rate = 1 / self.step_scale
        return int(3 ** math.ceil(rate)) if rate <= _LARGEST_RATE else None

    def shared(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the values and probabilities of X = Z - G (docs/privacy.md, equation (6)); see StepNoise."""
        reach = _checked(math.ceil(_REACH * max(self.maximum_scale, self.shared_scale)))
        x = np.arange(-reach, reach + 1)
        return x, LaplaceSum.of([self.maximum_scale, self.shared_scale]).pmf(x)

    def draw_shared(self, randomness: Randomness) -> int:
        """Draw X = Z - G."""
        maximum = discrete_laplace_integer(self.maximum_scale, randomness=randomness)
        return maximum - discrete_laplace_integer(self.shared_scale, randomness=randomness)

    def hazard(self, slack: int, bits: int) -> Bounds:
        """Bound ``2**bits * P(Z_ℓ < slack)``, which is P(Z_ℓ >= 1 - slack), as Z_ℓ is symmetric."""
        return laplace_tail_bounds(self.step_scale, 1 - slack, bits)

    def most_hazard(self, slack: int) -> float:
        """Return a bound of P(Z_ℓ < slack), which is e^{-(1 - slack)/b} / (1 + e^{-1/b}) for slack <= 0."""
        return math.exp((slack - 1) * self._step_rate) if slack <= 0 else 1.0

    @cached_property
    def _step_rate(self) -> float:
        return float(1 / self.step_scale)

    def log_stay(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(Z_ℓ >= slack): (n,) float64."""
        scale = float(self.step_scale)
        normaliser = math.log1p(math.exp(-1 / scale))
        above = -np.maximum(slack, 1) / scale - normaliser
        below = np.log1p(-np.exp(-(1 - np.minimum(slack, 0)) / scale - normaliser))
        return np.where(slack >= 1, above, below)


@dataclass(frozen=True)
class OneSidedSteps:
    """The tight margin mechanism's geometric noise: G >= 0, shared, and Z_ℓ >= 0.

    P(G >= k) = e^{-shared_rate k} and P(Z_ℓ >= k) = e^{-step_rate k} for k >= 0. The rates are per unit, > 0.
    """

    shared_rate: Fraction
    step_rate: Fraction

    @property
    def step_reach(self) -> int:
        """0: from there on every step stops."""
        return 0

    @property
    def rest_factor(self) -> int | None:
        """None: no bound is needed, as the search ends at a cap."""
        return None

    def shared(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the values and probabilities of X = -G; see StepNoise."""
        reach = _checked(math.ceil(_REACH / self.shared_rate))
        x = np.arange(-reach, 1)
        return x, -np.expm1(-float(self.shared_rate)) * np.exp(float(self.shared_rate) * x)

    def draw_shared(self, randomness: Randomness) -> int:
        """Draw X = -G."""
        return -int(geometric(self.shared_rate, 1, randomness=randomness)[0])

    def hazard(self, slack: int, bits: int) -> Bounds:
        """Bound ``2**bits * P(Z_ℓ >= -slack)``."""
        return exp_bounds(self.step_rate.numerator * max(-slack, 0), self.step_rate.denominator, bits)

    def most_hazard(self, slack: int) -> float:
        """Return P(Z_ℓ >= -slack)."""
        return math.exp(self._step_rate * min(slack, 0))

    @cached_property
    def _step_rate(self) -> float:
        return float(self.step_rate)

    def log_stay(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(Z_ℓ < -slack), which is minus infinity from 0 on: (n,) float64."""
        with np.errstate(divide="ignore"):
            return np.log(-np.expm1(float(self.step_rate) * np.minimum(slack, 0)))


def _checked(reach: int) -> int:
    """Return the reach of noise. Raises ParameterError where a distribution over it would not fit in memory."""
    if reach > _LARGEST_REACH:
        raise ParameterError(
            f"{parameter('epsilon')} is too small for the exact distribution to be held in memory; select still works"
        )
    return reach
