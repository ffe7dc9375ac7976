"""Every mechanism against its slow, independent definition, and what all of them share."""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_cases import CASES, Case, Outcomes, exact, outcomes, slow

import fim_private as fim
from fim_private.auditing import exact as sixty_digits
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.mechanisms import ABSTAIN, Exponential, LargeMargin, Mechanism, NamedExponential
from fim_private.mechanisms.margins import Run, Search, TwoSidedSteps, _integer_threshold
from fim_private.spectrum import SupportSpectrum

NEIGHBORS = ["replace-one", "add-remove"]


def assert_same(ours: Outcomes, oracle: Outcomes) -> None:
    assert sum(ours.values()) == pytest.approx(1, abs=1e-12)
    for key in ours.keys() | oracle.keys():
        assert ours.get(key, 0.0) == pytest.approx(oracle.get(key, 0.0), abs=1e-9), key


def assert_exact(mechanism: Mechanism, supports: tuple[int, ...], size: int | None) -> None:
    spectrum = SupportSpectrum.from_supports(supports, size)
    assert_same(outcomes(mechanism, spectrum), slow(mechanism, supports, size))


LONG = "large-margin (one itemset, 420|near ties)|tight-margin (to the end|leader,)|max-of-lap.* 20"


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.full) if re.match(LONG, c.name) else c for c in CASES],
    ids=str,
)
@pytest.mark.one_in(4)
def test_distributions_are_the_slow_definition(case: Case) -> None:
    """That of doubles, and that of sixty digits, with which mechanisms are audited."""
    right = case.oracle()
    assert_same(outcomes(case.mechanism, case.spectrum), right)
    ranks = getattr(case.mechanism, "max_rank", 0) if case.universe_size is None else 0
    if max(ranks, case.universe_size or 0) <= 50:  # what searches further is for doubles
        levels = tuple(case.spectrum.levels())
        shares = sixty_digits.distribution(case.mechanism, levels, case.universe_size)
        if isinstance(case.mechanism, NamedExponential):
            shares[0] = shares.pop(None)
        assert_same({level: float(share) for level, share in shares.items()}, right)


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 60), max_size=12).map(tuple),
    st.sampled_from([0.5, 1.0, 2.0, 5.0]),
    st.sampled_from([0.5, 0.1, 1e-3]),
    st.none() | st.integers(0, 30),
    st.integers(1, 40),
)
def test_large_margin_on_any_spectrum(
    supports: tuple[int, ...], epsilon: float, delta: float, zeros: int | None, max_rank: int
) -> None:
    size = None if zeros is None else max(1, len(supports) + zeros)
    assert_exact(LargeMargin(epsilon, delta, max_rank=max_rank), supports, size)


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 40), max_size=12).map(tuple),
    st.sampled_from([0.1, 1.0, 3.0]),
    st.sampled_from(NEIGHBORS),
    st.sampled_from([0, 1, 50, 10**60]),
)
def test_exponential_on_any(supports: Any, epsilon: float, neighbors: str, zeros: int) -> None:
    assert_exact(Exponential(epsilon, neighbors), supports, max(1, len(supports) + zeros))


@settings(max_examples=20)
@given(
    st.lists(st.integers(1, 25), max_size=8).map(tuple),
    st.sampled_from([0.5, 1.0, 3.0]),
    st.sampled_from([0.5, 1e-3]),
    st.sampled_from(NEIGHBORS),
    st.none() | st.integers(0, 6),
    st.integers(1, 12),
    st.none() | st.integers(1, 5),
)
@pytest.mark.full
def test_the_others_on_any_spectrum(
    supports: tuple[int, ...], epsilon: float, delta: float, neighbors: str, zeros: int | None,
    max_rank: int, most: int | None,
) -> None:  # fmt: skip
    size = None if zeros is None else max(2, len(supports) + zeros)
    mechanisms: list[Mechanism] = [
        fim.LimitedDomain(epsilon, delta, neighbors, max_rank, most),
        fim.Choosing(epsilon, delta, most or 9, neighbors),
        fim.Distance(epsilon, delta, neighbors),
        fim.TightMargin(epsilon, delta, neighbors, max_rank),
    ]
    if size is not None:
        mechanisms.append(fim.PermuteAndFlip(epsilon, neighbors))
        mechanisms.append(fim.MaxOfLaplaces(epsilon, neighbors))
    for mechanism in mechanisms:
        assert_exact(mechanism, supports, size)


def test_a_weight_of_abstaining_that_is_a_whole_number_is_not_rounded_up() -> None:
    """11 / 0.44 = 25, which doubles put above 25: one more of 25 moved ⊥ by 7e-4."""
    assert_exact(fim.TightMargin(0.5, 0.5, "add-remove", 11), (1,), None)


@pytest.mark.parametrize(("epsilon", "delta", "max_rank"), [(1e4, 1e-6, 1), (9.0, 1e-300, 10**12)])
def test_abstaining_may_weigh_more_than_doubles_can_hold(
    epsilon: float, delta: float, max_rank: int
) -> None:
    spectrum = SupportSpectrum.from_supports([10, 10, 3])
    ours = fim.TightMargin(epsilon, delta, "replace-one", max_rank).distribution(spectrum)
    assert ours.abstain == pytest.approx(1)
    assert [*ours.probabilities] == pytest.approx([0, 0])


