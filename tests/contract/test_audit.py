"""`fim_private.auditing`: every mechanism is within its guarantee, and every mutant is caught.

A mutant is a mechanism broken on purpose, at its source or where it is used. Each is caught by the
audit of the whole, by that of a stage, or, where what is broken breaks no guarantee, by comparing
distributions.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st
from mechanism_cases import by_level, exact_law
from mechanism_cases import named as by_name

import fim_private as fim
from fim_private.auditing import audit as auditing
from fim_private.auditing import exact
from fim_private.auditing.audit import audit, auditable
from fim_private.auditing.exact import hockey_stick
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.mechanisms import Mechanism, NamedExponential, exponential, margins, registry
from fim_private.mechanisms.base import Selection
from fim_private.mechanisms.exponential import Abstaining, Candidate, named
from fim_private.mechanisms.margins import OneSidedSteps, Run, Search
from fim_private.mechanisms.top_k import TopK, is_bounded_range
from fim_private.spectrum import Level, SupportSpectrum

NEIGHBORS = ["replace-one", "add-remove"]
AUDITABLE = [*registry.single()]
PURE = (fim.Exponential, fim.PermuteAndFlip, fim.MaxOfLaplaces)
# Replacing doubles the levels that neighbours differ in, and takes five times as long.
QUICKLY = [pytest.param("replace-one", marks=pytest.mark.full), "add-remove"]


# -------------------- the pairs that are tried


def are_neighbors(one: exact.Counts, two: exact.Counts, neighbors: str, most: Any = None) -> bool:
    """Whether two data sets are neighbours, if a unit supports `most` itemsets at most."""
    moves = [two.get(name, 0) - one.get(name, 0) for name in {**one, **two}]
    up, down = moves.count(1), moves.count(-1)
    within = most is None or max(up, down) <= most
    if up and down and neighbors == "add-remove":
        return False
    return up + down + moves.count(0) == len(moves) and within


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("most", [None, 4])
def test_the_families_are_neighbours(neighbors: str, most: int | None) -> None:
    drawn = [list(exact.random_pairs(neighbors, [20, 400], most, 300, seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(one != two for one, two in pairwise(drawn[0]))
    pairs = [*exact.structured_pairs(neighbors, [20, 400], most), *drawn[0]]
    assert all(are_neighbors(one, two, neighbors, most) for one, two in pairs)
    assert all(min(counts.values()) >= 0 for pair in pairs for counts in pair)


# -------------------- every guarantee is kept


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


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("limit", [1, 2, 3, 50])
@pytest.mark.one_in(3)
def test_a_limit_on_units_is_kept_by_the_pairs(limit: int, neighbors: str) -> None:
    """A unit of more itemsets than the limit breaks the guarantee: the audit does not try that."""
    report: Any = audit(fim.LimitedDomain(1.0, 1e-3, neighbors, max_itemsets=limit), trials=50)
    assert report.holds, report.whole
    assert report.whole.share > 0.25  # some pairs are left


ALL: dict[str, Callable[[str], Mechanism]] = {
    "exponential": lambda neighbors: fim.Exponential(1.0, neighbors),
    "named-exponential": lambda neighbors: NamedExponential(1.0, 1e-3, 4, neighbors),
    "permute-and-flip": lambda neighbors: fim.PermuteAndFlip(1.0, neighbors),
    "max-of-laplaces": lambda neighbors: fim.MaxOfLaplaces(1.0, neighbors),
    "limited-domain": lambda neighbors: fim.LimitedDomain(1.0, 1e-3, neighbors),
    "limited-domain, Δ": lambda neighbors: fim.LimitedDomain(1.0, 1e-3, neighbors, max_itemsets=2),
    "choosing": lambda neighbors: fim.Choosing(1.0, 1e-3, 4, neighbors),
    "distance": lambda neighbors: fim.Distance(1.0, 1e-3, neighbors),
    "tight-margin": lambda neighbors: fim.TightMargin(1.0, 1e-3, neighbors),
    "large-margin": lambda neighbors: fim.LargeMargin(1.0, 1e-3, neighbors),
}


@pytest.mark.full
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("name", ALL)
def test_caps_of_eight_hold(name: str, neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The theorems hold for every cap; at 8 all that there is are candidates."""
    monkeypatch.setattr(auditing, "CAPS", (1, 2, 8))
    assert audit(ALL[name](neighbors), trials=150, seed=9).holds


