"""Certified bounds hold the true value and are tight: directed rounding, and the normal tail."""

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import oracles
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fim_private.dp import bounds
from fim_private.dp.bounds import DOWN, UP, exp, ln, normal_tail, quotient, root

PRECISE = Context(prec=60)
# From mpmath 1.4 at 70 digits: erfc(x / √2) / 2.
KNOWN = {
    "-2.5": "0.993790334674223864833021895425807778872102253",
    "0.001": "0.499601057786088937415409677555673058731496752",
    "1": "0.158655253931457051414767454367962077522087033",
    "4.999": "0.000000288142014146413161300424424874322775206707653",
    "5": "0.000000286651571879193911673752332874645353854423014",
    "37.5": "4.60535300958195484382796909761089623892069264e-308",
    "1000": "2.29064614654549841064310908113818131679298776e-217151",
}
ANY_SIZE = st.one_of(
    st.fractions(-50, 50),
    st.builds(lambda x, e: x * Fraction(10) ** e, st.fractions(-10, 10), st.integers(-30, 5)),
)


def relative_width(bound: Callable[[Context, Fraction], Decimal], x: Fraction) -> Decimal:
    lower, upper = bound(DOWN, x), bound(UP, x)
    assert lower <= upper
    return PRECISE.divide(PRECISE.subtract(upper, lower), upper)


@pytest.mark.parametrize(("x", "tail"), KNOWN.items())
def test_known_values(x: str, tail: str) -> None:
    lower, upper = (normal_tail(side, Fraction(x)) for side in (DOWN, UP))
    digit = Decimal(1).scaleb(Decimal(tail).adjusted() - 40)
    assert lower < PRECISE.add(Decimal(tail), digit)
    assert upper > PRECISE.subtract(Decimal(tail), digit)
    assert relative_width(normal_tail, Fraction(x)) < Decimal("1e-40")


@given(st.fractions(-12, 12))
@example(Fraction(0))
@example(Fraction(5))
@example(Fraction(11, 2))  # where the continued fraction takes an odd number of steps
def test_bounds_contain_the_tail(x: Fraction) -> None:
    assert normal_tail(DOWN, x) <= oracles.normal_tail(x) <= normal_tail(UP, x)


@given(ANY_SIZE)
def test_bounds_are_tight(x: Fraction) -> None:
    assert relative_width(normal_tail, x) < Decimal("1e-40")
    assert relative_width(bounds.normal_density, x) < Decimal("1e-50")
    assert relative_width(bounds.mills_ratio, abs(x)) < Decimal("1e-40")


def test_far_beyond_all_decimals_the_bounds_still_hold() -> None:
    lower, upper = (normal_tail(side, Fraction(10**12)) for side in (DOWN, UP))
    assert 0 <= lower <= upper < Decimal("1e-400_000_000")
    assert normal_tail(UP, Fraction(-(10**12))) == 1


# -------------------- directed rounding of decimals: by one place at most

SHORT_DOWN, SHORT_UP = (Context(prec=4, rounding=side) for side in (ROUND_FLOOR, ROUND_CEILING))
VALUES = st.integers(1, 9999).map(lambda n: Decimal(n).scaleb(-3))


@pytest.mark.parametrize(
    ("bound", "true"),
    [(exp, PRECISE.exp), (ln, PRECISE.ln), (root, PRECISE.sqrt)],
    ids=["exp", "ln", "root"],
)
@given(x=VALUES)
@example(x=Decimal(1))
def test_functions_are_bounded_from_both_sides(
    bound: Callable[[Context, Fraction], Decimal | Fraction],
    true: Callable[[Decimal], Decimal],
    x: Decimal,
) -> None:
    value = Fraction(true(x))
    lower, upper = (Fraction(bound(side, Fraction(x))) for side in (SHORT_DOWN, SHORT_UP))
    assert lower <= value <= upper
    assert upper - lower <= Fraction("0.003") * max(abs(lower), abs(upper))


@given(st.fractions(-100, 100))
def test_quotients_are_bounded_from_both_sides(value: Fraction) -> None:
    lower, upper = quotient(SHORT_DOWN, value), quotient(SHORT_UP, value)
    assert Fraction(lower) <= value <= Fraction(upper)
    assert upper == lower or upper == SHORT_DOWN.next_plus(lower)


def test_what_must_not_be_negative_is_not() -> None:
    assert root(SHORT_DOWN, Fraction(0)) == root(SHORT_UP, Fraction(0)) == 0
    assert exp(SHORT_DOWN, Fraction(-(10**30))) == 0 < exp(SHORT_UP, Fraction(-(10**30)))
