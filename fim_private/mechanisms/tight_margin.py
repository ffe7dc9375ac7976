"""The tight margin mechanism: the idea of Chaudhuri, Hsu and Song, "The large margin mechanism for differentially
private maximization" (2014), with a fourteenth of its margin under add-remove, and about a seventh under replace-one.

A rank search with one-sided geometric noise looks for the first rank ℓ with a margin over rank ℓ + 1; then the
limited-domain mechanism chooses among the top ℓ. What protects is not the margin but the weight of abstaining, so
thresholds matter for utility only. (ε, δ)-DP for both neighbour relations (docs/privacy.md, Theorems 11 and 12).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np

from fim_private import options
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import Neighbors, exact_delta, exact_epsilon
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.base import OutcomeDistribution, Selection
from fim_private.mechanisms.exponential import (
    AbstentionWeight,
    LimitedDomain,
    expected_shares,
    exponential_rate,
    levels_with_zeros,
)
from fim_private.mechanisms.rank_search import OneSidedSteps, RankSearching, Search, Threshold, countable
from fim_private.spectrum import SupportSpectrum

# The shares of epsilon for the noise that all steps share and for that of each step; the rest is for the choice
# (docs/privacy.md, "The split").
SHARED_SHARE = Fraction(4, 100)
STEP_SHARE = Fraction(8, 100)
# The noise of step ℓ uses up its share of the threshold with probability 1 / (this (ℓ + 1)). So a near tie loses
# little to a search that stops early (docs/privacy.md, "Stopping early"): 0.0031 at most at ε = 1; with 10 it was 0.13.
_PATIENCE = 1000


@dataclass(frozen=True)
class TightMargin(RankSearching):
    """The tight margin mechanism.

    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1. neighbors: "replace-one" or "add-remove".
    max_rank: the public rank cap k̄ >= 1, at which the search ends; it costs nothing where the search ends before.
    shared_share, step_share: the shares of epsilon for the search's two noises, above 0 and together below 1.
    Over a known universe of no more candidates than the rank found, it ends with the exponential mechanism.
    Raises ParameterError for a parameter outside its range.
    """

    epsilon: float | Fraction = 1.0
    delta: float | Fraction = 1e-6
    neighbors: str = Neighbors.ADD_REMOVE
    max_rank: int = options.MAX_RANK
    shared_share: Fraction = SHARED_SHARE
    step_share: Fraction = STEP_SHARE

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.shared_share > 0 and self.step_share > 0 and self.shared_share + self.step_share < 1):
            raise ParameterError(
                f"{parameter('shared_share')} and {parameter('step_share')} must be above 0 and together below 1"
            )

    @property
    def noise(self) -> OneSidedSteps:
        """The noise of the search, whose rank is a private output with the two shares of epsilon (Theorem 11)."""
        rate = exponential_rate(self.epsilon, self.neighbors)
        return OneSidedSteps(rate * Fraction(self.shared_share), rate * Fraction(self.step_share))

    @property
    def selection_epsilon(self) -> Fraction:
        """What is left of epsilon for the choice among the top ℓ (Theorem 12)."""
        return exact_epsilon(self.epsilon) * (1 - Fraction(self.shared_share) - Fraction(self.step_share))

    def choice(self, rank: int) -> LimitedDomain:
        """Return the mechanism that chooses among the top `rank` itemsets, rank >= 1."""
        return LimitedDomain(self.selection_epsilon, self.delta, self.neighbors, rank)

    @property
    def threshold(self) -> Threshold:
        """τ(ℓ) in units, by rank ℓ >= 1: about the margin with which abstaining at ℓ loses against the leader.

        1 + ⌈ln(ℓ/δ)/s + ln(1000 (ℓ + 1))/q⌉, with s and q the rates of the choice and of a step (docs/privacy.md,
        equation (8)). In floating point, as only utility depends on it.
        """
        choice = float(exponential_rate(self.selection_epsilon, self.neighbors))
        return _remembered(choice, float(self.noise.step_rate), math.log(float(exact_delta(self.delta))))

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Search for a rank, then choose; reads the levels down to that rank and one further."""
        rank = self.search(spectrum).draw(randomness)
        return self.choice(self.last_rank(spectrum) if rank is None else rank).select(spectrum, randomness)

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """As Mechanism.distribution, reading all levels; ranks beyond 16,384 are grouped (`rank_search.Search`).

        Raises ParameterError for an epsilon so small that the values of the noise do not fit in memory.
        """
        spectrum = countable(spectrum)
        ranks, stops, rest = self.search(spectrum).distribution()
        last, known = self.last_rank(spectrum), spectrum.universe_size is not None
        exact = [*ranks.tolist(), last]
        ranks, stops = np.append(ranks, float(last)), np.append(stops, rest)
        levels, multiplicities = levels_with_zeros(spectrum)
        rate = float(exponential_rate(self.selection_epsilon, self.neighbors))
        bottom = AbstentionWeight(self.selection_epsilon, self.delta, self.neighbors)
        # Abstaining weighs B(ℓ) itemsets of support c(ℓ+1) + offset.
        # In integers: as doubles 10^18 + 11 itemsets are 10^18, and the support below the top 10^18 would be another.
        ends = list(accumulate(multiplicity for _, multiplicity in spectrum.levels()))
        following = levels[[bisect_right(ends, rank) for rank in exact]]
        more = 0.0 if known else np.where(following, 0.0, ranks)
        # In integers, as in the draw: as doubles 11 / 0.44 is above 25. The middle of a group may be a half.
        twice = bottom.factor / 2
        weights = [-(-int(2 * rank) * twice.numerator // twice.denominator) for rank in ranks.tolist()]
        bottoms = (np.array(weights, dtype=np.float64) + more) * np.exp(rate * (following + bottom.offset - levels[0]))
        if known:
            bottoms = np.where(ranks >= float(spectrum.universe_size or 0), 0.0, bottoms)
        shares, abstain = expected_shares(
            levels, multiplicities, ranks, stops, rate, bottoms=bottoms, zeros_weigh=known
        )
        if known:
            return OutcomeDistribution(levels, shares, abstain)
        return OutcomeDistribution(levels[:-1], shares[:-1], abstain)

    def last_rank(self, spectrum: SupportSpectrum) -> int:
        """Return the rank at which the search ends whatever the margin: max_rank, or the size of a smaller universe."""
        known = spectrum.universe_size
        return self.max_rank if known is None else min(self.max_rank, known)

    def search(self, spectrum: SupportSpectrum) -> Search:
        """Return the rank search of a spectrum; at the last rank it ends whatever its margin."""
        return Search(spectrum, self.threshold, self.last_rank(spectrum) - 1, self.noise)


# It remembers: a search asks for those of 10,000 ranks and more, again for each itemset wanted.
@lru_cache(maxsize=16)
def _remembered(choice: float, step: float, tail: float) -> Threshold:
    @lru_cache(maxsize=1 << 14)
    def threshold(rank: int) -> int:
        return 1 + math.ceil((math.log(rank) - tail) / choice + (math.log(_PATIENCE) + math.log(rank + 1)) / step)

    return threshold
