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
    """Outcomes that are equally likely.

    level: what is reported, None for abstaining. support: in units, from which each gets its weight. multiplicity: how
    many outcomes there are, >= 0, of any size.
    """

    level: int | None
    support: int
    multiplicity: int


def exponential_rate(epsilon: float | Fraction, neighbors: str) -> Fraction:
    """Return the exponent per unit of support: ε under add-remove, where supports are monotone, else ε/2 (Theorem 4).

    Raises ParameterError for an epsilon or a relation out of range.
    """
    exact = exact_epsilon(epsilon)
    return exact if exact_neighbors(neighbors) is Neighbors.ADD_REMOVE else exact / 2


def top(spectrum: SupportSpectrum, rank: int) -> tuple[list[Level], int]:
    """Return the levels of the `rank` itemsets of highest support, and the support of the next one, reading no further.

    rank: >= 0. The next support is 0 where there is no further itemset. Over a known universe the last level may be 0;
    over an unknown one, itemsets of support 0 have no names, and are left out.
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
    """Return one candidate for each level, weighted by its support."""
    return [Candidate(support, support, multiplicity) for support, multiplicity in levels]


def choose(candidates: list[Candidate], rate: Fraction, randomness: Randomness) -> Selection:
    """Choose one outcome by weight, exactly. rate: > 0, per unit of support."""
    distances, multiplicities = _weights(candidates)
    return Selection(candidates[choose_level(distances, multiplicities, rate, randomness=randomness)].level)


def choose_many(
    candidates: list[Candidate], rate: Fraction, count: int, randomness: Randomness, *, last: int | None = None
) -> list[Selection]:
    """Choose by weight, without replacement, until `count` are chosen, none is left, or the level `last` is chosen.

    rate: > 0, per unit of support. `last` itself is in the list. The sequence has the same distribution as the
    candidates in descending order of rate * support plus Gumbel noise, drawn once for each.
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
    """A mechanism that is one choice by weight. Its subclasses differ in which candidates they have."""

    epsilon: float | Fraction
    neighbors: str

    @property
    def rate(self) -> Fraction:
        """The exponent per unit of support."""
        return exponential_rate(self.epsilon, self.neighbors)

    @abstractmethod
    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every candidate, abstaining included. Weights are exact: supports and multiplicities are integers."""

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose one candidate with probability ∝ multiplicity * exp(rate * support), exactly."""
        return choose(self.candidates(spectrum), self.rate, randomness)

    def select_many(self, spectrum: SupportSpectrum, count: int, randomness: Randomness) -> list[Selection]:
        """Choose up to `count` different itemsets, each as select does among those left; ends once it abstains.

        The abstention, level None, then comes last in the list.
        """
        return choose_many(self.candidates(spectrum), self.rate, count, randomness)

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the probability of every candidate level and of abstaining, exact up to floating point."""
        return softmax(self.candidates(spectrum), self.rate)


def _weights(candidates: list[Candidate]) -> tuple[list[int], list[int]]:
    """Return how far each candidate lies below the highest support, and the multiplicities."""
    highest = max(candidate.support for candidate in candidates)  # weights relative to it cannot overflow
    return [highest - candidate.support for candidate in candidates], [c.multiplicity for c in candidates]


def softmax(candidates: list[Candidate], rate: Fraction) -> OutcomeDistribution:
    """Return the distribution of choose, exact up to floating point."""
    distances, multiplicities = _weights(candidates)
    # Logarithms, as a multiplicity of 10**600 is no double.
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
    """Return the probability of each level, and of abstaining, when one of the top ℓ is chosen, for a random rank ℓ.

    Among the top ℓ each itemset has the weight exp(rate * support).

    levels: (m,) int64 supports, descending. multiplicities: (m,) float64; the last may be infinite.
    ranks, stops: (n,) float64, the ranks ℓ and their probabilities. rate: > 0, per unit of support.
    bottoms: (n,) float64, or one number for all: the weight of abstaining at each ℓ, relative to that of one itemset of
    the first level. zeros_weigh: whether level 0 has any weight.
    Returns (m,) float64 probabilities, and that of abstaining.

    With W(ℓ) the weight of the top ℓ and of abstaining, a level of m itemsets wholly inside has the share m w / W(ℓ),
    and the level in which rank ℓ falls has that of its itemsets inside.
    """
    weights = np.exp(-rate * (levels[0] - levels))
    if not zeros_weigh:
        weights = np.where(levels, weights, 0.0)
    counts = np.concatenate([[0.0], np.cumsum(multiplicities)])
    masses = np.concatenate([[0.0], np.cumsum(multiplicities[:-1] * weights[:-1])])
    # The level in which rank ℓ falls: all before it are wholly inside, and it with what is left of ℓ.
    last = np.minimum(np.searchsorted(counts[1:], ranks, side="left"), len(levels) - 1)
    partial = np.minimum(ranks - counts[last], multiplicities[last]) * weights[last]
    per_weight = stops / (masses[last] + partial + bottoms)
    shares = np.bincount(last, weights=partial * per_weight, minlength=len(levels))
    ending = np.bincount(last, weights=per_weight, minlength=len(levels))
    beyond = np.concatenate([np.cumsum(ending[::-1])[::-1][1:], [0.0]])  # ranks that fall in a later level
    finite = np.where(np.isfinite(multiplicities), multiplicities, 0.0)
    return np.asarray(shares + beyond * finite * weights), float((per_weight * bottoms).sum())
