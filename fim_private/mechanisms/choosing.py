"""The choosing mechanism (Beimel, Nissim and Stemmer, "Private learning and sanitization: pure vs. approximate
differential privacy", 2013): the exponential mechanism on every itemset that occurs, or abstaining.

(ε, δ)-DP where no unit supports more than Δ itemsets (docs/privacy.md, Theorem 6), which the caller ensures by
cutting baskets.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from fim_private.dp.cost import PrivacyCost
from fim_private.dp.parameters import Neighbors, exact_delta, exact_epsilon, exact_neighbors, positive_integer
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.abstention import AbstentionWeight
from fim_private.mechanisms.exponential_weights import Candidate, ExponentialWeights, named
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.spectrum import SupportSpectrum


@dataclass(frozen=True)
class Choosing(ExponentialWeights):
    """The exponential mechanism among all itemsets that occur, and abstaining.

    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1. neighbors: "replace-one" or "add-remove".
    max_itemsets: Δ, the most itemsets that one unit supports, >= 1; the guarantee holds only if that is so.
    Over a known universe it is the exponential mechanism.
    Raises ParameterError for a parameter outside its range.
    """

    bounded_range: ClassVar[str] = "Theorem 8"

    epsilon: float | Fraction
    delta: float | Fraction
    max_itemsets: int
    neighbors: str = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_delta(self.delta)
        exact_neighbors(self.neighbors)
        object.__setattr__(self, "max_itemsets", positive_integer("max_itemsets", self.max_itemsets))

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection. Raises ParameterError without a cap on baskets."""
        if public.max_basket is None:
            raise ParameterError(
                f"the choosing mechanism needs {parameter('max_basket')}: how many items of a basket count at most"
            )
        if not public.max_itemsets:
            size = min(public.sizes)
            raise ParameterError(f"{parameter('max_basket')} must be at least the size {size}, not {public.max_basket}")
        return cls(epsilon, delta, public.max_itemsets, public.neighbors)

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, delta)."""
        return PrivacyCost(self.epsilon, self.delta)

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every itemset that occurs, and abstaining; over a known universe all of it. Reads every level."""
        levels = named(spectrum.all_levels())
        if spectrum.universe_size is not None:
            return [*levels, Candidate(0, 0, spectrum.zero_multiplicity())]
        bottom = AbstentionWeight(self.epsilon, self.delta, self.neighbors)
        return [*levels, bottom.candidate(self.max_itemsets, 0)]
