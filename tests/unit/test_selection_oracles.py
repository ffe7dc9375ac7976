"""The selection oracles against second definitions, simulations, and the privacy the theory
claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import pytest
import selection_oracles as so
from oracles import Neighbors

Counts = Mapping[str, int]
Exact = dict[str | None, Decimal]

NEIGHBORS: tuple[Neighbors, Neighbors] = ("add-remove", "replace-one")
SPLIT = (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2))
TINY = Decimal("1e-50")
SPREAD = {"a": 9, "b": 7, "c": 7, "d": 7, "e": 4, "f": 1, "g": 1, "h": 0, "i": 0}


def step(rank: int) -> int:
    return 2 + rank


def known(counts: Counts, is_known: bool) -> int | None:
    return len(counts) if is_known else None


def close(
    p: Mapping[str | None, Decimal], q: Mapping[str | None, Decimal], error: Decimal = TINY
) -> bool:
    with localcontext() as context:
        context.prec = 100
        return all(abs(p.get(o, Decimal(0)) - q.get(o, Decimal(0))) <= error for o in {*p, *q})


def every_mechanism(
    counts: Counts, epsilon: Fraction, delta: Fraction, neighbors: Neighbors, is_known: bool
) -> Iterator[Exact]:
    size = known(counts, is_known)
    if is_known:
        yield so.permute_and_flip_exact(
            counts, epsilon, neighbors=neighbors, universe_size=len(counts)
        )
        yield so.max_of_laplaces_exact(
            counts, epsilon, neighbors=neighbors, universe_size=len(counts)
        )
    for rank in (1, 3, 6, 8, 20):
        yield so.limited_domain_exact(
            counts,
            epsilon,
            delta,
            max_rank=rank,
            neighbors=neighbors,
            universe_size=size,
            max_itemsets=4,
        )
    yield so.choosing_exact(
        counts, epsilon, delta, max_itemsets=4, neighbors=neighbors, universe_size=size
    )
    yield so.distance_exact(counts, epsilon, delta, neighbors=neighbors, universe_size=size)
    for rank in (1, 4, 12):
        yield so.tight_margin_exact(
            counts,
            epsilon,
            delta,
            max_rank=rank,
            neighbors=neighbors,
            split=SPLIT,
            thresholds=step,
            universe_size=size,
        )


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    "counts", [SPREAD, {"a": 1}, {"a": 0, "b": 0}, {"a": 60, "b": 3, "c": 0}, {"a": 0}]
)
@pytest.mark.one_in(3)
def test_distributions_sum_to_one_and_treat_ties_alike(
    counts: Counts, is_known: bool, neighbors: Neighbors
) -> None:
    for result in every_mechanism(counts, Fraction(3, 2), Fraction(1, 50), neighbors, is_known):
        assert abs(so.total(result) - 1) < TINY
        assert min(result.values()) >= 0
        names = {name for name, count in counts.items() if count or is_known}
        assert set(result) == {*names, None}
        for one, other in combinations(names, 2):
            if counts[one] == counts[other]:
                assert result[one] == result[other]
            else:
                more, less = (one, other) if counts[one] > counts[other] else (other, one)
                assert result[more] >= result[less]


# ------------------------------------------------------------------------------- second definitions


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 3), Fraction(9, 10)])
def test_replace_one_weight_is_the_least_that_the_conversion_allows(
    epsilon: Fraction, delta: Fraction
) -> None:
    number = so.abstention_multiplicity(epsilon, delta, 7, "replace-one")
    with localcontext() as context:
        context.prec = 50
        x = Decimal(epsilon.numerator) / epsilon.denominator / 2
        share = Decimal(delta.numerator) / delta.denominator / (1 + x.exp())
        needed = 7 / min(share, x)
        assert number * x.exp() >= needed > (number - 1) * x.exp()


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("threshold", [-3, 0, 2, 3, 8])
def test_tight_margin_search_of_one_test_in_closed_form(
    threshold: int, neighbors: Neighbors
) -> None:
    epsilon = Fraction(7, 5)
    result = so.tight_margin_ranks_exact(
        {"a": 6, "b": 4},
        epsilon,
        max_rank=2,
        neighbors=neighbors,
        split=SPLIT,
        thresholds=lambda _: threshold,
    )
    with localcontext() as context:
        context.prec = 90
        e = Decimal("1.4") / (1 if neighbors == "add-remove" else 2)
        x, y = (-e / 5).exp(), (-3 * e / 10).exp()
        m = threshold - 2  # stops if Z >= m + G
        later = (1 - y) * x ** (1 - m) / (1 - x * y)
        stops = (1 - x) * y**m / (1 - x * y) if m >= 0 else 1 - later
        assert abs(result[1] - stops) < TINY
        assert abs(result[2] - (1 - stops)) < TINY