# A search, guided, for neighbours worse than the families'.


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=25)
@given(data=st.data())
@pytest.mark.one_in(3)
def test_guided_search_breaks_no_guarantee(name: str, neighbors: str, data: st.DataObject) -> None:
    mechanism: Any = replace(ALL[name](neighbors), epsilon=2.0)  # type: ignore[type-var]
    if isinstance(mechanism, fim.LimitedDomain | fim.TightMargin | fim.LargeMargin):
        mechanism = replace(mechanism, max_rank=data.draw(st.integers(1, 8)))
    if mechanism.delta:
        mechanism = replace(mechanism, delta=data.draw(st.sampled_from([0.05, 1e-6])))
    sized = [8] if isinstance(mechanism, PURE) else [None, 8]
    universe = data.draw(st.sampled_from(sized if name != "named-exponential" else [None]))
    most = {"named-exponential": 4, "choosing": 4, "limited-domain, Δ": 2}.get(name, 8)
    high = data.draw(st.sampled_from([1, 3, 12] if name != "large-margin" else [3, 90, 240]))
    supports = data.draw(st.lists(st.integers(0, high), min_size=8, max_size=8))
    some = st.sets(st.sampled_from(exact.NAMES), max_size=most)
    raised, lowered = data.draw(some), data.draw(some) if neighbors == "replace-one" else set()
    one = {n: c + (n in lowered and not c) for n, c in zip(exact.NAMES, supports, strict=True)}
    two = {n: c + (n in raised) - (n in lowered) for n, c in one.items()}
    assert are_neighbors(one, two, neighbors, most)
    p, q = map(exact.Setting(mechanism, universe).itemsets, (one, two))
    spent = max(hockey_stick(p, q, Fraction(2)), hockey_stick(q, p, Fraction(2)))
    target(float(spent) / (mechanism.cost.delta or 1))
    assert spent <= Fraction(repr(mechanism.cost.delta)) + Fraction(1, 10**30)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("make", [fim.LargeMargin, fim.TightMargin])
@settings(max_examples=25)
@given(data=st.data())
@pytest.mark.one_in(3)
def test_a_guided_search_finds_no_thresholds_that_break_a_search(
    make: Callable[..., fim.LargeMargin | fim.TightMargin], neighbors: str, data: st.DataObject
) -> None:
    """Theorems 1 and 11 hold for any thresholds, those that fall with the rank too."""
    mechanism = make(3.0, 1e-3, neighbors)
    if isinstance(mechanism, fim.TightMargin):
        guaranteed = 3 * (mechanism.shared_share + mechanism.step_share)
    else:
        guaranteed = Fraction(3, 2 if neighbors == "replace-one" else 4)
    thresholds = data.draw(st.lists(st.integers(-20, 40), min_size=6, max_size=6))
    supports = data.draw(st.lists(st.integers(1, 12), min_size=6, max_size=6))
    moves = st.integers(-1, 1) if neighbors == "replace-one" else st.integers(0, 1)
    moved = [c + data.draw(moves) for c in supports]

    def stops(of: list[int]) -> exact.Stops:
        search = mechanism.search(SupportSpectrum.from_supports([c for c in of if c]))
        given: Any = {"threshold": lambda rank: thresholds[rank - 1], "last_rank": 6}
        return exact.ranks(replace(search, **given))

    p, q = stops(supports), stops(moved)
    spent = max(hockey_stick(p, q, guaranteed), hockey_stick(q, p, guaranteed))
    # How near to the ratio guaranteed any rank comes.
    likely = [rank for rank in p if min(p[rank], q[rank]) > 1e-30]
    target(max((abs(math.log(float(p[rank] / q[rank]))) for rank in likely), default=0.0))
    assert float(spent) <= exact.NUMERICAL_ERROR


# -------------------- mutants


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
    found = (report.whole, *report.stages)
    return {one.name.partition(" at rank")[0] for one in found if not one.holds}


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("name", ALL)
@pytest.mark.one_in(3)
def test_nobody_is_accused_falsely(name: str, neighbors: str) -> None:
    assert broken(ALL[name](neighbors)) == set()


