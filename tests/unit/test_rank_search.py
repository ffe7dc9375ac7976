"""The rank search: what is quick about it changes no draw."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_private.dp.noise import Randomness
from fim_private.mechanisms import LargeMargin, TightMargin, margins
from fim_private.mechanisms.margins import OneSidedSteps, Run, Search, StepNoise, TwoSidedSteps
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


@pytest.mark.parametrize("last", [1, 2, 7, 8, 9, 10**6, 10**400])
def test_segments_share_their_thresholds_and_nothing_else(last: int) -> None:
    steps = [1, 2, 3, 7, 8, 500, 10**5, 10**300]
    search = Search(
        SupportSpectrum([]), lambda rank: sum(rank >= step for step in steps), last, NOISES[0]
    )
    firsts = [step for step in steps if step <= last]
    lasts = [*(step - 1 for step in firsts[1:]), last]
    assert list(search.segments(Run(1, last, 0))) == [
        Run(one, two, 0) for one, two in zip(firsts, lasts, strict=True)
    ]


def test_the_threshold_of_a_rank_of_thousands_of_digits() -> None:
    """By decimals it takes no more digits than that of any other rank, and gives what doubles
    give.
    """
    rank = 10**6000 + 1
    precise = margins._precise_threshold(Fraction(1), Fraction(1, 10**6), rank)
    assert precise == LargeMargin(1.0, 1e-6).integer_threshold(rank)
    assert abs(precise - LargeMargin.thresholds(1.0, 1e-6, rank)) < 3
