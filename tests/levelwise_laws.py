"""Exact laws of levelwise on a few items, written from docs/privacy.md (Theorem 13), without the
package.

Weights are in multiples of 1/GRID of a unit; noise on them is normal, rounded, and 0 at that scale
is no special value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from math import exp, isqrt, sqrt

import numpy as np
import oracles
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from fim_private.request.supports import SupportNoise

GRID = 1 << 16
Floats = NDArray[np.float64]
# Nodes of the midpoint rule, for one, two and three items whose weights differ.
_NODES = {1: 4_000, 2: 250, 3: 60}


def weight(bound: int, held: int) -> int:
    """What a count gives to each of the candidates of a unit, which holds so many."""
    return min(GRID, isqrt(GRID * GRID * bound // held))


def level_weights(times: Mapping[str, int]) -> dict[str, int]:
    """What a level gives to each item of a unit. times: in how many of its baskets it is."""
    return {
        item: isqrt(GRID * GRID * count // sum(times.values())) for item, count in times.items()
    }


def tail(sigma2: Fraction | float, least: int) -> float:
    """P(noise >= least): that of the normal from half a step below on."""
    return float(ndtr(-(least - 0.5) / sqrt(sigma2)))


def named_alone(squares: Floats, sigma: float, threshold: float) -> Floats:
    """P(one item is named) where a unit alone has items of these squared weights, (..., n):
    (...).
    """
    return np.asarray(
        -np.expm1(np.log1p(-ndtr((np.sqrt(squares) - threshold) / sigma)).sum(axis=-1))
    )


def likeliest_alone(sigma: float, threshold: float, most: int) -> float:
    """The most that `named_alone` is of up to `most` items, 1 to 3 heavy ones and equal light ones,
    Σ squares = 1.
    """

    def silent(count: NDArray[np.int64] | int, square: Floats) -> Floats:
        """The logarithm of P(none of so many items of this squared weight is named)."""
        return np.asarray(count * np.log1p(-ndtr((np.sqrt(square) - threshold) / sigma)))

    # What the heavy ones have in all: also next to nothing, and next to all.
    near = np.geomspace(1e-6, 0.5, 60)
    parts = np.concatenate([[0.0], near, 1 - near, [1.0]])
    light = np.unique(
        [*np.geomspace(1, most, 40).astype(np.int64), *range(max(most - 3, 1), most)]
    )[:, None]
    none = [silent(most, np.array([1 / most])), silent(1, np.ones(1))]
    for heavy in range(1, min(3, most - 1) + 1):
        others = light[light[:, 0] <= most - heavy]
        none.append(silent(heavy, parts / heavy) + silent(others, (1 - parts) / others))
    return float(-np.expm1(min(float(each.min()) for each in none)))


def exact_tail(sigma2: Fraction, least: int) -> Decimal:
    """The same, right to 50 digits or more."""
    with localcontext(prec=60):
        x = (Decimal(least) - Decimal("0.5")) / (
            Decimal(sigma2.numerator) / Decimal(sigma2.denominator)
        ).sqrt()
        return oracles.normal_tail(Fraction(x))


def gaussian_delta(epsilon: Fraction, mu: Fraction) -> Decimal:
    """The δ at ε of two normal distributions of variance 1 whose means are mu apart (Balle and
    Wang, 2018).
    """
    with localcontext(prec=60):
        near, far = (oracles.normal_tail(epsilon / mu + sign * mu / 2) for sign in (-1, 1))
        return near - (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp() * far


def excess(p: Floats, q: Floats, epsilon: float, mu: float) -> Floats:
    """∫ max(0, p f - e^ε q g) for normal densities f, g of variance 1 whose means are mu apart; p,
    q >= 0: (n,).
    """
    if mu == 0:
        return np.maximum(0, p - exp(epsilon) * q)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = epsilon + np.log(q) - np.log(p)
        value = p * (ndtr(mu / 2 - own / mu) - np.exp(own + log_ndtr(-mu / 2 - own / mu)))
    return np.where(p > 0, np.where(q > 0, value, p), 0.0)


def subsets(items: Iterable[str]) -> Iterator[tuple[str, ...]]:
    items = sorted(items)
    for size in range(len(items) + 1):
        yield from combinations(items, size)


def named_items(
    sums: Mapping[str, int], threshold: int, sigma2: Fraction
) -> dict[tuple[str, ...], float]:
    """P(the items named are these). sums: of the items that somebody has."""
    chances = {item: tail(sigma2, threshold - value) for item, value in sums.items() if value}
    return {
        named: float(
            np.prod([chance if item in named else 1 - chance for item, chance in chances.items()])
        )
        for named in subsets(chances)
    }


def found_divergence(
    one: Mapping[str, int],
    other: Mapping[str, int],
    threshold: int,
    sigma2: Fraction,
    epsilon: float,
    later: Callable[[tuple[str, ...]], float],
) -> float:
    """The δ at ε from one to another of: which items are named, their noisy weights, and all noisy
    weights after these.

    one, other: the sums of the items, 0 for an item that nobody has. later: how far apart what
    follows is, as μ of normal distributions, where these items are named.

    An item that only `one` has, if it is named, makes a release that the other cannot make. Of the
    rest each subset may be named: then the densities of their noisy weights, from the threshold on,
    are multiplied by the probabilities that the remaining ones stay below.
    """
    sigma = sqrt(sigma2)
    shared = [item for item in one if one[item] and other[item]]
    alone = [
        [tail(sigma2, threshold - side[i]) for i in side if side[i] and i not in shared]
        for side in (one, other)
    ]
    silent = [float(np.prod([1 - chance for chance in chances])) for chances in alone]
    total = 1 - silent[0]
    for named in subsets(shared):
        below = [
            float(
                np.prod(
                    [ndtr((threshold - 0.5 - side[i]) / sigma) for i in shared if i not in named]
                )
            )
            for side in (one, other)
        ]
        p, q = np.array([silent[0] * below[0]]), np.array([silent[1] * below[1]])
        differ = [i for i in named if one[i] != other[i]]
        for item in (i for i in named if one[i] == other[i]):
            p, q = (mass * tail(sigma2, threshold - one[item]) for mass in (p, q))
        for item in differ:
            nodes = _NODES[len(differ)]
            start = (threshold - 0.5 - one[item]) / sigma
            mass = ndtr(-start)
            # of the noise, given that it is large enough
            values = -ndtri((np.arange(nodes) + 0.5) / nodes * mass)
            shift = (one[item] - other[item]) / sigma
            ratio = np.exp(-shift * values - shift * shift / 2)
            p = np.outer(p, np.full(nodes, mass / nodes)).ravel()
            q = np.outer(q, mass / nodes * ratio).ravel()
        total += float(excess(p, q, epsilon, later(named)).sum())
    return total


def release_law(
    units: Iterable[Mapping[str, int]],
    sizes: tuple[int, ...],
    threshold: int,
    item_variance: Fraction,
    second_variance: Callable[[int], Fraction],
    stands_out: float | None,
) -> dict[frozenset[tuple[str, ...]], float]:
    """P(the itemsets released are these), where all candidates may be. units: in how many baskets
    each has its items, few of them; of one with several items all of these are in some basket.

    sizes: (1,) or (2,). second_variance: of the noise of the second count, in units squared, with
    so many candidates.
    stands_out: how many σ of it an itemset's second count must reach; None where all are kept. Then
    at most two candidates may be possible: these are counted unscaled, and too few to be drawn
    towards predictions.
    """
    units = list(units)
    sums: dict[str, int] = {}
    for unit in units:
        for item, own in level_weights(unit).items():
            sums[item] = sums.get(item, 0) + own
    law: dict[frozenset[tuple[str, ...]], float] = {}
    for named, chance in named_items(sums, threshold, item_variance).items():
        candidates = list(combinations(named, sizes[0]))
        passes = dict.fromkeys(candidates, 1.0)
        if stands_out is not None and candidates:
            assert len(candidates) <= 2
            sigma2 = second_variance(len(candidates))
            for itemset in candidates:
                support = sum(unit.keys() >= set(itemset) for unit in units)
                passes[itemset] = float(ndtr(support / sqrt(sigma2) - stands_out))
        for count in range(len(candidates) + 1):
            for kept in combinations(candidates, count):
                part = float(
                    np.prod([p if itemset in kept else 1 - p for itemset, p in passes.items()])
                )
                law[frozenset(kept)] = law.get(frozenset(kept), 0.0) + chance * part
    return law


def final_divergence(
    one: Mapping[frozenset[tuple[str, ...]], float],
    other: Mapping[frozenset[tuple[str, ...]], float],
    supports: tuple[int, int],
    noise: SupportNoise,
    epsilon: float,
) -> float:
    """The δ at ε from one to another, of releases of one itemset with its noisy support, value by
    value, or of none.

    Two normals move with the units, whatever was named: by 1/a² + 1/(4b²), and the number alone by
    as much.
    """
    if noise.of_units is not None:
        mu = sqrt(1 / noise.of_units + 1 / (4 * noise.parameter))
        ours, theirs = (
            np.array([law.get(itemsets, 0.0) for itemsets in one]) for law in (one, other)
        )
        return float(excess(ours, theirs, epsilon, mu).sum())
    support_variance = noise.parameter
    sigma = sqrt(support_variance)
    reach = int(9 * sigma) + 2
    values = np.arange(min(supports) - reach, max(supports) + reach + 1)
    total = 0.0
    for itemsets, p in one.items():
        q = other.get(itemsets, 0.0)
        if not itemsets:
            total += max(0.0, p - exp(epsilon) * q)
            continue
        cells = [
            ndtr((values + 0.5 - c) / sigma) - ndtr((values - 0.5 - c) / sigma) for c in supports
        ]
        total += float(np.maximum(0, p * cells[0] - exp(epsilon) * q * cells[1]).sum())
    return total
