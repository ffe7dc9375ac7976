"""Selection by exponential weights: the exponential mechanism, choosing, and limited-domain."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from fim_private import options
from fim_private.dp.bounds import exp_bounds
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import Floats, Randomness, choose_level
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.base import (
    Mechanism,
    OutcomeDistribution,
    PublicParameters,
    PurelyPrivate,
    RankCapped,
    Selection,
    universe_levels,
)
from fim_private.spectrum import Level, SupportSpectrum

# So many candidates for each selection. Their number adds only its logarithm to the margin that is
# needed over the next support below them, which falls far more quickly in purchase data.
_RANKS_PER_SELECTION = 10


@dataclass(frozen=True)
class Candidate:
    """Equally likely outcomes.

    Attributes:
        level: The support of these itemsets, in units. None stands for abstaining.
        support: The support, in units, that decides the weight of each outcome.
        multiplicity: The number of the outcomes, >= 0.
    """

    level: int | None
    support: int
    multiplicity: int


def top(spectrum: SupportSpectrum, rank: int) -> tuple[list[Level], int]:
    """Return the levels of the `rank` >= 0 itemsets of highest support, and the next support or 0.

    No further level is read. If the universe is unknown, there are no itemsets of support 0.
    """
    levels: list[Level] = []
    missing = rank
    for support, multiplicity in spectrum.levels():
        if missing:
            levels.append((support, min(multiplicity, missing)))
        if multiplicity > missing:
            return levels, support
        missing -= multiplicity
    if spectrum.universe_size is not None:
        zeros = min(spectrum.zero_multiplicity(), missing)
        if zeros:
            levels.append((0, zeros))
    return levels, 0


def named(levels: Iterable[Level]) -> list[Candidate]:
    """Return one candidate for each level."""
    return [Candidate(support, support, multiplicity) for support, multiplicity in levels]


def choose(candidates: list[Candidate], rate: Fraction, randomness: Randomness) -> Candidate:
    """Choose a candidate with probability ∝ multiplicity * exp(rate * support), exactly.

    rate: > 0, per unit.
    """
    multiplicities = [candidate.multiplicity for candidate in candidates]
    return candidates[choose_level(_distances(candidates), multiplicities, rate, randomness)]


def _distances(candidates: list[Candidate]) -> list[int]:
    """Return how far each candidate's support is below the highest: weights cannot overflow."""
    highest = max(candidate.support for candidate in candidates)
    return [highest - candidate.support for candidate in candidates]


