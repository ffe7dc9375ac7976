"""What units hold of a public list of candidates: the door for whoever weighs and counts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.work_limit import Effort
from fim_private.reading.transactions import Transactions

# Candidates of one size each: (n, r) int32 item numbers, r >= 1, ascending in a row; any number of such arrays.
Candidates = Sequence[NDArray[np.int32]]


class CandidateSource(Protocol):
    """Purchases restricted to m items, numbered 0..m - 1.

    A unit holds a candidate if any one of its baskets contains it (where baskets count together, if all of them do),
    and then once, in however many baskets. What a unit adds depends on that unit alone. Sums are exact as long as the
    number of units times the largest weight is below 2^63, and the same for any number of threads. Each method raises
    WorkLimitError where it takes more steps than allowed.
    """

    def pair_level_sums(self, scale: int) -> NDArray[np.int64]:
        """Return the level sum of each pair, see `level_sums`: (m(m - 1)/2,) int64.

        The pair a < b is at b(b - 1)/2 + a. scale: 1 to 2^16.
        """

    def level_sums(self, sets: NDArray[np.int32], scale: int) -> NDArray[np.int64]:
        """Return for each candidate the sum of floor(scale · √(c / C)) over the units, exactly: (K,) int64.

        c: in how many of its baskets a unit has the candidate; where baskets count together, the least number of
        baskets that have one of its items. C: the sum of c over all candidates. So in multiples of 1/scale the L2 norm
        of what a unit adds is at most 1. sets: (K, r) different candidates of one size r >= 1. scale: 1 to 2^16.
        """

    def sums(self, candidates: Candidates, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each candidate the sum of weights[candidates of the unit] over the units that hold it: (K,) int64.

        candidates: K different ones in all; the sums stand in their order. weights: (K + 1,) int64, >= 0; all 1 for
        plain supports.
        """

    def held(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return how many units hold exactly 0, 1, ... K of the candidates: (K + 1,) int64.

        candidates: K different ones in all.
        """


# A source from transactions, the codes of the m items in the order of their numbers, (m,), all different, and effort.
MakeCandidates = Callable[[Transactions, NDArray[np.integer], Effort], CandidateSource]
