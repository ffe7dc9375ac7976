"""SanPoints and SanThresholds of Beimel, Nissim and Stemmer (2013), and what the package has for
the same questions.

Both answer for all points, or thresholds, of a domain at once: how many values are there, or below.
An answer is right if no error exceeds a share alpha of the values. Choices are drawn from exact
distributions, in floating point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fim_private as fim
from benchmarks.frame.bisection import least_between
from fim_private.dp.neighbors import Neighbors
from fim_private.learning.points import quantiles
from fim_private.mechanisms import Choosing
from fim_private.spectrum import SupportSpectrum

Counts = NDArray[np.int64]
# SanThresholds on data: so many bits of domain, so that a number for each point is at hand.
BITS = 16
# The relation of the paper, which ours are measured under as well.
NEIGHBORS = Neighbors.REPLACE_ONE


def equal_points(n: int) -> Counts:
    """Return n values at nine points, a ninth each: none of them may be missed at alpha 0.1."""
    return np.array([n // 9] * 8 + [n - 8 * (n // 9)], dtype=np.int64)


def one_point(n: int) -> Counts:
    """Return n values of which an eighth are at one point, all others at a point of their own."""
    return np.array([n // 8] + [1] * (n - n // 8), dtype=np.int64)


POINTS: dict[str, Callable[[int], Counts]] = {
    "nine equal points": equal_points,
    "one point and dust": one_point,
}


def san_points(
    counts: Counts, alpha: float, epsilon: float, delta: float, generator: np.random.Generator
) -> Counts:
    """Return an estimate for each point: 2/alpha rounds of Choosing, each pick with Laplace noise,
    all others 0.
    """
    each, share = epsilon / math.sqrt(32 * math.log(5 / delta) / alpha), alpha * delta / 5
    mechanism, estimates = (
        Choosing(each, share, max_itemsets=1, neighbors=NEIGHBORS),
        np.zeros_like(counts),
    )
    left = np.arange(len(counts))
    for _ in range(round(2 / alpha)):
        place = _chosen(mechanism, counts[left], generator)
        if place is None:
            continue
        noise = generator.geometric(-math.expm1(-each), 2)  # their difference is discrete Laplace
        estimates[left[place]] = counts[left[place]] + noise[0] - noise[1]
        left = np.delete(left, place)
    return estimates


def _chosen(mechanism: Choosing, supports: Counts, generator: np.random.Generator) -> int | None:
    """Return the place of the candidate that the mechanism chooses, None for abstaining."""
    values, many = np.unique(supports[supports > 0], return_counts=True)
    if not len(values):
        return None
    spectrum = SupportSpectrum([*zip(values[::-1].tolist(), many[::-1].tolist(), strict=True)])
    found = mechanism.distribution(spectrum)
    chances = np.append(found.probabilities, found.abstain)
    level = generator.choice(len(chances), p=chances / chances.sum())
    if level == len(found.levels):
        return None
    return int(generator.choice(np.flatnonzero(supports == found.levels[level])))


def points_right(way: str, shape: str, n: int, alpha: float, runs: int, seed: int) -> float:
    """Return the share of runs in which no point's estimate errs by more than alpha n, at epsilon
    1, delta 1e-6.
    """
    counts = POINTS[shape](n)
    generator = np.random.default_rng(seed)
    right = 0
    baskets = (
        [[item] for item, count in enumerate(counts.tolist()) for _ in range(count)]
        if way == "mine"
        else []
    )
    for run in range(runs):
        if way == "mine":
            estimates = np.zeros_like(counts)
            top = round(2 / alpha)
            asked: Any = {
                "size": 1,
                "top": top,
                "supports": True,
                "max_basket": 1,
                "neighbors": NEIGHBORS,
            }
            release = fim.mine(baskets, **asked, epsilon=1.0, delta=1e-6, seed=seed + run)
            for itemset in release.itemsets:
                [item] = itemset.items or (0,)
                estimates[int(item)] = itemset.support or 0
        else:
            estimates = san_points(counts, alpha, 1.0, 1e-6, generator)
        right += bool(np.abs(estimates - counts).max() <= alpha * n)
    return right / runs


def san_points_promised(alpha: float, epsilon: float, delta: float, beta: float) -> int:
    """Return the n that Choosing's lemma (4.4 of the paper) asks for in each round of SanPoints."""
    each = epsilon / math.sqrt(32 * math.log(5 / delta) / alpha)
    return _choosing_promised(1, alpha / 2, alpha * beta / 4, each, alpha * delta / 5)


def _choosing_promised(growth: int, alpha: float, beta: float, epsilon: float, delta: float) -> int:
    return math.ceil(
        16 / (alpha * epsilon) * math.log(16 * growth / (alpha * beta * epsilon * delta))
    )


def lognormal(n: int, seed: int) -> Counts:
    """Return how many of n lognormal values are at each point of the domain."""
    generator = np.random.default_rng(seed)
    values = np.minimum(np.exp(generator.normal(8, 1.5, min(n, 100_000))), (1 << BITS) - 1).astype(
        np.int64
    )
    counts = np.bincount(values, minlength=1 << BITS)
    exact = counts * n // counts.sum()
    exact[np.argmax(counts)] += n - exact.sum()
    return np.asarray(exact, dtype=np.int64)


def few_points(n: int, seed: int) -> Counts:
    """Return n values at twelve points, evenly."""
    counts = np.zeros(1 << BITS, dtype=np.int64)
    places = np.random.default_rng(seed).choice(1 << BITS, 12, replace=False)
    counts[places] = n // 12
    counts[places[0]] += n - counts.sum()
    return counts


THRESHOLDS: dict[str, Callable[[int, int], Counts]] = {
    "lognormal": lognormal,
    "twelve points": few_points,
}


