"""What a request is made of: what is sought, what is public, and what is promised.

Also which mechanism "auto" stands for, by these public choices alone. For many itemsets it is
levelwise, whose noise does not grow with their number. For one, it is the mechanism that needs the
smallest margin (docs/privacy.md, "What each mechanism needs"). For a few itemsets of users, or with
δ = 0 or caps, it is one that selects itemsets one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from fim_private import options as defaults
from fim_private.counting.source import UNKNOWN, Catalogue, KnownItemsets, Universe
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.neighbors import Neighbors
from fim_private.levelwise.recipe import LARGEST_SIZE
from fim_private.request.supports import MinSupport


@dataclass(frozen=True)
class Target:
    """Which itemsets are sought, and what is to be said of them.

    Attributes:
        sizes: The sizes of the itemsets: ascending, consecutive, >= 1.
        top: How many itemsets of each size are released at most; with union of all sizes, >= 1.
        union: Whether itemsets of all sizes are ranked together.
        min_support: The least support; None if the most frequent are sought.
        known: Itemsets that are public, and counted in any case.
        rules: Whether the supports of all subsets are released too.
        keep_all: Whether itemsets stay that do not stand out from the noise.
        count: Whether the number of units is asked for, or needed.
    """

    sizes: tuple[int, ...] = (defaults.SIZE,)
    top: int = defaults.TOP
    union: bool = False
    min_support: MinSupport | None = None
    known: KnownItemsets | None = None
    rules: bool = False
    keep_all: bool = False
    count: bool = False

    @property
    def sought(self) -> int:
        """How many itemsets are sought in all."""
        return self.top if self.union else self.top * len(self.sizes)

    @property
    def most_supports(self) -> int:
        """How many supports are released at most, with those of subsets."""
        most = self.sought
        if self.known is not None:
            most += len(self.known.itemsets)
        if self.rules:
            most *= 2 ** self.sizes[-1] - 1
        return most


@dataclass(frozen=True)
class PublicFacts:
    """What is known of the data by everybody, or chosen without looking at it.

    Attributes:
        universe: The universe of items: a catalogue, its size alone, or unknown.
        max_rank: How many ranks are looked at, at most.
        max_basket: How many items of a basket count, at most.
        max_baskets: How many baskets of a user count, at most.
    """

    universe: Universe = UNKNOWN
    max_rank: int | None = None
    max_basket: int | None = None
    max_baskets: int | None = None

    @property
    def lists_items(self) -> bool:
        """Whether the universe is a public list of items."""
        return isinstance(self.universe, Catalogue)

    @property
    def has_caps(self) -> bool:
        """Whether any cap is given."""
        return (self.max_rank, self.max_basket, self.max_baskets) != (None, None, None)


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

    @property
    def units_are_public(self) -> bool:
        """Whether neighbouring data have equally many units.

        Source: docs/privacy.md, "The number of units".
        """
        return self.neighbors == Neighbors.REPLACE_ONE and not self.units_are_chosen


# -------------------- which mechanism "auto" stands for

AUTO = "auto"
# Up to so many itemsets of users are selected one by one, at ε = 1 under add-remove: without a list
# of items, and with one. Of larger itemsets none are: levelwise finds more.
_MOST_SELECTED = {"items": (30, 100), "together": (30, 20), "pairs": (5, 10)}


@dataclass(frozen=True)
class Choice:
    """The mechanism that "auto" stands for.

    Attributes:
        name: The name of the mechanism.
        reason: Why it was chosen: a clause that follows the name.
        replaces_levelwise: Whether it selects a few itemsets of users where levelwise is usual.
    """

    name: str
    reason: str
    replaces_levelwise: bool = False


def automatic_choice(
    target: Target, public: PublicFacts, promise: Promise, *, has_known: bool
) -> Choice:
    """Return the mechanism that "auto" stands for. has_known: whether known itemsets are given."""
    spends_delta = promise.budget.delta > 0
    if not spends_delta:
        return Choice("permute-and-flip", "it needs the smallest margin of all that spend no delta")
    if public.has_caps:
        return Choice("limited-domain", "it uses the public cap that you gave")
    if has_known:
        return Choice("levelwise", "it makes use of the known itemsets")
    seeks_several = (
        target.min_support is not None
        or target.top > 1
        or (len(target.sizes) > 1 and not target.union)
    )
    if not seeks_several:
        return _for_one_itemset(target, public, promise)
    if _are_few_of_users(target, public, promise):
        name = "exponential" if public.lists_items else "limited-domain"
        reason = "it finds more than levelwise, for few itemsets of users"
        return Choice(name, reason, replaces_levelwise=True)
    if target.sizes[-1] > LARGEST_SIZE:
        return Choice(
            "limited-domain", f"levelwise finds itemsets of up to {LARGEST_SIZE} items only"
        )
    needs_no_list = "" if public.lists_items else " and needs no product list"
    return Choice("levelwise", f"it finds many itemsets with the least noise{needs_no_list}")


def _for_one_itemset(target: Target, public: PublicFacts, promise: Promise) -> Choice:
    """Return the mechanism that needs the smallest margin for one itemset, and spends δ."""
    if isinstance(public.universe, Catalogue):
        candidates = sum(public.universe.candidates(size) for size in target.sizes)
        # One of K candidates must lead by about ln K / rate, without a list by ln(k / δ) / rate.
        if log(max(candidates, 1)) < log(defaults.MAX_RANK) - log(promise.budget.delta):
            return Choice(
                "exponential",
                "with your catalogue it needs a smaller margin than any mechanism without one",
            )
    return Choice(
        "limited-domain",
        "for one itemset, it needs the smallest margin of all that need no product list",
    )


def _are_few_of_users(target: Target, public: PublicFacts, promise: Promise) -> bool:
    """Tell whether selecting one by one misses fewer itemsets of users than levelwise does.

    Source: measured (docs/benchmarks.md).
    """
    if not promise.by_user or target.min_support is not None:
        return False
    kind = "pairs"
    if target.sizes == (1,):
        kind = "items"
    elif target.union and target.sizes[0] == 1:
        kind = "together"
    if kind == "pairs" and target.sizes[-1] > 2:
        return False
    sought = target.sought
    if promise.neighbors == Neighbors.REPLACE_ONE:
        sought *= 2
    return sought <= _MOST_SELECTED[kind][public.lists_items] * promise.budget.loss
