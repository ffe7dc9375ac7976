"""Exact laws of levelwise on a few items, written from docs/privacy.md (Theorem 13), without the package.

Weights are in multiples of 1/GRID of a unit; noise on them is normal, rounded, and 0 at that scale is no special value.
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

GRID = 1 << 16
Floats = NDArray[np.float64]
# Nodes of the midpoint rule, for one, two and three items whose weights differ.
_NODES = {1: 4_000, 2: 250, 3: 60}


def weight(bound: int, held: int) -> int:
    """What a unit gives to each of its candidates, of which it holds so many."""
    return min(GRID, isqrt(GRID * GRID * bound // held))


def tail(sigma2: Fraction | float, least: int) -> float:
    """P(noise >= least): that of the normal from half a step below on."""
    return float(ndtr(-(least - 0.5) / sqrt(sigma2)))


def exact_tail(sigma2: Fraction, least: int) -> Decimal:
    """The same, right to 50 digits or more."""
    with localcontext(prec=60):
        x = (Decimal(least) - Decimal("0.5")) / (Decimal(sigma2.numerator) / Decimal(sigma2.denominator)).sqrt()
        return oracles.normal_tail(Fraction(x))


def gaussian_delta(epsilon: Fraction, mu: Fraction) -> Decimal:
    """The δ at ε of two normal distributions of variance 1 whose means are mu apart (Balle and Wang, 2018)."""
    with localcontext(prec=60):
        near, far = (oracles.normal_tail(epsilon / mu + sign * mu / 2) for sign in (-1, 1))
        return near - (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp() * far


def excess(p: Floats, q: Floats, epsilon: float, mu: float) -> Floats:
    """∫ max(0, p f - e^ε q g) for normal densities f, g of variance 1 whose means are mu apart; p, q >= 0: (n,)."""
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


def named_items(sums: Mapping[str, int], threshold: int, sigma2: Fraction) -> dict[tuple[str, ...], float]:
    """P(the items named are these). sums: of the items that somebody has."""
    chances = {item: tail(sigma2, threshold - value) for item, value in sums.items() if value}
    return {
        named: float(np.prod([chance if item in named else 1 - chance for item, chance in chances.items()]))
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
    """The δ at ε from one to another of: which items are named, their noisy weights, and all noisy weights after these.

    one, other: the sums of the items, 0 for an item that nobody has. later: how far apart what follows is, as μ of
    normal distributions, where these items are named.

    An item that only `one` has, if it is named, makes a release that the other cannot make. Of the rest each subset may
    be named: then the densities of their noisy weights, from the threshold on, are multiplied by the probabilities that
    the remaining ones stay below.
    """
    sigma = sqrt(sigma2)
    shared = [item for item in one if one[item] and other[item]]
    alone = [[tail(sigma2, threshold - side[i]) for i in side if side[i] and i not in shared] for side in (one, other)]
    silent = [float(np.prod([1 - chance for chance in chances])) for chances in alone]
    total = 1 - silent[0]
    for named in subsets(shared):
        below = [
            float(np.prod([ndtr((threshold - 0.5 - side[i]) / sigma) for i in shared if i not in named]))
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
            values = -ndtri((np.arange(nodes) + 0.5) / nodes * mass)  # of the noise, given that it is large enough
            shift = (one[item] - other[item]) / sigma
            ratio = np.exp(-shift * values - shift * shift / 2)
            p = np.outer(p, np.full(nodes, mass / nodes)).ravel()
            q = np.outer(q, mass / nodes * ratio).ravel()
        total += float(excess(p, q, epsilon, later(named)).sum())
    return total
