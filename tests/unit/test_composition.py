"""What many steps cost: every rate keeps its promise, by a slow evaluation with many digits."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr

from fim_private.dp.bounds import DOWN, UP, normal_tail
from fim_private.dp.composition import (
    choice_epsilon,
    gdp_delta_upper,
    gdp_mu,
    root_below,
    zcdp_rho,
)

PRECISE = Context(prec=120, Emin=-999_999_999, Emax=999_999_999)
EXPONENTS = st.integers(-9, 7)
_DIGITS = st.integers(1000, 9999)
EPSILONS = st.builds(lambda n, e: Fraction(n, 1000) * Fraction(10) ** e, _DIGITS, EXPONENTS)
_TENS = st.integers(-300, -1)
DELTAS = st.builds(lambda n, e: Fraction(n, 1000) * Fraction(10) ** e, _DIGITS, _TENS)


def decimal(value: Fraction) -> Decimal:
    return PRECISE.divide(Decimal(value.numerator), Decimal(value.denominator))


def log_delta(rho: Fraction, epsilon: Fraction, alpha: Decimal) -> Decimal:
    """The logarithm of the δ of Canonne, Kamath and Steinke (2020), Corollary 13, at one α."""
    c = PRECISE
    less = c.subtract(alpha, Decimal(1))
    exponent = c.multiply(less, c.subtract(c.multiply(alpha, decimal(rho)), decimal(epsilon)))
    power = c.multiply(alpha, c.ln(c.subtract(Decimal(1), c.divide(Decimal(1), alpha))))
    return c.add(c.subtract(exponent, c.ln(less)), power)


def slow_log_delta(rho: Fraction, epsilon: Fraction) -> Decimal:
    """The least log δ over α, by golden section on ln(α - 1), over which it has one valley."""
    low, high, ratio = -80.0, 710.0, (math.sqrt(5) - 1) / 2

    def at(position: float) -> Decimal:
        return log_delta(rho, epsilon, PRECISE.add(Decimal(1), PRECISE.exp(Decimal(position))))

    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return min(at(low), at(high))


@given(EPSILONS, DELTAS)
def test_rho_is_certified_and_the_best(epsilon: Fraction, delta: Fraction) -> None:
    rho = zcdp_rho(epsilon, delta)
    allowed = PRECISE.ln(decimal(delta))
    assert slow_log_delta(rho, epsilon) <= allowed
    assert slow_log_delta(rho * (1 + Fraction(1, 10**9)), epsilon) > allowed
    assert len(Context(prec=400).create_decimal(decimal(rho)).normalize().as_tuple().digits) <= 12


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"),
    [
        (Fraction("1e-9"), Fraction("1e-300"), None),
        (Fraction(1), 1 - Fraction(1, 10**1000), None),
        (Fraction(10**9), 1 - Fraction(1, 10**25), None),
        (Fraction(10**9), Fraction("1e-300"), None),
        (Fraction(1), Fraction("1e-6"), 0.0243559703595),
        (Fraction(1, 10), Fraction("1e-6"), 0.000321047690345),
    ],
)
def test_rho_at_its_ends(epsilon: Fraction, delta: Fraction, rho: float | None) -> None:
    found = zcdp_rho(epsilon, delta)
    assert found > 0
    assert rho is None or math.isclose(found, rho, rel_tol=1e-11)


@given(st.fractions(Fraction(1, 10**60), 10**60).filter(bool))
def test_root_below(value: Fraction) -> None:
    root = root_below(value)
    assert root * root <= value
    assert (root * (1 + Fraction(2, 10**11))) ** 2 > value
    assert root_below(value * value) <= value


# -------------------- Gaussian privacy: equation (G) as it is printed


def delta_bounds(epsilon: Fraction, mu: Fraction) -> tuple[Decimal, Decimal]:
    """Bound Q(ε/μ - μ/2) - e^ε Q(ε/μ + μ/2) as printed, for an ε up to 10^8."""
    growth = PRECISE.exp(PRECISE.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return (
        PRECISE.subtract(normal_tail(DOWN, near), PRECISE.multiply(growth, normal_tail(UP, far))),
        PRECISE.subtract(normal_tail(UP, near), PRECISE.multiply(growth, normal_tail(DOWN, far))),
    )


@given(EPSILONS, DELTAS)
def test_mu_is_certified_and_the_best(epsilon: Fraction, delta: Fraction) -> None:
    mu = gdp_mu(epsilon, delta)
    lower, upper = delta_bounds(epsilon, mu)
    # the bounds of the tails have 40 digits
    slack = PRECISE.multiply(decimal(delta), Decimal("1e-25"))
    assert PRECISE.subtract(upper, lower) < slack
    assert lower <= decimal(delta)
    little_more = PRECISE.multiply(upper, Decimal("1.00000000000000000001"))
    assert lower <= decimal(gdp_delta_upper(epsilon, mu)) <= little_more
    # μ-GDP is (μ²/2)-zCDP: what that route proves is proved here too
    assert mu**2 / 2 > zcdp_rho(epsilon, delta)
    above = delta_bounds(epsilon, mu * (1 + Fraction(1, 10**11)))[0]
    assert above > PRECISE.add(decimal(delta), slack)
    assert len(Context(prec=400).create_decimal(decimal(mu)).normalize().as_tuple().digits) <= 12


@given(st.fractions(Fraction(1, 100), 10), st.fractions(0, 10))
def test_delta_upper_is_never_below_the_truth(mu: Fraction, place: Fraction) -> None:
    epsilon = mu * place  # ε/μ up to 10: so far the digits of the oracle reach
    if place + mu / 2 > 12:
        return
    far, near = oracles.normal_tail(place + mu / 2), oracles.normal_tail(place - mu / 2)
    growth = PRECISE.exp(decimal(epsilon))
    truth = PRECISE.subtract(near, PRECISE.multiply(growth, far))
    assert 0 <= gdp_delta_upper(epsilon, mu) / Fraction(truth) - 1 < Fraction(1, 10**35)


@pytest.mark.parametrize(("epsilon", "mu"), [("1e9", "1e-9"), ("1e9", "1e-4"), ("1", "1e-9")])
def test_a_delta_of_next_to_nothing_stays_a_short_fraction(epsilon: str, mu: str) -> None:
    assert gdp_delta_upper(Fraction(epsilon), Fraction(mu)) == Fraction(1, 10**1000)
    assert 1 - Fraction(1, 10**20) < gdp_delta_upper(Fraction(1), Fraction(20)) < 1


@pytest.mark.parametrize(
    ("epsilon", "delta", "mu"),
    [
        (Fraction(1), Fraction("9e-7"), 0.235501453808),
        (Fraction(1, 10), Fraction("1e-6"), 0.0275446502438),
        (Fraction(2), Fraction("1e-8"), 0.376942180252),
        (Fraction("1e-9"), Fraction("1e-300"), 2.75584234499e-11),
        (Fraction("1e-9"), Fraction(1, 2), 1.34897950117),
        (Fraction(10**9), Fraction("1e-300"), 44684.3278209),
        (Fraction(10**9), 1 - Fraction(1, 10**30), 44732.8250664),
        (Fraction(1), 1 - Fraction(1, 10**1000), 23.1335881546),
    ],
)
def test_mu_at_chosen_places_and_at_its_ends(epsilon: Fraction, delta: Fraction, mu: float) -> None:
    # Each checked against mpmath at 120 digits when it was written down.
    found = gdp_mu(epsilon, delta)
    assert math.isclose(found, mu, rel_tol=1e-15)
    assert gdp_delta_upper(epsilon, found) <= delta
    least = min(delta, 1 - Fraction(1, 10**30))
    assert gdp_delta_upper(epsilon, found * (1 + Fraction(1, 10**11))) > least


# -------------------- choices of bounded range, in Gaussian privacy

Floats = NDArray[np.float64]
PER_RANGE = 40  # a loss is a multiple of this part of ε₀


def gaussian_delta(epsilon: Floats, mu_squared: float) -> Floats:
    """The least δ with which μ-GDP is (ε, δ)-private, for ε of either sign."""
    if mu_squared == 0:
        return np.maximum(0, -np.expm1(epsilon))
    mu = math.sqrt(mu_squared)
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return np.asarray(ndtr(-near) - np.exp(epsilon) * ndtr(-far))


def worst_delta(epsilon: float, count: int, after: float) -> tuple[Floats, Floats]:
    """Return privacy losses and the most δ that `count` choices, and normal noise, have at each.

    Each choice has two outcomes, of losses a and a - ε₀. Whoever asks picks a of each by what came
    out before (Dong, Durfee and Rogers 2020).
    """
    step = epsilon / PER_RANGE
    reach = PER_RANGE * (count + 30)
    losses = step * np.arange(-reach, reach + 1, dtype=np.float64)
    delta = gaussian_delta(losses, after)
    outside = step * np.arange(-reach - PER_RANGE, -reach)
    for _ in range(count):
        padded = np.concatenate([-np.expm1(outside), delta, np.zeros(PER_RANGE)])
        best = delta
        for place in range(1, PER_RANGE):
            a = place * step
            heads = math.expm1(epsilon - a) / (math.exp(epsilon - a) - math.exp(-a))
            low = padded[PER_RANGE - place : PER_RANGE - place + len(losses)]
            high = padded[2 * PER_RANGE - place : 2 * PER_RANGE - place + len(losses)]
            best = np.maximum(best, heads * low + (1 - heads) * high)
        delta = best
    return losses, delta


@pytest.mark.every_case
@pytest.mark.parametrize("after", [Fraction(0), Fraction(1, 1000), Fraction(1, 50)])
@pytest.mark.parametrize("count", [1, 2, 3, 10])
@pytest.mark.parametrize(
    ("mu_squared", "needed"), [(Fraction(1, 20), 0.9), (Fraction(1), 0.9), (Fraction(9), 0.83)]
)
def test_choices_are_as_private_as_normal_noise_with_their_mu(
    mu_squared: Fraction, needed: float, count: int, after: Fraction
) -> None:
    """And nobody could charge much less for them (Theorem 33)."""
    epsilon = float(choice_epsilon(mu_squared, count, after))
    losses, worst = worst_delta(epsilon, count, float(after))
    assert (worst <= gaussian_delta(losses, float(mu_squared + after)) + 1e-12).all()
    too_little = gaussian_delta(losses, needed * float(mu_squared) + float(after))
    assert (worst > too_little + 1e-9).any()


def test_one_choice_spends_more_of_its_square_than_one_of_many() -> None:
    """One alone adds π/8 of its ε² to μ² (Theorem 33, a); one of many little more than ¼."""
    mu_squared, much = Fraction(1, 100), Fraction(1)

    def share(count: int, after: Fraction) -> float:
        return float(mu_squared / count / choice_epsilon(mu_squared, count, after) ** 2)

    alone = [share(count, Fraction(0)) for count in (1, 2, 10, 100)]
    assert alone == pytest.approx([0.3927, 0.3346, 0.2732, 0.2533], abs=1e-4)
    assert share(1, Fraction(1, 10**9)) == pytest.approx(0.3927, abs=1e-4)
    assert share(1, much) == pytest.approx(0.2504, abs=1e-4)
