"""The rank search: what is quick about it changes no draw."""

from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_private.dp.noise import Randomness
from fim_private.mechanisms.margins import OneSidedSteps, Search, StepNoise, TwoSidedSteps
from fim_private.spectrum import SupportSpectrum

NOISES: list[StepNoise] = [
    OneSidedSteps(Fraction(1, 20), Fraction(1, 10)),
    TwoSidedSteps(Fraction(3), Fraction(6), Fraction(12)),
]
supports = st.lists(st.integers(1, 60), max_size=12)
rises = st.lists(st.integers(0, 12), min_size=40, max_size=40)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
@given(supports=supports, least=st.integers(-10, 120), rises=rises, seed=st.integers(0, 10**6))
@pytest.mark.one_in(2)
def test_the_search_stops_where_survival_falls_below_one_uniform_number(
    noise: StepNoise, supports: list[int], least: int, rises: list[int], seed: int
) -> None:
    # whose search relies on thresholds that rise as they do in Algorithm 1
    if isinstance(noise, TwoSidedSteps):
        thresholds = [least + int(30 * rank**0.5) for rank in range(40)]
    else:
        thresholds = list(accumulate(rises, initial=least))
    spectrum = SupportSpectrum.from_supports(supports)
    search = Search(spectrum, lambda rank: thresholds[rank - 1], 39, noise)

    def rank_by_rank(randomness: Randomness) -> int | None:
        descending = [*sorted(supports, reverse=True), *[0] * 40]
        lead = descending[0] + noise.draw_shared(randomness)
        uniform, survival = Fraction(randomness.bits(128), 1 << 128), Fraction(1)
        for rank in range(1, 40):
            slack = lead - descending[rank] - thresholds[rank - 1]
            survival *= 1 - Fraction(noise.hazard(slack, 256)[0], 1 << 256)
            if survival <= uniform:
                return rank
        return None

    for n in range(20):
        assert search.draw(Randomness.seeded(seed + n)) == rank_by_rank(Randomness.seeded(seed + n))
