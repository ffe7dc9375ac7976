"""What many private steps cost together: zCDP, Gaussian privacy, and the budget of a release."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from functools import lru_cache
from typing import Self

from fim_private.dp.bounds import (
    DOWN,
    LEAST_BOUND,
    UP,
    exp_bounds,
    ln,
    mills_ratio,
    normal_density,
    quotient,
)
from fim_private.dp.cost import Number, PrivacyCost, ZcdpCost
from fim_private.dp.parameters import (
    EPSILON_RANGE,
    exact_delta,
    exact_delta_or_zero,
    exact_epsilon,
    exact_rho,
)
from fim_private.errors import ParameterError, parameter

# In zero-concentrated differential privacy (zCDP) steps that are each ρ_i-zCDP are (Σ ρ_i)-zCDP
# together, even if each one depends on the outcomes before it (Bun and Steinke, "Concentrated
# differential privacy: simplifications, extensions, and lower bounds", 2016, Lemmas 1.7 and 2.3).
# Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020), Corollary
# 13, turns that into (ε, δ): for every α > 1, with x = α − 1,
#
#     ln δ = x((x+1)ρ − ε) − x ln(1 + 1/x) − ln(1 + x).    (C)
#
# Every x > 0 proves some ρ for a given ε, and some ε for a given ρ. Floats only choose a good x;
# what is returned is computed from (C) by directed rounding. For every epsilon and delta allowed ln
# x lies within this; e^±700 is a float.
_LOG_REACH = 700.0
# Stands for any larger delta, as a smaller one is a stronger guarantee: nearer to 1, ln δ would
# need more digits.
LARGEST_DELTA = 1 - Fraction(1, 10**30)
# A float and the Fraction equal to it are not the same epsilon.
_remembered = lru_cache(maxsize=1 << 10, typed=True)
_LEAST_EPSILON = Fraction(repr(EPSILON_RANGE[0]))
# Rates are rounded down to so many decimal digits: samplers are quicker with small denominators.
_RATE_DIGITS = 12
_TWELVE, _TWELVE_UP = (
    Context(prec=_RATE_DIGITS, rounding=side) for side in (ROUND_FLOOR, ROUND_CEILING)
)


def _rising_root(function: Callable[[float], float]) -> float:
    """Return the x from e^-700 to e^700 at which an increasing function becomes positive, to about
    1e-12 (relative).
    """
    low, high = -_LOG_REACH, _LOG_REACH
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if function(math.exp(middle)) < 0 else (low, middle)
    return math.exp(high)


@_remembered
def zcdp_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a ρ such that ρ-zCDP certainly implies (epsilon, delta)-privacy: equation (C) solved
    for ρ, rounded down.

    It has 12 significant digits and is within 2e-11 (relative) of the best that (C) gives; a delta
    above 1 - 1e-30 is taken for that. Raises ParameterError for an epsilon outside 1e-9 to 1e9 or a
    delta below 1e-300 or from 1 on.
    """
    epsilon, delta = exact_epsilon(epsilon), exact_delta(delta)
    log_delta = ln(DOWN, min(delta, LARGEST_DELTA))
    spare, rate = -float(log_delta), float(epsilon)
    # Where ρ(x) is largest: the numerator of its derivative, negated. ρ(x) is quasi-concave, for
    # {x: ρ(x) >= r} is where the convex (C) is at most ln δ; so there is one root, and near it x
    # hardly matters.
    best = _rising_root(
        lambda x: x * x * (rate + math.log1p(1 / x)) - (2 * x + 1) * (spare - math.log1p(x))
    )
    x = Fraction(f"{best:.12e}")
    # Certified: ρ(x) = (ln δ + xε − x ln x + (x+1) ln(1+x)) / (x(x+1)), rounded down.
    numerator = log_delta + x * epsilon - x * ln(UP, x) + (x + 1) * ln(DOWN, x + 1)
    return Fraction(quotient(_TWELVE, numerator / (x * (x + 1))))