@pytest.mark.parametrize(
    ("epsilon", "supports"), [(5.0, (3, *[2] * 100, *[1] * 100)), (1e4, [1] * 100)]
)
def test_noise_that_hardly_orders_many_ties_is_integrated_where_it_counts(
    epsilon: float, supports: tuple[int, ...]
) -> None:
    """Only a small part of an interval counts: over all of it the first was off by 5e-7."""
    assert_exact(fim.MaxOfLaplaces(epsilon), supports, len(supports))


def test_the_highest_of_more_ties_than_noise_can_order() -> None:
    spectrum = SupportSpectrum([(1, 10**30)], universe_size=10**30)
    assert [*fim.MaxOfLaplaces(1e4).distribution(spectrum).probabilities] == [1]


@pytest.mark.parametrize("make", [Exponential, fim.PermuteAndFlip, fim.MaxOfLaplaces])
def test_what_needs_a_public_universe_says_so(make: Any) -> None:
    spectrum = SupportSpectrum.from_supports([3])
    for use in (make(1.0).distribution, lambda s: make(1.0).select(s, Randomness())):
        with pytest.raises(ParameterError, match="mechanism needs a public universe"):
            use(spectrum)


@pytest.mark.parametrize(
    ("neighbors", "margins"), [("add-remove", (31, 30, 28, 26)), ("replace-one", (63, 60, 57, 52))]
)
@pytest.mark.one_in(2)
def test_the_tight_margin_is_a_fraction(neighbors: str, margins: tuple[int, ...]) -> None:
    """With which one of so many tied leaders is released with 95 % probability."""

    def suffices(mechanism: Mechanism, support: int, tied: int) -> bool:
        spectrum = SupportSpectrum.from_supports([support] * tied)
        return mechanism.distribution(spectrum).abstain <= 0.05

    for tied, needed in zip((1, 3, 10, 100), margins, strict=True):
        mechanism = fim.TightMargin(1.0, 1e-6, neighbors)
        assert suffices(mechanism, needed, tied)
        assert not suffices(mechanism, needed - 1, tied)
        assert not suffices(LargeMargin(1.0, 1e-6), 435, tied)
        assert needed <= 435 / (10 if neighbors == "add-remove" else 5)


# -------------------- thresholds


def test_the_papers_thresholds() -> None:
    assert LargeMargin.thresholds(1.0, 1e-6, 1) == pytest.approx(414.91964148, abs=1e-8)
    margins = [LargeMargin.thresholds(1, 1e-6, rank) for rank in (1, 2, 10, 10**60)]
    assert (np.diff(margins) > 0).all()


@given(
    st.floats(1e-3, 50),
    st.floats(1e-12, 0.99),
    st.integers(1, 10**12) | st.sampled_from([10**20, 10**60 + 1, 10**100]),
)
def test_integer_thresholds_are_ceilings(epsilon: float, delta: float, rank: int) -> None:
    [right] = oracles.integer_thresholds(exact(epsilon), exact(delta), [rank])
    assert _integer_threshold(exact(epsilon), exact(delta), rank) == right


def test_a_threshold_next_to_an_integer_is_decided_by_digits() -> None:
    # Tune delta until double precision cannot tell on which side of an integer the margin lies.
    low, high = 1e-6, 2e-6
    for _ in range(60):
        middle = (low + high) / 2
        above = _integer_threshold(Fraction(1), exact(middle), 1) >= 400
        low, high = (middle, high) if above else (low, middle)
    for delta in map(float, (low, high, np.nextafter(low, 0), np.nextafter(high, 1))):
        [right] = oracles.integer_thresholds(Fraction(1), exact(delta), [1])
        assert _integer_threshold(Fraction(1), exact(delta), 1) == right


# -------------------- large and small

LARGE = pytest.param(LargeMargin, marks=pytest.mark.full)


