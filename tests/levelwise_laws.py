"""Exact laws of levelwise on a few items, of docs/privacy.md (Theorem 13), without the package."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from math import exp, isqrt, prod, sqrt
from typing import Any

import numpy as np
import oracles
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

GRID = 1 << 16
Floats = NDArray[np.float64]
# Nodes of the midpoint rule, for one, two and three items whose weights differ.
_NODES = {1: 4_000, 2: 250, 3: 60}


def weight(bound: int, held: int) -> int:
    """What a count gives to each of the candidates of a unit, which holds so many."""
    return min(GRID, isqrt(GRID * GRID * bound // held))


def tail(sigma2: Fraction | float, least: int) -> float:
    """P(noise >= least): that of the normal from half a step below on."""
    return float(ndtr(-(least - 0.5) / sqrt(sigma2)))


def likeliest_alone(sigma: float, threshold: float, most: int) -> float:
    """The most `named_alone` is of up to `most` items: 1 to 3 heavy ones, and equal light ones."""

    def silent(count: NDArray[np.int64] | int, square: Floats) -> Floats:
        """The logarithm of P(none of so many items of this squared weight is named)."""
        return np.asarray(count * np.log1p(-ndtr((np.sqrt(square) - threshold) / sigma)))

    # What the heavy ones have in all: also next to nothing, and next to all.
    near = np.geomspace(1e-6, 0.5, 60)
    parts = np.concatenate([[0.0], near, 1 - near, [1.0]])
    counts = {*np.geomspace(1, most, 40).astype(np.int64), *range(max(most - 3, 1), most)}
    light = np.array(sorted(counts))[:, None]
    none = [silent(most, np.array([1 / most])), silent(1, np.ones(1))]
    for heavy in range(1, min(3, most - 1) + 1):
        others = light[light[:, 0] <= most - heavy]
        none.append(silent(heavy, parts / heavy) + silent(others, (1 - parts) / others))
    return float(-np.expm1(min(float(each.min()) for each in none)))


def exact_tail(sigma2: Fraction, least: int) -> Decimal:
    """The same, right to 50 digits or more."""
    with localcontext(prec=60):
        sigma = (Decimal(sigma2.numerator) / Decimal(sigma2.denominator)).sqrt()
        return oracles.normal_tail(Fraction((Decimal(least) - Decimal("0.5")) / sigma))


def gaussian_delta(epsilon: Fraction, mu: Fraction) -> Decimal:
    """The δ at ε of two normals of variance 1 that are mu apart (Balle and Wang, 2018)."""
    with localcontext(prec=60):
        near, far = (oracles.normal_tail(epsilon / mu + sign * mu / 2) for sign in (-1, 1))
        return near - (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp() * far


def excess(p: Floats, q: Floats, epsilon: float, mu: float) -> Floats:
    """∫ max(0, p f - e^ε q g) of normal densities f, g of variance 1, mu apart; p, q: (n,)."""
    if mu == 0:
        return np.maximum(0, p - exp(epsilon) * q)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = epsilon + np.log(q) - np.log(p)
        value = p * (ndtr(mu / 2 - own / mu) - np.exp(own + log_ndtr(-mu / 2 - own / mu)))
    return np.where(p > 0, np.where(q > 0, value, p), 0.0)


def subsets(items: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    items = sorted(items)
    return (some for size in range(len(items) + 1) for some in combinations(items, size))


def found_divergence(
    one: Mapping[str, int],
    other: Mapping[str, int],
    threshold: int,
    sigma2: Fraction,
    epsilon: float,
    later: Callable[[tuple[str, ...]], float],
) -> float:
    """The δ at ε of: which items are named, their noisy weights, and all noisy weights after these.

    one, other: the sums of the items, 0 for an item that nobody has. later: how far apart what
    follows is, as μ of normal distributions, where these items are named.

    An item that only `one` has, if it is named, makes a release that the other cannot make. Of the
    rest each subset may be named: then the densities of their noisy weights, from the threshold on,
    are multiplied by the probabilities that the remaining ones stay below.
    """
    sigma = sqrt(sigma2)
    shared = [item for item in one if one[item] and other[item]]
    chances = [{i: tail(sigma2, threshold - side[i]) for i in side} for side in (one, other)]
    silent = [
        prod(1 - chance[i] for i in side if side[i] and i not in shared)
        for side, chance in zip((one, other), chances, strict=True)
    ]
    total = 1 - silent[0]
    for named in subsets(shared):
        below = [prod(1 - chance[i] for i in shared if i not in named) for chance in chances]
        p, q = np.array([silent[0] * below[0]]), np.array([silent[1] * below[1]])
        differ = [i for i in named if one[i] != other[i]]
        for item in (i for i in named if one[i] == other[i]):
            p, q = p * chances[0][item], q * chances[0][item]
        for item in differ:
            nodes = _NODES[len(differ)]
            mass = chances[0][item]
            # of the noise, given that it is large enough
            values = -ndtri((np.arange(nodes) + 0.5) / nodes * mass)
            shift = (one[item] - other[item]) / sigma
            ratio = np.exp(-shift * values - shift * shift / 2)
            p = np.outer(p, np.full(nodes, mass / nodes)).ravel()
            q = np.outer(q, mass / nodes * ratio).ravel()
        total += float(excess(p, q, epsilon, later(named)).sum())
    return total
