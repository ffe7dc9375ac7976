"""Selection by exponential weights: the exponential mechanism, choosing, limited-domain, and
abstaining.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fim_private import options
from fim_private.dp.bounds import exp_bounds
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.noise import Randomness, choose_level
from fim_private.dp.parameters import exact_delta, exact_epsilon
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.base import (
    Checked,
    OutcomeDistribution,
    PublicParameters,
    PurelyPrivate,
    Selection,
    universe_levels,
)
from fim_private.spectrum import Level, SupportSpectrum

# More candidates than selections: their number adds but its logarithm to the margin needed over the
# support next below them, which falls far more quickly in purchase data.
_RANKS_PER_SELECTION = 10


@dataclass(frozen=True)
class Candidate:
    """Equally likely outcomes (a number >= 0) of a support, in units, by their weight; level: None
    for abstaining.
    """

    level: int | None
    support: int
    multiplicity: int


def exponential_rate(epsilon: float | Fraction, neighbors: str) -> Fraction:
    """Return the exponent per unit of support: ε under add-remove, where supports are monotone;
    else ε/2.
    """
    exact = exact_epsilon(epsilon)
    return exact if exact_neighbors(neighbors) is Neighbors.ADD_REMOVE else exact / 2


def top(spectrum: SupportSpectrum, rank: int) -> tuple[list[Level], int]:
    """Return the levels of the `rank` >= 0 itemsets of highest support, and the next support or 0;
    reads no further.

    Itemsets of support 0 are left out where the universe is unknown.
    """
    levels: list[Level] = []
    left = rank
    for support, multiplicity in spectrum.levels():
        if left:
            levels.append((support, min(multiplicity, left)))
        if multiplicity > left:
            return levels, support
        left -= multiplicity
    if left and spectrum.universe_size is not None and (zeros := spectrum.zero_multiplicity()):
        levels.append((0, min(zeros, left)))
    return levels, 0


def named(levels: Iterable[Level]) -> list[Candidate]:
    """Return one candidate for each level."""
    return [Candidate(support, support, multiplicity) for support, multiplicity in levels]


def choose(candidates: list[Candidate], rate: Fraction, randomness: Randomness) -> Selection:
    """Choose one outcome by weight, exactly. rate: > 0, per unit of support."""
    distances, multiplicities = _weights(candidates)
    return Selection(
        candidates[choose_level(distances, multiplicities, rate, randomness=randomness)].level
    )


class ExponentialWeights(Checked, ABC):
    """A mechanism that is one choice among its candidates: P(outcome) ∝ multiplicity * exp(rate *
    support).
    """

    _last: ClassVar[int | None] = None  # several selections end with this level

    @property
    def rate(self) -> Fraction:
        """The exponent per unit of support."""
        return exponential_rate(self.epsilon, self.neighbors)

    @abstractmethod
    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every candidate, abstaining included. Weights are exact: supports and
        multiplicities are integers.
        """

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose one candidate with probability ∝ multiplicity * exp(rate * support), exactly."""
        return choose(self.candidates(spectrum), self.rate, randomness)

    def select_many(
        self, spectrum: SupportSpectrum, count: int, randomness: Randomness
    ) -> list[Selection]:
        """Choose up to `count` different itemsets, each as select does among those left; an
        abstention comes last.
        """
        chosen: list[Selection] = []
        left = [candidate for candidate in self.candidates(spectrum) if candidate.multiplicity]
        while len(chosen) < count and left:
            distances, multiplicities = _weights(left)
            place = choose_level(distances, multiplicities, self.rate, randomness=randomness)
            one = left[place]
            chosen.append(Selection(one.level))
            if one.level == self._last:
                break
            left[place : place + 1] = (
                [replace(one, multiplicity=one.multiplicity - 1)] if one.multiplicity > 1 else []
            )
        return chosen

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the probability of every candidate level and of abstaining, exact up to floating
        point.
        """
        candidates = self.candidates(spectrum)
        distances, multiplicities = _weights(candidates)
        # a multiplicity of 10**600 is no double
        logarithms = [math.log(m) if m else -math.inf for m in multiplicities]
        exponents = np.array(logarithms) - float(self.rate) * np.array(distances, dtype=np.float64)
        weights = np.exp(exponents - exponents.max())
        shares = weights / weights.sum()
        named = np.array([candidate.level is not None for candidate in candidates])
        levels = np.array(
            [candidate.level for candidate in candidates if candidate.level is not None],
            dtype=np.int64,
        )
        return OutcomeDistribution(levels, shares[named], float(shares[~named].sum()))


def _weights(candidates: list[Candidate]) -> tuple[list[int], list[int]]:
    # weights relative to it cannot overflow
    highest = max(candidate.support for candidate in candidates)
    return [highest - candidate.support for candidate in candidates], [
        c.multiplicity for c in candidates
    ]


