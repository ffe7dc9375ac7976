"""What select draws against the exact distribution, with proven power."""

from __future__ import annotations

from collections import Counter
from functools import cache

import oracles
import pytest
from mechanism_cases import Case, cases, outcomes

from fim_private.dp.randomness import Randomness

LEVEL = 1e-6
MOST_DRAWS = 100_000


# Each draws for a second and more; every mechanism, relation and kind of universe has others.
DRAWN = cases(
    r"tight-margin (ties|to the end|leader)|large-margin (one|zeros|known, to)|exponential no"
    r"|max-of-laplaces (9|20, known)|permute-and-flip 9|distance,"
)
SEEDS = [201, pytest.param(202, marks=pytest.mark.full)]  # the second with ten times as many draws


@cache
def draws_for(case: Case) -> int:
    """As many draws as it takes to catch an epsilon that is wrong by 30 %, either way; MOST_DRAWS at the most."""
    epsilon = float(case.mechanism.cost.epsilon)
    right = case.oracle(epsilon)
    wrong = [case.oracle(round(factor * epsilon, 6)) for factor in (0.7, 1.3)]
    draws = 1000
    while draws < MOST_DRAWS and min(oracles.detects(right, other, draws) for other in wrong) <= 0.999:
        draws = min(2 * draws, MOST_DRAWS)
    return draws


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", DRAWN, ids=str)
def test_draws_follow_the_distribution(case: Case, seed: int) -> None:
    draws = draws_for(case) if seed == 201 else min(10 * draws_for(case), MOST_DRAWS)
    expected = outcomes(case.mechanism, case.spectrum)
    spectrum, randomness = case.spectrum, Randomness.seeded(seed)
    counts = Counter(case.mechanism.select(spectrum, randomness).level for _ in range(draws))
    assert set(counts) <= {key for key, probability in expected.items() if probability > 0}
    assert oracles.chi_square_pvalue(counts, expected, draws) > LEVEL


@pytest.mark.parametrize("case", DRAWN, ids=str)
def test_the_test_has_power(case: Case) -> None:
    """A mechanism whose epsilon is wrong by 30 %, either way, would have been caught."""
    epsilon = float(case.mechanism.cost.epsilon)
    right = case.oracle(epsilon)
    for wrong in (round(0.7 * epsilon, 6), round(1.3 * epsilon, 6)):
        assert oracles.detects(right, case.oracle(wrong), draws_for(case)) > 0.999
