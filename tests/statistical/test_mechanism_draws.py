"""What select draws against the exact distribution, with proven power."""

import re
from collections import Counter

import oracles
import pytest
from mechanism_cases import CASES, Case, outcomes

from fim_private.dp.noise import Randomness

LEVEL = 1e-6
MOST_DRAWS = 100_000
# Each draws for a second and more; every mechanism, relation and kind of universe has others.
LONG = re.compile(
    r"tight-margin (ties|to the end|leader)|large-margin (one|zeros|known, to)|exponential no"
    r"|max-of-laplaces (9|20, known)|permute-and-flip 9|distance,"
)
# One in four of the others.
QUICK = [case for place, case in enumerate(CASES) if place % 4 == 0 and not LONG.match(case.name)]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[] if case in QUICK else pytest.mark.full) for case in CASES],
    ids=str,
)
def test_draws_follow_the_distribution(case: Case) -> None:
    """As many draws as it takes to catch an epsilon that is wrong by 30 %, either way."""
    right, wrong = case.oracle(), [case.oracle(0.7), case.oracle(1.3)]
    draws = 1000
    while min(oracles.detects(right, other, draws) for other in wrong) <= 0.999:
        draws += draws // 4
        assert draws <= MOST_DRAWS
    expected = outcomes(case.mechanism, case.spectrum)
    spectrum, randomness = case.spectrum, Randomness.seeded(201)
    counts = Counter(case.mechanism.select(spectrum, randomness).level for _ in range(draws))
    assert set(counts) <= {key for key, probability in expected.items() if probability > 0}
    assert oracles.chi_square_pvalue(counts, expected, draws) > LEVEL
