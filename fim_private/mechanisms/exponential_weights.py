"""Exponential weights: P(outcome) ∝ multiplicity * exp(rate * support), the step that most mechanisms end with.

Abstaining is a candidate like any other (`abstention.py`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.parameters import Neighbors, exact_epsilon, exact_neighbors
from fim_private.dp.randomness import Randomness
from fim_private.dp.weighted_choice import choose_level
from fim_private.mechanisms.base import OutcomeDistribution, Selection
from fim_private.spectrum import Level, SupportSpectrum


@dataclass(frozen=True)
class Candidate:
    """Outcomes that are equally likely. level: what is reported, None for abstaining.

    support: what weighs each of them. multiplicity: how many there are.
    """

    level: int | None
    support: int
    multiplicity: int


def exponential_rate(epsilon: float | Fraction, neighbors: str) -> Fraction:
    """Return the exponent per unit of support: supports are monotone under add/remove only (Theorem 4)."""
    exact = exact_epsilon(epsilon)
    return exact if exact_neighbors(neighbors) is Neighbors.ADD_REMOVE else exact / 2


def top(spectrum: SupportSpectrum, rank: int) -> tuple[list[Level], int]:
    """Return the levels of the top rank itemsets and the support of the next one, reading no further.

    Over a known universe the last level may be 0. Over an unknown one zeros have no names, and are left out.
    """
    levels: list[Level] = []
    left = rank
    for support, multiplicity in spectrum.levels():
        if not left:
            return levels, support
        levels.append((support, min(multiplicity, left)))
        if multiplicity > left:
            return levels, support
        left -= multiplicity
    if left and spectrum.universe_size is not None and (zeros := spectrum.zero_multiplicity()):
        levels.append((0, min(zeros, left)))
    return levels, 0


def named(levels: Iterable[Level]) -> list[Candidate]:
    """Return one candidate a level, weighed by its support."""
    return [Candidate(support, support, multiplicity) for support, multiplicity in levels]


def choose(candidates: list[Candidate], rate: Fraction, randomness: Randomness) -> Selection:
    """Choose an outcome, exactly."""
    distances, multiplicities = _weights(candidates)
    return Selection(candidates[choose_level(distances, multiplicities, rate, randomness=randomness)].level)


def choose_many(
    candidates: list[Candidate], rate: Fraction, count: int, randomness: Randomness, *, last: int | None = None
) -> list[Selection]:
    """Choose again and again without replacement, until count are chosen, none is left, or the level `last` is chosen.

    It is one pass of Gumbel noise over all candidates, read in descending order.
    """
    chosen: list[Selection] = []
    left = [candidate for candidate in candidates if candidate.multiplicity]
    while len(chosen) < count and left:
        distances, multiplicities = _weights(left)
        place = choose_level(distances, multiplicities, rate, randomness=randomness)
        picked = left[place]
        chosen.append(Selection(picked.level))
        if picked.level == last:
            break
        fewer = replace(picked, multiplicity=picked.multiplicity - 1)
        left[place : place + 1] = [fewer] if fewer.multiplicity else []
    return chosen


class ExponentialWeights(ABC):
    """A mechanism that is one choice by weight; what differs is who the candidates are."""

    epsilon: float | Fraction
    neighbors: str

    @property
    def rate(self) -> Fraction:
        """The exponent per unit of support."""
        return exponential_rate(self.epsilon, self.neighbors)

    @abstractmethod
    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every candidate, abstaining included, as whole numbers."""

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose one of the candidates with probability ∝ multiplicity * exp(rate * support), exactly."""
        return choose(self.candidates(spectrum), self.rate, randomness)

    def select_many(self, spectrum: SupportSpectrum, count: int, randomness: Randomness) -> list[Selection]:
        """Choose up to count different itemsets, each as select does among those left; ends at the first abstention."""
        return choose_many(self.candidates(spectrum), self.rate, count, randomness)

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the exact probability of every candidate level and of abstaining."""
        return softmax(self.candidates(spectrum), self.rate)


def _weights(candidates: list[Candidate]) -> tuple[list[int], list[int]]:
    highest = max(candidate.support for candidate in candidates)  # weights are relative to it: nothing overflows
    return [highest - candidate.support for candidate in candidates], [c.multiplicity for c in candidates]


def softmax(candidates: list[Candidate], rate: Fraction) -> OutcomeDistribution:
    """Return the exact distribution of choose."""
    distances, multiplicities = _weights(candidates)
    # The logarithm of a multiplicity, not the multiplicity, is a double: it may be 10**60 or 10**600.
    logarithm = [math.log(m) if m else -math.inf for m in multiplicities]
    exponents = np.array(logarithm) - float(rate) * np.array(distances, dtype=np.float64)
    weights = np.exp(exponents - exponents.max())
    shares = weights / weights.sum()
    named = np.array([candidate.level is not None for candidate in candidates])
    levels = np.array([candidate.level for candidate in candidates if candidate.level is not None], dtype=np.int64)
    return OutcomeDistribution(levels, shares[named], float(shares[~named].sum()))


def expected_shares(
    levels: NDArray[np.int64],
    multiplicities: NDArray[np.float64],
    ranks: NDArray[np.float64],
    stops: NDArray[np.float64],
    rate: float,
    *,
    bottoms: NDArray[np.float64] | float = 0.0,
    zeros_weigh: bool = True,
) -> tuple[NDArray[np.float64], float]:
    """Return the probability of each level, and of abstaining, when the top ℓ are weighed by exp(rate * support).

    levels, multiplicities: (m,), descending; the last multiplicity may be infinite. ranks, stops: (n,) the ranks ℓ and
    their probabilities. bottoms: (n,) the weight of abstaining at each ℓ, relative to that of the first level.
    zeros_weigh: whether level 0 has any weight.

    With W(ℓ) the weight of the top ℓ, a level with m itemsets wholly inside has share m w / W(ℓ), and the
    level that rank ℓ ends in has the rest.
    """
    weights = np.exp(-rate * (levels[0] - levels))
    if not zeros_weigh:
        weights = np.where(levels, weights, 0.0)
    counts = np.concatenate([[0.0], np.cumsum(multiplicities)])  # the last may be infinite
    masses = np.concatenate([[0.0], np.cumsum(multiplicities[:-1] * weights[:-1])])
    # The level that rank ℓ ends in: all before it are wholly inside, and it with the rest, ℓ minus their number.
    last = np.minimum(np.searchsorted(counts[1:], ranks, side="left"), len(levels) - 1)
    partial = np.minimum(ranks - counts[last], multiplicities[last]) * weights[last]
    per_weight = stops / (masses[last] + partial + bottoms)
    shares = np.bincount(last, weights=partial * per_weight, minlength=len(levels))
    ending = np.bincount(last, weights=per_weight, minlength=len(levels))
    beyond = np.concatenate([np.cumsum(ending[::-1])[::-1][1:], [0.0]])  # ranks that end in a later level
    finite = np.where(np.isfinite(multiplicities), multiplicities, 0.0)
    return np.asarray(shares + beyond * finite * weights), float((per_weight * bottoms).sum())