@_remembered
def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon such that rho-zCDP certainly implies (epsilon, delta)-privacy: (C) solved
    for ε, rounded up.

    rho: 1e-18 to 1e8. As exact as zcdp_rho, and at least 1e-9. Raises ParameterError for what is
    out of range.
    """
    rho, delta = exact_rho(rho), min(exact_delta(delta), LARGEST_DELTA)
    spare = -ln(DOWN, delta)
    # Where ε(x) is least: its derivative is ρ - (ln 1/δ - ln(1 + x)) / x².
    best = _rising_root(lambda x: x * x * float(rho) + math.log1p(x) - float(spare))
    x = Fraction(f"{best:.12e}")
    # Certified: ε(x) = (x+1)ρ + (ln 1/δ - ln(1+x)) / x - ln(1 + 1/x), rounded up.
    total = (x + 1) * rho + (spare - ln(DOWN, x + 1)) / x - ln(DOWN, 1 + 1 / x)
    return Fraction(quotient(_TWELVE_UP, max(total, _LEAST_EPSILON)))


def root_below(value: Fraction) -> Fraction:
    """Return the largest rational of 12 significant decimal digits that is at most √value, for
    value >= 0.
    """
    nearest = _TWELVE.sqrt(quotient(DOWN, value))  # which takes no notice of the rounding
    if Fraction(nearest) ** 2 > value:
        nearest = _TWELVE.next_minus(nearest)
    return Fraction(nearest)


def root_above(value: Fraction) -> Fraction:
    """Return a rational that is at least √value, and by 2e-11 (relative) more at most, for value >
    0.
    """
    below = root_below(value)
    return below if below * below == value else below * (1 + Fraction(1, 10 ** (_RATE_DIGITS - 1)))


def growth_bound(epsilon: Fraction) -> Fraction | None:
    """Return a rational of at least e^ε, and hardly more, for ε >= 0; None above ε = 50, where it
    is of no use.
    """
    if epsilon > 50:
        return None
    return Fraction(1 << 256, exp_bounds(epsilon.numerator, epsilon.denominator, 256)[0])


# A mechanism is μ-GDP if its outputs on two neighbours are no easier to tell apart than one draw of
# N(0, 1) is from one of N(μ, 1) (Dong, Roth and Su, "Gaussian differential privacy", 2022, section
# 2).
# - Normal noise of standard deviation σ on each coordinate of what changes by at most Δ in the L2
#   norm is (Δ/σ)-GDP, rounded or not.
# - Steps that are μ_j-GDP, for μ_j fixed beforehand, are √(Σ μ_j²)-GDP together, even if what each
#   one does depends on the outcomes before it (Theorem 3.2 and Corollary 3.3 there).
# - μ-GDP is (ε, δ)-privacy for every ε >= 0, where (Corollary 2.13 there; Balle and Wang,
#   "Improving the Gaussian mechanism for differential privacy", 2018, Theorem 8)
#
#       δ(ε; μ) = Q(a) - e^ε Q(b),    a = ε/μ - μ/2,    b = ε/μ + μ/2,    (G)
#
#   Q being the upper tail of the standard normal distribution.
#
# Since b² - a² = 2ε, e^ε φ(b) = φ(a). So with the Mills ratio R = Q/φ nothing in (G) can overflow:
#     δ(ε; μ) = φ(a) (R(a) - R(b)) for a >= 0,    and    1 - φ(a) (R(-a) + R(b)) for a < 0.


@_remembered
def gdp_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a μ such that μ-GDP certainly implies (epsilon, delta)-privacy: equation (G) solved
    for μ, rounded down.

    The largest number of 12 significant digits that is certified; otherwise as zcdp_rho. By
    Newton's method for ln δ(μ), from a μ of zCDP: it approaches the root from below. And dδ/dμ =
    φ(a), whose logarithm -a²/2 + const has the derivative ε²/μ³ - μ/4, which decreases. So φ(a) is
    log-concave in μ, and then so is its integral δ(μ) (Prékopa).
    """
    epsilon, delta = exact_epsilon(epsilon), min(exact_delta(delta), LARGEST_DELTA)
    log_delta = ln(DOWN, delta)
    # ρ-zCDP follows from √(2ρ)-GDP, so this is not too much
    mu = root_below(2 * zcdp_rho(epsilon, delta))
    step = mu
    while abs(step) >= mu / 10**15:
        reached = gdp_delta_upper(epsilon, mu)
        density = Fraction(normal_density(DOWN, epsilon / mu - mu / 2))
        step = (log_delta - ln(UP, reached)) * reached / density
        mu = Fraction(quotient(DOWN, mu + step))
    certified = quotient(_TWELVE_UP, mu)  # a number of 12 digits, nearby
    while gdp_delta_upper(epsilon, Fraction(certified)) > delta:
        certified = _TWELVE.next_minus(certified)
    return Fraction(certified)


