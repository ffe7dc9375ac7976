"""The study of validation: the histogram's stability by brute force."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest


@pytest.mark.parametrize(
    ("units", "validated"), [(3, 2), pytest.param(4, 1, marks=pytest.mark.full)]
)
def test_a_histogram_s_stability_is_reached(units: int, validated: int) -> None:
    """By brute force, over all data in two bins and noise from -2 to 2."""

    def score(noisy: tuple[int, int], others: int) -> Fraction:
        shares = [Fraction(count, units) for count in noisy]
        return 2 * (
            2 * (shares[0] * others + shares[1] * (validated - others)) / validated
            - shares[0] ** 2
            - shares[1] ** 2
        )

    of_training = of_validation = Fraction(0)
    for first, one, two, others in itertools.product(
        range(units), range(-2, 3), range(-2, 3), range(validated + 1)
    ):
        # One unit goes from the second bin to the first; counts are cut to [0, n].
        before, after = (
            (min(max(count + one, 0), units), min(max(units - count + two, 0), units))
            for count in (first, first + 1)
        )
        of_training = max(of_training, abs(score(before, others) - score(after, others)))
        if others:
            of_validation = max(
                of_validation,
                *(abs(score(n, others) - score(n, others - 1)) for n in (before, after)),
            )
    h = Fraction(1, 2)
    assert of_training * units == 4 / h - 2 / (h * units)
    assert of_validation * validated == 2 / h
