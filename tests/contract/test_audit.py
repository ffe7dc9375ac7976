"""`fim_private.auditing`: its arithmetic against oracles, every mechanism within its guarantee,
every mutant caught.

A mutant is a mechanism broken on purpose, at its source or where it is used. Each is caught by the
audit of the whole, by that of a stage, or, where what is broken breaks no guarantee, by comparing
distributions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import oracles
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st
from mechanism_cases import CASES, Case

from fim_private.auditing import audit as auditing
from fim_private.auditing import exact
from fim_private.auditing.audit import audit, auditable
from fim_private.auditing.exact import (
    Stops,
    are_neighbors,
    hockey_stick,
    random_pairs,
    ranks,
    structured_pairs,
)
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.mechanisms import (
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
    exponential,
    margins,
    registry,
)
from fim_private.mechanisms.exponential import AbstentionWeight, Candidate, named
from fim_private.mechanisms.margins import OneSidedSteps, Run, Search
from fim_private.mechanisms.top_k import TopK, is_bounded_range
from fim_private.spectrum import Level, SupportSpectrum

Counts = Mapping[str, int]


NEIGHBORS = ["replace-one", "add-remove"]
AUDITABLE = [*registry.single()]
# Replacing doubles the levels that neighbours differ in, and takes five times as long.
QUICKLY = [pytest.param("replace-one", marks=pytest.mark.full), "add-remove"]


LONGEST = "large-margin near ties"


def is_for_exact_arithmetic(case: Case) -> bool:
    """Few zeros, and few ranks: a search of 10,000 is for doubles, and one of 300 is long enough
    for one test.
    """
    if isinstance(case.mechanism, LargeMargin) and case.mechanism.max_rank >= 300:
        return case.name == LONGEST or (case.universe_size or 301) <= 30
    return (case.universe_size or 0) <= 30


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.full) if case.name == LONGEST else case
        for case in CASES
        if is_for_exact_arithmetic(case)
    ],
    ids=str,
)
@pytest.mark.one_in(4)
def test_exact_is_the_slow_definition(case: Case) -> None:
    levels = tuple(case.spectrum.levels())
    shares = exact.distribution(case.mechanism, levels, case.universe_size)
    if isinstance(case.mechanism, NamedExponential):
        shares[0] = shares.pop(None)
    assert abs(sum(shares.values(), Decimal(0)) - 1) < Decimal("1e-27")
    for level, probability in case.oracle(float(case.mechanism.cost.epsilon)).items():
        assert float(shares.get(level, Decimal(0))) == pytest.approx(probability, abs=1e-9)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_the_families_are_neighbours(neighbors: str) -> None:
    for most in (None, 4):
        pairs = [
            *structured_pairs(neighbors, [20, 400], most),
            *random_pairs(neighbors, [20, 400], most, 300, 1),
        ]
        assert len(pairs) > 300
        assert all(are_neighbors(one, two, neighbors, most) for one, two in pairs)
        assert all(min(counts.values()) >= 0 for pair in pairs for counts in pair)


def test_what_is_no_neighbour() -> None:
    assert are_neighbors({"a": 1}, {"a": 2, "b": 1}, "add-remove")
    assert not are_neighbors({"a": 1}, {"a": 2, "b": 1}, "add-remove", most=1)
    assert not are_neighbors({"a": 1}, {"a": 3}, "replace-one")
    assert not are_neighbors({"a": 1, "b": 1}, {"a": 2, "b": 0}, "add-remove")
    assert are_neighbors({"a": 1, "b": 1}, {"a": 2, "b": 0}, "replace-one")


@pytest.mark.parametrize("neighbors", QUICKLY)
@pytest.mark.parametrize("name", AUDITABLE)
@pytest.mark.one_in(3)
def test_every_mechanism_keeps_every_guarantee(name: str, neighbors: str) -> None:
    [mechanism] = auditable(name, 1.0, 1e-6, neighbors)
    report = audit(mechanism, trials=20)
    assert report.holds, report
    assert (report.mechanism, report.neighbors, report.numerical_error) == (name, neighbors, 1e-30)
    assert report.pairs > 150
    assert report.to_dict()["holds"] is True
    if report.whole.share is not None:
        assert report.whole.share <= 1 + 1e-12


def test_the_named_exponential_keeps_its_guarantee() -> None:
    for neighbors in NEIGHBORS:
        assert audit(NamedExponential(1.0, 1e-3, 100, neighbors), trials=20).holds


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "neighbors", "epsilon", "delta"),
    [  # each mechanism at each budget, in one of the two relations, by turns
        (name, NEIGHBORS[(first + second) % 2], *budget)
        for first, name in enumerate(AUDITABLE)
        for second, budget in enumerate([(0.3, 0.05), (2.0, 1e-3), (1.0, 0.2)])
    ],
)
def test_every_mechanism_is_private_elsewhere(
    name: str, neighbors: str, epsilon: float, delta: float
) -> None:
    [mechanism] = auditable(name, epsilon, delta, neighbors)
    assert audit(mechanism, trials=100, seed=5).holds


@pytest.mark.full
def test_add_remove_audits_come_close_to_the_whole_delta() -> None:
    """An audit that never finds anything would pass as well: these four guarantees are used up
    nearly wholly.
    """
    for name in ("limited-domain", "choosing", "tight-margin"):
        [mechanism] = auditable(name, 1.0, 1e-6, "add-remove")
        report = audit(mechanism, trials=0)
        assert report.whole.share is not None
        assert report.whole.share > 0.99


@pytest.fixture
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough pairs to catch every mutant below, and few enough to be quick."""
    monkeypatch.setattr(exact, "_RAISED", ("a", "b", "bd", "abcdefgh", "efgh"))
    monkeypatch.setattr(exact, "_LOWERED", ("a", "ab", "bcd"))
    monkeypatch.setattr(auditing, "CAPS", (3,))
    scales = auditing._scales
    monkeypatch.setattr(auditing, "_scales", lambda mechanism: scales(mechanism)[1:2])