Patch = pytest.MonkeyPatch
SEVEN_TENTHS, MINUTE, ONE = Fraction(7, 10), Fraction(1, 1000), Fraction(1)


def fixed(patch: Patch, owner: type, name: str, value: Any) -> None:
    patch.setattr(owner, name, property(lambda self: value))


def less_noise(patch: Patch, mechanism: Mechanism) -> None:
    """70 % of the noise in what a mechanism weighs, and no other."""
    if isinstance(mechanism, fim.MaxOfLaplaces):
        return fixed(patch, fim.MaxOfLaplaces, "scale", mechanism.scale * SEVEN_TENTHS)
    weighs: Any = fim.LimitedDomain if isinstance(mechanism, fim.TightMargin) else type(mechanism)
    shipped = weighs.rate.func if isinstance(weighs.rate, cached_property) else weighs.rate.fget
    return patch.setattr(weighs, "rate", property(lambda self: shipped(self) / SEVEN_TENTHS))


def lighter_abstaining(patch: Patch, mechanism: Any, by: Any) -> None:
    """Never down to nothing, so that empty data has an outcome."""
    if by == 2 and mechanism.neighbors == "replace-one":
        by = 4  # half of δ is unused there: the conversion from add-remove costs that
    shipped = Abstaining.heaviness.fget  # type: ignore[attr-defined]
    patch.setattr(Abstaining, "heaviness", property(lambda self: shipped(self) / by))


def lower_abstaining(patch: Patch, _: Mechanism) -> None:
    """It weighs by the support one rank further down."""
    shipped = exponential.top

    def top(spectrum: SupportSpectrum, rank: int) -> tuple[list[Level], int]:
        return shipped(spectrum, rank)[0], shipped(spectrum, rank + 1)[1]

    patch.setattr(exponential, "top", top)


def rising_cut(patch: Patch, _: Mechanism) -> None:
    """Where zeros get names, without M zeros more: one pick is private, and several are not."""
    shipped = Abstaining.abstention
    without = lambda self, itemsets, following, **zeros: shipped(self, itemsets, following)  # noqa: E731
    patch.setattr(Abstaining, "abstention", without)


def never_abstaining(patch: Patch, _: Mechanism) -> None:
    """Odds that change without a limit, where the whole has δ to spare for them."""
    shipped = Abstaining.abstention

    def abstention(self: Abstaining, itemsets: int, following: int, **more: bool) -> Candidate:
        found = shipped(self, itemsets, following, **more)
        return replace(found, multiplicity=0 if following else found.multiplicity)

    patch.setattr(Abstaining, "abstention", abstention)


def distance_with(patch: Patch, mechanism: Any, scales: int, noise: Fraction) -> None:
    """A threshold that is so many scales lower, 1 being one step, and noise by a factor."""
    lower = math.ceil(scales * mechanism.scale) if scales > 1 else scales
    fixed(patch, fim.Distance, "threshold", mechanism.threshold - lower)
    fixed(patch, fim.Distance, "scale", mechanism.scale * noise)


def next_tested(patch: Patch, _: Mechanism, off: int) -> None:
    """Every rank ℓ tests c(ℓ + 1 + off)."""
    shipped = Search.runs

    def runs(self: Search) -> Iterator[Run]:
        runs = [*shipped(self)]
        supports = [run.next_support for run in runs for _ in range(run.first, run.last + 1)]
        for rank in range(1, len(supports) + 1):
            beyond = [self.maximum, *supports, 0]
            yield Run(rank, rank, beyond[min(rank + off, len(supports) + 1)])

    patch.setattr(Search, "runs", runs)


def zeros_left_out(patch: Patch, _: Mechanism) -> None:
    """Of the large margin's draw."""

    def candidates(self: fim.LargeMargin, spectrum: SupportSpectrum, rank: int) -> list[Candidate]:
        return named(exponential.top(spectrum, rank)[0]) or [Candidate(None, 0, rank)]

    patch.setattr(fim.LargeMargin, "candidates", candidates)


def one_rank_less(patch: Patch, _: Mechanism) -> None:
    """The lead is over c(ℓ+1), but ranks ℓ and ℓ - 1 may be tied: who is cut tells."""
    shipped = fim.LargeMargin.candidates
    less = lambda self, spectrum, rank: shipped(self, spectrum, max(rank - 1, 1))  # noqa: E731
    patch.setattr(fim.LargeMargin, "candidates", less)


