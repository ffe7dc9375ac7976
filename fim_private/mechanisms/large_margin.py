"""The large margin mechanism: Chaudhuri, Hsu and Song, "The large margin mechanism for differentially private
maximization" (2014), Algorithm 1, on integer supports with integer noise.

(ε, δ)-DP under replace-one (Theorem 2 there; docs/privacy.md, Theorems 1 to 3 for integer noise and an unknown
universe), hence under add-remove as well. The paper's α is our ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from fim_private import options
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import Neighbors, exact_delta, exact_epsilon, positive_integer
from fim_private.mechanisms.base import ABSTAIN, OutcomeDistribution, Selection
from fim_private.mechanisms.exponential import Candidate, choose, expected_shares, levels_with_zeros, named, top
from fim_private.mechanisms.rank_search import RankSearching, Search, Threshold, TwoSidedSteps, countable
from fim_private.spectrum import SupportSpectrum

# The paper's noise scales times ε: Z on the maximum, G shared by the search, Z_ℓ of each step (Algorithm 1).
MAXIMUM_SCALE, SHARED_SCALE, STEP_SCALE = 3, 6, 12
# Times ε, the rate of the last stage: weights exp(εc/6), an (ε/3)-DP exponential mechanism under replace-one.
SELECTION_RATE = Fraction(1, 6)


@dataclass(frozen=True)
class LargeMargin(RankSearching):
    """The large margin mechanism.

    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1. neighbors: "replace-one" or "add-remove"; the constants are the
        same for both.
    max_rank: the public cap k̄ >= 1 on the rank search over an unknown universe; it costs no privacy. A known universe
        (spectrum.universe_size) is searched to its end instead, and the mechanism never abstains there.
    Raises ParameterError for a parameter outside its range.
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
    context = Context(prec=120, Emin=-999_999, Emax=999_999)

    def log(x: Fraction) -> Decimal:
        return context.ln(context.divide(Decimal(x.numerator), Decimal(x.denominator)))

    def times(x: Decimal, factor: Fraction | int) -> Decimal:
        ratio = Fraction(factor)
        return context.divide(context.multiply(x, Decimal(ratio.numerator)), Decimal(ratio.denominator))

    terms = [
        times(log(3 / (2 * delta)), MAXIMUM_SCALE / epsilon),
        times(log(3 / delta), SHARED_SCALE / epsilon),
        times(log(3 * rank * (rank + 1) / delta), STEP_SCALE / epsilon),
        Decimal(6),
        times(log(3 * rank / delta), 6 / epsilon),
    ]
    for scale in (MAXIMUM_SCALE / epsilon, SHARED_SCALE / epsilon, STEP_SCALE / epsilon):
        decay = context.exp(times(Decimal(-1), 1 / scale))
        terms.append(times(context.ln(context.divide(Decimal(2), context.add(Decimal(1), decay))), scale))
    total = Decimal(0)
    for term in terms:
        total = context.add(total, term)
    return int(total.to_integral_value(rounding=ROUND_CEILING))