def levels_with_zeros(spectrum: SupportSpectrum) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return every level, 0 last, and how many itemsets each has: of zeros without limit in an
    unknown universe.
    """
    zeros = math.inf if spectrum.universe_size is None else spectrum.zero_multiplicity()
    supports, multiplicities = zip(*spectrum.levels(), (0, zeros), strict=True)
    return np.array(supports, dtype=np.int64), np.array(
        [float(multiplicity) for multiplicity in multiplicities]
    )


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
    """Return the probability of each level, and of abstaining, when one of the top ℓ is chosen, for
    a random rank ℓ.

    Let W(ℓ) be the weight of the top ℓ and of abstaining. A level of m itemsets wholly inside has
    the share m w / W(ℓ). The level in which rank ℓ falls has that of its itemsets inside.
    levels: (m,) int64 supports, descending. multiplicities: (m,) float64; the last may be infinite.
    ranks, stops: (n,) float64, the ranks ℓ and their probabilities. rate: > 0, per unit of support.
    bottoms: (n,) float64, or one number for all: the weight of abstaining at each ℓ, relative to
    that of one itemset of the first level. zeros_weigh: whether level 0 has any weight.
    """
    weights = np.exp(-rate * (levels[0] - levels))
    if not zeros_weigh:
        weights = np.where(levels, weights, 0.0)
    counts = np.concatenate([[0.0], np.cumsum(multiplicities)])
    masses = np.concatenate([[0.0], np.cumsum(multiplicities[:-1] * weights[:-1])])
    # The level in which rank ℓ falls: all before it are wholly inside, and it with what is left of
    # ℓ.
    last = np.minimum(np.searchsorted(counts[1:], ranks, side="left"), len(levels) - 1)
    partial = np.minimum(ranks - counts[last], multiplicities[last]) * weights[last]
    per_weight = stops / (masses[last] + partial + bottoms)
    shares = np.bincount(last, weights=partial * per_weight, minlength=len(levels))
    ending = np.bincount(last, weights=per_weight, minlength=len(levels))
    # ranks that fall in a later level
    beyond = np.concatenate([np.cumsum(ending[::-1])[::-1][1:], [0.0]])
    finite = np.where(np.isfinite(multiplicities), multiplicities, 0.0)
    return np.asarray(shares + beyond * finite * weights), float((per_weight * bottoms).sum())


@dataclass(frozen=True)
class AbstentionWeight:
    """The weight of abstaining when one unit can make at most M candidates new (Theorems 5 and 6,
    equation (7)).

    So heavy that an itemset which only one unit has is hardly ever named; all rounding makes it
    heavier. Add-remove: that of M/δ' itemsets of support c + 1, where c is the support next below
    the candidates and δ' = min(δ, ε). Replace-one is a removal and an addition: the same with x =
    ε/2 for ε and δ/(1 + e^x) for δ. There M (1 + e^x)/δ itemsets of support c + 1 weigh as much as
    M (1 + e^{-x})/δ of support c + 2; there are at least M e^{-x}/x of these.
    """

    epsilon: float | Fraction
    delta: float | Fraction
    neighbors: str

    @property
    def offset(self) -> int:
        """How many units above the support next below the candidates it stands: 1 for add-remove, 2
        for replace-one.
        """
        return 1 if exact_neighbors(self.neighbors) is Neighbors.ADD_REMOVE else 2

    @property
    def factor(self) -> Fraction:
        """How many itemsets it weighs as much as, for each candidate that one unit can make new."""
        epsilon, delta = exact_epsilon(self.epsilon), exact_delta(self.delta)
        if exact_neighbors(self.neighbors) is Neighbors.ADD_REMOVE:
            return 1 / min(delta, epsilon)  # e^ε - 1 >= ε
        x = epsilon / 2
        decay = Fraction(exp_bounds(x.numerator, x.denominator, 256)[1], 1 << 256)  # >= e^{-x}
        return max((1 + decay) / delta, decay / x)

    def candidate(
        self, itemsets: int, following: int, *, zeros_left_out: bool = False
    ) -> Candidate:
        """Return abstaining as a candidate.

        itemsets: M >= 1, how many candidates one unit can make new. following: c >= 0, the support
        next below them.
        zeros_left_out: whether itemsets of support 0 belong to the candidates but have no name.
            With c = 0 one unit can then lift c and name up to M of them at once. M itemsets more
            keep the sum of all weights within the factor of the Lemma before Theorem 6, which
            Theorem 8 rests on.
        """
        more = itemsets if zeros_left_out and not following else 0
        return Candidate(None, following + self.offset, math.ceil(itemsets * self.factor) + more)


class Exponential(ExponentialWeights, PurelyPrivate):
    """The exponential mechanism over every candidate of a public universe, of any size, 10**60 too
    (Theorem 4).

    McSherry and Talwar, "Mechanism design via differential privacy", 2007.
    """

    bounded_range: ClassVar[str] = "Theorem 8"

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every level of the universe, 0 included. Raises ParameterError where the universe
        is not public.
        """
        return named(universe_levels(spectrum, "exponential"))