class ExponentialWeights(Mechanism):
    """A mechanism that chooses once among its candidates.

    A candidate is chosen with probability ∝ multiplicity * exp(rate * support).
    """

    _last: int | None = None  # several selections end once this level is chosen

    @abstractmethod
    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every candidate; abstaining, if it is one, is the last."""

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose one candidate, with exactly the probabilities of `distribution`."""
        return Selection(choose(self.candidates(spectrum), self.rate, randomness).level)

    def select_many(
        self, spectrum: SupportSpectrum, count: int, randomness: Randomness
    ) -> list[int]:
        """Choose up to `count` different itemsets, one by one, each as `select` would.

        Returns their levels. An abstention ends the list.
        """
        levels: list[int] = []
        candidates = [c for c in self.candidates(spectrum) if c.multiplicity]
        while len(levels) < count and candidates:
            chosen = choose(candidates, self.rate, randomness)
            if chosen.level is None:
                break
            levels.append(chosen.level)
            if chosen.level == self._last:
                break
            place = candidates.index(chosen)
            candidates[place] = replace(chosen, multiplicity=chosen.multiplicity - 1)
            if chosen.multiplicity == 1:
                del candidates[place]
        return levels

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the probability of every level and of abstaining, exact up to floating point."""
        candidates = self.candidates(spectrum)
        distances = np.array(_distances(candidates), dtype=np.float64)
        # A multiplicity of 10**600 is no double, but its logarithm is one.
        logarithms = [math.log(c.multiplicity) if c.multiplicity else -math.inf for c in candidates]
        exponents = np.array(logarithms) - float(self.rate) * distances
        weights = np.exp(exponents - exponents.max())
        shares = weights / weights.sum()
        supports = [candidate.level for candidate in candidates if candidate.level is not None]
        levels, abstain = np.array(supports, dtype=np.int64), float(shares[len(supports) :].sum())
        return OutcomeDistribution(levels, shares[: len(supports)], abstain)


def at_random_rank(
    spectrum: SupportSpectrum,
    stops: Mapping[int, float],
    rate: float,
    bottoms: Floats | None = None,
) -> OutcomeDistribution:
    """Return the output distribution of a choice at a random rank.

    At rank ℓ one of the top ℓ itemsets is chosen by weight, or none. Let W(ℓ) be the weight of the
    top ℓ and of abstaining together. A level of m itemsets of weight w within the top ℓ has the
    share m w / W(ℓ). Of the level in which rank ℓ falls, only the itemsets within the top ℓ count.
    In an unknown universe infinitely many itemsets have support 0. Without a name, they abstain.

    Args:
        spectrum: All its levels are read.
        stops: The probability of each rank ℓ, n in all.
        rate: The exponent per unit of support, > 0.
        bottoms: (n,) the weight of abstaining at each ℓ, relative to that of one itemset of the
            first level; itemsets without a name then have no weight. None: abstaining has none.
    """
    known = spectrum.universe_size is not None
    zeros = spectrum.zero_multiplicity() if known else math.inf
    supports, counted = zip(*spectrum.levels(), (0, zeros), strict=True)
    levels, multiplicities = np.array(supports, dtype=np.int64), np.array(counted, dtype=np.float64)
    weights = np.exp(-rate * (levels[0] - levels))
    if bottoms is None:
        bottoms = np.zeros(len(stops))
    elif not known:
        weights[-1] = 0.0
    ranks, chances = np.array([*stops], dtype=np.float64), np.array([*stops.values()])
    starts = np.concatenate([[0.0], np.cumsum(multiplicities[:-1])])

    def masses() -> Iterator[Floats]:
        """Yield the weight of each level within the top ℓ, for each ℓ."""
        for start, multiplicity, weight in zip(starts, multiplicities, weights, strict=True):
            yield np.clip(ranks - start, 0.0, multiplicity) * weight

    per_weight = chances / sum(masses(), bottoms)
    shares = np.array([(per_weight * mass).sum() for mass in masses()])
    abstain = float((per_weight * bottoms).sum())
    if known:
        return OutcomeDistribution(levels, shares, abstain)
    return OutcomeDistribution(levels[:-1], shares[:-1], abstain + float(shares[-1]))


class Abstaining(ExponentialWeights):
    """A choice in which naming nothing has a weight, if one unit can make at most M candidates new.

    Source: docs/privacy.md, Theorems 5 and 6, equation (7). Abstaining is so heavy that an itemset
    which only one unit has is hardly ever named; all rounding makes it heavier.

    Add-remove: it weighs as much as M/δ' itemsets of support c + 1, where c is the next support
    below the candidates and δ' = min(δ, ε). Replace-one is a removal and an addition: the same with
    x = ε/2 for ε and δ/(1 + e^x) for δ. There M (1 + e^x)/δ itemsets of support c + 1 weigh as much
    as M (1 + e^{-x})/δ of support c + 2; there are at least M e^{-x}/x of these.
    """

    @property
    def heaviness(self) -> Fraction:
        """The number of itemsets that weigh as much as abstaining, divided by M."""
        epsilon, delta = self.cost.epsilon, self.cost.delta
        if self.neighbors == Neighbors.ADD_REMOVE:
            return 1 / min(delta, epsilon)  # e^ε - 1 >= ε
        x = epsilon / 2
        decay = Fraction(exp_bounds(x.numerator, x.denominator, 256)[1], 1 << 256)  # >= e^{-x}
        return max((1 + decay) / delta, decay / x)

    def abstention(
        self, itemsets: int, following: int, *, zeros_left_out: bool = False
    ) -> Candidate:
        """Return abstaining as a candidate.

        Args:
            itemsets: M >= 1, how many candidates one unit can make new.
            following: c >= 0, the next support below the candidates, in units.
            zeros_left_out: Whether itemsets of support 0 are among the candidates but have no name.
                With c = 0 one unit can then lift c and name up to M of them at once. M more
                itemsets keep the sum of all weights within the factor of the Lemma before Theorem
                6, on which Theorem 8 rests.
        """
        multiplicity = math.ceil(itemsets * self.heaviness)
        if zeros_left_out and following == 0:
            multiplicity += itemsets
        return Candidate(None, following + self.sensitivity, multiplicity)


class Exponential(ExponentialWeights, PurelyPrivate):
    """The exponential mechanism over every candidate of a public universe (Theorem 4).

    The universe may be of any size, such as 10**60. Source: McSherry and Talwar, "Mechanism design
    via differential privacy", 2007.
    """

    bounded_range = "Theorem 8"

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every level of the universe, 0 included.

        Raises ParameterError if the universe is not public.
        """
        return named(universe_levels(spectrum, "exponential"))


