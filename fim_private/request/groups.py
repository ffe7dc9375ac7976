"""What a request is made of: what is sought, what is public, and what is promised."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from fim_private import options as defaults
from fim_private.counting.source import NOTHING_KNOWN, UNKNOWN, KnownItemsets, Universe
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.options.declaration import OptionValues
from fim_private.reading.labels import Item, in_label_order
from fim_private.request.supports import MinSupport

# Itemsets of one and of two items.
_NAMED = ("item", "pair")


def range_of(sizes: Sequence[int]) -> int | str:
    """Return consecutive sizes as they are asked for: one of them, or a range such as "2-4"."""
    return sizes[0] if len(sizes) == 1 else f"{sizes[0]}-{sizes[-1]}"


def itemsets_of(sizes: Sequence[int], number: int) -> str:
    """Return "item", "pairs", "itemsets of 3 items" or "itemsets of 1 to 3 items".

    sizes: ascending. number: how many itemsets, for the plural.
    """
    plural = "" if number == 1 else "s"
    if len(sizes) > 1:
        return f"itemset{plural} of {sizes[0]} to {sizes[-1]} items"
    [size] = sizes
    if size <= len(_NAMED):
        return _NAMED[size - 1] + plural
    return f"itemset{plural} of {size} items"


@dataclass(frozen=True)
class Target:
    """Which itemsets are sought, and what is to be said of them.

    Attributes:
        sizes: The sizes of the itemsets: ascending, consecutive, >= 1.
        top: How many itemsets of each size are released at most; with union of all sizes, >= 1.
        union: Whether itemsets of all sizes are ranked together.
        min_support: The least support; None if the most frequent are sought.
        known: Itemsets that are public, and counted in any case; and the public items that each
            itemset sought must have.
        rules: Whether the supports of all subsets are released too.
        keep_all: Whether itemsets stay that do not stand out from the noise.
        count: Whether the number of units is asked for, or needed.
        questions: How many questions share the items found, and the budget of all other steps. Each
            is about another required item.
        levels: How many levels of groups share the budget of all steps.
    """

    sizes: tuple[int, ...] = (defaults.SIZE,)
    top: int = defaults.TOP
    union: bool = False
    min_support: MinSupport | None = None
    known: KnownItemsets = NOTHING_KNOWN
    rules: bool = False
    keep_all: bool = False
    count: bool = False
    questions: int = 1
    levels: int = 1

    @property
    def sought(self) -> int:
        """How many itemsets are sought in all."""
        return self.top if self.union else self.top * len(self.sizes)

    @property
    def rankings(self) -> list[tuple[int, ...]]:
        """The sizes of the itemsets that are ranked together, for each ranking."""
        return [self.sizes] if self.union else [(size,) for size in self.sizes]

    @property
    def known_itemsets(self) -> list[tuple[Item, ...]]:
        """The known itemsets of the sizes that are sought."""
        known = self.known
        whole = [(*codes, *known.required) for codes in known.itemsets]
        return [
            in_label_order(map(known.items.label, codes))
            for codes in whole
            if len(codes) in self.sizes
        ]

    @property
    def most_supports(self) -> int:
        """How many supports are released at most, with those of subsets."""
        most = self.sought + len(self.known.itemsets)
        if not self.rules:
            return most
        # Each itemset has its subsets, but all share those of the items that are required.
        of_required = 1 << len(self.known.required)
        return most * ((1 << self.sizes[-1]) - of_required) + of_required - 1


@dataclass(frozen=True)
class PublicFacts:
    """What is known of the data by everybody, or chosen without looking at it.

    Attributes:
        universe: The universe of items: a catalogue, its size alone, or unknown.
        max_rank: How many ranks are looked at, at most.
        max_basket: How many items of a basket count, at most.
        max_baskets: How many baskets of a user count, at most.
        units: About how many units there are.
    """

    universe: Universe = UNKNOWN
    max_rank: int | None = None
    max_basket: int | None = None
    max_baskets: int | None = None
    units: int | None = None

    @property
    def lists_items(self) -> bool:
        """Whether the universe is a public list of items."""
        return self.universe.is_listed


@dataclass(frozen=True)
class Promise:
    """The promise: who is protected, and how well.

    Attributes:
        budget: The budget of the whole release.
        neighbors: The neighbour relation.
        by_user: Whether a unit is a user, not a basket.
        units_are_chosen: Whether a condition, a query or segments choose the units.
    """

    budget: PrivacyBudget
    neighbors: str
    by_user: bool = False
    units_are_chosen: bool = False

    @classmethod
    def of(
        cls, values: OptionValues, *, by_user: bool = False, units_are_chosen: bool = False
    ) -> Self:
        """Return the promise that options of a caller ask for; ParameterError for none."""
        budget = PrivacyBudget.of(
            values["epsilon"], values["delta"], values.get("rho"), otherwise=defaults.EPSILON
        )
        return cls(budget, exact_neighbors(values["neighbors"]), by_user, units_are_chosen)

    @property
    def units_are_public(self) -> bool:
        """Whether neighbouring data have equally many units.

        Source: docs/privacy.md, "The number of units".
        """
        return self.neighbors == Neighbors.REPLACE_ONE and not self.units_are_chosen