def _per_call(alpha: float, epsilon: float, delta: float) -> tuple[float, float, int]:
    """Return (epsilon, delta) of each of four steps of a call, and the calls, at most 77/alpha.

    As SanPoints has its parts: by advanced composition, which asks for 8 k ln(5/δ) of k steps.
    """
    calls = round(77 / alpha)
    return epsilon / math.sqrt(8 * 4 * calls * math.log(5 / delta)), delta / (5 * calls), calls


@dataclass
class SanThresholds:
    """A run: the domain is split into intervals with noisy numbers of values, each put at its
    interval's end.
    """

    counts: Counts
    alpha: float
    epsilon: float
    delta: float
    generator: np.random.Generator
    estimates: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.estimates = np.zeros(len(self.counts))
        self.below = np.append(0, np.cumsum(self.counts))
        self.n = int(self.below[-1])
        self.each, self.exception, self.calls = _per_call(self.alpha, self.epsilon, self.delta)

    def run(self) -> NDArray[np.float64]:
        """Return an estimate of how many values are at each point, of which sums alone mean
        something.
        """
        left = [(0, len(self.counts))]
        while left and self.calls:
            start, end = left.pop()
            self.calls -= 1
            if (many := self._noisy(start, end)) < self.alpha * self.n / 8:
                self.estimates[end - 1] += many
                continue
            taken = self._interval(start, end)
            if taken is None:
                continue
            self.estimates[taken[1] - 1] += self._noisy(*taken)
            left += [(a, b) for a, b in ((start, taken[0]), (taken[1], end)) if a < b]
        return self.estimates

    def _noisy(self, start: int, end: int) -> float:
        one, two = self.generator.geometric(-math.expm1(-self.each), 2)
        return float(self.below[end] - self.below[start] + one - two)

    def _interval(self, start: int, end: int) -> tuple[int, int] | None:
        """Choose a length by the exponential mechanism, and an interval of twice that by Choosing,
        as half-open.
        """
        powers = (end - start - 1).bit_length()
        most = [0]  # of the values in an interval of 2^(j - 1) points, for j = 0: none
        for power in range(powers + 1):
            length = min(1 << power, end - start)
            most.append(
                int(
                    (
                        self.below[start + length : end + 1] - self.below[start : end + 1 - length]
                    ).max()
                )
            )
        part = self.alpha * self.n / 32
        steps = np.array([min(most[j + 1] - part, 3 * part - most[j]) for j in range(powers + 1)])
        weights = np.exp(self.each / 2 * (steps - steps.max()))
        power = int(self.generator.choice(powers + 1, p=weights / weights.sum()))
        if power:
            length, growth = 2 << power, 2
            firsts = np.concatenate(
                [np.arange(start + o, end, length) for o in (0, 1 << power) if start + o < end]
            )
        else:
            length, growth, firsts = 1, 1, np.arange(start, end)
        ends = np.minimum(firsts + length, end)
        chosen = _chosen(
            Choosing(self.each, self.exception, growth, NEIGHBORS),
            self.below[ends] - self.below[firsts],
            self.generator,
        )
        return None if chosen is None else (int(firsts[chosen]), int(ends[chosen]))


def thresholds_right(way: str, shape: str, n: int, alpha: float, runs: int, seed: int) -> float:
    """Return the share of runs in which no threshold's estimate errs by more than alpha n, at
    epsilon 1, delta 1e-6.
    """
    counts = THRESHOLDS[shape](n, seed)
    generator, true = np.random.default_rng(seed), np.cumsum(counts)
    values = np.repeat(np.arange(len(counts)), counts) if way == "quantiles" else counts
    right = 0
    for run in range(runs):
        if way == "quantiles":
            # 15 cuts: between two of them is 1/16 of the values, so that 0.0375 n is left for
            # errors
            levels = 4
            options: Any = {"low": 0, "high": 1 << BITS, "epsilon": 1.0, "neighbors": NEIGHBORS}
            cuts = quantiles(values, levels=levels, **options, seed=seed + run)
            estimates = np.bincount(cuts, minlength=len(counts)) * (n / 2**levels)
        else:
            estimates = SanThresholds(counts, alpha, 1.0, 1e-6, generator).run()
        right += bool(np.abs(np.cumsum(estimates) - true).max() <= alpha * n)
    return right / runs


def san_thresholds_promised(alpha: float, epsilon: float, delta: float, beta: float) -> int:
    """Return the n that Choosing's lemma asks for in each call of SanThresholds."""
    each, exception, calls = _per_call(alpha, epsilon, delta)
    return _choosing_promised(2, alpha / 64, beta / (4 * calls), each, exception)


RIGHT = {"points": points_right, "thresholds": thresholds_right}


def enough(
    question: str, way: str, shape: str, start: int, most: int, alpha: float, runs: int, seed: int
) -> Any:
    """Return the least n of a grid, each a quarter more than the one before, of which 95 % of the
    runs are right.

    By bisection; the next n must be right as well, or else the search goes on from there. None
    where not even the last of the grid is enough.
    """
    grid = [start]
    while grid[-1] * 5 // 4 <= most:
        grid.append(grid[-1] * 5 // 4)
    shares: dict[int, float] = {}

    def right(place: int) -> bool:
        n = grid[min(place, len(grid) - 1)]
        if n not in shares:
            shares[n] = RIGHT[question](way, shape, n, alpha, runs, seed)
        return shares[n] >= 0.95

    least, last = None, len(grid) - 1
    if right(last):
        place = least_between(right, -1, last)
        while not (right(place) and right(place + 1)):
            place += 1
        least = grid[min(place, last)]
    return {"n": least, "shares": {str(n): shares[n] for n in sorted(shares)}, "runs": runs}
