"""`fim_private.auditing.exact`: as many digits as it claims, and the mechanism as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_cases import by_level, exact_law, named

from fim_private.auditing import exact
from fim_private.auditing.exact import DIGITS, hockey_stick
from fim_private.mechanisms import (
    Choosing,
    Distance,
    Exponential,
    LimitedDomain,
    MaxOfLaplaces,
    Mechanism,
    PermuteAndFlip,
    TightMargin,
)
from fim_private.spectrum import SupportSpectrum

NEIGHBORS = ["replace-one", "add-remove"]
CLAIMED = Decimal(repr(exact.NUMERICAL_ERROR))

spectra = st.lists(st.integers(1, 25), max_size=8)
zeros = st.one_of(st.none(), st.integers(0, 5))


def shares(mechanism: Mechanism, supports: list[int], universe_size: int | None) -> exact.Shares:
    levels = list(SupportSpectrum.from_supports(supports).levels())
    return exact.distribution(mechanism, levels, universe_size)


def assert_close(
    found: Mapping[Any, Decimal], right: Mapping[Any, Decimal], error: Decimal
) -> None:
    with localcontext(DIGITS):
        assert abs(sum(found.values(), Decimal(0)) - 1) <= error
        for outcome in found.keys() | right.keys():
            assert abs(found.get(outcome, Decimal(0)) - right.get(outcome, Decimal(0))) <= error, (
                outcome
            )


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@settings(max_examples=8)
@given(supports=spectra, zeros=zeros)
@pytest.mark.full
def test_exact_has_the_digits_it_claims(
    neighbors: Any, supports: list[int], zeros: int | None
) -> None:
    """Against independent definitions good to 1e-60."""
    epsilon, delta = Fraction(7, 10), Fraction(1, 1000)
    size = None if zeros is None else max(2, len(supports) + zeros)
    mechanisms: list[Mechanism] = [
        LimitedDomain(epsilon, delta, neighbors, 3, 2),
        Choosing(epsilon, delta, 6, neighbors),
        Distance(epsilon, delta, neighbors),
        TightMargin(epsilon, delta, neighbors, 4),
    ]
    if size is not None:
        mechanisms += [PermuteAndFlip(epsilon, neighbors), MaxOfLaplaces(epsilon, neighbors)]
    counts = named(tuple(supports), size)
    with localcontext(DIGITS):
        for mechanism in mechanisms:
            right = by_level(exact_law(mechanism, counts, size), counts)
            assert_close(shares(mechanism, supports, size), right, CLAIMED)


def test_the_divergence_is_the_least_delta() -> None:
    p = {"a": Decimal("0.6"), "b": Decimal("0.4")}
    q = {"a": Decimal("0.1"), None: Decimal("0.9")}
    assert float(hockey_stick(p, q, Fraction(1))) == pytest.approx(0.6 - 0.1 * math.e + 0.4)
    assert hockey_stick(p, p, Fraction(1)) == 0


def test_decimals_reach_where_doubles_do_not() -> None:
    """A ratio of e^-200 between two outcomes is there, not 0."""
    [lead, last] = [shares(Exponential(1.0, "add-remove"), [200], 2)[level] for level in (200, 0)]
    assert float((last / lead).ln()) == pytest.approx(-200)
    assert np.isclose(float(lead), 1)
