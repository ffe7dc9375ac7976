"""What select draws against the exact distribution, with proven power."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import oracles
import pytest
from mechanism_cases import CASES, Case, Outcomes, outcomes

from fim_private.dp.randomness import Randomness

LEVEL = 1e-6
MOST_DRAWS = 100_000


# Each draws for a second and more; every mechanism, relation and kind of universe has others.
LONG = re.compile(
    r"tight-margin (ties|to the end|leader)|large-margin (one|zeros|known, to)|exponential no"
    r"|max-of-laplaces (9|20, known)|permute-and-flip 9|distance,"
)
# One in four of the others.
QUICK = [case for place, case in enumerate(CASES) if place % 4 == 0 and not LONG.match(case.name)]
# By how much an epsilon may be wrong, either way, and go unseen: the second with about twice as many draws.
ERRORS = (0.3, 0.2)


@cache
def right_and_wrong(case: Case, error: float) -> tuple[Outcomes, list[Outcomes]]:
    epsilon = float(case.mechanism.cost.epsilon)
    return case.oracle(epsilon), [case.oracle(round(factor * epsilon, 6)) for factor in (1 - error, 1 + error)]


@cache
def draws_for(case: Case, error: float) -> int:
    """As many draws as it takes to catch an epsilon that is wrong by this part, either way; MOST_DRAWS at the most."""
    right, wrong = right_and_wrong(case, error)
    draws = 1000
    while draws < MOST_DRAWS and min(oracles.detects(right, other, draws) for other in wrong) <= 0.999:
        draws = min(draws + draws // 4, MOST_DRAWS)
    return draws


@pytest.mark.parametrize(
    ("case", "error"),
    [(case, ERRORS[0]) for case in QUICK] + [pytest.param(case, ERRORS[1], marks=pytest.mark.full) for case in CASES],
    ids=str,
)
def test_draws_follow_the_distribution(case: Case, error: float) -> None:
    draws = draws_for(case, error)
    expected = outcomes(case.mechanism, case.spectrum)
    spectrum, randomness = case.spectrum, Randomness.seeded(201 + ERRORS.index(error))
    counts = Counter(case.mechanism.select(spectrum, randomness).level for _ in range(draws))
    assert set(counts) <= {key for key, probability in expected.items() if probability > 0}
    assert oracles.chi_square_pvalue(counts, expected, draws) > LEVEL


@pytest.mark.parametrize("error", [ERRORS[0], pytest.param(ERRORS[1], marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.full) if LONG.match(case.name) else case for case in CASES],
    ids=str,
)
def test_the_test_has_power(case: Case, error: float) -> None:
    """A mechanism whose epsilon is wrong by this part, either way, would have been caught."""
    right, wrong = right_and_wrong(case, error)
    for other in wrong:
        assert oracles.detects(right, other, draws_for(case, error)) > 0.999
