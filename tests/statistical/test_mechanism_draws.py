"""What select draws against the exact distribution, with proven power."""

from __future__ import annotations

from collections import Counter

import oracles
import pytest
from mechanism_cases import CASES, Case, outcomes

from fim_private.randomness import Randomness

DRAWS = 100_000
LEVEL = 1e-6


SEEDS = [201, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (202, 203, 204, 205))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_draws_follow_the_distribution(case: Case, seed: int) -> None:
    expected = outcomes(case.mechanism, case.spectrum)
    spectrum, randomness = case.spectrum, Randomness.seeded(seed)
    counts = Counter(case.mechanism.select(spectrum, randomness).level for _ in range(DRAWS))
    assert set(counts) <= {key for key, probability in expected.items() if probability > 0}
    assert oracles.chi_square_pvalue(counts, expected, DRAWS) > LEVEL


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_test_has_power(case: Case) -> None:
    """A mechanism whose epsilon is wrong by 30 %, either way, would have been caught."""
    epsilon = case.mechanism.cost.epsilon
    right = case.oracle(epsilon)
    for wrong in (round(0.7 * epsilon, 6), round(1.3 * epsilon, 6)):
        assert oracles.detects(right, case.oracle(wrong), DRAWS) > 0.999
