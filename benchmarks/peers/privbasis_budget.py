"""What PrivBasis may spend: its shares of the budget, in pure and zCDP form, under both relations of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fim_private.dp.composition import zcdp_rho
from fim_private.dp.parameters import Neighbors, exact_delta, exact_epsilon, exact_neighbors

# As in the paper: the shares of the stages.
SHARES = (Fraction(1, 10), Fraction(4, 10), Fraction(5, 10))


@dataclass(frozen=True)
class Budget:
    """total: ε, or ρ where zcdp. replaces: whether neighbours differ in a basket replaced, not in one more or less.

    To replace a basket is to remove one and add one. For pure ε that is twice the cost, and under zCDP four times, of
    all that is analysed for one basket (group privacy). For the Gaussian bins it is only twice: a bin of each basis
    falls by 1 and another rises by 1, an L2 sensitivity of √(2w).
    """

    total: Fraction
    zcdp: bool
    replaces: bool = False

    @classmethod
    def of(cls, epsilon: float, delta: float | None, neighbors: str = "add-remove") -> Budget:
        """Return the budget that is (epsilon, delta)-private: pure where delta is None."""
        exact, replaces = exact_epsilon(epsilon), exact_neighbors(neighbors) == Neighbors.REPLACE_ONE
        if delta is None:
            return cls(exact, False, replaces)
        return cls(zcdp_rho(exact, exact_delta(delta)), True, replaces)

    def stage(self, number: int) -> Fraction:
        """Return what stage 1, 2 or 3 may spend on one basket more or less."""
        times = (4 if number < 3 else 2) if self.zcdp else 2
        return self.total * SHARES[number - 1] / (times if self.replaces else 1)
