"""`fim_private.auditing`: its arithmetic against oracles, every mechanism within its guarantee, every mutant caught.

A mutant is a mechanism broken on purpose. Each is caught by the audit of the whole, by that of a stage, or, where what
is broken breaks no guarantee, by comparing distributions.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import oracles
import pytest
from mechanism_cases import CASES, Case

from fim_private.auditing import audit as auditing
from fim_private.auditing import exact
from fim_private.auditing.audit import audit, auditable
from fim_private.auditing.exact import are_neighbors, random_pairs, structured_pairs
from fim_private.errors import ParameterError
from fim_private.mechanisms import (
    Exponential,
    LargeMargin,
    Mechanism,
    NamedExponential,
    TightMargin,
    exponential,
    margins,
    noisy_max,
    registry,
)
from fim_private.mechanisms.exponential import Candidate, named
from fim_private.mechanisms.margins import OneSidedSteps
from fim_private.spectrum import SupportSpectrum

AUDITABLE = [*registry.single()]
NEIGHBORS = ["replace-one", "add-remove"]
# Replacing doubles the levels that neighbours differ in, and takes five times as long.
QUICKLY = [pytest.param("replace-one", marks=pytest.mark.full), "add-remove"]


LONGEST = "large-margin near ties"


def is_for_exact_arithmetic(case: Case) -> bool:
    """Few zeros, and few ranks: a search of 10,000 is for doubles, and one of 300 is long enough for one test."""
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
def test_every_mechanism_is_private_elsewhere(name: str, neighbors: str, epsilon: float, delta: float) -> None:
    [mechanism] = auditable(name, epsilon, delta, neighbors)
    assert audit(mechanism, trials=100, seed=5).holds


@pytest.mark.full
def test_add_remove_audits_come_close_to_the_whole_delta() -> None:
    """An audit that never finds anything would pass as well: these four guarantees are used up nearly wholly."""
    for name in ("limited-domain", "choosing", "tight-margin"):
        [mechanism] = auditable(name, 1.0, 1e-6, "add-remove")
        report = audit(mechanism, trials=0)
        assert report.whole.share is not None
        assert report.whole.share > 0.99


# ------------------------------------------------------------------------------------------ mutants


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
    report = audit(mechanism, trials=30)
    return {finding.name.partition(" at rank")[0] for finding in (report.whole, *report.stages) if not finding.holds}


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("neighbors", QUICKLY)
class TestLargeMargin:
    def test_without_its_margin(self, neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(margins, "_integer_threshold", lambda epsilon, delta, rank: 0)
        assert {"whole", "margin", "noise of the steps"} <= broken(LargeMargin(1.0, 1e-3, neighbors))

    @pytest.mark.parametrize("scale", [3, 6, 12])
    @pytest.mark.one_in(5)
    def test_with_a_threshold_lowered_by_three_scales(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch, scale: int
    ) -> None:
        shipped = margins._integer_threshold
        monkeypatch.setattr(margins, "_integer_threshold", lambda e, d, rank: shipped(e, d, rank) - 3 * scale)
        assert "noise of the steps" in broken(LargeMargin(1.0, 1e-6, neighbors))

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize(
        ("constant", "stage"),
        [("MAXIMUM_SCALE", "noisy maximum"), ("SHARED_SCALE", "rank search"), ("STEP_SCALE", "rank search")],
    )
    def test_with_70_percent_of_its_noise(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch, constant: str, stage: str
    ) -> None:
        monkeypatch.setattr(margins, constant, getattr(margins, constant) * Fraction(7, 10))
        assert stage in broken(LargeMargin(1.0, 1e-3, neighbors))

    def test_without_noise_in_the_search(self, neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Exact supports decide the cut: one unit flips it."""
        for name in ("MAXIMUM_SCALE", "SHARED_SCALE", "STEP_SCALE"):
            monkeypatch.setattr(margins, name, getattr(margins, name) / Fraction(1000))
        assert {"whole", "rank search"} <= broken(LargeMargin(1.0, 1e-3, neighbors))


def test_a_collapse_without_the_zeros_is_seen_in_the_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a certified margin the zeros weigh less than δ/3: to leave them out breaks no guarantee."""

    def candidates(self: LargeMargin, spectrum: SupportSpectrum, rank: int) -> list[Candidate]:
        return named(exponential.top(spectrum, rank)[0])

    mechanism = LargeMargin(1.0, 0.9, max_rank=8)
    right, _ = oracles.large_margin_distribution([45], Fraction(1), Fraction(9, 10), max_rank=8)
    assert float(exact.distribution(mechanism, ((45, 1),), None)[45]) == pytest.approx(right[45], abs=1e-12)
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

    def test_distance_with_70_percent_of_its_noise(self, neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
        [mechanism] = auditable("distance", 1.0, 1e-3, neighbors)
        threshold = mechanism.threshold  # type: ignore[attr-defined]
        scale = mechanism.scale * Fraction(7, 10)  # type: ignore[attr-defined]
        monkeypatch.setattr(noisy_max.Distance, "threshold", property(lambda self: threshold))
        monkeypatch.setattr(noisy_max.Distance, "scale", property(lambda self: scale))
        assert broken(mechanism) == {"whole"}

    def test_distance_with_a_threshold_lowered_by_three_scales(
        self, neighbors: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        [mechanism] = auditable("distance", 1.0, 1e-6, neighbors)
        lowered = mechanism.threshold - math.ceil(3 * mechanism.scale)  # type: ignore[attr-defined]
        monkeypatch.setattr(noisy_max.Distance, "threshold", property(lambda self: lowered))
        assert broken(mechanism) == {"whole"}

    def test_the_exponential_mechanism_without_the_zeros(self, neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def levels(spectrum: SupportSpectrum, mechanism: str) -> list[tuple[int, int]]:
            return [*spectrum.all_levels()] or [(0, 1)]

        monkeypatch.setattr(exponential, "universe_levels", levels)
        assert "whole" in broken(Exponential(1.0, neighbors))


def test_bad_requests_are_refused() -> None:
    with pytest.raises(ParameterError, match="mechanism must be one of all, large-margin"):
        auditable("laplace", 1.0, 1e-6, "add-remove")
    with pytest.raises(ParameterError, match="levelwise is a run of many steps, which the tests audit one by one"):
        auditable("levelwise", 1.0, 1e-6, "add-remove")
    with pytest.raises(ParameterError, match="trials must be a whole number of at least 0"):
        audit(Exponential(1.0), trials=-1)
    assert len(auditable("all", 1.0, 1e-6, "add-remove")) == len(AUDITABLE)


def test_random_pairs_depend_on_their_seed_only() -> None:
    one, same, other = (list(random_pairs("replace-one", [9], None, 20, seed)) for seed in (1, 1, 2))
    assert one == same != other
    assert all(left != right for left, right in pairwise(one))
