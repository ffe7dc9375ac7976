"""The limited-domain mechanism (Durfee and Rogers, "Practical differentially private top-k selection with
pay-what-you-get composition", 2019): the exponential mechanism on the top k̄, or abstaining.

(ε, δ)-DP (docs/privacy.md, Theorem 6; Theorem 8 for several selections). Nothing about the universe needs to be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from fim_private import defaults
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.parameters import Neighbors, exact_delta, exact_epsilon, exact_neighbors, positive_integer
from fim_private.mechanisms.abstention import AbstentionWeight
from fim_private.mechanisms.exponential_weights import Candidate, ExponentialWeights, named, top
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.spectrum import SupportSpectrum

# More candidates than selections: their number adds but its logarithm to the margin needed over the support next below
# them, which falls far more quickly in purchase data.
_RANKS_PER_SELECTION = 10


@dataclass(frozen=True)
class LimitedDomain(ExponentialWeights):
    """The exponential mechanism among the max_rank itemsets of highest support, and abstaining.

    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1. neighbors: "replace-one" or "add-remove".
    max_rank: k̄, the public number of candidates, >= 1.
    max_itemsets: Δ, the most itemsets that one unit supports, >= 1, where that is limited; below max_rank it makes
        abstaining lighter, and the guarantee holds only if it is true. None for no limit.
    Over a known universe of no more than max_rank candidates it is the exponential mechanism.
    Raises ParameterError for a parameter outside its range.
    """

    bounded_range: ClassVar[str] = "Theorem 8"

    epsilon: float | Fraction = 1.0
    delta: float | Fraction = 1e-6
    neighbors: str = Neighbors.ADD_REMOVE
    max_rank: int = defaults.MAX_RANK
    max_itemsets: int | None = None

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_delta(self.delta)
        exact_neighbors(self.neighbors)
        object.__setattr__(self, "max_rank", positive_integer("max_rank", self.max_rank))
        if self.max_itemsets is not None:
            object.__setattr__(self, "max_itemsets", positive_integer("max_itemsets", self.max_itemsets))

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection; max_rank is 10,000 unless given, or ten times a larger top."""
        rank = public.rank(max(defaults.MAX_RANK, _RANKS_PER_SELECTION * public.top))
        return cls(epsilon, delta, public.neighbors, rank, public.max_itemsets or None)

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, delta)."""
        return PrivacyCost(self.epsilon, self.delta)

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return the top max_rank itemsets and abstaining; reads the levels of the top max_rank + 1."""
        levels, following = top(spectrum, self.max_rank)
        if spectrum.universe_size is not None and spectrum.universe_size <= self.max_rank:
            return named(levels)
        bottom = AbstentionWeight(self.epsilon, self.delta, self.neighbors)
        new = self.max_rank if self.max_itemsets is None else min(self.max_rank, self.max_itemsets)
        unknown = spectrum.universe_size is None
        return [*named(levels), bottom.candidate(new, following, zeros_left_out=unknown)]