@pytest.mark.full
@pytest.mark.parametrize("size", [20_000, 10**6, 10**60])
def test_a_huge_known_universe_agrees_with_drawing(size: int) -> None:
    """The grouped tail of the distribution against the ungrouped, exact draw: 5 standard errors."""
    mechanism = LargeMargin(1.0, 1e-3)
    spectrum = SupportSpectrum.from_supports([330] * 200 + [300] * 50, size)
    expected, randomness = outcomes(mechanism, spectrum), Randomness.seeded(size % 1000)
    drawn = [mechanism.select(spectrum, randomness).level for _ in range(1500)]
    for level, probability in expected.items():
        error = np.sqrt(max(probability * (1 - probability), 1e-9) / 1500)
        assert abs(drawn.count(level) / 1500 - probability) < 5 * error + 1e-3


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("make", [LARGE, fim.TightMargin, fim.LimitedDomain, Exponential])
@pytest.mark.parametrize("support", [40, 700, 6_000])
def test_more_candidates_than_doubles_count(make: Any, neighbors: str, support: int) -> None:
    """10^400 are as many as 10^300: zeros have all the weight, or none."""
    mechanism = make(1.0, *([] if make is Exponential else [1e-3]), neighbors)
    supports = [support] * 3 + [support // 2] * 50
    spectra = [SupportSpectrum.from_supports(supports, size) for size in (10**299, 10**400)]
    many, more = (outcomes(mechanism, spectrum) for spectrum in spectra)
    assert sum(more.values()) == pytest.approx(1, abs=1e-12)
    if make is not Exponential:  # ln 10^400 = 921: 6,000 units are enough for it in either case
        assert more == pytest.approx(many, abs=1e-11)
    level = mechanism.select(spectra[1], Randomness.seeded(support)).level
    assert level in {*supports, 0, None}


@pytest.mark.parametrize("epsilon", [1e-6, 1e6])
def test_extreme_epsilons_are_drawn(epsilon: float) -> None:
    spectrum = SupportSpectrum.from_supports([1000, 3], 100)
    named = NamedExponential(epsilon, 1e-6, 100)
    for mechanism in (LargeMargin(epsilon), Exponential(epsilon), named):
        level = mechanism.select(spectrum, Randomness.seeded(4)).level
        assert level in (1000, 3, 0)
        assert epsilon < 1 or level == 1000


def test_an_empty_spectrum_abstains_or_names_a_zero() -> None:
    nothing = SupportSpectrum.from_supports([])
    assert LargeMargin().select(nothing, Randomness.seeded(1)) == ABSTAIN
    assert outcomes(LargeMargin(), nothing)[None] == pytest.approx(1, abs=1e-12)
    universe = SupportSpectrum.from_supports([], 50)
    assert LargeMargin().select(universe, Randomness.seeded(1)).level == 0
    assert Exponential(1.0).select(universe, Randomness.seeded(1)).level == 0
    assert NamedExponential(1.0, 1e-6, 50).select(nothing, Randomness.seeded(1)).level == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [  # every value: test_privacy.py
        *(
            (partial(make, *budget), f"{name} must be a number above 0")
            for make in (LargeMargin, partial(NamedExponential, universe_size=10))
            for *budget, name in ((0, 1e-6, "epsilon"), (1, 0, "delta"), (1, 1, "delta"))
        ),
        (partial(LargeMargin, neighbors="x"), "neighbors must be one of replace-one, add-remove"),
        (partial(LargeMargin, max_rank=0), "max_rank must be a whole number"),
        (partial(NamedExponential, 1.0, 1e-6, 0), "universe_size must be"),
    ],
)
def test_bad_parameters_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


# -------------------- no further than it must


def read_by(mechanism: Mechanism, levels: list[Any], seed: int = 1) -> tuple[Any, list[int]]:
    """What is selected, and which levels were read for it."""
    read: list[int] = []

    def noted() -> Iterator[tuple[int, int]]:
        for support, multiplicity in levels:
            read.append(support)
            yield support, multiplicity

    return mechanism.select(SupportSpectrum(noted()), Randomness.seeded(seed)).level, read


def test_select_reads_no_further_than_it_must() -> None:
    spread = [(900, 1), (100, 1), (50, 1), (2, 1)]
    assert read_by(LargeMargin(), spread) == (900, [900, 100])
    # Tests c(1) against c(2) … c(5): no rank up to the cap needs the last level.
    capped = LargeMargin(1.0, 0.1, max_rank=4)
    read = [read_by(capped, [(100, 2), (95, 3), (1, 1)], seed)[1] for seed in range(50)]
    assert max(read) == [100, 95]
    # Without hope it ends where it begins.
    level, few = read_by(LargeMargin(0.1), [(support, 1) for support in range(100, 0, -1)])
    assert level is None
    assert len(few) <= 2


@settings(max_examples=30)
@given(
    st.lists(st.integers(1, 500), min_size=1, max_size=8),
    st.integers(-400, 400),
    st.integers(0, 2**30),
)
def test_the_stopping_rank_of_a_literal_search(supports: list[int], noise: int, seed: int) -> None:
    """The inverted draw, with one run per rank, gives the same rank for the same uniform number."""
    spectrum = SupportSpectrum.from_supports(supports)
    search = replace(LargeMargin(1.0, 0.1, max_rank=200).search(spectrum), last_rank=200)
    single = SingleRanks(search.spectrum, search.threshold, search.last_rank, NO_BOUND)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TwoSidedSteps, "draw_shared", lambda *_: noise)
        one, two = (s.draw(Randomness.seeded(seed)) for s in (search, single))
    assert one == two


class SingleRanks(Search):
    """A search that takes every rank by itself."""

    def runs(self) -> Iterator[Run]:
        for run in super().runs():
            for rank in range(run.first, run.last + 1):
                yield Run(rank, rank, run.next_support)


class WithoutBound(TwoSidedSteps):
    """Noise for a search that never ends before its last rank."""

    rest_factor = None


NO_BOUND = WithoutBound(Fraction(3), Fraction(6), Fraction(12))
