"""Two mechanisms that search for the first rank with a large margin, then choose among the itemsets above it.

LargeMargin is that of Chaudhuri, Hsu and Song, "The large margin mechanism for differentially private maximization"
(2014), Algorithm 1, on integer supports with integer noise: (ε, δ)-DP under replace-one (Theorem 2 there;
docs/privacy.md, Theorems 1 to 3 for integer noise and an unknown universe), hence under add-remove as well. The paper's
α is our ε.

TightMargin has a fourteenth of its margin under add-remove, and about a seventh under replace-one. Its rank search has
one-sided geometric noise; then the limited-domain mechanism chooses. What protects is not the margin but the weight of
abstaining, so thresholds matter for utility only. (ε, δ)-DP for both neighbour relations (Theorems 11 and 12).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from typing import ClassVar

import numpy as np

from fim_private import options
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import Neighbors, exact_delta, exact_epsilon, positive_integer
from fim_private.mechanisms.base import ABSTAIN, OutcomeDistribution, Selection
from fim_private.mechanisms.exponential import (
    AbstentionWeight,
    Candidate,
    LimitedDomain,
    choose,
    expected_shares,
    exponential_rate,
    levels_with_zeros,
    named,
    top,
)
from fim_private.mechanisms.rank_search import (
    OneSidedSteps,
    RankSearching,
    Search,
    Threshold,
    TwoSidedSteps,
    countable,
)
from fim_private.spectrum import SupportSpectrum

# The paper's noise scales times ε: Z on the maximum, G shared by the search, Z_ℓ of each step (Algorithm 1).
MAXIMUM_SCALE, SHARED_SCALE, STEP_SCALE = 3, 6, 12
# Times ε, the rate of the last stage: weights exp(εc/6), an (ε/3)-DP exponential mechanism under replace-one.
SELECTION_RATE = Fraction(1, 6)
# The noise of step ℓ uses up its share of the threshold with probability 1 / (this (ℓ + 1)). So a near tie loses
# little to a search that stops early (docs/privacy.md, "Stopping early"): 0.0031 at most at ε = 1; with 10 it was 0.13.
_PATIENCE = 1000


@dataclass(frozen=True)
class LargeMargin(RankSearching):
    """The large margin mechanism.

    The constants are the same for both relations of neighbours.
    max_rank: the public cap k̄ >= 1 on the rank search over an unknown universe; it costs no privacy. A known universe
        (spectrum.universe_size) is searched to its end instead, and the mechanism never abstains there.
    """

    epsilon: float | Fraction = 1.0
    delta: float | Fraction = 1e-6
    neighbors: str = Neighbors.ADD_REMOVE
    max_rank: int = options.MAX_RANK

    @staticmethod
    def thresholds(epsilon: float, delta: float, rank: int) -> float:
        """Return the paper's margin T(ℓ) in units, for continuous noise and a rank ℓ >= 1 of any size.

        T(ℓ) = (3/ε) ln(3/(2δ)) + (6/ε) ln(3/δ) + (12/ε) ln(3ℓ(ℓ+1)/δ) + t(ℓ), with t(ℓ) = 6 (1 + ln(3ℓ/δ)/ε): lines 1
        and 2 of Algorithm 1, times n (docs/privacy.md, equation (3)). Raises ParameterError for what is out of range.

        >>> round(LargeMargin.thresholds(1.0, 1e-6, 1), 4)
        414.9196
        """
        return _paper_margin(float(exact_epsilon(epsilon)), float(exact_delta(delta)), positive_integer("rank", rank))

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Search for a rank, then choose (Algorithm 1); reads the levels down to that rank and one further."""
        rank = self.search(spectrum).draw(randomness)
        if rank is None:
            if spectrum.universe_size is None:
                return ABSTAIN
            rank = spectrum.universe_size
        return choose(self.candidates(spectrum, rank), exact_epsilon(self.epsilon) * SELECTION_RATE, randomness)

    def candidates(self, spectrum: SupportSpectrum, rank: int) -> list[Candidate]:
        """Return the top `rank` itemsets; those that have no name are one candidate, abstaining (Theorem 3)."""
        levels, _ = top(spectrum, rank)
        if spectrum.universe_size is not None:
            return named(levels)
        # Zeros in the top ℓ have no name.
        return [*named(levels), Candidate(None, 0, rank - sum(multiplicity for _, multiplicity in levels))]

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """As Mechanism.distribution, reading all levels; ranks beyond 16,384 are grouped (`rank_search.Search`).

        Raises ParameterError for an epsilon so small that the values of the noise do not fit in memory.
        """
        spectrum = countable(spectrum)
        ranks, stops, rest = self.search(spectrum).distribution()
        known = spectrum.universe_size
        if known is not None:
            ranks, stops = np.append(ranks, float(known)), np.append(stops, rest)
        levels, multiplicities = levels_with_zeros(spectrum)
        rate = float(exact_epsilon(self.epsilon) * SELECTION_RATE)
        shares, _ = expected_shares(levels, multiplicities, ranks, stops, rate)
        if known is not None:
            return OutcomeDistribution(levels, shares, 0.0)
        return OutcomeDistribution(levels[:-1], shares[:-1], float(shares[-1]) + rest)

    def search(self, spectrum: SupportSpectrum) -> Search:
        """Return the rank search of a spectrum."""
        known = spectrum.universe_size
        # A known universe needs no margin at its last rank: the top K is the universe itself.
        last_rank = self.max_rank if known is None else known - 1
        return Search(spectrum, self._threshold, last_rank, TwoSidedSteps(*self.scales))

    @property
    def scales(self) -> tuple[Fraction, Fraction, Fraction]:
        """The noise scales, in units: 3/ε of Z on the maximum, 6/ε of G that the steps share, 12/ε of each Z_ℓ."""
        epsilon = exact_epsilon(self.epsilon)
        return MAXIMUM_SCALE / epsilon, SHARED_SCALE / epsilon, STEP_SCALE / epsilon

    def integer_threshold(self, rank: int) -> int:
        """Return T̂(ℓ), the margin in units that rank ℓ >= 1 must exceed but for noise (docs/privacy.md, equation (4)).

        It is T(ℓ) plus what integer noise adds to the tails, rounded up.
        """
        return self._threshold(rank)

    @property
    def _threshold(self) -> Threshold:
        return _remembered(_integer_threshold, self.epsilon, self.delta)


