"""The certified bounds of the normal tail hold the true value and are tight."""

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import oracles
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fim_private.dp.bounds import DOWN, UP, mills_ratio, normal_density, normal_tail

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
    assert relative_width(normal_density, x) < Decimal("1e-50")
    assert relative_width(mills_ratio, abs(x)) < Decimal("1e-40")


def test_far_beyond_all_decimals_the_bounds_still_hold() -> None:
    lower, upper = (normal_tail(side, Fraction(10**12)) for side in (DOWN, UP))
    assert 0 <= lower <= upper < Decimal("1e-400_000_000")
    assert normal_tail(UP, Fraction(-(10**12))) == 1
