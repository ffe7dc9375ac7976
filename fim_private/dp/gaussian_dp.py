"""What many steps of Gaussian noise cost together, in Gaussian differential privacy (GDP), by certified rationals.

A mechanism is μ-GDP if its outputs on two neighbours are no easier to tell apart than one draw of N(0, 1) is from one
of N(μ, 1) (Dong, Roth and Su, "Gaussian differential privacy", 2022, section 2).

- Normal noise of standard deviation σ on each coordinate of what changes by at most Δ in the L2 norm is (Δ/σ)-GDP.
  Nothing that is computed from its output alone, such as a rounding, raises μ.
- Steps that are μ_j-GDP, for μ_j fixed beforehand, are √(Σ μ_j²)-GDP together, even if what each one does depends on
  the outcomes before it (Theorem 3.2 and Corollary 3.3 there).
- μ-GDP is (ε, δ)-privacy for every ε >= 0, where (Corollary 2.13 there; Balle and Wang, "Improving the Gaussian
  mechanism for differential privacy", 2018, Theorem 8)

      δ(ε; μ) = Q(a) - e^ε Q(b),    a = ε/μ - μ/2,    b = ε/μ + μ/2,                                    (G)

  Q being the upper tail of the standard normal distribution.

Since b² - a² = 2ε, e^ε φ(b) = φ(a). So with the Mills ratio R = Q/φ (`normal_tail`) nothing in (G) can overflow:

    δ(ε; μ) = φ(a) (R(a) - R(b)) for a >= 0,    and    1 - φ(a) (R(-a) + R(b)) for a < 0.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from fim_private.dp.accounting import LARGEST_DELTA, RATE_DIGITS, root_above, root_below, zcdp_epsilon, zcdp_rho
from fim_private.dp.directed_rounding import down, ln, quotient, up
from fim_private.dp.normal_tail import mills_ratio_bounds, normal_density_bounds
from fim_private.dp.parameters import EPSILON_RANGE, exact_delta, exact_epsilon

# R(a) - R(b) loses at most 13 digits (μ >= 1e-11 where δ >= 1e-300); 1 - δ may be 1e-30, of which 12 digits count.
_DIGITS = 72
_DOWN, _UP = down(_DIGITS), up(_DIGITS)
# Bounds of δ are not told smaller than this: as fractions, they would be long and of no use.
_LEAST_BOUND = Decimal("1e-1000")
_TWELVE = Context(prec=RATE_DIGITS, rounding=ROUND_FLOOR)


@lru_cache(maxsize=1 << 10, typed=True)
def gdp_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a μ such that μ-GDP certainly implies (epsilon, delta)-privacy: equation (G) solved for μ, rounded down.

    epsilon: 1e-9 to 1e9. delta: at least 1e-300, below 1. Raises ParameterError otherwise.
    The result is the largest number of 12 significant decimal digits that is certified, so within 1e-11 (relative) of
    the best. A delta nearer to 1 than 1e-30 is taken for 1 - 1e-30.

    Newton's method for ln δ(μ), from a μ that zCDP proves: it approaches the root from below. For dδ/dμ = φ(a), whose
    logarithm -a²/2 + const has the derivative ε²/μ³ - μ/4, which decreases: φ(a) is log-concave in μ, and then so is
    its integral δ(μ) (Prékopa).
    """
    epsilon, delta = exact_epsilon(epsilon), min(exact_delta(delta), LARGEST_DELTA)
    log_delta = ln(_DOWN, quotient(_DOWN, delta))
    mu = root_below(2 * zcdp_rho(epsilon, delta))  # ρ-zCDP follows from √(2ρ)-GDP, so this is not too much
    while True:
        reached = _delta_above(epsilon, mu)
        missing = _DOWN.subtract(log_delta, ln(_UP, reached))
        density = normal_density_bounds(epsilon / mu - mu / 2)[0]
        step = Fraction(_DOWN.divide(_DOWN.multiply(missing, reached), density))
        mu = Fraction(_DOWN.plus(quotient(_DOWN, mu + step)))
        if abs(step) < mu / 10**15:
            return _certified_mu(_TWELVE.plus(quotient(_TWELVE, mu)), epsilon, delta)


def _certified_mu(mu: Decimal, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest number of 12 digits for which the bound of (G) is at most delta, from a number nearby."""
    while gdp_delta_upper(epsilon, Fraction(following := _TWELVE.next_plus(mu))) <= delta:
        mu = following
    while gdp_delta_upper(epsilon, Fraction(mu)) > delta:
        mu = _TWELVE.next_minus(mu)
    return Fraction(mu)


@lru_cache(maxsize=1 << 10, typed=True)
def gdp_epsilon(mu_squared: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon such that μ-GDP certainly implies (epsilon, delta)-privacy: (G) solved for ε, rounded up.

    mu_squared: μ², 2e-18 to 2e8. delta: at least 1e-300, below 1. Raises ParameterError otherwise.
    The result is at least 1e-9, has 12 significant decimal digits, and is within 1e-10 (relative) of the best.
    A delta nearer to 1 than 1e-30 is taken for 1 - 1e-30.
    """
    delta = min(exact_delta(delta), LARGEST_DELTA)
    mu = root_above(mu_squared)
    low, high = Fraction(repr(EPSILON_RANGE[0])), zcdp_epsilon(mu_squared / 2, delta)  # which follows from μ-GDP
    if gdp_delta_upper(low, mu) <= delta:
        return low
    # δ(ε) falls: it is enough at `high`, and not at `low`.
    while high - low > high / 10 ** (RATE_DIGITS + 1):
        # The root of their product brings both together where they are far apart; few digits keep the fractions short.
        middle = root_below(low * high) if high > 2 * low else (low + high) / 2
        middle = Fraction(Context(prec=RATE_DIGITS + 6).plus(quotient(_DOWN, middle)))
        if gdp_delta_upper(middle, mu) <= delta:
            high = middle
        else:
            low = middle
    return Fraction(Context(prec=RATE_DIGITS, rounding=ROUND_CEILING).plus(quotient(_UP, high)))


def gdp_delta_upper(epsilon: Fraction, mu: Fraction) -> Fraction:
    """Return a δ with which μ-GDP certainly is (epsilon, δ)-private: equation (G), rounded up.

    epsilon: >= 0. mu: > 0. At least 1e-1000; otherwise less than 1e-20 (relative) too much where epsilon and μ are
    between 1e-9 and 1e9 and δ is at least 1e-300.
    """
    return Fraction(max(_delta_above(epsilon, mu), _LEAST_BOUND))


def _delta_above(epsilon: Fraction, mu: Fraction) -> Decimal:
    """Return an upper bound of δ(epsilon; mu)."""
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    density, nearer, farther = normal_density_bounds(near), mills_ratio_bounds(abs(near)), mills_ratio_bounds(far)
    if near >= 0:
        return _UP.multiply(density[1], _UP.subtract(nearer[1], farther[0]))
    return _UP.subtract(1, _DOWN.multiply(density[0], _DOWN.add(nearer[0], farther[0])))
