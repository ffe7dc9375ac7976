"""The protocol of a mechanism, its public parameters, and what the mechanisms have in common."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.arguments import positive_integer
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import exact_delta, exact_epsilon
from fim_private.errors import ParameterError, parameter
from fim_private.spectrum import Level, SupportSpectrum, candidate_itemsets

# No distribution is over more candidates: doubles end at 1.8e308.
MOST_CANDIDATES = 10**300


@dataclass(frozen=True)
class PublicParameters:
    """What is public about one selection: all that a mechanism may be built from, besides its share
    of the budget.

    sizes: of the itemsets it is among. top: how many it may select, >= 1. candidates: how many of
    those sizes a public universe has; None where it is unknown. named: whether the items of that
    universe are listed. max_rank: the rank cap asked for, >= 1; None for the mechanism's own.
    max_basket, max_baskets: how many items of a basket, and baskets of a unit, count at most, >= 1;
    None for no cap.
    """

    sizes: tuple[int, ...]
    top: int
    neighbors: str
    candidates: int | None = None
    named: bool = False
    max_rank: int | None = None
    max_basket: int | None = None
    max_baskets: int | None = None

    @property
    def max_itemsets(self) -> int | None:
        """Δ = max_baskets Σ C(max_basket, size), the most itemsets one unit can support; None
        without max_basket.
        """
        if self.max_basket is None:
            return None
        able = [size for size in self.sizes if size <= self.max_basket]
        return (self.max_baskets or 1) * sum(
            candidate_itemsets(self.max_basket, size, "max_basket") for size in able
        )


@dataclass(frozen=True)
class Selection:
    """The support level, not to be published, from which an itemset is to be drawn; None for
    abstaining.
    """

    level: int | None

    @property
    def abstained(self) -> bool:
        """Whether the mechanism gave no itemset, which is a valid private answer."""
        return self.level is None


ABSTAIN = Selection(None)


@dataclass(frozen=True)
class OutcomeDistribution:
    """The exact output distribution of a mechanism on one spectrum.

    levels: (m,) int64 supports in units, strictly descending; 0 is among them where the universe is
    known.
    probabilities: (m,) float64; of releasing an itemset of that support, summed over those tied at
    it.
    abstain: the probability of abstaining. All of them sum to 1.
    """

    levels: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    abstain: float


@runtime_checkable
class Mechanism(Protocol):
    """A selection mechanism: a frozen dataclass of parameters. Numbers in, a level out; it never
    sees an itemset.

    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1, or 0 for pure privacy. Both as they were
    given; a float stands for what its digits say. neighbors: the relation that the guarantee is
    about. Others raise ParameterError. A class may have max_itemsets: Δ, the most itemsets of one
    unit, None where the guarantee does not rest on it. It may have max_rank: the public rank beyond
    which it does not look.
    """

    @property
    def epsilon(self) -> float | Fraction: ...  # noqa: D102
    @property
    def delta(self) -> float | Fraction: ...  # noqa: D102
    @property
    def neighbors(self) -> str: ...  # noqa: D102
    @property
    def cost(self) -> PrivacyCost:
        """The (epsilon, delta) that one call of select spends, known without data."""
        ...

    def __hash__(self) -> int: ...  # mechanisms are keys of caches
    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose a level, or abstain, exactly as distribution says; ParameterError where it cannot
        on this spectrum.
        """
        ...

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the distribution of select, exact up to floating point; ParameterError also where
        it is too large.
        """
        ...


class Checked:
    """What the mechanisms have in common: checked parameters, and their cost."""

    epsilon: float | Fraction
    delta: float | Fraction
    neighbors: str

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not isinstance(self, PurelyPrivate):
            exact_delta(self.delta)
        exact_neighbors(self.neighbors)
        for name, value in [*vars(self).items()]:
            if name not in ("universe_size", "max_rank", "max_itemsets"):
                continue
            # None is no number, but a default of some mechanisms.
            is_default = value is None and getattr(type(self), name, 0) is None
            if not is_default:
                object.__setattr__(self, name, positive_integer(name, value))

    @classmethod
    def from_public(
        cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters
    ) -> Self:
        """Return the mechanism for one selection, with its share of the budget.

        Raises ParameterError for what is missing.
        """
        values = {
            "epsilon": epsilon,
            "delta": delta,
            "neighbors": public.neighbors,
            "max_rank": public.max_rank,
            "max_itemsets": public.max_itemsets or None,
            "universe_size": public.candidates or 0,
        }
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]  # each heir is a dataclass
        return cls(**{name: values[name] for name in names if values[name] is not None})

    @property
    def cost(self) -> PrivacyCost:
        """What one call of select spends."""
        return PrivacyCost(self.epsilon, self.delta)


@dataclass(frozen=True)
class PurelyPrivate(Checked):
    """An (epsilon, 0)-private mechanism over a public universe."""

    epsilon: float | Fraction
    neighbors: str = Neighbors.ADD_REMOVE

    delta: ClassVar[int] = 0  # type: ignore[misc]


def universe_levels(spectrum: SupportSpectrum, mechanism: str) -> list[Level]:
    """Return every (support, multiplicity) of a public universe, descending, 0 included; else raise
    ParameterError.
    """
    if spectrum.universe_size is None:
        raise ParameterError(
            f"the {mechanism} mechanism needs a public universe: give "
            f"{parameter('universe_size')} or a catalogue "
            "(candidates taken from the data would reveal which items somebody bought)"
        )
    return [*spectrum.all_levels(), (0, spectrum.zero_multiplicity())]
