"""Privacy parameters: what is accepted, as which exact number, and what errors say."""

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.dp.arguments import flag, positive_integer
from fim_private.dp.cost import Exact, PrivacyCost, at_least, at_most, rounded_down, rounded_up
from fim_private.dp.parameters import (
    exact_delta,
    exact_delta_or_zero,
    exact_epsilon,
    exact_rho,
)
from fim_private.errors import ParameterError, shown


@given(st.floats(min_value=1e-300, max_value=1, exclude_max=True))
def test_delta_means_its_decimal_digits(delta: float) -> None:
    assert float(exact_delta(delta)) == delta
    assert exact_delta(delta) == Fraction(str(delta))


def test_what_is_out_of_all_use() -> None:
    for value in (1e-10, Fraction(10**12)):
        with pytest.raises(ParameterError, match=r"^epsilon must lie between 1e-09 and 1e\+09"):
            exact_epsilon(value)
    with pytest.raises(ParameterError, match=r"^delta must lie between 1e-300 and 1, not "):
        exact_delta(1e-301)


@pytest.mark.parametrize(
    ("asked", "name", "least"),
    [
        ({"delta": 1e-300}, "delta", "1e-300"),
        ({"delta": 2e-300, "mechanism": "limited-domain"}, "delta", "1e-300"),
        ({"delta": 1e-300, "rho": 0.1}, "delta", "1e-300"),
        ({"epsilon": 1e-9, "mechanism": "limited-domain"}, "epsilon", "1e-09"),
        ({"epsilon": 1e-9, "mechanism": "tight-margin"}, "epsilon", "1e-09"),
    ],
)
def test_a_part_that_is_too_small(asked: dict[str, Any], name: str, least: str) -> None:
    said = f"{name} leaves a step of the release less than the least {name}, {least}; raise {name}"
    with pytest.raises(ParameterError) as caught:
        fim.mine([["tea"]], **asked)
    assert str(caught.value) == said


BAD_NUMBERS = [
    0, 0.0, -0.0, -1, -1e-9, float("nan"), float("inf"), float("-inf"), "1", None, 1j, [1], True,
]  # fmt: skip


@pytest.mark.parametrize("value", BAD_NUMBERS)
def test_bad_epsilon_and_rho(value: Any) -> None:
    for name, exact in (("epsilon", exact_epsilon), ("rho", exact_rho)):
        with pytest.raises(ParameterError, match=rf"^{name} must be a number above 0, ") as caught:
            exact(value)
        assert str(caught.value).endswith(shown(value))


@pytest.mark.parametrize(
    "value", [*(bad for bad in BAD_NUMBERS if bad not in (0, None)), None, 1, pd.DataFrame()]
)
def test_bad_delta_or_zero(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^delta must be 0 or a number above 0") as caught:
        exact_delta_or_zero(value)
    assert str(caught.value).endswith(shown(value))
    with pytest.raises(ParameterError, match=r"^delta must be a number above 0 and below 1"):
        exact_delta(value)


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("divisor", [1, 3])
def test_a_number_beyond_floats_is_shown_briefly(digits: int, divisor: int) -> None:
    value = Fraction(10**digits, divisor) if divisor > 1 else 10**digits
    with pytest.raises(ParameterError, match=r"^epsilon must lie between 1e-09 and 1e\+09"):
        exact_epsilon(value)
    with pytest.raises(ParameterError, match=r"^delta must be a number above 0 and below 1"):
        exact_delta(value)


@pytest.mark.parametrize(
    "value",
    [0.1, np.float64(0.1), np.float32(0.1), np.float16(0.1), np.longdouble("0.1"), Decimal("0.1")],
)
def test_numbers_of_any_kind(value: Any) -> None:
    assert exact_epsilon(value) == exact_delta(value) == Exact(value) == Fraction(1, 10)
    assert exact_rho(value) == exact_delta_or_zero(value) == Fraction(1, 10)
    assert exact_delta_or_zero(type(value)(0)) == 0


@pytest.mark.parametrize("value", [0, 1, "no", None, np.array([True]), [], pd.DataFrame([1])])
def test_no_flags(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^union must be True or False, not .{,60}$"):
        flag("union", value)


@pytest.mark.parametrize(
    "value", [0, -1, True, False, 1.0, "1", None, np.int64(0), np.float64(2), np.True_]
)
def test_not_a_positive_integer(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^size must be a whole number of at least 1, not "):
        positive_integer("size", value)


@given(st.fractions(Fraction(1, 10**12), 10**6), st.floats(1e-300, 1e300))
def test_a_budget_is_exact_and_shown_no_smaller(rational: Fraction, typed: float) -> None:
    exact = Exact(rational)
    assert exact == rational
    assert Fraction(repr(float(exact))) >= rational
    assert Fraction(repr(math.nextafter(float(exact), 0))) < rational
    assert Exact(typed) == typed == Exact(typed)
    assert float(Exact(typed)) == typed
    assert Exact(typed) <= typed <= Exact(typed)
    assert not Exact(typed) < typed
    assert not Exact(typed) > typed
    assert Exact(typed) == Fraction(repr(typed))


@given(st.fractions(Fraction(1, 10**12), 10**6), st.integers(1, 8))
def test_what_is_written_of_a_guarantee_is_no_less(value: Fraction, digits: int) -> None:
    written = Fraction(rounded_up(value, digits))
    assert value <= written <= value * (1 + Fraction(1, 10 ** (digits - 1)))
    assert Fraction(at_least(written)) == written  # what fits is exact
    assert value <= Fraction(at_least(value)) <= value * (1 + Fraction(1, 10**5))


def test_a_budget_s_parts_are_the_whole() -> None:
    parts = [Exact(Fraction(1, 3))] * 3
    assert sum(parts) == Exact(1.0)
    assert copy.deepcopy(parts) == pickle.loads(pickle.dumps(parts)) == parts
    assert f"{Exact(0.25):g} {Exact(1e-6)}" == "0.25 1e-06"
    assert (at_most(1.0000004), at_most(parts[0] * 2)) == ("1.0000004", "0.666666")
    assert rounded_down(parts[0] * 2) == 2 / 3
    assert rounded_down(Fraction(1, 10)) == 0.1
    assert repr(PrivacyCost(1.0, 1e-6)) == "PrivacyCost(epsilon=1.0, delta=1e-06)"
    assert PrivacyCost(1.0, 1e-6) == PrivacyCost(Fraction(1), Fraction(1, 10**6))
    assert len({PrivacyCost(1, 1e-6), PrivacyCost(Fraction(1), Fraction(1, 10**6))}) == 1
    assert Exact(0.1) != "0.1"