@_remembered
def gdp_epsilon(mu_squared: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon such that μ-GDP certainly implies (epsilon, delta)-privacy: (G) solved for
    ε, rounded up.

    mu_squared: μ², 2e-18 to 2e8. Within 1e-10 (relative) of the best; otherwise as zcdp_epsilon.
    """
    delta = min(exact_delta(delta), LARGEST_DELTA)
    mu = root_above(mu_squared)
    # which follows from μ-GDP
    low, high = _LEAST_EPSILON, zcdp_epsilon(mu_squared / 2, delta)
    if gdp_delta_upper(low, mu) <= delta:
        return low
    # δ(ε) falls: it is enough at `high`, and not at `low`.
    while high - low > high / 10 ** (_RATE_DIGITS + 1):
        # The root of their product brings both together where they are far apart; few digits keep
        # the fractions short.
        middle = root_below(low * high) if high > 2 * low else (low + high) / 2
        middle = Fraction(Context(prec=_RATE_DIGITS + 6).plus(quotient(DOWN, middle)))
        low, high = (low, middle) if gdp_delta_upper(middle, mu) <= delta else (middle, high)
    return Fraction(quotient(_TWELVE_UP, high))


def gdp_delta_upper(epsilon: Fraction, mu: Fraction) -> Fraction:
    """Return a δ with which μ-GDP certainly is (epsilon, δ)-private: (G), rounded up. epsilon: >=
    0. mu: > 0.

    At least 1e-1000; less than 1e-20 (relative) too much for epsilon and μ in 1e-9 to 1e9 and δ >=
    1e-300.
    """
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near >= 0:
        difference = UP.subtract(mills_ratio(UP, near), mills_ratio(DOWN, far))
        delta = UP.multiply(normal_density(UP, near), difference)
    else:
        total = DOWN.add(mills_ratio(DOWN, -near), mills_ratio(DOWN, far))
        delta = UP.subtract(1, DOWN.multiply(normal_density(DOWN, near), total))
    return Fraction(max(delta, LEAST_BOUND))


# Choices of bounded range ε are Gaussian private, too. Let the steps after a choice be μ-GDP,
# whatever it chose. Then the choice and these steps are μ'-GDP (docs/privacy.md, Theorem 33), with
#
#     μ'² = μ² + min(π/8, 1/4 + ε²/(96 μ²)) ε².    (B)
#
# The second of the two is proved for ε <= 4 μ. It is smaller only for ε < 3.71 μ.
_PI = Fraction(355, 113)  # rounded up
_MOST_OF_CHOICE = _PI / 8


def mu_squared_with_choices(epsilon: Fraction, count: int, after: Fraction) -> Fraction:
    """Return the μ² of choices and the steps after them together, by (B): rounded up.

    Args:
        epsilon: The bounded range of each choice, > 0.
        count: How many choices there are, one after the other.
        after: The μ² of the steps that follow the last choice, >= 0.
    """
    square, total = epsilon**2, after
    for _ in range(count):
        share = _MOST_OF_CHOICE
        if total:
            share = min(share, Fraction(1, 4) + square / (96 * total))
        total = Fraction(quotient(_TWELVE_UP, total + share * square))
    return total


@_remembered
def choice_epsilon(mu_squared: Fraction, count: int, after: Fraction) -> Fraction:
    """Return the largest ε with which choices add at most `mu_squared` to the μ² of the steps
    after them, by (B). ε is the bounded range of each choice.

    It has 12 significant digits. It is never too large, and within 1e-7 (relative) of the largest
    where `after` is at most 100 times `mu_squared`.

    Args:
        mu_squared: The μ² that the choices may add, > 0.
        count: How many choices there are, >= 1, one after the other.
        after: The μ² of the steps that follow the last choice, >= 0.
    """
    # Each choice adds between 1/4 and π/8 of ε²: the first `low` needs no test.
    low, high = root_below(mu_squared / count / _MOST_OF_CHOICE), root_below(4 * mu_squared / count)
    while high - low > low / 10**9:
        middle = Fraction(quotient(_TWELVE, (low + high) / 2))
        if mu_squared_with_choices(middle, count, after) <= mu_squared + after:
            low = middle
        else:
            high = middle
    return low


# δ of a budget is for the whole. If steps may reveal what only one unit has, a share of it, δ₀,
# is for that: a run is the mixture (1 - δ₀)M̃ + δ₀Q of a run M̃ that reveals no such thing, and
# something else. If M̃ is (ε, δ_c)-private, the run is (ε, δ₀ + (1 - δ₀)δ_c)-private; if M̃ is
# ρ-zCDP, it is δ₀-approximately so (docs/privacy.md, "Mixtures").

# δ₀ as a share of δ if ρ is given. It does not lower ρ: the other half of δ is only for stating the
# ε that ρ implies.
_NAMES_SHARE = Fraction(1, 2)


@dataclass(frozen=True)
class PrivacyBudget:
    """A budget, checked by `of`: either epsilon, or rho with a delta above 0. delta: of the whole,
    0 for none.
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None = None

    @classmethod
    def of(
        cls,
        epsilon: Number | None,
        delta: Number,
        rho: Number | None = None,
        *,
        otherwise: float | None = None,
    ) -> Self:
        """Return the budget given; otherwise: epsilon where neither it nor rho is. Raises
        ParameterError.
        """
        if rho is None:
            if epsilon is None:
                epsilon = otherwise
            return cls(exact_epsilon(epsilon), exact_delta_or_zero(delta))
        if epsilon is not None:
            raise ParameterError(f"give {parameter('epsilon')} or {parameter('rho')}, not both")
        budget = cls(None, exact_delta_or_zero(delta), exact_rho(rho))
        if not budget.delta:
            raise ParameterError(
                f"{parameter('delta')} must be above 0 with {parameter('rho')}: the epsilon that "
                "follows from rho is stated at that delta"
            )
        return budget

    @property
    def loss(self) -> Fraction:
        """Epsilon; of rho about that which it implies, for choices that only have to know its
        order.
        """
        if self.rho is not None:
            return zcdp_epsilon(self.rho, self.delta)
        assert self.epsilon is not None
        return self.epsilon

    def delta_for_names(self, share: Fraction) -> Fraction:
        """Return δ₀: this share of delta, or half of it if rho is given."""
        if self.rho is not None:
            share = _NAMES_SHARE
        return self.delta * share

    def spare_delta(self, names_delta: Fraction) -> Fraction:
        """Return δ_c: the part of delta for all that reveals nothing that only one unit has.

        names_delta: δ₀.
        """
        return (self.delta - names_delta) / (1 - names_delta)

    def rho_for_steps(self, names_delta: Fraction) -> Fraction:
        """Return the ρ that steps may spend, with δ_c."""
        if self.rho is not None:
            return self.rho
        return zcdp_rho(self.loss, self.spare_delta(names_delta))

    def mu_squared_for_steps(self, names_delta: Fraction) -> Fraction:
        """Return the μ² that Gaussian steps may spend, with δ_c: 2ρ if ρ is given."""
        if self.rho is not None:
            return 2 * self.rho
        return gdp_mu(self.loss, self.spare_delta(names_delta)) ** 2

    def cost(self, names_delta: Fraction, *, normal: bool) -> PrivacyCost:
        """Return the (ε, δ) of a run that spends all of it.

        normal: whether all of its noise is Gaussian.
        """
        if self.rho is None:
            return PrivacyCost(self.loss, self.delta)
        spare_delta = self.spare_delta(names_delta)
        if normal:
            epsilon = gdp_epsilon(2 * self.rho, spare_delta)
        else:
            epsilon = zcdp_epsilon(self.rho, spare_delta)
        return PrivacyCost(epsilon, self.delta)

    def zcdp(self, names_delta: Fraction) -> ZcdpCost | None:
        """Return what a run spends in zCDP, where ρ was given for it."""
        return None if self.rho is None else ZcdpCost(self.rho, names_delta)