def _paper_margin(epsilon: float, delta: float, rank: int) -> float:
    logarithm = math.log(rank)
    tail = 3 * math.log(3 / (2 * delta)) + 6 * math.log(3 / delta)
    step = 12 * (math.log(3 / delta) + logarithm + math.log(rank + 1))
    certified = 6 * (epsilon + math.log(3 / delta) + logarithm)  # ε t(ℓ)
    return (tail + step + certified) / epsilon


def _integer_threshold(epsilon: float | Fraction, delta: float | Fraction, rank: int) -> int:
    """Return ⌈T(ℓ) + correction⌉; where doubles cannot tell on which side of an integer that is, 120 digits do."""
    e, d, correction = _budget(epsilon, delta)
    value = _paper_margin(float(e), float(d), rank) + correction
    if abs(value - round(value)) > 1e-13 * value:  # some 40 operations, each good to 1.2e-16
        return math.ceil(value)
    return _precise_threshold(e, d, rank)


# A float and the Fraction equal to it mean different epsilons, so the caches are typed.
@lru_cache(maxsize=16, typed=True)
def _budget(epsilon: float | Fraction, delta: float | Fraction) -> tuple[Fraction, Fraction, float]:
    """Return epsilon, delta, and what integer noise adds to T: b ln(2/(1 + e^{-1/b})) for each scale b."""
    e, d = exact_epsilon(epsilon), exact_delta(delta)
    scales = (MAXIMUM_SCALE, SHARED_SCALE, STEP_SCALE)
    return e, d, sum(b / float(e) * -math.log1p(math.expm1(-float(e) / b) / 2) for b in scales)


# It remembers: a search asks for some 10,000 ranks, again for each itemset wanted.
@lru_cache(maxsize=16, typed=True)
def _remembered(
    threshold: Callable[[float | Fraction, float | Fraction, int], int],
    epsilon: float | Fraction,
    delta: float | Fraction,
) -> Threshold:
    return lru_cache(maxsize=1 << 14)(partial(threshold, epsilon, delta))


def _precise_threshold(epsilon: Fraction, delta: Fraction, rank: int) -> int:
    """Return ⌈T(ℓ) + correction⌉ by decimals of 120 digits: of a longer rank the logarithm takes no more."""

    def decimal(x: Fraction) -> Decimal:
        return Decimal(x.numerator) / Decimal(x.denominator)

    with localcontext(Context(prec=120, Emin=-999_999, Emax=999_999)):
        total = 6 + decimal(6 / epsilon) * decimal(3 * rank / delta).ln()
        for scale, odds in (
            (MAXIMUM_SCALE, 3 / (2 * delta)),
            (SHARED_SCALE, 3 / delta),
            (STEP_SCALE, 3 * rank * (rank + 1) / delta),
        ):
            b = decimal(scale / epsilon)
            total += b * (decimal(odds).ln() + (2 / (1 + (-1 / b).exp())).ln())
        return int(total.to_integral_value(rounding=ROUND_CEILING))


@dataclass(frozen=True)
class TightMargin(RankSearching):
    """The tight margin mechanism.

    max_rank: the public rank cap k̄ >= 1, at which the search ends; it costs nothing where the search ends before.
    Over a known universe of no more candidates than the rank found, it ends with the exponential mechanism.
    """

    epsilon: float | Fraction = 1.0
    delta: float | Fraction = 1e-6
    neighbors: str = Neighbors.ADD_REMOVE
    max_rank: int = options.MAX_RANK

    # The shares of epsilon for the noise that all steps share and for that of each step; the rest is for the choice
    # (docs/privacy.md, "The split").
    shared_share: ClassVar[Fraction] = Fraction(4, 100)
    step_share: ClassVar[Fraction] = Fraction(8, 100)

    @property
    def noise(self) -> OneSidedSteps:
        """The noise of the search, whose rank is a private output with the two shares of epsilon (Theorem 11)."""
        rate = exponential_rate(self.epsilon, self.neighbors)
        return OneSidedSteps(rate * self.shared_share, rate * self.step_share)

    @property
    def selection_epsilon(self) -> Fraction:
        """What is left of epsilon for the choice among the top ℓ (Theorem 12)."""
        return exact_epsilon(self.epsilon) * (1 - self.shared_share - self.step_share)

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
        return _tight_threshold(choice, float(self.noise.step_rate), math.log(float(exact_delta(self.delta))))

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
def _tight_threshold(choice: float, step: float, tail: float) -> Threshold:
    @lru_cache(maxsize=1 << 14)
    def threshold(rank: int) -> int:
        return 1 + math.ceil((math.log(rank) - tail) / choice + (math.log(_PATIENCE) + math.log(rank + 1)) / step)

    return threshold
