"""The rank search: what is quick about it changes no draw."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_private.dp.noise import Randomness
from fim_private.mechanisms import TightMargin
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
def test_what_surely_never_stops_is_what_the_search_finds(
    noise: StepNoise, supports: list[int], least: int, rises: list[int], seed: int
) -> None:
    # whose search relies on thresholds that rise as they do in Algorithm 1
    if isinstance(noise, TwoSidedSteps):
        thresholds = [least + int(30 * rank**0.5) for rank in range(40)]
    else:
        thresholds = list(accumulate(rises, initial=least))
    search = Search(
        SupportSpectrum.from_supports(supports), lambda rank: thresholds[rank - 1], 39, noise
    )

    class Plain(Search):
        def _surely_never_stops(self, uniform: float, shared: int) -> bool:
            return False

    plain = Plain(search.spectrum, search.threshold, search.last_rank, search.noise)
    for each in range(20):
        assert search.draw(Randomness.seeded(seed + each)) == plain.draw(
            Randomness.seeded(seed + each)
        )


def test_some_are_found_without_looking_at_each_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above could not fail otherwise."""

    def invert(*_: object) -> int:
        raise AssertionError("looked at")

    monkeypatch.setattr(Search, "_invert", invert)
    search = TightMargin(0.1, 1e-6).search(SupportSpectrum.from_supports([3, 2, 2, 1]))
    assert {search.draw(Randomness.seeded(seed)) for seed in range(5)} == {None}
