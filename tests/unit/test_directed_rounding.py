"""Directed rounding of decimals: never on the wrong side, and by one place at most."""

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fim_private.dp.bounds import exp, ln, quotient, root

Bound = Decimal | Fraction
PRECISE = Context(prec=60)
DOWN, UP = (Context(prec=4, rounding=side) for side in (ROUND_FLOOR, ROUND_CEILING))
VALUES = st.integers(1, 9999).map(lambda n: Decimal(n).scaleb(-3))


@pytest.mark.parametrize(
    ("bound", "true"),
    [(exp, PRECISE.exp), (ln, PRECISE.ln), (root, PRECISE.sqrt)],
    ids=["exp", "ln", "root"],
)
@given(x=VALUES)
@example(x=Decimal(1))
def test_functions_are_bounded_from_both_sides(
    bound: Callable[[Context, Fraction], Bound], true: Callable[[Decimal], Decimal], x: Decimal
) -> None:
    value = Fraction(true(x))
    lower, upper = (Fraction(bound(side, Fraction(x))) for side in (DOWN, UP))
    assert lower <= value <= upper
    assert upper - lower <= Fraction("0.003") * max(abs(lower), abs(upper))


@given(st.fractions(-100, 100))
def test_quotients_are_bounded_from_both_sides(value: Fraction) -> None:
    lower, upper = quotient(DOWN, value), quotient(UP, value)
    assert Fraction(lower) <= value <= Fraction(upper)
    assert upper == lower or upper == DOWN.next_plus(lower)


def test_what_must_not_be_negative_is_not() -> None:
    assert exp(DOWN, Fraction(-(10**30))) == root(DOWN, Fraction(0)) == root(UP, Fraction(0)) == 0
    assert exp(UP, Fraction(-(10**30))) > 0
