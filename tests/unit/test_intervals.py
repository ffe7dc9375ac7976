"""The certified bounds contain the true value, and are tight."""

from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_private.dp.bounds import exp_bounds, laplace_tail_bounds, power_bounds

PRECISE = Context(prec=400, Emin=-999_999, Emax=999_999)


def scaled(value: Decimal, bits: int) -> Decimal:
    return PRECISE.multiply(value, Decimal(1 << bits))


def exp(numerator: int, denominator: int) -> Decimal:
    return PRECISE.exp(PRECISE.divide(Decimal(-numerator), Decimal(denominator)))


@given(st.integers(0, 10**6), st.integers(1, 10**5), st.sampled_from([16, 96, 128, 256]))
def test_exp_bounds_contain_it_and_are_tight(numerator: int, denominator: int, bits: int) -> None:
    lower, upper = exp_bounds(numerator, denominator, bits)
    assert lower <= scaled(exp(numerator, denominator), bits) <= upper
    assert upper - lower <= 3


@given(st.integers(1, 1 << 64), st.integers(0, 10**7))
def test_power_bounds_contain_the_power(base: int, exponent: int) -> None:
    bits = 64
    lower, upper = power_bounds((base, base), exponent, bits)
    root = PRECISE.divide(Decimal(base), Decimal(1 << bits))
    true = scaled(PRECISE.power(root, Decimal(exponent)), bits)
    assert lower <= true <= upper
    assert upper - lower <= 4 * exponent + 1


def test_power_of_an_astronomic_exponent_is_decided_by_more_bits() -> None:
    for bits in (64, 512):
        hazard = (1 << bits) // 10**60
        lower, upper = power_bounds(((1 << bits) - hazard - 1, (1 << bits) - hazard), 10**60, bits)
    assert abs(lower / 2**512 - 0.36787944117144233) < 1e-12
    assert abs(upper / 2**512 - 0.36787944117144233) < 1e-12


@pytest.mark.parametrize("base", [(0, 0), (1, 2), (1 << 32, 1 << 40)])
def test_a_power_below_a_unit_is_between_none_and_one(base: tuple[int, int]) -> None:
    assert power_bounds(base, 10**6000, 64) == (0, 1)


@given(st.integers(-2000, 2000), st.fractions(Fraction(1, 20), 50))
def test_laplace_tail_bounds_contain_the_tail(k: int, scale: Fraction) -> None:
    bits = 128
    decay = exp(scale.denominator, scale.numerator)
    reach = abs(k) if k >= 1 else 1 - k
    power = exp(reach * scale.denominator, scale.numerator)
    tail = PRECISE.divide(power, PRECISE.add(Decimal(1), decay))
    true = tail if k >= 1 else PRECISE.subtract(Decimal(1), tail)
    lower, upper = laplace_tail_bounds(scale, k, bits)
    assert lower <= scaled(true, bits) <= upper
    assert upper - lower <= 8