def lowered(patch: Patch, _: Mechanism, by: int) -> None:
    shipped = margins._integer_threshold
    lower = lambda e, d, rank: shipped(e, d, rank) - by  # noqa: E731
    patch.setattr(margins, "_integer_threshold", lower)


def scaled(patch: Patch, _: Mechanism, factor: Fraction, names: str) -> None:
    for name in names.split():
        patch.setattr(margins, f"{name}_SCALE", getattr(margins, f"{name}_SCALE") * factor)


def search_noise(patch: Patch, mechanism: Any, shared: Fraction, step: Fraction) -> None:
    """Of the tight margin: each part of it by a factor."""
    shipped = mechanism.noise
    noise = OneSidedSteps(shipped.shared_rate / shared, shipped.step_rate / step)
    fixed(patch, fim.TightMargin, "noise", noise)


def chooses_with_all(patch: Patch, mechanism: Any) -> None:
    """Nothing is left out for the search, which the whole is too loose to show."""
    fixed(patch, fim.TightMargin, "selection_epsilon", mechanism.cost.epsilon)


def no_margin(patch: Patch, _: Mechanism) -> None:
    patch.setattr(margins, "_integer_threshold", lambda epsilon, delta, rank: 0)


def quick_draw(patch: Patch, _: Mechanism) -> None:
    """Under add-remove 70 % still gives ε/3; the draw keeps the ε/6 of monotone supports."""
    patch.setattr(margins, "SELECTION_RATE", Fraction(1, 6) / SEVEN_TENTHS)


def no_zeros(patch: Patch, _: Mechanism) -> None:
    levels = lambda spectrum, mechanism: [*spectrum.all_levels()] or [(0, 1)]  # noqa: E731
    patch.setattr(exponential, "universe_levels", levels)


def unchanged(_: Patch, __: Mechanism) -> None:
    """What is broken is the class."""


class DeclaredFlip(fim.PermuteAndFlip):
    """Permute-and-flip, falsely declared bounded-range."""

    bounded_range = "no theorem"


class DeclaredLaplaces(fim.MaxOfLaplaces):
    bounded_range = "no theorem"


MADE: dict[str, Callable[[str], Mechanism]] = ALL | {
    "distance, small δ": lambda neighbors: fim.Distance(1.0, 1e-6, neighbors),
    "large-margin, small δ": lambda neighbors: fim.LargeMargin(1.0, 1e-6, neighbors),
    "tight-margin, small δ": lambda neighbors: fim.TightMargin(1.0, 1e-6, neighbors),
    "limited-domain, δ 0.5": lambda neighbors: fim.LimitedDomain(1.0, 0.5, neighbors),
    "limited-domain, δ 0.999": lambda neighbors: fim.LimitedDomain(1.0, 0.999, neighbors),
    "permute-and-flip, declared": lambda neighbors: DeclaredFlip(1.0, neighbors),
    "max-of-laplaces, declared": lambda neighbors: DeclaredLaplaces(1.0, neighbors),
}
DECLARED = ("permute-and-flip, declared", "max-of-laplaces, declared")
ABSTAINS = ("named-exponential", "limited-domain", "limited-domain, Δ", "choosing", "tight-margin")
NOISY = ("exponential", *ABSTAINS, "permute-and-flip", "max-of-laplaces")