def broken(mechanism: Mechanism) -> set[str]:
    """Which guarantees of a mechanism the audit found broken."""
    report = audit(mechanism, trials=10)
    return {
        finding.name.partition(" at rank")[0]
        for finding in (report.whole, *report.stages)
        if not finding.holds
    }


def with_less_noise(monkeypatch: pytest.MonkeyPatch, mechanism: Mechanism) -> None:
    """Give a mechanism 70 % of the noise in what it weighs, and no other."""
    if isinstance(mechanism, MaxOfLaplaces):
        scale = mechanism.scale * Fraction(7, 10)
        monkeypatch.setattr(MaxOfLaplaces, "scale", property(lambda self: scale))
        return
    weighs: Any = LimitedDomain if isinstance(mechanism, TightMargin) else type(mechanism)
    shipped = weighs.rate.func if isinstance(weighs.rate, cached_property) else weighs.rate.fget
    monkeypatch.setattr(weighs, "rate", property(lambda self: shipped(self) / Fraction(7, 10)))


def with_abstaining(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    """Multiply the weight of abstaining; never down to nothing, so that empty data has an
    outcome.
    """
    shipped = AbstentionWeight.factor.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(AbstentionWeight, "factor", property(lambda self: shipped(self) * factor))


ALL: dict[str, Callable[[str], Mechanism]] = {
    "exponential": lambda neighbors: Exponential(1.0, neighbors),
    "named-exponential": lambda neighbors: NamedExponential(1.0, 1e-3, 4, neighbors),
    "permute-and-flip": lambda neighbors: PermuteAndFlip(1.0, neighbors),
    "max-of-laplaces": lambda neighbors: MaxOfLaplaces(1.0, neighbors),
    "limited-domain": lambda neighbors: LimitedDomain(1.0, 1e-3, neighbors),
    "limited-domain, Δ": lambda neighbors: LimitedDomain(1.0, 1e-3, neighbors, max_itemsets=2),
    "choosing": lambda neighbors: Choosing(1.0, 1e-3, 4, neighbors),
    "distance": lambda neighbors: Distance(1.0, 1e-3, neighbors),
    "tight-margin": lambda neighbors: TightMargin(1.0, 1e-3, neighbors),
    "large-margin": lambda neighbors: LargeMargin(1.0, 1e-3, neighbors),
}


def subset(*names: str) -> list[str]:
    return [name for name in ALL if name.split(",")[0] in names]


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("name", ALL)
@pytest.mark.one_in(3)
def test_nobody_is_accused_falsely(name: str, neighbors: str) -> None:
    assert broken(ALL[name](neighbors)) == set()


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("limit", [1, 2, 3, 50])
@pytest.mark.one_in(3)
def test_a_limit_on_units_is_kept_by_the_pairs(limit: int, neighbors: str) -> None:
    """One unit of more itemsets than the limit breaks the guarantee, and the audit does not try
    that.
    """
    report = audit(LimitedDomain(1.0, 1e-3, neighbors, max_itemsets=limit), trials=50)
    assert report.holds, report.whole
    assert report.whole.share is not None
    assert report.whole.share > 0.25  # some pairs are left


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestNoise:
    @pytest.mark.parametrize(
        "name",
        subset(
            "exponential",
            "named-exponential",
            "permute-and-flip",
            "max-of-laplaces",
            "limited-domain",
            "choosing",
            "tight-margin",
        ),
    )
    @pytest.mark.one_in(3)
    def test_70_percent_where_it_is_used(
        self, name: str, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mechanism = ALL[name](neighbors)
        with_less_noise(monkeypatch, mechanism)
        assert broken(mechanism) & {"whole", "choice"}

    @pytest.mark.one_in(2)
    def test_70_percent_in_the_noisy_maximum_alone(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It breaks the paper's part for c(1) + Z, and no other: G hides the leads by itself
        (Theorem 1).

        Only Z - G enters, whose probabilities move by at most e^(ε/6) a step whatever Z is; and a
        narrower Z makes margins safer. So it is the noisy maximum's own guarantee that catches it.
        """
        monkeypatch.setattr(margins, "MAXIMUM_SCALE", Fraction(3) * Fraction(7, 10))
        assert broken(LargeMargin(1.0, 1e-3, neighbors)) == {"noisy maximum"}

    def test_70_percent_in_the_draw(self, neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Under add-remove 70 % still gives ε/3; the draw keeps the ε/6 that monotone supports
        allow, or it did.
        """
        monkeypatch.setattr(margins, "SELECTION_RATE", Fraction(1, 6) / Fraction(7, 10))
        assert "draw of what both name" in broken(LargeMargin(1.0, 1e-3, neighbors))

    def test_none_in_the_search_of_the_tight_margin(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        exact_cut = OneSidedSteps(Fraction(1000), Fraction(1000))
        monkeypatch.setattr(TightMargin, "noise", property(lambda self: exact_cut))
        assert "rank search" in broken(TightMargin(1.0, 1e-3, neighbors))


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestAbstaining:
    @pytest.mark.parametrize(
        "factor", [Fraction(1, 2), Fraction(1, 10**9)], ids=["half", "dropped"]
    )
    @pytest.mark.parametrize(
        "name", subset("named-exponential", "limited-domain", "choosing", "tight-margin")
    )
    @pytest.mark.one_in(3)
    def test_too_light(
        self, name: str, factor: Fraction, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if factor == Fraction(1, 2) and neighbors == "replace-one":
            # half of δ is unused there: the conversion from add-remove costs that
            factor = Fraction(1, 4)
        with_abstaining(monkeypatch, factor)
        assert broken(ALL[name](neighbors)) & {"whole", "choice"}

    def test_distance_at_the_threshold_in_place_of_above_it(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mechanism = Distance(1.0, 1e-6, neighbors)
        lowered = mechanism.threshold - 1
        monkeypatch.setattr(Distance, "threshold", property(lambda self: lowered))
        assert broken(mechanism) == {"whole"}

    def test_zeros_left_out_of_the_large_margins_sum(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The whole has slack for it (they weigh less than δ/3 above a lead), the proof's step has
        not.
        """

        def candidates(self: LargeMargin, spectrum: SupportSpectrum, rank: int) -> list[Candidate]:
            return named(exponential.top(spectrum, rank)[0]) or [Candidate(None, 0, rank)]

        monkeypatch.setattr(LargeMargin, "candidates", candidates)
        assert broken(LargeMargin(1.0, 1e-3, neighbors)) == {"draw of what both name"}


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestOffByOne:
    """The rank that is tested, the rank that is cut, and the support that abstaining weighs by."""

    @staticmethod
    def _tests_next(monkeypatch: pytest.MonkeyPatch, ranks_off: int) -> None:
        """Let every rank ℓ test c(ℓ + 1 + ranks_off)."""
        shipped = Search.runs

        def runs(self: Search) -> Iterator[Run]:
            supports = [
                support
                for run in shipped(self)
                for support in [run.next_support] * (run.last - run.first + 1)
            ]
            for rank in range(1, len(supports) + 1):
                place = rank - 1 + ranks_off
                beyond = (
                    self.maximum if place < 0 else (supports[place] if place < len(supports) else 0)
                )
                yield Run(rank, rank, beyond)

        monkeypatch.setattr(Search, "runs", runs)

    def test_large_margin_tests_one_further_down(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._tests_next(monkeypatch, 1)
        assert "margin" in broken(LargeMargin(1.0, 1e-3, neighbors))

    @pytest.mark.parametrize("make", [LargeMargin, TightMargin])
    @pytest.mark.one_in(3)
    def test_to_test_one_further_up_is_harmless(
        self, make: Callable[..., Mechanism], neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """c(ℓ) for c(ℓ+1): a lead over c(ℓ) is one over c(ℓ+1) as well. Only utility suffers."""
        self._tests_next(monkeypatch, -1)
        assert broken(make(1.0, 1e-3, neighbors)) == set()

    def test_tight_margin_may_test_what_it_likes(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its choice relies on no lead, and its search is private whichever support it tests
        (Theorem 11).
        """
        self._tests_next(monkeypatch, 1)
        assert broken(TightMargin(1.0, 1e-3, neighbors)) == set()

    def test_large_margin_draws_from_one_less(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The lead is over c(ℓ+1), but ranks ℓ and ℓ - 1 may be tied: who is cut tells."""
        shipped = LargeMargin.candidates
        monkeypatch.setattr(
            LargeMargin,
            "candidates",
            lambda self, spectrum, rank: shipped(self, spectrum, max(rank - 1, 1)),
        )
        assert "draw" in broken(LargeMargin(1.0, 1e-3, neighbors))

    @pytest.mark.parametrize("name", subset("limited-domain", "tight-margin"))
    def test_abstaining_weighs_by_one_further_down(
        self, name: str, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shipped = exponential.top

        def top(spectrum: SupportSpectrum, rank: int) -> tuple[list[Level], int]:
            return shipped(spectrum, rank)[0], shipped(spectrum, rank + 1)[1]

        monkeypatch.setattr(exponential, "top", top)
        assert broken(ALL[name](neighbors)) & {"whole", "choice"}


# What is given to a mechanism made for less.


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("name", [name for name in ALL if name != "large-margin"])
def test_replace_one_data_given_to_an_add_remove_mechanism_is_caught(name: str) -> None:
    """large-margin is made for replace-one in either case."""
    mechanism = ALL[name]("add-remove")
    most = 2 if name.endswith("Δ") else 4
    scale = auditing._scales(mechanism)
    pairs = [
        pair
        for pair in structured_pairs("replace-one", scale, most)
        if are_neighbors(*pair, "replace-one", most)
    ]
    [setting, *_] = auditing.settings(mechanism)
    distribution = exact.itemsets(exact.distribution, setting[0], setting[1])
    spent = max(
        hockey_stick(distribution(p), distribution(q), Fraction(1))
        for pair in pairs
        for p, q in (pair, pair[::-1])
    )
    assert float(spent) > mechanism.cost.delta * (1 + 1e-9)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_a_unit_with_more_itemsets_than_promised_is_caught(neighbors: str) -> None:
    mechanism = Choosing(1.0, 1e-3, 2, neighbors)
    distribution = exact.itemsets(exact.distribution, mechanism, None)
    one, two = dict.fromkeys(exact.NAMES, 0), dict.fromkeys(exact.NAMES, 1)
    assert are_neighbors(one, two, neighbors)
    assert not are_neighbors(one, two, neighbors, mechanism.max_itemsets)
    assert float(hockey_stick(distribution(two), distribution(one), Fraction(1))) > 1e-3


# Ties in an order that follows the rows, by distributions: no mechanism here ever sees an order.

Order = tuple[str, ...]


def by_order(
    mechanism: Mechanism, counts: Counts, universe: int | None, order: Order
) -> dict[str | None, Decimal]:
    """The distribution if the first of a level, in this order, were named in place of any of
    them.
    """
    fair = exact.itemsets(exact.distribution, mechanism, universe)(dict(counts))
    distribution: dict[str | None, Decimal] = {None: fair[None]}
    for name in fair.keys() - {None}:
        first = min(
            (n for n in fair if n is not None and counts[n] == counts[name]), key=order.index
        )
        distribution[first] = distribution.get(first, Decimal(0)) + fair[name]
    return distribution


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    "name", ["exponential", "permute-and-flip", "max-of-laplaces", "limited-domain", "tight-margin"]
)
def test_a_tie_named_by_the_order_of_the_rows_is_caught(name: str, neighbors: str) -> None:
    """A unit whose basket comes first and has a and b, b before a: it changes which of the two
    comes first.
    """
    mechanism = ALL[name](neighbors)
    if isinstance(mechanism, LimitedDomain | TightMargin):
        mechanism = replace(mechanism, max_rank=3)
    universe = 3 if isinstance(mechanism, Exponential | PermuteAndFlip | MaxOfLaplaces) else None
    one, two = {"a": 90, "b": 90, "c": 0}, {"a": 91, "b": 91, "c": 0}
    p, q = (
        by_order(mechanism, one, universe, ("a", "b", "c")),
        by_order(mechanism, two, universe, ("b", "a", "c")),
    )
    assert float(hockey_stick(p, q, Fraction(1))) > 0.9
    fair = exact.itemsets(exact.distribution, mechanism, universe)
    assert (
        float(hockey_stick(fair(one), fair(two), Fraction(1)))
        <= mechanism.cost.delta + exact.NUMERICAL_ERROR
    )


def test_a_cut_through_ties_that_follows_the_rows_is_caught() -> None:
    """Six tied, three candidates, at most Δ = 1 of them new by the guarantee: a table that a unit
    reorders swaps all.

    With M = k̄, as without a limit Δ, abstaining weighs enough for that as well.
    """
    mechanism = LimitedDomain(1.0, 1e-3, "add-remove", 3, 1)
    shares = exact.distribution(mechanism, [(20, 6)], None)

    def cut(first: str) -> dict[str | None, Decimal]:
        distribution: dict[str | None, Decimal] = dict.fromkeys(first, shares[20] / len(first))
        return distribution | {None: shares[None]}

    assert float(hockey_stick(cut("abc"), cut("def"), Fraction(1))) > 1e-3
    # No data-independent order, and so none of their mixtures, changes at all when no support does.
    assert hockey_stick(cut("abcdef"), cut("abcdef"), Fraction(1)) == 0


# A search, guided, for neighbours worse than the families'.


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=25)
@given(data=st.data())
@pytest.mark.one_in(3)
def test_a_guided_search_finds_no_broken_guarantee(
    name: str, neighbors: str, data: st.DataObject
) -> None:
    mechanism: Any = ALL[name](neighbors)
    mechanism = replace(mechanism, epsilon=2.0)
    if isinstance(mechanism, LimitedDomain | TightMargin | LargeMargin):
        mechanism = replace(mechanism, max_rank=data.draw(st.integers(1, 8)))
    if mechanism.delta:
        mechanism = replace(mechanism, delta=data.draw(st.sampled_from([0.05, 1e-6])))
    pure = isinstance(mechanism, Exponential | PermuteAndFlip | MaxOfLaplaces)
    universe = (
        8
        if pure
        else None
        if isinstance(mechanism, NamedExponential)
        else data.draw(st.sampled_from([None, 8]))
    )
    most = {"named-exponential": 4, "choosing": 4, "limited-domain, Δ": 2}.get(name, 8)
    high = data.draw(st.sampled_from([1, 3, 12] if name != "large-margin" else [3, 90, 240]))
    supports = data.draw(st.lists(st.integers(0, high), min_size=8, max_size=8))
    raised = data.draw(st.sets(st.sampled_from(exact.NAMES), max_size=most))
    lowered = (
        data.draw(st.sets(st.sampled_from(exact.NAMES), max_size=most))
        if neighbors == "replace-one"
        else set()
    )
    one = {n: c + (n in lowered and not c) for n, c in zip(exact.NAMES, supports, strict=True)}
    two = {n: c + (n in raised) - (n in lowered) for n, c in one.items()}
    assert are_neighbors(one, two, neighbors, most)
    distribution = exact.itemsets(exact.distribution, mechanism, universe)
    spent = max(
        hockey_stick(distribution(p), distribution(q), Fraction(2))
        for p, q in ((one, two), (two, one))
    )
    target(float(spent) / (mechanism.cost.delta or 1))
    assert spent <= Fraction(repr(mechanism.cost.delta)) + Fraction(1, 10**30)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("make", [LargeMargin, TightMargin])
@settings(max_examples=25)
@given(data=st.data())
@pytest.mark.one_in(3)
def test_a_guided_search_finds_no_thresholds_that_break_a_search(
    make: Callable[..., LargeMargin | TightMargin], neighbors: str, data: st.DataObject
) -> None:
    """Theorems 1 and 11 hold for any thresholds, those that fall with the rank too."""
    mechanism = make(3.0, 1e-3, neighbors)
    if isinstance(mechanism, TightMargin):
        guaranteed = 3 * (mechanism.shared_share + mechanism.step_share)
    else:
        guaranteed = Fraction(3, 2 if neighbors == "replace-one" else 4)
    thresholds = data.draw(st.lists(st.integers(-20, 40), min_size=6, max_size=6))
    supports = data.draw(st.lists(st.integers(1, 12), min_size=6, max_size=6))
    moves = st.integers(-1, 1) if neighbors == "replace-one" else st.integers(0, 1)
    moved = [c + data.draw(moves) for c in supports]

    def stops(of: list[int]) -> Stops:
        spectrum = SupportSpectrum.from_supports([c for c in of if c])
        found = replace(
            mechanism.search(spectrum), threshold=lambda rank: thresholds[rank - 1], last_rank=6
        )
        return ranks(found)

    p, q = stops(supports), stops(moved)
    spent = max(hockey_stick(p, q, guaranteed), hockey_stick(q, p, guaranteed))
    # How near to the ratio guaranteed any rank comes.
    target(
        max(
            (
                abs(math.log(float(p[rank] / q[rank])))
                for rank in p
                if min(p[rank], q[rank]) > 1e-30
            ),
            default=0.0,
        )
    )
    assert float(spent) <= exact.NUMERICAL_ERROR


@pytest.mark.full
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("name", ALL)
def test_every_guarantee_at_caps_of_eight_is_kept(
    name: str, neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The theorems hold for every cap; at 8 all that there is are candidates."""
    monkeypatch.setattr(auditing, "CAPS", (1, 2, 8))
    assert audit(ALL[name](neighbors), trials=150, seed=9).holds


@pytest.mark.parametrize("name", ["limited-domain", "large-margin"])
def test_a_delta_below_what_the_digits_tell_is_refused(name: str) -> None:
    """The error allowed for would be all of such a δ, and a broken mechanism would pass."""
    [mechanism] = auditable(name, 1.0, 1e-25, "add-remove")
    with pytest.raises(ParameterError, match="delta must be at least 1e-24"):
        audit(mechanism)


def test_the_least_delta_that_can_be_audited_is_held_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with_abstaining(monkeypatch, Fraction(99, 100))
    assert not audit(LimitedDomain(1.0, 1e-24, "add-remove"), trials=0).holds


class DeclaredFlip(PermuteAndFlip):
    """Permute-and-flip, falsely declared bounded-range."""

    bounded_range = "no theorem"


class DeclaredLaplaces(MaxOfLaplaces):
    bounded_range = "no theorem"


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestBoundedRange:
    @pytest.mark.parametrize("make", [DeclaredFlip, DeclaredLaplaces])
    def test_who_declares_it_is_held_to_it(self, make: Any, neighbors: str) -> None:
        """Each is ε-private, and its odds change by more: its picks must not be composed as if they
        did not.
        """
        assert broken(make(1.0, neighbors)) == {"bounded range (no theorem)"}

    @pytest.mark.parametrize(
        "name",
        subset("exponential", "named-exponential", "limited-domain", "choosing"),
    )
    def test_every_one_pass_mechanism_is_held_to_it(self, name: str, neighbors: str) -> None:
        mechanism = ALL[name](neighbors)
        theorem = vars(type(mechanism))["bounded_range"]
        assert audit(mechanism, trials=0).stages[0].name == f"bounded range ({theorem})"

    def test_a_cut_that_rises_where_zeros_get_names(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without M zeros more in the weight of abstaining one pick is still private, and several
        are not.
        """
        shipped = AbstentionWeight.candidate
        monkeypatch.setattr(
            AbstentionWeight,
            "candidate",
            lambda self, itemsets, following, **zeros: shipped(self, itemsets, following),
        )
        for delta in (1e-3, 0.5):
            assert broken(LimitedDomain(1.0, delta, neighbors)) == {"bounded range (Theorem 8)"}

    def test_abstaining_that_one_of_the_two_never_does(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Odds that change without a limit, where the whole has δ to spare for them."""
        shipped = AbstentionWeight.candidate

        def candidate(
            self: AbstentionWeight, itemsets: int, following: int, **more: bool
        ) -> Candidate:
            found = shipped(self, itemsets, following, **more)
            return replace(found, multiplicity=0 if following else found.multiplicity)

        monkeypatch.setattr(AbstentionWeight, "candidate", candidate)
        assert "bounded range (Theorem 8)" in broken(LimitedDomain(1.0, 0.999, neighbors))


def test_a_declaration_is_not_inherited() -> None:
    class Heavier(LimitedDomain):
        pass

    assert not is_bounded_range(Heavier())
    assert is_bounded_range(LimitedDomain())


@pytest.mark.parametrize("epsilon", [51.0, 500.0, 1e9])
def test_what_the_digits_do_not_resolve_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon must be at most 50 to be audited, not"):
        audit(LargeMargin(epsilon, 1e-6))


def test_a_method_s_name_declares_nothing() -> None:
    class Many(PermuteAndFlip):
        def select_many(self, *_: Any) -> Any:
            raise AssertionError("must not be called")

    def make(epsilon: Fraction, delta: Fraction) -> Mechanism:
        return Many(epsilon, "add-remove")

    several = TopK.by_basic_composition(make, 3, Fraction(1), Fraction(1, 10**6))
    assert several.mechanism.cost.epsilon == Fraction(1, 3)
    spectrum = SupportSpectrum.from_supports([50, 40, 30, 3], universe_size=4)
    assert len(several.select(spectrum, Randomness.seeded(1))) == 3


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("neighbors", QUICKLY)
class TestLargeMargin:
    def test_without_its_margin(self, neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(margins, "_integer_threshold", lambda epsilon, delta, rank: 0)
        assert {"whole", "margin", "noise of the steps"} <= broken(
            LargeMargin(1.0, 1e-3, neighbors)
        )

    @pytest.mark.parametrize("scale", [3, 6, 12])
    @pytest.mark.one_in(5)
    def test_with_a_threshold_lowered_by_three_scales(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch, scale: int
    ) -> None:
        shipped = margins._integer_threshold
        monkeypatch.setattr(
            margins, "_integer_threshold", lambda e, d, rank: shipped(e, d, rank) - 3 * scale
        )
        assert "noise of the steps" in broken(LargeMargin(1.0, 1e-6, neighbors))

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize(
        ("constant", "stage"),
        [
            ("MAXIMUM_SCALE", "noisy maximum"),
            ("SHARED_SCALE", "rank search"),
            ("STEP_SCALE", "rank search"),
        ],
    )
    def test_with_70_percent_of_its_noise(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch, constant: str, stage: str
    ) -> None:
        monkeypatch.setattr(margins, constant, getattr(margins, constant) * Fraction(7, 10))
        assert stage in broken(LargeMargin(1.0, 1e-3, neighbors))

    def test_without_noise_in_the_search(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Exact supports decide the cut: one unit flips it."""
        for name in ("MAXIMUM_SCALE", "SHARED_SCALE", "STEP_SCALE"):
            monkeypatch.setattr(margins, name, getattr(margins, name) / Fraction(1000))
        assert {"whole", "rank search"} <= broken(LargeMargin(1.0, 1e-3, neighbors))


def test_a_collapse_without_the_zeros_is_seen_in_the_distribution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Above a certified margin the zeros weigh less than δ/3: to leave them out breaks no
    guarantee.
    """

    def candidates(self: LargeMargin, spectrum: SupportSpectrum, rank: int) -> list[Candidate]:
        return named(exponential.top(spectrum, rank)[0])

    mechanism = LargeMargin(1.0, 0.9, max_rank=8)
    right, _ = oracles.large_margin_distribution([45], Fraction(1), Fraction(9, 10), max_rank=8)
    assert float(exact.distribution(mechanism, ((45, 1),), None)[45]) == pytest.approx(
        right[45], abs=1e-12
    )
    monkeypatch.setattr(LargeMargin, "candidates", candidates)
    assert float(exact.distribution(mechanism, ((45, 1),), None)[45]) > right[45] + 1e-6


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestOthers:
    @pytest.mark.parametrize("which", [0, 1])
    @pytest.mark.one_in(3)
    def test_tight_margin_with_70_percent_of_its_search_noise(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch, which: int
    ) -> None:
        def noise(self: TightMargin) -> OneSidedSteps:
            rate = exponential.exponential_rate(self.epsilon, self.neighbors)
            rates = [rate * self.shared_share, rate * self.step_share]
            rates[which] /= Fraction(7, 10)
            return OneSidedSteps(*rates)

        monkeypatch.setattr(TightMargin, "noise", property(noise))
        assert "rank search" in broken(TightMargin(1.0, 1e-3, neighbors))

    @pytest.mark.parametrize("what", ["70 % of its noise", "a threshold lowered by three scales"])
    @pytest.mark.every_case
    def test_distance_with(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch, what: str
    ) -> None:
        [mechanism] = auditable("distance", 1.0, 1e-3 if "noise" in what else 1e-6, neighbors)
        assert isinstance(mechanism, Distance)
        threshold, scale = mechanism.threshold, mechanism.scale
        if "noise" in what:
            monkeypatch.setattr(Distance, "scale", property(lambda self: scale * Fraction(7, 10)))
        else:
            threshold -= math.ceil(3 * scale)
        monkeypatch.setattr(Distance, "threshold", property(lambda self: threshold))
        assert broken(mechanism) == {"whole"}

    def test_the_exponential_mechanism_without_the_zeros(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def levels(spectrum: SupportSpectrum, mechanism: str) -> list[tuple[int, int]]:
            return [*spectrum.all_levels()] or [(0, 1)]

        monkeypatch.setattr(exponential, "universe_levels", levels)
        assert "whole" in broken(Exponential(1.0, neighbors))


def test_bad_requests_are_refused() -> None:
    with pytest.raises(ParameterError, match="mechanism must be one of all, large-margin"):
        auditable("laplace", 1.0, 1e-6, "add-remove")
    with pytest.raises(
        ParameterError, match=("levelwise has many steps, which the tests audit one by one")
    ):
        auditable("levelwise", 1.0, 1e-6, "add-remove")
    with pytest.raises(ParameterError, match="trials must be a whole number of at least 0"):
        audit(Exponential(1.0), trials=-1)
    assert len(auditable("all", 1.0, 1e-6, "add-remove")) == len(AUDITABLE)


def test_random_pairs_depend_on_their_seed_only() -> None:
    one, same, other = (
        list(random_pairs("replace-one", [9], None, 20, seed)) for seed in (1, 1, 2)
    )
    assert one == same != other
    assert all(left != right for left, right in pairwise(one))
