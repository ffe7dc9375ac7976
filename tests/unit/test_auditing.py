"""`fim_private.auditing.exact`: as many digits as it claims, and the mechanism as it is, broken or not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import selection_oracles as slow
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_cases import named, outcomes

from fim_private.auditing import exact
from fim_private.auditing.audit import audit, auditable
from fim_private.auditing.exact import DIGITS, gauss, hockey_stick, number, ranks
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
)
from fim_private.mechanisms.rank_search import Search, TwoSidedSteps
from fim_private.spectrum import SupportSpectrum

NEIGHBORS = ["replace-one", "add-remove"]
CLAIMED = Decimal(repr(exact.NUMERICAL_ERROR))

spectra = st.lists(st.integers(1, 25), max_size=8)
zeros = st.one_of(st.none(), st.integers(0, 5))
quick = settings(max_examples=25)


def shares(mechanism: Mechanism, supports: list[int], universe_size: int | None) -> exact.Shares:
    levels = list(SupportSpectrum.from_supports(supports).levels())
    return exact.distribution(mechanism, levels, universe_size)


def assert_close(found: Mapping[Any, Decimal], right: Mapping[Any, Decimal], error: Decimal) -> None:
    with localcontext(DIGITS):
        assert abs(sum(found.values(), Decimal(0)) - 1) <= error
        for outcome in found.keys() | right.keys():
            assert abs(found.get(outcome, Decimal(0)) - right.get(outcome, Decimal(0))) <= error, outcome


def assert_same_law(mechanism: Mechanism, supports: list[int], universe_size: int | None, error: float) -> None:
    """The audited distribution is the mechanism's own, up to its doubles."""
    spectrum = SupportSpectrum.from_supports(supports, universe_size)
    found = {level: float(share) for level, share in shares(mechanism, supports, universe_size).items()}
    if isinstance(mechanism, NamedExponential):
        found[0] = found.pop(None)
    own = outcomes(mechanism, spectrum)
    for level in found.keys() | own.keys():
        assert found.get(level, 0.0) == pytest.approx(own.get(level, 0.0), abs=error), (level, mechanism)


def mechanisms(neighbors: str, known: bool) -> list[Mechanism]:
    epsilon, delta = 0.7, 1e-3
    either: list[Mechanism] = [
        LargeMargin(3.0, 0.5, neighbors, 6),
        TightMargin(epsilon, delta, neighbors, 4),
        LimitedDomain(epsilon, delta, neighbors, 3),
        LimitedDomain(epsilon, delta, neighbors, 5, 2),
        Choosing(epsilon, delta, 6, neighbors),
        Distance(epsilon, delta, neighbors),
    ]
    if known:
        pure = (Exponential, PermuteAndFlip, MaxOfLaplaces)
        return [*either, *(make(epsilon, neighbors) for make in pure)]
    return [*either, NamedExponential(epsilon, delta, 40, neighbors)]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@quick
@given(supports=spectra, zeros=zeros)
def test_exact_is_the_law_of_every_mechanism(neighbors: str, supports: list[int], zeros: int | None) -> None:
    size = None if zeros is None else max(2, len(supports) + zeros)
    for mechanism in mechanisms(neighbors, size is not None):
        assert_same_law(mechanism, supports, size, 1e-11)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@settings(max_examples=8)
@given(supports=spectra, zeros=zeros)
@pytest.mark.full
def test_exact_has_the_digits_it_claims(neighbors: Any, supports: list[int], zeros: int | None) -> None:
    """Against independent definitions good to 1e-60."""
    epsilon, delta = Fraction(7, 10), Fraction(1, 1000)
    size = None if zeros is None else max(2, len(supports) + zeros)
    counts, relation = named(tuple(supports), size), {"neighbors": neighbors, "universe_size": size}
    tight = TightMargin(epsilon, delta, neighbors, 4)
    split = (tight.shared_share, tight.step_share, 1 - tight.shared_share - tight.step_share)
    answers: list[tuple[Mechanism, Mapping[str | None, Decimal]]] = [
        (
            LimitedDomain(epsilon, delta, neighbors, 3, 2),
            slow.limited_domain_exact(counts, epsilon, delta, max_rank=3, max_itemsets=2, **relation),
        ),
        (
            Choosing(epsilon, delta, 6, neighbors),
            slow.choosing_exact(counts, epsilon, delta, max_itemsets=6, **relation),
        ),
        (Distance(epsilon, delta, neighbors), slow.distance_exact(counts, epsilon, delta, **relation)),
        (
            tight,
            slow.tight_margin_exact(
                counts, epsilon, delta, max_rank=4, split=split, thresholds=tight.threshold, **relation
            ),
        ),
    ]
    if size is not None:
        answers += [
            (PermuteAndFlip(epsilon, neighbors), slow.permute_and_flip_exact(counts, epsilon, **relation)),
            (MaxOfLaplaces(epsilon, neighbors), slow.max_of_laplaces_exact(counts, epsilon, **relation)),
        ]
    with localcontext(DIGITS):
        for mechanism, slow_answer in answers:
            right: dict[int | None, Decimal] = {None: slow_answer[None]}
            for name, support in counts.items():
                right[support] = right.get(support, Decimal(0)) + slow_answer[name]
            assert_close(shares(mechanism, supports, size), right, CLAIMED)