USUAL = dict.fromkeys(NOISY, "whole") | {"tight-margin": "choice"}
LARGE, DRAW, THEOREM_8 = "large-margin", "draw of what both name", "bounded range (Theorem 8)"
# What is said of each, which mechanisms, which guarantees are broken at the least, and how.
MUTANTS: list[tuple[Any, ...]] = [
    ("70 % of the noise", NOISY, USUAL, less_noise),
    ("⊥ weighs half", ABSTAINS, USUAL, lighter_abstaining, 2),
    ("⊥ is dropped", ABSTAINS, USUAL, lighter_abstaining, 10**9),
    ("⊥ one further down", (*ABSTAINS[1:3], "tight-margin"), USUAL, lower_abstaining),
    ("at the threshold", ["distance, small δ"], "whole", distance_with, 1, ONE),
    ("a threshold 3 scales lower", ["distance, small δ"], "whole", distance_with, 3, ONE),
    ("70 % of the noise", ["distance"], "whole", distance_with, 0, SEVEN_TENTHS),
    ("without the zeros", ["exponential"], "whole", no_zeros),
    # Only Z - G enters the search, whose probabilities move by at most e^(ε/6) a step whatever Z
    # is, and a narrower Z makes margins safer: the noisy maximum has a guarantee of its own.
    ("70 % of Z", [LARGE], "noisy maximum", scaled, SEVEN_TENTHS, "MAXIMUM"),
    ("70 % of G", [LARGE], "rank search", scaled, SEVEN_TENTHS, "SHARED"),
    ("70 % of Z_l", [LARGE], "rank search", scaled, SEVEN_TENTHS, "STEP"),
    ("no noise", [LARGE], "whole + rank search", scaled, MINUTE, "MAXIMUM SHARED STEP"),
    ("70 % in the draw", [LARGE], DRAW, quick_draw),
    # The whole has slack for it (they weigh less than δ/3 above a lead), the proof's step has not.
    ("zeros left out", [LARGE], DRAW, zeros_left_out),
    ("draws from one rank less", [LARGE], "draw", one_rank_less),
    ("tests one further down", [LARGE], "margin", next_tested, 1),
    ("no margin", [LARGE], "whole + margin + noise of the steps", no_margin),
    # By three scales of each noise, and by a single unit.
    *(
        (f"{by} lower", ["large-margin, small δ"], "noise of the steps", lowered, by)
        for by in (9, 18, 36, 1)
    ),
    ("no noise in the search", ["tight-margin"], "rank search", search_noise, MINUTE, MINUTE),
    ("70 % of its G", ["tight-margin"], "rank search", search_noise, SEVEN_TENTHS, ONE),
    ("70 % of its Z", ["tight-margin"], "rank search", search_noise, ONE, SEVEN_TENTHS),
    ("chooses with all of ε", ["tight-margin, small δ"], "choice", chooses_with_all),
    ("a rising cut", ["limited-domain", "limited-domain, δ 0.5"], THEOREM_8, rising_cut),
    ("one never abstains", ["limited-domain, δ 0.999"], THEOREM_8, never_abstaining),
    # Each is ε-private, and its odds change by more: its picks must not be composed as if not.
    ("declared", DECLARED, "bounded range (no theorem)", unchanged),
]


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.every_case
@pytest.mark.one_in(12)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    ("name", "mutant"),
    [pytest.param(name, each, id=f"{each[0]}: {name}") for each in MUTANTS for name in each[1]],
)
def test_the_broken_is_caught(name: str, mutant: Any, neighbors: str, monkeypatch: Patch) -> None:
    mechanism = MADE[name](neighbors)
    _, _, found, breaks, *how = mutant
    breaks(monkeypatch, mechanism, *how)
    expected = found[name] if found is USUAL else found
    assert {*expected.split(" + ")} <= broken(mechanism)


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    ("name", "off"), [("large-margin", -1), ("tight-margin", -1), ("tight-margin", 1)]
)
def test_the_harmless_passes(name: str, off: int, neighbors: str, monkeypatch: Patch) -> None:
    """A lead over c(ℓ) is one over c(ℓ+1), too. The tight margin may test any (Theorem 11)."""
    mechanism = MADE[name](neighbors)
    next_tested(monkeypatch, mechanism, off)
    assert broken(mechanism) == set()


def test_a_collapse_without_the_zeros_is_seen_in_the_distribution(monkeypatch: Patch) -> None:
    """Above a certified margin they weigh less than δ/3: to leave them out breaks no guarantee."""
    mechanism = fim.LargeMargin(1.0, 0.9, max_rank=8)
    right, _ = oracles.large_margin_distribution([45], Fraction(1), Fraction(9, 10), max_rank=8)

    def share() -> float:
        return float(exact.distribution(mechanism, ((45, 1),), None)[45])

    assert share() == pytest.approx(right[45], abs=1e-12)
    zeros_left_out(monkeypatch, mechanism)
    assert share() > right[45] + 1e-6