@dataclass(frozen=True)
class NamedExponential(Abstaining):
    """The exponential mechanism for a public number M of candidates without names (Theorem 5).

    An itemset that no unit has cannot be named: a name tells that somebody has the itemset. All
    itemsets without a name are one outcome, level 0, which weighs as much as M/δ itemsets or more.
    So an itemset that only one unit has is named with probability δ at most.
    universe_size: M >= 1. No unit may support more itemsets, which the caller ensures by cutting
    units.
    """

    bounded_range = "Theorem 8"
    _last = 0  # the unnamed outcome

    epsilon: float | Fraction
    delta: float | Fraction
    universe_size: int
    neighbors: str = Neighbors.ADD_REMOVE

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every itemset that occurs, and level 0 for the unnamed outcome."""
        unnamed = self.abstention(self.universe_size, 0)
        return [*named(spectrum.all_levels()), replace(unnamed, level=0)]


@dataclass(frozen=True)
class Choosing(Abstaining):
    """The exponential mechanism among all itemsets that occur, and abstaining (Theorem 6).

    Source: Beimel, Nissim and Stemmer, "Private learning and sanitization: pure vs. approximate
    differential privacy", 2013. Over a known universe it is the exponential mechanism.
    max_itemsets: Δ, the most itemsets that one unit supports, >= 1. The guarantee rests on it, and
    the caller ensures it by cutting baskets.
    """

    bounded_range = "Theorem 8"

    epsilon: float | Fraction
    delta: float | Fraction
    max_itemsets: int
    neighbors: str = Neighbors.ADD_REMOVE

    @classmethod
    def completed(cls, public: PublicParameters) -> PublicParameters:
        """Return them as they are, if they have a cap on baskets that leaves some itemset."""
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
        return public

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every itemset that occurs, and abstaining; or all of a known universe."""
        if spectrum.universe_size is not None:
            return named(universe_levels(spectrum, "choosing"))
        return [*named(spectrum.all_levels()), self.abstention(self.max_itemsets, 0)]


@dataclass(frozen=True)
class LimitedDomain(Abstaining, RankCapped):
    """The exponential mechanism among the top max_rank itemsets, and abstaining (Theorem 6).

    Source: Durfee and Rogers, "Practical differentially private top-k selection with
    pay-what-you-get composition", 2019. Over a known universe of no more than max_rank candidates
    it is the exponential mechanism.
    max_rank: k̄, the public number of candidates, >= 1.
    max_itemsets: Δ, the most itemsets that one unit supports, >= 1; None for no limit. Below
    max_rank it makes abstaining lighter, and the guarantee rests on it.
    """

    bounded_range = "Theorem 8"

    max_itemsets: int | None = None

    @classmethod
    def completed(cls, public: PublicParameters) -> PublicParameters:
        """Return them with a max_rank.

        Unless it is given, it is 10,000, or ten times the number of selections if that is more.
        """
        most_ranks = max(options.MAX_RANK, _RANKS_PER_SELECTION * public.top)
        return replace(public, max_rank=public.max_rank or most_ranks)

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return the top max_rank itemsets and abstaining; reads the top max_rank + 1 at most."""
        levels, following = top(spectrum, self.max_rank)
        universe = spectrum.universe_size
        if universe is not None and universe <= self.max_rank:
            return named(levels)
        new = min(self.max_rank, self.max_itemsets or self.max_rank)
        return [*named(levels), self.abstention(new, following, zeros_left_out=universe is None)]
