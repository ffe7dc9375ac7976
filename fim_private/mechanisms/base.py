"""What a mechanism is, its public parameters, and code that the mechanisms share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fim_private import options
from fim_private.dp.arguments import positive_integer
from fim_private.dp.cost import Number, PrivacyCost
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.noise import Floats, Randomness
from fim_private.dp.parameters import exact_delta, exact_epsilon
from fim_private.errors import ParameterError, parameter
from fim_private.spectrum import Level, SupportSpectrum, candidate_itemsets

# No exact distribution is over more candidates: doubles end at 1.8e308.
MOST_CANDIDATES = 10**300


@dataclass(frozen=True)
class PublicParameters:
    """The public facts from which a mechanism is built, besides its share of the budget.

    Attributes:
        sizes: The sizes of the itemsets among which it selects.
        top: How many itemsets are selected, >= 1.
        neighbors: The neighbour relation.
        candidates: How many itemsets of those sizes a public universe has. None: it is unknown.
        named: Whether the items of that universe are listed.
        max_rank: The rank cap that the user gave, >= 1. None stands for the mechanism's own.
        max_basket: How many items of a basket count at most, >= 1. None stands for no cap.
        max_baskets: How many baskets of a unit count at most, >= 1. None stands for no cap.
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
        """Δ = max_baskets Σ C(max_basket, size), the most itemsets that one unit can support.

        None without max_basket: there is no limit.
        """
        if self.max_basket is None:
            return None
        itemsets_of_basket = sum(
            candidate_itemsets(self.max_basket, size, "max_basket")
            for size in self.sizes
            if size <= self.max_basket
        )
        return (self.max_baskets or 1) * itemsets_of_basket


@dataclass(frozen=True)
class Selection:
    """The support level from which an itemset is to be drawn; None for abstaining.

    The level itself is not private: it must not be published.
    """

    level: int | None

    @property
    def abstained(self) -> bool:
        """Whether the mechanism selected no itemset, which is a valid private answer."""
        return self.level is None


ABSTAIN = Selection(None)


@dataclass(frozen=True)
class OutcomeDistribution:
    """The exact output distribution of a mechanism on one spectrum.

    Attributes:
        levels: (m,) supports in units, strictly descending; with 0 if the universe is known.
        probabilities: (m,) the probability that some itemset of that support is released.
        abstain: The probability of abstaining. With it the probabilities add up to 1.
    """

    levels: NDArray[np.int64]
    probabilities: Floats
    abstain: float


def exponential_rate(epsilon: Number, neighbors: str) -> Fraction:
    """Return the exponent per unit of support: ε for add-remove, and ε/2 for replace-one.

    Add-remove changes all supports in the same direction (docs/privacy.md, Theorem 4).
    """
    return exact_epsilon(epsilon) / exact_neighbors(neighbors).changed_units


class Checked:
    """Checked parameters, their cost, and the rate that follows from them."""

    epsilon: Number
    delta: Number
    neighbors: str

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if "delta" in vars(self):  # a purely private mechanism's is that of its class
            exact_delta(self.delta)
        exact_neighbors(self.neighbors)
        for name in vars(self).keys() & {"universe_size", "max_rank", "max_itemsets"}:
            value = vars(self)[name]
            has_none_as_default = getattr(type(self), name, 0) is None
            if value is not None or not has_none_as_default:
                vars(self)[name] = positive_integer(name, value)

    @classmethod
    def from_public(cls, epsilon: Number, delta: Number, public: PublicParameters) -> Self:
        """Return the mechanism for one selection, with its share of the budget.

        Raises ParameterError if a public fact that it needs is missing.
        """
        public = cls.completed(public)
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

    @classmethod
    def completed(cls, public: PublicParameters) -> PublicParameters:
        """Return the public facts with the mechanism's own defaults; ParameterError for a missing
        one.
        """
        return public

    @property
    def cost(self) -> PrivacyCost:
        """The (epsilon, delta) that one call of `select` spends, known without data."""
        return PrivacyCost(self.epsilon, self.delta)

    @cached_property
    def rate(self) -> Fraction:
        """The exponent per unit of support, if it chooses by exponential weights."""
        return exponential_rate(self.epsilon, self.neighbors)

    @property
    def sensitivity(self) -> int:
        """By how many units one unit can change the difference of two supports: 1 under add-remove,
        2 under replace-one.
        """
        return exact_neighbors(self.neighbors).changed_units


class Mechanism(Checked, ABC):
    """A selection mechanism: a frozen dataclass of parameters, which never sees an itemset.

    A class may also have max_itemsets, Δ: the most itemsets that one unit supports, or None where
    the guarantee does not rest on it. It may have max_rank: the public rank beyond which it does
    not look. Parameters out of range raise ParameterError.

    Attributes:
        epsilon: The ε of the guarantee, 1e-9 to 1e9. A float stands for what its digits say.
        delta: The δ of the guarantee, 1e-300 up to below 1, or 0 for pure privacy.
        neighbors: The neighbour relation of the guarantee.
    """

    @abstractmethod
    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose a level, or abstain, with exactly the probabilities of `distribution`.

        Raises ParameterError for a spectrum on which the mechanism cannot run.
        """

    @abstractmethod
    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the distribution of `select`, exact up to floating point.

        Raises ParameterError also if it is too large.
        """


@dataclass(frozen=True)
class Approximate(Mechanism):
    """An (epsilon, delta)-private mechanism."""

    epsilon: Number = 1.0
    delta: Number = 1e-6
    neighbors: str = Neighbors.ADD_REMOVE


@dataclass(frozen=True)
class RankCapped(Approximate):
    """An (epsilon, delta)-private mechanism that looks at the top max_rank itemsets at most."""

    max_rank: int = options.MAX_RANK


@dataclass(frozen=True)
class PurelyPrivate(Mechanism):
    """An (epsilon, 0)-private mechanism over a public universe."""

    epsilon: Number
    neighbors: str = Neighbors.ADD_REMOVE

    delta = 0


def universe_levels(spectrum: SupportSpectrum, mechanism: str) -> list[Level]:
    """Return every (support, multiplicity) of a public universe, descending, with support 0.

    Raises ParameterError if the universe is unknown. mechanism: a name for the message.
    """
    if spectrum.universe_size is None:
        raise ParameterError(
            f"the {mechanism} mechanism needs a public universe: give "
            f"{parameter('universe_size')} or a catalogue "
            "(candidates taken from the data would reveal which items somebody bought)"
        )
    return [*spectrum.all_levels(), (0, spectrum.zero_multiplicity())]