def test_the_least_delta_that_can_be_audited_is_held_to(monkeypatch: Patch) -> None:
    mechanism = fim.LimitedDomain(1.0, 1e-24, "add-remove")
    lighter_abstaining(monkeypatch, mechanism, Fraction(100, 99))
    assert not audit(mechanism, trials=0).holds


# What is given to a mechanism made for less.


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("name", [name for name in ALL if name != "large-margin"])
def test_replace_one_data_given_to_an_add_remove_mechanism_is_caught(name: str) -> None:
    """large-margin is made for replace-one in either case."""
    mechanism = ALL[name]("add-remove")
    most = 2 if name.endswith("Δ") else 4
    pairs = exact.structured_pairs("replace-one", auditing._scales(mechanism), most)
    distribution = auditing.settings(mechanism)[0].itemsets
    spent = max(
        hockey_stick(distribution(p), distribution(q), Fraction(1))
        for pair in pairs
        if are_neighbors(*pair, "replace-one", most)
        for p, q in (pair, pair[::-1])
    )
    assert float(spent) > mechanism.cost.delta * (1 + 1e-9)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_a_unit_with_more_itemsets_than_promised_is_caught(neighbors: str) -> None:
    mechanism = fim.Choosing(1.0, 1e-3, 2, neighbors)
    distribution = exact.Setting(mechanism, None).itemsets
    one, two = dict.fromkeys(exact.NAMES, 0), dict.fromkeys(exact.NAMES, 1)
    assert are_neighbors(one, two, neighbors)
    assert not are_neighbors(one, two, neighbors, mechanism.max_itemsets)
    assert float(hockey_stick(distribution(two), distribution(one), Fraction(1))) > 1e-3


# Ties in an order that follows the rows, by distributions: no mechanism here ever sees an order.


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    "name", ["exponential", "permute-and-flip", "max-of-laplaces", "limited-domain", "tight-margin"]
)
def test_a_tie_named_by_the_order_of_the_rows_is_caught(name: str, neighbors: str) -> None:
    """A unit whose basket comes first and has b before a changes which of the two comes first."""
    mechanism: Any = ALL[name](neighbors)
    is_pure = isinstance(mechanism, PURE)
    mechanism = mechanism if is_pure else replace(mechanism, max_rank=3)
    fair = exact.Setting(mechanism, 3 if is_pure else None).itemsets
    one, two = fair({"a": 90, "b": 90, "c": 0}), fair({"a": 91, "b": 91, "c": 0})
    p = one | {"a": one["a"] + one["b"], "b": Decimal(0)}
    q = two | {"a": Decimal(0), "b": two["a"] + two["b"]}
    assert float(hockey_stick(p, q, Fraction(1))) > 0.9
    spent = float(hockey_stick(one, two, Fraction(1)))
    assert spent <= mechanism.cost.delta + exact.NUMERICAL_ERROR


def test_a_cut_through_ties_that_follows_the_rows_is_caught() -> None:
    """Six tied, three candidates, at most Δ = 1 of them new by the guarantee: reordering swaps all.

    With M = k̄, as without a limit Δ, abstaining weighs enough for that as well.
    """
    mechanism = fim.LimitedDomain(1.0, 1e-3, "add-remove", 3, 1)
    shares = exact.distribution(mechanism, [(20, 6)], None)

    def cut(first: str) -> dict[str | None, Decimal]:
        return {**dict.fromkeys(first, shares[20] / len(first)), None: shares[None]}

    assert float(hockey_stick(cut("abc"), cut("def"), Fraction(1))) > 1e-3


# -------------------- bounded range, and what is refused


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("name", ["exponential", *ABSTAINS[:-1]])
def test_every_one_pass_mechanism_is_held_to_bounded_range(name: str, neighbors: str) -> None:
    mechanism = ALL[name](neighbors)
    theorem = vars(type(mechanism))["bounded_range"]
    assert audit(mechanism, trials=0).stages[0].name == f"bounded range ({theorem})"


