"""Every mechanism against its slow, independent definition, and the properties all of them
share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import oracles
import pytest
import selection_oracles as slow_selection
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_cases import (
    CASES,
    Case,
    by_level,
    cases,
    exact,
    named,
    outcomes,
    tight_margin,
    with_abstention,
)

from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.mechanisms import (
    ABSTAIN,
    Choosing,
    Distance,
    Exponential,
    LargeMargin,
    LimitedDomain,
    MaxOfLaplaces,
    Mechanism,
    NamedExponential,
    PermuteAndFlip,
    TightMargin,
)
from fim_private.mechanisms.margins import Run, Search, TwoSidedSteps, _integer_threshold
from fim_private.spectrum import SupportSpectrum

PURE = (Exponential, PermuteAndFlip, MaxOfLaplaces)


def assert_same(
    ours: dict[int | None, float], oracle: dict[int | None, float], tolerance: float = 1e-9
) -> None:
    assert sum(ours.values()) == pytest.approx(1, abs=1e-12)
    for key in ours.keys() | oracle.keys():
        assert ours.get(key, 0.0) == pytest.approx(oracle.get(key, 0.0), abs=tolerance), key


@pytest.mark.parametrize(
    "case",
    cases("large-margin one itemset, 420|tight-margin (to the end|leader,)|max-of-laplaces 20"),
    ids=str,
)
def test_distribution_is_the_slow_definition(case: Case) -> None:
    assert_same(
        outcomes(case.mechanism, case.spectrum), case.oracle(float(case.mechanism.cost.epsilon))
    )


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 60), max_size=12),
    st.sampled_from([0.5, 1.0, 2.0, 5.0]),
    st.sampled_from([0.5, 0.1, 1e-3]),
    st.one_of(st.none(), st.integers(0, 30)),
    st.integers(1, 40),
)
def test_large_margin_on_any_spectrum(
    supports: list[int], epsilon: float, delta: float, zeros: int | None, max_rank: int
) -> None:
    size = None if zeros is None else max(1, len(supports) + zeros)
    levels, abstain = oracles.large_margin_distribution(
        supports, exact(epsilon), exact(delta), universe_size=size, max_rank=max_rank
    )
    mechanism = LargeMargin(epsilon, delta, max_rank=max_rank)
    assert_same(
        outcomes(mechanism, SupportSpectrum.from_supports(supports, size)),
        with_abstention(levels, abstain),
    )


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 40), max_size=12),
    st.sampled_from([0.1, 1.0, 3.0]),
    st.sampled_from(["replace-one", "add-remove"]),
    st.sampled_from([0, 1, 50, 10**60]),
)
def test_exponential_on_any_spectrum(
    supports: list[int], epsilon: float, neighbors: str, zeros: int
) -> None:
    size = max(1, len(supports) + zeros)
    slow = oracles.exponential_distribution(
        supports,
        exact(epsilon),
        neighbors=neighbors,  # type: ignore[arg-type]
        universe_size=size,
    )
    spectrum = SupportSpectrum.from_supports(supports, size)
    assert_same(outcomes(Exponential(epsilon, neighbors), spectrum), with_abstention(slow, 0.0))


@settings(max_examples=20)
@given(
    st.lists(st.integers(1, 25), max_size=8),
    st.sampled_from([0.5, 1.0, 3.0]),
    st.sampled_from([0.5, 1e-3]),
    st.sampled_from(["replace-one", "add-remove"]),
    st.one_of(st.none(), st.integers(0, 6)),
    st.integers(1, 12),
    st.one_of(st.none(), st.integers(1, 5)),
)
@pytest.mark.full
def test_the_others_on_any_spectrum(
    supports: list[int],
    epsilon: float,
    delta: float,
    neighbors: Any,
    zeros: int | None,
    max_rank: int,
    max_itemsets: int | None,
) -> None:
    size = None if zeros is None else max(2, len(supports) + zeros)
    counts = named(tuple(supports), size)
    e, d = exact(epsilon), exact(delta)
    relation: dict[str, Any] = {"neighbors": neighbors, "universe_size": size}
    tight = TightMargin(epsilon, delta, neighbors, max_rank)
    split = (tight.shared_share, tight.step_share, 1 - tight.shared_share - tight.step_share)
    relation |= {"counts": counts, "epsilon": e}
    both = relation | {"delta": d}
    capped: dict[str, Any] = {"max_itemsets": max_itemsets or 9}
    limit: dict[str, Any] = {"max_rank": max_rank, "max_itemsets": max_itemsets}
    search: dict[str, Any] = {"max_rank": max_rank, "split": split, "thresholds": tight.threshold}
    answers: list[tuple[Mechanism, Any]] = [
        (
            LimitedDomain(epsilon, delta, neighbors, **limit),
            slow_selection.limited_domain(**both, **limit),
        ),
        (
            Choosing(epsilon, delta, neighbors=neighbors, **capped),
            slow_selection.choosing(**both, **capped),
        ),
        (Distance(epsilon, delta, neighbors), slow_selection.distance(**both)),
        (tight, slow_selection.tight_margin(**both, **search)),
    ]
    if size is not None:
        answers.append(
            (PermuteAndFlip(epsilon, neighbors), slow_selection.permute_and_flip(**relation))
        )
        answers.append(
            (MaxOfLaplaces(epsilon, neighbors), slow_selection.max_of_laplaces(**relation))
        )
    for mechanism, slow in answers:
        assert_same(
            outcomes(mechanism, SupportSpectrum.from_supports(supports, size)),
            by_level(slow, counts),
        )


def test_a_weight_of_abstaining_that_is_a_whole_number_is_not_rounded_up() -> None:
    """11 / 0.44 = 25, which doubles put above 25: one more of 25 in the weight of abstaining moved
    it by 7e-4.
    """
    case = tight_margin("whole", (1,), epsilon=0.5, delta=0.5, neighbors="add-remove", max_rank=11)
    assert_same(outcomes(case.mechanism, case.spectrum), case.oracle(0.5))


@pytest.mark.parametrize("make", [Exponential, PermuteAndFlip, MaxOfLaplaces])
def test_what_needs_a_public_universe_says_so(make: Any) -> None:
    spectrum = SupportSpectrum.from_supports([3])
    for use in (make(1.0).distribution, lambda s: make(1.0).select(s, Randomness())):
        with pytest.raises(ParameterError, match="mechanism needs a public universe"):
            use(spectrum)


def suffices(mechanism: Mechanism, support: int, tied: int) -> bool:
    """Whether one of so many tied leaders is released with 95 % probability, all others being at
    0.
    """
    return mechanism.distribution(SupportSpectrum.from_supports([support] * tied)).abstain <= 0.05


@pytest.mark.parametrize(
    ("neighbors", "margins"), [("add-remove", (31, 30, 28, 26)), ("replace-one", (63, 60, 57, 52))]
)
@pytest.mark.one_in(2)
def test_the_tight_margin_is_a_fraction_of_the_published_one(
    neighbors: str, margins: tuple[int, ...]
) -> None:
    for tied, needed in zip((1, 3, 10, 100), margins, strict=True):
        mechanism = TightMargin(1.0, 1e-6, neighbors)
        assert suffices(mechanism, needed, tied)
        assert not suffices(mechanism, needed - 1, tied)
        assert not suffices(LargeMargin(1.0, 1e-6), 435, tied)
        assert needed <= 435 / (10 if neighbors == "add-remove" else 5)


def test_the_papers_thresholds() -> None:
    assert LargeMargin.thresholds(1.0, 1e-6, 1) == pytest.approx(414.91964148, abs=1e-8)
    margins = [LargeMargin.thresholds(1, 1e-6, rank) for rank in (1, 2, 10, 10**60)]
    assert (np.diff(margins) > 0).all()


@given(
    st.floats(1e-3, 50),
    st.floats(1e-12, 0.99),
    st.integers(1, 10**12) | st.sampled_from([10**20, 10**60 + 1, 10**100]),
)
def test_integer_thresholds_are_the_ceiling_of_the_corrected_margin(
    epsilon: float, delta: float, rank: int
) -> None:
    [slow] = oracles.integer_thresholds(exact(epsilon), exact(delta), [rank])
    assert _integer_threshold(epsilon, delta, rank) == slow


def test_a_threshold_next_to_an_integer_is_decided_by_digits() -> None:
    # Tune delta until double precision cannot tell on which side of an integer the margin lies.
    low, high = 1e-6, 2e-6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _integer_threshold(1.0, middle, 1) >= 400 else (low, middle)
    for delta in (low, high, np.nextafter(low, 0), np.nextafter(high, 1)):
        [slow] = oracles.integer_thresholds(Fraction(1), exact(float(delta)), [1])
        assert _integer_threshold(1.0, float(delta), 1) == slow


@pytest.mark.full
@pytest.mark.parametrize("size", [20_000, 10**6, 10**60])
def test_a_huge_known_universe_agrees_with_drawing(size: int) -> None:
    """The grouped tail of the distribution against the ungrouped, exact draw: 5 standard errors."""
    supports = [330] * 200 + [300] * 50
    mechanism = LargeMargin(1.0, 1e-3)
    expected = outcomes(mechanism, SupportSpectrum.from_supports(supports, size))
    spectrum, randomness = (
        SupportSpectrum.from_supports(supports, size),
        Randomness.seeded(size % 1000),
    )
    drawn = [mechanism.select(spectrum, randomness).level for _ in range(1500)]
    for level, probability in expected.items():
        error = np.sqrt(max(probability * (1 - probability), 1e-9) / 1500)
        assert abs(drawn.count(level) / 1500 - probability) < 5 * error + 1e-3


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    "make",
    [pytest.param(LargeMargin, marks=pytest.mark.full), TightMargin, LimitedDomain, Exponential],
)
@pytest.mark.parametrize("support", [40, 700, 6_000])
def test_more_candidates_than_doubles_count(make: Any, neighbors: str, support: int) -> None:
    """10^400 are as many as 10^300: zeros have all the weight, or none."""
    mechanism = (
        make(1.0, neighbors=neighbors) if make is Exponential else make(1.0, 1e-3, neighbors)
    )
    supports = [support] * 3 + [support // 2] * 50
    many, more = (
        outcomes(mechanism, SupportSpectrum.from_supports(supports, size))
        for size in (10**299, 10**400)
    )
    assert sum(more.values()) == pytest.approx(1, abs=1e-12)
    if make is not Exponential:  # ln 10^400 = 921: 6,000 units are enough for it in either case
        assert more == pytest.approx(many, abs=1e-11)
    spectrum, randomness = (
        SupportSpectrum.from_supports(supports, 10**400),
        Randomness.seeded(support),
    )
    assert mechanism.select(spectrum, randomness).level in {*supports, 0, None}


class GroupedLargeMargin(LargeMargin):
    def search(self, spectrum: SupportSpectrum) -> Search:
        return replace(super().search(spectrum), single_ranks=100, group_share=64)


def test_grouping_ranks_hardly_moves_the_distribution() -> None:
    supports = [130] * 300 + [10] * 20
    mechanism, spectrum = LargeMargin(2.0, 1e-3), SupportSpectrum.from_supports(supports, 10_000)
    single = outcomes(mechanism, spectrum)
    grouped = outcomes(GroupedLargeMargin(2.0, 1e-3), spectrum)
    assert single.keys() == grouped.keys()
    assert single != grouped
    for key, value in single.items():
        assert grouped[key] == pytest.approx(value, abs=1e-3 / 64 * 4)


def test_select_reads_no_further_than_it_must() -> None:
    read: list[int] = []

    def levels() -> Iterator[tuple[int, int]]:
        for support in (900, 100, 50, 2):
            read.append(support)
            yield support, 1

    assert LargeMargin().select(SupportSpectrum(levels()), Randomness.seeded(1)).level == 900
    assert read == [900, 100]


def test_the_cap_ends_the_reading() -> None:
    read: list[int] = []

    def levels() -> Iterator[tuple[int, int]]:
        for support, multiplicity in ((100, 2), (95, 3)):
            read.append(support)
            yield support, multiplicity
        raise AssertionError("no rank up to the cap needs this level")

    mechanism = LargeMargin(1.0, 0.1, max_rank=4)  # tests c(1) against c(2) … c(5)
    for seed in range(50):
        mechanism.select(SupportSpectrum(levels()), Randomness.seeded(seed))
    assert read.count(95) > 10


def test_a_search_without_hope_ends_where_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    asked: set[int] = set()

    def threshold(epsilon: float, delta: float, rank: int) -> int:
        asked.add(rank)
        return _integer_threshold(epsilon, delta, rank)

    def levels() -> Iterator[tuple[int, int]]:
        for support in range(100, 0, -1):
            read.append(support)
            yield support, 1

    monkeypatch.setattr("fim_private.mechanisms.margins._integer_threshold", threshold)
    mechanism = LargeMargin(0.1)
    assert mechanism.select(SupportSpectrum(levels()), Randomness.seeded(1)) == ABSTAIN
    assert len(read) <= 2
    assert 1 <= len(asked) <= 2


@pytest.mark.parametrize("noise", [-20, 0, 20])
@pytest.mark.parametrize("crowd", [True, False])
def test_the_rank_is_where_the_survival_function_falls_below_the_uniform_number(
    crowd: bool, noise: int
) -> None:
    """At 600 uniform numbers, against the product of the hazards in doubles: many ranks alike, or
    each less likely.
    """
    mechanism = LargeMargin(1.0, 0.1, max_rank=60)
    margins = [mechanism.integer_threshold(rank) for rank in range(1, 70)]
    supports = (
        [500, *(535 - margin for margin in margins)] if crowd else [margins[0] - 15, *[1] * 69]
    )
    search = mechanism.search(SupportSpectrum.from_supports(supports))
    slack = np.array(
        [supports[0] - supports[rank] - search.threshold(rank) + noise for rank in range(1, 61)]
    )
    survival = np.exp(np.cumsum(search.noise.log_stay(slack.astype(float))))
    found = set()
    for uniform in (np.arange(600) + 0.5) / 600:
        digits = int(uniform * 2**60) << 68
        right = next((rank + 1 for rank in range(60) if uniform >= survival[rank]), None)
        assert search._invert((digits, digits + 1), noise, 128) == right
        found.add(right)
    assert crowd or None in found
    assert len(found) >= (20 if crowd else 3)


def test_an_empty_spectrum_abstains_or_names_a_zero() -> None:
    nothing = SupportSpectrum.from_supports([])
    assert LargeMargin().select(nothing, Randomness.seeded(1)) == ABSTAIN
    assert outcomes(LargeMargin(), nothing)[None] == pytest.approx(1, abs=1e-12)
    universe = SupportSpectrum.from_supports([], 50)
    assert LargeMargin().select(universe, Randomness.seeded(1)).level == 0
    assert Exponential(1.0).select(universe, Randomness.seeded(1)).level == 0
    assert NamedExponential(1.0, 1e-6, 50).select(nothing, Randomness.seeded(1)).level == 0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mechanisms_are_frozen_and_know_their_cost_without_data(case: Case) -> None:
    mechanism: Any = case.mechanism
    with pytest.raises(FrozenInstanceError):
        mechanism.epsilon = 2.0
    assert (case.mechanism.cost.delta == 0) == isinstance(case.mechanism, PURE)


@pytest.mark.parametrize(
    "make", [LargeMargin, partial(NamedExponential, universe_size=10)], ids=str
)
def test_a_budget_out_of_range_is_refused(make: Any) -> None:  # every value: test_privacy.py
    for budget in ((0, 1e-6), ("1", 1e-6)):
        with pytest.raises(ParameterError, match="epsilon must be a number above 0, not"):
            make(*budget)
    for delta in (0, 1):
        with pytest.raises(ParameterError, match="delta must be a number above 0 and below 1, not"):
            make(1.0, delta)


def test_other_bad_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="neighbors must be one of replace-one, add-remove"):
        LargeMargin(neighbors="both")
    with pytest.raises(ParameterError, match="max_rank must be a whole number"):
        LargeMargin(max_rank=0)
    with pytest.raises(ParameterError, match="universe_size must be"):
        NamedExponential(1.0, 1e-6, 0)


@pytest.mark.parametrize("epsilon", [1e-6, 1e6])
def test_extreme_epsilons_are_drawn(epsilon: float) -> None:
    spectrum = SupportSpectrum.from_supports([1000, 3], 100)
    for mechanism in (
        LargeMargin(epsilon),
        Exponential(epsilon),
        NamedExponential(epsilon, 1e-6, 100),
    ):
        level = mechanism.select(spectrum, Randomness.seeded(4)).level
        assert level in (1000, 3, 0)
        assert epsilon < 1 or level == 1000


@settings(max_examples=30)
@given(
    st.lists(st.integers(1, 500), min_size=1, max_size=8),
    st.integers(-400, 400),
    st.integers(0, 2**30),
)
def test_the_stopping_rank_is_the_first_rank_a_literal_search_could_stop_at(
    supports: list[int], noise: int, seed: int
) -> None:
    """The inverted draw, with one run per rank, gives the same rank for the same uniform number."""
    spectrum = SupportSpectrum.from_supports(supports)
    search = replace(LargeMargin(1.0, 0.1, max_rank=200).search(spectrum), last_rank=200)
    noise_only = WithoutBound(*LargeMargin(1.0, 0.1).scales)
    single = SingleRanks(search.spectrum, search.threshold, search.last_rank, noise_only)
    one, two = (s.draw(Randomness.seeded(seed), noise) for s in (search, single))
    assert one == two


class SingleRanks(Search):
    """A search that takes every rank by itself."""

    def segments(self, run: Run) -> Iterator[Run]:
        return (Run(rank, rank, run.next_support) for rank in range(run.first, run.last + 1))


class WithoutBound(TwoSidedSteps):
    """Noise for a search that never ends before its last rank."""

    @property
    def rest_factor(self) -> None:
        return None
