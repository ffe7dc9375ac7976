"""What many steps cost: every rate keeps its promise, by a slow evaluation with many digits."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_private.dp.composition import root_below, zcdp_rho

PRECISE = Context(prec=100, Emin=-999_999, Emax=999_999)
EXPONENTS = st.integers(-9, 7)
EPSILONS = st.builds(
    lambda digits, e: Fraction(digits, 1000) * Fraction(10) ** e, st.integers(1000, 9999), EXPONENTS
)
DELTAS = st.builds(
    lambda digits, e: Fraction(digits, 1000) * Fraction(10) ** e,
    st.integers(1000, 9999),
    st.integers(-300, -1),
)


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
def test_rho_at_the_ends_of_its_range(
    epsilon: Fraction, delta: Fraction, rho: float | None
) -> None:
    found = zcdp_rho(epsilon, delta)
    assert found > 0
    assert rho is None or math.isclose(found, rho, rel_tol=1e-11)


@given(st.fractions(Fraction(1, 10**60), 10**60).filter(bool))
def test_root_below(value: Fraction) -> None:
    root = root_below(value)
    assert root * root <= value
    assert (root * (1 + Fraction(2, 10**11))) ** 2 > value
    assert root_below(value * value) <= value