def test_neither_a_base_class_nor_a_method_s_name_declares_bounded_range() -> None:
    class Heavier(fim.LimitedDomain):
        pass

    class Many(fim.PermuteAndFlip):
        def select_many(self, *_: Any) -> Any:
            raise AssertionError("must not be called")

    assert is_bounded_range(fim.LimitedDomain())
    assert not is_bounded_range(Heavier())
    spent = Fraction(1), Fraction(1, 10**6)
    several = TopK.by_basic_composition(lambda e, delta: Many(e, "add-remove"), 3, *spent)
    assert several.mechanism.cost.epsilon == Fraction(1, 3)
    spectrum = SupportSpectrum.from_supports([50, 40, 30, 3], universe_size=4)
    assert len(several.select(spectrum, Randomness.seeded(1))) == 3


class Best(fim.LargeMargin):
    """Chooses by exact supports. All that the audit looks at is as in the large margin."""

    def select(self, spectrum: SupportSpectrum, _: Randomness) -> Selection:
        return Selection(max((level for level, _ in spectrum.levels()), default=None))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: audit(Best(1.0)), "^Best has a select of its own, which the audit does not see"),
        # The error allowed for would be all of such a δ, and a broken mechanism would pass.
        (lambda: audit(fim.LimitedDomain(1.0, 1e-25)), "delta must be at least 1e-24"),
        (lambda: audit(fim.LargeMargin(1.0, 1e-25)), "delta must be at least 1e-24"),
        (lambda: audit(fim.LargeMargin(51.0)), "^epsilon must be at most 50 to be audited, not"),
        (lambda: audit(fim.LargeMargin(1e9)), "^epsilon must be at most 50 to be audited, not"),
        (
            lambda: audit(fim.Exponential(1.0), trials=-1),
            "trials must be a whole number of at least 0",
        ),
        (lambda: auditable("laplace", 1.0, 1e-6, "add-remove"), "mechanism must be one of all"),
        (lambda: auditable("levelwise", 1.0, 1e-6, "add-remove"), "levelwise has many steps"),
    ],
)
@pytest.mark.every_case
def test_bad_requests_are_refused(asked: Callable[[], object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        asked()


# -------------------- sixty digits: as many as are claimed


CLAIMED = Decimal(repr(exact.NUMERICAL_ERROR))

spectra = st.lists(st.integers(1, 25), max_size=8)
zeros = st.one_of(st.none(), st.integers(0, 5))


def digits_of(mechanism: Mechanism, supports: list[int], universe_size: int | None) -> exact.Shares:
    levels = list(SupportSpectrum.from_supports(supports).levels())
    return exact.distribution(mechanism, levels, universe_size)


def assert_near(found: Mapping[Any, Decimal], right: Mapping[Any, Decimal], error: Decimal) -> None:
    with localcontext(exact.DIGITS):
        assert abs(sum(found.values(), Decimal(0)) - 1) <= error
        for outcome in found.keys() | right.keys():
            apart = found.get(outcome, Decimal(0)) - right.get(outcome, Decimal(0))
            assert abs(apart) <= error, outcome


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@settings(max_examples=8)
@given(supports=spectra, zeros=zeros)
@pytest.mark.full
def test_exact_has_its_digits(neighbors: Any, supports: list[int], zeros: int | None) -> None:
    """Against independent definitions good to 1e-60."""
    epsilon, delta = Fraction(7, 10), Fraction(1, 1000)
    size = None if zeros is None else max(2, len(supports) + zeros)
    mechanisms: list[Mechanism] = [
        fim.LimitedDomain(epsilon, delta, neighbors, 3, 2),
        fim.Choosing(epsilon, delta, 6, neighbors),
        fim.Distance(epsilon, delta, neighbors),
        fim.TightMargin(epsilon, delta, neighbors, 4),
    ]
    if size is not None:
        mechanisms += [kind(epsilon, neighbors) for kind in PURE[1:]]
    counts = by_name(tuple(supports), size)
    with localcontext(exact.DIGITS):
        for mechanism in mechanisms:
            right = by_level(exact_law(mechanism, counts, size), counts)
            assert_near(digits_of(mechanism, supports, size), right, CLAIMED)


def test_decimals_reach_where_doubles_do_not() -> None:
    """A ratio of e^-200 between two outcomes is there, not 0."""
    [lead, last] = [digits_of(fim.Exponential(1, "add-remove"), [200], 2)[at] for at in (200, 0)]
    assert float((last / lead).ln()) == pytest.approx(-200)
    assert np.isclose(float(lead), 1)
