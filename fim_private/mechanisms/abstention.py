"""The weight of abstaining: a candidate like any other, as heavy as some number of itemsets near the cut.

It is so heavy that an itemset which only one unit has is hardly ever named (docs/privacy.md, "Choosing by weight, and
the weight of abstaining", equation (7)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from fim_private.dp.intervals import exp_bounds
from fim_private.dp.parameters import Neighbors, exact_delta, exact_epsilon, exact_neighbors
from fim_private.mechanisms.exponential_weights import Candidate


@dataclass(frozen=True)
class AbstentionWeight:
    """The weight of abstaining when one unit can make at most M candidates new (Theorems 5 and 6, equation (7)).

    Add-remove: that of M/δ' itemsets of support c + 1, where c is the support next below the candidates and
    δ' = min(δ, ε). Replace-one is a removal and an addition: the same with x = ε/2 for ε and δ/(1 + e^x) for δ. There
    M (1 + e^x)/δ itemsets of support c + 1 weigh as much as M (1 + e^{-x})/δ of support c + 2; there are at least
    M e^{-x}/x of these.
    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1. neighbors: "replace-one" or "add-remove". The properties raise
    ParameterError for others. All rounding makes abstaining heavier.
    """

    epsilon: float | Fraction
    delta: float | Fraction
    neighbors: str

    @property
    def offset(self) -> int:
        """How many units above the support next below the candidates it stands: 1 for add-remove, 2 for replace-one."""
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

    def candidate(self, itemsets: int, following: int, *, zeros_left_out: bool = False) -> Candidate:
        """Return abstaining as a candidate.

        itemsets: M >= 1, how many candidates one unit can make new. following: c >= 0, the support next below the
        candidates.
        zeros_left_out: whether itemsets of support 0 belong to the candidates but have no name. With c = 0 one unit can
            then lift c and name up to M of them at once; M itemsets more keep the sum of all weights within the factor
            of the Lemma before Theorem 6, which Theorem 8 rests on.
        """
        more = itemsets if zeros_left_out and not following else 0
        return Candidate(None, following + self.offset, math.ceil(itemsets * self.factor) + more)