def test_the_two_sided_search_has_the_digits_by_plain_sums() -> None:
    """Z and G summed one by one: no formula for Z - G, no tail formula."""
    scales = (Fraction(1, 2), Fraction(1), Fraction(2))
    supports, reach = [9, 6, 6, 2], 190
    thresholds = {1: 3, 2: 1, 3: 4}
    search = Search(SupportSpectrum.from_supports(supports), thresholds.__getitem__, 3, TwoSidedSteps(*scales))
    with localcontext(DIGITS):

        def mass(scale: Fraction) -> list[Decimal]:
            weights = [(-number(Fraction(abs(k)) / scale)).exp() for k in range(-reach, reach + 1)]
            return [weight / sum(weights, Decimal(0)) for weight in weights]

        z, g, step = (mass(scale) for scale in scales)
        below = [Decimal(0)]  # P(Z_ℓ < k - reach)
        for probability in step:
            below.append(below[-1] + probability)
        right: dict[int | None, Decimal] = dict.fromkeys([1, 2, 3, None], Decimal(0))
        both: dict[int, Decimal] = {}
        for i in range(2 * reach + 1):
            for j in range(2 * reach + 1):
                both[i - j] = both.get(i - j, Decimal(0)) + z[i] * g[j]
        for x, alive in both.items():
            for rank in (1, 2, 3):
                slack = supports[0] - supports[rank] - thresholds[rank] + x
                stop = alive * below[min(max(slack + reach, 0), 2 * reach + 1)]
                right[rank] += stop
                alive -= stop
            right[None] += alive
        # Cut at 190, the widest noise misses e^-95.
        assert_close(ranks(search), right, CLAIMED)


@pytest.mark.parametrize("degree", [1, 2, 7, 8, 30])
def test_gauss_integrates_polynomials_exactly(degree: int) -> None:
    with localcontext(DIGITS):
        for power in range(degree):
            found = sum((weight * x**power for x, weight in gauss(degree)), Decimal(0))
            assert abs(found - Decimal(1) / (power + 1)) < Decimal("1e-55")


def test_the_divergence_is_the_least_delta() -> None:
    p = {"a": Decimal("0.6"), "b": Decimal("0.4")}
    q = {"a": Decimal("0.1"), None: Decimal("0.9")}
    assert float(hockey_stick(p, q, Fraction(1))) == pytest.approx(0.6 - 0.1 * math.e + 0.4)
    assert hockey_stick(p, p, Fraction(1)) == 0


@pytest.mark.parametrize(
    "mechanism",
    [
        Exponential(1.0),
        NamedExponential(1.0, 1e-3, 9),
        LimitedDomain(1.0, 1e-3, max_rank=3),
        Choosing(1.0, 1e-3, 4),
        PermuteAndFlip(1.0),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_a_broken_mechanism_is_audited_as_it_is(mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the audit reads must be what the mechanism reads, or an audit of a mutant would be of something else."""
    supports, size = [9, 7, 7, 1], None if isinstance(mechanism, NamedExponential) else 6
    before = outcomes(mechanism, SupportSpectrum.from_supports(supports, size))
    rate = mechanism.rate / Fraction(7, 10)  # type: ignore[attr-defined]
    monkeypatch.setattr(type(mechanism), "rate", property(lambda self: rate))
    assert outcomes(mechanism, SupportSpectrum.from_supports(supports, size)) != before
    assert_same_law(mechanism, supports, size, 1e-11)


def test_decimals_reach_where_doubles_do_not() -> None:
    """A ratio of e^-200 between two outcomes is there, not 0."""
    [lead, last] = [shares(Exponential(1.0, "add-remove"), [200], 2)[level] for level in (200, 0)]
    assert float((last / lead).ln()) == pytest.approx(-200)
    assert np.isclose(float(lead), 1)


@pytest.mark.full
@pytest.mark.parametrize("name", ["distance", "large-margin"])
def test_progress_goes_from_0_to_1(name: str) -> None:
    [mechanism] = auditable(name, 1.0, 1e-3, "add-remove")
    told: list[float] = []
    report = audit(mechanism, trials=0, progress=told.append)
    assert report == audit(mechanism, trials=0)
    assert told[0] == 0
    assert told == sorted(told)
    assert 0.99 < told[-1] <= 1
    assert len(told) >= report.pairs