@dataclass(frozen=True)
class NamedExponential(ExponentialWeights):
    """The exponential mechanism where the number M of candidates is public, but not their names
    (Theorem 5).

    An itemset that no unit has cannot be named, so that it is named at all could tell neighbours
    apart. All that have no name are one outcome, level 0, which weighs as much as M/δ itemsets or
    more. So an itemset which only one unit has is named with probability δ at most.
    universe_size: M >= 1; no unit may support more itemsets than that, and the caller must cut
    units to make it so.
    """

    bounded_range: ClassVar[str] = "Theorem 8"
    _last: ClassVar[int | None] = 0  # the unnamed outcome

    epsilon: float | Fraction
    delta: float | Fraction
    universe_size: int
    neighbors: str = Neighbors.ADD_REMOVE

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every itemset that occurs, and level 0 for the unnamed outcome."""
        unnamed = AbstentionWeight(self.epsilon, self.delta, self.neighbors).candidate(
            self.universe_size, 0
        )
        return [*named(spectrum.all_levels()), replace(unnamed, level=0)]


@dataclass(frozen=True)
class Choosing(ExponentialWeights):
    """The exponential mechanism among all itemsets that occur, and abstaining (Theorem 6).

    Beimel, Nissim and Stemmer, "Private learning and sanitization: pure vs. approximate
    differential privacy", 2013. Over a known universe it is the exponential mechanism.
    max_itemsets: Δ, the most itemsets that one unit supports, >= 1; the guarantee holds only if
    that is so, which the caller ensures by cutting baskets.
    """

    bounded_range: ClassVar[str] = "Theorem 8"

    epsilon: float | Fraction
    delta: float | Fraction
    max_itemsets: int
    neighbors: str = Neighbors.ADD_REMOVE

    @classmethod
    def from_public(
        cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters
    ) -> Self:
        """As Checked.from_public; ParameterError without a cap on baskets."""
        if public.max_basket is None:
            raise ParameterError(
                f"the choosing mechanism needs {parameter('max_basket')}: how many items of a "
                f"basket count at most"
            )
        if not public.max_itemsets:
            size = min(public.sizes)
            raise ParameterError(
                f"{parameter('max_basket')} must be at least the size {size}, "
                f"not {public.max_basket}"
            )
        return super().from_public(epsilon, delta, public)

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every itemset that occurs, and abstaining; over a known universe all of it. Reads
        every level.
        """
        if spectrum.universe_size is not None:
            return named(universe_levels(spectrum, "choosing"))
        bottom = AbstentionWeight(self.epsilon, self.delta, self.neighbors)
        return [*named(spectrum.all_levels()), bottom.candidate(self.max_itemsets, 0)]


@dataclass(frozen=True)
class LimitedDomain(ExponentialWeights):
    """The exponential mechanism among the max_rank itemsets of highest support, and abstaining
    (Theorem 6).

    Durfee and Rogers, "Practical differentially private top-k selection with pay-what-you-get
    composition", 2019. Over a known universe of no more than max_rank candidates it is the
    exponential mechanism. max_rank: k̄, the public number of candidates, >= 1. max_itemsets: Δ, the
    most itemsets that one unit supports, >= 1, None: no limit. Below max_rank it makes abstaining
    lighter, and the guarantee holds only if it is true.
    """

    bounded_range: ClassVar[str] = "Theorem 8"

    epsilon: float | Fraction = 1.0
    delta: float | Fraction = 1e-6
    neighbors: str = Neighbors.ADD_REMOVE
    max_rank: int = options.MAX_RANK
    max_itemsets: int | None = None

    @classmethod
    def from_public(
        cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters
    ) -> Self:
        """As Checked.from_public; max_rank is 10,000 unless given, or ten times a larger top."""
        rank = (
            max(options.MAX_RANK, _RANKS_PER_SELECTION * public.top)
            if public.max_rank is None
            else public.max_rank
        )
        return super().from_public(epsilon, delta, replace(public, max_rank=rank))

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return the top max_rank itemsets and abstaining; reads the levels of the top max_rank +
        1.
        """
        levels, following = top(spectrum, self.max_rank)
        universe = spectrum.universe_size
        if universe is not None and universe <= self.max_rank:
            return named(levels)
        new = min(self.max_rank, self.max_itemsets or self.max_rank)
        bottom = AbstentionWeight(self.epsilon, self.delta, self.neighbors)
        return [*named(levels), bottom.candidate(new, following, zeros_left_out=universe is None)]
