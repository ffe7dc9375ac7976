"""Which mechanism a name means, built from public parameters only."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from fim_private.counting.universe import Catalogue, SizedUniverse, Universe, UnknownUniverse
from fim_private.dp.parameters import positive_integer
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms import (
    Choosing,
    Distance,
    Exponential,
    LargeMargin,
    LimitedDomain,
    MaxOfLaplaces,
    Mechanism,
    NamedExponential,
    PermuteAndFlip,
    TightMargin,
    large_margin,
    limited_domain,
    tight_margin,
)

LEVELWISE = "levelwise"
# Limited-domain needs more candidates than it picks.
_RANKS_PER_PICK = 10


@dataclass(frozen=True)
class Terms:
    """What is public about one selection.

    sizes: of the itemsets it is among. top: how many it may pick, >= 1. neighbors: a relation's name.
    universe: what is known of the items. max_rank: as asked for, None for the mechanism's own.
    max_basket, max_baskets: caps on the items of a basket and on the baskets of a unit that count, or None.
    """

    sizes: tuple[int, ...]
    top: int
    neighbors: str
    universe: Universe
    max_rank: int | None = None
    max_basket: int | None = None
    max_baskets: int | None = None

    @property
    def max_itemsets(self) -> int | None:
        """Δ, the most itemsets one unit can support; None without a cap on its baskets."""
        if self.max_basket is None:
            return None
        return (self.max_baskets or 1) * sum(math.comb(self.max_basket, size) for size in self.sizes)

    def rank(self, default: int) -> int:
        """Return max_rank as asked for, or the default."""
        return default if self.max_rank is None else self.max_rank


Maker = Callable[[Fraction, Fraction, Terms], Mechanism]


def _large_margin(epsilon: Fraction, delta: Fraction, terms: Terms) -> Mechanism:
    return LargeMargin(epsilon, delta, terms.neighbors, terms.rank(large_margin.DEFAULT_MAX_RANK))


def _tight_margin(epsilon: Fraction, delta: Fraction, terms: Terms) -> Mechanism:
    return TightMargin(epsilon, delta, terms.neighbors, terms.rank(tight_margin.DEFAULT_MAX_RANK))


def _exponential(epsilon: Fraction, delta: Fraction, terms: Terms) -> Mechanism:
    match terms.universe:
        case Catalogue():
            return Exponential(epsilon, terms.neighbors)
        case SizedUniverse() as universe:
            candidates = sum(universe.candidates(size) for size in terms.sizes)
            return NamedExponential(epsilon, delta, candidates, terms.neighbors)
        case UnknownUniverse():
            raise ParameterError(
                "the exponential mechanism needs a public item universe: give a catalogue or "
                f"{parameter('universe_size')} (taking the items from the data would not be private: "
                "that an item occurs at all tells that somebody bought it)"
            )


def _permute_and_flip(epsilon: Fraction, delta: Fraction, terms: Terms) -> Mechanism:
    _needs_catalogue("permute-and-flip", terms)
    return PermuteAndFlip(epsilon, terms.neighbors)


def _max_of_laplaces(epsilon: Fraction, delta: Fraction, terms: Terms) -> Mechanism:
    _needs_catalogue("max-of-laplaces", terms)
    return MaxOfLaplaces(epsilon, terms.neighbors)


def _needs_catalogue(name: str, terms: Terms) -> None:
    if not isinstance(terms.universe, Catalogue):
        raise ParameterError(
            f"the {name} mechanism needs a catalogue: the public list of all items (taking the items from the data "
            "would not be private: that an item occurs at all tells that somebody bought it)"
        )


def _limited_domain(epsilon: Fraction, delta: Fraction, terms: Terms) -> Mechanism:
    rank = terms.rank(max(limited_domain.DEFAULT_MAX_RANK, _RANKS_PER_PICK * terms.top))
    return LimitedDomain(epsilon, delta, terms.neighbors, rank, terms.max_itemsets or None)


def _choosing(epsilon: Fraction, delta: Fraction, terms: Terms) -> Mechanism:
    if terms.max_basket is None:
        raise ParameterError(
            f"the choosing mechanism needs {parameter('max_basket')}: how many items of a basket count at most"
        )
    if not terms.max_itemsets:
        sizes = min(terms.sizes)
        raise ParameterError(f"{parameter('max_basket')} must be at least the size {sizes}, not {terms.max_basket}")
    return Choosing(epsilon, delta, terms.max_itemsets, terms.neighbors)


def _distance(epsilon: Fraction, delta: Fraction, terms: Terms) -> Mechanism:
    return Distance(epsilon, delta, terms.neighbors)


MAKERS: dict[str, Maker] = {
    "large-margin": _large_margin,
    "tight-margin": _tight_margin,
    "exponential": _exponential,
    "permute-and-flip": _permute_and_flip,
    "max-of-laplaces": _max_of_laplaces,
    "limited-domain": _limited_domain,
    "choosing": _choosing,
    "distance": _distance,
}
MECHANISMS = (*MAKERS, LEVELWISE)
# Of these one unit's number of itemsets matters; for the others a cap on baskets would only lose purchases.
CAPPED = ("limited-domain", "choosing")
# These look at the top ranks only, so many as the public cap says.
RANKED = ("large-margin", "tight-margin", "limited-domain", LEVELWISE)


def maker(name: str) -> Maker:
    """Return what builds the mechanism of that name. Raises ParameterError naming the choices."""
    try:
        return MAKERS[name]
    except KeyError:
        raise ParameterError(f"{parameter('mechanism')} must be one of {', '.join(MECHANISMS)}, not {name!r}") from None


def counted_universe(name: str, universe: Universe) -> Universe:
    """Return the universe the itemsets are counted over: a bare size serves the exponential mechanism only."""
    return UnknownUniverse() if isinstance(universe, SizedUniverse) and name != "exponential" else universe


def parse_sizes(size: int | str | Iterable[int]) -> tuple[int, ...]:
    """Return the sizes of itemsets, ascending and consecutive, from 2, "2", "2-4" or range(2, 5).

    Raises ParameterError for anything else.
    """
    if isinstance(size, str):
        if re.fullmatch(r"[0-9]{10,}", size):
            raise ParameterError(f"{parameter('size')} must be at most 999999999, not {size}")
        if (match := re.fullmatch(r"(-?[0-9]{1,9})(?:-([0-9]{1,9}))?", size)) is None:
            raise ParameterError(_SIZES.format(size))
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise ParameterError(_SIZES.format(size))
        size = first if match[2] is None else range(first, last + 1)
    if not isinstance(size, Iterable):
        return (positive_integer("size", size),)
    sizes = tuple(positive_integer("size", each) for each in islice(size, _MOST_SIZES + 1))
    if len(sizes) > _MOST_SIZES:
        raise ParameterError(f"{parameter('size')} must be a range of at most {_MOST_SIZES} sizes")
    if not sizes or sizes != tuple(range(sizes[0], sizes[0] + len(sizes))):
        raise ParameterError(_SIZES.format(list(sizes)))
    return sizes


# No range of sizes is longer: each gets a part of the budget.
_MOST_SIZES = 64
_SIZES = f"{parameter('size')} must be a whole number of at least 1, or a range such as 2-4, not {{!r}}"
